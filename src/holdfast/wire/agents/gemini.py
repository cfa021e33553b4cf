"""Gemini CLI. Light.

Before every request it says that it is about to compress, and never says that it has. Its transcript tells
that, before the next prompt.

What is said at a start is put in front of the prompt, which is gone for that when a session without a
terminal is resumed; and at the start of a resumed one it never reaches the model. No hook is told whether
there is a terminal. So what there is to say at a start is said with the first prompt, where it comes behind
that and takes nothing along.
"""

from __future__ import annotations

from holdfast.capabilities import Capabilities
from holdfast.digests import digest
from holdfast.room import Room
from holdfast.wire.agents.base import Agent

_FIRST = 2  # messages among which a summary is; before it comes what each session begins with
_END = "</state_snapshot>"


class Transcript:
    """What it writes down when the messages become others, by a compression or not.

    A summary stays among them, and is known by the id of its message. It is at the beginning of them, and is
    what the model has answered: it may have written down its reasoning before, or not have come to an end.
    Somebody's own first prompt stands there, too, and may speak of such a summary.
    """

    marker = b"<state_snapshot>"
    announced = False
    list_in = (b'{"$set":{"messages":[', b"]}}")

    def compactions(self, record: object) -> list[str]:
        change = record.get("$set") if isinstance(record, dict) else None
        messages = change.get("messages") if isinstance(change, dict) else None
        first = messages[:_FIRST] if isinstance(messages, list) else []
        return [_known_by(each) for each in first if self._is_summary(each)]

    def at(self, record: object) -> str:  # noqa: ARG002
        return ""

    def goes_on(self, record: object) -> bool | None:  # noqa: ARG002
        return None

    def _is_summary(self, message: object) -> bool:
        if not isinstance(message, dict) or message.get("type") != "user":
            return False
        before, marker, summary = _text(message.get("content")).partition(self.marker.decode())
        return bool(marker) and (not before.strip() or _END in summary)


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = (each.get("text") if isinstance(each, dict) else each for each in parts)
    return "\n".join(each for each in texts if isinstance(each, str))


def _known_by(message: dict[str, object]) -> str:
    name = message.get("id")
    whole = name if isinstance(name, str) else _text(message.get("content"))
    return digest(whole.encode("utf-8", "replace"))[:16]


class Gemini(Agent):
    name = "gemini"
    takes = Capabilities(room=Room(60_000), transcript=Transcript(), keeps_starts=False)
    events = {"PreCompress": "PreCompact", "BeforeAgent": "UserPromptSubmit"}  # noqa: RUF012


AGENT = Gemini()
