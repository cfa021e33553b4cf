"""Everything canonical in one project at one moment: what is declared, held, merged and due.

A view is made without writing. Whoever wants to write makes it again inside the lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.errors import StateUnreadable
from holdfast.formats.base import BY_HAND, Place, Standing, Workflow
from holdfast.formats.canonical import endings, files, identity, matching
from holdfast.formats.canonical import memory as memories
from holdfast.formats.canonical.declaration import Declaration, Looked
from holdfast.formats.canonical.files import Held, Unusable
from holdfast.formats.canonical.identity import Group
from holdfast.formats.canonical.matching import Matched
from holdfast.formats.canonical.merge import merge, remembered
from holdfast.formats.canonical.settle import Inputs
from holdfast.formats.canonical.sources.look import look_at_markdown
from holdfast.formats.canonical.state import State, seen_of_state
from holdfast.ledger import Ledger
from holdfast.records import Record, made, replace

_KEPT_WITH = ("holdfast phase next", "holdfast remind", "holdfast context")
_ENDED_WITH = "holdfast complete"

_DELETED = "its state file was removed by hand, so it counts as finished"


class Known(Record):
    """One workflow: its file if it has one, its declarations if it has any, and the merged state."""

    key: str
    state: State
    held: Held | None = None
    group: Group | None = None
    absorbed: Held | None = None  # a second file that is one with this workflow now
    standing: Standing = "active"
    remark: str = ""

    @property
    def declarations(self) -> Sequence[Declaration]:
        return self.group.declarations if self.group else ()

    @property
    def differs(self) -> bool:
        """Whether the file on disk is not what it should be."""
        if self.standing == "ignored" or (self.standing == "finished" and self.held is None):
            return False
        if self.held and self.held.newer:
            return False
        if self.held is None or self.held.problems or self.absorbed:
            return True
        return self.group is not None and self.state.encode() != self.held.raw


class Deleted(Record):
    """A workflow that was ended by deleting its file."""

    known: Known
    path: str
    state: State  # the last one


class View(Record, frozen=False):
    place: Place
    looked: list[Looked]
    ledger: Ledger
    known: list[Known] = made(factory=list)
    unusable: list[Unusable] = made(factory=list)
    superseded: list[Held] = made(factory=list)
    deleted: list[Deleted] = made(factory=list)
    revived: list[str] = made(factory=list)  # tombstones that no longer hold

    def find(self, key: str) -> Known | None:
        return next((each for each in self.known if each.key == key), None)


def look(place: Place) -> View:
    """Read it all; what has not changed since the last look is not understood again."""
    memory = memories.of(place.root)
    looked = look_at_markdown(place.root, place.settings.plans, memory.looked)
    view = View(place, looked, ledger.load(place.store))
    held = []
    for each in files.found(place.root):
        found = files.read(place.store, each, place.now, memory.states.get(each.path))
        if isinstance(found, Unusable):
            view.unusable.append(found)
            continue
        held.append(found)
    memory.states = {each.path: each for each in held if each.sound}
    groups = identity.group([each.declaration for each in looked if each.declaration])
    matched = matching.match(held, groups, place.root)
    view.superseded = matched.superseded
    lost = None
    closed = _closed(looked)
    for group in groups:
        known = _declared(view, group, matched)
        if group.local is None and group.key in closed:
            # CLAUDE.local.md points at this plan and says that it is over (merge rule 4).
            known = replace(known, standing="finished", remark=closed[group.key])
        if known.held is None and known.standing == "active":
            lost = list(endings.gone(place.store)) if lost is None else lost
            known = _without_file(view, known, group, lost)
        view.known.append(known)
    for key in matched.free:
        view.known.append(_undeclared(view, key, matched.held[key], closed))
    return view


def _declared(view: View, group: Group, matched: Matched) -> Known:
    key = matched.of_group.get(group.key)
    held = matched.held[key] if key else None
    absorbed = matched.held.get(matched.absorbed.get(group.key, ""))
    if held and absorbed and (held.newer or absorbed.newer):
        view.superseded.append(absorbed)  # which nobody takes away
        absorbed = None
    if held and absorbed:
        joined = matching.absorb(held.state, absorbed.state)
        held = replace(held, state=joined)
    # A state that was kept under its plan stays so, even when CLAUDE.local.md drops the pointer.
    if key is None or group.plan is not None:
        key = group.key
    # What a newer Holdfast has noted of the markdown may not be what we would compare it with.
    newer = held and held.newer
    state = held.state if held and newer else merge(inputs(view.place, held, group, key))
    known = Known(key, state, held, group, absorbed)
    if any(each in view.ledger.ignored for each in (key, *group.keys)):
        return _ignored(known)
    return known if held is None else _finished_or(known)


def inputs(place: Place, held: Held | None, group: Group | None, key: str) -> Inputs:
    """What a merge reads."""
    return Inputs(
        saved=held.state if held else None,
        saved_mtime=held.mtime if held else 0.0,
        declarations=group.declarations if group else (),
        identity=key,
        branch=place.branch,
        checkout=place.checkout or "",
        now=place.now,
    )


def _without_file(
    view: View, known: Known, group: Group, lost: Sequence[tuple[str, State]]
) -> Known:
    """A declared workflow without a file: new, unless it has ended and nobody declared it anew."""
    resting = endings.resting(view.place.store, view.ledger, group, view.place.checkout)
    if resting:
        stone, store = resting
        remark = f"{stone.how} on {stone.at[:10]}; not declared anew since"
        with contextlib.suppress(StateUnreadable, ValueError):
            known = replace(known, state=endings.last_state(store, stone))
        return replace(known, standing="finished", remark=remark)
    marks = [key for key in group.keys if key in view.ledger.finished]
    view.revived += marks
    last = None if marks else endings.deleted(lost, group, view.place.store, view.place.checkout)
    if last is None:
        return known
    known = replace(known, standing="finished", remark=_DELETED)
    view.deleted.append(Deleted(known, *last))
    return known


def _closed(looked: Sequence[Looked]) -> dict[str, str]:
    """Why the markdown of a workflow says that it is over, by key."""
    return {
        key: f"{each.path}: {each.reason}"
        for each in looked
        if each.closed
        for key in identity.group([each.closed])[0].keys
    }


def _undeclared(view: View, key: str, held: Held, closed: dict[str, str]) -> Known:
    known = Known(key, held.state, held)
    if key in view.ledger.ignored:
        return _ignored(known)
    if key in closed:
        close = f"{closed[key]}. Close it: holdfast complete {known.state.workflow!r}"
        return replace(known, standing="finished", remark=close)
    known = _finished_or(known)
    age = view.place.now - changed_at(known, view.place)
    if known.standing == "active" and age > timedelta(days=view.place.settings.stale_days):
        return replace(known, standing="stale", remark=f"untouched for {age.days} days")
    return known


def _finished_or(known: Known) -> Known:
    if not known.state.finished:
        return known
    remark = f"all phases completed. Close it: holdfast complete {known.state.workflow!r}"
    return replace(known, standing="finished", remark=remark)


def _ignored(known: Known) -> Known:
    remark = f"ignored. Take it up again: holdfast resume {known.state.workflow!r}"
    return replace(known, standing="ignored", remark=remark)


def changed_at(known: Known, place: Place) -> datetime:
    """When an agent or a person last changed it; a hand edit shows in the file's own time."""
    held, kept = known.held, known.state.holdfast
    recorded = clock.parse(kept.changed_at) if kept else None
    edited = kept is None or kept.seen.get("saved") != seen_of_state(known.state)
    if recorded is None or (known.group is None and held and edited):
        recorded = clock.from_mtime(held.mtime) if held else place.now
    return min(recorded, place.now)


def _saved(held: Held) -> tuple[datetime, str | None]:
    """When the file of *held* was written, and by whom."""
    kept = held.state.holdfast
    written = clock.from_mtime(held.mtime)
    if kept is None or kept.seen.get("saved") != seen_of_state(held.state):
        return written, BY_HAND
    return clock.parse(kept.saved_at or "") or written, kept.saved_by


def _phase_trouble(known: Known) -> str:
    """Why nobody can tell the phase, where the one that is kept is only what a state begins with."""
    phase, said = known.state.phase, known.declarations
    if (phase.current, phase.total) != (1, 1) or any(
        each.phase and each.phase.current for each in said
    ):
        return ""
    unread = next((each.path for each in said if each.phase_unreadable), None)
    return f"{unread} does not say it readably" if unread else ""


def workflow_of(known: Known, place: Place) -> Workflow:
    """*known* in the terms that all formats share."""
    state, kept = known.state, known.state.holdfast
    local = known.group.local if known.group else None
    mtimes = [each.mtime for each in known.declarations]
    branch = state.context.get("branch")
    next_action, gate = (kept.next_action, kept.gate) if kept else (None, None)
    if kept and known.group is None:  # nothing declares it, and it may have been edited by hand
        next_action, gate = remembered(state, kept)
    saved_at, saved_by = _saved(known.held) if known.held else (None, None)
    return Workflow(
        format="canonical",
        key=known.key,
        standing=known.standing,
        briefing=Briefing(
            name=state.workflow,
            kind=state.workflow_type,
            phase=state.phase.current,
            phases=state.phase.total,
            phase_name=state.phase.name,
            phase_trouble=_phase_trouble(known),
            status=state.phase.status,
            next_action=next_action,
            gate=gate,
            reading=tuple(state.required_reading),
            reminders=tuple(state.key_reminders),
            context=tuple(state.context.items()),
            state_path=place.store.relative(known.held.path) if known.held else None,
            kept_with=_KEPT_WITH,
            ended_with=_ENDED_WITH,
        ),
        changed_at=changed_at(known, place),
        created_at=clock.parse(state.created_at) if known.held else None,
        declared=("local" if local else "plan") if known.group else None,
        declared_at=max(mtimes, default=0.0),
        source=identity.plan_of(known.key),
        branch=branch if isinstance(branch, str) else (kept.branch if kept else None),
        remark=known.remark,
        saved_at=saved_at,
        saved_by=saved_by,
        behind=known.differs,
    )
