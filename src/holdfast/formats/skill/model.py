"""The state file of a skill: its model, reading it and writing it.

What the document names is checked as far as we act on it; see engine/document. Files come from jq
and from hands, too, so reading takes an absent or null section as empty, a bare name for an object
with that name, and "In Progress" for in_progress.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field

from holdfast.formats.engine.document import (
    Document,
    Open,
    Texts,
    Time,
    by_name,
    moment,
    tolerant,
    word,
)
from holdfast.text.plaintext import counted

OVER = frozenset({"completed", "abandoned"})
TDD_PHASES = ("red", "green", "refactor")  # of a task; a /tdd has "commit" behind them
EXECUTION = "task_execution"
COMPACTED = "context_compacted"  # the one event that a hook writes

# Words that people and agents write for the document's.
_DONE = dict.fromkeys(("complete", "done", "passed", "skipped"), "completed")
_GOING = dict.fromkeys(("active", "failed", "running", "started"), "in_progress")
_OF_WORK = {
    **{status: status for status in ("pending", "in_progress", "completed")},
    **_DONE,
    **_GOING,
    **dict.fromkeys(("todo", "open", "planned", "queued", "waiting"), "pending"),
}
_OF_PHASE = {**_OF_WORK, "blocked": "blocked"}
_OF_WORKFLOW = {
    **_DONE,
    **_GOING,
    "failed": "abandoned",
    "cancelled": "abandoned",
    "paused": "blocked",
}

_OF_RESULTS = {
    **dict.fromkeys(("passed", "pass", "passing", "success", "ok", "green"), "passed"),
    **dict.fromkeys(("failed", "fail", "failing", "failure", "error", "red"), "failed"),
}


def _result(value: object) -> object:
    return _OF_RESULTS.get(value.strip().lower(), value) if isinstance(value, str) else value


# Work in a state that is not known is pending, but a task has been begun.
WorkflowStatus = Annotated[
    Literal["in_progress", "completed", "blocked", "abandoned"], word(_OF_WORKFLOW)
]
PhaseStatus = Annotated[
    Literal["pending", "in_progress", "completed", "blocked"], word(_OF_PHASE, "pending")
]
_Work = Literal["pending", "in_progress", "completed"]
WorkStatus = Annotated[_Work, word({**_OF_WORK, "blocked": "in_progress"}, "pending")]
TaskStatus = Annotated[_Work, word(_OF_WORK, "in_progress")]


class About(Open):
    version: str = "1.0"
    skill: str | None = None


class Header(Open):
    id: str | None = None
    status: WorkflowStatus = "in_progress"
    created_at: Time = None
    updated_at: Time = None
    completed_at: Time = None
    branch: str | None = None


class Context(Open):
    feature_file: str | None = None
    source: str | None = None  # the same, as the script that the document's authors use writes it
    feature_title: str | None = None
    folder_mode: bool | None = None
    folder_path: str | None = None
    folder_features: list[Any] = []
    task_description: str | None = None
    task_index: int | None = None

    @property
    def about_file(self) -> str | None:
        """The file of the feature that it works on."""
        return self.feature_file or self.source


class Phase(Open):
    name: str
    status: PhaseStatus = "pending"
    started_at: Time = None
    completed_at: Time = None
    progress: str | None = None
    steps: list[Any] = []
    # Of the phases of a /tdd:
    test_file: str | None = None
    test_name: str | None = None
    failure_confirmed: bool | None = None
    failure_reason: str | None = None
    implementation_file: str | None = None
    tests_passing: bool | None = None
    last_error: str | None = None

    @property
    def step_names(self) -> list[str]:
        names = (step.get("name") if isinstance(step, dict) else step for step in self.steps)
        return [name for name in names if isinstance(name, str)]


class Machine(Open):
    current_phase: str | None = None
    current_step: str | None = None
    cycle_count: int | None = None
    phases: list[Annotated[Phase, by_name("name")]] = []


class TaskPhases(Open):
    red: WorkStatus = "pending"
    green: WorkStatus = "pending"
    refactor: WorkStatus = "pending"

    @property
    def current(self) -> str | None:
        """The one in progress, else what follows the last completed one."""
        stands = [getattr(self, name) for name in TDD_PHASES]
        if "in_progress" in stands:
            return TDD_PHASES[stands.index("in_progress")]
        done = [at for at, status in enumerate(stands, 1) if status == "completed"]
        return (*TDD_PHASES, None)[max(done, default=0)]

    @property
    def begun(self) -> bool:
        return any(getattr(self, name) != "pending" for name in TDD_PHASES)


class Task(Open):
    index: int | None = None
    description: str = ""
    status: TaskStatus = "pending"
    commit_sha: str | None = None
    tdd_phases: TaskPhases | None = None


class Checkpoint(Open):
    status: WorkStatus = "pending"
    last_run: Time = None
    passed: bool | None = None

    @property
    def findings(self) -> str:
        """What a run has found that somebody has to see to, such as "3 findings"."""
        found = [(what, (self.model_extra or {}).get(f"{what}s")) for what in ("finding", "issue")]
        counts = [(what, len(n) if isinstance(n, list) else n) for what, n in found]
        return ", ".join(counted(n, what) for what, n in counts if isinstance(n, int) and n)

    @property
    def good(self) -> bool:
        """One that was recorded as passed has passed, whatever it found."""
        bad = self.passed is False or (self.passed is None and self.findings)
        return self.status == "completed" and not bad


class LastTests(Open):
    test_command: str | None = None
    last_run: Time = None
    last_result: Annotated[str | None, tolerant(_result)] = None
    failing_tests: Texts = []
    passing_tests: Texts = []


class ModifiedFile(Open):
    path: str
    phase: str | None = None
    lines_added: int | None = None


class State(Document):
    about: About = Field(default_factory=About, alias="_schema")
    workflow: Header
    context: Context = Context()
    state_machine: Machine = Machine()
    tasks: list[Annotated[Task, by_name("description")]] = []
    test_state: LastTests = LastTests()
    files_modified: list[Annotated[ModifiedFile, by_name("path")]] = []
    checkpoints: dict[str, Annotated[Checkpoint, by_name("status")]] = {}
    history: list[Annotated[dict[str, Any], by_name("event")]] = []

    @property
    def skill(self) -> str:
        named = self.about.skill or (self.workflow.id or "").partition("-")[0]
        return named or "workflow"

    @property
    def name(self) -> str:
        known = self.context
        source = PurePosixPath(known.source or "").stem
        said = (known.feature_title, known.task_description, known.feature_file, source)
        names = (*said, known.folder_path, self.workflow.id)
        return next(filter(None, names), self.skill)

    @property
    def subject(self) -> str | None:
        """What it works on, as the index tells it."""
        known = self.context
        return known.about_file or known.task_description or known.folder_path

    @property
    def phase_names(self) -> list[str]:
        return [phase.name for phase in self.state_machine.phases]

    @property
    def open_tasks(self) -> list[int]:
        """The numbers of those that are not completed."""
        return [self.number(task) for task in self.tasks if task.status != "completed"]

    def lacks_tasks(self, phase: Phase) -> bool:
        """Whether *phase* works through tasks, and neither a list nor a count of them is known."""
        counted = phase.progress or self.state_machine.current_step
        return phase.name == EXECUTION and not (self.tasks or counted)

    @property
    def over(self) -> bool:
        return self.workflow.status in OVER

    @property
    def phase(self) -> Phase | None:
        """The current one. What is named counts before the list: a jq line may set it alone.

        But where that is completed and one other is in progress, the line has set the list alone.
        """
        phases = self.state_machine.phases
        named = EXECUTION if self.named_in_task else self.state_machine.current_phase
        called = [phase for phase in phases if phase.name == named]
        if named and not called:
            return Phase(name=named, status="in_progress")
        going = [phase for phase in called or phases if phase.status != "completed"]
        busy = [phase for phase in phases if phase.status == "in_progress"]
        if called and not going:
            return busy[0] if len(busy) == 1 else called[-1]
        return going[0] if going else None

    @property
    def following(self) -> Phase | None:
        """The phase that is to be begun, where the current one is completed."""
        current, phases = self.phase, self.state_machine.phases
        if current is None or current.status != "completed":
            return None
        return next((phase for phase in phases if phase.status == "pending"), None)

    @property
    def named_in_task(self) -> str | None:
        """red, green or refactor, where a jq line has set that as the current phase of a /dev."""
        named, names = self.state_machine.current_phase, self.phase_names
        return named if named in TDD_PHASES and named not in names and EXECUTION in names else None

    @property
    def task(self) -> Task | None:
        """The one in progress, else the next one."""
        ready = [task for task in self.tasks if task.status != "completed"]
        return next((task for task in ready if task.status == "in_progress"), (*ready, None)[0])

    def title(self, task: Task) -> str:
        return task.description or f"Task {self.number(task)}"

    def number(self, task: Task) -> int:
        """Its own, or its place in the list where numbers begin with 0 or come twice."""
        at = next(at for at, other in enumerate(self.tasks) if other is task)
        own = [other.index or place for place, other in enumerate(self.tasks, 1)]
        return own[at] if len(set(own)) == len(own) else at + 1

    @property
    def pending(self) -> list[str]:
        """The checkpoints that are still due, or have to be passed once more."""
        return [name for name, checkpoint in self.checkpoints.items() if not checkpoint.good]

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states, but for our own note; a jq line may set only one of them."""
        header = self.workflow
        times = [
            header.created_at,
            header.updated_at,
            header.completed_at,
            self.test_state.last_run,
        ]
        times += [checkpoint.last_run for checkpoint in self.checkpoints.values()]
        times += [event.get("at") for event in self.history if event.get("event") != COMPACTED]
        return max((at for time in times if (at := moment(time))), default=None)


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a skill, right or wrong in its details."""
    if not isinstance(data, dict):
        return False
    about, machine = data.get("_schema"), data.get("state_machine")
    if isinstance(about, dict) and "skill" in about:
        return True
    known = isinstance(data.get("workflow"), dict)
    return "state_machine" in data if known else isinstance(machine, dict) and "phases" in machine
