"""Where workflows lie, what they are called, and what a look at them finds.

A name comes from a command line, or from a folder that somebody made, and becomes part of a path. So it
is checked: it has no slash and nothing unprintable, does not begin with a dot or like an option, and
is no longer than a file system takes.

A committed workflow is the global one; what its session has kept of it does not count.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnwritable
from holdfast.files import ownjson
from holdfast.files.store import LARGEST, Store
from holdfast.formats.engine.document import iso_time, moment
from holdfast.formats.engine.loading import (
    FileKind,
    Found,
    LazyFile,
    LoadedFile,
    Unusable,
    error_of,
    files_in,
)
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline.model import State, Step, has_shape
from holdfast.text.plaintext import one_line

NAME = "pipeline"
WORKSPACE = "workspace"
SESSIONS = f"{WORKSPACE}/sessions"
LOGS = f"{WORKSPACE}/logs/workflow-orchestration"
INDEX = "index.json"
NO_SESSION = "global"  # what people write for no session, so no session has this name

_NO_NAME = re.compile(r"^[.\s-]|[.\s]$|[/\\:*?\"<>|]|^$")  # Windows forbids more than others
_LONGEST = 120  # bytes; with an ending it still has to be a file's name
_LONGEST_SUBJECT = 60
_NO_PART = re.compile(r"[^\w.-]+")


class Location(NamedTuple):
    """The global workspace, or a session's; all paths are relative to the root."""

    session: str | None = None

    @property
    def base(self) -> str:
        return f"{SESSIONS}/{self.session}" if self.session else WORKSPACE

    @property
    def states(self) -> str:
        return f"{self.base}/workflow-state"

    @property
    def index_file(self) -> str:
        return f"{self.states}/{INDEX}"

    def state(self, workflow_id: str) -> str:
        return f"{self.states}/{workflow_id}.json"

    def run(self, workflow_type: str, workflow_id: str) -> str:
        return f"{self.base}/{workflow_type}-runs/{workflow_id}"


GLOBAL = Location()


def log(workflow_id: str) -> str:
    """The log of a workflow, wherever its state lies."""
    return f"{LOGS}/{workflow_id}.log"


# Names.


_OWN = re.compile(rf"({WORKSPACE}|{SESSIONS}/[^/]+)/workflow-state/[^/]+\.json|{LOGS}/[^/]+\.log")


def is_own(path: str) -> bool:
    """Whether *path*, relative to the root, is that of a state or a log."""
    return _OWN.fullmatch(path) is not None


def is_name(text: str) -> bool:
    """Whether *text* may be the name of a session or of a type."""
    return text.isprintable() and not _NO_NAME.search(text) and len(os.fsencode(text)) <= _LONGEST


def is_id(text: str) -> bool:
    """Whether *text* may be the id of a workflow; the index lies beside the states."""
    return is_name(text) and f"{text}.json".lower() != INDEX


def checked_session(name: str) -> str:
    if not is_name(name) or name == NO_SESSION:
        raise IllegalMove(
            f"{one_line(name, 80)!r} is not the name of a session",
            hint="Letters, digits, hyphens, underscores and dots, such as work-on-chapter-02; "
            f"{NO_SESSION!r} means that there is none.",
        )
    return name


def checked_id(text: str) -> str:
    if not is_id(text):
        raise IllegalMove(
            f"{one_line(text, 80)!r} is not the id of a workflow",
            hint="It is the name of its state file, such as generation-scene-0204-20251110-143000; "
            "see holdfast pipeline list.",
        )
    return text


def new_id(store: Store, workflow_type: str, subject: str, now: datetime) -> str:
    """An id that nothing has yet: generation-scene-0204-20251110-143000; inside the lock.

    The second one of the same second ends in -2, the next in -3.
    """
    plain = _NO_PART.sub("-", subject.strip()).strip("-._")
    subject = os.fsencode(plain)[:_LONGEST_SUBJECT].decode("utf-8", "ignore").strip("-._")
    parts = (workflow_type, subject, now.strftime("%Y%m%d-%H%M%S"))
    first = checked_id("-".join(filter(None, parts)))
    numbered = (first if number == 1 else f"{first}-{number}" for number in count(1))
    return next(name for name in numbered if not _is_taken(store, workflow_type, name))


def _is_taken(store: Store, workflow_type: str, workflow_id: str) -> bool:
    there = [log(workflow_id)]
    for location in locations(store):
        there += [location.state(workflow_id), location.run(workflow_type, workflow_id)]
    return any(os.path.lexists(store.root / path) for path in there)


# Looking.


def session_names(store: Store) -> list[str]:
    """The sessions: each is a folder of its own.

    A folder behind a link is none, since cancelling a session removes what is in it; nor is one whose
    states lie behind a link.
    """
    folder = store.root / SESSIONS
    if not store.is_direct(folder):
        return []
    return sorted(
        entry.name
        for entry in store.entries(folder)
        if entry.is_dir(follow_symlinks=False)
        and is_name(entry.name)
        and entry.name != NO_SESSION
        and not store.inputs.is_link(store.root / Location(entry.name).states)
    )


def locations(store: Store) -> list[Location]:
    """The global one, then those of the sessions, by name."""
    return [GLOBAL, *map(Location, session_names(store))]


def state_paths(store: Store, location: Location) -> list[Path]:
    """The files that may be states at *location*, by name."""
    folder = store.root / location.states
    if not store.holds(folder):
        return []
    return [path for path in files_in(store, folder, ".json") if path.name != INDEX]


class Row(NamedTuple):
    """What a list and an index tell of a workflow."""

    workflow_type: str
    status: str
    session_name: str | None
    created_at: Any
    updated_at: Any
    ended_at: Any
    last_activity: str | None
    current: int
    progress: int
    committed_from_session: str | None
    failure: str

    @classmethod
    def of_state(cls, state: State) -> Row:
        """What the state has under these names."""
        return cls(*(getattr(state, name) for name in cls._fields))


@dataclass(frozen=True)
class StateFile(LoadedFile[State]):
    """One state file as read. Its name is the workflow's id, whatever the state says."""

    format = NAME

    @cached_property
    def row(self) -> Row:
        return Row.of_state(self.state)

    @property
    def created_at(self) -> datetime | None:
        return moment(self.row.created_at)

    @property
    def last_activity(self) -> datetime | None:
        return moment(self.row.last_activity)

    @property
    def is_live(self) -> bool:
        return self.row.status in {"in_progress", "waiting_approval"}

    @property
    def in_order(self) -> tuple[str, str]:
        """By this, lists and indexes are sorted."""
        return str(self.row.created_at or ""), self.name


class LazyStateFile(LazyFile[State], StateFile):
    """One of which the row is known."""


class FoundWorkflows(Found[StateFile]):
    """Each workflow once."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._known: set[str] = set()

    def add(self, entry: StateFile | Unusable) -> None:
        if isinstance(entry, Unusable):
            super().add(entry)
        elif entry.name not in self._known and not is_session_copy(self.place.store, entry):
            super().add(entry)
            self._known.add(entry.name)

    @cached_property
    def ordered(self) -> list[StateFile]:
        return sorted(self.entries, key=lambda file: file.in_order)

    @cached_property
    def live(self) -> list[StateFile]:
        return [file for file in self.ordered if file.is_live]


def location_of(store: Store, path: Path) -> Location:
    """Where the state at *path* lies."""
    parts = store.relative(path).split("/")
    return Location(parts[2]) if len(parts) == 5 else GLOBAL


def is_session_copy(store: Store, file: StateFile) -> bool:
    """Whether a session has left *file* behind of a workflow that is global now."""
    return file.row.committed_from_session is not None and location_of(store, file.path) != GLOBAL


def read(store: Store, path: Path) -> StateFile | Unusable:
    """What *path* holds; where it cannot be read, its last good copy."""
    if not is_id(path.stem):
        return Unusable(path, "its name is not the id of a workflow", "wrong")
    return KIND.read(store, path)


def find(store: Store, workflow_id: str) -> StateFile:
    """The workflow, wherever it counts, without looking at all others."""
    checked_id(workflow_id)
    for location in locations(store):
        path = store.root / location.state(workflow_id)
        if not store.inputs.leads_somewhere(path):
            continue
        file = read(store, path)
        if isinstance(file, Unusable):
            raise error_of(file)
        if not is_session_copy(store, file):
            return file
    raise NoSuchWorkflow(
        f"no workflow has the id {workflow_id!r}", hint="List them: holdfast pipeline list"
    )


def made(store: Store, state: State, path: object) -> Path | None:
    """The artefact that a state names, from the root or from its working directory, if it is a file."""
    folder = state.section.artifacts.get("working_dir")
    for above in ("", *([folder] if isinstance(folder, str) else [])):
        with contextlib.suppress(ValueError):  # no file can have this name
            found = store.root / above / path if isinstance(path, str) else None
            if found and store.holds(found) and store.inputs.is_file(store.inputs.real_path(found)):
                return found
    return None


def not_found(store: Store, state: State, step: Step, names: Iterable[str]) -> Iterator[str]:
    """Which artefacts of *names* the *step* has not noted, or noted where no file lies, one line each."""
    noted = {**state.section.artifacts, **step.artifacts}
    for name in dict.fromkeys(names):
        if name not in noted:
            yield f"{state.called(step)} has no {name} noted"
        elif isinstance(noted[name], str) and made(store, state, noted[name]) is None:
            yield f"there is no file {noted[name]}, which is the {name} of {state.called(step)}"


KIND = FileKind(
    "the state of a pipeline",
    State,
    StateFile,
    has_shape,
    "created_at",
    Row,
    LazyStateFile,
    key_fields=("workflow_id", "workflow_type", "status"),
)


def key_of(workflow_id: str) -> str:
    return f"{NAME}:{workflow_id}"


def index_entry(store: Store, file: StateFile) -> dict[str, Any]:
    row = file.row
    session = {"session_name": row.session_name} if row.session_name is not None else {}
    return {
        "workflow_id": file.name,
        "workflow_type": row.workflow_type,
        "status": row.status,
        **session,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "state_file": store.relative(file.path),
    }


# The log of each workflow: one JSON line a change, only ever added to.


def note_move(
    place: Place, file: StateFile, before: State, event: str, given: Mapping[str, Any]
) -> None:
    """Log a move, and where it led: its step, the other steps that followed, and the workflow."""
    pairs = zip(before.steps, file.state.steps, strict=True)
    changed = [step for was, step in pairs if was.status != step.status]
    number = given.get("number") or next((step.number for step in changed), None)
    step = file.state.find(number) if number else None
    note(
        place.store,
        file.name,
        iso_time(place.now),
        event,
        step=number,
        by=place.saver,
        stands=step.status if step else None,
        follows=", ".join(f"{one.number} {one.status}" for one in changed if one.number != number),
        workflow=file.state.status,
        **{name: value for name, value in given.items() if name != "number"},
    )


def note(store: Store, workflow_id: str, at: str, event: str, **details: object) -> None:
    """Add a line, safe for a terminal; inside the lock. What is None or empty is left out."""
    line = {
        key: value if isinstance(value, int) else one_line(_text(value))
        for key, value in {"at": at, "event": event, **details}.items()
        if value not in (None, "", {})
    }
    with contextlib.suppress(StateUnwritable):
        store.append(store.root / log(workflow_id), ownjson.encode(line))


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, Mapping) else str(value)


def noted(store: Store, workflow_id: str) -> list[dict[str, Any]]:
    """All lines of the log, oldest first; empty where there is none."""
    path = store.root / log(checked_id(workflow_id))
    return ownjson.read(str(path), 4 * LARGEST) if store.holds(path) else []
