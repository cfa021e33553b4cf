"""State files that lie as others wrote them, each with its last good copy behind it.

A file counts by its shape: what somebody else keeps in the same place is left alone. One that cannot
be read is told, and its last good copy is used. Hooks keep the copies, in our own folder, and leave
the files as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import ValidationError

from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.formats.document import Document
from holdfast.formats.strictness import problems_of
from holdfast.regular import decode_json, read_settled_json
from holdfast.store import LARGEST, Store

D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Kept(Generic[D]):
    """One state file as read: what it says, and what was wrong with it."""

    path: Path
    raw: bytes
    mtime: float
    state: D  # where something was wrong, what is used instead
    problems: tuple[str, ...] = ()
    broken: bool = False  # no JSON, or no state any more
    instead: str = "its last good copy"
    out_of_reach: bool = False  # the system did not let us read it, and it may be as good as ever


K = TypeVar("K", bound=Kept[Any])


class Unread(Kept[D]):
    """One state file of which enough is known; it is read when its state is asked for."""

    def __init__(self, path: Path, mtime: float, row: object, read: Callable[[], Any]) -> None:
        self.__dict__.update(path=path, mtime=mtime, row=row, _read=read)

    @cached_property
    def _held(self) -> Kept[D]:
        held = self.__dict__["_read"]()
        if isinstance(held, Unusable):  # it was changed a moment ago, and has no copy
            raise StateUnreadable(held.path, held.reason)
        kept: Kept[D] = held
        return kept

    @property
    def raw(self) -> bytes:
        return self._held.raw

    @property
    def state(self) -> D:
        return self._held.state


@dataclass(frozen=True)
class Unusable:
    """A file that lies where states lie, but tells nothing."""

    path: Path
    reason: str
    # Somebody else's; with a wrong field; no JSON; not there although it should be.
    kind: Literal["foreign", "wrong", "broken", "missing"]
    out_of_reach: bool = False

    @property
    def is_ours(self) -> bool:
        return self.kind != "foreign"


@dataclass(frozen=True)
class Kind(Generic[D, K]):
    """What a kind of state file is like, and what it is read as."""

    what: str  # "the state of a skill"
    model: type[D]
    held: type[K]
    has_shape: Callable[[object], bool]
    # Whether what cannot be used as it stands is of the run that a copy is of: a name is used again.
    is_same: Callable[[Mapping[str, Any], D], bool] = lambda _, __: True

    def read(self, store: Store, path: Path) -> K | Unusable:
        """What *path* holds; where it cannot be read, its last good copy."""
        if not store.holds(path):
            return Unusable(path, "leads outside the project", "foreign")
        try:
            raw, mtime, data = read_settled_json(path, LARGEST, within=store.root)
        except StateOutOfReach as error:
            found = self._from_copy(store, path, (error.reason,), {})
            return replace(found, out_of_reach=True)
        except StateUnreadable as error:
            return self._from_copy(store, path, (error.reason,), None)
        if not isinstance(data, dict) or not self.has_shape(data):
            if store.copies(path) is not None:
                return self._from_copy(store, path, (f"not {self.what} any more",), None)
            return Unusable(path, f"not {self.what}", "foreign")
        try:
            return self.held(path, raw, mtime, self.model.of_json(data))
        except ValidationError as error:
            return self._from_copy(store, path, problems_of(error), data)

    def parse(self, raw: bytes) -> D:
        """The state in *raw*, or ValueError."""
        data = decode_json(raw)
        if not isinstance(data, dict) or not self.has_shape(data):
            raise ValueError(f"not {self.what}")
        return self.model.of_json(data)

    def _from_copy(
        self, store: Store, path: Path, problems: tuple[str, ...], data: dict[str, Any] | None
    ) -> K | Unusable:
        """*data* is what the file says where that is JSON of the right shape, or out of reach."""
        copies, broken = store.copies(path), data is None
        try:
            good = self.parse(copies.good.encode()) if copies else None
        except ValueError:
            good = None
        if copies is None or good is None or (data and not self.is_same(data, good)):
            return Unusable(path, problems[0], "broken" if broken else "wrong")
        return self.held(path, copies.good.encode(), copies.mtime, good, problems, broken)


def _is_gone(path: str) -> bool:
    return not os.path.exists(path)


def keep_copies(
    store: Store,
    folder: str,
    held: Iterable[Kept[Any]],
    gone: Callable[[str], bool] = _is_gone,
    copied: Mapping[str, float] | None = None,
) -> None:
    """Copy what has changed, and forget what has *gone*; to be called inside the lock."""
    copied = store.copied_at(folder) if copied is None else copied
    uncopied, left = _due(store, copied, held, gone)
    for path in left:
        store.forget(path)
    for each in uncopied:
        before = store.copies(each.path)
        store.keep(each.path, each.raw, before.good.encode() if before else None)


def copies_due(
    store: Store,
    folder: str,
    held: Iterable[Kept[Any]],
    gone: Callable[[str], bool] = _is_gone,
    copied: Mapping[str, float] | None = None,
) -> bool:
    """Whether `keep_copies` has something to do; *copied* is when what was copied, if that is known."""
    copied = store.copied_at(folder) if copied is None else copied
    return any(_due(store, copied, held, gone))


def _due(
    store: Store,
    copied: Mapping[str, float],
    held: Iterable[Kept[Any]],
    gone: Callable[[str], bool],
) -> tuple[list[Kept[Any]], list[Path]]:
    """What has changed since it was copied, and the copies whose file is gone.

    Another run may get a file of the same name.
    """
    there = {str(each.path): each for each in held}
    changed = (
        each
        for path, each in there.items()
        # A listing does not tell of names that are too long for one, or that it spells otherwise.
        if copied.get(path, -1.0) < each.mtime and not store.copied_since(each.path, each.mtime)
    )
    left = sorted(path for path in copied if path not in there and gone(path))
    return [each for each in changed if not each.problems], [*map(Path, left)]


def unreadable(store: Store, held: Iterable[Kept[Any]], lost: Sequence[Unusable]) -> list[str]:
    """What the person has to be told, one line each."""
    lines = []
    for each in held:
        if each.problems:
            more = f" and {len(each.problems) - 1} more" if len(each.problems) > 1 else ""
            lines.append(
                f"{store.relative(each.path)} could not be read ({each.problems[0]}{more}); "
                f"{each.instead} is used"
            )
    return lines + [
        f"{store.relative(each.path)} could not be read: {each.reason}"
        for each in lost
        if each.is_ours
    ]
