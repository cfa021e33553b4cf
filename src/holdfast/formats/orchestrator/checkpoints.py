"""Snapshots of a run: taken, and gone back to.

A checkpoint is three files that change as one: checkpoint-NNN.json, checkpoint.json, which is always
the latest, and the state, which gets an entry for it. All three have the same bytes: the snapshot
holds its own entry, so that a run that went back to it knows where it stands, also by `cp`, as the
format's document does it. A number is never used twice. What somebody else keeps under the name of
checkpoint.json stays; then there is no file for the latest.

Those that a hook takes before a compaction are kept as long as they are among the last ones of
their kind; those that somebody asked for always. Which are which we note in our own folder.

Going back changes the state alone, never the files of the project. The limits stay as they are, with
what was used of them: money that was spent before is spent, and what was allowed is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import sidecar
from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import files, learnings, lifecycle, parting, recovery, snapshots
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.model import Checkpoint, State
from holdfast.formats.orchestrator.moving import moved
from holdfast.store import COMMAND_WAIT, Store
from holdfast.together import Change

AUTOMATIC_KEPT = 10

_AUTOMATIC = "automatic_checkpoints"  # in the sidecar of the run: their names


@dataclass(frozen=True)
class Taken:
    held: Held
    name: str
    entry: Checkpoint
    lines: tuple[str, ...] = ()  # what was brought to an end or recovered by the way


def take(place: Place, task: str | None = None) -> Taken:
    """Take a checkpoint, of the task that is worked on unless another is named."""
    sha = parting.head(place.root)
    with place.store.lock(COMMAND_WAIT):
        lines = lifecycle.settle(place)
        held = lifecycle.changeable(place)
        taken = _take(place, held, task, sha)
        return Taken(*taken, lines=(*lines, *lifecycle.recovered(place, held)))


def auto(place: Place, wait: float) -> str | None:
    """Take one before a compaction, if there is anything that the last one does not have."""
    if not is_due(place.store):
        return None
    sha = parting.head(place.root)
    with place.store.lock(wait):
        lifecycle.settle(place)
        held = _due(place.store)  # what was read outside the lock may be old
        if held is None:
            return None
        gone = _superseded(place.store, held.state)
        _, name, _ = _take(place, held, None, sha, gone)

        def noted(record: dict[str, Any]) -> dict[str, Any]:
            left = [each for each in _automatic(record) if each not in gone]
            return {**record, _AUTOMATIC: [*left, name]}

        # Killed before this, it counts as one that somebody asked for.
        sidecar.put(place.store, held.key, noted)
        return name


def is_due(store: Store) -> bool:
    """Whether `auto` would take one."""
    return _due(store) is not None


def _due(store: Store) -> Held | None:
    """The run, when it differs from its last checkpoint; nothing is taken of what cannot be read."""
    held = files.look(store)
    if not isinstance(held, Held) or held.problems or held.state.over:
        return None
    entries = held.state.checkpoints
    last = snapshots.named(store, entries[-1].state_snapshot) if entries else None
    return None if last and _content(last.state) == _content(held.state) else held


def _content(state: State) -> dict[str, Any]:
    """What makes one state another: neither the time nor the checkpoints themselves."""
    data = state.to_json()
    bounds = data.get("safety_bounds")
    if isinstance(bounds, dict):
        data["safety_bounds"] = {**bounds, "elapsed_time": None}
    return {**data, "checkpoints": None}


def _superseded(store: Store, state: State) -> list[str]:
    """Automatic ones that are not among the last ones with the next."""
    names = _automatic(sidecar.load(store, files.key_of(state)))
    return sorted(names, key=lambda name: files.snapshot_number(name) or 0)[
        : max(0, len(names) + 1 - AUTOMATIC_KEPT)
    ]


def _automatic(record: Mapping[str, Any]) -> list[str]:
    names = record.get(_AUTOMATIC)
    told = names if isinstance(names, list) else []
    return [each for each in told if isinstance(each, str) and files.snapshot_number(each)]


def _take(
    place: Place, held: Held, task: str | None, sha: str | None, gone: Sequence[str] = ()
) -> tuple[Held, str, Checkpoint]:
    name = files.snapshot_name(snapshots.next_number(place.store, held.state))
    after = _noted(held.state, stamp(place.now), name, task, sha, gone)
    folder, latest = place.root / files.FOLDER, place.root / files.LATEST

    def beside(encoded: bytes) -> list[Change]:
        written = [Change(folder / name, encoded)]
        if not files.is_foreign(place.store, latest):
            written.append(Change(latest, encoded))
        return [*written, *(Change(folder / each, None) for each in gone)]

    put = lifecycle.put(place, held, after, beside)
    return put, name, put.state.checkpoints[-1]


def _noted(
    state: State, at: str, name: str, task: str | None, sha: str | None, gone: Sequence[str]
) -> State:
    """*state* with the entry of the next checkpoint, and without those of files that go."""
    after = moved(state, although_paused=True)
    current = after.current
    entry = Checkpoint(
        timestamp=at,
        phase=after.phase,
        task=task or (current.task if current else ""),
        state_snapshot=name,
    )
    entry.git_sha = sha  # set by itself, so that a null is written as well
    after.checkpoints = [
        *(each for each in after.checkpoints if each.state_snapshot not in gone),
        entry,
    ]
    return after


# Going back.


@dataclass(frozen=True)
class Plan:
    """What going back to a snapshot would make of the run."""

    snapshot: Held
    before: Held | None
    after: State
    sha: str | None  # of the commit that goes with it


@dataclass(frozen=True)
class Restored:
    held: Held
    aside: str | None  # where the state that was there is kept
    lines: tuple[str, ...] = ()


def plan(place: Place, which: str | None = None) -> Plan:
    """What `restore` would do; nothing is written. *which* is a number or a file, else the last one."""
    before = recovery.look(place.store)
    if isinstance(before, Unusable):
        if not before.is_ours:
            raise IllegalMove(
                f"{files.STATE} is {before.reason}",
                hint="What somebody else keeps there is not replaced. See holdfast inspect "
                f"{files.STATE}",
            )
        before = None
    snapshot = _snapshot(place.store, which)
    after = snapshot.state.model_copy(deep=True)
    if before:
        after.safety_bounds = before.state.safety_bounds.model_copy(deep=True)
    entries = after.checkpoints
    return Plan(snapshot, before, after, entries[-1].git_sha if entries else None)


def restore(place: Place, which: str | None = None) -> Restored:
    """Go back to a snapshot, with the state alone."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        lines = lifecycle.settle(place)
        planned = plan(place, which)
        if planned.before:
            # What is taken back from the state stays in the log.
            learnings.settled(store, planned.before.state)
            learnings.taken(store, planned.before.state)
        learnings.taken(store, planned.after)  # it may be of another run
        path = place.root / files.STATE
        aside = store.relative(lifecycle.set_aside(place)) if path.exists() else None
        whole = planned.before if planned.before and not planned.before.broken else None
        return Restored(lifecycle.put(place, whole, planned.after), aside, tuple(lines))


def _snapshot(store: Store, which: str | None) -> Held:
    if which is None:
        last = snapshots.latest_good(store)
        if last is None:
            raise NoSuchWorkflow(
                f"there is no checkpoint in {store.root / files.FOLDER}",
                hint="Take one: holdfast orchestrate checkpoint",
            )
        return last
    path = _path(store, which)
    if not path.exists():
        there = ", ".join(each.path.name for each in snapshots.good(store)) or "none"
        raise NoSuchWorkflow(f"there is no {store.relative(path)}", hint=f"There are: {there}.")
    found = files.read(store, path)
    if isinstance(found, Unusable) or found.problems:
        reason = found.reason if isinstance(found, Unusable) else found.problems[0]
        raise StateUnreadable(path, reason)
    return found


def _path(store: Store, which: str) -> Path:
    """A number, the name of a snapshot, or a file of the project."""
    if which.isascii() and which.isdecimal():
        which = files.snapshot_name(int(which[:9]))
    if files.snapshot_number(which):
        return store.root / files.FOLDER / which
    path = Path(os.path.realpath(store.root / which)) if "\0" not in which else None
    if path is None or not store.holds(path):
        raise IllegalMove(f"{which!r} lies outside the project", hint="Give a number, such as 2.")
    return path


def changes(before: State | None, after: State) -> list[str]:
    """What going back changes, one line each, for people."""
    now = _told(before) if before else {}
    return [
        f"{what}: {now.get(what, 'nothing')} → {then}"
        for what, then in _told(after).items()
        if now.get(what) != then
    ]


def _told(state: State) -> dict[str, str]:
    run, current = state.orchestrator, state.current
    return {
        "task document": run.task_doc,
        "begun": str(run.start_time),
        "status": run.status,
        "phase": f"{run.current_phase + 1} of {run.total_phases}",
        "task": f"{run.current_task}{f' ({current.task} {current.name})' if current else ''}",
        "iteration": str(run.ralph_iteration),
        "completed tasks": ", ".join(each.task for each in state.completed_tasks) or "none",
        "agents": ", ".join(f"{e.type} on {e.task}" for e in state.active_agents) or "none",
        "learnings": str(len(state.learnings)),
        "milestones": str(len(state.milestones)),
    }
