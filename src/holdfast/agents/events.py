"""Hook input: a request to a typed event. No I/O happens here.

Fields and events have Claude Code's names; the module of an agent translates its own. Event names are strings and not
an enum, because newer clients add names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.agents.request import Request, is_path
from holdfast.errors import BadHookInput


class PreCompact(NamedTuple):
    request: Request


class PostCompact(NamedTuple):
    request: Request
    summary: str


class SessionStart(NamedTuple):
    request: Request
    source: str
    compacted: bool = False  # since the session last got its guidance


class Prompt(NamedTuple):
    """A prompt. Agents that take no guidance at a start get it with the next prompt."""

    request: Request


class FileChanged(NamedTuple):
    request: Request
    path: str


# Tools that change a file, and others whose calls are noted.
WRITES = ("Edit", "Write", "MultiEdit", "NotebookEdit")
NOTED = ("Bash", "Agent", "Task", "TaskCreate", "TaskUpdate", "TodoWrite")


class PreToolUse(NamedTuple):
    request: Request
    tool: str
    path: str | None = None  # the file that it is about to change


class ToolDone(NamedTuple):
    """PostToolUse and PostToolUseFailure: a tool call is over."""

    request: Request
    tool: str
    given: Mapping[str, object]  # the tool's input
    response: Mapping[str, object]
    error: str | None  # None when it went well
    interrupted: bool = False
    seconds: float = 0.0  # that it took, where the agent tells
    planning: bool = False  # whether the client is in plan mode


class Task(NamedTuple):
    """TaskCreated and TaskCompleted."""

    request: Request
    id: str
    subject: str


class Subagent(NamedTuple):
    """SubagentStart and SubagentStop. The request's agent_id is the one that it is about."""

    request: Request
    kind: str  # empty for the summariser, which ends with a SubagentStop and is nobody's work
    running: Sequence[Mapping[str, object]] | None = None  # the client's list, where it has one


class Other(NamedTuple):
    """An event that Holdfast has nothing to say to."""

    request: Request


# fmt: off
Event: TypeAlias = (
    PreCompact | PostCompact | SessionStart | Prompt | FileChanged | PreToolUse | ToolDone | Task
    | Subagent | Other
)
# fmt: on


def parse(request: Request) -> Event:
    """The event that is asked about, or BadHookInput."""
    if not request.name:
        raise BadHookInput("the hook input names no hook_event_name")
    return _PARSERS.get(request.name, Other)(request)


def _start(request: Request) -> Event:
    return SessionStart(request, request.text("source") or "startup")


def _post_compact(request: Request) -> Event:
    return PostCompact(request, request.text("compact_summary"))


def _file_changed(request: Request) -> Event:
    path = request.path("file_path")
    return FileChanged(request, path) if path else Other(request)


def _pre_tool_use(request: Request) -> Event:
    tool = request.text("tool_name")
    path = file_of(request.mapping("tool_input")) if tool in WRITES else None
    return PreToolUse(request, tool, path)


def _tool_done(request: Request) -> Event:
    took = request.payload.get("duration_ms")
    failed = request.name == "PostToolUseFailure"
    return ToolDone(
        request,
        request.text("tool_name"),
        request.mapping("tool_input"),
        request.mapping("tool_response"),
        (request.text("error") or "failed") if failed else None,
        request.payload.get("is_interrupt") is True,
        float(took) / 1000 if isinstance(took, int | float) else 0.0,
        request.text("permission_mode") == "plan",
    )


def _task(request: Request) -> Event:
    task = request.text("task_id")
    return Task(request, task, request.text("task_subject")) if task else Other(request)


def _subagent(request: Request) -> Event:
    kind, listed = request.text("agent_type"), request.payload.get("background_tasks")
    running = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else None
    if not request.agent_id or not (kind or running is not None):
        return Other(request)
    return Subagent(request, kind, running)


_PARSERS: dict[str, Callable[[Request], Event]] = {
    "PreCompact": PreCompact,
    "SessionStart": _start,
    "PostCompact": _post_compact,
    "UserPromptSubmit": Prompt,
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
    return path if isinstance(path, str) and "\0" not in path and is_path(path) else None
