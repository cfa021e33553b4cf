"""Limits: what is used, what is warned of, and when a run has to stop."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from holdfast import clock
from holdfast.formats.orchestrator import limits, model, moves, tasks
from holdfast.formats.orchestrator.limits import Bound, LimitReached
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.plan import given

START = "2026-01-15T12:00:00Z"
BEGUN = clock.parse(START)
assert BEGUN is not None


def at(minutes: float) -> str:
    return moment(minutes).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(minutes: float) -> Any:
    assert BEGUN is not None
    return BEGUN + timedelta(minutes=minutes)


def run(bounds: Mapping[Bound, str] = moves.LIMITS) -> State:
    listed = given(["1.1 One", "1.2 Two", "2.1 Three"])
    state = moves.begin(START, "/tmp/tasks.md", listed, **bounds)
    return moves.approve_plan(state, START, listed)


def updated(state: State, minutes: float = 1) -> State:
    return limits.updated(state, moment(minutes))


def worked(state: State, minutes: float) -> State:
    """*state* as its file says that it was worked on for so long."""
    after = state.model_copy(deep=True)
    after.safety_bounds.elapsed_time = model.format_elapsed(timedelta(minutes=minutes))
    after.written = None
    return updated(after)


def warned(state: State) -> list[str]:
    return state.safety_bounds.warnings


@pytest.mark.parametrize(
    ("cents", "lines", "stops"),
    [
        (7499, [], False),
        (7500, ["Cost at 75% of limit"], False),
        (8999, ["Cost at 75% of limit"], False),
        (9000, ["Cost at 90% of limit"], False),
        (9999, ["Cost at 90% of limit"], False),
        (10000, ["Cost at 100% of limit"], True),
        (10001, ["Cost at 100% of limit"], True),
    ],
)
def test_cost_is_warned_of_in_time(cents: int, lines: list[str], stops: bool) -> None:
    """To the cent."""
    state = updated(tasks.spend(run({"max_cost": "$100"}), at(1), f"{cents / 100:.2f}"))
    assert warned(state) == lines
    assert bool(limits.reached(state, moment(1))) is stops


@pytest.mark.parametrize(
    ("minutes", "lines", "stops"),
    [
        (89.98, [], False),
        (90, ["Time at 75% of limit"], False),
        (108, ["Time at 90% of limit"], False),
        (119.98, ["Time at 90% of limit"], False),
        (120, ["Time at 100% of limit"], True),
    ],
)
def test_time_is_warned_of_in_time(minutes: float, lines: list[str], stops: bool) -> None:
    """To the second."""
    state = worked(run(), minutes)
    assert warned(state) == lines
    assert bool(limits.reached(state, moment(minutes))) is stops


@pytest.mark.parametrize(
    ("count", "lines", "stops"),
    [
        (14, [], False),
        (15, ["Iterations of task 1.1 at 75% of limit"], False),
        (18, ["Iterations of task 1.1 at 90% of limit"], False),
        (19, ["Iterations of task 1.1 at 90% of limit"], False),
        (20, ["Iterations of task 1.1 at 100% of limit"], True),
    ],
)
def test_iterations_are_warned_of_in_time(count: int, lines: list[str], stops: bool) -> None:
    """Per task; they start from 0 with the next one."""
    state = tasks.start_task(run({"max_iterations_per_task": "20"}), at(1))
    for _ in range(count):
        state = tasks.iterate(state, at(1))
    state = updated(state)
    assert warned(state) == lines
    assert bool(limits.reached(state, moment(1))) is stops
    done = updated(tasks.complete_task(state, at(2)))
    assert not limits.reached(done, moment(2))
    assert done.completed_tasks[-1].iterations == count


def test_each_warning_is_given_once() -> None:
    """Even after it was passed, and with each update."""
    state = run()
    for minutes in (90, 91, 108, 109, 119):
        state = worked(state, minutes)
    assert warned(state) == ["Time at 75% of limit", "Time at 90% of limit"]


def test_iterations_of_tasks_side_by_side_count_by_themselves() -> None:
    """Each agent's own."""
    state = run({"max_iterations_per_task": "4"})
    state = tasks.start_task(tasks.start_task(state, at(1)), at(1))
    for _ in range(3):
        state = updated(tasks.iterate(state, at(1), "1.1"))
    assert warned(state) == ["Iterations of task 1.1 at 75% of limit"]
    assert limits.iterations(state) == {"1.1": 3, "1.2": 0}
    assert limits.reached(updated(tasks.iterate(state, at(1), "1.1")), moment(1))


def test_no_task_is_begun_where_a_limit_is_reached() -> None:
    """What was done is still noted."""
    state = tasks.start_task(run(), at(1))
    state = updated(tasks.complete_task(state, at(2), cost="$10.20"))
    assert state.completed("1.1")
    with pytest.raises(LimitReached, match=r"STOP: .*cost \$10.20 of \$10 \(102%\)\. Nothing was"):
        tasks.start_task(state, at(3))


def test_an_extension_ends_the_stop_and_is_warned_of_anew() -> None:
    """With its reason among the warnings."""
    state = updated(tasks.spend(run(), at(1), "$10"))
    state = updated(moves.extend(state, at(2), "two more endpoints", max_cost="$20"))
    assert not limits.reached(state, moment(2))
    reason = f"Extended max_cost from $10 to $20 at {at(2)}: two more endpoints"
    assert warned(state) == [reason]
    assert tasks.start_task(state, at(3)).active_agents
    state = updated(tasks.spend(state, at(4), "$5"))
    assert warned(state) == [reason, "Cost at 75% of limit"]


def written(state: State, minutes: float) -> State:
    """*state* as read from a file that was written then."""
    state.written = moment(minutes)
    return state


def test_time_that_is_paused_does_not_count() -> None:
    """Neither during the pause nor after it; the status keeps the document's word."""
    state = moves.pause(written(run(), 0), at(30), "for a review")
    assert state.orchestrator.status == "executing"
    assert warned(state) == [f"Paused since {at(30)}: for a review"]
    assert limits.elapsed(written(state, 30), moment(45)) == timedelta(minutes=30)
    state = moves.resume(state, at(45))
    assert warned(state) == [f"Paused from {at(30)} to {at(45)}: for a review"]
    state = moves.pause(written(state, 45), at(55), "again")
    assert state.safety_bounds.elapsed_time == "0h 40m 0s"


def test_a_night_between_two_updates_does_not_count() -> None:
    """More than half an hour without an update is a break."""
    state = moves.warn(written(run(), 0), at(10), "slow")
    state = moves.warn(written(state, 10), at(700), "slower")
    state = moves.warn(written(state, 700), at(730), "slowest")
    assert state.safety_bounds.elapsed_time == "0h 40m 0s"


def test_the_time_of_a_run_that_has_ended_stands_still() -> None:
    """What it used stays used."""
    state = moves.fail(written(run(), 0), at(20), "the service is down")
    assert limits.elapsed(written(state, 20), moment(25)) == timedelta(minutes=20)
    assert not limits.reached(state, moment(900))
    assert warned(state) == [f"Failed at {at(20)}: the service is down"]


def test_a_limit_that_is_absent_is_none() -> None:
    """In a file written by hand; `inspect` reports the missing field."""
    state = State.of_json({"orchestrator": {"status": "executing", "start_time": START}})
    assert limits.uses(state, moment(10_000)) == []


@pytest.mark.parametrize(
    ("limits", "cause"),
    [
        ({}, "no limit is given"),
        ({"max_cost": "$10"}, r"max_cost is \$10; \$10 is not more"),
        ({"max_time": "90m"}, "max_time is 2h; 1h 30m is not more"),
        ({"max_iterations_per_task": "many"}, "expected a whole number, found 'many'"),
        ({"max_cost": "a lot"}, "expected an amount, such as"),
    ],
)
def test_only_more_is_an_extension(limits: Mapping[Bound, str], cause: str) -> None:
    """It also has to be an amount."""
    with pytest.raises(Exception, match=cause):
        moves.extend(run(), at(1), "because", **limits)
