"""Compactions of which a session could be told twice in one turn, by two events.

Rule 1: where a session that was compacted and is resumed starts twice, PreCompact notes that a compaction
        has begun. A start as resumed that finds this and has told all there is leaves word; then the start
        as compacted, which follows it, has nothing to tell. One that does tell ends what was noted.
Rule 2: where a start and the prompt beside it are asked for at the same moment, a prompt that has told all
        leaves word; then the start as resumed has nothing to tell, unless there was a compaction since.
Rule 3: whoever finds word changes nothing, because the parts of the reading run beside it, and look, too.
Rule 4: word counts for a short time, so that what never came silences nothing later on. A second start
        begins when the hooks of the first have ended, which may take long; one beside a prompt runs already.
"""

from __future__ import annotations

import contextlib
import os
from datetime import datetime, timedelta

from holdfast import clock, jsonlines, sessions
from holdfast.atomic import replace_file
from holdfast.capabilities import Capabilities
from holdfast.homes import file_of
from holdfast.openflags import make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

ALREADY_TOLD = "nothing: it was told just before"
_KIND: Kind = "compacting"
_LARGEST = 64 * 1024
# Which start has nothing to tell after word was left, and for how long.
_AFTER_A_RESUME = ("compact", timedelta(minutes=1))
_BESIDE_A_PROMPT = ("resume", timedelta(seconds=2))
_LONGEST = timedelta(minutes=1)
BEGUN = jsonlines.encode(stamped(_KIND, {"compaction": "begun"}))  # the record of one


def place(state_dir: str, session: str) -> str:
    """Where it is noted."""
    return file_of(state_dir, _KIND, session, "json")


def begins(state_dir: str | None, session: str | None, now: datetime) -> None:
    """A compaction of *session* begins. Noted already, it changes nothing."""
    if not has_begun(state_dir, session):
        _note(state_dir, session, BEGUN, now)


def has_begun(state_dir: str | None, session: str | None) -> bool:
    """Whether a compaction of *session* began, and no start has told of it."""
    return _noted(state_dir, session).get("compaction") == "begun"


def is_told(
    state_dir: str | None,
    session: str | None,
    takes: Capabilities,
    source: str | None,
    now: datetime,
) -> bool:
    """Whether a *session* that begins with *source* was told all there is just before."""
    if not takes.starts_twice and takes.transcript is None:
        return False
    noted = _noted(state_dir, session)
    if noted.get("compaction") != "told" or noted.get("silences") != source:
        return False
    until = clock.parse(str(noted.get("until", "")))
    return until is not None and now <= until <= now + _LONGEST


def told_when_resumed(state_dir: str | None, session: str | None, now: datetime) -> None:
    """*session* was resumed and told all there is; a compaction that began before needs no more."""
    if has_begun(state_dir, session):
        _leave_word(state_dir, session, now, *_AFTER_A_RESUME)


def told_with_a_prompt(state_dir: str | None, session: str | None, now: datetime) -> None:
    """*session* was told of its compaction with a prompt; a start beside that needs no more."""
    _leave_word(state_dir, session, now, *_BESIDE_A_PROMPT)


def _leave_word(
    state_dir: str | None, session: str | None, now: datetime, silences: str, lasts: timedelta
) -> None:
    until = clock.iso(now + lasts)
    record = stamped(_KIND, {"compaction": "told", "silences": silences, "until": until})
    _note(state_dir, session, jsonlines.encode(record), now)


def is_over(state_dir: str | None, session: str | None) -> None:
    """What was noted of *session* counts no more: it is told of its compaction by the start that it was for."""
    if state_dir and session and not left_alone_in(_KIND, place(state_dir, session)):
        with contextlib.suppress(OSError):
            os.unlink(place(state_dir, session))


def _noted(state_dir: str | None, session: str | None) -> dict[str, object]:
    if not state_dir or not session:
        return {}
    for record in jsonlines.read(place(state_dir, session), _LARGEST)[:1]:
        if not is_newer(_KIND, record):
            return record
    return {}


def _note(state_dir: str | None, session: str | None, line: bytes, now: datetime) -> None:
    if not state_dir or not session or left_alone_in(_KIND, place(state_dir, session)):
        return
    with contextlib.suppress(OSError):  # then it is told twice
        make_private(os.path.dirname(place(state_dir, session)))
        replace_file(place(state_dir, session), line, mode=0o600)
        sessions.prune(state_dir, _KIND, now)
