"""Where a run stands, in phrases that both its status and its briefing use. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.formats.orchestrator import bounds, remarks
from holdfast.formats.orchestrator.model import LEARNINGS, PendingTask, State
from holdfast.plaintext import counted

LAST_LEARNINGS = 3  # of each type


def stop(state: State, now: datetime) -> str:
    """That a limit is reached, in one line; empty where none is."""
    reached = bounds.reached(state, now)
    return str(bounds.LimitReached(reached)) if reached else ""


def next_action(state: State, now: datetime) -> str | None:
    """What comes next, in one line; None when nothing is left."""
    if state.over:
        return None
    if since := remarks.paused_since(state):
        paused = f"Paused since {since}: {remarks.paused_for(state)}; resume the run first"
        return f"{paused}. {stop(state, now)}".removesuffix(". ")
    if stopped := stop(state, now):
        return f"{stopped} Ask the person: extend the limit, pause or fail"
    status = state.orchestrator.status
    if status == "planning":
        return "Plan the phases and tasks in the task document, and have the plan approved"
    if status == "reviewing":
        return "Outer Ralph loop: review the whole, make the pull request, then complete the run"
    return _of_tasks(state)


def _of_tasks(state: State) -> str:
    current = state.current
    if current is not None and is_begun(state, current):
        return f"Task {state.orchestrator.current_task}: {called(current)}{_iteration(state)}"
    if current is not None:
        return f"Begin task {state.orchestrator.current_task}: {called(current)}"
    is_last = state.phase + 1 >= state.orchestrator.total_phases
    left = [each.task for each in state.pending_tasks if is_last or each.phase < state.phase]
    if left:
        return f"Tasks of other phases are left: {', '.join(left)}; have the plan approved anew"
    if state.phase + 1 < state.orchestrator.total_phases:
        return f"All tasks of {phase(state)} are completed: begin the next phase"
    return "All phases are complete: review the whole in the outer Ralph loop"


def _iteration(state: State) -> str:
    limit = state.safety_bounds.max_iterations_per_task
    return f", iteration {state.iteration}" + (f" of {limit}" if limit is not None else "")


def is_begun(state: State, task: PendingTask) -> bool:
    """Whether somebody works on *task*, as far as the state tells."""
    return bool(state.workers_on(task.task)) or (task == state.current and state.iteration > 0)


def called(task: PendingTask) -> str:
    """2.1 Create auth endpoints."""
    return f"{task.task} {task.name}".rstrip()


def phase(state: State) -> str:
    """Phase 3 of 4, as people count."""
    return f"phase {state.phase + 1} of {max(state.orchestrator.total_phases, 1)}"


def status(state: State, now: datetime) -> str:
    """The document's word, or what counts before it."""
    if not state.over and remarks.paused_since(state):
        return "paused"
    return "stopped" if bounds.reached(state, now) else state.orchestrator.status


def left_in_phase(state: State) -> str:
    """What has to be completed before the phase is."""
    if state.orchestrator.status != "executing":
        return ""
    left = [each.task for each in state.pending_in(state.phase)]
    return f"tasks {', '.join(left)} completed" if left else ""


def next_task(state: State) -> PendingTask | None:
    """The first one that nobody works on, behind the current one."""
    current = state.current
    busy = {each.task for each in state.workers}
    waiting = (each for each in state.pending_tasks if each.task not in busy)
    ordered = sorted(waiting, key=lambda each: each.phase)
    return next((each for each in ordered if each != current), None)


def tasks(state: State) -> str:
    """2 of 5 tasks."""
    done = len(state.completed_tasks)
    return f"{done} of {done + len(state.pending_tasks)}"


def warnings(state: State) -> str:
    return "; ".join(state.safety_bounds.warnings)


def checkpoint(state: State) -> str:
    """The last one, with its commit."""
    if not state.checkpoints:
        return ""
    last = state.checkpoints[-1]
    commit = f"git {last.git_sha}" if last.git_sha else "without git"
    return f"{last.state_snapshot} at {last.timestamp}, task {last.task}, {commit}"


def supervision(state: State) -> str:
    """What the supervisor did, with its last intervention."""
    told = state.supervisor
    if not told.enabled:
        return "not enabled"
    counts = (
        (told.checks_performed, "check"),
        (told.conflicts_detected, "conflict"),
        (told.auto_fixes_applied, "automatic repair"),
        (told.re_plans_triggered, "re-plan"),
    )
    line = ", ".join(counted(*each) for each in counts if each[0]) or "no checks yet"
    if not told.interventions:
        return line
    last = told.interventions[-1]
    return f"{line}; last: {last.action} of task {last.task}: {last.resolution}"


def learnings(state: State) -> Sequence[str]:
    """The last ones of each type, the newest first."""
    return tuple(_learned(state, LEARNINGS))


def _learned(state: State, types: Iterable[str]) -> Iterable[str]:
    for kind in types:
        told = [each for each in state.learnings if each.type == kind][-LAST_LEARNINGS:]
        for each in reversed(told):
            rule = f" → {each.pattern}" if each.pattern else ""
            yield f"{kind.capitalize()} (task {each.task}): {each.lesson}{rule}"
