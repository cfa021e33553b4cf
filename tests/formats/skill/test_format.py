"""What the rest of the house sees: the briefing after every step, standing, and hands off the files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from surveying import surveyed

from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.skill import facts, moves, summary
from holdfast.formats.skill.facts import Position
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moves import (
    PULL_REQUEST,
    block,
    complete_phase,
    record_checkpoint,
    unblock,
)
from holdfast.formats.skill.tasks import (
    add_tasks,
    complete_task,
    complete_task_phase,
    confirm_failure,
    next_cycle,
    note_file,
    record_tests,
    start_task,
    write_test,
)
from holdfast.testing import Compactions, Project
from skillwork import BEGUN, EXAMPLES, FEATURE, example, first, place, put, start


def only(place: Place) -> Workflow:
    (workflow,) = surveyed(FORMAT, place).workflows
    return workflow


Step = tuple[str, Callable[..., State], str, str]

PUSH = "See whether feat/user-auth is pushed, then create the pull request"
DEV: list[Step] = [
    (
        "the feature is loaded",
        partial(add_tasks, descriptions=["Add login method", "Add logout method"]),
        "Phase load_feature: go on, and complete it",
        "",
    ),
    ("loaded", complete_phase, "Phase create_branch: go on, and complete it", ""),
    (
        "the branch is there",
        complete_phase,
        "Task 1/2 - Add login method, not begun yet",
        "Resuming task 1/2",
    ),
    (
        "task 1 is begun",
        start_task,
        "Task 1/2 - Add login method, RED phase (write a failing test)",
        "Resuming task 1/2, currently in RED phase",
    ),
    (
        "its test fails",
        partial(record_tests, passed=False, failing=["test_login"]),
        "RED phase (write a failing test); tests are failing",
        "currently in RED phase",
    ),
    (
        "red is done",
        complete_task_phase,
        "Task 1/2 - Add login method, GREEN phase (make tests pass); tests are failing",
        "Resuming task 1/2, currently in GREEN phase",
    ),
    (
        "the tests pass",
        partial(record_tests, passed=True),
        "GREEN phase (make tests pass); tests are passing",
        "currently in GREEN phase",
    ),
    (
        "green is done",
        complete_task_phase,
        "REFACTOR phase (clean up, tests stay green); tests are passing",
        "currently in REFACTOR phase",
    ),
    (
        "refactor is done",
        complete_task_phase,
        "Task 1/2 - Add login method, commit it and complete the task",
        "Resuming task 1/2",
    ),
    (
        "task 1 is committed",
        partial(complete_task, commit="abc123"),
        "Task 2/2 - Add logout method, not begun yet",
        "Resuming task 2/2",
    ),
    (
        "task 2 is begun",
        partial(start_task, no_tdd=True),
        "Task 2/2 - Add logout method",
        "task 2/2",
    ),
    (
        "it waits",
        partial(block, reason="no token"),
        "Blocked: no token; a person has to say how to go on",
        "",
    ),
    ("it goes on", unblock, "Task 2/2 - Add logout method, in progress", "Resuming task 2/2"),
    (
        "task 2 is committed",
        partial(complete_task, commit="def456"),
        "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr",
        "",
    ),
    (
        "verification begins",
        complete_phase,
        "Pending: lint, test, security_review, code_simplifier, pr",
        "",
    ),
    (
        "lint fails",
        partial(record_checkpoint, checkpoint="lint", passed=False),
        "Pending: lint (failed), test, security_review",
        "",
    ),
    (
        "lint passes",
        partial(record_checkpoint, checkpoint="lint", passed=True),
        "Pending: test, security_review, code_simplifier, pr",
        "",
    ),
    (
        "test passes",
        partial(record_checkpoint, checkpoint="test", passed=True, values={"count": 3}),
        "Pending: security_review, code_simplifier, pr",
        "",
    ),
    (
        "it is reviewed",
        partial(record_checkpoint, checkpoint="security_review", values={"findings": 0}),
        "Pending: code_simplifier, pr",
        "",
    ),
    (
        "it is simple",
        partial(record_checkpoint, checkpoint="code_simplifier", values={"issues": 0}),
        "All tasks complete. Pending: pr",
        "",
    ),
    ("verified", complete_phase, PUSH, ""),
    (
        "the pull request is there",
        partial(record_checkpoint, checkpoint="pr_created", values={"pr_number": 7}),
        "Phase pr_creation: go on, and complete it",
        "",
    ),
    (
        "done",
        complete_phase,
        "All phases are completed: review the whole, then complete the workflow",
        "",
    ),
]
TDD: list[Step] = [
    (
        "the test is written",
        partial(write_test, file="tests/test_x.py", test="test_x"),
        "(write a failing test); the test is written in tests/test_x.py, confirm that it fails",
        "",
    ),
    (
        "it was seen failing",
        partial(confirm_failure, reason="no such function"),
        "its failure is confirmed",
        "",
    ),
    ("red is done", complete_phase, "Cycle 1, GREEN phase (make tests pass)", ""),
    ("code is written", partial(note_file, path="x.py"), "Cycle 1, GREEN phase", ""),
    (
        "tests fail",
        partial(record_tests, passed=False, failing=["test_x"], error="NameError"),
        "Cycle 1, GREEN phase (make tests pass); tests are failing: NameError",
        "",
    ),
    (
        "tests pass",
        partial(record_tests, passed=True, passing=["test_x"]),
        "Cycle 1, GREEN phase (make tests pass); tests are passing",
        "",
    ),
    (
        "green is done",
        complete_phase,
        "Cycle 1, REFACTOR phase (clean up, tests stay green); tests are passing",
        "",
    ),
    (
        "refactor is done",
        complete_phase,
        "Cycle 1, COMMIT phase (commit the cycle)",
        "",
    ),
    (
        "committed",
        partial(complete_phase, commit="abc"),
        "Cycle 1 is committed: begin the next one, or complete the workflow",
        "",
    ),
    ("once more", next_cycle, "Cycle 2, RED phase (write a failing test)", ""),
]


@pytest.mark.parametrize("script", ["dev", "tdd"])
def test_after_every_single_step_a_compaction_brings_back_the_place(
    script: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In the guidance and in the resume summary: task, phase, result, what is pending, what is next."""
    project = holdfast_project
    here = place(project)
    if script == "dev":
        key = start(here, "dev", FEATURE).file.key
    else:
        key = start(here, "tdd", "Add login").file.key
    for name, move, action, line in DEV if script == "dev" else TDD:
        held = FORMAT.change(here, key, move).entry
        told = only(here).briefing.next_action
        assert told is not None, name
        assert action in told, name
        assert (line or told) in summary.headline(Position(held.state)), name
        for text in (
            summary.overview(Position(held.state), here.now),
            summary.resuming(Position(held.state), here.now),
        ):
            assert text, name
        assert f"Next action: {told}" in compaction_cycle().guidance, name


def test_the_briefing_of_the_documents_dev(holdfast_project: Project) -> None:
    """Name, kind, phase, what is next, what is to be read, what is known."""
    feature = "features/foundation/event-infrastructure.md"
    holdfast_project.write(feature, "# Event Infrastructure\n")
    put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    workflow = only(place(holdfast_project))
    told = workflow.briefing
    assert (told.name, told.kind, told.status) == ("Event Infrastructure", "dev", "in_progress")
    assert (told.phase, told.phases, told.phase_name) == (3, 5, "task_execution")
    assert told.next_action == (
        "Task 2/3 - Implement OutboxPublisher, GREEN phase (make tests pass)"
    )
    assert told.gate == "open tasks: 2, 3"
    assert told.reading == (f"@{feature}",)
    assert dict(told.context) == {
        "branch": "feat/event-infrastructure",
        "tasks completed": "1 of 3",
        "commits": "task 1: 172c0b0",
        "pending checkpoints": "lint, test, security_review, code_simplifier, pr",
    }
    assert (workflow.key, workflow.standing) == ("skill:dev-a1b2c3d4", "active")


def test_the_briefing_of_the_documents_tdd(holdfast_project: Project) -> None:
    """With its last error and its last run; the feature's file is to be read, though it is missing."""
    put(holdfast_project, "tdd-b2c3b2c3", EXAMPLES["tdd"])
    told = only(place(holdfast_project)).briefing
    assert (told.phase, told.phases, told.phase_name) == (2, 4, "green")
    assert told.gate == "the tests do not pass yet"
    assert told.next_action == (
        "Cycle 1, GREEN phase (make tests pass); tests are failing: no method named `login` found"
    )
    assert told.reading == ("@features/auth/user-login.md",)
    assert dict(told.context)["last test run"] == (
        "failed at 2025-01-08T21:14:00Z, cargo test login; "
        "failing: test_login_with_valid_credentials"
    )


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "a\0b", ".", "link.md"])
def test_only_a_file_of_the_project_is_to_be_read(
    path: str, holdfast_project: Project, tmp_path: Path
) -> None:
    """Whatever a state that came with a repository names."""
    (tmp_path / "outside.md").write_text("x", "utf-8")
    (holdfast_project.root / "link.md").symlink_to(tmp_path / "outside.md")
    data = json.loads(json.dumps(EXAMPLES["dev"]))
    data["context"]["feature_file"] = path
    put(holdfast_project, "dev-a1b2c3d4", data)
    assert only(place(holdfast_project)).briefing.reading == ()


def test_a_tdd_within_its_dev_is_told_with_it(holdfast_project: Project) -> None:
    """Its phase, its result and its failing test; and the other way round."""
    here = place(holdfast_project)
    dev = start(here, "dev", FEATURE, tasks=["Add login", "Add logout"]).file
    for move in (complete_phase, complete_phase, start_task):
        FORMAT.change(here, dev.key, move)
    inner = start(here, "tdd", "Add login", feature_file=FEATURE, task_index=1).file
    FORMAT.change(here, inner.key, confirm_failure, "not there")
    FORMAT.change(here, inner.key, complete_phase)
    FORMAT.change(here, inner.key, record_tests, passed=False, failing=["test_login"])
    told = {each.key: each.briefing for each in surveyed(FORMAT, here).workflows}
    assert told[dev.key].next_action == (
        "Task 1/2 - Add login, GREEN phase (make tests pass); tests are failing"
    )
    context = dict(told[dev.key].context)
    assert "test_login" in context["last test run"]
    assert context["test-driven work within"].startswith("Add login: Cycle 1, GREEN phase")
    assert dict(told[inner.key].context)["part of"] == "User Login, task 1 of 2"

    found = FORMAT.look(here)
    file = next(each for each in found.live if each.state.skill == "dev")
    within = facts.nested(file, found.live)
    line = summary.headline(Position(file.state, within.state if within else None))
    assert line == "Resuming task 1/2, currently in GREEN phase"
    FORMAT.end(here, inner.key, moves.abandon)
    told = {each.key: each.briefing for each in surveyed(FORMAT, here).workflows}
    assert "test-driven work within" not in dict(told[dev.key].context)


def test_a_tdd_of_another_feature_is_not_part_of_it() -> None:
    """Neither is one whose task is not in the list."""
    dev, inner = example("dev"), example("tdd")
    assert not facts.is_part_of(inner, dev)
    inner.context.feature_file = dev.context.feature_file
    assert facts.is_part_of(inner, dev)
    inner.context.task_index = 9
    assert not facts.is_part_of(inner, dev)


def test_untouched_for_the_days_that_are_set_is_stale(holdfast_project: Project) -> None:
    """By the file's time too, since a jq line need not state one."""
    path = put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    assert only(place(holdfast_project)).standing == "active"
    old = (place(holdfast_project).now - timedelta(days=8)).timestamp()
    os.utime(path, (old, old))
    workflow = only(place(holdfast_project))
    assert (workflow.standing, workflow.remark) == ("stale", "untouched for 8 days")
    assert only(place(holdfast_project, stale_days=30)).standing == "active"


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_what_has_ended_is_told_in_one_line(status: str, holdfast_project: Project) -> None:
    """Also where its file was left in active/."""
    data = json.loads(json.dumps(EXAMPLES["dev"]))
    data["workflow"]["status"] = status
    put(holdfast_project, "dev-a1b2c3d4", data)
    workflow = only(place(holdfast_project))
    assert (workflow.standing, workflow.remark) == ("finished", f"{status} on 2025-01-08")


def test_a_blocked_one_is_active(holdfast_project: Project) -> None:
    """It is restored, with what blocks it."""
    data = json.loads(json.dumps(EXAMPLES["dev"]))
    data["workflow"]["status"] = "blocked"
    put(holdfast_project, "dev-a1b2c3d4", data)
    workflow = only(place(holdfast_project))
    assert (workflow.standing, workflow.briefing.status) == ("active", "blocked")
    assert workflow.briefing.next_action == "Blocked; a person has to say how to go on"


def test_a_state_that_nobody_wrote_by_command_has_a_copy_after_a_hook(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """So that it can be brought back when it gets damaged; the person is told."""
    path = put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    compaction_cycle()
    path.write_text("{", "utf-8")
    os.utime(path, (0, 0))
    played = compaction_cycle()
    assert "Task 2/3 - Implement OutboxPublisher" in played.guidance
    assert "could not be read (not JSON" in played.message
    assert path.read_text("utf-8") == "{"


def test_a_broken_one_without_a_copy_is_told(holdfast_project: Project) -> None:
    """And costs nothing else."""
    path = put(holdfast_project, "dev-00000000", "{")
    os.utime(path, (0, 0))
    put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    survey = surveyed(FORMAT, place(holdfast_project), 1)
    assert [each.name for each in survey.workflows] == ["Event Infrastructure"]
    assert any("dev-00000000.json could not be read: not JSON" in each for each in survey.notes)


HOSTILE: list[object] = [
    {"workflow": {}, "state_machine": None},
    {"workflow": {"id": "x" * 9000, "branch": "\x1b[31m\n"}, "state_machine": {"phases": [None]}},
    {"workflow": {}, "state_machine": {"phases": "x", "current_phase": 5}},
    {"workflow": {}, "state_machine": {}, "tasks": [{"index": -1}, {"index": 2**80}, {}]},
    {"workflow": {"created_at": 5, "updated_at": []}, "state_machine": {}, "history": [{"at": 1}]},
    {"workflow": {}, "state_machine": {}, "checkpoints": {"": None, "x": [1]}},
    {"workflow": {"id": "\ud800"}, "state_machine": {"current_phase": "\ud800"}},
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files_break_nothing(data: object, holdfast_project: Project) -> None:
    """Read or named as wrong; neither sync nor inspect nor a summary fails."""
    path = put(holdfast_project, "dev-a1b2c3d4", data)
    here = place(holdfast_project)
    survey = surveyed(FORMAT, here, 1)
    assert survey.failure is None
    assert survey.workflows or survey.notes
    assert FORMAT.inspect(path, path.read_bytes()) is not None
    for held in FORMAT.look(here).active:
        for text in (
            summary.overview(Position(held.state), here.now),
            summary.resuming(Position(held.state), here.now),
            summary.headline(Position(held.state)),
            summary.question(Position(held.state)),
        ):
            assert "\x1b" not in text
            text.encode()


@pytest.mark.needs("git")
def test_whether_a_branch_is_pushed(holdfast_project: Project, tmp_path: Path) -> None:
    """By what git here knows; without git there is nothing to say."""
    project, state = holdfast_project, first("dev", "f.md", "2025-01-08", identifier="dev-1")
    state.state_machine.current_phase = PULL_REQUEST
    state.workflow.branch = "feat/x"
    assert facts.position(place(project), state, None).pushed is None
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.git("init", "-q", "--bare", str(tmp_path / "remote"))
    project.git("remote", "add", "origin", str(tmp_path / "remote"))
    project.git("push", "-q", "-u", "origin", "main")
    project.git("checkout", "-q", "-b", "feat/x", "--track", "origin/main")
    assert facts.position(place(project), state, None).pushed == "unpushed"
    project.git("push", "-q", "origin", "feat/x")
    assert facts.position(place(project), state, None).pushed == "pushed"
    project.git("commit", "-q", "--allow-empty", "-m", "more")
    assert facts.position(place(project), state, None).pushed == "behind"
    for branch in ("gone", None):
        state.workflow.branch = branch
        assert facts.position(place(project), state, None).pushed is None


def test_times_are_told_as_people_say_them() -> None:
    """From just now to days; a time that is none is unknown."""
    state = example("dev")
    for minutes, expected in ((0.5, "just now"), (1, "1 minute ago"), (125, "2 hours ago")):
        now = BEGUN + timedelta(minutes=minutes)
        assert f"Started: {expected}" in summary.overview(Position(state), now)
    assert "Started: 3 days ago" in summary.overview(Position(state), BEGUN + timedelta(days=3))
    state.workflow.created_at = "2025-01-08T22:00:00+02:00"
    assert "Started: 1 hour ago" in summary.overview(Position(state), BEGUN + timedelta(hours=1))
    state.workflow.created_at = "soon"
    assert "Started: unknown" in summary.overview(Position(state), BEGUN)
