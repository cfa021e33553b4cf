"""Moves of a pipeline: begun, updated, approved, rejected, resumed, cancelled. Pure.

Rule 1: no step begins before those that it waits for are done: completed, and approved where the
        definition asks for that. What comes after a step that is done anew is put back.
Rule 2: a step that a person has to approve waits when its work is completed. A rejection sends it
        back to work; nothing but an approval completes it.
Rule 3: the failure of a step that may be tried again, or of one that judges it, is the end of an
        attempt. After the last one, and after any other failure, step and workflow have failed.
Rule 4: the status of a workflow follows from its steps, but for cancelled.

A move is a function from a state, its definition and the time, as text, to the next state. It raises
IllegalMove where the present state does not allow it, and never changes the state that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.model import Approval, Attempt, Attempts, State, Step

_STATUSES = ("in_progress", "waiting_approval", "completed", "failed")
_NO_REASON = "no reason was given"


def title(state: State, step: Step) -> str:
    """Step 4 (Generation)."""
    return f"{state.word.capitalize()} {step.number} ({step.title})"


def missing(state: State, definition: Definition, number: int) -> list[Step]:
    """The steps that have to be done before *number*, and are not."""
    steps = {each.number: each for each in reversed(state.steps)}  # of two with a number the first
    needed = (steps.get(each) for each in definition.required(number))
    return [each for each in needed if each is not None and not is_done(each, definition)]


def is_done(step: Step, definition: Definition) -> bool:
    defined = definition.find(step.number)
    asks = defined is not None and defined.human_approval
    approved = step.human_approval is not None and step.human_approval.approved
    return step.is_done and (approved or not asks)


def next_step(state: State, definition: Definition) -> Step | None:
    """The one to begin next: the first that may, else the first that has to wait."""
    pending = [each for each in state.steps if each.status == "pending"]
    ready = [each for each in pending if not missing(state, definition, each.number)]
    return (*ready, *pending, None)[0]


def update(
    state: State,
    definition: Definition,
    at: str,
    number: int,
    status: str | None = None,
    artifacts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> State:
    """A step goes on: it is begun, its work is completed, or it has failed; or has new *artifacts*."""
    after, step = _moved(state, at, number)
    if status is not None and status not in _STATUSES:
        raise IllegalMove(
            f"{status!r} is no status that a step is given",
            hint=f"Give one of {', '.join(_STATUSES)}. To go back to a step, resume from it.",
        )
    if status == "in_progress" and step.status == "pending":
        _refuse_too_early(after, definition, step)
        _begin(step, definition, at)
    _refuse_unless_open(after, step, definition, status)
    step.artifacts = {**step.artifacts, **(artifacts or {})}
    if status in {"completed", "waiting_approval"}:
        _workis_done(after, step, definition, at, status)
    elif status == "failed":
        _fail(after, step, definition, at, error or _NO_REASON)
    return _settled(after, definition, at)


def _moved(state: State, at: str, number: int) -> tuple[State, Step]:
    """A copy of *state* that a move may change, and the step in it that is meant."""
    if state.over:
        hint = (
            "Begin a new one: holdfast pipeline start"
            if state.status == "completed"
            else f"Go on with it: holdfast pipeline resume {state.workflow_id}"
        )
        raise IllegalMove(f"{state.workflow_id} is {state.status}", hint=hint)
    copy = _copied(state, at)
    return copy, step_of(copy, number)


def _copied(state: State, at: str) -> State:
    copy = state.model_copy(deep=True)
    copy.updated_at = at
    return copy


def step_of(state: State, number: int) -> Step:
    step = state.find(number)
    if step is None:
        raise IllegalMove(
            f"{state.workflow_id} has no {state.word} {number}",
            hint=f"Its {state.word}s are 1 to {state.total}.",
        )
    return step


def _refuse_too_early(state: State, definition: Definition, step: Step) -> None:
    before = missing(state, definition, step.number)
    if before:
        numbers = ", ".join(str(each.number) for each in before)
        raise IllegalMove(
            f"{title(state, step)} cannot begin before {state.word} {numbers}",
            hint=f"{title(state, before[0])} comes first; it is {_in_words(before[0], definition)}.",
        )


def _in_words(step: Step, definition: Definition) -> str:
    waits = awaits_approval(step, definition)
    return "waiting for a person's approval" if waits else step.status.replace("_", " ")


def _refuse_unless_open(
    state: State, step: Step, definition: Definition, status: str | None
) -> None:
    """What was not begun has to be begun first, and what is done or waits is not worked on."""
    if step.status == "pending":
        raise IllegalMove(
            f"{title(state, step)} has not begun",
            hint="Begin it first, with the status in_progress.",
        )
    if is_done(step, definition) and status is not None:
        raise IllegalMove(
            f"{title(state, step)} is completed",
            hint=f"To do it anew, resume from {state.word} {step.number}.",
        )
    if awaits_approval(step, definition) and status in {"in_progress", "completed"}:
        raise IllegalMove(
            f"{title(state, step)} waits for a person's approval",
            hint=f"A person approves it: holdfast pipeline approve {step.number}; "
            f"or sends it back to work: holdfast pipeline reject {step.number}.",
        )


def _begin(step: Step, definition: Definition, at: str) -> None:
    before = runs(step)
    _note_time_spent(step)
    step.status = "in_progress"
    step.started_at, step.completed_at = at, None
    if before:
        step.runs = before + 1
    defined = definition.find(step.number)
    if defined and defined.retry_enabled and step.attempts is None:
        step.attempts = Attempts(current=0, max=defined.attempts, history=[])
    if step.attempts is not None:
        step.attempts.current += 1


def runs(step: Step) -> int:
    """How often it was begun; where that is not told, as by others, its attempts and times tell."""
    tried = step.attempts.current if step.attempts else 0
    return step.runs or max(tried, 1 if step.started_at else 0)


def _note_time_spent(step: Step) -> None:
    """Before its times are written over."""
    spent = seconds(step.started_at, step.completed_at)
    if spent:
        step.earlier_seconds = (step.earlier_seconds or 0) + spent


def seconds(start: object, end: object) -> int:
    """Whole seconds between two times that a file states; 0 where one is missing."""
    begun, ended = moment(start), moment(end)
    return max(0, int((ended - begun).total_seconds())) if begun and ended else 0


def _workis_done(state: State, step: Step, definition: Definition, at: str, status: str) -> None:
    defined = definition.find(step.number)
    asked = step.human_approval
    if (defined and defined.human_approval) or (asked is not None and asked.required):
        if step.status == "in_progress":
            step.status = "waiting_approval"
            step.human_approval = _asked(asked, at)
        return
    if status == "waiting_approval":
        raise IllegalMove(
            f"{title(state, step)} needs no approval",
            hint="Give it the status completed when it is.",
        )
    _complete(step, at)


def _asked(approval: Approval | None, at: str) -> Approval:
    """A person is asked, for the first time or again."""
    asked = approval or Approval(required=True)
    asked.approved, asked.approved_at, asked.requested_at = False, None, at
    return asked


def _complete(step: Step, at: str) -> None:
    if step.attempts is not None:
        _end_attempt(step, step.attempts, at, "completed")
    step.status, step.completed_at = "completed", at


def _end_attempt(
    step: Step, attempts: Attempts, at: str, result: str, reason: str | None = None
) -> Attempt:
    """Note how the current attempt ended; one that was completed may be judged a failure later."""
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


def _fail(state: State, step: Step, definition: Definition, at: str, reason: str) -> None:
    _close(step, at, reason)
    again = definition.retried_by(step.number)
    tried = state.find(again) if again is not None else None
    if tried is None or tried.attempts is None:
        return
    attempts = tried.attempts
    ended = _end_attempt(tried, attempts, at, "failed", reason)
    ended.artifacts = {**ended.artifacts, **step.artifacts}
    if attempts.current >= attempts.max:
        _close(tried, at, f"attempt {attempts.current} of {attempts.max} failed: {reason}")
        return
    ended.emphasis = f"Attempt {attempts.current} failed, so put special stress on this: {reason}"
    _put_back_after(state, definition, tried.number)
    tried.error = None
    _begin(tried, definition, at)


def _close(step: Step, at: str, reason: str) -> None:
    step.status, step.error = "failed", reason
    step.completed_at = step.completed_at or at


def _put_back_after(state: State, definition: Definition, number: int) -> None:
    """What waits for *number* is to be done anew."""
    for each in definition.dependent(number):
        step = state.find(each)
        if step is not None and step.status != "pending":
            _put_back(step)
            step.artifacts = {}


def _put_back(step: Step) -> None:
    step.runs = runs(step)
    _note_time_spent(step)
    step.status = "pending"
    step.started_at = step.completed_at = None
    if step.error is not None:
        step.error = None
    if step.attempts is not None:
        step.attempts.current = 0
    if step.human_approval is not None:
        _forget_approval(step.human_approval)


def _forget_approval(approval: Approval) -> None:
    """An approval is of the work that it was given for."""
    ended = approval.approved_at or approval.rejected_at
    waited = seconds(approval.requested_at, ended)
    if waited:
        approval.earlier_seconds = (approval.earlier_seconds or 0) + waited
    approval.approved, approval.approved_at = False, None
    for field in ("requested_at", "rejected_at", "selected_variant", "modifications"):
        if getattr(approval, field) is not None:
            setattr(approval, field, None)


def approve(
    state: State,
    definition: Definition,
    at: str,
    number: int,
    modifications: Mapping[str, Any] | None = None,
    selected_variant: str | None = None,
) -> State:
    """A person approves the work of a step, perhaps with *modifications*."""
    after, step = _moved(state, at, number)
    asked = _awaited(after, step, definition)
    defined = definition.find(number)
    selects = defined is not None and defined.selects_variant
    if selects and not (selected_variant or "").strip():
        raise IllegalMove(
            f"{title(after, step)} is approved by selecting a variant",
            hint="Say which one: --variant A, or selected_variant.",
        )
    if selected_variant and not selects and defined is not None and defined.approval_type:
        raise IllegalMove(
            f"{title(after, step)} has no variants", hint="Approve it without a variant."
        )
    asked.approved, asked.approved_at = True, at
    if selected_variant:
        asked.selected_variant = selected_variant
    if modifications:
        asked.modifications = dict(modifications)
    _complete(step, at)
    return _settled(after, definition, at)


def reject(
    state: State,
    definition: Definition,
    at: str,
    number: int,
    modifications: Mapping[str, Any] | None = None,
) -> State:
    """A person sends the work of a step back; *modifications* say what is to be different."""
    after, step = _moved(state, at, number)
    asked = _awaited(after, step, definition)
    asked.rejected_at = at
    waited = seconds(asked.requested_at, at)
    asked.requested_at = None
    if waited:
        asked.earlier_seconds = (asked.earlier_seconds or 0) + waited
    if modifications:
        asked.modifications = {**(asked.modifications or {}), **modifications}
    step.status = "in_progress"
    step.runs = runs(step) + 1
    return _settled(after, definition, at)


def awaits_approval(step: Step, definition: Definition) -> bool:
    """Whether a person has to approve its work now; also where somebody else completed it without."""
    unapproved = step.status == "completed" and not is_done(step, definition)
    return step.status == "waiting_approval" or unapproved


def _awaited(state: State, step: Step, definition: Definition) -> Approval:
    if not awaits_approval(step, definition):
        waiting = [title(state, each) for each in state.steps if awaits_approval(each, definition)]
        raise IllegalMove(
            f"{title(state, step)} does not wait for an approval; it is {step.status}",
            hint=f"Waiting is {', '.join(waiting)}." if waiting else "No step waits for one.",
        )
    if step.human_approval is None:
        step.human_approval = Approval(required=True)
    return step.human_approval


def resume(
    state: State, definition: Definition, at: str, from_step: int | None = None
) -> tuple[State, int]:
    """Go on: where it stopped, or from a step that is done anew, with all that waits for it.

    Also returns the number of the step that is worked on now.
    """
    if state.status == "completed" and from_step is None:
        raise IllegalMove(
            f"{state.workflow_id} is completed",
            hint="To do a part of it anew, say from which step: --from N",
        )
    after = _copied(state, at)
    _reopen(after)
    number = from_step if from_step is not None else _where_it_stopped(after, definition)
    step = step_of(after, number)
    _refuse_too_early(after, definition, step)
    if from_step is not None or step.status in {"pending", "failed"}:
        _put_back_after(after, definition, number)
        for each in after.steps:
            if each.status == "failed" or (each is step and step.status != "pending"):
                _put_back(each)
        _begin(step, definition, at)
    return _settled(after, definition, at), number


def _reopen(state: State) -> None:
    state.status = "in_progress"
    for field in ("completed_at", "cancelled_at", "cancellation_reason"):
        if getattr(state, field) is not None:
            setattr(state, field, None)


def _where_it_stopped(state: State, definition: Definition) -> int:
    failed = [each.number for each in state.steps if each.status == "failed"]
    under_way = [each.number for each in state.steps if each.is_open]
    following = next_step(state, definition)
    may_begin = [each for each in failed if not missing(state, definition, each)]
    if may_begin or under_way:
        return min(may_begin or under_way)
    return following.number if following else state.current


def cancel(state: State, at: str, reason: str | None = None) -> State:
    """Give it up. Its steps stay as they are, so that it can be resumed all the same."""
    if state.status in {"completed", "cancelled"}:
        raise IllegalMove(f"{state.workflow_id} is {state.status} already")
    after = _copied(state, at)
    after.status = "cancelled"
    after.cancelled_at = at
    if reason:
        after.cancellation_reason = reason
    return after


def _settled(state: State, definition: Definition, at: str) -> State:
    """Let the workflow's own fields say what its steps say."""
    stands = {each.status for each in state.steps}
    if "failed" in stands:
        state.status = "failed"
    elif "waiting_approval" in stands:
        state.status = "waiting_approval"
    elif all(is_done(each, definition) for each in state.steps):
        state.status = "completed"
        state.completed_at = at
    else:
        state.status = "in_progress"
    if state.is_planning:
        state.section.current_phase, state.section.total_phases = state.current, state.total
    else:
        state.section.current_step, state.section.total_steps = state.current, state.total
    return state


def touch(state: State, definition: Definition, at: str) -> State:  # noqa: ARG001  # as all moves
    """A session goes on with it."""
    return _copied(state, at)
