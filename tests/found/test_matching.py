"""Which state belongs to which declaration: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from found import PHASES, PLAN, auth_plan, names, put, state
from holdfast.testing import Compactions, Project


def test_to_read_a_plan_is_not_to_be_that_plan(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A QA loop that reads the plan hid the feature's own workflow, and `complete` deleted it."""
    project = holdfast_project
    reading = [f"@{PLAN}"]
    put(project, "Feature Implementation (User Auth)", state("Feature", required_reading=reading))
    put(project, "QA Loop", state("QA Loop", required_reading=reading))
    shown = project.run("list").stdout
    assert "Feature" in shown
    assert "QA Loop" in shown
    project.run("complete", "QA Loop")
    assert names(project) == ["Feature"]


def test_a_second_workflow_may_read_a_plan_that_is_kept_already(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`start` refused it, or it took the plan's identity."""
    auth_plan(holdfast_project)
    compaction_cycle()
    holdfast_project.run("remind", "impl", "-w", "User Auth")
    holdfast_project.run("start", "QA Loop", "-p", "Run,Fix", "-r", f"@{PLAN}", session="qa")
    assert names(holdfast_project) == ["QA Loop", "User Auth"]
    assert "QA Loop" in compaction_cycle(session="qa").guidance.splitlines()[0]


def test_apart_keeps_a_workflow_apart_from_a_plan_that_it_reads(holdfast_project: Project) -> None:
    """Also when the plan has no state yet."""
    auth_plan(holdfast_project)
    holdfast_project.run("start", "QA Loop", "-p", "Run,Fix", "-r", f"@{PLAN}", "--apart")
    assert "User Auth" in holdfast_project.run("list").stdout


def test_the_state_that_says_it_is_the_plans_is_the_plans(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's first example: it requires the plan, and its context has the plan's number."""
    auth_plan(holdfast_project)
    example = Path(__file__).parents[1] / "samples" / "canonical" / "example-1-start.json"
    put(holdfast_project, "feature-implementation", example.read_text(encoding="utf-8"))
    cycle = compaction_cycle()
    assert names(holdfast_project) == ["Feature Implementation (User Auth)"]
    assert "Feature Implementation (User Auth)" in cycle.guidance.splitlines()[0]
    assert "Follow existing auth patterns" in cycle.guidance


def test_a_plan_number_that_only_looks_like_digits(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """ "²" counts as a digit and makes no number: the hook failed, and nothing was saved."""
    auth_plan(holdfast_project)
    other = state("Other", required_reading=[f"@{PLAN}"], context={"plan_number": "²"})
    put(holdfast_project, "other", other)
    assert compaction_cycle.fire("PreCompact").code == 0
    assert names(holdfast_project) == ["Other", "User Auth"]


def test_a_copied_state_file_hides_nothing(holdfast_project: Project) -> None:
    """The copy carried the original's key; the original was hidden, and deleted with the copy."""
    project = holdfast_project
    project.run("start", "Alpha", "--phases", "A,B", "--remind", "ra")
    copied = {**project.state(), "workflow": "Beta"}
    put(project, "Beta", copied)
    shown = project.run("list").stdout
    assert "Alpha" in shown
    assert "Beta" in shown
    project.run("complete", "Beta")
    assert names(project) == ["Alpha"]


def test_a_crafted_key_hides_nothing(holdfast_project: Project) -> None:
    """A state that claims to be another one."""
    holdfast_project.run("start", "Victim")
    notes = {"identity": "canonical:name:victim", "changed_at": "2030-01-01T00:00:00Z"}
    put(holdfast_project, "Thief", state("Thief", holdfast=notes))
    assert "Victim" in holdfast_project.run("list").stdout


def test_start_keeps_the_phase_that_is_declared(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`start` without --phases reset it to 1 of 1."""
    holdfast_project.declare("Page Orchestration", phase="4/10 - SEO", reminders=["r"])
    holdfast_project.run("start", "Page Orchestration", "-r", "@x.md")
    guidance = compaction_cycle().guidance
    assert "phase 4 of 10: SEO." in guidance
    assert "@x.md" in guidance
    assert "- r" in guidance


def test_start_with_the_phases_of_a_plan_stays_in_its_phase(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """And ticking goes on moving it."""
    auth_plan(holdfast_project)
    holdfast_project.run("start", "Auth", "--phases", "Design,Build,Ship", "-r", f"@{PLAN}")
    assert "phase 2 of 3: Build." in compaction_cycle().guidance
    time.sleep(0.02)
    holdfast_project.plan(
        "001-user-auth",
        {"Design": ["x Choose"], "Build": ["x Form", "x Store"], "Ship": ["Notes"]},
    )
    assert "phase 3 of 3: Ship." in compaction_cycle().guidance


def test_pointing_at_the_plan_keeps_the_notes_of_both(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Two states became one workflow, and the notes of one were gone."""
    project = holdfast_project
    auth_plan(project)
    project.declare("Auth Work", phase="2/3 - Build")
    compaction_cycle()
    project.run("remind", "NEVER push", "-w", "Auth Work")
    project.run("remind", "of the plan", "-w", "User Auth")
    project.declare("Auth Work", phase="2/3 - Build", reading=[f"@{PLAN}"])
    guidance = compaction_cycle(2).guidance
    assert "NEVER push" in guidance
    assert "of the plan" in guidance
    assert names(project) == ["Auth Work"]


@pytest.mark.parametrize("folder", ["002-user-auth", "007-login"])
def test_a_renamed_plan_folder_keeps_its_state(
    folder: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A new state began without the reminders, where number and name had changed also later."""
    project = holdfast_project
    auth_plan(project)
    compaction_cycle()
    project.run("remind", "keepme")
    created_at = project.state()["created_at"]
    plans = project.root / "CLAUDE" / "Plan"
    (plans / "001-user-auth").rename(plans / folder)
    assert "keepme" in compaction_cycle(2).guidance
    kept = project.state()
    assert kept["created_at"] == created_at
    assert kept["required_reading"] == [f"@CLAUDE/Plan/{folder}/PLAN.md"]


def test_a_glob_that_covers_claude_local_md(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was read twice, and every hook failed."""
    holdfast_project.write(".claude/holdfast.toml", 'plans = ["*.md"]\n')
    holdfast_project.declare("W")
    assert "W" in compaction_cycle(3).guidance
    assert names(holdfast_project) == ["W"]


def test_workflows_of_one_name_can_be_told_apart(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Two plans with the same title."""
    for folder in ("001-a", "002-b"):
        holdfast_project.plan(folder, PHASES, title="Implementation Plan")
    compaction_cycle()
    done = holdfast_project.run("complete", "Implementation Plan", check=False)
    assert "claude/plan/001-a/plan.md" in done.stderr.casefold()
    holdfast_project.run("complete", "CLAUDE/Plan/001-a/PLAN.md")
    holdfast_project.run("complete", "002-b")
    assert holdfast_project.states() == []


def test_absorbing_keeps_what_was_changed_later(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Unknown keys, the earlier created_at, the later phase and the later values."""
    project = holdfast_project
    auth_plan(project)
    compaction_cycle()
    (path,) = project.state_files()
    path.write_text(json.dumps({**project.state(), "team": "x"}), encoding="utf-8")
    first = project.state()["created_at"]
    time.sleep(0.02)
    project.declare("Auth Work", phase="1/3 - Design", context={"token": "local"})
    compaction_cycle()
    project.run("context", "token=plan", "-w", "User Auth")
    project.run("phase", "set", "3", "-w", "User Auth")
    project.declare(
        "Auth Work", phase="1/3 - Design", context={"token": "local"}, reading=[f"@{PLAN}"]
    )
    guidance = compaction_cycle(2).guidance
    assert "phase 3 of 3: Ship." in guidance
    assert "- token: plan" in guidance
    assert project.state()["team"] == "x"
    assert project.state()["created_at"] == first
    assert names(project) == ["Auth Work"]


def test_another_plan_does_not_inherit_notes(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Same title, other folder and other work: the one was archived, the other is new."""
    project = holdfast_project
    project.plan("001-auth", PHASES, title="Implementation Plan")
    compaction_cycle()
    project.run("remind", "of auth")
    plans = project.root / "CLAUDE" / "Plan"
    (plans / "001-auth").rename(project.root / "CLAUDE" / "Done")
    project.plan(
        "002-pay", {"Design": ["x Choose"], "Settle": ["Pay out"]}, title="Implementation Plan"
    )
    assert "of auth" not in compaction_cycle().guidance


def test_renumbered_plans_keep_their_own_notes(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Two plans of one title changed their numbers, and their reminders changed places."""
    project = holdfast_project
    for folder in ("001-aa", "002-bb"):
        project.plan(folder, PHASES, title="Implementation Plan")
    compaction_cycle()
    project.run("remind", "of aa", "-w", "001-aa")
    project.run("remind", "of bb", "-w", "002-bb")
    plans = project.root / "CLAUDE" / "Plan"
    (plans / "001-aa").rename(plans / "002-aa")
    (plans / "002-bb").rename(plans / "001-bb")
    compaction_cycle()
    assert "of aa" in project.run("show", "002-aa").stdout
    assert "of bb" in project.run("show", "001-bb").stdout


def test_a_workflow_of_another_name_follows_its_renamed_plan(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent had named it; the plan's title is what counts for the plan."""
    project = holdfast_project
    auth_plan(project)
    project.run("start", "My Auth", "-r", f"@{PLAN}")
    project.run("remind", "keep")
    plans = project.root / "CLAUDE" / "Plan"
    (plans / "001-user-auth").rename(plans / "002-user-auth")
    assert "keep" in compaction_cycle(2).guidance
    assert names(project) == ["My Auth"]


def test_one_name_in_both_markdown_files_is_one_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One hid the notes of the other, and came back when it was completed."""
    project = holdfast_project
    auth_plan(project)
    compaction_cycle()
    project.run("remind", "keep")
    project.declare("User Auth", phase="2/3 - Build")
    guidance = compaction_cycle().guidance
    assert "keep" in guidance
    assert "Next action: Store" in guidance
    assert "Other workflows" not in guidance
    project.run("complete")
    assert compaction_cycle().guidance == ""


def test_one_name_in_two_spellings(holdfast_project: Project) -> None:
    """Composed and decomposed letters look the same."""
    holdfast_project.run("start", "Caf\u00e9")
    assert "Caf\u00e9" in holdfast_project.run("show", "Cafe\u0301").stdout
