"""Which hooks in a settings file are ours, however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import registration
from holdfast.registration import ON_PATH, PLUGIN, Program


@pytest.mark.parametrize("program", [ON_PATH, PLUGIN, Program("/a b/bin/holdfast")])
def test_what_is_registered_is_recognised(program: Program) -> None:
    """All of it, with its event, and nothing twice."""
    found = list(registration.registered(registration.hooks(program, parts=3)))
    entries = [
        (event, entry["args"])
        for event, groups in registration.hooks(program, parts=3).items()
        for group in groups
        for entry in group["hooks"]
    ]
    assert [each.program for each in found] == [program] * len(entries)
    assert [(each.event, [*program.first, "hook", *each.arguments]) for each in found] == entries


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
