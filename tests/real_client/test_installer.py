"""`holdfast install` with the real client: what it registers runs, and what its messages say is so."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.project import Surroundings
from holdfast.setup import clientsettings
from plugin import copy_files
from realclient.client import environment, run
from realclient.requests import CONTINUED, first_after, words
from realclient.sandbox import Sandbox
from realclient.standin import StandIn, says
from realclient.workplace import Workplace, shell, trouble

pytestmark = pytest.mark.needs("npm")

RESTORED = "# Workflow restored after the compaction: "


def compacted(place: Workplace, binary: Path, **more: str) -> tuple[str, Any]:
    """A session with one compaction: the first request after it, and all that was printed."""
    with StandIn() as stand_in, place.client(binary, stand_in, **more) as session:
        session.send("begin")
        session.send("go on")
        session.compact()
        session.send("the turn after the compaction")
        session.close()
    return first_after(stand_in.requests).text, session.messages


def test_installed_it_restores_and_uninstalled_nothing_runs(binary: Path, tmp_path: Path) -> None:
    """In the user's settings, beside what the client keeps there itself."""
    place = Workplace(tmp_path)
    place.plan(3, {"docs/guide.md": "words that only the guide has\n"})
    settings = place.write(place.home / ".claude" / "settings.json", '{"theme": "dark"}')
    assert "Registered 25 hooks" in place.holdfast("install", "--scope", "user")
    text, printed = compacted(place, binary)
    assert RESTORED in text
    assert "words that only the guide has" in text
    assert trouble(printed) == []

    assert "as it was before `holdfast install`" in place.holdfast("uninstall")
    assert json.loads(settings.read_text(encoding="utf-8")) == {"theme": "dark"}
    state = place.home / ".local/state/holdfast"
    before = {file: file.read_bytes() for file in state.rglob("*") if file.is_file()}
    text, printed = compacted(place, binary)
    assert CONTINUED in text
    assert RESTORED not in text
    assert "holdfast" not in words(printed)
    after = {file: file.read_bytes() for file in state.rglob("*") if file.is_file()}
    assert before
    assert after == before


@pytest.mark.parametrize("path", ["", "/nonexistent"])
def test_a_missing_path_costs_no_restore_and_no_error(
    path: str, binary: Path, tmp_path: Path
) -> None:
    """What `install` writes has the whole path. What a project shares does nothing without `holdfast`."""
    place = Workplace(tmp_path)
    place.plan(3, {})
    place.holdfast("install")
    text, printed = compacted(place, binary, PATH=path)
    assert RESTORED in text
    assert trouble(printed) == []
    place.holdfast("uninstall")
    place.write_settings()
    text, printed = compacted(place, binary, PATH=path)
    assert RESTORED not in text
    assert trouble(printed) == []


def test_our_commands_need_no_answer_after_init(binary: Path, tmp_path: Path) -> None:
    """Nobody can answer in print mode, so what would ask is refused: so is a line that does more than ours."""
    place = Workplace(tmp_path)
    place.plan(3, {})
    lines = ("holdfast status | head -3", "holdfast status && touch made", "holdfast list > made")

    def told() -> list[str]:
        """What the model is told of each line."""
        with StandIn(queue=[*map(shell, lines), says("Done.")]) as stand_in:
            run(binary, place.project, place.env(stand_in), "-p", "go on")
            return [found for request in stand_in.requests if (found := request.tool_results)]

    assert not any("The long way" in text for results in told() for text in results)
    assert "Added the permission rule" in place.holdfast("init", "--yes", "--only", "permission")
    found = [text for results in told() for text in results]
    assert ["The long way" in text for text in found] == [True, False, False]
    assert not (place.project / "made").exists()
    settings = place.home / ".claude" / "settings.json"
    value = json.loads(settings.read_text(encoding="utf-8"))
    value["permissions"]["ask"] = ["Bash(holdfast status:*)"]
    place.write(settings, json.dumps(value))
    assert not any("The long way" in text for results in told() for text in results)
    place.holdfast("uninstall")
    left = json.loads(settings.read_text(encoding="utf-8"))
    assert left == {"permissions": {"ask": ["Bash(holdfast status:*)"]}}
    assert not any("The long way" in text for results in told() for text in results)


def test_a_running_session_follows(binary: Path, tmp_path: Path) -> None:
    """Where the folder of the settings was there when it started."""
    place = Workplace(tmp_path)
    place.plan(3, {})
    place.write(place.home / ".claude" / "settings.json", "{}\n")
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        session.send("go on")
        place.holdfast("install")
        for compaction in range(1, 6):
            time.sleep(1)
            session.send("more")
            session.compact()
            session.send("the turn after the compaction")
            if RESTORED in first_after(stand_in.requests, compaction).text:
                break
        session.close()
    assert RESTORED in first_after(stand_in.requests, compaction).text


@pytest.mark.parametrize(
    ("change", "runs"), [({}, 1), ({"timeout": 20}, 1), ({"command": "/usr/bin/env"}, 2)]
)
def test_equal_hooks_of_two_settings_run_once(
    change: dict[str, Any], runs: int, binary: Path, tmp_path: Path
) -> None:
    """Equal by what is started; by another way to start it they are two."""
    place = Sandbox(tmp_path)
    hook = place.probe_hook("probe")
    other = {**hook, **change}
    if "command" in change:
        other["args"] = [hook["command"], *hook["args"]]
    for folder, each in ((place.home, hook), (place.project, other)):
        content = {"hooks": {"SessionStart": [{"hooks": [each]}]}}
        place.write(folder / ".claude" / "settings.json", json.dumps(content))
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        session.close()
    assert len(place.seen("SessionStart")) == runs


def test_a_plugin_is_enabled_in_the_settings_of_its_scope(binary: Path, tmp_path: Path) -> None:
    """And what is disabled or uninstalled is not enabled any more."""
    place = Workplace(tmp_path)
    folder = copy_files(tmp_path / "the plugin")
    env = environment(place.home, "http://127.0.0.1:9")
    here = Surroundings.from_environment({"HOME": str(place.home)})
    here = here._replace(cwd=str(place.project))

    def plugin(*arguments: str) -> None:
        done = run(binary, place.project, env, "plugin", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def enabled() -> list[tuple[str, str]]:
        scopes = clientsettings.look(here)
        assert [file.problem for file in scopes.files.values()] == ["", "", ""]
        return [(source.scope, source.plugin) for source in scopes.sources()]

    plugin("marketplace", "add", str(folder))
    assert enabled() == []
    name = "holdfast@holdfast"
    plugin("install", name)
    assert enabled() == [("user", name)]
    assert f"the plugin {name}: every hook runs" in place.holdfast("install", "--dry-run")
    plugin("install", name, "--scope", "local")
    assert enabled() == [("local", name)]
    plugin("disable", name, "--scope", "local")
    assert enabled() == []
    plugin("uninstall", name, "--scope", "local")
    plugin("uninstall", name, "--scope", "user")
    assert enabled() == []
