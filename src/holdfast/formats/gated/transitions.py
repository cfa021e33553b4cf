"""Every transition that there is, as a table: the moves follow it, and docs/formats/gated.md prints it.

The document's two lists and its regression stand here as they stand there. What the commands need
beside that is marked as added.
"""

from __future__ import annotations

from typing import NamedTuple


class Transition(NamedTuple):
    before: str
    event: str
    after: str
    when: str
    added: bool = False  # not in the document


PHASE: tuple[Transition, ...] = (
    Transition("pending", "start", "in_progress", "the phase starts"),
    Transition("in_progress", "submit", "in_review", "the creator completes the artefact"),
    Transition("in_review", "revise", "in_progress", "the reviewer requests a revision"),
    Transition("in_review", "approve-internal", "user_review", "the internal reviewer approves"),
    Transition("in_review", "exhaust", "escalated", "a revision is requested at the maximum"),
    Transition("user_review", "approve", "approved", "a person approves"),
    Transition("user_review", "request-changes", "in_progress", "a person requests changes"),
    Transition("approved", "regress", "in_progress", "a person commented on an earlier phase"),
    Transition("approved", "reset", "pending", "an earlier phase is worked on again"),
    Transition("user_review", "reset", "pending", "an earlier phase is worked on again"),
    Transition("in_review", "reset", "pending", "an earlier phase is worked on again"),
    Transition("in_progress", "reset", "pending", "an earlier phase is worked on again"),
    Transition("pending", "reset", "pending", "an earlier phase is worked on again"),
    Transition("escalated", "guide", "in_progress", "a person provides guidance"),
    Transition("escalated", "override", "approved", "a person overrides"),
    Transition("in_progress", "escalate", "escalated", "somebody asks for a person", added=True),
    Transition("in_review", "escalate", "escalated", "somebody asks for a person", added=True),
    Transition("user_review", "escalate", "escalated", "somebody asks for a person", added=True),
)

WORKFLOW: tuple[Transition, ...] = (
    Transition("in_progress", "complete", "completed", "all 5 phases approved, PR created"),
    Transition("completed", "finalize", "finalized", "docs published, workspace deleted"),
    Transition("in_progress", "escalate", "escalated", "a phase escalates"),
    Transition("escalated", "guide", "in_progress", "a person provides guidance"),
    Transition("escalated", "override", "in_progress", "a person overrides", added=True),
    Transition("in_progress", "cancel", "cancelled", "the user cancels it"),
    Transition("escalated", "cancel", "cancelled", "the user cancels it", added=True),
)


def after(table: tuple[Transition, ...], before: str, event: str) -> str | None:
    """Where *event* leads from *before*; None where it leads nowhere."""
    return next((each.after for each in table if each[:2] == (before, event)), None)


def events(table: tuple[Transition, ...], before: str) -> list[str]:
    """What may happen next."""
    return [each.event for each in table if each.before == before]
