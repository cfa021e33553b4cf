"""Moves of a whole run: planning → executing → reviewing → completed, failed from anywhere; and what
accompanies it: the supervisor's checks, warnings, and the milestones of its phases.

Rule 1: a phase is left when all its tasks are completed, and the last one by the review.
Rule 2: the plan may be approved again while it is executed, after a re-plan of the supervisor. What is
        completed stays so, and a task that an agent works on stays in the plan.
Rule 3: a pause is no status: the document has none. It is a remark among the warnings, see limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from holdfast.errors import IllegalMove
from holdfast.formats.engine.moves import move, needed
from holdfast.formats.orchestrator import limits, model
from holdfast.formats.orchestrator.limits import Bound
from holdfast.formats.orchestrator.model import Intervention, PendingTask, State
from holdfast.formats.orchestrator.plan import Plan

A = TypeVar("A")

# Those of the document's example.
LIMITS: Mapping[Bound, str] = {"max_iterations_per_task": "30", "max_cost": "$10", "max_time": "2h"}
_AFTER = {
    "planning": "Approve the plan first: holdfast orchestrate approve-plan",
    "executing": "All phases have to be complete first: holdfast orchestrate phase, then review",
    "reviewing": "Complete it: holdfast orchestrate complete",
}


def when(*statuses: str, while_paused: bool = False) -> Callable[[State, str], None]:
    """A guard: the run is in one of the *statuses*, or in any, and neither over nor paused."""

    def guard(state: State, at: str) -> None:
        limits.count_time(state, at)
        status, pause = state.orchestrator.status, limits.pause(state)
        if state.over:
            raise IllegalMove(
                f"{state.name!r} is {status}",
                hint="Archive it, then start another: holdfast orchestrate archive",
            )
        if pause and not while_paused:
            raise IllegalMove(
                f"{state.name!r} has been paused since {': '.join(pause)}",
                hint="Resume it first: holdfast orchestrate resume",
            )
        if statuses and status not in statuses:
            expected = " or ".join(statuses)
            raise IllegalMove(
                f"{state.name!r} is {status}, not {expected}", hint=_AFTER.get(status, "")
            )

    return guard


def amount(parse: Callable[[str], A], text: str, what: str = "") -> A:
    """What *text* says, or a refusal; what is given is added up in dollars."""
    try:
        if model.OTHER_CURRENCY.search(text):
            raise ValueError("an amount in US dollars, such as $10 or $0.75")  # noqa: TRY301
        return parse(text)
    except ValueError as error:
        raise IllegalMove(f"{what}expected {error}, found {text!r}") from error


def turn_to(state: State, task: PendingTask | None) -> None:
    """Make *task* the current one, with its iterations; without one the phase is through.

    What is completed is neither pending nor at work from then on.
    """
    run = state.orchestrator
    state.pending_tasks, state.active_agents = state.listed, state.agents
    if task is None:
        count = run.progress[1]
        run.current_task = f"{count}/{count}"
    else:
        here = state.tasks_in(run.current_phase)
        run.current_task = f"{here.index(task.task) + 1}/{len(here)}"
    agents = state.workers_on(task.task) if task else []
    run.ralph_iteration = max((agent.iteration for agent in agents), default=0)


# From the first state to the last.


def begin(
    at: str, task_doc: str, plan: Plan, *, supervised: bool = True, **bounds: str | None
) -> State:
    """The first state: in planning, with the tasks that are known already."""
    first = {
        "orchestrator": {"status": "planning", "task_doc": task_doc, "start_time": at},
        "supervisor": {"enabled": supervised},
        "safety_bounds": {
            bound: _limit(bound, bounds.get(bound) or usual) for bound, usual in LIMITS.items()
        },
    }
    # Every field of the document is written, also those that have their defaults.
    state = State.of_json(State.model_validate(first).model_dump())
    _follow(state, plan)
    return state


@move(when("planning", "executing"))
def approve_plan(state: State, _at: str, plan: Plan, task_doc: str | None = None) -> None:
    """The plan is approved: its tasks are executed. Also again, while they are."""
    if not plan.tasks and not state.completed_tasks:
        raise IllegalMove(
            "the plan has no tasks",
            hint="Write them into the task document (`## Phase 1: Name`, `- [ ] 1.1 Name`), name it "
            'with --doc where it lies outside the project, or give them: --task "1.1 Name".',
        )
    if task_doc:
        state.orchestrator.task_doc = task_doc
    state.orchestrator.status = "executing"
    _follow(state, plan)


def _follow(state: State, plan: Plan) -> None:
    """Take what is left to do from *plan*."""
    run = state.orchestrator
    planned = {task.task for task in plan.tasks}
    known = {task.task: task for task in state.pending_tasks}
    left = [t for t in known.values() if t.task not in planned and state.workers_on(t.task)]
    for task in plan.tasks:
        if state.completed(task.task) is None:
            named = {"phase": task.phase, "name": task.name}  # what else is noted of it stays
            left.append(known.get(task.task, task).model_copy(update=named))
    state.pending_tasks = left
    phases = [task.phase for task in left]
    run.total_phases = max([len(plan.phases), *(phase + 1 for phase in phases)])
    run.current_phase = min([run.current_phase, max(run.total_phases - 1, 0), *phases])
    turn_to(state, state.current)


@move(when("executing"))
def next_phase(state: State, _at: str) -> None:
    """All tasks of the phase are completed; the next one begins."""
    run = state.orchestrator
    _refuse_open(state, state.pending_in(run.current_phase))
    if run.current_phase + 1 >= run.total_phases:
        raise IllegalMove(
            f"phase {run.current_phase + 1} of {run.total_phases} is the last one",
            hint="All phases are complete: holdfast orchestrate review",
        )
    run.current_phase += 1
    run.current_task = "0/0"
    turn_to(state, next(iter(state.pending_in(run.current_phase)), None))


@move(when("executing"))
def review(state: State, _at: str) -> None:
    """All phases are complete; the outer Ralph loop runs."""
    run = state.orchestrator
    _refuse_open(state, state.left)
    if run.current_phase + 1 < run.total_phases:
        raise IllegalMove(
            f"phase {run.current_phase + 1} of {run.total_phases} is not the last one",
            hint="Go to the next one: holdfast orchestrate phase",
        )
    run.status = "reviewing"
    run.outer_ralph = True
    run.ralph_iteration = 0


def _refuse_open(state: State, tasks: Sequence[PendingTask]) -> None:
    if tasks:
        names = ", ".join(task.task for task in tasks)
        phase = f"phase {state.phase + 1} of {state.orchestrator.total_phases}"
        raise IllegalMove(
            f"{phase} is current, and not completed yet: {names}",
            hint="Complete them: holdfast orchestrate task-done. "
            "Where the plan has changed: holdfast orchestrate approve-plan",
        )


@move(when("reviewing"))
def complete(state: State, at: str) -> None:
    """The outer Ralph loop is finished, and the pull request is made."""
    if state.left:
        raise IllegalMove(
            f"{state.name!r} is not done: {state.ids_left}",
            hint="In the state file, set the status back to executing, "
            "or take out of pending_tasks what is not to be done.",
        )
    run = state.orchestrator
    run.status, run.end_time, run.outer_ralph = "completed", at, False
    state.active_agents = []


@move(when(while_paused=True))
def fail(state: State, at: str, reason: str) -> None:
    """The run has failed, for a REASON."""
    run, reason = state.orchestrator, needed(reason, "the reason")
    limits.end_pause(state, at)
    limits.remark(state, f"Failed at {at}: {reason}")
    # The agents stay as they were, for those who look into it.
    run.status, run.end_time, run.outer_ralph = "failed", at, False


@move(when())
def pause(state: State, at: str, reason: str) -> None:
    """Pause the run until `resume`, for a REASON. The time does not count."""
    limits.remark(state, f"Paused since {at}: {needed(reason, 'the reason')}")


@move(when(while_paused=True))
def resume(state: State, at: str) -> None:
    """The pause is over."""
    if limits.pause(state) is None:
        raise IllegalMove(f"{state.name!r} is not paused", hint="See: holdfast orchestrate status")
    limits.end_pause(state, at)


@move(when(while_paused=True))
def extend(state: State, at: str, /, reason: str, **bounds: str | None) -> None:
    """Raise limits of the run, for a REASON that goes into its warnings."""
    given = {bound: text for bound in LIMITS if (text := bounds.get(bound))}
    if not given:
        raise IllegalMove("no limit is given", hint="Use --max-cost, --max-time, --max-iterations.")
    for bound, text in given.items():
        before = getattr(state.safety_bounds, bound)
        limit = _limit(bound, text, before)
        setattr(state.safety_bounds, bound, limit)
        limits.forget_warnings(state, bound)
        change = f"from {'none' if before is None else before} to {limit} at {at}"
        limits.remark(state, f"Extended {bound} {change}: {needed(reason, 'the reason')}")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError("a whole number")
    return int(text)


_LIMITS: Mapping[Bound, tuple[Callable[[str], Any], Callable[[Any], str | int]]] = {
    "max_cost": (model.parse_money, model.format_money),
    "max_time": (model.parse_duration, model.format_limit),
    "max_iterations_per_task": (_count, int),
}


def _limit(bound: Bound, text: str, before: str | int | None = None) -> str | int:
    """The limit in *text* as the state has it; it has to be more than the one *before*."""
    parse, write = _LIMITS[bound]
    limit = amount(parse, text, f"{bound}: ")
    if not limit:
        raise IllegalMove(f"{bound}: a limit of 0 allows nothing")
    if before is not None and limit <= parse(str(before)):
        raise IllegalMove(
            f"{bound} is {before}; {write(limit)} is not more", hint="Give a higher limit."
        )
    return write(limit)


# What accompanies it.


@move(when())
def check(
    state: State, at: str, /, check_type: str, task: str | None = None, **conflict: str | None
) -> None:
    """The supervisor has checked: pre_task, post_task or on_demand."""
    supervisor, task = state.supervisor, task or state.current_id
    if not supervisor.enabled:
        raise IllegalMove(
            f"the supervisor of {state.name!r} is not enabled",
            hint="It was begun without one: holdfast orchestrate start --no-supervisor",
        )
    supervisor.checks_performed += 1
    supervisor.last_check = at
    if not any(conflict.values()):
        return
    if not task:
        raise IllegalMove("no task is current", hint="Give the task that was checked: --task 2.1")
    found = {
        what: needed(text, f"--{what.removesuffix('_type')}") for what, text in conflict.items()
    }
    entry = Intervention(timestamp=at, check_type=check_type, task=task, **found)
    supervisor.conflicts_detected += 1
    supervisor.auto_fixes_applied += entry.action == "auto_fix"
    supervisor.re_plans_triggered += entry.action == "re_plan"
    supervisor.interventions = [*supervisor.interventions, entry]


@move(when())
def warn(state: State, _at: str, text: str) -> None:
    """Add TEXT to the warnings; those of limits are added automatically."""
    line = " ".join(needed(text, "the warning").split())
    if line not in state.safety_bounds.warnings:
        limits.remark(state, line)


@move(when())
def milestone(state: State, at: str, url: str, phase: int, name: str) -> None:
    """A completed *phase*, counted from 0, has its issue."""
    if not url.startswith(("https://", "http://")) or len(url.split()) != 1:
        raise IllegalMove(f"{url!r} is not the address of an issue", hint="Give its URL: https://…")
    if not 0 <= phase < state.orchestrator.total_phases:
        raise IllegalMove(f"there is no phase {phase + 1} of {state.orchestrator.total_phases}")
    if state.pending_in(phase) or phase > state.phase:
        raise IllegalMove(f"phase {phase + 1} is not completed yet")
    if any(known.phase == phase for known in state.milestones):
        raise IllegalMove(f"phase {phase + 1} already has a milestone")
    entry = model.Milestone(phase=phase, name=needed(name, "the name"), completed=at, issue_url=url)
    state.milestones = [*state.milestones, entry]


def last_completed_phase(state: State) -> int:
    """The phase, counted from 0, that a milestone is about where none is named."""
    return state.phase if not state.pending_in(state.phase) else max(state.phase - 1, 0)
