"""The two state files of a feature: models of workflow-state.json and of a phase's status.json.

What the document asks of a valid file is asked here, since nobody may go on with one that is not: five
phases with names of its own, known statuses, iterations from 0 to 4. Fields that came later may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from holdfast.formats.document import Document, Open, Time, moment, tolerant, word
from holdfast.plaintext import one_line

PhaseName: TypeAlias = Literal[
    "01-requirements", "02-architecture", "03-implementation", "04-testing", "05-documentation"
]
PHASES: tuple[PhaseName, ...] = (
    "01-requirements",
    "02-architecture",
    "03-implementation",
    "04-testing",
    "05-documentation",
)
MOST_ITERATIONS = 4
OVER = frozenset({"completed", "finalized", "abandoned", "cancelled"})
IN_WORK = frozenset({"in_progress", "in_review", "user_review", "escalated"})

WorkflowStatus = Annotated[
    Literal["in_progress", "completed", "finalized", "escalated", "abandoned", "cancelled"],
    word({"canceled": "cancelled"}),
]
PhaseStatus = Annotated[
    Literal["pending", "in_progress", "in_review", "user_review", "approved", "escalated"],
    word({}),
]
Iterations = Annotated[int, Field(ge=0, le=MOST_ITERATIONS)]
Text = Annotated[str, Field(min_length=1)]


class PhaseSummary(Open):
    """What workflow-state.json says of a phase."""

    status: PhaseStatus
    iterations: Iterations = 0
    started_at: Time = None
    completed_at: Time = None
    escalation_reason: str | None = None


class Escalation(BaseModel):
    """An entry of escalations[]. The document leaves its shape open; this is ours."""

    model_config = ConfigDict(extra="allow")

    phase: PhaseName
    reason: str
    raised: Time
    resolved: Time = None  # null while it is open
    by: str | None = None  # "guidance", "override", or who resolved it

    @classmethod
    def of(cls, entry: object) -> Escalation | None:
        """The escalation in *entry*; None where somebody else wrote it in another shape."""
        try:
            return cls.model_validate(entry)
        except ValidationError:
            return None


def _text(value: object) -> object:
    """Some orchestrators give feedback as a list, one point an item."""
    if isinstance(value, list):
        return "\n".join(str(each) for each in value)
    return str(value) if isinstance(value, dict) else value


def _listed(value: object) -> list[Any]:
    """Another shape is one entry, so that it stays when something is added."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _number(value: object) -> object:
    """What is no number says nothing; an empty text stands for none."""
    return None if isinstance(value, str) and not value.isdecimal() else value


def _known_phases(value: object) -> object:
    """A phase that the document does not know is kept in the file, and is not ours to read."""
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if name in PHASES}


def _all_phases(phases: dict[str, PhaseSummary]) -> dict[str, PhaseSummary]:
    absent = [name for name in PHASES if name not in phases]
    unknown = [name for name in phases if name not in PHASES]
    if absent or unknown:
        told = (
            f"{', '.join(absent)} as well" if absent else f"not {one_line(', '.join(unknown), 80)}"
        )
        raise ValueError(f"an object with all 5 phases and no other: {told}")
    return phases


class State(Document):
    """workflow-state.json: the primary source of truth."""

    feature: Text
    feature_title: str | None = None
    branch: str | None = None
    created_at: Time = None
    updated_at: Time = None
    current_phase: PhaseName
    status: WorkflowStatus
    phases: Annotated[dict[str, PhaseSummary], tolerant(_known_phases), AfterValidator(_all_phases)]
    escalations: Annotated[list[Any], tolerant(_listed)] = []
    pr_url: str | None = None
    pr_number: Annotated[int | None, tolerant(_number)] = None
    last_reviewed_at: Time = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.feature_title or self.feature

    @property
    def over(self) -> bool:
        return self.status in OVER

    @property
    def phase(self) -> PhaseSummary:
        """The current one."""
        return self.phases[self.current_phase]

    @property
    def number(self) -> int:
        """Of the current phase, from 1."""
        return PHASES.index(self.current_phase) + 1

    @property
    def open_escalation(self) -> Escalation | None:
        """The last one of the current phase that nobody has resolved."""
        known = [each for entry in self.escalations if (each := Escalation.of(entry))]
        still = [each for each in known if each.resolved is None]
        return next((each for each in reversed(still) if each.phase == self.current_phase), None)

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states."""
        times = [self.created_at, self.updated_at, self.last_reviewed_at]
        for phase in self.phases.values():
            times += [phase.started_at, phase.completed_at]
        return max((at for each in times if (at := moment(each))), default=None)


class Status(Document):
    """status.json: one phase in detail."""

    phase: PhaseName
    status: PhaseStatus
    iterations: Iterations
    max_iterations: Annotated[int, Field(ge=1)]
    current_feedback: Annotated[str | None, tolerant(_text)] = None
    history: Annotated[list[Any], tolerant(_listed)] = []

    @property
    def limit(self) -> int:
        """After how many iterations it escalates; more than the document allows there never are."""
        return min(self.max_iterations, MOST_ITERATIONS)

    def latest(self) -> Iterator[tuple[str, object]]:
        """Action and result of the history's entries, the last one first; others may be of any shape."""
        for entry in reversed(self.history):
            action = entry.get("action") if isinstance(entry, dict) else None
            if isinstance(action, str):
                yield action, entry.get("result")


def new_state(
    feature: str, at: str, *, title: str | None = None, branch: str | None = None
) -> State:
    """The state of a feature that no phase has begun of."""
    return State.of_json(
        {
            "feature": feature,
            "feature_title": title,
            "branch": branch,
            "created_at": at,
            "updated_at": at,
            "current_phase": PHASES[0],
            "status": "in_progress",
            "phases": {
                name: {
                    "status": "pending",
                    "iterations": 0,
                    "started_at": None,
                    "completed_at": None,
                    "escalation_reason": None,
                }
                for name in PHASES
            },
            "escalations": [],
            "pr_url": None,
            "pr_number": None,
            "last_reviewed_at": None,
        }
    )


def new_status(phase: PhaseName) -> Status:
    """The details of a phase that has not begun."""
    return Status.of_json(
        {
            "phase": phase,
            "status": "pending",
            "iterations": 0,
            "max_iterations": MOST_ITERATIONS,
            "current_feedback": None,
            "history": [],
        }
    )


def phases_after(phase: PhaseName) -> Iterator[PhaseName]:
    yield from PHASES[PHASES.index(phase) + 1 :]


def has_state_shape(data: object) -> bool:
    """Whether *data* is meant as workflow-state.json, right or wrong in its details."""
    if not isinstance(data, dict):
        return False
    phases = data.get("phases")
    named = isinstance(phases, dict) and any(name in PHASES for name in phases)
    return named or {"feature", "current_phase"} <= data.keys()


def has_status_shape(data: object) -> bool:
    """Whether *data* is meant as a phase's status.json, right or wrong in its details."""
    if not isinstance(data, dict):
        return False
    counts = {"iterations", "max_iterations"} & data.keys()
    return len(counts) == 2 or (bool(counts) and isinstance(data.get("phase"), str))
