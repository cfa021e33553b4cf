"""What accompanies a run: the supervisor's checks, warnings, and the milestones of its phases."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import remarks
from holdfast.formats.orchestrator.model import Intervention, Milestone, State
from holdfast.formats.orchestrator.moving import moved, needed


@dataclass(frozen=True)
class Conflict:
    """What a check has found, and what was done about it."""

    conflict_type: str
    severity: str
    action: str
    resolution: str


def check(
    state: State,
    at: str,
    check_type: str,
    task: str | None = None,
    conflict: Conflict | None = None,
) -> State:
    """The supervisor has checked before or after a task, or on demand."""
    after = moved(state)
    supervisor = after.supervisor
    if not supervisor.enabled:
        raise IllegalMove(
            f"the supervisor of {after.name!r} is not enabled",
            hint="It was begun without one: holdfast orchestrate start --no-supervisor",
        )
    supervisor.checks_performed += 1
    supervisor.last_check = at
    if conflict is None:
        return after
    supervisor.conflicts_detected += 1
    supervisor.auto_fixes_applied += conflict.action == "auto_fix"
    supervisor.re_plans_triggered += conflict.action == "re_plan"
    entry = Intervention(
        timestamp=at,
        check_type=check_type,
        task=task or _current(after),
        conflict_type=conflict.conflict_type,
        severity=conflict.severity,
        action=conflict.action,
        resolution=needed(conflict.resolution, "the resolution"),
    )
    supervisor.interventions = [*supervisor.interventions, entry]
    return after


def _current(state: State) -> str:
    current = state.current
    if current is None:
        raise IllegalMove("no task is current", hint="Say which one was checked: --task 2.1")
    return current.task


def warn(state: State, at: str, text: str) -> State:  # noqa: ARG001  # as all moves
    """Add a warning; the same one only once."""
    after = moved(state)
    line = " ".join(needed(text, "the warning").split())
    if remarks.is_remark(line):
        raise IllegalMove(
            f"{line!r} would be read as more than a warning",
            hint="There are commands for that: holdfast orchestrate pause, extend, fail.",
        )
    bounds = after.safety_bounds
    if line not in bounds.warnings:
        bounds.warnings = [*bounds.warnings, line]
    return after


def milestone(state: State, at: str, url: str, phase: int, name: str) -> State:
    """A completed *phase*, counted from 0, has its issue."""
    after = moved(state)
    if not url.startswith(("https://", "http://")) or len(url.split()) != 1:
        raise IllegalMove(f"{url!r} is no address of an issue", hint="https://…")
    if not 0 <= phase < after.orchestrator.total_phases:
        raise IllegalMove(f"there is no phase {phase + 1} of {after.orchestrator.total_phases}")
    if after.pending_in(phase) or phase > after.phase:
        raise IllegalMove(f"phase {phase + 1} is not completed yet")
    if any(each.phase == phase for each in after.milestones):
        raise IllegalMove(f"phase {phase + 1} has its milestone")
    entry = Milestone(phase=phase, name=needed(name, "the name"), completed=at, issue_url=url)
    after.milestones = [*after.milestones, entry]
    return after


def last_completed_phase(state: State) -> int:
    """The phase, from 0, that a milestone is about where none is named."""
    return state.phase if not state.pending_in(state.phase) else max(state.phase - 1, 0)
