"""Compactions that only the session's transcript tells of, and which of them the session has been told.

Rule 1: the transcript is another program's file, and grows. So no more of it is read than was added since,
        and no more than a hook has time for: the rest is for the next one.
Rule 2: whoever tells of a compaction notes it when it has told, and is alone until then, as in `pending`.
Rule 3: what has happened may be written down some time later. So how a compaction has ended is waited for, of
        which PreCompact has noted that it begins (see `compacting`), or of which the transcript says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock, compacting, homes, jsonlines, pending, sessions
from holdfast.atomic import replace_file
from holdfast.openflags import BYTES, NO_WAIT, make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

if TYPE_CHECKING:
    from holdfast.capabilities import Transcript

_KIND: Kind = "transcribed"
_LARGEST = 64 * 1024
_AT_ONCE = 32 * 1024 * 1024  # bytes that are read, and held, at once
_LONGEST = 8 * 1024 * 1024  # bytes of a line that is understood as a whole
_MOST_HOLDERS = 200_000  # objects and lists in it
_BEGINNING = 256 * 1024  # bytes that are looked at of any other
_WORTH_NOTING = 256 * 1024  # bytes that need not be read again
_READING = 0.5  # seconds for reading
_PATIENCE = 1.0  # seconds for what has happened and is written some time later
_POLL = 0.02
_MOST = 50  # compactions that are known, the latest


class _Known(NamedTuple):
    """What is noted of a session."""

    path: str
    offset: int = 0  # up to where its transcript was read
    # Of an earlier transcript as well: resumed, a session may begin another.
    told: tuple[str, ...] = ()
    asked: str = ""  # when that was asked for with which all was told the last time


class _News(NamedTuple):
    upto: int
    compactions: tuple[str, ...] = ()
    marked: bool = False  # whether a line had the marker
    goes_on: bool = False  # whether one has begun that has not ended yet
    # When the last one has begun that was noted. What ended before is another.
    since: datetime | None = None
    more: bool = False  # whether there may be more to be read


class Compacted(NamedTuple):
    """What a session has to be told of its compactions."""

    # To be called when it was told, with whether that was all there is; None where there is nothing new.
    has_told: Callable[[bool], None] | None = None
    told_with: str = ""  # when that was asked for with which it was told all the last time
    busy: bool = False  # another is just telling it


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
    _record(state_dir, session, _of_another(path, known, transcript), now)


def _of_another(path: str, known: _Known | None, transcript: Transcript) -> _Known:
    """What is to be noted of a transcript that was not *known*. What stands in the first one is over."""
    if known:
        return known._replace(path=path, offset=0)
    until = time.monotonic() + _READING
    news = _news(path, _News(max(_size(path) - _AT_ONCE, 0)), transcript, until)
    return _Known(path, news.upto, news.compactions)


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
    *,
    asked: str,
    wait: float,
) -> Iterator[Compacted]:
    """The turn of what was *asked* for at that moment; another that tells has *wait* seconds to come to its end.

    Without a *path* it is the one that was noted.
    """
    known = _recall(state_dir, session)
    if not state_dir or not session or not (path or known):
        yield Compacted()
        return
    with contextlib.suppress(OSError):  # then nobody can be alone
        make_private(os.path.dirname(homes.transcribed(state_dir, session)))
    with pending.alone(state_dir, _KIND, session, wait) as is_alone:
        if not is_alone:
            yield Compacted(busy=True)
            return
        noted = known = _recall(state_dir, session)
        if known is None or path not in {None, known.path}:
            known = _of_another(path or "", known, transcript)
        news = _settled_news(known, transcript, compacting.begun_at(state_dir, session))
        if news.since:  # it was waited for
            compacting.is_over(state_dir, session)
        after = known._replace(offset=news.upto, told=(*known.told, *news.compactions)[-_MOST:])
        if news.compactions:

            def has_told(whole: bool) -> None:
                told = after._replace(asked=asked) if whole else after
                _record(state_dir, session, told, now)

            yield Compacted(has_told, known.asked)
            return
        yield Compacted(None, known.asked)
        # One that goes on has been waited for. How it has ended will stand behind what was read.
        if not noted or news.marked or abs(news.upto - known.offset) > _WORTH_NOTING:
            _record(state_dir, session, after, now)


def _recall(state_dir: str | None, session: str | None) -> _Known | None:
    if not state_dir or not session:
        return None
    for record in jsonlines.read(homes.transcribed(state_dir, session), _LARGEST)[:1]:
        match record:
            case _ if is_newer(_KIND, record):
                return None
            case {"path": str(path), "offset": int(offset), "told": list(told)}:
                asked = str(record.get("asked", ""))
                return _Known(path, max(offset, 0), tuple(map(str, told)), asked)
    return None


def _record(state_dir: str, session: str, known: _Known, now: datetime) -> None:
    path = homes.transcribed(state_dir, session)
    if left_alone_in(_KIND, path):
        return
    with contextlib.suppress(OSError):  # then it is told once more
        make_private(os.path.dirname(path))
        record = stamped(_KIND, known._asdict())
        replace_file(path, jsonlines.encode(record), mode=0o600)
        sessions.prune(state_dir, _KIND, now)


def _settled_news(known: _Known, transcript: Transcript, since: datetime | None) -> _News:
    """What the session was not told, once it is known how the last compaction that has begun has ended."""
    begun = time.monotonic()

    def until(news: _News) -> float:
        return begun + (_READING if news.more else _PATIENCE)

    before = _News(known.offset, goes_on=since is not None, since=since)
    news = _news(known.path, before, transcript, begun + _READING)
    while (news.more or news.goes_on) and time.monotonic() < until(news):
        if not news.more:
            time.sleep(_POLL)
        news = _news(known.path, news, transcript, until(news))
    fresh = (each for each in dict.fromkeys(news.compactions) if each not in known.told)
    return news._replace(compactions=tuple(fresh))


def _news(path: str, before: _News, transcript: Transcript, until: float) -> _News:
    """What a transcript tells of, with what was read of it *before*."""
    try:
        begin, data = _read(path, before.upto)
    except (OSError, ValueError):
        return before._replace(more=False, goes_on=False)
    end = data.rfind(b"\n") + 1  # what is just being written waits
    is_full = len(data) == _AT_ONCE
    if is_full and not end:
        end = len(data)  # of a line of that length only the beginning is looked at
    news = before._replace(upto=begin + end, more=is_full)
    for first, last in _marked(data, transcript.marker, end):
        news = news._replace(marked=True)
        with contextlib.suppress(ValueError, RecursionError):
            record = _understood(data, first, last, transcript.list_in)
            found = (*news.compactions, *transcript.compactions(record))
            goes_on = _goes_on(record, news, transcript)
            news = news._replace(compactions=found[-_MOST:], goes_on=goes_on)
        if time.monotonic() > until:
            return news._replace(upto=min(begin + last + 1, news.upto), more=True)
    return news


def _goes_on(record: object, news: _News, transcript: Transcript) -> bool:
    """Whether a compaction goes on after what *record* tells."""
    begun = transcript.goes_on(record)
    at = clock.parse(transcript.at(record)) if begun is False and news.since else None
    is_of_another = at is not None and news.since is not None and at < news.since
    return news.goes_on if begun is None or is_of_another else begun


def _marked(data: bytes, marker: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Where each line with the marker begins and ends. They are not split: the data is long."""
    found = data.find(marker, 0, end)
    while found >= 0:
        last = data.find(b"\n", found, end)
        last = end if last < 0 else last
        yield data.rfind(b"\n", 0, found) + 1, last
        found = data.find(marker, last, end)


def _understood(data: bytes, first: int, last: int, list_in: tuple[bytes, bytes] | None) -> object:
    """The record in a line; of one that is too long what its beginning says, where that is enough."""
    holders = data.count(b"{", first, last) + data.count(b"[", first, last)
    if last - first <= _LONGEST and holders <= _MOST_HOLDERS:
        return json.loads(data[first:last])
    if list_in and data.startswith(list_in[0], first, last):
        return _with_first(data[first : min(first + _BEGINNING, last)], *list_in)
    return None


def _with_first(line: bytes, opening: bytes, closing: bytes) -> object:
    """The record that begins with *line*, with as many elements of its list as are whole in it."""
    text = line.decode("utf-8", "replace")
    end = after = len(opening)
    decode = json.JSONDecoder().raw_decode
    with contextlib.suppress(ValueError):
        while True:
            _, end = decode(text, after)
            after = end + 1  # there is a comma
    return json.loads(text[:end] + closing.decode())


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
