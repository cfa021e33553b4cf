"""Moves of tasks: pending → worked on by agents → completed, and the iterations of the Ralph loop.

Several may be worked on at once. The current one is that which was begun last; with each, the count
of iterations begins with 0. An iteration is counted when it is over, so that a task that is completed
has as many as were used. What has been done is noted whatever stands; only a new task is not begun
where a limit is reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import amounts, bounds
from holdfast.formats.orchestrator.model import Agent, CompletedTask, PendingTask, State
from holdfast.formats.orchestrator.moving import moved, need, turn_to

EXECUTOR = "task-executor"
OUTER = "outer-ralph"


def start_task(state: State, at: str, task: str | None = None, *, with_agent: bool = True) -> State:
    """Begin *task*, by default the next one, with an agent that works on it, or without."""
    after = moved(state)
    need(after, "executing")
    bounds.refuse_stopped(after, at)
    begun = _pending(after, task) if task else _next(after)
    if begun.phase != after.phase:
        raise IllegalMove(
            f"task {begun.task} belongs to phase {begun.phase + 1}, and phase {after.phase + 1} is current",
            hint="A phase begins when all tasks before it are completed: holdfast orchestrate phase",
        )
    _refuse_busy(after, begun)
    used = bounds.iterations(after).get(begun.task, 0)  # by one that is gone
    if with_agent:
        entry = Agent(
            type=EXECUTOR, task=begun.task, started=at, iteration=used, status="in_progress"
        )
        after.active_agents = [*after.active_agents, entry]
    turn_to(after, begun)
    after.orchestrator.ralph_iteration = used
    return after


def _refuse_busy(state: State, task: PendingTask) -> None:
    for agent in state.workers_on(task.task):
        raise IllegalMove(
            f"task {task.task} is worked on already by a {agent.type} since {agent.started}",
            hint="Do not dispatch it again. Where that agent is gone: holdfast orchestrate agent reap",
        )


def _next(state: State) -> PendingTask:
    """The first one of the phase that nobody works on."""
    here = state.pending_in(state.phase)
    found = next((each for each in here if not state.workers_on(each.task)), None)
    if found is None:
        busy = ", ".join(each.task for each in here)
        what = f"all that are left are worked on: {busy}" if here else "all are completed"
        raise IllegalMove(
            f"no task of phase {state.phase + 1} is waiting; {what}",
            hint="" if here else "Go on: holdfast orchestrate phase, or review after the last one",
        )
    return found


def _pending(state: State, task: str) -> PendingTask:
    found = state.pending(task)
    if found is None:
        done = state.completed(task)
        when = f"is completed since {done.completed}" if done else "is not in the plan"
        waiting = ", ".join(each.task for each in state.pending_tasks) or "none"
        raise IllegalMove(f"task {task} {when}", hint=f"Still to be done: {waiting}.")
    return found


def iterate(state: State, at: str, task: str | None = None) -> State:  # noqa: ARG001  # as all moves
    """One more iteration of *task*, by default the current one, is over without completing it.

    In the review it is one of the outer loop.
    """
    after = moved(state)
    need(after, "executing", "reviewing")
    run = after.orchestrator
    if run.status == "reviewing":
        agents, is_current = [e for e in after.active_agents if e.type == OUTER], True
    else:
        meant = _pending(after, task) if task else _current(after)
        agents, is_current = after.workers_on(meant.task), meant == after.current
        if not (agents or is_current):
            raise IllegalMove(
                f"nobody works on task {meant.task}",
                hint=f"Begin it first: holdfast orchestrate task-start {meant.task}",
            )
    for agent in agents:
        agent.iteration += 1
    run.ralph_iteration += is_current
    return after


def _current(state: State) -> PendingTask:
    """The task that is worked on, where it is only one."""
    busy = [each.task for each in state.pending_tasks if state.workers_on(each.task)]
    current = state.current
    if current is None or len(busy) > 1:
        told = f"tasks {', '.join(busy)} are worked on" if busy else "no task is worked on"
        raise IllegalMove(told, hint="Say which one is meant by its id.")
    return current


def _begun(state: State) -> PendingTask:
    """The task that is worked on; what nobody began is not completed by the way."""
    current = _current(state)
    if not (state.workers_on(current.task) or state.iteration):
        raise IllegalMove(
            f"nobody works on task {current.task}, as far as is noted",
            hint=f"If it is done all the same: holdfast orchestrate task-done {current.task}",
        )
    return current


def complete_task(
    state: State,
    at: str,
    task: str | None = None,
    *,
    cost: str | None = None,
    time: str | None = None,
    iterations: int | None = None,
    files: Sequence[str] = (),
    criteria: Mapping[str, bool] | None = None,
) -> State:
    """*task* is done, by default the current one; what it cost is added to the cost of the run."""
    after = moved(state)
    need(after, "executing")
    done = _pending(after, task) if task else _begun(after)
    if done.phase != after.phase:
        raise IllegalMove(
            f"task {done.task} belongs to phase {done.phase + 1}, and phase {after.phase + 1} is current",
            hint="holdfast orchestrate phase goes on to the next phase.",
        )
    spent = amount_of(cost) if cost is not None else Decimal(0)
    was_current = done == after.current
    taken = bounds.iterations(after).get(done.task, 0)
    entry = CompletedTask(
        task=done.task,
        name=done.name,
        completed=at,
        iterations=max(taken, 1) if iterations is None else iterations,
        time_elapsed=amounts.taken(_duration(time) if time else _since_begun(after, done, at)),
        cost=amounts.dollars(spent),
        files_modified=list(files),
        success_criteria_met=dict(criteria or {}),
    )
    after.completed_tasks = [*after.completed_tasks, entry]
    after.pending_tasks = [each for each in after.pending_tasks if each.task != done.task]
    workers = after.workers_on(done.task)
    after.active_agents = [each for each in after.active_agents if each not in workers]
    _spend(after, spent)
    if was_current:
        after.orchestrator.current_task = f"0/{after.orchestrator.task_count}"
    turn_to(after, after.current)
    return after


def spend(state: State, at: str, cost: str) -> State:  # noqa: ARG001  # as all moves
    """*cost* that belongs to no task, such as the supervisor's."""
    after = moved(state)
    _spend(after, amount_of(cost))
    return after


def _spend(state: State, cost: Decimal) -> None:
    if cost:
        spent = amounts.dollars(state.safety_bounds.cost + cost)
        amount_of(spent)  # it has to be read again
        state.safety_bounds.cost_so_far = spent


def amount_of(text: str) -> Decimal:
    try:
        return amounts.money(text)
    except ValueError as error:
        raise IllegalMove(f"expected {error}, found {text!r}") from error


def _duration(text: str) -> timedelta:
    try:
        return amounts.duration(text)
    except ValueError as error:
        raise IllegalMove(f"expected {error}, found {text!r}") from error


def _since_begun(state: State, task: PendingTask, at: str) -> timedelta:
    """Since its agent began; without one since the last completion, or the start."""
    begun = [each.started for each in state.workers_on(task.task)]
    before = [each.completed for each in state.completed_tasks]
    for times, first in ((begun, min), (before, max), ([state.orchestrator.start_time], max)):
        known = [found for each in times if (found := moment(each))]
        if known:
            return max(datetime.fromisoformat(at) - first(known), timedelta(0))
    return timedelta(0)
