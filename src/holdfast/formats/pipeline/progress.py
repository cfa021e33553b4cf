"""What comes next in a workflow, what blocks it and who can unblock it, and what it has cost so far. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.formats.engine.document import moment
from holdfast.formats.pipeline.model import State, Step


class Blocked(NamedTuple):
    """Why no next step may begin, and who has to do what about it."""

    reason: str
    action: str | None
    waits: bool = False  # for a person


class Next(NamedTuple):
    current: Step | None
    following: Step | None  # the one to begin next
    blocked: Blocked | None


def next_of(state: State) -> Next:
    """What comes next, and whether it may begin."""
    current = state.current_step
    following = current if state.status == "failed" else state.next_step
    return Next(current, following, _blocked(state, current, following))


def _blocked(state: State, current: Step | None, following: Step | None) -> Blocked | None:
    if state.status == "cancelled":
        return Blocked(_because("Workflow is cancelled", state.cancellation_reason), _resume(state))
    if state.status == "completed":
        return Blocked("Workflow is completed", None)
    if current is None:
        return Blocked("Workflow has no steps", "User must add its steps to the state file", True)
    if state.status != "failed" and following and not state.missing(following.number):
        return None
    if state.status != "failed" and all(map(state.is_done, state.steps)):
        return _all_done(state)
    return blocker(state, current)


def _all_done(state: State) -> Blocked:
    """Somebody has completed the last step that is listed by hand."""
    count, total = len(state.steps), state.stated[1] or 0
    if total > count:
        listed = f"All {count} {state.word}s of the state file are completed, of {total}"
        return Blocked(listed, f"User must add the other {state.word}s to it, or correct its count")
    done = f"All {count} {state.word}s are completed, and the workflow is {state.status}"
    return Blocked(done, "Review the whole, then set its status to completed in the state file")


def blocker(state: State, step: Step) -> Blocked:
    """Why what comes after *step* has to wait."""
    title, defined = state.title(step), state.defined(step)
    if step.status == "failed":
        again = state.retry_of(step)
        action = "User must review the error and fix its cause"
        # No command is named that decides for a person while the workflow goes on.
        action += f"; then {_resume(state)}" if state.over else ", and may then resume it"
        if again and again.attempts:
            attempt = f"attempt {again.attempts.current + 1} of {again.attempts.max}"
            begin = f"begin it by giving {state.word} {step.number} the status failed"
            action = (
                f"{_agents(state, again)} must try {state.called(again)} again, {attempt}; {begin}"
            )
        return Blocked(_because(f"{title} failed", step.error), action, not (state.over or again))
    if state.awaits_approval(step):
        work = step.title.lower()
        action = f"User must approve or modify {work}"
        if defined.selects_variant:
            action = f"User must select a variant of {work}, or reject them"
        return Blocked(f"Human approval required for {work}", action, not state.over)
    if state.status == "failed":
        return Blocked("Workflow has failed", _resume(state))
    agents = _agents(state, step)
    if step.status == "pending":
        return Blocked(f"{title} has not begun", f"{agents} must begin it")
    outputs = f", with {', '.join(defined.outputs)}" if defined.outputs else ""
    attempt = f", {step.attempt}" if step.attempt else ""
    return Blocked(f"{title} is in progress{attempt}", f"{agents} must complete it{outputs}")


def _agents(state: State, step: Step) -> str:
    return " and ".join(state.agents(step)) or "The agent"


def _because(text: str, reason: str | None) -> str:
    return f"{text}: {reason}" if reason else text


def _resume(state: State) -> str:
    return f"resume it: resume_workflow, or holdfast pipeline resume {state.workflow_id}"


def seconds(start: object, end: object) -> int:
    """Whole seconds between two times in a file; 0 where one is missing."""
    begun, ended = moment(start), moment(end)
    return max(0, int((ended - begun).total_seconds())) if begun and ended else 0


def metrics(state: State) -> dict[str, Any]:
    """What the workflow has cost so far, in the document's shape.

    Times are of what is over. A step that was done several times counts with all of them.
    """
    steps, defined = state.steps, state.defined
    return {
        "workflow_metrics": {
            "workflow_id": state.workflow_id,
            "total_time_seconds": seconds(state.created_at, state.updated_at),
            "step_times": [
                {"step": step.number, "duration_seconds": _worked(step)}
                for step in steps
                if step.started_at and step.completed_at
            ],
            "retry_count": sum(
                max(0, step.attempts.current - 1) for step in steps if step.attempts
            ),
            "human_approval_time_seconds": sum(map(_waited, steps)),
            "agent_calls": sum(step.begun * defined(step).calls for step in steps),
            "parallel_executions": sum(step.begun * defined(step).parallel_calls for step in steps),
        }
    }


def _worked(step: Step) -> int:
    return (step.earlier_seconds or 0) + seconds(step.started_at, step.completed_at)


def _waited(step: Step) -> int:
    """How long a person took; where nobody noted the request, since the step began."""
    asked = step.human_approval
    if asked is None:
        return 0
    since = asked.requested_at or step.started_at
    return (asked.earlier_seconds or 0) + seconds(since, asked.approved_at)
