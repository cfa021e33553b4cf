"""What a feature's state files said, as far as the evidence tells it. Pure: evidence in, proposal out.

Rules:
1. A file that can be used stays. Where workflow-state.json holds, a status.json is rebuilt to agree with
   it, because it is the primary source of truth; the reviews give the history.
2. Where it does not, each phase is told by its status.json. A status.json that cannot be used is rebuilt
   from the reviews: their count is the iteration, the last verdict the status. Our last good copy of
   it counts where it knows of as many reviews. Without either, what the copy of
   workflow-state.json, the commits and the order of phases say.
3. Phases go in their order, so the current one is the first that is not approved, and what comes after
   it is pending.
4. What only one place knows, such as the pull request, is taken from our last good copy of
   workflow-state.json, or from the file itself where it can be read but not be true.
5. Where two pieces of evidence disagree, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment, stamp
from holdfast.formats.gated import files
from holdfast.formats.gated.evidence import Evidence, PhaseEvidence, Review
from holdfast.formats.gated.machine import APPROVED, NEEDS_REVISION
from holdfast.formats.gated.model import (
    MOST_ITERATIONS,
    PHASES,
    PhaseName,
    PhaseSummary,
    State,
    Status,
    new_state,
    new_status,
    phases_after,
)
from holdfast.formats.gated.reviews import said_in

_REVIEWED = frozenset({"created", "revised"})  # actions of the history that stand for a review
_LAST_COPY = "our last good copy of it"


class Finding(NamedTuple):
    """One field of what is proposed, and where it comes from."""

    field: str
    value: str
    evidence: str


@dataclass
class Proposal:
    """What would be written; empty where nothing is wrong."""

    state: State | None = None  # None where workflow-state.json stays as it is
    statuses: dict[PhaseName, Status] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def find(self, where: str, value: object, evidence: str) -> None:
        self.findings.append(Finding(where, "null" if value is None else str(value), evidence))


class _Told(NamedTuple):
    """What the evidence says of a phase."""

    status: str
    iterations: int
    why: str


def propose(evidence: Evidence, at: datetime) -> Proposal:
    """What the files are to say; refused where there is nothing that proves a workflow."""
    proposal = Proposal()
    if not evidence.wrong:
        return proposal
    if evidence.problem:
        _refuse_unproven(evidence)
        _rebuild_all(evidence, at, proposal)
    elif evidence.state is not None:
        for name, each in evidence.phases.items():
            if each.problem:
                _rebuild_status(evidence.state, name, each, at, proposal)
    return proposal


def _refuse_unproven(evidence: Evidence) -> None:
    if evidence.description is None:
        place = f"{files.FOLDER}/{evidence.slug}"
        raise IllegalMove(
            f"{place}/{files.DESCRIPTION} is missing, so nothing proves that {place} is a workflow",
            hint="Write it anew, with the feature's title as its heading, and give this again.",
        )


# A status.json beside a workflow-state.json that holds.


def _rebuild_status(
    state: State, name: PhaseName, each: PhaseEvidence, at: datetime, proposal: Proposal
) -> None:
    summary = state.phases[name]
    told = _Told(summary.status, summary.iterations, f"{files.STATE}, which counts before others")
    said = _by_reviews(each)
    if said and not _fits(said, summary):
        proposal.contradictions.append(
            f"{name}: {said.why} make it {said.status}, iteration {said.iterations}; "
            f"{files.STATE} says {summary.status}, iteration {summary.iterations}, which holds"
        )
    elif said:
        told = told._replace(why=f"{files.STATE}; {said.why} agree with it")
    _put_status(name, each, told, at, proposal)


def _fits(said: _Told, summary: PhaseSummary) -> bool:
    """Whether a phase may be as *summary* says after these reviews: a person may have gone on."""
    later = {
        "user_review": {"user_review", "approved", "in_progress", "in_review", "escalated"},
        "in_progress": {"in_progress", "in_review", "escalated"},
        "escalated": {"escalated", "in_progress", "in_review", "approved"},
        "in_review": {"in_review", "in_progress", "user_review"},
    }
    return summary.status in later[said.status]


def _put_status(
    name: PhaseName, each: PhaseEvidence, told: _Told, at: datetime, proposal: Proposal
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
    return _names(each.reviews) if each.reviews else "nothing is known of it"


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


# What is known of one phase without workflow-state.json.


def _by_reviews(each: PhaseEvidence) -> _Told | None:
    if not each.reviews:
        return None
    count, verdict = len(each.reviews), each.reviews[-1].verdict
    why = f"{_names(each.reviews)}, the last one {verdict or 'without a verdict'}"
    if verdict == APPROVED:
        return _Told("user_review", min(count, MOST_ITERATIONS), why)
    if verdict is None:
        return _Told("in_review", min(count, MOST_ITERATIONS), why)
    if count >= MOST_ITERATIONS:
        return _Told("escalated", MOST_ITERATIONS, why)
    return _Told("in_progress", count + 1, why)


def _names(reviews: tuple[Review, ...]) -> str:
    if len(reviews) == 1:
        return "1 review"
    return f"{len(reviews)} reviews"


def _is_behind(each: PhaseEvidence) -> bool:
    """Whether reviews were written since our copy was made."""
    return each.copy is not None and _reviewed(each.copy) != len(each.reviews)


def _reviewed(status: Status) -> int:
    return sum(
        isinstance(entry, dict) and entry.get("action") in _REVIEWED for entry in status.history
    )


def _of_phase(evidence: Evidence, name: PhaseName, proposal: Proposal) -> _Told | None:
    """What the phase's own evidence says; None where there is none."""
    each = evidence.phases[name]
    if each.status is not None:
        return _Told(each.status.status, each.status.iterations, f"{name}/{files.STATUS}")
    said = _by_reviews(each)
    if each.copy is not None:
        kept = _Told(each.copy.status, each.copy.iterations, _LAST_COPY)
        if said is None or not _is_behind(each):
            return kept
        proposal.contradictions.append(
            f"{name}: {_LAST_COPY} says {kept.status}, iteration {kept.iterations}, and knows of "
            f"{_reviewed(each.copy)} of its reviews; {said.why} count"
        )
    return said


# workflow-state.json.


def _rebuild_all(evidence: Evidence, at: datetime, proposal: Proposal) -> None:
    told = _phases(evidence, proposal)
    current = next((name for name in PHASES if told[name].status != "approved"), PHASES[-1])
    for name in phases_after(current):
        if told[name].status != "pending":
            proposal.contradictions.append(
                f"{name} is {told[name].status} ({told[name].why}), but {current} before it is "
                f"{told[current].status} ({told[current].why})"
            )
            told[name] = _Told("pending", 0, f"{current} before it is not approved")
    proposal.state = _state(evidence, told, current, at, proposal)
    for name in PHASES:
        each, wanted = evidence.phases[name], told[name]
        there = each.status
        if there is None or (there.status, there.iterations) != wanted[:2]:
            _put_status(name, each, wanted, at, proposal)


def _phases(evidence: Evidence, proposal: Proposal) -> dict[PhaseName, _Told]:
    own = {name: _of_phase(evidence, name, proposal) for name in PHASES}
    named = evidence.commits[-1] if evidence.commits else None
    begun = [name for name in PHASES if (each := own[name]) and each.status != "pending"]
    last = max([*begun, *([named.phase] if named else [PHASES[0]])])
    return {name: own[name] or _without(evidence, name, last) for name in PHASES}


def _without(evidence: Evidence, name: PhaseName, last: PhaseName) -> _Told:
    """A phase that nothing of its own tells of; *last* is the latest that has begun."""
    if evidence.copy:
        summary = evidence.copy.phases[name]
        return _Told(summary.status, summary.iterations, f"our last good copy of {files.STATE}")
    if name < last:
        return _Told("approved", 0, f"{last} has begun")
    if name > last:
        return _Told("pending", 0, "nothing shows that it has begun")
    named = evidence.commits[-1] if evidence.commits else None
    if named and named.phase == name:
        return _Told("in_progress", 0, f"the last commit of the workflow: {named.subject}")
    return _Told("in_progress", 0, "every workflow begins with it")


def _state(
    evidence: Evidence,
    told: Mapping[PhaseName, _Told],
    current: PhaseName,
    at: datetime,
    proposal: Proposal,
) -> State:
    base, source = evidence.state or evidence.copy, "the file itself"
    if evidence.state is None:
        source = f"our last good copy of {files.STATE}"
    if base is None:
        state = _new_state(evidence, at, proposal)
    else:
        state = base.model_copy(deep=True)
        for name in ("feature", "feature_title", "branch", "created_at", "pr_url"):
            proposal.find(name, getattr(state, name), source)
    state.updated_at = stamp(at)
    state.current_phase = current
    proposal.find("current_phase", current, "the first one that is not approved")
    for name in PHASES:
        _fill(state.phases[name], told[name], evidence.phases[name])
        proposal.find(
            f"phases.{name}",
            f"{told[name].status}, iteration {told[name].iterations}",
            told[name].why,
        )
        if base and (base.phases[name].status, base.phases[name].iterations) != told[name][:2]:
            proposal.contradictions.append(
                f"{name}: {source} says {base.phases[name].status}, iteration "
                f"{base.phases[name].iterations}; {told[name].why} tells {told[name].status}, "
                f"iteration {told[name].iterations}"
            )
    _set_status(state, base, source, proposal)
    _keep_escalations(state, at, proposal, source if base else "nothing is known of earlier ones")
    return state


def _new_state(evidence: Evidence, at: datetime, proposal: Proposal) -> State:
    begun, since = min(_times(evidence), default=(at, "nothing tells it; this is the time now"))
    created_at = stamp(begun)
    state = new_state(evidence.slug, created_at, title=evidence.title, branch=evidence.branch)
    proposal.find("feature", evidence.slug, "the name of the folder")
    heading = (
        "the heading of the description" if evidence.title else "the description has no heading"
    )
    proposal.find("feature_title", evidence.title, heading)
    branch = "git has this branch" if evidence.branch else "git has no branch feature/<slug>"
    proposal.find("branch", evidence.branch, branch)
    proposal.find("created_at", created_at, since)
    proposal.find("pr_url", None, "nothing tells it; give it with the next approve-internal --pr")
    return state


def _times(evidence: Evidence) -> Iterator[tuple[datetime, str]]:
    """Every time that something is known to have been there."""
    if evidence.described_at:
        yield evidence.described_at, "the time of the description's file"
    for commit in evidence.commits:
        yield commit.at, f"commit {commit.subject}"
    for name, each in evidence.phases.items():
        if each.status:
            for at in _stated(each.status):
                yield at, f"the history in {name}/{files.STATUS}"
        for review in each.reviews:
            yield review.at, review.path


def _stated(status: Status) -> list[datetime]:
    """The times that a history states."""
    entries = (entry for entry in status.history if isinstance(entry, dict))
    return [at for entry in entries if (at := moment(entry.get("timestamp")))]


def _fill(summary: PhaseSummary, told: _Told, each: PhaseEvidence) -> None:
    """Let *summary* say what is *told*, with the times that go with it."""
    summary.status = told.status  # type: ignore[assignment]  # a word of the document
    summary.iterations = told.iterations
    known = each.status or each.copy
    times = _stated(known) if known else [review.at for review in each.reviews]
    if told.status == "pending":
        summary.started_at = None
    elif summary.started_at is None and times:
        summary.started_at = stamp(min(times))
    if told.status != "approved":
        summary.completed_at = None
    elif summary.completed_at is None and times:
        summary.completed_at = stamp(max(times))
    if told.status != "escalated":
        summary.escalation_reason = None
    elif summary.escalation_reason is None:
        summary.escalation_reason = f"told by {told.why}"


def _set_status(state: State, base: State | None, source: str, proposal: Proposal) -> None:
    if base is not None and base.over and (base.status != "completed" or _all_approved(state)):
        state.status, why = base.status, source
    elif state.phase.status == "escalated":
        state.status, why = "escalated", f"{state.current_phase} is"
    elif _all_approved(state):
        state.status, why = (
            "in_progress",
            "all phases are approved; nothing tells that it was completed",
        )
    else:
        state.status, why = "in_progress", f"{state.current_phase} is not approved"
    proposal.find("status", state.status, why)


def _all_approved(state: State) -> bool:
    return all(each.status == "approved" for each in state.phases.values())


def _keep_escalations(state: State, at: datetime, proposal: Proposal, source: str) -> None:
    """What is escalated has an entry that is open."""
    if state.status == "escalated" and state.open_escalation is None:
        reason = state.phase.escalation_reason
        entry = {
            "phase": state.current_phase,
            "reason": reason,
            "raised": stamp(at),
            "resolved": None,
            "by": None,
        }
        state.escalations = [*state.escalations, entry]
        source = f"{source}; one for {state.current_phase}, which is escalated"
    proposal.find("escalations", f"{len(state.escalations)} entries", source)
