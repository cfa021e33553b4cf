"""The machine against a model that was written from the document alone, over random commands."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from gatedwork import APPROVE_PHASE, AT, KEY, MOVES, NAMES, REVIEWED, SLUG, move
from holdfast.config.settings import Settings
from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files, machine, moves
from holdfast.formats.gated.files import STATE_KIND, STATUS_KIND
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.machine import Content
from holdfast.formats.gated.moves import PullRequest

PHASE_TABLE = {
    ("in_progress", "submit"): "in_review",
    ("in_review", "revise"): "in_progress",
    ("in_review", "approve-internal"): "user_review",
    ("user_review", "approve"): "approved",
    ("user_review", "request-changes"): "in_progress",
    ("escalated", "guide"): "in_progress",
    ("escalated", "override"): "approved",
    ("in_progress", "escalate"): "escalated",
    ("in_review", "escalate"): "escalated",
    ("user_review", "escalate"): "escalated",
}
FEEDBACK = {"revise", "request-changes", "guide"}


class Model:
    """What the document says, and nothing else."""

    def __init__(self) -> None:
        self.workflow = "in_progress"
        self.current = 0
        self.status = ["in_progress", *["pending"] * 4]
        self.iterations = [0] * 5
        self.feedback = [False] * 5
        self.pull_request = False
        self.open_escalations = 0

    def do(self, command: str, target: int | None = None) -> bool:
        """Whether the document allows it; if so it is done."""
        if self.workflow not in {"in_progress", "escalated"}:
            return False
        if command == "cancel":
            self.workflow = "cancelled"
            return True
        if command == "regress":
            return self.regress(target or 0)
        if command == "complete":
            return self.complete()
        if (command in {"guide", "override"}) != (self.workflow == "escalated"):
            return False
        if command == "override" and self.iterations[self.current] == 0:
            return False
        after = PHASE_TABLE.get((self.status[self.current], command))
        if after is None:
            return False
        self.move(command, after)
        return True

    def move(self, command: str, after: str) -> None:
        here = self.current
        if command == "submit":
            self.iterations[here] = max(1, self.iterations[here])
        if command == "revise":
            if self.iterations[here] >= 4:
                after = "escalated"
            else:
                self.iterations[here] += 1
        self.status[here] = after
        if command in FEEDBACK:
            self.feedback[here] = True
        if after in {"approved", "user_review"}:
            self.feedback[here] = False
        if command == "approve-internal":
            self.pull_request = True
        if after == "escalated":
            self.workflow, self.open_escalations = "escalated", 1
        if command in {"guide", "override"}:
            self.workflow, self.open_escalations = "in_progress", 0
        if after == "approved" and here < 4:
            self.current += 1
            self.status[self.current] = "in_progress"

    def regress(self, target: int) -> bool:
        if self.workflow != "in_progress" or target >= self.current:
            return False
        for later in range(target + 1, self.current + 1):
            self.status[later], self.iterations[later] = "pending", 0
            self.feedback[later] = False
        self.status[target], self.feedback[target] = "in_progress", True
        self.current = target
        return True

    def complete(self) -> bool:
        done = self.status == ["approved"] * 5 and self.pull_request
        if done and self.workflow == "in_progress":
            self.workflow = "completed"
            return True
        return False

    def told(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "current": NAMES[self.current],
            "status": self.status,
            "iterations": self.iterations,
            "feedback": self.feedback,
            "open escalations": self.open_escalations if self.workflow != "cancelled" else None,
        }


def told(content: Content) -> dict[str, Any]:
    """The same of the files; both of them have to say it."""
    state = content.state
    summaries = [state.phases[name] for name in NAMES]
    details = [content.statuses[name] for name in NAMES]
    assert [each.status for each in summaries] == [each.status for each in details]
    assert [each.iterations for each in summaries] == [each.iterations for each in details]
    for each in summaries:
        assert (each.started_at is None) == (each.status == "pending")
        assert (each.completed_at is not None) == (each.status == "approved")
    open_ones = [each for each in state.escalations if each["resolved"] is None]
    return {
        "workflow": state.status,
        "current": state.current_phase,
        "status": [each.status for each in details],
        "iterations": [each.iterations for each in details],
        "feedback": [each.current_feedback is not None for each in details],
        "open escalations": len(open_ones) if state.status != "cancelled" else None,
    }


class Comparison(RuleBasedStateMachine):
    """Commands in any order; allowed and refused alike in the model and in the machine."""

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.begin_files()

    def begin_files(self) -> None:
        self.content = moves.begin(SLUG, AT, title="User Auth")

    def change(self, command: str, arguments: list[str]) -> None:
        after = move(command, *arguments)(self.content, AT)
        # As the next command reads it.
        state = STATE_KIND.parse(after.state.encode())
        statuses = {name: STATUS_KIND.parse(each.encode()) for name, each in after.statuses.items()}
        self.content = Content(state, statuses)

    def do(self, command: str, target: int | None = None) -> None:
        arguments = [NAMES[target]] if target is not None else []
        arguments = ["#7"] if command == "approve-internal" else arguments
        before = self.content
        encoded = [before.state.encode(), *(each.encode() for each in before.statuses.values())]
        if self.model.do(command, target):
            self.change(command, arguments)
        else:
            with pytest.raises(IllegalMove):
                self.change(command, arguments)
        # A move changes nothing of what it is given.
        assert encoded == [
            before.state.encode(),
            *(each.encode() for each in before.statuses.values()),
        ]
        assert told(self.content) == self.model.told()
        assert list(machine.contradictions(self.content.state)) == []
        for name in NAMES:
            was, now = before.statuses[name].history, self.content.statuses[name].history
            assert now[: len(was)] == was

    # Ways to get far, in front of those that go anywhere.
    @rule(times=st.integers(1, 5))
    def finish_phases(self, times: int) -> None:
        for _ in range(times):
            for step in APPROVE_PHASE:
                self.do(step.split()[0])

    @rule(times=st.integers(1, 5))
    def go_round(self, times: int) -> None:
        for _ in range(times):
            self.do("submit")
            self.do("revise")

    @rule(command=st.sampled_from(sorted(set(MOVES) - {"regress", "cancel"})))
    def any_command(self, command: str) -> None:
        self.do(command)

    @rule(earlier=st.integers(0, 4))
    def regress(self, earlier: int) -> None:
        self.do("regress", earlier)

    @precondition(lambda self: self.model.current > 2)
    @rule()
    def cancel(self) -> None:
        self.do("cancel")


class ComparisonOfFiles(Comparison):
    """The same through the commands' own way, with real files."""

    def begin_files(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.now = datetime(2026, 2, 27, 10, tzinfo=UTC)
        FORMAT.start(self.place(), SLUG, title="User Auth", description="x\n")
        self.reread()

    def place(self) -> Place:
        self.now += timedelta(minutes=1)
        return Place(Store(self.folder.name), Settings(), self.now, None, None)

    def reread(self) -> None:
        store = Store(self.folder.name)
        feature = files.read(store, store.root / files.FOLDER / SLUG)
        assert files.disagreements(feature) == ()
        assert list(FORMAT.problems_of(store, feature.folder)) == []
        self.content = files.reconciled(feature, AT)

    def change(self, command: str, arguments: list[str]) -> None:
        reviews = self.reviews()
        try:
            FORMAT.change(self.place(), KEY, move(command, *arguments))
        except IllegalMove:
            assert self.reviews() == reviews
            raise
        assert self.reviews() == reviews + (command in REVIEWED)
        self.reread()

    def reviews(self) -> int:
        return len(list(Path(self.folder.name).glob(f"{files.FOLDER}/*/*/reviews/*")))

    def teardown(self) -> None:
        self.folder.cleanup()


TestMachine = Comparison.TestCase
TestMachine.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)


@pytest.mark.long
class TestMachineAtLength(Comparison.TestCase):
    settings = settings(max_examples=600, stateful_step_count=25, deadline=None)


TestFiles = ComparisonOfFiles.TestCase
TestFiles.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


def content(*commands: str) -> Content:
    found = moves.begin(SLUG, AT, title="User Auth")
    for command in commands:
        name, *arguments = command.split()
        found = after(found, name, *arguments)
    return found


def after(found: Content, command: str, *arguments: str) -> Content:
    return move(command, *arguments)(found, AT)


def refusal(found: Content, command: str, *arguments: str) -> str:
    with pytest.raises(IllegalMove) as caught:
        after(found, command, *arguments)
    return f"{caught.value.cause} / {caught.value.hint}"


def test_a_refusal_says_what_is_possible() -> None:
    """From where it stands."""
    assert refusal(content("submit"), "approve") == (
        "01-requirements is in review; approve is not possible now / "
        "Possible: holdfast gate revise, approve-internal, escalate"
    )
    escalated = content("submit", "escalate stuck")
    assert refusal(escalated, "submit").startswith("'User Auth' is escalated: stuck / A person")
    assert refusal(content("cancel"), "submit").startswith("'User Auth' is cancelled")
    assert "is not done: 01-requirements, 02-" in refusal(content(), "complete")
    assert "no pull request is known" in refusal(content("submit"), "approve-internal")
    done = content(*APPROVE_PHASE * 5)
    done.state.pr_number = None
    assert "no pull request is known" in refusal(done, "complete")
    assert "nobody has submitted anything" in refusal(content("escalate stuck"), "override")
    assert "holdfast gate complete" in refusal(done, "submit")


def test_a_maximum_of_its_own_counts_but_never_more_than_four() -> None:
    """A file may say 2; one that says 9 does not make the iterations invalid."""
    for maximum, expected in ((2, 2), (9, 4)):
        found = content("submit")
        found.status.max_iterations = maximum
        for _ in range(expected - 1):
            found = after(after(found, "revise"), "submit")
        found = after(found, "revise", "still")
        assert found.state.phase.escalation_reason == f"maximum of {expected} iterations reached"
        assert (found.status.iterations, found.status.current_feedback) == (expected, "still")


def test_an_escalation_has_the_documented_shape_and_others_stay() -> None:
    """Resolved by guidance, by an override, or by somebody with a name."""
    found = content("submit")
    found.state.escalations = [{"why": "from another tool"}]
    found = after(found, "escalate", "lost")
    assert found.state.escalations == [
        {"why": "from another tool"},
        {"phase": NAMES[0], "reason": "lost", "raised": AT, "resolved": None, "by": None},
    ]
    for step, by in (
        (move("guide"), "guidance"),
        (move("override"), "override"),
        (partial(moves.guide, text="so", by="maintainer"), "maintainer"),
    ):
        state = step(found, AT).state
        assert state.escalations[1]["by"] == by
        assert state.escalations[1]["resolved"] == AT
        assert state.escalations[0] == {"why": "from another tool"}


def test_guidance_stands_before_the_feedback_that_is_open() -> None:
    """Nothing that was asked for is lost."""
    found = content("submit", "revise errors", "escalate stuck", "guide first")
    assert found.status.current_feedback == "first\n\nStill open:\nerrors"


def test_the_pull_request_is_known_by_its_url_or_its_number() -> None:
    """The number is taken from the URL; a new number does not keep the URL of another one."""
    url = "https://github.com/OWNER/REPO/pull/12"
    assert PullRequest.parse(url) == (12, url)
    assert PullRequest.parse(f"{url}/files#diff").number == 12
    assert PullRequest.parse("#7") == (7, None) == PullRequest.parse("7")
    for wrong in ("", "seven", "0", "https://github.com/OWNER/REPO/issues/1", "javascript:1"):
        with pytest.raises(IllegalMove):
            PullRequest.parse(wrong)
    found = content("submit", f"approve-internal {url}")
    assert (found.state.pr_number, found.state.pr_url) == (12, url)
    for number, known in ((12, url), (13, None)):
        found = after(
            after(after(found, "request-changes"), "submit"), "approve-internal", f"#{number}"
        )
        assert (found.state.pr_number, found.state.pr_url) == (number, known)


def test_what_another_orchestrator_left_between_two_phases_goes_on() -> None:
    """It approved a phase, and did not begin the next one."""
    found = content()
    for each in (found.state.phases[NAMES[0]], found.status):
        each.status = "approved"
    found = after(found, "submit")
    assert (found.phase, found.status.status) == (NAMES[1], "in_review")
    assert [each["action"] for each in found.status.history] == ["started", "submitted"]


def test_after_a_reset_the_artefact_is_created_anew() -> None:
    """In the words of the history."""
    found = content(*APPROVE_PHASE, "submit", "revise", "submit")
    found = after(found, "regress", NAMES[0])
    for name in ("submit", "approve-internal", "approve", "submit", "revise"):
        found = after(found, name)
    actions = [each["action"] for each in found.status.history]
    assert actions == [
        *("started", "submitted", "created", "submitted", "reset"),
        *("started", "submitted", "created"),
    ]
