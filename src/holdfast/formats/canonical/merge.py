"""The three-way merge of a saved state with what the markdown declares now.

The code of rules 1 to 4 and 7 is in settle.py, that of rule 8 in unite.py.

Three sources speak of one workflow: CLAUDE.local.md ("local"), the plan, and the saved file, which
agents advance by commands, by jq or by hand. For each we kept what it said when we last looked.

Rule 1: what a source does not mention is no change. Silence never deletes anything.
Rule 2: a source has changed when it says something else than it did. If one side changed, it wins.
Rule 3: if the saved file and the markdown both changed, the newer file wins; a tie goes to the
        saved file. Without a base (a file of another tool, a source that is new) the same holds.
Rule 4: between two markdown sources that both changed, CLAUDE.local.md goes before the plan.
Rule 5: a phase (current, total, name) moves as one; its status by itself. Only the status of the
        phase that was left does not move along into a new one: that has the status that is stated
        with it, else it is in progress.
Rule 6: a phase derived from checkboxes moves only a phase that is counted in the same total, so
        that a plan with three headings does not turn "4 of 10" into "3 of 3". Where a command has
        gone ahead of the boxes, ticking them late does not set the work back.
Rule 7: a plan's title and a guessed type only fill a gap; they rename nothing that has a name.
Rule 8: lists are united in order, context key by key. An item goes only when the one source that
        had it dropped it.
Rule 9: created_at never changes, keys that we do not know stay, merging twice changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from holdfast import clock
from holdfast.formats.canonical.declaration import Declaration, PhaseMark, Status, digest
from holdfast.formats.canonical.settle import NO_BASE, Inputs, Side, Winners
from holdfast.formats.canonical.state import (
    MOST_BRANCHES,
    Bookkeeping,
    KnownPhase,
    Mark,
    Own,
    Phase,
    Seen,
    State,
    seen_of_state,
)
from holdfast.formats.canonical.unite import (
    forgotten,
    normal_reading,
    own_keys,
    united,
    united_context,
)
from holdfast.records import replace
from holdfast.versions import KNOWN

T = TypeVar("T")


def merge(inputs: Inputs) -> State:
    """The state that holds now."""
    inputs = inputs.ranked()
    return _update(inputs, inputs.saved) if inputs.saved else _create(inputs)


def _create(inputs: Inputs) -> State:
    """The first state of a workflow that markdown declares."""
    phases = _known_phases(inputs, None)
    mark = next((each.phase for each in inputs.declarations if each.phase), PhaseMark())

    def first(field: str, default: T) -> T:
        return next((side.value for side in inputs.sides(field)), default)

    stated_type = next(
        (each.workflow_type for each in inputs.declarations if not each.type_guessed), None
    )
    names = [each.workflow for each in inputs.declarations if each.workflow]
    state = State.of(
        {
            "workflow": names[0] if names else inputs.identity,
            "workflow_type": stated_type or first("workflow_type", "custom"),
            "phase": {
                **_complete(mark, None, phases),
                "status": first("status", "in_progress"),
            },
            "required_reading": united(inputs, "required_reading", [], None)[0],
            "context": united_context(inputs, None, Winners(inputs)),
            "key_reminders": united(inputs, "key_reminders", [], None)[0],
            "created_at": clock.iso(inputs.now),
        }
    )
    latest = max((each.mtime for each in inputs.declarations), default=0.0)
    return _with_bookkeeping(inputs, state, Own(), phases, _moment(latest, inputs.now))


def _update(inputs: Inputs, saved: State) -> State:
    winners = Winners(inputs)
    kept = saved.holdfast
    base = inputs.base("saved")

    def settle(field: str, value: T) -> T:
        was = NO_BASE if base is None else getattr(base, field)
        return winners.settle(value, was, inputs.sides(field))

    phases = _known_phases(inputs, kept)
    phase = _phase(inputs, saved, winners, phases)
    reading, own_reading = united(
        inputs, "required_reading", [normal_reading(item) for item in saved.required_reading], kept
    )
    reminders, own_reminders = united(inputs, "key_reminders", saved.key_reminders, kept)
    context = united_context(inputs, saved, winners)
    if saved.phase.status == "blocked" != phase.status:
        context.pop("blocked_by", None)
    merged = replace(
        saved,
        workflow=settle("workflow", saved.workflow),
        workflow_type=settle("workflow_type", saved.workflow_type),
        phase=phase,
        required_reading=reading,
        key_reminders=reminders,
        context=context,
    )
    own = Own(
        required_reading=own_reading,
        key_reminders=own_reminders,
        context=[key for key in own_keys(saved) if key in context],
        phases=bool(kept and kept.own.phases),
    )
    changed_at = clock.parse(kept.changed_at) if kept else None
    if _lists_differ(merged, base):
        winners.changed.append(
            max([inputs.saved_mtime, *(each.mtime for each in inputs.declarations)])
        )
    moments = [_moment(mtime, inputs.now) for mtime in winners.changed]
    if changed_at:
        moments.append(changed_at)
    latest = max(moments, default=_moment(inputs.saved_mtime, inputs.now))
    return _with_bookkeeping(inputs, merged, own, phases, latest)


def _moment(mtime: float, now: datetime) -> datetime:
    return min(clock.from_mtime(mtime), now)


def _lists_differ(state: State, base: Seen | None) -> bool:
    return base is not None and (
        state.required_reading != base.required_reading
        or state.key_reminders != base.key_reminders
        or state.context.keys() != (base.context or {}).keys()
    )


def _phase(inputs: Inputs, saved: State, winners: Winners, phases: list[KnownPhase]) -> Phase:
    """Rules 5 and 6."""
    base = inputs.base("saved")
    was = saved.phase
    value = Mark(current=was.current, total=was.total, name=was.name)
    sides = [
        side
        for declaration in inputs.declarations
        if (side := _phase_side(inputs, declaration, saved, phases))
    ]
    settled = winners.settle(value, NO_BASE if base is None else base.phase, sides)
    status_base = NO_BASE if base is None else base.status
    status = winners.settle(was.status, status_base, inputs.sides("status"))
    if settled == value:
        return replace(was, status=status)
    mark = PhaseMark(settled.current, settled.total, settled.name)
    place = _complete(mark, was, phases)
    if place["current"] != was.current:
        status = _status_on_entry(inputs, was, settled, base)
    return replace(was, **place, status=status)


def _status_on_entry(inputs: Inputs, was: Phase, settled: Mark, base: Seen | None) -> Status:
    """The status of a phase that markdown has just moved to (rule 5)."""
    movers = [each for each in inputs.declarations if Seen.of(each).phase == settled]
    mover = movers[0] if movers else inputs.declarations[-1]
    changed = base is not None and was.status != base.status
    if changed and inputs.saved_mtime >= mover.mtime:
        return was.status  # set after the move was written
    return mover.status or "in_progress"


def _phase_side(
    inputs: Inputs, declaration: Declaration, saved: State, phases: list[KnownPhase]
) -> Side | None:
    """What *declaration* has to say of the phase; nothing where rule 6 keeps it silent."""
    stated = Seen.of(declaration).phase
    if declaration.phase is None or stated is None:
        return None
    seen = inputs.base(declaration.source)
    base = NO_BASE if seen is None else seen.phase
    if declaration.phase.derived and stated != base:
        before = seen.phase if seen else None
        follows = _follow(stated, before, saved, phases)
        if follows is None:
            return None
        stated = follows
    return Side(stated, base, declaration.mtime)


def _follow(mark: Mark, before: Mark | None, saved: State, phases: list[KnownPhase]) -> Mark | None:
    """Rule 6: where a phase derived from checkboxes leads from where the work is."""
    was = saved.phase
    if was.total not in {mark.total, before.total if before else None}:
        return None
    in_step = before is not None and before.current == was.current
    ahead = (mark.current or 0) > max(was.current, (before and before.current) or 0)
    if in_step or ahead:
        return mark
    if before is None:
        return None
    # The work went on by command and the boxes follow late: the number stays, but the plan may
    # have got more phases, or another name for this one.
    known = saved.holdfast.phases if saved.holdfast else []
    was_called = next((each.name for each in known if each.number == was.current), None)
    is_called = next((each.name for each in phases if each.number == was.current), None)
    name = is_called if was.name == was_called and is_called else was.name
    return Mark(current=was.current, total=max(mark.total or 0, was.current), name=name)


def _complete(mark: PhaseMark, was: Phase | None, phases: list[KnownPhase]) -> dict[str, Any]:
    """Current, total and name, with what *mark* leaves out filled from what is known."""
    names = {each.number: each.name for each in phases}
    if mark.total and names and max(names) != mark.total:
        names = {}  # counted otherwise, so its numbers are about something else
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


def _known_phases(inputs: Inputs, kept: Bookkeeping | None) -> list[KnownPhase]:
    """The plan's phases, unless `start` was given others."""
    planned = [
        KnownPhase(number=each.number, name=each.name, next_action=each.next_action, gate=each.gate)
        for declaration in inputs.declarations
        for each in declaration.phases
    ]
    if not kept or not kept.phases:
        return planned
    if not planned or (kept.own.phases and len(planned) != len(kept.phases)):
        return kept.phases
    return planned


def _with_bookkeeping(
    inputs: Inputs, state: State, own: Own, phases: list[KnownPhase], changed_at: datetime
) -> State:
    kept = inputs.saved.holdfast if inputs.saved else None
    before = kept.seen if kept else {}
    seen = dict(before)
    for declaration in inputs.declarations:
        seen[declaration.source] = Seen.of(declaration).over(inputs.base(declaration.source))
    seen = {
        source: forgotten(said, _mentioned(inputs, source), state) for source, said in seen.items()
    }
    seen["saved"] = seen_of_state(state)
    checkout, elsewhere = _checkouts(inputs, kept)
    next_action, gate = _next(inputs, state, phases, kept)
    open_items = [digest(item) for each in inputs.declarations for item in each.open_items]
    same = kept is not None and before.get("saved") == seen["saved"]
    fields: dict[str, Any] = {
        "version": KNOWN["bookkeeping"],
        "identity": inputs.identity,
        "branch": kept.branch if kept and same else inputs.branch,
        "changed_at": clock.iso(changed_at),
        "next_action": next_action,
        "gate": gate,
        "phases": phases,
        "open_items": open_items or (kept.open_items if kept else []),
        "seen": seen,
        "checkout": checkout,
        "elsewhere": elsewhere,
        "own": own,
    }
    merged = replace(kept, **fields) if kept else Bookkeeping(**fields)
    return replace(state, holdfast=merged)


def _mentioned(inputs: Inputs, source: str) -> Seen:
    now = next((each for each in inputs.declarations if each.source == source), None)
    return Seen.of(now) if now else Seen()


def _checkouts(inputs: Inputs, kept: Bookkeeping | None) -> tuple[str | None, dict[str, Seen]]:
    """On which branch the plan is seen now, and what it said on the others."""
    if not any(each.source == "plan" for each in inputs.declarations):
        return (kept.checkout, kept.elsewhere) if kept else (None, {})
    elsewhere = dict(kept.elsewhere) if kept else {}
    if kept and kept.checkout not in {None, inputs.checkout} and "plan" in kept.seen:
        elsewhere[str(kept.checkout)] = kept.seen["plan"]
    elsewhere.pop(inputs.checkout, None)
    return inputs.checkout, dict(list(elsewhere.items())[-MOST_BRANCHES:])


def _is_about(mark: PhaseMark, phase: Phase) -> bool:
    if mark.current is None and mark.name is not None:
        return mark.name.casefold() == phase.name.casefold()
    return mark.current in {None, phase.current}


def _next(
    inputs: Inputs, state: State, phases: list[KnownPhase], kept: Bookkeeping | None
) -> tuple[str | None, str | None]:
    """Next action and gate of the phase that holds now; what was written for another is stale."""
    next_action, gate = of_phase(state.phase, phases)
    for declaration in reversed(inputs.declarations):
        mark = declaration.phase
        if mark and not _is_about(mark, state.phase):
            continue
        next_action = declaration.next_action or next_action
        gate = declaration.gate or gate
    if not inputs.declarations and kept and not phases:
        return remembered(state, kept)
    return next_action, gate


def of_phase(phase: Phase, phases: list[KnownPhase]) -> tuple[str | None, str | None]:
    """What the list of phases has as next action and gate, if it counts as the state does."""
    if max((each.number for each in phases), default=0) != phase.total:
        return None, None
    here = next((each for each in phases if each.number == phase.current), None)
    return (here.next_action, here.gate) if here else (None, None)


def remembered(state: State, kept: Bookkeeping) -> tuple[str | None, str | None]:
    """The same of a state that nothing declares any more, as long as it is in the phase it was in."""
    if kept.phases:
        return of_phase(state.phase, kept.phases)
    saved = kept.seen.get("saved")
    then = saved.phase.current if saved and saved.phase else None
    return (kept.next_action, kept.gate) if then == state.phase.current else (None, None)
