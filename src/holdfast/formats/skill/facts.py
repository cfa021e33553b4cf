"""Where a workflow stands, in phrases that both the resume summary and the briefing use, and the briefing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from holdfast.files import git
from holdfast.formats.engine.workflow import Briefing, Place, Standing
from holdfast.formats.skill.files import FOLDER, StateFile
from holdfast.formats.skill.model import EXECUTION, Phase, State, Task
from holdfast.formats.skill.moves import (
    PR_CREATED,
    PULL_REQUEST,
    because,
    is_blocked,
    missing,
    steps_left,
    test_result,
)
from holdfast.text.plaintext import counted

_MAIN = {"main", "master"}  # nobody is told to push these
PURPOSES = {
    "red": "write a failing test",
    "green": "make tests pass",
    "refactor": "clean up, tests stay green",
    "commit": "commit the cycle",
}


def nested(dev: StateFile, others: Sequence[StateFile]) -> StateFile | None:
    """The /tdd in progress that works on a task of *dev*: on its current one, else the latest."""
    inside = [file for file in others if is_part_of(file.state, dev.state)]
    number = dev.state.number(dev.state.task) if dev.state.task else None
    inside.sort(
        key=lambda file: (
            file.state.context.task_index == number,
            str(file.state.workflow.updated_at),
        )
    )
    return inside[-1] if inside else None


def is_part_of(tdd: State, dev: State) -> bool:
    """Whether *tdd* works on a task of *dev* that is not completed."""
    return (
        tdd.skill == "tdd"
        and dev.skill == "dev"
        and not (tdd.over or dev.over)
        and tdd.context.about_file is not None
        and tdd.context.about_file == dev.context.about_file
        and tdd.context.task_index in dev.open_tasks
    )


class Position(NamedTuple):
    """Where a workflow stands: its state, with the /tdd within and what git knows of its branch."""

    state: State
    inner: State | None = None
    pushed: git.Pushed | None = None
    branch: str | None = None  # that the work is done on now, where it is not the state's
    uncommitted: int = 0  # files that git status shows

    @property
    def task(self) -> Task | None:
        """The task that comes next; None where it is not tasks that are worked on now."""
        phase = self.state.phase
        names = self.state.phase_names
        at_tasks = EXECUTION not in names or (phase is not None and phase.name == EXECUTION)
        return self.state.task if at_tasks else None

    def tdd_phase(self, task: Task | None) -> str | None:
        """red, green, refactor or commit: of the /tdd within, else of *task*, else of the cycle."""
        state, inner = self.state, self.inner
        if inner and task and inner.context.task_index == state.number(task) and inner.phase:
            return inner.phase.name
        if task is not None:
            busy = task.tdd_phases if task.status == "in_progress" else None
            return state.named_in_task or (busy.current if busy else None)
        return state.phase.name if state.phase and is_cycle(state) else None

    def title(self, task: Task) -> str:
        """Task 4/5 - Add login method."""
        state = self.state
        return f"Task {state.number(task)}/{len(state.tasks)} - {state.title(task)}"

    @property
    def tested(self) -> State:
        """The state that has the test runs of what is worked on now."""
        return self.inner or self.state

    @property
    def pull_request(self) -> str:
        """What is left to do for the pull request that is due; else empty."""
        if not pull_request_due(self.state):
            return ""
        branch = self.branch or self.state.workflow.branch or "the branch"
        if branch in _MAIN:
            return f"The work is on {branch}: give it a branch of its own, then create the pull request from that"
        steps = {
            "pushed": f"{branch} is pushed:",
            "behind": f"{branch} has commits that are not pushed: push them, then",
            "unpushed": f"{branch} is not pushed: push it, then",
            None: f"See whether {branch} is pushed, then",
        }
        left = counted(self.uncommitted, "uncommitted file") if self.uncommitted else ""
        shown = f"; git status shows {left}, to be committed and pushed before" if left else ""
        return f"{steps[self.pushed]} create the pull request{shown}"

    @property
    def checks_left(self) -> str:
        """That only checkpoints are left, once all tasks are completed; else empty."""
        checks = checks_due(self.state)
        done = self.state.tasks and self.state.task is None
        return f"All tasks complete. Pending: {checks}" if done and checks else ""

    @property
    def next_action(self) -> str | None:
        """What comes next, in one line; None when nothing is left."""
        state, phase = self.state, self.state.phase
        if state.over:
            return None
        if is_blocked(state):
            return f"Blocked{because(state)}; a person has to say how to go on"
        if self.task is not None:
            return self._task_action(self.task)
        if phase and state.following:
            return f"Phase {phase.name} is completed: begin {state.following.name}"
        if phase is not None and is_cycle(state) and not self.pull_request:
            return _cycle_action(state, phase)
        return self.pull_request or self.checks_left or _phase_action(state, phase)

    @property
    def comes_next(self) -> str:
        """The next action where no task or phase goes on."""
        phase = self.state.phase
        is_done = self.task is None and (phase is None or phase.status == "completed")
        halts = is_done or self.checks_left
        return f"{self.next_action}." if halts and not is_blocked(self.state) else ""

    def _task_action(self, task: Task) -> str:
        line, phase = self.title(task), self.tdd_phase(task)
        if phase is None and task.status == "pending":
            return f"{line}, not begun yet"
        if phase is None:
            left = "commit it and complete the task" if task.tdd_phases else "in progress"
            return f"{line}, {left}"
        return f"{line}, {_doing(phase, self.tested)}"


def _doing(phase: str, tested: State) -> str:
    """GREEN phase (make tests pass); tests are failing. A commit is not about the tests."""
    purpose = f" ({PURPOSES[phase]})" if phase in PURPOSES else ""
    result = test_result(tested) if phase != "commit" else ""
    return f"{phase.upper()} phase{purpose}{f'; tests are {result}' if result else ''}"


def _cycle_action(state: State, phase: Phase) -> str:
    cycle = f"Cycle {state.state_machine.cycle_count or 1}"
    if phase.status == "completed":
        return f"{cycle} is committed: begin the next one, or complete the workflow"
    line = f"{cycle}, {_doing(phase.name, state)}"
    if phase.name == "red" and phase.test_file:
        seen = "its failure is confirmed" if phase.failure_confirmed else "confirm that it fails"
        return f"{line}; the test is written in {phase.test_file}, {seen}"
    return f"{line}: {phase.last_error}" if phase.name == "green" and phase.last_error else line


def _phase_action(state: State, phase: Phase | None) -> str:
    if phase is None or phase.status == "completed":
        return "All phases are completed: review the whole, then complete the workflow"
    step = state.state_machine.current_step
    if state.lacks_tasks(phase):
        return f"Phase {phase.name}: add the tasks of the feature"
    left = steps_left(state, phase)
    if left:
        return f"Phase {phase.name}: {left[0]} ({len(left)} of {len(phase.step_names)} steps left)"
    at = f" with {step}" if step and not phase.steps else ""
    return f"Phase {phase.name}: go on{at}, and complete it"


def is_cycle(state: State) -> bool:
    """Whether the phases are those of a test-driven cycle."""
    return {"red", "green"} <= {*state.phase_names}


def checks_due(state: State) -> str:
    """The pending checkpoints, the pull request as "pr", and of one that has run why it is not passed."""
    due = []
    for name in state.pending:
        known = state.checkpoints[name]
        why = "failed" if known.passed is False else known.findings
        due.append(("pr" if name == PR_CREATED else name) + (f" ({why})" if why else ""))
    return ", ".join(due)


def pull_request_due(state: State) -> bool:
    phase = state.phase
    return phase is not None and phase.name == PULL_REQUEST and PR_CREATED in state.pending


def position(place: Place, state: State, inner: State | None, *, active: bool = True) -> Position:
    """Where *state* stands; of an active one with a pull request due, whether some remote has the branch."""
    branch = place.branch_now(state.workflow.branch)
    asks = active and pull_request_due(state)
    pushed = git.is_pushed(str(place.root), branch) if asks and branch else None
    # The states are ours to write at any time, and need not be committed.
    shown = git.uncommitted(str(place.root), f":(exclude){FOLDER}") if pushed else 0
    return Position(state, inner, pushed, branch, shown)


# The briefing.


def briefing(
    place: Place, file: StateFile, standing: Standing, others: Sequence[StateFile]
) -> Briefing:
    """The briefing of *file*, which may belong with *others* that are worked on."""
    state = file.state
    within = nested(file, others)
    inner = within.state if within else None
    outer = next((other.state for other in others if is_part_of(file.state, other.state)), None)
    phase, phases = state.phase, state.state_machine.phases
    number = phases.index(phase) + 1 if phase and phase in phases else 1
    is_given_up = standing == "stale" or state.workflow.status == "abandoned"
    stands = position(place, state, inner, active=standing == "active")
    reading = [*_reading(state, place), *(_reading(inner, place) if inner else ())]
    return Briefing(
        name=state.name,
        kind=state.skill,
        phase=number,
        phases=max(len(phases), 1),
        phase_name=phase.name if phase else "",
        status="blocked" if is_blocked(state) and not state.over else state.workflow.status,
        next_action=stands.next_action,
        gate=None if state.over else _gate(state),
        reading=tuple(dict.fromkeys(reading)),
        context=tuple(_context(stands, outer).items()),
        state_path=place.store.relative(file.path),
        comes_next=stands.comes_next if not state.over else "",
        kept_with=() if is_blocked(state) else _kept_with(state, inner),
        ended_with=f"holdfast skill {'abandon' if is_given_up else 'complete'}",
    )


def _gate(state: State) -> str | None:
    """What the current phase waits for before it ends."""
    phase = state.phase
    return missing(state, phase)[0] or None if phase and phase.status != "completed" else None


def _kept_with(state: State, inner: State | None) -> tuple[str, ...]:
    cycle = ("holdfast skill tdd run", "holdfast skill tdd done")
    tasks = ("holdfast skill task phase", "holdfast skill task complete")
    phases = ("holdfast skill checkpoint", "holdfast skill phase complete")
    if is_cycle(state):
        return cycle
    has_tasks = state.tasks or EXECUTION in state.phase_names
    return (*(tasks if has_tasks else ()), *phases, *(cycle if inner else ()))


def _reading(state: State, place: Place) -> Iterator[str]:
    """The feature's file, also where it is missing, and those of its folder; as far as they are in the project."""
    context = state.context
    about = context.about_file
    is_missing_path = about and place.store.holds(place.root / about) and PurePath(about).suffix
    yield from [*_in_project(about, place)] or ([f"@{about}"] if is_missing_path else [])
    for feature in context.folder_features if context.folder_mode else ():
        # Some write them relative to the folder.
        within = f"{context.folder_path}/{feature}"
        yield from [*_in_project(feature, place)] or _in_project(within, place)


def _in_project(path: object, place: Place) -> Iterator[str]:
    if not isinstance(path, str) or not path:
        return
    store, given = place.store, place.root / path
    if store.holds(given) and store.inputs.is_file(given):
        real = store.inputs.real_path(given)
        yield f"@{os.path.relpath(real, place.root)}" if os.path.isabs(path) else f"@{path}"


def _context(position: Position, outer: State | None) -> dict[str, Any]:
    state, inner = position.state, position.inner
    facts: dict[str, Any] = {"branch": position.branch or state.workflow.branch}
    if state.tasks:
        done = len(state.tasks) - len(state.open_tasks)
        facts["tasks completed"] = f"{done} of {len(state.tasks)}"
        committed = [task for task in state.tasks if task.commit_sha]
        shas = (f"task {state.number(task)}: {task.commit_sha}" for task in committed)
        facts["commits"] = ", ".join(shas)
    elif state.phase:
        facts["progress"] = state.phase.progress
    facts["cycle"] = state.state_machine.cycle_count
    facts["last test run"] = _last_run(position.tested)
    facts["pending checkpoints"] = checks_due(state)
    if inner:
        facts["test-driven work within"] = f"{inner.name}: {Position(inner).next_action}"
    if outer:
        facts["part of"] = f"{outer.name}, task {state.context.task_index} of {len(outer.tasks)}"
    facts["files modified"] = ", ".join(dict.fromkeys(file.path for file in state.files_modified))
    facts["pull request"] = _pull_request(state)
    if state.context.folder_mode:
        facts["folder"] = state.context.folder_path
    known = {name: fact for name, fact in facts.items() if fact}
    # What the skill has noted under names of its own comes last: it may be long, and a long list is cut.
    for name, fact in (state.context.model_extra or {}).items():
        if fact not in (None, "", [], {}):
            known.setdefault(name, fact)
    return known


def _pull_request(state: State) -> str | None:
    """The address of the one that is recorded, else its number."""
    known = state.checkpoints.get(PR_CREATED)
    noted = (known.model_extra or {}) if known and known.status == "completed" else {}
    number = noted.get("pr_number")
    return noted.get("pr_url") or (f"#{number}" if number else None)


def _last_run(state: State) -> str:
    tests = state.test_state
    if not tests.last_result:
        return ""
    at = f" at {tests.last_run}" if tests.last_run else ""
    command = f", {tests.test_command}" if tests.test_command else ""
    failing = f"; failing: {', '.join(tests.failing_tests)}" if tests.failing_tests else ""
    return f"{tests.last_result}{at}{command}{failing}"
