"""What a person said on the pull request, and the moves that follow from it. Pure.

Comments count from last_reviewed_at on. They are gathered into the feedback, and the time of the
newest one becomes last_reviewed_at, so that none is worked on twice and none is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment, stamp
from holdfast.formats.gated import machine
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.model import PHASES, PhaseName, State
from holdfast.formats.gated.reviews import Comment, aggregated, earliest_phase, since
from holdfast.plaintext import counted


@dataclass(frozen=True)
class Said:
    """What a person wants changed: a text, or the comments on the pull request."""

    text: str = ""
    comments: Sequence[Comment] | None = None


def request_changes(content: Content, at: str, said: Said) -> Content:
    _refuse_earlier(content, said, content.phase)
    return machine.request_changes(content, at, *_feedback(content.state, at, said))


def regress(content: Content, at: str, phase: PhaseName, said: Said) -> Content:
    _refuse_earlier(content, said, phase)
    return machine.regress(content, at, phase, *_feedback(content.state, at, said))


def approve(content: Content, at: str, comments: Sequence[Comment] | None = None) -> Content:
    """Approved is what nobody objects to."""
    new = since(comments or (), content.state.last_reviewed_at)
    if new:
        raise IllegalMove(
            f"the pull request has {counted(len(new), 'comment')} that nobody has worked on yet",
            hint="Have them worked on: holdfast gate request-changes --comments FILE",
        )
    seen = comments[-1].created_at if comments else at
    return machine.approve(content, at, _later(content.state, seen))


def _feedback(state: State, at: str, said: Said) -> tuple[str, str]:
    """The feedback, and the time from which on comments are new."""
    if said.comments is None:
        return said.text, _later(state, at)
    new = since(said.comments, state.last_reviewed_at)
    if not new:
        last = state.last_reviewed_at
        raise IllegalMove(
            f"there is nothing new since {last}" if last else "there are no comments",
            hint="Where all is well: holdfast gate approve",
        )
    return aggregated(new), new[-1].created_at


def _later(state: State, at: str) -> str:
    """*at*, or last_reviewed_at where that is later: what was worked on is not worked on again."""
    last = moment(state.last_reviewed_at)
    return max(at, stamp(last)) if last else at


def _refuse_earlier(content: Content, said: Said, phase: PhaseName) -> None:
    """Comments on an earlier phase's files lead back to that phase."""
    new = since(said.comments or (), content.state.last_reviewed_at)
    earliest = earliest_phase(new, content.slug or content.state.feature)
    if earliest and PHASES.index(earliest) < PHASES.index(phase):
        raise IllegalMove(
            f"somebody commented on files of {earliest}, which comes before {phase}",
            hint=f"Go back to it: holdfast gate regress {earliest} --comments FILE",
        )
