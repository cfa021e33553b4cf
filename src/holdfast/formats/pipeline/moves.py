"""The moves of a pipeline: update, approve, reject, resume, cancel, touch.

Rule 1: no step begins before those before it are done: completed, and approved where the definition
        asks for that. When a step is done again, what comes after it is reset.
Rule 2: a step that a person has to approve waits once its work is completed. A rejection sends it
        back to work; only an approval completes it.
Rule 3: a failure ends an attempt where the step may be tried again, or judges one that may. After
        the last attempt, and after any other failure, step and workflow have failed.
Rule 4: the status of a workflow follows from its steps, except for cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from holdfast.errors import IllegalMove
from holdfast.formats.engine.moves import move
from holdfast.formats.pipeline.definitions import (
    GENERATION,
    PLANNING,
    Definition,
    StepDefinition,
)
from holdfast.formats.pipeline.model import Approval, Attempt, Attempts, State, Step
from holdfast.formats.pipeline.progress import seconds

GivenStatus = Literal["in_progress", "waiting_approval", "completed", "failed"]


def step_of(state: State, number: int) -> Step:
    step = state.find(number)
    if step is None:
        raise IllegalMove(
            f"{state.workflow_id} has no {state.word} {number}",
            hint=f"Its {state.word}s are 1 to {state.total}." if state.total else "",
        )
    return step


def _going(state: State, at: str) -> None:
    """It is neither over nor given up."""
    if state.over:
        hint = (
            "Begin a new one: holdfast pipeline start"
            if state.status == "completed"
            else f"Go on with it: holdfast pipeline resume {state.workflow_id}"
        )
        raise IllegalMove(f"{state.workflow_id} is {state.status}", hint=hint)
    _at_any_time(state, at)


def _at_any_time(state: State, at: str) -> None:
    state.updated_at = at


@move(_going)
def update(
    state: State,
    at: str,
    number: int,
    status: GivenStatus | None = None,
    artifacts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> None:
    """Begin a step, complete its work or fail it, or note *artifacts*."""
    step = step_of(state, number)
    if status == "failed" and state.workflow_type == PLANNING:
        raise IllegalMove(
            f"{state.title(step)} of a planning cannot fail",
            hint="Continue it, or cancel the planning: holdfast pipeline cancel --reason WHY",
        )
    if status == "in_progress" and step.status == "pending":
        _refuse_too_early(state, step)
        begin(state, step, at)
    _refuse_unless_open(state, step, status)
    step.artifacts = {**step.artifacts, **(artifacts or {})}
    if status in {"completed", "waiting_approval"}:
        _complete_work(state, step, at, status)
    elif status == "failed":
        _fail(state, step, at, error or step.error or "no reason was given")
    _settle(state, at)


@move(_going)
def approve(
    state: State,
    at: str,
    number: int | None = None,
    modifications: Mapping[str, Any] | None = None,
    selected_variant: str | None = None,
) -> None:
    """A person approves the work of a step, perhaps with *modifications*."""
    step = awaited(state, number)
    asked, defined = _approval_of(step), state.defined(step)
    if defined.selects_variant and not (selected_variant or "").strip():
        raise IllegalMove(
            f"{state.title(step)} is approved by selecting a variant",
            hint="Give it: --variant A, or selected_variant.",
        )
    if selected_variant and defined.approval_type and not defined.selects_variant:
        raise IllegalMove(
            f"{state.title(step)} has no variants", hint="Approve it without a variant."
        )
    asked.approved, asked.approved_at = True, at
    if selected_variant:
        asked.selected_variant = selected_variant
    if modifications:
        asked.modifications = dict(modifications)
    _complete(step, at)
    _settle(state, at)


@move(_going)
def reject(
    state: State,
    at: str,
    number: int | None = None,
    modifications: Mapping[str, Any] | None = None,
) -> None:
    """A person sends the work of a step back; *modifications* say what has to be different."""
    step = awaited(state, number)
    asked = _approval_of(step)
    _add_seconds(asked, asked.requested_at, at)
    asked.rejected_at, asked.requested_at = at, None
    if modifications:
        asked.modifications = {**(asked.modifications or {}), **modifications}
    step.status = "in_progress"
    step.runs = step.begun + 1
    _settle(state, at)


@move(_at_any_time)
def resume(state: State, at: str, number: int | None = None) -> None:
    """Go on where it stopped, or do a step again with everything that comes after it."""
    if state.status == "completed" and number is None:
        raise IllegalMove(
            f"{state.workflow_id} is completed",
            hint="To repeat part of it, give the first step: --from N",
        )
    state.status = "in_progress"
    _clear(state, "completed_at", "cancelled_at", "cancellation_reason")
    step = step_of(state, where_it_stopped(state) if number is None else number)
    _refuse_too_early(state, step)
    if number is not None or step.status in {"pending", "failed"}:
        _reset_after(state, step.number)
        if step.status != "pending":
            _reset(state, step)
        begin(state, step, at)
    _settle(state, at)


def where_it_stopped(state: State) -> int:
    """The number of the step that `resume` goes on with by itself."""
    step, following = state.current_step, state.next_step
    return following.number if following and not (step and step.is_open) else state.current


@move(_at_any_time)
def cancel(state: State, at: str, reason: str | None = None) -> None:
    """Give it up. Its steps stay as they are, so that it can still be resumed."""
    if state.status in {"completed", "cancelled"}:
        raise IllegalMove(f"{state.workflow_id} is {state.status} already")
    state.status = "cancelled"
    state.cancelled_at = at
    if reason:
        state.cancellation_reason = reason


@move(_at_any_time)
def touch(state: State, at: str) -> None:
    """Somebody goes on with it."""


# What a move may do.


def _refuse_too_early(state: State, step: Step) -> None:
    before = state.missing(step.number)
    if before:
        first = before[0]
        stands = first.status.replace("_", " ")
        if state.awaits_approval(first):
            stands = "waiting for a person's approval"
        numbers = ", ".join(str(other.number) for other in before)
        raise IllegalMove(
            f"{state.title(step)} cannot begin before {state.word} {numbers}",
            hint=f"{state.title(first)} comes first; it is {stands}.",
        )


def _refuse_unless_open(state: State, step: Step, status: str | None) -> None:
    """A step has to be begun first; one that is done, or waits, is not worked on."""
    if step.status == "pending":
        raise IllegalMove(
            f"{state.title(step)} has not begun",
            hint="Begin it first, with the status in_progress.",
        )
    if state.is_done(step) and status is not None:
        raise IllegalMove(
            f"{state.title(step)} is completed",
            hint=f"To repeat it, resume from {state.word} {step.number}.",
        )
    if state.awaits_approval(step) and status in {"in_progress", "completed"}:
        raise IllegalMove(
            f"{state.title(step)} waits for a person's approval",
            hint=f"A person approves it: holdfast pipeline approve {step.number}; "
            f"or sends it back to work: holdfast pipeline reject {step.number}.",
        )


def awaited(state: State, number: int | None) -> Step:
    """The step that a person decides on: *number*, else the one that waits."""
    waiting = [step for step in state.steps if state.awaits_approval(step)]
    step = waiting[0] if number is None and waiting else step_of(state, number or state.current)
    if step not in waiting:
        names = ", ".join(map(state.title, waiting))
        raise IllegalMove(
            f"{state.title(step)} does not wait for an approval; it is {step.status}",
            hint=f"Waiting: {names}." if waiting else "No step waits for approval.",
        )
    return step


def _approval_of(step: Step) -> Approval:
    if step.human_approval is None:
        step.human_approval = Approval(required=True)
    return step.human_approval


# What moves are made of.


def begin(state: State, step: Step, at: str) -> None:
    before = step.begun
    _add_seconds(step, step.started_at, step.completed_at)
    step.status = "in_progress"
    step.started_at, step.completed_at = at, None
    if before:
        step.runs = before + 1
    defined = state.defined(step)
    if defined.retry_enabled and step.attempts is None:
        step.attempts = Attempts(current=0, max=defined.attempts, history=[])
    if step.attempts is not None:
        step.attempts.current += 1


def _add_seconds(timed: Step | Approval, start: object, end: object) -> None:
    """Keep what was spent before its times are overwritten."""
    if spent := seconds(start, end):
        timed.earlier_seconds = (timed.earlier_seconds or 0) + spent


def _complete_work(state: State, step: Step, at: str, status: str) -> None:
    asked = step.human_approval
    if state.defined(step).human_approval or (asked is not None and asked.required):
        if step.status == "in_progress":
            step.status, asked = "waiting_approval", _approval_of(step)
            asked.approved, asked.approved_at = False, None
            asked.requested_at = at
        return
    if status == "waiting_approval":
        raise IllegalMove(
            f"{state.title(step)} needs no approval",
            hint="Set its status to completed when it is done.",
        )
    _complete(step, at)


def _complete(step: Step, at: str) -> None:
    if step.attempts is not None:
        _end_attempt(step, step.attempts, at, "completed")
    step.status, step.completed_at = "completed", at


def _end_attempt(
    step: Step, attempts: Attempts, at: str, result: str, reason: str | None = None
) -> Attempt:
    """Note how the current attempt ended; a completed one may be judged a failure later."""
    history = attempts.history
    judged = step.status == "completed" and history and history[-1].result == "completed"
    own = history[-1] if judged else None
    if own is None or own.attempt != attempts.current:
        own = Attempt(attempt=attempts.current, result=result)
        own.started_at, own.completed_at = step.started_at, at
        attempts.history = [*history, own]
    own.result = result
    if reason is not None:
        own.reason = reason
    own.artifacts = {**own.artifacts, **step.artifacts}
    return own


def _fail(state: State, step: Step, at: str, reason: str) -> None:
    _close(step, at, reason)
    tried = state.retried_by(step)
    if tried is None or tried.attempts is None:
        return
    attempts = tried.attempts
    ended = _end_attempt(tried, attempts, at, "failed", reason)
    ended.artifacts = {**ended.artifacts, **step.artifacts}
    if attempts.current >= attempts.max:
        _close(tried, at, f"attempt {attempts.current} of {attempts.max} failed: {reason}")
        return
    _reset_after(state, tried.number)
    tried.error = None
    begin(state, tried, at)


def _close(step: Step, at: str, reason: str) -> None:
    step.status, step.error = "failed", reason
    step.completed_at = step.completed_at or at


def _reset_after(state: State, number: int) -> None:
    """What comes after *number* has to be done again."""
    for step in state.steps:
        if step.number > number and step.status != "pending":
            _reset(state, step)
            step.artifacts = {}


def _reset(state: State, step: Step) -> None:
    step.runs = step.begun
    _add_seconds(step, step.started_at, step.completed_at)
    step.status = "pending"
    step.started_at = step.completed_at = None
    _clear(step, "error")
    if step.attempts is not None and step.attempts.current:  # they are counted on
        step.attempts.max = step.attempts.current + state.defined(step).attempts
    asked = step.human_approval
    if asked is not None:  # an approval is for the work that it was given for
        _add_seconds(asked, asked.requested_at, asked.approved_at or asked.rejected_at)
        asked.approved, asked.approved_at = False, None
        _clear(asked, "requested_at", "rejected_at", "selected_variant", "modifications")


def _clear(what: State | Step | Approval, *fields: str) -> None:
    """Without a field that is not there already: what is set is written."""
    for field in fields:
        if getattr(what, field) is not None:
            setattr(what, field, None)


def _settle(state: State, at: str) -> None:
    """Let the workflow's own fields say what its steps say."""
    stands = {step.status for step in state.steps}
    if "failed" in stands:
        state.status = "failed"
    elif "waiting_approval" in stands:
        state.status = "waiting_approval"
    elif all(map(state.is_done, state.steps)):
        state.status = "completed"
        state.completed_at = at
    else:
        state.status = "in_progress"
    setattr(state.section, f"current_{state.word}", state.current)
    setattr(state.section, f"total_{state.word}s", state.total)


def first_state(
    definition: Definition,
    about: Mapping[str, Any],
    artifacts: Mapping[str, Any],
    at: str,
    **header: Any,
) -> State:
    """The first state, in the document's order, with its first step under way.

    Its section begins with what it is *about*; the *header* is what is known of the workflow itself.
    """
    kind, word = definition.name, definition.word
    data = {
        **header,
        "status": "in_progress",
        "created_at": at,
        "updated_at": at,
        kind: {
            **about,
            f"current_{word}": 1,
            f"total_{word}s": len(definition.all),
            f"{word}s": [_pending(step, word, kind) for step in definition.all],
            "artifacts": artifacts,
        },
    }
    state = State.of_json(data)
    begin(state, state.steps[0], at)
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
