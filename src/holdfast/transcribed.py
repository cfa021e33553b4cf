"""Compactions that only the session's transcript tells of, and which of them the session has been told.

Rule 1: the transcript is another program's file, and grows. So no more of it is read than was added since,
        and no more than a hook has time for: the rest is for the next one.
Rule 2: whoever tells of a compaction notes it when it has told, and is alone until then, as in `pending`.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from holdfast import jsonlines, pending, sessions
from holdfast.atomic import replace_file
from holdfast.homes import file_of
from holdfast.openflags import BYTES, NO_WAIT, make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

if TYPE_CHECKING:
    from holdfast.capabilities import Transcript

_KIND: Kind = "transcribed"
_LARGEST = 64 * 1024
_AT_ONCE = 32 * 1024 * 1024  # bytes that are read by one hook
_LONGEST = 8 * 1024 * 1024  # bytes of a line that is understood
_MOST_HOLDERS = 200_000  # objects and lists in it
_TAIL = 1024 * 1024  # bytes in which a compaction has begun that goes on
_WORTH_NOTING = 256 * 1024  # bytes that need not be read again
_PATIENCE, _POLL = 0.5, 0.02  # seconds; what has happened may be written some time later
_MOST = 50  # compactions that are known, the latest


class _Known(NamedTuple):
    """What is noted of a session."""

    path: str
    offset: int = 0  # up to where its transcript was read
    told: tuple[
        str, ...
    ] = ()  # of an earlier transcript as well: resumed, a session may begin another


class _News(NamedTuple):
    upto: int
    compactions: Sequence[str] = ()
    marked: bool = False  # whether a line had the marker
    goes_on: bool = False  # whether one has begun that has not ended yet


def follow(
    state_dir: str | None,
    session: str | None,
    path: str | None,
    transcript: Transcript,
    now: datetime,
) -> None:
    """A compaction of *session* may come, of which the transcript at *path* will tell."""
    known = _recall(state_dir, session)
    if not state_dir or not session or not path or (known and known.path == path):
        return
    if known is None:
        # What has ended before is over. What has begun may be written down already.
        known = _Known(path, max(_size(path) - _TAIL, 0))
        known = known._replace(told=tuple(_news(known, transcript).compactions))
    else:
        known = _Known(path, 0, known.told)
    _record(state_dir, session, known, now)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def followed(state_dir: str | None, session: str | None) -> str | None:
    """The transcript that is noted of *session*."""
    known = _recall(state_dir, session)
    return known.path if known else None


@contextlib.contextmanager
def turn(
    state_dir: str | None,
    session: str | None,
    path: str | None,
    transcript: Transcript,
    now: datetime,
    wait: float = 0.0,
) -> Iterator[Callable[[], None] | None]:
    """What to call once *session* was told of a compaction; None where there is no new one, or another tells.

    Without a *path* it is the one that was noted.
    """
    known = _recall(state_dir, session)
    if not state_dir or not session or not (path or known):
        yield None
        return
    with contextlib.suppress(OSError):  # then nobody can be alone
        make_private(os.path.dirname(_place(state_dir, session)))
    with pending.alone(state_dir, _KIND, session, wait) as is_alone:
        known = _recall(state_dir, session) or _Known(path or "")
        if path not in {None, known.path}:
            known = _Known(path or "", 0, known.told)
        news = _settled_news(known, transcript) if is_alone else _News(known.offset)
        after = _Known(known.path, news.upto, (*known.told, *news.compactions)[-_MOST:])
        yield (lambda: _record(state_dir, session, after, now)) if news.compactions else None
        if news.compactions or news.goes_on:
            return
        if news.marked or abs(news.upto - known.offset) > _WORTH_NOTING:
            _record(state_dir, session, after, now)


def _place(state_dir: str, session: str) -> str:
    return file_of(state_dir, _KIND, session, "json")


def _recall(state_dir: str | None, session: str | None) -> _Known | None:
    if not state_dir or not session:
        return None
    for record in jsonlines.read(_place(state_dir, session), _LARGEST)[:1]:
        match record:
            case _ if is_newer(_KIND, record):
                return None
            case {"path": str(path), "offset": int(offset), "told": list(told)}:
                return _Known(path, max(offset, 0), tuple(map(str, told)))
    return None


def _record(state_dir: str, session: str, known: _Known, now: datetime) -> None:
    path = _place(state_dir, session)
    if left_alone_in(_KIND, path):
        return
    with contextlib.suppress(OSError):  # then it is told once more
        make_private(os.path.dirname(path))
        record = stamped(_KIND, known._asdict())
        replace_file(path, jsonlines.encode(record), mode=0o600)
        sessions.prune(state_dir, _KIND, now)


def _settled_news(known: _Known, transcript: Transcript) -> _News:
    """What a transcript tells of, once it is known how the last compaction that has begun has ended."""
    until = time.monotonic() + _PATIENCE
    while True:
        news = _news(known, transcript)
        if not news.goes_on or time.monotonic() > until:
            return news
        time.sleep(_POLL)


def _news(known: _Known, transcript: Transcript) -> _News:
    """What a transcript tells of, from where it was read before, that the session was not told."""
    try:
        begin, data = _read(known.path, known.offset)
    except (OSError, ValueError):
        return _News(known.offset)
    end = data.rfind(b"\n") + 1  # what is just being written waits
    if not end and len(data) == _AT_ONCE:
        end = len(data)  # a line of that length is none that is understood
    marked = [line for line in data[:end].split(b"\n") if transcript.marker in line]
    found: list[str] = []
    goes_on = False
    for line in filter(_is_small, marked):
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            found += transcript.compactions(record)
            begun = transcript.goes_on(record)
            goes_on = goes_on if begun is None else begun
    fresh = [each for each in dict.fromkeys(found) if each not in known.told]
    return _News(begin + end, fresh, bool(marked), goes_on)


def _is_small(line: bytes) -> bool:
    return len(line) <= _LONGEST and line.count(b"{") + line.count(b"[") <= _MOST_HOLDERS


def _read(path: str, offset: int) -> tuple[int, bytes]:
    """Where in the regular file *path* was begun to read, and what stands there."""
    descriptor = os.open(path, os.O_RDONLY | NO_WAIT | BYTES)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return offset, b""
        # A file that is shorter than it was is another one.
        begin = offset if offset <= status.st_size else 0
        stream.seek(begin)
        return begin, stream.read(_AT_ONCE)
