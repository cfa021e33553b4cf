"""Prompts with which nothing has to be told, told without loading what would tell it. Light; see `launch`.

This only ever says that nothing is due; whether something is, the full path finds out.
"""

from __future__ import annotations

import os
import stat

from holdfast import homes
from holdfast.hooks import quickjson
from holdfast.openflags import BYTES, NO_WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.hooks.quick import Asked

_MOST = 1024 * 1024  # bytes that are looked through
_LARGEST = 64 * 1024


def nothing_due(asked: Asked) -> bool:
    """Whether this prompt of a session is surely told nothing."""
    if asked.agent or not asked.session:
        return True
    if any(map(os.path.lexists, _noted(asked))):
        return False
    path, begin = _followed(asked)
    given = asked.text("transcript_path")
    if given and given != path:
        path, begin = given, 0
    transcript = asked.by.takes.transcript
    return not path or not transcript or _has_none(path, begin, transcript.marker)


def _noted(asked: Asked) -> list[str]:
    """Where something is noted that has to be told, or waited for; see `pending` and `compacting`."""
    takes = asked.by.takes
    noted: list[str] = []
    if not takes.keeps_starts:
        noted += homes.starts(asked.state_dir, asked.session)
    if takes.notes_begun:
        noted.append(homes.compacting(asked.state_dir, asked.session))
    return noted


def _followed(asked: Asked) -> tuple[str, int]:
    """The transcript that is noted, and up to where it was read; see `transcribed`."""
    noted = _read(homes.transcribed(asked.state_dir, asked.session), 0, _LARGEST)
    known = quickjson.loads(noted) if noted else None
    path, offset = (known.get("path"), known.get("offset")) if isinstance(known, dict) else ("", 0)
    return (path, offset) if isinstance(path, str) and isinstance(offset, int) else ("", 0)


def _has_none(path: str, begin: int, marker: bytes) -> bool:
    added = _read(path, begin, _MOST)
    return added is not None and marker not in added


def _read(path: str, begin: int, most: int) -> bytes | None:
    """What stands in a file from *begin* on, nothing where there is no file; None where it is too much."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT | BYTES)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not 0 <= status.st_size - begin <= most:
            return None
        stream.seek(begin)
        return stream.read(most)
