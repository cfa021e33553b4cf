"""What the evidence tells of one phase, and the status.json that follows from it. Pure.

The rules stand in `recovery`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from holdfast.formats.document import stamp
from holdfast.formats.gated import files
from holdfast.formats.gated.evidence import Evidence, PhaseEvidence, Review
from holdfast.formats.gated.machine import APPROVED, NEEDS_REVISION
from holdfast.formats.gated.model import (
    MOST_ITERATIONS,
    PhaseName,
    PhaseSummary,
    State,
    Status,
    new_status,
)
from holdfast.formats.gated.proposal import Proposal, Told
from holdfast.formats.gated.reviews import said_in
from holdfast.plaintext import counted

_REVIEWED = frozenset({"created", "revised"})  # actions of the history that stand for a review
_LAST_COPY = "our last good copy of it"


# What is known of one phase without workflow-state.json.


def _by_reviews(each: PhaseEvidence) -> Told | None:
    if not each.reviews:
        return None
    count, verdict = len(each.reviews), each.reviews[-1].verdict
    why = f"{counted(len(each.reviews), 'review')}, the last one {verdict or 'without a verdict'}"
    if verdict == APPROVED:
        return Told("user_review", min(count, MOST_ITERATIONS), why)
    if verdict is None:
        return Told("in_review", min(count, MOST_ITERATIONS), why)
    if count >= MOST_ITERATIONS:
        return Told("escalated", MOST_ITERATIONS, why)
    return Told("in_progress", count + 1, why)


def _is_behind(each: PhaseEvidence) -> bool:
    """Whether reviews were written since our copy was made."""
    return each.copy is not None and _reviewed(each.copy) != len(each.reviews)


def _reviewed(status: Status) -> int:
    return sum(
        isinstance(entry, dict) and entry.get("action") in _REVIEWED for entry in status.history
    )


def told_of(evidence: Evidence, name: PhaseName, proposal: Proposal) -> Told | None:
    """What the phase's own evidence says; None where there is none."""
    each = evidence.phases[name]
    if each.status is not None:
        return Told(each.status.status, each.status.iterations, f"{name}/{files.STATUS}")
    said = _by_reviews(each)
    if each.copy is not None:
        kept = Told(each.copy.status, each.copy.iterations, _LAST_COPY)
        if said is None or not _is_behind(each):
            return kept
        proposal.contradictions.append(
            f"{name}: {_LAST_COPY} says {kept.status}, iteration {kept.iterations}, and knows of "
            f"{_reviewed(each.copy)} of its reviews; {said.why} count"
        )
    return said


# A status.json beside a workflow-state.json that holds.


def rebuild_status(
    state: State, name: PhaseName, each: PhaseEvidence, at: datetime, proposal: Proposal
) -> None:
    summary = state.phases[name]
    told = Told(summary.status, summary.iterations, f"{files.STATE}, which counts before others")
    said = _by_reviews(each)
    if said and not _fits(said, summary):
        proposal.contradictions.append(
            f"{name}: {said.why} make it {said.status}, iteration {said.iterations}; "
            f"{files.STATE} says {summary.status}, iteration {summary.iterations}, which holds"
        )
    elif said:
        told = told._replace(why=f"{files.STATE}; {said.why} agree with it")
    put_status(name, each, told, at, proposal)


def _fits(said: Told, summary: PhaseSummary) -> bool:
    """Whether a phase may be as *summary* says after these reviews: a person may have gone on."""
    later = {
        "user_review": {"user_review", "approved", "in_progress", "in_review", "escalated"},
        "in_progress": {"in_progress", "in_review", "escalated"},
        "escalated": {"escalated", "in_progress", "in_review", "approved"},
        "in_review": {"in_review", "in_progress", "user_review"},
    }
    return summary.status in later[said.status]


def put_status(
    name: PhaseName, each: PhaseEvidence, told: Told, at: datetime, proposal: Proposal
) -> None:
    """Propose a status.json that says what is *told*."""
    base = each.status or each.copy
    status = base.model_copy(deep=True) if base else new_status(name)
    status.status = told.status  # type: ignore[assignment]  # a word of the document
    status.iterations = told.iterations
    if base is None:
        status.history = [_entry(number, review) for number, review in enumerate(each.reviews, 1)]
    status.history = [*status.history, _recovered(status, at)]
    status.current_feedback = _feedback(status, each, base)
    proposal.statuses[name] = status
    where = f"{name}/{files.STATUS}"
    proposal.find(f"{where}: status", told.status, told.why)
    proposal.find(f"{where}: iterations", told.iterations, told.why)
    proposal.find(f"{where}: history", f"{len(status.history)} entries", _history_from(each))


def _history_from(each: PhaseEvidence) -> str:
    if each.status:
        return "the file itself"
    if each.copy:
        return _LAST_COPY
    return counted(len(each.reviews), "review") if each.reviews else "nothing is known of it"


def _entry(number: int, review: Review) -> dict[str, Any]:
    return {
        "iteration": min(number, MOST_ITERATIONS),
        "action": "created" if number == 1 else "revised",
        "timestamp": stamp(review.at),
        "result": review.verdict,
    }


def _recovered(status: Status, at: datetime) -> dict[str, Any]:
    return {
        "iteration": status.iterations,
        "action": "recovered",
        "timestamp": stamp(at),
        "result": None,
    }


def _feedback(status: Status, each: PhaseEvidence, base: Status | None) -> str | None:
    """What the creator has to work from."""
    if base and (base.status, base.iterations) == (status.status, status.iterations):
        return base.current_feedback
    if status.status not in {"in_progress", "in_review", "escalated"}:
        return None
    last = each.reviews[-1] if each.reviews else None
    if last and last.verdict == NEEDS_REVISION:
        return said_in(last.text)
    return status.current_feedback
