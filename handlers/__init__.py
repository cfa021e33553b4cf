"""The handlers of events, and the table that says which is whose. One is loaded only when its event comes.

The table is light; see `hooks.launch`.
"""

from __future__ import annotations

HANDLERS: dict[str, str] = {
    "PreCompact": "pre_compact",
    "SessionStart": "session_start",
    "PostCompact": "post_compact",
    "FileChanged": "observed",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "observed",
    "PostToolUseFailure": "observed",
    "TaskCreated": "observed",
    "TaskCompleted": "observed",
    "SubagentStart": "observed",
    "SubagentStop": "observed",
}
PROMPT = "UserPromptSubmit"  # is answered as a SessionStart, where something is due
