"""A state in the terms that all formats share: its workflow, with the briefing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.briefing import Briefing
from holdfast.formats.base import Place, Workflow
from holdfast.formats.skill import facts
from holdfast.formats.skill.files import Found, Held
from holdfast.formats.skill.model import State, moment
from holdfast.formats.skill.moving import is_blocked
from holdfast.formats.skill.phases import missing
from holdfast.formats.skill.standing import standing
from holdfast.project import contains


def workflows_of(found: Found, place: Place) -> list[Workflow]:
    """One for each workflow; a completed one that is begun again is told as what it is now."""
    begun = {held.key for held in found.active}
    ended = [held for held in found.completed if held.key not in begun]
    return [workflow_of(found, held, place) for held in (*found.active, *ended)]


def workflow_of(found: Found, held: Held, place: Place) -> Workflow:
    stands, remark = standing(found, held, place)
    state = held.state
    inner, around = None, None
    if stands == "active":
        live = [each.state for each in found.live]
        inner = facts.nested(state, live)
        around = next((each for each in live if facts.is_part_of(state, each)), None)
    return Workflow(
        format="skill",
        key=held.key,
        standing=stands,
        briefing=_briefing(state, place, inner, around, place.store.relative(held.path)),
        changed_at=min(held.changed_at, place.now),
        created_at=moment(state.workflow.created_at),
        branch=state.workflow.branch,
        remark=remark,
        saved_at=clock.from_mtime(held.mtime),
    )


def _briefing(
    state: State, place: Place, inner: State | None, around: State | None, path: str
) -> Briefing:
    phase, phases = state.phase, state.state_machine.phases
    number = phases.index(phase) + 1 if phase and phase in phases else 1
    return Briefing(
        name=state.name,
        kind=state.skill,
        phase=number,
        phases=max(len(phases), 1),
        phase_name=phase.name if phase else f"Phase {number}",
        status="blocked" if is_blocked(state) and not state.over else state.workflow.status,
        next_action=facts.next_action(state, inner),
        gate=(missing(state, phase)[0] or None) if phase and not state.over else None,
        reading=_reading(state, place.root),
        context=tuple(_context(state, inner, around).items()),
        state_path=path,
    )


def _reading(state: State, root: Path) -> tuple[str, ...]:
    """The feature's file, where it is one in the project."""
    path = state.context.feature_file
    if not path or "\0" in path:
        return ()
    real = os.path.realpath(os.path.join(root, path))
    if not contains(str(root), real) or not os.path.isfile(real):
        return ()
    return (f"@{os.path.relpath(real, root)}" if os.path.isabs(path) else f"@{path}",)


def _context(state: State, inner: State | None, around: State | None) -> dict[str, Any]:
    """What is to be known to go on, beside the next action."""
    told: dict[str, Any] = {"branch": state.workflow.branch}
    if state.tasks:
        done = sum(task.status == "completed" for task in state.tasks)
        told["tasks completed"] = f"{done} of {len(state.tasks)}"
        told["commits"] = ", ".join(_commits(state))
    told["cycle"] = state.state_machine.cycle_count
    told["last test run"] = _last_run(facts.tests_of(state, inner))
    told["pending checkpoints"] = ", ".join(facts.checks_due(state))
    if inner:
        told["test-driven work within"] = f"{inner.name}: {facts.next_action(inner)}"
    if around:
        told["part of"] = f"{around.name}, task {state.context.task_index} of {len(around.tasks)}"
    told["files modified"] = ", ".join(dict.fromkeys(each.path for each in state.files_modified))
    if state.context.folder_mode:
        told["folder"] = state.context.folder_path
    return {name: fact for name, fact in told.items() if fact}


def _commits(state: State) -> list[str]:
    return [
        f"task {state.number(task)}: {task.commit_sha}" for task in state.tasks if task.commit_sha
    ]


def _last_run(state: State) -> str:
    tests = state.test_state
    if tests is None or not tests.last_result:
        return ""
    line = tests.last_result + (f" at {tests.last_run}" if tests.last_run else "")
    line += f", {tests.test_command}" if tests.test_command else ""
    return line + (f"; failing: {', '.join(tests.failing_tests)}" if tests.failing_tests else "")
