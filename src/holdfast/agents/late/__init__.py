"""Guidance that a session gets late, because its agent takes none at the time. The session's log says what is due.

An agent that drops the context which a hook returns at SessionStart (`keeps_starts` is False):
Rule 1: SessionStart adds a "due" line to the log. The next prompt delivers the guidance and adds a "told" line. A second
        SessionStart in between is due separately. A process that is killed between the two delivers twice, not never.

An agent that fires SessionStart twice in one turn, when it compacts while it resumes (`starts_twice`):
Rule 2: if the first start (resume) delivers the whole guidance after a PreCompact, it marks the compaction as "told". The
        second start (compact) and its hooks for parts then deliver nothing.
Rule 3: that mark counts for one minute, so that it silences no later compaction. The second start begins when the hooks of
        the first have ended, and a hook may take at most half a minute.

An agent that reports compactions in its transcript alone, and late (`transcript`):
Rule 4: after a PreCompact, the next prompt or start waits until the transcript says how the compaction ended. It waits
        once, since not every compaction that begins comes to an end.

A process that delivers late holds the session's delivery lock until its output is flushed. Standard library only.
"""

from __future__ import annotations

import os
import stat
from datetime import datetime, timedelta
from typing import NamedTuple

from holdfast import clock
from holdfast.config.capabilities import Capabilities
from holdfast.files.atomic import BYTES, NO_WAIT
from holdfast.records import sessionlog

ALREADY_TOLD = "nothing: the guidance was sent when the session was resumed, just before"
_COUNTS_FOR = timedelta(minutes=1)
_MOST_ADDED = 1024 * 1024  # bytes of a transcript that are looked through before a prompt


def due_start(log: bytes) -> tuple[str, str] | None:
    """Id and source of the start whose guidance is still due, by this *log*."""
    noted, told = sessionlog.last(log, "due"), sessionlog.last(log, "told")
    match noted:
        case {"id": str(name), "source": str(source)} if name != told.get("id"):
            return name, source
    return None


# Compactions that have begun.


def compaction_in(log: bytes) -> str:
    """The state of the last compaction in this *log*: "begun", "told" or "over"; empty if there was none."""
    return str(sessionlog.last(log, "compaction").get("state", ""))


def begun_at(log: bytes) -> datetime | None:
    """When the last compaction in this *log* began, if it is not over yet."""
    noted = sessionlog.last(log, "compaction")
    return clock.parse(str(noted.get("at"))) if noted.get("state") == "begun" else None


def is_told(log: bytes, capabilities: Capabilities, source: str, now: datetime) -> bool:
    """Whether the start that came just before, a resume, delivered the whole guidance; see rules 2 and 3."""
    if source != "compact" or not capabilities.starts_twice:
        return False
    noted = sessionlog.last(log, "compaction")
    at = clock.parse(str(noted.get("at")))
    return noted.get("state") == "told" and at is not None and abs(now - at) <= _COUNTS_FOR


def ends(state_dir: str | None, session: str | None, now: datetime, state: str = "over") -> None:
    """Record that the compaction of *session* that has begun is now in *state*, "over" or "told"."""
    if compaction_in(sessionlog.content(state_dir, session)) == "begun":
        sessionlog.append(state_dir, session, "compaction", now, state=state)


# Transcripts that are followed.


class Followed(NamedTuple):
    """The transcript of a session, and which compactions in it were delivered."""

    path: str
    offset: int = 0  # how far it was read
    # Ids of compactions, of an earlier transcript too: a session that is resumed may begin another.
    told: tuple[str, ...] = ()
    asked: str = ""  # the time of the event that last got the whole guidance


def followed_in(log: bytes) -> Followed | None:
    """The transcript that is noted in this log."""
    match sessionlog.last(log, "transcript"):
        case {"path": str(path), "offset": int(offset), "told": list(told), "asked": str(asked)}:
            return Followed(path, max(offset, 0), tuple(map(str, told)), asked)
    return None


def followed(state_dir: str | None, session: str | None) -> str | None:
    """The path of the transcript that the log of *session* names."""
    known = followed_in(sessionlog.content(state_dir, session))
    return known.path if known else None


def nothing_due(log: bytes, transcript: str, capabilities: Capabilities) -> bool:
    """Whether nothing is due with this prompt. It is a cheap check: False means that the full path has to look.

    *transcript* is the path that the prompt names.
    """
    is_due = not capabilities.keeps_starts and due_start(log) is not None
    if is_due or (capabilities.notes_begun and compaction_in(log) in {"begun", "told"}):
        return False
    known = followed_in(log)
    path, offset = (known.path, known.offset) if known else ("", 0)
    if transcript and transcript != path:
        path, offset = transcript, 0
    if not path or not capabilities.transcript:
        return True
    try:
        begin, added = read(path, offset, _MOST_ADDED + 1)
    except FileNotFoundError:
        return True
    is_all = begin == offset and len(added) <= _MOST_ADDED
    return is_all and capabilities.transcript.marker not in added


def read(path: str, offset: int, most: int) -> tuple[int, bytes]:
    """Where reading of the regular file *path* began, and *most* bytes of what is there."""
    descriptor = os.open(path, os.O_RDONLY | NO_WAIT | BYTES)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return offset, b""
        # A file that is shorter than it was is another one.
        begin = offset if offset <= status.st_size else 0
        stream.seek(begin)
        return begin, stream.read(most)
