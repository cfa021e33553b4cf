"""What somebody ran into in the first hour with Holdfast, each test named for one defect."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from found import auth_plan, files_of
from holdfast.setup import registration
from holdfast.testing import Compactions, MovableClock, Project

UNREADABLE = "5/3 - Build"
SESSION = "session-1"


def contents(folder: Path) -> dict[Path, bytes]:
    """The same without the times: a count that was put back is written again."""
    return {path: content for path, (content, _) in files_of(folder).items()}


def test_resume_said_that_what_it_brought_back_was_only_shown(holdfast_project: Project) -> None:
    """Without a session it still takes back the end, and says so."""
    project = holdfast_project
    project.run("start", "W")
    project.run("complete")
    assert (
        "the workflow is active again but belongs to no session"
        in project.run("resume", "W").stdout
    )
    assert project.state()["workflow"] == "W"
    assert "this was only shown; no session continues it" in project.run("resume", "W").stdout
    project.run("ignore", "W")
    assert (
        "the workflow is active again but belongs to no session"
        in project.run("resume", "W").stdout
    )


def test_the_help_of_the_hook_left_out_what_settings_register(holdfast_project: Project) -> None:
    """Somebody who read `--later` in the settings found no word about it."""
    told = holdfast_project.run("hook", "--help").stdout
    written = json.dumps(registration.hooks())
    for option in sorted(set(re.findall(r"(--[a-z]+)", written))):
        assert option in told
    assert "--later" in written


@pytest.fixture
def two_sessions(holdfast_project: Project, compaction_cycle: Compactions) -> Project:
    """This session works on Mine; what is newer and free for a new session is Theirs."""
    project = holdfast_project
    project.write("docs/a.md", "text\n")
    project.run("start", "Mine", "--read", "@docs/a.md", "--read", "@docs/gone.md", session=SESSION)
    compaction_cycle(session=SESSION)
    edit = {"file_path": str(project.root / "docs/a.md")}
    compaction_cycle.fire("PostToolUse", session=SESSION, tool_name="Edit", tool_input=edit)
    project.run("start", "Theirs", session="session-2")
    return project


def test_simulate_showed_another_workflow_than_status(two_sessions: Project) -> None:
    """It plays as the session that calls it, unless a new or another one is asked for."""
    project = two_sessions
    assert "Mine" in project.run("status", session=SESSION).stdout.splitlines()[0]

    def played(*options: str) -> str:
        told = json.loads(project.run("simulate", "--json", *options, session=SESSION).stdout)
        return str(told[0]["message"])

    assert played() == "✅ Workflow restored: Mine, Phase 1/1"
    assert played("--subprocess") == "✅ Workflow restored: Mine, Phase 1/1"
    assert played("--new") == "✅ Workflow restored: Theirs, Phase 1/1"
    assert played("--session", "session-2") == "✅ Workflow restored: Theirs, Phase 1/1"
    done = project.run("simulate", "--new", "--session", "x", check=False)
    assert done.returncode == 2


def test_simulate_sees_what_other_sessions_work_on(
    holdfast_project: Project, holdfast_clock: MovableClock
) -> None:
    """A plan that another session has taken up since does not move this one."""
    project = holdfast_project
    project.run("start", "Mine", session=SESSION)
    holdfast_clock.advance(seconds=60)
    auth_plan(project)
    project.run("switch", "User Auth", session="session-2")
    assert "Mine" in project.run("status", session=SESSION).stdout.splitlines()[0]
    told = json.loads(project.run("simulate", "--json", session=SESSION).stdout)
    assert told[0]["message"] == "✅ Workflow restored: Mine, Phase 1/1"


@pytest.mark.parametrize("options", [(), ("--subprocess",)])
def test_simulate_leaves_the_records_of_its_session_alone(
    options: tuple[str, ...], two_sessions: Project
) -> None:
    """Its record and its log, the hook log, and what the project keeps of it."""
    home, kept = two_sessions.home, two_sessions.root / ".claude/holdfast"
    before, noted = files_of(home), contents(kept)
    kinds = {path.parent.name for path in before}
    assert {"sessions", "sessionlogs"} <= kinds
    two_sessions.run("simulate", *options, session=SESSION)
    assert (files_of(home), contents(kept)) == (before, noted)


def test_the_demo_printed_commands_that_do_something_else(holdfast_project: Project) -> None:
    """Without quotes, a reminder of five words is five reminders."""
    assert (
        "$ holdfast remind 'Tokens expire after 15 minutes'\n"
        in holdfast_project.run("demo").stdout
    )


def test_start_took_paths_otherwise_than_read(holdfast_project: Project) -> None:
    """From where it is called, and with the same warnings."""
    project = holdfast_project
    project.git("init", "-q")
    project.write("src/deep/b.md", "text")
    deep = project.root / "src" / "deep"
    reading = ("b.md", "@gone.md", "../../../a file.md")
    done = project.run("start", "W", *(each for path in reading for each in ("-r", path)), cwd=deep)
    assert project.state()["required_reading"] == [
        "@src/deep/b.md",
        "@gone.md",
        "@../../../a file.md",
    ]
    outside = (
        "outside the project: ../../../a file.md; "
        "remove it: holdfast read --drop '@../../../a file.md'"
    )
    assert done.stdout.splitlines()[2:] == ["  missing: gone.md", f"  {outside}"]
    assert outside in project.run("read", "../../../a file.md", cwd=deep).stdout
    project.run("read", "--drop", "@../../../a file.md", cwd=deep)
    assert project.state()["required_reading"] == ["@src/deep/b.md", "@gone.md"]


def _declare(project: Project) -> None:
    project.declare("W W", phase="1/3 - A")


def _start(project: Project) -> None:
    project.run("start", "W W")


@pytest.mark.parametrize("begin", [_declare, _start])
def test_a_workflow_could_be_completed_twice(
    begin: Callable[[Project], None], holdfast_project: Project, holdfast_clock: MovableClock
) -> None:
    """It was archived once more, or nobody knew it."""
    project = holdfast_project
    begin(project)
    project.run("complete", "W W")
    ended = f"{holdfast_clock.now():%Y-%m-%d}"
    holdfast_clock.advance(days=1)
    before = files_of(project.root, project.home)
    done = project.run("complete", "w w", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"holdfast: 'W W' was completed on {ended}",
        "  `holdfast resume 'W W'` takes it up again.",
    ]
    assert files_of(project.root, project.home) == before
    project.run("resume", "W W")
    assert "Workflow completed" in project.run("complete", "W W").stdout


def test_a_plan_could_be_completed_twice_by_its_folder(holdfast_project: Project) -> None:
    """Which is a name as good as its own."""
    auth_plan(holdfast_project)
    name = next((holdfast_project.root / "CLAUDE/Plan").iterdir()).name
    holdfast_project.run("complete", name)
    done = holdfast_project.run("complete", name, check=False)
    assert done.returncode == 1
    assert "was completed on" in done.stderr
    assert len(list((holdfast_project.root / ".claude/holdfast/archive").iterdir())) == 1


def test_undo_did_not_say_what_holds_now(holdfast_project: Project) -> None:
    """Nor that it can be undone itself."""
    project = holdfast_project
    project.run("start", "W", "--remind", "a", "-c", "k=1", "-c", "l=2")
    project.run("remind", "b")
    again = "`holdfast undo` again takes this back"
    assert project.run("undo").stdout.splitlines() == [
        "Workflow set back: W, phase 1/1",
        f"  with 1 reminder, 0 required files, 2 context values; {again}",
    ]
    assert "with 2 reminders" in project.run("undo").stdout


def test_simulate_praised_a_summary_of_its_own(holdfast_project: Project) -> None:
    """It was made up from the note that it is compared with."""
    _declare(holdfast_project)
    made_up = "--- PostCompact notes, with a summary made up from PreCompact's note ---\n"
    assert made_up in holdfast_project.run("simulate").stdout
    without = holdfast_project.run("simulate", "--no-pre-compact").stdout
    assert "--- PostCompact notes ---\ncompactions: 1, no summary was given\n" in without


def test_simulate_printed_nothing_three_times(holdfast_project: Project) -> None:
    """Where nothing is restored, it says why, and that is a failure as it is of `preview`."""
    holdfast_project.run("install", "--yes")
    done = holdfast_project.run("simulate", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "holdfast: no workflow is active"
    done = holdfast_project.run("simulate", "--json", check=False)
    assert (done.returncode, json.loads(done.stdout)[0]["guidance"]) == (1, "")
    _declare(holdfast_project)
    holdfast_project.write(".claude/holdfast.toml", '[restore]\ncompact = "off"\n')
    done = holdfast_project.run("simulate", check=False)
    assert done.returncode == 1
    assert "Keep word for word" in done.stdout
    assert "compact is switched off" in done.stderr


def test_start_in_the_home_folder_said_nothing(holdfast_project: Project) -> None:
    """There .claude is Claude Code's own; but it may be meant."""
    project = holdfast_project
    note = "this is your home folder"
    project.home.mkdir(exist_ok=True)
    done = project.run("start", "W", cwd=project.home)
    assert f"holdfast: {note}; the workflow is saved in {project.home}/untracked" in done.stderr
    assert list(project.home.glob("untracked/workflow-state/w/*.json"))
    shutil.rmtree(project.home / "untracked")
    assert note not in project.run("start", "W").stderr


def test_a_phase_that_markdown_does_not_say_yet_looked_like_a_mistake(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A command goes ahead of CLAUDE.local.md, if that may not be written; then it is told."""
    project = holdfast_project
    project.write(".claude/holdfast.toml", "write_back = false\n")
    right = "it takes effect again when it is next edited"
    project.declare("W", phase="4/10 - SEO Generation")
    assert f"  CLAUDE.local.md still says 4/10; {right}\n" in project.run("phase", "next").stdout
    assert right not in project.run("remind", "x").stdout
    assert right not in project.run("phase", "set", "4").stdout
    project.run("complete")
    project.run("start", "Other", "--phases", "A,B", session="s")
    assert right not in project.run("phase", "next", "-w", "Other").stdout


def test_boxes_that_are_not_ticked_yet_state_no_phase(holdfast_project: Project) -> None:
    """Only a line that states one does."""
    auth_plan(holdfast_project)
    assert "still says" not in holdfast_project.run("phase", "next").stdout


def test_there_was_no_word_of_how_to_go_back(holdfast_project: Project) -> None:
    """`phase prev` is no command, but what it is meant for can be done."""
    done = holdfast_project.run("phase", "prev", check=False)
    assert done.returncode == 2
    assert "No such command 'prev'" in done.stderr
    assert "Try 'holdfast phase --help' for help" in done.stderr
    assert "`holdfast phase set N` goes" in holdfast_project.run("phase", "-h").stdout


def test_list_named_a_command_that_was_not_whole(holdfast_project: Project) -> None:
    """What it tells to type does what it says."""
    holdfast_project.run("start", "It's over")
    holdfast_project.run("complete")
    line = holdfast_project.run("list", "--all").stdout.splitlines()[-1]
    assert line.endswith("""; holdfast resume 'It'"'"'s over'""")


def test_one_of_a_thing_was_told_as_several(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """1 parts, 1 files."""
    holdfast_project.write("docs/a.md", "text\n")
    holdfast_project.declare("W", reading=["@docs/a.md"])
    compaction_cycle()
    assert "reading: 1 of 1 file in 1 part\n" in holdfast_project.run("log").stdout
    done = holdfast_project.run("preview", "--part", "2", check=False)
    assert "the reading has 1 part\n" in done.stderr


def test_a_transcript_that_is_not_there_was_to_be_inspected(holdfast_project: Project) -> None:
    """That checks state files."""
    gone = str(holdfast_project.root / "gone.jsonl")
    done = holdfast_project.run("doctor", "--delivery", "--transcript", gone, check=False)
    assert done.returncode == 1
    assert "No such file" in done.stderr
    assert "inspect" not in done.stderr
    assert "holdfast doctor --delivery --transcript FILE" in done.stderr


def test_a_phase_that_nobody_can_read_was_told_as_the_only_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    project = holdfast_project
    project.declare("W", phase=UNREADABLE)
    cycle = compaction_cycle()
    for told in (cycle.guidance, cycle.note, project.run("resume", "W").stdout):
        assert "a phase that is not known (CLAUDE.local.md has a phase that cannot be read)" in told
        assert "phase 1" not in told
    assert cycle.message.startswith("✅ Workflow restored: W, Phase ? ")
    for command in ("status", "list", "show"):
        assert "1/1" not in project.run(command).stdout
    project.run("phase", "set", "2", "--total", "3")
    assert "phase 2 of 3" in compaction_cycle().guidance


def test_a_phase_that_nothing_states_was_told_as_the_only_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The summariser was to keep it word for word."""
    project = holdfast_project
    plan = (
        "# Plan 001: Q\n\nStatus: In Progress\n\nThe workflow is simple.\n\n- [x] a\n- [ ] b\n- c\n"
    )
    project.write("CLAUDE/Plan/001-q/PLAN.md", plan)
    cycle = compaction_cycle()
    assert 'the workflow "Q" is in progress, 1 of 2 done. Next action: b.' in cycle.note
    assert 'The workflow "Q" (type custom) is in progress, 1 of 2 done.' in cycle.guidance
    assert cycle.message.startswith("✅ Workflow restored: Q. 1 of 2 done. Next: b")
    commands = (["status"], ["list"], ["show"], ["preview"], ["remind", "x"])
    said = [cycle.note, cycle.guidance, *(project.run(*command).stdout for command in commands)]
    for told in said:
        assert "1/1" not in told
        assert "phase 1" not in told
    assert project.run("block", "a key").stdout.startswith("Workflow blocked: Q, blocked. 1 of 2")
    briefing = json.loads(project.run("status", "--json").stdout)["workflow"]["briefing"]
    assert (briefing["phase"], briefing["phases"]) == (1, 1)
    assert "passed over" in project.run("why", "CLAUDE/Plan/001-q/PLAN.md").stdout
    project.run("unblock")
    project.run("phase", "set", "2", "--total", "3")
    assert "phase 2 of 3" in compaction_cycle().guidance


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("Phase", ("1 Design", "2 Build", "3 Test")),
        ("Phases", ("1 **Design**", "2 **Build**", "3 **Test**")),
        ("阶段", ("1 Design", "2 Build", "3 Test")),
    ],
)
def test_numbers_before_names_in_a_column_of_phases_were_not_read(
    holdfast_project: Project, compaction_cycle: Compactions, column: str, cells: tuple[str, ...]
) -> None:
    rows = "".join(
        f"| {cell} | {sign} |\n" for cell, sign in zip(cells, ("✅", "🔄", ""), strict=True)
    )
    table = f"| {column} | Status |\n|---|---|\n{rows}"
    holdfast_project.write("PLAN.md", f"# Payments\n\nStatus: In Progress\n\n{table}")
    assert "phase 2 of 3: Build" in compaction_cycle().note
    assert "phase 3/3 (Test)" in holdfast_project.run("phase", "next").stdout


def test_a_phase_that_became_unreadable_stays_the_one_before(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """That one is known."""
    holdfast_project.declare("W", phase="2/3 - Test")
    compaction_cycle()
    holdfast_project.declare("W", phase=UNREADABLE)
    assert "phase 2 of 3" in compaction_cycle().guidance


def test_a_workflow_that_had_ended_was_shown_as_going_on(holdfast_project: Project) -> None:
    """With a next action, reading to be sent, and a save that was to come."""
    holdfast_project.write("PLAN.md", "# Pay\n\nStatus: In Progress\n\n## Phase 1: A\n- [ ] a\n")
    assert "next       a" in holdfast_project.run("status", "Pay").stdout
    holdfast_project.run("complete")
    shown = holdfast_project.run("status", "Pay").stdout
    labels = {line[2:12].strip() for line in shown.splitlines()[1:]}
    assert "completed on" in shown
    assert labels.isdisjoint({"next", "reading", "saved"})
    assert "next: a" not in holdfast_project.run("list", "--all").stdout
