"""Which files the client is asked to watch, so that an edit reaches the state at once."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
from collections.abc import Sequence

from holdfast.formats import signs
from holdfast.globs import Search
from holdfast.project import contains
from holdfast.settings import PROJECT_FILE, load

_MOST = 100  # plans that are watched one by one


def paths(folders: Sequence[str], plans: Sequence[str]) -> list[str]:
    """What declares workflows in *folders*: files, there or not yet, and folders with all below.

    Of several missing paths in one folder the client sees only one appear, and none whose own
    folder is missing. So each folder has at most one, and CLAUDE.local.md goes before plans.
    What a link leads to is watched only below the same folder: a link to / would watch the machine.
    """
    wanted = [(folder, name) for folder in folders for name in signs.DECLARING]
    for folder in folders:
        search = Search(folder)
        wanted += [(folder, path) for pattern in plans for path in _of(folder, pattern, search)]
    found, waiting = [], set()
    for folder, name in wanted:
        path = _watchable(os.path.join(folder, *name.split("/")))
        parent = os.path.dirname(path)
        if path in found or not _is_below(folder, path):
            continue
        if os.path.lexists(path):
            found.append(path)
        elif parent not in waiting:
            waiting.add(parent)
            found.append(path)
    return found


def _is_below(folder: str, path: str) -> bool:
    try:
        real, top = os.path.realpath(path), os.path.realpath(folder)
    except (OSError, ValueError):
        return False
    return real != top and contains(top, real)


def _watchable(path: str) -> str:
    """*path*, or where it is missing the topmost folder that is missing with it."""
    while not os.path.lexists(parent := os.path.dirname(path)) and parent != path:
        path = parent
    return path


def concerns(path: str, folders: Sequence[str], plans: Sequence[str]) -> bool:
    """Whether *path* may declare a workflow, told by its name alone."""
    name = os.path.basename(path)
    # A project's own settings may name other plans; they are read only where there are any.
    own = [each for each in folders if os.path.lexists(os.path.join(each, PROJECT_FILE))]
    for folder in own:
        plans = [*plans, *load(folder, None).settings.plans]
    names = [*signs.DECLARING, *(pattern.rpartition("/")[2] for pattern in plans)]
    return any(fnmatch.fnmatch(name, each) for each in names)


def base(pattern: str) -> str:
    """The file or folder that all of *pattern* lies in; empty when that is the project."""
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    return "/".join(itertools.takewhile(lambda name: not glob.has_magic(name), names))


def _of(folder: str, pattern: str, search: Search) -> list[str]:
    """What *pattern* makes worth watching below *folder*."""
    if base(pattern):
        return [base(pattern)]
    # To watch the folder itself would be to watch the whole project; new plans wait for PreCompact.
    matches = itertools.islice(search.find(pattern), _MOST)
    return [each for each in matches if os.path.isfile(os.path.join(folder, each))]
