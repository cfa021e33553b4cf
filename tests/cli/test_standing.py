"""Commands that move a workflow on or end it say what is open, and leave one truth behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mounts
from gatedwork import killed_at_rename
from holdfast.testing import Compactions, Project
from measured import measured

GATE = "Gate: the design was reviewed"


@pytest.fixture
def gated(holdfast_project: Project) -> Project:
    """A plan in phase 1 of 3, with a gate behind an open box."""
    path = holdfast_project.plan(
        "001-x", {"Design": ["x a", "b"], "Build": ["c", "d"], "Ship": ["e"]}, title="Payments"
    )
    path.write_text(path.read_text("utf-8").replace("- [ ] b\n", f"- [ ] b\n{GATE}\n"), "utf-8")
    holdfast_project.run("context", "port=80")
    return holdfast_project


def _plan(project: Project) -> Path:
    return project.root / "CLAUDE/Plan/001-x/PLAN.md"


@pytest.mark.parametrize(
    "arguments", [["phase", "next"], ["phase", "set", "3"], ["complete"], ["complete", "Payments"]]
)
def test_an_open_gate_is_passed_only_by_force(arguments: list[str], gated: Project) -> None:
    """And nothing is changed where it is refused."""
    refused = gated.run(*arguments, check=False)
    assert refused.returncode == 1
    assert "a gate is open: open boxes in phase 1: b; its gate: the design was" in refused.stderr
    assert "--force" in refused.stderr
    assert gated.state()["phase"]["current"] == 1
    assert "left with open boxes in phase 1: b" in gated.run(*arguments, "--force").stdout


def test_open_boxes_without_a_gate_are_said(holdfast_project: Project) -> None:
    holdfast_project.plan("001-x", {"Design": ["a"], "Build": ["b"]}, title="Payments")
    done = holdfast_project.run("phase", "next").stdout
    assert "left with open boxes in phase 1: a\n" in done
    done = holdfast_project.run("complete").stdout
    assert "It was left with open boxes in phase 1: a\n" in done  # it named the last phase alone
    assert "It was left with open boxes in phase 2: b\n" in done


def test_undo_says_what_it_set_back(holdfast_project: Project) -> None:
    holdfast_project.run("start", "W", "-p", "Design,Build,Test")
    holdfast_project.run("phase", "set", "build")
    assert "  phase 2/3 -> 1/3\n" in holdfast_project.run("undo").stdout
    holdfast_project.run("block", "the reviewer is away")
    assert "  status blocked -> in progress\n" in holdfast_project.run("undo").stdout


def test_a_phase_is_set_by_its_name(holdfast_project: Project) -> None:
    holdfast_project.run("start", "W", "-p", "Design,Build the API,Test")
    assert "phase 2/3 (Build the API)" in holdfast_project.run("phase", "set", "build").stdout
    assert "phase 3/3 (Test)" in holdfast_project.run("phase", "set", "Test").stdout


def test_what_was_skipped_is_told_after_a_compaction(
    gated: Project, compaction_cycle: Compactions
) -> None:
    gated.run("phase", "set", "3", "--force")
    told = compaction_cycle().guidance
    assert "Not done yet, though the work went past it: open boxes in phase 1: b" in told
    assert "open boxes in phase 2: c; d" in told
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("[ ]", "[x]", 3), "utf-8")
    told = compaction_cycle().guidance
    assert "Not done yet" not in told


def test_when_all_boxes_are_ticked_the_next_step_is_to_complete_it(
    gated: Project, compaction_cycle: Compactions
) -> None:
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("[ ]", "[x]"), "utf-8")
    cycle = compaction_cycle()
    assert "Next: all done: `holdfast complete`" in cycle.message
    assert "1. Every box of the plan is ticked." in cycle.guidance
    assert "all done: `holdfast complete`" in gated.run("status").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["phase", "next"],
        ["phase", "set", "2"],
        ["block"],
        ["remind", "x"],
        ["read", "a.md"],
        ["context", "a=1"],
        ["complete"],
        ["abandon"],
        ["ignore"],
    ],
)
def test_which_of_several_is_changed_has_to_be_said(
    arguments: list[str], holdfast_project: Project
) -> None:
    """A bare `complete` outside of a session ended one that nobody had named."""
    holdfast_project.run("start", "Alpha", "--phases", "A,B")
    holdfast_project.run("start", "Beta", "--phases", "A,B")
    before = holdfast_project.states()
    refused = holdfast_project.run(*arguments, check=False)
    assert refused.returncode == 1
    assert "several workflows are active: 'Beta', 'Alpha'\n" in refused.stderr
    assert f"Name one: holdfast {' '.join(arguments[:1])}" in refused.stderr
    assert holdfast_project.states() == before
    holdfast_project.run(*arguments, "-w", "Alpha")
    holdfast_project.run("phase", "next", "-w", "Beta", session="s-1")
    holdfast_project.run("remind", "my own", session="s-1")  # the session's own one is known


def test_abandon_gives_up_and_forget_deletes_what_is_kept(holdfast_project: Project) -> None:
    """`undo` brings back what was abandoned; nothing brings back what was forgotten."""
    project = holdfast_project
    project.run("start", "Alpha", "--phases", "A,B")
    assert "'Alpha' has not ended" in project.run("forget", "Alpha", check=False).stderr
    assert "Workflow abandoned: Alpha" in project.run("abandon", "Alpha").stdout
    assert "brought back: Alpha" in project.run("undo").stdout
    project.run("abandon")
    assert "Workflow forgotten: Alpha, abandoned on" in project.run("forget", "alpha").stdout
    assert len(list((project.root / ".claude/holdfast/archive").iterdir())) == 1  # the first end
    assert "no workflow is called" in project.run("resume", "Alpha", check=False).stderr
    assert "has ended" in project.run("forget", "Alpha", check=False).stderr


def test_what_markdown_still_declares_is_not_forgotten(holdfast_project: Project) -> None:
    """It would begin anew."""
    holdfast_project.declare("Alpha")
    holdfast_project.run("complete")
    refused = holdfast_project.run("forget", "Alpha", check=False)
    assert "still declared in CLAUDE.local.md" in refused.stderr


# One truth.

DECLARED = "# Current Workflow State\n\nWorkflow: Payments\n{}\n\n- Never skip phase 1/3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Phase: 1/3 - Design", "Phase: 2/3 - Build"),
        ("Phase: 1/3", "Phase: 2/3"),
        ("**Phase**: 1 of 3 (Design)", "**Phase**: 2 of 3 (Build)"),
        ("- Current phase: 1/3 — Design", "- Current phase: 2/3 — Build"),
        ("Phase: 1/3 - Design\r\nStatus: In Progress", "Phase: 2/3 - Build\r\nStatus: In Progress"),
        ("Phase: 1/3 - Design\nStatus: blocked", "Phase: 2/3 - Build\nStatus: in progress"),
        ("Status: blocked\nPhase: 1/3 - Design", "Status: in progress\nPhase: 2/3 - Build"),
        ("Phase: 1/3\n\n```\nPhase: 1/3\n```", "Phase: 2/3\n\n```\nPhase: 1/3\n```"),
    ],
)
def test_claude_local_md_says_what_a_command_has_done(
    before: str, after: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The client loads it in every session. Those lines alone are changed, also by `undo`."""
    project, path = holdfast_project, holdfast_project.root / "CLAUDE.local.md"
    path.write_bytes(DECLARED.format(before).encode())
    project.run("start", "Payments", "--phases", "Design,Build,Ship")
    done = project.run("phase", "next", "--force").stdout
    assert "says" not in done
    assert path.read_bytes().decode() == DECLARED.format(after)
    compaction_cycle()
    assert project.state()["phase"]["current"] == 2
    project.run("undo")
    assert project.state()["phase"]["current"] == 1
    assert path.read_bytes().decode() == DECLARED.format(before)
    compaction_cycle()
    assert project.state()["phase"]["current"] == 1


def test_block_is_written_back_where_a_status_is_stated(holdfast_project: Project) -> None:
    path = holdfast_project.declare("Payments", status="In Progress")
    holdfast_project.run("block", "no key")
    assert "Status: Blocked\n" in path.read_text("utf-8")
    holdfast_project.run("unblock")
    assert "Status: In Progress\n" in path.read_text("utf-8")


@pytest.mark.parametrize("why", ["switched off", "a link", "front matter"])
def test_what_cannot_be_written_back_is_said(
    why: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """And the guidance says which counts."""
    project, path = holdfast_project, holdfast_project.declare("Payments")
    if why == "switched off":
        project.write(".claude/holdfast.toml", "write_back = false\n")
    elif why == "a link":
        path.symlink_to(path.rename(project.root / "local.md"))
    else:
        path.write_text("---\nworkflow: Payments\nphase:\n  current: 1\n  total: 3\n---\n", "utf-8")
    before = path.read_bytes()
    assert "CLAUDE.local.md still says 1/3" in project.run("phase", "next").stdout
    assert path.read_bytes() == before
    assert "CLAUDE.local.md says phase 1; the saved state counts" in compaction_cycle().guidance


def test_tick_ticks_the_boxes_of_the_phase_that_is_left_alone(gated: Project) -> None:
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("- [ ] e", "- [ ] b\n- [ ] e"), "utf-8")
    before = path.read_text("utf-8")
    done = gated.run("phase", "next", "--tick").stdout
    assert "phase 2/3 (Build)" in done
    assert "left with" not in done
    assert path.read_text("utf-8") == before.replace("- [ ] b", "- [x] b", 1)
    assert gated.state()["phase"] == {
        "current": 2,
        "total": 3,
        "name": "Build",
        "status": "in_progress",
    }
    gated.run("phase", "next")
    assert path.read_text("utf-8").count("[x]") == 2


def test_tick_read_the_whole_plan_again_for_each_box(holdfast_project: Project) -> None:
    """Half a minute with the lock held, in which no hook could save."""
    boxes = {
        f"Part {number}": [f"{'x ' if number < 19 else ''}item {number}-{box}" for box in range(50)]
        for number in range(1, 21)
    }
    path = holdfast_project.plan("001-x", boxes, title="Payments")
    before = path.read_text("utf-8")
    done = measured(holdfast_project, "phase", "next", "--tick")
    assert "phase 20/20 (Part 20)" in done.said
    assert done.seconds < 2
    assert path.read_text("utf-8") == before.replace("- [ ] item 19-", "- [x] item 19-")


def test_tick_ticked_before_it_was_refused(gated: Project) -> None:
    """Nothing is written where the gate of the phase stays open."""
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("- [ ] b", "- [~] b\n- [ ] b2"), "utf-8")
    before = path.read_bytes()
    refused = gated.run("phase", "next", "--tick", check=False)
    assert refused.returncode == 1
    assert "open boxes in phase 1: b; its gate" in refused.stderr
    assert path.read_bytes() == before
    assert gated.state()["phase"]["current"] == 1
    assert (
        "left with open boxes in phase 1: b;"
        in gated.run("phase", "next", "--tick", "--force").stdout
    )
    assert path.read_bytes() == before.replace(b"- [ ] b2", b"- [x] b2")


TICKS = pytest.mark.parametrize(
    "command", [["done"], ["phase", "next", "--tick"], ["next", "--tick"], ["undo"]], ids=" ".join
)


def _refused(project: Project, command: list[str]) -> str:
    """What *command* says, which changes neither the plan nor the state."""
    before, state = _plan(project).read_bytes(), project.state()
    refused = project.run(*command, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Nothing was changed" in refused.stderr
    assert (_plan(project).read_bytes(), project.state()) == (before, state)
    return refused.stderr


@TICKS
def test_ticks_were_reported_that_could_not_be_written(command: list[str], gated: Project) -> None:
    if command == ["undo"]:
        gated.run("done")
    try:
        with mounts.read_only(_plan(gated).parent):
            assert "PLAN.md could not be written" in _refused(gated, command)
    except mounts.NoMount as error:
        pytest.skip(f"no mount: {error}")


@TICKS
def test_a_plan_that_is_a_link_was_said_to_have_no_open_box(
    command: list[str], gated: Project
) -> None:
    """And `--tick` was ignored."""
    path = _plan(gated)
    if command == ["undo"]:
        gated.run("done")
    path.symlink_to(path.rename(gated.root / "elsewhere.md"))
    assert "PLAN.md is a link, and is not changed" in _refused(gated, command)


@TICKS
def test_ticks_were_reported_over_a_plan_that_was_saved_meanwhile(
    command: list[str], gated: Project
) -> None:
    """An editor saves between our look and our write: its version stays."""
    path = _plan(gated)
    if command == ["undo"]:
        gated.run("done")
    state, edited = gated.state(), f"{path.read_text('utf-8')}\nA remark.\n"
    # The last moment before the plan is replaced: `link` gives a second name to what is there.
    program = f"""
import pathlib, runpy, sys
def save(event, given):
    if event == "os.link" and str(given[0]) == {str(path)!r}:
        pathlib.Path(given[0]).write_text({edited!r}, "utf-8")
sys.addaudithook(save)
runpy.run_module("holdfast", run_name="__main__")
"""
    refused = subprocess.run(
        [sys.executable, "-c", program, *command],
        cwd=gated.root,
        env=gated.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "was changed by another process just now" in refused.stderr
    assert path.read_text("utf-8") == edited
    assert gated.state() == state


# Before the plan, between it and the state, and after both.
@pytest.mark.parametrize("rename", [2, 3, 4])
@pytest.mark.parametrize(
    ("command", "ticks"), [(["done"], "1 tick"), (["phase", "next", "--tick"], "2 ticks")]
)
def test_undo_did_not_know_the_ticks_of_a_command_that_was_killed(
    command: list[str], ticks: str, rename: int, gated: Project
) -> None:
    """And the work was in a phase whose boxes were all ticked."""
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("- [ ] b", "- [ ] b\n- [ ] b2"), "utf-8")
    gated.run("context", "port=81")
    before, phase = path.read_bytes(), gated.state()["phase"]
    assert killed_at_rename(gated, rename, *command) == -signal.SIGKILL
    assert f"PLAN.md: {ticks} taken back\n" in gated.run("undo").stdout
    assert (path.read_bytes(), gated.state()["phase"]) == (before, phase)


def test_ticks_of_a_killed_command_overwrite_no_later_plan(gated: Project) -> None:
    path = _plan(gated)
    assert killed_at_rename(gated, 3, "phase", "next", "--tick") == -signal.SIGKILL
    edited = f"{path.read_text('utf-8')}\nA remark.\n"
    path.write_text(edited, "utf-8")
    assert "PLAN.md was changed since, so its boxes stay as they are" in gated.run("undo").stdout
    assert path.read_text("utf-8") == edited
    assert gated.state()["phase"]["current"] == 1


@pytest.mark.parametrize("command", [["done"], ["phase", "next", "--tick"]], ids=" ".join)
def test_ticks_stayed_of_a_command_that_could_not_write_the_state(
    command: list[str], gated: Project
) -> None:
    before = _plan(gated).read_bytes()
    try:
        with mounts.read_only(gated.root / "untracked/workflow-state"):
            refused = gated.run(*command, check=False)
    except mounts.NoMount as error:
        pytest.skip(f"no mount: {error}")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert _plan(gated).read_bytes() == before


def test_done_denied_a_box_that_it_cannot_tick(gated: Project) -> None:
    path = _plan(gated)
    path.write_text(path.read_text("utf-8").replace("- [ ] b", "- [~] b"), "utf-8")
    assert "the box cannot be ticked by a command: b" in _refused(gated, ["done"])


def test_undo_does_not_move_a_workflow_to_another_branch(holdfast_project: Project) -> None:
    """It noted the branch that was checked out at that moment."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.run("start", "Alpha", "--phases", "A,B")
    project.run("phase", "next")
    project.git("checkout", "-q", "--orphan", "other")
    project.run("undo", "Alpha")
    assert project.state()["holdfast"]["branch"] == "main"


def test_the_list_says_what_is_next_where_and_how_old_it_is(holdfast_project: Project) -> None:
    """The newest first; what is finished only with --all."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    for name, phases in (("Old", "A,B"), ("Alpha", "A,B"), ("Beta", "A,B")):
        project.run("start", name, "--phases", phases, session=name)
        project.clock.advance(hours=2)
    project.run("complete", session="Old")
    shown = project.run("list", session="Beta").stdout.splitlines()
    assert [line[2:7].strip() for line in shown if "active" in line] == ["Beta", "Alpha"]
    assert shown[1] == "    branch main · 2 hours ago · of this session"
    assert shown[3] == "    branch main · 4 hours ago · another session at work 4 hours ago"
    assert shown[4:] == ["1 finished: holdfast list --all"]
    assert "Old: completed on" in project.run("list", "--all").stdout
    holdfast_project.plan("001-x", {"Design": ["make it", "b"], "Build": ["c"]}, title="Gamma")
    assert "    next: make it · branch main · " in project.run("list").stdout


def test_a_workflow_of_a_branch_that_is_gone_comes_home(holdfast_project: Project) -> None:
    """It stayed with the branch of a worktree that nobody can check out any more."""
    project = holdfast_project
    tree = project.worktree("side", "side")
    project.run("start", "Alpha", "--phases", "A,B")
    project.run("phase", "next", "--total", "3", cwd=tree)
    assert project.state()["holdfast"]["branch"] == "side"
    project.run("start", "Beta", "--phases", "A,B")
    assert "    branch side · " in project.run("list").stdout
    project.git("pack-refs", "--all")
    assert "    branch side · " in project.run("list").stdout
    project.git("worktree", "remove", str(tree))
    project.git("branch", "-q", "-D", "side")
    assert project.run("list").stdout.count("    branch main · ") == 2


def test_why_names_the_branch_rule_where_it_did_not_decide(holdfast_project: Project) -> None:
    project = holdfast_project
    project.worktree("side", "side")
    project.run("start", "Mine", "--phases", "A,B")
    project.clock.advance(hours=1)
    project.git("checkout", "-q", "-b", "other")
    project.git("commit", "-q", "--allow-empty", "-m", "more")
    project.run("start", "Other", "--phases", "A,B")
    project.git("checkout", "-q", "main")
    told = project.run("why").stdout
    assert "it is the newest, though 'Mine' is of this branch: it is clearly older" in told


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_a_start_tells_the_person_in_one_line_where_the_work_stands(
    source: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also in another checkout; and where there is none, why. It told the model alone."""
    project = holdfast_project
    assert compaction_cycle.start(source, session="s-0").message == ""
    tree = project.worktree("side", "side")
    path = project.declare("Payments", phase="2/4 - Build")
    path.write_text(path.read_text("utf-8") + "Next: webhook\n", "utf-8")
    for name in ("Alpha", "Beta"):
        project.run("start", name, "--phases", "A,B")
    line = "Payments 2/4 · next: webhook · 2 others"
    assert compaction_cycle.start(source, session="s-1").message == line
    assert compaction_cycle.start(source, session="s-2", cwd=tree).message == line
    for name in ("Alpha", "Beta", "Payments"):
        project.run("complete", name)
    assert compaction_cycle.start(source, session="s-3").message == ""
    project.run("start", "Gamma", "--phases", "A,B")
    project.clock.advance(days=9)
    told = compaction_cycle.start(source, session="s-4").message
    assert told.startswith("Workflow not restored: Gamma: phase 1/2, ")


def test_no_step_goes_past_a_blocked_phase_unless_forced(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The reason in CLAUDE.local.md was lost, and a blocked phase was passed."""
    project = holdfast_project
    local = "# WORKFLOW STATE\n\nWorkflow: W\nPhase: 1/3 - A\nStatus: Blocked (waiting for copy)\n"
    project.write("CLAUDE.local.md", local)
    assert "blocked: waiting for copy" in compaction_cycle().guidance
    assert "blocked: waiting for copy" in project.run("status").stdout
    refused = project.run("phase", "next", check=False)
    assert refused.returncode == 1
    assert "phase 1 is blocked: waiting for copy" in refused.stderr
    assert "holdfast unblock" in refused.stderr
    assert "  was blocked: waiting for copy\n" in project.run("phase", "next", "--force").stdout
    assert "waiting for copy" not in project.run("status").stdout
    project.run("block", "no database")
    assert project.run("phase", "set", "3", check=False).returncode == 1
    project.run("unblock")
    assert "was blocked" not in project.run("phase", "set", "3").stdout
    project.run("block")
    assert "  was blocked\n" in project.run("phase", "set", "1").stdout
