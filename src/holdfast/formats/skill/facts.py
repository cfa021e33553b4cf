"""Where a workflow stands, in phrases that both the resume summary and the briefing use. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from holdfast.formats.document import moment
from holdfast.formats.skill.model import Phase, Row, State, Task
from holdfast.formats.skill.moving import blocked_by, is_blocked
from holdfast.formats.skill.phases import (
    EXECUTION,
    PR_CREATED,
    PULL_REQUEST,
    current_step,
    steps_left,
)

# What git knows of the branch: on a remote, all but its last commits, or not at all.
Pushed: TypeAlias = Literal["pushed", "behind", "unpushed"]

_DOING = {
    "red": "write a failing test",
    "green": "make tests pass",
    "refactor": "clean up, tests stay green",
    "commit": "commit the cycle",
}


def nested(dev: State, others: Sequence[State]) -> State | None:
    """The /tdd in progress that works on a task of *dev*: on its current one, else the latest."""
    inside = [each for each in others if is_part_of(each, dev)]
    current = dev.task
    number = dev.number(current) if current else None
    inside.sort(key=lambda each: (each.context.task_index == number, str(each.workflow.updated_at)))
    return inside[-1] if inside else None


def is_part_of(tdd: State | Row, dev: State | Row) -> bool:
    """Whether *tdd* works on a task of *dev* that is not completed."""
    return (
        (tdd.skill, dev.skill) == ("tdd", "dev")
        and not (tdd.over or dev.over)
        and tdd.feature_file is not None
        and tdd.feature_file == dev.feature_file
        and tdd.task_index in dev.open_tasks
    )


def tests_of(state: State, inner: State | None) -> State:
    """The one whose test run is the last one."""
    if inner is None:
        return state
    runs = [(at, each) for each in (state, inner) if (at := _last_run(each))]
    return max(runs, key=lambda run: run[0])[1] if runs else inner


def _last_run(state: State) -> datetime | None:
    return moment(state.test_state.last_run) if state.test_state else None


def failing(state: State) -> bool | None:
    """Whether the tests fail; None when no run is told of what is worked on now."""
    phase = state.phase
    if state.test_state and state.test_state.last_result:
        known = {"passed": False, "failed": True}
        return None if _ran_before(state) else known.get(state.test_state.last_result)
    if phase is not None and phase.tests_passing is not None:
        return not phase.tests_passing
    return None


def _ran_before(state: State) -> bool:
    """Whether the last run was of the task or the cycle before."""
    begun, ran = _begun(state), _last_run(state)
    at = moment(state.history[begun].get("at")) if begun is not None else None
    if begun is None or at is None or ran is None or ran > at:
        return False
    # Times are whole seconds; in the same one, the order of the history tells.
    told = (event.get("event") for event in state.history[begun:])
    return ran < at or "tests_run" not in told


def _begun(state: State) -> int | None:
    """Where the history tells that the current task or cycle began."""
    number = state.number(state.task) if state.task else None
    starts = [
        at
        for at, event in enumerate(state.history)
        if event.get("event") == "cycle_started"
        or (event.get("event") == "task_started" and event.get("task") == number)
    ]
    return starts[-1] if starts else None


def tdd_phase(state: State, task: Task | None, inner: State | None) -> str | None:
    """red, green, refactor or commit: of the /tdd within, else of the task, else of the cycle."""
    if inner and task and inner.context.task_index == state.number(task) and inner.phase:
        return inner.phase.name
    if task is not None:
        return task.tdd_phases.current if task.tdd_phases and task.status == "in_progress" else None
    phase = state.phase
    return phase.name if phase and is_cycle(state) else None


def is_cycle(state: State) -> bool:
    """Whether the phases are those of a test-driven cycle."""
    return {"red", "green"} <= {phase.name for phase in state.state_machine.phases}


def doing(phase: str | None) -> str:
    """GREEN phase (make tests pass)."""
    if phase is None:
        return ""
    return f"{phase.upper()} phase" + (f" ({_DOING[phase]})" if phase in _DOING else "")


def purpose(phase: str) -> str:
    """make tests pass."""
    return _DOING.get(phase, "")


def at_tasks(state: State) -> bool:
    """Whether it is tasks that are worked on now."""
    phase = state.phase
    names = {each.name for each in state.state_machine.phases}
    return state.task is not None and (
        EXECUTION not in names or bool(phase and phase.name == EXECUTION)
    )


def tasks_done(state: State) -> bool:
    """All tasks are completed, and what follows them has not begun or is under way."""
    return bool(state.tasks) and state.task is None


def checks_due(state: State) -> list[str]:
    """The pending checkpoints, the pull request as "pr", one that failed said so."""
    return [
        ("pr" if name == PR_CREATED else name)
        + (" (failed)" if state.checkpoints[name].passed is False else "")
        for name in state.pending
    ]


def pull_request_due(state: State) -> bool:
    phase = state.phase
    return phase is not None and phase.name == PULL_REQUEST and PR_CREATED in state.pending


def pull_request(state: State, pushed: Pushed | None) -> str:
    """What is left to do for it, by what git knows of the branch."""
    branch = state.workflow.branch or "the branch"
    steps = {
        "pushed": f"{branch} is pushed: create the pull request",
        "behind": f"{branch} has commits that are not pushed: push them, then create the pull request",
        "unpushed": f"{branch} is not pushed: push it, then create the pull request",
    }
    return (
        steps[pushed] if pushed else f"see whether {branch} is pushed, then create the pull request"
    )


def next_action(
    state: State, inner: State | None = None, pushed: Pushed | None = None
) -> str | None:
    """What comes next, in one line; None when nothing is left."""
    if state.over:
        return None
    if is_blocked(state):
        return f"Blocked{_after_colon(blocked_by(state))}; unblock it first"
    task = state.task
    if task is not None and at_tasks(state):
        return _task_action(state, task, inner)
    if pull_request_due(state):
        return pull_request(state, pushed)
    phase = state.phase
    if phase is not None and is_cycle(state):
        return _cycle_action(state, phase)
    if tasks_done(state) and checks_due(state):
        return f"All tasks complete. Pending: {', '.join(checks_due(state))}"
    return _phase_action(state, phase)


def _after_colon(text: str | None) -> str:
    return f": {text}" if text else ""


def _task_action(state: State, task: Task, inner: State | None) -> str:
    line = f"Task {state.number(task)}/{len(state.tasks)} - {state.title(task)}"
    phase = tdd_phase(state, task, inner)
    if task.status == "pending":
        return f"{line}, not begun yet"
    if phase is None:
        left = "commit it and complete the task" if task.tdd_phases else "in progress"
        return f"{line}, {left}"
    return f"{line}, {doing(phase)}{_tests(tests_of(state, inner), phase)}"


def _tests(state: State, phase: str) -> str:
    """How the last run ended; a commit is not about that."""
    fails = failing(state)
    if fails is None or phase == "commit":
        return ""
    return "; tests are failing" if fails else "; tests are passing"


def _cycle_action(state: State, phase: Phase) -> str:
    cycle = f"Cycle {state.state_machine.cycle_count or 1}"
    if phase.status == "completed":
        return f"{cycle} is committed: begin the next one, or complete the workflow"
    line = f"{cycle}, {doing(phase.name)}{_tests(state, phase.name)}"
    if phase.name == "red" and phase.test_file:
        confirmed = (
            "its failure is confirmed" if phase.failure_confirmed else "confirm that it fails"
        )
        return f"{line}; the test is written in {phase.test_file}, {confirmed}"
    if phase.name == "green" and phase.last_error:
        return f"{line}: {phase.last_error}"
    return line


def _phase_action(state: State, phase: Phase | None) -> str | None:
    if phase is None or phase.status == "completed":
        return "All phases are completed: complete the workflow"
    if phase.name == EXECUTION and not state.tasks:
        return f"Phase {phase.name}: add the tasks of the feature"
    step = current_step(state)
    if step:
        left = len(steps_left(state, phase))
        return f"Phase {phase.name}: {step} ({left} of {len(phase.step_names)} steps left)"
    return f"Phase {phase.name}: go on, and complete it"
