"""`holdfast hook --part K --agent NAME`: in any order, and nothing that is wrong there blocks."""

from __future__ import annotations

import json
import shutil
import tomllib
from itertools import product
from pathlib import Path

import pytest
from asking import EVERY, Codex, Gemini, log_of

from holdfast import agents
from holdfast.agents import request
from holdfast.files.store import locked
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session

HOSTILE = [
    *({}, {"hook_event_name": 7}, {"hook_event_name": "PreCompact", "session_id": ["x"]}),
    {"hook_event_name": "SessionStart", "source": {"a": 1}, "cwd": 3, "transcript_path": False},
    {"hook_event_name": "UserPromptSubmit", "prompt": "x"},
    {"sessionId": None, "timestamp": [], "prompt": None, "cwd": "/nonexistent"},
    {"hook_event_name": "BeforeAgent", "timestamp": "x", "session_id": "\0", "prompt": 1},
    {"hook_event_name": "PreCompact", "turn_id": {}, "transcript_path": "rollout-" * 9999},
]
HUGE = {"hook_event_name": "UserPromptSubmit", "prompt": "x" * 8_000_000}


@pytest.mark.parametrize(
    ("arguments", "part", "agent"),
    [
        ([], 0, ""),
        (["--part", "3"], 3, ""),
        (["--agent=codex"], 0, "codex"),
        (["--agent", "codex", "--part=12"], 12, "codex"),
        (["--part", "1", "--agent", "nobody"], 1, "nobody"),
        (["--later", "--agent", "qwen"], 0, "qwen"),
    ],
)
def test_options_in_any_order(arguments: list[str], part: int, agent: str) -> None:
    """With a space or an equals sign."""
    assert request.read_options(arguments) == (part, agent, "--later" in arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--part"], ["--part", "0"], ["--part", "x"], ["--part", "١"], ["--part", "-1"]),
        *(["--agent"], ["--agent="], ["--agent", "a", "--agent", "b"], ["part", "1"]),
        *(["--part", "1", "2"], ["--other", "x"], ["--part", "1", "--part", "2"]),
        *(["--later=x"], ["--later", "--later"]),
    ],
)
def test_wrong_options(arguments: list[str], work: Project) -> None:
    """The log tells; the hook ends with nothing said and nothing done."""
    with pytest.raises(ValueError, match=r"part|agent|other|later"):
        request.read_options(arguments)
    codex = Codex(work)
    codex.told = False
    done = codex.fire("PreCompact", *arguments, trigger="auto")
    assert (done.code, done.stdout, done.stderr) == (0, b"", "")
    assert "arguments of the hook are wrong" in str(log_of(work)[-1]["decided"])


def test_an_agent_that_is_not_known(work: Project, compaction_cycle: Compactions) -> None:
    """The work is saved and told all the same, by the payload's shape; log and person are told why."""
    door = compaction_cycle.door(in_process=False)
    who = Session("session-1", str(work.root))
    saved = door.fire(who.pre_compact(), "--agent", "kodex")
    assert (saved.code, saved.stderr) == (0, "")
    assert work.state()["phase"]["current"] == 2
    reply = json.loads(door.fire(who.session_start(), "--agent=kodex").stdout)
    assert "agent that is not known (kodex;" in reply["systemMessage"]
    assert "it was answered as claude" in reply["systemMessage"]
    assert "Workflow restored" in reply["hookSpecificOutput"]["additionalContext"]
    for entry in log_of(work):
        assert any("agent that is not known" in why for why in entry["why"])


def test_an_agent_that_is_not_known_where_a_save_fails(work: Project) -> None:
    """Exit code 1, which no agent blocks for, and the line on stderr."""
    (work.root / "untracked").write_text("in the way")
    codex = Codex(work)
    codex.told = False
    done = codex.fire("PreCompact", "--agent", "kodex", trigger="auto")
    assert (done.code, done.stdout) == (1, b"")
    assert "could not save" in done.stderr


@pytest.mark.parametrize("name", agents.NAMES)
def test_a_failed_save_never_blocks(name: str, work: Project) -> None:
    """Whoever asks: exit code 1, one line, nothing on stdout."""
    (work.root / "untracked").write_text("in the way")
    done = EVERY[name](work).fire("PreCompact", trigger="auto")
    assert (done.code, done.stdout) == (1, b"")
    assert done.stderr.count("\n") == 0
    assert "could not save" in done.stderr


def test_gemini_says_once_that_a_save_fails(work: Project) -> None:
    """It asks before every request. By hand it is said each time, as is another cause; the log has all of them."""
    gemini, in_the_way = Gemini(work), work.root / "untracked"

    def codes(*triggers: str) -> list[int]:
        return [gemini.fire("PreCompact", trigger=each).code for each in triggers]

    in_the_way.write_text("in the way")
    assert codes("auto", "auto", "auto", "manual", "auto") == [1, 0, 0, 1, 0]
    assert [each["decided"][:6] for each in log_of(work)] == ["failed"] * 5
    in_the_way.unlink()
    assert codes("auto") == [0]
    assert work.state()["phase"]["current"] == 2
    shutil.rmtree(in_the_way)
    in_the_way.write_text("in the way")
    work.declare("Work", phase="3/4 - Test")
    with locked(work.root / ".claude/holdfast/lock", 0):
        assert codes("auto", "auto") == [1, 0]
    assert codes("auto", "auto") == [1, 0]


@pytest.mark.parametrize("name", agents.NAMES)
def test_hostile_payloads(name: str, work: Project) -> None:
    """Wrong types, missing fields, 8 MB: no traceback, and no exit code that blocks."""
    asking = EVERY[name](work)
    options = ([], ["--agent", name], ["--agent", name, "--part", "2"])
    for payload, arguments in [*product(HOSTILE, options), (HUGE, ["--agent", name])]:
        done = asking.door().fire(payload, *arguments)
        assert done.code == 0
        assert "Traceback" not in done.stderr
    asking.compacts()
    assert "Work" in asking.restored()


@pytest.mark.parametrize("name", agents.NAMES)
def test_a_subagents_events_say_and_note_nothing(name: str, work: Project) -> None:
    """What it is told, its caller is told as well."""
    asking = EVERY[name](work)
    for event in ("SessionStart", "PreCompact", "UserPromptSubmit"):
        done = asking.fire(event, source="compact", trigger="auto", prompt="x", agent_id="a1")
        assert (done.code, done.stdout) == (0, b"")
    assert not work.state_files()


@pytest.mark.parametrize("name", agents.NAMES)
def test_where_no_workflow_is_nothing_is_said(name: str, holdfast_project: Project) -> None:
    """Only Claude Code is asked to watch."""
    asking = EVERY[name](holdfast_project)
    start = asking.fire("SessionStart", source="startup")
    assert (b"watchPaths" in start.stdout) == bool(start.stdout) == (name == "claude")
    for event in ("PreCompact", "UserPromptSubmit"):
        assert asking.fire(event, trigger="auto", prompt="x").stdout == b""


def test_the_environment_does_not_say_who_asks(work: Project) -> None:
    """One agent sets the variables of another, and one may have started the other."""
    codex = Codex(work)
    door = codex.door()
    door.environment = {
        **door.environment,
        "COPILOT_CLI": "1",
        "GEMINI_SESSION_ID": "x",
        "QWEN_CODE_SESSION_ID": "x",
        "CLAUDE_CODE_SESSION_ID": "y",
    }
    assert door.fire(codex.payload("PreCompact", trigger="auto")).stdout == b""
    assert log_of(work)[-1]["agent"] == "codex"


def test_the_command_that_is_asked_for_help(work: Project) -> None:
    """It names the agents."""
    done = work.run("hook", "--help")
    for name in agents.NAMES:
        assert name in done.stdout


def test_handlers_and_domain_know_no_agent() -> None:
    """They see what it can take; its name and its shape are the door's business."""
    top = Path(__file__).parents[2]
    contract = tomllib.loads((top / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contract["contracts"][0]["layers"]
    (door,) = (number for number, layer in enumerate(layers) if "agents" in layer.split(" | "))
    names = [*layers[door].split(" | "), *" | ".join(layers[door + 1 :]).split(" | ")]
    names.remove("agents")
    places = [top / "handlers", *(top / "src" / "holdfast" / name for name in names)]
    below = [
        path
        for place in places
        for path in ([*place.rglob("*.py")] if place.is_dir() else [place.with_suffix(".py")])
        if "payloads" not in path.parts
    ]
    assert len(below) > 100
    others = [name for name in agents.NAMES if name != agents.USUAL]
    found = [
        f"{path.relative_to(top)}: {line.strip()}"
        for path in below
        for line in path.read_text(encoding="utf-8").splitlines()
        for name in others
        if name in line.lower() or "wire.agents" in line or "wire import agents" in line
        # Where an agent keeps its settings is for `install`; the environment is read in one place.
        if "AgentVariables(" not in line
    ]
    assert not found
