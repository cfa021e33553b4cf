"""What settings files were like before Holdfast was put into them, until it is taken out.

They lie in the user's folder, not beside the settings, where a repository would pick them up. For
each settings file there is one copy and one record, which tells what we wrote in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from holdfast import versions
from holdfast.atomic import replace_file
from holdfast.digests import digest
from holdfast.errors import HoldfastError, StateUnreadable, StateUnwritable
from holdfast.openflags import make_private
from holdfast.regular import read_file, read_json

_KIND: versions.Kind = "backups"
_LARGEST = 2 * 1024 * 1024


class Backup(NamedTuple):
    """A settings file before us."""

    copy: str  # where the copy of it lies
    before: str | None  # the hash of what was there; None where there was no file
    made_folders: int  # how many folders around the settings were made with them
    written: str  # the hash of what we wrote
    content: bytes | None  # what the copy holds; None where there was no file, or it is lost

    @property
    def existed(self) -> bool:
        return self.before is not None

    def is_followed_by(self, raw: bytes) -> bool:
        """Whether *raw* is still exactly what we wrote."""
        return self.written == _hash(raw)


def load(state_dir: str | None, settings: str) -> Backup | None:
    """The backup of the file *settings*, where links have been followed."""
    if state_dir is None:
        return None
    copy = _path(state_dir, settings)
    try:
        record = read_json(_record(copy), _LARGEST)
    except StateUnreadable:
        return None
    if not isinstance(record, dict) or versions.is_newer(_KIND, record):
        return None
    before = record.get("before")
    content = None
    with contextlib.suppress(StateUnreadable):
        content = read_file(copy, _LARGEST)[0] if before else None
    if content is not None and _hash(content) != before:
        content = None
    made = record.get("made_folders")
    made = made if isinstance(made, int) else int(record.get("made_folder") is True)
    return Backup(copy, before, made, str(record.get("written")), content)


def keep(state_dir: str | None, settings: str, before: bytes | None, written: bytes) -> str | None:
    """Note what is about to be *written*; the path of the copy of what was there *before*, if any.

    Where that is what we wrote ourselves, the copy stays the one of what was there before us.
    """
    if state_dir is None:
        raise HoldfastError(
            "no folder is known for a backup of the settings",
            hint="Set HOME or XDG_STATE_HOME. Nothing was changed.",
        )
    copy = _path(state_dir, settings)
    versions.refuse_newer(_KIND, _record(copy))
    record = {
        "settings": settings,
        "before": None if before is None else _hash(before),
        "made_folders": _missing_folders(settings),
        "written": _hash(written),
    }
    known = load(state_dir, settings)
    if known and before is not None and known.is_followed_by(before):
        # Also where the copy is lost by now: that there was a file must not be forgotten.
        record |= {"before": known.before, "made_folders": known.made_folders}
        before = known.content
    try:
        make_private(os.path.dirname(copy))
        if before is not None:
            replace_file(copy, before, mode=0o600)
        replace_file(_record(copy), _encoded(record), mode=0o600)
    except OSError as error:
        raise StateUnwritable(copy, error.strerror or str(error)) from error
    return None if before is None else copy


def forget(state_dir: str | None, settings: str) -> None:
    """The settings are as they were, or have gone on without us."""
    if state_dir is None:
        return
    copy = _path(state_dir, settings)
    if versions.left_alone_in(_KIND, _record(copy)):
        return
    for path in (_record(copy), copy):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _path(state_dir: str, settings: str) -> str:
    """Named for people, and by a hash of where the settings lie."""
    place = digest(os.fsencode(settings))[:12]
    name, ending = os.path.splitext(os.path.basename(settings))
    return os.path.join(state_dir, "backups", f"{name}-{place}{ending}")


def _missing_folders(path: str) -> int:
    """How many folders above *path* are not there yet."""
    count, folder = 0, os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count


def _encoded(record: Mapping[str, object]) -> bytes:
    return (json.dumps(versions.stamped(_KIND, record), indent=1) + "\n").encode()


def _record(copy: str) -> str:
    return copy + ".record"


def _hash(raw: bytes) -> str:
    return digest(raw)
