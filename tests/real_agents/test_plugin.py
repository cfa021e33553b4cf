"""The repository as a plugin in other agents than Claude Code: the same tree, unedited.

Nothing else of Holdfast is installed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from otheragents.codex import Codex, hook_runs
from otheragents.place import Place
from otheragents.qwen import Qwen
from plugin import ROOT, copy_files, listing, packages, programs
from realclient.recording import Recording
from realclient.requests import asking, summaries
from realclient.workplace import READING, reading_in

pytestmark = pytest.mark.needs("npm")

STEPS = 3
RESTORED = "# Workflow restored after the compaction: The long way"
# As their pages in docs/agents/ have it, and where each keeps the data of a plugin.
INSTALLED_BY = {
    Codex: [
        ["plugin", "marketplace", "add", "{root}"],
        ["plugin", "add", "holdfast@holdfast"],
    ],
    Qwen: [["extensions", "install", "--consent", "{root}:holdfast"]],
}
DATA = {
    Codex: ".codex/plugins/data/holdfast-holdfast",
    Qwen: ".claude/plugins/data/holdfast-holdfast",
}


def files_of(root: Path) -> dict[str, int]:
    """Qwen leaves a folder of its own beside them, where it is given a folder to install from."""
    return {path: time for path, time in listing(root).items() if Path(path).is_file()}


def without_holdfast(place: Place, wheels: Path) -> None:
    """As if only the agent and Python were there."""
    others = [
        each
        for each in os.environ["PATH"].split(os.pathsep)
        if not shutil.which("holdfast", path=each)
    ]
    folder = place.log.parent
    path = os.pathsep.join([str(programs(folder / "the programs")), *others])
    place.also |= {"PATH": path, **packages(wheels)}


@pytest.fixture(scope="module", params=[Codex, Qwen], ids=lambda kind: kind.agent)
def run(
    request: pytest.FixtureRequest,
    recorded: Callable[..., Recording],
    wheels: Path,
    ready_environment: Path,
) -> Recording:
    def plugged(place: Place) -> Recording:
        kind = type(place)
        without_holdfast(place, wheels)
        link = place.home / DATA[kind] / ready_environment.name
        link.parent.mkdir(parents=True)
        link.symlink_to(ready_environment)
        place.plan(STEPS, READING)
        if kind is Qwen:
            place.write_settings({})
        # With a space in its path: the agent's own copy of it may have one.
        root = copy_files(place.log.parent / "the plugin")
        before = files_of(root)
        with place.service(tokens=lambda _: 5_000) as stand_in:
            for words in INSTALLED_BY[kind]:
                place.run(stand_in, *(word.format(root=root) for word in words))
            with place.session(stand_in) as session:
                session.say("the first prompt; $(touch run-by-a-shell) `touch run-by-a-shell`")
                stand_in.queue += [place.shell("echo '$(touch run-by-a-shell)'")]
                session.say("use the shell")
                stand_in.queue += [place.shell("make check")]
                session.say("check it")
                session.compact()
                session.say("the prompt after the compaction")
        notes = {
            "states": len(place.states()),
            "untouched": before.items() <= files_of(root).items(),
            "run": [str(each) for each in place.home.parent.rglob("run-by-a-shell")],
            "agent": place.agent,
        }
        return Recording(stand_in.requests, place.seen(), list(session.printed), notes)

    return recorded(plugged, request.param)


def test_the_workflow_and_all_of_its_reading_are_there_after_a_compaction(run: Recording) -> None:
    request = asking(run.requests, "the prompt after the compaction")
    assert request.text.count(RESTORED) == 1
    assert f"is in phase 1 of {STEPS}: Stage 1. Status: in progress." in request.text
    sent = reading_in(request)
    assert {path: sent.get(path) for path in READING} == READING


def test_a_check_is_noted_where_the_shell_has_claude_codes_name(run: Recording) -> None:
    """Codex calls it so, and does not tell how a command ended; it was said that nothing is noted there."""
    request = asking(run.requests, "the prompt after the compaction")
    noted = [line for line in request.text.splitlines() if "Last check: `make check`" in line]
    seen = [line.endswith("its result was not seen") for line in noted]
    assert seen == ([True] if run.notes["agent"] == "codex" else [])


def test_the_state_was_saved_and_the_trees_files_are_left_alone(run: Recording) -> None:
    assert run.notes["states"] == 1
    assert run.notes["untouched"]


def test_no_payload_is_ever_the_script_of_a_shell(run: Recording) -> None:
    """An entry with `args`, which these agents leave out, had made it one."""
    assert run.notes["run"] == []


def test_no_hook_fails(run: Recording) -> None:
    """As far as the agent tells of them."""
    runs = hook_runs(run.printed) if run.notes["agent"] == "codex" else []
    assert [each for each in runs if each["status"] != "completed"] == []
    assert len(summaries(run.requests)) == 1


def test_an_entry_is_one_line_and_nothing_beside_it() -> None:
    hooks = json.loads((ROOT / "hooks/hooks.json").read_text(encoding="utf-8"))["hooks"]
    entries = [entry for groups in hooks.values() for group in groups for entry in group["hooks"]]
    assert entries
    assert not [entry for entry in entries if "args" in entry]
