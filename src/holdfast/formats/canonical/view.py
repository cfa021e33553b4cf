"""Everything canonical in one project at one moment: what is declared, held, merged and due.

A view is made without writing. Whoever wants to write makes it again inside the lock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.formats.base import Place, Standing, Workflow
from holdfast.formats.canonical import files, identity
from holdfast.formats.canonical.declaration import Declaration, Looked, digest
from holdfast.formats.canonical.files import Held, Unusable
from holdfast.formats.canonical.identity import Group
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.settle import Inputs
from holdfast.formats.canonical.sources.look import look_at_markdown
from holdfast.formats.canonical.state import Seen, State
from holdfast.ledger import Ledger, Tombstone

_DELETED = "its state file was removed by hand, so it counts as finished"


@dataclass(frozen=True)
class Known:
    """One workflow: its file if it has one, its declarations if it has any, and the merged state."""

    key: str
    state: State
    held: Held | None = None
    group: Group | None = None
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
        if self.held is None or self.held.problems:
            return True
        return self.group is not None and self.state.encode() != self.held.raw


@dataclass
class View:
    place: Place
    looked: list[Looked]
    ledger: Ledger
    known: list[Known] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)
    superseded: list[Held] = field(default_factory=list)
    deleted: list[tuple[Known, Tombstone]] = field(default_factory=list)
    revived: list[str] = field(default_factory=list)  # tombstones that no longer hold

    def find(self, key: str) -> Known | None:
        return next((each for each in self.known if each.key == key), None)


def look(place: Place) -> View:
    """Read it all."""
    globs = place.settings.plans
    looked = look_at_markdown(place.root, globs)
    view = View(place, looked, ledger.load(place.store))
    held = _newest_of_each(view, globs)
    groups = identity.group([each.declaration for each in looked if each.declaration])
    matched = _match(held, groups)
    closed = {
        key: f"{each.path}: {each.reason}"
        for each in looked
        if each.closed
        for key in identity.group([each.closed])[0].keys
    }
    for group in groups:
        key = matched.get(group.key)
        mine = held.pop(key) if key else None
        view.known.append(_declared(view, group, key, mine))
    for key, mine in held.items():
        view.known.append(_undeclared(view, key, mine, closed.get(key, "")))
    return view


def _newest_of_each(view: View, globs: Sequence[str]) -> dict[str, Held]:
    """One file a workflow; what is older or unusable is noted in *view*."""
    place = view.place
    found: dict[str, Held] = {}
    for path in files.paths(place.root):
        held = files.read(place.store, path, place.now)
        if isinstance(held, Unusable):
            view.unusable.append(held)
            continue
        key = identity.of_state(held.state, globs)
        other = found.get(key)
        if other is not None and (other.mtime, other.path.name) > (held.mtime, held.path.name):
            view.superseded.append(held)
            continue
        if other is not None:
            view.superseded.append(other)
        found[key] = held
    return found


def _match(held: dict[str, Held], groups: Sequence[Group]) -> dict[str, str]:
    """The key of the state that each group has; the closest kind of match first."""
    matched: dict[str, str] = {}

    def claim(group: Group, keys: Sequence[str]) -> None:
        free = [key for key in keys if key not in matched.values()]
        if group.key not in matched and free:
            matched[group.key] = free[0]

    for group in groups:
        claim(group, [group.key] if group.key in held else [])
    for group in groups:
        claim(group, [key for key in group.keys if key in held])
    for group in groups:  # the plan that the state was kept under is no longer pointed at
        names = [
            k for k, each in held.items() if identity.by_name(each.state.workflow) in group.keys
        ]
        claim(group, names)
    return matched


def _declared(view: View, group: Group, key: str | None, held: Held | None) -> Known:
    # A state that was kept under its plan stays so, even when CLAUDE.local.md drops the pointer.
    if key is None or group.key.startswith("canonical:plan:"):
        key = group.key
    merged = merge(_inputs(view.place, held, group, key))
    known = Known(key, merged, held, group)
    if any(each in view.ledger.ignored for each in (key, *group.keys)):
        return replace(known, standing="ignored", remark=_ignored_remark(known))
    if held is not None:
        return _finished_or(known)
    return _ended(view, known, group)


def _inputs(place: Place, held: Held | None, group: Group | None, key: str) -> Inputs:
    return Inputs(
        saved=held.state if held else None,
        saved_mtime=held.mtime if held else 0.0,
        declarations=group.declarations if group else (),
        identity=key,
        branch=place.branch,
        now=place.now,
    )


def _ended(view: View, known: Known, group: Group) -> Known:
    """A declared workflow without a file: new, unless it has ended and nobody declared it anew."""
    marks = [each for each in group.keys if each in view.ledger.finished]
    for key in marks:
        tombstone = view.ledger.finished[key]
        if _holds(tombstone, group):
            remark = f"{tombstone.how} on {tombstone.at[:10]}; not declared anew since"
            return replace(known, standing="finished", remark=remark)
        view.revived.append(key)
    if not marks and (last := _last_of_deleted(view, group)):
        tombstone = Tombstone(
            name=last.workflow,
            at=clock.iso(view.place.now),
            how="deleted",
            declaration=declaration_digest(group.declarations),
            open_items=_open_items(group.declarations),
        )
        view.deleted.append((replace(known, state=last, remark=_DELETED), tombstone))
        return replace(known, standing="finished", remark=_DELETED)
    return known


def _last_of_deleted(view: View, group: Group) -> State | None:
    """The last copy of a state whose file is gone, if the markdown is as it was then."""
    store = view.place.store
    for copies in store.all_copies():
        if (store.root / copies.path).exists():
            continue
        try:
            state = State.model_validate_json(copies.good)
        except ValueError:
            continue
        if identity.of_state(state, view.place.settings.plans) not in group.keys:
            continue
        seen = state.holdfast.seen if state.holdfast else {}
        bases = [(each, seen.get(each.source)) for each in group.declarations]
        if all(base and Seen.of(each).over(base) == base for each, base in bases):
            return state
    return None


def _undeclared(view: View, key: str, held: Held, closed: str) -> Known:
    known = Known(key, held.state, held)
    if key in view.ledger.ignored:
        return replace(known, standing="ignored", remark=_ignored_remark(known))
    if closed:
        return replace(
            known,
            standing="finished",
            remark=f"{closed}. Close it: holdfast complete {known.state.workflow!r}",
        )
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


def _ignored_remark(known: Known) -> str:
    return f"ignored. Take it up again: holdfast resume {known.state.workflow!r}"


def changed_at(known: Known, place: Place) -> Any:
    """When an agent or a person last changed it; a hand edit shows in the file's own time."""
    held, kept = known.held, known.state.holdfast
    recorded = clock.parse(kept.changed_at) if kept else None
    if recorded is None or (known.group is None and held and _edited(held.state)):
        recorded = clock.from_mtime(held.mtime) if held else place.now
    return min(recorded, place.now)


def _edited(state: State) -> bool:
    base = state.holdfast.seen.get("saved") if state.holdfast else None
    if base is None:
        return True
    phase = state.phase
    stated = (state.workflow, phase.current, phase.total, phase.name, phase.status)
    mark = base.phase
    return (
        stated
        != (base.workflow, *((mark.current, mark.total, mark.name) if mark else ()), base.status)
        or state.required_reading != base.required_reading
        or state.key_reminders != base.key_reminders
        or state.context != base.context
    )


def _open_items(declarations: Sequence[Declaration]) -> tuple[str, ...]:
    return tuple(digest(item) for each in declarations for item in each.open_items)


def declaration_digest(declarations: Sequence[Declaration]) -> str:
    """What the markdown states, without what follows from ticking a checkbox."""
    stated = []
    for each in declarations:
        seen = Seen.of(each)
        if each.phase and each.phase.derived:
            seen = seen.model_copy(update={"phase": None})
        stated.append([each.source, each.path, seen.model_dump(mode="json")])
    return digest(json.dumps(stated, sort_keys=True))


def tombstone_for(known: Known, at: str, archive: str) -> Tombstone:
    """What keeps *known* from coming back by itself."""
    return Tombstone(
        name=known.state.workflow,
        at=at,
        how="completed",
        declaration=declaration_digest(known.declarations),
        open_items=_open_items(known.declarations),
        archive=archive,
    )


def _holds(tombstone: Tombstone, group: Group) -> bool:
    """Ticking the last boxes of a finished plan revives nothing; new open boxes do."""
    return declaration_digest(group.declarations) == tombstone.declaration and set(
        _open_items(group.declarations)
    ) <= set(tombstone.open_items)


def workflow_of(known: Known, place: Place) -> Workflow:
    """*known* in the terms that all formats share."""
    state, kept = known.state, known.state.holdfast
    local = known.group.local if known.group else None
    mtimes = [each.mtime for each in known.declarations]
    branch = state.context.get("branch")
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
            status=state.phase.status,
            next_action=kept.next_action if kept else None,
            gate=kept.gate if kept else None,
            reading=tuple(state.required_reading),
            reminders=tuple(state.key_reminders),
            context=tuple((key, _shown(value)) for key, value in state.context.items()),
            state_path=place.store.relative(known.held.path) if known.held else None,
        ),
        changed_at=changed_at(known, place),
        created_at=clock.parse(state.created_at),
        declared=("local" if local else "plan") if known.group else None,
        declared_at=max(mtimes, default=0.0),
        branch=branch if isinstance(branch, str) else (kept.branch if kept else None),
        remark=known.remark,
    )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
