"""Where a feature stands, in phrases: whose turn it is, and what comes next. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from holdfast.formats.gated import transitions
from holdfast.formats.gated.machine import APPROVED
from holdfast.formats.gated.model import MOST_ITERATIONS, PHASES, PhaseName, State, Status
from holdfast.plaintext import one_line

Turn: TypeAlias = Literal["creator", "reviewer", "human", "nobody"]

_TURNS: dict[str, Turn] = {
    "pending": "creator",
    "in_progress": "creator",
    "in_review": "reviewer",
    "user_review": "human",
    "escalated": "human",
}
_KEPT_WITH = {
    "pending": ("submit",),
    "in_progress": ("submit", "escalate"),
    "in_review": ("revise", "approve-internal", "escalate"),
    "user_review": ("approve", "request-changes", "regress"),
    "escalated": ("guide", "override"),
}
# Events that follow from another one, and the one that happens to an earlier phase.
_NOT_OF_IT = {"start", "reset", "exhaust", "regress"}
_GATES = {
    "in_progress": "an internal review, then a person's review on the pull request",
    "in_review": "the internal review, then a person's review on the pull request",
    "user_review": "a person's review on the pull request",
    "escalated": "a person's decision",
}
# What made the creator work on it again, by the history's last word on it.
_AFTER = {
    "created": "after the review",
    "revised": "after the review",
    "user_changes": "after a person's comments on the pull request",
    "regression": "after a person's comments on this earlier phase",
    "guidance": "by the guidance that a person gave",
}


def title(phase: PhaseName) -> str:
    """01-requirements: Requirements."""
    return phase.partition("-")[2].capitalize()


def turn(state: State) -> Turn:
    """Who has to do something now."""
    return "nobody" if state.over or is_done(state) else _TURNS.get(state.phase.status, "creator")


def kept_with(state: State) -> tuple[str, ...]:
    """The commands that fit the current phase's status."""
    names = ("complete",) if is_done(state) else _KEPT_WITH.get(state.phase.status, ("submit",))
    return tuple(f"holdfast gate {name}" for name in names)


def possible(state: State) -> list[str]:
    """What may happen next, by the names of the commands."""
    events = transitions.events(transitions.WORKFLOW, state.status)
    if not is_done(state) and "complete" in events:
        events.remove("complete")
    if not state.over:
        events += transitions.events(transitions.PHASE, state.phase.status)
    found = [event for event in dict.fromkeys(events) if event not in _NOT_OF_IT]
    return [*found, "regress"] if state.status == "in_progress" and state.number > 1 else found


def is_done(state: State) -> bool:
    """Whether all phases are approved."""
    return all(state.phases[name].status == "approved" for name in PHASES)


def iteration(state: State, status: Status | None) -> str:
    """2 of 4."""
    return f"{state.phase.iterations} of {status.limit if status else MOST_ITERATIONS}"


def next_action(state: State, status: Status | None) -> str:
    """One line with all that matters: the phase, the iteration, whose turn, and the feedback."""
    if state.status == "completed":
        return (
            "All phases are approved and the pull request is there: publish the docs with finalize"
        )
    if state.over:
        return f"Nothing: it is {state.status}"
    if is_done(state):
        return f"All phases are approved{_on(state)}: complete it"
    where = title(state.current_phase)
    if state.phase.iterations:
        where += f", iteration {iteration(state, status)}"
    # A reviewer looks at the artefact afresh; what was said before is for who revises, or decides.
    wanted = state.phase.status in {"in_progress", "escalated"}
    feedback = status.current_feedback if status and wanted else None
    line = f"{where}: {_doing(state, status)}"
    return f"{line}: {one_line(feedback, 200)}" if feedback else line


def _doing(state: State, status: Status | None) -> str:
    match state.phase.status:
        case "in_review":
            return "the reviewer evaluates the artefact"
        case "user_review":
            return f"a person reviews it{_on(state) or ' on the pull request'}"
        case "escalated":
            reason = reason_of_escalation(state)
            told = f" ({one_line(reason)})" if reason else ""
            return f"it is escalated{told}; a person has to give guidance, or to override"
        case "approved":
            return "it is approved; the next phase begins with its artefact"
    after = _AFTER.get(_last_action(status), "")
    if after or (status and status.current_feedback):
        return f"the creator revises {after}".rstrip()
    return "the creator works on the artefact"


def gate(state: State) -> str | None:
    """What the phase has to pass before the next one begins."""
    return None if state.over else _GATES.get(state.phase.status)


def _on(state: State) -> str:
    told = pull_request(state)
    return f" on {told}" if told else ""


def pull_request(state: State) -> str | None:
    """PR #7, with its URL."""
    named = f"PR #{state.pr_number}" if state.pr_number is not None else "the pull request"
    if state.pr_url:
        return f"{named} ({one_line(state.pr_url)})"
    return named if state.pr_number is not None else None


def reason_of_escalation(state: State) -> str | None:
    """Why the current phase waits for a person."""
    open_one = state.open_escalation
    return state.phase.escalation_reason or (open_one.reason if open_one else None)


def _last_action(status: Status | None) -> str:
    """What was done last by somebody who judges it."""
    for action, result in status.latest() if status else ():
        if action in _AFTER:
            return "" if result == APPROVED else action
        if action in {"started", "reset"}:
            break
    return ""


def context(state: State, status: Status | None) -> Iterator[tuple[str, Any]]:
    """What is to be known to go on, beside the next action."""
    yield "branch", state.branch
    yield "iteration", iteration(state, status)
    yield "whose turn", turn(state)
    yield "current feedback", status.current_feedback if status else None
    yield "open escalation", reason_of_escalation(state) if state.status == "escalated" else None
    yield "pull request", pull_request(state)
    yield "last reviewed at", state.last_reviewed_at
    done = [title(name) for name in PHASES if state.phases[name].status == "approved"]
    yield "approved phases", ", ".join(done)
