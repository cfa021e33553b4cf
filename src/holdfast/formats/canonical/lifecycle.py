"""What agents and people do to a canonical workflow: start, advance, note, complete, undo.

Moves are made by the engine's `change`; they work on the merged workflow, so that a change in the
markdown that no hook has seen yet is never lost to them. What begins or ends a workflow, or brings one
back, takes the same steps: the lock, a look, `put`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.errors import IllegalMove, NewerRecord, NoSuchWorkflow, StateUnreadable
from holdfast.files.regular import decode_json
from holdfast.formats.canonical import format as canonical
from holdfast.formats.canonical import matching, writeback
from holdfast.formats.canonical.files import Edit
from holdfast.formats.canonical.format import FORMAT
from holdfast.formats.canonical.matching import by_name, by_plan
from holdfast.formats.canonical.merge import merge
from holdfast.formats.canonical.model import (
    Bookkeeping,
    KnownPhase,
    State,
    TickedBoxes,
    blank,
    names_of,
)
from holdfast.formats.canonical.sources import PlanPhase
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.canonical.view import Merged, View
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.records import ledger
from holdfast.records.ledger import Tombstone
from holdfast.text.plaintext import counted

_MOST_NAMED = 20  # phases of a hint


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
    with FORMAT.locked(place):
        view = FORMAT.look(place)
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
        started = FORMAT.put(place, begun.path, begun)
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
    base = declared.state if declared else blank(beginning.name, clock.iso(place.now))
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
    """Where to go: to the phase of that number or name, else to the next one.

    Its name is known from the plan or given.
    """

    phase: int | str | None = None
    called: str | None = None
    status: str | None = None
    total: int | None = None
    force: bool = False  # also past a blocked phase, or a gate whose boxes are open
    tick: bool = False  # the boxes of the phase that is left


def advance(known: Merged, _at: str, place: Place, step: Step) -> Merged:
    """Take *step*, past no open gate and no blocked phase unasked, and note what is left open."""
    here = known.state.phase.current
    if not known.has_phases and step.phase is None and step.total is None:
        said = known.declarations[0].path
        raise IllegalMove(
            f"no phases are known of {known.name!r}",
            hint=f"`holdfast done` ticks the next open box, and `holdfast complete` ends the workflow. "
            f"To have phases, write them into {said} as `## Phase 1: Name`.",
        )
    step = _counted_from_ticks(known, step)
    moved = _to_phase(known.state, step)
    if known.state.phase.status == "blocked" and moved.phase.current > here and not step.force:
        raise _blocked(known, " To go on all the same: --force.")
    left = canonical.left_open(known, here, moved.phase.current)
    ticked = writeback.ticked(place, known, here) if step.tick else None
    if not step.force:
        still = {here: ticked.still_open} if ticked else {}
        after = (
            phase._replace(open_items=still.get(phase.number, phase.open_items)) for phase in left
        )
        refuse_open_gates(after, "To go on all the same: --force.")
    return known._replace(state=moved, ticked=ticked and ticked.edit)


def _counted_from_ticks(known: Merged, step: Step) -> Step:
    """*step*, to the first open box where the phases that it counts are the plan's boxes."""
    for said in () if known.has_phases or step.phase is not None else known.declarations:
        if (ticked := said.boxes - len(said.open_items)) and said.boxes == step.total:
            return step._replace(phase=min(ticked + 1, said.boxes))
    return step


def tick(known: Merged, _at: str, place: Place) -> Merged:
    """Tick the first open box of the phase in the plan; where no phases are known, of the plan."""
    here = known.state.phase.current
    if known.state.phase.status == "blocked":
        raise _blocked(known)
    ticked = writeback.ticked(place, known, here, most=1) if known.open_boxes else None
    if ticked is None and known.open_boxes:
        raise IllegalMove(
            f"the box cannot be ticked by a command: {known.open_boxes[0]}",
            hint="Nothing was changed. Tick it by hand.",
        )
    if ticked is None:
        raise IllegalMove(
            f"phase {here} has no open box in a plan"
            if known.has_phases
            else f"no plan of {known.name!r} has an open box",
            hint="Once the phase is done: `holdfast next`; after the last one: `holdfast complete`."
            if known.has_phases
            else "Once all is done: `holdfast complete`.",
        )
    return known._replace(ticked=ticked.edit)


def _blocked(known: Merged, otherwise: str = "") -> IllegalMove:
    reason = canonical.blocked_by(known)
    return IllegalMove(
        f"phase {known.state.phase.current} is blocked{f': {reason}' if reason else ''}",
        hint=f"Once it is not: `holdfast unblock`.{otherwise}",
    )


def refuse_open_gates(left: Iterable[PlanPhase], otherwise: str) -> None:
    gated = [canonical.in_words(phase) for phase in left if phase.gate and phase.open_items]
    if gated:
        raise IllegalMove(f"a gate is open: {'; '.join(gated)}", hint=f"Tick them. {otherwise}")


def _to_phase(state: State, step: Step) -> State:
    goal, called, status, total, *_ = step
    was = state.phase
    names = names_of(state.holdfast.phases) if state.holdfast else {}
    number = was.current + 1 if goal is None else goal
    if isinstance(number, str):
        number = _number_of(number, names)
    total = total if total is not None else was.total
    if number > total:
        more = f"To have more phases: `holdfast phase set {number} --total {number}`"
        if goal is None and total == was.total:
            raise IllegalMove(
                f"phase {was.current}/{was.total} is the last one",
                hint="Tick what is done with `holdfast done`, and end the workflow with `holdfast complete`. "
                + more,
            )
        raise IllegalMove(
            f"there is no phase {number} of {total}: {_phases_to(total)}",
            hint=more,
        )
    moved = number != was.current
    name = called or (names.get(number, f"Phase {number}") if moved else was.name)
    status = status or ("in_progress" if moved else was.status)
    changed = state.with_phase(current=number, total=total, name=name, status=status)
    return changed if status == "blocked" else _without_reason(changed)


def _number_of(name: str, names: Mapping[int, str]) -> int:
    """The number of the one phase of that *name*, or whose name begins so."""
    wanted = name.casefold()
    known = {number: known.casefold() for number, known in names.items()}
    found = [number for number, known in known.items() if known == wanted]
    found = found or [number for number, known in known.items() if known.startswith(wanted)]
    if len(found) != 1:
        listed = ", ".join(f"{number} {name}" for number, name in list(names.items())[:_MOST_NAMED])
        raise IllegalMove(
            f"{'no phase is' if not found else 'several phases are'} called {name!r}",
            hint=f"Give its number{f': {listed}' if listed else '.'}",
        )
    return found[0]


def _phases_to(total: int) -> str:
    return "there is one phase" if total == 1 else f"there are phases 1 to {total}"


def block(known: Merged, _at: str, reason: str) -> Merged:
    state = known.state
    context = {**state.context, "blocked_by": reason} if reason else state.context
    blocked = state.with_phase(status="blocked").model_copy(update={"context": context})
    return known._replace(state=blocked)


def unblock(known: Merged, _at: str) -> Merged:
    if known.state.phase.status != "blocked":
        raise IllegalMove(f"{known.name!r} is not blocked")
    return known._replace(state=_without_reason(known.state.with_phase(status="in_progress")))


def _without_reason(state: State) -> State:
    context = {key: value for key, value in state.context.items() if key != "blocked_by"}
    return state.model_copy(update={"context": context})


def note(known: Merged, _at: str, field: str, add: Any, drop: Sequence[str]) -> Merged:
    """Add to the reading, the reminders or the context, and take *drop* out.

    Nothing is changed where markdown declares one of *drop*: it would come back by itself.
    """
    there = getattr(known.state, field)
    for item in drop:
        if item not in there:
            raise IllegalMove(f"not there: {item}", hint="See holdfast show.")
        paths = [said.path for said in known.declarations if item in (getattr(said, field) or ())]
        if paths:
            hint = f"Remove it from {' or '.join(paths)}."
            raise IllegalMove(f"declared in markdown: {item}", hint=hint)
    kept = [item for item in there if item not in drop]
    changed: Any = list(dict.fromkeys([*kept, *add]))
    if field == "context":
        changed = {**{key: there[key] for key in kept}, **add}
    return known._replace(state=known.state.model_copy(update={field: changed}), noted=True)


# The end, and back from it.


def complete(place: Place, workflow: Workflow, how: str, *, force: bool = False) -> tuple[str, ...]:
    """Archive the last state, delete the file, and see that it does not come back by itself.

    Not past an open gate without *force*; what is abandoned has none. Returns the lines to print.
    """
    key, was = workflow.key, workflow.briefing
    store = place.store
    with FORMAT.locked(place):
        view = FORMAT.look(place)
        known = view.find(key)
        if known is None:
            raise NoSuchWorkflow("the workflow no longer exists", hint="See holdfast list.")
        if known.file is None and known.group:
            resting = matching.resting(store, view.ledger, known.group, place.checkout)
            if resting:  # the tombstone of a workflow that markdown still declares
                raise already_ended(resting[0])
        left = list[PlanPhase]()
        if how == "completed" and known.standing == "active":
            phase = known.state.phase
            left = canonical.left_open(known, 1, phase.total + 1)
            if not force:
                ahead = (one for one in left if one.number >= phase.current)
                refuse_open_gates(ahead, "All the same: --force. To give it up: holdfast abandon.")
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
            store.remove(known.file.path, above=1)
            store.forget(known.file.path)
    lines = [f"Workflow {how}: {workflow.name}. Its last state is in {tombstone.archive}"]
    lines += [f"It was left with {line}" for line in canonical.all_in_words(left)]
    if workflow.standing != "finished":
        status = was.status.replace("_", " ")
        where = f"in {was.where_by_name}, {status}" if was.has_phases else status
        lines.append(f"It was {where}; `holdfast undo` brings it back.")
    if workflow.declared:
        lines.append("The markdown that declares it stays; it counts again when it is changed.")
    return tuple(lines)


def already_ended(stone: Tombstone) -> IllegalMove:
    command = shlex.join(["holdfast", "resume", stone.name])
    return IllegalMove(
        f"{stone.name!r} was {stone.how} on {stone.at[:10]}", hint=f"`{command}` takes it up again."
    )


def revive(place: Place, key: str) -> Merged:
    """Bring an ended workflow back as it was when it ended."""
    store = place.store
    with FORMAT.locked(place):
        view = FORMAT.look(place)
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
        revived = FORMAT.put(place, ended.path, ended)
        ledger.save(store, view.ledger)
        return revived


def undo(place: Place, key: str) -> tuple[Merged, str]:
    """Put back what the state and the plan's boxes were before the last change; once more undoes the undoing.

    Also returns what it came to in the plan.
    """
    with FORMAT.locked(place):
        known = FORMAT.changeable(place, key)
        if known.file and (line := place.store.newer_copies_warning(known.file.path)):
            raise NewerRecord(line)
        kept = known.state.holdfast
        boxes = kept.ticked if kept else None
        edit = writeback.turned_back(place, boxes) if boxes else None
        told = _told_of(boxes, edit) if boxes else ""
        if boxes and boxes.alone:
            if edit is None:
                raise IllegalMove(told)
            return FORMAT.put(place, known.path, known._replace(ticked=edit), known), told
        copies = place.store.copies(known.file.path) if known.file else None
        if copies is None or copies.previous is None:
            raise IllegalMove(f"there is no earlier state of {known.name!r}")
        data = decode_json(copies.previous)
        if not isinstance(data, dict):
            raise IllegalMove(f"the earlier state of {known.name!r} cannot be read")
        previous = State.of_json(data, lambda: known.state)
        # The markdown has not changed by this: what we know of it stays as it is now.
        began = {"created_at": known.state.created_at}
        if kept:  # nor has the branch that it is for
            place = replace(place, branch=kept.branch)
        restored = previous.model_copy(update={"holdfast": kept, **began})
        undone = known._replace(state=restored, ticked=edit)
        return FORMAT.put(place, known.path, undone, known), told


def _told_of(boxes: TickedBoxes, edit: Edit | None) -> str:
    if edit is None:
        return f"{boxes.path} was changed since, so its boxes stay as they are"
    was = edit.before.split(b"\n")[boxes.lines[0] - 1]
    turned = "made again" if b"[ ]" in was else "taken back"
    return f"{boxes.path}: {counted(len(boxes.lines), 'tick')} {turned}"


def forget(place: Place, key: str) -> Tombstone:
    """Delete what is kept of a workflow that has ended: no command brings it back after that."""
    store = place.store
    with FORMAT.locked(place):
        view = FORMAT.look(place)
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
            store.remove(archive)
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
    ended = ledger.load(place.store).finished.items()
    return sorted(ended, key=lambda entry: entry[1].at, reverse=True)
