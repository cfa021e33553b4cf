"""Found by working as an orchestrator, by hand edits, and by files of others in its folder."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.formats.orchestrator import files
from holdfast.testing import Compactions, Project
from orchestrated import example, log, put, state

THEIRS = '{"tool": "another one"}'


def call(project: Project, *arguments: str, code: int = 0) -> str:
    done = project.run("orchestrate", *arguments, session="session-1", check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def begin(project: Project, *tasks: str) -> Project:
    """A run that is executing."""
    call(project, "start", "docs/shop.md", *(word for each in tasks for word in ("--task", each)))
    call(project, "approve-plan")
    return project


@pytest.fixture
def run(holdfast_project: Project) -> Project:
    return begin(holdfast_project, "1.1 Model", "1.2 Tokens", "2.1 Pages")


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [each["task"] for each in entries]


def test_a_checkpoint_json_of_another_tool_is_left_alone(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Neither a hook nor a command writes over it, and the archive leaves it where it is."""
    path = run.write(files.LATEST, THEIRS)
    numbered = run.write(".claude/checkpoint-007.json", THEIRS)
    compaction_cycle()
    assert path.read_text() == THEIRS
    call(run, "warn", "slow")
    assert "checkpoint-009.json" in call(run, "checkpoint")
    call(run, "fail", "enough")
    call(run, "archive")
    assert path.read_text() == numbered.read_text() == THEIRS


def test_a_second_task_done_completes_nothing_that_nobody_began(run: Project) -> None:
    """An agent repeated its last command; with an id it means it."""
    call(run, "task-start")
    call(run, "task-done")
    assert "no agent is recorded for task 1.2" in call(run, "task-done", code=1)
    assert ids(state(run)["completed_tasks"]) == ["1.1"]
    call(run, "task-done", "1.2")
    assert ids(state(run)["completed_tasks"]) == ["1.1", "1.2"]


def test_a_plan_in_which_no_task_is_found_is_not_approved(holdfast_project: Project) -> None:
    """It would be complete at once with nothing done."""
    holdfast_project.write("docs/shop.md", "## Phase 1: Model\n1. 1.1 Without a box\n")
    told = call(holdfast_project, "start", "docs/shop.md")
    assert "phase 'Model' has no open tasks" in told
    assert "the plan has no tasks" in call(holdfast_project, "approve-plan", code=1)


def test_the_parts_of_a_task_are_no_tasks(holdfast_project: Project) -> None:
    """1.1.1 below 1.1."""
    text = "## Phase 1: Model\n### Task 1.1: User\n- [ ] 1.1.1 Field\n- [ ] 1.1.2 Index\n- [ ] 1.2. B\n"
    holdfast_project.write("docs/shop.md", text)
    call(holdfast_project, "start", "docs/shop.md")
    found = [(each["task"], each["name"]) for each in state(holdfast_project)["pending_tasks"]]
    assert found == [("1.1", "User"), ("1.2", "B")]


def test_numbers_without_measure_end_no_command_in_a_crash(run: Project) -> None:
    """More money than can be read."""
    call(run, "cost", "--add", "999999999999", code=3)
    assert "expected an amount" in call(run, "cost", "--add", "999999999999", code=1)


def test_a_limit_with_a_letter_that_only_looks_like_a_unit_stops_no_hook(
    run: Project, compaction_cycle: Compactions
) -> None:
    """A long s, which is an s to whoever ignores case, ended the hook with a KeyError."""
    data = state(run)
    data["safety_bounds"]["max_time"] = "10ſ"
    put(run, data)
    assert "Note: safety_bounds.max_time: expected a duration" in compaction_cycle().guidance


def test_a_start_in_the_year_one_stops_no_hook(run: Project, compaction_cycle: Compactions) -> None:
    """The elapsed time that is written can be read again."""
    data = state(run)
    data["orchestrator"]["start_time"] = "0001-01-01T00:00:00Z"
    del data["safety_bounds"]["elapsed_time"]
    put(run, data)
    assert "STOP" in compaction_cycle().note
    call(run, "pause", "the clock is wrong")


def test_an_old_plan_that_waits_for_approval_has_used_no_time(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Another tool had counted none, and the time since its start stopped what had not begun."""
    call(holdfast_project, "start", "docs/shop.md", "--task", "1.1 Model")
    data = state(holdfast_project)
    data["orchestrator"]["start_time"] = "2025-01-01T00:00:00Z"
    del data["safety_bounds"]["elapsed_time"]
    put(holdfast_project, data)
    note = compaction_cycle().note
    assert "STOP" not in note
    assert "have the plan approved" in note
    data["orchestrator"]["status"] = "executing"
    put(holdfast_project, data)
    assert "STOP" in compaction_cycle().note


def test_an_elapsed_time_that_a_person_corrected_was_overwritten(
    run: Project, compaction_cycle: Compactions
) -> None:
    """It stands, and stops the run where it is beyond the limit."""
    data = state(run)
    data["safety_bounds"]["elapsed_time"] = "2h 5m 0s"
    put(run, data)
    assert "STOP: a limit is reached, time 2h 5m" in compaction_cycle().guidance
    call(run, "warn", "slow", code=3)
    assert state(run)["safety_bounds"]["elapsed_time"].startswith("2h 5m ")


def test_a_checkpoint_before_a_compaction_lost_the_time_worked(
    run: Project, compaction_cycle: Compactions
) -> None:
    compaction_cycle()
    call(run, "task-start")
    compaction_cycle()
    bounds = state(run)["safety_bounds"]
    assert bounds["elapsed_time"].startswith("0h 0m ")
    assert state(run)["checkpoints"][-1]["task"] == "1.1"


def test_an_old_run_was_stopped_for_the_time_since_its_start(
    run: Project, compaction_cycle: Compactions
) -> None:
    """The document's example is of a run that had worked for half an hour."""
    put(run, example())
    assert "STOP" not in compaction_cycle().guidance
    assert "0h 34m" in call(run, "status")


def test_the_iterations_of_a_completed_task_were_warned_of_for_ever(
    run: Project, compaction_cycle: Compactions
) -> None:
    """The line stays in the file, as a record."""
    data = state(run)
    data["safety_bounds"]["max_iterations_per_task"] = 4
    put(run, data)
    call(run, "task-start")
    for _ in range(3):
        call(run, "iterate")
    line = "Iterations of task 1.1 at 75% of limit"
    assert line in compaction_cycle().guidance
    call(run, "task-done")
    assert line not in compaction_cycle().guidance
    assert line in state(run)["safety_bounds"]["warnings"]


def test_no_executor_is_sent_off_where_a_limit_is_reached(run: Project) -> None:
    call(run, "cost", "--add", "20", code=3)
    assert "Nothing was begun" in call(
        run, "agent", "start", "task-executor", "--task", "1.1", code=3
    )
    assert state(run)["active_agents"] == []


def test_a_task_that_is_begun_again_has_the_iterations_that_it_used(run: Project) -> None:
    """Otherwise agents that die would never reach its limit."""
    call(run, "task-start")
    call(run, "iterate")
    call(run, "iterate")
    call(run, "agent", "done")
    call(run, "task-start", "1.1")
    assert state(run)["orchestrator"]["ralph_iteration"] == 2
    assert state(run)["active_agents"][0]["iteration"] == 2


def test_a_restore_from_the_archive_brings_no_learnings_of_later_runs(run: Project) -> None:
    call(run, "learn", "first", "--type", "pattern")
    call(run, "checkpoint")
    call(run, "fail", "enough")
    call(run, "archive")
    run.clock.advance(seconds=60)
    begin(run, "1.1 Other")
    call(run, "learn", "second", "--type", "pattern")
    snapshot = next((run.root / ".claude/holdfast/archive").glob("*/checkpoint-001.json"))
    call(run, "restore", snapshot.relative_to(run.root).as_posix())
    assert [each["lesson"] for each in state(run)["learnings"]] == ["first"]
    assert [each["lesson"] for each in log(run)] == ["first", "second"]


def test_tasks_of_other_phases_are_told_before_all_is_complete(
    run: Project, compaction_cycle: Compactions
) -> None:
    """A tool that counts phases from 1 has left some behind."""
    data = state(run)
    data["orchestrator"]["current_phase"] = 2
    put(run, data)
    guidance = compaction_cycle().guidance
    assert "Tasks of other phases are left: 1.1, 1.2, 2.1" in guidance
    assert "All phases are complete" not in guidance


def test_a_plan_with_fewer_phases_leaves_no_phase_beyond_the_last(run: Project) -> None:
    for task in ("1.1", "1.2"):
        call(run, "task-done", task)
    call(run, "phase")
    call(run, "task-done", "2.1")
    call(run, "approve-plan", "--task", "1.1 Model")
    told = state(run)["orchestrator"]
    assert (told["current_phase"], told["total_phases"]) == (0, 1)


def test_an_agent_of_another_tool_is_since_no_time(
    run: Project, compaction_cycle: Compactions
) -> None:
    data = state(run)
    data["active_agents"] = [{"type": "task-executor", "task": "1.1"}]
    put(run, data)
    assert "since None" not in compaction_cycle().guidance


def test_a_played_compaction_takes_no_checkpoint(run: Project) -> None:
    done = run.run("simulate", session="session-1")
    assert "Workflow restored" in done.stdout
    assert not (run.root / files.LATEST).exists()


def test_the_line_at_a_startup_says_stop(run: Project, compaction_cycle: Compactions) -> None:
    """Nobody is told to go on where a limit is reached."""
    call(run, "cost", "--add", "20", code=3)
    assert "STOP: a limit is reached, cost $20 of $10" in compaction_cycle.start("startup").guidance


def test_the_doctor_looks_at_no_folder_of_the_client(run: Project) -> None:
    """Only at files in which states are kept."""
    agents = run.root / ".claude" / "agents"
    agents.mkdir()
    agents.chmod(0o500)
    done = run.run("doctor", check=False)
    assert ".claude/agentscannot" not in "".join(done.stdout.split())


def test_a_command_failed_after_the_state_was_written(run: Project) -> None:
    """A sign of life is noted in our own record, which a newer release had written."""
    call(run, "agent", "start", "supervisor", "--task", "1.1")
    run.write(".claude/holdfast/ledger.json", '{"version": 99}')
    call(run, "agent", "status", "blocked")
    assert [agent["status"] for agent in state(run)["active_agents"]] == ["blocked"]


def test_a_task_without_an_id_never_reached_its_limit(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Its iterations were not counted, so nobody was asked to stop."""
    data = state(run)
    del data["pending_tasks"][0]["task"]
    data["orchestrator"]["ralph_iteration"] = data["safety_bounds"]["max_iterations_per_task"]
    put(run, data)
    assert "STOP: a limit is reached" in compaction_cycle().guidance
