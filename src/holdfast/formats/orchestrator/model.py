"""agent-state.json: its model, and the amounts of money and time that stand in it as text.

Phases count from 0, as in the document; what people read counts from 1. A task that somebody works on
stays among the pending ones until it is completed, and has an agent as well; where it was taken out by
hand, the agent counts. Who adds it to the completed ones by hand may leave both: completed counts. A status that is not known counts as executing;
another kind of agent or conflict is kept as it stands.

    money    = "$" digits [ "." digits ]                      $10, $0.75, $1,250.50
    duration = [ N "d" ] [ N "h" ] [ N "m" ] [ N "s" ]         2h, 0h 34m 8s, 15m 23s, 90m, 1d 2h

Money is in US dollars, with or without commas between thousands, and with up to six decimals. A duration has at
least one of its parts, each once and in this order; a part may exceed the next larger one (90m). What people
write is read, too: "10", "10 EUR" and "US$ 10", whatever the currency; "2 hours", "1h30m" and "1.5h"; a task's id
as the current task.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PrivateAttr

from holdfast.formats.engine.document import (
    Document,
    Open,
    Texts,
    Time,
    by_name,
    one_of,
    word,
)

CHECKS = ("pre_task", "post_task", "on_demand")
CONFLICTS = ("architecture", "dependency", "api", "security", "pattern")
SEVERITIES = ("critical", "high", "low")
ACTIONS = ("re_plan", "auto_fix", "pass")
EXECUTOR = "task-executor"
OUTER = "outer-ralph"
AGENTS = (EXECUTOR, "supervisor", OUTER, "code-improvement-scanner")
AGENT_STATUSES = ("in_progress", "waiting", "blocked")
LEARNINGS = ("pattern", "antipattern", "insight")
MONEY = "an amount, such as $10 or $0.75"
PROGRESS = "task/tasks of the phase, such as 3/5"
DURATION = "a duration, such as 2h or 0h 34m 8s"

_STATUS_WORDS = {
    **dict.fromkeys(("complete", "done"), "completed"),
    **dict.fromkeys(("in_progress", "running", "started"), "executing"),
    **dict.fromkeys(("aborted", "cancelled"), "failed"),
    "review": "reviewing",
}
_PROGRESS = re.compile(r"([0-9]{1,6}) ?(?:/|of) ?([0-9]{1,6})|[0-9]{1,6}(?:\.[0-9]{1,6})+")
_DOLLARS = r"([0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(\.[0-9]{1,6})?"
_OTHERS = "€|£|EUR|GBP|CHF|euros?"
OTHER_CURRENCY = re.compile(_OTHERS, re.IGNORECASE)
_CURRENCY = rf"(?:(?:US ?)?\$|US|USD|dollars?|{_OTHERS})"
_MONEY = re.compile(rf"(?:{_CURRENCY} ?)?{_DOLLARS}(?: ?{_CURRENCY})?", re.IGNORECASE)
_UNITS = ("d(?:ays?)?", "h(?:(?:ou)?rs?)?", "m(?:in(?:ute)?s?)?", "s(?:ec(?:ond)?s?)?")
_DURATION = re.compile(
    "(?=[0-9])"
    + "".join(rf"(?:([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?) ?{unit}[ ,]*)?" for unit in _UNITS),
    re.IGNORECASE | re.ASCII,
)
_SECONDS = (86_400, 3_600, 60, 1)
_LONGEST = timedelta(days=36_500)


def parse_money(text: str) -> Decimal:
    """The amount in *text*, or ValueError."""
    found = _MONEY.fullmatch(text.strip())
    if not found:
        raise ValueError(MONEY)
    return Decimal(found[1].replace(",", "") + (found[2] or ""))


def format_money(amount: Decimal) -> str:
    """$10 for whole dollars, else at least cents: $0.75."""
    whole, _, cents = f"{amount:f}".partition(".")
    cents = cents.rstrip("0")
    return f"${whole}.{cents:0<2}" if cents else f"${whole}"


def parse_duration(text: str) -> timedelta:
    """The time in *text*, in whole seconds, or ValueError."""
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise ValueError(DURATION)
    parts = zip(found.groups(), _SECONDS, strict=True)
    seconds = sum(Decimal(number) * unit for number, unit in parts if number)
    if seconds > Decimal(_LONGEST.total_seconds()):
        raise ValueError(f"{DURATION}, of at most {_LONGEST.days} days")
    return timedelta(seconds=int(seconds))


def format_elapsed(time: timedelta) -> str:
    """With its hours: 0h 34m 8s."""
    minutes, seconds = divmod(max(int(min(time, _LONGEST).total_seconds()), 0), 60)
    return f"{minutes // 60}h {minutes % 60}m {seconds}s"


def format_task_time(time: timedelta) -> str:
    """From its minutes on, with hours where there are some: 15m 23s, 1h 2m 3s."""
    return format_elapsed(time).removeprefix("0h ")


def format_limit(time: timedelta) -> str:
    """With the parts that it has: 2h, 1h 30m."""
    parts = [part for part in format_elapsed(time).split() if not part.startswith("0")]
    return " ".join(parts) or "0s"


def _checked(parse: Callable[[str], object]) -> AfterValidator:
    """Text that *parse* can read."""

    def check(value: str) -> str:
        parse(value)
        return value

    return AfterValidator(check)


def _progress(text: str) -> None:
    if not _PROGRESS.fullmatch(text):
        raise ValueError(PROGRESS)


Count = Annotated[int, Field(ge=0)]
Phase = Annotated[int, Field(ge=0, description="a phase's number, counted from 0")]
Task = Annotated[str, Field(description="a task's id, such as 1.2")]
RunStatus = Annotated[
    Literal["planning", "executing", "reviewing", "completed", "failed"],
    word(_STATUS_WORDS),
    Field(description="planning, executing, reviewing, completed or failed"),
]
Progress = Annotated[str, _checked(_progress), Field(description=PROGRESS)]
Money = Annotated[str, _checked(parse_money), Field(description=MONEY)]
Duration = Annotated[str, _checked(parse_duration), Field(description=DURATION)]


class Run(Open):
    """The section "orchestrator"."""

    status: RunStatus
    task_doc: Annotated[str, Field(description="the path of the task document")] = ""
    current_phase: Phase = 0
    total_phases: Count = 0
    current_task: Progress = "0/0"
    ralph_iteration: Count = 0
    outer_ralph: bool = False
    start_time: Time = None
    end_time: Time = None

    @property
    def progress(self) -> tuple[int, int]:
        """N and M of current_task "N/M"; both 0 where it is an id."""
        found = _PROGRESS.fullmatch(self.current_task)
        return (int(found[1]), int(found[2])) if found and found[1] else (0, 0)


class Intervention(Open):
    timestamp: Time = None
    check_type: Annotated[str, one_of(*CHECKS), Field(description=", ".join(CHECKS))] = ""
    task: Task = ""
    conflict_type: Annotated[str, one_of(*CONFLICTS), Field(description=", ".join(CONFLICTS))] = ""
    severity: Annotated[str, one_of(*SEVERITIES), Field(description=", ".join(SEVERITIES))] = ""
    action: Annotated[str, one_of(*ACTIONS), Field(description=", ".join(ACTIONS))] = ""
    resolution: str = ""


class Supervisor(Open):
    enabled: bool = True
    checks_performed: Count = 0
    conflicts_detected: Count = 0
    auto_fixes_applied: Count = 0
    re_plans_triggered: Count = 0
    last_check: Time = None
    interventions: list[Annotated[Intervention, by_name("resolution")]] = []


class Agent(Open):
    type: Annotated[str, one_of(*AGENTS), Field(description=", ".join(AGENTS))] = ""
    task: Task
    started: Time = None
    iteration: Count = 0
    status: Annotated[
        str, one_of(*AGENT_STATUSES), Field(description=", ".join(AGENT_STATUSES))
    ] = "in_progress"


class CompletedTask(Open):
    task: Task
    name: str = ""
    completed: Time = None
    iterations: Count = 0
    time_elapsed: Duration = "0m 0s"
    cost: Money = "$0"
    files_modified: Texts = []
    success_criteria_met: dict[str, bool] = {}


class PendingTask(Open):
    phase: Phase = 0
    task: Task
    name: str = ""

    @property
    def title(self) -> str:
        return f"{self.task} {self.name}".rstrip()


class Bounds(Open):
    """The section "safety_bounds". A limit that is absent is none."""

    max_iterations_per_task: Count | None = Field(None, description="a whole number")
    max_cost: Money | None = Field(None, description=MONEY)
    max_time: Duration | None = Field(None, description=DURATION)
    max_time_hours: Annotated[float, Field(ge=0, le=_LONGEST.days * 24)] | None = (
        None  # as some write it
    )
    cost_so_far: Money = "$0"
    elapsed_time: Duration = "0h 0m 0s"
    warnings: Texts = []

    @property
    def time(self) -> str | None:
        """The limit of time, however it is written."""
        if self.max_time is not None or self.max_time_hours is None:
            return self.max_time
        return format_limit(timedelta(hours=self.max_time_hours))


class Learning(Open):
    timestamp: Time = None
    task: Task = ""
    iteration: Count = 0
    type: Annotated[str, one_of(*LEARNINGS), Field(description=", ".join(LEARNINGS))] = ""
    lesson: str
    pattern: str = ""
    context: str = ""


class Milestone(Open):
    phase: Phase = 0
    name: str
    completed: Time = None
    issue_url: Annotated[str, Field(description="the address of an issue")] = ""


class Checkpoint(Open):
    timestamp: Time = None
    phase: Phase = 0
    task: Task = ""
    git_sha: str | None = None
    state_snapshot: str = Field(description="a file's name, such as checkpoint-001.json")


class State(Document):
    """One run of an orchestrator."""

    instead = {"orchestrator.status": "executing"}

    orchestrator: Run
    supervisor: Supervisor = Supervisor()
    active_agents: list[Annotated[Agent, by_name("task")]] = []
    completed_tasks: list[Annotated[CompletedTask, by_name("task")]] = []
    pending_tasks: list[Annotated[PendingTask, by_name("task")]] = []
    safety_bounds: Bounds = Bounds()
    learnings: list[Annotated[Learning, by_name("lesson")]] = []
    milestones: list[Annotated[Milestone, by_name("name")]] = []
    checkpoints: list[Annotated[Checkpoint, by_name("state_snapshot")]] = []

    _written: datetime | None = PrivateAttr(None)

    @property
    def written(self) -> datetime | None:
        """When its file was written; None where that is not known."""
        return self._written

    @written.setter
    def written(self, at: datetime | None) -> None:
        self._written = at

    @property
    def name(self) -> str:
        """What people call it: the task document without its ending."""
        return PurePath(self.orchestrator.task_doc.replace("\\", "/")).stem or "orchestrator"

    @property
    def status(self) -> str:
        """The run's, also one that is not known."""
        odd = (item["input"] for item in self.odd if item["loc"] == ("orchestrator", "status"))
        return str(next(odd, self.orchestrator.status))

    @property
    def over(self) -> bool:
        return self.orchestrator.status in {"completed", "failed"}

    @property
    def phase(self) -> int:
        """The number of the current one, counted from 0."""
        return self.orchestrator.current_phase

    @property
    def listed(self) -> list[PendingTask]:
        """The pending tasks, without those that are completed as well."""
        done = {done.task for done in self.completed_tasks} - {""}
        return [pending for pending in self.pending_tasks if pending.task not in done]

    @property
    def left(self) -> list[PendingTask]:
        """The tasks that are still to be done; one that somebody works on need not be listed any more."""
        listed = self.listed
        busy = {agent.task: agent for agent in self.workers if agent.task}
        unlisted = busy.keys() - {pending.task for pending in listed}
        begun = [PendingTask(phase=self.phase, task=task) for task in busy if task in unlisted]
        return [*begun, *listed]

    @property
    def ids_left(self) -> str:
        return ", ".join(task.task for task in self.left)

    def pending(self, task: str) -> PendingTask | None:
        return next((pending for pending in self.left if pending.task == task), None)

    def completed(self, task: str) -> CompletedTask | None:
        return next((done for done in self.completed_tasks if done.task == task), None)

    def is_through(self, agent: Agent) -> bool:
        """Whether *agent* carries out a task that is completed; a supervisor only looks at one."""
        return agent.type not in AGENTS[1:] and bool(agent.task and self.completed(agent.task))

    @property
    def agents(self) -> list[Agent]:
        """Those that are at work."""
        return [agent for agent in self.active_agents if not self.is_through(agent)]

    @property
    def workers(self) -> list[Agent]:
        """The agents that carry out a task."""
        return [agent for agent in self.agents if agent.type not in AGENTS[1:]]

    @property
    def iteration(self) -> int:
        """Of the current task, and not of one that was completed with as many."""
        count = self.orchestrator.ralph_iteration
        through = (agent.iteration for agent in self.active_agents if self.is_through(agent))
        return 0 if not self.workers and count in through else count

    def workers_on(self, task: str) -> list[Agent]:
        return [agent for agent in self.workers if agent.task == task]

    def is_begun(self, task: str) -> bool:
        """Whether somebody works on the current *task*, as far as the state tells."""
        return bool(self.workers_on(task) or self.iteration)

    def pending_in(self, phase: int) -> list[PendingTask]:
        return [pending for pending in self.left if pending.phase == phase]

    def tasks_in(self, phase: int) -> list[str]:
        """The ids of all tasks of *phase*, in their order.

        A completed task does not name its phase; its id begins like those of the phase's other tasks.
        """
        waiting = [pending.task for pending in self.pending_in(phase)]
        number = (waiting[0] if waiting else f"{phase + 1}.").partition(".")[0]
        done = [t.task for t in self.completed_tasks if t.task.partition(".")[0] == number]
        return sorted(dict.fromkeys([*done, *waiting]), key=_in_order)

    @property
    def current(self) -> PendingTask | None:
        """The task that somebody works on, else the next one of the phase."""
        waiting = {pending.task: pending for pending in self.pending_in(self.phase)}
        here, (number, count) = self.tasks_in(self.phase), self.orchestrator.progress
        named = here[number - 1] if 0 < number <= len(here) else ""
        named = named if count else self.orchestrator.current_task
        busy = [agent.task for agent in self.workers if agent.task in waiting]
        if named in waiting and (named in busy or not busy):
            return waiting[named]
        return waiting[busy[-1]] if busy else next(iter(waiting.values()), None)

    @property
    def current_id(self) -> str:
        """The id of that task; empty where none is left in the phase."""
        return self.current.task if self.current else ""


def _in_order(task: str) -> list[tuple[int, str]]:
    """1.10 after 1.9."""
    pieces = re.split(r"([0-9]{1,9})", task)
    return [(int(piece), "") if at % 2 else (0, piece) for at, piece in enumerate(pieces)]


def has_shape(data: object) -> bool:
    """Whether *data* is meant as the state of a run, right or wrong in its details."""
    return isinstance(data, dict) and isinstance(data.get("orchestrator"), dict)


def is_old(data: object) -> bool:
    """Whether *data* is a state of the older system, under which it has to end."""
    return (
        isinstance(data, dict)
        and "orchestrator" not in data
        and "status" in data
        and ("current_step" in data or "total_steps" in data)
    )
