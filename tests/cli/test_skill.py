"""`holdfast skill`: every command, run as skills run it, and the general commands on such a workflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast.cli.skill import skill as group
from holdfast.testing import Project
from skillwork import FEATURE, RUNS, only_state, put
from terminal import typed

ROOT = Path(__file__).parents[2]
ACTIVE = ".claude/workflow-state/active"
HERE = "s-1"


def skill(project: Project, *arguments: str, session: str = HERE) -> str:
    return project.run("skill", *arguments, session=session).stdout


def refused(project: Project, *arguments: str) -> str:
    """What a command says that must fail, and that it changed nothing."""
    before = {path: path.read_bytes() for path in project.root.glob(f"{ACTIVE}/*")}
    done = project.run(*arguments, session=HERE, check=False)
    assert done.returncode in {1, 2}, done.stdout
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in project.root.glob(f"{ACTIVE}/*")} == before
    return " ".join(done.stderr.split())


@pytest.fixture
def dev(holdfast_project: Project) -> Project:
    """A /dev that has just begun."""
    skill(holdfast_project, "start", "dev", FEATURE, "-t", "Add login")
    return holdfast_project


def leaves(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        words = (*before, name)
        found += leaves(command, words) if isinstance(command, click.Group) else [words]
    return found


def test_each_command_has_help_and_stands_in_the_document() -> None:
    """The table of the document's operations names them all, and the README the group."""
    document = (ROOT / "docs/formats/skill.md").read_text("utf-8")
    for words in leaves(group):
        command: Any = group
        for word in words:
            command = command.commands[word]
        assert command.help, words
        assert f"skill {' '.join(words)}" in document, words
    assert "| `holdfast skill …` |" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_by_commands(kind: str, holdfast_project: Project) -> None:
    """Each command says what is next; what it wrote is valid; the end prints the signal."""
    for arguments, expected in RUNS[kind]:
        out = skill(holdfast_project, *arguments)
        assert expected in out.splitlines()[0], arguments
    (path,) = (holdfast_project.root / ACTIVE).glob("*.json")
    assert "valid, format skill" in holdfast_project.run("inspect", str(path)).stdout
    end = ["complete"] if kind == "dev" else ["complete", "--force", "one was enough"]
    last = skill(holdfast_project, *end).splitlines()[-1]
    assert last == {"dev": "DEV_COMPLETE: User Login", "tdd": "TDD_COMPLETE: Add login"}[kind]
    assert not path.exists()
    index = json.loads((holdfast_project.root / ".claude/workflow-state/index.json").read_bytes())
    assert index["active_workflows"] == []


def test_any_other_skill(holdfast_project: Project) -> None:
    """With phases and checkpoints of its own, without tasks."""
    skill(holdfast_project, "start", "review", "All of it", "--phases", "read, write",
          "--checkpoint", "approved")  # fmt: skip
    assert "phase 2/2 (write)" in skill(holdfast_project, "phase", "complete", "read")
    skill(holdfast_project, "checkpoint", "approved", "--passed", "by=two")
    state = only_state(holdfast_project)
    assert state["checkpoints"]["approved"]["by"] == "two"
    skill(holdfast_project, "phase", "complete")
    assert skill(holdfast_project, "complete").endswith("REVIEW_COMPLETE: All of it\n")


def test_steps_without_a_checkpoint(holdfast_project: Project) -> None:
    """And a phase that nobody began."""
    put(holdfast_project, "x-1", {
        "_schema": {"version": "1.0", "skill": "x"},
        "workflow": {"id": "x-1", "status": "in_progress"},
        "state_machine": {"current_phase": "a", "phases": [
            {"name": "a", "status": "completed"},
            {"name": "b", "status": "pending", "steps": ["one", "two"]},
        ]},
    })  # fmt: skip
    assert "phase 2/2 (b)" in skill(holdfast_project, "phase", "complete")
    assert "Phase b: two (1 of 2 steps left)" in skill(holdfast_project, "checkpoint", "one")
    assert "Phase b: go on" in skill(holdfast_project, "checkpoint", "two")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["task", "complete"], "the current phase is 'load_feature'"),
        (["phase", "complete", "verification"], "the current phase is 'load_feature'"),
        (["complete"], "'User Login' is not done: phase load_feature"),
        (["unblock"], "'User Login' is not blocked"),
        (["checkpoint", "lint"], "checkpoint 'lint' needs passed"),
        (["checkpoint", "lint", "passed=maybe"], "with --passed or --failed"),
        (["checkpoint", "lint", "odd"], "not in the form key=value"),
        (["tdd", "next"], "this workflow has no test-driven cycles"),
        (["tdd", "run"], "Say it: --passed or --failed"),
        (["start", "dev", FEATURE], "'User Login' is kept already"),
        (["start", "dev", FEATURE, "--fresh", "--resume"], "Give --fresh or --resume, not both"),
        (["start", "dev", "x", "--phases", "a"], "--phases cannot be used with the skill 'dev'"),
        (["start", "tdd", "x", "-t", "a"], "--task cannot be used with the skill 'tdd'"),
        (["start", "other", "x"], "this skill needs phases"),
        (["start", "other", "x", "--phases", "a,a"], "distinct names"),
        (["start", "../x", "x", "--phases", "a"], "is not the name of a skill"),
        (["start", "dev", " "], "a feature or a task is needed"),
        (["show", "nothing"], "no workflow is called 'nothing'"),
        (["clean", "--all"], "nothing was removed To confirm: holdfast skill clean --all --yes"),
    ],
)
def test_wrong_use_says_what_is_wrong(arguments: list[str], message: str, dev: Project) -> None:
    """With a next step, and nothing is changed."""
    assert message in refused(dev, "skill", *arguments)


def test_without_a_workflow_the_next_step_is_told(holdfast_project: Project) -> None:
    """Also where there is one of another format."""
    holdfast_project.declare("W")
    assert "Start one with `holdfast skill start`" in refused(holdfast_project, "skill", "resume")


def test_start_goes_on_where_there_is_one(dev: Project) -> None:
    """The document's "check for existing state" in one line; a second one goes by another name."""
    skill(dev, "phase", "complete")
    again = skill(dev, "start", "dev", FEATURE, "--resume", session="s-2")
    assert again.startswith(
        "📂 Checking for existing workflow state...\n\nFound active workflow:\n"
    )
    assert "🔄 Resuming: User Login" in again
    assert "Note: another session worked on it just now" in again
    assert only_state(dev)["state_machine"]["current_phase"] == "create_branch"
    assert "phase 1/5" in skill(dev, "start", "dev", FEATURE, "--as", "again")
    assert len(list((dev.root / ACTIVE).iterdir())) == 2
    assert "phase 1/5" in skill(dev, "start", "dev", FEATURE, "--fresh")
    assert "phase 1/4" in skill(dev, "start", "tdd", "Else", "--resume")


def test_resume_does_not_stop_a_script(dev: Project) -> None:
    """It shows, says where it goes on, and takes the workflow up."""
    out = skill(dev, "resume", session="s-2")
    assert "Resume from" not in out
    assert "🔄 Resuming: User Login\n   Phase: load_feature\n" in out
    assert "this session works on it" in dev.run("status", session="s-2").stdout


@pytest.mark.parametrize(
    ("answer", "expected"), [("\n", "🔄 Resuming: User Login"), ("n\n", "Nothing was changed.")]
)
def test_resume_asks_a_person(answer: str, expected: str, dev: Project) -> None:
    """At a terminal, in the document's words."""
    answers = [("Resume from Load feature? [Y/n]", answer)]
    shown = typed(["skill", "resume"], answers, dev.root, dev.environment(HERE))
    assert expected in shown.text
    assert shown.code == 0


def test_what_ended_is_not_resumed(dev: Project) -> None:
    """The way on is to begin it again."""
    skill(dev, "abandon", "--reason", "another way")
    assert "is finished: abandoned on" in refused(dev, "skill", "resume", "User Login")
    assert "holdfast skill start" in refused(dev, "resume", "User Login")
    assert "no skill workflow is active" in refused(dev, "skill", "task", "start")
    assert "phase 1/5" in skill(dev, "start", "dev", FEATURE)


def test_another_branch_is_told_with_both_options(dev: Project) -> None:
    """On start, resume, show and status."""
    dev.git("init", "-q", "-b", "other")
    dev.git("commit", "-q", "--allow-empty", "-m", "begin")
    dev.git("checkout", "-q", "-b", "feat/login")
    skill(dev, "start", "dev", FEATURE, "--fresh")
    dev.git("checkout", "-q", "other")
    told = "State is for branch 'feat/login' but current branch is 'other'"
    options = "1) Switch to feat/login 2) Abandon state and start fresh"
    for text in (
        skill(dev, "resume"),
        skill(dev, "show"),
        dev.run("status", session=HERE).stdout,
        skill(dev, "start", "dev", FEATURE, "--resume"),
        refused(dev, "skill", "start", "dev", FEATURE),
    ):
        assert told in " ".join(text.split())
        assert options in " ".join(text.split())
    (caution,) = json.loads(dev.run("status", "--json", session=HERE).stdout)["cautions"]
    assert told in caution
    dev.git("commit", "-q", "--allow-empty", "-m", "begin")
    dev.git("checkout", "-q", "--detach")
    assert told not in skill(dev, "start", "dev", FEATURE, "--fresh")


def test_a_linked_worktree_sees_the_run_and_takes_it_to_its_branch(dev: Project) -> None:
    """State stays with the root where it began; the branch is that of the folder one works in."""
    dev.git("init", "-q", "-b", "main")
    dev.git("commit", "-q", "--allow-empty", "-m", "begin")
    skill(dev, "start", "dev", FEATURE, "--fresh")
    side = dev.worktree("side")
    told = " ".join(dev.run("skill", "show", cwd=side).stdout.split())
    assert "State is for branch" not in told
    dev.run("skill", "phase", "complete", cwd=side)
    assert only_state(dev)["state_machine"]["current_phase"] == "create_branch"
    assert only_state(dev)["workflow"]["branch"] == "side"
    assert "State is for branch 'side' but current branch is 'main'" in " ".join(
        dev.run("skill", "show").stdout.split()
    )
    assert not (side / ".claude").exists()


def test_show_for_programs(dev: Project) -> None:
    """The state as it lies there, for jq."""
    assert json.loads(skill(dev, "show", "--json")) == only_state(dev)
    assert "🔄 Load feature (0/1 tasks complete)" in skill(dev, "show")


def test_a_name_is_also_that_of_the_file(dev: Project) -> None:
    """Or its beginning; of several of one title, the active one is meant."""
    (path,) = (dev.root / ACTIVE).glob("*.json")
    for name in (path.stem, "dev", "user", f"{ACTIVE}/{path.name}"):
        assert "User Login" in skill(dev, "show", name).replace(FEATURE, "User Login")
    skill(dev, "start", "dev", FEATURE, "--as", "again")
    assert "could be any of" in refused(dev, "skill", "show", "User Login")
    skill(dev, "abandon", path.stem)
    assert "🔄 Load feature" in skill(dev, "show", "User Login")


def test_cleanup_says_what_goes(dev: Project) -> None:
    """By itself with a start, by command, and not at all in a dry run."""
    dev.clock.advance(days=8)
    (path,) = (dev.root / ACTIVE).glob("*.json")
    line = f"{ACTIVE}/{path.name} (untouched for 8 days)"
    assert skill(dev, "clean", "--dry-run") == f"would be removed: {line}\n"
    assert path.exists()
    assert f"  removed: {line}\n" in skill(dev, "start", "tdd", "Else")
    assert skill(dev, "clean") == "Nothing to clean up.\n"
    assert f"would be removed: {ACTIVE}/tdd-" in skill(dev, "clean", "--all", "--dry-run")
    assert f"removed: {ACTIVE}/tdd-" in skill(dev, "clean", "--all", "--yes")
    assert skill(dev, "clean", "--all", "--yes") == "Nothing to clean up.\n"


def test_a_start_over_a_broken_state_says_where_that_went(holdfast_project: Project) -> None:
    """A fresh start is possible, and the person is told."""
    skill(holdfast_project, "start", "dev", FEATURE)
    (path,) = (holdfast_project.root / ACTIVE).glob("*.json")
    skill(holdfast_project, "clean", "--all", "--yes")
    path.write_text("{", "utf-8")
    os.utime(path, (0, 0))
    out = skill(holdfast_project, "start", "dev", FEATURE)
    assert "Starting fresh. What could not be read is in .claude/holdfast/quarantine/" in out


def test_a_broken_state_goes_on_from_its_copy_and_says_so(dev: Project) -> None:
    """What is shown and taken up is the last good copy; what lay there is set aside."""
    (path,) = (dev.root / ACTIVE).glob("*.json")
    path.write_text("{", "utf-8")
    os.utime(path, (0, 0))
    assert "Note: .claude/workflow-state/active/" in skill(dev, "show")
    assert "its last good copy is used" in skill(dev, "resume")
    assert only_state(dev)["tasks"][0]["description"] == "Add login"
    (aside,) = (dev.root / ".claude/holdfast/quarantine").iterdir()
    assert aside.read_text("utf-8") == "{"


def test_the_general_commands_work(dev: Project) -> None:
    """What looks, and what says whether it is worked on."""
    for arguments in (["status"], ["list"], ["show"], ["why"], ["preview"], ["resume"]):
        assert "User Login" in dev.run(*arguments, session=HERE).stdout, arguments
    assert "User Login" in dev.run("switch", "User", session="s-2").stdout
    dev.clock.advance(days=8)
    assert "stale" in dev.run("list", session=HERE).stdout
    assert "Phase load_feature" in dev.run("resume", "User Login", session=HERE).stdout
    assert "is not done" in refused(dev, "complete")
    skill(dev, "start", "x", "All of it", "--phases", "a")
    skill(dev, "phase", "complete")
    assert dev.run("complete", session=HERE).stdout.endswith("X_COMPLETE: All of it\n")


@pytest.mark.parametrize(
    "arguments",
    [["phase", "next"], ["remind", "x"], ["read", "@x"], ["context", "a=1"], ["undo"]],
)
def test_what_a_skill_does_not_have_names_its_commands(arguments: list[str], dev: Project) -> None:
    """Nothing is done to another workflow instead."""
    put(dev, "x", "{}")
    assert "Use its own commands: holdfast skill --help" in refused(dev, *arguments)


def test_these_commands_mean_a_skill_beside_another_workflow(holdfast_project: Project) -> None:
    """The session works on what CLAUDE.local.md declares, and `skill` on the only /tdd."""
    holdfast_project.declare("W")
    skill(holdfast_project, "start", "tdd", "Add login")
    holdfast_project.run("switch", "W", session=HERE)
    assert "Add login" in skill(holdfast_project, "tdd", "fails", "no login")
    skill(holdfast_project, "complete", "--force", "enough")
    assert holdfast_project.run("status", session=HERE).stdout.startswith("W (")
    assert "phase 2/3" in holdfast_project.run("phase", "next", session=HERE).stdout


def test_a_cycle_within_a_dev_is_reached_from_it(dev: Project) -> None:
    """`tdd` goes to the /tdd, everything else to the /dev."""
    for arguments in (["phase", "complete"], ["phase", "complete"], ["task", "start", "--no-tdd"]):
        skill(dev, *arguments)
    skill(dev, "start", "tdd", "Add login", "--feature", FEATURE, "--number", "1")
    assert "Add login, phase 1/4" in skill(dev, "tdd", "fails", "no login")
    assert "Add login, phase 2/4 (green)" in skill(dev, "tdd", "done")
    done = skill(dev, "task", "complete", "--commit", "abc")
    assert "User Login, phase 3/5" in done
    assert "the nested 'Add login' has ended with it" in done


def test_a_command_loads_no_other_format(dev: Project) -> None:
    """Not even where CLAUDE.local.md declares a workflow."""
    dev.write("CLAUDE.local.md", "# Workflow: Page Work\nPhase: 1/2\n")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", "skill", "phase", "complete"],
        cwd=dev.root,
        env=dev.environment(HERE),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "holdfast.formats.skill.format" in modules
    others = ("canonical", "gated", "orchestrator", "pipeline")
    assert not modules & {f"holdfast.formats.{name}" for name in others}
