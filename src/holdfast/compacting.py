"""Compactions that have begun, as PreCompact notes it where something that comes later depends on it.

Where a session that is compacted and resumed starts twice in one turn:
Rule 1: a start as resumed that finds one begun, and has told all there is, leaves word; then the start as
        compacted, which follows it, has nothing to tell.
Rule 2: that start changes nothing, because the parts of the reading run beside it, and look, too. One that
        does tell ends what was noted: a later resume leaves no word for it.
Rule 3: word counts for a minute, so that what never came silences nothing later on. The second start begins
        when the hooks of the first have ended, and no hook has longer than half of that.

Where only a transcript tells of a compaction, and late:
Rule 4: the next prompt, or the start beside it, waits for what the transcript tells of one that has begun. It
        does so once, since not every one that begins ends.
"""

from __future__ import annotations

import contextlib
import os
from datetime import datetime, timedelta

from holdfast import clock, jsonlines, sessions
from holdfast.atomic import replace_file
from holdfast.capabilities import Capabilities
from holdfast.homes import compacting
from holdfast.openflags import make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

ALREADY_TOLD = "nothing: it was told when the session was resumed, just before"
_KIND: Kind = "compacting"
_LARGEST = 64 * 1024
_COUNTS_FOR = timedelta(minutes=1)
BEGUN = jsonlines.encode(stamped(_KIND, {"compaction": "begun"}))  # the record of one


def begins(state_dir: str | None, session: str | None, now: datetime) -> None:
    """A compaction of *session* begins."""
    _note(state_dir, session, BEGUN, now)


def begun_at(state_dir: str | None, session: str | None) -> datetime | None:
    """When the last compaction of *session* has begun, of which nothing that comes after it was seen yet."""
    if not state_dir or not session or not has_begun(state_dir, session):
        return None
    try:
        return clock.from_mtime(os.stat(compacting(state_dir, session)).st_mtime)
    except OSError:
        return None


def has_begun(state_dir: str | None, session: str | None) -> bool:
    """Whether a compaction of *session* began, and nothing that comes after it was seen yet."""
    return _noted(state_dir, session).get("compaction") == "begun"


def is_told(
    state_dir: str | None,
    session: str | None,
    takes: Capabilities,
    source: str | None,
    now: datetime,
) -> bool:
    """Whether a *session* that begins with *source* was told all there is when it was resumed, just before."""
    if source != "compact" or not takes.starts_twice:
        return False
    noted = _noted(state_dir, session)
    at = clock.parse(str(noted.get("at", "")))
    told = noted.get("compaction") == "told"
    return told and at is not None and abs(now - at) <= _COUNTS_FOR


def told_when_resumed(state_dir: str | None, session: str | None, now: datetime) -> None:
    """*session* was resumed and told all there is; a compaction that began before needs no more."""
    if has_begun(state_dir, session):
        told = stamped(_KIND, {"compaction": "told", "at": clock.iso(now)})
        _note(state_dir, session, jsonlines.encode(told), now)


def is_over(state_dir: str | None, session: str | None) -> None:
    """What was noted of *session* counts no longer."""
    if state_dir and session and not left_alone_in(_KIND, compacting(state_dir, session)):
        with contextlib.suppress(OSError):
            os.unlink(compacting(state_dir, session))


def _noted(state_dir: str | None, session: str | None) -> dict[str, object]:
    if not state_dir or not session:
        return {}
    for record in jsonlines.read(compacting(state_dir, session), _LARGEST)[:1]:
        if not is_newer(_KIND, record):
            return record
    return {}


def _note(state_dir: str | None, session: str | None, line: bytes, now: datetime) -> None:
    if not state_dir or not session or left_alone_in(_KIND, compacting(state_dir, session)):
        return
    with contextlib.suppress(OSError):  # then it is told twice
        make_private(os.path.dirname(compacting(state_dir, session)))
        replace_file(compacting(state_dir, session), line, mode=0o600)
        sessions.prune(state_dir, _KIND, now)
