"""Where an orchestrator's files lie, reading its state, and what stands in for a damaged one.

All lie in .claude: agent-state.json, learnings.jsonl, locks.json, checkpoint.json (the latest) and
checkpoint-001.json, checkpoint-002.json, … A file counts by its shape: what somebody else keeps
under such a name is left alone.

Where the state cannot be read, two others may be: the last checkpoint, which the format's document asks
for, and our own last good copy. The newer one counts; where both say the same, the checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.engine.document import moment
from holdfast.formats.engine.loading import FileKind, LoadedFile, Unusable
from holdfast.formats.orchestrator.model import State, has_shape, is_old

FOLDER = ".claude"
STATE = f"{FOLDER}/agent-state.json"
LEARNINGS = f"{FOLDER}/learnings.jsonl"
LOCKS = f"{FOLDER}/locks.json"
LATEST = f"{FOLDER}/checkpoint.json"
OLD = "the state of an older workflow system, which has to be finished under that system"

_SNAPSHOT = re.compile(r"checkpoint-([0-9]{3,9})\.json")


class StateFile(LoadedFile[State]):
    """The state of a run, or a snapshot of one, as read."""

    format = "orchestrator"

    @property
    def key(self) -> str:
        return key_of(self.state)

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def created_at(self) -> datetime | None:
        return moment(self.state.orchestrator.start_time)

    @property
    def described(self) -> str:
        """Of a snapshot: checkpoint-002.json of 2026-01-15 12:28 UTC."""
        if self.problems:
            return f"{self.instead} of {self.path.name}"
        entries = self.state.checkpoints  # its own is the last
        stated = moment(entries[-1].timestamp) if entries else None
        at = stated or clock.from_mtime(self.mtime)
        return f"{self.path.name} of {at:%Y-%m-%d %H:%M} UTC"


def key_of(state: State) -> str:
    """A run is known by its start: every run has a file of the same name."""
    return f"orchestrator:{state.orchestrator.start_time or 'agent-state'}"


KIND = FileKind(
    "the state of an orchestrator",
    State,
    StateFile,
    has_shape,
    "orchestrator.start_time",
    key_fields=("orchestrator", "completed_tasks", "pending_tasks"),
)


# Names.


def snapshot_name(number: int) -> str:
    return f"checkpoint-{number:03}.json"


def snapshot_number(name: str) -> int | None:
    """7 of checkpoint-007.json; None where that is no snapshot's name."""
    found = _SNAPSHOT.fullmatch(name)
    return int(found[1]) if found and snapshot_name(int(found[1])) == name else None


def snapshots(store: Store) -> list[Path]:
    """The numbered snapshots, the oldest first."""
    folder = store.root / FOLDER
    names = (entry.name for entry in store.entries(folder))
    numbered = sorted((number, name) for name in names if (number := snapshot_number(name)))
    return [folder / name for _, name in numbered]


def next_number(store: Store, state: State) -> int:
    """One that neither a file nor an entry of *state* has had."""
    names = [path.name for path in snapshots(store)]
    names += [entry.state_snapshot for entry in state.checkpoints]
    return max((snapshot_number(name) or 0 for name in names), default=0) + 1


def is_ours(path: str) -> bool:
    """Whether *path*, relative to the root, is one of these files."""
    return path in {LEARNINGS, LOCKS} or is_state(path)


def is_state(path: str) -> bool:
    """Whether *path*, relative to the root, holds a state or a snapshot of one."""
    folder, _, name = path.rpartition("/")
    return path in {STATE, LATEST} or (folder == FOLDER and snapshot_number(name) is not None)


def paths(store: Store) -> list[Path]:
    """The state and its snapshots, as far as they are there."""
    found = [store.root / STATE, store.root / LATEST, *snapshots(store)]
    return [path for path in found if store.exists(path)]


# Reading.


def find_run(store: Store) -> StateFile | Unusable | None:
    """The state; where it cannot be read, the newest good one that is known; None where none lies there."""
    path = store.root / STATE
    if not store.exists(path):
        return None
    with contextlib.suppress(StateUnreadable):
        # That is left alone, even where a run of ours was.
        # Nor is its writer waited for, unless it is known to be a state: other tools have a file of that name.
        was_state = store.copied_since(path, 0.0)
        if store.holds(path) and is_old(store.read_json(path, wait=was_state)[2]):
            return Unusable(path, OLD, "foreign")
    there = KIND.read(store, path)
    if isinstance(there, StateFile):
        there.state.written = clock.from_mtime(there.mtime)
    if not (there.problems if isinstance(there, StateFile) else there.is_ours):
        return there
    snapshot = next(good_snapshots(store), None)
    if snapshot is None:
        return there
    if isinstance(there, StateFile):
        # Keys tell of two runs which is the later one.
        is_newer = (there.key, there.mtime) >= (snapshot.key, snapshot.mtime)
        if is_newer and there.raw != snapshot.raw:
            return there
        problems, broken = there.problems, there.broken
    else:
        problems, broken = (there.reason,), there.kind == "broken"
    instead = snapshot.described
    return replace(snapshot, path=there.path, problems=problems, broken=broken, instead=instead)


def done_since(state: State, earlier: State) -> list[str]:
    """The tasks that are completed in *state*, and were not yet in the *earlier* one."""
    return [done.task for done in state.completed_tasks if not earlier.completed(done.task)]


def good_snapshots(store: Store) -> Iterator[StateFile]:
    """Those that can be read, the last one first."""
    paths = (*reversed(snapshots(store)), store.root / LATEST)
    return (snapshot for path in paths if (snapshot := good_snapshot(store, path)))


def good_snapshot(store: Store, path: Path) -> StateFile | None:
    """The snapshot at *path*, if it lies there and can be read."""
    snapshot = KIND.read(store, path)
    return snapshot if isinstance(snapshot, StateFile) and not snapshot.problems else None


def is_foreign(store: Store, path: Path) -> bool:
    """Whether what lies at *path* is somebody else's: neither a state of ours nor a damaged one."""
    there = KIND.read(store, path) if store.exists(path) else None
    return isinstance(there, Unusable) and not there.is_ours


def inside(store: Store, folder: str | Path, path: str) -> Path:
    """*path*, given in *folder*, with links followed; refused where it lies outside the project."""
    if not path or not store.holds(Path(folder, path)):
        raise IllegalMove(f"{path!r} lies outside the project {store.root}")
    return Path(os.path.realpath(Path(folder, path)))


def refuse_foreign(there: Unusable) -> None:
    """Refuse to replace what somebody else keeps in the place of the state."""
    if not there.is_ours:
        raise IllegalMove(
            f"{STATE} is {there.reason}",
            hint=f"It was not changed. Inspect it: holdfast inspect {STATE}",
        )


def is_checkpoint_due(store: Store, run: StateFile) -> bool:
    """Whether *run* differs from its last checkpoint; what cannot be read never does."""
    kept = {item["loc"] for item in run.state.odd} & {("checkpoints",), ("safety_bounds",)}
    if run.problems or run.state.over or kept:  # a checkpoint would write over what stands there
        return False
    name = run.state.checkpoints[-1].state_snapshot if run.state.checkpoints else ""
    is_name = snapshot_number(name) is not None
    last = good_snapshot(store, store.root / FOLDER / name) if is_name else None
    return last is None or _content(last.state) != _content(run.state)


def _content(state: State) -> dict[str, Any]:
    """What makes one state another: neither the time nor the checkpoints themselves."""
    data = {**state.to_json(), "checkpoints": None}
    bounds = data.get("safety_bounds")
    if isinstance(bounds, dict):
        data["safety_bounds"] = {**bounds, "elapsed_time": None}
    return data
