"""Moves of a workflow as a whole, of its phases, their steps and its checkpoints.

    workflow:  in_progress → completed or abandoned     in_progress ⇄ blocked
    phase:     pending → in_progress → completed        in_progress ⇄ blocked
    step:      done once a checkpoint of its name has passed

A phase ends when what it is for is there: its steps, the tasks, the test that fails, the tests that
pass, the pull request. The next one begins with it.

The history only grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.engine.document import iso_time, moment
from holdfast.formats.engine.moves import move, needed
from holdfast.formats.skill.model import (
    COMPACTED,
    EXECUTION,
    TDD_PHASES,
    Checkpoint,
    Phase,
    State,
    TaskPhases,
)
from holdfast.text.plaintext import one_line

PULL_REQUEST = "pr_creation"
PR_CREATED = "pr_created"

RUN = "Record a run that passes: holdfast skill tdd run --passed"
# What is asked of a checkpoint that the document names: one of these has to be said.
_ASKED: dict[str, tuple[str, ...]] = {
    "lint": ("passed",),
    "test": ("passed",),
    PR_CREATED: ("pr_number", "pr_url"),
}


def refuse_ended(state: State) -> None:
    if state.over:
        raise IllegalMove(
            f"{state.name!r} is {state.workflow.status}",
            hint="Start it again: holdfast skill start",
        )


def _refuse_blocked(state: State) -> None:
    if is_blocked(state):
        raise IllegalMove(
            f"{state.name!r} is blocked{because(state)}",
            hint="Unblock it first: holdfast skill unblock",
        )


def is_blocked(state: State) -> bool:
    phase = state.phase
    return state.workflow.status == "blocked" or (phase is not None and phase.status == "blocked")


def because(state: State) -> str:
    """Why it was blocked, as in ": no token"; empty where nobody said why."""
    blocks = [event for event in state.history if event.get("event") == "phase_blocked"]
    reason = blocks[-1].get("reason") if blocks else None
    return f": {reason}" if reason and isinstance(reason, str) else ""


def unended(state: State, at: str) -> None:
    """Refuse a run that has ended. Put right what a jq line has left inconsistent."""
    refuse_ended(state)
    state.workflow.updated_at = at
    _follow_current(state)


def unblocked(state: State, at: str) -> None:
    """Refuse a run that has ended or is blocked. Put right what a jq line has left inconsistent."""
    unended(state, at)
    _refuse_blocked(state)


def _follow_current(state: State) -> None:
    """Let the list of phases say what current_phase says: a jq line may have set that alone."""
    machine, current = state.state_machine, state.phase
    if current is None or current not in machine.phases:
        return
    if state.named_in_task and state.task:
        at, busy = TDD_PHASES.index(state.named_in_task), state.task
        stands = (*["completed"] * at, "in_progress", "pending", "pending")
        phases = dict(zip(TDD_PHASES, stands, strict=False))
        busy.status, busy.tdd_phases = "in_progress", TaskPhases.model_validate(phases)
    machine.current_phase = current.name
    here = next(at for at, phase in enumerate(machine.phases) if phase is current)
    for phase in machine.phases[:here]:
        phase.status = "completed"
    for phase in machine.phases[here + 1 :]:
        if phase.status == "in_progress":
            phase.status = "pending"
    if current.status == "pending":
        current.status = "in_progress"


def current_phase(state: State) -> Phase:
    phase = state.phase
    if phase is None or phase not in state.state_machine.phases:
        named = f"{phase.name!r} is" if phase else "the current phase is"
        raise IllegalMove(
            f"{named} not in the list of phases",
            hint="Add it to state_machine.phases, or correct state_machine.current_phase.",
        )
    return phase


def record(state: State, at: str, event: str, **facts: Any) -> None:
    """Append to the history; facts that are None are left out."""
    known = {name: fact for name, fact in facts.items() if fact is not None}
    state.history = [*state.history, {"at": at, "event": event, **known}]


# The workflow as a whole.


@move(unended)
def touch(state: State, at: str) -> None:
    """A session goes on with it."""


def note_compaction(state: State, at: str, touched: datetime) -> State:
    """A session goes on after a compaction; a hook writes this, which is no activity.

    An edit by hand, which only the time of the file told, was one: it was last *touched* then.
    """
    after = state.model_copy(deep=True)
    stated = state.workflow.updated_at
    if stated is not None and moment(stated) is None:
        pass  # it stays as somebody wrote it
    elif state.last_activity is None or touched - state.last_activity > timedelta(seconds=3):
        after.workflow.updated_at = iso_time(touched)
    record(after, at, COMPACTED, note="session resumed")
    return after


def has_noted(state: State, compacted: datetime, now: datetime) -> bool:
    """Whether the history has that compaction. An entry in the future has another clock, and proves nothing."""
    # The history has whole seconds, as `date -Iseconds` writes them.
    since = compacted.replace(microsecond=0)
    events = (event for event in state.history if event.get("event") == COMPACTED)
    times = (moment(event.get("at")) for event in events)
    return any(at is not None and since <= at <= now for at in times)


@move(unended)
def complete(state: State, at: str, although: str | None = None) -> None:
    """End it. What is not done keeps it from that, unless a reason is given why it ends *although*."""
    left = unfinished(state)
    if although is None:
        _refuse_blocked(state)
        if left:
            raise IllegalMove(
                f"{state.name!r} is not done: {', '.join(left)}",
                hint="Finish that, or complete it with a reason: holdfast skill complete "
                "--force REASON. To abandon it: holdfast skill abandon",
            )
    state.workflow.status = "completed"
    state.workflow.completed_at = at
    forced = needed(although, "the reason") if left else None
    record(state, at, "workflow_completed", forced=forced)


def unfinished(state: State) -> list[str]:
    left = ["it is blocked"] if is_blocked(state) else []
    phases = (phase for phase in state.state_machine.phases if phase.status != "completed")
    left += [f"phase {phase.name}" for phase in phases]
    return left + [f"task {number}" for number in state.open_tasks]


@move(unended)
def abandon(state: State, at: str, reason: str | None = None) -> None:
    """Give it up, so that something else can begin in its place."""
    state.workflow.status = "abandoned"
    record(state, at, "workflow_abandoned", reason=reason)


def ended(state: State, path: str) -> str:
    """How it has ended, and that its file is at *path* now."""
    return f"Workflow {state.workflow.status}: {state.name}. It is in {path}"


def signal(state: State) -> str:
    """What a skill prints when it is complete: DEV_COMPLETE: <feature>."""
    return f"{state.skill.upper()}_COMPLETE: {one_line(state.name)}"


@move(unblocked)
def block(state: State, at: str, reason: str) -> None:
    """The work is blocked. Nothing can be changed until `unblock`."""
    needed(reason, "what blocks it")
    state.workflow.status = "blocked"
    phase = state.state_machine.current_phase
    for busy in _in(state, "in_progress"):
        if busy.name == phase:
            busy.status = "blocked"
    record(state, at, "phase_blocked", phase=phase, reason=reason)


@move(unended)
def unblock(state: State, at: str) -> None:
    """The work is no longer blocked."""
    if not is_blocked(state):
        raise IllegalMove(f"{state.name!r} is not blocked")
    state.workflow.status = "in_progress"
    current = state.state_machine.current_phase
    for phase in _in(state, "blocked"):
        phase.status = "in_progress" if phase.name == current else "pending"
    record(state, at, "phase_unblocked", phase=current)


# Phases.


def _in(state: State, status: str) -> list[Phase]:
    return [phase for phase in state.state_machine.phases if phase.status == status]


def enter(state: State, phase: Phase, at: str) -> None:
    """Make *phase* the current one."""
    machine = state.state_machine
    phase.status = "in_progress"
    phase.started_at = at
    machine.current_phase = phase.name
    if phase.step_names or machine.current_step is not None:
        machine.current_step = (*phase.step_names, None)[0]
    record(state, at, "phase_started", phase=phase.name)


@move(unblocked)
def complete_phase(
    state: State, at: str, phase: str | None = None, *, commit: str | None = None
) -> None:
    """The current phase is done; the next one begins."""
    current = current_phase(state)
    if phase is not None and phase != current.name:
        raise IllegalMove(f"the current phase is {current.name!r}, not {phase!r}")
    waiting = _in(state, "pending")
    if current.status == "completed" and not waiting:
        cycle = "Start another cycle: holdfast skill tdd next. " if current.name == "commit" else ""
        hint = f"{cycle}End the workflow: holdfast skill complete"
        raise IllegalMove(f"phase {current.name!r} is completed", hint=hint)
    # One that was completed by hand only lacks that the next one begins.
    if current.status != "completed":
        lacking, hint = missing(state, current)
        if lacking:
            raise IllegalMove(f"phase {current.name!r} is not done: {lacking}", hint=hint)
        current.status = "completed"
        current.completed_at = at
        record(state, at, "phase_completed", phase=current.name, commit=commit)
    if waiting:
        enter(state, waiting[0], at)
    elif state.state_machine.current_step is not None:
        state.state_machine.current_step = None


def missing(state: State, phase: Phase) -> tuple[str, str]:
    """What *phase* still waits for, and how it comes."""
    left = steps_left(state, phase)
    if left:
        return f"left are {', '.join(left)}", "Record each: holdfast skill checkpoint"
    if phase.name == EXECUTION and state.open_tasks:
        numbers = ", ".join(map(str, state.open_tasks))
        return f"open tasks: {numbers}", "Complete them: holdfast skill task"
    if state.lacks_tasks(phase):
        return "it has no tasks", "Add them: holdfast skill task add DESCRIPTION"
    if phase.name == PULL_REQUEST and PR_CREATED in state.pending:
        return "no pull request is recorded", f"Record it: holdfast skill checkpoint {PR_CREATED}"
    if phase.name == "red" and not (phase.failure_confirmed and phase.failure_reason):
        return (
            "no failing test is confirmed",
            "Run it, see it fail, and give the reason: holdfast skill tdd fails REASON",
        )
    if phase.name == "green" and not phase.tests_passing:
        return "the tests do not pass yet", RUN
    if phase.name == "refactor" and state.test_state.last_result == "failed":
        return "the last test run failed", RUN
    return "", ""


def test_result(state: State) -> str:
    """ "failing" or "passing"; empty when no run is known of what is worked on now."""
    phase, tests = state.phase, state.test_state
    if tests.last_result:
        known = {"passed": "passing", "failed": "failing"}
        return "" if _ran_before(state) else known.get(tests.last_result, "")
    if phase is None or phase.tests_passing is None:
        return ""
    return "passing" if phase.tests_passing else "failing"


def _ran_before(state: State) -> bool:
    """Whether the last run was of the task or the cycle before."""
    ran, has_run = moment(state.test_state.last_run), False
    number = state.number(state.task) if state.task else None
    for event in reversed(state.history):
        what = event.get("event")
        if what == "cycle_started" or (what == "task_started" and event.get("task") == number):
            begun = moment(event.get("at"))
            # Times are whole seconds; in the same one, the order of the history decides.
            return bool(ran and begun and (ran < begun or (ran == begun and not has_run)))
        has_run = has_run or what == "tests_run"
    return False


# Steps and checkpoints.


def steps_left(state: State, phase: Phase) -> list[str]:
    """The steps of *phase* that are not done, in their order."""
    names, machine, checkpoints = phase.step_names, state.state_machine, state.checkpoints
    if phase.status == "completed":
        return []
    here = machine.current_step if phase.name == machine.current_phase else None
    passed = names[: names.index(here)] if here in names else []
    good = [name for name in names if name in checkpoints and checkpoints[name].good]
    passed = [name for name in passed if name not in checkpoints]
    return [name for name in names if name not in {*good, *passed}]


@move(unblocked)
def record_checkpoint(
    state: State,
    at: str,
    checkpoint: str,
    *,
    passed: bool | None = None,
    values: Mapping[str, Any] | None = None,
) -> None:
    """Record that the verification NAME has run, with what it found.

    It may run again. One that did not pass, or has findings or issues, stays pending for its phase;
    with --passed what it found is accepted.

    lint --passed; test --passed count=42; security_review findings=0; pr_created pr_number=7.
    """
    needed(checkpoint, "the checkpoint's name")
    given = {**(values or {}), **({} if passed is None else {"passed": passed})}
    asked = _ASKED.get(checkpoint, ())
    if asked and not any(given.get(name) is not None for name in asked):
        raise IllegalMove(f"checkpoint {checkpoint!r} needs {' or '.join(asked)}")
    was = state.checkpoints.get(checkpoint)
    known = was.model_dump(exclude_unset=True) if was else {}
    ran = {} if checkpoint == PR_CREATED else {"last_run": at}
    recorded = Checkpoint.model_validate({**known, **given, "status": "completed", **ran})
    state.checkpoints = {**state.checkpoints, checkpoint: recorded}
    record(state, at, "checkpoint_recorded", checkpoint=checkpoint, passed=passed)
    if state.phase and checkpoint in state.phase.step_names:
        left = steps_left(state, state.phase)
        state.state_machine.current_step = left[0] if left else None
