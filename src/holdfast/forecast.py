"""How many parts the next restore of a session needs, so that the others can tell without looking.

Noted by the hooks that compute it, with the files that it follows from; it counts only while these are
as they were. The main hook sends no more parts than were foreseen, so that even a forecast that is
wrong never leaves a promised part unsent: what does not fit is named in the guidance. Light.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from datetime import datetime

from holdfast import jsonlines, marks, sessions
from holdfast.atomic import replace_file
from holdfast.homes import file_of
from holdfast.openflags import make_private
from holdfast.versions import Kind, is_newer, left_alone_in, stamped

_KIND: Kind = "forecasts"
_LARGEST = 256 * 1024


def record(
    state_dir: str | None, session: str | None, parts: int, files: Iterable[str], now: datetime
) -> None:
    """Note that *parts* are needed as long as *files* stay as they are."""
    if not state_dir or not session:
        return
    path = file_of(state_dir, _KIND, session, "json")
    prints = {file: marks.of(file, marks.LISTED) for file in files}
    noted = stamped(_KIND, {"parts": parts, "files": prints})
    if jsonlines.read(path, _LARGEST) == [noted] or left_alone_in(_KIND, path):
        return
    with contextlib.suppress(OSError):  # then every part looks for itself
        make_private(os.path.dirname(path))
        replace_file(path, jsonlines.encode(noted), mode=0o600)
        sessions.prune(state_dir, _KIND, now)


def parts(state_dir: str | None, session: str | None) -> int | None:
    """How many parts are needed; None when that is not known any more."""
    if not state_dir or not session:
        return None
    for noted in jsonlines.read(file_of(state_dir, _KIND, session, "json"), _LARGEST):
        match noted:
            case _ if is_newer(_KIND, noted):
                return None
            case {"parts": int(count), "files": dict(files)}:
                same = all(marks.of(str(file), marks.LISTED) == was for file, was in files.items())
                return count if same else None
    return None


def forget(state_dir: str | None, session: str | None) -> None:
    """The session has another workflow now."""
    sessions.forget(state_dir, _KIND, session, "json")
