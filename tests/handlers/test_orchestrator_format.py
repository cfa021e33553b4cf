"""What hooks do for an orchestrator's run: bring it back, and take a checkpoint before a compaction."""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta

import pytest

from holdfast.testing import Compactions, Project
from orchestrated import example, put, state

DOCUMENT = "docs/shop.md"
PHASES = {"Foundation": 3, "Endpoints": 4, "Roles": 2, "Rollout": 3}
PLAN = "# Shop\n" + "".join(
    f"\n## Phase {number}: {name}\n"
    + "".join(f"- [ ] {number}.{task} {name} {task}\n" for task in range(1, count + 1))
    for number, (name, count) in enumerate(PHASES.items(), 1)
)


def call(project: Project, *arguments: str, code: int = 0) -> str:
    done = project.run("orchestrate", *arguments, session="session-1", check=False)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


def line(text: str, begins: str) -> str:
    return next(each for each in text.splitlines() if each.startswith(begins))


@pytest.fixture
def run(holdfast_project: Project) -> Project:
    """A run whose plan is approved."""
    holdfast_project.write(DOCUMENT, PLAN)
    call(holdfast_project, "start", DOCUMENT)
    call(holdfast_project, "approve-plan")
    return holdfast_project


@pytest.mark.long
def test_every_briefing_of_a_long_run_is_right(run: Project, compaction_cycle: Compactions) -> None:
    """4 phases and 12 tasks with compactions, a re-plan, a warning, a stop, and a broken file."""
    for number, (name, count) in enumerate(PHASES.items(), 1):
        for task in range(1, count + 1):
            call(run, "task-start")
            call(run, "iterate")
            guidance = compaction_cycle().guidance
            assert f"is in phase {number} of 4: {name}. Status: executing." in guidance
            assert line(guidance, "Next action: ") == (
                f"Next action: Task {task}/{count}: {number}.{task} {name} {task}, iteration 1 of 30"
            )
            assert (
                f"- running, not to be dispatched again: task-executor on task {number}.{task} since"
                in guidance
            )
            done = sum(list(PHASES.values())[: number - 1]) + task - 1
            assert f"- tasks completed: {done} of 12" in guidance
            _happen(run, compaction_cycle, f"{number}.{task}")
            stops = (number, task) == (3, 1)
            call(run, "task-done", "--cost", "$0.80", code=3 if stops else 0)
            if stops:
                _decide(run, compaction_cycle)
        if number < 4:
            assert "begin the next phase" in compaction_cycle().guidance
            call(run, "phase")
    assert "Next action: All phases are complete: review" in compaction_cycle().guidance
    call(run, "review")
    assert "Status: reviewing." in compaction_cycle().guidance
    call(run, "complete")
    assert "Next action" not in compaction_cycle().guidance
    told = state(run)
    assert len(told["completed_tasks"]) == 12
    assert told["safety_bounds"]["cost_so_far"] == "$13.60"


def _decide(run: Project, compaction_cycle: Compactions) -> None:
    """The limit is reached; somebody raises it."""
    guidance = compaction_cycle().guidance
    assert "Next action: STOP: a limit is reached, cost $10.40 of $10 (104%)." in guidance
    assert "Status: stopped." in guidance
    call(run, "task-start", code=3)
    call(run, "extend", "the owner agrees", "--max-cost", "$20")
    assert "Next action: Begin task 2/2: 3.2 Roles 2" in compaction_cycle().guidance


def _happen(run: Project, compaction_cycle: Compactions, task: str) -> None:
    """What comes in between."""
    if task == "1.2":
        re_plan = ("--severity", "high", "--action", "re_plan", "--resolution", "use what is there")
        call(run, "check", "pre_task", "--conflict", "architecture", *re_plan)
        call(run, "approve-plan")
        guidance = compaction_cycle().guidance
        assert (
            "- supervisor: 1 check, 1 conflict, 1 re-plan; last: re_plan of task 1.2: use"
            in guidance
        )
    if task == "2.3":
        call(run, "cost", "--add", "$4")
        guidance = compaction_cycle().guidance
        assert "- cost: $8 of $10 (80%)" in guidance
        assert "- warnings: Cost at 75% of limit" in guidance
    if task == "3.2":
        path = run.root / ".claude/agent-state.json"
        compaction_cycle()
        path.write_text('{"orchestrator": {"sta')
        guidance = compaction_cycle().guidance
        assert re.search(r"Note: .claude/agent-state.json could not be read .*is used", guidance)
        assert "Task 2/2: 3.2 Roles 2" in guidance
        assert path.read_text() == '{"orchestrator": {"sta'


def test_a_stop_comes_first(run: Project, compaction_cycle: Compactions) -> None:
    """Before the next step; the commands that end the stop are a person's."""
    call(run, "task-start")
    call(run, "cost", "--add", "11", code=3)
    cycle = compaction_cycle()
    stop = "Next action: STOP: a limit is reached, cost $11 of $10 (110%)."
    assert line(cycle.guidance, "Next action").startswith(stop)
    assert "Status: stopped." in cycle.guidance
    assert "`holdfast orchestrate" not in cycle.guidance
    assert "STOP: a limit is reached" in cycle.note


def test_learnings_come_back_as_reminders(run: Project, compaction_cycle: Compactions) -> None:
    """The last three of each type."""
    for number in range(1, 5):
        for kind in ("pattern", "antipattern", "insight"):
            call(
                run,
                "learn",
                "--type",
                kind,
                f"{kind} no {number}",
                "--pattern",
                "look",
                "--context",
                "x",
            )
            run.clock.advance(seconds=1)
    guidance = compaction_cycle().guidance
    for kind in ("pattern", "antipattern", "insight"):
        told = re.findall(
            rf"^- {kind.capitalize()} \(task 1\.1\): {kind} no (\d) → look$", guidance, re.MULTILINE
        )
        assert told == ["4", "3", "2"]


def test_a_compaction_takes_a_checkpoint_where_something_has_changed(
    run: Project, compaction_cycle: Compactions
) -> None:
    """One, and the next only after a change."""
    compaction_cycle()
    names = [each["state_snapshot"] for each in state(run)["checkpoints"]]
    assert names == ["checkpoint-001.json"]
    compaction_cycle()
    assert len(state(run)["checkpoints"]) == 1
    call(run, "task-start")
    guidance = compaction_cycle().guidance
    assert len(state(run)["checkpoints"]) == 2
    assert "- last checkpoint: checkpoint-002.json at " in guidance


def test_hooks_write_nothing_else_into_the_files(
    run: Project, compaction_cycle: Compactions
) -> None:
    """After the checkpoint, the file stays byte for byte."""
    compaction_cycle()
    path = run.root / ".claude/agent-state.json"
    raw = path.read_bytes()
    compaction_cycle(3)
    assert path.read_bytes() == raw


def test_the_task_document_is_sent(run: Project, compaction_cycle: Compactions) -> None:
    """It lies in the project."""
    cycle = compaction_cycle()
    assert f"@{DOCUMENT} (sent, part 1, version" in cycle.guidance


def test_a_task_document_outside_is_only_listed(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As the document's example has it; a repository's word is no reason to read there."""
    data = example()
    outside = holdfast_project.root.parent / "user-auth.md"
    outside.write_text(PLAN)
    data["orchestrator"]["task_doc"] = str(outside)
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert f"@{outside} (outside the project)" in guidance
    assert "phase 3 of 4" in guidance
    assert "Rollout" not in guidance


def test_a_task_document_in_an_allowed_folder_is_sent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The user has said so in their own settings; it also tells the phases' names."""
    data = example()
    outside = holdfast_project.root.parent / "tasks" / "user-auth.md"
    outside.parent.mkdir()
    outside.write_text(PLAN)
    folder = holdfast_project.home / ".config" / "holdfast"
    folder.mkdir(parents=True)
    (folder / "holdfast.toml").write_text(f'reading_roots = ["{outside.parent}"]\n')
    data["orchestrator"]["task_doc"] = str(outside)
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert f"@{outside} (sent, part 1" in guidance
    assert "in phase 3 of 4: Roles." in guidance


def test_the_example_of_the_document_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its phase as people count, and as the file has it."""
    data = example()
    data["safety_bounds"]["max_time"] = "36500d"
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "is in phase 3 of 4" in guidance
    assert "- phase in the state file: 2, counted from 0" in guidance
    assert "2.1 Create auth endpoints, iteration 2 of 30" in guidance
    assert "- next task: 2.2 Add role-based access control" in guidance
    assert "(last sign of life" in guidance


def test_an_agent_that_may_have_crashed_is_looked_for(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was told as running and never to be dispatched again, beside being stale."""
    data = example()
    data["safety_bounds"]["max_time"] = "36500d"
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    silent = (
        "- silent, to be looked for before it is dispatched again: task-executor on task 2.1 since"
    )
    assert silent in guidance
    assert "not to be dispatched again" not in guidance


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("orchestrator.task_doc", "a\0b"),
        ("orchestrator.task_doc", "\ud800.md"),
        ("orchestrator.task_doc", "x" * 5000),
        ("orchestrator.task_doc", "~/.ssh/id_rsa"),
        ("orchestrator.start_time", "0001-01-01T00:00:00Z"),
        ("orchestrator.start_time", "9999-12-31T23:59:59Z"),
        ("orchestrator.start_time", 5),
        ("orchestrator.current_task", "999999/0"),
        ("orchestrator.current_phase", 10**30),
        ("safety_bounds.max_cost", "$0"),
        (
            "safety_bounds.warnings",
            ["Paused from 0001-01-01T00:00:00Z to 9999-01-01T00:00:00Z"] * 2000,
        ),
        ("active_agents", [{"task": f"2.{number}"} for number in range(5000)]),
        ("pending_tasks", [{"task": f"2.{number}", "phase": 2} for number in range(5000)]),
        ("checkpoints", [{"state_snapshot": "../../x", "git_sha": "--exec=x"}]),
    ],
)
def test_whatever_a_file_says_the_run_comes_back(
    where: str, value: object, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It may have been written by anybody."""
    data = example()
    section, _, name = where.partition(".")
    if name:
        data[section][name] = value
    else:
        data[section] = value
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "(type orchestrator)" in guidance
    assert "id_rsa (missing)" not in guidance
    status = holdfast_project.run("orchestrate", "status", check=False)
    assert status.returncode in {0, 3}, status.stderr
    assert "Traceback" not in status.stderr


def test_a_paused_run_says_so(run: Project, compaction_cycle: Compactions) -> None:
    """It also says who may go on with it, and gives no command for that."""
    call(run, "pause", "waiting for a review")
    guidance = compaction_cycle().guidance
    assert "Status: paused." in guidance
    waits = r"Paused since \S+: waiting for a review. Waiting for a person, who may resume the run"
    assert re.search(f"Next action: {waits}", guidance)
    assert re.search(f"\n1. {waits}", guidance)
    assert "`holdfast orchestrate" not in guidance


def test_the_copy_of_a_run_that_is_gone_is_no_other_runs(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Somebody has removed the file, and another tool is in the middle of writing the next."""
    compaction_cycle()
    path = run.root / ".claude/agent-state.json"
    for each in (path, *path.parent.glob("checkpoint*.json")):
        each.unlink()
    run.declare("something else")  # so that hooks look here at all
    compaction_cycle()
    path.write_text("{")
    assert "shop" not in compaction_cycle().guidance


def test_a_file_of_the_older_system_is_no_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is neither restored nor touched; one line says so."""
    old = '{"status": "executing", "current_step": 5, "total_steps": 10}\n'
    path = holdfast_project.write(".claude/agent-state.json", old)
    assert compaction_cycle().guidance.startswith(
        "Note: .claude/agent-state.json is the state of an"
    )
    assert path.read_text() == old


def test_a_limit_of_time_in_hours_is_a_limit(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Some write it as a number of hours; such a run had no limit of time."""
    begun = (holdfast_project.clock.now() - timedelta(hours=3)).isoformat()
    state = {
        "orchestrator": {"status": "executing", "task_doc": "t.md", "start_time": begun},
        "pending_tasks": [{"phase": 0, "task": "1.1", "name": "Begin"}],
        "safety_bounds": {"max_time_hours": 2.5},
    }
    holdfast_project.write(".claude/agent-state.json", json.dumps(state))
    guidance = compaction_cycle().guidance
    assert "of 2h 30m" in guidance
    assert "STOP" in guidance


def test_broken_json_that_was_never_a_state_is_told_once_and_not_waited_for(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Other tools have a file of that name. Each PreCompact waited a second for its writer to finish."""
    path = holdfast_project.write(".claude/agent-state.json", '{"agent": "x", ')
    begun = time.perf_counter()
    assert compaction_cycle.fire("PreCompact", trigger="auto").code == 0
    assert time.perf_counter() - begun < 0.9  # it was more than one second
    start = {"source": "startup"}
    told = [compaction_cycle.fire("SessionStart", **start).stdout for _ in range(2)]
    assert [b"could not be read: not JSON" in text for text in told] == [True, False]
    assert compaction_cycle().message == ""
    assert ".claude/agent-state.json: not JSON" in holdfast_project.run("why").stdout
    path.write_text('{"agent": "another", ')
    assert b"not JSON" in compaction_cycle.fire("SessionStart", **start).stdout
