"""agent-state.json: its model, reading it and writing it.

Phases are numbered from 0, as the document has them; what people read counts from 1. A task that is
worked on stands among the pending ones until it is completed, and among the agents as well. Words
that we act on have to be right; another kind of agent or conflict is kept as it stands.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from holdfast.formats.document import (
    EXACT,
    Document,
    Open,
    Texts,
    Time,
    by_name,
    moment,
    one_of,
    shaped,
    word,
)
from holdfast.formats.orchestrator import amounts

CHECKS = ("pre_task", "post_task", "on_demand")
CONFLICTS = ("architecture", "dependency", "api", "security", "pattern")
SEVERITIES = ("critical", "high", "low")
ACTIONS = ("re_plan", "auto_fix", "pass")
AGENTS = ("task-executor", "supervisor", "outer-ralph", "code-improvement-scanner")
_ACCOMPANYING = AGENTS[1:]
AGENT_STATUSES = ("in_progress", "waiting", "blocked")
LEARNINGS = ("pattern", "antipattern", "insight")

_OF_RUN = {
    **dict.fromkeys(("complete", "done"), "completed"),
    **dict.fromkeys(("in_progress", "running", "started"), "executing"),
    **dict.fromkeys(("aborted", "cancelled"), "failed"),
    "review": "reviewing",
}
_PROGRESS = re.compile(r"([0-9]{1,6}) ?/ ?([0-9]{1,6})")


def _progress(value: str, info: ValidationInfo) -> str:
    found = _PROGRESS.fullmatch(value)
    if not found or (info.context == EXACT and " " in value):
        raise ValueError("task/tasks of the phase, such as 3/5")
    return value


def _money(value: str, info: ValidationInfo) -> str:
    amounts.money(value, exactly=info.context == EXACT)
    return value


def _duration(value: str, info: ValidationInfo) -> str:
    amounts.duration(value, exactly=info.context == EXACT)
    return value


Count = Annotated[int, Field(ge=0)]
Status = Annotated[
    Literal["planning", "executing", "reviewing", "completed", "failed"], word(_OF_RUN)
]
Progress = Annotated[str, AfterValidator(_progress)]
Money = Annotated[str, AfterValidator(_money)]
Duration = Annotated[str, AfterValidator(_duration)]
_Empty = shaped(dict)


class Run(Open):
    """The section "orchestrator"."""

    status: Status
    task_doc: str = ""
    current_phase: Count = 0
    total_phases: Count = 0
    current_task: Progress = "0/0"
    ralph_iteration: Count = 0
    outer_ralph: bool = False
    start_time: Time = None
    end_time: Time = None

    @property
    def task_number(self) -> int:
        """N of current_task "N/M"."""
        return int(self.current_task.partition("/")[0])

    @property
    def task_count(self) -> int:
        """M of current_task "N/M"."""
        return int(self.current_task.partition("/")[2])


class Intervention(Open):
    timestamp: Time = None
    check_type: Annotated[str, one_of(*CHECKS)] = ""
    task: str = ""
    conflict_type: Annotated[str, one_of(*CONFLICTS)] = ""
    severity: Annotated[str, one_of(*SEVERITIES)] = ""
    action: Annotated[str, one_of(*ACTIONS)] = ""
    resolution: str = ""


class Supervisor(Open):
    enabled: bool = True
    checks_performed: Count = 0
    conflicts_detected: Count = 0
    auto_fixes_applied: Count = 0
    re_plans_triggered: Count = 0
    last_check: Time = None
    interventions: Annotated[
        list[Annotated[Intervention, by_name("resolution")]], shaped(list)
    ] = []


class Agent(Open):
    type: Annotated[str, one_of(*AGENTS)] = ""
    task: str
    started: Time = None
    iteration: Count = 0
    status: Annotated[str, one_of(*AGENT_STATUSES)] = "in_progress"


class CompletedTask(Open):
    task: str
    name: str = ""
    completed: Time = None
    iterations: Count = 0
    time_elapsed: Duration = "0m 0s"
    cost: Money = "$0"
    files_modified: Texts = []
    success_criteria_met: Annotated[dict[str, bool], _Empty] = {}


class PendingTask(Open):
    phase: Count = 0
    task: str
    name: str = ""


class Bounds(Open):
    """The section "safety_bounds". A limit that is absent is none."""

    max_iterations_per_task: Count | None = None
    max_cost: Money | None = None
    max_time: Duration | None = None
    cost_so_far: Money = "$0"
    elapsed_time: Duration = "0h 0m 0s"
    warnings: Texts = []

    @property
    def cost(self) -> Decimal:
        return amounts.money(self.cost_so_far)

    @property
    def cost_limit(self) -> Decimal | None:
        return None if self.max_cost is None else amounts.money(self.max_cost)

    @property
    def elapsed(self) -> timedelta:
        """As it was last written down."""
        return amounts.duration(self.elapsed_time)

    @property
    def time_limit(self) -> timedelta | None:
        return None if self.max_time is None else amounts.duration(self.max_time)


class Learning(Open):
    timestamp: Time = None
    task: str = ""
    iteration: Count = 0
    type: Annotated[str, one_of(*LEARNINGS)] = ""
    lesson: str
    pattern: str = ""
    context: str = ""


class Milestone(Open):
    phase: Count = 0
    name: str
    completed: Time = None
    issue_url: str = ""


class Checkpoint(Open):
    timestamp: Time = None
    phase: Count = 0
    task: str = ""
    git_sha: str | None = None
    state_snapshot: str


class State(Document):
    """One run of an orchestrator."""

    orchestrator: Run
    supervisor: Annotated[Supervisor, _Empty] = Field(default_factory=Supervisor)
    active_agents: Annotated[list[Annotated[Agent, by_name("task")]], shaped(list)] = []
    completed_tasks: Annotated[list[Annotated[CompletedTask, by_name("task")]], shaped(list)] = []
    pending_tasks: Annotated[list[Annotated[PendingTask, by_name("task")]], shaped(list)] = []
    safety_bounds: Annotated[Bounds, _Empty] = Field(default_factory=Bounds)
    learnings: Annotated[list[Annotated[Learning, by_name("lesson")]], shaped(list)] = []
    milestones: Annotated[list[Annotated[Milestone, by_name("name")]], shaped(list)] = []
    checkpoints: Annotated[
        list[Annotated[Checkpoint, by_name("state_snapshot")]], shaped(list)
    ] = []

    @property
    def name(self) -> str:
        """What people call it: the task document without its ending."""
        return PurePath(self.orchestrator.task_doc.replace("\\", "/")).stem or "orchestrator"

    @property
    def over(self) -> bool:
        return self.orchestrator.status in {"completed", "failed"}

    @property
    def phase(self) -> int:
        """The number of the current one, from 0."""
        return self.orchestrator.current_phase

    @property
    def iteration(self) -> int:
        return self.orchestrator.ralph_iteration

    def pending(self, task: str) -> PendingTask | None:
        return next((each for each in self.pending_tasks if each.task == task), None)

    def completed(self, task: str) -> CompletedTask | None:
        return next((each for each in self.completed_tasks if each.task == task), None)

    @property
    def workers(self) -> list[Agent]:
        """The agents that carry a task out; a supervisor that looks at one does not."""
        return [each for each in self.active_agents if each.type not in _ACCOMPANYING]

    def workers_on(self, task: str) -> list[Agent]:
        return [each for each in self.workers if each.task == task]

    def pending_in(self, phase: int) -> list[PendingTask]:
        return [each for each in self.pending_tasks if each.phase == phase]

    def tasks_in(self, phase: int) -> list[str]:
        """The ids of all tasks of *phase*, in their order.

        A completed task does not say its phase; its id has the number of its phase's other tasks.
        """
        waiting = [each.task for each in self.pending_in(phase)]
        number = (waiting[0] if waiting else f"{phase + 1}.").partition(".")[0]
        done = [t.task for t in self.completed_tasks if t.task.partition(".")[0] == number]
        return sorted(dict.fromkeys([*done, *waiting]), key=_in_order)

    @property
    def current(self) -> PendingTask | None:
        """The task that is worked on, else the one that comes next in the phase."""
        waiting = {each.task: each for each in self.pending_in(self.phase)}
        here, number = self.tasks_in(self.phase), self.orchestrator.task_number
        named = here[number - 1] if 0 < number <= len(here) else ""
        busy = [each.task for each in self.workers if each.task in waiting]
        if named in waiting and (named in busy or not busy):
            return waiting[named]
        return waiting[busy[-1]] if busy else next(iter(waiting.values()), None)

    @property
    def last_activity(self) -> datetime | None:
        """The latest time that the file states; a jq line may set only one of them."""
        run = self.orchestrator
        times: list[Any] = [run.start_time, run.end_time, self.supervisor.last_check]
        times += [each.started for each in self.active_agents]
        times += [each.completed for each in self.completed_tasks]
        times += [each.completed for each in self.milestones]
        times += [each.timestamp for each in self.learnings]
        times += [each.timestamp for each in self.checkpoints]
        return max((at for each in times if (at := moment(each))), default=None)


def _in_order(task: str) -> list[tuple[int, str]]:
    """1.10 after 1.9."""
    pieces = re.split(r"([0-9]{1,9})", task)
    return [(int(each), "") if at % 2 else (0, each) for at, each in enumerate(pieces)]


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a run, right or wrong in its details."""
    return isinstance(data, dict) and isinstance(data.get("orchestrator"), dict)


def is_old(data: object) -> bool:
    """Whether *data* is a state of the system that came before, which has to end under that."""
    return (
        isinstance(data, dict)
        and "orchestrator" not in data
        and "status" in data
        and ("current_step" in data or "total_steps" in data)
    )
