"""All workflows, global and of every session, each once.

Where a workflow was committed the global state counts, and the one that its session has kept does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from holdfast.errors import NoSuchWorkflow, StateUnreadable
from holdfast.formats.holding import Unusable
from holdfast.formats.pipeline import known, places, states
from holdfast.formats.pipeline.known import Row, Seen
from holdfast.formats.pipeline.places import GLOBAL, Location
from holdfast.formats.pipeline.states import Held
from holdfast.formats.remembered import Memory
from holdfast.store import Store


@dataclass
class Found:
    """What there is, as far as a list tells of it; states are read where they are asked for."""

    store: Store
    seen: list[Seen]
    rows: list[Row] = field(default_factory=list)  # each workflow once, by the time of its creation
    passed_over: list[Row] = field(default_factory=list)  # what sessions have kept of others

    @property
    def unusable(self) -> list[Unusable]:
        return [each for seen in self.seen for each in seen.unusable]

    @property
    def is_indexed(self) -> bool:
        """Whether every index says what lies there."""
        return all(each.is_kept for each in self.seen)

    @cached_property
    def live(self) -> list[Held]:
        """The states of those that are worked on."""
        read = (self.read(row) for row in self.rows if row.is_live)
        return [each for each in read if isinstance(each, Held)]

    @cached_property
    def _by_session(self) -> dict[str | None, Seen]:
        return {each.location.session: each for each in self.seen}

    def row(self, workflow_id: str) -> Row | None:
        return next((each for each in self.rows if each.workflow_id == workflow_id), None)

    def read(self, row: Row) -> Held | Unusable:
        """The state itself."""
        seen = self._by_session[row.session]
        was_read = seen.held.get(row.workflow_id)
        was_read = was_read or seen.remembered.get(row.workflow_id)
        return was_read or states.read(self.store, self.store.root / row.state_file)


def look(store: Store, memory: Memory | None = None) -> Found:
    """Find all workflows; only what is not known yet is read."""
    found = Found(store, [known.look(store, each, memory) for each in places.locations(store)])
    taken: set[str] = set()
    for seen in found.seen:
        for row in seen.rows:
            counts = row.workflow_id not in taken and not row.is_session_copy
            (found.rows if counts else found.passed_over).append(row)
            taken.add(row.workflow_id)
    found.rows.sort(key=by_creation)
    return found


def is_any(store: Store) -> bool:
    """Whether there is a workflow, or what is meant as one; found out with the first."""
    there = (
        states.read(store, Path(entry.path))
        for location in places.locations(store)
        for entry in places.state_entries(store, location)
    )
    return any(isinstance(each, Held) or each.is_ours for each in there)


def by_creation(row: Row) -> tuple[str, str]:
    return str(row.created_at or ""), row.workflow_id


def select(
    rows: Iterable[Row],
    *,
    status: str | None = None,
    workflow_type: str | None = None,
    session_name: str | None = None,
) -> list[Row]:
    """Those of *rows* that are as it is asked for. What was committed is still of its session."""
    return [
        row
        for row in rows
        if status in {None, row.status}
        and workflow_type in {None, row.workflow_type}
        and session_name in {None, row.session, row.session_name, row.committed_from_session}
    ]


def find(store: Store, workflow_id: str, session: str | None = None) -> Held:
    """The workflow, in whichever location it counts, without looking at all others.

    With *session*, the one that lies there, unless it was committed.
    """
    places.checked_id(workflow_id)
    among = [GLOBAL, Location(session)] if session else places.locations(store)
    for location in among:
        path = store.root / location.state(workflow_id)
        if not path.exists():
            continue
        held = states.read(store, path)
        if isinstance(held, Unusable):
            raise StateUnreadable(path, held.reason)
        if not (location.session and held.state.committed_from_session):
            return held
    where = f" in session {session!r}" if session else ""
    raise NoSuchWorkflow(
        f"no workflow has the id {workflow_id!r}{where}", hint="See holdfast pipeline list."
    )


def location_of(store: Store, path: Path) -> Location:
    """Where the state at *path* lies."""
    parts = store.relative(path).split("/")
    return Location(parts[2]) if len(parts) == 5 else GLOBAL
