"""Hook output: what each event may be told, and nothing else. No input or output happens here.

PreCompact takes a note for the summary or nothing. SessionStart takes context for the model and a line for
the person. PreToolUse takes a fact for the model, or a refusal that it is told. In which words of its own
an agent wants to be told is for `agents` to say. No reply has exit code 2, because that would block the
client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from holdfast.plaintext import NOTE_LIMIT, fitted, one_line, shorten

if TYPE_CHECKING:
    from holdfast.wire.agents.base import Agent, Said

MESSAGE_LIMIT = 1_000


class Outcome(NamedTuple):
    """What the process prints and how it exits."""

    stdout: bytes = b""
    stderr: str = ""
    code: int = 0


class Nothing(NamedTuple):
    """Nothing to say."""

    def outcome(self, agent: Agent, event: str) -> Outcome:  # noqa: ARG002  # as the others
        return Outcome()


class SummariserNote(NamedTuple):
    """PreCompact: what the summary is to keep word for word."""

    text: str

    def outcome(self, agent: Agent, event: str) -> Outcome:  # noqa: ARG002
        return _printed(agent.noted(shorten(self.text, NOTE_LIMIT)))


class NotSaved(NamedTuple):
    """PreCompact: the save failed. The compaction goes on and the person sees the line."""

    cause: str

    def outcome(self, agent: Agent, event: str) -> Outcome:  # noqa: ARG002
        line = f"Holdfast could not save the workflow: {self.cause}"
        return Outcome(stderr=one_line(line, MESSAGE_LIMIT), code=1)


class Restored(NamedTuple):
    """SessionStart: facts for the model, a line for the person, files to watch; any may be empty."""

    context: str = ""
    message: str = ""
    watch: Sequence[str] = ()
    whole: bool = False  # where the workflow stands, and not only that there is one

    def outcome(self, agent: Agent, event: str) -> Outcome:
        context = fitted(self.context, agent.takes.room)
        message = one_line(self.message, MESSAGE_LIMIT)
        return _printed(agent.restored(event, context, message, self.watch))


class Reminder(NamedTuple):
    """PreToolUse: a fact for the model; the call goes on."""

    context: str

    def outcome(self, agent: Agent, event: str) -> Outcome:  # noqa: ARG002
        return _printed(agent.reminded(fitted(self.context, agent.takes.room)))


class Denied(NamedTuple):
    """PreToolUse: the call is not made, and the model is told why."""

    reason: str

    def outcome(self, agent: Agent, event: str) -> Outcome:  # noqa: ARG002
        return _printed(agent.denied(fitted(self.reason, agent.takes.room)))


def _printed(said: Said) -> Outcome:
    if said is None:
        return Outcome()
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return Outcome(text.encode("utf-8", "replace"))


Reply: TypeAlias = Nothing | SummariserNote | NotSaved | Restored | Reminder | Denied

# What tells a session of its workflow: a start, or the first prompt that can.
_TELLING = ("SessionStart", "UserPromptSubmit")


def failed(event: str, cause: str) -> Reply:
    """What is left to say to *event* when its handler failed."""
    if event == "PreCompact":
        return NotSaved(cause)
    if event in _TELLING:
        return Restored(message=f"Holdfast could not restore the workflow: {cause}")
    return Nothing()


def noted_by(reply: Reply, event: str, note: str) -> Reply:
    """*reply* to *event* with a *note* for the person, where there is a line for one."""
    if event not in _TELLING or not isinstance(reply, Nothing | Restored):
        return reply
    told = reply if isinstance(reply, Restored) else Restored()
    return told._replace(message=" · ".join(filter(None, [told.message, note])))
