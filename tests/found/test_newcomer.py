"""What somebody stumbled over who had read the README alone; each test is named for one defect."""

from __future__ import annotations

import os
import time

import pytest

from holdfast.testing import Compactions, Project

LIST = "# Export\n\nStatus: In Progress\n\n1. [x] Write\n2. [x] Test\n3. [ ] Hook up\n4. [ ] Document\n"
STEPS = """# Export

Status: In Progress

## Step 1: Write
- [x] Write

## Step 2: Hook up
- [ ] Hook up
- [ ] Try it

## Step 3: Document
- [ ] Document

## Step 4: Ship
- [ ] Ship
"""
OPEN = "open boxes in phase 2: Hook up; Try it"


def test_a_plan_of_boxes_named_a_command_that_fails(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`phase next` needs phases; the hint led to counting them by hand."""
    project = holdfast_project
    path = project.write("PLAN.md", LIST)
    guidance = compaction_cycle().guidance
    assert "kept current with `holdfast done`, " in guidance
    assert "phase next" not in guidance
    refused = project.run("phase", "next", check=False).stderr
    assert "`holdfast done` ticks the next open box" in refused
    assert "--total" not in refused
    assert "Next: Document\n  ticked: Hook up\n" in project.run("done").stdout
    assert path.read_text("utf-8") == LIST.replace("[ ] Hook", "[x] Hook")
    project.run("done")
    refused = project.run("done", check=False).stderr
    assert "no plan of 'Export' has an open box" in refused
    assert "`holdfast complete`" in refused


def test_done_did_not_tick_a_plan_that_is_followed(holdfast_project: Project) -> None:
    """Only one that says that it is in progress."""
    project = holdfast_project
    path = project.write("PLAN.md", STEPS.replace("Status: In Progress\n\n", ""))
    project.run("follow", "PLAN.md")
    assert "ticked: Hook up" in project.run("done").stdout
    assert "- [x] Hook up" in path.read_text("utf-8")


@pytest.mark.parametrize(("ticked", "phase"), [(0, "2/4"), (1, "2/4"), (2, "3/4"), (4, "4/4")])
def test_phases_that_are_the_boxes_were_counted_from_one(
    holdfast_project: Project, ticked: int, phase: str
) -> None:
    text = LIST.replace("[x]", "[ ]").replace("[ ]", "[x]", ticked)
    holdfast_project.write("PLAN.md", text)
    assert f"phase {phase}" in holdfast_project.run("phase", "next", "--total", "4").stdout


def test_phases_that_a_plan_gets_later_did_not_count(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """And open boxes that no step had gone past were named nowhere."""
    project = holdfast_project
    project.write("PLAN.md", LIST)
    project.run("phase", "next", "--total", "5")
    project.run("phase", "next")
    time.sleep(0.02)
    project.write("PLAN.md", STEPS)
    assert "phase 2 of 4: Hook up." in compaction_cycle().guidance
    assert "its plan says" not in project.run("status").stdout
    assert f"left with {OPEN}\n" in project.run("phase", "next").stdout
    assert "phase 3 of 4: Document." in compaction_cycle().guidance  # a command counts, being later
    assert f"left with {OPEN}\n" in project.run("phase", "next").stdout
    assert OPEN in project.run("status").stdout
    assert f"It was left with {OPEN}\n" in project.run("complete").stdout


def test_open_boxes_of_an_earlier_phase_were_not_named(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The plan itself had gone past them; a cancelled phase has nothing to do."""
    project = holdfast_project
    text = STEPS.replace("## Step 3: Document", "## Step 3: Document (in progress)")
    project.write("PLAN.md", text)
    assert f"the work went past it: {OPEN}." in compaction_cycle().guidance
    assert OPEN in project.run("status").stdout
    project.write("PLAN.md", text.replace("Step 2: Hook up", "Step 2: Hook up (cancelled)"))
    assert "went past it" not in compaction_cycle().guidance


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("phase", "next", "--tick"), "  PLAN.md: 2 ticks taken back\n  phase 3/4 -> 2/4\n"),
        (("done",), "  PLAN.md: 1 tick taken back\n"),
    ],
)
def test_undo_left_the_boxes_ticked(
    command: tuple[str, ...], said: str, holdfast_project: Project
) -> None:
    """And said nothing of it; a second undo ticks them again."""
    project = holdfast_project
    path = project.write("PLAN.md", STEPS)
    project.run("phase", "next", "--total", "4")
    project.run("phase", "set", "2")
    project.run(*command)
    state, ticked = project.state()["phase"], path.read_text("utf-8")
    assert ticked != STEPS
    assert said in project.run("undo").stdout
    assert path.read_text("utf-8") == STEPS
    shown = project.run("status").stdout
    assert "2/4 Hook up" in shown
    assert "next       Hook up" in shown
    assert "its plan says" not in shown
    assert "made again" in project.run("undo").stdout
    assert path.read_text("utf-8") == ticked
    assert project.state()["phase"] == state


def test_undo_says_where_ticks_stay(holdfast_project: Project) -> None:
    """The plan was changed since; what undo takes back is the last change alone."""
    project = holdfast_project
    path = project.write("PLAN.md", STEPS)
    project.run("phase", "next", "--tick")
    path.write_text(path.read_text("utf-8") + "\nA remark.\n", "utf-8")
    said = project.run("undo").stdout
    assert "PLAN.md was changed since, so its boxes stay as they are" in said
    assert path.read_text("utf-8").count("[x]") == 3
    path.write_text(STEPS, "utf-8")
    project.run("done")
    project.run("remind", "x")
    assert "PLAN.md" not in project.run("undo").stdout
    assert "[x] Hook up" in path.read_text("utf-8")


def test_set_up_in_two_steps_left_an_empty_settings_file(holdfast_project: Project) -> None:
    """What the second step copied had our own hooks in it already."""
    project = holdfast_project
    file = project.home / ".claude/settings.json"
    for only in ("permission", "hooks", "statusline"):
        project.run("init", "--yes", "--only", only)
    assert file.exists()
    project.run("uninstall")
    assert not file.exists()


def test_follow_named_a_ground_that_it_ignores(holdfast_project: Project) -> None:
    """The status; what was missing was work. And `init` offered to follow a plan without any."""
    project = holdfast_project
    project.write("PLAN.md", "# Shop\n\n- Cart\n")
    refused = project.run("follow", "PLAN.md", check=False).stderr
    assert "there are no phases or boxes" in refused
    project.write("PLAN.md", "# Shop\n\nStatus: In Progress\n\n- Cart\n")
    shown = project.run("init").stdout
    assert "it looks like a plan (in progress, but without phases or boxes)" in shown
    assert "  follow " not in shown


def test_a_status_with_a_typo_was_passed_over(holdfast_project: Project) -> None:
    """It said to add the line that is there."""
    holdfast_project.write("PLAN.md", "# Shop\n\nStatus: in progres\n\n- [x] a\n- [ ] b\n")
    shown = holdfast_project.run("init").stdout
    assert "To have it followed: change line 3 to `Status: In Progress`, or `holdfast fo" in shown
    assert "The workflow would be: Shop" in shown


@pytest.mark.parametrize("command", [["phase", "next"], ["remind", "x"], ["complete"], ["next"]])
def test_a_command_without_a_workflow_led_past_what_is_there(
    command: list[str], holdfast_project: Project
) -> None:
    """To `start`, where a plan only has to be followed, or the last workflow has ended."""
    project = holdfast_project
    project.write("PLAN.md", "# Shop\n\n- [x] a\n- [ ] b\n")
    assert "`holdfast follow PLAN.md`" in project.run(*command, check=False).stderr
    project.run("follow", "PLAN.md")
    assert "it is the only active one: PLAN.md declares it" in project.run("status").stdout
    project.run("complete")
    refused = project.run(*command, check=False).stderr
    assert "'Shop' was completed on " in refused
    assert "`holdfast resume Shop` takes it up again" in refused


def test_what_remains_the_current_workflow_was_unsaid(holdfast_project: Project) -> None:
    """A second plan was followed or begun, and another one stayed the chosen one."""
    project = holdfast_project
    project.declare("Export")
    project.write("PLAN.md", "# Shop\n\n- [x] a\n- [ ] b\n")
    assert "Also: " not in project.run("init").stdout  # CLAUDE.local.md is shown already
    still = "Still current: 'Export'."
    assert still in project.run("init", "--yes", "--only", "follow").stdout
    assert still in project.run("init", "--plan", "--name", "Cart", "--phases", "A,B").stdout


def test_simulate_was_noted_as_a_hook_of_the_client(holdfast_project: Project) -> None:
    """`status` named PreCompact, and `log` said that no hook has run."""
    holdfast_project.declare("Export")
    holdfast_project.run("simulate")
    assert "by `holdfast simulate`" in holdfast_project.run("status").stdout


def test_uninstall_did_not_say_what_stays(holdfast_project: Project) -> None:
    """The states of workflows, here and elsewhere."""
    said = "Kept: the states of 1 project and what was followed; `holdfast uninstall --purge`"
    holdfast_project.run("install")
    assert "Kept: " not in holdfast_project.run("uninstall").stdout
    holdfast_project.write("PLAN.md", STEPS)
    holdfast_project.run("next")
    for cwd in (holdfast_project.root, holdfast_project.home):
        assert said in holdfast_project.run("uninstall", cwd=cwd).stdout
    holdfast_project.run("uninstall", "--purge", "--yes")
    assert "Kept: " not in holdfast_project.run("uninstall").stdout


def test_a_plan_of_boxes_lost_its_count(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Only `init` said how many are done. After the last one nothing said that all are."""
    project = holdfast_project
    project.write("PLAN.md", LIST)
    cycle = compaction_cycle()
    assert cycle.message == "✅ Workflow restored: Export. 2 of 4 done. Next: Hook up"
    assert "(type custom) is in progress, 2 of 4 done." in cycle.guidance
    assert "is in progress, 2 of 4 done." in cycle.note
    assert "  status     in progress, 2 of 4 done\n" in project.run("status").stdout
    assert "    2 of 4 done · next: Hook up" in project.run("list").stdout
    assert project.run("statusline").stdout == "Export 2 of 4 done\n"
    project.run("done")
    assert "4 of 4 done. Next: all done: `holdfast complete`" in project.run("done").stdout
    assert "next       all done: `holdfast complete`" in project.run("status").stdout
    assert "1. Every box of the plan is ticked. Review the whole" in compaction_cycle().guidance


def test_the_last_box_of_a_phase_led_nowhere(holdfast_project: Project) -> None:
    """A command had set the phase, so the plan's boxes do not move it."""
    project = holdfast_project
    project.write("PLAN.md", STEPS)
    project.run("phase", "set", "2")
    assert "Next: Try it" in project.run("done").stdout
    onward = "`holdfast next`, to phase 3: Document"
    assert f"Next: {onward}" in project.run("done").stdout
    assert f"next       {onward}" in project.run("status").stdout
    assert "phase 3/4 (Document). Next: Document" in project.run("next").stdout


@pytest.mark.parametrize("command", ["simulate", "why", "doctor", "status", "preview", "next"])
def test_without_a_plan_nothing_named_the_way_on(command: str, holdfast_project: Project) -> None:
    """Only `init` knew that it can write a plan."""
    done = holdfast_project.run(command, check=False)
    way_on = "Start one with `holdfast init --plan`, or `holdfast start NAME`"
    assert way_on in done.stdout + done.stderr
    assert "nothing: no workflow" not in done.stderr


def test_a_tick_left_the_time_of_the_last_change(holdfast_project: Project) -> None:
    """It changes the plan, and nothing else of the workflow."""
    path = holdfast_project.write("PLAN.md", LIST)
    os.utime(path, (time.time() - 7200,) * 2)
    assert "2 hours ago" in holdfast_project.run("list").stdout
    holdfast_project.run("done")
    assert "just now" in holdfast_project.run("list").stdout


def test_a_finished_plan_was_to_be_begun(holdfast_project: Project) -> None:
    """By a line that says that work on it is in progress."""
    project = holdfast_project
    project.write("PLAN.md", "# Shop\n\n- [x] Cart\n- [x] Pay\n")
    for command in (["init"], ["why", "PLAN.md"]):
        shown = project.run(*command).stdout
        assert "all 2 boxes are done" in shown
        assert "Status: In Progress" not in shown
    project.run("follow", "PLAN.md")
    project.run("complete")
    shown = project.run("init").stdout
    assert "its workflow has ended (completed on " in shown
    assert "To take it up again: holdfast resume Shop" in shown


def test_init_ended_with_nothing_to_do_where_a_plan_is_not_followed(
    holdfast_project: Project,
) -> None:
    project = holdfast_project
    project.write("PLAN.md", "# Shop\n\n- [ ] Cart\n- [ ] Pay\n")
    project.run("init", "--yes")
    shown = " ".join(project.run("init").stdout.split())
    assert shown.endswith(
        "PLAN.md is not protected yet: add a line `Status: In Progress`, or `holdfast follow PLAN.md`"
    )
    assert "Nothing to do" not in shown
    project.run("follow", "PLAN.md")
    assert project.run("init").stdout.endswith("Nothing to do: nothing was changed.\n")
