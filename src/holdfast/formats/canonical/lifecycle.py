"""What agents and people do to a canonical workflow: start, advance, note, complete, undo.

Each command takes the lock, looks, makes its one change and saves, so that a change in the markdown
that no hook has seen yet is never lost to it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.errors import IllegalMove, NewerRecord, NoSuchWorkflow, StateUnreadable
from holdfast.files.regular import decode_json
from holdfast.files.store import COMMAND_WAIT
from holdfast.formats.canonical import format as canonical
from holdfast.formats.canonical import matching, writeback
from holdfast.formats.canonical import view as views
from holdfast.formats.canonical.files import StateFile
from holdfast.formats.canonical.format import FORMAT
from holdfast.formats.canonical.matching import by_name, by_plan
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.canonical.state import (
    Bookkeeping,
    KnownPhase,
    LeftPhase,
    State,
    blank,
    names_of,
    salvage,
)
from holdfast.formats.canonical.view import Merged, View
from holdfast.formats.engine.workflow import Place
from holdfast.records import ledger
from holdfast.records.ledger import Tombstone


class Beginning(NamedTuple):
    """What `start` was given. What is left out stays as the markdown declares it, if it does."""

    name: str
    kind: str | None = None
    phases: Sequence[str] = ()
    reading: Sequence[str] = ()
    reminders: Sequence[str] = ()
    context: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it
    apart: bool = False  # from a plan that is among the reading


def start(place: Place, beginning: Beginning) -> Merged:
    """Begin a formal workflow; one that markdown declares already takes these facts on.

    A plan among the reading that no workflow is kept for makes the two one workflow.
    """
    reading = [normal_reading(item) for item in beginning.reading]
    key = by_name(beginning.name)
    with place.store.lock(COMMAND_WAIT):
        view = views.look(place)
        named = (known for known in view.entries if key in {*known.keys, by_name(known.name)})
        known = next(named, None)
        if known and known.file:
            phase = known.state.phase
            raise IllegalMove(
                f"{known.name!r} is kept already, in phase {phase.current}/{phase.total}",
                hint="Advance it with `holdfast phase`, or end it with `holdfast complete`.",
            )
        if known is None and not beginning.apart:
            known = _by_plan(view, reading)
        if known and known.standing == "finished":  # begun anew, and not where it ended
            declared = merge(place, None, known.group, known.key)
            is_local = known.group is not None and known.group.local is not None
            if is_local and declared.phase.current == known.state.phase.current:
                declared = _to_phase(
                    declared, Step(1)
                )  # a command has written there where it ended
            known = known._replace(state=declared)
        state = _begun(place, beginning, reading, known)
        begun = Merged(known.key if known else key, state, group=known.group if known else None)
        for ended in {key, *begun.keys}:
            view.ledger.finished.pop(ended, None)
            view.ledger.ignored.pop(ended, None)
        view.ledger.check()
        # The state first, as in `revive`: where it cannot be written, the tombstone is still needed.
        started = FORMAT.put(place, begun.path, state, begun)
        ledger.save(place.store, view.ledger)
        return started


def _by_plan(view: View, reading: Sequence[str]) -> Merged | None:
    """The workflow of a plan in progress among *reading* that has no state yet."""
    plans = (view.find(by_plan(item.removeprefix("@"))) for item in reading)
    return next((known for known in plans if known and known.file is None), None)


def _begun(
    place: Place, beginning: Beginning, reading: list[str], declared: Merged | None
) -> State:
    """The first state: what is declared already, with what `start` was given on top."""
    base = declared.state if declared else blank(clock.iso(place.now), beginning.name)
    phase, kept = base.phase, base.holdfast
    if beginning.phases:
        names = [name.casefold() for name in beginning.phases]
        known = declared is not None and phase.name.casefold() in names
        number = names.index(phase.name.casefold()) + 1 if known else 1
        if declared and not known and phase.total == len(names):
            number = phase.current
        name = beginning.phases[number - 1]
        phase = phase.model_copy(update={"current": number, "total": len(names), "name": name})
        kept = kept or Bookkeeping(identity=by_name(beginning.name), changed_at=base.created_at)
        numbered = [KnownPhase(number=at, name=name) for at, name in enumerate(beginning.phases, 1)]
        own = kept.own.model_copy(update={"phases": True})
        kept = kept.model_copy(update={"phases": numbered, "own": own})
    return base.model_copy(
        update={
            "workflow": beginning.name,
            "workflow_type": beginning.kind or base.workflow_type,
            "phase": phase,
            "required_reading": list(dict.fromkeys([*base.required_reading, *reading])),
            "key_reminders": list(dict.fromkeys([*base.key_reminders, *beginning.reminders])),
            "context": {**base.context, **beginning.context},
            "holdfast": kept,
        }
    )


# The moves, from state to state.


class Step(NamedTuple):
    """Where to go: to phase *number*, else to the next one. Its name is known from the plan or given."""

    number: int | None = None
    called: str | None = None
    status: str | None = None
    total: int | None = None
    force: bool = False  # also past a gate whose boxes are open
    tick: bool = False  # the boxes of the phase that is left


def go(place: Place, key: str, step: Step) -> tuple[Merged, Sequence[LeftPhase]]:
    """Take *step*, past which no open gate goes unsaid; what the workflow is then, and what was left open."""
    with place.store.lock(COMMAND_WAIT):
        known = canonical.find_changeable(views.look(place), key)
        here = known.state.phase.current
        moved = _to_phase(known.state, step)
        there = moved.phase.current
        left = left_open(known, here, there)
        ticked = writeback.ticked(place, known, here) if step.tick else None
        if not step.force:
            after = _after_ticks(left, here, ticked.still_open) if ticked else left
            refuse_open_gates(after, "To go on all the same: --force.")
        now = FORMAT.put(place, known.path, _passed(moved, here, left), known)
        # The plan last: if it cannot be written, the state says which boxes are open.
        if ticked and ticked.edit.write(place):
            known = canonical.find_changeable(views.look(place), key)
            moved = _to_phase(known.state, step._replace(number=there))
            left = left_open(known, here, there)
            now = FORMAT.put(place, known.path, _passed(moved, here, left), known)
        return now, left


def _passed(moved: State, here: int, left: Sequence[LeftPhase]) -> State:
    """*moved* on from phase *here*, with what was *left* open noted."""
    kept = moved.holdfast
    if kept is None or moved.phase.current <= here:
        return moved
    passed = [*left, *(other for other in kept.left or () if other.number < here)]
    kept = kept.model_copy(update={"left": passed or None})
    return moved.model_copy(update={"holdfast": kept})


def _after_ticks(left: Sequence[LeftPhase], here: int, still: Sequence[str]) -> list[LeftPhase]:
    """What is *left* once only *still* is open in phase *here*."""
    changed = (
        phase.model_copy(update={"open_items": list(still)}) if phase.number == here else phase
        for phase in left
    )
    return [phase for phase in changed if phase.open_items]


def left_open(known: Merged, first: int, end: int) -> list[LeftPhase]:
    """The phases from *first* up to before *end* that have open boxes, by the plan."""
    phases, gate = known.planned, known.state.holdfast and known.state.holdfast.gate
    return [
        LeftPhase(
            number=phase.number,
            open_items=list(phase.open_items),
            gate=phase.gate or (gate if phase.number == known.state.phase.current else None),
        )
        for phase in phases
        if first <= phase.number < end and phase.open_items and not phase.done
    ]


def refuse_open_gates(left: Sequence[LeftPhase], otherwise: str) -> None:
    """IllegalMove where a gate stands behind boxes that are open."""
    gated = [canonical.in_words(phase) for phase in left if phase.gate]
    if gated:
        raise IllegalMove(f"a gate is open: {'; '.join(gated)}", hint=f"Tick them. {otherwise}")


def _to_phase(state: State, step: Step) -> State:
    number, called, status, total, *_ = step
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
    names = names_of(state.holdfast.phases) if state.holdfast else {}
    moved = number != was.current
    name = called or (names.get(number, f"Phase {number}") if moved else was.name)
    status = status or ("in_progress" if moved else was.status)
    changed = state.with_phase(current=number, total=total, name=name, status=status)
    return changed if status == "blocked" else _without_reason(changed)


def blocked(state: State, _at: str, reason: str) -> State:
    context = {**state.context, "blocked_by": reason} if reason else state.context
    return state.with_phase(status="blocked").model_copy(update={"context": context})


def unblocked(state: State, _at: str) -> State:
    if state.phase.status != "blocked":
        raise IllegalMove(f"{state.workflow!r} is not blocked")
    return _without_reason(state.with_phase(status="in_progress"))


def _without_reason(state: State) -> State:
    context = {key: value for key, value in state.context.items() if key != "blocked_by"}
    return state.model_copy(update={"context": context})


def _noted(state: State, field: str, add: Any, drop: Sequence[str]) -> State:
    there = getattr(state, field)
    missing = [item for item in drop if item not in there]
    if missing:
        raise IllegalMove(f"not there: {missing[0]}", hint="See holdfast show.")
    kept = [item for item in there if item not in drop]
    if field == "context":
        return state.model_copy(update={field: {**{key: there[key] for key in kept}, **add}})
    return state.model_copy(update={field: list(dict.fromkeys([*kept, *add]))})


def note(
    place: Place, key: str, field: str, add: Any, drop: Sequence[str]
) -> tuple[Merged, Merged]:
    """Add to the reading, the reminders or the context, and take *drop* out; what it was, and is.

    Nothing is changed where markdown declares one of *drop*: it would come back by itself.
    """
    with place.store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = canonical.find_changeable(view, key)
        state = _noted(known.state, field, add, drop)
        now = StateFile(known.path, b"", place.now.timestamp(), state)
        merged = merge(place, now, known.group, known.key)
        still = [item for item in drop if item in getattr(merged, field)]
        if still:
            paths = " or ".join(source.path for source in known.declarations)
            raise IllegalMove(f"declared in markdown: {still[0]}", hint=f"Remove it from {paths}.")
        return known, FORMAT.write(view, known, merged)


# The end, and back from it.


def complete(
    place: Place, key: str, how: str = "completed", *, force: bool = False
) -> tuple[Tombstone, Sequence[LeftPhase]]:
    """Archive the last state, delete the file, and see that it does not come back by itself.

    What is still open is told too. Not past an open gate without *force*; what is abandoned has none.
    """
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = view.find(key)
        if known is None:
            raise NoSuchWorkflow("the workflow no longer exists", hint="See holdfast list.")
        if known.file is None and known.group:
            resting = matching.resting(store, view.ledger, known.group, place.checkout)
            if resting:  # the tombstone of a workflow that markdown still declares
                raise already_ended(resting[0])
        left = list[LeftPhase]()
        if how == "completed" and known.standing == "active":
            phase = known.state.phase
            left = left_open(known, phase.current, phase.total + 1)
            if not force:
                refuse_open_gates(left, "All the same: --force. To give it up: holdfast abandon.")
        name = by_name(known.name)
        older = [file for file in view.superseded if by_name(file.state.workflow) == name]
        canonical.refuse_newer(known.file, known.absorbed, *older)
        view.ledger.check()
        tombstone = canonical.bury(place, known, how)
        view.ledger.finished[key] = tombstone
        for ignored in known.keys:
            view.ledger.ignored.pop(ignored, None)
        ledger.save(store, view.ledger)
        for file in [known.absorbed, *older]:
            if file:
                canonical.retire(place, file)
        if known.file:
            store.remove(known.file.path)
            store.forget(known.file.path)
    return tombstone, left


def already_ended(stone: Tombstone) -> IllegalMove:
    """What is said to whoever wants to end it once more."""
    command = shlex.join(["holdfast", "resume", stone.name])
    return IllegalMove(
        f"{stone.name!r} was {stone.how} on {stone.at[:10]}", hint=f"`{command}` takes it up again."
    )


def revive(place: Place, key: str) -> Merged:
    """Bring an ended workflow back as it was when it ended."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        tombstone = view.ledger.finished.pop(key, None)
        if tombstone is None:  # the disk fails, or somebody was quick
            raise NoSuchWorkflow("it is no longer among those that have ended")
        try:
            state = matching.last_state(store, tombstone)
        except (StateUnreadable, ValueError) as error:
            raise NoSuchWorkflow(f"the archive of {tombstone.name!r} is gone: {error}") from error
        view.ledger.check()
        known = view.find(key)
        # The state first: whoever is killed in between has the workflow, and a tombstone beside it
        # that nobody looks at. The other way round neither would be left.
        ended = Merged(key, state, group=known.group if known else None)
        revived = FORMAT.put(place, ended.path, state, ended)
        ledger.save(store, view.ledger)
        return revived


def undo(place: Place, key: str) -> Merged:
    """Put back what the state said before its last change; once more undoes the undoing."""
    with place.store.lock(COMMAND_WAIT):
        view = views.look(place)
        known = canonical.find_changeable(view, key)
        if known.file and (line := place.store.newer_copies_warning(known.file.path)):
            raise NewerRecord(line)
        copies = place.store.copies(known.file.path) if known.file else None
        if copies is None or copies.previous is None:
            raise IllegalMove(f"there is no earlier state of {known.name!r}")
        data = decode_json(copies.previous.encode())
        if not isinstance(data, dict):
            raise IllegalMove(f"the earlier state of {known.name!r} cannot be read")
        previous, _ = salvage(data, lambda: known.state)
        # The markdown has not changed by this: what we know of it stays as it is now.
        began, kept = {"created_at": known.state.created_at}, known.state.holdfast
        if kept:  # nor has the branch that it is for
            place = replace(place, branch=kept.branch)
        restored = previous.model_copy(update={"holdfast": kept, **began})
        return FORMAT.put(place, known.path, restored, known)


def forget(place: Place, key: str) -> Tombstone:
    """Delete what is kept of a workflow that has ended: no command brings it back after that."""
    store = place.store
    with store.lock(COMMAND_WAIT):
        view = views.look(place)
        stone = view.ledger.finished.pop(key, None)
        if stone is None:
            raise NoSuchWorkflow("it is no longer among those that have ended")
        declaring = [
            said.path for known in view.entries if known.key == key for said in known.declarations
        ]
        if declaring:
            raise IllegalMove(
                f"{stone.name!r} is still declared in {' and '.join(declaring)}, and would come back",
                hint="Take it out of there first.",
            )
        ledger.save(store, view.ledger)
        archive = store.root / stone.archive
        if archive.parent == store.private / "archive":  # the record may have come with a clone
            store.remove(archive, folder_too=False)
    return stone


def ended_since(place: Place, moment: str) -> str | None:
    """The key of the workflow that ended last, if that was after *moment*."""
    return next((key for key, stone in _latest_first(place) if stone.at > moment), None)


def ended_called(place: Place, name: str, *, whole: bool) -> str | None:
    """The key of the workflow of that name that ended last; unless *whole*, its beginning will do."""
    wanted = name.casefold()
    ended = [(key, stone.name.casefold()) for key, stone in _latest_first(place)]
    same = [key for key, name in ended if name == wanted]
    begun = [key for key, name in ended if name.startswith(wanted) and not whole]
    return next(iter(same + begun), None)


def _latest_first(place: Place) -> list[tuple[str, Tombstone]]:
    """Each workflow that has ended."""
    ended = ledger.load(place.store).finished.items()
    return sorted(ended, key=lambda entry: entry[1].at, reverse=True)
