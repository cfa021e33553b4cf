"""Compactions that only the session's transcript tells of.

Rule 1: the transcript is another program's file, and grows. So no more of it is read than was added since, and no more
        than a hook has time for: the rest is for the next one.
Rule 2: what has happened may be written down some time later. So the end of a compaction is waited for whose begin
        PreCompact has noted, or the transcript itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.agents import late
from holdfast.agents.late import Followed
from holdfast.files.regular import exceeds_json_limit
from holdfast.records import sessionlog

if TYPE_CHECKING:
    from holdfast.agents.request import Request
    from holdfast.config.capabilities import Transcript
    from holdfast.config.project import Surroundings

_AT_ONCE = 32 * 1024 * 1024  # bytes that are read, and held, at once
_LONGEST = 8 * 1024 * 1024  # bytes of a line that is understood as a whole
_BEGINNING = 256 * 1024  # bytes that are looked at of any other
_READING = 0.5  # seconds for reading
_PATIENCE = 1.0  # seconds for what has happened and is written some time later
_POLL = 0.02
_MOST = 50  # compactions that are known, the latest


class _News(NamedTuple):
    upto: int
    compactions: tuple[str, ...] = ()
    goes_on: bool = False  # whether one has begun that has not ended yet
    since: datetime | None = None  # when the last noted one began; what ended before is another
    more: bool = False  # whether there may be more to be read


class Compacted(NamedTuple):
    """Compactions in the transcript for which the session has not got its guidance yet."""

    # To be called after delivery, with whether the whole guidance was delivered; None if there is no new compaction.
    has_told: Callable[[bool], None] | None = None
    told_with: str = ""  # the time of the event that last got the whole guidance


def follow(here: Surroundings, request: Request, now: datetime) -> None:
    """Note in the log which transcript will report the compaction that may come."""
    transcript, path = here.capabilities.transcript, request.transcript
    known = late.followed_in(sessionlog.content(here.state_dir, request.session))
    if transcript and path and (known is None or known.path != path):
        _note(here, request, _another(path, known, transcript), now)


def _note(here: Surroundings, request: Request, known: Followed, now: datetime) -> None:
    sessionlog.append(here.state_dir, request.session, "transcript", now, **known._asdict())


def _another(path: str, known: Followed | None, transcript: Transcript) -> Followed:
    """The note for a new transcript. Compactions that already stand in the first one of a session are not due."""
    if known:
        return known._replace(path=path, offset=0)
    begin = 0
    with contextlib.suppress(OSError, ValueError):
        begin = max(os.stat(path).st_size - _AT_ONCE, 0)
    news = _news(path, _News(begin), transcript, time.monotonic() + _READING)
    return Followed(path, news.upto, news.compactions)


def compacted(here: Surroundings, request: Request, now: datetime) -> Compacted:
    """The compactions for which guidance is due. The caller holds the delivery lock.

    Where *request* names no transcript it is the one that was noted.
    """
    log = sessionlog.content(here.state_dir, request.session)
    transcript = here.capabilities.transcript
    noted = known = late.followed_in(log)
    path, asked = request.transcript, request.asked
    if transcript is None or not (path or known):
        return Compacted()
    if known is None or path not in {"", known.path}:
        known = _another(path, known, transcript)
    news = _settled_news(known, transcript, late.begun_at(log))
    if news.since:  # it was waited for
        late.ends(here.state_dir, request.session, now)
    after = known._replace(offset=news.upto, told=(*known.told, *news.compactions)[-_MOST:])
    if not news.compactions:
        # One that goes on has been waited for. How it has ended will stand behind what was read.
        if after != noted:
            _note(here, request, after, now)
        return Compacted(None, known.asked)

    def has_told(whole: bool) -> None:
        _note(here, request, after._replace(asked=asked) if whole else after, now)

    return Compacted(has_told, known.asked)


def _settled_news(known: Followed, transcript: Transcript, since: datetime | None) -> _News:
    """The compactions that are new to the session, once it is known how the last one ended."""
    begun = time.monotonic()

    def until(news: _News) -> float:
        return begun + (_READING if news.more else _PATIENCE)

    before = _News(known.offset, goes_on=since is not None, since=since)
    news = _news(known.path, before, transcript, begun + _READING)
    while (news.more or news.goes_on) and time.monotonic() < until(news):
        if not news.more:
            time.sleep(_POLL)
        news = _news(known.path, news, transcript, until(news))
    fresh = (name for name in dict.fromkeys(news.compactions) if name not in known.told)
    return news._replace(compactions=tuple(fresh))


def _news(path: str, before: _News, transcript: Transcript, until: float) -> _News:
    """Read on in the transcript and add what it reports to *before*."""
    try:
        begin, data = late.read(path, before.upto, _AT_ONCE)
    except (OSError, ValueError):
        return before._replace(more=False, goes_on=False)
    end = data.rfind(b"\n") + 1  # a line that is being written waits
    is_full = len(data) == _AT_ONCE
    if is_full and not end:
        end = len(data)  # of a line that long only the beginning is read
    news = before._replace(upto=begin + end, more=is_full)
    for first, last in _marked(data, transcript.marker, end):
        with contextlib.suppress(ValueError, RecursionError):
            record = _understood(data, first, last, transcript.list_in)
            found = (*news.compactions, *transcript.compactions(record))
            goes_on = _goes_on(record, news, transcript)
            news = news._replace(compactions=found[-_MOST:], goes_on=goes_on)
        if time.monotonic() > until:
            return news._replace(upto=min(begin + last + 1, news.upto), more=True)
    return news


def _goes_on(record: object, news: _News, transcript: Transcript) -> bool:
    """Whether a compaction is under way after *record*."""
    begun = transcript.goes_on(record)
    at = clock.parse(transcript.at(record)) if begun is False and news.since else None
    is_of_another = at is not None and news.since is not None and at < news.since
    return news.goes_on if begun is None or is_of_another else begun


def _marked(data: bytes, marker: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Where each line with the marker begins and ends. The data is too long to split."""
    found = data.find(marker, 0, end)
    while found >= 0:
        last = data.find(b"\n", found, end)
        last = end if last < 0 else last
        yield data.rfind(b"\n", 0, found) + 1, last
        found = data.find(marker, last, end)


def _understood(data: bytes, first: int, last: int, list_in: tuple[bytes, bytes] | None) -> object:
    """The record in a line; of one that is too long, what its beginning tells where that is enough."""
    if last - first <= _LONGEST and not exceeds_json_limit(data[first:last]):
        return json.loads(data[first:last])
    if list_in and data.startswith(list_in[0], first, last):
        return _with_first(data[first : min(first + _BEGINNING, last)], *list_in)
    return None


def _with_first(line: bytes, opening: bytes, closing: bytes) -> object:
    """The record that *line* begins, with the elements of its list that are whole."""
    text = line.decode("utf-8", "replace")
    end = after = len(opening)
    decode = json.JSONDecoder().raw_decode
    with contextlib.suppress(ValueError):
        while True:
            _, end = decode(text, after)
            after = end + 1  # there is a comma
    return json.loads(text[:end] + closing.decode())
