"""The state of a pipeline: its model, reading it and writing it.

Steps of a generation and phases of a planning differ in the word alone, so they share one model. The
section that holds them is named after the workflow's type; so is that of a workflow which somebody
has defined. What is read of each is in formats/document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, create_model

from holdfast.formats.document import (
    Document,
    Open,
    Texts,
    Time,
    moment,
    shaped,
    tolerant,
    word,
)

GENERATION, PLANNING = "generation", "planning"
MOST_STEPS = 100  # each is compared with all before it, at every event

_OF_ALL = {
    **dict.fromkeys(("complete", "done", "success", "succeeded"), "completed"),
    **dict.fromkeys(("active", "running", "started"), "in_progress"),
    **dict.fromkeys(("waiting", "awaiting_approval", "pending_approval"), "waiting_approval"),
    **dict.fromkeys(("error", "failure"), "failed"),
}
_OF_STEP = {**_OF_ALL, "todo": "pending", "not_started": "pending"}
_OF_WORKFLOW = {**_OF_ALL, "canceled": "cancelled", "aborted": "cancelled"}

StepStatus = Annotated[
    Literal["pending", "in_progress", "waiting_approval", "completed", "failed"], word(_OF_STEP)
]
_Status = Literal["in_progress", "waiting_approval", "failed", "completed", "cancelled"]
STATUSES = get_args(_Status)
Status = Annotated[_Status, word(_OF_WORKFLOW)]
_shaped_or_none = tolerant(lambda value: value if isinstance(value, dict) else None)


def _numbered(field: str) -> Callable[[object], list[Any]]:
    """A bare text stands for the name, and one without a number has that of its place."""

    def meant(value: object) -> list[Any]:
        steps = [
            each if isinstance(each, dict) else {"name": each}
            for each in (value if isinstance(value, list) else [])
            if isinstance(each, dict | str)
        ]
        return [
            each if each.get(field) is not None else {**each, field: place}
            for place, each in enumerate(steps, 1)
        ]

    return meant


class Approval(Open):
    """Of a step that a person has to approve."""

    required: bool = True
    approved: bool = False
    approved_at: Time = None
    selected_variant: str | None = None
    # What the document leaves open, see docs/formats/pipeline.md:
    requested_at: Time = None
    rejected_at: Time = None
    modifications: Annotated[dict[str, Any] | None, _shaped_or_none] = None
    earlier_seconds: int | None = None  # of waiting, before it was rejected or done anew


class Attempt(Open):
    """One attempt of a step that is over."""

    attempt: int
    result: str | None = None
    reason: str | None = None
    started_at: Time = None
    completed_at: Time = None
    emphasis: str | None = None  # what the next attempt has to stress
    artifacts: Annotated[dict[str, Any], shaped(dict)] = {}


class Attempts(Open):
    current: int = 0
    max: int = 3
    history: Annotated[list[Attempt], shaped(list)] = []


class Step(Open):
    """A step of a generation, or a phase of a planning."""

    step: int | None = None
    phase: int | None = None
    name: str = ""
    status: StepStatus = "pending"
    started_at: Time = None
    completed_at: Time = None
    agents: Texts = []
    artifacts: Annotated[dict[str, Any], shaped(dict)] = {}
    human_approval: Annotated[Approval | None, _shaped_or_none] = None
    attempts: Annotated[Attempts | None, _shaped_or_none] = None
    # What the document leaves open:
    runs: int | None = None  # how often it was begun
    earlier_seconds: int | None = None  # of work, before it was put back
    error: str | None = None  # why it failed

    @property
    def number(self) -> int:
        return self.step or self.phase or 0

    @property
    def title(self) -> str:
        return self.name or f"Step {self.number}"

    @property
    def is_done(self) -> bool:
        """Completed, and approved where that is asked for."""
        asked = self.human_approval
        return self.status == "completed" and not (asked and asked.required and not asked.approved)

    @property
    def is_open(self) -> bool:
        """Begun, and neither done nor put back."""
        return self.status != "pending" and not self.is_done


_AT_MOST = Field(max_length=MOST_STEPS)


class Section(Open):
    """What is kept of a workflow beyond its base: the section that is named after its type."""

    scene_id: str | None = None  # of a generation
    level: str | None = None  # of a planning: scene, chapter or act
    context: Annotated[dict[str, Any], shaped(dict)] = {}
    current_step: int | None = None
    total_steps: int | None = None
    current_phase: int | None = None
    total_phases: int | None = None
    steps: Annotated[list[Step], _AT_MOST, tolerant(_numbered("step"))] = []
    phases: Annotated[list[Step], _AT_MOST, tolerant(_numbered("phase"))] = []
    artifacts: Annotated[dict[str, Any], shaped(dict)] = {}
    # The definition that a defined workflow was begun with; definitions.py reads it.
    definition: Annotated[dict[str, Any] | None, _shaped_or_none] = None


class State(Document):
    """One workflow. Where there is a section, the class is one made for the workflow's type."""

    workflow_id: str
    workflow_type: str
    session_name: str | None = None
    status: Status = "in_progress"
    created_at: Time = None
    updated_at: Time = None
    section: Annotated[Section, shaped(dict)] = Field(default_factory=Section)
    # What the document leaves open:
    completed_at: Time = None
    cancelled_at: Time = None
    cancellation_reason: str | None = None
    committed_from_session: str | None = None
    committed_at: Time = None

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        kind = model_of(str(data.get("workflow_type")))
        state: Self = super(State, kind).of_json(data)  # type: ignore[assignment]
        return state

    @property
    def is_planning(self) -> bool:
        """Whether its steps are called phases."""
        return bool(self.section.phases) or self.workflow_type == PLANNING

    @property
    def word(self) -> Literal["phase", "step"]:
        return "phase" if self.is_planning else "step"

    @property
    def steps(self) -> list[Step]:
        return self.section.phases if self.is_planning else self.section.steps

    @property
    def total(self) -> int:
        told = self.section.total_phases if self.is_planning else self.section.total_steps
        return len(self.steps) or told or 0

    @property
    def current(self) -> int:
        """The number of the step that is worked on, else of the last one that is done.

        The list counts: what is written beside it, by a jq line, cannot leave a step out.
        """
        begun = [each.number for each in self.steps if each.status == "failed"]
        begun = begun or [each.number for each in self.steps if each.is_open]
        done = [each.number for each in self.steps if each.is_done]
        if self.steps:
            return min(begun) if begun else max(done, default=self.steps[0].number)
        told = self.section.current_phase if self.is_planning else self.section.current_step
        return told or 1

    @property
    def step(self) -> Step | None:
        """The current one."""
        return self.find(self.current)

    def find(self, number: int) -> Step | None:
        return next((each for each in self.steps if each.number == number), None)

    @property
    def progress(self) -> int:
        """In percent; 100 is for what is completed."""
        if self.status == "completed":
            return 100
        return max(0, min(99, 100 * self.current // self.total)) if self.total else 0

    @property
    def over(self) -> bool:
        return self.status in {"completed", "cancelled", "failed"}

    def called(self, step: Step) -> str:
        """Within a sentence."""
        return f"{self.word} {step.number} ({step.title})"

    @property
    def failure(self) -> str:
        """Where and why it failed; empty where it did not."""
        if self.status != "failed":
            return ""
        step = self.step
        where = f" in {self.called(step)}" if step else ""
        return f"failed{where}{f': {step.error}' if step and step.error else ''}"

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states."""
        times = [self.created_at, self.updated_at, self.completed_at, self.cancelled_at]
        for each in self.steps:
            times += [each.started_at, each.completed_at]
        return max((at for each in times if (at := moment(each))), default=None)


# A workflow's type is the name of its section, so it cannot be that of another field.
RESERVED = frozenset(State.model_fields) | {"workflows"}


@lru_cache(maxsize=64)
def model_of(workflow_type: str) -> type[State]:
    """The model of all workflows of a type: their section has its name."""
    section: Any = (
        Annotated[Section, shaped(dict)],
        Field(default_factory=Section, alias=workflow_type),
    )
    return create_model("State", __base__=State, section=section)


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a pipeline, right or wrong in its details."""
    if not isinstance(data, Mapping):
        return False
    kind = data.get("workflow_type")
    if not isinstance(kind, str) or not kind.isprintable() or kind in RESERVED:
        return False
    if "workflow_id" not in data:
        return False
    return "status" in data or isinstance(data.get(kind), Mapping)
