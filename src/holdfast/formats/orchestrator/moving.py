"""What all moves share: a copy to change, and the guards.

A move is a function from a state and the time, as text, to the next state. It raises IllegalMove
where the present state does not allow it, and never changes the state that it is given.
"""

from __future__ import annotations

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import remarks
from holdfast.formats.orchestrator.model import PendingTask, State

_AFTER = {
    "planning": "Approve the plan first: holdfast orchestrate approve-plan",
    "executing": "All phases have to be complete first: holdfast orchestrate phase, then review",
    "reviewing": "Complete it: holdfast orchestrate complete",
}


def moved(state: State, *, although_paused: bool = False) -> State:
    """A copy of *state* that a move may change; refused where the run has ended or is paused."""
    refuse_ended(state)
    if not although_paused and remarks.paused_since(state):
        raise IllegalMove(
            f"{state.name!r} is paused since {remarks.paused_since(state)}: "
            f"{remarks.paused_for(state)}",
            hint="Go on first: holdfast orchestrate resume",
        )
    return state.model_copy(deep=True)


def refuse_ended(state: State) -> None:
    status = state.orchestrator.status
    if state.over:
        raise IllegalMove(
            f"{state.name!r} is {status}",
            hint="Put it away and begin another one: holdfast orchestrate archive, then start.",
        )


def need(state: State, *statuses: str) -> None:
    """Refuse what only a run in one of *statuses* may do."""
    status = state.orchestrator.status
    if status not in statuses:
        raise IllegalMove(
            f"{state.name!r} is {status}, not {' or '.join(statuses)}", hint=_AFTER.get(status, "")
        )


def needed(text: str | None, what: str) -> str:
    """*text*, or a refusal: an empty one says nothing."""
    if text is None or not text.strip():
        raise IllegalMove(f"{what} is missing", hint="Give it as text.")
    return text.strip()


def turn_to(state: State, task: PendingTask | None) -> None:
    """Let *task* be the current one, with its iterations; without one the phase is through."""
    run = state.orchestrator
    if task is None:
        run.current_task = f"{run.task_count}/{run.task_count}"
    else:
        here = state.tasks_in(run.current_phase)
        run.current_task = f"{here.index(task.task) + 1}/{len(here)}"
    agents = state.workers_on(task.task) if task else []
    run.ralph_iteration = max((each.iteration for each in agents), default=0)
