"""The limits of a run: how much is used, what is warned of, and when it has to stop.

Cost, time, and the iterations of each task count against their limits with every update. At 75 and
90 % a line is added to the warnings, each once; of a step over both, the higher one. What has
reached its limit stops the run: until the limit is extended, every command that updates says so,
and no task is begun. Elapsed time is the time since the start, without pauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import amounts, remarks
from holdfast.formats.orchestrator.model import Bounds, State

Bound: TypeAlias = Literal["max_cost", "max_time", "max_iterations_per_task"]
LEVELS = (75, 90, 100)  # percent


@dataclass(frozen=True)
class Use:
    """How much of one limit is used."""

    bound: Bound
    what: str  # "Cost", "Iterations of task 2.1"
    used: str
    limit: str
    share: Decimal  # of the limit; 1 is all of it

    @property
    def level(self) -> int:
        """The highest of LEVELS that is reached; 0 for none."""
        return max((each for each in LEVELS if self.share * 100 >= each), default=0)

    @property
    def reached(self) -> bool:
        return self.share >= 1

    @property
    def told(self) -> str:
        """$0.75 of $10 (7%), rounded down: what is told as all of it is all of it."""
        return f"{self.used} of {self.limit} ({int(self.share * 100)}%)"


class LimitReached(IllegalMove):
    """A limit of the run is reached, so that whoever called has to stop."""

    exit_code = 3

    def __init__(self, uses: Sequence[Use], remark: str = "") -> None:
        told = "; ".join(f"{each.what.lower()} {each.told}" for each in uses)
        bound = uses[0].bound.replace("_", "-").removesuffix("-per-task")
        super().__init__(
            f"STOP: a limit is reached, {told}.{remark and f' {remark}'}",
            hint="Ask the person. To go on with a higher limit: "
            f"holdfast orchestrate extend --{bound} LIMIT REASON; "
            "else holdfast orchestrate pause REASON, or fail REASON.",
        )


def elapsed(state: State, now: datetime) -> timedelta:
    """How long the run has been worked on, as of *now*, or of its end."""
    started, ended = moment(state.orchestrator.start_time), moment(state.orchestrator.end_time)
    if started is None:
        return state.safety_bounds.elapsed
    until = ended if state.over and ended else now
    return max(until - started - remarks.time_paused(state, until), timedelta(0))


def last_update(state: State) -> datetime | None:
    """When the state was last brought up to date, by the time that it says has elapsed.

    The document has no field for that, and not every update leaves a time of its own.
    """
    started = moment(state.orchestrator.start_time)
    if started is None:
        return None
    try:
        at = started + state.safety_bounds.elapsed
        return at + remarks.time_paused(state, at)
    except OverflowError:  # a year that only a hand can have written
        return None


def uses(state: State, now: datetime) -> list[Use]:
    """Cost, time, and the iterations of each task that is worked on, as far as they have a limit."""
    return [*_of_run(state, now), *_of_tasks(state)]


def _of_run(state: State, now: datetime) -> Iterator[Use]:
    bounds = state.safety_bounds
    if bounds.cost_limit is not None:
        share = _share(bounds.cost, bounds.cost_limit)
        yield Use("max_cost", "Cost", bounds.cost_so_far, bounds.max_cost or "", share)
    if bounds.time_limit is not None:
        spent = elapsed(state, now)
        seconds = Decimal(int(spent.total_seconds()))
        share = _share(seconds, Decimal(int(bounds.time_limit.total_seconds())))
        yield Use("max_time", "Time", amounts.elapsed(spent), bounds.max_time or "", share)


def _of_tasks(state: State) -> Iterator[Use]:
    limit = state.safety_bounds.max_iterations_per_task
    if limit is None or state.over:
        return
    for task, count in iterations(state).items():
        share = _share(Decimal(count), Decimal(limit))
        name = f"Iterations of task {task}"
        yield Use("max_iterations_per_task", name, str(count), str(limit), share)


def iterations(state: State) -> dict[str, int]:
    """Of each task that is worked on, and of the current one."""
    waiting = {each.task for each in state.pending_tasks}
    found = {each.task: each.iteration for each in state.workers if each.task in waiting}
    current = state.current
    if current:
        found[current.task] = max(found.get(current.task, 0), state.iteration)
    return found


def _share(used: Decimal, limit: Decimal) -> Decimal:
    return used / limit if limit else Decimal(1)


def reached(state: State, now: datetime) -> list[Use]:
    """The limits that stop the run; none once it has ended."""
    return [] if state.over else [each for each in uses(state, now) if each.reached]


def refuse_stopped(state: State, at: str) -> None:
    """Refuse to begin anything where a limit is reached."""
    found = reached(state, datetime.fromisoformat(at))
    if found:
        raise LimitReached(found, "Nothing was begun.")


def updated(state: State, now: datetime) -> State:
    """*state* with the time that has elapsed, and with the warnings that are due."""
    after = state.model_copy(deep=True)
    bounds = after.safety_bounds
    bounds.elapsed_time = amounts.elapsed(elapsed(after, now))
    if not after.over:
        due = [line for each in uses(after, now) if (line := _warning(bounds, each))]
        bounds.warnings = [*bounds.warnings, *due]
    return after


def _warning(bounds: Bounds, use: Use) -> str:
    """The line that is due; empty where it, or one of a higher level, was given before."""
    given = {_line(use, level) for level in LEVELS if level >= use.level}
    return _line(use, use.level) if use.level and given.isdisjoint(bounds.warnings) else ""


def _line(use: Use, level: int) -> str:
    return f"{use.what} at {level}% of limit"


def forget_warnings(state: State, bound: Bound) -> None:
    """Take back what was warned of *bound*, which is another one now."""
    whats = {"max_cost": "Cost at ", "max_time": "Time at "}
    begins = whats.get(bound, "Iterations of task ")
    lines = state.safety_bounds.warnings
    state.safety_bounds.warnings = [
        line for line in lines if not (line.startswith(begins) and line.endswith("% of limit"))
    ]
