"""The state machine: every transition as a table, and one step through it.

The tables hold the document's two lists and its regression; docs/formats/gated.md prints them. Rows that
only our commands need are marked as added. A step that is not in a table is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import IllegalMove
from holdfast.formats.gated.model import PHASES, PhaseName, State, StatusFile, phases_after

if TYPE_CHECKING:
    from holdfast.formats.gated.reviews import Review


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

# Events that follow from others, and the one that happens to an earlier phase: no command makes them here.
_NOT_OF_THE_PHASE = {"start", "reset", "exhaust", "regress"}


def ways(table: tuple[Transition, ...], before: str) -> dict[str, str]:
    """The events that are possible from *before*, and where each leads."""
    return {row.event: row.after for row in table if row.before == before}


def contradictions(state: State) -> Iterator[str]:
    """What in workflow-state.json cannot be true at once: "phases.02-architecture.status: expected …"."""

    expected: list[tuple[str, str, tuple[PhaseName, ...]]] = []
    if state.status == "completed":
        expected.append(("approved", "the workflow is completed", PHASES))
    elif not state.over:
        current = state.current_phase
        here = f"current_phase is {current}"
        expected.append(("approved", here, PHASES[: PHASES.index(current)]))
        expected.append(("pending", here, phases_after(current)))
        if state.status == "escalated":
            expected.append(("escalated", "the workflow is escalated", (current,)))
        elif state.phase.status == "escalated":
            yield (
                f"status: expected escalated, since phases.{current}.status is escalated, "
                f"found {state.status}"
            )
    for status, because, phases in expected:
        for phase in phases:
            if (found := state.phases[phase].status) != status:
                yield f"phases.{phase}.status: expected {status}, since {because}, found {found}"


@dataclass(slots=True)
class Content:
    """What the six state files of a feature say; a move changes a copy of it."""

    state: State
    statuses: Mapping[PhaseName, StatusFile]
    slug: str = ""  # the name of the feature's folder, where it is known
    at: str = ""  # when the move happens
    review: Review | None = None

    @property
    def phase(self) -> PhaseName:
        return self.state.current_phase

    @property
    def status(self) -> StatusFile:
        """The details of the current phase."""
        return self.statuses[self.phase]

    def record(self, phase: PhaseName, action: str, result: str | None = None) -> None:
        self.statuses[phase].record(action, self.at, result)

    def step(self, phase: PhaseName, event: str, **changes: Any) -> None:
        """Apply *event* to *phase*, in both of its files."""
        summary, status = self.state.phases[phase], self.statuses[phase]
        changes["status"] = self.next_status(phase, event)
        for name, value in changes.items():
            setattr(status, name, value)
        summary.status, summary.iterations = status.status, status.iterations

    def next_status(self, phase: PhaseName, event: str) -> str:
        """Where *event* leads *phase*; refused if it leads nowhere."""
        self.refuse_unless_in_progress()
        before = self.statuses[phase].status
        after = ways(PHASE, before).get(event)
        if after:
            return after
        possible = [way for way in ways(PHASE, before) if way not in _NOT_OF_THE_PHASE]
        hint = f"Possible: holdfast gate {', '.join(possible)}"
        if not possible:
            hint = "It starts when the phase before it is approved."
            if self.state.all_approved:
                hint = "All phases are approved: holdfast gate complete"
        raise IllegalMove(
            f"{phase} is {before.replace('_', ' ')}; {event} is not possible now", hint=hint
        )

    def step_workflow(self, event: str) -> None:
        """Apply *event* to the workflow as a whole."""
        possible = ways(WORKFLOW, self.state.status)
        if event not in possible:
            self.refuse_over()
            raise IllegalMove(
                f"{self.state.name!r} is {self.state.status.replace('_', ' ')}; {event} is not possible now",
                hint=f"Possible: holdfast gate {', '.join(possible)}",
            )
        self.state.status = possible[event]  # type: ignore[assignment]  # a word of the table

    def refuse_unless_in_progress(self) -> None:
        state = self.state
        if state.status == "escalated":
            reason = state.escalation_reason
            raise IllegalMove(
                f"{state.name!r} is escalated{f': {reason}' if reason else ''}",
                hint="A person decides: holdfast gate guide TEXT, or holdfast gate override",
            )
        self.refuse_over()

    def refuse_over(self) -> None:
        state = self.state
        if state.over:
            raise IllegalMove(
                f"{state.name!r} is {state.status}",
                hint="Publish its docs: holdfast gate finalize"
                if state.status == "completed"
                else "Start another feature: holdfast gate start",
            )
