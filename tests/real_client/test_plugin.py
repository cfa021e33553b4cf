"""The repository as a plugin in the real client: nothing else of Holdfast is installed."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest

from plugin import ROOT, listing
from realclient.client import PrintMode, run, wait_until
from realclient.requests import first_after, words
from realclient.sandbox import Sandbox
from realclient.standin import StandIn, Tool, calls
from realclient.workplace import READING, PluginPlace, reading_in, shell, trouble

pytestmark = pytest.mark.needs("npm")

UNDER_WAY = "Holdfast is being set up in the background"


@pytest.fixture
def place(tmp_path: Path, wheels: Path) -> PluginPlace:
    return PluginPlace(tmp_path, wheels)


def first_turn(session: PrintMode) -> float:
    begun = time.monotonic()
    session.send("begin")
    return time.monotonic() - begun


def restored(stand_in: StandIn) -> None:
    """The workflow and the text of all its reading are in the request after the compaction."""
    request = first_after(stand_in.requests)
    assert request.text.count("# Workflow restored after the compaction: ") == 1
    assert "is in phase 1 of 22: Stage 1. Status: in progress." in request.text
    assert {path: reading_in(request)[path] for path in READING} == READING


@pytest.mark.parametrize("manifest", ["", ".claude-plugin/plugin.json"])
@pytest.mark.parametrize("strict", [[], ["--strict"]], ids=["", "strict"])
def test_it_is_valid_and_nothing_is_to_be_warned_of(
    binary: Path, place: PluginPlace, manifest: str, strict: list[str]
) -> None:
    with StandIn() as stand_in:
        arguments = ["plugin", "validate", *strict, str(place.root / manifest)]
        done = run(binary, place.project, place.env(stand_in), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert "Validation passed" in done.stdout


def test_the_environment_of_a_checkout_is_not_copied(binary: Path, place: PluginPlace) -> None:
    """The client copies the folder, and does not follow a link out of it, such as make's .venv."""
    environment = place.home / ".cache" / "holdfast" / "environment-1"
    environment.mkdir(parents=True)
    (environment / "large").write_bytes(b"x" * 1000)
    (place.root / ".venv").symlink_to(environment)
    with StandIn() as stand_in:
        for arguments in (
            ["marketplace", "add", str(place.root)],
            ["install", "holdfast@holdfast"],
        ):
            done = run(binary, place.project, place.env(stand_in), "plugin", *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
    copied = place.home / ".claude" / "plugins" / "cache"
    assert list(copied.rglob("hooks.json"))
    assert not [*copied.rglob(".venv"), *copied.rglob("large")]


def test_from_an_empty_home_to_a_restored_workflow(
    binary: Path, place: PluginPlace, tmp_path: Path
) -> None:
    """Install, compact, restored. The first session is told so, and waits for nothing."""
    bare = Sandbox(tmp_path / "without the plugin")
    place.plan(22, READING)
    before = listing(place.root), listing(place.project)
    with StandIn() as stand_in:
        with bare.client(binary, stand_in) as session:
            without = first_turn(session)
        for arguments in (
            ["marketplace", "add", str(place.root)],
            ["install", "holdfast@holdfast"],
        ):
            done = run(binary, place.project, place.env(stand_in), "plugin", *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        with place.client(binary, stand_in) as session:
            assert first_turn(session) < without + 2
            assert UNDER_WAY in words(session.messages)
            wait_until(lambda: bool(place.environments), "the environment is ready")
            assert (listing(place.root), listing(place.project)) == before
            stand_in.queue += [shell("holdfast status")]
            session.send("go on")
            session.compact()
            session.send("the turn after the compaction")
            session.close()
    restored(stand_in)
    status = next(each for each in stand_in.requests if each.tool_results).tool_results[0]
    assert "The long way" in status
    assert trouble(session.messages) == []
    assert listing(place.root) == before[0]


@pytest.mark.needs("tmux")
def test_the_person_sees_the_line(binary: Path, place: PluginPlace) -> None:
    """In the interactive client; and the set-up goes on when the session ends."""
    with (
        StandIn() as stand_in,
        place.terminal(binary, stand_in, "--plugin-dir", str(place.root)) as terminal,
    ):
        terminal.wait_for("bypass permissions on")
        terminal.wait_for(UNDER_WAY)
        assert trouble(terminal.screen) == []
    wait_until(lambda: bool(place.environments), "the environment is ready")


@pytest.mark.needs("tmux")
def test_the_status_line_does_not_find_the_plugins_command(
    binary: Path, place: PluginPlace
) -> None:
    """Which is why docs/statusline.md names the folder."""
    place.status_line("command -v holdfast || echo nothing on the PATH")
    place.write_settings({})
    arguments = ["--plugin-dir", str(place.root)]
    with StandIn() as stand_in, place.terminal(binary, stand_in, *arguments) as terminal:
        terminal.wait_for("nothing on the PATH")


@pytest.mark.needs("tmux")
def test_the_plugins_status_line_is_on_the_screen(
    binary: Path, place: PluginPlace, ready_environment: Path
) -> None:
    """With the documented command."""
    text = (ROOT / "docs" / "statusline.md").read_text(encoding="utf-8")
    command = json.loads(text.split("```json\n")[2].split("```")[0])["statusLine"]["command"]
    place.plan(22, READING)
    place.set_up(ready_environment)
    place.status_line(command.replace("/path/to/holdfast", shlex.quote(str(place.root))))
    place.write_settings({})
    arguments = ["--plugin-dir", str(place.root)]
    with StandIn() as stand_in, place.terminal(binary, stand_in, *arguments) as terminal:
        terminal.wait_for("The long way 1/22 Stage 1")


def test_the_agent_may_begin_before_the_environment_is_ready(
    binary: Path, place: PluginPlace
) -> None:
    """The command waits for it, and does what it was told."""
    with (
        StandIn() as stand_in,
        place.client(binary, stand_in, "--plugin-dir", str(place.root)) as session,
    ):
        stand_in.queue += [shell("holdfast start 'Begun at once' --phases A,B")]
        session.send("begin")
        assert UNDER_WAY in words(session.messages)
        session.compact()
        session.send("the turn after the compaction")
        session.close()
    assert 'The workflow "Begun at once"' in first_after(stand_in.requests).text
    assert trouble(session.messages) == []


def test_loaded_for_one_run(binary: Path, place: PluginPlace, ready_environment: Path) -> None:
    """With --plugin-dir; and the skill is offered, and its text reaches the agent that asks."""
    place.set_up(ready_environment)
    place.plan(22, READING)
    with (
        StandIn() as stand_in,
        place.client(binary, stand_in, "--plugin-dir", str(place.root)) as session,
    ):
        stand_in.queue += [calls(Tool("Skill", {"skill": "holdfast:workflow-state"}))]
        session.send("begin")
        session.send("go on")
        session.compact()
        session.send("the turn after the compaction")
        session.close()
    restored(stand_in)
    assert trouble(session.messages) == []
    offered = next(each for each in stand_in.requests if each.tools)
    assert "holdfast:workflow-state" in words(offered.body)
    assert "when asked to resume" in words(offered.body)
    loaded = next(each for each in stand_in.requests if each.tool_results)
    assert "holdfast switch NAME" in loaded.text
