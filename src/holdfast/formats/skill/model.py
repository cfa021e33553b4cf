"""The state file of a skill: its model, reading it and writing it.

What the document names is checked as far as we act on it; see formats/document. Files come from jq
and from hands, too, so reading takes an absent or null section as empty, a bare name for an object
with that name, and "In Progress" for in_progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from holdfast.formats.document import (
    Document,
    Open,
    Texts,
    Time,
    by_name,
    moment,
    plain,
    shaped,
    tolerant,
    word,
)

OVER = frozenset({"completed", "abandoned"})
TDD_PHASES = ("red", "green", "refactor")  # of a task; a /tdd has "commit" behind them

# Words that people and agents write for the document's.
_DONE = dict.fromkeys(("complete", "done", "passed", "skipped"), "completed")
_GOING = dict.fromkeys(("active", "failed", "running", "started"), "in_progress")
_OF_WORK = {
    **{each: each for each in ("pending", "in_progress", "completed")},
    **_DONE,
    **_GOING,
    "todo": "pending",
    "waiting": "pending",
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


def _known_word(known: Mapping[str, str]) -> BeforeValidator:
    """What is not known stays as it stands."""
    return tolerant(
        lambda value: known.get(value.strip().lower(), value) if isinstance(value, str) else value
    )


def _work_word(known: Mapping[str, str]) -> BeforeValidator:
    """What is not known is taken as pending; `unknown_words` tells of it."""

    def meant(value: object) -> object:
        return known.get(plain(value), "pending") if isinstance(value, str) else "pending"

    return tolerant(meant)


Status = Annotated[Literal["in_progress", "completed", "blocked", "abandoned"], word(_OF_WORKFLOW)]
PhaseStatus = Annotated[
    Literal["pending", "in_progress", "completed", "blocked"], _work_word(_OF_PHASE)
]
WorkStatus = Annotated[
    Literal["pending", "in_progress", "completed"],
    _work_word({**_OF_WORK, "blocked": "in_progress"}),
]
_Empty = shaped(dict)


class About(Open):
    version: str = "1.0"
    skill: str | None = None


class Header(Open):
    id: str | None = None
    status: Status = "in_progress"
    created_at: Time = None
    updated_at: Time = None
    completed_at: Time = None
    branch: str | None = None


class Context(Open):
    feature_file: str | None = None
    feature_title: str | None = None
    folder_mode: bool | None = None
    folder_path: str | None = None
    folder_features: Annotated[list[Any], shaped(list)] = []
    task_description: str | None = None
    task_index: int | None = None


class Phase(Open):
    name: str
    status: PhaseStatus = "pending"
    started_at: Time = None
    completed_at: Time = None
    progress: str | None = None
    steps: Annotated[list[Any], shaped(list)] = []
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
        names = [step.get("name") if isinstance(step, dict) else step for step in self.steps]
        return [name for name in names if isinstance(name, str)]


class Machine(Open):
    current_phase: str | None = None
    current_step: str | None = None
    cycle_count: int | None = None
    phases: Annotated[list[Annotated[Phase, by_name("name")]], shaped(list)] = []


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
    status: WorkStatus = "pending"
    commit_sha: str | None = None
    tdd_phases: TaskPhases | None = None


class Checkpoint(Open):
    status: WorkStatus = "pending"
    last_run: Time = None
    passed: bool | None = None

    @property
    def good(self) -> bool:
        return self.status == "completed" and self.passed is not False


class LastTests(Open):
    test_command: str | None = None
    last_run: Time = None
    last_result: Annotated[str | None, _known_word(_OF_RESULTS)] = None
    failing_tests: Texts = []
    passing_tests: Texts = []


class ModifiedFile(Open):
    path: str
    phase: str | None = None
    lines_added: int | None = None


_shaped_or_none = tolerant(lambda value: value if isinstance(value, dict) else None)


class State(Document):
    """One workflow of a skill."""

    about: Annotated[About, _Empty] = Field(default_factory=About, alias="_schema")
    workflow: Header
    context: Annotated[Context, _Empty] = Field(default_factory=Context)
    state_machine: Annotated[Machine, _Empty] = Field(default_factory=Machine)
    tasks: Annotated[list[Annotated[Task, by_name("description")]], shaped(list)] = []
    test_state: Annotated[LastTests | None, _shaped_or_none] = None
    files_modified: Annotated[list[Annotated[ModifiedFile, by_name("path")]], shaped(list)] = []
    checkpoints: Annotated[dict[str, Annotated[Checkpoint, by_name("status")]], shaped(dict)] = {}
    history: Annotated[list[Annotated[dict[str, Any], by_name("event")]], shaped(list)] = []

    @property
    def skill(self) -> str:
        named = self.about.skill or (self.workflow.id or "").partition("-")[0]
        return named or "workflow"

    @property
    def name(self) -> str:
        """What people call it."""
        told = self.context
        names = (told.feature_title, told.task_description, told.feature_file, told.folder_path)
        return next((name for name in (*names, self.workflow.id) if name), self.skill)

    @property
    def subject(self) -> str | None:
        """What it works on, as the index tells it."""
        told = self.context
        return told.feature_file or told.task_description or told.folder_path

    @property
    def feature_file(self) -> str | None:
        return self.context.feature_file

    @property
    def task_index(self) -> int | None:
        return self.context.task_index

    @property
    def open_tasks(self) -> list[int]:
        """The numbers of those that are not completed."""
        return [self.number(task) for task in self.tasks if task.status != "completed"]

    @property
    def over(self) -> bool:
        return self.workflow.status in OVER

    @property
    def phase(self) -> Phase | None:
        """The current one. What is named counts before the list: a jq line may set it alone.

        But where that is completed and one other is in progress, the line has set the list alone.
        """
        phases = self.state_machine.phases
        named = self.state_machine.current_phase
        called = [each for each in phases if each.name == named]
        if named and not called:
            return Phase(name=named, status="in_progress")
        going = [each for each in called or phases if each.status != "completed"]
        busy = [each for each in phases if each.status == "in_progress"]
        if called and not going:
            return busy[0] if len(busy) == 1 else called[-1]
        return going[0] if going else None

    @property
    def task(self) -> Task | None:
        """The one in progress, else the next one."""
        ready = [task for task in self.tasks if task.status != "completed"]
        return next((task for task in ready if task.status == "in_progress"), (*ready, None)[0])

    def title(self, task: Task) -> str:
        return task.description or f"Task {self.number(task)}"

    def number(self, task: Task) -> int:
        """Its own, or its place in the list where numbers begin with 0 or come twice."""
        at = next(at for at, each in enumerate(self.tasks) if each is task)
        own = [each.index or place for place, each in enumerate(self.tasks, 1)]
        return own[at] if len(set(own)) == len(own) else at + 1

    @property
    def pending(self) -> list[str]:
        """The checkpoints that are still due, or have to be passed once more."""
        return [name for name, each in self.checkpoints.items() if not each.good]

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states; a jq line may set only one of them."""
        times = [self.workflow.created_at, self.workflow.updated_at, self.workflow.completed_at]
        times += [each.last_run for each in self.checkpoints.values()]
        times += [self.test_state.last_run] if self.test_state else []
        times += [event.get("at") for event in self.history]
        return max((at for each in times if (at := moment(each))), default=None)

    @property
    def unknown_words(self) -> list[str]:
        """What is said of unknown statuses of work; of a state as it was read."""
        machine = self.state_machine
        read_as: list[tuple[str, str]] = []
        written: list[object] = []
        if machine.phases:
            read_as += [(f"phase {each.name!r}", each.status) for each in machine.phases]
            written += self.source["state_machine"]["phases"]
        if self.tasks:
            read_as += [(f"task {self.number(each)}", each.status) for each in self.tasks]
            written += self.source["tasks"]
        read_as += [
            (f"checkpoint {name!r}", each.status) for name, each in self.checkpoints.items()
        ]
        written += [self.source["checkpoints"][name] for name in self.checkpoints]
        return [
            f"{what} is {word!r}, which is taken as {status!r}"
            for (what, status), raw in zip(read_as, written, strict=True)
            if (word := _stated_status(raw)) and plain(word) not in {status, *_OF_WORK}
        ]


class Row(NamedTuple):
    """What choosing among workflows, and the index, need of each; as JSON has it."""

    id: str | None
    name: str
    skill: str
    subject: str | None
    status: str
    branch: str | None
    created_at: Any
    updated_at: Any
    completed_at: Any
    last_activity: str | None
    feature_file: str | None
    task_index: int | None
    open_tasks: list[int]  # their numbers
    unknown_words: list[str]

    @classmethod
    def of(cls, state: State) -> Row:
        header, last = state.workflow, state.last_activity
        return cls(
            header.id,
            state.name,
            state.skill,
            state.subject,
            header.status,
            header.branch,
            header.created_at,
            header.updated_at,
            header.completed_at,
            last.isoformat() if last else None,
            state.feature_file,
            state.task_index,
            state.open_tasks,
            state.unknown_words,
        )

    @property
    def over(self) -> bool:
        return self.status in OVER


def _stated_status(work: object) -> str | None:
    word = work.get("status") if isinstance(work, dict) else None
    return word if isinstance(word, str) else None


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a skill, right or wrong in its details."""
    if not isinstance(data, dict) or not isinstance(data.get("workflow"), dict):
        return False
    about = data.get("_schema")
    return "state_machine" in data or (isinstance(about, dict) and "skill" in about)


class IndexEntry(Open):
    id: str
    skill: str
    feature: str | None = None
    started_at: Time = None
    last_activity: Time = None


class Index(Open):
    """index.json: the active workflows at a glance."""

    schema_version: str
    updated_at: Time
    active_workflows: list[IndexEntry]
