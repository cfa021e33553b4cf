"""The canonical state file: its models, and how they read what somebody wrote by hand.

What is only ours lies under the key "holdfast". A usual slip is read as it was meant: "3/5 - Build" for
a phase, one text for a list of texts. What is missing or makes no sense is taken from the last good copy,
which validation has as its context, else from a state that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from holdfast import clock
from holdfast.files.fingerprints import digest
from holdfast.files.ownjson import VERSION
from holdfast.formats.canonical.sources import Declaration, Status, WorkflowType
from holdfast.formats.canonical.sources.phase_marks import phase_of
from holdfast.formats.canonical.sources.statuses import status_for, status_of
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.engine.document import EXACT, Document, Open, tolerant

TIME = "a time in ISO 8601, such as 2025-12-09T14:30:52Z"


def _name(value: str) -> str:
    """Something to read that a file can hold."""
    if not value.strip() or value.encode("utf-8", "replace").decode() != value:
        raise ValueError("a name")
    return value


def _status(value: object) -> object:
    return (status_for(status_of(value)) or value) if isinstance(value, str) else value


def _text(item: Any) -> str | None:
    """An item of a list as a text; None for one that is left out, which the file keeps."""
    if isinstance(item, dict):
        path = item.get("path")
        return normal_reading(path) if isinstance(path, str) else None
    return str(item) if isinstance(item, (str, int, float)) else None


def _texts(value: object) -> object:
    items = [value] if isinstance(value, (str, dict)) else value
    if not isinstance(items, list):
        return value
    return [text for item in items if (text := _text(item)) is not None]


def _context(value: object) -> object:
    if not isinstance(value, list):
        return value
    return {"items": value} if value else {}


def _time(value: object) -> object:
    """A number of seconds is a time as well."""
    is_number = isinstance(value, (int, float)) and 0 < value < 2e11
    return clock.iso(clock.from_mtime(cast(float, value))) if is_number else value


def _in_iso(value: str) -> str:
    if clock.parse(value) is None:
        raise ValueError(TIME)
    return value


Name = Annotated[str, AfterValidator(_name)]
Texts = Annotated[list[str], tolerant(_texts)]


class Phase(Open):
    """Where the work is; moves as one, but for its status."""

    model_config = ConfigDict(coerce_numbers_to_str=False)

    current: int = Field(ge=1)
    total: int = Field(ge=1)
    name: Name
    status: Annotated[Status, tolerant(_status)]

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, value: Any, info: ValidationInfo) -> Any:
        """A text is read as in markdown; what is missing is as it was, if that goes with the rest."""
        if info.context == EXACT:
            return value
        if isinstance(value, (str, int)) and (mark := phase_of(str(value)).mark):
            value = {"current": mark.current, "total": mark.total, "name": mark.name}
        if not isinstance(value, dict):
            return value
        stated = {name: part for name, part in value.items() if part is not None}
        if not callable(info.context) or stated.keys() >= cls.model_fields.keys():
            return stated
        was: Phase = info.context().phase
        total = stated.get("total")
        most = total if isinstance(total, int) and total >= 1 else was.current
        current = stated.setdefault("current", min(was.current, most))
        stated.setdefault("total", max(was.total, current if isinstance(current, int) else 1))
        same = str(current) == str(was.current)
        stated.setdefault("name", was.name if same else f"Phase {current}")
        stated.setdefault("status", was.status if same else "in_progress")
        return stated


class Record(BaseModel):
    """A part of our own bookkeeping, which may be made from whatever says the same."""

    model_config = ConfigDict(from_attributes=True, defer_build=True)


class StatedPhase(Record):
    current: int | None = None
    total: int | None = None
    name: str | None = None


class LastStatement(Record):
    """What a source said when we last looked: the base of the three-way merge."""

    workflow: str | None = None
    workflow_type: str | None = None
    phase: StatedPhase | None = None
    status: str | None = None
    required_reading: list[str] | None = None
    key_reminders: list[str] | None = None
    context: dict[str, Any] | None = None

    @classmethod
    def said_by(cls, source: Declaration | State) -> LastStatement:
        """What *source* says of all that a merge compares."""
        return cls.model_validate(source)

    def over(self, earlier: LastStatement | None) -> LastStatement:
        """These values, with those that are no longer mentioned taken from *earlier*."""
        if earlier is None:
            return self
        mentioned = {name: value for name, value in vars(self).items() if value is not None}
        return earlier.model_copy(update=mentioned)


class KnownPhase(Record):
    number: int
    name: str
    next_action: str | None = None
    gate: str | None = None


class TickedBoxes(Record):
    """What the last change ticked in the plan, or unticked if it was an undo."""

    path: str  # of the plan
    lines: list[int]
    digest: str  # of the plan as it was written
    alone: bool  # nothing else was changed


class OwnAdditions(Record):
    """What came into the file by a command or by hand, and not from markdown."""

    required_reading: list[str] = []
    key_reminders: list[str] = []
    context: list[str] = []
    phases: bool = False  # the list of phases was given to `start`


class Bookkeeping(Open):
    """What only Holdfast knows of the workflow."""

    model_config = ConfigDict(coerce_numbers_to_str=False)

    version: int = VERSION
    identity: str
    branch: str | None = None
    changed_at: str  # last change by an agent or a person, not by a hook's save
    next_action: str | None = None
    next_passed: str | None = None  # that of CLAUDE.local.md for a phase that was left
    gate: str | None = None
    phases: list[KnownPhase] = []
    open_items: list[str] = []  # digests of the plan's open checkboxes
    seen: dict[str, LastStatement] = {}  # by source: local, plan, saved
    checkout: str | None = None  # the branch on which the plan was seen so
    elsewhere: dict[str, LastStatement] = {}  # what it said on other branches
    own: OwnAdditions = OwnAdditions()
    ticked: TickedBoxes | None = None
    saved_at: str | None = None
    saved_by: str | None = None

    def next_and_gate(self, phase: Phase) -> tuple[str | None, str | None]:
        """Next action and gate of a state that nothing declares, while it is in the phase it was in."""
        if self.phases:
            return of_phase(phase, self.phases)
        saved = self.seen.get("saved")
        then = saved.phase.current if saved and saved.phase else None
        return (self.next_action, self.gate) if then == phase.current else (None, None)


def of_phase(phase: Phase, phases: list[KnownPhase]) -> tuple[str | None, str | None]:
    """What the list of phases has as next action and gate, if it counts as the state does."""
    if max((known.number for known in phases), default=0) != phase.total:
        return None, None
    here = next((known for known in phases if known.number == phase.current), None)
    return (here.next_action, here.gate) if here else (None, None)


def names_of(phases: list[KnownPhase]) -> dict[int, str]:
    return {phase.number: phase.name for phase in phases}


def complete_mark(mark: StatedPhase, was: Phase, phases: list[KnownPhase]) -> dict[str, Any]:
    """Current, total and name, with what *mark* leaves out filled from what is known."""
    names = names_of(phases)
    if mark.total and names and max(names) != mark.total:
        names = {}  # counted otherwise, so its numbers are about something else
    current = mark.current
    if current is None and mark.name:
        wanted = mark.name.casefold()
        current = next((n for n, name in names.items() if name.casefold() == wanted), None)
    current = current or was.current
    total = mark.total or max(names, default=was.total)
    same = was.name if was.current == current else f"Phase {current}"
    name = mark.name or names.get(current) or same
    return {"current": current, "total": max(total, current), "name": name}


def _or_nothing(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    # Scribbled over, it counts as missing: the merge then has no base and loses nothing.
    try:
        return read(value)
    except ValidationError:
        return None


class State(Document):
    """One workflow, as the canonical document defines it."""

    model_config = ConfigDict(coerce_numbers_to_str=False)
    writes_null = False

    workflow: Name
    workflow_type: WorkflowType
    phase: Phase
    required_reading: Texts
    context: Annotated[dict[str, Any], tolerant(_context)] = {}
    key_reminders: Texts = []
    created_at: Annotated[str, tolerant(_time), AfterValidator(_in_iso)]
    holdfast: Annotated[Bookkeeping | None, WrapValidator(_or_nothing)] = None

    @model_validator(mode="before")
    @classmethod
    def _with_what_is_missing(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or not callable(info.context):
            return data
        fields = cls.model_fields.items()
        missing = [name for name, field in fields if field.is_required() and data.get(name) is None]
        instead = {name: getattr(info.context(), name) for name in missing}
        empty: dict[str, Any] = {"context": {}, "key_reminders": []}
        nulls = {name: empty[name] for name in empty if name in data and data[name] is None}
        return {**data, **instead, **nulls}

    @classmethod
    def fallbacks(cls, context: Any) -> Mapping[str, Any]:
        was: State = context()
        return {"context": was.context, "key_reminders": was.key_reminders}

    @classmethod
    def of_json(cls, data: dict[str, Any], context: Callable[[], State] | None = None) -> Self:
        """*context* gives the state that anything missing is taken from."""
        state = super().of_json(data, context or blank)
        # What is left out of a list is noted, to find the others again.
        state._read |= {  # noqa: SLF001
            field: [_text(item) for item in data[field]]
            for field in ("required_reading", "key_reminders")
            if isinstance(data.get(field), list)
        }
        return state

    @property
    def finished(self) -> bool:
        return self.phase.status == "completed" and self.phase.current >= self.phase.total

    @property
    def status(self) -> Status:
        return self.phase.status

    def replaced(self, **changes: Any) -> State:
        """With *changes*, which are written whatever stood there."""
        after = self.model_copy(update=changes)
        # As if nothing had been read there: fields that are not known stay, all else is written.
        after._read = self._read | {name: {} for name in changes}  # noqa: SLF001
        return after

    def with_phase(self, **changes: Any) -> State:
        return self.replaced(phase=self.phase.model_copy(update=changes))

    def with_bookkeeping(self, **changes: Any) -> State:
        """With *changes* in what is only ours, if there is such a thing."""
        kept = self.holdfast and self.holdfast.model_copy(update=changes)
        return self.model_copy(update={"holdfast": kept})

    def content(self) -> dict[str, Any]:
        """All that it says but for what is only ours."""
        return self.model_dump(exclude={"holdfast"})

    def continues(self, known: State) -> bool:
        """Whether this is the workflow *known*, which was read in the same place, and not begun anew."""
        return self.workflow == known.workflow and self.phase.current >= known.phase.current


def blank(name: str = "Unnamed workflow", created_at: str = "1970-01-01T00:00:00Z") -> State:
    """A state that says nothing but its name."""
    return State(
        workflow=name,
        workflow_type="custom",
        phase=Phase(current=1, total=1, name="Phase 1", status="in_progress"),
        required_reading=[],
        created_at=created_at,
    )


def has_shape(data: object) -> bool:
    """Whether *data* is meant as a canonical state, right or wrong in its details."""
    return (
        isinstance(data, dict)
        and not isinstance(data.get("workflow", {}), dict)
        and ("phase" in data or "workflow_type" in data)
    )


def is_nameless(data: object) -> bool:
    """Whether *data*, which lies where states lie, is one without its name."""
    return (
        isinstance(data, dict)
        and "workflow" not in data
        and isinstance(data.get("phase"), dict)
        and not data.keys().isdisjoint({"workflow_type", "required_reading"})
    )


def short_digest(text: str) -> str:
    """A short name for a text that need not be kept."""
    return digest(text.encode("utf-8", "replace"))[:16]
