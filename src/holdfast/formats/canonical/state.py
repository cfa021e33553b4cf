"""The canonical state file: its models, how it is read and how it is written.

Fields that the document does not name are kept as they are. What is only ours lies under the key
"holdfast". A strict reader would reject a whole file for one wrong field. `salvage` reads a usual
slip as it was meant ("3/5 - Build" for a phase, one text for a list of texts) and takes what makes no
sense from the last good copy, else from a default. What stood there is written back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SkipValidation,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from holdfast import clock
from holdfast.files.fingerprints import digest
from holdfast.files.ownjson import VERSION
from holdfast.files.regular import decode_json
from holdfast.formats.canonical.sources import Declaration, PhaseMark, Status, WorkflowType
from holdfast.formats.canonical.sources.phase_marks import phase_of
from holdfast.formats.canonical.sources.statuses import status_for, status_of
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.engine.document import changed, problems_of


class Record(BaseModel):
    """A part of a state; unlike pydantic's own, it is written without what it does not say."""

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)


class OpenRecord(Record):
    """One that keeps fields which it does not name, in their order."""

    # Not pydantic's `extra`, which takes no names that UTF-8 cannot hold.
    more: Annotated[dict[str, Any], SkipValidation] = {}

    @model_validator(mode="before")
    @classmethod
    def _keep_more(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = cls.model_fields.keys() - {"more"}
        more = {name: value for name, value in data.items() if name not in known}
        return {**{name: data[name] for name in known if name in data}, "more": more}


Name = Annotated[str, StringConstraints(pattern=r"\S")]  # something to read


class Phase(OpenRecord):
    """Where the work is; moves as one, but for its status."""

    current: int = Field(ge=1)
    total: int = Field(ge=1)
    name: Name
    status: Status


class StatedPhase(Record):
    """A phase as a source stated it, with what it left out."""

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
    """One phase of the plan or of `start --phases`."""

    number: int
    name: str
    next_action: str | None = None
    gate: str | None = None


class LeftPhase(Record):
    """A phase that a command went past while boxes of it were open."""

    number: int
    open_items: list[str]
    gate: str | None = None


class OwnAdditions(Record):
    """What came into the file by a command or by hand, and not from markdown."""

    required_reading: list[str] = []
    key_reminders: list[str] = []
    context: list[str] = []
    phases: bool = False  # the list of phases was given to `start`


class Bookkeeping(OpenRecord):
    """What only Holdfast knows of the workflow."""

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
    left: list[LeftPhase] | None = None
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


def _null_as(kind: type[dict[str, Any] | list[str]]) -> BeforeValidator:
    return BeforeValidator(lambda value: kind() if value is None else value)


def _time(value: str) -> str:
    if clock.parse(value) is None:
        raise ValueError("a time in ISO 8601, such as 2025-12-09T14:30:52Z")
    return value


class State(OpenRecord):
    """One workflow, as the canonical document defines it."""

    workflow: Name
    workflow_type: WorkflowType
    phase: Phase
    required_reading: list[str]
    context: Annotated[dict[str, Any], _null_as(dict)] = {}
    key_reminders: Annotated[list[str], _null_as(list)] = []
    created_at: Annotated[str, AfterValidator(_time)]
    holdfast: Annotated[Bookkeeping | None, WrapValidator(_or_nothing)] = None
    _source: Mapping[str, Any] = PrivateAttr(default_factory=dict)  # the JSON that it was read from
    _read: Mapping[str, Any] = PrivateAttr(default_factory=dict)  # what that was taken as

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        return cls.model_validate(data)

    @property
    def finished(self) -> bool:
        return self.phase.status == "completed" and self.phase.current >= self.phase.total

    @property
    def status(self) -> Status:
        return self.phase.status

    def with_phase(self, **changes: Any) -> State:
        return self.replaced(phase=self.phase.model_copy(update=changes))

    def replaced(self, **changes: Any) -> State:
        """With *changes*, which are written whatever stood there."""
        changed = self.model_copy(update=changes)
        source = {name: there for name, there in self._source.items() if name not in changes}
        changed._source = source  # noqa: SLF001
        return changed

    def as_read(self) -> dict[str, Any]:
        """All that is not Holdfast's own, in the order in which it is written."""
        content = {**_flat(self), "phase": _flat(self.phase)}
        del content["holdfast"]
        return content

    def content(self) -> dict[str, Any]:
        """What is written of that: the file keeps what stands there until somebody changes it."""
        content, read = self.as_read(), self._read
        kept = [name for name in self._source if name in content and name in read]
        return content | {
            name: changed(self._source[name], read[name], content[name]) for name in kept
        }

    def keep_source(self, data: Mapping[str, Any]) -> None:
        """It was read from *data*, perhaps as something else than what stands there."""
        self._source = data
        self._read = self.as_read() | {
            field: [_text(item) for item in data[field]]
            for field in _LISTS
            if isinstance(data.get(field), list)
        }

    def continues(self, known: State) -> bool:
        """Whether this is the workflow *known*, which was read in the same place, and not begun anew."""
        return self.workflow == known.workflow and self.phase.current >= known.phase.current

    def encode(self) -> bytes:
        return self._encoded(self.content())

    def encode_as_read(self) -> bytes:
        """Without odd values, for the last good copy: what is odd later is taken from there."""
        return self._encoded(self.as_read())

    def _encoded(self, data: dict[str, Any]) -> bytes:
        if self.holdfast is not None:  # last, after the fields that people read
            data["holdfast"] = self.holdfast
        text = json.dumps(data, ensure_ascii=False, indent=2, default=_said) + "\n"
        return text.encode("utf-8", "backslashreplace")


def _flat(record: BaseModel) -> dict[str, Any]:
    """The fields in their order, those that it does not name behind them."""
    fields = {**vars(record)}
    more = fields.pop("more", {})
    return {**fields, **more}


def _said(record: BaseModel) -> dict[str, Any]:
    """A record of ours as JSON, without what it does not say."""
    return {name: value for name, value in _flat(record).items() if value is not None}


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


def read(raw: bytes) -> State:
    """The state in *raw*, odd values and all, or ValueError."""
    data = decode_json(raw)
    if not isinstance(data, dict) or not has_shape(data):
        raise ValueError("not a canonical state")
    return salvage(data, lambda: None)[0]


def short_digest(text: str) -> str:
    """A short name for a text that need not be kept."""
    return digest(text.encode("utf-8", "replace"))[:16]


# What somebody wrote by hand, taken as it was meant.

_LISTS = ("required_reading", "key_reminders")
EXPECTED = {
    "workflow": "a name, as text",
    "workflow_type": f"one of {', '.join(get_args(WorkflowType))}",
    "phase": "an object with current, total, name and status",
    "phase.current": "a whole number from 1",
    "phase.total": "a whole number from 1",
    "phase.name": "a name, as text",
    "phase.status": f"one of {', '.join(get_args(Status))}",
    "required_reading": "a list of paths, each with @ in front",
    "required_reading.*": "a path with @ in front",
    "key_reminders": "a list of texts",
    "created_at": "a time in ISO 8601, such as 2025-12-09T14:30:52Z",
}


def blank(created_at: str, name: str = "Unnamed workflow") -> State:
    """A state that says nothing but its name."""
    return State(
        workflow=name,
        workflow_type="custom",
        phase=Phase(current=1, total=1, name="Phase 1", status="in_progress"),
        required_reading=[],
        created_at=created_at,
    )


def salvage(
    data: dict[str, Any],
    last_good: Callable[[], State | None],
    begun: str = "1970-01-01T00:00:00Z",
    name: str = "Unnamed workflow",
) -> tuple[State, tuple[str, ...]]:
    """*data* as a state, and what is wrong in it, one line each.

    What is neither there nor in the last good copy is made from when it was *begun* and its *name*.
    """
    wrong = tuple[str, ...]()
    try:
        state = State.model_validate(data)
    except ValidationError as error:
        meant, wrong = _as_meant(data), problems_of(error, EXPECTED)
        try:
            state = State.model_validate(meant)
        except ValidationError as still:
            instead = (last_good() or blank(begun, name)).as_read()
            for field in _wrong_fields(still):
                _replace(meant, field, instead)
            state = State.model_validate(meant)
    state.keep_source(data)
    return state, (*wrong, *beyond_the_last(data))


def beyond_the_last(data: Mapping[str, Any]) -> Iterator[str]:
    """That the phase is counted higher than there are phases."""
    match data:
        case {"phase": {"current": int(current), "total": int(total)}} if current > total >= 1:
            yield f"phase.current: expected at most phase.total ({total}), found {current}"


def _wrong_fields(error: ValidationError) -> list[str]:
    """Which fields are wrong: those of a phase one by one, lists as a whole."""
    places = [problem["loc"] for problem in error.errors(include_url=False)]
    named = {".".join(map(str, at[: 2 if at[0] == "phase" else 1])) for at in places if at}
    return sorted(named) or ["all of it"]


def _as_meant(data: dict[str, Any]) -> dict[str, Any]:
    meant = {**data}
    phase = data.get("phase")
    if isinstance(phase, (str, int)):
        phase = _phase_in_text(str(phase))
    if isinstance(phase, dict):
        meant["phase"] = _phase_as_meant(phase)
    for field in _LISTS:
        if field in data:
            meant[field] = _texts(data[field])
    if isinstance(data.get("context"), list):
        meant["context"] = {"items": data["context"]} if data["context"] else {}
    created_at = data.get("created_at")
    if isinstance(created_at, (int, float)) and 0 < created_at < 2e11:
        meant["created_at"] = clock.iso(clock.from_mtime(created_at))
    return meant


def _phase_in_text(text: str) -> dict[str, Any]:
    mark = phase_of(text).mark or PhaseMark()
    stated = {"current": mark.current, "total": mark.total, "name": mark.name}
    return {key: value for key, value in stated.items() if value is not None}


def _phase_as_meant(phase: dict[str, Any]) -> dict[str, Any]:
    meant = {**phase}
    if isinstance(phase.get("status"), str):
        meant["status"] = status_for(status_of(phase["status"])) or phase["status"]
    if not isinstance(phase.get("name"), str) or not phase["name"].strip():
        meant.pop("name", None)
    meant.setdefault("status", "in_progress")
    return meant


def _texts(value: Any) -> Any:
    """A list of texts, from one text or from objects with a path."""
    items = [value] if isinstance(value, (str, dict)) else value
    if not isinstance(items, list):
        return value
    return [text for item in items if (text := _text(item)) is not None]


def _text(item: Any) -> str | None:
    """An item of a list as a text; None for one that is left out, which the file keeps."""
    if isinstance(item, dict):
        path = item.get("path")
        return normal_reading(path) if isinstance(path, str) else None
    return str(item) if isinstance(item, (str, int, float)) else None


def _replace(meant: dict[str, Any], field: str, instead: Mapping[str, Any]) -> None:
    key, _, part = field.partition(".")
    if not part or not isinstance(meant.get(key), dict):
        meant[key] = instead[key]
    elif part in instead[key]:
        meant[key] = {**meant[key], part: instead[key][part]}
    phase = meant["phase"] if key == "phase" else {}
    current = phase.get("current")
    if part == "name" and isinstance(current, int) and current != instead[key]["current"]:
        phase["name"] = f"Phase {current}"
    if part == "total" and isinstance(current, int):
        phase["total"] = max(phase["total"], current)
    elif part == "current" and isinstance(phase.get("total"), int):
        phase["current"] = max(min(phase["total"], phase["current"]), 1)
