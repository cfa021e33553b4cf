"""What agents and people do to a canonical workflow: start, advance, note, complete, undo.

Each command takes the lock, syncs, makes its one change and saves, so that a change in the markdown
that no hook has seen yet is never lost to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast import clock, ledger
from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.canonical import files, identity
from holdfast.formats.canonical import format as canonical
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.settle import Inputs
from holdfast.formats.canonical.state import KnownPhase, State
from holdfast.formats.canonical.unite import normal_reading
from holdfast.formats.canonical.view import Known, View
from holdfast.store import COMMAND_WAIT, read_file


@dataclass(frozen=True)
class Beginning:
    """What `start` is told."""

    name: str
    kind: str = "custom"
    phases: Sequence[str] = ()
    reading: Sequence[str] = ()
    reminders: Sequence[str] = ()
    context: dict[str, Any] | None = None


def start(place: Place, beginning: Beginning) -> Known:
    """Begin a formal workflow; one that markdown declares already takes these facts on."""
    reading = [normal_reading(item) for item in beginning.reading]
    plans = [item.removeprefix("@") for item in reading]
    plan = next((path for path in plans if identity.is_plan(path, place.settings.plans)), None)
    wanted = [identity.by_name(beginning.name), *([identity.by_plan(plan)] if plan else [])]
    with place.store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = next((each for each in view.known if _is_meant(each, wanted)), None)
        if known and known.held:
            raise IllegalMove(
                f"{known.state.workflow!r} is kept already, in phase "
                f"{known.state.phase.current}/{known.state.phase.total}",
                hint="Advance it with `holdfast phase`, or end it with `holdfast complete`.",
            )
        key = known.key if known else wanted[-1]
        state = _first_state(place, beginning, reading)
        begun = Known(key, state, None, known.group if known else None)
        for name in {key, *wanted, *(begun.group.keys if begun.group else ())}:
            view.ledger.finished.pop(name, None)
            view.ledger.ignored.pop(name, None)
        ledger.save(place.store, view.ledger)
        return _save(place, begun, state, phases=_numbered(beginning.phases))


def _is_meant(known: Known, wanted: Sequence[str]) -> bool:
    keys = {known.key, *(known.group.keys if known.group else ())}
    return bool(keys & set(wanted)) or identity.by_name(known.state.workflow) in wanted


def _first_state(place: Place, beginning: Beginning, reading: list[str]) -> State:
    names = list(beginning.phases) or ["Phase 1"]
    return State.model_validate(
        {
            "workflow": beginning.name,
            "workflow_type": beginning.kind,
            "phase": {
                "current": 1,
                "total": len(names),
                "name": names[0],
                "status": "in_progress",
            },
            "required_reading": reading,
            "context": beginning.context or {},
            "key_reminders": list(beginning.reminders),
            "created_at": clock.iso(place.now),
        }
    )


def _numbered(names: Sequence[str]) -> list[KnownPhase]:
    return [KnownPhase(number=number, name=name) for number, name in enumerate(names, 1)]


def change(place: Place, key: str, mutate: Callable[[State], State]) -> Known:
    """Apply *mutate* to the workflow *key* as it is now, inside the lock."""
    with place.store.lock(COMMAND_WAIT):
        known = _find(views.look(place), key)
        return _save(place, known, mutate(known.state))


def _find(view: View, key: str) -> Known:
    known = view.find(key)
    if known is None:
        raise NoSuchWorkflow("the workflow has gone meanwhile", hint="See holdfast list.")
    return known


def _save(place: Place, known: Known, state: State, phases: Sequence[KnownPhase] = ()) -> Known:
    """Merge *state*, changed just now, with the declarations and write it."""
    merged = merge(
        Inputs(
            saved=state,
            saved_mtime=place.now.timestamp(),
            declarations=known.declarations,
            identity=known.key,
            branch=place.branch,
            now=place.now,
        )
    )
    if phases and merged.holdfast:
        own = merged.holdfast.own.model_copy(update={"phases": True})
        kept = merged.holdfast.model_copy(update={"phases": list(phases), "own": own})
        merged = merged.model_copy(update={"holdfast": kept})
    canonical.write(place, known, merged)
    return _find(views.look(place), known.key)


# One function a command, from state to state.


def to_phase(
    state: State, number: int | None, name: str | None, status: str | None, total: int | None
) -> State:
    """The phase *number*, by default the next one. Its name is known from the plan or given."""
    was = state.phase
    number = number if number is not None else was.current + 1
    total = total if total is not None else was.total
    if number > total or number < 1:
        last = (
            f"phase {was.current}/{was.total} is the last one"
            if number == was.current + 1
            else (f"there is no phase {number} of {total}")
        )
        raise IllegalMove(
            last, hint="End the workflow with `holdfast complete`, or give a larger --total."
        )
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
    changed = state.model_copy(update={"phase": was.model_copy(update=phase)})
    return changed if phase["status"] == "blocked" else _without(changed, "blocked_by")


def blocked(state: State, reason: str) -> State:
    phase = state.phase.model_copy(update={"status": "blocked"})
    context = {**state.context, "blocked_by": reason} if reason else state.context
    return state.model_copy(update={"phase": phase, "context": context})


def unblocked(state: State) -> State:
    if state.phase.status != "blocked":
        raise IllegalMove(f"{state.workflow!r} is not blocked")
    phase = state.phase.model_copy(update={"status": "in_progress"})
    return _without(state.model_copy(update={"phase": phase}), "blocked_by")


def _without(state: State, key: str) -> State:
    context = {name: value for name, value in state.context.items() if name != key}
    return state.model_copy(update={"context": context})


def with_items(state: State, field: str, add: Sequence[str], drop: Sequence[str]) -> State:
    """*field* with items added at its end and others taken out."""
    current = list(getattr(state, field))
    missing = [item for item in drop if item not in current]
    if missing:
        raise IllegalMove(f"not there: {missing[0]}", hint="See holdfast show.")
    kept = [item for item in current if item not in drop]
    return state.model_copy(update={field: list(dict.fromkeys([*kept, *add]))})


def with_context(state: State, values: dict[str, Any], drop: Sequence[str]) -> State:
    context = {key: value for key, value in state.context.items() if key not in drop}
    return state.model_copy(update={"context": {**context, **values}})


# The end, and back from it.


def complete(place: Place, key: str) -> ledger.Tombstone:
    """Archive the last state, delete the file, and see that it does not come back by itself."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = _find(view, key)
        stamp = canonical.stamp_of(place)
        name = known.held.path.name if known.held else f"{files.slug(known.state.workflow)}.json"
        archive = store.archive(name, stamp, known.state.encode())
        tombstone = views.tombstone_for(known, clock.iso(place.now), store.relative(archive))
        view.ledger.finished[key] = tombstone
        ledger.save(store, view.ledger)
        for held in [known.held, *view.superseded]:
            if held and identity.of_state(held.state, place.settings.plans) == key:
                store.remove(held.path)
                store.forget(held.path)
        if known.held and known.held.path.exists():  # kept under an older key
            store.remove(known.held.path)
            store.forget(known.held.path)
    return tombstone


def revive(place: Place, key: str) -> Known:
    """Bring an ended workflow back as it was when it ended."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        tombstone = view.ledger.finished.pop(key)
        try:
            raw = read_file(store.root / tombstone.archive)[0]
            state = State.model_validate_json(raw)
        except (StateUnreadable, ValueError) as error:
            raise NoSuchWorkflow(f"the archive of {tombstone.name!r} is gone: {error}") from error
        known = view.find(key)
        ledger.save(store, view.ledger)
        return _save(place, Known(key, state, None, known.group if known else None), state)


def undo(place: Place, key: str) -> Known:
    """Put back what the state said before its last change; once more undoes the undoing."""
    with place.store.lock(COMMAND_WAIT):
        known = _find(views.look(place), key)
        copies = place.store.copies(known.held.path) if known.held else None
        if copies is None or copies.previous is None:
            raise IllegalMove(f"there is no earlier state of {known.state.workflow!r}")
        previous = State.model_validate_json(copies.previous)
        # The markdown has not changed by this: what we know of it stays as it is now.
        restored = previous.model_copy(update={"holdfast": known.state.holdfast})
        return _save(place, known, restored)


def ignore(place: Place, key: str, name: str, *, ignored: bool) -> None:
    """Leave a workflow alone: it is neither saved nor restored until it is resumed."""
    with place.store.lock(COMMAND_WAIT):
        entries = ledger.load(place.store)
        if ignored:
            entries.ignored[key] = name
        else:
            entries.ignored.pop(key, None)
        ledger.save(place.store, entries)
