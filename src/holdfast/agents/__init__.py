"""The agents that call our hooks: a closed table with a module for each. No I/O happens here.

The registration says who calls (`--agent NAME`), or else the shape of the payload. The environment does not: one agent
sets the variables of another, and one may have started the other. Standard library only; see `hooks.launch`.
"""

from __future__ import annotations

from holdfast.config.capabilities import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, TypeAlias

    Payload: TypeAlias = dict[str, Any]
    # What is printed: an object as JSON, a text as it is, and nothing for None.
    Said: TypeAlias = Mapping[str, Any] | str | None

NAMES = ("claude", "codex", "qwen", "copilot", "gemini", "opencode")
USUAL = NAMES[0]


def named(name: str) -> Agent:
    """The agent called *name*; KeyError where there is none."""
    if name not in NAMES:
        raise KeyError(name)
    # Only the one that calls is loaded; `importlib` would load more than all of them.
    found: Agent = __import__(f"{__name__}.{name}", fromlist=["AGENT"]).AGENT
    return found


def recognised(payload: Mapping[str, object]) -> str:
    """The name of the agent that sent *payload*, by its shape; Claude Code where none fits.

    opencode looks like Claude Code, because our plugin there uses its shape. A transcript that is named as Claude Code
    names it settles the matter: a newer client may send any other field.
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
        # A session without a transcript: Claude Code always names one.
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
    """The name of the folder and of the file in *path*, on any system."""
    if not isinstance(path, str):
        return "", ""
    *_, folder, file = ("", *path[-1000:].replace("\\", "/").split("/"))
    return folder, file


class Agent:
    """One agent: translates its payloads into ours, and our replies into its own format.

    Our format is that of Claude Code, whose protocol the others have copied in part. What most of them do is done here.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    events: ClassVar[Mapping[str, str]] = {}  # the agent's name of an event -> ours
    sources: ClassVar[Mapping[str, str]] = {}  # the same for the source of a session
    watches: ClassVar[bool] = False  # files, and tells when they change

    def given(self, payload: Payload) -> Payload:
        """*payload* in our format. Its values may be anything."""
        for field, names in (("hook_event_name", self.events), ("source", self.sources)):
            value = payload.get(field)
            if isinstance(value, str) and value in names:
                payload = {**payload, field: names[value]}
        return payload

    def called(self, event: str) -> str:
        """The agent's name of our *event*."""
        return next((theirs for theirs, ours in self.events.items() if ours == event), event)

    def noted(self, text: str) -> Said:  # noqa: ARG002  # for those that can
        """A note for the summariser. Most agents have no way to reach it."""
        return None

    def restored(self, event: str, context: str, message: str, watch: Sequence[str]) -> Said:
        """Context for the model, a line for the person, and files to watch; any may be empty."""
        specific: dict[str, object] = {}
        if context:
            specific["additionalContext"] = context
        if watch and self.watches:
            specific["watchPaths"] = list(watch)
        said = self.specific(event, **specific) if specific else {}
        if message:
            said["systemMessage"] = message
        return said or None

    def reminded(self, context: str) -> Said:
        """A fact for the model, before a tool call that goes on."""
        return self.specific("PreToolUse", additionalContext=context)

    def denied(self, reason: str) -> Said:
        """The reason for the model why a tool call is not made."""
        return self.specific(
            "PreToolUse", permissionDecision="deny", permissionDecisionReason=reason
        )

    def specific(self, event: str, **output: object) -> dict[str, object]:
        return {"hookSpecificOutput": {"hookEventName": self.called(event), **output}}
