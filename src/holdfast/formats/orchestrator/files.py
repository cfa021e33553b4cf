"""Where an orchestrator's files lie, and reading its state.

All in .claude: agent-state.json, learnings.jsonl, locks.json, checkpoint.json (the latest) and
checkpoint-001.json, checkpoint-002.json, … A file counts by its shape: what somebody else keeps
under such a name is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.errors import StateUnreadable
from holdfast.formats.document import moment
from holdfast.formats.holding import Kept, Kind, Unusable
from holdfast.formats.orchestrator import bounds
from holdfast.formats.orchestrator.model import State, has_shape, is_old
from holdfast.regular import entries, read_json
from holdfast.store import LARGEST, Store

FOLDER = ".claude"
STATE = f"{FOLDER}/agent-state.json"
LEARNINGS = f"{FOLDER}/learnings.jsonl"
LOCKS = f"{FOLDER}/locks.json"
LATEST = f"{FOLDER}/checkpoint.json"
UNFINISHED = "orchestrator"  # under which an interrupted change is noted
OLD = "the state of an older workflow system, which has to be finished under that system"

_SNAPSHOT = re.compile(r"checkpoint-([0-9]{3,9})\.json")


@dataclass(frozen=True)
class Held(Kept[State]):
    """The state of a run, or a snapshot of one, as read."""

    @property
    def key(self) -> str:
        return key_of(self.state)

    @property
    def changed_at(self) -> datetime:
        """When it was last touched: what it says, or the file's own time after an edit by hand."""
        edited = clock.from_mtime(self.mtime)
        stated = (self.state.last_activity, bounds.last_update(self.state))
        return max([edited, *(at for at in stated if at)])


def key_of(state: State) -> str:
    """A run is known by its start: the file has the same name for each."""
    return f"orchestrator:{state.orchestrator.start_time or 'agent-state'}"


def snapshot_name(number: int) -> str:
    return f"checkpoint-{number:03}.json"


def snapshot_number(name: str) -> int | None:
    """7 of checkpoint-007.json; None when that is no snapshot's name."""
    found = _SNAPSHOT.fullmatch(name)
    return int(found[1]) if found and snapshot_name(int(found[1])) == name else None


def snapshots(root: Path) -> list[Path]:
    """The numbered snapshots, the oldest first."""
    names = (each.name for each in entries(root / FOLDER))
    numbered = sorted((number, name) for name in names if (number := snapshot_number(name)))
    return [root / FOLDER / name for _, name in numbered]


def is_ours(path: str) -> bool:
    """Whether *path*, relative to the root, is one of these files."""
    folder, _, name = path.rpartition("/")
    known = {STATE, LEARNINGS, LOCKS, LATEST}
    return path in known or (folder == FOLDER and snapshot_number(name) is not None)


def is_state(name: str) -> bool:
    """Whether a file called *name* holds a state, or a snapshot of one."""
    return snapshot_number(name) is not None or f"{FOLDER}/{name}" in {STATE, LATEST}


def paths(root: Path) -> list[Path]:
    """The state and its snapshots, as far as they are there."""
    found = [root / STATE, root / LATEST, *snapshots(root)]
    return [path for path in found if os.path.lexists(path)]


def read(store: Store, path: Path) -> Held | Unusable:
    """What *path* holds; where it cannot be read, its last good copy."""
    return KIND.read(store, path)


def is_foreign(store: Store, path: Path) -> bool:
    """Whether what lies at *path* is somebody else's: neither a state of ours nor a damaged one."""
    there = read(store, path) if os.path.lexists(path) else None
    return isinstance(there, Unusable) and not there.is_ours


def look(store: Store) -> Held | Unusable | None:
    """The state file; None where there is none."""
    path = store.root / STATE
    if not os.path.lexists(path):
        return None
    return Unusable(path, OLD, "foreign") if _lies_old(store, path) else read(store, path)


def _lies_old(store: Store, path: Path) -> bool:
    """Whether *path* is of the system before: that is left alone, even where a run of ours was."""
    try:
        return store.holds(path) and is_old(read_json(path, LARGEST))
    except StateUnreadable:
        return False


def _began_with(data: Mapping[str, Any], good: State) -> bool:
    run = data.get("orchestrator")
    started = run.get("start_time") if isinstance(run, dict) else None
    same = moment(started) == moment(good.orchestrator.start_time)
    return started is None or same


KIND = Kind("the state of an orchestrator", State, Held, has_shape, _began_with)
