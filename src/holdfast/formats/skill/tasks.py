"""Moves of tasks and of test-driven cycles.

    task:   pending → in_progress → completed, and red → green → refactor within one
    cycle:  red → green → refactor → commit, and then the next cycle

A task whose test-driven phases have begun ends when they have; one without them ends by its commit.
Several may be in progress: subagents work side by side. Red ends when the test was seen failing, for a
reason that is told; green when the tests pass; refactor when they still do (`moves.missing`). Of a
task, recorded runs tell; where none is recorded, nothing speaks against it.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import IllegalMove
from holdfast.formats.engine.moves import move, needed
from holdfast.formats.skill.model import (
    EXECUTION,
    TDD_PHASES,
    ModifiedFile,
    Phase,
    State,
    Task,
    TaskPhases,
)
from holdfast.formats.skill.moves import (
    RUN,
    current_phase,
    enter,
    record,
    test_result,
    unblocked,
    unended,
)

COMMIT = "commit"


@move(unblocked)
def add_tasks(state: State, at: str, descriptions: Sequence[str]) -> None:
    """Add tasks at the end."""
    phases = state.state_machine.phases
    if any(phase.name == EXECUTION and phase.status == "completed" for phase in phases):
        raise IllegalMove(f"phase {EXECUTION!r} is completed", hint="Add it to another workflow.")
    highest = max((state.number(task) for task in state.tasks), default=0)
    added = new_tasks(descriptions, highest + 1)
    state.tasks = [*state.tasks, *added]
    record(state, at, "tasks_added", count=len(added))
    _count(state)


def new_tasks(descriptions: Sequence[str], first: int = 1) -> list[Task]:
    return [
        Task(index=index, description=needed(text, "a task's description"), status="pending")
        for index, text in enumerate(descriptions, first)
    ]


@move(unblocked)
def start_task(state: State, at: str, number: int | None = None, *, no_tdd: bool = False) -> None:
    """Begin a task, by default the next one, in its red phase."""
    task = _task(state, number, "pending")
    if task.status != "pending":
        raise IllegalMove(f"task {state.number(task)} is {task.status.replace('_', ' ')}")
    task.status = "in_progress"
    task.commit_sha = None
    if task.tdd_phases is None and not no_tdd:
        task.tdd_phases = _phases_of_task()
    record(state, at, "task_started", task=state.number(task))


def _phases_of_task() -> TaskPhases:
    return TaskPhases(red="in_progress", green="pending", refactor="pending")


@move(unblocked)
def complete_task_phase(
    state: State, at: str, phase: str | None = None, *, number: int | None = None
) -> None:
    """The task's current one of red, green and refactor is done; the next one begins."""
    task = _task(state, number, "in_progress")
    if task.status != "in_progress":
        raise IllegalMove(
            f"task {state.number(task)} is {task.status}",
            hint="Only a task in progress has a phase to complete: holdfast skill task start",
        )
    phases = task.tdd_phases or _phases_of_task()
    current = phases.current
    if current is None or phase not in {None, current}:
        now = f"in its {current} phase" if current else "through red, green and refactor"
        raise IllegalMove(
            f"task {state.number(task)} is {now}",
            hint="red comes before green, and green before refactor; then the task is completed.",
        )
    result, wrong = test_result(state), "passing" if current == "red" else "failing"
    if result == wrong:
        hint = "See the new test fail: holdfast skill tdd run --failed" if current == "red" else RUN
        raise IllegalMove(f"phase {current!r} is not done: the tests are {result}", hint=hint)
    task.tdd_phases = phases
    setattr(phases, current, "completed")
    if phases.current:
        setattr(phases, phases.current, "in_progress")
    record(state, at, "tdd_phase_completed", task=state.number(task), phase=current)


@move(unblocked)
def complete_task(
    state: State, at: str, number: int | None = None, *, commit: str | None = None
) -> None:
    """The task is done, by default the one in progress."""
    task = _task(state, number, "in_progress")
    number, phases = state.number(task), task.tdd_phases
    if task.status == "completed":
        committed = f" (committed: {task.commit_sha})" if task.commit_sha else ""
        raise IllegalMove(f"task {number} is completed{committed}")
    if phases and phases.begun and phases.current:
        raise IllegalMove(
            f"task {number} is in its {phases.current} phase",
            hint=f"Complete {', then '.join(TDD_PHASES[TDD_PHASES.index(phases.current) :])} first.",
        )
    task.status = "completed"
    if commit is not None:
        task.commit_sha = needed(commit, "the commit")
    record(state, at, "task_completed", task=number, commit=commit)
    _count(state)


def _task(state: State, number: int | None, status: str) -> Task:
    """The task *number*, by default the first one that waits, or the only one in progress.

    Tasks are worked on in the phase for that, if there is one.
    """
    current = state.state_machine.current_phase
    if EXECUTION in state.phase_names and current != EXECUTION:
        raise IllegalMove(
            f"the current phase is {current!r}; tasks are worked on in {EXECUTION!r}",
            hint="Complete the phases before it: holdfast skill phase complete",
        )
    if number is not None:
        among = [task for task in state.tasks if state.number(task) == number]
        count = f"there are {len(state.tasks)} tasks" if state.tasks else "there are no tasks yet"
        missing, hint = f"there is no task {number}; {count}", "Add it: holdfast skill task add"
    else:
        among = [task for task in state.tasks if task.status == status]
        missing, hint = "no task is waiting", "Add one: holdfast skill task add"
        if status == "in_progress" and len(among) != 1:
            numbers = ", ".join(str(state.number(task)) for task in among)
            missing = f"{f'tasks {numbers} are' if among else 'no task is'} in progress"
            among, hint = [], "Say which one is meant by its number."
    if not among:
        raise IllegalMove(missing, hint=hint)
    return among[0]


def _count(state: State) -> None:
    """Keep the progress of the phase as "5/7"."""
    done = len(state.tasks) - len(state.open_tasks)
    for phase in state.state_machine.phases:
        if phase.name == EXECUTION:
            phase.progress = f"{done}/{len(state.tasks)}"


# Test-driven cycles.


@move(unblocked)
def write_test(state: State, at: str, file: str, *, test: str | None = None) -> None:
    """The test is written, in FILE; that it fails is still to be confirmed."""
    red = _red(state)
    red.test_file = needed(file, "the test's file")
    if test is not None:
        red.test_name = test
    red.failure_confirmed = False
    if red.failure_reason is not None:
        red.failure_reason = None
    record(state, at, "test_written", file=file, test=test)


@move(unblocked)
def confirm_failure(state: State, at: str, reason: str) -> None:
    """The test was seen failing, for this REASON."""
    red = _red(state)
    red.failure_reason = needed(reason, "the reason why the test fails")
    red.failure_confirmed = True
    record(state, at, "failure_confirmed", reason=reason)


def _red(state: State) -> Phase:
    """The phase in which a test is written, where that is what is worked on."""
    phase = current_phase(state)
    if phase.name != "red" or phase.status != "in_progress":
        raise IllegalMove(
            f"the current phase is {phase.name!r} ({phase.status.replace('_', ' ')}), not 'red'",
            hint="After the commit: holdfast skill tdd next",
        )
    return phase


@move(unended)
def record_tests(
    state: State,
    at: str,
    *,
    passed: bool | None,
    command: str | None = None,
    failing: Sequence[str] = (),
    passing: Sequence[str] = (),
    error: str | None = None,
) -> None:
    """The tests were run. In green, a run that passes lets the phase end."""
    if passed is None:
        raise IllegalMove("how it ended is missing", hint="Say it: --passed or --failed.")
    if passed and failing:
        raise IllegalMove(f"a run that passed has no failing test: {failing[0]}")
    tests = state.test_state
    if command is not None:
        tests.test_command = command
    tests.last_run = at
    tests.last_result = "passed" if passed else "failed"
    tests.failing_tests = list(failing)
    tests.passing_tests = list(passing)
    state.test_state = tests  # it may not have been there
    phase = state.phase
    if phase and phase.name == "green":
        phase.tests_passing = passed
        if error is not None or phase.last_error is not None:
            phase.last_error = None if passed else error
    record(state, at, "tests_run", result=tests.last_result)


@move(unended)
def note_file(
    state: State, at: str, path: str, *, phase: str | None = None, lines: int | None = None
) -> None:
    """The file at PATH was changed in this phase. If it is recorded again, its lines are replaced."""
    needed(path, "the file")
    current, files = state.phase, state.files_modified
    phase = phase or (current.name if current else None)
    known = next((file for file in files if (file.path, file.phase) == (path, phase)), None)
    if known is None:
        known = ModifiedFile(path=path, phase=phase)
        state.files_modified = [*files, known]
        record(state, at, "file_modified", file=path, phase=phase)
    if lines is not None:
        known.lines_added = lines
    if current and current.name == phase == "green" and current.implementation_file is None:
        current.implementation_file = path


@move(unblocked)
def next_cycle(state: State, at: str) -> None:
    """The cycle is committed; begin the next one."""
    machine = state.state_machine
    if "red" not in state.phase_names:
        raise IllegalMove("this workflow has no test-driven cycles")
    unfinished = next((phase for phase in machine.phases if phase.status != "completed"), None)
    if unfinished:
        raise IllegalMove(
            f"phase {unfinished.name!r} of this cycle is not completed",
            hint=f"A cycle ends with {COMMIT!r}: holdfast skill tdd done",
        )
    machine.cycle_count = (machine.cycle_count or 1) + 1
    machine.phases = [_unworked(phase) for phase in machine.phases]
    record(state, at, "cycle_started", cycle=machine.cycle_count)
    enter(state, machine.phases[0], at)


def _unworked(phase: Phase) -> Phase:
    """The phase as at the beginning; what the document does not name stays with it."""
    lasting = phase.model_dump(
        include={"name", "steps", *(phase.model_extra or {})}, exclude_unset=True
    )
    return Phase.model_validate(lasting).model_copy(update={"status": "pending"})
