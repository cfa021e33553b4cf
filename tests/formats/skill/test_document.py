"""The document is true of us: its examples, its queries, its shell lines, its summaries."""

from __future__ import annotations

import copy
import json
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.skill import files, moves, summary
from holdfast.formats.skill.facts import Position
from holdfast.formats.skill.files import KIND
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moves import complete_phase, record_checkpoint
from holdfast.formats.skill.tasks import (
    complete_task,
    complete_task_phase,
    confirm_failure,
    note_file,
    record_tests,
    start_task,
    write_test,
)
from holdfast.testing import Project
from skillwork import (
    BEGUN,
    EXAMPLES,
    FEATURE,
    STATES,
    at,
    bash,
    contains,
    example,
    first,
    index_ids,
    is_index_true,
    place,
    put,
    shell,
    shown,
    start,
)


def problems(data: object) -> tuple[str, ...]:
    report = FORMAT.inspect(Path("state.json"), json.dumps(data).encode())
    assert report is not None
    return report.problems


@pytest.mark.parametrize("name", STATES)
def test_every_example_is_valid(name: str, holdfast_project: Project) -> None:
    """The index, the common fields, the /dev and the /tdd."""
    path = put(holdfast_project, f"{name}-a1b2c3d4", EXAMPLES[name])
    done = holdfast_project.run("inspect", str(path))
    assert done.stdout == f"{path}: valid, format skill\n"


@pytest.mark.parametrize("name", STATES)
def test_what_is_read_is_written_as_it_was(name: str) -> None:
    """Byte for byte, in the form that jq prints: order, nulls and unknown fields."""
    data = copy.deepcopy(STATES[name])
    data = {"mine": {"z": 1, "a": None}, **data, "tasks": data.get("tasks")}
    data |= {"about": "a name of ours", "skill": 1, "phase": [], "model_config": None}
    data["state_machine"]["phases"][0]["owner"] = ["x", {"deep": 1.5}]
    raw = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
    assert KIND.parse(raw).encode() == raw


def test_a_move_changes_what_it_says_and_nothing_else() -> None:
    """A task that is completed in the document's /dev."""
    before = example("dev")
    after = record_checkpoint(before, at(200), "lint", passed=True).to_json()
    expected = copy.deepcopy(EXAMPLES["dev"])
    expected["workflow"]["updated_at"] = at(200)
    expected["checkpoints"]["lint"] = {"status": "completed", "last_run": at(200), "passed": True}
    expected["history"].append(
        {"at": at(200), "event": "checkpoint_recorded", "checkpoint": "lint", "passed": True}
    )
    assert json.dumps(after) == json.dumps(expected)
    assert before.to_json() == EXAMPLES["dev"]


WRONG: list[tuple[str, list[Any], Any, str]] = [
    ("dev", ["workflow", "status"], "going", "workflow.status: expected one of in_progress,"),
    ("dev", ["workflow", "id"], None, "workflow.id: expected the workflow's id, found nothing"),
    ("dev", ["workflow", "id"], 5, "workflow.id: expected a text, found 5"),
    ("dev", ["workflow", "created_at"], "soon", "workflow.created_at: expected a time in ISO 8601"),
    ("dev", ["_schema"], None, "_schema.skill: expected the skill's name, found nothing"),
    (
        "dev",
        ["tasks", 1, "status"],
        "done",
        "tasks.1.status: expected one of pending, in_progress,",
    ),
    ("dev", ["tasks", 1, "index"], "2", "tasks.1.index: expected a whole number, found '2'"),
    ("dev", ["tasks", 1, "index"], 3, "tasks.1.index: expected 2, its place in the list, found 3"),
    ("dev", ["tasks"], "none", "tasks: expected a list, found 'none'"),
    (
        "dev",
        ["tasks", 0, "tdd_phases", "red"],
        "blue",
        "tasks.0.tdd_phases.red: expected one of pending, in_progress, completed, found 'blue'",
    ),
    (
        "dev",
        ["state_machine", "current_phase"],
        "nowhere",
        "state_machine.current_phase: expected one of load_feature, create_branch,",
    ),
    (
        "dev",
        ["state_machine", "phases", 2, "progress"],
        "most",
        "state_machine.phases.2.progress: expected done/all, such as 5/7, found 'most'",
    ),
    (
        "dev",
        ["checkpoints", "lint", "passed"],
        "yes",
        "checkpoints.lint.passed: expected true or false, found 'yes'",
    ),
    ("dev", ["history", 0], {"at": "x"}, "history.0.event: expected a text, found 'nothing'"),
    (
        "tdd",
        ["state_machine", "phases", 1, "tests_passing"],
        "no",
        "state_machine.phases.1.tests_passing: expected true or false, found 'no'",
    ),
    ("tdd", ["files_modified", 0], {}, "files_modified.0.path: expected a value, found nothing"),
]


@pytest.mark.parametrize(("name", "where", "value", "expected"), WRONG)
def test_a_wrong_field_is_told_with_its_path(
    name: str, where: list[Any], value: Any, expected: str
) -> None:
    """And with what is expected there."""
    data = copy.deepcopy(EXAMPLES[name])
    target = data
    for key in where[:-1]:
        target = target[key]
    target[where[-1]] = value
    assert any(problem.startswith(expected) for problem in problems(data)), problems(data)


def test_other_formats_are_not_ours() -> None:
    """By shape, not by path: a canonical state, a list, somebody's settings."""
    for data in ({"workflow": "X", "phase": {}}, [1], {"workflow": {"a": 1}}, {"tasks": []}):
        assert (
            FORMAT.inspect(
                Path(".claude/workflow-state/active/dev-1.json"), json.dumps(data).encode()
            )
            is None
        )


def test_the_dev_example_is_reachable() -> None:
    """By moves alone, every fact of it."""
    state = first(
        "dev",
        "features/foundation/event-infrastructure.md",
        at(0),
        identifier="dev-evt-infra-a1b2",
        branch="feat/event-infrastructure",
        tasks=[
            "Implement EventId value object",
            "Implement OutboxPublisher",
            "Add integration tests",
        ],
    )
    state = complete_phase(state, at(1))
    state = complete_phase(state, at(2))
    state = start_task(state, at(2.5))
    for phase in ("red", "green", "refactor"):
        state = complete_task_phase(state, at(5), phase)
    state = complete_task(state, at(10), commit="172c0b0")
    state = complete_task_phase(start_task(state, at(20)), at(30), "red")
    state = moves.note_compaction(state, at(150), BEGUN + timedelta(minutes=150))
    expected = copy.deepcopy(EXAMPLES["dev"])
    expected["state_machine"]["phases"][2]["started_at"] = at(2)  # it begins with the one before
    assert contains(state.to_json(), expected)
    assert FORMAT.inspect(Path("x"), state.encode()).problems == ()  # type: ignore[union-attr]


def test_the_tdd_example_is_reachable() -> None:
    """By moves alone, every fact of it but the wording of two events."""
    state = first(
        "tdd",
        "Add login method to AuthService",
        at(60),
        identifier="tdd-auth-login-b2c3",
        branch="feat/user-auth",
        feature_file=FEATURE,
        task_index=2,
        test_command="cargo test login",
    )
    test, code = "tests/auth_service_test.rs", "src/services/auth_service.rs"
    name = "test_login_with_valid_credentials"
    state = note_file(state, at(69), test, lines=25)
    state = write_test(state, at(70), test, test=name)
    state = confirm_failure(state, at(71), "AuthService::login not implemented")
    state = complete_phase(state, at(72))
    state = note_file(state, at(73), code, lines=12)
    state = record_tests(
        state, at(74), passed=False, failing=[name], error="no method named `login` found"
    )
    state.workflow.updated_at = at(75)
    expected = copy.deepcopy(EXAMPLES["tdd"])
    expected["history"][0]["task"] = "Add login method to AuthService"
    expected["history"][1]["at"] = at(60)  # red begins with the workflow
    expected["history"][3]["reason"] = "AuthService::login not implemented"
    assert contains(state.to_json(), expected)
    assert FORMAT.inspect(Path("x"), state.encode()).problems == ()  # type: ignore[union-attr]


def login() -> State:
    """The state behind the document's example of a resumption."""
    state = first(
        "dev",
        FEATURE,
        at(0),
        identifier="dev-auth-a1b2c3",
        branch="feat/user-auth",
        tasks=[
            "Add User model",
            "Add password hashing",
            "Add AuthService",
            "Add login method",
            "Add logout method",
        ],
    )
    state = complete_phase(complete_phase(state, at(1)), at(2))
    for minute, commit in ((10, "abc123"), (20, "def456"), (30, "ghi789")):
        state = start_task(state, at(minute), no_tdd=True)
        state = complete_task(state, at(minute + 5), commit=commit)
    state = complete_task_phase(start_task(state, at(60)), at(70), "red")
    return record_tests(state, at(75), passed=False, failing=["test_login_with_valid_credentials"])


def test_the_summaries_are_the_documents() -> None:
    """Both blocks of the example, word for word."""
    first, second = shown("Example: Resuming After Compaction")
    state, now = login(), BEGUN + timedelta(hours=2)
    found = (
        summary.LOOKING,
        summary.overview(Position(state), now),
        summary.question(Position(state)),
    )
    assert "\n\n".join(found) == first
    # The document's cross has lost its last byte.
    assert summary.resuming(Position(state), now) == second.replace("⌠", "❌ ")


def test_each_scenario_is_one_line() -> None:
    """Scenarios 1 and 2 as they are displayed, and 3 by what git knows."""
    state = login()
    assert summary.headline(Position(state)) == "Resuming task 4/5, currently in GREEN phase"
    state = record_tests(state, at(79), passed=True)
    state = complete_task_phase(complete_task_phase(state, at(80)), at(81))
    state = complete_task(state, at(82), commit="1")
    state = complete_task(start_task(state, at(83), no_tdd=True), at(84), commit="2")
    state = record_checkpoint(state, at(85), "code_simplifier")
    assert summary.headline(Position(state)) == (
        "All tasks complete. Pending: lint, test, security_review, pr"
    )
    state = record_tests(state, at(86), passed=True)
    state = complete_phase(state, at(86))
    for name in ("lint", "test", "security_review"):
        state = record_checkpoint(state, at(87), name, passed=True)
    state = complete_phase(state, at(88))
    assert summary.headline(Position(state, pushed="pushed")) == (
        "feat/user-auth is pushed: create the pull request"
    )
    assert "push it, then create" in summary.headline(Position(state, pushed="unpushed"))


@pytest.mark.needs("jq", "bash", "md5sum")
def test_the_shell_lines_and_our_commands_take_turns(holdfast_project: Project) -> None:
    """Start by command; resume, task, phase, checkpoint, end by the document; index by both."""
    project = holdfast_project
    here = place(project)
    other = start(here, "review", "All of it", phases=["read", "write"]).file
    held = start(here, "dev", FEATURE, tasks=["One", "Two", "Three"]).file
    for _ in range(2):
        FORMAT.change(here, held.key, complete_phase)
    FORMAT.change(here, held.key, start_task, 1)
    relative = here.store.relative(held.path)
    told = bash(
        project,
        shell("Initialize/Resume Workflow") + 'echo "$STATE_FILE $CURRENT_PHASE $CURRENT_TASK"',
        FEATURE_FILE=FEATURE,
    )
    assert told.stdout.splitlines()[-1] == f"{relative} task_execution 1"

    bash(project, shell("Complete Task"), STATE_FILE=relative, TASK_INDEX="1", COMMIT_SHA="a1")
    FORMAT.change(here, held.key, complete_task, 2, commit="b2")
    bash(project, shell("Complete Task"), STATE_FILE=relative, TASK_INDEX="3", COMMIT_SHA="c3")
    FORMAT.change(here, held.key, complete_phase)
    bash(project, shell("Record Checkpoint"), STATE_FILE=relative, LINT_PASSED="true")
    for name in ("test", "security_review", "code_simplifier"):
        FORMAT.change(here, held.key, record_checkpoint, name, passed=True)
    after = FORMAT.change(here, held.key, complete_phase).entry.state
    assert [task.commit_sha for task in after.tasks] == ["a1", "b2", "c3"]
    assert after.phase is not None
    assert (after.phase.name, after.pending) == ("pr_creation", ["pr_created"])
    assert [each["task"] for each in after.history if each["event"] == "task_completed"] == [
        1,
        2,
        3,
    ]
    assert FORMAT.inspect(held.path, held.path.read_bytes()).problems == ()  # type: ignore[union-attr]

    assert index_ids(project) == sorted([held.path.stem, other.path.stem])
    bash(project, shell("Complete Workflow"), STATE_FILE=relative, WORKFLOW_ID=held.path.stem)
    assert index_ids(project) == [other.path.stem]
    found = FORMAT.look(here)
    left = found.find(held.key)
    assert left is not None
    assert found.ended_as(left) is not None, "the snippet leaves the old file in active/"
    assert is_index_true(here)


@pytest.mark.needs("jq", "bash")
def test_a_phase_that_jq_made_current_is_gone_on_from(holdfast_project: Project) -> None:
    """The document's line sets current_phase and leaves the list as it is."""
    project, here = holdfast_project, place(holdfast_project)
    held = start(here, "tdd", "Add login").file
    bash(project, shell("Update State (Phase Transition)"), STATE_FILE=str(held.path))
    state = KIND.parse(held.path.read_bytes())
    assert summary.headline(Position(state)) == "Cycle 1, GREEN phase (make tests pass)"
    after = FORMAT.change(here, held.key, record_tests, passed=True).entry.state
    statuses = [phase.status for phase in after.state_machine.phases]
    assert statuses == ["completed", "in_progress", "pending", "pending"]
    assert FORMAT.change(here, held.key, complete_phase).entry.state.phase.name == "refactor"  # type: ignore[union-attr]


@pytest.mark.needs("jq")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (".state_machine.current_phase", "task_execution"),
        ('.tasks | map(select(.status == "in_progress")) | .[0].index', "4"),
        (
            '.checkpoints | to_entries | map(select(.value.status == "pending")) | .[].key',
            "lint\ntest\nsecurity_review\ncode_simplifier\npr_created",
        ),
        (".workflow.branch", "feat/user-auth"),
    ],
)
def test_the_documents_queries_work_on_our_files(query: str, expected: str, tmp_path: Path) -> None:
    """With jq itself."""
    path = tmp_path / "state.json"
    path.write_bytes(login().encode())
    done = subprocess.run(
        ["jq", "-r", query, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


@pytest.mark.needs("bash", "md5sum")
@pytest.mark.parametrize("text", [FEATURE, "Add login method", "ünïcode ☂", "a  b", "x" * 300])
def test_the_file_is_named_as_the_shell_line_names_it(text: str, holdfast_project: Project) -> None:
    """It hashes the newline of echo, too."""
    line = 'WORKFLOW_HASH=$(echo "${FEATURE_FILE:-$TASK_DESCRIPTION}" | md5sum | cut -c1-8)'
    done = bash(holdfast_project, line + '; printf %s "$WORKFLOW_HASH"', TASK_DESCRIPTION=text)
    assert files.hash_of(text) == done.stdout


@pytest.mark.needs("git", "jq", "bash")
def test_another_branch_is_told_with_both_options(holdfast_project: Project) -> None:
    """In the document's words; without git or on a detached HEAD nothing is said."""
    project, state = holdfast_project, login()
    project.git("init", "-q", "-b", "main")
    path = put(project, "dev-a1b2c3d4", state.to_json())
    line = shell("Stale State (Branch Mismatch)")
    told = bash(project, line, STATE_FILE=str(path)).stdout.rstrip("\n")
    assert "Options: 1) Switch to feat/user-auth" in told
    here, own = place(project, branch="main"), state.workflow.branch
    assert here.branch_mismatch(own) == told.replace("Switch to", "Create")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.git("branch", "feat/user-auth")
    assert here.branch_mismatch(own) == told
    project.git("pack-refs", "--all")
    assert here.branch_mismatch(own) == told
    assert place(project).branch_mismatch(own) is None
    assert place(project, branch=None).branch_mismatch(own) is None
    assert here.branch_mismatch(None) is None
