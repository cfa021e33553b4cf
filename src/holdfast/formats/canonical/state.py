"""The canonical state file: its model, reading it and writing it.

The document's fields are checked; fields that it does not name are kept as they are. What is only
Holdfast's own lies under the key "holdfast".
"""

from __future__ import annotations

import json
from typing import Any, get_args

from holdfast import clock
from holdfast.formats.canonical import shapes
from holdfast.formats.canonical.declaration import Declaration, Status, WorkflowType
from holdfast.formats.canonical.shapes import Field, Look, Unfit, Wrong
from holdfast.records import Record, made, replace
from holdfast.regular import decode_json
from holdfast.versions import KNOWN


class Phase(Record):
    """Where the work is; moves as one, but for its status."""

    current: int
    total: int
    name: str
    status: Status
    more: dict[str, Any] = made(factory=dict)


class Mark(Record):
    """A phase as a source stated it, with what it left out."""

    current: int | None = None
    total: int | None = None
    name: str | None = None


class Seen(Record):
    """What a source said when we last looked: the base of the three-way merge."""

    workflow: str | None = None
    workflow_type: str | None = None
    phase: Mark | None = None
    status: str | None = None
    required_reading: list[str] | None = None
    key_reminders: list[str] | None = None
    context: dict[str, Any] | None = None

    @classmethod
    def of(cls, declaration: Declaration) -> Seen:
        phase = declaration.phase
        return cls(
            workflow=declaration.workflow,
            workflow_type=declaration.workflow_type,
            phase=Mark(phase.current, phase.total, phase.name) if phase else None,
            status=declaration.status,
            required_reading=_as_list(declaration.required_reading),
            key_reminders=_as_list(declaration.key_reminders),
            context=declaration.context,
        )

    def over(self, earlier: Seen | None) -> Seen:
        """The same, with what is not mentioned any more as it was *earlier*."""
        if earlier is None:
            return self
        mentioned = {name: value for name, value in vars(self).items() if value is not None}
        return replace(earlier, **mentioned)


def _as_list(items: tuple[str, ...] | None) -> list[str] | None:
    return None if items is None else list(items)


class KnownPhase(Record):
    """One phase of the plan or of `start --phases`."""

    number: int
    name: str
    next_action: str | None = None
    gate: str | None = None


MOST_BRANCHES = 20


class Own(Record):
    """What came into the file by a command or by hand, and not from markdown."""

    required_reading: list[str] = made(factory=list)
    key_reminders: list[str] = made(factory=list)
    context: list[str] = made(factory=list)
    phases: bool = False  # the list of phases was given to `start`


class Bookkeeping(Record):
    """What Holdfast alone knows of the workflow."""

    identity: str
    changed_at: str  # last change by an agent or a person, not by a hook's save
    version: int = KNOWN["bookkeeping"]
    branch: str | None = None
    next_action: str | None = None
    gate: str | None = None
    phases: list[KnownPhase] = made(factory=list)
    open_items: list[str] = made(factory=list)  # digests of the plan's open checkboxes
    seen: dict[str, Seen] = made(factory=dict)  # by source: local, plan, saved
    checkout: str | None = None  # the branch on which the plan was seen so
    elsewhere: dict[str, Seen] = made(factory=dict)  # what it said on other branches
    own: Own = made(factory=Own)
    saved_at: str | None = None
    saved_by: str | None = None
    more: dict[str, Any] = made(factory=dict)


class State(Record):
    """One workflow, as the canonical document defines it."""

    workflow: str
    workflow_type: WorkflowType
    phase: Phase
    required_reading: list[str]
    created_at: str
    context: dict[str, Any] = made(factory=dict)
    key_reminders: list[str] = made(factory=list)
    holdfast: Bookkeeping | None = None
    more: dict[str, Any] = made(factory=dict)

    @classmethod
    def of(cls, data: object) -> State:
        """The state that *data* says, or Unfit."""
        look = Look()
        state = _STATE(look, data, None)
        if look.wrong:
            raise Unfit(look.wrong)
        return state  # type: ignore[no-any-return]  # the shape makes it

    @property
    def finished(self) -> bool:
        return self.phase.status == "completed" and self.phase.current >= self.phase.total

    def content(self) -> dict[str, Any]:
        """All that is not Holdfast's own, in the order in which it is written."""
        phase = self.phase
        return {
            "workflow": self.workflow,
            "workflow_type": self.workflow_type,
            "phase": {**{name: getattr(phase, name) for name in _PHASE_FIELDS}, **phase.more},
            "required_reading": self.required_reading,
            "context": self.context,
            "key_reminders": self.key_reminders,
            "created_at": self.created_at,
            **self.more,
        }

    def encode(self) -> bytes:
        data = self.content()
        if self.holdfast is not None:  # last, after the fields that people read
            data["holdfast"] = self.holdfast
        text = json.dumps(data, ensure_ascii=False, indent=2, default=_written) + "\n"
        return text.encode("utf-8", "backslashreplace")


# How each of them is read, and in which order its fields are written.

_TEXT = Field(shapes.text)
_TEXT_OR_NONE = Field(shapes.optional(shapes.text), shapes.nothing)
_TEXTS = Field(shapes.texts, list)
_TEXTS_OR_NONE = Field(shapes.optional(shapes.texts), shapes.nothing)
_NUMBER_OR_NONE = Field(shapes.optional(shapes.number), shapes.nothing)
_ANYTHING = shapes.mapping(shapes.anything)

_PHASE_FIELDS = {
    "current": Field(shapes.positive),
    "total": Field(shapes.positive),
    "name": Field(shapes.name),
    "status": Field(shapes.one_of(*get_args(Status))),
}
_MARK_FIELDS = {"current": _NUMBER_OR_NONE, "total": _NUMBER_OR_NONE, "name": _TEXT_OR_NONE}
_SEEN_FIELDS = {
    "workflow": _TEXT_OR_NONE,
    "workflow_type": _TEXT_OR_NONE,
    "phase": Field(shapes.optional(shapes.made_of(_MARK_FIELDS, Mark)), shapes.nothing),
    "status": _TEXT_OR_NONE,
    "required_reading": _TEXTS_OR_NONE,
    "key_reminders": _TEXTS_OR_NONE,
    "context": Field(shapes.optional(_ANYTHING), shapes.nothing),
}
_KNOWN_PHASE_FIELDS = {
    "number": Field(shapes.number),
    "name": _TEXT,
    "next_action": _TEXT_OR_NONE,
    "gate": _TEXT_OR_NONE,
}
_OWN_FIELDS = {
    "required_reading": _TEXTS,
    "key_reminders": _TEXTS,
    "context": _TEXTS,
    "phases": Field(shapes.flag, bool),
}
_SEEN_BY_KEY = Field(shapes.mapping(shapes.made_of(_SEEN_FIELDS, Seen)), dict)
_BOOKKEEPING_FIELDS = {
    "version": Field(shapes.number, lambda: KNOWN["bookkeeping"]),
    "identity": _TEXT,
    "branch": _TEXT_OR_NONE,
    "changed_at": _TEXT,
    "next_action": _TEXT_OR_NONE,
    "gate": _TEXT_OR_NONE,
    "phases": Field(shapes.items(shapes.made_of(_KNOWN_PHASE_FIELDS, KnownPhase)), list),
    "open_items": _TEXTS,
    "seen": _SEEN_BY_KEY,
    "checkout": _TEXT_OR_NONE,
    "elsewhere": _SEEN_BY_KEY,
    "own": Field(shapes.made_of(_OWN_FIELDS, Own), Own),
    "saved_at": _TEXT_OR_NONE,
    "saved_by": _TEXT_OR_NONE,
}


def _bookkeeping(_look: Look, value: Any, at: shapes.Place) -> Any:
    # Scribbled over, it counts as missing: the merge then has no base and loses nothing.
    own = Look()
    kept = shapes.made_of(_BOOKKEEPING_FIELDS, Bookkeeping, keeps_more=True)(own, value, at)
    return None if own.wrong else kept


def _time(look: Look, value: Any, at: shapes.Place) -> Any:
    if not isinstance(value, str) or clock.parse(value) is None:
        look.object_to(value, at)
    return value


_STATE_FIELDS = {
    "workflow": Field(shapes.name),
    "workflow_type": Field(shapes.one_of(*get_args(WorkflowType))),
    "phase": Field(shapes.made_of(_PHASE_FIELDS, Phase, keeps_more=True)),
    "required_reading": Field(shapes.texts),
    "context": Field(shapes.else_empty(_ANYTHING, dict), dict),
    "key_reminders": Field(shapes.else_empty(shapes.texts, list), list),
    "created_at": Field(_time),
    "holdfast": Field(_bookkeeping, shapes.nothing),
}
_STATE = shapes.made_of(_STATE_FIELDS, State, keeps_more=True)
_WRITTEN = {
    Bookkeeping: _BOOKKEEPING_FIELDS,
    Seen: _SEEN_FIELDS,
    Mark: _MARK_FIELDS,
    KnownPhase: _KNOWN_PHASE_FIELDS,
    Own: _OWN_FIELDS,
}


def _written(record: Record) -> dict[str, Any]:
    """A record of ours as JSON, without what it does not say."""
    said = vars(record)
    found = {**{name: said[name] for name in _WRITTEN[type(record)]}, **said.get("more", {})}
    return {name: value for name, value in found.items() if value is not None}


def problems(data: object) -> list[Wrong]:
    """What a strict reader of the document objects to; Holdfast's own part is not looked at."""
    look = Look(strict=True)
    _STATE(look, data, None)
    return look.wrong


def seen_of_state(state: State) -> Seen:
    """The saved file's own part of the base: all that a merge compares."""
    phase = state.phase
    return Seen(
        workflow=state.workflow,
        workflow_type=state.workflow_type,
        phase=Mark(phase.current, phase.total, phase.name),
        status=phase.status,
        required_reading=state.required_reading,
        key_reminders=state.key_reminders,
        context=state.context,
    )


def has_shape(data: object) -> bool:
    """Whether *data* is meant as a canonical state, right or wrong in its details."""
    return (
        isinstance(data, dict)
        and not isinstance(data.get("workflow", {}), dict)
        and ("phase" in data or "workflow_type" in data)
    )


def read(raw: bytes) -> State:
    """The state in *raw*, or ValueError."""
    return State.of(decode_json(raw))
