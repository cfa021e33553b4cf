"""Check the state of a run strictly, field by field, and say what is expected where it is wrong.

Restoring is more tolerant than this: what is told here is what the format's document asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.formats.base import Report
from holdfast.formats.document import EXACT
from holdfast.formats.orchestrator import amounts, files, model
from holdfast.formats.orchestrator.model import State, has_shape, is_old
from holdfast.formats.strictness import found, objections, strictly
from holdfast.regular import decode_json

_TIME = "a time in ISO 8601"
_TASK = "a task's id, such as 1.2"
_COUNT = "a whole number"
_NAME = "a text"
_LIST = "a list"
_STATUS = "planning, executing, reviewing, completed or failed"

_REQUIRED: dict[str, str] = {
    "orchestrator.status": _STATUS,
    "orchestrator.task_doc": "the path of the task document",
    "orchestrator.current_phase": "a phase's number, counted from 0",
    "orchestrator.total_phases": _COUNT,
    "orchestrator.current_task": "task/tasks of the phase, such as 3/5",
    "orchestrator.ralph_iteration": _COUNT,
    "orchestrator.outer_ralph": "true or false",
    "orchestrator.start_time": _TIME,
    "supervisor.enabled": "true or false",
    "supervisor.checks_performed": _COUNT,
    "supervisor.conflicts_detected": _COUNT,
    "supervisor.auto_fixes_applied": _COUNT,
    "supervisor.re_plans_triggered": _COUNT,
    "supervisor.interventions": _LIST,
    "supervisor.interventions.*.timestamp": _TIME,
    "supervisor.interventions.*.check_type": ", ".join(model.CHECKS),
    "supervisor.interventions.*.task": _TASK,
    "supervisor.interventions.*.conflict_type": ", ".join(model.CONFLICTS),
    "supervisor.interventions.*.severity": ", ".join(model.SEVERITIES),
    "supervisor.interventions.*.action": ", ".join(model.ACTIONS),
    "supervisor.interventions.*.resolution": _NAME,
    "active_agents": _LIST,
    "active_agents.*.type": ", ".join(model.AGENTS),
    "active_agents.*.task": _TASK,
    "active_agents.*.started": _TIME,
    "active_agents.*.iteration": _COUNT,
    "active_agents.*.status": ", ".join(model.AGENT_STATUSES),
    "completed_tasks": _LIST,
    "completed_tasks.*.task": _TASK,
    "completed_tasks.*.name": _NAME,
    "completed_tasks.*.completed": _TIME,
    "completed_tasks.*.iterations": _COUNT,
    "completed_tasks.*.time_elapsed": amounts.DURATION,
    "completed_tasks.*.cost": amounts.MONEY,
    "completed_tasks.*.files_modified": _LIST,
    "completed_tasks.*.success_criteria_met": "an object",
    "pending_tasks": _LIST,
    "pending_tasks.*.phase": "a phase's number, counted from 0",
    "pending_tasks.*.task": _TASK,
    "pending_tasks.*.name": _NAME,
    "safety_bounds.max_iterations_per_task": _COUNT,
    "safety_bounds.max_cost": amounts.MONEY,
    "safety_bounds.max_time": amounts.DURATION,
    "safety_bounds.cost_so_far": amounts.MONEY,
    "safety_bounds.elapsed_time": amounts.DURATION,
    "safety_bounds.warnings": _LIST,
    "learnings": _LIST,
    "learnings.*.timestamp": _TIME,
    "learnings.*.task": _TASK,
    "learnings.*.iteration": _COUNT,
    "learnings.*.type": ", ".join(model.LEARNINGS),
    "learnings.*.lesson": _NAME,
    "learnings.*.pattern": _NAME,
    "learnings.*.context": _NAME,
    "milestones": _LIST,
    "milestones.*.phase": "a phase's number, counted from 0",
    "milestones.*.name": _NAME,
    "milestones.*.completed": _TIME,
    "milestones.*.issue_url": "the address of an issue",
    "checkpoints": _LIST,
    "checkpoints.*.timestamp": _TIME,
    "checkpoints.*.phase": "a phase's number, counted from 0",
    "checkpoints.*.task": _TASK,
    "checkpoints.*.state_snapshot": "a file's name, such as checkpoint-001.json",
}


def inspect(path: Path, raw: bytes) -> Report | None:
    """What is wrong with *raw*; None when it is not meant as the state of a run."""
    real = path.resolve()
    lies_there = real.parent.name == files.FOLDER and files.is_state(real.name)
    try:
        data = decode_json(raw)
    except ValueError as error:
        return Report("orchestrator", (f"not JSON: {error}",)) if lies_there else None
    if lies_there and is_old(data):
        return Report("orchestrator", (f"this is {files.OLD}; nothing migrates it",))
    if not isinstance(data, dict) or not has_shape(data):
        return None
    return Report("orchestrator", tuple(dict.fromkeys(_problems(data))))


def _problems(data: dict[str, Any]) -> Iterator[str]:
    yield from objections(State, data, _REQUIRED)
    if not strictly(State, data):
        yield from _beyond_types(State.model_validate(data, context=EXACT))


def _beyond_types(state: State) -> Iterator[str]:
    run = state.orchestrator
    if run.total_phases and run.current_phase >= run.total_phases:
        most = run.total_phases - 1
        yield (
            f"orchestrator.current_phase: expected at most {most}, since phases count from 0, "
            f"found {run.current_phase}"
        )
    if run.task_number > run.task_count:
        yield (
            "orchestrator.current_task: expected at most as many as there are, "
            f"found {run.current_task!r}"
        )
    for where, ids in (
        ("completed_tasks", [each.task for each in state.completed_tasks]),
        ("pending_tasks", [each.task for each in state.pending_tasks]),
    ):
        first = {task: at for at, task in reversed(list(enumerate(ids)))}
        for at, task in enumerate(ids):
            if first[task] != at:
                yield f"{where}.{at}.task: expected an id of its own, found {found(task)} again"
    done = {each.task for each in state.completed_tasks}
    for at, each in enumerate(state.pending_tasks):
        if each.task in done:
            there = found(each.task)
            yield f"pending_tasks.{at}.task: expected one that is not completed, found {there}"
