"""Hook output: what each event may be told, and nothing else. No input or output happens here.

PreCompact takes plain text or nothing: JSON would be shown to the person as an error or be read to
the summariser as it stands. SessionStart takes JSON with context for the model and a line for the
person. PreToolUse takes a fact for the model, or a refusal that it is told. No reply has exit code 2,
because that would block the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.plaintext import CONTEXT_LIMIT, NOTE_LIMIT, one_line, shorten

MESSAGE_LIMIT = 1_000


class Outcome(NamedTuple):
    """What the process prints and how it exits."""

    stdout: bytes = b""
    stderr: str = ""
    code: int = 0


class Nothing(NamedTuple):
    """Nothing to say."""

    def outcome(self) -> Outcome:
        return Outcome()


class SummariserNote(NamedTuple):
    """PreCompact: what the summary is to keep word for word."""

    text: str

    def outcome(self) -> Outcome:
        return Outcome(shorten(self.text, NOTE_LIMIT).encode("utf-8", "replace"))


class NotSaved(NamedTuple):
    """PreCompact: the save failed. The compaction goes on and the person sees the line."""

    cause: str

    def outcome(self) -> Outcome:
        line = f"Holdfast could not save the workflow: {self.cause}"
        return Outcome(stderr=one_line(line, MESSAGE_LIMIT), code=1)


class Restored(NamedTuple):
    """SessionStart: facts for the model, a line for the person, files to watch; any may be empty."""

    context: str = ""
    message: str = ""
    watch: Sequence[str] = ()

    def outcome(self) -> Outcome:
        reply: dict[str, object] = {}
        specific: dict[str, object] = {}
        if self.context:
            specific["additionalContext"] = shorten(self.context, CONTEXT_LIMIT)
        if self.watch:
            specific["watchPaths"] = list(self.watch)
        if specific:
            reply["hookSpecificOutput"] = {"hookEventName": "SessionStart", **specific}
        if self.message:
            reply["systemMessage"] = one_line(self.message, MESSAGE_LIMIT)
        return _json(reply) if reply else Outcome()


class Reminder(NamedTuple):
    """PreToolUse: a fact for the model; the call goes on."""

    context: str

    def outcome(self) -> Outcome:
        return _pre_tool_use(additionalContext=shorten(self.context, CONTEXT_LIMIT))


class Denied(NamedTuple):
    """PreToolUse: the call is not made, and the model is told why."""

    reason: str

    def outcome(self) -> Outcome:
        reason = shorten(self.reason, CONTEXT_LIMIT)
        return _pre_tool_use(permissionDecision="deny", permissionDecisionReason=reason)


def _pre_tool_use(**specific: str) -> Outcome:
    return _json({"hookSpecificOutput": {"hookEventName": "PreToolUse", **specific}})


def _json(reply: Mapping[str, object]) -> Outcome:
    return Outcome(json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace"))


Reply: TypeAlias = Nothing | SummariserNote | NotSaved | Restored | Reminder | Denied


def failed(event: str, cause: str) -> Reply:
    """What is left to say to *event* when its handler failed."""
    if event == "PreCompact":
        return NotSaved(cause)
    if event == "SessionStart":
        return Restored(message=f"Holdfast could not restore the workflow: {cause}")
    return Nothing()
