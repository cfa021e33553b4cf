"""The limits of a run: how much is used, when it warns and when it stops; and its remarks.

Cost, time and the iterations of each task count against their limits with every update. At 75 and 90 %
a line is added to the warnings, each once; of a step over both, the higher one. What has reached its
limit stops the run: until the limit is extended, every command that updates says so, and no task is
begun.

`elapsed_time` is what the file says, also where a person has corrected it, and grows with each move by the time
since the file was written. More than half an hour is no work but a break, and does not count; nor does a pause.

A remark is a line among the warnings for which the document has no field:

    Paused since 2026-01-15T12:40:00Z: waiting for a review
    Paused from 2026-01-15T12:40:00Z to 2026-01-15T13:10:00Z: waiting for a review
    Extended max_cost from $10 to $15 at 2026-01-15T13:10:00Z: two more endpoints
    Failed at 2026-01-15T13:30:00Z: the service is down

A pause is no status: the document has none for it, and readers that know only the document's words would
stumble over another. Remarks are read again; they come back with a snapshot, and whoever edits the file can
correct them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from holdfast.errors import IllegalMove
from holdfast.formats.engine.document import moment, odd_values
from holdfast.formats.orchestrator.model import State, format_elapsed, parse_duration, parse_money

Bound: TypeAlias = Literal["max_cost", "max_time", "max_iterations_per_task"]
LEVELS = (75, 90, 100)  # percent

_PAUSED = re.compile(r"Paused since (\S+?)(?:: (.*))?", re.DOTALL)
_FAILED = re.compile(r"Failed at \S+?: (.*)", re.DOTALL)
_ITERATIONS = re.compile(r"Iterations of task (.+) at \d+% of limit")
_BREAK = timedelta(minutes=30)


class Use(NamedTuple):
    """How much of one limit is used."""

    bound: Bound
    what: str  # "Cost", "Iterations of task 2.1"
    used: str
    limit: str
    percent: int  # rounded down, so that only all of it is 100

    @property
    def level(self) -> int:
        """The highest of LEVELS that is reached; 0 for none."""
        return max((level for level in LEVELS if self.percent >= level), default=0)

    @property
    def reached(self) -> bool:
        return self.percent >= 100

    @property
    def text(self) -> str:
        """$0.75 of $10 (7%)."""
        worked = " worked" if self.bound == "max_time" else ""
        return f"{self.used}{worked} of {self.limit} ({self.percent}%)"


class LimitReached(IllegalMove):
    """A limit of the run is reached, so that whoever called has to stop."""

    exit_code = 3

    def __init__(self, uses: Sequence[Use], remark: str = "") -> None:
        reached = "; ".join(f"{use.what.lower()} {use.text}" for use in uses)
        bound = uses[0].bound.replace("_", "-").removesuffix("-per-task")
        super().__init__(
            f"STOP: a limit is reached, {reached}.{remark and f' {remark}'}",
            hint="Ask the person. To go on with a higher limit: "
            f"holdfast orchestrate extend --{bound} LIMIT REASON; "
            "else holdfast orchestrate pause REASON, or fail REASON.",
        )


def elapsed(state: State, now: datetime) -> timedelta:
    """How long the run has been worked on, as of *now*."""
    bounds, started = state.safety_bounds, moment(state.orchestrator.start_time)
    spent = parse_duration(bounds.elapsed_time)
    planned = state.orchestrator.status != "planning"  # before that, nobody works on a task
    if planned and "elapsed_time" not in bounds.model_fields_set and started and state.written:
        spent = max(state.written - started, timedelta(0))  # another tool's, which does not count
    if state.written is None or state.over or pause(state):
        return spent
    since = timedelta(seconds=round((now - state.written).total_seconds()))
    return spent + since if timedelta(0) < since <= _BREAK else spent


def count_time(state: State, at: str) -> None:
    """Add the time since the file was written; every move begins with it."""
    now = datetime.fromisoformat(at)
    worked = format_elapsed(elapsed(state, now))
    if worked != state.safety_bounds.elapsed_time:
        state.safety_bounds.elapsed_time = worked
    state.written = now


def uses(state: State, now: datetime) -> list[Use]:
    """Cost, time, and the iterations of each task that is worked on, as far as they have a limit."""
    bounds, found = state.safety_bounds, list[Use]()
    if bounds.max_cost is not None:
        percent = _percent(parse_money(bounds.cost_so_far), parse_money(bounds.max_cost))
        found.append(Use("max_cost", "Cost", bounds.cost_so_far, bounds.max_cost, percent))
    if bounds.time is not None:
        spent, limit = elapsed(state, now), parse_duration(bounds.time)
        percent = _percent(int(spent.total_seconds()), int(limit.total_seconds()))
        found.append(Use("max_time", "Time", format_elapsed(spent), bounds.time, percent))
    most = bounds.max_iterations_per_task
    if most is not None and not state.over:
        for task, count in iterations(state).items():
            what, percent = f"Iterations of task {task}", _percent(count, most)
            found.append(Use("max_iterations_per_task", what, str(count), str(most), percent))
    return found


def iterations(state: State) -> dict[str, int]:
    """Of each task that is worked on, and of the current one."""
    waiting = {pending.task for pending in state.left}
    found = {agent.task: agent.iteration for agent in state.workers if agent.task in waiting}
    if state.current:  # also one without an id
        used = found.get(state.current_id, 0)
        found[state.current_id] = max(used, state.iteration)
    return found


def _percent(used: Decimal | int, limit: Decimal | int) -> int:
    return int(used * 100 // limit) if limit else 100


def reached(state: State, now: datetime) -> list[Use]:
    """The limits that stop the run; none once it has ended."""
    return [] if state.over else [use for use in uses(state, now) if use.reached]


def refuse_stopped(state: State, at: str) -> None:
    for wrong in (line for line in odd_values(state) if line.startswith("safety_bounds.max_")):
        raise IllegalMove(
            f"{wrong}. Nothing was begun.",
            hint="Correct it, or set it: holdfast orchestrate extend --max-cost, --max-time or "
            "--max-iterations LIMIT REASON",
        )
    found = reached(state, datetime.fromisoformat(at))
    if found:
        raise LimitReached(found, "Nothing was begun.")


def updated(state: State, now: datetime) -> State:
    """*state* with the warnings that are due."""
    after = state.model_copy(deep=True)
    bounds = after.safety_bounds
    for use in [] if after.over else uses(after, now):
        # Nothing is due where the line, or one of a higher level, was given before.
        lines = [f"{use.what} at {level}% of limit" for level in LEVELS if level >= use.level]
        if use.level and not set(lines) & set(bounds.warnings):
            bounds.warnings = [*bounds.warnings, lines[0]]
    return after


def open_warnings(state: State) -> list[str]:
    """The warnings that still hold: the iterations of a completed task do not matter any more."""
    found = ((line, _ITERATIONS.fullmatch(line)) for line in state.safety_bounds.warnings)
    return [line for line, task in found if not (task and state.completed(task[1]))]


def forget_warnings(state: State, bound: Bound) -> None:
    """Remove the warnings of *bound*, which is another one now."""
    begins = {"max_cost": "Cost at ", "max_time": "Time at "}.get(bound, "Iterations of task ")
    bounds = state.safety_bounds
    bounds.warnings = [
        line
        for line in bounds.warnings
        if not (line.startswith(begins) and line.endswith("% of limit"))
    ]


# Remarks.


def remark(state: State, line: str) -> None:
    state.safety_bounds.warnings = [*state.safety_bounds.warnings, " ".join(line.split())]


def end_pause(state: State, at: str) -> None:
    bounds = state.safety_bounds
    bounds.warnings = [
        line.replace(f"since {paused[1]}", f"from {paused[1]} to {at}", 1)
        if (paused := _PAUSED.fullmatch(line))
        else line
        for line in bounds.warnings
    ]


def pause(state: State) -> tuple[str, str] | None:
    """When the present pause began, and its reason; None where there is none."""
    found = (_PAUSED.fullmatch(line) for line in state.safety_bounds.warnings)
    return next(((paused[1], paused[2] or "") for paused in found if paused), None)


def failed_for(state: State) -> str:
    """Why the run was given up; empty where that is not said."""
    found = (_FAILED.fullmatch(line) for line in state.safety_bounds.warnings)
    return next((remark[1] for remark in found if remark), "")
