"""Starts of a session that it has still to be told of.

Rule 1: where what is told at a start would not stay, the start is noted, and told with the next prompt.
Rule 2: whoever tells it takes it before, by a rename, so that a start that comes meanwhile is noted anew; and
        removes what it took when it has told. It is alone while it does; another at the same moment waits,
        and finds nothing. Killed before, it leaves what it took to the next one: told twice is better than never.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from holdfast import jsonlines, sessions
from holdfast.atomic import replace_file
from holdfast.errors import HoldfastError
from holdfast.homes import file_of, starts
from holdfast.locking import locked
from holdfast.openflags import make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

WITH_THE_PROMPT = "nothing yet: it is told with the next prompt"
_KIND: Kind = "pending"
_LARGEST = 64 * 1024


class Due(NamedTuple):
    """What a session has to be told, and what to call when it was."""

    source: str  # of the start that it is told as
    has_told: Callable[[], None]


def note_start(state_dir: str | None, session: str | None, source: str, now: datetime) -> None:
    """*session* has started, and is told with its next prompt."""
    if not state_dir or not session:
        return
    path = places(state_dir, session)[0]
    if left_alone_in(_KIND, path):
        return
    with contextlib.suppress(OSError):  # then it is not told
        make_private(os.path.dirname(path))
        record = stamped(_KIND, {"since": source})
        replace_file(path, jsonlines.encode(record), mode=0o600)
        sessions.prune(state_dir, _KIND, now)


@contextlib.contextmanager
def turn(state_dir: str | None, session: str | None, wait: float) -> Iterator[Due | None]:
    """The start that *session* is to be told of; None where there is none.

    Another that tells it has *wait* seconds to come to its end.
    """
    if not state_dir or not session or not any(map(os.path.lexists, places(state_dir, session))):
        yield None
        return
    noted, taken = places(state_dir, session)
    with alone(state_dir, _KIND, session, wait) as is_alone:
        if is_alone and os.path.lexists(noted) and not left_alone_in(_KIND, noted):
            with contextlib.suppress(OSError):
                os.replace(noted, taken)
        source = _source_in(taken) if is_alone else None
        yield Due(source, lambda: _remove(taken)) if source else None


@contextlib.contextmanager
def alone(state_dir: str, kind: Kind, session: str, wait: float) -> Iterator[bool]:
    """Whether no other process is just telling *session* the same; while this lasts, none will.

    One that cannot find out is not alone.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(file_of(state_dir, kind, session, "lock"), wait))
        except HoldfastError:
            yield False
        else:
            yield True


def places(state_dir: str, session: str) -> tuple[str, str]:
    """Where it is noted, and where it lies while somebody tells it."""
    return starts(state_dir, session)


def _source_in(path: str) -> str | None:
    for record in jsonlines.read(path, _LARGEST)[:1]:
        source = record.get("since")
        if isinstance(source, str) and not is_newer(_KIND, record):
            return source
    return None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
