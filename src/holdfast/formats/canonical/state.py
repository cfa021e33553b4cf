"""The canonical state file: its model, reading it and writing it.

The document's fields are checked; fields that it does not name are kept as they are. What is only
Holdfast's own lies under the key "holdfast".
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    StringConstraints,
    ValidationError,
)

from holdfast import clock
from holdfast.formats.canonical.declaration import Declaration, Status, WorkflowType
from holdfast.regular import decode_json
from holdfast.versions import KNOWN


def _is_time(text: str) -> str:
    if clock.parse(text) is None:
        raise ValueError("not an ISO 8601 time")
    return text


def _none_is_empty(kind: type[list[object] | dict[str, object]]) -> BeforeValidator:
    return BeforeValidator(lambda value: kind() if value is None else value)


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=False, pattern=r"\S")]


class Phase(BaseModel):
    """Where the work is; moves as one, but for its status."""

    model_config = ConfigDict(extra="allow")

    current: PositiveInt
    total: PositiveInt
    name: Text
    status: Status


class Mark(BaseModel):
    """A phase as a source stated it, with what it left out."""

    current: int | None = None
    total: int | None = None
    name: str | None = None


class Seen(BaseModel):
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
            phase=phase and Mark(current=phase.current, total=phase.total, name=phase.name),
            status=declaration.status,
            required_reading=_as_list(declaration.required_reading),
            key_reminders=_as_list(declaration.key_reminders),
            context=declaration.context,
        )

    def over(self, earlier: Seen | None) -> Seen:
        """The same, with what is not mentioned any more as it was *earlier*."""
        if earlier is None:
            return self
        mentioned = {name: value for name, value in self if value is not None}
        return earlier.model_copy(update=mentioned)


def _as_list(items: tuple[str, ...] | None) -> list[str] | None:
    return None if items is None else list(items)


class KnownPhase(BaseModel):
    """One phase of the plan or of `start --phases`."""

    number: int
    name: str
    next_action: str | None = None
    gate: str | None = None


MOST_BRANCHES = 20


class Own(BaseModel):
    """What came into the file by a command or by hand, and not from markdown."""

    required_reading: list[str] = []
    key_reminders: list[str] = []
    context: list[str] = []
    phases: bool = False  # the list of phases was given to `start`


class Bookkeeping(BaseModel):
    model_config = ConfigDict(extra="allow")

    version: int = KNOWN["bookkeeping"]
    identity: str
    branch: str | None = None
    changed_at: str  # last change by an agent or a person, not by a hook's save
    next_action: str | None = None
    gate: str | None = None
    phases: list[KnownPhase] = []
    open_items: list[str] = []  # digests of the plan's open checkboxes
    seen: dict[str, Seen] = {}  # by source: local, plan, saved
    checkout: str | None = None  # the branch on which the plan was seen so
    elsewhere: dict[str, Seen] = {}  # what it said on other branches
    own: Own = Field(default_factory=Own)
    saved_at: str | None = None
    saved_by: str | None = None


def _bookkeeping_or_none(value: object) -> object:
    # Scribbled over, it counts as missing: the merge then has no base and loses nothing.
    if value is None or isinstance(value, Bookkeeping):
        return value
    try:
        return Bookkeeping.model_validate(value)
    except ValidationError:
        return None


class State(BaseModel):
    """One workflow, as the canonical document defines it."""

    model_config = ConfigDict(extra="allow")

    workflow: Text
    workflow_type: WorkflowType
    phase: Phase
    required_reading: list[str]
    context: Annotated[dict[str, Any], _none_is_empty(dict)] = {}
    key_reminders: Annotated[list[str], _none_is_empty(list)] = []
    created_at: Annotated[str, AfterValidator(_is_time)]
    holdfast: Annotated[Bookkeeping | None, BeforeValidator(_bookkeeping_or_none)] = None

    @property
    def finished(self) -> bool:
        return self.phase.status == "completed" and self.phase.current >= self.phase.total

    def encode(self) -> bytes:
        # All of it came from JSON, so it is not converted: that would refuse lone surrogates in keys.
        data = self.model_dump(exclude={"holdfast"})
        if self.holdfast is not None:  # last, after the fields that people read
            data["holdfast"] = self.holdfast.model_dump(exclude_none=True)
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        return text.encode("utf-8", "backslashreplace")


def seen_of_state(state: State) -> Seen:
    """The saved file's own part of the base: all that a merge compares."""
    phase = state.phase
    return Seen(
        workflow=state.workflow,
        workflow_type=state.workflow_type,
        phase=Mark(current=phase.current, total=phase.total, name=phase.name),
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
    return State.model_validate(decode_json(raw))
