"""The three-way merge of a saved state with what the markdown declares now.

Three sources speak of one workflow: CLAUDE.local.md ("local"), the plan, and the saved file, which
agents advance by commands, by jq or by hand. For each we kept what it said when we last looked.

Rule 1: what a source does not mention is no change. Silence never deletes anything.
Rule 2: a source has changed when it says something else than it did. If one side changed, it wins.
Rule 3: if the saved file and the markdown both changed, the newer file wins; a tie goes to the
        saved file. Without a base (a file of another tool, a source that is new) the same holds.
Rule 4: between two markdown sources that both changed, CLAUDE.local.md goes before the plan.
Rule 5: a phase (current, total, name) moves as one; its status by itself. A status that says the
        old phase was over does not move into a new phase.
Rule 6: a phase derived from checkboxes moves only a phase that is counted in the same total, so
        that a plan with three headings does not turn "4 of 10" into "3 of 3".
Rule 7: a plan's title and a guessed type only fill a gap; they rename nothing that has a name.
Rule 8: lists are united in order, context key by key. An item goes only when the one source that
        had it dropped it.
Rule 9: created_at never changes, keys that we do not know stay, merging twice changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast import clock
from holdfast.formats.canonical.declaration import Declaration, PhaseMark
from holdfast.formats.canonical.state import (
    Bookkeeping,
    KnownPhase,
    Mark,
    Own,
    Phase,
    Seen,
    State,
)

T = TypeVar("T")
_ORDER = ("local", "plan")  # rule 4
_SILENT: Any = object()  # not mentioned; unlike None, which context may hold
_NO_BASE: Any = object()


@dataclass(frozen=True)
class _Side:
    """What one markdown source says of one field, and what it said before."""

    value: Any
    base: Any
    mtime: float


@dataclass(frozen=True)
class Sources:
    """All that a merge reads."""

    saved: State | None
    saved_mtime: float
    declarations: Sequence[Declaration]
    identity: str
    branch: str | None
    now: datetime

    def __post_init__(self) -> None:
        ranked = sorted(self.declarations, key=lambda each: _ORDER.index(each.source))
        object.__setattr__(self, "declarations", tuple(ranked))

    def base(self, source: str) -> Seen | None:
        kept = self.saved.holdfast if self.saved else None
        return kept.seen.get(source) if kept else None

    def sides(self, field: str) -> list[_Side]:
        """Each markdown source's say on *field*, best first."""
        found = []
        for declaration in self.declarations:
            value = getattr(Seen.of(declaration), field)
            base = self.base(declaration.source)
            if value is None or (self.saved and _only_fills_gaps(declaration, field, base)):
                continue
            found.append(
                _Side(value, _NO_BASE if base is None else getattr(base, field), declaration.mtime)
            )
        return found


def _only_fills_gaps(declaration: Declaration, field: str, base: Seen | None) -> bool:
    """Rule 7."""
    if field == "workflow_type":
        return declaration.type_guessed
    return field == "workflow" and declaration.source == "plan" and base is None


class _Winners:
    """Decides field by field, and remembers when the latest winning change was made."""

    def __init__(self, sources: Sources) -> None:
        self.saved_mtime = sources.saved_mtime
        self.changed: list[float] = []

    def settle(self, value: T, base: Any, sides: Iterable[_Side]) -> T:
        """The value that holds: that of the saved file, or of the first side that beats it."""
        saved_changed = base is _NO_BASE or value != base
        for side in sides:
            if side.value == side.base:
                continue
            newer = side.mtime > self.saved_mtime
            if newer or not (saved_changed or side.base is _NO_BASE):
                if side.value != value:
                    self.changed.append(side.mtime)
                return side.value  # type: ignore[no-any-return]  # sides carry the field's own type
        if saved_changed:
            self.changed.append(self.saved_mtime)
        return value


def merge(sources: Sources) -> State:
    """The state that holds now."""
    return _update(sources, sources.saved) if sources.saved else _create(sources)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _create(sources: Sources) -> State:
    """The first state of a workflow that markdown declares."""
    phases = _known_phases(sources, None)
    mark = next((each.phase for each in sources.declarations if each.phase), PhaseMark())

    def first(field: str, default: T) -> T:
        return next((side.value for side in sources.sides(field)), default)

    stated_type = next(
        (each.workflow_type for each in sources.declarations if not each.type_guessed), None
    )
    names = [each.workflow for each in sources.declarations if each.workflow]
    state = State.model_validate(
        {
            "workflow": names[0] if names else sources.identity,
            "workflow_type": stated_type or first("workflow_type", "custom"),
            "phase": {
                **_complete(mark, None, phases),
                "status": first("status", "in_progress"),
            },
            "required_reading": _united(sources, "required_reading", [], None)[0],
            "context": _united_context(sources, None, _Winners(sources)),
            "key_reminders": _united(sources, "key_reminders", [], None)[0],
            "created_at": clock.iso(sources.now),
        }
    )
    latest = max((each.mtime for each in sources.declarations), default=0.0)
    return _with_bookkeeping(sources, state, Own(), phases, _moment(latest, sources.now))


def _update(sources: Sources, saved: State) -> State:
    winners = _Winners(sources)
    kept = saved.holdfast
    base = sources.base("saved")

    def settle(field: str, value: T) -> T:
        was = _NO_BASE if base is None else getattr(base, field)
        return winners.settle(value, was, sources.sides(field))

    phases = _known_phases(sources, kept)
    phase = _phase(sources, saved, winners, phases)
    reading, own_reading = _united(
        sources, "required_reading", [normal_reading(item) for item in saved.required_reading], kept
    )
    reminders, own_reminders = _united(sources, "key_reminders", saved.key_reminders, kept)
    context = _united_context(sources, saved, winners)
    merged = saved.model_copy(
        update={
            "workflow": settle("workflow", saved.workflow),
            "workflow_type": settle("workflow_type", saved.workflow_type),
            "phase": phase,
            "required_reading": reading,
            "key_reminders": reminders,
            "context": context,
        }
    )
    own = Own(
        required_reading=own_reading,
        key_reminders=own_reminders,
        context=_own_keys(saved),
        phases=bool(kept and kept.own.phases),
    )
    changed_at = clock.parse(kept.changed_at) if kept else None
    if _lists_differ(merged, base):
        winners.changed.append(
            max([sources.saved_mtime, *(each.mtime for each in sources.declarations)])
        )
    moments = [_moment(mtime, sources.now) for mtime in winners.changed]
    if changed_at:
        moments.append(changed_at)
    latest = max(moments, default=_moment(sources.saved_mtime, sources.now))
    return _with_bookkeeping(sources, merged, own, phases, latest)


def _moment(mtime: float, now: datetime) -> datetime:
    return min(clock.from_mtime(mtime), now)


def _lists_differ(state: State, base: Seen | None) -> bool:
    return base is not None and (
        state.required_reading != base.required_reading
        or state.key_reminders != base.key_reminders
        or state.context.keys() != (base.context or {}).keys()
    )


def _phase(sources: Sources, saved: State, winners: _Winners, phases: list[KnownPhase]) -> Phase:
    """Rules 5 and 6."""
    base = sources.base("saved")
    was = saved.phase
    value = Mark(current=was.current, total=was.total, name=was.name)
    sides = []
    for declaration in sources.declarations:
        if declaration.phase is None or not _comparable(declaration, was.total, sources):
            continue
        seen = sources.base(declaration.source)
        stated = Seen.of(declaration).phase
        sides.append(_Side(stated, _NO_BASE if seen is None else seen.phase, declaration.mtime))
    settled = winners.settle(value, _NO_BASE if base is None else base.phase, sides)
    status_base = _NO_BASE if base is None else base.status
    status = winners.settle(was.status, status_base, sources.sides("status"))
    if settled == value:
        return was.model_copy(update={"status": status})
    mark = PhaseMark(settled.current, settled.total, settled.name)
    place = _complete(mark, was, phases)
    entered = place["current"] != was.current
    if entered and status == was.status and status in {"completed", "not_started"}:
        status = "in_progress"
    return was.model_copy(update={**place, "status": status})


def _comparable(declaration: Declaration, total: int, sources: Sources) -> bool:
    mark = declaration.phase
    if mark is None or not mark.derived:
        return mark is not None
    seen = sources.base(declaration.source)
    before = seen.phase.total if seen and seen.phase else None
    return total in {mark.total, before}


def _complete(mark: PhaseMark, was: Phase | None, phases: list[KnownPhase]) -> dict[str, Any]:
    """Current, total and name, with what *mark* leaves out filled from what is known."""
    names = {each.number: each.name for each in phases}
    current = mark.current
    if current is None and mark.name:
        wanted = mark.name.casefold()
        current = next((n for n, name in names.items() if name.casefold() == wanted), None)
    current = current or (was.current if was else 1)
    total = mark.total or max(names, default=0) or (was.total if was else 1)
    name = mark.name or names.get(current)
    if name is None:
        name = was.name if was and was.current == current else f"Phase {current}"
    return {"current": current, "total": max(total, current), "name": name}


def normal_reading(item: str) -> str:
    """One spelling for each path: with its @, without a leading ./."""
    path = item.strip().removeprefix("@")
    while path.startswith("./"):
        path = path[2:]
    return f"@{path}"


def _united(
    sources: Sources, field: str, current: list[str], kept: Bookkeeping | None
) -> tuple[list[str], list[str]]:
    """Rule 8 for a list: all that somebody still asserts, and what only the saved file does."""
    asserted: list[str] = []
    for source in _ORDER:
        asserted += _said(sources, source, field) or []
    base = sources.base("saved")
    if kept is None or base is None:
        own = list(current)
    else:
        listed = set(getattr(kept.own, field))
        before = set(getattr(base, field) or [])
        own = [item for item in current if item in listed or item not in before]
    standing = {*asserted, *own}
    united = [item for item in current if item in standing] + asserted
    return list(dict.fromkeys(united)), list(dict.fromkeys(own))


def _said(sources: Sources, source: str, field: str) -> Any:
    """What *source* says of *field* now, or said when it last mentioned it (rule 1)."""
    for declaration in sources.declarations:
        if declaration.source == source:
            value = getattr(Seen.of(declaration), field)
            if value is not None:
                return value
    base = sources.base(source)
    return getattr(base, field) if base else None


def _own_keys(saved: State) -> list[str]:
    kept = saved.holdfast
    base = kept.seen.get("saved") if kept else None
    if kept is None or base is None:
        return list(saved.context)
    before = base.context or {}
    return [key for key in saved.context if key in kept.own.context or key not in before]


def _united_context(sources: Sources, saved: State | None, winners: _Winners) -> dict[str, Any]:
    """Rule 8 for context: which keys stand as for lists, each value as for any field."""
    said = {source: _said(sources, source, "context") or {} for source in _ORDER}
    current = saved.context if saved else {}
    standing = {
        *(_own_keys(saved) if saved else []),
        *(key for each in said.values() for key in each),
    }
    keys = dict.fromkeys([*current, *said["local"], *said["plan"]])
    base = sources.base("saved")
    was = (base.context or {}) if base else None
    merged = {}
    for key in keys:
        if key not in standing:
            continue
        sides = [
            _Side(each.context[key], _base_of(sources, each.source, key), each.mtime)
            for each in sources.declarations
            if each.context and key in each.context
        ]
        if key in current:
            before = _NO_BASE if was is None else was.get(key, _SILENT)
            merged[key] = winners.settle(current[key], before, sides)
        else:
            merged[key] = sides[0].value if sides else (said["local"] | said["plan"])[key]
    return merged


def _base_of(sources: Sources, source: str, key: str) -> Any:
    seen = sources.base(source)
    return _NO_BASE if seen is None else (seen.context or {}).get(key, _SILENT)


def _known_phases(sources: Sources, kept: Bookkeeping | None) -> list[KnownPhase]:
    """The plan's phases, unless `start` was given others."""
    planned = [
        KnownPhase(number=each.number, name=each.name, next_action=each.next_action, gate=each.gate)
        for declaration in sources.declarations
        for each in declaration.phases
    ]
    if not kept or not kept.phases:
        return planned
    if not planned or (kept.own.phases and len(planned) != len(kept.phases)):
        return kept.phases
    return planned


def _with_bookkeeping(
    sources: Sources, state: State, own: Own, phases: list[KnownPhase], changed_at: datetime
) -> State:
    kept = sources.saved.holdfast if sources.saved else None
    before = kept.seen if kept else {}
    seen = dict(before)
    for declaration in sources.declarations:
        seen[declaration.source] = Seen.of(declaration).over(before.get(declaration.source))
    phase = state.phase
    seen["saved"] = Seen(
        workflow=state.workflow,
        workflow_type=state.workflow_type,
        phase=Mark(current=phase.current, total=phase.total, name=phase.name),
        status=phase.status,
        required_reading=state.required_reading,
        key_reminders=state.key_reminders,
        context=state.context,
    )
    next_action, gate = _next(sources, state, phases, kept)
    open_items = [digest(item) for each in sources.declarations for item in each.open_items]
    plan = next(
        (
            path
            for each in sources.declarations
            if (path := each.plan or (each.path if each.source == "plan" else None))
        ),
        kept.plan if kept else None,
    )
    content_same = sources.saved is not None and _content(sources.saved) == _content(state)
    fields = {
        "identity": sources.identity,
        "plan": plan,
        "branch": kept.branch if kept and content_same else sources.branch,
        "changed_at": clock.iso(changed_at),
        "next_action": next_action,
        "gate": gate,
        "phases": phases,
        "open_items": open_items or (kept.open_items if kept else []),
        "seen": seen,
        "own": own,
    }
    merged = kept.model_copy(update=fields) if kept else Bookkeeping.model_validate(fields)
    return state.model_copy(update={"holdfast": merged})


def _content(state: State) -> dict[str, Any]:
    return state.model_dump(exclude={"holdfast"})


def _next(
    sources: Sources, state: State, phases: list[KnownPhase], kept: Bookkeeping | None
) -> tuple[str | None, str | None]:
    """Next action and gate of the phase that holds now; a line written for another phase is stale."""
    here = next((each for each in phases if each.number == state.phase.current), None)
    next_action = here.next_action if here else None
    gate = here.gate if here else None
    for declaration in reversed(sources.declarations):
        mark = declaration.phase
        if mark and mark.current not in {None, state.phase.current}:
            continue
        next_action = declaration.next_action or next_action
        gate = declaration.gate or gate
    if not sources.declarations and kept and not phases:
        return kept.next_action, kept.gate
    return next_action, gate
