"""`holdfast orchestrate`: learnings, checkpoints, agents, locks and the archive, as agents run them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from holdfast.files.store import Store
from holdfast.formats.orchestrator import files
from holdfast.testing import Compactions, Project
from orchestrated import example, log, put, state

HERE = "s-1"


def orchestrate(project: Project, *arguments: str, session: str | None = HERE) -> str:
    return project.run("orchestrate", *arguments, session=session).stdout


def told(project: Project, *arguments: str) -> Any:
    return json.loads(orchestrate(project, *arguments, "--json"))


def refused(project: Project, *arguments: str, session: str | None = HERE) -> str:
    """Run a command that must fail and leave the state as it was; return what it says."""
    path = project.root / files.STATE
    before = path.read_bytes() if path.exists() else None
    done = project.run("orchestrate", *arguments, session=session, check=False)
    assert done.returncode in {1, 2}, done.stdout
    assert "Traceback" not in done.stderr
    assert (path.read_bytes() if path.exists() else None) == before
    return " ".join(done.stderr.split())


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """The document's example, which has begun today."""
    data = {**example(), "active_agents": []}
    began = holdfast_project.clock.now()
    data["orchestrator"]["start_time"] = began.strftime("%Y-%m-%dT%H:%M:%SZ")
    put(holdfast_project, data)
    return holdfast_project


def test_learn(project: Project) -> None:
    """The log and the state get it, and the session owns the run."""
    orchestrate(project, "learn", "No secrets in code", "--type", "antipattern",
                "--pattern", "Use the environment", "--context", "JWT", "--task", "1.2")  # fmt: skip
    last = log(project)[-1]
    assert last == state(project)["learnings"][-1]
    assert {name: last[name] for name in ("task", "type", "pattern", "context")} == {
        "task": "1.2",
        "type": "antipattern",
        "pattern": "Use the environment",
        "context": "JWT",
    }
    assert "user-auth" in project.run("why", session=HERE).stdout


def test_checkpoint_and_restore(project: Project) -> None:
    """What was there is kept, and git is only named."""
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "one")
    head = project.git("rev-parse", "HEAD").strip()
    assert f"checkpoint-001.json, at commit {head}" in orchestrate(project, "checkpoint")
    project.git("commit", "-q", "--allow-empty", "-m", "two")
    orchestrate(project, "task-done", "2.1", "--cost", "$1")
    out = orchestrate(project, "restore", "1")
    assert "from checkpoint-001.json of " in out
    assert "what was there is kept in .claude/holdfast/quarantine/" in out
    assert [task["task"] for task in state(project)["completed_tasks"]] == ["1.1", "1.2"]
    assert f"git reset --hard {head}" in out
    assert project.git("rev-parse", "HEAD").strip() != head
    assert state(project)["safety_bounds"]["cost_so_far"] == "$1.75"
    assert "parted" not in orchestrate(project, "status")
    project.git("checkout", "-q", "--orphan", "other")
    project.git("commit", "-q", "--allow-empty", "-m", "of nothing")
    assert "State and git have diverged" in orchestrate(project, "status")


def test_a_damaged_state_is_told_and_gone_on_from(
    project: Project, compaction_cycle: Compactions
) -> None:
    """Hooks do it without writing; a command writes."""
    orchestrate(project, "checkpoint")
    put(project, '{"orchestrator":')
    cycle = compaction_cycle(session=HERE)
    assert "checkpoint-001.json" in cycle.message
    assert "user-auth" in cycle.guidance
    assert (project.root / files.STATE).read_text() == '{"orchestrator":'
    assert "checkpoint-001.json" in orchestrate(project, "status")
    out = orchestrate(project, "warn", "it was damaged")
    assert "checkpoint-001.json" in out
    assert state(project)["safety_bounds"]["warnings"] == ["it was damaged"]
    assert "could not be read" not in orchestrate(project, "status")


def test_a_compaction_takes_a_checkpoint_when_something_is_new(
    project: Project, compaction_cycle: Compactions
) -> None:
    """The briefing names it."""
    assert "checkpoint-001.json" in compaction_cycle(session=HERE).guidance
    compaction_cycle(session=HERE)
    assert [path.name for path in files.snapshots(Store(project.root))] == ["checkpoint-001.json"]
    orchestrate(project, "warn", "something new")
    assert "checkpoint-002.json" in compaction_cycle(session=HERE).guidance


def test_a_played_compaction_takes_no_checkpoint(project: Project) -> None:
    """`simulate` only shows; a real checkpoint would be one that nothing was compacted for."""
    project.run("simulate", session=HERE)
    project.run("simulate", "--subprocess", session=HERE)
    assert files.snapshots(Store(project.root)) == []
    assert state(project)["checkpoints"] == []


def test_what_a_silent_hook_has_finished_is_told_at_the_next_start(
    project: Project, compaction_cycle: Compactions
) -> None:
    """PreCompact tells the summariser alone what it did."""
    before = (project.root / files.STATE).read_bytes()
    entry = {
        "path": files.STATE,
        "before": hashlib.sha256(before).hexdigest(),
        "after": before.decode().replace("user-auth", "other-auth"),
    }
    note = {"version": 1, "changes": [entry]}
    project.write(".claude/holdfast/unfinished/orchestrator.json", json.dumps(note))
    compaction_cycle.fire("PreCompact")
    assert (
        "interrupted command was completed"
        in compaction_cycle(session=HERE, pre_compact=False).message
    )
    assert "interrupted command was completed" not in compaction_cycle(session=HERE).message


def test_agents(project: Project, compaction_cycle: Compactions) -> None:
    """From start to end; a silent agent is marked wherever it is listed."""
    orchestrate(project, "agent", "start", "task-executor", "--task", "2.1")
    orchestrate(project, "agent", "start", "task-executor", "--task", "2.2")
    line = refused(project, "agent", "start", "task-executor", "--task", "2.1")
    assert "already at work on task 2.1" in line
    project.clock.advance(seconds=40 * 60)
    orchestrate(project, "agent", "status", "blocked", "--task", "2.2")
    agents = state(project)["active_agents"]
    assert [each["status"] for each in agents] == ["in_progress", "blocked"]
    shown = " ".join(orchestrate(project, "status").split())
    for told in (shown, " ".join(compaction_cycle(session=HERE).guidance.split())):
        assert "silent, to be looked for before it is dispatched again: task-executor on" in told
        assert told.count("last sign of life 40 minutes ago") == 1
    orchestrate(project, "agent", "done", "--task", "2.1")
    orchestrate(project, "agent", "start", "task-executor", "--task", "2.1")  # again
    orchestrate(project, "agent", "done", "--task", "2.1")
    orchestrate(project, "agent", "done")
    assert state(project)["active_agents"] == []


def test_locks(project: Project) -> None:
    """Two agents of one session."""
    project.write("src/a.py", "")
    out = orchestrate(project, "lock", "src", "--task", "2.1")
    assert "locked: src" in out
    assert "Release with: holdfast orchestrate unlock src --task 2.1" in out
    (entry,) = told(project, "locks")
    assert (entry["path"], entry["owner"], entry["task"]) == ("src", HERE, "2.1")
    line = refused(project, "lock", "src/a.py", "--task", "2.2")
    assert "src is held by s-1 (task 2.1), locked just now" in line
    refused(project, "unlock", "src", "--task", "2.2")
    assert "src  s-1 (task 2.1), locked just now" in orchestrate(project, "locks")
    out = orchestrate(project, "unlock", "src", "--force", session=None)
    assert "unlocked: src, held by s-1 (task 2.1), locked just now" in out
    assert told(project, "locks") == []
    line = refused(project, "lock", "src", session=None)
    assert "--owner NAME" in line


def test_paths_are_those_of_the_folder_that_the_command_is_run_in(project: Project) -> None:
    """As an agent's shell has them."""
    project.git("init", "-q")
    project.write("src/a.py", "")
    project.run("orchestrate", "lock", "a.py", "--owner", "x", cwd=project.root / "src")
    assert [each["path"] for each in told(project, "locks")] == ["src/a.py"]


def test_a_stale_lock_goes_to_who_asks(project: Project) -> None:
    """The command says so; the list marks it before."""
    orchestrate(project, "lock", "src", "--owner", "x")
    project.clock.advance(seconds=31 * 60)
    assert "x, locked 31 minutes ago, stale" in orchestrate(project, "locks")
    assert [each["stale"] for each in told(project, "locks")] == [True]
    done = project.run("orchestrate", "lock", "src", session=HERE)
    assert "src: taken over from x, locked 31 minutes ago, stale" in done.stderr


def test_locks_need_no_run(holdfast_project: Project) -> None:
    """Agents without an orchestrator can use them, too."""
    orchestrate(holdfast_project, "lock", "a", "b")
    assert [each["path"] for each in told(holdfast_project, "locks")] == ["a", "b"]


def test_text_of_files_cannot_steer_the_terminal(project: Project) -> None:
    """Locks and agents may come from anywhere."""
    there = [{"path": "a\x1b[2Jb", "owner": "x\x1b]0;t\x07y"}]
    project.write(files.LOCKS, json.dumps({"locks": there}))
    data = state(project)
    data["active_agents"] = [{"type": "e\x1b[31m", "task": "2\x07.1"}]
    put(project, data)
    for command in (["locks"], ["status"]):
        assert "\x1b" not in orchestrate(project, *command)
        assert "\x07" not in orchestrate(project, *command)


def test_archive_and_the_next_run(project: Project) -> None:
    """Refused until the run has ended; the next one needs its place."""
    orchestrate(project, "checkpoint")
    project.write("tasks.md", "## Phase 1: A\n\n### Task 1.1: B\n")
    assert "is executing" in refused(project, "archive")
    assert "is executing" in refused(project, "start", "tasks.md", "--archive")
    orchestrate(project, "fail", "given up")
    assert "start --archive" in refused(project, "start", "tasks.md")
    out = orchestrate(project, "archive")
    folder = project.root / out.removeprefix("The run was archived in ").partition(".\n")[0]
    assert (folder / "checkpoint-001.json").exists()
    assert not (project.root / files.STATE).exists()
    orchestrate(project, "start", "tasks.md")
    orchestrate(project, "fail", "given up, too")
    project.clock.advance(seconds=5)
    orchestrate(project, "start", "tasks.md", "--archive")
    assert state(project)["orchestrator"]["status"] == "planning"
    assert len(list(folder.parent.iterdir())) == 2
