"""Runs of skills: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Compactions, Project


def ago(**time: float) -> str:
    return (datetime.now(UTC) - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def dev() -> dict[str, Any]:
    """A /dev at the second of three tasks."""
    phases = [
        {"name": "load_feature", "status": "completed"},
        {"name": "task_execution", "status": "in_progress"},
        {"name": "verification", "status": "pending", "steps": ["lint", "test"]},
        {"name": "pr_creation", "status": "pending"},
    ]
    tasks: list[dict[str, Any]] = [
        {"index": 1, "description": "One", "status": "completed"},
        {"index": 2, "description": "Two", "status": "in_progress"},
        {"index": 3, "description": "Three", "status": "pending"},
    ]
    return {
        "_schema": {"version": "1.0", "skill": "dev"},
        "workflow": {
            "id": "dev-0",
            "status": "in_progress",
            "created_at": ago(hours=2),
            "updated_at": ago(hours=1),
        },
        "context": {"feature_file": "features/f.md", "feature_title": "The feature"},
        "state_machine": {"current_phase": "task_execution", "phases": phases},
        "tasks": tasks,
        "checkpoints": {"lint": {"status": "pending"}, "test": {"status": "pending"}},
        "history": [{"at": ago(hours=2), "event": "workflow_started"}],
    }


def keep(project: Project, state: dict[str, Any], folder: str = "active") -> Path:
    path = f".claude/workflow-state/{folder}/{state['workflow']['id']}.json"
    return project.write(path, json.dumps(state))


def kept(path: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return state


def skill(project: Project, *words: str) -> str:
    return project.run("skill", *words).stdout


def test_a_hook_leaves_the_phases_as_they_are(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A jq line had set current_phase alone. The hook completed the phases before it, tasks open or not."""
    state = dev() | {"tasks": ["One", {"description": "Two", "status": "In Progress"}]}
    state["state_machine"]["current_phase"] = "pr_creation"
    path = keep(holdfast_project, state)
    compaction_cycle()
    after = kept(path)
    (*history, noted) = after["history"]
    assert noted["event"] == "context_compacted"
    after["history"], after["workflow"]["updated_at"] = history, state["workflow"]["updated_at"]
    assert after == state


def test_a_completed_phase_that_is_named_gives_way_to_the_one_in_progress(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The jq line had moved the list alone. The phase that was over was told, and set anew."""
    state = dev()
    for task in state["tasks"]:
        task["status"] = "completed"
    _, execution, verification, _ = state["state_machine"]["phases"]
    execution["status"], verification["status"] = "completed", "in_progress"
    path = keep(holdfast_project, state)
    assert "phase 3 of 4: verification" in compaction_cycle().guidance
    assert kept(path)["state_machine"] == state["state_machine"]


def test_a_note_in_the_future_is_not_that_of_this_compaction(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A local time without its offset, read as UTC, lay ahead. No compaction was noted until it had come."""
    state = dev()
    state["history"].append({"at": ago(hours=-9), "event": "context_compacted"})
    path = keep(holdfast_project, state)
    compaction_cycle()
    assert [each["event"] for each in kept(path)["history"]].count("context_compacted") == 2


def test_the_second_of_two_phases_of_one_name_can_be_completed(holdfast_project: Project) -> None:
    """The first one was looked at, and the workflow was stuck."""
    names = ("review", "fix", "review")
    phases = [{"name": name, "status": "pending"} for name in names]
    phases[0]["status"] = "in_progress"
    path = keep(
        holdfast_project,
        dev() | {"tasks": [], "state_machine": {"current_phase": "review", "phases": phases}},
    )
    for _ in names:
        skill(holdfast_project, "phase", "complete")
    assert {each["status"] for each in kept(path)["state_machine"]["phases"]} == {"completed"}


def test_a_tdd_of_a_feature_is_resumed_by_the_line_that_began_it(holdfast_project: Project) -> None:
    """It was looked for by its text and begun by its feature, so it was refused as being there already."""
    line = ("start", "tdd", "Add it", "--feature", "features/a.md", "--number", "1", "--resume")
    skill(holdfast_project, *line)
    assert "Resuming: Add it" in skill(holdfast_project, *line)


def test_the_tdd_of_another_task_is_refused_with_the_way_to_have_both(
    holdfast_project: Project,
) -> None:
    """Both have the file of their feature. --resume must not go on with the other task either."""
    line = ("start", "tdd", "--feature", "features/a.md", "--number")
    skill(holdfast_project, *line, "1", "Add it")
    second = ("skill", *line, "2", "Use it")
    for options in ((), ("--resume",)):
        refused = holdfast_project.run(*second, *options, check=False)
        assert refused.returncode == 1
        assert "another task of the same feature, give --as" in refused.stderr
    holdfast_project.run(*second, "--as", "second")


def test_a_completed_twin_with_a_date_alone_ends_its_left_over(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The date was read as its midnight, and the work of that day seemed to be newer."""
    now = holdfast_project.clock.now()
    state = dev()
    state["workflow"]["updated_at"] = now.isoformat()
    keep(holdfast_project, state)
    state["workflow"] |= {"status": "completed", "completed_at": f"{now:%Y-%m-%d}"}
    keep(holdfast_project, state, "completed")
    assert not compaction_cycle().guidance


def test_the_cleanup_takes_a_left_over_with_its_completed_twin(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The twin went first where the left-over's file was younger, and finished work came back."""
    state = dev() | {"history": []}
    state["workflow"] |= {"created_at": ago(days=3), "updated_at": ago(days=2, hours=1)}
    left_over = keep(holdfast_project, state)
    state["workflow"] |= {"status": "completed", "completed_at": ago(days=2)}
    twin = keep(holdfast_project, state, "completed")
    two_days_ago = time.time() - 2 * 86400
    os.utime(twin, (two_days_ago, two_days_ago))
    skill(holdfast_project, "clean")
    assert not left_over.exists()
    assert not twin.exists()
    assert not compaction_cycle().guidance


def begin_tdd_within(project: Project) -> Path:
    skill(project, "start", "dev", "f.md", "--task", "Add it", "--task", "Use it")
    skill(project, "phase", "complete")
    skill(project, "phase", "complete")
    skill(project, "task", "start", "--no-tdd")
    skill(project, "start", "tdd", "Add it", "--feature", "f.md", "--number", "1")
    (path,) = (project.root / ".claude/workflow-state/active").glob("tdd-*.json")
    return path


def test_a_tdd_ends_with_its_task(holdfast_project: Project) -> None:
    """It went on as a workflow of its own, in the middle of a cycle of finished work."""
    inner = begin_tdd_within(holdfast_project)
    skill(holdfast_project, "task", "complete", "1")
    assert not inner.exists()
    ended = kept(inner.parents[1] / "completed" / inner.name)
    assert ended["workflow"]["status"] == "completed"
    assert ended["history"][-1]["forced"] == "completed with F"


@pytest.mark.parametrize(
    ("words", "status"), [(["complete", "--force", "x"], "completed"), (["abandon"], "abandoned")]
)
def test_a_tdd_ends_with_its_dev(
    words: list[str], status: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The next compaction brought it back although the /dev was over."""
    inner = begin_tdd_within(holdfast_project)
    skill(holdfast_project, *words)
    assert kept(inner.parents[1] / "completed" / inner.name)["workflow"]["status"] == status
    assert not compaction_cycle().guidance


def tdd_of(task: int) -> dict[str, Any]:
    names = ("red", "green", "refactor", "commit")
    phases = [{"name": name, "status": "pending"} for name in names]
    return {
        "_schema": {"version": "1.0", "skill": "tdd"},
        "workflow": {"id": "tdd-0", "status": "in_progress", "updated_at": ago(hours=1)},
        "context": {"task_description": "x", "feature_file": "features/f.md", "task_index": task},
        "state_machine": {"current_phase": "red", "phases": phases},
        "test_state": {"last_result": "failed", "failing_tests": ["test_of_another_task"]},
        "history": [],
    }


@pytest.mark.parametrize("days", [0, 30])
def test_a_tdd_of_other_times_is_not_told_with_its_dev(
    days: int, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Of a completed task, or left a month ago: its failing test was told as that of the task now."""
    old = tdd_of(task=3 if days else 1)
    old["workflow"]["updated_at"] = ago(days=days, hours=3)
    path = keep(holdfast_project, old)
    long_ago = time.time() - days * 86400 - 10800
    os.utime(path, (long_ago, long_ago))
    keep(holdfast_project, dev())
    skill(holdfast_project, "resume", "The feature")
    guidance = compaction_cycle().guidance
    assert "Task 2/3 - Two" in guidance
    assert "test_of_another_task" not in guidance


@pytest.mark.parametrize("indexes", [(0, 1, 2), (1, 1, 1), (0, 0, 0)])
def test_tasks_numbered_otherwise_go_by_their_place(
    indexes: tuple[int, ...], holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Counted from 0, two tasks had the number 1, and the second one could not be reached."""
    state = dev()
    for task, index in zip(state["tasks"], indexes, strict=True):
        task["index"] = index
    path = keep(holdfast_project, state)
    assert "Task 2/3 - Two" in compaction_cycle().guidance
    skill(holdfast_project, "task", "complete", "2")
    assert [each["status"] for each in kept(path)["tasks"]] == ["completed", "completed", "pending"]


def test_what_is_before_the_phase_in_progress_need_not_be_written(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A task in green, and no word of red, was told to be in red; after green it went back to red."""
    state = dev()
    state["tasks"][1]["tdd_phases"] = {"green": "in_progress"}
    path = keep(holdfast_project, state)
    assert "Two, GREEN phase" in compaction_cycle().guidance
    skill(holdfast_project, "task", "phase")
    assert kept(path)["tasks"][1]["tdd_phases"]["refactor"] == "in_progress"


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("PASSED", "tests are passing"),
        ("pass", "tests are passing"),
        ("success", "tests are passing"),
        ("ok", "tests are passing"),
        ("FAIL", "tests are failing"),
        ("timed out", "Last test run: timed out"),
    ],
)
def test_the_result_of_a_run_in_other_words(
    word: str, told: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """All but "passed" was told as failing."""
    state = dev() | {"test_state": {"last_run": ago(minutes=5), "last_result": word}}
    state["tasks"][1]["tdd_phases"] = {"red": "completed", "green": "in_progress"}
    keep(holdfast_project, state)
    guidance = compaction_cycle().guidance
    assert told.lower() in guidance.lower()
    assert ("tests are failing" in guidance) == (word == "FAIL")


def test_red_does_not_tell_the_run_of_the_cycle_before(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The new cycle began with "tests are passing", before it had a test."""
    skill(holdfast_project, "start", "tdd", "T")
    for line in ("fails x", "done", "run --passed", "done", "done", "done", "next"):
        skill(holdfast_project, "tdd", *line.split())
    assert "tests are" not in compaction_cycle().guidance
    skill(holdfast_project, "tdd", "run", "--failed")
    assert "tests are failing" in compaction_cycle().guidance


def test_red_does_not_tell_the_run_of_the_task_before(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The same for the next task of a /dev."""
    state = dev() | {"test_state": {"last_run": ago(minutes=5), "last_result": "passed"}}
    keep(holdfast_project, state)
    skill(holdfast_project, "task", "complete", "2")
    skill(holdfast_project, "task", "start")
    assert "Three, RED phase (write a failing test)\n" in compaction_cycle().guidance


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": [None, {"status": "completed"}, {"description": None, "status": "in_progress"}]},
        {"test_state": "passed", "history": "none", "files_modified": {"a": 1}, "checkpoints": []},
        {"history": [None, 3], "files_modified": [None, 3], "checkpoints": {"lint": None, "x": 3}},
        {"test_state": {"failing_tests": None, "passing_tests": "all", "last_result": None}},
        {"_schema": None, "tasks": None, "checkpoints": None, "history": None},
    ],
)
def test_what_is_null_or_of_another_shape_costs_no_more_than_itself(
    wrong: dict[str, Any], holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As jq pads a list, or half written: the whole state could not be used."""
    path = keep(holdfast_project, dev() | wrong)
    assert "The feature" in compaction_cycle().guidance
    assert kept(path)["tasks"] == (dev() | wrong)["tasks"]
    holdfast_project.run("inspect", str(path), check=False)
    skill(holdfast_project, "show")


def test_a_task_without_a_description_is_called_by_its_number(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    keep(holdfast_project, dev() | {"tasks": [None, None, {"status": "completed"}]})
    assert "Task 1/3 - Task 1" in compaction_cycle().guidance


def test_an_unknown_status_of_work_is_told_and_kept(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One word made the whole state unusable."""
    state = dev()
    state["tasks"][1]["status"], state["tasks"][2]["status"] = "blocked", "someday"
    state["checkpoints"]["lint"]["status"] = "perhaps"
    path = keep(holdfast_project, state)
    cycle = compaction_cycle()
    assert "Task 2/3 - Two" in cycle.guidance
    for where, status in (
        ("tasks.1", "blocked"),
        ("tasks.2", "someday"),
        ("checkpoints.lint", "perhaps"),
    ):
        expected = (
            f"{where}.status: expected one of pending, in_progress, completed, found '{status}'"
        )
        assert expected in cycle.guidance
    skill(holdfast_project, "task", "complete", "2")
    assert kept(path)["tasks"][2] == state["tasks"][2]


@pytest.mark.parametrize("words", ["skill block slow", "skill abandon", "skill complete --force x"])
def test_that_a_copy_was_used_was_not_told(
    words: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The state could not be read, and the command went on from its last good copy in silence."""
    path = keep(holdfast_project, dev())
    compaction_cycle()
    path.write_text("{half", encoding="utf-8")
    assert "its last good copy is used" in holdfast_project.run(*words.split()).stdout
