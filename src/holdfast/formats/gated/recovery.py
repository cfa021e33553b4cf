"""Rebuild damaged state files from the evidence, once somebody has agreed to it.

Rules:
1. A usable file stays. If workflow-state.json holds, a status.json is rebuilt to agree with it, because it
   is the primary source of truth; the reviews give the history.
2. If it does not hold, each status.json tells of its phase. An unusable status.json is rebuilt from the
   reviews: their count is the iteration, the last verdict the status. Our last good copy of it counts if it
   knows of as many reviews. Without either, our copy of workflow-state.json, the commits and the order of
   phases tell.
3. Phases go in their order, so the current one is the first that is not approved, and what comes after
   it is pending.
4. What only one place knows, such as the pull request, comes from our last good copy of
   workflow-state.json, or from the file itself if it can be read but contradicts itself.
5. Pieces of evidence that disagree are named.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from holdfast import clock
from holdfast.config import project
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files import git
from holdfast.files.store import COMMAND_WAIT, Store
from holdfast.formats.engine.document import iso_time, moment
from holdfast.formats.engine.loading import Unusable
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.machine import Content, contradictions
from holdfast.formats.gated.model import (
    APPROVED,
    MOST_ITERATIONS,
    NEEDS_REVISION,
    PHASES,
    PhaseName,
    State,
    StatusFile,
    new_state,
    new_status,
    phases_after,
)
from holdfast.formats.gated.reviews import reviewers_text, verdict_of
from holdfast.text.plaintext import counted, decode, one_line

# Where the fields of a new workflow-state.json come from.
_NEW = {
    "feature": "the name of the folder",
    "feature_title": "the first heading of the description",
    "branch": "feature/<slug>, if git has it",
    "created_at": "the time of the description, or of the first commit",
    "pr_url": "given with the next approve-internal --pr",
}
_LAST_COPY = "our last good copy of it"
_STATED_TIME = re.compile(r"^Time:[ \t]*(\S+)[ \t]*$", re.MULTILINE)


class Finding(NamedTuple):
    """One field of what is proposed, and where it comes from."""

    field: str
    value: str
    evidence: str


@dataclass
class Proposal:
    """What would be written; empty if nothing is wrong."""

    state: State | None = None  # None if workflow-state.json stays as it is
    statuses: dict[PhaseName, StatusFile] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def find(self, where: str, value: object, evidence: str) -> None:
        self.findings.append(Finding(where, "null" if value is None else str(value), evidence))


def damaged(place: Place) -> list[str]:
    """The features of which a state file is missing, cannot be used, or cannot be true."""
    folders = files.folders(place.store)
    features = (files.read(place.store, folder) for folder in folders)
    return [feature.slug for feature in features if _is_damaged(place.store, feature)]


def _is_damaged(store: Store, feature: Feature) -> bool:
    if isinstance(feature.main, Unusable):
        return feature.main.is_ours or files.is_described(store, feature.folder)
    return not all(map(files.usable, feature.files.values())) or any(contradictions(feature.state))


def recover(place: Place, slug: str, agreed: Proposal) -> list[str]:
    """Write what somebody has *agreed* to. Returns where the previous files are kept, one line each."""
    store, folder = place.store, files.folder_of(place.store, slug)
    with store.lock(COMMAND_WAIT):
        if propose(place, slug) != agreed:
            raise IllegalMove(
                f"the files of {slug!r} changed meanwhile",
                hint="Nothing was written. Run the command again and check what it shows.",
            )
        state = agreed.state or files.readable_state(files.read(store, folder))
        replaced = [folder / phase / files.STATUS for phase in agreed.statuses]
        replaced += [folder / files.STATE] if agreed.state else []
        lines = []
        for path in filter(os.path.lexists, replaced):
            # What a link leads to is not read.
            is_link = path.is_symlink()
            aside = store.set_aside(path, place.stamp, move=True) if is_link else None
            kept = store.relative(aside or FORMAT.set_aside(place, path))
            lines.append(f"what {store.relative(path)} said is in {kept}")
        FORMAT.put(place, folder / files.STATE, Content(state, agreed.statuses))
    return lines


def propose(place: Place, slug: str) -> Proposal:
    """What would be written; refused if nothing proves that there is a workflow."""
    feature = files.read(place.store, files.folder_of(place.store, slug))
    known = {phase: _evidence(place.store, feature, phase) for phase in PHASES}
    state, proposal = files.usable(feature.main), Proposal()
    if state and not any(contradictions(state)):
        stands = {phase: _told_by(state, phase, known[phase], proposal) for phase in PHASES}
        unusable = [phase for phase in PHASES if known[phase].status is None]
    else:
        stands = _rebuild_state(place, feature, state, known, proposal)
        unusable = [phase for phase in PHASES if not known[phase].says(stands[phase])]
    for phase in unusable:
        _rebuild_status(phase, known[phase], stands[phase], iso_time(place.now), proposal)
    return proposal


# The evidence.


class Standing(NamedTuple):
    """How a phase stands, and what tells that."""

    status: str
    iterations: int
    why: str

    def __str__(self) -> str:
        return f"{self.status}, iteration {self.iterations}"


class WrittenReview(NamedTuple):
    """What a review-N.md tells."""

    verdict: str | None
    at: datetime
    text: str


class Evidence(NamedTuple):
    """What there is of one phase."""

    status: StatusFile | None  # as its status.json says it, if that can be used
    copy: StatusFile | None  # our last good copy of it, if it cannot
    reviews: list[WrittenReview]

    def says(self, stands: Standing) -> bool:
        return self.status is not None and self.status.stands == stands[:2]


def _evidence(store: Store, feature: Feature, phase: PhaseName) -> Evidence:
    status = files.usable(feature.statuses[phase])
    copies = None if status else store.copies(feature.folder / phase / files.STATUS)
    reviews = [*_reviews(store, feature.folder, phase)]
    return Evidence(status, files.STATUS_KIND.good_copy(copies), reviews)


def _reviews(store: Store, folder: Path, phase: PhaseName) -> Iterator[WrittenReview]:
    """The reviews of *phase*, in the order of their numbers."""
    for _, path in files.reviews(store, folder, phase):
        if read := _text(store, path):
            text, written = read
            stated = _STATED_TIME.search(text)
            yield WrittenReview(verdict_of(text), (stated and moment(stated[1])) or written, text)


def _text(store: Store, path: Path) -> tuple[str, datetime] | None:
    """The text of a file in the project and when it was written; None if there is none to read."""
    with contextlib.suppress(StateUnreadable):
        raw, mtime = store.read(path)
        return decode(raw), clock.from_mtime(mtime)
    return None


def _commits(root: Path, workspace: str) -> tuple[datetime | None, str]:
    """When a file of the workspace was committed first, and the last commit since then that names a phase."""
    first = git.answer(str(root), "log", "--reverse", "--format=%ct", "--", workspace)
    if not first:
        return None, ""
    begun = first.partition("\n")[0]
    named = rf"--grep=^\[workflow\] ({'|'.join(PHASES)}): "
    asked = ("log", "-1", f"--since=@{begun}", "--extended-regexp", named, "--format=%s")
    return clock.from_mtime(float(begun)), git.answer(str(root), *asked) or ""


def _by_reviews(reviews: list[WrittenReview]) -> Standing | None:
    """What the reviews alone say of a phase."""
    if not reviews:
        return None
    count, verdict = len(reviews), reviews[-1].verdict
    why = f"{counted(count, 'review')}, the last one {verdict or 'without a verdict'}"
    if verdict == NEEDS_REVISION:
        if count >= MOST_ITERATIONS:
            return Standing("escalated", MOST_ITERATIONS, why)
        return Standing("in_progress", count + 1, why)
    status = "user_review" if verdict == APPROVED else "in_review"
    return Standing(status, min(count, MOST_ITERATIONS), why)


def _by_phase(phase: PhaseName, known: Evidence, proposal: Proposal) -> Standing | None:
    """What the phase's own evidence says; None if there is none."""
    if known.status:
        return Standing(*known.status.stands, f"{phase}/{files.STATUS}")
    said, copy = _by_reviews(known.reviews), known.copy
    if copy is None:
        return said
    actions = [action for action, _ in copy.latest()]
    reviewed = actions.count("created") + actions.count("revised")
    if said is None or reviewed == len(known.reviews):
        return Standing(*copy.stands, _LAST_COPY)
    proposal.contradictions.append(
        f"{phase}: {_LAST_COPY} says {copy}, and knows of {reviewed} of its reviews; "
        f"{said.why} count"
    )
    return said


# Each status.json that is damaged.


def _told_by(state: State, phase: PhaseName, known: Evidence, proposal: Proposal) -> Standing:
    """How *phase* stands by a workflow-state.json that holds; reviews of a lost status.json may disagree."""
    summary, said = state.phases[phase], None if known.status else _by_reviews(known.reviews)
    passed = summary.status in {"user_review", "approved"}  # people may have gone on since
    if said and (summary.status == "pending" or (passed and said.status == "in_progress")):
        proposal.contradictions.append(
            f"{phase}: {said.why} make it {said}; {files.STATE} says {summary}, which holds"
        )
    return Standing(*summary.stands, f"{files.STATE}, which counts before others")


def _rebuild_status(
    phase: PhaseName, known: Evidence, stands: Standing, at: str, proposal: Proposal
) -> None:
    """Propose a status.json for a phase that *stands* so."""
    base = known.status or known.copy
    if base:
        status = base.model_copy(deep=True)
        source = "the file itself" if known.status else _LAST_COPY
    else:
        status, source = new_status(phase), counted(len(known.reviews), "review")
        for number, review in enumerate(known.reviews, 1):
            action = "created" if number == 1 else "revised"
            iteration = min(number, MOST_ITERATIONS)
            status.record(action, iso_time(review.at), review.verdict, iteration)
    status.status = stands.status  # type: ignore[assignment]  # a word of the document
    status.iterations = stands.iterations
    status.record("recovered", at)
    last = known.reviews[-1] if known.reviews else None
    if stands.status not in {"in_progress", "in_review", "escalated"}:
        status.current_feedback = None
    elif last and last.verdict == NEEDS_REVISION and (not base or base.stands != stands[:2]):
        status.current_feedback = reviewers_text(last.text)
    proposal.statuses[phase] = status
    proposal.find(f"{phase}/{files.STATUS}", stands, stands.why)
    proposal.find(f"{phase}/{files.STATUS}: history", f"{len(status.history)} entries", source)


# workflow-state.json, where that does not hold.


def _rebuild_state(
    place: Place,
    feature: Feature,
    state: State | None,
    known: Mapping[PhaseName, Evidence],
    proposal: Proposal,
) -> dict[PhaseName, Standing]:
    """Propose a workflow-state.json; returns how the phases stand."""
    workspace = files.workspace(feature.slug)
    described = _text(place.store, feature.folder / files.DESCRIPTION)
    if described is None:
        raise IllegalMove(
            f"{workspace}/{files.DESCRIPTION} is missing, so nothing proves that {workspace} is a workflow",
            hint="Write it again with the feature's title as its heading, and rerun the command.",
        )
    begun, commit = _commits(place.root, workspace)
    base, source = state, "the file itself"
    if base is None:
        base = files.STATE_KIND.good_copy(place.store.copies(feature.path))
        source = f"our last good copy of {files.STATE}"
    # What a file that contradicts itself says of a phase is no evidence.
    stands = _in_order(known, None if state else base, source, commit, proposal)
    after = base.model_copy(deep=True) if base else _new_state(place, feature, begun, *described)
    for name, of_new in _NEW.items():
        value = getattr(after, name)
        why = of_new if value is not None else f"not found; it would be {of_new}"
        proposal.find(name, value, source if base else why)
    after.updated_at = iso_time(place.now)
    after.current_phase = _first_open(stands)
    proposal.find("current_phase", after.current_phase, "the first one that is not approved")
    for phase, said in stands.items():
        summary = after.phases[phase]
        if base and summary.stands != said[:2]:
            proposal.contradictions.append(
                f"{phase}: {source} says {summary}; {said.why} tells {said}"
            )
        summary.status = said.status  # type: ignore[assignment]  # a word of the document
        summary.iterations = said.iterations
        if said.status == "pending":
            summary.started_at = None
        if said.status != "approved":
            summary.completed_at = None
        reason = summary.escalation_reason or f"told by {said.why}"
        summary.escalation_reason = reason if said.status == "escalated" else None
        proposal.find(f"phases.{phase}", said, said.why)
    _rebuild_workflow_status(after, source if base else "", proposal)
    proposal.state = after
    return stands


def _new_state(
    place: Place, feature: Feature, begun: datetime | None, description: str, described_at: datetime
) -> State:
    headings = (line.strip("# \t") for line in description.splitlines() if line[:1] == "#")
    title = one_line(next(headings, ""), 200)
    branch = files.branch_of(feature.slug)
    noted = branch if project.has_branch(str(place.root), branch) else None
    at = iso_time(min(begun or described_at, described_at))
    return new_state(feature.slug, at, title=title or None, branch=noted)


def _in_order(
    known: Mapping[PhaseName, Evidence],
    copy: State | None,
    source: str,
    commit: str,
    proposal: Proposal,
) -> dict[PhaseName, Standing]:
    """How the phases stand: those without evidence of their own by our *copy*, or by the others."""
    own = {phase: _by_phase(phase, known[phase], proposal) for phase in PHASES}
    named = [phase for phase in PHASES if commit.startswith(f"[workflow] {phase}: ")]
    begun = [phase for phase, said in own.items() if said and said.status != "pending"]
    last = max([*begun, *named], default=PHASES[0])
    stands = dict[PhaseName, Standing]()
    for phase, said in own.items():
        if said:
            stands[phase] = said
        elif copy:
            stands[phase] = Standing(*copy.phases[phase].stands, source)
        elif phase < last:
            stands[phase] = Standing("approved", 0, f"{last} has begun")
        elif phase > last:
            stands[phase] = Standing("pending", 0, "nothing shows that it has begun")
        else:
            why = (
                f"the last commit of the workflow: {commit}"
                if named
                else "every workflow begins with it"
            )
            stands[phase] = Standing("in_progress", 0, why)
    current = _first_open(stands)
    for phase in phases_after(current):
        if stands[phase].status != "pending":
            proposal.contradictions.append(
                f"{phase} is {stands[phase].status} ({stands[phase].why}), but {current} before it "
                f"is {stands[current].status} ({stands[current].why})"
            )
            stands[phase] = Standing("pending", 0, f"{current} before it is not approved")
    return stands


def _first_open(stands: Mapping[PhaseName, Standing]) -> PhaseName:
    return next((phase for phase in PHASES if stands[phase].status != "approved"), PHASES[-1])


def _rebuild_workflow_status(state: State, source: str, proposal: Proposal) -> None:
    """The status of the workflow by that of its phases; *source* is empty for a new state."""
    current = state.current_phase
    if state.over and (state.status != "completed" or state.all_approved):
        why = source
    elif state.phase.status == "escalated":
        state.status, why = "escalated", f"{current} is"
    else:
        state.status, why = "in_progress", f"{current} is not approved"
        if state.all_approved:
            why = "all phases are approved; nothing tells that it was completed"
    proposal.find("status", state.status, why)
    source = source or "nothing is known of earlier ones"
    if state.status == "escalated" and not any(map(state.is_open, state.escalations)):
        state.escalate(state.phase.escalation_reason, str(state.updated_at))
        source = f"{source}; one for {current}, which is escalated"
    proposal.find("escalations", f"{len(state.escalations)} entries", source)
