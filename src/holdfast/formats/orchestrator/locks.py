"""Which agent works on which files: .claude/locks.json, so that agents side by side do not meet.

The format's document names the file and says nothing of what is in it. This is what we write, and
docs/formats/orchestrator.md describes:

    {"locks": [{"path": "src/auth", "owner": "s-1", "task": "2.1", "pid": 4711,
                "host": "box pid:[4026531836]", "acquired": "2026-01-15T12:30:00Z",
                "expires": "2026-01-15T13:00:00Z"}]}

Rule 1: a lock belongs to an owner and a task. The agents of one session share the session's name, so
        they are told apart by their tasks.
Rule 2: whoever has a folder has what is below it. Two holders never have paths that overlap.
Rule 3: of several paths all are locked, or none.
Rule 4: a lock is stale when its process has ended on this host, or when its time is over. Locking
        again renews it. A stale one goes to whoever asks next, who is told whose it was.
Rule 5: an entry that is not understood is kept, and keeps nobody out.
"""

from __future__ import annotations

import os
import posixpath
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from holdfast import processes
from holdfast.clock import Clock, for_names
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.formats.document import Document, moment, stamp
from holdfast.formats.holding import Kept, Kind, Unusable
from holdfast.formats.orchestrator.files import LOCKS
from holdfast.plaintext import one_line
from holdfast.store import COMMAND_WAIT, Store

LASTS = timedelta(minutes=30)  # unless it is renewed, or was taken for another time

_POLL = 0.2  # seconds between two tries


class Locks(Document):
    """The file. Entries stay as they are written."""

    locks: list[Any] = Field(default_factory=list)


def _has_shape(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("locks", []), list)


KIND: Kind[Locks, Kept[Locks]] = Kind("a list of locks", Locks, Kept[Locks], _has_shape)


class Holder(NamedTuple):
    owner: str
    task: str | None = None

    def __str__(self) -> str:
        task = f" (task {self.task})" if self.task else ""
        return one_line(f"{self.owner}{task}", 120)


@dataclass(frozen=True)
class Lock:
    """One entry."""

    path: str  # relative to the root, with forward slashes; "." is all of it
    holder: Holder
    pid: int | None  # the process that lives as long as the holder
    host: str | None
    acquired: datetime | None
    expires: datetime | None

    def stale(self, now: datetime) -> str:
        """Why it counts no more; empty while it does."""
        if self.pid and self.host == processes.where() and processes.is_gone(self.pid):
            return f"process {self.pid} has ended"
        if self.expires and self.expires <= now:
            return "its time is over"
        return ""

    def meets(self, path: str) -> bool:
        """Whether it covers *path*, or something below it."""
        return _is_within(path, self.path) or _is_within(self.path, path)

    def to_json(self) -> dict[str, object]:
        told = {
            "path": self.path,
            "owner": self.holder.owner,
            "task": self.holder.task,
            "pid": self.pid,
            "host": self.host,
            "acquired": _stamp(self.acquired),
            "expires": _stamp(self.expires),
        }
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True)
class Outcome:
    """What a command did to the locks."""

    locks: tuple[Lock, ...]  # that were taken or given back
    from_others: tuple[tuple[Lock, str], ...] = ()  # whose they were, and why they counted no more
    note: str = ""  # what was wrong with the file


class _Rival(NamedTuple):
    """An entry of somebody else that meets what is to be locked."""

    entry: Any
    lock: Lock
    stale: str


@dataclass(frozen=True)
class _File:
    """The file as it is inside the lock."""

    document: Locks
    broken: bool = False

    @property
    def locks(self) -> list[tuple[Any, Lock]]:
        """The entries that are understood, each with what it says."""
        read = ((entry, lock_of(entry)) for entry in self.document.locks)
        return [(entry, lock) for entry, lock in read if lock]


def lock_of(entry: object) -> Lock | None:
    """What *entry* says; None where it names no path below the root."""
    path = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(path, str) or not path:
        return None
    path = posixpath.normpath(path)
    if path == ".." or path.startswith(("/", "../")):
        return None
    owner, task, pid, on = (entry.get(name) for name in ("owner", "task", "pid", "host"))
    acquired, expires = moment(entry.get("acquired")), moment(entry.get("expires"))
    return Lock(
        path,
        Holder(str(owner or "somebody"), None if task is None else str(task)),
        pid if type(pid) is int and pid > 0 else None,
        on if isinstance(on, str) else None,
        acquired,
        expires or (acquired + LASTS if acquired else None),
    )


def look(store: Store) -> tuple[list[Lock], str]:
    """All locks, and what is wrong with the file."""
    try:
        file = _read(store)
    except StateUnreadable as error:
        return [], error.cause
    return [lock for _, lock in file.locks], _note(file)


def named(store: Store, cwd: str, paths: Iterable[str]) -> list[str]:
    """*paths*, given in *cwd*, as they are locked: below the root, wherever links lead."""
    found = []
    for path in paths:
        readable = path and "\0" not in path
        real = Path(os.path.realpath(os.path.join(cwd, path))) if readable else None
        if real is None or not store.holds(real):
            raise IllegalMove(
                f"{path!r} lies outside the project {store.root}",
                hint="Only files and folders of the project can be locked.",
            )
        found.append(store.relative(real))
    return list(dict.fromkeys(found))


def take(
    store: Store,
    clock: Clock,
    paths: Sequence[str],
    holder: Holder,
    *,
    pid: int | None,
    lasts: timedelta = LASTS,
    wait: float = 0,
) -> Outcome:
    """Lock *paths*, as `named` gives them, for *holder*; wait as long as *wait* for others."""
    until = time.monotonic() + wait
    while True:
        with store.lock(COMMAND_WAIT):
            file, now = _read(store), clock.now()
            rivals = [
                _Rival(entry, lock, lock.stale(now))
                for entry, lock in file.locks
                if lock.holder != holder and any(lock.meets(path) for path in paths)
            ]
            in_the_way = next((each.lock for each in rivals if not each.stale), None)
            if in_the_way is None:
                return _take(store, file, now, paths, holder, pid, lasts, rivals)
        if not time.monotonic() < until:  # also where it is no number
            raise _held(in_the_way, now)
        time.sleep(min(_POLL, max(0.0, until - time.monotonic())))


def _take(
    store: Store,
    file: _File,
    now: datetime,
    paths: Sequence[str],
    holder: Holder,
    pid: int | None,
    lasts: timedelta,
    rivals: Sequence[_Rival],
) -> Outcome:
    """Write the new locks in the place of the holder's own on these paths and of stale *rivals*."""
    own = [(entry, lock) for entry, lock in file.locks if lock.holder == holder]
    renewed = [(entry, lock) for entry, lock in own if lock.path in paths]
    since = {lock.path: lock.acquired for _, lock in renewed}
    now = now.replace(microsecond=0)
    taken = [
        Lock(
            path,
            holder,
            pid,
            processes.where() if pid else None,
            since.get(path) or now,
            now + lasts,
        )
        for path in paths
    ]
    gone = {id(each[0]) for each in (*renewed, *rivals)}
    kept = [entry for entry in file.document.locks if id(entry) not in gone]
    _write(store, file, [*kept, *(each.to_json() for each in taken)], now)
    overdue = tuple((each.lock, each.stale) for each in rivals)
    return Outcome(tuple(taken), overdue, _note(file))


def give_back(
    store: Store, clock: Clock, paths: Sequence[str], owner: str, task: str | None, *, force: bool
) -> Outcome:
    """Unlock *paths*; without a *task* whatever the owner's task, with *force* whoever's they are."""
    with store.lock(COMMAND_WAIT):
        file = _read(store)
        gone, given = set(), []
        for path in paths:
            there = [(entry, lock) for entry, lock in file.locks if lock.path == path]
            mine = [each for each in there if force or _is_of(each[1].holder, owner, task)]
            if not mine:
                raise _not_yours(path, [lock for _, lock in there], Holder(owner, task))
            gone |= {id(entry) for entry, _ in mine}
            given += [lock for _, lock in mine]
        kept = [entry for entry in file.document.locks if id(entry) not in gone]
        _write(store, file, kept, clock.now())
    others = [lock for lock in given if not _is_of(lock.holder, owner, task)]
    return Outcome(tuple(given), tuple((lock, "unlocked by force") for lock in others), _note(file))


def _is_of(holder: Holder, owner: str, task: str | None) -> bool:
    return holder.owner == owner and task in {None, holder.task}


def _held(lock: Lock, now: datetime) -> IllegalMove:
    left = f", for another {_minutes(lock.expires - now)}" if lock.expires else ""
    return IllegalMove(
        f"{one_line(lock.path)} is held by {lock.holder}{left}",
        hint="Nothing was locked. Work on something else, or wait for it: --wait SECONDS. "
        f"If its agent is gone: holdfast orchestrate unlock --force {shlex.quote(lock.path)}",
    )


def _minutes(left: timedelta) -> str:
    minutes = max(1, round(left.total_seconds() / 60))
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def _not_yours(path: str, there: Sequence[Lock], holder: Holder) -> IllegalMove:
    if there:
        return IllegalMove(
            f"{one_line(path)} is held by {there[0].holder}, not by {holder}",
            hint="Nothing was unlocked. Yours may have become stale and gone to somebody else. "
            "To unlock it all the same: --force",
        )
    return IllegalMove(
        f"{one_line(path)} is not locked",
        hint="Nothing was unlocked. See holdfast orchestrate locks.",
    )


def _read(store: Store) -> _File:
    """The file, or its last good copy. What cannot be read otherwise overrules nobody's locks."""
    path = store.root / LOCKS
    if not os.path.lexists(path):  # somebody cleared them away, and the copy brings none back
        return _File(Locks())
    held = KIND.read(store, path)
    if isinstance(held, Unusable):
        raise StateUnreadable(path, held.reason)
    return _File(held.state, held.broken)


def _note(file: _File) -> str:
    return f"{LOCKS} could not be read; its last good copy is used" if file.broken else ""


def _write(store: Store, file: _File, entries: list[Any], now: datetime) -> None:
    path = store.root / LOCKS
    if file.broken:
        store.set_aside(path, for_names(now), move=False)
    file.document.locks = entries
    encoded = file.document.encode()
    store.write(path, encoded)
    store.keep(path, encoded, None)


def _is_within(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")


def _stamp(at: datetime | None) -> str | None:
    return stamp(at) if at else None
