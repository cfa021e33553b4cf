"""The commands, run as agents and people run them: rightly, and wrongly."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from holdfast.config.project import AGENT_VARIABLES
from holdfast.testing import Compactions, MovableClock, Project


def start(project: Project, *more: str, session: str | None = None) -> None:
    project.run("start", "Feature X", "--phases", "Design,Build,Test", *more, session=session)


def test_start_takes_every_fact(holdfast_project: Project) -> None:
    """Name, type, phases, reading, reminders, context."""
    for path in ("docs/a.md", "docs/b.md"):
        holdfast_project.write(path, "text\n")
    done = holdfast_project.run(
        "start", "QA", "--type", "qa-loop", "--phases", "Run, Fix,Verify",
        "--read", "@docs/a.md", "--read", "docs/b.md",
        "--remind", "one", "--remind", "two",
        "--context", "iteration=3", "--context", "ok=true", "--context", "url=a=b",
    )  # fmt: skip
    kept = holdfast_project.state_files()[0]
    assert done.stdout == f"Workflow started: QA, phase 1/3 (Run)\n  kept in {kept}\n"
    state = holdfast_project.state()
    state.pop("holdfast")
    state.pop("created_at")
    assert state == {
        "workflow": "QA",
        "workflow_type": "qa-loop",
        "phase": {"current": 1, "total": 3, "name": "Run", "status": "in_progress"},
        "required_reading": ["@docs/a.md", "@docs/b.md"],
        "context": {"iteration": 3, "ok": True, "url": "a=b"},
        "key_reminders": ["one", "two"],
    }


def test_phases_know_their_names(holdfast_project: Project) -> None:
    """From `start --phases`, or from the command itself."""
    start(holdfast_project)
    assert "phase 2/3 (Build)" in holdfast_project.run("phase", "next").stdout
    assert "phase 3/3 (Ship)" in holdfast_project.run("phase", "next", "--name", "Ship").stdout
    assert "phase 1/3 (Design)" in holdfast_project.run("phase", "set", "1").stdout
    assert "phase 4/4" in holdfast_project.run("phase", "set", "4", "--total", "4").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["phase", "set", "9"], "there is no phase 9 of 3"),
        (["phase", "set", "0"], "Invalid value"),
        (["phase", "set", "1", "--status", "odd"], "Invalid value"),
        (["context", "novalue"], "not in the form key=value"),
        (["context"], "Nothing to do"),
        (["context", "--drop", "nothing"], "not there: nothing"),
        (["remind", "--drop", "nothing"], "not there: nothing"),
        (["unblock"], "is not blocked"),
        (["undo"], "there is no earlier state"),
        (["show", "Other"], "no workflow is called 'Other'"),
        (["switch", "Feature X"], "this shell belongs to no known session"),
        (["start", "feature x"], "is kept already, in phase 1/3"),
        (["start", " "], "a workflow needs a name"),
        (["inspect", "nowhere.json"], "No such file"),
        (["nonsense"], "No such command"),
    ],
)
def test_wrong_use_says_what_is_wrong(
    arguments: list[str], message: str, holdfast_project: Project
) -> None:
    """On stderr, with an exit code, and without changing anything."""
    start(holdfast_project)
    before = holdfast_project.state_files()[0].read_bytes()
    done = holdfast_project.run(*arguments, check=False)
    assert done.returncode in {1, 2}
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert holdfast_project.state_files()[0].read_bytes() == before


def test_a_session_that_is_missing_is_told_without_variables(holdfast_project: Project) -> None:
    """The hint named Claude Code's variable alone, then those of all agents."""
    start(holdfast_project)
    told = [each.session for each in AGENT_VARIABLES.values() if each.session]
    assert len(told) > 1
    shown = holdfast_project.run("switch", "Feature X", check=False).stderr
    assert "run it in the agent's shell" in shown
    assert [name for name in told if name in shown] == []


def test_the_last_phase_has_no_next(holdfast_project: Project) -> None:
    """The error says what comes instead."""
    holdfast_project.run("start", "W")
    done = holdfast_project.run("phase", "next", check=False)
    assert done.returncode == 1
    assert "phase 1/1 is the last one" in done.stderr
    assert "holdfast complete" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["phase", "next"], ["remind", "x"], ["complete"], ["show"], ["preview"], ["undo"]],
)
def test_without_a_workflow_the_next_step_is_told(
    arguments: list[str], holdfast_project: Project
) -> None:
    """Cause and next step."""
    done = holdfast_project.run(*arguments, check=False)
    assert done.returncode == 1
    assert "no workflow is active" in done.stderr
    assert "holdfast start" in done.stderr


def test_block_and_clear(holdfast_project: Project) -> None:
    """The reason is in the context while it holds."""
    start(holdfast_project)
    holdfast_project.run("block", "no database")
    state = holdfast_project.state()
    assert state["phase"]["status"] == "blocked"
    assert state["context"] == {"blocked_by": "no database"}
    holdfast_project.run("unblock")
    state = holdfast_project.state()
    assert state["phase"]["status"] == "in_progress"
    assert state["context"] == {}


def test_items_can_be_dropped(holdfast_project: Project) -> None:
    """Reminders, reading and context values."""
    start(holdfast_project, "--remind", "a", "--remind", "b", "--read", "@x.md", "-c", "k=1")
    holdfast_project.run("remind", "--drop", "a")
    holdfast_project.run("read", "--drop", "x.md")
    holdfast_project.run("context", "--drop", "k")
    state = holdfast_project.state()
    assert (state["key_reminders"], state["required_reading"], state["context"]) == (["b"], [], {})


def test_undo_and_undo_again(holdfast_project: Project) -> None:
    """Back, and forth; a hook's save in between does not count as a change."""
    start(holdfast_project)
    holdfast_project.run("phase", "next")
    holdfast_project.run("remind", "x")
    holdfast_project.run("undo")
    assert holdfast_project.state()["key_reminders"] == []
    assert holdfast_project.state()["phase"]["current"] == 2
    holdfast_project.run("undo")
    assert holdfast_project.state()["key_reminders"] == ["x"]


def test_undo_is_not_undone_by_the_markdown(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A change that came from markdown can be taken back, and stays so while that is unedited."""
    holdfast_project.declare("W", phase="1/3 - A")
    compaction_cycle()
    holdfast_project.declare("W", phase="2/3 - B")
    compaction_cycle()
    holdfast_project.run("undo")
    assert "phase 1 of 3: A." in compaction_cycle(2).guidance


def test_undo_takes_back_a_complete(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Completed by mistake: everything is there again."""
    start(holdfast_project, "--remind", "precious")
    holdfast_project.run("phase", "next")
    before = holdfast_project.state()
    holdfast_project.run("complete")
    assert holdfast_project.states() == []
    holdfast_project.run("undo")
    after = holdfast_project.state()
    for state in (before, after):
        state.pop("holdfast")
    assert after == before
    assert "precious" in compaction_cycle().guidance


def test_ignore_and_resume(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Neither saved nor restored in between."""
    holdfast_project.declare("W", phase="1/3 - A")
    compaction_cycle()
    holdfast_project.run("ignore")
    holdfast_project.declare("W", phase="2/3 - B")
    assert compaction_cycle().guidance == ""
    assert holdfast_project.state()["phase"]["current"] == 1
    assert "ignored" in holdfast_project.run("list").stdout
    shown = holdfast_project.run("resume", "W").stdout
    assert "phase 2 of 3: B." in shown
    assert "phase 2 of 3: B." in compaction_cycle().guidance


def test_switch_and_resume_are_the_sessions(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Each session has its own workflow; a beginning of the name is enough."""
    holdfast_project.run("start", "Alpha")
    holdfast_project.run("start", "Beta")
    holdfast_project.run("switch", "alp", session="one")
    holdfast_project.run("resume", "beta", session="two")
    assert "Alpha" in compaction_cycle(session="one").guidance.splitlines()[0]
    assert "Beta" in compaction_cycle(session="two").guidance.splitlines()[0]


def test_an_ambiguous_name_is_refused(holdfast_project: Project) -> None:
    """It could be any of several."""
    holdfast_project.run("start", "Auth one")
    holdfast_project.run("start", "Auth two")
    done = holdfast_project.run("show", "auth", check=False)
    assert done.returncode == 1
    assert "could be any of" in done.stderr


def test_reading_commands_write_nothing(holdfast_project: Project) -> None:
    """Looking changes no file in the project."""
    holdfast_project.declare("W", phase="1/3 - A", reading=["@a.md"])
    before = sorted(holdfast_project.root.rglob("*"))
    for command in ("status", "list", "show", "why", "preview", "log"):
        done = holdfast_project.run(command)
        assert done.stdout
    assert sorted(holdfast_project.root.rglob("*")) == before


@pytest.mark.parametrize("command", ["status", "list", "show", "why", "log", "simulate", "preview"])
def test_json_for_programs(
    command: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Every read command prints JSON when asked."""
    holdfast_project.declare("Größe 数据", phase="1/3 - A")
    compaction_cycle()
    done = holdfast_project.run(command, "--json")
    assert "Größe 数据" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_preview_is_what_a_compaction_gives(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The same text, before it happens."""
    holdfast_project.declare("W", phase="1/3 - A", reminders=["r"])
    compaction_cycle()
    preview = holdfast_project.run("preview").stdout
    assert preview.rstrip("\n") == compaction_cycle().guidance


SILENCES = {
    "no status line says In Progress": ("PLAN.md", "# A plan\n\n## Phase 1: x\n- [ ] y\n"),
    "empty": ("CLAUDE.local.md", ""),
    "no Workflow: field": ("CLAUDE.local.md", "# Notes\n\n```\nWorkflow: X\nPhase: 1/2\n```\n"),
    "neither a Phase: field nor": ("CLAUDE.local.md", "Workflow: X\n"),
    "larger than": ("CLAUDE.local.md", "x" * (5 * 1024 * 1024 + 1)),
}


@pytest.mark.parametrize("reason", SILENCES)
def test_why_explains_a_silence(
    reason: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What was looked at, and why it declares nothing; in the hook log as well."""
    holdfast_project.write(*SILENCES[reason])
    compaction_cycle()
    told = holdfast_project.run("why").stdout
    assert reason in told
    assert "Nothing chosen: no workflow is active." in told
    assert reason in holdfast_project.run("log").stdout


def test_why_in_an_empty_project(holdfast_project: Project) -> None:
    """Nothing there at all."""
    told = holdfast_project.run("why").stdout
    assert "no CLAUDE.local.md" in told
    assert "No hook has run here yet" in told


def test_the_demo_plays(holdfast_project: Project) -> None:
    """What `make demo` shows."""
    shown = holdfast_project.run("demo").stdout
    for fact in (
        "Workflow restored: User Auth",
        "phase 2 of 3: Build.",
        "15 minutes",
        "squash",
        "@docs/auth-guide.md  in part 1",
        "valid, format canonical",
        "Workflow completed",
    ):
        assert fact in shown


def test_version_and_help(holdfast_project: Project) -> None:
    """Every command has a line of help; the hook too."""
    assert "0.1.0" in holdfast_project.run("--version").stdout
    assert "JSON on stdin" in holdfast_project.run("hook", "--help").stdout


def test_a_plan_given_to_start_is_the_same_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent names the workflow; the plan gives its next action."""
    holdfast_project.plan("003-pay", {"Design": ["think"], "Build": ["type"]}, title="Payments")
    holdfast_project.run(
        "start",
        "Payment feature",
        "--phases",
        "Design,Build",
        "--read",
        "@CLAUDE/Plan/003-pay/PLAN.md",
    )
    cycle = compaction_cycle()
    assert "Payment feature" in cycle.guidance
    assert "Next action: think" in cycle.guidance
    assert len(holdfast_project.states()) == 1


@pytest.mark.parametrize("session", [None, "mine"])
def test_complete_needs_no_name_when_all_phases_are_completed(
    session: str | None, holdfast_project: Project
) -> None:
    """It is not active any more, yet it is clearly the one that is meant."""
    start(holdfast_project, session=session)
    holdfast_project.run("phase", "set", "3", "--status", "completed", session=session)
    assert (
        "Workflow completed: Feature X" in holdfast_project.run("complete", session=session).stdout
    )


def test_start_begins_in_the_project_where_it_is_called(holdfast_project: Project) -> None:
    """A session that works elsewhere may begin a second workflow in another project."""
    start(holdfast_project, session="mine")
    other = Project(
        holdfast_project.root.parent / "other", holdfast_project.home, holdfast_project.clock
    )
    other.run("start", "Elsewhere", session="mine")
    assert other.state()["workflow"] == "Elsewhere"
    assert holdfast_project.state()["workflow"] == "Feature X"
    assert "Elsewhere" in other.run("status", session="mine").stdout


@pytest.mark.parametrize("command", ["resume", "switch"])
def test_taking_a_stale_workflow_up_touches_it(
    command: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
    holdfast_clock: MovableClock,
) -> None:
    """It said yes, and the next compaction left it out all the same."""
    start(holdfast_project)
    holdfast_clock.advance(days=8)
    holdfast_project.run(command, "Feature X", session="mine")
    assert "Feature X" in compaction_cycle(session="mine").guidance


def test_simulate_leaves_sessions_and_log_alone(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It took the workflow for a session that does not exist."""
    start(holdfast_project)
    holdfast_project.run("simulate")
    holdfast_project.run("simulate", "--subprocess", "--session", "other")
    assert not list(holdfast_project.home.rglob("sessions/*"))
    assert "No hook has run" in holdfast_project.run("log").stdout


@pytest.mark.parametrize(
    "arguments",
    [["start", "Y"], ["complete"], ["ignore"], ["remind", "x"], ["undo"], ["resume"]],
)
@pytest.mark.parametrize("way", ["environment", "project"])
def test_switched_off_no_command_writes(
    way: str, arguments: list[str], holdfast_project: Project
) -> None:
    """Every one that would change something says so instead."""
    start(holdfast_project)
    if way == "project":
        holdfast_project.write(".claude/holdfast.toml", "enabled = false\n")
    before = {
        path: path.read_bytes() for path in holdfast_project.root.rglob("*") if path.is_file()
    }
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        cwd=holdfast_project.root,
        env=holdfast_project.environment()
        | ({"HOLDFAST_DISABLE": "1"} if way == "environment" else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "switched off" in done.stderr
    after = {path: path.read_bytes() for path in holdfast_project.root.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("end", ["complete", "ignore"])
def test_a_command_does_not_revive_what_has_ended(end: str, holdfast_project: Project) -> None:
    """`remind` on it wrote a new state file."""
    holdfast_project.declare("W", phase="1/3 - A")
    holdfast_project.run(end)
    done = holdfast_project.run("remind", "x", "-w", "W", check=False)
    assert done.returncode == 1
    assert "holdfast resume" in done.stderr
    assert holdfast_project.states() == []


def test_complete_archives_once(holdfast_project: Project) -> None:
    """Every state was there twice."""
    start(holdfast_project)
    holdfast_project.run("complete")
    assert len(list((holdfast_project.root / ".claude/holdfast/archive").iterdir())) == 1


def test_two_files_of_one_workflow_end_together(holdfast_project: Project) -> None:
    """Other tools begin a new file each time; the newest counts, and all are archived."""
    start(holdfast_project)
    (path,) = holdfast_project.state_files()
    older = path.with_name("state-feature-x-20200101_000000.json")
    older.write_bytes(path.read_bytes().replace(b"Design", b"Older"))
    os.utime(older, (1, 1))
    assert "Design" in holdfast_project.run("show").stdout
    assert "an older state" in holdfast_project.run("why").stdout
    holdfast_project.run("complete")
    assert holdfast_project.state_files() == []
    assert len(list((holdfast_project.root / ".claude/holdfast/archive").iterdir())) == 2


def test_a_whole_name_that_has_ended_goes_before_a_longer_live_one(
    holdfast_project: Project,
) -> None:
    """`undo Auth` means the Auth that was completed, and not "Auth v2"."""
    holdfast_project.run("start", "Auth")
    holdfast_project.run("complete")
    holdfast_project.run("start", "Auth v2", "-p", "A,B")
    assert "brought back: Auth," in holdfast_project.run("undo", "Auth").stdout
    assert "Auth v2" in holdfast_project.run("resume", "auth v").stdout


def test_complete_ends_the_one_that_was_just_finished(holdfast_project: Project) -> None:
    """It ended the other one, because that was the active one."""
    holdfast_project.run("start", "Alpha", "-p", "A,B")
    holdfast_project.run("start", "Beta", "-p", "A,B")
    holdfast_project.run("phase", "set", "2", "-s", "completed", "-w", "Beta")
    assert "Workflow completed: Beta" in holdfast_project.run("complete").stdout
    assert [each["workflow"] for each in holdfast_project.states()] == ["Alpha"]


def test_complete_in_a_session_ends_its_own(holdfast_project: Project) -> None:
    """Whatever was changed last by others."""
    holdfast_project.run("start", "Mine", "-p", "A,B", session="one")
    holdfast_project.run("phase", "set", "2", "-s", "completed", session="one")
    holdfast_project.run("start", "Other", "-p", "A,B", session="two")
    assert "Workflow completed: Mine" in holdfast_project.run("complete", session="one").stdout


def test_what_ended_in_the_main_worktree_has_ended_in_a_new_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The plan is committed, the record of endings is not."""
    holdfast_project.write(".gitignore", "untracked\n.claude\n")
    holdfast_project.plan("001-x", {"One": ["a"]}, title="Done work")
    holdfast_project.git("init", "-q", "-b", "main")
    holdfast_project.git("add", "-A")
    holdfast_project.git("commit", "-qm", "plan")
    compaction_cycle(session="one")
    holdfast_project.run("complete")
    side = holdfast_project.worktree("side")
    assert compaction_cycle(cwd=side, session="two").guidance == ""
    done = holdfast_project.run("resume", "Done work", cwd=side, check=False)
    assert done.returncode == 1
    assert "holdfast start" in done.stderr


def test_an_unreadable_phase_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was restored as phase 1 of 1, and only `why` knew better."""
    holdfast_project.write("CLAUDE.local.md", "# Workflow State\n\nWorkflow: X\nPhase: 2-3\n")
    cycle = compaction_cycle()
    assert "unreadable" in cycle.guidance
    assert "unreadable" in cycle.message
    assert "unreadable" in holdfast_project.run("status").stdout


def test_resume_says_what_it_cannot_do(holdfast_project: Project) -> None:
    """It printed guidance for a workflow that is over, and for a shell without a session."""
    start(holdfast_project)
    shown = holdfast_project.run("resume").stdout
    assert "This shell belongs to no known session" in shown
    assert (
        "This shell belongs to no known session"
        not in holdfast_project.run("resume", session="s").stdout
    )
    holdfast_project.run("phase", "set", "3", "-s", "completed")
    done = holdfast_project.run("resume", "Feature X", check=False)
    assert done.returncode == 1
    assert "all phases completed" in done.stderr


def test_start_beside_another_one_says_so(holdfast_project: Project) -> None:
    """Without a session, CLAUDE.local.md stays in force."""
    holdfast_project.declare("Declared")
    shown = holdfast_project.run("start", "Extra").stdout
    assert "Still current: 'Declared'" in shown
    assert "Still current" not in holdfast_project.run("start", "More", session="s").stdout


def test_the_person_is_told_when_a_session_gets_another_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A new plan moved it without a word."""
    holdfast_project.declare("First")
    compaction_cycle()
    holdfast_project.declare("Second")
    message = compaction_cycle().message
    assert "Workflow restored: Second" in message
    assert "declared after this session took up 'First'" in message


def test_guidance_names_the_project_when_it_is_elsewhere(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Paths are relative to it, and the agent is in a worktree or another folder."""
    holdfast_project.declare("W", reading=["@a.md"])
    assert "relative to the project" not in compaction_cycle().guidance
    side = holdfast_project.worktree("side")
    guidance = compaction_cycle(cwd=side).guidance
    assert f"relative to the project {holdfast_project.root}" in guidance


def test_the_state_file_is_named_when_session_start_makes_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Only a PreCompact before it made the line appear."""
    holdfast_project.declare("W")
    guidance = compaction_cycle(pre_compact=False).guidance
    assert (
        f"State file: {holdfast_project.state_files()[0].relative_to(holdfast_project.root)}"
        in guidance
    )


def test_list_names_what_has_ended_as_it_ended(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The markdown's number was shown, and workflows begun by command vanished."""
    holdfast_project.declare("Declared", phase="4/10 - SEO")
    compaction_cycle()
    holdfast_project.run("phase", "set", "7")
    holdfast_project.run("complete", "Declared")
    start(holdfast_project)
    holdfast_project.run("complete", "Feature X")
    shown = holdfast_project.run("list", "--all").stdout
    assert "7/10" in shown
    assert "Feature X: completed on" in shown


def test_commands_say_what_they_did(holdfast_project: Project) -> None:
    """One answer for everything told nothing."""
    start(holdfast_project)
    assert "added: a" in holdfast_project.run("remind", "a").stdout
    assert "already there: a" in holdfast_project.run("remind", "a").stdout
    assert "taken out: a" in holdfast_project.run("remind", "--drop", "a").stdout
    assert "k = 1" in holdfast_project.run("context", "k=1").stdout
    assert "by: keys" in holdfast_project.run("block", "keys").stdout
    assert "blocked" in holdfast_project.run("read", "@x.md").stdout
    shown = holdfast_project.run("read", "../outside.md", "gone.md").stdout
    assert "outside the project: ../outside.md" in shown
    assert "missing: gone.md" in shown


def test_a_path_from_a_subdirectory_is_kept_from_the_root(holdfast_project: Project) -> None:
    """It was kept as ../../docs and counted as outside."""
    holdfast_project.git("init", "-q")
    start(holdfast_project)
    holdfast_project.write("docs/a.md", "text")
    holdfast_project.write("src/deep/b.md", "text")
    deep = holdfast_project.root / "src" / "deep"
    holdfast_project.run("read", "../../docs/a.md", "@b.md", "@docs/a.md", cwd=deep)
    assert holdfast_project.state()["required_reading"] == ["@docs/a.md", "@src/deep/b.md"]


@pytest.mark.parametrize("command", ["status", "list", "show", "preview", "simulate"])
def test_looking_while_switched_off_says_so(command: str, holdfast_project: Project) -> None:
    """It looked as if there were no workflow."""
    start(holdfast_project)
    holdfast_project.write(".claude/holdfast.toml", "enabled = false\n")
    assert "switched off" in holdfast_project.run(command, check=False).stderr


def test_json_has_times_and_values_as_our_files_have_them(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Numbers stay numbers, and times are ISO 8601."""
    holdfast_project.declare("W", context={"n": 3, "yes": "true"})
    unsaved = json.loads(holdfast_project.run("show", "--json").stdout)
    assert unsaved["created_at"] is None
    compaction_cycle()
    facts = json.loads(holdfast_project.run("show", "--json").stdout)
    assert facts["briefing"]["context"] == {"n": 3, "yes": True}
    for key in ("created_at", "changed_at", "declared_at"):
        assert facts[key].endswith("Z")


def test_a_total_that_is_too_small_is_the_thing_that_is_wrong(holdfast_project: Project) -> None:
    """It said that phase 2 of 3 is the last one."""
    start(holdfast_project)
    holdfast_project.run("phase", "next")
    done = holdfast_project.run("phase", "next", "--total", "2", check=False)
    assert "there is no phase 3 of 2" in done.stderr
    assert "complete" not in done.stderr


@pytest.mark.parametrize("words", [["status"], ["phase", "next"], ["remind", "x"], ["list"]])
def test_a_command_loads_what_it_needs(words: list[str], holdfast_project: Project) -> None:
    """No other command, and no other format with its models: all of them take three times as long."""
    start(holdfast_project)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", *words],
        cwd=holdfast_project.root,
        env=holdfast_project.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    groups = {f"holdfast.cli.{each}" for each in ("gate", "skill", "orchestrate", "pipeline")}
    assert "holdfast.cli.main" in loaded
    formats = {
        f"holdfast.formats.{name}" for name in ("gated", "skill", "orchestrator", "pipeline")
    }
    assert not loaded & {*groups, *formats, "holdfast.cli.installer", "holdfast.cli.doctor"}
