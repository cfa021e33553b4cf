"""Sessions, branches and worktrees: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import os
import time

from found import PHASES, put, state
from holdfast.testing import Compactions, Project


def test_a_checkout_is_no_edit(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Another branch has another version of the plan; progress was set back by looking at it."""
    project = holdfast_project
    project.write(".gitignore", "untracked\n.claude\n")
    project.plan("001-x", {"A": ["a"], "B": ["b"], "C": ["c"]})
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-qm", "plan")
    project.git("checkout", "-q", "-b", "feat")
    project.plan("001-x", {"A": ["x a"], "B": ["b"], "C": ["c"]})
    project.git("commit", "-qam", "tick")
    compaction_cycle()
    project.run("phase", "next")
    project.run("remind", "R")
    for branch in ("main", "feat", "main", "feat"):
        project.git("checkout", "-q", branch)
        assert "phase 3 of 3: C." in compaction_cycle().guidance
    assert project.state()["key_reminders"] == ["R"]
    project.plan("001-x", {"A": ["x a"], "B": ["x b"], "C": ["x c"], "D": ["d"]})
    assert "phase 4 of 4: D." in compaction_cycle().guidance


def test_an_edit_on_a_new_branch_counts(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The first sight of a branch is its base; what is edited after that moves the state."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.plan("001-x", {"A": ["a"], "B": ["b"]})
    compaction_cycle()
    project.git("checkout", "-q", "-b", "feat")
    compaction_cycle()
    project.plan("001-x", {"A": ["x a"], "B": ["b"]})
    assert "phase 2 of 2: B." in compaction_cycle().guidance


def test_the_branch_is_that_of_the_worktree_where_the_session_works(
    holdfast_project: Project,
) -> None:
    """It was the root's for all."""
    holdfast_project.run("start", "Main")
    side = holdfast_project.worktree("side", branch="wtb")
    holdfast_project.run("remind", "x", "-w", "Main", cwd=side)
    assert holdfast_project.state()["holdfast"]["branch"] == "wtb"


def test_the_session_that_follows_claude_local_md_follows_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whichever session compacted first took it over."""
    project = holdfast_project
    project.declare("First")
    compaction_cycle(session="one")
    project.run("start", "Side", "-p", "A,B", session="two")
    project.declare("Third")
    assert "Side" in compaction_cycle(session="two").guidance.splitlines()[0]
    assert "Third" in compaction_cycle(session="one").guidance.splitlines()[0]


def test_a_claim_in_use_is_not_pruned(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its time was that of the first use."""
    holdfast_project.declare("W")
    compaction_cycle(session="long")
    (record,) = holdfast_project.home.rglob("sessions/*.json")
    (log,) = holdfast_project.home.rglob("sessionlogs/*.jsonl")
    old = time.time() - 31 * 24 * 3600
    os.utime(record, (old, old))
    compaction_cycle(session="long")
    compaction_cycle(session="another")
    assert record.exists()
    for path in (record, log):
        os.utime(path, (old, old))
    compaction_cycle(session="third")
    assert not record.exists()
    assert not log.exists()


def test_a_command_of_one_session_does_not_write_into_anothers_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """CLAUDE.local.md came to point at a plan that another session was on."""
    project = holdfast_project
    project.plan("001-main", PHASES, title="Main")
    compaction_cycle(session="one")
    project.run("start", "Side", session="two")
    project.declare("Main", phase="2/3 - Build", reading=["@CLAUDE/Plan/001-main/PLAN.md"])
    assert "Side" in project.run("remind", "of side", session="two").stdout
    assert "Main" in compaction_cycle(session="one").guidance.splitlines()[0]


def test_a_workflow_that_is_declared_anew_moves_the_session_that_ended_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its name was on record as declared already, although it had ended."""
    project = holdfast_project
    project.declare("Main", phase="3/4 - C")
    compaction_cycle(session="one")
    project.run("start", "Side", session="two")
    project.run("complete", "Main", session="one")
    compaction_cycle(session="one")
    time.sleep(0.02)
    project.declare("Main", phase="2/4 - B")
    assert "Main" in compaction_cycle(session="one").guidance.splitlines()[0]


def test_a_state_that_a_hook_repairs_was_not_worked_on(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its time became that of the repair, so a month-old state was restored before the one in work."""
    for name, days in (("Old", 30), ("Recent", 1)):
        path = put(holdfast_project, name, state(name, key_reminders="one text"))
        at = time.time() - days * 86_400
        os.utime(path, (at, at))
    for _ in range(2):
        assert "Recent" in compaction_cycle().guidance.splitlines()[0]


STATE = "untracked/workflow-state/b/state-b-20251209_150000.json"


def hand_written(name: str = "B") -> str:
    """A state as an agent writes it."""
    fields = {"workflow": name, "workflow_type": "custom", "created_at": "2025-12-09T15:00:00Z"}
    phase = {"current": 1, "total": 2, "name": "A", "status": "in_progress"}
    return json.dumps({**fields, "phase": phase, "required_reading": []})


def ran(compactions: Compactions, command: str, session: str, **fields: object) -> None:
    compactions.fire(
        "PostToolUse",
        session=session,
        tool_name="Bash",
        tool_input={"command": command},
        tool_response={"stdout": "", "interrupted": False},
        **fields,
    )


def test_a_state_that_a_shell_command_wrote_is_that_sessions(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whichever session compacts first; that it was only read moves nobody."""
    project = holdfast_project
    project.run("start", "One", "-p", "A,B", session="one")
    project.run("start", "Two", "-p", "A,B", session="two")
    project.write(STATE, hand_written())
    ran(compaction_cycle, f"F={STATE}; jq . x > $F.tmp && mv $F.tmp $F", "one", duration_ms=40)
    assert "Two" in compaction_cycle(session="two").guidance.splitlines()[0]
    assert "B" in compaction_cycle(session="one").guidance.splitlines()[0].split()
    old = time.time() - 60
    os.utime(project.root / STATE, (old, old))
    ran(compaction_cycle, f"cat {STATE}", "two", duration_ms=40)
    assert "Two" in compaction_cycle(session="two").guidance.splitlines()[0]


def test_a_command_for_the_own_workflow_goes_before_a_state_that_came_before_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What was worked on last counts, by whatever means."""
    project = holdfast_project
    project.run("start", "One", "-p", "A,B", session="session-1")
    project.write(STATE, hand_written())
    project.run("phase", "next", "-w", "One", session="session-1")
    assert "One" in compaction_cycle().guidance.splitlines()[0]


def test_what_a_session_has_left_is_not_taken_by_another(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was nobody's as soon as its session went on to something else."""
    project = holdfast_project
    project.run("start", "One", "-p", "A,B", session="one")
    project.run("start", "Two", "-p", "A,B", session="two")
    project.run("start", "Three", "-p", "A,B", session="two")
    assert "One" in compaction_cycle(session="one").guidance.splitlines()[0]


def test_a_subagent_does_not_move_its_session(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By the file that it writes; what it began is there for whoever has no work of its own."""
    project = holdfast_project
    project.write(STATE, hand_written())
    project.run("start", "One", "-p", "A,B", session="session-1")
    given = {"file_path": str(project.root / STATE)}
    compaction_cycle.fire(
        "PostToolUse", agent_id="a1", tool_name="Write", tool_input=given, tool_response={}
    )
    assert "One" in compaction_cycle().guidance.splitlines()[0]


def test_an_edit_of_claude_local_md_that_changes_no_workflow_moves_nobody(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It holds notes of all kinds; only what it declares is a workflow."""
    project = holdfast_project
    path = project.declare("Declared")
    compaction_cycle(session="other")
    time.sleep(1.1)
    project.run("start", "Side", "-p", "A,B", session="session-1")
    path.write_text(path.read_text("utf-8") + "\n# Style\nTabs.\n", "utf-8")
    given = {"file_path": str(path)}
    compaction_cycle.fire("PostToolUse", tool_name="Edit", tool_input=given, tool_response={})
    assert "Side" in compaction_cycle().guidance.splitlines()[0]
    path.write_text(path.read_text("utf-8").replace("1/3 - First", "2/3 - Second"), "utf-8")
    compaction_cycle.fire("PostToolUse", tool_name="Edit", tool_input=given, tool_response={})
    assert "Declared" in compaction_cycle().guidance.splitlines()[0]
