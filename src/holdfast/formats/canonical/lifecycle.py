"""What agents and people do to a canonical workflow: start, advance, note, complete, undo.

Each command takes the lock, syncs, makes its one change and saves, so that a change in the markdown
that no hook has seen yet is never lost to it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from holdfast import clock, ledger
from holdfast.errors import IllegalMove, NewerRecord, NoSuchWorkflow, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.canonical import endings, files, identity, saving
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.files import Held
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.state import KnownPhase, State
from holdfast.formats.canonical.tolerance import salvage
from holdfast.formats.canonical.unite import normal_reading
from holdfast.formats.canonical.view import Known, View
from holdfast.records import Record, made, replace
from holdfast.regular import decode_json
from holdfast.store import COMMAND_WAIT


class Beginning(Record):
    """What `start` is told. What is left out stays as the markdown declares it, if it does."""

    name: str
    kind: str | None = None
    phases: Sequence[str] = ()
    reading: Sequence[str] = ()
    reminders: Sequence[str] = ()
    context: dict[str, Any] = made(factory=dict)
    apart: bool = False  # from a plan that is among the reading


def start(place: Place, beginning: Beginning) -> Known:
    """Begin a formal workflow; one that markdown declares already takes these facts on.

    A plan among the reading that no workflow is kept for makes the two one workflow.
    """
    reading = [normal_reading(item) for item in beginning.reading]
    name = identity.by_name(beginning.name)
    with place.store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = next((each for each in view.known if _is_called(each, name)), None)
        if known and known.held:
            raise IllegalMove(
                f"{known.state.workflow!r} is kept already, in phase "
                f"{known.state.phase.current}/{known.state.phase.total}",
                hint="Advance it with `holdfast phase`, or end it with `holdfast complete`.",
            )
        if known is None and not beginning.apart:
            known = _by_plan(place, view, reading)
        if known and known.standing == "finished":  # begun anew, and not where it ended
            known = replace(known, state=merge(views.inputs(place, None, known.group, known.key)))
        state = _begun(place, beginning, reading, known)
        begun = Known(known.key if known else name, state, None, known.group if known else None)
        for key in {begun.key, name, *(begun.group.keys if begun.group else ())}:
            view.ledger.finished.pop(key, None)
            view.ledger.ignored.pop(key, None)
        ledger.save(place.store, view.ledger, place.now)
        return _save(place, begun, state, phases=_numbered(beginning.phases))


def _is_called(known: Known, name: str) -> bool:
    keys = {known.key, *(known.group.keys if known.group else ())}
    return name in keys or identity.by_name(known.state.workflow) == name


def _by_plan(place: Place, view: View, reading: Sequence[str]) -> Known | None:
    """The workflow of a plan in progress among *reading* that has no state yet."""
    for item in reading:
        path = item.removeprefix("@")
        if not identity.is_plan(path, place.settings.plans):
            continue
        known = view.find(identity.by_plan(path))
        if known and known.held is None:
            return known
    return None


def _begun(place: Place, beginning: Beginning, reading: list[str], declared: Known | None) -> State:
    """The first state: what is declared already, with what `start` was told on top."""
    base = declared.state if declared else _blank(place, beginning.name)
    phase = base.phase
    if beginning.phases:
        names = [name.casefold() for name in beginning.phases]
        known = declared is not None and phase.name.casefold() in names
        number = names.index(phase.name.casefold()) + 1 if known else 1
        if declared and not known and phase.total == len(names):
            number = phase.current
        place_of = {"current": number, "total": len(names), "name": beginning.phases[number - 1]}
        phase = replace(phase, **place_of)
    added = {
        "workflow": beginning.name,
        "workflow_type": beginning.kind or base.workflow_type,
        "phase": phase,
        "required_reading": list(dict.fromkeys([*base.required_reading, *reading])),
        "key_reminders": list(dict.fromkeys([*base.key_reminders, *beginning.reminders])),
        "context": {**base.context, **beginning.context},
    }
    return replace(base, **added)


def _blank(place: Place, name: str) -> State:
    return State.of(
        {
            "workflow": name,
            "workflow_type": "custom",
            "phase": {"current": 1, "total": 1, "name": "Phase 1", "status": "in_progress"},
            "required_reading": [],
            "created_at": clock.iso(place.now),
        }
    )


def _numbered(names: Sequence[str]) -> list[KnownPhase]:
    return [KnownPhase(number=number, name=name) for number, name in enumerate(names, 1)]


def change(place: Place, key: str, mutate: Callable[[State], State]) -> Known:
    """Apply *mutate* to the workflow *key* as it is now, inside the lock."""
    with place.store.lock(COMMAND_WAIT):
        known = _changeable(views.look(place), key)
        return _save(place, known, mutate(known.state))


def _find(view: View, key: str) -> Known:
    known = view.find(key)
    if known is None:
        raise NoSuchWorkflow("the workflow has gone meanwhile", hint="See holdfast list.")
    return known


def touch(place: Place, key: str) -> None:
    """Somebody takes the workflow up: it is not stale any more."""

    def mutate(state: State) -> State:
        if state.holdfast is None:
            return state
        kept = replace(state.holdfast, changed_at=clock.iso(place.now))
        return replace(state, holdfast=kept)

    change(place, key, mutate)


def _changeable(view: View, key: str) -> Known:
    """One that is being worked on, or whose file is at least still there."""
    known = _find(view, key)
    if known.standing == "ignored" or (known.standing == "finished" and known.held is None):
        name = known.state.workflow
        raise IllegalMove(
            f"{name!r} is {known.standing}: {known.remark}",
            hint=f"Take it up again: holdfast resume {name!r}",
        )
    saving.check(known.held)
    return known


def _save(place: Place, known: Known, state: State, phases: Sequence[KnownPhase] = ()) -> Known:
    """Merge *state*, changed just now, with the declarations and write it."""
    now = Held(Path(), b"", place.now.timestamp(), state)
    merged = merge(views.inputs(place, now, known.group, known.key))
    if phases and merged.holdfast:
        own = replace(merged.holdfast.own, phases=True)
        kept = replace(merged.holdfast, phases=list(phases), own=own)
        merged = replace(merged, holdfast=kept)
    saving.write(place, known, merged)
    return _find(views.look(place), known.key)


# One function a command, from state to state.


def to_phase(
    state: State, number: int | None, name: str | None, status: str | None, total: int | None
) -> State:
    """The phase *number*, by default the next one. Its name is known from the plan or given."""
    was = state.phase
    onward = number is None
    number = was.current + 1 if number is None else number
    total = total if total is not None else was.total
    if number > total:
        if onward and total == was.total:
            raise IllegalMove(
                f"phase {was.current}/{was.total} is the last one",
                hint="End the workflow with `holdfast complete`, or give a larger --total.",
            )
        raise IllegalMove(f"there is no phase {number} of {total}", hint="See --total.")
    known = state.holdfast.phases if state.holdfast else []
    names = {each.number: each.name for each in known}
    moved = number != was.current
    fallback = names.get(number, f"Phase {number}") if moved else was.name
    phase = {
        "current": number,
        "total": total,
        "name": name or fallback,
        "status": status or ("in_progress" if moved else was.status),
    }
    changed = replace(state, phase=replace(was, **phase))
    return changed if phase["status"] == "blocked" else _without(changed, "blocked_by")


def blocked(state: State, reason: str) -> State:
    phase = replace(state.phase, status="blocked")
    context = {**state.context, "blocked_by": reason} if reason else state.context
    return replace(state, phase=phase, context=context)


def unblocked(state: State) -> State:
    if state.phase.status != "blocked":
        raise IllegalMove(f"{state.workflow!r} is not blocked")
    phase = replace(state.phase, status="in_progress")
    return _without(replace(state, phase=phase), "blocked_by")


def _without(state: State, key: str) -> State:
    context = {name: value for name, value in state.context.items() if name != key}
    return replace(state, context=context)


def with_items(state: State, field: str, add: Sequence[str], drop: Sequence[str]) -> State:
    """*field* with items added at its end and others taken out."""
    current = list(getattr(state, field))
    missing = [item for item in drop if item not in current]
    if missing:
        raise IllegalMove(f"not there: {missing[0]}", hint="See holdfast show.")
    kept = [item for item in current if item not in drop]
    return replace(state, **{field: list(dict.fromkeys([*kept, *add]))})


def with_context(state: State, values: dict[str, Any], drop: Sequence[str]) -> State:
    context = {key: value for key, value in state.context.items() if key not in drop}
    return replace(state, context={**context, **values})


# The end, and back from it.


def complete(place: Place, key: str) -> ledger.Tombstone:
    """Archive the last state, delete the file, and see that it does not come back by itself."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = _find(view, key)
        if known.held is None and (stone := _stone_over(view, known)):
            raise already_ended(stone)
        state = known.state
        older = [each for each in view.superseded if _same(each.state, state)]
        saving.check(known.held, known.absorbed, *older)
        view.ledger.check()
        name = known.held.path.name if known.held else f"{files.slug(state.workflow)}.json"
        archive = store.archive(name, place.stamp, state.encode())
        tombstone = endings.tombstone(
            state.workflow,
            known.declarations,
            at=clock.iso(place.now),
            how="completed",
            archive=store.relative(archive),
            checkout=place.checkout,
        )
        view.ledger.finished[key] = tombstone
        for each in (key, *(known.group.keys if known.group else ())):
            view.ledger.ignored.pop(each, None)
        ledger.save(store, view.ledger, place.now)
        for held in [known.absorbed, *older]:
            if held:
                saving.retire(place, held)
        if known.held:
            store.remove(known.held.path)
            store.forget(known.held.path)
    return tombstone


def already_ended(stone: ledger.Tombstone) -> IllegalMove:
    """What is said to whoever wants to end it once more."""
    command = shlex.join(["holdfast", "resume", stone.name])
    return IllegalMove(
        f"{stone.name!r} was {stone.how} on {stone.at[:10]}", hint=f"`{command}` takes it up again."
    )


def _stone_over(view: View, known: Known) -> ledger.Tombstone | None:
    """The tombstone of a workflow that markdown still declares."""
    place, group = view.place, known.group
    resting = endings.resting(place.store, view.ledger, group, place.checkout) if group else None
    return resting[0] if resting else None


def _same(state: State, other: State) -> bool:
    return identity.by_name(state.workflow) == identity.by_name(other.workflow)


def revive(place: Place, key: str) -> Known:
    """Bring an ended workflow back as it was when it ended."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        tombstone = view.ledger.finished.pop(key, None)
        if tombstone is None:  # the disk fails, or somebody was quick
            raise NoSuchWorkflow("it was not found among those that have ended any more")
        try:
            state = endings.last_state(store, tombstone)
        except (StateUnreadable, ValueError) as error:
            raise NoSuchWorkflow(f"the archive of {tombstone.name!r} is gone: {error}") from error
        view.ledger.check()
        known = view.find(key)
        # The state first: whoever is killed in between has the workflow, and a tombstone beside it
        # that nobody looks at. The other way round neither would be left.
        revived = _save(place, Known(key, state, None, known.group if known else None), state)
        ledger.save(store, view.ledger, place.now)
        return revived


def undo(place: Place, key: str) -> Known:
    """Put back what the state said before its last change; once more undoes the undoing."""
    with place.store.lock(COMMAND_WAIT):
        known = _changeable(views.look(place), key)
        if known.held and (line := place.store.copies_left_alone(known.held.path)):
            raise NewerRecord(line)
        copies = place.store.copies(known.held.path) if known.held else None
        if copies is None or copies.previous is None:
            raise IllegalMove(f"there is no earlier state of {known.state.workflow!r}")
        data = decode_json(copies.previous.encode())
        if not isinstance(data, dict):
            raise IllegalMove(f"the earlier state of {known.state.workflow!r} cannot be read")
        previous, _ = salvage(data, lambda: known.state, lambda: known.state.created_at)
        # The markdown has not changed by this: what we know of it stays as it is now.
        restored = replace(previous, holdfast=known.state.holdfast)
        return _save(place, known, restored)


def ended_since(place: Place, moment: str) -> str | None:
    """The key of the workflow that ended last, if that was after *moment*."""
    return next((key for key, at, _ in _latest_first(place) if at > moment), None)


def ended_called(place: Place, name: str, *, whole: bool) -> str | None:
    """The key of the workflow of that name that ended last; unless *whole*, its beginning will do."""
    wanted = name.casefold()
    names = [(key, each.casefold()) for key, _, each in _latest_first(place)]
    same = (key for key, each in names if each == wanted)
    begun = (key for key, each in names if each.startswith(wanted) and not whole)
    return next(chain(same, begun), None)


def _latest_first(place: Place) -> list[tuple[str, str, str]]:
    """Key, end and name of each workflow that has ended."""
    entries = ledger.load(place.store).finished.items()
    found = [(key, each.at, each.name) for key, each in entries]
    return sorted(found, key=lambda each: each[1], reverse=True)
