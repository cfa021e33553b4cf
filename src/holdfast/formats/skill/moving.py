"""What all moves share: a copy to change, the guards, and the history that only grows.

A move is a function from a state and the time, as text, to the next state. It raises IllegalMove
where the present state does not allow it, and never changes the state that it is given.
"""

from __future__ import annotations

from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.skill.model import Machine, Phase, State


def moved(state: State, at: str, *, although_blocked: bool = False) -> State:
    """A copy of *state* that a move may change; refused where the workflow has ended or waits."""
    refuse_ended(state)
    if is_blocked(state) and not although_blocked:
        reason = blocked_by(state)
        raise IllegalMove(
            f"{state.name!r} is blocked{f': {reason}' if reason else ''}",
            hint="Unblock it first: holdfast skill unblock",
        )
    copy = state.model_copy(deep=True)
    copy.workflow.updated_at = at
    _follow_current(copy)
    return copy


def refuse_ended(state: State) -> None:
    if state.over:
        raise IllegalMove(
            f"{state.name!r} is {state.workflow.status}",
            hint="Begin it anew: holdfast skill start",
        )


def _follow_current(state: State) -> None:
    """Let the list of phases say what current_phase says: a jq line may have set that alone."""
    machine, current = state.state_machine, state.phase
    if current is None or current not in machine.phases:
        return
    machine.current_phase = current.name
    here = next(at for at, each in enumerate(machine.phases) if each is current)
    for phase in machine.phases[:here]:
        if phase.status != "completed":
            phase.status = "completed"
    for phase in machine.phases[here + 1 :]:
        if phase.status == "in_progress":
            phase.status = "pending"
    if current.status == "pending":
        current.status = "in_progress"


def current_phase(state: State) -> Phase:
    """The phase that is being worked on."""
    phase = state.phase
    if phase is None or phase not in state.state_machine.phases:
        named = f"{phase.name!r} is" if phase else "the current phase is"
        raise IllegalMove(
            f"{named} not in the list of phases",
            hint="Add it to state_machine.phases, or correct state_machine.current_phase.",
        )
    return phase


def record(state: State, at: str, event: str, **facts: Any) -> None:
    """Append to the history; facts that are None are left out."""
    told = {name: fact for name, fact in facts.items() if fact is not None}
    state.history = [*state.history, {"at": at, "event": event, **told}]


def is_blocked(state: State) -> bool:
    phase = state.phase
    return state.workflow.status == "blocked" or (phase is not None and phase.status == "blocked")


def blocked_by(state: State) -> str | None:
    """The reason that was given, if one was."""
    told = [each for each in state.history if each.get("event") == "phase_blocked"]
    reason = told[-1].get("reason") if told else None
    return reason if isinstance(reason, str) else None


def needed(text: str | None, what: str) -> str:
    """*text*, or a refusal: an empty one says nothing."""
    if text is None or not text.strip():
        raise IllegalMove(f"{what} is missing", hint="Give it as text.")
    return text


def enter(state: State, phase: Phase, at: str) -> None:
    """Make *phase* the current one."""
    machine: Machine = state.state_machine
    phase.status = "in_progress"
    phase.started_at = at
    machine.current_phase = phase.name
    if phase.step_names or machine.current_step is not None:
        machine.current_step = (*phase.step_names, None)[0]
    record(state, at, "phase_started", phase=phase.name)
