"""Hook output: what each event may be answered, and nothing else. No I/O happens here.

PreCompact takes a note for the summary or nothing. SessionStart takes context for the model and a line for the person.
PreToolUse takes a fact for the model, or a denial with its reason. The module of an agent puts a reply into its format.
No reply has exit code 2, because that would block the client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from holdfast.records.sessionlog import LogLine
from holdfast.text.plaintext import NOTE_LIMIT, fitted, one_line, shorten

if TYPE_CHECKING:
    from holdfast.agents import Agent, Said

MESSAGE_LIMIT = 1_000


class Outcome(NamedTuple):
    """What the process prints and how it exits."""

    stdout: bytes = b""
    stderr: str = ""
    code: int = 0


class Nothing(NamedTuple):
    """Nothing to say."""


class SummariserNote(NamedTuple):
    """PreCompact: what the summary should keep word for word."""

    text: str


class NotSaved(NamedTuple):
    """PreCompact: the save failed. The compaction goes on and the person sees the line."""

    cause: str


class Restored(NamedTuple):
    """SessionStart: facts for the model, a line for the person, files to watch; any may be empty."""

    context: str = ""
    message: str = ""
    watch: Sequence[str] = ()
    whole: bool = False  # where the workflow stands, not only that there is one
    parts: Sequence[str] = ()  # contexts that other hooks of the same start send


class Reminder(NamedTuple):
    """PreToolUse: a fact for the model; the call goes on."""

    context: str


class Denied(NamedTuple):
    """PreToolUse: the call is not made, and the model is told why."""

    reason: str


Reply: TypeAlias = Nothing | SummariserNote | NotSaved | Restored | Reminder | Denied


def outcome(reply: Reply, agent: Agent, event: str) -> Outcome:
    """What *agent* gets as *reply* to *event*."""
    said: Said = None
    room = agent.capabilities.room
    match reply:
        case SummariserNote(text):
            said = agent.noted(shorten(text, NOTE_LIMIT))
        case NotSaved(cause):
            line = f"Holdfast could not save the workflow: {cause}"
            return Outcome(stderr=one_line(line, MESSAGE_LIMIT), code=1)
        case Restored(context, message, watch):
            line = one_line(message, MESSAGE_LIMIT)
            said = agent.restored(event, fitted(context, room), line, watch)
        case Reminder(context):
            said = agent.reminded(fitted(context, room))
        case Denied(reason):
            said = agent.denied(fitted(reason, room))
    if said is None:
        return Outcome()
    printed = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return Outcome(printed.encode("utf-8", "replace"))


class Decision(NamedTuple):
    """A reply, and what the log says of it; nothing is logged where nothing was decided."""

    reply: Reply = Nothing()
    decided: str = ""
    why: Sequence[str] = ()
    root: str = ""  # of the project, where the folder of the event does not tell it
    source: str = ""  # of the start of which a session was told
    idle: bool = False  # there is nothing to do here, whoever asks
    lines: Sequence[LogLine] = ()  # added to logs of the user's folder when it is given
    outdates: bool = False  # what was prepared may hold no longer, and nobody waits for this run


# Events that tell a session of its workflow, and those at which the person can be told something.
_TELLING = ("SessionStart", "UserPromptSubmit")
_NOTED = (*_TELLING, "PreToolUse")


def failed(event: str, cause: str) -> Decision:
    """What is decided on *event* when its handler failed."""
    reply: Reply = Nothing()
    if event == "PreCompact":
        reply = NotSaved(cause)
    elif event in _TELLING:
        reply = Restored(message=f"Holdfast could not restore the workflow: {cause}")
    return Decision(reply, f"failed: {cause}")


def is_whole(reply: Reply) -> bool:
    """Whether *reply* says all of where the workflow stands."""
    return isinstance(reply, Restored) and reply.whole


def noted_by(reply: Reply, event: str, note: str) -> Reply:
    """*reply* with a *note* for the person, where *event* has a line for one."""
    if event not in _NOTED or not isinstance(reply, Nothing | Restored):
        return reply
    told = reply if isinstance(reply, Restored) else Restored()
    return told._replace(message=" · ".join(filter(None, [told.message, note])))
