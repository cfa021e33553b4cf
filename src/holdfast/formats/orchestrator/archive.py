"""A run that has ended is put away, so that another one can begin: state, snapshots and learnings.

It goes to .claude/holdfast/archive/<when it began>-agent-state/. Each file is copied, and then
removed; the state comes last. So a run that somebody was killed in the middle of putting away is
still there, and doing it again goes on with it. The log of learnings is copied and stays: it goes on
through all runs. The locks stay, because they are the agents'.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast import clock
from holdfast.errors import IllegalMove, StateOutOfReach, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import files, lifecycle
from holdfast.formats.orchestrator.files import Held
from holdfast.regular import read_file
from holdfast.store import COMMAND_WAIT, LARGEST, Store

_LARGEST = 16 * LARGEST


def put_away(place: Place) -> Path:
    """Archive the run that has ended; returns the folder."""
    with place.store.lock(COMMAND_WAIT):
        lifecycle.settle(place)
        held = lifecycle.changeable(place)
        if not held.state.over:
            raise IllegalMove(
                f"{held.state.name!r} is {held.state.orchestrator.status}",
                hint="Only what has ended is put away: holdfast orchestrate complete, or fail REASON.",
            )
        if held.problems:
            lifecycle.put(place, held, held.state)
        return _put_away(place, held)


def _put_away(place: Place, held: Held) -> Path:
    store, state = place.store, place.root / files.STATE
    raw = read_file(state, LARGEST, within=place.root)[0]
    target = _target(store, held, raw)
    log = place.root / files.LEARNINGS
    if log.exists() and store.holds(log):  # a link to what is somebody else's is no log
        store.write(target / log.name, read_file(log, _LARGEST, within=place.root)[0])
    for path in files.paths(place.root):
        if path != state and not files.is_foreign(store, path):
            _move(place, path, target)
    _move(place, state, target)
    return target


def _move(place: Place, path: Path, folder: Path) -> None:
    store = place.store
    try:
        store.write(folder / path.name, read_file(path, LARGEST, within=place.root)[0])
    except StateOutOfReach:
        raise
    except StateUnreadable:
        store.set_aside(path, place.stamp, move=True)
    store.remove(path, folder_too=False)
    store.forget(path)


def _target(store: Store, held: Held, raw: bytes) -> Path:
    """A folder of its own, or the one that somebody was killed in the middle of filling."""
    began = moment(held.state.orchestrator.start_time) or held.changed_at
    name = f"{clock.for_names(began)}-agent-state"
    return next(each for each in _folders(store, name) if _is_to_be_filled(each, raw))


def _folders(store: Store, name: str) -> Iterator[Path]:
    folder, count = store.private / "archive", 1
    yield folder / name
    while True:
        count += 1
        yield folder / f"{name}-{count}"


def _is_to_be_filled(folder: Path, raw: bytes) -> bool:
    whole = folder / Path(files.STATE).name
    return not os.path.lexists(whole) or read_file(whole, LARGEST)[0] == raw
