"""Which agent works on which files: .claude/locks.json, so that agents side by side stay apart.

The format's document names the file and leaves its contents open. This is what we write:

    {"locks": [{"path": "src/auth", "owner": "s-1", "task": "2.1", "acquired": "2026-01-15T12:30:00Z"}]}

The list is advisory, and nobody waits for a lock. Whoever has a folder has what is below it. The agents
of one session share its name, so their tasks tell them apart. Of several paths all are locked, or
none. Locking again renews; a lock that is half an hour old is stale and goes to whoever asks next.
An entry that we do not understand is kept, and keeps nobody out.
"""

from __future__ import annotations

import contextlib
import posixpath
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from holdfast import clock
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files.store import COMMAND_WAIT, Store
from holdfast.formats.engine.document import Document, Open, Time, iso_time, moment
from holdfast.formats.orchestrator import files
from holdfast.text.plaintext import one_line

STALE = timedelta(minutes=30)


def _below_root(path: str) -> str:
    normal = posixpath.normpath(path)
    if not path or normal == ".." or normal.startswith(("/", "../")):
        raise ValueError("a path below the root")
    return normal


class Lock(Open):
    path: Annotated[str, AfterValidator(_below_root)]  # with forward slashes; "." is all of it
    owner: str = "somebody"
    task: str | None = None
    acquired: Time = None

    def is_stale(self, now: datetime) -> bool:
        since = moment(self.acquired)
        return since is not None and now - since > STALE

    def described(self, now: datetime) -> str:
        """s-1 (task 2.1), locked 40 minutes ago, stale."""
        task, since = f" (task {self.task})" if self.task else "", moment(self.acquired)
        age = f", locked {clock.ago(since, now)}" if since else ""
        return one_line(f"{self.owner}{task}{age}{', stale' if self.is_stale(now) else ''}", 160)

    def overlaps(self, path: str) -> bool:
        return _is_within(path, self.path) or _is_within(self.path, path)


def _is_within(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")


class Locks(Document):
    locks: list[Annotated[Lock | Any, Field(union_mode="left_to_right")]] = Field([])

    @property
    def known(self) -> list[Lock]:
        return [lock for lock in self.locks if isinstance(lock, Lock)]


def read(store: Store) -> Locks:
    """The file, or StateUnreadable."""
    path = store.root / files.LOCKS
    data: Any = store.read_json(path)[2] if store.exists(path) else {}
    with contextlib.suppress(ValidationError):
        file = Locks.of_json(data)
        if not file.odd:
            return file
    raise StateUnreadable(path, "not a list of locks; move it away to begin a new one")


def inside(store: Store, cwd: str, paths: Iterable[str]) -> list[str]:
    """*paths*, given in *cwd*, relative to the root and with links followed."""
    real = (store.relative(files.inside(store, cwd, path)) for path in paths)
    return list(dict.fromkeys(real))


def take(
    store: Store, now: datetime, paths: Sequence[str], owner: str, task: str | None
) -> list[Lock]:
    """Lock *paths*; returns the stale locks of others that had to go."""
    with store.lock(COMMAND_WAIT):
        file = read(store)
        met = [lock for lock in file.known if any(map(lock.overlaps, paths))]
        others = [lock for lock in met if (lock.owner, lock.task) != (owner, task)]
        for lock in others:
            if not lock.is_stale(now):
                raise IllegalMove(
                    f"{one_line(lock.path)} is held by {lock.described(now)}",
                    hint="Nothing was locked. Work on something else, or try again later. If its "
                    f"agent is gone: holdfast orchestrate unlock --force {shlex.quote(lock.path)}",
                )
        gone = [lock for lock in met if lock in others or lock.path in paths]
        whose = {"owner": owner, **({"task": task} if task else {}), "acquired": iso_time(now)}
        new = [Lock(path=path, **whose) for path in paths]
        file.locks = [*(lock for lock in file.locks if lock not in gone), *new]
        store.write(store.root / files.LOCKS, file.encode())
    return others


def release(
    store: Store, now: datetime, paths: Sequence[str], owner: str, task: str | None, *, force: bool
) -> list[Lock]:
    """Unlock *paths*: the owner's, of one *task* if given; with *force* also those of others."""
    with store.lock(COMMAND_WAIT):
        file = read(store)
        there = [lock for lock in file.known if lock.path in paths]
        mine = [lock for lock in there if lock.owner == owner and task in {None, lock.task}]
        given = there if force else mine
        for path in {*paths} - {lock.path for lock in given}:
            holder = next((lock.described(now) for lock in there if lock.path == path), "")
            raise IllegalMove(
                f"{one_line(path)} is {f'held by {holder}' if holder else 'not locked'}",
                hint=f"Nothing was unlocked.{' To do it anyway: --force' if holder else ''}",
            )
        file.locks = [lock for lock in file.locks if lock not in given]
        store.write(store.root / files.LOCKS, file.encode())
    return given
