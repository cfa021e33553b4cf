"""Whether workflow-state.json and the five status.json say the same, and making them.

workflow-state.json is the primary source of truth, so where they differ the status.json follows. A
workflow-state.json that contradicts itself cannot be followed: a person has to say what holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.errors import HoldfastError, IllegalMove
from holdfast.formats.gated.files import HeldState, HeldStatus, Run
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.model import (
    IN_WORK,
    PHASES,
    PhaseName,
    State,
    Status,
    new_status,
    phases_after,
)
from holdfast.formats.holding import Unusable
from holdfast.plaintext import one_line

# Phases whose artefact nobody objects to; what was said of it before is settled.
_SETTLED = frozenset({"pending", "user_review", "approved"})


@dataclass(frozen=True)
class Reconciled:
    """The content that holds, and what of the files said something else, one line each."""

    content: Content
    lines: tuple[str, ...]


def contradictions(state: State) -> tuple[str, ...]:
    """What in workflow-state.json cannot be true at once: "phases.02-architecture.status: expected …"."""
    return tuple(_contradictions(state))


def _contradictions(state: State) -> Iterator[str]:
    current, phases = state.current_phase, state.phases
    if state.status == "completed":
        for name in PHASES:
            if phases[name].status != "approved":
                yield _expected(state, name, "approved", "the workflow is completed")
    if state.over:
        return
    for name in PHASES[: PHASES.index(current)]:
        if phases[name].status != "approved":
            yield _expected(state, name, "approved", f"current_phase is {current}")
    for name in phases_after(current):
        if phases[name].status != "pending":
            yield _expected(state, name, "pending", f"current_phase is {current}")
    escalated = state.phase.status == "escalated"
    if state.status == "escalated" and not escalated:
        yield _expected(state, current, "escalated", "the workflow is escalated")
    if escalated and state.status != "escalated":
        yield (
            f"status: expected escalated, since phases.{current}.status is escalated, "
            f"found {state.status}"
        )


def _expected(state: State, name: PhaseName, status: str, because: str) -> str:
    return (
        f"phases.{name}.status: expected {status}, since {because}, "
        f"found {state.phases[name].status}"
    )


def disagreements(run: Run) -> tuple[str, ...]:
    """Where the files do not agree, in words; nothing where a command may simply go on."""
    if not isinstance(run.main, HeldState):
        return ()
    state = run.main.state
    lines = [] if _in_work(state) is None else [_moved(state)]
    return (*lines, *(line for name in PHASES if (line := disagreement(run, state, name))))


def reconciled(run: Run, at: str) -> Reconciled:
    """What holds; refused where workflow-state.json cannot be read or contradicts itself."""
    found = readable_state(run)
    state = found.model_copy(deep=True)
    state.current_phase = _in_work(state) or state.current_phase
    wrong = contradictions(state)
    if wrong:
        raise IllegalMove(
            f"workflow-state.json of {state.name!r} contradicts itself: {wrong[0]}",
            hint="Correct the field, or see what the other files say: holdfast gate recover",
        )
    statuses = {name: _followed(run, found, name, at) for name in PHASES}
    return Reconciled(Content(state, statuses, run.slug), disagreements(run))


def readable_state(run: Run) -> State:
    """What workflow-state.json says. The document: "the file is corrupted - do NOT proceed"."""
    main = run.main
    if isinstance(main, HeldState) and not main.problems:
        return main.state
    reason = main.reason if isinstance(main, Unusable) else main.problems[0]
    raise HoldfastError(
        f"workflow-state.json of {run.slug!r} cannot be used: {reason}",
        hint="Correct it, or see what can be made of the other files: holdfast gate recover",
    )


def refuse_unreadable_status(run: Run) -> None:
    """The same of a status.json. One that is not there has nothing to lose, and is made."""
    for name, held in run.statuses.items():
        reason = _unreadable(held)
        if reason:
            raise HoldfastError(
                f"status.json of {name} cannot be used: {reason}",
                hint="Make it from workflow-state.json: holdfast gate reconcile. "
                "Or from the reviews: holdfast gate recover",
            )


def _unreadable(held: HeldStatus | Unusable) -> str | None:
    if isinstance(held, Unusable):
        return None if held.kind == "missing" else held.reason
    return held.problems[0] if held.problems else None


def _in_work(state: State) -> PhaseName | None:
    """The phase that is in work where current_phase names another, and everything else fits it."""
    busy = [name for name in PHASES if state.phases[name].status in IN_WORK]
    if state.over or len(busy) != 1 or busy[0] == state.current_phase:
        return None
    moved = state.model_copy(update={"current_phase": busy[0]})
    return None if contradictions(moved) else busy[0]


def _moved(state: State) -> str:
    return f"current_phase was {state.current_phase}, but {_in_work(state)} is the one in work"


def disagreement(run: Run, state: State, name: PhaseName) -> str | None:
    """What status.json of a phase says otherwise."""
    held, summary = run.statuses[name], state.phases[name]
    says = f"{summary.status}, iteration {summary.iterations}"
    if isinstance(held, Unusable):
        told = "is missing" if held.kind == "missing" else f"cannot be used ({held.reason})"
        return f"status.json of {name} {told}; workflow-state.json says {says}"
    if held.problems:
        told = one_line(held.problems[0])
        return f"status.json of {name} cannot be used ({told}); workflow-state.json says {says}"
    if _agree(state, held.state, name):
        return None
    said = f"{held.state.status}, iteration {held.state.iterations}"
    return f"status.json of {name} said {said}; workflow-state.json says {says}, which holds"


def _agree(state: State, status: Status, name: PhaseName) -> bool:
    summary = state.phases[name]
    return (status.status, status.iterations) == (summary.status, summary.iterations)


def _followed(run: Run, state: State, name: PhaseName, at: str) -> Status:
    """The status.json of a phase, with what workflow-state.json says; its history stays."""
    held, summary = run.statuses[name], state.phases[name]
    if isinstance(held, Unusable):
        status = new_status(name)
    else:
        status = held.state.model_copy(deep=True)
        if not held.problems and _agree(state, status, name):
            return status
    status.status, status.iterations = summary.status, summary.iterations
    if status.status in _SETTLED:
        status.current_feedback = None
    entry = {
        "iteration": status.iterations,
        "action": "reconciled",
        "timestamp": at,
        "result": None,
    }
    status.history = [*status.history, entry]
    return status
