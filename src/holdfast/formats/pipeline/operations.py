"""The eight operations of the document, with answers in its shapes, and what goes with them.

The command line calls these, and the server makes its tools of them, so both give the same answers.
Docstrings and annotations of the eight are what agents are told of a tool. A refusal is a HoldfastError
with a cause and a next step.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.errors import IllegalMove
from holdfast.files.regular import read_file
from holdfast.files.store import COMMAND_WAIT, LARGEST
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import definitions, files, moves, progress, sessions
from holdfast.formats.pipeline.definitions import GENERATION, LEVELS, PLANNING, Definition
from holdfast.formats.pipeline.files import Location, StateFile
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.model import State, StatusWord

WorkflowId: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=300,
        description="Such as generation-scene-0204-20251110-143000; list_workflows has them all.",
    ),
]
StepNumber: TypeAlias = Annotated[int, Field(ge=1, description="The number of a step or phase.")]
GivenStatus: TypeAlias = Annotated[
    moves.GivenStatus,
    Field(description="in_progress begins the step; completed and failed end its work."),
]


class WorkflowState(TypedDict):
    workflow_id: str
    workflow_type: str
    status: str
    current_step: int | None
    current_step_name: str | None
    waiting_for_approval: bool
    progress_percentage: int
    artifacts: Annotated[dict[str, Any], Field(description="of the current step, as paths")]


class NextStep(TypedDict):
    can_proceed: bool
    current_step: int | None
    current_step_name: str | None
    current_status: str | None
    blocking_reason: str | None
    required_action: Annotated[
        str | None, Field(description="who has to do what, so that it goes on")
    ]
    next_step: int | None
    next_step_name: str | None
    prerequisites_met: bool


class Prerequisites(TypedDict):
    prerequisites_met: bool
    required_steps: list[int]
    completed_steps: list[int]
    missing_steps: list[int]
    can_start_step: bool
    blocking_issues: list[str]


class _Notes(TypedDict, total=False):  # beyond the document, if there is something to say
    notes: Annotated[list[str], Field(description="what a person should see")]


class ChangeAnswer(_Notes):
    success: bool
    workflow_id: str


class Approved(ChangeAnswer):
    step: int
    status: str
    next_step: int | None
    next_step_name: str | None


class Updated(ChangeAnswer):
    updated_at: str


class ListedWorkflow(TypedDict):
    workflow_id: str
    workflow_type: str
    status: str
    current_step: int | None
    progress_percentage: int


class WorkflowList(TypedDict):
    workflows: list[ListedWorkflow]
    total: int


class Resumed(ChangeAnswer):
    resumed_from_step: int
    current_status: str


class CancelledWorkflow(ChangeAnswer):
    status: str
    cleanup_performed: bool


def get_workflow_status(place: Place, workflow_id: WorkflowId) -> WorkflowState:
    """Get current workflow state"""
    state = _state(place, workflow_id)
    step = state.current_step
    return {
        "workflow_id": workflow_id,
        "workflow_type": state.workflow_type,
        "status": state.status,
        "current_step": state.current,
        "current_step_name": step.title if step else None,
        "waiting_for_approval": bool(step and not state.over and state.awaits_approval(step)),
        "progress_percentage": state.progress,
        "artifacts": step.artifacts if step else {},
    }


def get_next_step(place: Place, workflow_id: WorkflowId) -> NextStep:
    """Get next step info (sequential enforcement)"""
    state = _state(place, workflow_id)
    current, following, blocked = progress.next_of(state)
    return {
        "can_proceed": blocked is None,
        "current_step": state.current,
        "current_step_name": current.title if current else None,
        "current_status": current.status if current else None,
        "blocking_reason": blocked.reason if blocked else None,
        "required_action": blocked.action if blocked else None,
        "next_step": following.number if following else None,
        "next_step_name": following.title if following else None,
        "prerequisites_met": not (following and state.missing(following.number)),
    }


def validate_prerequisites(
    place: Place, workflow_id: WorkflowId, step: StepNumber
) -> Prerequisites:
    """Check if prerequisites met for specific step"""
    state = _state(place, workflow_id)
    meant, missing = moves.step_of(state, step), state.missing(step)
    left = [other.number for other in missing]
    required = [other.number for other in state.steps if other.number < step]
    issues = [progress.blocker(state, other).reason for other in missing]
    if state.over:
        issues.append(f"The workflow is {state.status}")
    if meant.status != "pending":
        issues.append(f"{state.title(meant)} is {meant.status} already")
    return {
        "prerequisites_met": not missing,
        "required_steps": required,
        "completed_steps": [number for number in required if number not in left],
        "missing_steps": left,
        "can_start_step": not issues,
        "blocking_issues": issues,
    }


def approve_step(
    place: Place,
    workflow_id: WorkflowId,
    step: StepNumber | None,
    approved: Annotated[bool, Field(description="What a person has decided.")],
    modifications: Annotated[
        dict[str, Any] | None, Field(description="What is to be changed, by name.")
    ] = None,
    selected_variant: Annotated[
        str | None, Field(description="Required where a variant is to be chosen.")
    ] = None,
) -> Approved:
    """Approve human checkpoint, or with approved false send the work back.

    Only a person decides that; ask before you call it.
    """
    key = files.key_of(workflow_id)
    given: dict[str, Any] = {"number": step, "modifications": modifications}
    if approved:
        given["selected_variant"] = selected_variant
    changed = FORMAT.change(place, key, moves.approve if approved else moves.reject, **given)
    state = changed.entry.state
    before = changed.before or changed.entry
    done = moves.step_of(state, moves.awaited(before.state, step).number)
    following = progress.next_of(state).following if approved else done
    return {
        "success": True,
        "workflow_id": workflow_id,
        "step": done.number,
        "status": done.status,
        "next_step": following.number if following else None,
        "next_step_name": following.title if following else None,
        **_notes(changed.lines),
    }


def update_workflow_state(
    place: Place,
    workflow_id: WorkflowId,
    step: StepNumber,
    status: GivenStatus | None = None,
    artifacts: Annotated[dict[str, Any] | None, Field(description="Their paths, by name.")] = None,
    error: Annotated[str | None, Field(description="Why it has failed.")] = None,
) -> Updated:
    """Update workflow state (internal tool for agents)"""
    if status is None and not artifacts:
        raise IllegalMove("there is nothing to update", hint="Give a status, artifacts, or both.")
    key = files.key_of(workflow_id)
    given: dict[str, Any] = {"status": status, "artifacts": artifacts, "error": error}
    changed = FORMAT.change(place, key, moves.update, number=step, **given)
    state = changed.entry.state
    done = moves.step_of(state, step)
    is_over = status in {"completed", "waiting_approval"}
    names = [*state.defined(done).outputs, *done.artifacts] if is_over else []
    unmade = files.not_found(place.store, state, done, names)
    return {
        "success": True,
        "workflow_id": workflow_id,
        "updated_at": state.updated_at,
        **_notes([*changed.lines, *unmade]),
    }


def list_workflows(
    place: Place,
    status: StatusWord | None = None,
    workflow_type: Annotated[
        str | None, Field(description="generation, planning, or a defined one.")
    ] = None,
    session_name: str | None = None,
) -> WorkflowList:
    """List all workflows (optionally filter by status)"""

    def matches(file: StateFile) -> bool:
        row = file.row
        # As in the document's example, one that waits for a person is in progress.
        waits = status == "in_progress" and row.status == "waiting_approval"
        if not (waits or status in {None, row.status}) or workflow_type not in {
            None,
            row.workflow_type,
        }:
            return False
        if session_name in {None, row.session_name, row.committed_from_session}:
            return True
        return session_name == files.location_of(place.store, file.path).session

    found = FORMAT.look(place)
    place.rows.save()
    listed: list[ListedWorkflow] = [
        {
            "workflow_id": file.name,
            "workflow_type": file.row.workflow_type,
            "status": file.row.status,
            "current_step": file.row.current,
            "progress_percentage": file.row.progress,
        }
        for file in filter(matches, found.ordered)
    ]
    return {"workflows": listed, "total": len(listed)}


def resume_workflow(
    place: Place, workflow_id: WorkflowId, from_step: StepNumber | None = None
) -> Resumed:
    """Resume failed/cancelled workflow, or one that stopped; from_step is done anew"""
    changed = FORMAT.change(place, files.key_of(workflow_id), moves.resume, number=from_step)
    before = changed.before or changed.entry
    return {
        "success": True,
        "workflow_id": workflow_id,
        "resumed_from_step": from_step or moves.where_it_stopped(before.state),
        "current_status": changed.entry.state.status,
        **_notes(changed.lines),
    }


def cancel_workflow(
    place: Place, workflow_id: WorkflowId, reason: str | None = None
) -> CancelledWorkflow:
    """Cancel active workflow"""
    cancelled = FORMAT.change(place, files.key_of(workflow_id), moves.cancel, reason=reason)
    removed = _without_empty_folders(place, cancelled.entry)
    lines = [*cancelled.lines, *(f"removed, as it was empty: {path}" for path in removed)]
    return {
        "success": True,
        "workflow_id": workflow_id,
        "status": "cancelled",
        "cleanup_performed": bool(removed),
        **_notes(lines),
    }


def _without_empty_folders(place: Place, file: StateFile) -> list[str]:
    """Remove the empty folders of its artefacts, which stay: it may be resumed. Links are not followed."""
    store, kind = place.store, file.row.workflow_type
    run = place.root / files.location_of(store, file.path).run(kind, file.name)
    if not files.is_name(kind) or run.is_symlink() or not store.holds(run):
        return []
    removed = []
    with store.lock(COMMAND_WAIT):
        for path, _, _ in os.walk(run, topdown=False):
            with contextlib.suppress(OSError):  # it is not empty, or may not be removed
                os.rmdir(path)
                removed.append(store.relative(Path(path)))
    return removed


# What the document has no operation for.


def start_workflow(
    place: Place,
    workflow_type: str,
    *,
    session_name: str | None = None,
    scene_id: str | None = None,
    blueprint: str | None = None,
    level: str | None = None,
    context: dict[str, Any] | None = None,
) -> WorkflowState:
    """Begin a workflow, in the session that is active; see `sessions.active`."""
    artifacts, about = dict[str, Any](), dict[str, Any]()
    if workflow_type == GENERATION:
        definition = definitions.built_in(GENERATION)
        subject, about["scene_id"] = f"scene-{scene_id}", scene_id
        if not (scene_id or "").strip():
            raise IllegalMove(
                "a generation needs the id of its scene", hint="Give it: --scene 0204, or scene_id."
            )
        if blueprint:
            artifacts["blueprint_path"] = blueprint
    elif workflow_type == PLANNING:
        definition = definitions.built_in(PLANNING, level or LEVELS[0])
        subject, about = _planned(level or LEVELS[0], context or {})
    else:
        definition = definitions.defined(place.store, workflow_type)
        about = {"definition": definition.to_json(), "context": context or {}}
        subject = "-".join(f"{key}-{value}" for key, value in about["context"].items())
    store, at = place.store, iso_time(place.now)
    with FORMAT.locked(place):
        location = Location(sessions.active(place, session_name))
        workflow_id = files.new_id(store, definition.name, subject, place.now)
        artifacts["working_dir"] = location.run(definition.name, workflow_id)
        header = {"workflow_id": workflow_id, "workflow_type": definition.name}
        if location.session:
            header["session_name"] = location.session
        state = moves.first_state(definition, about, artifacts, at, **header)
        store.make_folder(store.root / artifacts["working_dir"])
        started = FORMAT.put(place, store.root / location.state(workflow_id), state)
        FORMAT.update_indexes(place)
        files.note_move(place, started, state, "start", {"number": state.current})
    return get_workflow_status(place, workflow_id)


def _planned(level: str, context: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The subject of the planning of one of the LEVELS, such as scene-0204, and what it is about."""
    wanted = ["act", "chapter", "scene"][: 3 - LEVELS.index(level)]
    lacking = [name for name in wanted if not context.get(name)]
    if lacking:
        raise IllegalMove(
            f"the planning of a {level} needs the number of its {' and '.join(lacking)}",
            hint=f"Give {', '.join(f'--{name} N' for name in wanted)}.",
        )
    named = wanted if level == "act" else wanted[1:]  # a scene is called 0204
    subject = f"{level}-{''.join(f'{context[name]:02d}' for name in named)}"
    return subject, {"level": level, "context": context}


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


def _notes(lines: Iterable[str]) -> _Notes:
    notes = [*lines]
    return {"notes": notes} if notes else {}


def _state(place: Place, workflow_id: str) -> State:
    return files.find(place.store, workflow_id).state
