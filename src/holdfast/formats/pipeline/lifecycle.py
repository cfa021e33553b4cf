"""What agents and people do to a workflow, each under the lock and saved whole.

Every command reads inside the lock, makes one move, writes the state, and then what only follows it:
the index, and a line in the workflow's log. A state that cannot be read is set aside, and its last
good copy is used.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.errors import IllegalMove, StateUnreadable, StateUnwritable
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.pipeline import (
    beginnings,
    definitions,
    files,
    index,
    logs,
    machine,
    places,
    sessions,
)
from holdfast.formats.pipeline.beginnings import Beginning
from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.model import State
from holdfast.formats.pipeline.places import Location
from holdfast.formats.pipeline.states import KIND, Held
from holdfast.regular import read_file
from holdfast.store import COMMAND_WAIT, LARGEST

Move: TypeAlias = Callable[[State, Definition, str], State]


@dataclass(frozen=True)
class Cancelled:
    held: Held
    cleaned: tuple[str, ...]  # what was removed, relative to the root


@dataclass(frozen=True)
class _Told:
    """What the log says of a change."""

    event: str
    step: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def start(
    place: Place,
    beginning: Beginning,
    session: str | None = None,
    in_environment: str | None = None,
) -> Held:
    """Begin a workflow, in the session that is active; see `sessions.active`."""
    store, at = place.store, stamp(place.now)
    with store.lock(COMMAND_WAIT):
        sessions.finish(place)
        location = Location(sessions.active(store, session, in_environment))
        workflow_id = places.new_id(store, beginning.kind, beginning.subject, place.now)
        working_dir = location.run(beginning.kind, workflow_id)
        state = beginnings.state(beginning, at, workflow_id, location.session, working_dir)
        store.make_folder(store.root / working_dir)
        held = _put(place, store.root / location.state(workflow_id), state)
        _follow(place, held, _Told("started", state.current), None)
    return held


def update(
    place: Place,
    workflow_id: str,
    step: int,
    status: str | None = None,
    artifacts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> Held:
    """A step goes on, or has new artefacts."""
    move = partial(machine.update, number=step, status=status, artifacts=artifacts, error=error)
    artefacts = ", ".join(artifacts or ())
    details = {"given": status, "artifacts": artefacts, "error": error}
    return _change(place, workflow_id, move, _Told("updated", step, details))


def approve(
    place: Place,
    workflow_id: str,
    step: int,
    modifications: Mapping[str, Any] | None = None,
    selected_variant: str | None = None,
) -> Held:
    """A person approves the work of a step."""
    move = partial(
        machine.approve,
        number=step,
        modifications=modifications,
        selected_variant=selected_variant,
    )
    details = {"variant": selected_variant, "modified": ", ".join(modifications or ())}
    return _change(place, workflow_id, move, _Told("approved", step, details))


def reject(
    place: Place, workflow_id: str, step: int, modifications: Mapping[str, Any] | None = None
) -> Held:
    """A person sends the work of a step back."""
    move = partial(machine.reject, number=step, modifications=modifications)
    details = {"modified": ", ".join(modifications or ())}
    return _change(place, workflow_id, move, _Told("rejected", step, details))


def resume(place: Place, workflow_id: str, from_step: int | None = None) -> tuple[Held, int]:
    """Go on with what failed, was cancelled or was left; also returns the step that is worked on."""
    reached: list[int] = []

    def move(state: State, definition: Definition, at: str) -> State:
        after, number = machine.resume(state, definition, at, from_step)
        reached.append(number)
        return after

    held = _change(place, workflow_id, move, _Told("resumed", from_step))
    return held, reached[0]


def cancel(place: Place, workflow_id: str, reason: str | None = None) -> Cancelled:
    """Give it up. Empty folders of artefacts go; artefacts stay, since it may be resumed."""

    def move(state: State, _: Definition, at: str) -> State:
        return machine.cancel(state, at, reason)

    with place.store.lock(COMMAND_WAIT):
        held = _changed(place, workflow_id, move, _Told("cancelled", None, {"reason": reason}))
        location = files.location_of(place.store, held.path)
        kind = held.state.workflow_type
        folder = place.root / location.run(kind, workflow_id)
        cleaned = _without_empty(place, folder) if places.is_name(kind) else []
        return Cancelled(held, tuple(cleaned))


def touch(place: Place, workflow_id: str) -> None:
    """Somebody goes on with it."""
    _change(place, workflow_id, machine.touch, _Told("taken up"))


def define(place: Place, file: Path, definition: Definition, *, replace: bool = False) -> Path:
    """Put the definition in *file*, which was read, into its place."""
    store = place.store
    folder = place.root / definitions.FOLDER
    path = folder / f"{definition.name}{file.suffix}"
    data, _ = read_file(file, LARGEST)
    with store.lock(COMMAND_WAIT):
        there = [each for each in definitions.paths(place.root) if each.stem == definition.name]
        if there and not replace and (there != [path] or read_file(path, LARGEST)[0] != data):
            raise IllegalMove(
                f"{definition.name!r} is defined already, in {store.relative(there[0])}",
                hint="To put this one in its place: --replace",
            )
        store.write(path, data)
        for each in there:
            if each != path:
                store.remove(each, folder_too=False)
    return path


def finish(place: Place) -> list[str]:
    """Bring to an end what a command was interrupted in; what to say of it."""
    store, at = place.store, stamp(place.now)
    if files.look(store).is_indexed and not sessions.is_unfinished(store):
        return []
    with store.lock(COMMAND_WAIT):
        told = sessions.finish(place)
        index.update(store, at)
        return told


def _change(place: Place, workflow_id: str, move: Move, told: _Told) -> Held:
    with place.store.lock(COMMAND_WAIT):
        return _changed(place, workflow_id, move, told)


def _changed(place: Place, workflow_id: str, move: Move, told: _Told) -> Held:
    """Make *move* on the workflow as it is now; to be called inside the lock."""
    sessions.finish(place)
    held = files.find(place.store, workflow_id)
    if held.problems and not held.broken:
        raise StateUnreadable(held.path, held.problems[0])
    after = move(held.state, definitions.of(held.state), stamp(place.now))
    if held.broken:
        place.store.set_aside(held.path, f"{place.now:%Y%m%d_%H%M%S}", move=True)
    changed = _put(place, held.path, after, previous=held.raw)
    _follow(place, changed, told, held.state)
    return changed


def _put(place: Place, path: Path, state: State, previous: bytes | None = None) -> Held:
    """Write *state*, which can be read again; to be called inside the lock."""
    try:
        encoded = state.encode()
        written = KIND.parse(encoded)
    except ValueError as error:
        raise IllegalMove(
            f"the state of {state.workflow_id} could not be read again: {error}",
            hint="Put what is nested or long into files, and give their paths as artefacts.",
        ) from error
    if len(encoded) > LARGEST:
        raise IllegalMove(
            f"the state of {state.workflow_id} would be larger than {LARGEST // 2**20} MB",
            hint="Put texts into files, and give their paths as artefacts.",
        )
    place.store.write(path, encoded)
    place.store.keep(path, encoded, previous)
    return Held(path, encoded, place.now.timestamp(), written)


def _follow(place: Place, held: Held, told: _Told, before: State | None) -> None:
    """What follows the state: the index, and the log."""
    state = held.state
    index.update(place.store, stamp(place.now))
    step = state.find(told.step) if told.step else None
    stands = step.status if step else None
    _note(place, held, told.event, told.step, stands=stands, status=state.status, **told.details)
    for each in state.steps if before else ():
        was = before.find(each.number) if before else None
        if each.number != told.step and was and was.status != each.status:
            attempt = each.attempts.current if each.attempts else None
            _note(place, held, "follows", each.number, stands=each.status, attempt=attempt)


def _note(place: Place, held: Held, event: str, step: int | None, **details: object) -> None:
    at = stamp(place.now)
    # As with the index: the move is made, and must not seem to have failed.
    with contextlib.suppress(StateUnwritable):
        logs.append(place.store, held.id, at, event, step=step, by=place.saver, **details)


def _without_empty(place: Place, folder: Path) -> list[str]:
    """Remove the empty folders at and below *folder*; links are not followed."""
    if folder.is_symlink() or not place.store.holds(folder):
        return []
    removed = []
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # it is not empty, or may not be removed
            os.rmdir(path)
            removed.append(place.store.relative(Path(path)))
    return removed
