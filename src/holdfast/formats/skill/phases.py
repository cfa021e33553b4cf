"""Moves of phases and their steps, of checkpoints, and into and out of a block.

    phase:  pending → in_progress → completed        in_progress ⇄ blocked
    step:   the first that is left → done, one after the other; one with a checkpoint is done by it

A phase ends when what it is for is there: its steps, the tasks, the test that fails, the tests that
pass, the pull request. The next one begins with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.skill.model import Checkpoint, Phase, State
from holdfast.formats.skill.moving import (
    blocked_by,
    current_phase,
    enter,
    is_blocked,
    moved,
    needed,
    record,
)

EXECUTION = "task_execution"
PULL_REQUEST = "pr_creation"
PR_CREATED = "pr_created"

_RUN = "Record a run that passes: holdfast skill tdd run --passed"

# What is asked of a checkpoint that the document names: one of these has to be told.
_TELLS: dict[str, tuple[str, ...]] = {
    "lint": ("passed",),
    "test": ("passed",),
    PR_CREATED: ("pr_number", "pr_url"),
}


def start_phase(state: State, at: str, name: str | None = None) -> State:
    """Begin the next phase, where none is being worked on."""
    after = moved(state, at)
    machine = after.state_machine
    waiting = [phase for phase in machine.phases if phase.status == "pending"]
    busy = next((phase for phase in machine.phases if phase.status == "in_progress"), None)
    if busy:
        raise IllegalMove(
            f"phase {busy.name!r} is in progress",
            hint="Complete it first: holdfast skill phase complete",
        )
    if not waiting:
        raise IllegalMove("no phase is left", hint="End the workflow: holdfast skill complete")
    if name is not None and name != waiting[0].name:
        raise IllegalMove(f"{name!r} is not the next phase", hint=f"That is {waiting[0].name!r}.")
    enter(after, waiting[0], at)
    return after


def complete_phase(
    state: State, at: str, name: str | None = None, *, commit: str | None = None
) -> State:
    """End the current phase, if what it is for is there, and begin the next one."""
    after = moved(state, at)
    phase = current_phase(after)
    if name is not None and name != phase.name:
        raise IllegalMove(f"the current phase is {phase.name!r}, not {name!r}")
    if phase.status == "completed":
        raise IllegalMove(f"phase {phase.name!r} is completed", hint="Begin the next one.")
    lacking, hint = missing(after, phase)
    if lacking:
        raise IllegalMove(f"phase {phase.name!r} is not done: {lacking}", hint=hint)
    phase.status = "completed"
    phase.completed_at = at
    record(after, at, "phase_completed", phase=phase.name, commit=commit)
    following = [each for each in after.state_machine.phases if each.status == "pending"]
    if following:
        enter(after, following[0], at)
    elif after.state_machine.current_step is not None:
        after.state_machine.current_step = None
    return after


def missing(state: State, phase: Phase) -> tuple[str, str]:
    """What *phase* still waits for, and how it comes."""
    left = steps_left(state, phase)
    if left:
        return f"left are {', '.join(left)}", "Record each: holdfast skill checkpoint"
    if phase.name == EXECUTION:
        open_tasks = [str(state.number(task)) for task in state.tasks if task.status != "completed"]
        if open_tasks:
            return f"open tasks: {', '.join(open_tasks)}", "Complete them: holdfast skill task"
    if phase.name == PULL_REQUEST and PR_CREATED in state.pending:
        return "no pull request is recorded", f"Record it: holdfast skill checkpoint {PR_CREATED}"
    if phase.name == "red" and not (phase.failure_confirmed and phase.failure_reason):
        return (
            "no failing test is confirmed",
            "Run it, see it fail, and tell the reason: holdfast skill tdd fails REASON",
        )
    if phase.name == "green" and not phase.tests_passing:
        return "the tests do not pass yet", _RUN
    failed = state.test_state is not None and state.test_state.last_result == "failed"
    if phase.name == "refactor" and failed:
        return "the last test run failed", _RUN
    return "", ""


def steps_left(state: State, phase: Phase) -> list[str]:
    """The steps of *phase* that are not done, in their order."""
    names = phase.step_names
    if phase.status == "completed":
        return []
    machine = state.state_machine
    here = machine.current_step if phase.name == machine.current_phase else None
    done = set(names[: names.index(here)]) if here in names else set()
    done |= _completed_steps(state, phase.name)
    checkpoints = state.checkpoints
    return [
        name
        for name in names
        if not (checkpoints[name].good if name in checkpoints else name in done)
    ]


def _completed_steps(state: State, phase: str) -> set[str]:
    """Those that the history tells of since the phase began last."""
    done: set[str] = set()
    for event in state.history:
        if event.get("phase") != phase:
            continue
        if event.get("event") == "phase_started":
            done.clear()
        elif event.get("event") == "step_completed":
            done.add(str(event.get("step")))
    return done


def complete_step(state: State, at: str, name: str | None = None) -> State:
    """The current step is done; go to the next one."""
    after = moved(state, at)
    phase = current_phase(after)
    left = steps_left(after, phase)
    if not left:
        raise IllegalMove(
            f"phase {phase.name!r} has no step left",
            hint="Complete the phase: holdfast skill phase complete",
        )
    if name is not None and name != left[0]:
        raise IllegalMove(f"{name!r} is not the current step", hint=f"That is {left[0]!r}.")
    if left[0] in after.checkpoints:
        raise IllegalMove(
            f"step {left[0]!r} is done by its checkpoint",
            hint=f"Record it: holdfast skill checkpoint {left[0]}",
        )
    record(after, at, "step_completed", phase=phase.name, step=left[0])
    after.state_machine.current_step = (*left[1:], None)[0]
    return after


def record_checkpoint(
    state: State,
    at: str,
    name: str,
    *,
    passed: bool | None = None,
    values: Mapping[str, Any] | None = None,
) -> State:
    """A verification has run: whether it passed, and what else is to be told of it.

    It may run again. One that did not pass stays pending for its phase.
    """
    after = moved(state, at)
    needed(name, "the checkpoint's name")
    told = dict(values or {})
    if passed is not None:
        told["passed"] = passed
    wanted = _TELLS.get(name, ())
    if wanted and not any(told.get(each) is not None for each in wanted):
        raise IllegalMove(f"checkpoint {name!r} needs {' or '.join(wanted)}")
    was = after.checkpoints.get(name)
    known = was.model_dump(exclude_unset=True) if was else {}
    ran = {} if name == PR_CREATED else {"last_run": at}
    recorded = Checkpoint.model_validate({**known, **told, "status": "completed", **ran})
    after.checkpoints = {**after.checkpoints, name: recorded}
    record(after, at, "checkpoint_recorded", checkpoint=name, passed=passed)
    _go_on(after, name)
    return after


def _go_on(state: State, step: str) -> None:
    machine, phase = state.state_machine, state.phase
    if phase and step in phase.step_names:
        machine.current_step = (*steps_left(state, phase), None)[0]


def current_step(state: State) -> str | None:
    """The step that comes next in the current phase."""
    phase = state.phase
    left = steps_left(state, phase) if phase else []
    return left[0] if left else None


def block(state: State, at: str, reason: str) -> State:
    """Something is in the way; nothing but unblock and abandon goes on from here."""
    if is_blocked(state):
        raise IllegalMove(f"it is blocked already: {blocked_by(state) or 'no reason is told'}")
    after = moved(state, at)
    needed(reason, "what blocks it")
    after.workflow.status = "blocked"
    phase = after.state_machine.current_phase
    for each in after.state_machine.phases:
        if each.name == phase and each.status == "in_progress":
            each.status = "blocked"
    record(after, at, "phase_blocked", phase=phase, reason=reason)
    return after


def unblock(state: State, at: str) -> State:
    """It is out of the way."""
    after = moved(state, at, although_blocked=True)
    if not is_blocked(state):
        raise IllegalMove(f"{state.name!r} is not blocked")
    after.workflow.status = "in_progress"
    phase = after.state_machine.current_phase
    for each in after.state_machine.phases:
        if each.status == "blocked":
            each.status = "in_progress" if each.name == phase else "pending"
    record(after, at, "phase_unblocked", phase=phase)
    return after
