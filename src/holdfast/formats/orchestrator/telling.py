"""A run in the terms that all formats share: its workflow, with the briefing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast import clock, ledger
from holdfast.briefing import Briefing
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Place, Standing, Workflow
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import agents, bounds, facts, parting, plan
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.standing import standing
from holdfast.project import contains

_GROUP = "holdfast orchestrate"
_KEPT_WITH = {
    "planning": ("approve-plan",),
    "executing": ("task-start", "iterate", "task-done", "check", "learn", "checkpoint", "phase"),
    "reviewing": ("iterate", "check", "learn"),
    "paused": ("resume",),
    "stopped": ("extend", "pause", "fail"),
}


def workflow_of(held: Held, place: Place) -> Workflow:
    stands, remark = standing(held, place)
    state = held.state
    if stands != "finished" and held.key in ledger.load(place.store).ignored:
        stands, remark = "ignored", f"ignored. Take it up again: holdfast resume {state.name!r}"
    return Workflow(
        format="orchestrator",
        key=held.key,
        standing=stands,
        briefing=_briefing(held, stands, place),
        changed_at=min(held.changed_at, place.now),
        created_at=moment(state.orchestrator.start_time),
        remark=remark,
        cautions=tuple(_cautions(state, place)) if stands == "active" else (),
        cleared_with=f"{_GROUP} {'archive' if state.over else 'fail REASON'}",
        saved_at=clock.from_mtime(held.mtime),
    )


def _cautions(state: State, place: Place) -> Iterator[str]:
    parted = parting.parted(place.root, state)
    if parted:
        yield parted


def _briefing(held: Held, stands: Standing, place: Place) -> Briefing:
    state, run = held.state, held.state.orchestrator
    status = facts.status(state, place.now)
    kept = (f"{_GROUP} {each}" for each in _KEPT_WITH.get(status, ()))
    return Briefing(
        name=state.name,
        kind="orchestrator",
        phase=run.current_phase + 1,
        phases=max(run.total_phases, 1),
        phase_name=phase_name(place, state, run.current_phase),
        status=status,
        next_action=facts.next_action(state, place.now),
        gate=facts.left_in_phase(state) or None,
        reading=tuple(_reading(state, place.root)),
        reminders=tuple(facts.learnings(state)),
        context=tuple(_context(state, place)) if stands != "finished" else (),
        state_path=place.store.relative(held.path),
        kept_with=tuple(kept),
        ended_with=f"{_GROUP} complete" if status == "reviewing" else f"{_GROUP} fail REASON",
    )


def phase_name(place: Place, state: State, phase: int) -> str:
    """What the task document calls *phase*, or its milestone, or its number."""
    names = phase_names(place, state)
    named = [each.name for each in state.milestones if each.phase == phase]
    return names[phase] if phase < len(names) else next(iter(named), f"Phase {phase + 1}")


def phase_names(place: Place, state: State) -> tuple[str, ...]:
    """The phases of the task document, as far as it may be opened and followed."""
    task_doc = state.orchestrator.task_doc
    if not plan.may_be_read(place, task_doc):
        return ()
    try:
        return plan.read_file_of(place.root / task_doc).phases
    except (StateUnreadable, plan.Unclear):
        return ()


def _reading(state: State, root: Path) -> Iterator[str]:
    """The task document; where it may not be opened, the restore says so."""
    task_doc = state.orchestrator.task_doc
    real = plan.real_path(root, task_doc)
    if real:
        inside = os.path.isabs(task_doc) and contains(str(root), real)
        yield f"@{os.path.relpath(real, root) if inside else task_doc}"


def _context(state: State, place: Place) -> Iterator[tuple[str, str]]:
    """What is to be known to go on, beside the next action."""
    number = state.orchestrator.current_phase
    told = [
        ("phase in the state file", f"{number}, counted from 0"),
        *((use.what.lower(), use.told) for use in bounds.uses(state, place.now)),
        ("tasks completed", facts.tasks(state)),
    ]
    told += [("running, not to be dispatched again", each) for each in _agents(state, place)]
    following = facts.next_task(state)
    told += [("next task", facts.called(following))] if following else []
    told += [
        ("warnings", facts.warnings(state)),
        ("last checkpoint", facts.checkpoint(state)),
        ("supervisor", facts.supervision(state)),
    ]
    yield from ((name, fact) for name, fact in told if fact)


def _agents(state: State, place: Place) -> Iterator[str]:
    for seen in agents.seen(place.store, state):
        agent, remark = seen.agent, seen.remark(place.now)
        since = f" since {agent.started}" if agent.started else ""
        line = f"{agent.type} on task {agent.task}{since}, iteration {agent.iteration}"
        line += f", {agent.status.replace('_', ' ')}" if agent.status != "in_progress" else ""
        yield f"{line} ({remark})" if remark else line
