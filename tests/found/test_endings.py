"""What has ended stays ended, and what was not ended stays: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import shutil
import time

import pytest

from found import PHASES, PLAN, auth_plan, names
from holdfast.testing import Compactions, Project


def test_completing_and_tidying_up_in_any_order_revives_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The plan marked complete, CLAUDE.local.md deleted, a file linked in the plan."""
    project = holdfast_project
    auth_plan(project)
    project.write("CLAUDE.local.md", f"Workflow: User Auth\nPhase: 2/3 - Build\nPlan: {PLAN}\n")
    compaction_cycle()
    project.run("complete")
    auth_plan(project, status="✅ Complete")
    assert compaction_cycle().guidance == ""
    auth_plan(project)
    (project.root / "CLAUDE.local.md").unlink()
    assert compaction_cycle().guidance == ""
    text = (project.root / PLAN).read_text(encoding="utf-8")
    project.write(PLAN, text.replace("- [ ] Notes", "- [x] Notes (see [notes](./notes.md))"))
    assert compaction_cycle().guidance == ""
    assert project.states() == []


def test_undo_takes_back_the_last_thing_and_not_an_old_complete(holdfast_project: Project) -> None:
    """With nothing active, any old tombstone won."""
    project = holdfast_project
    project.run("start", "Old", "-p", "A,B")
    project.run("complete")
    project.run("start", "New", "-p", "A,B,C")
    project.run("phase", "set", "3")
    project.run("phase", "set", "3", "-s", "completed")
    assert "New" in project.run("undo").stdout
    assert names(project) == ["New"]
    assert project.state()["phase"]["status"] == "in_progress"


@pytest.mark.parametrize("command", ["undo", "resume X"])
def test_a_start_that_failed_took_the_tombstone_away(
    command: str, holdfast_project: Project
) -> None:
    """Nothing was left that `undo` or `resume` could bring back."""
    project = holdfast_project
    project.run("start", "X", "-p", "A,B")
    project.run("complete")
    untracked = project.root / "untracked"
    shutil.rmtree(untracked)
    untracked.write_text("no folder\n")
    failed = project.run("start", "X", check=False)
    assert failed.returncode == 1
    assert f"{untracked} is not a folder" in failed.stderr
    untracked.unlink()
    project.run(*command.split())
    assert names(project) == ["X"]
    assert project.state()["phase"]["total"] == 2


@pytest.mark.parametrize("command", ["undo", "resume"])
def test_a_live_workflow_comes_before_an_ended_one_of_a_longer_name(
    command: str, holdfast_project: Project
) -> None:
    """`undo Auth` brought back "Auth v1"."""
    project = holdfast_project
    project.run("start", "Auth v1", "-p", "A,B")
    project.run("complete")
    project.run("start", "Auth", "-p", "X,Y")
    project.run("remind", "oops")
    project.run(command, "Auth")
    assert names(project) == ["Auth"]
    assert project.state()["key_reminders"] == ([] if command == "undo" else ["oops"])


def test_deleting_the_folder_after_a_last_edit_ends_the_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No hook had seen the edit, so the deleted state was made anew."""
    holdfast_project.declare("W", phase="4/10 - SEO")
    compaction_cycle()
    holdfast_project.declare("W", phase="10/10 - Publish")
    time.sleep(0.02)
    shutil.rmtree(holdfast_project.root / "untracked" / "workflow-state" / "w")
    assert compaction_cycle(2).guidance == ""
    time.sleep(0.02)
    holdfast_project.declare("W", phase="1/2 - Again")
    assert "phase 1 of 2: Again." in compaction_cycle().guidance


def test_complete_ends_an_ignore_as_well(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Declared anew, it stayed ignored for ever."""
    holdfast_project.declare("W", phase="4/10 - SEO")
    compaction_cycle()
    holdfast_project.run("ignore")
    holdfast_project.run("complete", "W")
    time.sleep(0.02)
    holdfast_project.declare("W", phase="1/10 - Anew")
    assert "phase 1 of 10: Anew." in compaction_cycle().guidance


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"finished": {"k": {"name": "x", "at": 5}}, "ignored": [], "notices": {}, "workflows": []}',
        "",
        "5",
    ],
)
def test_a_damaged_ledger_counts_as_empty(
    content: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It stopped every hook."""
    holdfast_project.declare("W")
    compaction_cycle()
    holdfast_project.write(".claude/holdfast/ledger.json", content)
    assert "W" in compaction_cycle().guidance


def test_a_damaged_ledger_revives_nothing_and_is_set_aside(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was overwritten, and finished work came back."""
    holdfast_project.declare("W")
    compaction_cycle()
    holdfast_project.run("complete")
    path = holdfast_project.root / ".claude" / "holdfast" / "ledger.json"
    damaged = path.read_bytes()[:-5]
    path.write_bytes(damaged)
    cycle = compaction_cycle()
    assert cycle.guidance == f"Note: {cycle.message}"
    assert "ledger.json could not be read" in cycle.message
    holdfast_project.run("start", "Next")
    kept = list((holdfast_project.root / ".claude/holdfast/quarantine").iterdir())
    assert [each.read_bytes() for each in kept] == [damaged]
    holdfast_project.run("resume", "W")
    assert names(holdfast_project) == ["Next", "W"]


def test_many_deleted_states_are_found_in_one_pass(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was quadratic: 11 seconds for 300 plans, because each plan read every copy."""
    for number in range(100):
        holdfast_project.plan(f"{number:03}-x", {"A": ["a"]}, title=f"T{number}")
    took = []
    for _ in range(2):
        begun = time.process_time()
        compaction_cycle.fire("PreCompact")
        took.append(time.process_time() - begun)
        shutil.rmtree(holdfast_project.root / "untracked", ignore_errors=True)
    assert holdfast_project.states() == []
    saving, ending = took
    assert ending < 10 * saving  # which writes a file for each


@pytest.mark.parametrize("end", ["complete", "delete"])
def test_what_ended_on_a_branch_has_ended_on_the_others(
    end: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The other branch has an older plan, whose open boxes looked new."""
    project = holdfast_project
    project.write(".gitignore", "untracked\n.claude\n")
    auth_plan(project)
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-qm", "plan")
    project.git("checkout", "-q", "-b", "feat")
    done = {
        name: [f"x {item.removeprefix('x ')}" for item in items] for name, items in PHASES.items()
    }
    project.plan("001-user-auth", done, title="Plan 001: User Auth")
    compaction_cycle()
    project.git("commit", "-qam", "done")
    if end == "complete":
        project.run("complete")
    else:
        shutil.rmtree(project.state_files()[0].parent)
    project.git("checkout", "-q", "main")
    assert compaction_cycle(2).guidance == ""
    project.git("checkout", "-q", "feat")
    assert compaction_cycle(2).guidance == ""


def test_ticking_after_deleting_the_folder_revives_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's own way to end, and the tidying after it."""
    auth_plan(holdfast_project)
    compaction_cycle()
    shutil.rmtree(holdfast_project.state_files()[0].parent)
    done = {
        name: [f"x {item.removeprefix('x ')}" for item in items] for name, items in PHASES.items()
    }
    time.sleep(0.02)
    holdfast_project.plan("001-user-auth", done, title="Plan 001: User Auth")
    assert compaction_cycle(2).guidance == ""


def test_renaming_the_folder_of_a_finished_plan_revives_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A live state survives a rename, so an ended one has to as well."""
    auth_plan(holdfast_project)
    compaction_cycle()
    holdfast_project.run("complete")
    plans = holdfast_project.root / "CLAUDE" / "Plan"
    (plans / "001-user-auth").rename(plans / "002-user-auth")
    assert compaction_cycle(2).guidance == ""


def test_a_plan_with_other_phases_is_new_work(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It had no checkboxes, so nothing seemed to be new, and the new work was lost."""
    plan = "# Implementation Plan\n\n**Status**: In Progress\n\n## Phase 1: {}\n\n## Phase 2: {}\n"
    holdfast_project.write("PLAN.md", plan.format("Research login", "Build login"))
    compaction_cycle()
    holdfast_project.run("complete")
    assert compaction_cycle().guidance == ""
    holdfast_project.write("PLAN.md", plan.format("Research payments", "Build payments"))
    assert "Research payments" in compaction_cycle().guidance


def test_completed_in_claude_local_md_goes_before_the_plan(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It points at a plan whose header still says in progress."""
    auth_plan(holdfast_project)
    holdfast_project.declare("W", phase="3/3 - Ship", reading=[f"@{PLAN}"])
    compaction_cycle()
    holdfast_project.declare("W", phase="3/3 - Ship", status="completed", reading=[f"@{PLAN}"])
    assert compaction_cycle().guidance.startswith("Note: Workflow not restored: ")


def test_what_was_completed_is_not_mentioned_at_every_compaction(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is over, and the person knows."""
    holdfast_project.declare("W")
    compaction_cycle()
    holdfast_project.run("complete")
    assert compaction_cycle().message == ""


def test_start_after_complete_begins_anew(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It went on in the phase, and with the notes, in which the earlier run had ended."""
    holdfast_project.declare("W", phase="2/5 - B", reminders=["declared"])
    compaction_cycle()
    holdfast_project.run("phase", "set", "5")
    holdfast_project.run("remind", "of the first run")
    first = holdfast_project.state()["created_at"]
    holdfast_project.run("complete")
    holdfast_project.run("start", "W")
    state = holdfast_project.state()
    assert state["phase"]["current"] == 1  # not in 5, which `phase set` wrote into the markdown
    assert "Phase: 1/5" in (holdfast_project.root / "CLAUDE.local.md").read_text("utf-8")
    assert state["key_reminders"] == ["declared"]
    assert state["created_at"] != first


def test_undo_of_a_workflow_whose_plan_is_completed_named_a_next_step(
    holdfast_project: Project,
) -> None:
    """It is not active, and `undo` and `phase set` say why."""
    project = holdfast_project
    boxes = "".join(f"## Phase {n}: P{n}\n- [ ] box {n}\n\n" for n in range(1, 9))
    plan = "# Plan 001: Auth\n\n**Status**: 🔄 In Progress\n\n" + boxes
    project.write("CLAUDE/Plan/001-auth/PLAN.md", plan)
    moved = project.run("phase", "set", "8").stdout
    assert (
        "left with open boxes in phase 3: box 3\n  left with open boxes in 4 more phases\n" in moved
    )
    project.run("complete")
    project.write("CLAUDE/Plan/001-auth/PLAN.md", plan.replace("🔄 In Progress", "Completed"))
    for command in (("undo",), ("phase", "set", "2")):
        told = project.run(*command).stdout
        assert "It is not active: CLAUDE/Plan/001-auth/PLAN.md: its status is 'Completed'" in told
        assert "Next:" not in told
