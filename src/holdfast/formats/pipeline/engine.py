"""The eight operations of the document, with the answers in its shapes; and what goes with them.

The command line and the server both call these, so that both give the same answers. Arguments and
answers are plain JSON values. A refusal is a HoldfastError with a cause and a next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.base import Place
from holdfast.formats.pipeline import beginnings, definitions, facts, files, lifecycle, metrics
from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.machine import awaits_approval, missing, step_of, title
from holdfast.formats.pipeline.model import GENERATION, PLANNING, STATUSES, State, Step

Answer = dict[str, Any]


def get_workflow_status(place: Place, workflow_id: str) -> Answer:
    """Where the workflow stands."""
    state, definition = _seen(place, workflow_id)
    step = state.step
    return {
        "workflow_id": workflow_id,
        "workflow_type": state.workflow_type,
        "status": state.status,
        "current_step": state.current,
        "current_step_name": step.title if step else None,
        "waiting_for_approval": bool(step and awaits_approval(step, definition)),
        "progress_percentage": state.progress,
        "artifacts": step.artifacts if step else {},
    }


def get_next_step(place: Place, workflow_id: str) -> Answer:
    """Which step comes next, and what is in its way."""
    state, definition = _seen(place, workflow_id)
    current, following, blocked = facts.next_of(state, definition)
    unmet = missing(state, definition, following.number) if following else []
    return {
        "can_proceed": blocked is None,
        "current_step": state.current,
        "current_step_name": current.title if current else None,
        "current_status": current.status if current else None,
        "blocking_reason": blocked.reason if blocked else None,
        "required_action": blocked.action if blocked else None,
        "next_step": following.number if following else None,
        "next_step_name": following.title if following else None,
        "prerequisites_met": not unmet,
    }


def validate_prerequisites(place: Place, workflow_id: str, step: int) -> Answer:
    """Whether a certain step may begin."""
    state, definition = _seen(place, workflow_id)
    meant = step_of(state, step)
    required = [each for each in definition.required(step) if state.find(each)]
    unmet = missing(state, definition, step)
    left = [each.number for each in unmet]
    issues = _issues(state, definition, meant, unmet)
    return {
        "prerequisites_met": not unmet,
        "required_steps": required,
        "completed_steps": [each for each in required if each not in left],
        "missing_steps": left,
        "can_start_step": not issues,
        "blocking_issues": issues,
    }


def _issues(state: State, definition: Definition, step: Step, unmet: list[Step]) -> list[str]:
    """Why *step* cannot begin, one line each."""
    issues = [facts.in_the_way(state, definition, each).reason for each in unmet]
    if state.over:
        issues.append(f"The workflow is {state.status}")
    if step.status != "pending":
        issues.append(f"{title(state, step)} is {step.status} already")
    return issues


def approve_step(
    place: Place,
    workflow_id: str,
    step: int,
    *,
    approved: bool = True,
    modifications: Mapping[str, Any] | None = None,
    selected_variant: str | None = None,
) -> Answer:
    """A person approves the work of a step, or with *approved* false sends it back."""
    if approved:
        held = lifecycle.approve(place, workflow_id, step, modifications, selected_variant)
    else:
        held = lifecycle.reject(place, workflow_id, step, modifications)
    state = held.state
    done = step_of(state, step)
    following = facts.next_of(state, definitions.of(state)).step if approved else done
    return {
        "success": True,
        "workflow_id": workflow_id,
        "step": step,
        "status": done.status,
        "next_step": following.number if following else None,
        "next_step_name": following.title if following else None,
    }


def update_workflow_state(
    place: Place,
    workflow_id: str,
    step: int,
    *,
    status: str | None = None,
    artifacts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> Answer:
    """An agent begins a step, has completed or failed its work, or has new artefacts of it."""
    if status is None and not artifacts:
        raise IllegalMove("there is nothing to update", hint="Give a status, artifacts, or both.")
    held = lifecycle.update(place, workflow_id, step, status, artifacts, error)
    return {"success": True, "workflow_id": workflow_id, "updated_at": held.state.updated_at}


def list_workflows(
    place: Place,
    *,
    status: str | None = None,
    workflow_type: str | None = None,
    session_name: str | None = None,
) -> Answer:
    """All workflows, or those that are as it is asked for; from what is known of each."""
    if status is not None and status not in STATUSES:
        raise IllegalMove(
            f"{status!r} is no status of a workflow", hint=f"Give one of {', '.join(STATUSES)}."
        )
    rows = files.select(
        files.look(place.store).rows,
        status=status,
        workflow_type=workflow_type,
        session_name=session_name,
    )
    listed = [
        {
            "workflow_id": row.workflow_id,
            "workflow_type": row.workflow_type,
            "status": row.status,
            "current_step": row.current_step,
            "progress_percentage": row.progress_percentage,
        }
        for row in rows
    ]
    return {"workflows": listed, "total": len(listed)}


def resume_workflow(place: Place, workflow_id: str, *, from_step: int | None = None) -> Answer:
    """Go on where it stopped, or do it anew from a step on."""
    held, number = lifecycle.resume(place, workflow_id, from_step)
    return {
        "success": True,
        "workflow_id": workflow_id,
        "resumed_from_step": number,
        "current_status": held.state.status,
    }


def cancel_workflow(place: Place, workflow_id: str, *, reason: str | None = None) -> Answer:
    """Give it up."""
    held = lifecycle.cancel(place, workflow_id, reason).held
    return {
        "success": True,
        "workflow_id": workflow_id,
        "status": held.state.status,
        "cleanup_performed": True,
    }


# What the document has no operation for.


def start_workflow(
    place: Place,
    workflow_type: str,
    *,
    session_name: str | None = None,
    environment_session: str | None = None,
    scene_id: str | None = None,
    blueprint: str | None = None,
    level: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> Answer:
    """Begin a workflow; the answer is its status.

    It runs in the session *session_name*, else that of the environment, else the only open one;
    "global" is for none.
    """
    if workflow_type == GENERATION:
        beginning = beginnings.generation(scene_id or "", blueprint)
    elif workflow_type == PLANNING:
        beginning = beginnings.planning(level or definitions.LEVELS[0], context or {})
    else:
        definition = definitions.defined(place.store, workflow_type)
        beginning = beginnings.defined(definition, context or {})
    held = lifecycle.start(place, beginning, session_name, environment_session)
    return get_workflow_status(place, held.id)


def workflow_metrics(place: Place, workflow_id: str) -> Answer:
    """What it has cost so far."""
    return metrics.of(files.find(place.store, workflow_id).state)


def workflow_state(place: Place, workflow_id: str) -> Answer:
    """The whole state, as it lies there."""
    return files.find(place.store, workflow_id).state.to_json()


def _seen(place: Place, workflow_id: str) -> tuple[State, Definition]:
    state = files.find(place.store, workflow_id).state
    return state, definitions.of(state)
