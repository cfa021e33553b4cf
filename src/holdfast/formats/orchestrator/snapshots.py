"""The snapshots of a run that lie beside its state: which are good, which is the last, what they say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast import clock
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import files
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.model import State
from holdfast.store import Store


def good(store: Store) -> Iterator[Held]:
    """Those that can be read, the last one first."""
    for path in (*reversed(files.snapshots(store.root)), store.root / files.LATEST):
        snapshot = files.read(store, path)
        if isinstance(snapshot, Held) and not snapshot.problems:
            yield snapshot


def latest_good(store: Store) -> Held | None:
    """The last one that can be read."""
    return next(good(store), None)


def named(store: Store, name: str) -> Held | None:
    """The one called *name*, if it lies there and can be read."""
    if files.snapshot_number(name) is None:
        return None
    snapshot = files.read(store, store.root / files.FOLDER / name)
    return snapshot if isinstance(snapshot, Held) and not snapshot.problems else None


def next_number(store: Store, state: State) -> int:
    """One that neither a file nor a run's entry has had."""
    names = [path.name for path in files.snapshots(store.root)]
    names += [each.state_snapshot for each in state.checkpoints]
    return max((files.snapshot_number(name) or 0 for name in names), default=0) + 1


def taken_at(snapshot: Held) -> datetime:
    """When it was taken: its own entry is the last one in it."""
    entries = snapshot.state.checkpoints
    stated = moment(entries[-1].timestamp) if entries else None
    return stated or clock.from_mtime(snapshot.mtime)


def described(snapshot: Held) -> str:
    """checkpoint-002.json of 2026-01-15 12:28 UTC."""
    return f"{snapshot.path.name} of {taken_at(snapshot):%Y-%m-%d %H:%M} UTC"
