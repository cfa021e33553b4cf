"""Completion, asked of the shells themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from holdfast.cli.main import cli
from holdfast.testing import Project

ZSH_IN_A_TERMINAL = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; cd $HOLDFAST_TEST_ROOT; autoload -U compinit; compinit -u -d $HOME/dump; \
source $HOME/_holdfast; compdef _holdfast_completion holdfast; print REA''DY'
zpty -r shell out '*READY*'
zpty -w -n shell $'holdfast show us\\t'
zpty -r -m shell out '*user-auth*' && print -r -- $out
zpty -d shell
"""


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """Two workflows, one of which has a space in its name, and one that has ended."""
    holdfast_project.run("start", "Old")
    holdfast_project.run("complete", "Old")
    holdfast_project.run("start", "User Auth")
    holdfast_project.run("start", "Größe")
    return holdfast_project


def shell(project: Project, *command: str) -> str:
    """What a shell prints that has `holdfast` on its path and was told to be quiet about it."""
    environment = project.environment()
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    environment["HOLDFAST_TEST_ROOT"] = str(project.root)
    done = subprocess.run(
        command,
        cwd=project.root,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def in_bash(project: Project, *words: str) -> list[str]:
    """What bash offers for the last of *words*, which stand behind `holdfast`."""
    script = (
        "source <(holdfast completion bash) && complete -p holdfast >/dev/null &&"
        ' COMP_WORDS=(holdfast "$@") && COMP_CWORD=$# &&'
        ' _holdfast_completion holdfast; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return shell(project, "bash", "--norc", "-c", script, "bash", *words).split()


@pytest.mark.needs("bash")
@pytest.mark.parametrize("command", ["show", "status -w"])
def test_bash_completes_what_a_workflow_is_called(command: str, project: Project) -> None:
    """A name with a space goes by its folder, which is a name as well."""
    words = command.split()
    assert sorted(in_bash(project, *words, "")) == ["Größe", "user-auth"]
    assert in_bash(project, *words, "Use") == ["user-auth"]
    assert in_bash(project, *words, "grö") == ["Größe"]


@pytest.mark.parametrize("command", ["complete", "ignore", "resume", "show", "switch", "undo"])
def test_every_name_is_completed(command: str) -> None:
    """Told by the command itself, since asking a shell for each takes its time."""
    found = cli.get_command(click.Context(cli), command)
    assert found
    (name,) = [each for each in found.params if each.name == "name"]
    assert name._custom_shell_complete is not None


@pytest.mark.needs("bash")
@pytest.mark.parametrize("command", ["resume", "undo"])
def test_what_has_ended_is_offered_where_it_can_be_taken_up(command: str, project: Project) -> None:
    """And nowhere else."""
    assert in_bash(project, command, "O") == ["Old"]
    assert in_bash(project, "show", "O") == []


@pytest.mark.needs("bash")
def test_what_is_offered_is_understood(project: Project) -> None:
    """Completing a name must lead to the workflow."""
    (word,) = in_bash(project, "show", "Use")
    assert "User Auth" in project.run("show", word).stdout


@pytest.mark.needs("bash")
def test_bash_completes_commands_and_options(project: Project) -> None:
    """As click knows them."""
    assert in_bash(project, "simu") == ["simulate"]
    assert in_bash(project, "phase", "") == ["next", "set"]
    assert in_bash(project, "completion", "f") == ["fish"]
    assert in_bash(project, "start", "--ap") == ["--apart"]


@pytest.mark.needs("bash")
def test_completion_is_silent_where_looking_fails(project: Project) -> None:
    """Somebody is typing; no line of ours may come between."""
    for path in project.state_files():
        path.write_bytes(b"{")
    settings = project.write(".claude/holdfast.toml", "nonsense = [")
    (project.root / ".claude/holdfast/ledger.json").write_bytes(b"\xff")
    assert set(in_bash(project, "resume", "")) <= {"Größe", "user-auth", "Old"}
    settings.write_text("enabled = false", encoding="utf-8")
    assert in_bash(project, "show", "") == []


def test_completion_writes_nothing(project: Project) -> None:
    """Whoever only types has changed nothing."""
    project.declare("New")
    before = sorted(path for path in project.root.parent.rglob("*") if path.is_file())
    environment = {"COMP_WORDS": "holdfast show ", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "holdfast"],
        cwd=project.root,
        env={**project.environment(), **environment, "_HOLDFAST_COMPLETE": "bash_complete"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert "plain,New" in done.stdout
    assert sorted(path for path in project.root.parent.rglob("*") if path.is_file()) == before


@pytest.mark.needs("fish")
def test_fish_completes_workflows(project: Project) -> None:
    """With the whole name beside what is put in."""
    script = 'holdfast completion fish | source; complete -C "holdfast show us"'
    assert shell(project, "fish", "--no-config", "-c", script).split("\n")[0] == (
        "user-auth\tUser Auth"
    )


@pytest.mark.needs("zsh")
def test_zsh_completes_workflows(project: Project) -> None:
    """In a terminal, since zsh completes nowhere else."""
    script = project.run("completion", "zsh").stdout
    (project.home / "_holdfast").write_text(script, encoding="utf-8")
    assert "holdfast show user-auth" in shell(project, "zsh", "-f", "-c", ZSH_IN_A_TERMINAL)


def test_files_and_reminders_are_offered(project: Project) -> None:
    """With or without the @ of required reading; a reminder only where it is to be taken out."""
    project.write("docs/design.md", "text\n")
    project.write("docs/.hidden", "")
    project.run("remind", "Never skip the sitemap", "-w", "Größe")
    assert in_bash(project, "read", "@do") == ["@docs/"]
    assert in_bash(project, "read", "docs/") == ["docs/design.md"]
    assert in_bash(project, "start", "X", "--read", "@docs/d") == ["@docs/design.md"]
    named = ("remind", "-w", "Größe")
    dropped = in_bash(project, *named, "--drop", "Nev")
    assert " ".join(dropped) == "'Never skip the sitemap'"
    assert in_bash(project, *named, "Nev") == []
