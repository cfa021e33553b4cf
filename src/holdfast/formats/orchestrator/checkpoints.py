"""Checkpoints of a run, the way back to one, and the archive of runs that have ended.

A checkpoint is three files that change as one: checkpoint-NNN.json, checkpoint.json, which is always
the latest, and the state, which gets an entry for it. All three have the same bytes: the snapshot
holds its own entry, so that a run that went back to it knows where it stands, also by `cp`, as the
format's document does it. A number is never used twice.

Going back changes the state alone, never the files of the project, and what was there is kept. The limits stay
as they are, with what was used of them: money that was spent is spent, and what was allowed is allowed. Of a
state in which more was spent, as of our copy after a `git reset`, those count.

A run that has ended goes to .claude/holdfast/archive/<when it began>-agent-state/. Each file is copied and
then removed, the state last. So a run whose archiving was killed is still there, and doing it again
goes on with it. The log of learnings is copied and stays: it goes on through all runs. The locks
stay, because they are the agents'.
"""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path

from holdfast import clock
from holdfast.errors import IllegalMove, NoSuchWorkflow, StateOutOfReach, StateUnreadable
from holdfast.files.regular import read_file
from holdfast.files.store import LARGEST, Store
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.loading import Unusable, error_of, unreadable
from holdfast.formats.engine.moves import move
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator import briefing, files, learnings
from holdfast.formats.orchestrator.files import StateFile
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import Checkpoint, State, parse_money
from holdfast.formats.orchestrator.moves import when


def take(place: Place, task: str | None = None) -> Changed[StateFile]:
    """Take a checkpoint, of the current task unless another is named; its entry is the state's last."""
    with FORMAT.locked(place) as lines:
        run = FORMAT.run(place)
        taken = take_of(place, run, task)
        return Changed(taken, (*lines, *unreadable(place.store, [run], ())))


def take_of(place: Place, run: StateFile, task: str | None = None) -> StateFile:
    """Take a checkpoint of *run*; inside the lock."""
    store, folder, latest = place.store, place.root / files.FOLDER, place.root / files.LATEST
    name = files.snapshot_name(files.next_number(store, run.state))
    after = _add_entry(run.state, iso_time(place.now), name, task, briefing.head(store))
    # What somebody else keeps as the latest stays.
    copies = [folder / name, *(() if files.is_foreign(store, latest) else (latest,))]
    return FORMAT.put(place, run.path, after, run, copies=copies)


@move(when(while_paused=True))
def _add_entry(state: State, at: str, name: str, task: str | None, sha: str | None) -> None:
    """Add the entry of the checkpoint *name*."""
    task = task or state.current_id
    entry = Checkpoint(timestamp=at, phase=state.phase, task=task, state_snapshot=name)
    entry.git_sha = sha  # set by itself, so that a null is written as well
    state.checkpoints = [*state.checkpoints, entry]


# Going back.


def restore(place: Place, which: str | None = None) -> Changed[StateFile]:
    """Go back to a snapshot, a number or a file, with the state alone; without *which* to the last one."""
    store, path = place.store, place.root / files.STATE
    with FORMAT.locked(place) as lines:
        before = files.find_run(store)
        if isinstance(before, Unusable):
            files.refuse_foreign(before)
            before = None
        snapshot = _snapshot(store, which)
        after = snapshot.state
        if before:
            both = (before.state.safety_bounds, after.safety_bounds)
            most_spent = max(both, key=lambda bounds: parse_money(bounds.cost_so_far))
            after = after.model_copy(update={"safety_bounds": most_spent})
        lines.append(f"from {snapshot.described}")
        if path.exists():
            aside = store.relative(FORMAT.set_aside(place, path))
            lines.append(f"what was there is kept in {aside}")
        whole = before if before and not before.broken else None
        return Changed(FORMAT.put(place, path, after, whole), (*lines,), before)


def _snapshot(store: Store, which: str | None) -> StateFile:
    if which is None:
        if last := next(files.good_snapshots(store), None):
            return last
        raise NoSuchWorkflow(
            f"there is no checkpoint in {store.root / files.FOLDER}",
            hint="Take one: holdfast orchestrate checkpoint",
        )
    if which.isascii() and which.isdecimal():
        which = files.snapshot_name(int(which[:9]))
    is_name = files.is_state(f"{files.FOLDER}/{which}")
    path = store.root / files.FOLDER / which if is_name else files.inside(store, store.root, which)
    if not path.exists():
        there = ", ".join(file.path.name for file in files.good_snapshots(store)) or "none"
        raise NoSuchWorkflow(f"there is no {store.relative(path)}", hint=f"There are: {there}.")
    found = files.KIND.read(store, path)
    if isinstance(found, Unusable) or found.problems:
        raise error_of(found)
    return found


# The archive.


def put_away(place: Place) -> Path:
    """Archive the run that has ended; returns the folder."""
    store, path = place.store, place.root / files.STATE
    with FORMAT.locked(place):
        run = FORMAT.run(place)
        if not run.state.over:
            raise IllegalMove(
                f"{run.name!r} is {run.state.orchestrator.status}",
                hint="Only a run that has ended can be archived: holdfast orchestrate complete, or fail REASON.",
            )
        if run.problems:
            FORMAT.put(place, path, run.state, run)
        target = _archive_folder(store, run, store.read(path)[0])
        log = place.root / files.LEARNINGS
        if log.exists() and store.holds(log):  # a link to what is somebody else's is no log
            store.write(target / log.name, store.read(log, learnings.LARGEST_LOG)[0])
        for file in files.paths(store):
            if file != path and not files.is_foreign(store, file):
                _move(place, file, target)
        _move(place, path, target)
    return target


def _archive_folder(store: Store, run: StateFile, raw: bytes) -> Path:
    """A new folder, or the one that somebody was killed in the middle of filling."""
    began = run.created_at or run.changed_at
    first = store.private / "archive" / f"{clock.for_names(began)}-agent-state"
    others = (first.with_name(f"{first.name}-{number}") for number in count(2))
    state = Path(files.STATE).name
    return next(
        folder
        for folder in chain([first], others)
        if not os.path.lexists(folder / state) or read_file(folder / state, LARGEST)[0] == raw
    )


def _move(place: Place, path: Path, folder: Path) -> None:
    store = place.store
    try:
        store.write(folder / path.name, store.read(path)[0])
    except StateOutOfReach:
        raise
    except StateUnreadable:
        store.set_aside(path, place.stamp, move=True)
    store.remove(path)
    store.forget(path)
