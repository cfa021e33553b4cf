"""Sessions, branches and worktrees: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import os
import time

from found import PHASES
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
    old = time.time() - 31 * 24 * 3600
    os.utime(record, (old, old))
    compaction_cycle(session="long")
    compaction_cycle(session="another")
    assert record.exists()
    os.utime(record, (old, old))
    compaction_cycle(session="third")
    assert not record.exists()


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
