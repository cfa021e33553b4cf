"""A state in the terms that all formats share: its workflow, with the briefing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.formats.base import Place, Standing, Untold, Workflow
from holdfast.formats.branches import mismatch
from holdfast.formats.document import moment
from holdfast.formats.skill import facts
from holdfast.formats.skill.files import Found, Held
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moving import is_blocked
from holdfast.formats.skill.phases import EXECUTION, missing
from holdfast.formats.skill.standing import standing, working
from holdfast.project import contains

_KEPT_WITH_TASKS = ("holdfast skill task phase", "holdfast skill task complete")
_KEPT_WITH_PHASES = ("holdfast skill checkpoint", "holdfast skill phase complete")
_KEPT_WITH_CYCLE = ("holdfast skill tdd run", "holdfast skill tdd done")


def workflows_of(found: Found, place: Place) -> list[Workflow]:
    """One for each workflow; a completed one that is begun again is told as what it is now."""
    ignored = ledger.load(place.store).ignored
    begun = {held.key for held in found.active}
    ended = [held for held in found.completed if held.key not in begun]
    live = [each for each in working(found, place) if each.key not in ignored]
    return [_workflow(found, held, place, ignored, live) for held in (*found.active, *ended)]


def _workflow(
    found: Found, held: Held, place: Place, ignored: Collection[str], live: Sequence[Held]
) -> Workflow:
    stands, remark = _standing(found, held, place, ignored)
    row = held.row
    around = _around(held, live) if stands == "active" else None
    on_another = None if row.over else mismatch(row.branch, place.branch)
    return Untold(
        name=row.name,
        brief=partial(_briefing, held, stands, place, live, around),
        format="skill",
        key=held.key,
        standing=stands,
        changed_at=min(held.changed_at, place.now),
        created_at=moment(row.created_at),
        handle=held.path.stem,
        branch=row.branch,
        remark=f"told with {around.row.name!r}" if around else remark,
        cautions=(on_another,) if on_another else (),
        part_of=around.key if around else None,
        put_away=not held.is_active or found.ended_as(held) is not None,
        saved_at=clock.from_mtime(held.mtime),
    )


def _around(held: Held, live: Sequence[Held]) -> Held | None:
    """The /dev that *held* works on a task of."""
    if held.row.skill != "tdd":
        return None
    return next((each for each in live if facts.is_part_of(held.row, each.row)), None)


def _standing(
    found: Found, held: Held, place: Place, ignored: Collection[str]
) -> tuple[Standing, str]:
    stands, remark = standing(found, held, place)
    if held.key in ignored and stands != "finished":
        return "ignored", f"ignored. Take it up again: holdfast resume {held.row.name!r}"
    return stands, remark


def _briefing(
    held: Held, stands: Standing, place: Place, live: Sequence[Held], around: Held | None
) -> Briefing:
    state = held.state
    within = live if stands == "active" else ()
    inner = facts.nested(
        state, [each.state for each in within if facts.is_part_of(each.row, held.row)]
    )
    phase, phases = state.phase, state.state_machine.phases
    number = phases.index(phase) + 1 if phase and phase in phases else 1
    asks = stands == "active" and facts.pull_request_due(state)
    pushed = _pushed(state, place) if asks else None
    reading = [*_reading(state, place.root), *(_reading(inner, place.root) if inner else ())]
    return Briefing(
        name=state.name,
        kind=state.skill,
        phase=number,
        phases=max(len(phases), 1),
        phase_name=phase.name if phase else f"Phase {number}",
        status="blocked" if is_blocked(state) and not state.over else state.workflow.status,
        next_action=facts.next_action(state, inner, pushed),
        gate=(missing(state, phase)[0] or None) if phase and not state.over else None,
        reading=tuple(dict.fromkeys(reading)),
        context=tuple(_context(state, inner, around.state if around else None).items()),
        state_path=place.store.relative(held.path),
        kept_with=_kept_with(state, inner),
        ended_with="holdfast skill abandon" if stands == "stale" else "holdfast skill complete",
    )


def _pushed(state: State, place: Place) -> facts.Pushed | None:
    from holdfast.formats.skill.pushed import is_pushed  # noqa: PLC0415  # seldom asked

    return is_pushed(place.root, state.workflow.branch)


def _kept_with(state: State, inner: State | None) -> tuple[str, ...]:
    cycle = _KEPT_WITH_CYCLE if inner or facts.is_cycle(state) else ()
    if facts.is_cycle(state):
        return cycle
    has_tasks = state.tasks or any(each.name == EXECUTION for each in state.state_machine.phases)
    return (*(_KEPT_WITH_TASKS if has_tasks else ()), *_KEPT_WITH_PHASES, *cycle)


def _reading(state: State, root: Path) -> Iterator[str]:
    """The feature's file, and those of the folder that it is one of, as far as they are in the project."""
    told = state.context
    yield from _in_project(told.feature_file, root)
    for each in told.folder_features if told.folder_mode else ():
        path = each.get("file") or each.get("path") if isinstance(each, dict) else each
        named = list(_in_project(path, root))
        # Some write them relative to the folder.
        yield from named or _in_project(f"{told.folder_path}/{path}", root)


def _in_project(path: object, root: Path) -> Iterator[str]:
    if not isinstance(path, str) or not path:
        return
    try:
        real = os.path.realpath(os.path.join(root, path))
        there = contains(str(root), real) and os.path.isfile(real)
    except ValueError:  # no file can be called that
        return
    if there:
        yield f"@{os.path.relpath(real, root)}" if os.path.isabs(path) else f"@{path}"


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
