"""Moves of a workflow as a whole: taken up again, completed, abandoned."""

from __future__ import annotations

from datetime import datetime

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moving import is_blocked, moved, needed, record
from holdfast.plaintext import one_line

_COMPACTED = "context_compacted"


def take_up(state: State, at: str) -> State:
    """A session goes on with it."""
    return moved(state, at, although_blocked=True)


def note_compaction(state: State, at: str) -> State:
    """A session goes on with it after a compaction. A hook writes this, so nothing else is put right."""
    after = state.model_copy(deep=True)
    after.workflow.updated_at = at
    record(after, at, _COMPACTED, note="session resumed")
    return after


def is_told(state: State, compacted: datetime, now: datetime) -> bool:
    """Whether the history has that compaction. An entry in the future has another clock, and tells nothing."""
    # The history has whole seconds, as `date -Iseconds` writes them.
    since = compacted.replace(microsecond=0)
    told = (moment(each.get("at")) for each in state.history if each.get("event") == _COMPACTED)
    return any(at is not None and since <= at <= now for at in told)


def complete(state: State, at: str, *, although: str | None = None) -> State:
    """End it. What is not done keeps it from that, unless a reason is given why it ends *although*."""
    after = moved(state, at, although_blocked=although is not None)
    left = unfinished(after)
    if left and although is None:
        raise IllegalMove(
            f"{state.name!r} is not done: {', '.join(left)}",
            hint="Finish that, or tell why it ends all the same: holdfast skill complete --force REASON. "
            "To give it up: holdfast skill abandon",
        )
    after.workflow.status = "completed"
    after.workflow.completed_at = at
    forced = needed(although, "the reason") if left else None
    record(after, at, "workflow_completed", forced=forced)
    return after


def unfinished(state: State) -> list[str]:
    """What keeps the workflow from being complete."""
    tasks = [task for task in state.tasks if task.status != "completed"]
    phases = [phase for phase in state.state_machine.phases if phase.status != "completed"]
    left = ["it is blocked"] if is_blocked(state) else []
    left += [f"phase {phase.name}" for phase in phases]
    return left + [f"task {state.number(task)}" for task in tasks]


def abandon(state: State, at: str, reason: str | None = None) -> State:
    """Give it up, so that something else can begin in its place."""
    after = moved(state, at, although_blocked=True)
    after.workflow.status = "abandoned"
    record(after, at, "workflow_abandoned", reason=reason)
    return after


def signal(state: State) -> str:
    """What a skill prints when it is complete: DEV_COMPLETE: <feature>."""
    return f"{state.skill.upper()}_COMPLETE: {one_line(state.name)}"
