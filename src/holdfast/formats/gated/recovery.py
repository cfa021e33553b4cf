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
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files import git
from holdfast.files.store import COMMAND_WAIT, Store
from holdfast.formats.engine.document import iso_time, moment
from holdfast.formats.engine.looking import Unusable
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files
from holdfast.formats.gated.files import Feature
from holdfast.formats.gated.finalizing import has_branch
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.machine import Content, contradictions
from holdfast.formats.gated.model import (
    APPROVED,
    MOST_ITERATIONS,
    NEEDS_REVISION,
    PHASES,
    PhaseName,
    PhaseSummary,
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
_LAST_STATE = f"our last good copy of {files.STATE}"
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

    def to_json(self) -> dict[str, Any]:
        return {
            "findings": [finding._asdict() for finding in self.findings],
            "contradictions": self.contradictions,
            "state": self.state.to_json() if self.state else None,
            "statuses": {phase: status.to_json() for phase, status in self.statuses.items()},
        }


def damaged(place: Place) -> list[str]:
    """The features of which a state file is missing, cannot be used, or cannot be true."""
    folders = files.folders(place.store)
    features = (files.read(place.store, folder) for folder in folders)
    return [feature.slug for feature in features if _is_damaged(place.store, feature)]


def _is_damaged(store: Store, feature: Feature) -> bool:
    if isinstance(feature.main, Unusable):
        return feature.main.is_ours or files.is_described(store, feature.folder)
    return not all(map(files.usable, feature.files.values())) or any(contradictions(feature.state))


def propose(place: Place, slug: str) -> Proposal:
    """What would be written; refused if nothing proves that there is a workflow."""
    feature = files.read(place.store, files.folder_of(place.store, slug))
    rebuilding = _Rebuilding(place, feature)
    state = files.usable(feature.main)
    if state and not any(contradictions(state)):
        rebuilding.rebuild_statuses(state)
        return rebuilding.proposal
    described = _text(place.store, feature.folder / files.DESCRIPTION)
    if described is None:
        folder = files.workspace(slug)
        raise IllegalMove(
            f"{folder}/{files.DESCRIPTION} is missing, so nothing proves that {folder} is a workflow",
            hint="Write it again with the feature's title as its heading, and rerun the command.",
        )
    rebuilding.rebuild_all(state, *described)
    return rebuilding.proposal


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


# The evidence.


class WrittenReview(NamedTuple):
    """What a review-N.md tells."""

    verdict: str | None
    at: datetime
    text: str


class PhaseEvidence(NamedTuple):
    """What there is of one phase."""

    status: StatusFile | None  # as its status.json says it, if that can be used
    copy: StatusFile | None  # our last good copy of it, if it cannot
    reviews: list[WrittenReview]


def _phase_evidence(store: Store, feature: Feature, phase: PhaseName) -> PhaseEvidence:
    status = files.usable(feature.statuses[phase])
    copies = None if status else store.copies(feature.folder / phase / files.STATUS)
    reviews = [*_reviews(store, feature.folder, phase)]
    return PhaseEvidence(status, files.STATUS_KIND.good_copy(copies), reviews)


def _reviews(store: Store, folder: Path, phase: PhaseName) -> Iterator[WrittenReview]:
    """The reviews of *phase*, in the order of their numbers."""
    for _, path in files.reviews(store, folder, phase):
        if read := _text(store, path):
            text, written = read
            stated = _STATED_TIME.search(text)
            yield WrittenReview(verdict_of(text), (stated and moment(stated[1])) or written, text)


def _commits(root: Path, workspace: str) -> tuple[datetime | None, str]:
    """When a file of the workspace was committed first, and the last commit since then that names a phase."""
    first = git.answer(str(root), "log", "--reverse", "--format=%ct", "--", workspace)
    if not first:
        return None, ""
    begun = first.partition("\n")[0]
    named = rf"--grep=^\[workflow\] ({'|'.join(PHASES)}): "
    asked = ("log", "-1", f"--since=@{begun}", "--extended-regexp", named, "--format=%s")
    return clock.from_mtime(float(begun)), git.answer(str(root), *asked) or ""


def _names(subject: str, phase: PhaseName) -> bool:
    """Whether a commit is about *phase*."""
    return subject.startswith(f"[workflow] {phase}: ")


def _text(store: Store, path: Path) -> tuple[str, datetime] | None:
    """The text of a file in the project and when it was written; None if there is none to read."""
    with contextlib.suppress(StateUnreadable):
        raw, mtime = store.read(path)
        return decode(raw), clock.from_mtime(mtime)
    return None


# What is made of it.


class Inferred(NamedTuple):
    """What the evidence says of a phase."""

    status: str
    iterations: int
    why: str

    def __str__(self) -> str:
        return f"{self.status}, iteration {self.iterations}"


class _Rebuilding:
    """Makes the proposal out of the evidence."""

    def __init__(self, place: Place, feature: Feature) -> None:
        self.place = place
        self.feature = feature
        self.at = iso_time(place.now)
        self.phases = {phase: _phase_evidence(place.store, feature, phase) for phase in PHASES}
        self.proposal = Proposal()
        self.find = self.proposal.find
        self.disagrees = self.proposal.contradictions.append

    # Each status.json that is damaged, beside a workflow-state.json that holds.

    def rebuild_statuses(self, state: State) -> None:
        for phase, known in self.phases.items():
            if known.status:
                continue
            summary, said = state.phases[phase], _by_reviews(known)
            why = f"{files.STATE}, which counts before others"
            if said and _can_follow(said, summary):
                why = f"{files.STATE}; {said.why} agree with it"
            elif said:
                self.disagrees(
                    f"{phase}: {said.why} make it {said}; {files.STATE} says {summary}, which holds"
                )
            self.put_status(phase, Inferred(*summary.stands, why))

    def put_status(self, phase: PhaseName, inferred: Inferred) -> None:
        """Propose a status.json that says what is *inferred*."""
        known = self.phases[phase]
        base = known.status or known.copy
        source = "the file itself" if known.status else _LAST_COPY
        status = base.model_copy(deep=True) if base else new_status(phase)
        if base is None:
            source = counted(len(known.reviews), "review")
            for number, review in enumerate(known.reviews, 1):
                action = "created" if number == 1 else "revised"
                iteration = min(number, MOST_ITERATIONS)
                status.record(action, iso_time(review.at), review.verdict, iteration)
        status.status = inferred.status  # type: ignore[assignment]  # a word of the document
        status.iterations = inferred.iterations
        status.record("recovered", self.at)
        last = known.reviews[-1] if known.reviews else None
        if status.status not in {"in_progress", "in_review", "escalated"}:
            status.current_feedback = None
        elif last and last.verdict == NEEDS_REVISION and (not base or base.stands != inferred[:2]):
            status.current_feedback = reviewers_text(last.text)
        self.proposal.statuses[phase] = status
        self.find(f"{phase}/{files.STATUS}", inferred, inferred.why)
        self.find(f"{phase}/{files.STATUS}: history", f"{len(status.history)} entries", source)

    # Everything, because workflow-state.json does not hold.

    def rebuild_all(self, state: State | None, description: str, described_at: datetime) -> None:
        copies = None if state else self.place.store.copies(self.feature.path)
        copy = files.STATE_KIND.good_copy(copies)
        begun, commit = _commits(self.place.root, files.workspace(self.feature.slug))
        phases = self.infer_all(copy, commit)
        current = next(
            (phase for phase in PHASES if phases[phase].status != "approved"), PHASES[-1]
        )
        for phase in phases_after(current):
            if phases[phase].status != "pending":
                self.disagrees(
                    f"{phase} is {phases[phase].status} ({phases[phase].why}), but {current} before it "
                    f"is {phases[current].status} ({phases[current].why})"
                )
                phases[phase] = Inferred("pending", 0, f"{current} before it is not approved")
        base, source = state or copy, "the file itself" if state else _LAST_STATE
        if base is None:
            begun = min(begun or described_at, described_at)
            base, source = self.new_state(description, begun), ""
        self.proposal.state = self.state(base, source, phases, current)
        for phase in PHASES:
            status = self.phases[phase].status
            if status is None or status.stands != phases[phase][:2]:
                self.put_status(phase, phases[phase])

    def infer_all(self, copy: State | None, commit: str) -> dict[PhaseName, Inferred]:
        own = {phase: self.infer(phase) for phase in PHASES}
        begun = [phase for phase, said in own.items() if said and said.status != "pending"]
        begun += [phase for phase in PHASES if _names(commit, phase)]
        last = max(begun, default=PHASES[0])
        return {
            phase: said or _infer_from_order(phase, copy, commit, last)
            for phase, said in own.items()
        }

    def infer(self, phase: PhaseName) -> Inferred | None:
        """What the phase's own evidence says; None if there is none."""
        known = self.phases[phase]
        if known.status:
            return Inferred(*known.status.stands, f"{phase}/{files.STATUS}")
        said, copy = _by_reviews(known), known.copy
        if copy is None:
            return said
        actions = [action for action, _ in copy.latest()]
        reviewed = actions.count("created") + actions.count("revised")
        if said is None or reviewed == len(known.reviews):
            return Inferred(*copy.stands, _LAST_COPY)
        self.disagrees(
            f"{phase}: {_LAST_COPY} says {copy}, and knows of {reviewed} of its reviews; "
            f"{said.why} count"
        )
        return said

    def state(
        self, base: State, source: str, phases: Mapping[PhaseName, Inferred], current: PhaseName
    ) -> State:
        """workflow-state.json; *source* is where *base* comes from, and empty for a new one."""
        state = base.model_copy(deep=True)
        for name in ("feature", "feature_title", "branch", "created_at", "pr_url"):
            value = getattr(state, name)
            why = _NEW[name] if value is not None else f"not found; it would be {_NEW[name]}"
            self.find(name, value, source or why)
        state.updated_at, state.current_phase = self.at, current
        self.find("current_phase", current, "the first one that is not approved")
        for phase, said in phases.items():
            _fill(state.phases[phase], said)
            self.find(f"phases.{phase}", said, said.why)
            if source and base.phases[phase].stands != said[:2]:
                self.disagrees(
                    f"{phase}: {source} says {base.phases[phase]}; {said.why} tells {said}"
                )
        if base.over and (base.status != "completed" or state.all_approved):
            why = source
        elif state.phase.status == "escalated":
            state.status, why = "escalated", f"{current} is"
        else:
            state.status, why = "in_progress", f"{current} is not approved"
            if state.all_approved:
                why = "all phases are approved; nothing tells that it was completed"
        self.find("status", state.status, why)
        source = source or "nothing is known of earlier ones"
        if state.status == "escalated" and not any(map(state.is_open, state.escalations)):
            state.escalate(state.phase.escalation_reason, self.at)
            source = f"{source}; one for {current}, which is escalated"
        self.find("escalations", f"{len(state.escalations)} entries", source)
        return state

    def new_state(self, description: str, begun: datetime) -> State:
        slug = self.feature.slug
        headings = (line.strip("# \t") for line in description.splitlines() if line[:1] == "#")
        title = one_line(next(headings, ""), 200)
        branch = files.branch_of(slug)
        noted = branch if has_branch(self.place.root, branch) else None
        return new_state(slug, iso_time(begun), title=title or None, branch=noted)


def _infer_from_order(
    phase: PhaseName, copy: State | None, commit: str, last: PhaseName
) -> Inferred:
    """A phase without evidence of its own; *last* is the latest phase that has begun."""
    if copy:
        return Inferred(*copy.phases[phase].stands, _LAST_STATE)
    if phase < last:
        return Inferred("approved", 0, f"{last} has begun")
    if phase > last:
        return Inferred("pending", 0, "nothing shows that it has begun")
    if _names(commit, phase):
        return Inferred("in_progress", 0, f"the last commit of the workflow: {commit}")
    return Inferred("in_progress", 0, "every workflow begins with it")


def _by_reviews(known: PhaseEvidence) -> Inferred | None:
    """What the reviews alone say of a phase."""
    if not known.reviews:
        return None
    count, verdict = len(known.reviews), known.reviews[-1].verdict
    why = f"{counted(count, 'review')}, the last one {verdict or 'without a verdict'}"
    if verdict == NEEDS_REVISION:
        if count >= MOST_ITERATIONS:
            return Inferred("escalated", MOST_ITERATIONS, why)
        return Inferred("in_progress", count + 1, why)
    status = "user_review" if verdict == APPROVED else "in_review"
    return Inferred(status, min(count, MOST_ITERATIONS), why)


def _can_follow(said: Inferred, summary: PhaseSummary) -> bool:
    """Whether a phase of which reviews *said* that can be what workflow-state.json says: people may have gone on."""
    passed = summary.status in {"user_review", "approved"}
    return summary.status != "pending" and not (said.status == "in_progress" and passed)


def _fill(summary: PhaseSummary, said: Inferred) -> None:
    """Let *summary* say what is *said*; times and a reason that do not fit any more go."""
    summary.status = said.status  # type: ignore[assignment]  # a word of the document
    summary.iterations = said.iterations
    if said.status == "pending":
        summary.started_at = None
    if said.status != "approved":
        summary.completed_at = None
    if said.status != "escalated":
        summary.escalation_reason = None
    elif summary.escalation_reason is None:
        summary.escalation_reason = f"told by {said.why}"
