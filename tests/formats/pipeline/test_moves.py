"""What a pipeline may do, move by move, and against a small model of what it should."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.errors import IllegalMove
from holdfast.formats.pipeline import definitions, moves, progress
from holdfast.formats.pipeline.definitions import Definition
from holdfast.formats.pipeline.files import KIND
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.model import State
from pipework import at, done, run


def begun(kind: str = "generation", level: str = "scene") -> State:
    return _first(definitions.built_in(kind, level), {"scene_id": "0204", "level": level})


def _first(definition: Definition, about: dict[str, object]) -> State:
    header = {"workflow_id": "w-1", "workflow_type": definition.name}
    return moves.first_state(definition, about, {}, at(0), **header)


def defined(text: str) -> State:
    definition = definitions.parse(Path("x.toml"), f'name = "x"\n{text}'.encode())
    return _first(definition, {"definition": definition.to_json()})


def steps_of(count: int, **fields: str) -> str:
    """Steps in TOML; *fields* adds lines to some, by number: s2="human_approval = true"."""
    return "\n".join(
        f'[[steps]]\nstep = {each}\nname = "S{each}"\n{fields.get(f"s{each}", "")}'
        for each in range(1, count + 1)
    )


def stands(state: State) -> list[str]:
    short = {"in_progress": "going", "waiting_approval": "waiting"}
    return [short.get(each.status, each.status) for each in state.steps]


TO_STEP_5 = [
    (1, "completed"),
    *done(2),
    *done(3),
    (3, "approved"),
    *done(4),
    (5, "in_progress"),
]


def test_a_generation_from_beginning_to_end() -> None:
    """Its status and its progress after each move; never 100 before it is completed."""
    state = begun()
    seen = []
    for move in [*TO_STEP_5, (5, "completed"), *done(6), *done(7)]:
        state = run(state, move)
        seen.append((state.current, state.status, state.progress))
    assert seen[:6] == [
        (1, "in_progress", 14),
        (2, "in_progress", 28),
        (2, "in_progress", 28),
        (3, "in_progress", 42),
        (3, "waiting_approval", 42),
        (3, "in_progress", 42),
    ]
    assert seen[-2:] == [(7, "in_progress", 99), (7, "completed", 100)]
    assert state.section.current_step == 7
    assert state.completed_at == state.updated_at


def test_a_failed_check_sends_the_generation_back_three_times() -> None:
    """Attempts 1, 2, 3 with what the next one has to stress; then step and workflow have failed."""
    state = run(begun(), *TO_STEP_5)
    for attempt in (1, 2, 3):
        writer = state.find(4)
        assert writer
        assert writer.attempts
        assert writer.attempts.current == attempt
        state = moves.update(
            state, at(100 * attempt), 5, "failed", {"report": f"r{attempt}"}, "too dry"
        )
        if attempt < 3:
            assert stands(state)[3:5] == ["going", "pending"]
            assert state.status == "in_progress"
            assert state.steps[3].attempt == f"attempt {attempt + 1} of 3"
            stress = state.steps[3].emphasis
            assert stress == f"Attempt {attempt} failed, so pay special attention to this: too dry"
            state = run(state, (4, "completed"), (5, "in_progress"))
    assert stands(state) == ["completed"] * 3 + ["failed"] * 2 + ["pending"] * 2
    assert state.status == "failed"
    assert state.steps[3].attempts
    history = state.steps[3].attempts.history
    assert [(each.attempt, each.result, each.reason) for each in history] == [
        (1, "failed", "too dry"),
        (2, "failed", "too dry"),
        (3, "failed", "too dry"),
    ]
    assert history[0].artifacts == {"report": "r1"}
    assert progress.metrics(state)["workflow_metrics"]["retry_count"] == 2
    with pytest.raises(IllegalMove, match="w-1 is failed"):
        run(state, (4, "in_progress"))


def test_an_attempt_that_fails_by_itself_counts_as_one() -> None:
    """The step "failed after max_attempts", whoever finds it out."""
    state = run(begun(), *TO_STEP_5[:-2], (4, "failed"), (4, "failed"))
    assert stands(state)[3] == "going"
    assert run(state, (4, "failed")).status == "failed"


@pytest.mark.parametrize("number", [1, 2, 6])
def test_any_other_failure_fails_the_workflow(number: int) -> None:
    """Nothing is tried again there."""
    moves = [*TO_STEP_5, (5, "completed"), (6, "in_progress")]
    until = {1: 0, 2: 2, 6: len(moves)}[number]
    state = run(begun(), *moves[:until], (number, "failed"))
    assert (state.status, state.current) == ("failed", number)
    assert state.steps[number - 1].error == "no reason was given"
    blocked = progress.next_of(state).blocked
    assert blocked
    assert "resume_workflow" in str(blocked.action)


def test_a_variant_is_selected_where_the_definition_asks_for_one() -> None:
    """Without it nothing is approved; where there are no variants none is taken."""
    state = run(begun("planning"), (1, "completed"), *done(2))
    assert progress.next_of(state).blocked == (
        "Human approval required for scenarios",
        "User must select a variant of scenarios, or reject them",
        True,
    )
    with pytest.raises(IllegalMove, match="approved by selecting a variant"):
        run(state, (2, "approved"))
    state = run(state, (2, "A"))
    asked = state.steps[1].human_approval
    assert asked
    assert asked.selected_variant == "A"
    assert state.section.current_phase == 2
    act = run(
        begun("planning", level="act"),
        *[(1, "completed"), *done(2), (2, "B")],
        *[move for number in range(3, 11) for move in done(number)],
    )
    assert (act.current, act.status, act.progress) == (10, "waiting_approval", 99)
    with pytest.raises(IllegalMove, match="has no variants"):
        run(act, (10, "A"))
    assert run(act, (10, "approved")).status == "completed"


def test_a_rejection_sends_the_work_back() -> None:
    """What is to be different is kept with it; the time of waiting counts as a person's."""
    state = run(begun(), (1, "completed"), *done(2), *done(3))
    state = moves.reject(state, at(70), 3, {"tone": "colder"})
    assert (stands(state)[2], state.status) == ("going", "in_progress")
    state = moves.update(state, at(80), 3, "completed")
    state = moves.approve(state, at(95), 3, {"length": 900})
    asked = state.steps[2].human_approval
    assert asked
    assert asked.modifications == {"length": 900}
    measured = progress.metrics(state)["workflow_metrics"]
    assert measured["human_approval_time_seconds"] == (70 - 50) + (95 - 80)


REFUSED: list[tuple[list[tuple[int, str]], tuple[int, str], str]] = [
    ([], (2, "in_progress"), r"Step 2 \(Blueprint Validation\) cannot begin before step 1$"),
    ([(1, "completed")], (4, "in_progress"), "cannot begin before step 2, 3"),
    ([], (2, "completed"), r"Step 2 \(Blueprint Validation\) has not begun"),
    ([], (8, "in_progress"), "has no step 8"),
    ([], (1, "waiting_approval"), "needs no approval"),
    ([], (1, "approved"), "does not wait for an approval; it is in_progress"),
    ([(1, "completed")], (1, "completed"), r"Step 1 \(File Check\) is completed"),
    ([(1, "completed")], (1, "in_progress"), r"Step 1 \(File Check\) is completed"),
    ([(1, "completed"), *done(2), *done(3)], (3, "completed"), "waits for a person's approval"),
    ([(1, "completed"), *done(2), *done(3)], (4, "in_progress"), "cannot begin before step 3"),
]


@pytest.mark.parametrize(("moves", "forbidden", "cause"), REFUSED)
def test_a_forbidden_move_is_refused_with_its_cause(
    moves: Sequence[tuple[int, str]], forbidden: tuple[int, str], cause: str
) -> None:
    """Each with a next step."""
    state = run(begun(), *moves)
    before = copy.deepcopy(state.to_json())
    with pytest.raises(IllegalMove, match=cause) as caught:
        run(state, forbidden)
    assert caught.value.hint
    assert state.to_json() == before


def test_it_is_resumed_from_any_completed_step() -> None:
    """That step and all after it are done anew; what is before has to be done."""
    state = run(begun(), *TO_STEP_5, (5, "completed"), (6, "in_progress"), (6, "failed"))
    assert moves.where_it_stopped(state) == 6
    assert stands(moves.resume(state, at(500)))[5] == "going"
    for number in range(1, 7):
        again = moves.resume(state, at(500), number)
        expected = ["completed"] * (number - 1) + ["going"] + ["pending"] * (7 - number)
        assert (stands(again), again.status) == (expected, "in_progress")
    approval = moves.resume(state, at(500), 2).steps[2].human_approval
    assert approval
    assert not approval.approved
    with pytest.raises(IllegalMove, match="cannot begin before step 6"):
        moves.resume(state, at(500), 7)


def test_a_resumed_generation_has_all_its_attempts_again() -> None:
    """A person has put right what was wrong; the history of before stays."""
    state = run(begun(), *TO_STEP_5[:-2], *[(4, "failed")] * 3)
    state = moves.resume(state, at(500))
    writer = state.steps[3]
    assert writer.attempts
    assert (state.current, writer.attempts.current, len(writer.attempts.history)) == (4, 4, 3)
    assert (writer.error, writer.runs) == (None, 4)


def test_what_was_cancelled_goes_on_where_it_was() -> None:
    """Also where a person has still to approve."""
    state = run(begun(), (1, "completed"), *done(2), *done(3))
    cancelled = moves.cancel(state, at(100), reason="changed our mind")
    assert (cancelled.status, cancelled.cancellation_reason) == ("cancelled", "changed our mind")
    with pytest.raises(IllegalMove, match="is cancelled already"):
        moves.cancel(cancelled, at(101))
    with pytest.raises(IllegalMove, match="w-1 is cancelled"):
        run(cancelled, (3, "approved"))
    resumed = moves.resume(cancelled, at(200))
    assert (resumed.current, resumed.status, stands(resumed)[2]) == (
        3,
        "waiting_approval",
        "waiting",
    )
    assert resumed.cancellation_reason is None


def test_who_completed_a_step_by_hand_did_not_approve_it() -> None:
    """A jq line set the status; a person has to approve all the same."""
    state = run(begun(), (1, "completed"), *done(2), (3, "in_progress"))
    state.steps[2].status = "completed"
    assert [each.number for each in state.missing(4)] == [3]
    blocked = progress.next_of(state).blocked
    assert blocked
    assert blocked.reason == "Human approval required for verification plan"
    with pytest.raises(IllegalMove, match="cannot begin before step 3"):
        run(state, (4, "in_progress"))
    assert run(state, (3, "approved"), (4, "in_progress")).current == 4


DEFINITIONS = [
    steps_of(1),
    steps_of(3, s2="human_approval = true"),
    steps_of(4, s2="retry_enabled = true\nmax_attempts = 2", s4="triggers_retry = true"),
    steps_of(
        5,
        s2="retry_enabled = true\nmax_attempts = 2",
        s3="human_approval = true",
        s4="prerequisites = [2]\ntriggers_retry = true",
    ),
]


class Walks(RuleBasedStateMachine):
    """Any moves in any order: the state is always one that the document allows.

    Beside it a small model: for each step whether it is done, by the moves that were accepted alone.
    """

    state: State
    definition: Definition

    @initialize(which=st.sampled_from([*DEFINITIONS, "generation", "planning"]))
    def begin(self, which: str) -> None:
        self.state = defined(which) if which in DEFINITIONS else begun(which)
        self.definition = self.state.definition
        self.seconds = 0
        self.done: set[int] = set()

    def now(self) -> str:
        self.seconds += 7
        return at(self.seconds)

    @precondition(lambda self: hasattr(self, "state"))
    @rule(
        number=st.integers(1, 7),
        status=st.sampled_from(["in_progress", "completed", "completed", "failed"]),
    )
    def update(self, number: int, status: str) -> None:
        waits = {each.number for each in self.state.steps if each.status == "waiting_approval"}
        try:
            after = moves.update(self.state, self.now(), number, status)
        except IllegalMove:
            return
        assert {*range(1, number)} <= self.done, "a step was skipped"
        assert number not in self.done, "a step was done twice"
        if status == "completed":
            asks = self.definition.all[number - 1].human_approval
            assert number not in waits
            self.done |= set() if asks else {number}
        if status == "failed":
            again = self.definition.retried_by(number)
            behind = range(again, 8) if again and after.status != "failed" else ()
            self.done -= {number, again or 0, *behind}
        self.state = after

    @precondition(lambda self: hasattr(self, "state"))
    @rule(number=st.integers(1, 7), approved=st.booleans())
    def decide(self, number: int, approved: bool) -> None:
        found = self.definition.find(number)
        variant = "A" if found and found.selects_variant else None
        try:
            if approved:
                self.state = moves.approve(self.state, self.now(), number, selected_variant=variant)
                self.done.add(number)
            else:
                self.state = moves.reject(self.state, self.now(), number)
        except IllegalMove:
            return

    @precondition(lambda self: hasattr(self, "state"))
    @rule(number=st.none() | st.integers(1, 7), dice=st.integers(0, 3))
    def resume(self, number: int | None, dice: int) -> None:
        if dice and self.state.status in {"in_progress", "waiting_approval"}:
            return
        stopped = {each.number for each in self.state.steps if each.status in {"pending", "failed"}}
        try:
            begun_at = number or moves.where_it_stopped(self.state)
            self.state = moves.resume(self.state, self.now(), number)
        except IllegalMove:
            return
        assert {*range(1, begun_at)} <= self.done
        if number is not None or begun_at in stopped:
            self.done -= {*range(begun_at, 11)}

    @precondition(lambda self: hasattr(self, "state"))
    @rule(dice=st.integers(0, 5))
    def cancel(self, dice: int) -> None:
        if dice == 0 and self.state.status not in {"completed", "cancelled"}:
            self.state = moves.cancel(self.state, self.now())

    @precondition(lambda self: hasattr(self, "state"))
    @invariant()
    def is_what_the_document_allows(self) -> None:
        state = self.state
        report = FORMAT.inspect(Path("w-1.json"), state.encode())
        assert report is not None
        assert report.problems == ()
        assert KIND.parse(state.encode()).to_json() == state.to_json()
        assert {each.number for each in state.steps if each.is_complete} == self.done
        assert (state.progress == 100) == (state.status == "completed")
        assert (state.status == "completed") <= (len(self.done) == len(state.steps))
        if state.status not in {"cancelled", "failed"} and len(self.done) < len(state.steps):
            waits = "waiting_approval" in {each.status for each in state.steps}
            assert state.status == ("waiting_approval" if waits else "in_progress")
        for step in state.steps:
            if step.attempts:
                assert step.attempts.current <= step.attempts.max
        measured = progress.metrics(state)["workflow_metrics"]
        assert measured["total_time_seconds"] <= self.seconds
        assert measured["agent_calls"] >= len(self.done)

    @precondition(lambda self: hasattr(self, "state"))
    @invariant()
    def there_is_always_a_way_on(self) -> None:
        """What the next step says may begin does begin."""
        if self.state.over:
            return
        _, following, blocked = progress.next_of(self.state)
        if blocked is None:
            assert following
            moves.update(self.state, at(0), following.number, "in_progress")
        else:
            assert blocked.action


Walks.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestWalks = Walks.TestCase
