"""Phases, their status and what comes next: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import time

from found import PLAN, auth_plan
from holdfast.testing import Compactions, Project


def test_the_status_of_the_old_phase_does_not_block_the_new_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also when a command had blocked it: what blocked it is gone from the context."""
    project = holdfast_project
    project.declare("W", phase="2/5 - Build", status="blocked")
    compaction_cycle()
    project.declare("W", phase="3/5 - Test")
    assert "phase 3 of 5: Test. Status: in progress." in compaction_cycle().guidance
    project.run("block", "waiting for the key")
    time.sleep(0.02)
    project.declare("W", phase="4/5 - Ship", status="in progress")
    assert "phase 4 of 5: Ship. Status: in progress." in compaction_cycle().guidance
    assert project.state()["context"] == {}


def test_a_next_action_under_a_named_phase_is_stale_in_another(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The phase had only a name, so the line seemed to hold everywhere."""
    holdfast_project.write(
        "CLAUDE.local.md", "# Workflow State\n\nWorkflow: F\nPhase: Build\nNext: write the parser\n"
    )
    holdfast_project.run("start", "F", "-p", "Design,Build,Test")
    guidance = compaction_cycle().guidance
    assert "phase 2 of 3: Build." in guidance
    assert "Next action: write the parser" in guidance
    holdfast_project.run("phase", "next")
    assert "write the parser" not in compaction_cycle().guidance


def test_a_phase_may_have_a_comma_in_its_name(holdfast_project: Project) -> None:
    """--phases divides at commas; --phase does not."""
    holdfast_project.run("start", "W", "--phase", "Design (a, b)", "--phase", "Build")
    assert holdfast_project.state()["phase"]["name"] == "Design (a, b)"
    assert holdfast_project.state()["phase"]["total"] == 2


def test_ticking_late_does_not_set_the_phase_back(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A command goes ahead, the boxes follow; renaming and adding phases is not going back either."""
    project = holdfast_project
    project.plan("001-x", {"A": ["a"], "B": ["b"], "C": ["c"]})
    compaction_cycle()
    project.run("phase", "set", "3")
    compaction_cycle()
    project.plan("001-x", {"A": ["x a"], "B": ["b"], "C": ["c"]})
    assert "phase 3 of 3: C." in compaction_cycle().guidance
    project.plan("001-x", {"A": ["x a"], "Bee": ["b"], "Cee": ["c"]})
    assert "phase 3 of 3: Cee." in compaction_cycle().guidance
    project.plan("001-x", {"A": ["x a"], "Bee": ["b"], "Cee": ["c"], "D": ["d"]})
    assert "phase 3 of 4: Cee." in compaction_cycle(2).guidance
    project.plan("001-x", {"A": ["x a"], "Bee": ["x b"], "Cee": ["x c"], "D": ["d"]})
    assert "phase 4 of 4: D." in compaction_cycle(2).guidance
    project.plan("001-x", {"A": ["x a"], "Bee": ["x b"], "Cee": ["c again"], "D": ["d"]})
    assert "phase 3 of 4: Cee." in compaction_cycle(2).guidance


def test_a_plan_that_comes_later_does_not_reset_a_commands_progress(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its boxes are all open, which is no evidence against the agent's own word."""
    holdfast_project.run("start", "X", "--phases", "A,B,C")
    holdfast_project.run("phase", "set", "3")
    time.sleep(0.02)
    holdfast_project.plan("001-x", {"A": ["a"], "B": ["b"], "C": ["c"]}, title="X")
    assert "phase 3 of 3: C." in compaction_cycle().guidance


def test_the_next_action_of_another_phase_is_not_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The markdown is gone, and the phase went on by command or by hand."""
    project = holdfast_project
    project.write(
        "CLAUDE.local.md", "Workflow: W\nPhase: 2/5 - B\nNext: write form\nGate: tests pass\n"
    )
    compaction_cycle()
    (project.root / "CLAUDE.local.md").unlink()
    assert "write form" in compaction_cycle().guidance
    (path,) = project.state_files()
    edited = project.state()
    edited["phase"]["current"] = 4
    path.write_text(json.dumps(edited), encoding="utf-8")
    assert "write form" not in compaction_cycle().guidance
    project.run("phase", "next")
    guidance = compaction_cycle().guidance
    assert "write form" not in guidance
    assert "tests pass" not in guidance


def test_phases_that_are_counted_otherwise_give_no_next_action(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """2 of 10 is not the second of the plan's three."""
    auth_plan(holdfast_project)
    holdfast_project.declare("W", phase="2/10", reading=[f"@{PLAN}"])
    guidance = compaction_cycle().guidance
    assert "phase 2 of 10." in guidance
    assert "Next action" not in guidance


def test_after_a_block_the_second_save_writes_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Our own notes changed once more."""
    holdfast_project.declare("W", phase="1/3 - A")
    compaction_cycle()
    holdfast_project.run("block", "why")
    time.sleep(0.02)
    holdfast_project.declare("W", phase="2/3 - B")
    compaction_cycle.fire("PreCompact")
    (path,) = holdfast_project.state_files()
    before = path.stat().st_mtime_ns
    compaction_cycle.fire("PreCompact")
    assert path.stat().st_mtime_ns == before


def test_a_plan_without_a_title_is_called_by_its_path(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its name was empty, so the next hook set its state aside as one with wrong fields."""
    project = holdfast_project
    project.write("PLAN.md", "## Phase 1: A\n### Phase 3 - C 🔄\n## Key Reminders\n")
    cycle = compaction_cycle()
    assert (
        'The workflow "canonical:plan:PLAN.md" (type custom) is in phase 3 of 3' in cycle.guidance
    )
    assert project.state()["workflow"] == "canonical:plan:PLAN.md"
    assert not (project.root / ".claude/holdfast/quarantine").exists()


def test_a_plan_that_loses_its_title_keeps_its_name(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What is no longer mentioned is no change."""
    project = holdfast_project
    project.write("PLAN.md", "# Ship it\n\n## Phase 1: A 🔄\n- [ ] a\n")
    compaction_cycle()
    time.sleep(0.02)
    project.write("PLAN.md", "## Phase 1: A 🔄\n- [ ] a\n")
    assert "Ship it" in compaction_cycle().guidance.splitlines()[0]
    assert project.state()["workflow"] == "Ship it"
