"""Which document of the project is which document of a workflow: one table, used both ways.

`start` copies from docs/ into the workspace, `finalize` back. No link is followed out of the project,
and a link to a folder is not followed at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from holdfast.formats.gated import files
from holdfast.regular import entries
from holdfast.store import Store

CENTRAL = "docs"


class Pair(NamedTuple):
    """The same document in both places, relative to the project's root."""

    central: str
    workspace: str


_Side: TypeAlias = Callable[[Pair], str]

# docs/<the one> is workflow/<slug>/<the other>.
_FILES = (
    ("features.md", "00-feature/features.md"),
    ("requirements.md", "01-requirements/requirements.md"),
    ("architecture.md", "02-architecture/architecture.md"),
    ("user-guide.md", "05-documentation/user-docs.md"),
    ("api-reference.md", "05-documentation/api-docs.md"),
)
# Folders, with all that is below them.
_FOLDERS = (("diagrams", "02-architecture/diagrams"),)


class Found(NamedTuple):
    """The documents that are there to be copied, and those that are passed over."""

    pairs: tuple[Pair, ...]
    passed_over: tuple[tuple[str, str], ...]  # path, why


def workspace(slug: str) -> str:
    return f"{files.FOLDER}/{slug}"


def is_central(path: str) -> bool:
    """Whether *path* is that of a document which is published."""
    inside = tuple(f"{CENTRAL}/{folder}/" for folder, _ in _FOLDERS)
    known = {f"{CENTRAL}/{name}" for name, _ in _FILES}
    return path in known or (path.startswith(inside) and ".." not in path.split("/"))


def in_the_center(store: Store, slug: str) -> Found:
    """What `start` has to copy."""
    return _found(store, slug, lambda pair: pair.central)


def in_the_workspace(store: Store, slug: str) -> Found:
    """What `finalize` has to copy."""
    return _found(store, slug, lambda pair: pair.workspace)


def _found(store: Store, slug: str, source: _Side) -> Found:
    pairs: list[Pair] = []
    passed_over: list[tuple[str, str]] = []
    for pair in _candidates(store, slug, source):
        why = _objection(store, store.root / source(pair))
        if why:
            passed_over.append((source(pair), why))
        else:
            pairs.append(pair)
    return Found(tuple(pairs), tuple(passed_over))


def _candidates(store: Store, slug: str, source: _Side) -> Iterator[Pair]:
    """Every pair whose source is there, whatever it is."""
    for pair in _pairs(slug, _FILES):
        if os.path.lexists(store.root / source(pair)):
            yield pair
    for folders in _pairs(slug, _FOLDERS):
        folder = store.root / source(folders)
        if folder.is_symlink():
            yield folders
        elif store.holds(folder) and folder.is_dir():
            for name in _below(folder):
                yield Pair(f"{folders.central}/{name}", f"{folders.workspace}/{name}")


def _pairs(slug: str, table: tuple[tuple[str, str], ...]) -> Iterator[Pair]:
    for central, within in table:
        yield Pair(f"{CENTRAL}/{central}", f"{workspace(slug)}/{within}")


def _below(folder: Path) -> Iterator[str]:
    """What lies below *folder* and is no folder."""
    for entry in sorted(entries(folder), key=lambda each: each.name):
        if entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{name}" for name in _below(Path(entry.path)))
        else:
            yield entry.name


def _objection(store: Store, path: Path) -> str:
    if not store.holds(path):
        return "leads outside the project"
    if path.is_dir():
        return "is a link to a folder" if path.is_symlink() else "is no regular file"
    if _leads_astray(store, path):
        return "leads to what is no document"
    return "" if path.is_file() else "is no regular file"


def _leads_astray(store: Store, path: Path) -> bool:
    """Whether links lead to what git or we keep, which nobody means to publish."""
    real = Path(os.path.realpath(path))
    return ".git" in real.relative_to(store.root).parts or store.private in real.parents
