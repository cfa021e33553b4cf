"""The state of a pipeline, and where it stands by the definition that it follows.

Steps of a generation and phases of a planning differ only in the word, so they share one model. The
section that holds them is named after the workflow's type, built in or defined by the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, PrivateAttr, ValidationError, create_model

from holdfast.formats.engine.document import (
    Document,
    Open,
    Texts,
    Time,
    moment,
    tolerant,
    word,
)
from holdfast.formats.pipeline.definitions import (
    GENERATION,
    LEVELS,
    MOST_STEPS,
    PLANNING,
    RESERVED,
    UNDEFINED,
    Definition,
    StepDefinition,
    built_in,
)

# Other words for a status, of steps and of workflows. Only steps can be pending.
_WORDS = {
    **dict.fromkeys(("complete", "done", "success", "succeeded"), "completed"),
    **dict.fromkeys(("active", "running", "started"), "in_progress"),
    **dict.fromkeys(("waiting", "awaiting_approval", "pending_approval"), "waiting_approval"),
    **dict.fromkeys(("error", "failure"), "failed"),
    **dict.fromkeys(("canceled", "aborted"), "cancelled"),
}

StepStatus = Annotated[
    Literal["pending", "in_progress", "waiting_approval", "completed", "failed"],
    word({**_WORDS, "todo": "pending", "not_started": "pending"}),
]
StatusWord = Literal["in_progress", "waiting_approval", "failed", "completed", "cancelled"]
STATUSES = get_args(StatusWord)
Status = Annotated[StatusWord, word(_WORDS)]


def _numbered(field: str) -> Callable[[object], list[Any]]:
    """A bare text is a step's name; a step without a number has that of its place in the list."""

    def meant(value: object) -> list[Any]:
        steps = [
            step if isinstance(step, dict) else {"name": step}
            for step in (value if isinstance(value, list) else [])
            if isinstance(step, dict | str)
        ]
        return [
            step if step.get(field) is not None else {**step, field: place}
            for place, step in enumerate(steps, 1)
        ]

    return meant


class Approval(Open):
    required: bool = True
    approved: bool = False
    approved_at: Time = None
    selected_variant: str | None = None
    # What the document leaves open, see docs/formats/pipeline.md:
    requested_at: Time = None
    rejected_at: Time = None
    modifications: dict[str, Any] | None = None
    earlier_seconds: int | None = None  # of waiting, before a rejection or before it was done again


class Attempt(Open):
    attempt: int = 0
    result: str | None = None
    reason: str | None = None
    started_at: Time = None
    completed_at: Time = None
    artifacts: dict[str, Any] = {}


class Attempts(Open):
    current: int = 0
    max: int = 3
    history: list[Attempt] = []


class Step(Open):
    """A step of a generation, or a phase of a planning."""

    step: int | None = None
    phase: int | None = None
    name: str = ""
    status: StepStatus = "pending"
    started_at: Time = None
    completed_at: Time = None
    agents: Texts = []
    artifacts: dict[str, Any] = {}
    human_approval: Approval | None = None
    attempts: Attempts | None = None
    # What the document leaves open:
    runs: int | None = None  # how often it was begun
    earlier_seconds: int | None = None  # of work, before it was reset
    error: str | None = None  # why it failed

    @property
    def number(self) -> int:
        return self.step or self.phase or 0

    @property
    def title(self) -> str:
        return self.name or f"Step {self.number}"

    @property
    def is_complete(self) -> bool:
        """Completed, and approved where the state asks for that."""
        asked = self.human_approval
        return self.status == "completed" and not (asked and asked.required and not asked.approved)

    @property
    def is_open(self) -> bool:
        """Begun, and neither complete nor reset."""
        return self.status != "pending" and not self.is_complete

    @property
    def begun(self) -> int:
        """How often it was begun; where nobody counted, its attempts and times tell."""
        tried = self.attempts.current if self.attempts else 0
        return self.runs or max(tried, 1 if self.started_at else 0)

    @property
    def attempt(self) -> str:
        """attempt 2 of 3; empty during the first one."""
        tried = self.attempts
        return f"attempt {tried.current} of {tried.max}" if tried and tried.current > 1 else ""

    @property
    def failures(self) -> str:
        history = self.attempts.history if self.attempts else []
        return "; ".join(f"{one.attempt}: {one.reason}" for one in history if one.reason)

    @property
    def emphasis(self) -> str | None:
        """What the attempt under way has to concentrate on, because the last one failed."""
        history = self.attempts.history if self.attempts and self.attempt else []
        if self.status == "failed" or not (history and history[-1].reason):
            return None
        last = history[-1]
        return f"Attempt {last.attempt} failed, so pay special attention to this: {last.reason}"


_AT_MOST = Field(max_length=MOST_STEPS)


class Section(Open):
    """The part of a state that is named after the workflow's type."""

    scene_id: str | None = None  # of a generation
    level: str | None = None  # of a planning: scene, chapter or act
    context: dict[str, Any] = {}
    current_step: int | None = None
    total_steps: int | None = None
    current_phase: int | None = None
    total_phases: int | None = None
    steps: Annotated[list[Step], _AT_MOST, tolerant(_numbered("step"))] = []
    phases: Annotated[list[Step], _AT_MOST, tolerant(_numbered("phase"))] = []
    artifacts: dict[str, Any] = {}
    # What a defined workflow was begun with: a later edit of the file must not change it midway.
    definition: dict[str, Any] | None = None


class State(Document):
    """One workflow. Its class is made for its type, which names the section."""

    workflow_id: str
    workflow_type: str
    session_name: str | None = None
    status: Status = "in_progress"
    created_at: Time = None
    updated_at: Time = None
    section: Section = Section()
    # What the document leaves open:
    completed_at: Time = None
    cancelled_at: Time = None
    cancellation_reason: str | None = None
    committed_from_session: str | None = None
    committed_at: Time = None
    _definition: Definition | None = PrivateAttr(None)

    @classmethod
    def of_json(cls, data: dict[str, Any], context: Any = None) -> Self:
        kind = model_of(str(data.get("workflow_type")))
        state: Self = super(State, kind).of_json(data, context)  # type: ignore[assignment]
        return state

    @property
    def word(self) -> Literal["phase", "step"]:
        return "phase" if self.section.phases or self.workflow_type == PLANNING else "step"

    @property
    def steps(self) -> list[Step]:
        return self.section.phases if self.word == "phase" else self.section.steps

    @property
    def stated(self) -> tuple[int | None, int | None]:
        """The number of the current step, and how many there are, as the section has them."""
        section = self.section
        if self.word == "phase":
            return section.current_phase, section.total_phases
        return section.current_step, section.total_steps

    @property
    def total(self) -> int:
        return len(self.steps) or self.stated[1] or 0

    @property
    def current(self) -> int:
        """The number of the step in progress, else of the last one that is complete.

        The list of steps decides: a number written beside it by hand cannot skip a step.
        """
        begun = [step.number for step in self.steps if step.is_open]
        complete = [step.number for step in self.steps if step.is_complete]
        if self.steps:
            return min(begun) if begun else max(complete, default=self.steps[0].number)
        return self.stated[0] or 1

    @property
    def current_step(self) -> Step | None:
        return self.find(self.current)

    def find(self, number: int) -> Step | None:
        return next((step for step in self.steps if step.number == number), None)

    @property
    def progress(self) -> int:
        """In percent; 100 only once it is completed."""
        if self.status == "completed":
            return 100
        return max(0, min(99, 100 * self.current // self.total)) if self.total else 0

    @property
    def over(self) -> bool:
        return self.status in {"completed", "cancelled", "failed"}

    def title(self, step: Step) -> str:
        """Step 4 (Generation)."""
        return f"{self.word.capitalize()} {step.number} ({step.title})"

    def called(self, step: Step) -> str:
        """step 4 (Generation), as within a sentence."""
        return f"{self.word} {step.number} ({step.title})"

    @property
    def failure(self) -> str:
        """Where and why it failed, or is called completed and is not; else empty."""
        left = next((step for step in self.steps if step.status != "completed"), None)
        if self.status == "completed" and left:
            says = f"completed by its status, but {self.called(left)} is {left.status}"
            return f"{says}: correct the file, then see holdfast status"
        if self.status != "failed":
            return ""
        step = self.current_step
        where = f" in {self.called(step)}" if step else ""
        return f"failed{where}{f': {step.error}' if step and step.error else ''}"

    @property
    def ended_at(self) -> Any:
        return self.completed_at or self.cancelled_at or self.updated_at

    @property
    def last_activity(self) -> str | None:
        times = [self.created_at, self.updated_at, self.completed_at, self.cancelled_at]
        times += [time for step in self.steps for time in (step.started_at, step.completed_at)]
        last = max((at for time in times if (at := moment(time))), default=None)
        return last.isoformat() if last else None

    # By the definition.

    @property
    def definition(self) -> Definition:
        """What it follows; where its steps fit no definition, they are one, in their order."""
        if self._definition is None:
            self._definition = self._followed()
        return self._definition

    def _followed(self) -> Definition:
        named = self._named()
        if named and [step.number for step in named.all] == [step.number for step in self.steps]:
            return named
        # Unchecked: what can be read in a state may still be wrong in a definition.
        steps = [
            StepDefinition.model_construct(
                step=step.number,
                name=step.title,
                agents=step.agents,
                human_approval=step.human_approval is not None and step.human_approval.required,
                retry_enabled=step.attempts is not None,
            )
            for step in self.steps
        ]
        listed = {f"{self.word}s": steps}
        return Definition.model_construct(name=self.workflow_type, **listed)  # type: ignore[arg-type]

    def _named(self) -> Definition | None:
        level = self.section.level or LEVELS[0]
        if self.workflow_type == GENERATION or (self.workflow_type == PLANNING and level in LEVELS):
            return built_in(self.workflow_type, level)
        try:
            return Definition.model_validate(self.section.definition)
        except ValidationError:
            return None

    def defined(self, step: Step) -> StepDefinition:
        """What the definition says of *step*."""
        return self.definition.find(step.number) or UNDEFINED

    def agents(self, step: Step) -> list[str]:
        """Who works on *step*: as the state says, else as it is defined."""
        return step.agents or self.defined(step).all_agents

    def retried_by(self, step: Step) -> Step | None:
        """The step to try again when *step* fails."""
        number = self.definition.retried_by(step.number)
        return None if number is None else self.find(number)

    def retry_of(self, step: Step) -> Step | None:
        """The step that the agent has to try again, since *step* has failed and attempts are left."""
        tried = self.retried_by(step) if step.status == "failed" and not self.over else None
        left = tried is not None and tried.attempts and tried.attempts.current < tried.attempts.max
        return tried if left else None

    def is_done(self, step: Step) -> bool:
        """Whether *step* is complete, and approved where the definition asks for that."""
        approved = step.human_approval is not None and step.human_approval.approved
        return step.is_complete and (approved or not self.defined(step).human_approval)

    def awaits_approval(self, step: Step) -> bool:
        """Whether a person has to approve *step* now; also where others completed it without."""
        unapproved = step.status == "completed" and not self.is_done(step)
        return step.status == "waiting_approval" or unapproved

    def missing(self, number: int) -> list[Step]:
        """The steps that have to be done before *number*, which are all before it, and are not."""
        return [step for step in self.steps if step.number < number and not self.is_done(step)]

    @property
    def next_step(self) -> Step | None:
        return next((step for step in self.steps if step.status == "pending"), None)


@lru_cache(maxsize=64)
def model_of(workflow_type: str) -> type[State]:
    """The model of the workflows of one type, with the section under its name."""
    section: Any = (
        Section,
        Field(default_factory=Section, alias=workflow_type),
    )
    return create_model("State", __base__=State, section=section)


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a pipeline, whatever is wrong with it."""
    if not isinstance(data, Mapping):
        return False
    kind = data.get("workflow_type")
    if not isinstance(kind, str) or not kind.isprintable() or kind in RESERVED:
        return False
    if "workflow_id" not in data:
        return False
    return "status" in data or isinstance(data.get(kind), Mapping)
