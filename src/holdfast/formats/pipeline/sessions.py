"""Sessions: workflows that are kept apart until they are committed or cancelled.

A session is a folder in workspace/sessions/. It is open while it has a workflow that was not committed,
or none at all. What a commit or a cancel does is noted before, and whoever takes the lock next brings it
to an end; every command that changes a workflow calls `finish` first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast import together
from holdfast.errors import HalfDone, HoldfastError, IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.pipeline import cancelling, committing, index, known, places
from holdfast.formats.pipeline.cancelling import Removals
from holdfast.formats.pipeline.committing import Plan
from holdfast.formats.pipeline.known import Row
from holdfast.formats.pipeline.places import NO_SESSION, Location
from holdfast.store import COMMAND_WAIT, Store

VARIABLE = "HOLDFAST_SESSION"  # names the active session in the environment
_NOTE = "pipeline session"


@dataclass(frozen=True)
class Session:
    """One session as it lies there."""

    name: str
    rows: tuple[Row, ...]

    @property
    def committed(self) -> int:
        """How many of its workflows were committed."""
        return sum(row.is_session_copy for row in self.rows)

    @property
    def is_open(self) -> bool:
        return not self.rows or self.committed < len(self.rows)


def every(store: Store) -> list[Session]:
    return [_session(store, name) for name in places.session_names(store)]


def find(store: Store, name: str) -> Session:
    return _session(store, _existing(store, name).session or "")


def active(store: Store, named: str | None, in_environment: str | None) -> str | None:
    """The session to work in: *named*, else the environment's, else the only open one; None is global.

    Either may be "global" for none.
    """
    wanted = named or in_environment
    if wanted == NO_SESSION:
        return None
    if wanted:
        return _existing(store, wanted).session
    open_ones = [each.name for each in every(store) if each.is_open]
    return open_ones[0] if len(open_ones) == 1 else None


def create(place: Place, name: str) -> Session:
    """Make the folder of its states, with an empty index."""
    store, location = place.store, Location(places.checked_session(name))
    with store.lock(COMMAND_WAIT):
        finish(place)
        if (store.root / location.states).is_dir():
            raise IllegalMove(
                f"session {name!r} is there already",
                hint=f"Work in it with --session {name}, or create one of another name.",
            )
        store.make_folder(store.root / location.states)
        index.update(store, stamp(place.now))
        return _session(store, name)


def commit(place: Place, name: str) -> Plan:
    """Make its workflows global."""
    store, at = place.store, stamp(place.now)
    with store.lock(COMMAND_WAIT):
        finish(place)
        planned = committing.plan(store, _existing(store, name))
        ids = [held.id for held in planned.workflows]
        noted = {"session": name, "commit": ids, "at": at}
        _undertake(place, noted, lambda: committing.carry_out(store, planned, at))
        index.update(store, at)
        return planned


def cancel(place: Place, name: str) -> Removals:
    """Remove its workflows with all that is theirs."""
    store, at = place.store, stamp(place.now)
    with store.lock(COMMAND_WAIT):
        finish(place)
        removals = cancelling.listed(store, _existing(store, name))
        noted = {"session": name, "cancel": cancelling.to_record(removals)}
        _undertake(place, noted, lambda: cancelling.carry_out(store, removals))
        index.update(store, at)
        return removals


def would_cancel(place: Place, name: str) -> Removals:
    return cancelling.listed(place.store, _existing(place.store, name))


def finish(place: Place) -> list[str]:
    """Bring to an end what was interrupted; to be called inside the lock. Returns what to say of it."""
    store, at = place.store, stamp(place.now)
    record = together.begun(store, _NOTE)
    if record is None:
        return []
    if not record:
        return [together.put_aside(store, _NOTE, _for_names(at))]
    if not together.is_ours(store, _NOTE, place.user_folder):
        why = "was not begun by you on this machine, so nothing of it was done"
        return [together.put_aside(store, _NOTE, _for_names(at), why)]
    said = _carry_on(store, record)
    together.end(store, _NOTE, place.user_folder)
    index.update(store, at)
    return said


def _for_names(at: str) -> str:
    return at.replace(":", "")


def is_unfinished(store: Store) -> bool:
    return together.is_unfinished(store, _NOTE)


def _carry_on(store: Store, record: Mapping[str, object]) -> list[str]:
    """Nothing is done where the note makes no sense."""
    name = record.get("session")
    if name not in places.session_names(store):
        return []
    location, left = Location(str(name)), []
    match record:
        case {"commit": list(noted), "at": str(at)}:
            ids = [each for each in noted if isinstance(each, str) and places.is_id(each)]
            left = committing.carry_on(store, location, ids, at)
            what = "commit"
        case {"cancel": dict(noted)}:
            cancelling.carry_out(store, cancelling.from_record(location, noted))
            what = "cancel"
        case _:
            return []
    said = [f"a {what} of session {name!r} was interrupted; it was brought to an end"]
    if left:
        said.append(f"what somebody changed since was not committed: {', '.join(left)}")
    return said


def _undertake(place: Place, record: Mapping[str, object], carry_out: Callable[[], None]) -> None:
    store, user_folder = place.store, place.user_folder
    together.begin(store, _NOTE, record, user_folder)
    try:
        carry_out()
    except HalfDone:
        raise
    except HoldfastError:
        # Whoever gave the command is told, and gives it again; nobody else has to go on with it.
        together.end(store, _NOTE, user_folder)
        raise
    together.end(store, _NOTE, user_folder)


def _existing(store: Store, name: str) -> Location:
    there = places.session_names(store)
    if places.checked_session(name) not in there:
        shown = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
        raise NoSuchWorkflow(
            f"there is no session {name!r}",
            hint=f"There is {shown}."
            if there
            else f"Create it: holdfast pipeline session create {name}",
        )
    return Location(name)


def _session(store: Store, name: str) -> Session:
    return Session(name, tuple(known.look(store, Location(name)).rows))
