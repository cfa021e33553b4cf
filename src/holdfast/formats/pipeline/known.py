"""What is known of the states at one location without opening each of them.

Thousands of workflows may lie there, nearly all of them over. What a list tells of each is kept in
our own folder, with the stamp of the file that it was read from: its time, size and number. A file
whose stamp differs is read again, so what is kept never has to be believed. An index follows from
it, and its own stamp is kept as well.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from holdfast import marks
from holdfast.errors import StateUnreadable
from holdfast.formats.holding import Unusable
from holdfast.formats.pipeline import places, states
from holdfast.formats.pipeline.places import Location
from holdfast.formats.pipeline.states import Held
from holdfast.formats.remembered import Memory
from holdfast.regular import holds_too_much, read_file
from holdfast.store import LARGEST, Store
from holdfast.versions import is_newer, stamped

LARGEST_LIST = 2 * LARGEST  # of an index, and of what is kept beside it: tens of thousands of rows

Stamp: TypeAlias = tuple[int, int, int]


class Row(NamedTuple):
    """One workflow as far as a list tells of it."""

    session: str | None  # where its state lies; what the state says is in session_name
    workflow_id: str
    workflow_type: str
    status: str
    session_name: str | None
    created_at: Any
    updated_at: Any
    current_step: int
    progress_percentage: int
    committed_from_session: str | None

    @property
    def location(self) -> Location:
        return Location(self.session)

    @property
    def state_file(self) -> str:
        """Relative to the root."""
        return self.location.state(self.workflow_id)

    @property
    def is_live(self) -> bool:
        """Whether it is worked on."""
        return self.status in {"in_progress", "waiting_approval"}

    @property
    def is_session_copy(self) -> bool:
        """Whether it is what a session has left behind of a workflow that is global now."""
        return self.session is not None and self.committed_from_session is not None


@dataclass
class Seen:
    """What lies at one location now."""

    location: Location
    rows: list[Row] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)  # by id; those that had to be read for it
    remembered: dict[str, Held] = field(default_factory=dict)  # the same, not read yet
    unusable: list[Unusable] = field(default_factory=list)
    stamps: dict[str, Stamp] = field(default_factory=dict)  # by id, of what may be kept
    is_kept: bool = False  # whether what is kept says the same, and the index was made from it


def look(store: Store, location: Location, memory: Memory | None = None) -> Seen:
    """Find out what lies at *location*, and read what is not known of it yet.

    What is kept does not tell enough of one that is worked on; *memory* does.
    """
    seen = Seen(location)
    index, known = _kept(store, location)
    for entry in places.state_entries(store, location):
        workflow_id = entry.name.removesuffix(".json")
        status = _status_of(entry)
        stamp = _stamp(status) if status else None
        if memory and status and _recall(store, seen, memory, entry, status):
            continue
        was = known.get(workflow_id)
        if stamp and was and was[0] == stamp and not (memory and was[1].is_live):
            seen.rows.append(was[1])
            seen.stamps[workflow_id] = stamp
            continue
        held = states.read(store, Path(entry.path))
        if isinstance(held, Unusable):
            seen.unusable.append(held)
            continue
        seen.rows.append(_row(location, held))
        seen.held[held.id] = held
        if status and stamp and not held.problems:
            seen.stamps[workflow_id] = stamp
            if memory:
                facts = [*seen.rows[-1][1:], *held.row]
                memory.note(location.state(workflow_id), marks.numbers(status), facts)
    all_known = len(known) == len(seen.rows) == len(seen.stamps) and not seen.held
    indexed = _index_stamp(store, location)
    has_index = indexed is not None or not (store.root / location.states).is_dir()
    seen.is_kept = all_known and has_index and index == indexed
    return seen


def _recall(
    store: Store, seen: Seen, memory: Memory, entry: os.DirEntry[str], status: os.stat_result
) -> bool:
    """Whether *entry* is in *memory*; then it is among what is *seen*."""
    workflow_id = entry.name.removesuffix(".json")
    facts = memory.recall(seen.location.state(workflow_id), marks.numbers(status))
    if facts is None:
        return False
    beyond = len(Row._fields) - 1
    seen.rows.append(Row(seen.location.session, *facts[:beyond]))
    seen.stamps[workflow_id] = _stamp(status)
    row = states.Row(*facts[beyond:])
    held = states.known(store, Path(entry.path), status.st_mtime, row)
    seen.remembered[workflow_id] = held
    return True


def keep(store: Store, seen: Seen) -> None:
    """Note it, after the index was written; to be called inside the lock."""
    path = _path(store, seen.location)
    if is_newer("listings", _record(path)):
        return
    kept = [row for row in seen.rows if row.workflow_id in seen.stamps]
    record = {
        "index": _index_stamp(store, seen.location),
        "rows": [[seen.stamps[row.workflow_id], row[1:]] for row in kept],
    }
    store.write(path, json.dumps(stamped("listings", record)).encode())


def forget(store: Store, location: Location) -> None:
    """Nothing lies there any more; to be called inside the lock."""
    path = _path(store, location)
    if path.exists() and not is_newer("listings", _record(path)):
        store.remove(path, folder_too=False)


def _row(location: Location, held: Held) -> Row:
    state = held.state
    return Row(
        location.session,
        held.id,
        state.workflow_type,
        state.status,
        state.session_name,
        state.created_at,
        state.updated_at,
        state.current,
        state.progress,
        state.committed_from_session,
    )


def _path(store: Store, location: Location) -> Path:
    return store.private / "listings" / f"{location.session or places.NO_SESSION}.json"


def _record(path: Path) -> dict[str, Any]:
    """As JSON; how deep it is nested is not looked at, which would take as long as reading it."""
    try:
        raw, _ = read_file(path, LARGEST_LIST, follow=False)
        record = {} if holds_too_much(raw) else json.loads(raw)
    except (StateUnreadable, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _kept(store: Store, location: Location) -> tuple[Stamp | None, dict[str, tuple[Stamp, Row]]]:
    """The stamp of the index and what is known by id; nothing, where it makes no sense."""
    record = _record(_path(store, location))
    if not record or is_newer("listings", record):
        return None, {}
    try:
        rows = [(tuple(stamp), Row(location.session, *values)) for stamp, values in record["rows"]]
        index = record["index"]
        return index and tuple(index), {row.workflow_id: (stamp, row) for stamp, row in rows}
    except (KeyError, TypeError, ValueError):
        return None, {}


def _status_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    """None for a link, which says nothing of the file that it leads to."""
    try:
        if entry.is_symlink():
            return None
        return os.lstat(entry.path)
    except OSError:
        return None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _index_stamp(store: Store, location: Location) -> Stamp | None:
    try:
        status = os.lstat(store.root / location.index)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
