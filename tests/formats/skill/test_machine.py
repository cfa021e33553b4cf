"""The machine: no sequence of moves reaches what the document forbids, and history only grows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holdfast.errors import IllegalMove
from holdfast.formats.skill import moves, tasks
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.model import State
from skillwork import at, example, first

ORDER = ("pending", "in_progress", "completed")


class AnyMoves(RuleBasedStateMachine):
    """Moves in any order; one that is refused must leave everything as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.minute = 0
        self.state = State.of_json({"workflow": {"id": "x"}})

    @initialize(kind=st.sampled_from(["dev", "tdd", "other"]), steps=st.integers(0, 14))
    def begin(self, kind: str, steps: int) -> None:
        if kind == "dev":
            self.state = first("dev", "f.md", at(0), identifier="dev-1", tasks=["a", "b"])
        elif kind == "tdd":
            self.state = first("tdd", "t", at(0), identifier="tdd-1")
        else:
            self.state = first("x", "t", at(0), identifier="x-1", phases=["a", "b"])
        self.go_on(steps)

    def make(self, move: Any, *arguments: Any, **named: Any) -> bool:
        self.minute += 1
        before = copy.deepcopy(self.state.to_json())
        try:
            after = move(self.state, at(self.minute), *arguments, **named)
        except IllegalMove:
            assert self.state.to_json() == before
            return False
        assert self.state.to_json() == before, "a move changes what it is given"
        told = after.to_json()
        assert told["history"][: len(before["history"])] == before["history"]
        assert told["workflow"]["updated_at"] == at(self.minute)
        self.legal(before, told)
        self.state = State.of_json(told)
        return True

    def legal(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Nothing goes back, but by the next cycle and out of a block."""
        assert before["workflow"]["status"] not in {"completed", "abandoned"}
        cycle = [each["state_machine"].get("cycle_count") for each in (before, after)]
        for was, now in zip(before.get("tasks", ()), after.get("tasks", ()), strict=False):
            assert ORDER.index(was["status"]) <= ORDER.index(now["status"])
        if cycle[0] != cycle[1]:
            return
        pairs = zip(
            before["state_machine"]["phases"], after["state_machine"]["phases"], strict=True
        )
        for was, now in pairs:
            if "blocked" not in {was["status"], now["status"]}:
                assert ORDER.index(was["status"]) <= ORDER.index(now["status"])

    @rule()
    def one_on(self) -> None:
        self.go_on(1)

    def go_on(self, times: int) -> None:
        """What a skill would do next, so that random moves are tried in every place."""
        for _ in range(times):
            phase, task = self.state.phase, self.state.task
            due = [name for name in self.state.pending if phase and name in phase.step_names]
            if phase is None or self.state.over:
                return
            if phase.name == "red":
                self.make(tasks.confirm_failure, "not there")
            elif phase.name == "green":
                self.make(tasks.record_tests, passed=True)
            elif due or phase.name == "pr_creation":
                name = (*due, "pr_created")[0]
                self.make(moves.record_checkpoint, name, passed=True, values={"pr_number": 7})
            elif phase.name == "task_execution" and task is not None:
                number = self.state.number(task)
                if task.status == "pending":
                    self.make(tasks.start_task, number, no_tdd=True)
                self.make(tasks.complete_task, number)
            self.make(moves.complete_phase)

    @rule(commit=st.sampled_from([None, "abc"]))
    def complete_phase(self, commit: str | None) -> None:
        self.make(moves.complete_phase, commit=commit)

    @rule(
        name=st.sampled_from(["lint", "test", "security_review", "code_simplifier", "pr_created"]),
        passed=st.sampled_from([None, True, True, False]),
    )
    def checkpoint(self, name: str, passed: bool | None) -> None:
        values = {"pr_number": 7} if name == "pr_created" else {}
        self.make(moves.record_checkpoint, name, passed=passed, values=values)

    @rule(index=st.sampled_from([None, 1, 2, 9]), with_tdd=st.booleans())
    def start_task(self, index: int | None, with_tdd: bool) -> None:
        self.make(tasks.start_task, index, no_tdd=not with_tdd)

    @rule(phase=st.sampled_from([None, "red", "green", "refactor"]), index=st.sampled_from([1, 2]))
    def task_phase(self, phase: str | None, index: int) -> None:
        self.make(tasks.complete_task_phase, phase, number=index)

    @rule(index=st.sampled_from([None, 1, 2, 3]))
    def complete_task(self, index: int | None) -> None:
        self.make(tasks.complete_task, index, commit="abc")

    @rule()
    def add_task(self) -> None:
        if len(self.state.tasks) < 4:
            self.make(tasks.add_tasks, ["more"])

    @rule(what=st.sampled_from(["test", "failure", "none"]))
    def red(self, what: str) -> None:
        if what == "test":
            self.make(tasks.write_test, "tests/t.py", test="test_t")
        else:
            self.make(tasks.confirm_failure, "not there" if what == "failure" else " ")

    @rule(passed=st.booleans())
    def run_tests(self, passed: bool) -> None:
        self.make(tasks.record_tests, passed=passed, failing=[] if passed else ["t"])

    @rule()
    def note_file(self) -> None:
        self.make(tasks.note_file, "src/x.py", lines=3)

    @rule()
    def next_cycle(self) -> None:
        cycle = self.state.state_machine.cycle_count or 1
        if self.make(tasks.next_cycle):
            assert self.state.state_machine.cycle_count == cycle + 1

    @rule(reason=st.sampled_from(["", "a question"]), dice=st.integers(0, 3))
    def block(self, reason: str, dice: int) -> None:
        if dice == 0:
            self.make(moves.block, reason)

    @rule()
    def unblock(self) -> None:
        self.make(moves.unblock)

    @rule(
        ending=st.sampled_from(["complete", "complete", "force", "abandon"]), dice=st.integers(0, 9)
    )
    def end(self, ending: str, dice: int) -> None:
        if ending == "complete":
            done = not moves.unfinished(self.state)
            assert self.make(moves.complete) <= done
        elif dice == 0:
            move = moves.abandon if ending == "abandon" else moves.complete
            self.make(move, **({} if ending == "abandon" else {"although": "time is up"}))

    @invariant()
    def is_what_the_document_allows(self) -> None:
        state = self.state
        if not state.state_machine.phases:
            return
        assert list(FORMAT.problems(Path("x.json"), state.to_json()) or ()) == []
        statuses = [phase.status for phase in state.state_machine.phases]
        working = [each for each in statuses if each in {"in_progress", "blocked"}]
        assert len(working) <= 1
        assert statuses == sorted(
            statuses, key=lambda each: {"completed": 0, "pending": 2}.get(each, 1)
        )
        current = state.phase
        assert current is not None
        assert current.status == (working[0] if working else "completed")
        self.gates(state)

    def gates(self, state: State) -> None:
        by_name = {phase.name: phase for phase in state.state_machine.phases}
        if "green" in by_name and by_name["green"].status != "pending":
            assert by_name["red"].failure_confirmed
            assert by_name["red"].failure_reason
        if "refactor" in by_name and by_name["refactor"].status != "pending":
            assert by_name["green"].tests_passing
        if "verification" in by_name and by_name["verification"].status != "pending":
            assert all(task.status == "completed" for task in state.tasks)
        for task in state.tasks:
            inner = task.tdd_phases
            if inner:
                ranks = [ORDER.index(each) for each in (inner.red, inner.green, inner.refactor)]
                assert ranks == sorted(ranks, reverse=True)
                assert task.status != "completed" or ranks in ([0, 0, 0], [2, 2, 2])
        forced = any("forced" in event for event in state.history)
        assert state.workflow.status != "completed" or forced or not moves.unfinished(state)


TestAnyMoves = AnyMoves.TestCase
TestAnyMoves.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@pytest.mark.long
class TestAnyMovesAtLength(AnyMoves.TestCase):
    settings = settings(max_examples=600, stateful_step_count=30, deadline=None)


def walked() -> State:
    """A /dev up to its verification."""
    state = first("dev", "f.md", at(0), identifier="dev-1", tasks=["a"])
    state = moves.complete_phase(moves.complete_phase(state, at(1)), at(2))
    state = tasks.complete_task(tasks.start_task(state, at(3), no_tdd=True), at(4), commit="abc")
    return moves.complete_phase(state, at(5))


def test_a_whole_dev_and_its_steps() -> None:
    """current_step goes from one check to the next, also when one comes early or fails."""
    state = walked()
    assert state.state_machine.current_step == "lint"
    state = moves.record_checkpoint(state, at(6), "test", passed=True, values={"count": 12})
    assert state.state_machine.current_step == "lint"
    state = moves.record_checkpoint(state, at(7), "lint", passed=False)
    assert state.state_machine.current_step == "lint"
    with pytest.raises(IllegalMove, match=r"left are lint, security_review, code_simplifier"):
        moves.complete_phase(state, at(8))
    state = moves.record_checkpoint(state, at(8), "lint", passed=True)
    assert state.state_machine.current_step == "security_review"
    state = moves.record_checkpoint(state, at(9), "security_review", values={"findings": 0})
    state = moves.record_checkpoint(state, at(9), "code_simplifier", values={"issues": 0})
    assert state.state_machine.current_step is None
    state = moves.complete_phase(state, at(10))
    with pytest.raises(IllegalMove, match="no pull request is recorded"):
        moves.complete_phase(state, at(11))
    pull = {"pr_number": 7, "pr_url": "x"}
    state = moves.record_checkpoint(state, at(12), "pr_created", values=pull)
    assert state.to_json()["checkpoints"]["pr_created"] == {"status": "completed", **pull}
    assert state.to_json()["checkpoints"]["test"]["count"] == 12
    state = moves.complete(moves.complete_phase(state, at(13)), at(14))
    assert moves.signal(state) == "DEV_COMPLETE: F"


def test_the_progress_of_the_tasks_is_counted() -> None:
    """As "5/7", in the phase of the tasks."""
    state = walked()
    assert state.state_machine.phases[2].progress == "1/1"


def test_a_second_cycle_begins_anew() -> None:
    """What the first one found goes; what the document does not name stays."""
    state = example("tdd")
    state.state_machine.phases[0].note = "mine"  # type: ignore[attr-defined]
    state = tasks.record_tests(state, at(80), passed=True)
    assert state.state_machine.phases[1].last_error is None
    state = moves.complete_phase(state, at(81))
    state = moves.complete_phase(state, at(82))
    state = moves.complete_phase(state, at(83), commit="abc")
    state = tasks.next_cycle(state, at(84))
    machine = state.to_json()["state_machine"]
    assert (machine["cycle_count"], machine["current_phase"]) == (2, "red")
    assert machine["phases"][0] == {
        "name": "red",
        "status": "in_progress",
        "note": "mine",
        "started_at": at(84),
    }
    assert [phase["status"] for phase in machine["phases"][1:]] == ["pending"] * 3


def test_a_block_tells_its_reason_and_stops_everything() -> None:
    """Until it is out of the way."""
    state = moves.block(walked(), at(6), "waiting for a token")
    assert (state.workflow.status, state.phase and state.phase.status) == ("blocked", "blocked")
    for move in (moves.complete_phase, tasks.start_task, tasks.next_cycle):
        with pytest.raises(IllegalMove, match="waiting for a token") as caught:
            move(state, at(7))
        assert "unblock" in caught.value.hint
    state = moves.unblock(state, at(8))
    assert (state.workflow.status, state.phase and state.phase.status) == (
        "in_progress",
        "in_progress",
    )


def test_to_end_early_needs_a_reason() -> None:
    """It is kept in the history."""
    with pytest.raises(IllegalMove, match="phase verification, phase pr_creation"):
        moves.complete(walked(), at(6))
    with pytest.raises(IllegalMove, match="the reason is missing"):
        moves.complete(walked(), at(6), although=" ")
    state = moves.complete(walked(), at(6), although="merged by hand")
    assert state.history[-1]["forced"] == "merged by hand"


def begun(kind: str) -> State:
    if kind == "dev":
        return first("dev", "f.md", at(0), identifier="dev-1", tasks=["a", "b"])
    return first("tdd", "t", at(0), identifier="tdd-1")


def after(state: State, *moves: Callable[..., State]) -> State:
    for minute, move in enumerate(moves, 1):
        state = move(state, at(minute))
    return state


CONFIRM = partial(tasks.confirm_failure, reason="not there")
PASS = partial(tasks.record_tests, passed=True)
FAIL = partial(tasks.record_tests, passed=False)
NEXT = moves.complete_phase
BEGIN = tasks.start_task
FORBIDDEN: list[tuple[str, list[Callable[..., State]], Callable[..., State], str]] = [
    ("tdd", [], NEXT, "no failing test is confirmed"),
    (
        "tdd",
        [CONFIRM, partial(tasks.write_test, file="t.py")],
        NEXT,
        "no failing test is confirmed",
    ),
    (
        "tdd",
        [],
        partial(tasks.confirm_failure, reason=" "),
        "the reason why the test fails is missing",
    ),
    ("tdd", [CONFIRM, NEXT], CONFIRM, r"'green' \(in progress\), not 'red'"),
    ("tdd", [CONFIRM, NEXT], NEXT, "the tests do not pass yet"),
    ("tdd", [CONFIRM, NEXT, PASS, FAIL], NEXT, "the tests do not pass yet"),
    ("tdd", [CONFIRM, NEXT, PASS, NEXT, FAIL], NEXT, "the last test run failed"),
    ("tdd", [CONFIRM, NEXT, PASS, NEXT, NEXT], tasks.next_cycle, "'commit' of this cycle"),
    ("tdd", [], partial(tasks.record_tests, passed=True, failing=["x"]), "no failing test: x"),
    ("tdd", [], partial(moves.complete_phase, phase="green"), "is 'red', not 'green'"),
    ("dev", [], tasks.next_cycle, "no test-driven cycles"),
    ("dev", [], BEGIN, "tasks are worked on in 'task_execution'"),
    ("dev", [NEXT, NEXT], NEXT, "open tasks: 1, 2"),
    ("dev", [NEXT, NEXT, BEGIN], partial(tasks.start_task, number=1), "task 1 is in progress"),
    ("dev", [NEXT, NEXT, BEGIN], tasks.complete_task, "task 1 is in its red phase"),
    (
        "dev",
        [NEXT, NEXT, BEGIN],
        partial(tasks.complete_task_phase, phase="green"),
        "in its red phase",
    ),
    ("dev", [NEXT, NEXT], tasks.complete_task, "no task is in progress"),
    ("dev", [NEXT, NEXT, BEGIN, BEGIN], tasks.complete_task, "tasks 1, 2 are in progress"),
    ("dev", [NEXT, NEXT], partial(tasks.start_task, number=9), "no task 9; there are 2 tasks"),
    ("dev", [], partial(tasks.add_tasks, descriptions=["  "]), "description is missing"),
    ("dev", [], partial(moves.record_checkpoint, checkpoint="lint"), "'lint' needs passed"),
    (
        "dev",
        [],
        partial(moves.record_checkpoint, checkpoint="pr_created"),
        "needs pr_number or pr_url",
    ),
    ("dev", [], moves.unblock, "is not blocked"),
    ("dev", [], partial(moves.block, reason=""), "what blocks it is missing"),
    ("dev", [moves.abandon], NEXT, "is abandoned"),
]


@pytest.mark.parametrize(("kind", "moves", "forbidden", "cause"), FORBIDDEN)
def test_a_forbidden_move_is_refused_with_its_cause(
    kind: str, moves: list[Callable[..., State]], forbidden: Callable[..., State], cause: str
) -> None:
    """What the document's order does not allow."""
    with pytest.raises(IllegalMove, match=cause):
        forbidden(after(begun(kind), *moves), at(60))


def test_phases_that_jq_went_through_count_as_completed() -> None:
    """It sets current_phase, and the list still says that the first one is in progress."""
    state = first("tdd", "t", at(0), identifier="tdd-1")
    state.state_machine.current_phase = "commit"
    with pytest.raises(IllegalMove, match=r"not done: phase commit$"):
        moves.complete(state, at(1))
    state = moves.complete(moves.complete_phase(state, at(1)), at(2))
    assert state.workflow.status == "completed"


BY_HAND: dict[str, Any] = {
    "workflow": {"status": "In Progress", "branch": None},
    "_schema": {"skill": "dev"},
    "context": None,
    "state_machine": {"current_phase": "build", "phases": ["plan", "build", {"name": "ship"}]},
    "tasks": [{"description": "one", "status": "done"}, "two", {"description": "three"}],
    "checkpoints": {"lint": "pending", "docs": None},
    "history": None,
}


def test_what_was_written_by_hand_is_taken_as_it_was_meant() -> None:
    """Names for objects, no index, null for nothing, words as people write them."""
    state = State.of_json(copy.deepcopy(BY_HAND))
    assert state.workflow.status == "in_progress"
    assert [(state.number(task), task.status) for task in state.tasks] == [
        (1, "completed"),
        (2, "pending"),
        (3, "pending"),
    ]
    after = tasks.start_task(state, at(1), no_tdd=True)
    after = tasks.complete_task(after, at(2), commit="abc")
    told = after.to_json()
    assert [task.status for task in after.tasks] == ["completed", "completed", "pending"]
    assert [phase.status for phase in after.state_machine.phases] == [
        "completed",
        "in_progress",
        "pending",
    ]
    assert told["context"] is None
    assert state.pending == ["lint", "docs"]


def test_steps_of_a_skill_of_its_own_are_done_by_checkpoints_of_their_names() -> None:
    """The phase waits for them; what stands before current_step, set by hand, counts as done."""
    state = first("x", "t", at(0), identifier="x-1", phases=["a", "b"])
    state.state_machine.phases[0].steps = ["one", {"name": "two"}]
    with pytest.raises(IllegalMove, match="left are one, two"):
        moves.complete_phase(state, at(1))
    by_hand = state.model_copy(deep=True)
    by_hand.state_machine.current_step = "two"
    with pytest.raises(IllegalMove, match="left are two"):
        moves.complete_phase(by_hand, at(1))
    for name in ("one", "two"):
        assert state.state_machine.current_step in {None, name}
        state = moves.record_checkpoint(state, at(1), name)
    assert state.state_machine.current_step is None
    assert moves.complete_phase(state, at(3)).phase.name == "b"  # type: ignore[union-attr]
