"""`holdfast uninstall --purge`: all of ours goes, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from holdfast.testing import Compactions, Project
from terminal import typed

OTHER_SERVER = {"mcpServers": {"other": {"command": "other"}}}


def lived_in(project: Project, compactions: Compactions) -> Project:
    """A home and a project with one of everything of ours."""
    project.git("init", "-q")
    project.write("src/app.py", "print()\n")
    (project.home / ".claude").mkdir(exist_ok=True)
    project.run("init", "--yes")
    project.run("start", "Ended", "--phases", "A,B")
    project.run("complete", "Ended")
    project.run("start", "Alive", "--phases", "A,B")
    project.write(".claude/holdfast.toml", "stale_days = 9\n")
    compactions(in_process=False)
    server = {"holdfast": {"command": "/somewhere/holdfast", "args": ["mcp"]}}
    other = {"mcpServers": {**server, **OTHER_SERVER["mcpServers"]}}
    noted = {"projects": {str(project.root): {"mcpServers": server}}, **other}
    project.write(str(project.home / ".claude.json"), json.dumps(noted))
    project.write(str(project.home / ".config/holdfast/holdfast.toml"), "stale_days = 9\n")
    return project


def files(project: Project) -> dict[str, bytes]:
    """What lies in the home and in the project, apart from git's own."""
    return {
        str(path): path.read_bytes()
        for folder in (project.home, project.root)
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def packed(project: Project) -> list[str]:
    (archive,) = project.home.glob("holdfast-states-*.tar.gz")
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as names:
        return [name for name in names.getnames() if name.endswith(".json")]


def test_all_of_ours_goes_and_a_second_run_says_there_is_nothing(
    holdfast_project: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """From somewhere else, too: the projects are known. What is no file of ours keeps every byte."""
    project = lived_in(holdfast_project, compaction_cycle)
    (tmp_path / "elsewhere").mkdir()
    done = project.run("uninstall", "--purge", "--yes", cwd=tmp_path / "elsewhere")
    for line in (f"{project.root}:\n", "the workflow 'Alive'", "your home:\n", "25 hooks"):
        assert line in done.stdout
    assert sorted(Path(name).name.split("-")[-2] for name in packed(project)) == ["alive", "ended"]
    archive = next(project.home.glob("*.tar.gz"))
    left = {path: text for path, text in files(project).items() if path != str(archive)}
    assert left == {
        str(project.root / "src/app.py"): b"print()\n",
        str(project.home / ".claude.json"): json.dumps(
            {"projects": {str(project.root): {"mcpServers": {}}}, **OTHER_SERVER}
        ).encode(),
    }
    assert project.git("status", "--porcelain").strip() == "?? src/"
    assert "nothing of Holdfast" in project.run("uninstall", "--purge", "--yes").stdout


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--dry-run", "--yes"]])
def test_without_a_terminal_it_says_what_it_would_do(
    options: list[str], holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It removes nothing."""
    project = lived_in(holdfast_project, compaction_cycle)
    before = files(project)
    done = project.run("uninstall", "--purge", *options)
    assert "Nothing was removed. To remove it: holdfast uninstall --purge --yes" in done.stdout
    assert files(project) == before


def test_each_project_is_asked_about(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No for the project, yes for the home."""
    project = lived_in(holdfast_project, compaction_cycle)
    answers = [(f"Remove this from {project.root}?", "n\n"), ("Remove this from your home?", "y\n")]
    shown = typed(["uninstall", "--purge"], answers, project.root, project.environment())
    assert shown.code == 0, shown.text
    assert len(project.state_files()) == 1
    assert (project.root / ".claude/holdfast").is_dir()
    assert not (project.home / ".local/state/holdfast").exists()
    assert not list(project.home.glob("*.tar.gz"))


def test_nothing_was_removed_is_said_where_every_answer_was_no(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It ended without a word."""
    project = lived_in(holdfast_project, compaction_cycle)
    before = files(project)
    answers = [("Remove this from", "\n"), ("Remove this from", "\n")]
    shown = typed(["uninstall", "--purge"], answers, project.root, project.environment())
    assert shown.text.endswith("Nothing was removed.\n")
    assert files(project) == before


@pytest.mark.parametrize(
    "command", [["follow", "PLAN.md"], ["simulate"], ["init", "--yes", "--only", "follow"]]
)
def test_a_project_where_only_commands_ran_was_not_known(
    command: list[str], holdfast_project: Project, tmp_path: Path
) -> None:
    """Purge said that there was nothing of Holdfast."""
    running = "Status: In Progress\n" if command == ["simulate"] else ""
    holdfast_project.write("PLAN.md", f"# Shop\n{running}## Phase 1: A\n- [ ] a\n## Phase 2: B\n")
    holdfast_project.run(*command)
    assert len(holdfast_project.state_files()) == 1
    (tmp_path / "elsewhere").mkdir()
    done = holdfast_project.run("uninstall", "--purge", "--yes", cwd=tmp_path / "elsewhere")
    assert "A project that was moved is not known" in done.stdout
    assert not (holdfast_project.root / "untracked").exists()
    assert not (holdfast_project.root / ".claude").exists()


def test_what_others_have_too_stays(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What git tracks, what another tool wrote, and a skill that somebody changed. Each with its reason."""
    project = lived_in(holdfast_project, compaction_cycle)
    project.run("install", "--scope", "project")
    project.git("add", "-f", ".claude/settings.json")
    state = {"workflow": "By hand", "phase": {"current": 1, "total": 2, "name": "A"}}
    by_hand = project.write(
        "untracked/workflow-state/by-hand/state-by-hand-1.json", json.dumps(state)
    )
    skill = next(project.home.rglob("SKILL.md"))
    skill.write_text("mine\n", encoding="utf-8")
    done = project.run("uninstall", "--purge", "--yes")
    for reason in ("git tracks it", "another tool wrote it", "it was changed"):
        assert f"; it stays: {reason}" in done.stdout
    assert "holdfast hook" in (project.root / ".claude/settings.json").read_text("utf-8")
    assert (json.loads(by_hand.read_bytes()), skill.read_text("utf-8")) == (state, "mine\n")


def test_what_cannot_be_removed_is_said_and_the_rest_goes(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where folders of ours are links, what they lead to is somebody's."""
    project = lived_in(holdfast_project, compaction_cycle)
    before = []
    for ours in (project.root / ".claude/holdfast", project.home / ".local/state/holdfast"):
        theirs = project.root.parent / f"theirs, {len(before)}"
        ours.rename(theirs)
        ours.symlink_to(theirs)
        before += [(path, path.lstat().st_mtime_ns) for path in (theirs, *theirs.rglob("*"))]
    done = project.run("uninstall", "--purge", "--yes", check=False)
    assert (
        f"{project.root}/.claude/holdfast: the project record; it stays: it is a link"
        in done.stdout
    )
    assert (done.returncode, str(ours) in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr
    # From the backups the settings were restored.
    others = [pair for pair in before if "backups" not in pair[0].parts]
    assert [(path, path.lstat().st_mtime_ns) for path, _ in others] == others
    assert "SKILL.md" not in {path.name for path in project.home.rglob("*")}


@pytest.mark.parametrize(
    "wrong",
    [["--purge", "--scope", "user"], ["--purge", "--agent", "codex"], ["--yes"]],
    ids=" ".join,
)
def test_purge_stands_alone(wrong: list[str], holdfast_project: Project) -> None:
    """It is for all agents and all scopes."""
    assert holdfast_project.run("uninstall", *wrong, check=False).returncode == 2


def test_the_home_of_somebody_who_never_used_it(holdfast_project: Project) -> None:
    assert os.listdir(holdfast_project.root) == []
    assert "Nothing to do" in holdfast_project.run("uninstall", "--purge").stdout


def test_without_a_home_nothing_of_the_current_folder_is_taken_for_ours(
    holdfast_project: Project,
) -> None:
    """A folder that is called like that of the plugin."""
    lock = holdfast_project.write("plugins/data/holdfast-x/setup.lock", "")
    environment = {"PATH": os.environ["PATH"], "HOME": "relative"}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "uninstall", "--purge", "--yes"],
        cwd=holdfast_project.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert lock.exists()
