"""Which hooks in a settings file are ours, however they are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents.clients import CLIENTS, Client
from holdfast.setup import registration
from holdfast.setup.registration import ON_PATH, PLUGIN, Program

PYTHON = Program("/usr/bin/python3", ("-P", "-m", "holdfast"))


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
@pytest.mark.parametrize("program", [ON_PATH, PLUGIN, Program("/a b/it's $1/bin/holdfast"), PYTHON])
def test_what_is_registered_is_recognised(program: Program, client: Client) -> None:
    """All of it, with its event, as the client runs it, and nothing twice."""
    wanted = registration.hooks(program, parts=3, client=client)
    found = list(registration.registered(wanted, client))
    entries = [
        (event, entry)
        for event, groups in wanted.items()
        for group in groups
        for entry in group["hooks"]
    ]
    assert [each.program for each in found] == [program] * len(entries)
    assert [each.event for each in found] == [event for event, _ in entries]
    assert all(hook.works for hook in found)
    assert len(set(found)) == len(found) or client.name == "claude"
    for hook, (_, entry) in zip(found, entries, strict=True):
        words = [program.command, *program.first, "hook", *hook.arguments]
        if program == ON_PATH and client.name == "claude":
            assert entry["command"].endswith("; exec " + " ".join(words))
            assert "args" not in entry
        elif client.in_words and program != PLUGIN:
            assert [entry["command"], *entry["args"]] == words
        else:
            assert words[-2:] == ["--agent", client.name] or not client.said
            assert "args" not in entry
            assert in_a_shell(entry["command"], CLAUDE_PLUGIN_ROOT="${CLAUDE_PLUGIN_ROOT}") == words


def in_a_shell(line: str, **environ: str) -> list[str]:
    """What a shell starts for *line*."""
    shown = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {line}"],
        env={"PATH": os.defpath, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.split("\0")[:-1]


def test_no_payload_of_the_plugin_is_a_script_for_a_shell(tmp_path: Path) -> None:
    """Codex and Qwen take the plugin and leave arguments out. `sh` alone would run what it is sent."""
    root = tmp_path / "the plugin" / "bin"
    root.mkdir(parents=True)
    (root / "holdfast").write_text('printf "%s " "$@"\ncat\n', encoding="utf-8")
    payload = json.dumps({"tool_input": {"content": f"$(touch {tmp_path}/sprung) `id`\nid\n"}})
    for groups in json.loads(registration.text(registration.hooks(PLUGIN)))["hooks"].values():
        for entry in (entry for group in groups for entry in group["hooks"]):
            assert "args" not in entry
            told = subprocess.run(
                ["sh", "-c", entry["command"]],
                input=payload,
                env={"PATH": os.defpath, "CLAUDE_PLUGIN_ROOT": str(root.parent)},
                capture_output=True,
                text=True,
                check=True,
            )
            assert re.fullmatch(r"hook (--part \d+ |--later )?", told.stdout.removesuffix(payload))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
def test_each_agent_gets_what_it_wants(client: Client) -> None:
    """Its own events, in its own unit of time, and parts only where it takes them."""
    wanted = registration.hooks(parts=4, client=client)
    entries = [each for groups in wanted.values() for group in groups for each in group["hooks"]]
    assert {each["timeout"] for each in entries} == {30_000 if client.name == "gemini" else 30}
    parts = sum("--part" in str(each) for each in entries)
    assert parts == (4 if client.name in {"claude", "codex", "qwen"} else 0)
    matchers = {
        group["matcher"] for groups in wanted.values() for group in groups if "matcher" in group
    }
    if client.name in {"gemini", "copilot"}:
        assert matchers == set()
    if client.name == "gemini":
        assert set(wanted) == {"SessionStart", "PreCompress", "BeforeAgent"}


@pytest.mark.parametrize(
    ("entry", "arguments", "program"),
    [
        ({"command": "holdfast hook"}, (), Program("holdfast")),
        ({"command": "'/a b/holdfast' hook --part 3"}, ("--part", "3"), Program("/a b/holdfast")),
        (
            {"command": r"C:\tools\holdfast.exe", "args": ["hook"]},
            (),
            Program(r"C:\tools\holdfast.exe"),
        ),
        (
            {"command": r'"C:\my tools\holdfast.exe" hook --agent codex'},
            ("--agent", "codex"),
            Program(r"C:\my tools\holdfast.exe"),
        ),
        (
            {"command": r"C:\tools\holdfast.exe hook --agent qwen"},
            ("--agent", "qwen"),
            Program(r"C:\tools\holdfast.exe"),
        ),
        (
            {"command": "python3", "args": ["-m", "holdfast", "hook"]},
            (),
            Program("python3", ("-m", "holdfast")),
        ),
    ],
)
def test_ours_in_other_words(
    entry: dict[str, Any], arguments: tuple[str, ...], program: Program
) -> None:
    """By a path, in one line for a shell, through the interpreter."""
    assert registration.ours(entry) == (arguments, program)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "holdfast hook",
        {},
        {"command": 5},
        {"command": "holdfast"},
        {"command": "holdfast status"},
        {"command": "hook"},
        {"command": "holdfastly", "args": ["hook"]},
        {"command": "other 'unbalanced hook"},
        {"command": "cd /tmp && holdfast hook"},
        {"command": "sh", "args": ["-c", "touch /tmp/x; /holdfast", "hook"]},
        {"command": "echo", "args": ["holdfast", "hook"]},
        {"command": "holdfast", "args": [5, "hook"]},
        {"type": "mcp_tool", "server": "holdfast"},
    ],
)
def test_what_is_not_ours(entry: object) -> None:
    """Or no hook at all."""
    assert registration.ours(entry) is None


@pytest.mark.parametrize(
    "value", [None, [], {"PreCompact": {}}, {"PreCompact": [5, {"hooks": {}}]}]
)
def test_settings_of_another_shape_hold_none(value: object) -> None:
    """Whatever somebody wrote there."""
    assert list(registration.registered(value)) == []
