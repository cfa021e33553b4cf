"""`holdfast orchestrate`: every command as an orchestrator runs it, and where it has to stop."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from holdfast.cli.orchestrate import orchestrate as group
from holdfast.formats.orchestrator import files
from holdfast.testing import Project
from orchestrated import example, put, state

ROOT = Path(__file__).parents[2]
HERE = "s-1"
PLAN = """\
# User authentication
## Phase 1: Foundation
- [ ] 1.1 Update the user model
- [ ] 1.2 Implement JWT
## Phase 2: Endpoints
- [ ] 2.1 Create endpoints
"""


def call(project: Project, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = project.run("orchestrate", *arguments, session=HERE, check=False)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def orchestrate(project: Project, *arguments: str) -> str:
    return call(project, *arguments).stdout


def refused(project: Project, *arguments: str, code: int = 1) -> str:
    """Run a command that must fail and change nothing; return what it says."""
    path = project.root / ".claude/agent-state.json"
    before = path.read_bytes() if path.exists() else None
    said = call(project, *arguments, code=code).stderr
    assert (path.read_bytes() if path.exists() else None) == before
    return " ".join(said.split())


@pytest.fixture
def run(holdfast_project: Project) -> Project:
    """A run whose plan is approved."""
    holdfast_project.clock.advance(seconds=0)
    holdfast_project.write("docs/user-auth.md", PLAN)
    orchestrate(holdfast_project, "start", "docs/user-auth.md", "--max-cost", "10 USD")
    orchestrate(holdfast_project, "approve-plan")
    return holdfast_project


def test_a_run_is_begun_with_its_task_document(holdfast_project: Project) -> None:
    """With an absolute path and the limits of the example."""
    path = holdfast_project.write("docs/user-auth.md", PLAN)
    said = orchestrate(holdfast_project, "start", "docs/user-auth.md")
    assert said == (
        "Workflow started: user-auth, phase 1/2 (Foundation), planning. Next: Plan the phases and "
        "tasks in the task document, and have the plan approved by a person\n  3 tasks in 2 phases\n"
    )
    told = state(holdfast_project)
    assert told["orchestrator"]["task_doc"] == str(path)
    assert told["orchestrator"]["status"] == "planning"
    assert told["orchestrator"]["total_phases"] == 2
    assert told["safety_bounds"]["max_cost"] == "$10"
    assert told["safety_bounds"]["max_time"] == "2h"
    assert told["safety_bounds"]["max_iterations_per_task"] == 30
    assert [each["phase"] for each in told["pending_tasks"]] == [0, 0, 1]


def test_a_second_run_is_not_begun_over_the_first(run: Project) -> None:
    """Neither while it is running nor after it has ended."""
    assert "holds 'user-auth', which is executing" in refused(run, "start", "other.md")
    orchestrate(run, "fail", "the service is down")
    assert "holdfast orchestrate archive" in refused(run, "start", "other.md")


def test_the_plan_may_be_written_after_the_start(holdfast_project: Project) -> None:
    """That is what planning is for."""
    said = orchestrate(holdfast_project, "start", "tasks.md")
    assert "no tasks yet" in said
    assert "is missing or outside the project" in refused(holdfast_project, "approve-plan")
    holdfast_project.write("tasks.md", "# Nothing yet\n")
    assert "the plan has no tasks" in refused(holdfast_project, "approve-plan")
    holdfast_project.write("tasks.md", PLAN)
    assert "Begin task 1/2: 1.1 Update" in orchestrate(holdfast_project, "approve-plan")


def test_a_document_outside_has_to_be_named(holdfast_project: Project) -> None:
    """A state file alone does not make a command open it."""
    outside = holdfast_project.root.parent / "elsewhere.md"
    orchestrate(holdfast_project, "start", str(outside))
    outside.write_text(PLAN)
    assert "so it was not opened" in refused(holdfast_project, "approve-plan")
    said = orchestrate(holdfast_project, "approve-plan", "--doc", str(outside))
    assert "3 tasks in 2 phases" in said


def test_tasks_that_a_run_was_begun_with_are_approved(holdfast_project: Project) -> None:
    """They need not be given again; a re-plan needs a plan."""
    orchestrate(holdfast_project, "start", "idea.md", "-t", "1.1 One", "-t", "2.1 Two")
    assert "Begin task 1/1: 1.1 One" in orchestrate(holdfast_project, "approve-plan")
    assert "so it was not opened" in refused(holdfast_project, "approve-plan")
    said = orchestrate(holdfast_project, "approve-plan", "-t", "1.2 Another")
    assert "Begin task 1/1: 1.2 Another" in said


def leaves(group: click.Group, before: tuple[str, ...] = ()) -> list[str]:
    found: list[str] = []
    for name, command in group.commands.items():
        inner = isinstance(command, click.Group)
        found += leaves(command, (*before, name)) if inner else [" ".join((*before, name))]
    return found


def test_each_command_stands_in_the_document() -> None:
    """By its name."""
    document = (ROOT / "docs/formats/orchestrator.md").read_text("utf-8")
    for name in leaves(group):
        assert re.search(rf"(holdfast orchestrate |`){name}\b", document), name


def test_each_of_the_documents_moments_has_its_command(run: Project) -> None:
    """Phase transition, completion, iteration, check, warning, learning, checkpoint."""
    orchestrate(run, "task-start")
    assert state(run)["active_agents"][0]["task"] == "1.1"
    orchestrate(run, "iterate")
    assert state(run)["orchestrator"]["ralph_iteration"] == 1
    orchestrate(run, "check", "pre_task")
    assert state(run)["supervisor"]["checks_performed"] == 1
    orchestrate(run, "warn", "The API is slow")
    assert state(run)["safety_bounds"]["warnings"] == ["The API is slow"]
    orchestrate(
        run, "learn", "--type", "insight", "It is slow", "--pattern", "wait", "--context", "x"
    )
    assert state(run)["learnings"][0]["lesson"] == "It is slow"
    orchestrate(run, "checkpoint")
    assert state(run)["checkpoints"][0]["state_snapshot"] == "checkpoint-001.json"
    orchestrate(run, "task-done", "--cost", "$0.20", "--file", "a.py", "--met", "tests_passing")
    assert state(run)["completed_tasks"][0]["success_criteria_met"] == {"tests_passing": True}
    orchestrate(run, "task-done", "1.2", "--time", "5 min")
    assert state(run)["completed_tasks"][1]["time_elapsed"] == "5m 0s"
    said = orchestrate(run, "phase")
    assert "phase 2/2 (Endpoints), executing. Next: Begin task 1/1: 2.1 Create endpoints" in said
    assert state(run)["orchestrator"]["current_phase"] == 1
    said = orchestrate(run, "milestone", "https://tracker/1")
    assert "milestone of phase 1: Foundation" in said
    assert state(run)["milestones"][0]["phase"] == 0
    orchestrate(run, "task-done", "2.1")
    orchestrate(run, "review")
    assert state(run)["orchestrator"]["outer_ralph"] is True
    orchestrate(run, "complete")
    told = state(run)
    assert (told["orchestrator"]["status"], told["orchestrator"]["outer_ralph"]) == (
        "completed",
        False,
    )
    assert run.run("inspect", ".claude/agent-state.json").stdout.endswith(
        "valid, format orchestrator\n"
    )


def test_a_limit_that_is_reached_stops_every_command(run: Project) -> None:
    """The command that reaches it saves its update, and so does each later one until somebody decides."""
    orchestrate(run, "task-start")
    done = call(run, "task-done", "--cost", "$10.20", code=3)
    assert (
        "STOP: a limit is reached, cost $10.20 of $10 (102%). The update is saved." in done.stderr
    )
    assert "holdfast orchestrate extend --max-cost LIMIT REASON" in done.stderr
    assert state(run)["completed_tasks"][0]["cost"] == "$10.20"
    assert state(run)["safety_bounds"]["warnings"] == ["Cost at 100% of limit"]
    call(run, "check", "on_demand", code=3)
    assert state(run)["supervisor"]["checks_performed"] == 1
    assert "Nothing was begun" in refused(run, "task-start", code=3)
    for command in (["status"], ["status", "--json"]):
        assert "STOP" in refused(run, *command, code=3)
    told = json.loads(call(run, "status", "--json", code=3).stdout)
    stands = told["workflow"]["briefing"]
    assert stands["status"] == "stopped"
    assert stands["next_action"].startswith("STOP: a limit is reached, cost $10.20 of $10")
    orchestrate(run, "pause", "ask the owner")
    assert "paused" in orchestrate(run, "status")
    call(run, "resume", code=3)
    orchestrate(run, "extend", "the owner agrees", "--max-cost", "15")
    assert "Begin" not in orchestrate(run, "task-start")
    call(run, "cost", "--add", "5", code=3)
    orchestrate(run, "fail", "too dear")
    assert "failed" in orchestrate(run, "status")


def pass_time(run: Project, minutes: float) -> None:
    """The state was written when it was by the clock, and time goes on."""
    now = run.clock.now().timestamp()
    os.utime(run.root / files.STATE, (now, now))
    run.clock.advance(seconds=minutes * 60)


def test_time_passes_without_a_command(run: Project) -> None:
    """So looking reports a stop that no update has noticed; more than half an hour is a break."""
    orchestrate(run, "task-start")
    for _ in range(4):
        pass_time(run, 23.1)
        orchestrate(run, "iterate")
    assert state(run)["safety_bounds"]["warnings"] == ["Time at 75% of limit"]
    pass_time(run, 9 * 60)
    assert re.search(r"time: 1h 32m \d+s worked of 2h \(7\d%\)", orchestrate(run, "status"))
    orchestrate(run, "iterate")
    pass_time(run, 29)
    said = refused(run, "status", code=3)
    assert re.search(r"STOP: a limit is reached, time 2h 1m \d+s worked of 2h \(101%\)", said)
    call(run, "iterate", code=3)
    assert state(run)["safety_bounds"]["elapsed_time"].startswith("2h 1m ")


def test_status_tells_what_is_to_be_known(run: Project) -> None:
    """The same for people and for programs."""
    orchestrate(run, "task-start")
    orchestrate(run, "iterate")
    said = orchestrate(run, "status")
    for line in (
        "user-auth (orchestrator)",
        "1/2 Foundation, executing",
        "next       Task 1/2: 1.1 Update the user model, iteration 1 of 30",
        "cost: $0 of $10 (0%)",
        "iterations of task 1.1: 1 of 30 (3%)",
        "phase in the state file: 0, counted from 0",
        "next task: 1.2 Implement JWT",
    ):
        assert line in said, said
    assert "task-executor on task 1.1 since" in " ".join(said.split())
    assert orchestrate(run, "status", "--json") == run.run("status", "--json", session=HERE).stdout


def test_the_example_of_the_document_goes_on_by_our_commands(holdfast_project: Project) -> None:
    """Its phases are numbered by its tasks; cost and warnings continue."""
    put(holdfast_project, example())
    call(holdfast_project, "extend", "from another year", "--max-time", "36500d")
    orchestrate(holdfast_project, "task-done", "2.1", "--cost", "$0.30")
    orchestrate(holdfast_project, "task-start")
    orchestrate(holdfast_project, "task-done", "--cost", "$0.10")
    told = state(holdfast_project)
    assert told["safety_bounds"]["cost_so_far"] == "$1.15"
    assert told["orchestrator"]["current_task"] == "2/2"
    said = orchestrate(holdfast_project, "phase")
    assert "phase 4/4" in said
    assert "Begin task 1/1: 3.1 Protect existing endpoints" in said


def test_a_limit_that_is_none_lets_nothing_begin(run: Project) -> None:
    """Whoever wrote it has to correct it, or sets another one."""
    data = state(run)
    data["safety_bounds"]["max_cost"] = "a lot"
    put(run, data)
    said = refused(run, "task-start")
    assert "safety_bounds.max_cost: expected an amount, such as $10" in said
    assert "found 'a lot'. Nothing was begun." in said
    assert "an amount in US dollars" in refused(run, "extend", "more", "--max-cost", "15 EUR")
    orchestrate(run, "extend", "more", "--max-cost", "15")
    orchestrate(run, "task-start")


def test_the_general_commands_know_the_run(run: Project) -> None:
    """What it is, and that it has commands of its own."""
    assert "user-auth" in run.run("list").stdout
    assert "Use its own commands: holdfast orchestrate --help" in refused_general(
        run, "phase", "next"
    )
    assert "user-auth' is executing, not reviewing" in refused_general(run, "complete")
    shown = run.run("status").stdout
    assert "user-auth (orchestrator)" in shown
    assert "1/2 Foundation, executing" in shown
    for task in ("1.1", "1.2"):
        orchestrate(run, "task-done", task)
    orchestrate(run, "phase")
    orchestrate(run, "task-done", "2.1")
    orchestrate(run, "review")
    assert "Workflow completed: user-auth" in run.run("complete", session=HERE).stdout


def refused_general(project: Project, *arguments: str) -> str:
    done = project.run(*arguments, session=HERE, check=False)
    assert done.returncode == 1
    return " ".join(done.stderr.split())


def test_a_run_that_nobody_touched_for_long_is_stale(run: Project) -> None:
    """Whoever continues it takes it up again."""
    long_ago = time.time() - 8 * 86400 - 60
    os.utime(run.root / ".claude/agent-state.json", (long_ago, long_ago))
    assert "untouched for 8 days" in run.run("list").stdout
    run.run("resume", "user-auth", session=HERE)
    assert "untouched" not in run.run("list").stdout


def test_without_a_run_the_commands_say_how_to_begin_one(holdfast_project: Project) -> None:
    """Looking creates nothing."""
    for command in (["status"], ["task-start"], ["cost", "--add", "1"], ["approve-plan"]):
        assert "holdfast orchestrate start TASK_DOC" in refused(holdfast_project, *command)
    assert not (holdfast_project.root / ".claude/agent-state.json").exists()


def test_an_escape_in_the_file_reaches_no_terminal(run: Project) -> None:
    """Text of a file is made safe."""
    data = state(run)
    data["pending_tasks"][0]["name"] = "\x1b]0;owned\x07red \x1b[31m"
    data["safety_bounds"]["warnings"] = ["\x1b[2Jgone"]
    put(run, data)
    for command in (["status"], ["status", "--json"], ["task-start"]):
        assert "\x1b" not in orchestrate(run, *command)


WATCHED = """
import atexit, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
loaded = lambda: [name for name in sys.modules if name.startswith("holdfast.formats.")]
atexit.register(lambda: print("SEEN", *loaded(), *opened, file=sys.stderr))
from holdfast.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("arguments", [["status"], ["task-start"], ["locks"]])
def test_a_command_looks_at_the_run_alone(arguments: list[str], run: Project) -> None:
    """No other format is loaded, and neither CLAUDE.local.md nor a plan is read."""
    run.declare("Something else")
    run.plan("00001-more", {"A": ["x"]})
    run.write("workspace/workflow-state/index.json", "{}")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "orchestrate", *arguments],
        cwd=run.root,
        env=run.environment(HERE),
        capture_output=True,
        text=True,
        check=True,
    )
    seen = done.stderr.partition("SEEN")[2].split()
    others = tuple(f"holdfast.formats.{o}" for o in ("canonical", "skill", "gated", "pipeline"))
    assert not [name for name in seen if name.startswith(others)]
    opened = {Path(path).name for path in seen if path.endswith(".md")}
    assert opened <= {"user-auth.md"}
