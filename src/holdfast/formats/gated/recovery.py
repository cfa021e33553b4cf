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
from datetime import datetime

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment, stamp
from holdfast.formats.gated import files
from holdfast.formats.gated.evidence import Evidence, PhaseEvidence
from holdfast.formats.gated.model import (
    PHASES,
    PhaseName,
    PhaseSummary,
    State,
    Status,
    new_state,
    phases_after,
)
from holdfast.formats.gated.phase_recovery import put_status, rebuild_status, told_of
from holdfast.formats.gated.proposal import Proposal, Told


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
                rebuild_status(evidence.state, name, each, at, proposal)
    return proposal


def _refuse_unproven(evidence: Evidence) -> None:
    if evidence.description is None:
        place = f"{files.FOLDER}/{evidence.slug}"
        raise IllegalMove(
            f"{place}/{files.DESCRIPTION} is missing, so nothing proves that {place} is a workflow",
            hint="Write it anew, with the feature's title as its heading, and give this again.",
        )


def _rebuild_all(evidence: Evidence, at: datetime, proposal: Proposal) -> None:
    told = _phases(evidence, proposal)
    current = next((name for name in PHASES if told[name].status != "approved"), PHASES[-1])
    for name in phases_after(current):
        if told[name].status != "pending":
            proposal.contradictions.append(
                f"{name} is {told[name].status} ({told[name].why}), but {current} before it is "
                f"{told[current].status} ({told[current].why})"
            )
            told[name] = Told("pending", 0, f"{current} before it is not approved")
    proposal.state = _state(evidence, told, current, at, proposal)
    for name in PHASES:
        each, wanted = evidence.phases[name], told[name]
        there = each.status
        if there is None or (there.status, there.iterations) != wanted[:2]:
            put_status(name, each, wanted, at, proposal)


def _phases(evidence: Evidence, proposal: Proposal) -> dict[PhaseName, Told]:
    own = {name: told_of(evidence, name, proposal) for name in PHASES}
    named = evidence.commits[-1] if evidence.commits else None
    begun = [name for name in PHASES if (each := own[name]) and each.status != "pending"]
    last = max([*begun, *([named.phase] if named else [PHASES[0]])])
    return {name: own[name] or _without(evidence, name, last) for name in PHASES}


def _without(evidence: Evidence, name: PhaseName, last: PhaseName) -> Told:
    """A phase that nothing of its own tells of; *last* is the latest that has begun."""
    if evidence.copy:
        summary = evidence.copy.phases[name]
        return Told(summary.status, summary.iterations, f"our last good copy of {files.STATE}")
    if name < last:
        return Told("approved", 0, f"{last} has begun")
    if name > last:
        return Told("pending", 0, "nothing shows that it has begun")
    named = evidence.commits[-1] if evidence.commits else None
    if named and named.phase == name:
        return Told("in_progress", 0, f"the last commit of the workflow: {named.subject}")
    return Told("in_progress", 0, "every workflow begins with it")


def _state(
    evidence: Evidence,
    told: Mapping[PhaseName, Told],
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


def _fill(summary: PhaseSummary, told: Told, each: PhaseEvidence) -> None:
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
