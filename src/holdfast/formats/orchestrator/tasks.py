"""Moves of tasks and of the agents that work on them, and which agents give no sign of life.

Rule 1: a task is pending, is worked on by agents, and is completed. Several may be worked on at once. The
        current one is that which was begun last; its count of iterations begins with 0.
Rule 2: an iteration counts when it is over, so that a completed task has as many as were used.
Rule 3: what was done is noted whatever stands; only new work is refused where a limit is reached.
Rule 4: an agent lives as long as its entry changes; we note when, in our own folder, since the document has only
        the time when it was started. One that is silent for too long is told as such, and stays: only the
        orchestrator knows whether it is gone, and ends it with `agent done`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from holdfast import clock
from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.engine.document import moment
from holdfast.formats.engine.moves import move, needed
from holdfast.formats.orchestrator import files, limits, model
from holdfast.formats.orchestrator.model import EXECUTOR, Agent, PendingTask, State
from holdfast.formats.orchestrator.moves import amount, turn_to, when
from holdfast.records import ledger

_SILENT = timedelta(minutes=30)
_SIGNS = "agents"  # in the notes of the run: when each was last heard of


@move(when("executing"))
def start_task(state: State, at: str, task: str | None = None, *, no_agent: bool = False) -> None:
    """Begin a task, by default the next one that nobody works on; a task-executor is noted for it."""
    limits.refuse_stopped(state, at)
    begun = _of_phase(state, task) if task else _next(state)
    for agent in state.workers_on(begun.task):
        raise IllegalMove(
            f"task {begun.task} has had a {agent.type} at work since {agent.started}",
            hint="Do not dispatch it again. If that agent is gone: "
            f"holdfast orchestrate agent done --task {begun.task}",
        )
    used = limits.iterations(state).get(begun.task, 0)  # by one that is gone
    if not no_agent:
        _add_agent(state, at, EXECUTOR, begun.task, used)
    turn_to(state, begun)
    state.orchestrator.ralph_iteration = used


def _next(state: State) -> PendingTask:
    here = state.pending_in(state.phase)
    for pending in here:
        if not state.workers_on(pending.task):
            return pending
    busy = ", ".join(pending.task for pending in here)
    what = f"all that are left are worked on: {busy}" if here else "all are completed"
    raise IllegalMove(
        f"no task of phase {state.phase + 1} is waiting; {what}",
        hint="" if here else "Continue: holdfast orchestrate phase, or review after the last phase",
    )


def _pending(state: State, task: str) -> PendingTask:
    found = state.pending(task)
    if found is None:
        done = state.completed(task)
        when = f"is completed since {done.completed}" if done else "is not in the plan"
        waiting = ", ".join(pending.task for pending in state.left) or "none"
        raise IllegalMove(f"task {task} {when}", hint=f"Still to be done: {waiting}.")
    return found


def _of_phase(state: State, task: str) -> PendingTask:
    found = _pending(state, task)
    if found.phase != state.phase:
        raise IllegalMove(
            f"task {task} belongs to phase {found.phase + 1}; the current phase is {state.phase + 1}",
            hint="A phase begins when all tasks before it are completed: holdfast orchestrate phase",
        )
    return found


@move(when("executing", "reviewing"))
def iterate(state: State, _at: str, task: str | None = None) -> None:
    """One more iteration of the Ralph loop is over, of the current task or another.

    In the review it is one of the outer loop.
    """
    if state.orchestrator.status == "reviewing":
        agents = [agent for agent in state.active_agents if agent.type == model.OUTER]
        is_current = True
    else:
        worked_on = _pending(state, task) if task else _current(state)
        agents, is_current = state.workers_on(worked_on.task), worked_on == state.current
        if not (agents or is_current):
            raise IllegalMove(
                f"no agent works on task {worked_on.task}",
                hint=f"Start it first: holdfast orchestrate task-start {worked_on.task}",
            )
    for agent in agents:
        agent.iteration += 1
    if is_current:
        state.orchestrator.ralph_iteration = state.iteration + 1


def _current(state: State) -> PendingTask:
    """The task that is worked on, where it is only one."""
    busy = [pending.task for pending in state.left if state.workers_on(pending.task)]
    if state.current is None or len(busy) > 1:
        what = f"tasks {', '.join(busy)} are worked on" if busy else "no task is worked on"
        raise IllegalMove(what, hint="Give its id.")
    return state.current


@move(when("executing"))
def complete_task(
    state: State,
    at: str,
    task: str | None = None,
    *,
    cost: str | None = None,
    time: str | None = None,
    iterations: int | None = None,
    files: Sequence[str] = (),
    met: Sequence[str] = (),
    unmet: Sequence[str] = (),
    force: bool = False,
) -> None:
    """A task is completed, by default the one in progress."""
    done = _of_phase(state, task or _current(state).task)
    if not (task or state.is_begun(done.task)):
        raise IllegalMove(
            f"no agent is recorded for task {done.task}",
            hint=f"If it is done: holdfast orchestrate task-done {done.task}",
        )
    if unmet and not force:
        raise IllegalMove(
            f"task {done.task} does not meet {', '.join(unmet)}, so it is not completed successfully",
            hint="Work on it until it does, or ask the person and complete it with --force.",
        )
    spent = amount(model.parse_money, cost) if cost is not None else Decimal(0)
    was_current = done == state.current
    used = limits.iterations(state).get(done.task, 0)
    taken = amount(model.parse_duration, time) if time else _since_begun(state, done, at)
    entry = model.CompletedTask(
        task=done.task,
        name=done.name,
        completed=at,
        iterations=max(used, 1) if iterations is None else iterations,
        time_elapsed=model.format_task_time(taken),
        cost=model.format_money(spent),
        files_modified=list(files),
        success_criteria_met={**dict.fromkeys(met, True), **dict.fromkeys(unmet, False)},
    )
    state.completed_tasks = [*state.completed_tasks, entry]
    _add_cost(state, spent)
    if was_current:
        state.orchestrator.current_task = f"0/{state.orchestrator.progress[1]}"
    turn_to(state, state.current)


@move(when())
def spend(state: State, _at: str, cost: str) -> None:
    """Add a *cost* that belongs to no task, such as the supervisor's."""
    _add_cost(state, amount(model.parse_money, cost))


def _add_cost(state: State, cost: Decimal) -> None:
    if cost:
        before = model.parse_money(state.safety_bounds.cost_so_far)
        spent = model.format_money(before + cost)
        amount(model.parse_money, spent)  # it has to be read again
        state.safety_bounds.cost_so_far = spent


def _since_begun(state: State, task: PendingTask, at: str) -> timedelta:
    """Since its agent began; without one since the last completion, or the start."""
    begun = [moment(agent.started) for agent in state.workers_on(task.task)]
    before = [moment(done.completed) for done in state.completed_tasks]
    first = min((time for time in begun if time), default=None)
    last = max((time for time in before if time), default=None)
    since = first or last or moment(state.orchestrator.start_time)
    return max(datetime.fromisoformat(at) - since, timedelta(0)) if since else timedelta(0)


# Agents.


@move(when())
def start_agent(state: State, at: str, kind: str, task: str) -> None:
    """An agent of TYPE was dispatched: task-executor, supervisor, outer-ralph, code-improvement-scanner."""
    task = needed(task, "the task")
    if any(agent.type == kind and agent.task == task for agent in state.active_agents):
        raise IllegalMove(
            f"a {kind} is already at work on task {task}",
            hint="Do not dispatch a second one. If it is gone: holdfast orchestrate agent done "
            f"--task {task} --type {kind}",
        )
    if kind == EXECUTOR:
        if state.completed(task):
            raise IllegalMove(
                f"task {task} is completed", hint="Check it: holdfast orchestrate status"
            )
        limits.refuse_stopped(state, at)
    _add_agent(state, at, kind, task, 0)


def _add_agent(state: State, at: str, kind: str, task: str, iteration: int) -> None:
    agent = Agent(type=kind, task=task, started=at, iteration=iteration, status="in_progress")
    state.active_agents = [*state.active_agents, agent]


@move(when(while_paused=True))
def set_agent_status(
    state: State, _at: str, status: str, task: str | None, kind: str | None
) -> None:
    """The agent works, waits, or is blocked."""
    agent_meant(state, task, kind).status = status


@move(when(while_paused=True))
def end_agent(state: State, _at: str, task: str | None, kind: str | None) -> None:
    """The agent has ended. `task-done` also ends the agents of its task."""
    state.active_agents.remove(agent_meant(state, task, kind))


def agent_meant(state: State, task: str | None, kind: str | None) -> Agent:
    """The agent that is meant: by its task, its type, or because it is the only one."""
    of_task = [agent for agent in state.active_agents if task in {None, agent.task}]
    found = [agent for agent in of_task if kind in {None, agent.type}]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{agent.type} on {agent.task}" for agent in found or state.active_agents)
    if not found:
        raise IllegalMove("there is no such agent", hint=f"At work: {names or 'none'}.")
    raise IllegalMove(f"several agents match: {names}", hint="Choose one with --task and --type.")


# Signs of life.


def last_heard(store: Store, state: State) -> list[tuple[Agent, datetime | None]]:
    """The agents at work, each with its last sign of life."""
    signs, heard = _signs(ledger.notes_of(store, files.key_of(state))), []
    for agent in state.agents:
        times = (moment(agent.started), moment(signs.get(_name(agent))))
        heard.append((agent, max((at for at in times if at), default=None)))
    return heard


def is_silent(heard: datetime | None, now: datetime) -> bool:
    return heard is not None and now - heard > _SILENT


def note_signs(store: Store, before: State | None, after: State, now: datetime) -> None:
    """Note that those whose entry has changed live at *now*, and forget who has gone; inside the lock."""
    was = {_name(agent): agent for agent in before.active_agents} if before else {}
    there = {_name(agent): agent for agent in after.active_agents}
    signs = _signs(ledger.notes_of(store, files.key_of(after)))
    kept = {name: at for name, at in signs.items() if name in there}
    kept |= {name: clock.iso(now) for name in there if was.get(name, there[name]) != there[name]}
    if kept != signs:
        ledger.put_notes(store, files.key_of(after), lambda record: {**record, _SIGNS: kept})


def _signs(record: Mapping[str, Any]) -> Mapping[str, Any]:
    signs = record.get(_SIGNS)
    return signs if isinstance(signs, dict) else {}


def _name(agent: Agent) -> str:
    return f"{agent.type} {agent.task} {agent.started}"
