"""Several files that change as one, although a process may be killed between two of them.

What is to be written is noted first, whole, in a file of our own; then the files are written one by
one, and the note is removed. Whoever takes the lock next and finds a note brings it to an end. A
write that fails, because a disk is full, is taken back instead: whoever was told so may try again.

An undertaking whose steps can simply be taken again, such as copying a folder, notes what it is instead
(`begin`), and whoever finds that takes its steps again (`begun`, `end`). A step that fails takes back those
before it (`steps`); where that fails as well, the note stays, and the next one goes on with it.

The note lies in the project, which may have come from somewhere else. So a change does no more than a
format allows, by the paths that are its own, and only to files that are as they were noted. And an
undertaking, which may remove what is in no repository, is only gone on with where the user's own folder
bears witness that it was begun by the same user.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.atomic import replace_file
from holdfast.digests import digest
from holdfast.errors import (
    HalfDone,
    HoldfastError,
    StateOutOfReach,
    StateUnreadable,
    StateUnwritable,
)
from holdfast.openflags import make_private
from holdfast.regular import read_file, read_json
from holdfast.store import LARGEST, Store
from holdfast.versions import refuse_newer, stamped

_LARGEST = 6 * LARGEST  # of a note, which may have come with a clone


class Change(NamedTuple):
    """What a file is to hold; None when it is to go."""

    path: Path
    data: bytes | None


def write(store: Store, name: str, changes: Sequence[Change]) -> None:
    """Make all *changes*, in their order, or none; to be called inside the lock.

    Before it, what is unfinished under *name* has to be finished.
    """
    befores = [_content(each.path) for each in changes]
    note = _note(store, name)
    entries = [
        {
            "path": store.relative(path),
            "before": _digest(before),
            "after": None if data is None else data.decode("utf-8", "surrogateescape"),
        }
        for (path, data), before in zip(changes, befores, strict=True)
    ]
    noted = json.dumps(stamped("unfinished", {"changes": entries})).encode()
    if len(noted) > _LARGEST:  # nobody could bring it to its end
        raise StateUnwritable(note, f"it would be larger than {_LARGEST} bytes")
    store.write(note, noted)
    try:
        for each in changes:
            _make(store, each)
    except HoldfastError:
        # Where that fails as well, the note stays, and the next one goes on with it.
        for each, before in zip(changes, befores, strict=True):
            if _content(each.path) != before:
                _make(store, Change(each.path, before))
        store.remove(note, folder_too=False)
        raise
    store.remove(note, folder_too=False)


def is_unfinished(store: Store, name: str) -> bool:
    """Whether somebody was killed in the middle of a change."""
    return _note(store, name).exists()


def finish(store: Store, name: str, allowed: Callable[[str], bool], stamp: str) -> list[str]:
    """Bring what is unfinished under *name* to an end; to be called inside the lock.

    Only paths, relative to the root, that are *allowed* are written. Returns what was done and what
    could not be, one line each.
    """
    record = begun(store, name)
    if record is None:
        return []
    if not record:
        return [put_aside(store, name, stamp)]
    note = _note(store, name)
    done: list[str] = []
    left: list[str] = []
    for path, before, data in _entries(store, record, allowed):
        there = _digest(_content(path))
        if there == _digest(data):
            continue
        if there == before:
            _make(store, Change(path, data))
            done.append(store.relative(path))
        else:
            left.append(store.relative(path))
    lines = []
    if done:
        lines.append(f"a command was interrupted; it was brought to an end: {', '.join(done)}")
    if left:
        aside = store.relative(store.set_aside(note, stamp, move=True))
        lines.append(
            f"a command was interrupted, and since then somebody changed {', '.join(left)}; "
            f"what it was about to write lies in {aside}"
        )
    else:
        store.remove(note, folder_too=False)
    return lines


def begin(store: Store, name: str, record: Mapping[str, object], user_folder: str | None) -> None:
    """Note an undertaking; to be called inside the lock, when none is unfinished under *name*."""
    # The token keeps a witness that a kill has left from standing for another note.
    noted = json.dumps(stamped("unfinished", {**record, "token": os.urandom(16).hex()})).encode()
    if user_folder:
        witness = json.dumps(stamped("unfinished", {"begun": digest(noted)})).encode()
        make_private(user_folder)
        replace_file(_witness(user_folder, name), witness, mode=0o600)
    store.write(_note(store, name), noted)


@contextlib.contextmanager
def steps() -> Iterator[list[Callable[[], object]]]:
    """A list for how each step is taken back, which is done from its end on where one fails."""
    taken: list[Callable[[], object]] = []
    try:
        yield taken
    except BaseException as error:
        try:
            while taken:
                taken.pop()()
        except HoldfastError:
            raise HalfDone(error) from error
        raise


def begun(store: Store, name: str) -> dict[str, object] | None:
    """The undertaking that is noted under *name*; empty when the note makes no sense."""
    note = _note(store, name)
    if not note.exists():
        return None
    refuse_newer("unfinished", note, store.relative(note))
    try:
        record = read_json(note, _LARGEST, follow=False)
    except StateUnreadable:
        return {}
    return record if isinstance(record, dict) else {}


def is_ours(store: Store, name: str, user_folder: str | None) -> bool:
    """Whether the undertaking that is noted under *name* was begun by this user, and not planted."""
    if not user_folder:
        return False
    try:
        noted = read_file(_note(store, name), _LARGEST, follow=False)[0]
        witness = read_json(_witness(user_folder, name), 1024)
    except StateUnreadable:
        return False
    return isinstance(witness, dict) and witness.get("begun") == digest(noted)


def put_aside(store: Store, name: str, stamp: str, why: str = "cannot be read") -> str:
    """Take a note that is of no use out of the way; what to say of it."""
    aside = store.relative(store.set_aside(_note(store, name), stamp, move=True))
    return f"what was noted of an interrupted command {why}; it lies in {aside}"


def end(store: Store, name: str, user_folder: str | None) -> None:
    """Nothing is left to be done of it."""
    store.remove(_note(store, name), folder_too=False)
    if user_folder:
        with contextlib.suppress(OSError):
            os.unlink(_witness(user_folder, name))


def _witness(user_folder: str, name: str) -> str:
    return os.path.join(user_folder, f"begun-{name}.json")


def _note(store: Store, name: str) -> Path:
    return store.private / "unfinished" / f"{name}.json"


def _entries(
    store: Store, record: Mapping[str, object], allowed: Callable[[str], bool]
) -> list[tuple[Path, str | None, bytes | None]]:
    found: list[tuple[Path, str | None, bytes | None]] = []
    changes = record.get("changes")
    for each in changes if isinstance(changes, list) else ():
        match each:
            case {
                "path": str(path),
                "before": str() | None as before,
                "after": str() | None as after,
            } if allowed(path) and ".." not in path and store.holds(store.root / path):
                data = None if after is None else after.encode("utf-8", "surrogateescape")
                found.append((store.root / path, before, data))
    return found


def _make(store: Store, change: Change) -> None:
    if change.data is None:
        store.remove(change.path, folder_too=False)
    else:
        store.write(change.path, change.data)


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
