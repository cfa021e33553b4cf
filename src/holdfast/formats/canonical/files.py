"""Where canonical states lie: untracked/workflow-state/<slug>/state-<slug>-<start>.json."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from holdfast import clock, versions
from holdfast.digests import digest
from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.formats.canonical import state as states
from holdfast.formats.canonical.state import State, has_shape
from holdfast.formats.canonical.tolerance import salvage
from holdfast.records import Record, replace
from holdfast.regular import decode_json, entries, read_file, read_settled_json
from holdfast.store import LARGEST, Copies, Store

FOLDER = "untracked/workflow-state"
_LONGEST_SLUG = 80  # bytes; it stands twice in the path, and a name may have 255
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul"} | {
    f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"
}


class Held(Record):
    """One state file as read: what it says, and what was wrong with it."""

    path: Path
    raw: bytes
    mtime: float
    state: State
    problems: tuple[str, ...] = ()
    broken: bool = False  # not readable at all; *state* is the last good copy
    # What to say where it is only read: a newer Holdfast keeps it, or the file is out of reach.
    newer: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing but the file itself has a part in it."""
        return not (self.problems or self.broken or self.newer)


class Unusable(Record):
    """A file that lies where states lie, but tells nothing."""

    path: Path
    reason: str
    broken: bool  # meant as a state and unreadable, as opposed to somebody else's JSON
    out_of_reach: bool = False  # nobody knows what it says; it may be a state as good as any


def slug(name: str) -> str:
    """A folder name for *name*: lower case, hyphens, letters of any script, never empty."""
    # By hand: it needs no transliteration table, and the library's import costs a third of a start.
    folded = unicodedata.normalize("NFC", name).lower()
    spaced = "".join(
        character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "
        for character in folded
    )
    full = "-".join(spaced.split())
    short = full.encode("utf-8", "ignore")[:_LONGEST_SLUG].decode("utf-8", "ignore").strip("-")
    if not short:
        return f"workflow-{_mark(name)}"
    return f"{short}-{_mark(name)}" if short != full or short in _WINDOWS_DEVICES else short


def _mark(identity: str) -> str:
    return digest(identity.encode("utf-8", "replace"))[:8]


def path_for_new(store: Store, name: str, identity: str, now: datetime) -> Path:
    """Where a new workflow's file goes. A folder that another workflow has is not shared.

    One that is empty is nobody's: who made it was killed before anything lay in it.
    """
    short = slug(name)
    folder = store.root / FOLDER / short
    if folder.exists() and any(folder.iterdir()):
        short = f"{short}-{_mark(identity)}"
        folder = store.root / FOLDER / short
    return folder / f"state-{short}-{clock.for_names(now)}.json"


class Found(NamedTuple):
    """Where a state file lies."""

    path: Path
    direct: bool  # by no link, so that it lies where its path says


def paths(root: Path) -> list[Path]:
    """All state files, in the order of their names."""
    return [each.path for each in found(root)]


def found(root: Path) -> list[Found]:
    """The same, listed by hand: a glob asks the system three times as often."""
    base = os.path.join(root, *FOLDER.split("/"))
    real = os.path.realpath(base) == base
    return [
        Found(Path(f"{base}{os.sep}{folder}{os.sep}{name}"), real and not linked)
        for folder, name, linked in sorted(_entries(base))
    ]


def any_in(root: Path) -> bool:
    """Whether there is one at all."""
    return any(_entries(os.path.join(root, *FOLDER.split("/"))))


def _entries(base: str) -> Iterator[tuple[str, str, bool]]:
    """Folder and name of each file, and whether a link is one of them."""
    for folder in entries(base):
        for each in entries(folder.path) if folder.is_dir() else ():
            if each.name.startswith("state-") and each.name.endswith(".json"):
                yield folder.name, each.name, folder.is_symlink() or each.is_symlink()


def read(store: Store, place: Found, now: datetime, earlier: Held | None = None) -> Held | Unusable:
    """What the file at *place* holds; where it cannot be read, its last good copy.

    If it has not changed since it was read *earlier*, that is the answer.
    """
    path = place.path
    if not place.direct and not store.holds(path):
        return Unusable(path, "leads outside the project", broken=False)
    try:
        if earlier and read_file(path, LARGEST, within=store.root) == (earlier.raw, earlier.mtime):
            return earlier
        raw, mtime, data = read_settled_json(path, LARGEST, within=store.root)
    except StateOutOfReach as error:
        return _while_out_of_reach(store, path, error)
    except StateUnreadable as error:
        return _from_copy(store, path, error.reason)
    newer = _newer(store, path, data)
    if not isinstance(data, dict) or not has_shape(data):
        if newer:
            return Unusable(path, newer, broken=False)
        if store.copies(path) is not None:
            return _from_copy(store, path, "no canonical state any more")
        return Unusable(path, "not a canonical state", broken=False)
    state, problems = salvage(
        data,
        lambda: _good(store.copies(path)),
        lambda: clock.iso(min(clock.from_mtime(mtime), now)),
    )
    # What is wrong for us may be right for the release that wrote it.
    return Held(path, raw, mtime, state, () if newer else tuple(problems), newer=newer)


def _newer(store: Store, path: Path, data: object) -> str:
    kept = data.get("holdfast") if isinstance(data, dict) else None
    return versions.left_alone("bookkeeping", store.relative(path), kept)


def _good(copies: Copies | None) -> State | None:
    try:
        return states.read(copies.good.encode()) if copies else None
    except ValueError:
        return None


def _while_out_of_reach(store: Store, path: Path, error: StateOutOfReach) -> Held | Unusable:
    there = _from_copy(store, path, error.reason)
    if isinstance(there, Unusable):
        return replace(there, broken=False, out_of_reach=True)
    told = f"{store.relative(path)} could not be read: {error.reason}; its last good copy is used, "
    told += "and nothing is saved there until it can be"
    return replace(there, problems=(), broken=False, newer=there.newer or told)


def _from_copy(store: Store, path: Path, reason: str) -> Held | Unusable:
    copies = store.copies(path)
    good = _good(copies)
    if copies is None or good is None:
        return Unusable(path, reason, broken=True)
    raw = copies.good.encode()
    newer = _newer(store, path, decode_json(raw))
    return Held(path, raw, copies.mtime, good, (reason,), broken=True, newer=newer)
