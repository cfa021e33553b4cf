"""What state files said when they were last read, so that a hook does not read a thousand of them again.

There is one file a project, in the user's folder: what lies in a repository is not believed. Each row has
the fingerprint of its file (number, size, times of the last write and the last change), and a file whose fingerprint
differs is read again, so a row never has to be believed either. Only the release that wrote the rows uses
them: another one may read the same files otherwise. Rows that are lost or damaged cost time, nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from typing import Any

from holdfast import __version__
from holdfast.errors import StateUnreadable
from holdfast.files.atomic import make_private, replace_file
from holdfast.files.fingerprints import Fingerprint, is_settled
from holdfast.files.regular import read_file

_FILE = "rows.json"
_WORTH = 16  # so many rows have to be new, or of files that are gone, before the file is written
_MOST = 20_000  # rows
_LARGEST = 64 * 1024 * 1024


class RowCache:
    """The rows of one project while its files are looked at, each by the path below the root."""

    def __init__(self, user_folder: str | None) -> None:
        # Only on POSIX does a fingerprint show every change.
        self._path = os.path.join(user_folder, _FILE) if user_folder and os.name == "posix" else ""
        self._known = _load(self._path) if self._path else {}
        self._seen: dict[str, list[Any]] = {}
        self._new = 0
        self._began = time.time_ns()

    def recall(self, path: str, fingerprint: Fingerprint) -> list[Any] | None:
        """What is known of *path*, if its file still has the same *fingerprint*."""
        row = self._known.get(path)
        if fingerprint is None or row is None or row[0] != fingerprint:
            return None
        self._seen[path] = row
        facts: list[Any] = row[1]
        return facts

    def note(self, path: str, fingerprint: Fingerprint, facts: Sequence[Any]) -> None:
        """Note the *facts*, as JSON has them, of *path*, whose *fingerprint* was taken before it was read."""
        if self._path and fingerprint and is_settled(fingerprint, self._began):
            self._known[path] = self._seen[path] = [fingerprint, list(facts)]
            self._new += 1

    def save(self) -> None:
        """Write the rows that were seen, if there is enough news."""
        gone = len(self._known) - len(self._seen)
        if self._path and max(self._new, gone) >= _WORTH:
            rows = dict(list(self._seen.items())[:_MOST])
            with contextlib.suppress(OSError, ValueError):  # it costs only time
                make_private(os.path.dirname(self._path))
                record = {"by": __version__, "rows": rows}
                replace_file(self._path, json.dumps(record).encode(), mode=0o600)


def mtime_of(fingerprint: list[int]) -> float:
    """The time of the last write, as `os.stat` has it."""
    seconds, rest = divmod(fingerprint[2], 1_000_000_000)
    return seconds + 1e-9 * rest


def _load(path: str) -> dict[str, list[Any]]:
    try:
        record = json.loads(read_file(path, _LARGEST)[0])
    except (StateUnreadable, ValueError, RecursionError):
        return {}
    rows = record.get("rows") if isinstance(record, dict) else None
    return rows if isinstance(rows, dict) and record.get("by") == __version__ else {}
