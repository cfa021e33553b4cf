"""The gate before the first change: it reminds or denies, and it never traps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InProcess, Session


class Agent:
    """Calls tools, and is told what the hooks of a client would tell it."""

    def __init__(self, compactions: Compactions, session: str = "session-1") -> None:
        door = compactions.door()
        assert isinstance(door, InProcess)
        self.door = door
        self.who = Session(session, str(compactions.project.root))

    def writes(self, tool: str = "Edit", **fields: object) -> dict[str, Any]:
        """What PreToolUse says to a write."""
        given = {"file_path": f"{self.who.cwd}/x.py"}
        payload = self.who.payload("PreToolUse", tool_name=tool, tool_input=given, **fields)
        outcome = self.door.fire(payload)
        assert (outcome.code, outcome.stderr) == (0, "")
        reply: dict[str, Any] = json.loads(outcome.stdout or b"{}").get("hookSpecificOutput", {})
        assert reply == {} or reply.pop("hookEventName") == "PreToolUse"
        return reply

    def reads(self, path: str, event: str = "PostToolUse", **fields: object) -> None:
        given = {"file_path": f"{self.who.cwd}/{path}"}
        payload = self.who.payload(event, tool_name="Read", tool_input=given, **fields)
        assert self.door.fire(payload) == (b"", "", 0)


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """Two required files that cannot be sent, one that can, and one that is missing."""
    holdfast_project.write("docs/long.md", "x\n" * 50_000)
    holdfast_project.write("docs/image.png", b"\x89PNG\0")
    holdfast_project.write("docs/short.md", "short")
    paths = ["@docs/long.md", "@docs/image.png", "@docs/short.md", "@docs/gone.md"]
    holdfast_project.declare("W", reading=paths)
    return holdfast_project


def gate(project: Project, mode: str) -> None:
    project.write(".claude/holdfast.toml", f'gate = "{mode}"\n')


def test_a_reminder_once(project: Project, compaction_cycle: Compactions) -> None:
    """The default: the call goes on, and the model is told what it has not opened."""
    agent = Agent(compaction_cycle)
    assert agent.writes() == {}  # before any restore
    compaction_cycle()
    told = agent.writes()
    assert set(told) == {"additionalContext"}
    assert "@docs/long.md\n@docs/image.png\n" in told["additionalContext"]
    assert "short.md" not in told["additionalContext"]
    assert "gone.md" not in told["additionalContext"]
    assert agent.writes() == {}
    compaction_cycle()
    assert set(agent.writes()) == {"additionalContext"}


def test_a_denial_until_all_is_opened(project: Project, compaction_cycle: Compactions) -> None:
    """Each file that is opened leaves the list."""
    gate(project, "block")
    agent = Agent(compaction_cycle)
    compaction_cycle()
    told = agent.writes("Write")
    assert told["permissionDecision"] == "deny"
    assert "@docs/long.md\n@docs/image.png\n" in told["permissionDecisionReason"]
    agent.reads("docs/long.md")
    told = agent.writes("Write")
    assert "\n@docs/image.png\n" in told["permissionDecisionReason"]
    assert "long.md" not in told["permissionDecisionReason"]
    agent.reads("docs/image.png")
    assert agent.writes("Write") == {}


def test_it_denies_a_few_times_and_then_lets_go(
    project: Project, compaction_cycle: Compactions
) -> None:
    """Whatever is wrong with the agent or with us, the work goes on."""
    gate(project, "block")
    agent = Agent(compaction_cycle)
    compaction_cycle()
    told = [agent.writes() for _ in range(6)]
    assert [bool(each) for each in told] == [True, True, True, False, False, False]


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_what_counts_as_a_write(project: Project, compaction_cycle: Compactions, tool: str) -> None:
    """Tools that change files."""
    gate(project, "block")
    compaction_cycle()
    assert Agent(compaction_cycle).writes(tool) != {}


@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Agent", ""])
def test_what_does_not(project: Project, compaction_cycle: Compactions, tool: str) -> None:
    """Looking around is how files get read."""
    gate(project, "block")
    compaction_cycle()
    assert Agent(compaction_cycle).writes(tool) == {}


def test_files_that_are_gone_do_not_count(project: Project, compaction_cycle: Compactions) -> None:
    """Nobody is asked to open what is not there."""
    gate(project, "block")
    compaction_cycle()
    for name in ("long.md", "image.png"):
        (project.root / "docs" / name).unlink()
    assert Agent(compaction_cycle).writes() == {}


def test_it_is_off_for_subagents(project: Project, compaction_cycle: Compactions) -> None:
    """And what a subagent has read, its caller has not."""
    gate(project, "block")
    compaction_cycle()
    agent = Agent(compaction_cycle)
    assert agent.writes(agent_id="sub") == {}
    agent.reads("docs/long.md", agent_id="sub")
    assert "long.md" in agent.writes()["permissionDecisionReason"]


def test_a_failed_read_opens_nothing(project: Project, compaction_cycle: Compactions) -> None:
    """The file was too long for one call, say."""
    gate(project, "block")
    compaction_cycle()
    agent = Agent(compaction_cycle)
    agent.reads("docs/long.md", event="PostToolUseFailure", error="too long")
    assert "long.md" in agent.writes()["permissionDecisionReason"]


def test_switched_off(project: Project, compaction_cycle: Compactions) -> None:
    """By the setting, and by HOLDFAST_DISABLE at any time."""
    gate(project, "block")
    compaction_cycle()
    agent = Agent(compaction_cycle)
    agent.door.surroundings = agent.door.surroundings._replace(disabled=True)
    assert agent.writes() == {}
    gate(project, "off")
    assert Agent(compaction_cycle).writes() == {}
    gate(project, "block")
    assert Agent(compaction_cycle).writes() != {}


def test_another_session_is_not_gated(project: Project, compaction_cycle: Compactions) -> None:
    """It was delivered nothing, so nothing is missing."""
    gate(project, "block")
    compaction_cycle(session="one")
    assert Agent(compaction_cycle, "one").writes() != {}
    assert Agent(compaction_cycle, "two").writes() == {}


def test_a_file_may_be_excused(project: Project, compaction_cycle: Compactions) -> None:
    """By a command from the session itself."""
    gate(project, "block")
    compaction_cycle(session="mine")
    agent = Agent(compaction_cycle, "mine")
    done = project.run("read", "--excuse", "@docs/long.md", "docs/image.png", session="mine")
    assert done.stdout.splitlines() == [
        "excused in this session: docs/long.md",
        "excused in this session: docs/image.png",
    ]
    assert agent.writes() == {}
    done = project.run("read", "--excuse", "@docs/long.md", session="mine")
    assert done.stdout == ("This session has no unopened required reading among these files.\n")
    assert project.run("read", "--excuse", "@docs/long.md", check=False).returncode == 1
    assert "@docs/long.md" in project.state()["required_reading"]


def test_in_a_list_all_of_the_reading_counts(
    project: Project, compaction_cycle: Compactions
) -> None:
    """What is not sent has to be opened."""
    project.write(".claude/holdfast.toml", 'gate = "block"\nreading = "list"\n')
    compaction_cycle()
    agent = Agent(compaction_cycle)
    assert "@docs/short.md" in agent.writes()["permissionDecisionReason"]
    for name in ("long.md", "image.png", "short.md"):
        agent.reads(f"docs/{name}")
    assert agent.writes() == {}


def test_all_that_was_sent_leaves_no_gate(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The usual case."""
    gate(holdfast_project, "block")
    holdfast_project.write("docs/short.md", "short")
    holdfast_project.declare("W", reading=["@docs/short.md"])
    compaction_cycle()
    assert Agent(compaction_cycle).writes() == {}


def test_a_damaged_record_opens_the_gate(project: Project, compaction_cycle: Compactions) -> None:
    """It is ours; a person can do nothing about it."""
    gate(project, "block")
    compaction_cycle()
    (log,) = (project.home / ".local/state/holdfast/sessionlogs").iterdir()
    for damage in (b"", b"[]\n", b"{}\n", b'{"entry": "delivered", "root": 1}\n', b"\xff\n"):
        log.write_bytes(damage)
        assert Agent(compaction_cycle).writes() == {}


def test_tool_calls_leave_no_line_in_the_log(
    project: Project, compaction_cycle: Compactions
) -> None:
    """Only what was said does."""
    compaction_cycle()
    agent = Agent(compaction_cycle)
    before = len(json.loads(project.run("log", "--json").stdout))
    agent.reads("docs/short.md")
    agent.writes("Bash")
    assert len(json.loads(project.run("log", "--json").stdout)) == before
    agent.writes()
    records = json.loads(project.run("log", "--json").stdout)
    assert len(records) == before + 1
    assert records[-1]["decided"] == "reminded of 2 unread files"
