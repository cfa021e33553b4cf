"""Hook input: a payload to a typed event. No I/O happens here.

Fields and events have Claude Code's names; the module of an agent translates its own. Every field may be missing, null
or of another type than documented, and then reads as None. Event names are strings and not an enum, because newer
clients add names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.errors import BadHookInput


class Envelope(NamedTuple):
    """What every event carries."""

    name: str
    session: str | None
    cwd: str | None
    agent_id: str | None  # of the subagent that the payload comes from, or is about
    source: str | None  # the trigger of a compaction, or the source of a session
    transcript: str | None = None  # where the client writes the session down
    asked: str = ""  # the time by the clock of the agent; empty where it sends none


class PreCompact(NamedTuple):
    envelope: Envelope


class PostCompact(NamedTuple):
    envelope: Envelope
    summary: str


class SessionStart(NamedTuple):
    envelope: Envelope
    source: str
    compacted: bool = False  # since the session last got its guidance


class Prompt(NamedTuple):
    """A prompt. Agents that take no guidance at a start get it with the next prompt."""

    envelope: Envelope


class FileChanged(NamedTuple):
    envelope: Envelope
    path: str


# Tools that change a file, and others whose calls are noted.
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
    seconds: float = 0.0  # that it took, where the agent tells
    planning: bool = False  # whether the client is in plan mode


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


# fmt: off
Event: TypeAlias = (
    PreCompact | PostCompact | SessionStart | Prompt | FileChanged | PreToolUse | ToolDone | Task
    | Subagent | Other
)
# fmt: on


def parse(payload: Mapping[str, object]) -> Event:
    """The event that *payload* is, or BadHookInput."""
    name = _text(payload, "hook_event_name")
    if name is None:
        raise BadHookInput("the hook input names no hook_event_name")
    cwd = _text(payload, "cwd")
    envelope = Envelope(
        name,
        _text(payload, "session_id"),
        cwd if cwd and _is_path(cwd) else None,
        _text(payload, "agent_id"),
        _text(payload, "source") or _text(payload, "trigger"),
        _text(payload, "transcript_path"),
        _text(payload, "timestamp") or "",
    )
    known = _PARSERS.get(name)
    return known(envelope, payload) if known else Other(envelope)


_Payload: TypeAlias = Mapping[str, object]


def _text(payload: _Payload, key: str) -> str | None:
    value = payload.get(key)
    return value if isinstance(value, str) and value and "\0" not in value else None


def _mapping(payload: _Payload, key: str) -> Mapping[str, object]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def _file_changed(envelope: Envelope, payload: _Payload) -> Event:
    path = _text(payload, "file_path")
    return FileChanged(envelope, path) if path and _is_path(path) else Other(envelope)


def _pre_tool_use(envelope: Envelope, payload: _Payload) -> Event:
    tool = _text(payload, "tool_name") or ""
    path = file_of(_mapping(payload, "tool_input")) if tool in WRITES else None
    return PreToolUse(envelope, tool, path)


def _tool_done(envelope: Envelope, payload: _Payload) -> Event:
    failed = envelope.name == "PostToolUseFailure"
    return ToolDone(
        envelope,
        _text(payload, "tool_name") or "",
        _mapping(payload, "tool_input"),
        _mapping(payload, "tool_response"),
        (_text(payload, "error") or "failed") if failed else None,
        payload.get("is_interrupt") is True,
        float(took) / 1000 if isinstance(took := payload.get("duration_ms"), int | float) else 0.0,
        payload.get("permission_mode") == "plan",
    )


def _task(envelope: Envelope, payload: _Payload) -> Event:
    task, subject = _text(payload, "task_id"), _text(payload, "task_subject")
    return Task(envelope, task, subject or "") if task else Other(envelope)


def _subagent(envelope: Envelope, payload: _Payload) -> Event:
    kind, listed = _text(payload, "agent_type") or "", payload.get("background_tasks")
    running = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else None
    if not envelope.agent_id or not (kind or running is not None):
        return Other(envelope)
    return Subagent(envelope, kind, running)


_PARSERS: dict[str, Callable[[Envelope, _Payload], Event]] = {
    "PreCompact": lambda envelope, _: PreCompact(envelope),
    "SessionStart": lambda envelope, payload: SessionStart(
        envelope, _text(payload, "source") or "startup"
    ),
    "PostCompact": lambda envelope, payload: PostCompact(
        envelope, _text(payload, "compact_summary") or ""
    ),
    "UserPromptSubmit": lambda envelope, _: Prompt(envelope),
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
    """The file in a tool's input, as given."""
    path = given.get("file_path") or given.get("notebook_path")
    return path if isinstance(path, str) and "\0" not in path and _is_path(path) else None


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate that no file name can hold
        return False
    return True
