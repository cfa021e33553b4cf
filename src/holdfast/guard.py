"""Whether an edit is one of a state file, which commands keep and nobody edits by hand.

It knows paths alone, so that it costs an edit of any other file next to nothing. What a shell command
writes is not seen.
"""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from typing import NamedTuple

from holdfast import project
from holdfast.formats import signs
from holdfast.project import Surroundings, contains


class Guarded(NamedTuple):
    """A path that states of a format have."""

    root: str
    path: str  # relative to the root, with forward slashes
    format: str


def files_meant(path: str | None, here: Surroundings) -> list[Guarded]:
    """The state files that *path* may mean, whether or not they are there yet; mostly none."""
    if path is None:
        return []
    meanings = _meanings(os.path.join(here.cwd, os.path.expanduser(path)))
    named = [real for real in sorted(meanings) if _has_a_name_of_ours(real)]
    return [
        Guarded(root, relative, kind)
        for root in (project.candidates(here.cwd, here.client_project) if named else ())
        for real in named
        if contains(root, real)
        and (kind := _format_of(relative := _relative(real, root)) or _behind_links(real, root))
    ]


def _meanings(path: str) -> set[str]:
    """The entry itself and what it leads to: an edit replaces the one or changes the other.

    Behind a link, ".." may be meant as the text says, or as the folders lie.
    """
    meant = set()
    for each in {path, os.path.normpath(path)}:
        folder, name = os.path.split(each)
        entry = os.path.join(os.path.realpath(folder), name)
        meant |= {entry, os.path.realpath(entry)} if os.path.islink(entry) else {entry}
    return meant


def _has_a_name_of_ours(path: str) -> bool:
    name = os.path.basename(path)
    return any(fnmatchcase(name, each) for each in _NAMES)


_NAMES = {pattern.rpartition("/")[2] for each in signs.STATE_FILES.values() for pattern in each}


def _format_of(relative: str) -> str | None:
    parts = relative.split("/")
    for name, patterns in signs.STATE_FILES.items():
        for pattern in patterns:
            wanted = pattern.split("/")
            if len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)):
                return name
    return None


def _behind_links(real: str, root: str) -> str | None:
    """The format whose folder of states is *real*'s by a link: workflow/ may lead to another folder."""
    folder, name = os.path.split(real)
    for kind, patterns in signs.STATE_FILES.items():
        for pattern in patterns:
            wanted, _, file = pattern.rpartition("/")
            if fnmatchcase(name, file) and any(
                os.path.realpath(os.path.join(root, each)) == folder
                for each in glob.iglob(wanted, root_dir=root)
            ):
                return kind
    return None


def _relative(real: str, root: str) -> str:
    return os.path.relpath(real, root).replace(os.sep, "/")
