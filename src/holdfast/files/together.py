"""Several files that change as one, although a process may be killed between two of them.

What is to be written is noted first, whole, in a file of our own; then the files are written one by
one, and the note is removed. Whoever takes the lock next and finds a note brings it to an end. A
write that fails, because a disk is full, is taken back instead: whoever was told so may try again. A file that somebody
has changed since is left alone and named. Trying again at each command would stop all workflows of the project for it.

The note lies in the project, which may have come from somewhere else. So a change does no more than a
format allows, by the paths that are its own, and only to files that are as they were noted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import (
    HoldfastError,
    StateChanged,
    StateOutOfReach,
    StateUnreadable,
    StateUnwritable,
)
from holdfast.files.fingerprints import digest
from holdfast.files.ownjson import refuse_newer, stamped
from holdfast.files.regular import read_file, read_json
from holdfast.files.store import LARGEST, Store

_LARGEST = 6 * LARGEST  # of a note, which may have come with a clone


class Change(NamedTuple):
    """What a file is to hold; None when it is to go."""

    path: Path
    data: bytes | None
    expected: bytes | None = None  # what it has to hold until then


def write(store: Store, name: str, changes: Sequence[Change]) -> None:
    """Make all *changes*, in their order, or none; to be called inside the lock.

    Before it, what is unfinished under *name* has to be finished. StateChanged where a file does not
    hold what is expected.
    """
    befores = [_content(change.path) for change in changes]
    for change, before in zip(changes, befores, strict=True):
        if change.expected not in {None, before}:
            raise StateChanged(change.path)
    note = _note(store, name)
    entries = [
        {
            "path": store.relative(path),
            "before": _digest(before),
            "after": None if data is None else data.decode("utf-8", "surrogateescape"),
        }
        for (path, data, _), before in zip(changes, befores, strict=True)
    ]
    noted = json.dumps(stamped({"changes": entries})).encode()
    if len(noted) > _LARGEST:  # nobody could bring it to its end
        raise StateUnwritable(note, f"it would be larger than {_LARGEST} bytes")
    store.write(note, noted)
    try:
        store.flush()  # the note is on the disk before the first change
        _make(store, changes)
    except HoldfastError:
        # Where that fails as well, the note stays, and the next one goes on with it.
        pairs = zip(changes, befores, strict=True)
        made = [pair for pair in pairs if _content(pair[0].path) == pair[0].data]
        _make(store, [Change(change.path, before, change.data) for change, before in made])
        store.remove(note)
        raise
    store.remove(note)


def is_unfinished(store: Store, name: str) -> bool:
    """Whether a process was killed in the middle of a change."""
    return store.inputs.leads_somewhere(_note(store, name))


def finish(store: Store, name: str, allowed: Callable[[str], bool], stamp: str) -> list[str]:
    """Bring what is unfinished under *name* to an end; to be called inside the lock.

    Only paths, relative to the root, that are *allowed* are written. Returns what was done and what
    could not be, one line each.
    """
    note = _note(store, name)
    if not note.exists():
        return []
    refuse_newer(note, store.relative(note))
    try:
        record = read_json(note, _LARGEST, follow=False)
    except StateUnreadable:
        record = None
    if not record or not isinstance(record, dict):
        aside = store.relative(store.set_aside(note, stamp, move=True))
        return [f"the record of an interrupted command cannot be read; it is in {aside}"]
    due, left = list[Change](), list[str]()
    for path, before, data in _entries(store, record, allowed):
        there = _digest(_content(path))
        if there == before != _digest(data):
            due.append(Change(path, data))
        elif there != _digest(data):
            left.append(store.relative(path))
    _make(store, due)
    done = ", ".join(store.relative(change.path) for change in due)
    lines = [f"an interrupted command was completed: {done}"] if done else []
    if left:
        aside = store.relative(store.set_aside(note, stamp, move=True))
        lines.append(
            f"a command was interrupted, and since then somebody changed {', '.join(left)}; "
            f"what it was about to write is in {aside}"
        )
    else:
        store.remove(note)
    return lines


def _note(store: Store, name: str) -> Path:
    return store.private / "unfinished" / f"{name}.json"


def _entries(
    store: Store, record: Mapping[str, object], allowed: Callable[[str], bool]
) -> list[tuple[Path, str | None, bytes | None]]:
    found: list[tuple[Path, str | None, bytes | None]] = []
    changes = record.get("changes")
    for change in changes if isinstance(changes, list) else ():
        match change:
            case {
                "path": str(name),
                "before": str() | None as before,
                "after": str() | None as after,
            } if allowed(name) and ".." not in name:
                path = store.root / name
                # Nothing is removed through a link, which may have come with the note.
                if store.holds(path) if after is not None else store.is_direct(path.parent):
                    data = None if after is None else after.encode("utf-8", "surrogateescape")
                    found.append((path, before, data))
    return found


def _make(store: Store, changes: Sequence[Change]) -> None:
    """Make the *changes* in their order; they are on the disk before their note is removed."""
    for path, data, expected in changes:
        if data is None:
            store.remove(path)
        else:
            store.write(path, data, expected=expected)
    store.flush()


def _content(path: Path) -> bytes | None:
    """What the file holds; None where there is none to read. Out of reach is not the same as gone."""
    try:
        return read_file(path, _LARGEST, follow=False)[0]
    except StateOutOfReach:
        raise
    except StateUnreadable:
        return None


def _digest(data: bytes | None) -> str | None:
    return None if data is None else digest(data)
