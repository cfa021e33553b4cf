"""What the document of skills says of their workflows, by its own examples and shell lines."""

from __future__ import annotations

import copy
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.skill import files
from holdfast.testing import Compactions, Project
from skillwork import (
    DEV_RUN,
    DOCUMENT,
    EXAMPLES,
    FEATURE,
    RUNS,
    bash,
    index_ids,
    only_state,
    put,
    shell,
)

SESSION = "session-1"
STATES = ".claude/workflow-state"


def skill(project: Project, *arguments: str) -> str:
    return project.run("skill", *arguments, session=SESSION).stdout


def begin(project: Project, commands: int) -> Path:
    """The run of a /dev, as far as its first *commands*."""
    for arguments, _ in DEV_RUN[:commands]:
        skill(project, *arguments)
    (path,) = (project.root / STATES / "active").glob("dev-*.json")
    return path


def next_action(guidance: str) -> str:
    (line,) = (line for line in guidance.splitlines() if line.startswith("Next action: "))
    return line.removeprefix("Next action: ")


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_run_goes_on_after_an_interruption(
    source: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whatever ended the session: the next one is told the same place, in another session too."""
    begin(holdfast_project, 6)
    for session in (SESSION, "another"):
        guidance = compaction_cycle.start(source, session=session).guidance
        assert next_action(guidance).startswith("Task 1/2 - Add login, GREEN phase")


def test_a_compaction_keeps_what_is_done_and_what_is_pending(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Phase, completed tasks, pending checks, and the history of what was decided."""
    path = begin(holdfast_project, 10)
    before = json.loads(path.read_bytes())
    guidance = compaction_cycle(3).guidance
    assert "is in phase 3 of 5: task_execution" in guidance
    assert "- tasks completed: 1 of 2" in guidance
    assert "- commits: task 1: abc123" in guidance
    assert "- pending checkpoints: lint, test, security_review, code_simplifier, pr" in guidance
    after = json.loads(path.read_bytes())
    assert after["history"][: len(before["history"])] == before["history"]
    assert {name: after[name] for name in ("state_machine", "tasks", "checkpoints")} == {
        name: before[name] for name in ("state_machine", "tasks", "checkpoints")
    }


def test_the_state_is_json_that_people_can_read(holdfast_project: Project) -> None:
    """A key a line, indented as jq indents it."""
    path = begin(holdfast_project, 4)
    written = path.read_text("utf-8")
    assert written == json.dumps(json.loads(written), indent=2, ensure_ascii=False) + "\n"


def test_commands_at_the_same_time_lose_nothing(holdfast_project: Project) -> None:
    """Six processes add a task each."""
    path = begin(holdfast_project, 3)
    more = [f"Task of session {number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda task: skill(holdfast_project, "task", "add", task), more))
    tasks = [task["description"] for task in json.loads(path.read_bytes())["tasks"]]
    assert sorted(tasks) == sorted(["Add login", "Add logout", *more])


@pytest.mark.parametrize("name", ["dev", "tdd", "review"])
def test_a_state_file_is_named_by_its_skill(name: str, holdfast_project: Project) -> None:
    """{skill}-{hash}.json in active/."""
    more = ["--phases", "read,write"] if name == "review" else []
    skill(holdfast_project, "start", name, FEATURE, *more)
    (path,) = (holdfast_project.root / STATES / "active").iterdir()
    assert path.name == f"{name}-{files.hash_of(FEATURE)}.json"


def test_a_start_has_the_fields_of_the_document(holdfast_project: Project) -> None:
    """All that the document's common fields and its /dev have."""
    begin(holdfast_project, 1)
    state = only_state(holdfast_project)
    assert set(EXAMPLES["dev"]) <= set(state)
    for section in ("workflow", "context", "state_machine", "checkpoints"):
        assert set(EXAMPLES["dev"][section]) <= set(state[section])
    assert state["_schema"] == {**EXAMPLES["common"]["_schema"], "skill": "dev"}
    assert (state["workflow"]["status"], state["context"]["feature_file"]) == (
        "in_progress",
        FEATURE,
    )


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["phase", "complete"], "in_progress"),
        (["block", "a question"], "blocked"),
        (["complete", "--force", "enough"], "completed"),
        (["abandon"], "abandoned"),
    ],
)
def test_a_status_of_a_workflow(
    command: list[str], status: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Each is reached by a command, valid, and restored as long as it is not over."""
    skill(holdfast_project, "start", "dev", FEATURE)
    skill(holdfast_project, *command)
    (path,) = holdfast_project.root.glob(f"{STATES}/*/dev-*.json")
    assert json.loads(path.read_bytes())["workflow"]["status"] == status
    assert "valid, format skill" in holdfast_project.run("inspect", str(path)).stdout
    over = status in {"completed", "abandoned"}
    assert path.parent.name == ("completed" if over else "active")
    assert ("User Login" in compaction_cycle().guidance) == (not over)


def test_created_at_stays_and_updated_at_goes_along(holdfast_project: Project) -> None:
    """With each command."""
    path = begin(holdfast_project, 1)
    first = json.loads(path.read_bytes())["workflow"]
    holdfast_project.clock.advance(hours=1)
    skill(holdfast_project, "phase", "complete")
    second = json.loads(path.read_bytes())["workflow"]
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]


def test_the_history_only_grows(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Through a whole run, with a compaction after each command."""
    before: list[Any] = []
    for arguments, _ in DEV_RUN:
        skill(holdfast_project, *arguments)
        compaction_cycle()
        history = only_state(holdfast_project)["history"]
        assert history[: len(before)] == before
        assert len(history) > len(before)
        before = history


EXPECTED = {
    "dev": "Task 2/3 - Implement OutboxPublisher, GREEN phase (make tests pass)",
    "tdd": "Cycle 1, GREEN phase (make tests pass); tests are failing: "
    "no method named `login` found",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_is_restored(
    name: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As it stands in the document: valid, and its place is what comes next."""
    path = put(holdfast_project, f"{name}-a1b2c3d4", EXAMPLES[name])
    assert "valid, format skill" in holdfast_project.run("inspect", str(path)).stdout
    assert next_action(compaction_cycle().guidance) == EXPECTED[name]


@pytest.mark.needs("jq", "bash")
@pytest.mark.parametrize(
    ("passed", "told"), [("true", "test, security"), ("false", "lint (failed)")]
)
def test_a_checkpoint_by_the_documents_line(
    passed: str, told: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One that has failed stays due."""
    path = begin(holdfast_project, 18)
    bash(holdfast_project, shell("Record Checkpoint"), STATE_FILE=str(path), LINT_PASSED=passed)
    assert f"Pending: {told}" in next_action(compaction_cycle().guidance)


def test_what_was_moved_to_completed_is_over(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The completion sequence moves the file and leaves its status as it was."""
    line = 'mv "$STATE_FILE" ".claude/workflow-state/completed/"'
    assert line in DOCUMENT
    path = begin(holdfast_project, len(DEV_RUN))
    bash(holdfast_project, line, STATE_FILE=str(path))
    assert compaction_cycle().guidance == ""
    skill(holdfast_project, "start", "review", "Else", "--phases", "a")
    assert [name.partition("-")[0] for name in index_ids(holdfast_project)] == ["review"]


@pytest.mark.needs("bash")
def test_the_documents_clean_up_takes_nothing_that_goes_on(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its two `find` lines beside our commands."""
    path = begin(holdfast_project, 4)
    bash(holdfast_project, shell("Automatic Cleanup"))
    assert path.exists()
    assert "RED phase" in next_action(compaction_cycle().guidance)


@pytest.mark.needs("bash")
def test_the_documents_manual_clean_up_clears_all(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Nothing is restored, and the next start begins anew."""
    begin(holdfast_project, 6)
    compaction_cycle()
    bash(holdfast_project, shell("Manual Cleanup"))
    assert compaction_cycle().guidance == ""
    assert "phase 1/5" in skill(holdfast_project, "start", "dev", FEATURE)
    assert only_state(holdfast_project)["tasks"] == []


@pytest.mark.needs("jq", "bash")
def test_the_documents_line_for_a_corrupted_state(holdfast_project: Project) -> None:
    """It says so and removes the file, and a start begins fresh."""
    path = begin(holdfast_project, 4)
    path.write_text('{"workflow": {', "utf-8")
    done = bash(holdfast_project, shell("Corrupted State File"), STATE_FILE=str(path))
    assert "Corrupted state file detected. Starting fresh." in done.stdout
    assert not path.exists()
    assert "phase 1/5" in skill(holdfast_project, "start", "dev", FEATURE)


@pytest.mark.parametrize("kind", RUNS)
def test_each_state_on_the_way_is_valid(kind: str, holdfast_project: Project) -> None:
    """By the strict validation, after each command of a run."""
    for arguments, _ in RUNS[kind]:
        skill(holdfast_project, *arguments)
        (path,) = (holdfast_project.root / STATES / "active").iterdir()
        assert "valid, format skill" in holdfast_project.run("inspect", str(path)).stdout, arguments


def test_the_structure_is_there_and_cleaned_up_with_a_start(holdfast_project: Project) -> None:
    """Directories and index are made by the first start; a later one removes what is stale."""
    path = begin(holdfast_project, 1)
    assert sorted(each.name for each in (holdfast_project.root / STATES).iterdir()) == [
        "active",
        "completed",
        "index.json",
    ]
    holdfast_project.clock.advance(days=8)
    assert f"removed: {STATES}/active/{path.name}" in skill(
        holdfast_project, "start", "tdd", "Else"
    )
    assert not path.exists()


@pytest.mark.parametrize("phase", ["red", "green", "refactor", "commit"])
def test_a_tdd_is_resumed_from_any_phase(
    phase: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's /tdd, in each of its phases."""
    data = copy.deepcopy(EXAMPLES["tdd"])
    names = [each["name"] for each in data["state_machine"]["phases"]]
    data["state_machine"]["current_phase"] = phase
    for each, name in zip(data["state_machine"]["phases"], names, strict=True):
        past = names.index(name) - names.index(phase)
        each["status"] = "completed" if past < 0 else "pending" if past else "in_progress"
    path = put(holdfast_project, "tdd-b2c3b2c3", data)
    os.utime(path)
    assert f"{phase.upper()} phase" in next_action(compaction_cycle().guidance)


def test_a_completed_state_is_kept_for_a_day(holdfast_project: Project) -> None:
    """Also where the same feature is begun anew within the day, which leaves it where it is."""
    begin(holdfast_project, 1)
    skill(holdfast_project, "complete", "--force", "enough")
    (ended,) = (holdfast_project.root / STATES / "completed").iterdir()
    before = ended.read_bytes()
    holdfast_project.clock.advance(hours=23)
    skill(holdfast_project, "start", "dev", FEATURE)
    assert ended.read_bytes() == before
    assert "active" in holdfast_project.run("list").stdout
    told = skill(holdfast_project, "complete", "--force", "enough")
    assert "the run that ended before it is in .claude/holdfast/archive" in told
    assert ended.read_bytes() != before


def test_the_last_activity_is_not_our_own_note(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A compaction 45 minutes after the last command was told as activity."""
    path = begin(holdfast_project, 6)
    updated = json.loads(path.read_bytes())["workflow"]["updated_at"]
    holdfast_project.clock.advance(seconds=45 * 60)
    compaction_cycle()
    state = json.loads(path.read_bytes())
    assert state["history"][-1]["event"] == "context_compacted"
    assert state["workflow"]["updated_at"] == updated
    assert "Last activity: 45 minutes ago" in skill(holdfast_project, "show")


def test_an_edit_by_hand_stays_the_last_activity(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Only the time of the file told of it, and our note is written after it."""
    path = put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    for _ in range(2):
        compaction_cycle()
        assert "Last activity: just now" in skill(holdfast_project, "show")
    assert json.loads(path.read_bytes())["workflow"]["updated_at"] > "2025-01-09"


@pytest.mark.parametrize(("folder", "hours"), [("completed", 24), ("active", 7 * 24)])
def test_what_is_old_is_told_by_the_time_of_its_file(
    folder: str, hours: int, holdfast_project: Project
) -> None:
    """As its `find` lines do it; the times that the example states are of 2025. What is unfinished is archived."""
    data = copy.deepcopy(EXAMPLES["dev"])
    if folder == "completed":
        data["workflow"]["status"] = "completed"
    path = put(holdfast_project, "dev-a1b2c3d4", data, folder)
    for age, goes in ((hours - 1, False), (hours + 25, True)):
        written = holdfast_project.clock.now().timestamp() - age * 3600
        os.utime(path, (written, written))
        told = skill(holdfast_project, "clean")
        assert (f"removed: {STATES}/{folder}/{path.name}" in told) == goes
        assert path.exists() != goes
    archived = list((holdfast_project.root / ".claude/holdfast").glob("archive/*"))
    assert len(archived) == (folder == "active")


def test_recorded_failing_tests_block_a_task(holdfast_project: Project) -> None:
    """Of a /dev as of a /tdd: red ends with a test that fails, green and refactor with tests that pass."""
    begin(holdfast_project, 4)

    def refused() -> str:
        done = holdfast_project.run("skill", "task", "phase", session=SESSION, check=False)
        assert done.returncode == 1
        return done.stderr

    skill(holdfast_project, "tdd", "run", "--passed")
    assert "phase 'red' is not done: the tests are passing" in refused()
    skill(holdfast_project, "tdd", "run", "--failed")
    skill(holdfast_project, "task", "phase")
    assert "phase 'green' is not done: the tests are failing" in refused()
    skill(holdfast_project, "tdd", "run", "--passed")
    skill(holdfast_project, "task", "phase")
    skill(holdfast_project, "tdd", "run", "--failed")
    assert "phase 'refactor' is not done: the tests are failing" in refused()
    assert only_state(holdfast_project)["tasks"][0]["status"] == "in_progress"


@pytest.mark.needs("jq", "bash")
def test_the_line_for_a_phase_transition_on_a_dev(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its phase is green, which is one of the task: told so, and put right by the next command."""
    path = begin(holdfast_project, 4)
    bash(holdfast_project, shell("Update State (Phase Transition)"), STATE_FILE=str(path))
    guidance = compaction_cycle().guidance
    assert "phase 3 of 5: task_execution" in guidance
    assert next_action(guidance).startswith("Task 1/2 - Add login, GREEN phase")
    skill(holdfast_project, "tdd", "run", "--passed")
    state = only_state(holdfast_project)
    assert state["state_machine"]["current_phase"] == "task_execution"
    assert state["tasks"][0]["tdd_phases"] == {
        "red": "completed",
        "green": "in_progress",
        "refactor": "pending",
    }


def test_the_document_s_words_for_a_corrupted_state(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A start over one of which there is no copy says them, and where the file is."""
    path = begin(holdfast_project, 1)
    skill(holdfast_project, "clean", "--all", "--yes")
    path.write_text('{"workflow": {', "utf-8")
    assert f"{path.name} could not be read: " in compaction_cycle().guidance
    told = skill(holdfast_project, "start", "dev", FEATURE)
    assert "⚠️ Corrupted state file detected. Starting fresh." in told
    assert "What could not be read is in .claude/holdfast/quarantine/" in told


SPELLINGS = ["features/auth/", "features/auth", f"./{FEATURE}", "{root}/" + FEATURE, FEATURE + "/"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_run_is_found_however_its_feature_is_spelled(
    spelling: str, holdfast_project: Project
) -> None:
    """A second one was begun."""
    project, text = holdfast_project, spelling.format(root=holdfast_project.root)
    project.write(FEATURE, "# User Login\n")
    path = begin(project, 6)
    assert "Resume from Task 1 (GREEN phase)" not in skill(project, "resume", text)
    told = skill(project, "start", "dev", text, "--resume")
    assert "\nResuming task 1/2, currently in GREEN phase\n" in told
    assert "🔄 Resuming: Task 1/2 - Add login" in told
    refused = project.run("skill", "start", "dev", text, session=SESSION, check=False)
    assert f"'User Login' is kept already in {STATES}/active/{path.name}" in refused.stderr
    assert [only_state(project)["workflow"]["id"]] == index_ids(project)
    skill(project, "start", "dev", text, "--fresh")
    assert only_state(project)["workflow"]["id"] == path.stem


def test_a_feature_s_file_that_is_missing_is_warned_of(holdfast_project: Project) -> None:
    """And one that is there is not."""
    assert f"⚠️ {FEATURE} does not exist" in skill(holdfast_project, "start", "dev", FEATURE)
    holdfast_project.write(FEATURE, "# User Login\n")
    assert "exist" not in skill(holdfast_project, "start", "dev", FEATURE, "--fresh")


def test_a_checkpoint_that_the_skill_does_not_have_is_warned_of(holdfast_project: Project) -> None:
    """A slip of the pen made one that nobody looks at."""
    begin(holdfast_project, 18)
    told = skill(holdfast_project, "checkpoint", "lnit", "--passed")
    assert "⚠️ 'lnit' is new; there are lint, test, security_review" in told
    assert "is new" not in skill(holdfast_project, "checkpoint", "lint", "--passed")


def test_findings_and_issues_are_open(holdfast_project: Project) -> None:
    """Until a run has none, or somebody says that it has passed all the same."""
    begin(holdfast_project, 18)
    skill(holdfast_project, "checkpoint", "code_simplifier", "issues=1")
    told = skill(holdfast_project, "checkpoint", "security_review", "findings=3")
    assert "lint, test, security_review (3 findings), code_simplifier (1 issue), pr" in told
    skill(holdfast_project, "checkpoint", "security_review", "findings=0")
    told = skill(holdfast_project, "checkpoint", "code_simplifier", "issues=1", "--passed")
    assert "Pending: lint, test, pr" in told


def test_a_task_with_an_unknown_status_has_been_begun(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was told as not begun yet. The file keeps the word."""
    path = begin(holdfast_project, 6)
    state = json.loads(path.read_bytes())
    state["tasks"][0]["status"] = "testing"
    path.write_text(json.dumps(state), "utf-8")
    guidance = compaction_cycle().guidance
    assert next_action(guidance).startswith("Task 1/2 - Add login, GREEN phase")
    assert (
        "tasks.0.status: expected one of pending, in_progress, completed, found 'testing'"
        in guidance
    )
    skill(holdfast_project, "tdd", "run", "--passed")
    assert only_state(holdfast_project)["tasks"][0]["status"] == "testing"


def test_a_state_without_a_workflow_is_told_of(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was taken for somebody else's."""
    data = {key: value for key, value in EXAMPLES["dev"].items() if key != "workflow"}
    put(holdfast_project, "dev-a1b2c3d4", data)
    told = compaction_cycle()
    assert f"{STATES}/active/dev-a1b2c3d4.json could not be read: workflow:" in told.message
    assert f"{STATES}/active/dev-a1b2c3d4.json could not be read: workflow:" in told.guidance


def test_what_comes_next_follows_the_state(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Blocked, with checkpoints open, and with all done; no phase goes on by itself then."""
    seen = []
    for arguments, _ in DEV_RUN:
        skill(holdfast_project, *arguments)
        required = compaction_cycle().guidance.partition("## ACTION REQUIRED\n1. ")[2]
        assert ("`holdfast skill" in required) == (arguments[0] != "block")
        if "work continues" not in required:
            seen.append(required.splitlines()[0])
    assert seen[0].startswith("The work is blocked and waits for a person, who may ")
    assert seen[1].startswith("All tasks complete. Pending: lint")
    assert seen[-1] == "All phases are completed: review the whole, then complete the workflow."


def test_a_damaged_state_without_a_copy_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In one line, with what to do."""
    path = holdfast_project.write(f"{STATES}/active/dev-00000000.json", '{"workflow": {')
    (line,) = compaction_cycle().guidance.splitlines()
    assert line.startswith(f"Note: {STATES}/active/dev-00000000.json could not be read: not JSON")
    assert line.endswith("; correct it, or begin the workflow anew")
    assert path.exists()


COMPLETED_BY_HAND = [
    ("dev", "create_branch", {2: "pending"}, "create_branch is completed: begin task_execution"),
    ("tdd", "red", {1: "pending"}, "red is completed: begin green"),
    ("tdd", "green", {1: "completed"}, "green is completed: begin refactor"),
    ("tdd", "refactor", {1: "completed", 2: "completed"}, "refactor is completed: begin commit"),
]


@pytest.mark.parametrize(("name", "phase", "statuses", "told"), COMPLETED_BY_HAND)
def test_the_next_phase_is_begun_where_a_hand_has_completed_one(
    name: str,
    phase: str,
    statuses: dict[int, str],
    told: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """It was told as all done, with the gate of the completed phase, and no command went on."""
    data = copy.deepcopy(EXAMPLES[name])
    machine = data["state_machine"]
    machine["current_phase"] = phase
    for at, status in statuses.items():
        machine["phases"][at]["status"] = status
    put(holdfast_project, f"{name}-a1b2c3d4", data)
    guidance = compaction_cycle().guidance
    assert next_action(guidance) == f"Phase {told}"
    assert f"ACTION REQUIRED\n1. Phase {told}.\n" in guidance
    assert "Gate of this phase" not in guidance
    skill(holdfast_project, *(["tdd", "done"] if name == "tdd" else ["phase", "complete"]))
    assert only_state(holdfast_project)["state_machine"]["current_phase"] == told.rpartition(" ")[2]


@pytest.mark.needs("git")
def test_nobody_is_told_to_push_main(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where no branch was created, the pull request comes from one that is created now."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    begin(project, len(DEV_RUN) - 2)
    cycle = compaction_cycle()
    assert next_action(cycle.guidance).startswith(
        "The work is on main: give it a branch of its own"
    )
    assert "The work is on main" in cycle.note
    assert "push" not in cycle.guidance + cycle.note


@pytest.mark.parametrize("command", [["skill", "complete"], ["complete", "dev-a1b2c3d4"]])
def test_a_run_that_a_hand_abandoned_is_not_told_as_completed(
    command: list[str], holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was to be closed with `skill complete`, which printed the signal of a completed one."""
    data = copy.deepcopy(EXAMPLES["dev"])
    data["workflow"]["status"] = "abandoned"
    put(holdfast_project, "dev-a1b2c3d4", data)
    assert "holdfast skill complete" not in compaction_cycle().guidance
    told = holdfast_project.run(*command, session=SESSION).stdout
    assert "Workflow abandoned: " in told
    assert "COMPLETE" not in told


def on_a_branch_of_its_own(project: Project, *, commands: int) -> Path:
    """A /dev that was begun on main, by *commands* before its branch is created."""
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    path = begin(project, commands)
    assert json.loads(path.read_bytes())["workflow"]["branch"] == "main"
    project.git("checkout", "-q", "-b", "feat/login")
    return path


@pytest.mark.needs("git")
@pytest.mark.parametrize("commands", [1, 2])
def test_the_branch_that_a_dev_creates_is_its_branch(
    commands: int, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """From the first command there, whether or not that completes create_branch; before, nothing else is told."""
    path = on_a_branch_of_its_own(holdfast_project, commands=commands)
    guidance = compaction_cycle().guidance
    assert "State is for branch" not in guidance
    assert "- branch: feat/login" in guidance
    skill(holdfast_project, *DEV_RUN[commands][0])
    assert json.loads(path.read_bytes())["workflow"]["branch"] == "feat/login"
    holdfast_project.git("checkout", "-q", "main")
    told = " ".join(compaction_cycle().guidance.split())
    assert "State is for branch 'feat/login' but current branch is 'main'" in told


@pytest.mark.needs("git")
def test_a_branch_that_git_has_not_logged_is_taken_when_create_branch_is_completed(
    holdfast_project: Project,
) -> None:
    """As one that came from elsewhere."""
    path = on_a_branch_of_its_own(holdfast_project, commands=2)
    (holdfast_project.root / ".git/logs/refs/heads/feat/login").unlink()
    skill(holdfast_project, *DEV_RUN[2][0])
    assert json.loads(path.read_bytes())["workflow"]["branch"] == "feat/login"


@pytest.mark.needs("git")
def test_the_pull_request_of_a_dev_that_was_begun_on_main(
    holdfast_project: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """git is asked about the branch of the work, also where only jq has kept the state."""
    project = holdfast_project
    path = begin(project, len(DEV_RUN) - 2)
    state = json.loads(path.read_bytes())
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.git("init", "-q", "--bare", str(tmp_path / "remote"))
    project.git("remote", "add", "origin", str(tmp_path / "remote"))
    project.git("checkout", "-q", "-b", "feat/login")
    state["workflow"]["branch"] = "main"
    path.write_text(json.dumps(state), "utf-8")
    assert "feat/login is not pushed: push it" in compaction_cycle().guidance
    project.git("push", "-q", "origin", "feat/login")
    assert "feat/login is pushed: create the pull request" in compaction_cycle().guidance


@pytest.mark.needs("git")
def test_the_state_of_another_branch_is_restored_if_it_was_worked_on_last(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Before one of this branch that is clearly older; the mismatch is told with it."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    skill(project, "start", "review", "Older", "--phases", "a,b")
    project.clock.advance(hours=1)
    project.git("checkout", "-q", "-b", "feat/login")
    skill(project, "start", "review", "Newer", "--phases", "a,b")
    project.git("checkout", "-q", "main")
    project.clock.advance(seconds=60)
    guidance = compaction_cycle(session="another").guidance
    assert "Newer" in guidance.splitlines()[0]
    assert "State is for branch 'feat/login' but current branch is 'main'" in guidance


@pytest.mark.needs("git")
def test_before_the_pull_request_all_of_git_status_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Work that is not committed was not named."""
    project = holdfast_project
    project.git("init", "-q", "-b", "feat/login")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    begin(project, 24)
    uncommitted = "git status shows 1 uncommitted file, to be committed and pushed before"
    assert uncommitted not in next_action(compaction_cycle().guidance)
    project.write("src/login.py", "more\n")
    told = next_action(compaction_cycle().guidance)
    assert told.startswith("feat/login is not pushed: push it, then create the pull request")
    assert told.endswith(uncommitted)
    project.git("add", ".")
    project.git("config", "filter.planted.clean", f"touch {project.root}/ran; cat")
    project.write(".gitattributes", "* filter=planted\n")
    project.write("src/login.py", "less\n")
    compaction_cycle()
    assert not (project.root / "ran").exists()


def test_what_a_skill_has_noted_for_itself_comes_back(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its own context, progress and step were lost, and it was told to add tasks that it does not keep."""
    data = copy.deepcopy(EXAMPLES["dev"])
    del data["tasks"]
    data["_schema"]["skill"] = "release"
    data["context"] = {"release": "1.4", "decisions": ["no beta"], "owner": None}
    machine = data["state_machine"]
    machine["current_step"] = "sign"
    machine["phases"][2]["progress"] = "5/7"
    put(holdfast_project, "release-a1b2c3d4", data)
    guidance = compaction_cycle().guidance
    assert next_action(guidance) == "Phase task_execution: go on with sign, and complete it"
    assert "- release: 1.4\n" in guidance
    assert '- decisions: ["no beta"]\n' in guidance
    assert "- progress: 5/7\n" in guidance
    assert "owner" not in guidance


def test_open_tasks_of_a_phase_that_is_left_are_named(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to verify, without a word of them."""
    data = copy.deepcopy(EXAMPLES["dev"])
    machine = data["state_machine"]
    machine["current_phase"] = "verification"
    machine["phases"][2]["status"], machine["phases"][3]["status"] = "completed", "in_progress"
    put(holdfast_project, "dev-a1b2c3d4", data)
    told = "tasks: expected all completed, since the phase is verification, found 2, 3 open"
    assert told in compaction_cycle().guidance


def test_a_feature_s_file_that_is_missing_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was left out of the reading in silence."""
    put(holdfast_project, "dev-a1b2c3d4", EXAMPLES["dev"])
    missing = "@features/foundation/event-infrastructure.md"
    assert f"Missing: {missing}. It is looked for" in compaction_cycle().guidance


def test_the_pull_request_that_is_recorded_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Only that it is no longer pending was told."""
    data = copy.deepcopy(EXAMPLES["dev"])
    done = {"status": "completed", "pr_number": 5, "pr_url": "https://example.com/pull/5"}
    data["checkpoints"]["pr_created"] = done
    put(holdfast_project, "dev-a1b2c3d4", data)
    assert "- pull request: https://example.com/pull/5\n" in compaction_cycle().guidance
