"""Gemini CLI.

It fires PreCompress before every request, and never says that it has compressed. Its transcript does, before the next
prompt.

A context given at a start is put in front of the prompt, and is lost with it when a session without a terminal is
resumed; at the start of a resumed session it never reaches the model. No hook knows whether there is a terminal. So
what is to be told at a start is told with the first prompt, where it follows the prompt and does no harm.
"""

from __future__ import annotations

from holdfast.agents import Agent
from holdfast.config.capabilities import Capabilities, Transcript
from holdfast.files.fingerprints import digest
from holdfast.text.room import Room

_FIRST = 2  # messages among which a summary is; before it stands what every session begins with
_END = "</state_snapshot>"


class GeminiTranscript(Transcript):
    """It writes all messages down again when they change, by a compression or otherwise.

    A summary is known by the id of its message. It is among the first messages, and is the answer of the model, which
    may begin with its reasoning, or be cut off. The person's first prompt is there, too, and may mention a summary.
    """

    marker = b"<state_snapshot>"
    announced = False
    list_in = (b'{"$set":{"messages":[', b"]}}")

    def compactions(self, record: object) -> list[str]:
        change = record.get("$set") if isinstance(record, dict) else None
        messages = change.get("messages") if isinstance(change, dict) else None
        first = messages[:_FIRST] if isinstance(messages, list) else []
        return [_known_by(message) for message in first if self._is_summary(message)]

    def _is_summary(self, message: object) -> bool:
        if not isinstance(message, dict) or message.get("type") != "user":
            return False
        before, marker, summary = _text(message.get("content")).partition(self.marker.decode())
        return bool(marker) and (not before.strip() or _END in summary)


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _known_by(message: dict[str, object]) -> str:
    name = message.get("id")
    whole = name if isinstance(name, str) else _text(message.get("content"))
    return digest(whole.encode("utf-8", "replace"))[:16]


class Gemini(Agent):
    name = "gemini"
    capabilities = Capabilities(
        room=Room(60_000), transcript=GeminiTranscript(), keeps_starts=False
    )
    events = {"PreCompress": "PreCompact", "BeforeAgent": "UserPromptSubmit"}  # noqa: RUF012


AGENT = Gemini()
