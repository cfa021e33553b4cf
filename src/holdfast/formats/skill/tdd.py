"""Moves of a test-driven cycle: red → green → refactor → commit, and then the next cycle.

Red ends when the test was seen failing, for a reason that is told; green ends when the tests pass;
refactor ends when they still do. phases.complete_phase asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import IllegalMove
from holdfast.formats.skill.model import LastTests, ModifiedFile, Phase, State
from holdfast.formats.skill.moving import current_phase, enter, moved, needed, record

COMMIT = "commit"


def write_test(state: State, at: str, file: str, name: str | None = None) -> State:
    """The test of this cycle is written; that it fails is still to be confirmed."""
    after, red = _in(state, at, "red")
    red.test_file = needed(file, "the test's file")
    if name is not None:
        red.test_name = name
    red.failure_confirmed = False
    if red.failure_reason is not None:
        red.failure_reason = None
    record(after, at, "test_written", file=file, test=name)
    return after


def confirm_failure(state: State, at: str, reason: str) -> State:
    """The test was seen failing, for the right reason."""
    after, red = _in(state, at, "red")
    red.failure_reason = needed(reason, "the reason why the test fails")
    red.failure_confirmed = True
    record(after, at, "failure_confirmed", reason=reason)
    return after


def record_tests(
    state: State,
    at: str,
    *,
    passed: bool,
    command: str | None = None,
    failing: Sequence[str] = (),
    passing: Sequence[str] = (),
    error: str | None = None,
) -> State:
    """A test run and its result; in green it decides whether the phase may end."""
    after = moved(state, at, although_blocked=True)
    if passed and failing:
        raise IllegalMove(f"a run that passed has no failing test: {failing[0]}")
    tests = after.test_state or LastTests()
    if command is not None:
        tests.test_command = command
    tests.last_run = at
    tests.last_result = "passed" if passed else "failed"
    tests.failing_tests = list(failing)
    tests.passing_tests = list(passing)
    after.test_state = tests
    phase = after.phase
    if phase and phase.name == "green":
        phase.tests_passing = passed
        if error is not None or phase.last_error is not None:
            phase.last_error = None if passed else error
    record(after, at, "tests_run", result=tests.last_result)
    return after


def note_file(
    state: State, at: str, path: str, *, phase: str | None = None, lines_added: int | None = None
) -> State:
    """A file was changed in *phase*, by default the current one; told again, the lines count anew."""
    after = moved(state, at, although_blocked=True)
    needed(path, "the file")
    current = after.phase
    phase = phase or (current.name if current else None)
    known = next((e for e in after.files_modified if (e.path, e.phase) == (path, phase)), None)
    if known is None:
        known = ModifiedFile(path=path, phase=phase)
        after.files_modified = [*after.files_modified, known]
        record(after, at, "file_modified", file=path, phase=phase)
    if lines_added is not None:
        known.lines_added = lines_added
    if current and current.name == phase == "green" and current.implementation_file is None:
        current.implementation_file = path
    return after


def next_cycle(state: State, at: str) -> State:
    """The cycle is committed; the next one begins in red."""
    after = moved(state, at)
    machine = after.state_machine
    if not any(phase.name == "red" for phase in machine.phases):
        raise IllegalMove("this workflow has no test-driven cycles")
    unfinished = next((phase for phase in machine.phases if phase.status != "completed"), None)
    if unfinished:
        raise IllegalMove(
            f"phase {unfinished.name!r} of this cycle is not completed",
            hint=f"A cycle ends with {COMMIT!r}: holdfast skill tdd done",
        )
    machine.cycle_count = (machine.cycle_count or 1) + 1
    machine.phases = [_unworked(phase) for phase in machine.phases]
    record(after, at, "cycle_started", cycle=machine.cycle_count)
    enter(after, machine.phases[0], at)
    return after


def _unworked(phase: Phase) -> Phase:
    """The phase as at the beginning; what the document does not name stays with it."""
    lasting = {"name", "steps", *(phase.model_extra or {})}
    return Phase.model_validate(
        {**phase.model_dump(include=lasting, exclude_unset=True)}
    ).model_copy(update={"status": "pending"})


def _in(state: State, at: str, name: str) -> tuple[State, Phase]:
    after = moved(state, at)
    phase = current_phase(after)
    if phase.name != name or phase.status != "in_progress":
        now = phase.status.replace("_", " ")
        raise IllegalMove(
            f"the current phase is {phase.name!r} ({now}), not {name!r}",
            hint="After the commit: holdfast skill tdd next" if name == "red" else "",
        )
    return after, phase
