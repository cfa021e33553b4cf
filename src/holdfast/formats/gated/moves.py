"""What may be done to a feature: the moves of what its files say.

Rules, from the document:
1. Phases go in their order. None is skipped, and never are two in work.
2. Submitting makes the iteration at least 1. A revision adds one; at the maximum it escalates instead.
   Guidance and a person's changes keep it.
3. workflow-state.json and status.json say the same after each move, and the history only grows.
4. A person's comments count from last_reviewed_at on. They become the feedback, and the time of the
   newest one becomes last_reviewed_at, so that none is handled twice. Nothing else moves it: a text or
   an approval does not say which comments there are, and none is to be missed.
5. A move takes no step that is not in the tables of `machine`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.errors import IllegalMove
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.moves import move
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.model import (
    APPROVED,
    NEEDS_REVISION,
    PHASES,
    PhaseName,
    State,
    new_state,
    new_status,
    phases_after,
)
from holdfast.formats.gated.reviews import Comment, Review, earliest_phase, since
from holdfast.text.plaintext import counted

_PR = re.compile(r"https?://\S+/(?:pull|pulls|merge_requests)/([1-9]\d{0,8})(?:[/?#]\S*)?")


class PullRequest(NamedTuple):
    number: int
    url: str | None = None

    @classmethod
    def parse(cls, text: str) -> PullRequest:
        """The one that *text*, its URL or its number, means."""
        if re.fullmatch(r"#?[1-9]\d{0,8}", text):
            return cls(int(text.removeprefix("#")))
        match = _PR.fullmatch(text)
        if match is None:
            raise IllegalMove(
                f"{text!r} is not a pull request",
                hint="Its URL, such as https://github.com/OWNER/REPO/pull/7, or its number.",
            )
        return cls(int(match[1]), text)


def _timed(content: Content, at: str) -> None:
    content.at = content.state.updated_at = at


def begin(feature: str, at: str, *, title: str | None = None, branch: str | None = None) -> Content:
    """A new feature, in its first phase."""
    state = new_state(feature, at, title=title, branch=branch)
    content = Content(state, {phase: new_status(phase) for phase in PHASES}, at=at)
    _start(content, PHASES[0])
    return content


# The creator and the reviewer.


@move(_timed)
def submit(content: Content, _at: str) -> None:
    """The creator has completed the artefact; the reviewer's turn."""
    # Whoever approved the phase before may not have started the next one.
    if content.status.status == "approved" and phases_after(content.phase):
        _start(content, phases_after(content.phase)[0])
    elif content.status.status == "pending":
        _start(content, content.phase)
    content.step(content.phase, "submit", iterations=max(1, content.status.iterations))
    content.record(content.phase, "submitted")


@move(_timed)
def revise(content: Content, _at: str, text: str) -> None:
    """The reviewer requests a revision; TEXT is the review. At the maximum it escalates."""
    _reviewed(content, "revise", NEEDS_REVISION, text)
    status = content.status
    if status.iterations >= status.limit:
        content.step(content.phase, "exhaust", current_feedback=text)
        _escalate(content, f"maximum of {status.limit} iterations reached")
    else:
        after = status.iterations + 1
        content.step(content.phase, "revise", iterations=after, current_feedback=text)


@move(_timed)
def approve_internal(content: Content, _at: str, text: str, pr: PullRequest | None = None) -> None:
    """The reviewer approves; TEXT is the review. A person reviews next, on the pull request."""
    _reviewed(content, "approve-internal", APPROVED, text)
    content.step(content.phase, "approve-internal", current_feedback=None)
    _note_pull_request(content.state, pr, "approve-internal REVIEW")


def _note_pull_request(state: State, pr: PullRequest | None, command: str) -> None:
    """Note the pull request, which is needed now; a number alone keeps the URL of the same one only."""
    if pr is not None:
        if pr.url or state.pr_number != pr.number:
            state.pr_url = pr.url
        state.pr_number = pr.number
    if state.pr_url is None and state.pr_number is None:
        hint = f"Push the branch, open it, and give it: holdfast gate {command} --pr URL"
        raise IllegalMove("no pull request is known", hint=hint)


def _reviewed(content: Content, event: str, verdict: str, text: str) -> None:
    """Record the review; the history says whether the artefact was created or revised."""
    content.next_status(content.phase, event)
    actions = (action for action, _ in content.status.latest())
    known = (action for action in actions if action in {"created", "revised", "reset"})
    is_first = next(known, "reset") == "reset"
    content.review = Review(verdict, text, content.status.iterations, content.phase)
    content.record(content.phase, "created" if is_first else "revised", verdict)


# A person's review.


@move(_timed)
def approve(content: Content, _at: str, comments: Sequence[Comment] | None = None) -> None:
    """A person approves the phase; the next one begins. With --comments only if none is new."""
    new = since(comments or (), content.state.last_reviewed_at)
    if new:
        raise IllegalMove(
            f"the pull request has {counted(len(new), 'comment')} that nobody has worked on yet",
            hint="Have them worked on: holdfast gate request-changes --comments FILE",
        )
    _finish(content, "approve", "user_approved")


@move(_timed)
def request_changes(
    content: Content, _at: str, text: str = "", comments: Sequence[Comment] | None = None
) -> None:
    """A person wants the phase changed: TEXT, or those of the --comments that are new."""
    feedback, seen = _feedback(content, content.phase, text, comments)
    content.step(content.phase, "request-changes", current_feedback=feedback)
    content.record(content.phase, "user_changes", NEEDS_REVISION)
    content.state.last_reviewed_at = seen


@move(_timed)
def regress(
    content: Content,
    _at: str,
    phase: PhaseName,
    text: str = "",
    comments: Sequence[Comment] | None = None,
) -> None:
    """A person wants the earlier PHASE changed; what followed it is done again."""
    feedback, seen = _feedback(content, phase, text, comments)
    state, now = content.state, content.phase
    if phase >= now:
        raise IllegalMove(
            f"the current phase is {now}; {phase} is not an earlier one",
            hint="Changes of the phase itself: holdfast gate request-changes TEXT",
        )
    content.step(phase, "regress", current_feedback=feedback)
    state.phases[phase].completed_at = None
    content.record(phase, "regression", NEEDS_REVISION)
    for later in PHASES[PHASES.index(phase) + 1 : PHASES.index(now) + 1]:
        content.record(later, "reset")
        content.step(later, "reset", iterations=0, current_feedback=None)
        summary = state.phases[later]
        summary.started_at = summary.completed_at = summary.escalation_reason = None
    state.current_phase = phase
    state.last_reviewed_at = seen


def _feedback(
    content: Content, phase: PhaseName, text: str, comments: Sequence[Comment] | None
) -> tuple[str, str | None]:
    """The feedback on *phase*, and the time after which comments are new."""
    last = content.state.last_reviewed_at
    new = since(comments or (), last)
    # Comments on an earlier phase's files lead back to that phase.
    earliest = earliest_phase(new, content.slug or content.state.feature)
    if earliest and earliest < phase:
        raise IllegalMove(
            f"somebody commented on files of {earliest}, which comes before {phase}",
            hint=f"Go back to it: holdfast gate regress {earliest} --comments FILE",
        )
    if comments is None:
        return text, last
    if not new:
        raise IllegalMove(
            f"there is nothing new since {last}" if last else "there are no comments",
            hint="If all is well: holdfast gate approve",
        )
    return "\n\n".join(str(comment) for comment in new), iso_time(new[-1].at)


# Escalation.


@move(_timed)
def escalate(content: Content, _at: str, text: str) -> None:
    """Ask for a person; TEXT is the reason."""
    content.step(content.phase, "escalate")
    _escalate(content, text)


def _escalate(content: Content, reason: str) -> None:
    content.step_workflow("escalate")
    content.state.phase.escalation_reason = reason
    content.state.escalate(reason, content.at)
    content.record(content.phase, "escalated")


@move(_timed)
def guide(content: Content, _at: str, text: str, by: str | None = None) -> None:
    """A person gives guidance on what is escalated."""
    # Feedback that is still open stays below the guidance.
    content.step_workflow("guide")
    still_open = content.status.current_feedback
    feedback = f"{text}\n\nStill open:\n{still_open}" if still_open else text
    content.step(content.phase, "guide", current_feedback=feedback)
    content.record(content.phase, "guidance")
    _resolve(content, by or "guidance")


@move(_timed)
def override(content: Content, _at: str, by: str | None = None) -> None:
    """A person accepts what is escalated as it is; the next phase begins."""
    content.step_workflow("override")
    if content.status.iterations == 0:
        raise IllegalMove(
            f"nobody has submitted anything in {content.phase}, so there is nothing to accept",
            hint="A person says how to go on: holdfast gate guide TEXT",
        )
    _resolve(content, by or "override")
    _finish(content, "override", "override")


def _resolve(content: Content, by: str) -> None:
    """Close the open escalations of the current phase; entries of another shape stay as they are."""
    state = content.state
    state.phase.escalation_reason = None
    resolved = {"resolved": content.at, "by": by}
    state.escalations = [
        {**entry, **resolved} if state.is_open(entry) else entry for entry in state.escalations
    ]


# The end.


@move(_timed)
def complete(content: Content, _at: str, pr: PullRequest | None = None) -> None:
    """All phases are approved, and the pull request is there."""
    state = content.state
    content.step_workflow("complete")
    left = [name for name in PHASES if state.phases[name].status != "approved"]
    if left:
        raise IllegalMove(
            f"{state.name!r} is not done: {', '.join(left)}",
            hint="A phase ends when a person approves it: holdfast gate approve",
        )
    _note_pull_request(state, pr, "complete")


@move(_timed)
def finalize(content: Content, _at: str) -> None:
    """The docs are published; the workspace goes."""
    content.step_workflow("finalize")


@move(_timed)
def cancel(content: Content, _at: str) -> None:
    """Abandon the feature, so that it does not come back. Its files stay."""
    content.step_workflow("cancel")


@move(_timed)
def touch(content: Content, _at: str) -> None:
    """Somebody goes on with it; where it is not over, to write it anew is enough."""
    content.refuse_over()


def _start(content: Content, phase: PhaseName) -> None:
    content.state.current_phase = phase
    content.step(phase, "start", iterations=0, current_feedback=None)
    content.state.phases[phase].started_at = content.at
    content.record(phase, "started")


def _finish(content: Content, event: str, action: str) -> None:
    """The current phase is approved, and the next one begins."""
    phase = content.phase
    content.step(phase, event, current_feedback=None)
    content.state.phases[phase].completed_at = content.at
    content.record(phase, action, APPROVED)
    if phases_after(phase):
        _start(content, phases_after(phase)[0])
