"""Which files the client should watch, and which edits touch a state file.

Watched is what declares workflows, so that an edit reaches the state at once. State files are guarded: commands keep
them, and nobody edits them by hand. It knows paths alone, so that it costs an edit of any other file next to nothing;
what a shell command writes is not seen.
"""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from holdfast.config import project
from holdfast.config.project import Surroundings
from holdfast.config.settings import PROJECT_FILE, load
from holdfast.files.inputs import UNRECORDED, Inputs, Search, ends_like, is_glob
from holdfast.files.regular import contains
from holdfast.formats import signs

_MOST = 100  # plans that are watched one by one


def paths(folders: Sequence[str], plans: Sequence[str], inputs: Inputs = UNRECORDED) -> list[str]:
    """What declares workflows in *folders*: files, there or not yet, and folders with all below.

    Of several missing paths in one folder the client sees only one appear, and none whose own
    folder is missing. So each folder has at most one, and CLAUDE.local.md goes before plans.
    What a link leads to is watched only below the same folder: a link to / would watch the machine.
    """
    wanted = [(folder, name) for folder in folders for name in signs.DECLARING]
    for folder in folders:
        search = Search(folder, inputs)
        for pattern in plans:
            wanted += [(folder, path) for path in _below(folder, pattern, search, inputs)]
    found, waiting = list[str](), set[str]()
    for folder, name in wanted:
        path = _watchable(os.path.join(folder, *name.split("/")), inputs)
        parent = os.path.dirname(path)
        if path in found or not _is_below(folder, path, inputs):
            continue
        if not inputs.exists(path):
            if parent in waiting:
                continue
            waiting.add(parent)
        found.append(path)
    return found


def _is_below(folder: str, path: str, inputs: Inputs) -> bool:
    try:
        real, top = inputs.real_path(path), inputs.real_path(folder)
    except (OSError, ValueError):
        return False
    return real != top and contains(top, real)


def _watchable(path: str, inputs: Inputs) -> str:
    """*path*, or if it is missing, its topmost missing folder."""
    while not inputs.exists(parent := os.path.dirname(path)) and parent != path:
        path = parent
    return path


def may_declare(path: str, here: Surroundings) -> bool:
    """Whether *path* may declare a workflow, judged by its name alone."""
    return any(ends_like(path, pattern) for pattern in declaring(here))


def declaring(here: Surroundings) -> list[str]:
    """Globs for what may declare a workflow."""
    found = [*signs.DECLARING, *load(None, here.config_file, here.inputs).settings.plans]
    for folder in project.candidates(here.cwd, here.client_project, here.inputs):
        found.append(f"{glob.escape(os.path.basename(here.plans_folder(folder)))}/*.md")
        # A project's own settings may name other plans; they are read only where there are any.
        if here.inputs.exists(os.path.join(folder, PROJECT_FILE)):
            found += load(folder, None, here.inputs).settings.plans
    return list(dict.fromkeys(found))


def is_of_plan_mode(path: str, here: Surroundings) -> bool:
    """Whether *path*, whose folder is real, lies where the client's plan mode writes its plans."""
    folders = project.candidates(here.cwd, here.client_project)
    kept = {os.path.realpath(here.plans_folder(folder)) for folder in folders}
    return os.path.dirname(path) in kept


def _below(folder: str, pattern: str, search: Search, inputs: Inputs) -> list[str]:
    """What to watch below *folder* for *pattern*: its leading plain names, else (as for braces) its matches."""
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    plain = list(itertools.takewhile(lambda name: not is_glob(name), names))
    if plain and not names[-1].startswith("{"):
        return ["/".join(plain)]
    # Watching the folder itself would mean watching the whole project or all documents; an edit's hook or
    # PreCompact finds new plans there.
    matches = itertools.islice(search.find(pattern), _MOST)
    return [path for path in matches if inputs.is_file(os.path.join(folder, path))]


# The guard.


class Guarded(NamedTuple):
    """A path where a format keeps states."""

    root: str
    path: str  # relative to the root, with forward slashes
    format: str


def files_meant(path: str | None, here: Surroundings) -> list[Guarded]:
    """The state files that *path* may be, existing or not; usually none."""
    if path is None:
        return []
    meanings = _meanings(os.path.join(here.cwd, os.path.expanduser(path)))
    named = [real for real in sorted(meanings) if _has_a_name_of_ours(real)]
    return [
        Guarded(root, os.path.relpath(real, root).replace(os.sep, "/"), kind)
        for root in (project.candidates(here.cwd, here.client_project) if named else ())
        for real in named
        if contains(root, real) and (kind := _format_of(real, root))
    ]


def _meanings(path: str) -> set[str]:
    """The entry itself and what it leads to: an edit replaces the one or changes the other.

    Behind a link, ".." may be meant as the text says, or as the folders lie.
    """
    meant = set()
    for text in {path, os.path.normpath(path)}:
        folder, name = os.path.split(text)
        entry = os.path.join(os.path.realpath(folder), name)
        meant |= {entry, os.path.realpath(entry)} if os.path.islink(entry) else {entry}
    return meant


def _has_a_name_of_ours(path: str) -> bool:
    name = os.path.basename(path)
    patterns = (pattern for paths in signs.STATE_FILES.values() for pattern in paths)
    return any(fnmatchcase(name, pattern.rpartition("/")[2]) for pattern in patterns)


def _format_of(real: str, root: str) -> str | None:
    """The format that has states at *real*, or in its folder by a link: workflow/ may lead to another."""
    folder, name = os.path.split(real)
    parts = os.path.relpath(folder, root).split(os.sep)
    for kind, patterns in signs.STATE_FILES.items():
        for pattern in patterns:
            wanted, _, file = pattern.rpartition("/")
            names = wanted.split("/")
            if not fnmatchcase(name, file):
                continue
            if len(names) == len(parts) and all(map(fnmatchcase, parts, names)):
                return kind
            links = (os.path.join(root, link) for link in glob.iglob(wanted, root_dir=root))
            if any(os.path.realpath(link) == folder for link in links):
                return kind
    return None
