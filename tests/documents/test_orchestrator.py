"""What the document of the orchestrator says of its state, by its own example and shell lines."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gatedwork import killed_at_rename
from holdfast.testing import Compactions, Project
from orchestrated import DOCUMENT, example, put, state

TEXT = DOCUMENT.read_text("utf-8")
SESSION = "session-1"
PLAN = """# User authentication
## Phase 1: Foundation
- [ ] 1.1 Update the user model
- [ ] 1.2 Implement JWT
## Phase 2: Endpoints
- [ ] 2.1 Create endpoints
"""


def orchestrate(project: Project, *arguments: str) -> str:
    return project.run("orchestrate", *arguments, session=SESSION).stdout


def put_fresh(project: Project, **fields: Any) -> Path:
    """The document's example, begun now; *fields* go into its section `orchestrator`."""
    data = example()
    begun = project.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    data["orchestrator"] |= {"start_time": begun, **fields}
    return put(project, data)


@pytest.fixture
def run(holdfast_project: Project) -> Project:
    """A run whose plan is approved."""
    holdfast_project.write("docs/user-auth.md", PLAN)
    orchestrate(holdfast_project, "start", "docs/user-auth.md")
    orchestrate(holdfast_project, "approve-plan")
    return holdfast_project


@pytest.mark.parametrize("status", ["planning", "executing", "reviewing", "completed", "failed"])
def test_a_status_of_a_run(
    status: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In the document's example: valid, and restored until the run has ended."""
    over = status in {"completed", "failed"}
    end = {"end_time": "2026-01-15T14:00:00Z"} if over else {}
    path = put_fresh(holdfast_project, status=status, **end)
    if status in {"reviewing", "completed"}:
        put(holdfast_project, state(holdfast_project) | {"pending_tasks": [], "active_agents": []})
    assert "valid, format orchestrator" in holdfast_project.run("inspect", str(path)).stdout
    guidance = compaction_cycle().guidance
    if over:
        told = f"Note: Workflow not restored: user-auth: phase 3/4, {status} on 2026-01-15."
        assert guidance == f"{told} Close it: holdfast orchestrate archive"
    else:
        assert f"in phase 3 of 4. Status: {status}." in guidance


def test_the_lifecycle_by_commands(holdfast_project: Project) -> None:
    """No file, planning, executing, reviewing, completed; with the times of its ends."""
    path = holdfast_project.root / ".claude/agent-state.json"
    assert not path.exists()
    holdfast_project.write("docs/user-auth.md", PLAN)
    seen = []
    for command in (
        ["start", "docs/user-auth.md"],
        ["approve-plan"],
        ["task-done", "1.1"],
        ["task-done", "1.2"],
        ["phase"],
        ["task-done", "2.1"],
        ["review"],
        ["complete"],
    ):
        orchestrate(holdfast_project, *command)
        told = state(holdfast_project)["orchestrator"]
        if told["status"] not in seen:
            seen.append(told["status"])
        assert told["start_time"]
        assert (told["end_time"] is None) == (told["status"] != "completed")
    assert seen == ["planning", "executing", "reviewing", "completed"]


def test_a_failure_is_an_end_with_its_reason(run: Project, compaction_cycle: Compactions) -> None:
    """Among the warnings; it is not restored."""
    orchestrate(run, "fail", "the service is down")
    told = state(run)
    assert told["orchestrator"]["status"] == "failed"
    assert told["orchestrator"]["end_time"]
    assert told["safety_bounds"]["warnings"][-1].endswith(": the service is down")
    assert compaction_cycle().guidance.startswith("Note: Workflow not restored: user-auth: ")


def test_a_run_without_a_supervisor(holdfast_project: Project) -> None:
    """`enabled` says so, and no check is counted."""
    holdfast_project.write("docs/user-auth.md", PLAN)
    orchestrate(holdfast_project, "start", "docs/user-auth.md", "--no-supervisor")
    assert state(holdfast_project)["supervisor"]["enabled"] is False
    refused = holdfast_project.run("orchestrate", "check", "pre_task", check=False)
    assert refused.returncode == 1
    assert state(holdfast_project)["supervisor"]["checks_performed"] == 0


def test_an_intervention_of_the_example_by_command(run: Project) -> None:
    """Its seven fields, and the four counters."""
    wanted = example()["supervisor"]["interventions"][0]
    orchestrate(
        run, "check", wanted["check_type"], "--task", wanted["task"],
        "--conflict", wanted["conflict_type"], "--severity", wanted["severity"],
        "--action", wanted["action"], "--resolution", wanted["resolution"],
    )  # fmt: skip
    told = state(run)["supervisor"]
    (noted,) = told["interventions"]
    assert {**noted, "timestamp": wanted["timestamp"]} == wanted
    assert told["last_check"] == noted["timestamp"]
    counters = ("checks_performed", "conflicts_detected", "re_plans_triggered")
    assert [told[name] for name in counters] == [1, 1, 1]
    assert told["auto_fixes_applied"] == 0


@pytest.mark.parametrize("command", [["status"], ["locks"]])
def test_a_query_writes_nothing(command: list[str], run: Project) -> None:
    """Neither the state nor anything beside it."""
    folder = run.root / ".claude"
    before = {path: path.read_bytes() for path in folder.glob("*") if path.is_file()}
    orchestrate(run, *command)
    assert {path: path.read_bytes() for path in folder.glob("*") if path.is_file()} == before


@pytest.mark.needs("bash")
def test_the_documents_line_restores_a_checkpoint(
    run: Project, compaction_cycle: Compactions
) -> None:
    """`cp` over a damaged state, with the number of the last one."""
    (line,) = re.findall(r"`(cp \.claude/checkpoint-XXX\.json \S+)`", TEXT)
    orchestrate(run, "task-done", "1.1")
    orchestrate(run, "checkpoint")
    put(run, '{"orchestrator": {"sta')
    subprocess.run(["bash", "-c", line.replace("XXX", "001")], cwd=run.root, check=True)
    assert [task["task"] for task in state(run)["completed_tasks"]] == ["1.1"]
    guidance = compaction_cycle().guidance
    assert "Next action: Begin task 2/2: 1.2 Implement JWT" in guidance
    assert "could not be read" not in guidance


def test_the_documents_reset_is_survived_where_git_tracks_the_state(
    run: Project, compaction_cycle: Compactions
) -> None:
    """The copy is offered if the commit of the checkpoint did not have the state yet."""
    (line,) = re.findall(r"`(git reset --hard)", TEXT)
    run.git("init", "-q", "-b", "main")
    run.git("commit", "-q", "--allow-empty", "-m", "one")
    orchestrate(run, "task-done", "1.1")
    orchestrate(run, "checkpoint")
    sha = state(run)["checkpoints"][-1]["git_sha"]
    run.git("add", "-A")
    run.git("commit", "-q", "-m", "two")
    compaction_cycle()
    subprocess.run([*line.split(), sha], cwd=run.root, check=True, capture_output=True)
    guidance = compaction_cycle().guidance
    assert guidance.startswith(
        "Note: .claude/agent-state.json is gone. To go on with what it was: "
    )
    assert compaction_cycle().guidance == ""  # told once
    way = re.search(r"holdfast (orchestrate restore \S+)", guidance)
    assert way
    run.run(*way[1].split(), session=SESSION)
    assert [task["task"] for task in state(run)["completed_tasks"]] == ["1.1"]
    run.write("docs/user-auth.md", PLAN)
    assert "Next action: Begin task 2/2: 1.2 Implement JWT" in compaction_cycle().guidance


def test_an_older_state_that_git_brought_back_is_named(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Our copy is newer and of the same run; once it is restored, nothing is told any more."""
    run.git("init", "-q", "-b", "main")
    run.git("add", "-A")
    run.git("commit", "-q", "-m", "one")
    orchestrate(run, "task-done", "1.1", "--cost", "$2")
    compaction_cycle()
    run.git("reset", "-q", "--hard", "HEAD")
    guidance = compaction_cycle().guidance
    assert "Next action: Begin task 1/2: 1.1 Update the user model" in guidance
    offer = "Note: .claude/agent-state.json is older than it was: 1.1 was completed as well"
    way = re.search(rf"\n{offer}\. To go on with what it was: holdfast (.+)", guidance)
    assert way
    assert offer not in compaction_cycle().guidance
    run.run(*way[1].split(), session=SESSION)
    assert state(run)["safety_bounds"]["cost_so_far"] == "$2"
    guidance = compaction_cycle().guidance
    assert "Next action: Begin task 2/2: 1.2 Implement JWT" in guidance
    assert "older than it was" not in guidance


def test_an_agent_that_was_removed_by_hand_is_sent_off_again(
    run: Project, compaction_cycle: Compactions
) -> None:
    """The document's way with one that has crashed."""
    orchestrate(run, "task-start")
    assert "running, not to be dispatched again" in compaction_cycle().guidance
    put(run, {**state(run), "active_agents": []})
    assert "not to be dispatched again" not in compaction_cycle().guidance
    orchestrate(run, "task-start", "1.1")
    (agent,) = state(run)["active_agents"]
    assert (agent["type"], agent["task"]) == ("task-executor", "1.1")


def test_a_checkpoint_is_numbered_and_the_latest_one_is_beside_it(run: Project) -> None:
    """checkpoint-XXX.json and checkpoint.json, with the entry of the document."""
    for number in (1, 2):
        orchestrate(run, "warn", f"warning {number}")
        orchestrate(run, "checkpoint")
        name = f"checkpoint-{number:03}.json"
        latest = (run.root / ".claude/checkpoint.json").read_bytes()
        assert (run.root / ".claude" / name).read_bytes() == latest
        assert state(run)["checkpoints"][-1]["state_snapshot"] == name
    block = json.loads(TEXT.split("```json\n", 1)[1].split("```", 1)[0])
    assert set(state(run)["checkpoints"][0]) == set(block["checkpoints"][0])


@pytest.mark.parametrize("number", range(1, 4))
def test_a_command_that_is_killed_leaves_a_whole_state(number: int, run: Project) -> None:
    """Before any of the files that it replaces: it counts once, or not at all, and the next one counts."""
    orchestrate(run, "task-start")
    killed = killed_at_rename(run, number, "orchestrate", "iterate") == -9
    assert killed or number > 1
    left = state(run)["orchestrator"]["ralph_iteration"]
    orchestrate(run, "iterate")  # brings to its end what was begun
    after = state(run)["orchestrator"]["ralph_iteration"]
    assert (left, after) in {(0, 1), (0, 2), (1, 2)}
    path = str(run.root / ".claude/agent-state.json")
    assert "valid, format orchestrator" in run.run("inspect", path).stdout


def test_an_odd_value_costs_its_field_alone(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is named to the agent, the rest is restored and changed, and the file keeps it."""
    path = put_fresh(holdfast_project)
    data = json.loads(path.read_bytes())
    data["completed_tasks"][0]["cost"] = "n/a"
    data["supervisor"]["checks_performed"] = "many"
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "Note: completed_tasks.0.cost: expected an amount, such as $10" in guidance
    assert "Note: supervisor.checks_performed: expected a whole number, found 'many'" in guidance
    assert "in phase 3 of 4. Status: executing." in guidance
    orchestrate(holdfast_project, "warn", "slow")
    after = state(holdfast_project)
    assert after["completed_tasks"][0] == data["completed_tasks"][0]
    assert after["supervisor"] == data["supervisor"]
    assert after["safety_bounds"]["warnings"] == ["slow"]


def test_a_run_that_a_limit_has_stopped_waits_for_a_person(
    run: Project, compaction_cycle: Compactions
) -> None:
    """They may extend the limit; no command is named that does it."""
    run.run("orchestrate", "task-done", "1.1", "--cost", "$100", session=SESSION, check=False)
    required = compaction_cycle().guidance.split("## ACTION REQUIRED\n")[1]
    assert re.match(
        "1. STOP: a limit is reached, .* Waiting for a person, who may extend", required
    )
    assert "work continues" not in required
    assert "`holdfast orchestrate" not in required


def test_after_the_tasks_of_a_phase_the_next_one_begins(
    run: Project, compaction_cycle: Compactions
) -> None:
    """By its name; after the last one comes the review of the whole."""
    for task in ("1.1", "1.2"):
        orchestrate(run, "task-done", task)
    done = "All tasks of phase 1 of 2 are completed: begin the next phase, Endpoints."
    assert f"\n1. {done}\n" in compaction_cycle().guidance
    orchestrate(run, "phase")
    assert "ended with `holdfast orchestrate complete`" in compaction_cycle().guidance
    orchestrate(run, "task-done", "2.1")
    assert "\n1. All phases are complete: review the whole" in compaction_cycle().guidance


def test_a_state_of_the_old_system_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It has to be finished there."""
    put(holdfast_project, {"status": "executing", "current_step": 2, "total_steps": 5})
    assert compaction_cycle().guidance == (
        "Note: .claude/agent-state.json is the state of an older workflow system, which has to be "
        "finished under that system"
    )


def test_the_documents_update_is_followed(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its snippet sets current_task and adds to completed_tasks, and nothing else."""
    assert 'state.orchestrator.current_task = "4/5"\nstate.completed_tasks.push({...})' in TEXT
    put_fresh(holdfast_project)
    data = state(holdfast_project)
    data["orchestrator"]["current_task"] = "4/5"
    done = {**data["completed_tasks"][1], "task": "2.1", "name": "Create auth endpoints"}
    data["completed_tasks"].append(done)
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "Next action: Begin task 4/5: 2.2 Add role-based access control" in guidance
    assert "tasks completed: 3 of 5" in guidance
    assert "not to be dispatched again" not in guidance
    orchestrate(holdfast_project, "task-start")
    after = state(holdfast_project)
    assert [agent["task"] for agent in after["active_agents"]] == ["2.2"]
    assert [task["task"] for task in after["pending_tasks"]] == ["2.2", "3.1"]
    assert after["orchestrator"]["ralph_iteration"] == 0


@pytest.mark.parametrize(
    ("section", "field", "value", "told"),
    [
        ("orchestrator", "current_task", "2.2", "Task 2/2: 2.2 Add role-based access control"),
        ("safety_bounds", "max_cost", "10 EUR", "cost: $0.75 of 10 EUR (7%)"),
        (
            "safety_bounds",
            "max_time",
            "soon",
            "safety_bounds.max_time: expected a duration, such as 2h",
        ),
        (
            "orchestrator",
            "status",
            "resting",
            "status: expected one of planning, executing, reviewing,",
        ),
        ("orchestrator", "current_phase", 7, "expected at most 3, since phases count from 0"),
    ],
)
def test_an_odd_value_of_a_run_is_read_as_meant_or_named(
    section: str,
    field: str,
    value: object,
    told: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """The run is restored, and a command leaves the value as it stands."""
    put_fresh(holdfast_project)
    data = {**state(holdfast_project), "active_agents": []}
    data[section][field] = value
    put(holdfast_project, data)
    assert told in compaction_cycle().guidance
    orchestrate(holdfast_project, "warn", "slow")
    assert state(holdfast_project)[section][field] == value


@pytest.mark.parametrize(
    ("pending", "following"), [(["2.2", "3.1"], "2.2 Add role-based access control"), ([], "")]
)
def test_a_running_task_that_is_not_pending_any_more_goes_on(
    pending: list[str], following: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`pending_tasks` are those not yet started: whoever starts one may take it out."""
    put_fresh(holdfast_project)
    data = state(holdfast_project)
    data["pending_tasks"] = [task for task in data["pending_tasks"] if task["task"] in pending]
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "Next action: Task 3/5: 2.1, iteration 2 of 30\n" in guidance
    assert ("- next task: " in guidance) == bool(following)
    assert f"- next task: {following}" in guidance or not following
    assert "\n1. The work continues in phase 3 of 4" in guidance
    phase = holdfast_project.run("orchestrate", "phase", session=SESSION, check=False)
    assert phase.returncode == 1
    orchestrate(holdfast_project, "iterate")
    assert [task["task"] for task in state(holdfast_project)["pending_tasks"]] == pending
    orchestrate(holdfast_project, "task-done")
    after = state(holdfast_project)
    assert (after["completed_tasks"][-1]["task"], after["active_agents"]) == ("2.1", [])
    assert [task["task"] for task in after["pending_tasks"]] == pending


def test_a_plan_waits_for_the_person_who_approves_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No command is named that approves it in their place."""
    put_fresh(holdfast_project, status="planning")
    required = compaction_cycle().guidance.split("## ACTION REQUIRED\n")[1]
    assert required.startswith("1. Plan the phases and tasks in the task document, and have the ")
    assert "plan approved by a person.\n" in required
    assert "approve-plan" not in required


def test_a_task_document_outside_the_project(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where the example has it: sent where the person allows that folder, else to be read from disk."""
    folder = holdfast_project.home / ".claude/tasks"
    folder.mkdir(parents=True)
    document = folder / "user-auth.md"
    document.write_text(PLAN, "utf-8")
    orchestrate(holdfast_project, "start", str(document))
    orchestrate(holdfast_project, "approve-plan", "--doc", str(document))
    cycle = compaction_cycle()
    assert f"the task document {document} lies outside the project" in cycle.guidance
    assert "read it from disk" in cycle.guidance
    assert "in phase 1 of 2: Foundation." in cycle.guidance
    assert "the names of its phases" not in cycle.guidance
    put_fresh(holdfast_project)  # begun by hand, so that no command was given the document
    unnamed = "so it is not sent and the names of its phases are not known: read it from disk."
    assert unnamed in compaction_cycle().guidance
    put_fresh(holdfast_project, task_doc=str(document))
    holdfast_project.write(
        "../home/.config/holdfast/holdfast.toml", f'reading_roots = ["{folder}"]\n'
    )
    cycle = compaction_cycle()
    assert "Implement JWT" in "".join(cycle.reading)
    assert "read it from disk" not in cycle.guidance


def test_a_task_that_does_not_meet_a_criterion_is_not_completed(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Unless somebody insists, which is told after a compaction."""
    wanted = ("orchestrate", "task-done", "1.1", "--met", "tests", "--unmet", "coverage_80")
    refused = run.run(*wanted, check=False)
    assert (refused.returncode, state(run)["completed_tasks"]) == (1, [])
    assert "task 1.1 does not meet coverage_80" in refused.stderr
    orchestrate(run, *wanted[1:], "--force")
    criteria = {"tests": True, "coverage_80": False}
    assert state(run)["completed_tasks"][0]["success_criteria_met"] == criteria
    assert "completed without meeting: coverage_80 (task 1.1)" in compaction_cycle().guidance


def test_a_review_with_open_tasks_is_named(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to make the pull request, and `complete` completed the run."""
    put_fresh(holdfast_project, status="reviewing")
    guidance = compaction_cycle().guidance
    assert (
        "Next action: Not known: the run is in review, though these tasks are not completed: "
        "2.1, 2.2, 3.1\n" in guidance
    )
    assert "pull request" not in guidance
    done = holdfast_project.run("orchestrate", "complete", session=SESSION, check=False)
    assert "'user-auth' is not done: 2.1, 2.2, 3.1" in done.stderr
    assert state(holdfast_project)["orchestrator"]["status"] == "reviewing"


def test_a_run_completed_with_open_tasks_is_named(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was told as completed, to be archived."""
    put_fresh(holdfast_project, status="completed", end_time="2026-01-15T14:00:00Z")
    told = "completed on 2026-01-15, though these tasks are not: 2.1, 2.2, 3.1."
    assert told in compaction_cycle().guidance


def test_a_blocked_agent_is_told_with_the_task(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to go on with the task, in an iteration that its agent had left behind."""
    path = put_fresh(holdfast_project, ralph_iteration=0)
    data = json.loads(path.read_bytes())
    data["active_agents"][0]["status"] = "blocked"
    put(holdfast_project, data)
    assert (
        "Next action: Task 3/5: 2.1 Create auth endpoints, iteration 2 of 30; "
        "its agent is blocked: see what it waits for\n" in compaction_cycle().guidance
    )
