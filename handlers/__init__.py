"""One room per event, and the table that says which.

A room is entered only when its event comes: most tool calls end in one that loads next to nothing.
The table is light; see `hooks.launch`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from holdfast.clock import Clock
    from holdfast.hooklog import Entry
    from holdfast.project import Surroundings
    from holdfast.wire.events import Event
    from holdfast.wire.replies import Reply

    # Each handler takes its own event, with the surroundings as seen from the event's working
    # directory.
    Handler: TypeAlias = Callable[[Any, Surroundings, Clock, Entry], Reply]

HANDLERS: dict[str, str] = {
    "PreCompact": "pre_compact",
    "SessionStart": "session_start",
    "PostCompact": "post_compact",
    "FileChanged": "file_changed",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "tool_done",
    "PostToolUseFailure": "tool_done",
    "TaskCreated": "observed",
    "TaskCompleted": "observed",
    "SubagentStart": "observed",
    "SubagentStop": "observed",
}
PROMPT = "UserPromptSubmit"  # is answered as a SessionStart, where something is due
PART = "reading_part"  # a SessionStart that asks for one part of the reading


def handler(event: Event) -> Handler:
    """What answers *event*."""
    from importlib import import_module  # noqa: PLC0415

    from holdfast.wire.events import ReadingPart  # noqa: PLC0415

    room = PART if isinstance(event, ReadingPart) else HANDLERS[event.envelope.name]
    handle: Handler = import_module(f"holdfast.handlers.{room}").handle
    return handle
