"""Where a workflow stands: what is in its way, and who can do something about it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.machine import awaits_approval, missing, next_step, title
from holdfast.formats.pipeline.model import State, Step


class Blocked(NamedTuple):
    """Why no next step may begin, and what has to be done about it by whom."""

    reason: str
    action: str | None


class Next(NamedTuple):
    current: Step | None
    step: Step | None  # the one to begin next
    blocked: Blocked | None


def next_of(state: State, definition: Definition) -> Next:
    """What comes next, and whether it may begin."""
    current = state.step
    following = current if state.status == "failed" else next_step(state, definition)
    return Next(current, following, _blocked(state, definition, current, following))


def _blocked(
    state: State, definition: Definition, current: Step | None, following: Step | None
) -> Blocked | None:
    if state.status == "cancelled":
        return Blocked(_because("Workflow is cancelled", state.cancellation_reason), _resume(state))
    if state.status == "completed":
        return Blocked("Workflow is completed", None)
    if current is None:
        return Blocked("Workflow has no steps", "User must add its steps to the state file")
    if state.status != "failed" and following and not missing(state, definition, following.number):
        return None
    return in_the_way(state, definition, current)


def in_the_way(state: State, definition: Definition, step: Step) -> Blocked:
    """Why what comes after *step* has to wait."""
    if step.status == "failed":
        reason = _because(f"{title(state, step)} failed", step.error)
        fix = f"User must review the error and fix its cause; then {_resume(state)}"
        return Blocked(reason, fix)
    if awaits_approval(step, definition):
        return _approval(step, definition)
    if state.status == "failed":
        return Blocked("Workflow has failed", _resume(state))
    by = " and ".join(agents(step, definition)) or "The agent"
    if step.status == "pending":
        return Blocked(f"{title(state, step)} has not begun", f"{by} must begin it")
    defined = definition.find(step.number)
    outputs = f", with {', '.join(defined.outputs)}" if defined and defined.outputs else ""
    tried = attempt(step)
    doing = f"{title(state, step)} is in progress{f', {tried}' if tried else ''}"
    return Blocked(doing, f"{by} must complete it{outputs}")


def _approval(step: Step, definition: Definition) -> Blocked:
    defined = definition.find(step.number)
    work = step.title.lower()
    if defined and defined.selects_variant:
        action = f"User must select a variant of {work}, or reject them"
    else:
        action = f"User must approve or modify {work}"
    return Blocked(f"Human approval required for {work}", action)


def _because(text: str, reason: str | None) -> str:
    return f"{text}: {reason}" if reason else text


def _resume(state: State) -> str:
    return f"resume it: resume_workflow, or holdfast pipeline resume {state.workflow_id}"


def agents(step: Step, definition: Definition) -> list[str]:
    """Who works on it: as the state says, else as it is defined."""
    defined = definition.find(step.number)
    return step.agents or (defined.all_agents if defined else [])


def attempt(step: Step) -> str:
    """attempt 2 of 3; nothing while it is the first one."""
    tried = step.attempts
    return f"attempt {tried.current} of {tried.max}" if tried and tried.current > 1 else ""


def stress(step: Step) -> str | None:
    """What the attempt under way has to stress, because the one before failed."""
    if step.attempts is None or not attempt(step) or step.status == "failed":
        return None
    told = [each.emphasis or each.reason for each in step.attempts.history]
    return told[-1] if told else None


def variants(state: State) -> dict[int, str]:
    """Which variant was selected, by step."""
    return {
        each.number: each.human_approval.selected_variant
        for each in state.steps
        if each.human_approval and each.human_approval.selected_variant
    }
