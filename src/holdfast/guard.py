"""Whether an edit is one of a state file, which commands keep and nobody edits by hand.

It knows paths alone, so that it costs an edit of any other file next to nothing. What a shell command
writes is not seen.
"""

from __future__ import annotations

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
    meanings = sorted(_meanings(os.path.join(here.cwd, os.path.expanduser(path))))
    return [
        Guarded(root, relative, kind)
        for root in project.candidates(here.cwd, here.client_project)
        for real in meanings
        if contains(root, real)
        and (kind := _format_of(relative := os.path.relpath(real, root).replace(os.sep, "/")))
    ]


def _meanings(path: str) -> set[str]:
    """The entry itself and what it leads to: an edit replaces the one or changes the other.

    Behind a link, ".." may be meant as the text says, or as the folders lie.
    """
    meant = set()
    for each in (path, os.path.normpath(path)):
        folder, name = os.path.split(each)
        meant |= {os.path.realpath(each), os.path.join(os.path.realpath(folder), name)}
    return meant


def _format_of(relative: str) -> str | None:
    parts = relative.split("/")
    for name, patterns in signs.STATE_FILES.items():
        for pattern in patterns:
            wanted = pattern.split("/")
            if len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)):
                return name
    return None
