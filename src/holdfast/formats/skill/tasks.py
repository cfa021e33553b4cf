"""Moves of tasks: pending → in_progress → completed, and red → green → refactor within one.

A task whose test-driven phases have begun ends when they have; one without them ends by its commit.
Several may be in progress: subagents work side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import IllegalMove
from holdfast.formats.skill.model import TDD_PHASES, State, Task, TaskPhases
from holdfast.formats.skill.moving import moved, needed, record
from holdfast.formats.skill.phases import EXECUTION


def add_tasks(state: State, at: str, descriptions: Sequence[str]) -> State:
    """Append tasks; those that are there keep their numbers."""
    after = moved(state, at)
    phase = next((each for each in after.state_machine.phases if each.name == EXECUTION), None)
    if phase and phase.status == "completed":
        raise IllegalMove(f"phase {EXECUTION!r} is completed", hint="Note it for another workflow.")
    highest = max((after.number(task) for task in after.tasks), default=0)
    added = listed(descriptions, highest + 1)
    after.tasks = [*after.tasks, *added]
    record(after, at, "tasks_added", count=len(added))
    _count(after)
    return after


def listed(descriptions: Sequence[str], first: int = 1) -> list[Task]:
    """New tasks, numbered from *first*."""
    return [
        Task(index=index, description=needed(each, "a task's description"), status="pending")
        for index, each in enumerate(descriptions, first)
    ]


def start_task(state: State, at: str, index: int | None = None, *, tdd: bool = True) -> State:
    """Begin the task *index*, by default the next one; with *tdd* in its red phase."""
    after = _executing(state, at)
    task = _task(after, index if index is not None else _next(after))
    if task.status != "pending":
        raise IllegalMove(f"task {after.number(task)} is {task.status.replace('_', ' ')}")
    task.status = "in_progress"
    task.commit_sha = None
    if tdd and task.tdd_phases is None:
        task.tdd_phases = TaskPhases(red="in_progress", green="pending", refactor="pending")
    record(after, at, "task_started", task=after.number(task))
    return after


def complete_task_phase(
    state: State, at: str, phase: str | None = None, *, index: int | None = None
) -> State:
    """The current one of red, green and refactor is done; the next one begins."""
    after = _executing(state, at)
    task = _task(after, index if index is not None else _current(after))
    if task.status != "in_progress":
        raise IllegalMove(
            f"task {after.number(task)} is {task.status}",
            hint="Only a task in progress has a phase to complete: holdfast skill task start",
        )
    phases = task.tdd_phases or TaskPhases(red="in_progress", green="pending", refactor="pending")
    current = phases.current
    if current is None or phase not in {None, current}:
        now = f"in its {current} phase" if current else "through red, green and refactor"
        raise IllegalMove(
            f"task {after.number(task)} is {now}",
            hint="red comes before green, and green before refactor; then the task is completed.",
        )
    task.tdd_phases = phases
    setattr(phases, current, "completed")
    if phases.current:
        setattr(phases, phases.current, "in_progress")
    record(after, at, "tdd_phase_completed", task=after.number(task), phase=current)
    return after


def complete_task(
    state: State, at: str, index: int | None = None, *, commit: str | None = None
) -> State:
    """The task is done, with its *commit*."""
    after = _executing(state, at)
    task = _task(after, index if index is not None else _current(after))
    number, phases = after.number(task), task.tdd_phases
    if task.status == "completed":
        raise IllegalMove(f"task {number} is completed{_committed(task)}")
    if phases and phases.begun and phases.current:
        raise IllegalMove(
            f"task {number} is in its {phases.current} phase",
            hint=f"Complete {', then '.join(TDD_PHASES[TDD_PHASES.index(phases.current) :])} first.",
        )
    task.status = "completed"
    if commit is not None:
        task.commit_sha = needed(commit, "the commit")
    record(after, at, "task_completed", task=number, commit=commit)
    _count(after)
    return after


def _committed(task: Task) -> str:
    return f" (committed: {task.commit_sha})" if task.commit_sha else ""


def _executing(state: State, at: str) -> State:
    """A copy to work on tasks in, where the phase for that is the current one, if there is one."""
    after = moved(state, at)
    names = [phase.name for phase in after.state_machine.phases]
    current = after.state_machine.current_phase
    if EXECUTION in names and current != EXECUTION:
        raise IllegalMove(
            f"the current phase is {current!r}; tasks are worked on in {EXECUTION!r}",
            hint="Complete the phases before it: holdfast skill phase complete",
        )
    return after


def _task(state: State, index: int) -> Task:
    found = next((task for task in state.tasks if state.number(task) == index), None)
    if found is None:
        there = f"there are {len(state.tasks)} tasks" if state.tasks else "there are no tasks yet"
        raise IllegalMove(
            f"there is no task {index}; {there}", hint="Add it: holdfast skill task add"
        )
    return found


def _next(state: State) -> int:
    waiting = next((task for task in state.tasks if task.status == "pending"), None)
    if waiting is None:
        raise IllegalMove("no task is waiting", hint="Add one: holdfast skill task add")
    return state.number(waiting)


def _current(state: State) -> int:
    busy = [state.number(task) for task in state.tasks if task.status == "in_progress"]
    if len(busy) != 1:
        told = f"tasks {', '.join(map(str, busy))} are" if busy else "no task is"
        raise IllegalMove(f"{told} in progress", hint="Say which one is meant by its number.")
    return busy[0]


def _count(state: State) -> None:
    """Keep the progress of the phase as "5/7"."""
    done = sum(task.status == "completed" for task in state.tasks)
    for phase in state.state_machine.phases:
        if phase.name == EXECUTION:
            phase.progress = f"{done}/{len(state.tasks)}"
