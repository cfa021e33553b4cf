"""Everything canonical in one project at one moment: what is declared, kept, merged and due.

A view is made without writing. Whoever wants to write makes it again inside the lock.
"""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from holdfast import clock
from holdfast.errors import StateUnreadable
from holdfast.files.store import LARGEST
from holdfast.formats.canonical import files, matching
from holdfast.formats.canonical.files import Edit, StateFile
from holdfast.formats.canonical.matching import Declared, Matched
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.model import LastStatement, State
from holdfast.formats.canonical.sources import Candidate, Declaration, Looked, PlanPhase
from holdfast.formats.engine.loading import Found, Unusable, standing_by_age, unreadable
from holdfast.formats.engine.workflow import BY_HAND, CandidatePlan, Place, Standing
from holdfast.records import ledger
from holdfast.records.ledger import Ledger


class Merged(NamedTuple):
    """One workflow: its file if it has one, its declarations if it has any, and the merged state."""

    key: str
    state: State
    file: StateFile | None = None
    group: Declared | None = None
    absorbed: StateFile | None = None  # a second file that is one with this workflow now
    standing: Standing = "active"
    remark: str = ""
    due: bool = False  # whether its file is not what it should be
    noted: bool = False  # by a command that says nothing of the phase
    ticked: Edit | None = None  # of the plan, written with this

    @property
    def declarations(self) -> Sequence[Declaration]:
        return self.group.declarations if self.group else ()

    @property
    def keys(self) -> set[str]:
        return {self.key, *(self.group.keys if self.group else ())}

    @property
    def name(self) -> str:
        return self.state.workflow

    @property
    def path(self) -> Path:
        return self.file.path if self.file else Path()

    @property
    def mtime(self) -> float:
        return self.file.mtime if self.file else 0.0

    @property
    def branch(self) -> str | None:
        branch, kept = self.state.context.get("branch"), self.state.holdfast
        if isinstance(branch, str):
            return branch
        return kept.branch if kept and not _edited_by_hand(self.state) else None

    @property
    def created_at(self) -> datetime | None:
        return clock.parse(self.state.created_at) if self.file else None

    @property
    def changed_at(self) -> datetime:
        """When an agent or a person last changed it; a hand edit shows in the file's own time."""
        kept = self.state.holdfast
        recorded = clock.parse(kept.changed_at) if kept else None
        edited = self.group is None and _edited_by_hand(self.state)
        if self.file and (recorded is None or edited):
            return clock.from_mtime(self.file.mtime)
        return recorded or datetime.max.replace(tzinfo=UTC)

    @property
    def saved(self) -> tuple[datetime | None, str | None]:
        """When and by whom its file was written."""
        if self.file is None:
            return None, None
        kept, written = self.file.state.holdfast, clock.from_mtime(self.file.mtime)
        if kept is None or _edited_by_hand(self.file.state):
            return written, BY_HAND
        return clock.parse(kept.saved_at or "") or written, kept.saved_by

    @property
    def phase_trouble(self) -> str:
        """Why the phase is unknown; empty unless the saved one is only a new state's default."""
        phase, said = self.state.phase, self.declarations
        stated = any(source.phase and source.phase.current for source in said)
        if (phase.current, phase.total) != (1, 1) or stated:
            return ""
        unread = next((source.path for source in said if source.phase_unreadable), None)
        return f"{unread} has a phase that cannot be read" if unread else ""

    @property
    def has_phases(self) -> bool:
        """Whether anything states or lists phases: else the 1 of 1 is only what the file has to say."""
        phase, kept = self.state.phase, self.state.holdfast
        return (
            not self.declarations
            or (phase.current, phase.total, phase.name) != (1, 1, "Phase 1")
            or any(said.phase or said.phases or said.phase_unreadable for said in self.declarations)
            or bool(kept and kept.phases)
        )

    @property
    def planned(self) -> Sequence[PlanPhase]:
        """The markdown's phases, if their numbers match the state's."""
        phases = [phase for source in self.declarations for phase in source.phases]
        numbers, total = {phase.number for phase in phases}, self.state.phase.total
        # By hand the total may be a thousand million.
        fits = len(numbers) == total and numbers == {*range(1, total + 1)}
        return phases if fits else ()

    @property
    def open_boxes(self) -> Sequence[str]:
        """The open boxes of the current phase; where no phases are known, those of the plan."""
        here = (phase for phase in self.planned if phase.number == self.state.phase.current)
        sources = () if self.has_phases else self.declarations
        listed = (source.open_items for source in sources if source.open_lines)
        return next((phase.open_items for phase in here), next(listed, ()))

    @property
    def boxes(self) -> tuple[int, int]:
        """How many boxes of the plan are ticked, and how many there are, where no phases are known."""
        sources = () if self.has_phases else self.declarations
        return next(((said.ticked, said.boxes) for said in sources if said.boxes), (0, 0))

    @property
    def all_done(self) -> bool:
        """Whether this is the last phase and the markdown marks every phase or box done."""
        if not self.has_phases:
            ticked, boxes = self.boxes
            return ticked == boxes > 0
        phase, planned = self.state.phase, self.planned
        return phase.current == phase.total and bool(planned) and all(one.done for one in planned)

    @property
    def differs(self) -> bool:
        """Whether the file on disk is not what it should be."""
        if self.standing == "ignored" or (self.standing == "finished" and self.file is None):
            return False
        if self.file and self.file.newer:
            return False
        if self.file is None or self.file.broken or self.file.lost_start or self.absorbed:
            return True
        return self.group is not None and self.state.encode() != self.file.raw


def _edited_by_hand(state: State) -> bool:
    return state.holdfast is None or state.holdfast.seen.get("saved") != LastStatement.said_by(
        state
    )


def sources(place: Place, record: Ledger, kept: Collection[str] = ()) -> list[Looked]:
    """The markdown, with followed plans as declarations instead of suggestions.

    The plan of a *kept* workflow (by key) also declares it, but does not keep it active.
    """
    planned = {place.planned, *filter(None, map(matching.plan_of, kept))}
    outside = {path for path in planned if posixpath.dirname(path) == place.plans_folder}
    followed = [*record.followed, *({place.planned} - {""} - outside)]
    looked = files.look_at_markdown(place.store, place.settings.plans, followed)
    looked += [_plan_outside(place, path) for path in sorted(outside)]
    return [_weighed(source, place, record, kept) for source in looked]


def _plan_outside(place: Place, path: str) -> Looked:
    """A plan in plan mode's folder, of this session or of a workflow that is kept."""
    try:
        data, mtime = place.store.inputs.read_file(path, LARGEST)
    except StateUnreadable as error:
        return Looked(path, None, error.reason)
    from holdfast.formats.canonical.sources.plan import read_plan  # noqa: PLC0415  # see files.py

    return read_plan(data, path=path, mtime=mtime)


def _weighed(source: Looked, place: Place, record: Ledger, kept: Collection[str]) -> Looked:
    is_planned = bool(place.planned) and source.path == place.planned
    is_followed = is_planned or source.path in record.followed
    if is_followed and source.unbegun:
        source = source._replace(candidate=Candidate("not begun", source.unbegun))
    if source.candidate is None:
        return source
    keys = matching.group([source.candidate.declaration])[0].keys
    if is_followed or not place.own.isdisjoint(keys):
        by = "this session, which works on it"
        if is_followed:
            by = "this session, in plan mode" if is_planned else "holdfast follow"
        reason = f"{source.candidate.why}; followed by {by}"
        return Looked(source.path, source.candidate.declaration, reason, source.trouble)
    if any(key in kept for key in keys):
        return source._replace(declaration=source.candidate.declaration)
    is_left_alone = any(key in record.ignored for key in keys)
    return source._replace(candidate=None) if is_left_alone else source


class View(Found[Merged]):
    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.looked: list[Looked] = []
        self.superseded: list[StateFile] = []
        self.deleted: dict[str, Merged] = {}  # that were ended so, by the path of the file
        self.revived: list[str] = []  # tombstones that no longer hold

    @property
    def candidates(self) -> list[CandidatePlan]:
        """The plans that nobody follows, the one edited last first."""
        known = {key for entry in self.entries for key in entry.keys}
        known |= {matching.by_name(entry.name) for entry in self.entries}
        found = []
        for source in self.looked:
            if source.candidate is None or source.declaration:
                continue
            why, said = source.candidate
            group = matching.group([said])[0]
            rests = matching.resting(self.place.store, self.ledger, group, self.place.checkout)
            if known.isdisjoint({group.key, matching.by_name(group.name)}) and not rests:
                found.append((said.mtime, CandidatePlan(source.path, why, group.key)))
        return [plan for _, plan in sorted(found, reverse=True)]

    @cached_property
    def ledger(self) -> Ledger:
        return ledger.load(self.place.store)

    @cached_property
    def suggested(self) -> set[str]:
        """Keys of the workflows that are kept, and of which a plan says no more than that they may run."""
        plans = [source.declaration for source in self.looked if source.candidate]
        return {group.key for group in matching.group([plan for plan in plans if plan])}

    @cached_property
    def closed(self) -> dict[str, str]:
        """Why the markdown of a workflow says that it is over, by key."""
        return {
            key: f"{source.path}: {source.reason}"
            for source in self.looked
            if source.closed
            for key in matching.group([source.closed])[0].keys
        }

    def replace(self, known: Merged) -> Merged:
        """Note that *known* was saved; it with its standing."""
        after = self.judged(known)._replace(due=False)
        self.entries = [after if entry.key == known.key else entry for entry in self.entries]
        return after

    def judged(self, known: Merged) -> Merged:
        """*known* with its standing, and one line why it is not active."""
        group, name = known.group, known.name
        closed = self.closed.get(group.key if group else known.key, "")
        standing: Standing = "finished"
        if group and closed and group.local is None:
            # CLAUDE.local.md points at this plan and says that it is over (merge rule 4).
            remark = closed
        elif not known.keys.isdisjoint(self.ledger.ignored):
            standing, remark = "ignored", f"ignored. To resume it: holdfast resume {name!r}"
        elif not group and closed:
            remark = f"{closed}. Close it: holdfast complete {name!r}"
        elif known.file and known.state.finished:
            remark = (
                f"all phases completed. Review the whole, then close it: holdfast complete {name!r}"
            )
        else:
            is_declared = group and group.key not in self.suggested
            standing, remark = ("active", "") if is_declared else standing_by_age(known, self.place)
        return known._replace(standing=standing, remark=remark)

    @cached_property
    def repairs(self) -> list[str]:
        """What the person has to be told, and what is over once it is saved."""
        store = self.place.store
        kept = [known.file for known in self.entries if known.file]
        broken = [file for file in kept if file.broken]
        lost = [file for file in self.unusable if file.kind == "broken"]
        quarantine = f"{store.relative(store.private)}/quarantine"
        lines = unreadable(store, broken, ())
        lines += [
            f"{store.relative(file.path)} could not be read: {file.reason}; it is kept in "
            f"{quarantine}: correct it and put it back, or begin the workflow anew"
            for file in lost
        ]
        return lines + [f"{known.name}: {known.remark}" for known in self.deleted.values()]


def look(place: Place) -> View:
    view, store = View(place), place.store
    there = [files.KIND.read(store, path) for path in files.paths(store)]
    kept = {matching.key_of(file.state) for file in there if isinstance(file, StateFile)}
    view.looked = sources(place, view.ledger, kept)
    view.unusable = [file for file in there if isinstance(file, Unusable)]
    groups = matching.group([source.declaration for source in view.looked if source.declaration])
    matched = matching.match([file for file in there if isinstance(file, StateFile)], groups, store)
    view.superseded = matched.superseded
    declared = [_declared(view, group, matched) for group in groups]
    lost = None
    for known in map(view.judged, declared):
        if known.file is None and known.standing == "active":
            lost = list(matching.gone(store)) if lost is None else lost
            known = _without_file(view, known, lost)  # noqa: PLW2901
        view.entries.append(known)
    undeclared = (_undeclared(view, key, matched.files[key]) for key in matched.free)
    view.entries += map(view.judged, undeclared)
    view.entries = [known._replace(due=known.differs) for known in view.entries]
    return view


def _declared(view: View, group: Declared, matched: Matched) -> Merged:
    key = matched.of_group.get(group.key)
    file = matched.files[key] if key else None
    absorbed = matched.files.get(matched.absorbed.get(group.key, ""))
    if file and absorbed and (file.newer or absorbed.newer):
        view.superseded.append(absorbed)  # which nobody takes away
        absorbed = None
    if file and absorbed:
        file = replace(file, state=matching.absorb(file.state, absorbed.state))
    # A state that was kept under its plan stays so, even when CLAUDE.local.md drops the pointer.
    if key is None or group.plan is not None:
        key = group.key
    # What a newer Holdfast has noted of the markdown may not be what we would compare it with.
    newer = file and file.newer
    state = file.state if file and newer else merge(view.place, file, group, key)
    return Merged(key, state, file, group, absorbed)


def _undeclared(view: View, key: str, file: StateFile) -> Merged:
    # That a hook repairs it is no change of it, so when it was changed has to be noted.
    repaired = (file.broken or file.lost_start) and not file.newer
    return Merged(key, merge(view.place, file, None, key) if repaired else file.state, file)


def _without_file(view: View, known: Merged, lost: Sequence[tuple[str, State]]) -> Merged:
    """A declared workflow without a file: new, unless it has ended and nobody declared it anew."""
    place, group = view.place, known.group
    if group is None:
        return known
    resting = matching.resting(place.store, view.ledger, group, place.checkout)
    if resting:
        stone, store = resting
        remark = f"{stone.how} on {stone.at[:10]}; not declared anew since"
        with contextlib.suppress(StateUnreadable, ValueError):
            known = known._replace(state=matching.last_state(store, stone))
        return known._replace(standing="finished", remark=remark)
    marks = [key for key in group.keys if key in view.ledger.finished]
    view.revived += marks
    last = None if marks else matching.deleted(lost, group, place.store, place.checkout)
    if last is None:
        return known
    path, state = last
    remark = "its state file was removed by hand, so it counts as finished"
    view.deleted[path] = known._replace(state=state, standing="finished", remark=remark)
    return view.deleted[path]
