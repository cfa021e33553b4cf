"""How workflows are begun and given up, and how a project defines its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import IllegalMove
from holdfast.files.regular import read_file
from holdfast.files.store import COMMAND_WAIT, LARGEST, Store
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import definitions, files, logs, moves
from holdfast.formats.pipeline.definitions import (
    GENERATION,
    PLANNING,
    Definition,
    StepDefinition,
)
from holdfast.formats.pipeline.files import Location, StateFile
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.model import State

_NUMBERS = {"act": ("act",), "chapter": ("act", "chapter"), "scene": ("act", "chapter", "scene")}


# Beginning.


class Beginning(NamedTuple):
    """What is to begin, before it has an id and a place."""

    definition: Definition
    subject: str  # what its id tells of it
    about: Mapping[str, Any]  # the first fields of its section
    artifacts: Mapping[str, Any] = {}  # that exist before it begins


def generation(scene_id: str, blueprint: str | None = None) -> Beginning:
    """Write the scene *scene_id*, such as 0204, from its *blueprint*."""
    if not scene_id.strip():
        raise IllegalMove(
            "a generation needs the id of its scene", hint="Give it: --scene 0204, or scene_id."
        )
    definition, artifacts = definitions.built_in(GENERATION), {}
    if blueprint:
        artifacts["blueprint_path"] = blueprint
    return Beginning(definition, f"scene-{scene_id}", {"scene_id": scene_id}, artifacts)


def planning(level: str, context: Mapping[str, Any]) -> Beginning:
    """Plan one of the LEVELS; *context* has its numbers."""
    wanted = _NUMBERS[level]
    lacking = [name for name in wanted if not _is_number(context.get(name))]
    if lacking:
        raise IllegalMove(
            f"the planning of a {level} needs the number of its {' and '.join(lacking)}",
            hint=f"Give {', '.join(f'--{name} N' for name in wanted)}.",
        )
    named = wanted if level == "act" else wanted[1:]  # a scene is called 0204
    subject = f"{level}-{''.join(f'{context[name]:02d}' for name in named)}"
    about = {"level": level, "context": dict(context)}
    return Beginning(definitions.built_in(PLANNING, level), subject, about)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000


def defined(definition: Definition, context: Mapping[str, Any]) -> Beginning:
    """A workflow that the project has defined."""
    subject = "-".join(f"{key}-{value}" for key, value in context.items())
    about = {"definition": definition.to_json(), "context": dict(context)}
    return Beginning(definition, subject, about)


def first_state(
    beginning: Beginning, at: str, workflow_id: str, session: str | None, working_dir: str
) -> State:
    """The first state, in the document's order, with what waits for nothing under way."""
    definition = beginning.definition
    kind, word = definition.name, definition.word
    data = {
        "workflow_id": workflow_id,
        "workflow_type": kind,
        **({"session_name": session} if session else {}),
        "status": "in_progress",
        "created_at": at,
        "updated_at": at,
        kind: {
            **beginning.about,
            f"current_{word}": 1,
            f"total_{word}s": len(definition.all),
            f"{word}s": [_pending(step, word, kind) for step in definition.all],
            "artifacts": {**beginning.artifacts, "working_dir": working_dir},
        },
    }
    state = State.of_json(data)
    for step in state.steps:
        if not definition.required(step.number):
            moves.begin(state, step, at)
    return state


def _pending(defined: StepDefinition, word: str, kind: str) -> dict[str, Any]:
    step: dict[str, Any] = {word: defined.number, "name": defined.name, "status": "pending"}
    step |= {"started_at": None, "completed_at": None}
    if defined.all_agents and kind != GENERATION:  # whose steps name none in the document
        step["agents"] = defined.all_agents
    step["artifacts"] = {}
    if defined.human_approval:
        step["human_approval"] = {"required": True, "approved": False, "approved_at": None}
    if defined.retry_enabled:
        step["attempts"] = {"current": 0, "max": defined.attempts, "history": []}
    return step


def begin(place: Place, beginning: Beginning, location: Location) -> StateFile:
    """Begin a workflow at *location*; inside the lock."""
    store, at, kind = place.store, iso_time(place.now), beginning.definition.name
    workflow_id = files.new_id(store, kind, beginning.subject, place.now)
    working_dir = location.run(kind, workflow_id)
    state = first_state(beginning, at, workflow_id, location.session, working_dir)
    store.make_folder(store.root / working_dir)
    started = FORMAT.put(place, store.root / location.state(workflow_id), state)
    FORMAT.update_indexes(place)
    logs.note_move(place, started, state, "started", {"number": state.current})
    return started


# Changing.


def cancel(
    place: Place, workflow_id: str, reason: str | None = None
) -> tuple[Changed[StateFile], list[str]]:
    """Give it up; returns the empty folders that went as well. Artefacts stay: it may be resumed."""
    cancelled = FORMAT.change(place, files.key_of(workflow_id), moves.cancel, reason=reason)
    kind = cancelled.entry.row.workflow_type
    if not files.is_name(kind):
        return cancelled, []
    location = files.location_of(place.store, cancelled.entry.path)
    with place.store.lock(COMMAND_WAIT):
        run = place.root / location.run(kind, workflow_id)
        return cancelled, _without_empty(place.store, run)


def _without_empty(store: Store, folder: Path) -> list[str]:
    """Remove the empty folders at and below *folder*; links are not followed."""
    if folder.is_symlink() or not store.holds(folder):
        return []
    removed = []
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # it is not empty, or may not be removed
            os.rmdir(path)
            removed.append(store.relative(Path(path)))
    return removed


def define(place: Place, file: Path, definition: Definition, *, replace: bool = False) -> Path:
    """Put the definition in *file*, which was read, into its place."""
    store = place.store
    path = place.root / definitions.FOLDER / f"{definition.name}{file.suffix}"
    data, _ = read_file(file, LARGEST)
    with store.lock(COMMAND_WAIT):
        there = [other for other in definitions.paths(place.root) if other.stem == definition.name]
        if there and not replace and (there != [path] or read_file(path, LARGEST)[0] != data):
            raise IllegalMove(
                f"{definition.name!r} is already defined in {store.relative(there[0])}",
                hint="Replace it with --replace.",
            )
        store.write(path, data)
        for other in there:
            if other != path:
                store.remove(other)
    return path
