"""The agents that hooks are asked by: a closed table, a module each. No input or output happens here.

Which one asks is said by the registration (`--agent NAME`), or told from the payload's own shape. The
environment says nothing: one agent sets the variables of another, and one may have started the other.
Light; see `hooks.launch`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.wire.agents.base import Agent

NAMES = ("claude", "codex", "qwen", "copilot", "gemini", "opencode")
USUAL = NAMES[0]


def named(name: str) -> Agent:
    """The row *name* of the table; KeyError where there is none."""
    if name not in NAMES:
        raise KeyError(name)
    # Only the one that asks is loaded; `importlib` would load more than all of them.
    found: Agent = __import__(f"{__name__}.{name}", fromlist=["AGENT"]).AGENT
    return found


def recognised(payload: Mapping[str, object]) -> str:
    """The name of the agent that has sent *payload*, by its shape; what fits none is the usual one's.

    opencode is not told from Claude Code, whose shape our plugin there uses. Where the transcript is
    named as Claude Code names it, no further field can tell otherwise: a newer client may send any.
    """
    event, transcript = payload.get("hook_event_name"), payload.get("transcript_path")
    folder, file = _ends(transcript)
    if folder != _OF_CHATS and file == f"{payload.get('session_id')}.jsonl":
        return USUAL
    if "turn_id" in payload or file.startswith("rollout-"):
        return "codex"
    if "sessionId" in payload and event is None:
        return "copilot"
    if isinstance(event, str) and event in _OF_GEMINI:
        return "gemini"
    if "timestamp" not in payload:
        # A session that is not written down: Claude Code always names a file.
        bare = "transcript_path" in payload and transcript is None
        return "codex" if bare and "permission_mode" in payload else USUAL
    if folder == _OF_CHATS and ("permission_mode" in payload or "prompt_id" in payload):
        return "qwen"
    if file == "events.jsonl" or "transcript_path" not in payload:
        return "copilot"
    return "gemini" if folder == _OF_CHATS else USUAL


_OF_CHATS = "chats"  # the folder in which Qwen and Gemini keep transcripts
_OF_GEMINI = {
    *("PreCompress", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"),
    *("BeforeToolSelection", "BeforeTool", "AfterTool"),
}


def _ends(path: object) -> tuple[str, str]:
    """The last folder and the file's name of *path*, on any system."""
    if not isinstance(path, str):
        return "", ""
    *_, folder, file = ("", *path[-1000:].replace("\\", "/").split("/"))
    return folder, file
