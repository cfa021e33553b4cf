"""The table of agents: who asks is told from the payload's shape, and each is told in its own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking import EVERY, SNAPSHOT, TIME
from hypothesis import given
from hypothesis import strategies as st

from holdfast import agents
from holdfast.agents import clients, events, replies
from holdfast.agents.replies import Denied, Nothing, NotSaved, Reminder, Restored, SummariserNote
from holdfast.agents.request import Request
from holdfast.config.capabilities import Capabilities
from holdfast.testing import Project
from holdfast.testing.simulate import encode

FIRED = ["SessionStart", "PreCompact", "UserPromptSubmit"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("hook_event_name", "session_id", "sessionId", "transcript_path", "transcriptPath"),
        *("timestamp", "permission_mode", "prompt_id", "turn_id", "source", "trigger", "prompt"),
    ]
)


def test_the_table_is_closed() -> None:
    """Each name has a row, which knows its name; no other has."""
    assert agents.NAMES == ("claude", "codex", "qwen", "copilot", "gemini", "opencode")
    for name in agents.NAMES:
        assert agents.named(name).name == name
    for name in ("", "base", "Codex", "os", "../claude"):
        with pytest.raises(KeyError):
            agents.named(name)


@pytest.mark.parametrize("name", clients.payload_names())
def test_a_recorded_payload_is_claude_codes(name: str, tmp_path: Path) -> None:
    """Whatever the event."""
    assert agents.recognised(clients.payload(name, str(tmp_path))) == "claude"


@pytest.mark.parametrize("name", clients.payload_names())
@pytest.mark.parametrize("field", ["timestamp", "turn_id", "prompt_id", "permission_mode", "model"])
def test_a_newer_claude_code_that_sends_what_others_send_is_no_other(
    field: str, name: str, tmp_path: Path
) -> None:
    """With one field more, PreCompact would have been answered with JSON, as another agent wants it."""
    payload = clients.payload(name, str(tmp_path))
    written = f"/home/u/.claude/projects/-home-u-chats/{payload['session_id']}.jsonl"
    newer = {**payload, "transcript_path": written, "timestamp": "2027-01-01T00:00:00Z", field: "x"}
    assert agents.recognised(newer) == "claude"


@pytest.mark.parametrize("event", FIRED)
@pytest.mark.parametrize("name", agents.NAMES)
def test_an_agent_is_known_by_its_payload(name: str, event: str, holdfast_project: Project) -> None:
    """opencode alone has the shape of another, which is ours to choose."""
    payload = EVERY[name](holdfast_project).payload(event, source="startup", trigger="auto")
    assert agents.recognised(payload) == {"opencode": "claude"}.get(name, name)


@pytest.mark.parametrize("transcript", [None, "C:\\Users\\u\\.codex\\rollout-1.jsonl"])
def test_a_codex_session_without_a_file_or_on_windows(transcript: str | None) -> None:
    """Its schema allows null, which no Claude Code sends."""
    payload = {"transcript_path": transcript, "permission_mode": "x", "source": "compact"}
    assert agents.recognised({"hook_event_name": "SessionStart", **payload}) == "codex"


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        ({"source": "new", "initialPrompt": "hi"}, "SessionStart"),
        ({"trigger": "manual", "transcriptPath": "/e/events.jsonl"}, "PreCompact"),
        ({"prompt": "go on"}, "UserPromptSubmit"),
    ],
)
def test_copilots_camel_case(fields: dict[str, object], event: str) -> None:
    """Its hooks of such names are not told the event; its fields tell it."""
    payload = {"sessionId": "bf1c", "timestamp": 1794983631335, "cwd": "/p", **fields}
    assert agents.recognised(payload) == "copilot"
    ours = agents.named("copilot").given(payload)
    assert (ours["hook_event_name"], ours["session_id"]) == (event, "bf1c")
    assert events.parse(Request(encode(payload))).request.name == event


@given(st.dictionaries(FIELDS, ANYTHING, max_size=8))
def test_any_payload_is_somebodys(payload: dict[str, object]) -> None:
    """Fields may be missing, or of another type."""
    agent = agents.named(agents.recognised(payload))
    ours = agent.given(payload)
    for each in agents.NAMES:
        assert isinstance(agents.named(each).given(payload), dict)
    event, request = ours.get("hook_event_name"), Request(encode(payload))
    if isinstance(event, str) and event and "\0" not in event:
        assert events.parse(request).request.name == event


def said(name: str, reply: object, event: str = "SessionStart") -> object:
    outcome = replies.outcome(reply, agents.named(name), event)  # type: ignore[arg-type]
    assert outcome.code == 0
    text = outcome.stdout.decode()
    return json.loads(text) if text.startswith("{") else text


WHOLE = Restored("facts", "a line", ["/p/CLAUDE.local.md"])


@pytest.mark.parametrize("name", ["codex", "qwen", "gemini", "opencode"])
def test_a_restore_has_no_key_that_a_schema_refuses(name: str) -> None:
    """Codex injects nothing where there is one too many; nobody but Claude Code watches files."""
    specific = {"hookEventName": "SessionStart", "additionalContext": "facts"}
    assert said(name, WHOLE) == {"hookSpecificOutput": specific, "systemMessage": "a line"}
    assert said(name, Restored(watch=["/p/x"])) == ""


def test_a_restore_of_claude_code() -> None:
    """With the files to watch."""
    specific = {"hookEventName": "SessionStart", "additionalContext": "facts"}
    specific["watchPaths"] = ["/p/CLAUDE.local.md"]  # type: ignore[assignment]
    assert said("claude", WHOLE) == {"hookSpecificOutput": specific, "systemMessage": "a line"}


def test_a_restore_of_copilot() -> None:
    """It takes one key, and shows nothing to the person."""
    assert said("copilot", WHOLE) == {"additionalContext": "facts"}
    assert said("copilot", Restored(message="a line")) == ""


def test_a_reply_to_a_prompt_names_the_agents_own_event() -> None:
    """As its schema wants."""
    reply = said("gemini", WHOLE, "UserPromptSubmit")
    assert isinstance(reply, dict)
    assert reply["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"


def test_what_the_summariser_is_told() -> None:
    """Codex has no way to it, and takes any JSON for a mistake."""
    note = SummariserNote("keep this")
    of_each = {name: said(name, note, "PreCompact") for name in agents.NAMES}
    specific = {"hookEventName": "PreCompact", "additionalContext": "keep this"}
    assert of_each == {
        "claude": "keep this",
        "codex": "",
        "qwen": {"hookSpecificOutput": specific},
        "copilot": "",
        "gemini": "",
        "opencode": "keep this",
    }


@pytest.mark.parametrize("name", agents.NAMES)
def test_no_reply_blocks(name: str) -> None:
    """No exit code 2, no `continue`, no decision but a denied tool call."""
    agent = agents.named(name)
    for reply in (Nothing(), SummariserNote("x"), WHOLE, Reminder("x"), NotSaved("disk full")):
        outcome = replies.outcome(reply, agent, "PreCompact")
        assert outcome.code == isinstance(reply, NotSaved)
        assert b"continue" not in outcome.stdout
        assert b"decision" not in outcome.stdout.lower()
    assert b"deny" in replies.outcome(Denied("no"), agent, "PreToolUse").stdout


@given(st.text(min_size=1), st.sampled_from(["a", "é", "漢", "🌿"]), st.sampled_from(agents.NAMES))
def test_a_context_fits_the_agents_room(begin: str, letter: str, name: str) -> None:
    """Codex counts bytes and cuts what is over 10,000."""
    agent = agents.named(name)
    reply = replies.outcome(Restored(begin + letter * 70_000), agent, "SessionStart")
    found = json.loads(reply.stdout)
    text = found.get("additionalContext") or found["hookSpecificOutput"]["additionalContext"]
    assert agent.capabilities.room.taken(text) <= agent.capabilities.room.most
    if name == "codex":
        assert len(text.encode()) <= 10_000


def test_what_a_transcript_tells_is_structure() -> None:
    """A marker that somebody has typed is none."""
    gemini, copilot = (agents.named(name).capabilities for name in ("gemini", "copilot"))
    typed = {"id": "m1", "type": "user", "content": [{"text": "what is a <state_snapshot>?"}]}
    answer = {"id": "m2", "type": "gemini", "content": "a <state_snapshot> is a summary"}
    assert found(gemini, typed) == found(gemini, {"$set": {"messages": [answer]}}) == []
    assert found(gemini, {"$set": {"messages": [answer] * 5 + [typed]}}) == []
    snapshot = {"id": "m3", "type": "user", "content": [{"text": SNAPSHOT}]}
    change = {"messages": [snapshot, answer]}
    assert len(found(gemini, {"$set": change})) == 1
    assert found(gemini, {"$set": change}) == found(gemini, {"$set": {**change, "x": 1}})
    name = "session.compaction_complete"
    applied = {"type": name, "id": "1", "timestamp": TIME, "data": {"success": True}}
    assert len(found(copilot, applied)) == 1
    assert copilot.transcript
    said = {"session.compaction_start": True, name: False, "user.message": None}
    assert {event: copilot.transcript.goes_on({"type": event}) for event in said} == said
    for other in ({"type": "user.message"}, {"data": {"success": False}}, {"data": None}):
        assert found(copilot, {**applied, **other}) == []


def found(takes: Capabilities, record: object) -> list[str]:
    assert takes.transcript
    return takes.transcript.compactions(record)


@given(ANYTHING)
def test_any_line_of_a_transcript_may_be_anything(value: object) -> None:
    """It is another program's file."""
    for name in ("gemini", "copilot"):
        for record in (value, {"$set": value}, {"$set": {"messages": value}}, {"data": value}):
            assert isinstance(found(agents.named(name).capabilities, record), list)
