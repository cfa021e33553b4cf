"""The skill tells agents what is true: every command in it works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import frontmatter

from holdfast.cli.main import cli
from holdfast.formats import registry
from holdfast.testing import Project

GROUPS = {each.group for each in registry.every()} - {""}
SKILL = Path(__file__).parents[1] / "skills" / "workflow-state" / "SKILL.md"


def commands() -> list[list[str]]:
    """In the order in which they stand there; one with NAME is a form to fill in."""
    text = SKILL.read_text(encoding="utf-8")
    fenced = re.findall(r"^holdfast .+$", text, re.MULTILINE)
    inline = re.findall(r"`(holdfast [^`]+)`", text)
    return [shlex.split(line)[1:] for line in (*fenced, *inline) if "NAME" not in line]


def test_every_command_in_it_works(holdfast_project: Project) -> None:
    holdfast_project.write("docs/design.md", "the design\n")
    holdfast_project.write("docs/api.md", "the interface\n")
    for words in commands():
        done = holdfast_project.run(*words, session="s-1", check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
    # `complete` came before `resume`, which has taken it up again.
    state = holdfast_project.state()
    assert state["workflow"] == "Feature X"
    assert state["phase"] == {"current": 2, "total": 3, "name": "Build", "status": "in_progress"}
    assert state["key_reminders"] == ["Never skip the migration", "The API is frozen"]
    assert state["required_reading"] == ["@docs/design.md", "@docs/api.md"]
    assert state["context"]["iteration"] == 3


def test_the_daily_slash_commands_name_commands_that_there_are() -> None:
    """With their options; they run without asking, and leave every decision to the person."""
    folder, known = SKILL.parents[2] / "commands", cli.list_commands(click.Context(cli))
    daily = {path.stem: path for path in folder.glob("[!w]*.md")}
    assert daily.keys() == {"init", "status", "next", "note", "switch", "done"}
    for path in daily.values():
        text = frontmatter.load(str(path))
        assert text["description"]
        assert text["argument-hint"]
        assert text["allowed-tools"] == "Bash(holdfast:*)"
        assert "$ARGUMENTS" in text.content
        named = set(re.findall(r"`holdfast (?!GROUP)([\w-]+)", text.content))
        assert named
        assert named <= set(known)


def test_it_names_what_an_agent_needs() -> None:
    """From the beginning of a workflow to its end."""
    named = {words[0] for words in commands()}
    wanted = {
        "start",
        "next",
        "phase",
        "note",
        "read",
        "context",
        "block",
        "unblock",
        "complete",
        "status",
    }
    assert wanted | {"resume", "list", "why"} | GROUPS == named
    assert named <= set(cli.list_commands(click.Context(cli)))


def test_it_is_short_and_says_when() -> None:
    """Its description is all that an agent sees before it decides to load it."""
    read = frontmatter.load(str(SKILL))
    assert read["name"] == SKILL.parent.name
    for moment in ("phases", "before a compaction", "resume", "where were we"):
        assert moment in read["description"]
    assert len(SKILL.read_text(encoding="utf-8").splitlines()) < 60
