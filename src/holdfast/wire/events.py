"""Hook input: bytes to a typed event. No input or output happens here.

Fields and events have the names that Claude Code gives them; `agents` translates those of others.

Every field may be missing, null or of another type than documented; such a field reads as None.
Event names are strings and not an enum, because newer clients add names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from holdfast.errors import BadHookInput
from holdfast.pipes import LARGEST, MOST_HOLDERS, holds_too_much


class Envelope(NamedTuple):
    """What every event carries."""

    name: str
    session: str | None
    cwd: str | None
    agent_id: str | None  # set when the payload comes from a subagent, or is about one
    source: str | None  # what set it off: the trigger of a compaction, the source of a session
    transcript: str | None = None  # where the client writes the session down
    asked: str = ""  # when, by the clock of whoever asks; empty where that is not told


class PreCompact(NamedTuple):
    envelope: Envelope


class PostCompact(NamedTuple):
    envelope: Envelope
    summary: str


class SessionStart(NamedTuple):
    envelope: Envelope
    source: str
    compacted: bool = False  # before, and not told of it


class ReadingPart(NamedTuple):
    """A SessionStart that asks for one part of the required reading."""

    envelope: Envelope
    source: str
    part: int


class Prompt(NamedTuple):
    """A prompt of somebody; what a session could not be told before, it is told with that."""

    envelope: Envelope


class FileChanged(NamedTuple):
    envelope: Envelope
    path: str


# Tools of the client that change a file, and others that are noted when they have run.
WRITES = ("Edit", "Write", "MultiEdit", "NotebookEdit")
NOTED = ("Bash", "Agent", "Task", "TaskCreate", "TaskUpdate", "TodoWrite")


class PreToolUse(NamedTuple):
    envelope: Envelope
    tool: str
    path: str | None = None  # the file that it is about to change


class ToolDone(NamedTuple):
    """PostToolUse and PostToolUseFailure: a tool call is over."""

    envelope: Envelope
    tool: str
    given: Mapping[str, object]  # the tool's input
    response: Mapping[str, object]
    error: str | None  # None when it went well
    interrupted: bool = False


class Task(NamedTuple):
    """TaskCreated and TaskCompleted."""

    envelope: Envelope
    id: str
    subject: str


class Subagent(NamedTuple):
    """SubagentStart and SubagentStop. The envelope's agent_id is the one that it is about."""

    envelope: Envelope
    kind: str  # empty for the summariser, which ends with a SubagentStop and is nobody's work
    running: Sequence[Mapping[str, object]] | None = None  # the client's list, where it has one


class Other(NamedTuple):
    """An event that Holdfast has nothing to say to."""

    envelope: Envelope


Event: TypeAlias = (
    PreCompact
    | PostCompact
    | SessionStart
    | ReadingPart
    | Prompt
    | FileChanged
    | PreToolUse
    | ToolDone
    | Task
    | Subagent
    | Other
)


def payload_in(raw: bytes) -> dict[str, Any]:
    """What a hook was given, or BadHookInput with the reason."""
    if len(raw) > LARGEST:
        raise BadHookInput(f"the hook input is larger than {LARGEST} bytes")
    if holds_too_much(raw):
        raise BadHookInput(f"the hook input has more than {MOST_HOLDERS:,} objects and lists")
    if not raw.strip():
        raise BadHookInput("the hook input is empty")
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:  # ValueError: JSON and Unicode errors alike
        raise BadHookInput(f"the hook input is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise BadHookInput(f"the hook input is a JSON {type(payload).__name__}, not an object")
    return payload


def parse(payload: Mapping[str, object], part: int = 0) -> Event:
    """The event that *payload* is, or BadHookInput. *part* is what the hook was asked for."""
    fields = _Fields(payload)
    name = fields.text("hook_event_name")
    if name is None:
        raise BadHookInput("the hook input names no hook_event_name")
    cwd = fields.text("cwd")
    envelope = Envelope(
        name,
        fields.text("session_id"),
        cwd if cwd and _is_path(cwd) else None,
        fields.text("agent_id"),
        fields.text("source") or fields.text("trigger"),
        fields.text("transcript_path"),
        fields.text("timestamp") or "",
    )
    if part and name != "SessionStart":
        return Other(envelope)
    if part:
        return ReadingPart(envelope, envelope.source or "startup", part)
    return _PARSERS.get(name, _other)(envelope, fields)


class _Fields:
    """A payload, field by field."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self._payload = payload

    def text(self, key: str) -> str | None:
        value = self._payload.get(key)
        return value if isinstance(value, str) and value and "\0" not in value else None

    def mapping(self, key: str) -> Mapping[str, object]:
        value = self._payload.get(key)
        return value if isinstance(value, dict) else {}

    def mappings(self, key: str) -> list[Mapping[str, object]] | None:
        value = self._payload.get(key)
        if not isinstance(value, list):
            return None
        return [each for each in value if isinstance(each, dict)]

    def flag(self, key: str) -> bool:
        return self._payload.get(key) is True


def _session_start(envelope: Envelope, fields: _Fields) -> Event:
    return SessionStart(envelope, fields.text("source") or "startup")


def _post_compact(envelope: Envelope, fields: _Fields) -> Event:
    return PostCompact(envelope, fields.text("compact_summary") or "")


def _file_changed(envelope: Envelope, fields: _Fields) -> Event:
    path = fields.text("file_path")
    return FileChanged(envelope, path) if path and _is_path(path) else Other(envelope)


def _pre_tool_use(envelope: Envelope, fields: _Fields) -> Event:
    tool = fields.text("tool_name") or ""
    path = file_of(fields.mapping("tool_input")) if tool in WRITES else None
    return PreToolUse(envelope, tool, path)


def _tool_done(envelope: Envelope, fields: _Fields) -> Event:
    failed = envelope.name == "PostToolUseFailure"
    return ToolDone(
        envelope,
        fields.text("tool_name") or "",
        fields.mapping("tool_input"),
        fields.mapping("tool_response"),
        (fields.text("error") or "failed") if failed else None,
        fields.flag("is_interrupt"),
    )


def _task(envelope: Envelope, fields: _Fields) -> Event:
    task = fields.text("task_id")
    return Task(envelope, task, fields.text("task_subject") or "") if task else Other(envelope)


def _subagent(envelope: Envelope, fields: _Fields) -> Event:
    kind = fields.text("agent_type") or ""
    running = fields.mappings("background_tasks")
    if not envelope.agent_id or not (kind or running is not None):
        return Other(envelope)
    return Subagent(envelope, kind, running)


def _pre_compact(envelope: Envelope, _: _Fields) -> Event:
    return PreCompact(envelope)


def _prompt(envelope: Envelope, _: _Fields) -> Event:
    return Prompt(envelope)


def _other(envelope: Envelope, _: _Fields) -> Event:
    return Other(envelope)


_PARSERS: dict[str, Callable[[Envelope, _Fields], Event]] = {
    "PreCompact": _pre_compact,
    "SessionStart": _session_start,
    "PostCompact": _post_compact,
    "UserPromptSubmit": _prompt,
    "FileChanged": _file_changed,
    "PreToolUse": _pre_tool_use,
    "PostToolUse": _tool_done,
    "PostToolUseFailure": _tool_done,
    "TaskCreated": _task,
    "TaskCompleted": _task,
    "SubagentStart": _subagent,
    "SubagentStop": _subagent,
}


def file_of(given: Mapping[str, object]) -> str | None:
    """The file in a tool's input, as it is written there."""
    path = given.get("file_path") or given.get("notebook_path")
    return path if isinstance(path, str) and "\0" not in path and _is_path(path) else None


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate that no file name can hold
        return False
    return True
