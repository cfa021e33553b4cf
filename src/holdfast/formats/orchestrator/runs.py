"""Moves of a whole run: planning → executing → reviewing → completed; failed from anywhere.

Rule 1: a phase is left when all its tasks are completed, and the last one by the review.
Rule 2: the plan may be approved anew while it is executed, after a re-plan of the supervisor. What is
        completed stays so, and a task that an agent works on stays in the plan.
Rule 3: a pause is no status: the document has none. It stands among the warnings, see remarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import amounts, bounds, remarks
from holdfast.formats.orchestrator.bounds import Bound
from holdfast.formats.orchestrator.model import PendingTask, State
from holdfast.formats.orchestrator.moving import moved, need, needed, turn_to
from holdfast.formats.orchestrator.plan import Plan

# Those of the document's example.
LIMITS: Mapping[Bound, str] = {
    "max_iterations_per_task": "30",
    "max_cost": "$10",
    "max_time": "2h",
}


def begin(
    at: str,
    task_doc: str,
    plan: Plan,
    *,
    limits: Mapping[Bound, str] = LIMITS,
    supervised: bool = True,
) -> State:
    """The first state: in planning, with the tasks that are known already."""
    state = State.of_json(
        {
            "orchestrator": {
                "status": "planning",
                "task_doc": task_doc,
                "current_phase": 0,
                "total_phases": 0,
                "current_task": "0/0",
                "ralph_iteration": 0,
                "outer_ralph": False,
                "start_time": at,
                "end_time": None,
            },
            "supervisor": {
                "enabled": supervised,
                "checks_performed": 0,
                "conflicts_detected": 0,
                "auto_fixes_applied": 0,
                "re_plans_triggered": 0,
                "last_check": None,
                "interventions": [],
            },
            "active_agents": [],
            "completed_tasks": [],
            "pending_tasks": [],
            "safety_bounds": {
                **{bound: _limit(bound, limits.get(bound, LIMITS[bound])) for bound in LIMITS},
                "cost_so_far": "$0",
                "elapsed_time": "0h 0m 0s",
                "warnings": [],
            },
            "learnings": [],
            "milestones": [],
            "checkpoints": [],
        }
    )
    _follow(state, plan)
    return state


def approve_plan(state: State, at: str, plan: Plan, task_doc: str | None = None) -> State:  # noqa: ARG001  # as all moves
    """The plan is approved: its tasks are executed; also anew, while they are."""
    after = moved(state)
    need(after, "planning", "executing")
    if not plan.tasks and not after.completed_tasks:
        raise IllegalMove(
            "the plan has no tasks",
            hint="Write them into the task document (`## Phase 1: Name`, `- [ ] 1.1 Name`), name it "
            'with --doc where it lies outside the project, or give them: --task "1.1 Name".',
        )
    if task_doc:
        after.orchestrator.task_doc = task_doc
    after.orchestrator.status = "executing"
    _follow(after, plan)
    return after


def _follow(state: State, plan: Plan) -> None:
    """Let *plan* be what is left to do."""
    run = state.orchestrator
    planned = {each.task for each in plan.tasks}
    known = {each.task: each for each in state.pending_tasks}
    kept = [each for each in known.values() if each.task not in planned and _is_busy(state, each)]
    new = [each for each in plan.tasks if state.completed(each.task) is None]
    state.pending_tasks = [*kept, *(_renewed(known.get(each.task), each) for each in new)]
    phases = [each.phase for each in state.pending_tasks]
    run.total_phases = max([len(plan.phases), *(phase + 1 for phase in phases)])
    run.current_phase = min([run.current_phase, max(run.total_phases - 1, 0), *phases])
    turn_to(state, state.current)


def _is_busy(state: State, task: PendingTask) -> bool:
    return bool(state.workers_on(task.task))


def _renewed(known: PendingTask | None, planned: PendingTask) -> PendingTask:
    """*planned*, with what else is noted of it."""
    update = {"phase": planned.phase, "name": planned.name}
    return known.model_copy(update=update) if known else planned


def next_phase(state: State, at: str) -> State:  # noqa: ARG001  # as all moves
    """All tasks of the current phase are completed; the next one begins."""
    after = moved(state)
    need(after, "executing")
    run = after.orchestrator
    _refuse_open(after, after.pending_in(run.current_phase))
    if run.current_phase + 1 >= run.total_phases:
        raise IllegalMove(
            f"phase {run.current_phase + 1} of {run.total_phases} is the last one",
            hint="All phases are complete: holdfast orchestrate review",
        )
    run.current_phase += 1
    first = next(iter(after.pending_in(run.current_phase)), None)
    run.current_task = "0/0"
    turn_to(after, first)
    return after


def review(state: State, at: str) -> State:  # noqa: ARG001  # as all moves
    """All phases are complete; the outer Ralph loop runs."""
    after = moved(state)
    need(after, "executing")
    run = after.orchestrator
    _refuse_open(after, after.pending_tasks)
    if run.current_phase + 1 < run.total_phases:
        raise IllegalMove(
            f"phase {run.current_phase + 1} of {run.total_phases} is not the last one",
            hint="Go on to the next one: holdfast orchestrate phase",
        )
    run.status = "reviewing"
    run.outer_ralph = True
    run.ralph_iteration = 0
    return after


def _refuse_open(state: State, tasks: Sequence[PendingTask]) -> None:
    if tasks:
        names = ", ".join(each.task for each in tasks)
        phase = f"phase {state.phase + 1} of {state.orchestrator.total_phases}"
        raise IllegalMove(
            f"{phase} is current, and not completed yet: {names}",
            hint="Complete them: holdfast orchestrate task-done. "
            "Where the plan has changed: holdfast orchestrate approve-plan",
        )


def complete(state: State, at: str) -> State:
    """The outer Ralph loop is through, and the pull request is made."""
    after = moved(state)
    need(after, "reviewing")
    _end(after, at)
    after.orchestrator.status = "completed"
    after.active_agents = []
    return after


def fail(state: State, at: str, reason: str) -> State:
    """Give the run up, for a *reason*. The agents stay as they were, for those who look into it."""
    after = moved(state, although_paused=True)
    said = needed(reason, "the reason")
    remarks.end_pause(after, at)
    remarks.failure(after, at, said)
    _end(after, at)
    after.orchestrator.status = "failed"
    return after


def _end(state: State, at: str) -> None:
    state.orchestrator.end_time = at
    state.orchestrator.outer_ralph = False


def pause(state: State, at: str, reason: str) -> State:
    """Nothing is to be done until `resume`; the time does not count."""
    after = moved(state)
    remarks.pause(after, at, needed(reason, "the reason"))
    return after


def resume(state: State, at: str) -> State:
    """The pause is over."""
    after = moved(state, although_paused=True)
    if remarks.paused_since(after) is None:
        raise IllegalMove(f"{after.name!r} is not paused", hint="See holdfast orchestrate status.")
    remarks.end_pause(after, at)
    return after


def take_up(state: State, at: str) -> State:  # noqa: ARG001  # as all moves
    """Somebody goes on with the run."""
    return moved(state, although_paused=True)


def extend(state: State, at: str, reason: str, limits: Mapping[Bound, str]) -> State:
    """Raise *limits*, for a *reason*; what was warned of them is to be warned of anew."""
    after = moved(state, although_paused=True)
    if not limits:
        raise IllegalMove("no limit is given", hint="--max-cost, --max-time or --max-iterations.")
    for bound, text in limits.items():
        before = getattr(after.safety_bounds, bound)
        limit = _limit(bound, text)
        if before is not None and _amount(bound, limit) <= _amount(bound, before):
            raise IllegalMove(
                f"{bound} is {before}; {limit} is not more", hint="Give a higher one."
            )
        setattr(after.safety_bounds, bound, limit)
        bounds.forget_warnings(after, bound)
        change = ("none" if before is None else str(before), str(limit))
        remarks.extension(after, at, bound, change, needed(reason, "the reason"))
    return after


def _limit(bound: Bound, text: str) -> str | int:
    """The limit in *text*, as the state has it."""
    try:
        amount = _amount(bound, text)
    except ValueError as error:
        raise IllegalMove(f"{bound}: expected {error}, found {text!r}") from error
    if not amount:
        raise IllegalMove(f"{bound}: a limit of nothing lets nothing be done")
    if isinstance(amount, timedelta):
        return amounts.brief(amount)
    return amounts.dollars(amount) if isinstance(amount, Decimal) else amount


def _amount(bound: Bound, limit: str | int) -> Any:
    """A *limit* as something to compare."""
    text = str(limit)
    if bound == "max_cost":
        return amounts.money(text)
    if bound == "max_time":
        return amounts.duration(text)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError("a whole number")
    return int(text)
