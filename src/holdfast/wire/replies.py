"""Hook output: what each event may be told, and nothing else. No input or output happens here.

PreCompact takes plain text or nothing: JSON would be shown to the person as an error or be read to
the summariser as it stands. SessionStart takes JSON with context for the model and a line for the
person. No reply has exit code 2, because that would block the client.
"""

from __future__ import annotations

import json
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
    """SessionStart: facts for the model, a line for the person; either may be empty."""

    context: str = ""
    message: str = ""

    def outcome(self) -> Outcome:
        reply: dict[str, object] = {}
        if self.context:
            reply["hookSpecificOutput"] = {
                "hookEventName": "SessionStart",
                "additionalContext": shorten(self.context, CONTEXT_LIMIT),
            }
        if self.message:
            reply["systemMessage"] = one_line(self.message, MESSAGE_LIMIT)
        if not reply:
            return Outcome()
        return Outcome(json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace"))


Reply: TypeAlias = Nothing | SummariserNote | NotSaved | Restored


def failed(event: str, cause: str) -> Reply:
    """What is left to say to *event* when its handler failed."""
    if event == "PreCompact":
        return NotSaved(cause)
    if event == "SessionStart":
        return Restored(message=f"Holdfast could not restore the workflow: {cause}")
    return Nothing()
