"""What may be done to a feature: each move is a function from its files' content to the next content.

Rules, from the document:
1. Phases go in their order. None is skipped, and never are two in work.
2. Submitting makes the iteration at least 1. A revision adds one; at the maximum it escalates instead.
   Guidance and a person's changes keep it.
3. workflow-state.json and status.json say the same after each move, and the history only grows.
4. What leads where stands in `transitions`. A move takes no way that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.errors import IllegalMove
from holdfast.formats.gated import transitions
from holdfast.formats.gated.model import (
    PHASES,
    PhaseName,
    State,
    Status,
    new_state,
    new_status,
    phases_after,
)

NEEDS_REVISION = "NEEDS_REVISION"
APPROVED = "APPROVED"
_PR = re.compile(r"https?://\S+/(?:pull|pulls|merge_requests)/([1-9]\d{0,8})(?:[/?#]\S*)?")
_WHAT_TO_DO = {
    "start": "it starts when the phase before it is approved",
    "submit": "submit the artefact: holdfast gate submit",
    "revise": "request a revision: holdfast gate revise REVIEW",
    "approve-internal": "pass it on to a person: holdfast gate approve-internal REVIEW",
    "approve": "holdfast gate approve",
    "request-changes": "holdfast gate request-changes TEXT",
    "guide": "holdfast gate guide TEXT",
    "override": "holdfast gate override",
}


@dataclass(frozen=True)
class Content:
    """What the six state files of a feature say."""

    state: State
    statuses: Mapping[PhaseName, Status]
    slug: str = ""  # the name of its folder, where that is known

    @property
    def phase(self) -> PhaseName:
        return self.state.current_phase

    @property
    def status(self) -> Status:
        """Of the current phase."""
        return self.statuses[self.phase]

    def copy(self, at: str) -> Content:
        state = self.state.model_copy(deep=True)
        state.updated_at = at
        statuses = {name: each.model_copy(deep=True) for name, each in self.statuses.items()}
        return Content(state, statuses, self.slug)


class PullRequest(NamedTuple):
    number: int
    url: str | None = None

    @classmethod
    def of(cls, text: str) -> PullRequest:
        """The one that *text*, its URL or its number, means."""
        if re.fullmatch(r"#?[1-9]\d{0,8}", text):
            return cls(int(text.removeprefix("#")))
        match = _PR.fullmatch(text)
        if match is None:
            raise IllegalMove(
                f"{text!r} is no pull request",
                hint="Its URL, such as https://github.com/OWNER/REPO/pull/7, or its number.",
            )
        return cls(int(match[1]), text)


# Beginning.


def begin(feature: str, at: str, *, title: str | None = None, branch: str | None = None) -> Content:
    """A new feature, in its first phase."""
    content = Content(
        new_state(feature, at, title=title, branch=branch),
        {phase: new_status(phase) for phase in PHASES},
    )
    _start(content, PHASES[0], at)
    return content


def _start(content: Content, phase: PhaseName, at: str) -> None:
    content.state.current_phase = phase
    _step(content, phase, "start", iterations=0, current_feedback=None)
    content.state.phases[phase].started_at = at
    _record(content, phase, at, "started")


# The creator and the reviewer.


def submit(content: Content, at: str) -> Content:
    """The creator has completed the artefact; the reviewer's turn."""
    content = _working(content, at)
    _catch_up(content, at)
    status = content.status
    _step(content, content.phase, "submit", iterations=max(1, status.iterations))
    _record(content, content.phase, at, "submitted")
    return content


def _catch_up(content: Content, at: str) -> None:
    """Begin the phase that is due, where whoever approved the one before has not."""
    phase = content.phase
    if content.status.status == "approved" and phase != PHASES[-1]:
        _start(content, _next(phase), at)
    elif content.status.status == "pending":
        _start(content, phase, at)


def revise(content: Content, at: str, feedback: str) -> Content:
    """The reviewer requests a revision; at the maximum of iterations a person is asked instead."""
    content = _working(content, at)
    phase, status = content.phase, content.status
    _reviewed(content, at, "revise", NEEDS_REVISION)
    if status.iterations >= status.limit:
        _step(content, phase, "exhaust", current_feedback=feedback)
        _raise(content, at, f"maximum of {status.limit} iterations reached")
    else:
        _step(content, phase, "revise", iterations=status.iterations + 1, current_feedback=feedback)
    return content


def approve_internal(content: Content, at: str, pull_request: PullRequest | None = None) -> Content:
    """The reviewer approves; a person's turn, on the pull request."""
    content = _working(content, at)
    _reviewed(content, at, "approve-internal", APPROVED)
    _step(content, content.phase, "approve-internal", current_feedback=None)
    if pull_request is not None:
        know(content.state, pull_request)
    return content


def know(state: State, pull_request: PullRequest) -> None:
    """Note the pull request; a number alone keeps the URL only where that is of the same one."""
    if pull_request.url or state.pr_number != pull_request.number:
        state.pr_url = pull_request.url
    state.pr_number = pull_request.number


def _reviewed(content: Content, at: str, event: str, verdict: str) -> None:
    """The history says of an iteration whether its artefact was created or revised, and the verdict."""
    _checked(content, content.phase, event)
    _record(content, content.phase, at, _made(content.status), verdict)


def _made(status: Status) -> str:
    for action, _ in status.latest():
        if action in {"created", "revised"}:
            return "revised"
        if action == "reset":
            break
    return "created"


# A person's review.


def approve(content: Content, at: str, reviewed_at: str) -> Content:
    """A person approves the phase; the next one begins."""
    content = _working(content, at)
    _finish(content, at, "approve", "user_approved")
    content.state.last_reviewed_at = reviewed_at
    return content


def request_changes(content: Content, at: str, feedback: str, reviewed_at: str) -> Content:
    """A person wants the phase changed; the creator's turn."""
    content = _working(content, at)
    _step(content, content.phase, "request-changes", current_feedback=feedback)
    _record(content, content.phase, at, "user_changes", NEEDS_REVISION)
    content.state.last_reviewed_at = reviewed_at
    return content


def regress(
    content: Content, at: str, phase: PhaseName, feedback: str, reviewed_at: str
) -> Content:
    """A person wants an earlier phase changed; all that followed it is to be done again."""
    content = _working(content, at)
    now = content.phase
    if PHASES.index(phase) >= PHASES.index(now):
        raise IllegalMove(
            f"the current phase is {now}; {phase} is no earlier one",
            hint="Changes of the phase itself: holdfast gate request-changes TEXT",
        )
    _step(content, phase, "regress", current_feedback=feedback)
    content.state.phases[phase].completed_at = None
    _record(content, phase, at, "regression", NEEDS_REVISION)
    for later in PHASES[PHASES.index(phase) + 1 : PHASES.index(now) + 1]:
        _reset(content, later, at)
    content.state.current_phase = phase
    content.state.last_reviewed_at = reviewed_at
    return content


def _reset(content: Content, phase: PhaseName, at: str) -> None:
    _record(content, phase, at, "reset")
    _step(content, phase, "reset", iterations=0, current_feedback=None)
    summary = content.state.phases[phase]
    summary.started_at = summary.completed_at = summary.escalation_reason = None


# Escalation.


def escalate(content: Content, at: str, reason: str) -> Content:
    """Somebody asks for a person before the maximum of iterations is reached."""
    content = _working(content, at)
    _step(content, content.phase, "escalate")
    _raise(content, at, reason)
    return content


def _raise(content: Content, at: str, reason: str) -> None:
    state, phase = content.state, content.phase
    _step_workflow(state, "escalate")
    state.phases[phase].escalation_reason = reason
    entry = {"phase": phase, "reason": reason, "raised": at, "resolved": None, "by": None}
    state.escalations = [*state.escalations, entry]
    _record(content, phase, at, "escalated")


def guide(content: Content, at: str, guidance: str, by: str | None = None) -> Content:
    """A person says how to go on. Feedback that is still open stays below the guidance."""
    content = content.copy(at)
    _step_workflow(content.state, "guide")
    open_feedback = content.status.current_feedback
    feedback = f"{guidance}\n\nStill open:\n{open_feedback}" if open_feedback else guidance
    _step(content, content.phase, "guide", current_feedback=feedback)
    _record(content, content.phase, at, "guidance")
    _resolve(content, at, by or "guidance")
    return content


def override(content: Content, at: str, by: str | None = None) -> Content:
    """A person takes the phase as it is; the next one begins."""
    content = content.copy(at)
    _step_workflow(content.state, "override")
    _resolve(content, at, by or "override")
    _finish(content, at, "override", "override")
    return content


def _resolve(content: Content, at: str, by: str) -> None:
    """Close what is open of the current phase; entries of another shape stay as they are."""
    state = content.state
    state.phases[content.phase].escalation_reason = None
    state.escalations = [
        {**entry, "resolved": at, "by": by} if _is_open(entry, content.phase) else entry
        for entry in state.escalations
    ]


def _is_open(entry: Any, phase: PhaseName) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("phase") == phase
        and "reason" in entry
        and entry.get("resolved") is None
    )


# The end.


def complete(content: Content, at: str, pull_request: PullRequest | None = None) -> Content:
    """All phases are approved and there is a pull request, which may be told only now."""
    content = content.copy(at)
    state = content.state
    if pull_request is not None:
        know(state, pull_request)
    _step_workflow(state, "complete")
    left = [name for name in PHASES if state.phases[name].status != "approved"]
    if left:
        raise IllegalMove(
            f"{state.name!r} is not done: {', '.join(left)}",
            hint="A phase ends when a person approves it: holdfast gate approve",
        )
    if state.pr_url is None and state.pr_number is None:
        raise IllegalMove(
            "no pull request is known", hint="Tell it: holdfast gate complete --pr URL"
        )
    return content


def finalize(content: Content, at: str) -> Content:
    """The docs are published; the workspace goes."""
    content = content.copy(at)
    _step_workflow(content.state, "finalize")
    return content


def cancel(content: Content, at: str) -> Content:
    """The user gives the feature up."""
    content = content.copy(at)
    _step_workflow(content.state, "cancel")
    return content


def take_up(content: Content, at: str) -> Content:
    """Somebody goes on with it."""
    _refuse_over(content.state)
    return content.copy(at)


# What moves share.


def _working(content: Content, at: str) -> Content:
    """A copy to work on, where the workflow is in progress."""
    state = content.state
    if state.status == "escalated":
        open_one = state.open_escalation
        reason = f": {open_one.reason}" if open_one else ""
        raise IllegalMove(
            f"{state.name!r} is escalated{reason}",
            hint="A person decides: holdfast gate guide TEXT, or holdfast gate override",
        )
    _refuse_over(state)
    return content.copy(at)


def _refuse_over(state: State) -> None:
    if state.over:
        raise IllegalMove(
            f"{state.name!r} is {state.status}",
            hint="Its docs are published by: holdfast gate finalize"
            if state.status == "completed"
            else "Another feature: holdfast gate start",
        )


def _finish(content: Content, at: str, event: str, action: str) -> None:
    """The current phase is approved, and the next one begins."""
    phase = content.phase
    _step(content, phase, event, current_feedback=None)
    content.state.phases[phase].completed_at = at
    _record(content, phase, at, action, APPROVED)
    if phase != PHASES[-1]:
        _start(content, _next(phase), at)


def _next(phase: PhaseName) -> PhaseName:
    return next(phases_after(phase))


def _step(content: Content, phase: PhaseName, event: str, **changes: Any) -> None:
    """Let *event* happen to *phase*, in both files."""
    changes["status"] = _checked(content, phase, event)
    summary, status = content.state.phases[phase], content.statuses[phase]
    for name, value in changes.items():
        setattr(status, name, value)
    summary.status = status.status
    summary.iterations = status.iterations


def _checked(content: Content, phase: PhaseName, event: str) -> str:
    """Where *event* leads; refused where it leads nowhere."""
    before = content.statuses[phase].status
    after = transitions.after(transitions.PHASE, before, event)
    if after is None:
        possible = transitions.events(transitions.PHASE, before)
        ways = [_WHAT_TO_DO[each] for each in possible if each in _WHAT_TO_DO]
        raise IllegalMove(
            f"{phase} is {before.replace('_', ' ')}; {_named(event)} is not possible now",
            hint=f"Possible: {'; or '.join(ways)}" if ways else _at_the_end(content),
        )
    return after


def _named(event: str) -> str:
    return "revise" if event == "exhaust" else event


def _at_the_end(content: Content) -> str:
    if content.phase == PHASES[-1]:
        return "All phases are approved: holdfast gate complete"
    return f"The current phase is {content.phase}."


def _step_workflow(state: State, event: str) -> None:
    after = transitions.after(transitions.WORKFLOW, state.status, event)
    if after is None:
        _refuse_over(state)
        raise IllegalMove(
            f"{state.name!r} is {state.status.replace('_', ' ')}; {event} is not possible now",
            hint="See what is: holdfast gate status",
        )
    state.status = after  # type: ignore[assignment]  # a word of the table


def _record(
    content: Content, phase: PhaseName, at: str, action: str, result: str | None = None
) -> None:
    status = content.statuses[phase]
    entry = {
        "iteration": status.iterations,
        "action": action,
        "timestamp": at,
        "result": result,
    }
    status.history = [*status.history, entry]
