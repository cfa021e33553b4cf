"""Moves of a run: the order that the document gives, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import files, limits, moves, tasks
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import Agent, State, parse_money
from holdfast.formats.orchestrator.plan import Plan, given

START = datetime(2026, 1, 15, 12, tzinfo=UTC)
LISTED = given(["1.1 Model", "1.2 Tokens", "2.1 Endpoints", "2.2 Roles", "3.1 Protect"])
REPLAN = {
    "conflict_type": "architecture",
    "severity": "high",
    "action": "re_plan",
    "resolution": "use the module that is there",
}


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def begun(listed: Plan = LISTED) -> State:
    return moves.begin(at(0), "/tmp/user-auth.md", listed)


Move = Callable[..., State]
APPROVE = partial(moves.approve_plan, plan=LISTED)
BEGIN, DONE, ITERATE = tasks.start_task, tasks.complete_task, tasks.iterate
PHASE, REVIEW, COMPLETE = moves.next_phase, moves.review, moves.complete
PAUSE, FAIL = partial(moves.pause, reason="wait"), partial(moves.fail, reason="no way")
FIRST = [APPROVE, BEGIN, DONE, BEGIN, DONE]
ALL = [*FIRST, PHASE, BEGIN, DONE, BEGIN, DONE, PHASE, BEGIN, DONE]


def after(*moves: Move, state: State | None = None) -> State:
    state = state or begun()
    for minutes, move in enumerate(moves, 1):
        state = limits.updated(move(state, at(minutes)), START + timedelta(minutes=minutes))
    return state


def where(state: State) -> tuple[str, int, str, int]:
    run = state.orchestrator
    return run.status, run.current_phase, run.current_task, run.ralph_iteration


def test_a_run_from_the_first_state_to_the_last() -> None:
    """null → planning → executing → reviewing → completed."""
    assert where(after()) == ("planning", 0, "1/2", 0)
    assert where(after(APPROVE)) == ("executing", 0, "1/2", 0)
    assert where(after(APPROVE, BEGIN, ITERATE, ITERATE)) == ("executing", 0, "1/2", 2)
    assert where(after(APPROVE, BEGIN, ITERATE, DONE)) == ("executing", 0, "2/2", 0)
    assert where(after(*FIRST)) == ("executing", 0, "2/2", 0)
    assert where(after(*FIRST, PHASE)) == ("executing", 1, "1/2", 0)
    assert where(after(*ALL)) == ("executing", 2, "1/1", 0)
    reviewed = after(*ALL, REVIEW)
    assert where(reviewed) == ("reviewing", 2, "1/1", 0)
    assert reviewed.orchestrator.outer_ralph is True
    assert reviewed.orchestrator.end_time is None
    completed = after(*ALL, REVIEW, ITERATE, COMPLETE)
    assert completed.orchestrator.status == "completed"
    assert completed.orchestrator.outer_ralph is False
    assert completed.orchestrator.end_time == at(len(ALL) + 3)
    assert [each.task for each in completed.completed_tasks] == [t.task for t in LISTED.tasks]


def test_a_task_is_pending_and_active_until_it_is_completed() -> None:
    """As in the document's example."""
    state = after(APPROVE, BEGIN, ITERATE)
    (agent,) = state.active_agents
    assert (agent.type, agent.task, agent.started) == ("task-executor", "1.1", at(2))
    assert (agent.iteration, agent.status) == (1, "in_progress")
    assert state.pending("1.1")
    done = after(partial(DONE, cost="$0.20"), state=state)
    assert done.active_agents == []
    assert done.pending("1.1") is None
    entry = done.completed_tasks[-1]
    assert (entry.iterations, entry.cost, entry.name) == (1, "$0.20", "Model")
    assert done.safety_bounds.cost_so_far == "$0.20"


def test_tasks_side_by_side_keep_their_own_iterations() -> None:
    """The one started last is current; when it is done, the other is current again."""
    state = after(APPROVE, BEGIN, ITERATE, ITERATE, BEGIN)
    assert where(state) == ("executing", 0, "2/2", 0)
    state = after(partial(ITERATE, task="1.1"), partial(ITERATE, task="1.2"), state=state)
    assert where(state) == ("executing", 0, "2/2", 1)
    state = after(partial(DONE, task="1.2"), state=state)
    assert where(state) == ("executing", 0, "1/2", 3)
    state = after(DONE, state=state)
    assert [(each.task, each.iterations) for each in state.completed_tasks] == [
        ("1.2", 1),
        ("1.1", 3),
    ]


def test_a_supervisor_that_looks_at_a_task_does_not_work_on_it() -> None:
    """It does not block the task, does not end with it and does not count its iterations."""
    state = after(APPROVE)
    watch = Agent(type="supervisor", task="1.1", started=at(1), iteration=0, status="in_progress")
    state.active_agents = [watch]
    state = after(BEGIN, ITERATE, state=state)
    assert [(each.type, each.iteration) for each in state.active_agents] == [
        ("supervisor", 0),
        ("task-executor", 1),
    ]
    done = after(DONE, state=state)
    assert done.active_agents == [watch]
    assert done.current is not None
    assert done.current.task == "1.2"


def test_a_task_without_an_agent_is_worked_on_by_the_orchestrator() -> None:
    """It has no agent, and its iterations still count."""
    state = after(APPROVE, partial(BEGIN, no_agent=True), ITERATE, ITERATE)
    assert state.active_agents == []
    assert where(state) == ("executing", 0, "1/2", 2)
    assert after(DONE, state=state).completed_tasks[-1].iterations == 2


def test_a_replan_keeps_what_is_completed_and_what_is_worked_on() -> None:
    """The rest comes from the new plan."""
    state = after(APPROVE, BEGIN, DONE, BEGIN)
    state = after(partial(moves.check, check_type="pre_task", **REPLAN), state=state)
    assert state.supervisor.re_plans_triggered == 1
    new = given(["1.1 Model", "1.3 Keys", "2.1 All endpoints", "3.1 Protect", "4.1 Docs"])
    state = after(partial(moves.approve_plan, plan=new), state=state)
    assert [(each.task, each.name) for each in state.pending_tasks] == [
        ("1.2", "Tokens"),
        ("1.3", "Keys"),
        ("2.1", "All endpoints"),
        ("3.1", "Protect"),
        ("4.1", "Docs"),
    ]
    assert state.orchestrator.total_phases == 4
    assert where(state) == ("executing", 0, "2/3", 0)


def test_a_replan_goes_back_to_a_phase_that_has_work_again() -> None:
    """Otherwise its tasks could never be started."""
    state = after(*FIRST, PHASE)
    new = Plan(("A", "B"), given(["1.3 Forgotten", "2.1 Endpoints"]).tasks)
    assert where(after(partial(moves.approve_plan, plan=new), state=state))[:2] == ("executing", 0)


def test_a_check_is_counted_and_a_conflict_noted() -> None:
    """The counters of the document."""
    fix = {
        "conflict_type": "pattern",
        "severity": "low",
        "action": "auto_fix",
        "resolution": "renamed in 3 files",
    }
    state = after(
        APPROVE,
        BEGIN,
        partial(moves.check, check_type="pre_task"),
        partial(moves.check, check_type="on_demand", **fix),
        partial(moves.check, check_type="post_task", task="1.1", **REPLAN),
    )
    told = state.supervisor
    assert (told.checks_performed, told.conflicts_detected) == (3, 2)
    assert (told.auto_fixes_applied, told.re_plans_triggered) == (1, 1)
    assert told.last_check == at(5)
    assert told.interventions[0].model_dump() == {
        "timestamp": at(4),
        "check_type": "on_demand",
        "task": "1.1",
        "conflict_type": "pattern",
        "severity": "low",
        "action": "auto_fix",
        "resolution": "renamed in 3 files",
    }


def test_a_pause_stops_everything_but_its_end() -> None:
    """And what can be decided during it."""
    state = after(APPROVE, BEGIN, PAUSE)
    for move in (DONE, ITERATE, BEGIN, PAUSE, APPROVE, partial(moves.warn, text="x")):
        with pytest.raises(IllegalMove, match="has been paused since"):
            move(state, at(9))
    assert moves.fail(state, at(9), "no way").orchestrator.status == "failed"
    assert moves.extend(state, at(9), "more", max_cost="$11").safety_bounds.max_cost == "$11"
    assert after(DONE, state=moves.resume(state, at(9))).completed("1.1")


def test_a_milestone_is_of_a_completed_phase() -> None:
    """The last one by default."""
    state = after(*FIRST)
    assert moves.last_completed_phase(state) == 0
    state = after(PHASE, state=state)
    assert moves.last_completed_phase(state) == 0
    noted = moves.milestone(state, at(9), "https://tracker/1", 0, "Foundation")
    assert noted.milestones[-1].model_dump() == {
        "phase": 0,
        "name": "Foundation",
        "completed": at(9),
        "issue_url": "https://tracker/1",
    }


MILESTONE = partial(moves.milestone, url="https://tracker/1", phase=0, name="A")
FORBIDDEN: list[tuple[list[Move], Move, str]] = [
    ([], BEGIN, "is planning, not executing"),
    ([], DONE, "is planning, not executing"),
    ([], PHASE, "is planning, not executing"),
    ([], REVIEW, "is planning, not executing"),
    ([], COMPLETE, "is planning, not reviewing"),
    ([], partial(moves.approve_plan, plan=Plan((), ())), "the plan has no tasks"),
    ([APPROVE], COMPLETE, "is executing, not reviewing"),
    ([APPROVE], PHASE, "phase 1 of 3 is current, and not completed yet: 1.1, 1.2"),
    ([APPROVE], REVIEW, "not completed yet: 1.1, 1.2, 2.1, 2.2, 3.1"),
    ([APPROVE], partial(BEGIN, task="2.1"), "belongs to phase 2; the current phase is 1"),
    ([APPROVE], partial(DONE, task="2.1"), "belongs to phase 2; the current phase is 1"),
    ([APPROVE], partial(BEGIN, task="9.9"), "task 9.9 is not in the plan"),
    ([APPROVE, BEGIN], partial(BEGIN, task="1.1"), "has had a task-executor at work since"),
    ([APPROVE, BEGIN, BEGIN], BEGIN, "all that are left are worked on: 1.1, 1.2"),
    ([APPROVE, BEGIN], partial(ITERATE, task="1.2"), "no agent works on task 1.2"),
    ([APPROVE, BEGIN, BEGIN], DONE, "tasks 1.1, 1.2 are worked on"),
    ([APPROVE, BEGIN, DONE], partial(DONE, task="1.1"), "task 1.1 is completed since"),
    ([APPROVE, BEGIN, DONE], partial(BEGIN, task="1.1"), "task 1.1 is completed since"),
    ([APPROVE, BEGIN], partial(DONE, cost="much"), "expected an amount, such as"),
    ([APPROVE, BEGIN], partial(DONE, time="long"), "expected a duration"),
    (FIRST, BEGIN, "no task of phase 1 is waiting; all are completed"),
    (ALL, PHASE, "phase 3 of 3 is the last one"),
    ([*ALL, REVIEW], BEGIN, "is reviewing, not executing"),
    ([*ALL, REVIEW, COMPLETE], FAIL, "is completed"),
    ([FAIL], APPROVE, "is failed"),
    ([], moves.resume, "is not paused"),
    ([], partial(moves.pause, reason=" "), "the reason is missing"),
    ([], partial(moves.fail, reason=""), "the reason is missing"),
    ([APPROVE], MILESTONE, "phase 1 is not completed yet"),
    ([*FIRST, MILESTONE], MILESTONE, "phase 1 already has a milestone"),
    (FIRST, partial(MILESTONE, url="soon"), "'soon' is not the address of an issue"),
    (FIRST, partial(MILESTONE, phase=7), "there is no phase 8 of 3"),
]


@pytest.mark.parametrize(("moves", "forbidden", "cause"), FORBIDDEN)
def test_a_forbidden_move_is_refused_with_its_cause(
    moves: list[Move], forbidden: Move, cause: str
) -> None:
    """Moves that the document's order does not allow leave the state unchanged."""
    state = after(*moves)
    raw = state.encode()
    with pytest.raises(IllegalMove, match=cause):
        forbidden(state, at(60))
    assert state.encode() == raw


def test_a_run_without_a_supervisor_has_no_checks() -> None:
    """It was started that way."""
    state = moves.begin(at(0), "/tmp/x.md", LISTED, supervised=False)
    with pytest.raises(IllegalMove, match="is not enabled"):
        moves.check(state, at(1), "pre_task")


def test_a_limit_of_nothing_is_refused() -> None:
    """Such a run could not do anything."""
    for limit in ({"max_cost": "$0"}, {"max_time": "0s"}, {"max_iterations_per_task": "0"}):
        with pytest.raises(IllegalMove, match="allows nothing"):
            moves.begin(at(0), "/tmp/x.md", LISTED, **limit)  # type: ignore[arg-type]


class Reference:
    """The document in few words: what is where, and how often."""

    def __init__(self) -> None:
        self.status = "planning"
        self.phase = 0
        self.waiting = {each.task: each.phase for each in LISTED.tasks}
        self.active: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.cents = 0
        self.checks = 0
        self.paused = False

    @property
    def here(self) -> list[str]:
        return [task for task, phase in self.waiting.items() if phase == self.phase]

    @property
    def over(self) -> bool:
        return self.status in {"completed", "failed"}

    @property
    def stopped(self) -> bool:
        return self.cents >= 1000 or any(count >= 4 for count in self.active.values())


class Run(RuleBasedStateMachine):
    """Any order of moves: what is allowed, and its result, matches the reference."""

    def __init__(self) -> None:
        super().__init__()
        limits = {**moves.LIMITS, "max_iterations_per_task": "4", "max_time": "30d"}
        self.state = moves.begin(at(0), "/tmp/x.md", LISTED, **limits)
        self.model = Reference()
        self.minutes = 0

    def take(self, move: Move, *, allowed: bool) -> bool:
        """Whether the move was made, which has to be as it is *allowed*."""
        self.minutes += 1
        now = START + timedelta(minutes=self.minutes)
        try:
            moved = limits.updated(move(self.state, at(self.minutes)), now)
        except IllegalMove:
            assert not allowed
            return False
        assert allowed
        self.state = files.KIND.parse(moved.encode())
        return True

    @property
    def free(self) -> bool:
        return not (self.model.over or self.model.paused)

    @rule()
    def approve(self) -> None:
        """Repeating it is a re-plan with the same plan."""
        model = self.model
        if self.take(APPROVE, allowed=self.free and model.status in {"planning", "executing"}):
            model.status = "executing"
            model.phase = min([model.phase, *model.waiting.values()])

    @rule(task=st.sampled_from([each.task for each in LISTED.tasks]))
    def begin(self, task: str) -> None:
        model = self.model
        allowed = self.free and model.status == "executing" and not model.stopped
        allowed = allowed and task in model.here and task not in model.active
        if self.take(partial(BEGIN, task=task), allowed=allowed):
            model.active[task] = 0

    @precondition(lambda self: self.model.active)
    @rule(data=st.data())
    def iterate(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(sorted(self.model.active)))
        allowed = self.free and self.model.status == "executing"
        if self.take(partial(ITERATE, task=task), allowed=allowed):
            self.model.active[task] += 1

    @rule(task=st.sampled_from([each.task for each in LISTED.tasks]), cents=st.integers(0, 300))
    def done(self, task: str, cents: int) -> None:
        model = self.model
        allowed = self.free and model.status == "executing" and task in model.here
        move = partial(DONE, task=task, cost=f"${cents / 100:.2f}")
        count = max(model.active.get(task, 0), 1)
        if task not in model.active and self.state.current and self.state.current.task == task:
            count = max(self.state.orchestrator.ralph_iteration, 1)
        if self.take(move, allowed=allowed):
            model.done[task] = count
            model.active.pop(task, None)
            del model.waiting[task]
            model.cents += cents

    @rule()
    def check(self) -> None:
        move = partial(moves.check, check_type="on_demand")
        self.model.checks += self.take(move, allowed=self.free)

    @rule()
    def phase(self) -> None:
        model = self.model
        allowed = self.free and model.status == "executing" and not model.here
        model.phase += self.take(PHASE, allowed=allowed and model.phase < 2)

    @rule()
    def review(self) -> None:
        model = self.model
        allowed = self.free and model.status == "executing" and not model.waiting
        if self.take(REVIEW, allowed=allowed and model.phase == 2):
            model.status = "reviewing"

    @rule()
    def complete(self) -> None:
        if self.take(COMPLETE, allowed=self.free and self.model.status == "reviewing"):
            self.model.status = "completed"

    @rule()
    def pause(self) -> None:
        if self.take(PAUSE, allowed=self.free):
            self.model.paused = True

    @rule()
    def resume(self) -> None:
        if self.take(moves.resume, allowed=self.model.paused and not self.model.over):
            self.model.paused = False

    @precondition(lambda self: self.minutes > 20)
    @rule()
    def fail(self) -> None:
        if self.take(FAIL, allowed=not self.model.over):
            self.model.status = "failed"

    @invariant()
    def the_state_is_as_in_the_reference(self) -> None:
        """It is valid for a strict reader, whatever happened."""
        state, model = self.state, self.model
        assert state.orchestrator.status == model.status
        assert state.phase == model.phase
        assert {each.task for each in state.pending_tasks} == set(model.waiting)
        assert {each.task: each.iterations for each in state.completed_tasks} == model.done
        if model.status != "completed":
            assert {each.task: each.iteration for each in state.active_agents} == model.active
        assert parse_money(state.safety_bounds.cost_so_far) * 100 == model.cents
        assert state.supervisor.checks_performed == model.checks
        assert (state.orchestrator.end_time is not None) is model.over
        assert state.orchestrator.outer_ralph is (model.status == "reviewing")
        now = START + timedelta(minutes=self.minutes)
        assert bool(limits.reached(state, now)) is (model.stopped and not model.over)
        raw = state.encode()
        assert files.KIND.parse(raw).encode() == raw
        report = FORMAT.inspect(Path(files.STATE), raw)
        assert report is not None
        assert report.problems == ()


TestRun = Run.TestCase
TestRun.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
