"""The two state files of a feature: models of workflow-state.json and of a phase's status.json.

The models check what the document requires of a valid file, because no command may go on with an invalid
one: five phases with fixed names, known statuses, iterations from 0 to 4. Newer fields may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, Field

from holdfast.formats.engine.document import Document, Open, Time, moment, tolerant, word

PhaseName: TypeAlias = Literal[
    "01-requirements", "02-architecture", "03-implementation", "04-testing", "05-documentation"
]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)
MOST_ITERATIONS = 4
NEEDS_REVISION = "NEEDS_REVISION"
APPROVED = "APPROVED"
OVER = frozenset({"completed", "finalized", "abandoned", "cancelled"})

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


def _text(value: object) -> object:
    """Some orchestrators write feedback as a list, one point an item."""
    if isinstance(value, list):
        return "\n".join(str(item) for item in value)
    return str(value) if isinstance(value, dict) else value


def _listed(value: object) -> list[Any]:
    """A value of another shape becomes the only item, so that it survives when we add one."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _number(value: object) -> object:
    """Text without digits means nothing; some tools write an empty string for null."""
    return None if isinstance(value, str) and not value.isdecimal() else value


def _known_phases(value: object) -> object:
    """Ignore phases that the document does not define; they stay in the file."""
    if not isinstance(value, dict):
        return value
    return {name: summary for name, summary in value.items() if name in PHASES}


def _all_phases(phases: dict[PhaseName, PhaseSummary]) -> dict[PhaseName, PhaseSummary]:
    absent = ", ".join(name for name in PHASES if name not in phases)
    if absent:
        raise ValueError(f"an object with all 5 phases, {absent} as well")
    return phases


class _Phase:
    """What both files say of a phase. It declares no fields: pydantic reports problems in their order."""

    if TYPE_CHECKING:
        status: str
        iterations: int

    @property
    def stands(self) -> tuple[str, int]:
        return self.status, self.iterations

    def __str__(self) -> str:
        return f"{self.status}, iteration {self.iterations}"


class PhaseSummary(_Phase, Open):
    """What workflow-state.json says of a phase."""

    status: PhaseStatus
    iterations: Iterations = 0
    started_at: Time = None
    completed_at: Time = None
    escalation_reason: str | None = None


class State(Document):
    """workflow-state.json: the primary source of truth."""

    feature: Text
    feature_title: str | None = None
    branch: str | None = None
    created_at: Time = None
    updated_at: Time = None
    current_phase: PhaseName
    status: WorkflowStatus
    phases: Annotated[
        dict[PhaseName, PhaseSummary], tolerant(_known_phases), AfterValidator(_all_phases)
    ]
    escalations: Annotated[list[Any], tolerant(_listed)] = []
    pr_url: str | None = None
    pr_number: Annotated[int | None, tolerant(_number)] = None
    last_reviewed_at: Time = None

    instead: ClassVar = {
        "status": "in_progress",
        "current_phase": PHASES[0],
        **{f"phases.{name}.status": "in_progress" for name in PHASES},
    }

    @classmethod
    def of_json(cls, data: dict[str, Any], context: Any = None) -> Self:
        """An odd word is taken for what the order of phases makes likely."""
        state = super().of_json(data, context)
        odd = {item["loc"] for item in state.odd}
        if ("current_phase",) in odd:
            left = (name for name in PHASES if state.phases[name].status != "approved")
            state.current_phase = next(left, PHASES[-1])
        for name in PHASES:
            if ("phases", name, "status") in odd and name != state.current_phase:
                before = name < state.current_phase
                state.phases[name].status = "approved" if before else "pending"
        return state

    @property
    def name(self) -> str:
        return self.feature_title or self.feature

    @property
    def over(self) -> bool:
        return self.status in OVER

    @property
    def all_approved(self) -> bool:
        return all(self.phases[name].status == "approved" for name in PHASES)

    @property
    def phase(self) -> PhaseSummary:
        """The current phase."""
        return self.phases[self.current_phase]

    @property
    def phase_status(self) -> str:
        """How the current phase stands; one of an escalated workflow waits for a person, whatever it says."""
        return "escalated" if self.status == "escalated" else self.phase.status

    def is_open(self, entry: Any) -> bool:
        """Whether *entry* is an unresolved escalation of the current phase, as `escalate` adds them."""
        ours = isinstance(entry, dict) and entry.keys() >= {"phase", "reason", "raised"}
        return ours and entry["phase"] == self.current_phase and entry.get("resolved") is None

    @property
    def escalation_reason(self) -> str | None:
        """Why the current phase is escalated, as far as anything tells."""
        reasons = [str(entry["reason"]) for entry in self.escalations if self.is_open(entry)]
        return self.phase.escalation_reason or (reasons[-1] if reasons else None)

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states of the whole feature."""
        times = (self.created_at, self.updated_at, self.last_reviewed_at)
        return max((at for time in times if (at := moment(time))), default=None)

    def escalate(self, reason: str | None, at: str) -> None:
        """Add an open escalation of the current phase; "by" will be who or what resolved it."""
        entry = {"phase": self.current_phase, "reason": reason, "raised": at}
        self.escalations = [*self.escalations, {**entry, "resolved": None, "by": None}]


class StatusFile(_Phase, Document):
    """status.json: one phase in detail."""

    instead: ClassVar = {
        "status": "in_progress",
        "iterations": 0,
        "max_iterations": MOST_ITERATIONS,
    }

    phase: PhaseName
    status: PhaseStatus
    iterations: Iterations
    max_iterations: Annotated[int, Field(ge=1)]
    current_feedback: Annotated[str | None, tolerant(_text)] = None
    history: Annotated[list[Any], tolerant(_listed)] = []

    @property
    def limit(self) -> int:
        """The number of iterations after which the phase escalates, never above the document's."""
        return min(self.max_iterations, MOST_ITERATIONS)

    def latest(self) -> Iterator[tuple[str, object]]:
        """Action and result of the history's entries, the last one first."""
        for entry in reversed(self.history):
            match entry:
                case {"action": str(action)}:
                    yield action, entry.get("result")

    def record(
        self, action: str, at: str, result: str | None = None, iteration: int | None = None
    ) -> None:
        """Append an entry to the history, for the current iteration unless told otherwise."""
        number = self.iterations if iteration is None else iteration
        entry = {"iteration": number, "action": action, "timestamp": at, "result": result}
        self.history = [*self.history, entry]


def new_state(
    feature: str, at: str, *, title: str | None = None, branch: str | None = None
) -> State:
    """The state of a feature before its first phase begins."""
    times = dict.fromkeys(("started_at", "completed_at", "escalation_reason"))
    phases = {name: {"status": "pending", "iterations": 0, **times} for name in PHASES}
    unknown = dict.fromkeys(("pr_url", "pr_number", "last_reviewed_at"))
    named = {"feature": feature, "feature_title": title, "branch": branch}
    begun = {
        "created_at": at,
        "updated_at": at,
        "current_phase": PHASES[0],
        "status": "in_progress",
    }
    return State.of_json({**named, **begun, "phases": phases, "escalations": [], **unknown})


def new_status(phase: PhaseName) -> StatusFile:
    """The details of a phase that has not begun."""
    data: dict[str, Any] = {"phase": phase, "status": "pending", "iterations": 0}
    data |= {"max_iterations": MOST_ITERATIONS, "current_feedback": None, "history": []}
    return StatusFile.of_json(data)


def phases_after(phase: PhaseName) -> tuple[PhaseName, ...]:
    return PHASES[PHASES.index(phase) + 1 :]


def has_state_shape(data: object) -> bool:
    """Whether *data* is meant as workflow-state.json, valid or not."""
    if not isinstance(data, dict):
        return False
    phases = data.get("phases")
    named = isinstance(phases, dict) and any(name in PHASES for name in phases)
    return named or {"feature", "current_phase"} <= data.keys()


def has_status_shape(data: object) -> bool:
    """Whether *data* is meant as a phase's status.json, valid or not."""
    if not isinstance(data, dict):
        return False
    counts = {"iterations", "max_iterations"} & data.keys()
    return len(counts) == 2 or (bool(counts) and isinstance(data.get("phase"), str))
