"""Tool events that come to the server: the answers and the notes are those of a hook's process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from holdfast.agents import clients
from holdfast.config.project import Surroundings
from holdfast.records import sessionlog
from holdfast.setup import registration
from holdfast.testing import Compactions, Project
from mcpwork import call, said, talk

SESSION = "00000000-0000-4000-8000-000000000000"  # of the recorded payloads
TOOL_EVENTS = [
    name for name in clients.payload_names() if name.startswith(("PreToolUse", "PostToolUse"))
]


def filled_in(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The input of the registered hook, as the client fills it in for an event."""
    hooks = registration.hooks(by_server=True)[payload["hook_event_name"]]
    tool = payload["tool_name"]
    (entry,) = (
        group["hooks"][0] for group in hooks if tool in str(group.get("matcher", "")).split("|")
    )
    return {name: _filled(text, payload) for name, text in entry["input"].items()}


def _filled(text: Any, payload: Mapping[str, Any]) -> Any:
    """What becomes of "${field.path}": text as it is, all else as JSON, nothing as nothing."""
    if isinstance(text, dict):
        return {name: _filled(each, payload) for name, each in text.items()}
    value: Any = payload
    for name in text.removeprefix("${").removesuffix("}").split("."):
        value = value.get(name, "")
    return value if isinstance(value, str) else json.dumps(value)


def by_process(project: Project, payload: Mapping[str, Any]) -> str:
    """The same from `holdfast hook`."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "holdfast", "hook"],
        cwd=project.root,
        env=project.environment(),
        input=json.dumps(payload),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def noted(project: Project) -> list[dict[str, Any]]:
    state_dir = Surroundings.from_environment(project.environment()).state_dir
    lines = [
        dict(each)
        for each in sessionlog.parse(sessionlog.content(state_dir, SESSION), sessionlog.OBSERVED)
    ]
    for each in lines:
        each.pop("at", None)
    return lines


@pytest.fixture
def project(holdfast_project: Project, compaction_cycle: Compactions) -> Project:
    """A session after a restore that left one required file to be opened."""
    holdfast_project.write("docs/long.md", "x\n" * 50_000)
    holdfast_project.declare("W", reading=["@docs/long.md"])
    compaction_cycle(session=SESSION)
    return holdfast_project


@pytest.mark.parametrize("name", TOOL_EVENTS)
def test_what_is_noted_is_what_a_process_notes(project: Project, name: str) -> None:
    """For each recorded tool event."""
    payload = clients.payload(name, str(project.root))
    by_process(project, payload)
    before = noted(project)
    answer = call(project, "hook_event", **filled_in(payload))
    after = noted(project)
    assert not answer.is_error
    assert after[len(before) :] == before


def test_the_gate_reminds_and_lets_go(project: Project) -> None:
    """Once, in the words of the command; and what was opened is known."""
    edit = clients.payload("PreToolUse-Edit", str(project.root))
    reminded = said(call(project, "hook_event", **filled_in(edit)))
    assert "docs/long.md" in json.loads(reminded)["hookSpecificOutput"]["additionalContext"]
    assert said(call(project, "hook_event", **filled_in(edit))) == ""
    assert by_process(project, edit) == ""  # it was said already, whoever said it


def test_the_gate_denies_until_the_file_was_opened(project: Project) -> None:
    project.write(".claude/holdfast.toml", 'gate = "block"\n')
    edit = filled_in(clients.payload("PreToolUse-Edit", str(project.root)))
    denied = json.loads(said(call(project, "hook_event", **edit)))["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
    read = clients.payload("PostToolUse-Read", str(project.root))
    read["tool_input"] = {"file_path": str(project.root / "docs/long.md")}
    assert said(call(project, "hook_event", **filled_in(read))) == ""
    assert said(call(project, "hook_event", **edit)) == ""


@pytest.mark.parametrize("event", ["PreCompact", "SessionStart", "Stop", ""])
def test_only_tool_events_are_answered(project: Project, event: str) -> None:
    """No restore may depend on a server that could be dead."""
    answer = call(project, "hook_event", hook_event_name=event)
    assert answer.is_error
    assert "is not a tool event" in said(answer)


@pytest.mark.parametrize("odd", ["", "no JSON {", "[" * 5_000, "5", "null", '"text"'])
def test_fields_that_are_not_what_they_should_be(project: Project, odd: str) -> None:
    """Cost nothing but the note."""
    fields = {"tool_input": odd, "tool_response": odd, "is_interrupt": odd, "cwd": odd}
    for event in registration.TOOL_EVENTS:
        answer = call(project, "hook_event", hook_event_name=event, tool_name="Bash", **fields)
        assert (answer.is_error, said(answer)) == (False, "")


def test_twenty_calls_side_by_side(project: Project) -> None:
    """Each gets its own answer, and each leaves its own note."""
    checks = [f"pytest tests/test_{number}.py" for number in range(20)]
    done = clients.payload("PostToolUse-Bash", str(project.root))
    edit = filled_in(clients.payload("PreToolUse-Edit", str(project.root)))

    async def all_at_once(client: Client) -> dict[str, CallToolResult]:
        answers: dict[str, CallToolResult] = {}

        async def ask(key: str, tool: str, arguments: dict[str, Any]) -> None:
            answers[key] = await client.call_tool(tool, arguments)

        async with anyio.create_task_group() as group:
            for check in checks:
                ran = filled_in({**done, "tool_input": {"command": check}})
                group.start_soon(ask, check, "hook_event", ran)
            for number in range(5):
                group.start_soon(ask, f"edit {number}", "hook_event", edit)
                group.start_soon(ask, f"status {number}", "workflow_status", {})
        return answers

    answers, aside = talk(project, all_at_once, SESSION)
    assert aside == ""
    assert not any(each.is_error for each in answers.values())
    assert sorted(each["check"] for each in noted(project)) == sorted(checks)
    assert all('"W"' in said(answers[f"status {number}"]) for number in range(5))
    reminders = [said(answers[f"edit {number}"]) for number in range(5)]
    assert sum("additionalContext" in each for each in reminders) == 1


def test_edits_that_declare_are_saved_side_by_side(project: Project) -> None:
    """Ten writers of one state in one process: each waits for its turn."""
    project.declare("W", phase="2/3 - Second")
    written = clients.payload("PostToolUse-Edit", str(project.root))
    written["tool_input"] = {"file_path": str(project.root / "CLAUDE.local.md")}

    async def all_at_once(client: Client) -> list[CallToolResult]:
        answers: list[CallToolResult] = []

        async def ask() -> None:
            answers.append(await client.call_tool("hook_event", filled_in(written)))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask)
        return answers

    answers, _ = talk(project, all_at_once, SESSION)
    assert [said(each) for each in answers] == [""] * 10
    assert project.state()["phase"]["current"] == 2
    assert not list((project.root / ".claude/holdfast/tmp").glob("*"))


def test_installed_it_is_recognised_and_taken_out(holdfast_project: Project) -> None:
    """Only where it was asked for; and `install` alone puts the commands back."""
    project = holdfast_project
    settings = project.home / ".claude/settings.json"
    project.write("keep", "")
    settings.parent.mkdir()
    settings.write_text('{"model": "mine"}\n')
    told = project.run("install", "--mcp-hooks").stdout
    assert "claude mcp add --scope user holdfast -- " in told

    def events_of(kind: str) -> set[str]:
        hooks = json.loads(settings.read_text())["hooks"]
        return {
            event
            for event, groups in hooks.items()
            for group in groups
            for entry in group["hooks"]
            if entry["type"] == kind
        }

    assert events_of("mcp_tool") == set(registration.TOOL_EVENTS)
    assert not events_of("command") & set(registration.TOOL_EVENTS)
    assert {"PreCompact", "SessionStart", "PostCompact"} <= events_of("command")
    assert "Nothing to do" in project.run("install", "--mcp-hooks").stdout
    assert "Brought 25 hooks up to date" in project.run("install").stdout
    assert events_of("mcp_tool") == set()
    project.run("install", "--mcp-hooks")
    project.run("uninstall")
    assert settings.read_text() == '{"model": "mine"}\n'


def test_without_the_extra_it_is_not_installed(holdfast_project: Project, tmp_path: Path) -> None:
    """Hooks that nobody answers are not registered."""
    blocked = "import sys; sys.modules['mcp'] = None; from holdfast.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", blocked, "install", "--mcp-hooks"],
        cwd=holdfast_project.root,
        env=holdfast_project.environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert "holdfast[mcp]" in done.stderr
    assert not (holdfast_project.home / ".claude").exists()
