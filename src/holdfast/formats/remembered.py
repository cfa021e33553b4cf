"""What state files said when they were last read, so that a hook need not read a thousand of them again.

It lies in the user's folder, never in the repository, whose files are not believed. Each row has the
stamp of its file: number, size, and the times of the last write and of the last change of anything.
A file whose stamp differs is read again, so no row ever has to be believed either. Hooks write rows,
once there are some that are worth it; whoever only looks reads them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from holdfast import __version__, marks
from holdfast.atomic import replace_file
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Place
from holdfast.openflags import make_private
from holdfast.regular import entries, read_file
from holdfast.versions import is_newer, stamped

Stamp: TypeAlias = list[int]

_WORTH = 16  # files; so many more are read again before the rows are written anew
_MOST = 20_000  # rows
_LARGEST = 64 * 1024 * 1024


class Memory:
    """The rows of one format in one project, by the path of a file or folder below the root."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._rows = _load(path) if path else {}
        self._seen: dict[str, list[Any]] = {}
        self._read = 0
        self._began = time.time_ns()

    @classmethod
    def of(cls, place: Place, name: str) -> Memory:
        """That of the format *name*. Elsewhere than on POSIX a stamp does not tell every change."""
        if not place.user_folder or os.name != "posix":
            return cls()
        return cls(os.path.join(place.user_folder, f"remembered-{name}.json"))

    def recall(self, name: str, stamp: Stamp | None) -> list[Any] | None:
        """What is known of *name*, if it still has the same *stamp*."""
        row = self._rows.get(name)
        if stamp is None or row is None or row[0] != stamp:
            return None
        self._seen[name] = row
        facts: list[Any] = row[1]
        return facts

    def note(self, name: str, stamp: Stamp | None, facts: Sequence[Any]) -> None:
        """That *name*, with a *stamp* from before it was read, says these *facts*, as JSON has them."""
        if self._path and stamp and marks.is_settled(stamp, self._began):
            self._rows[name] = self._seen[name] = [stamp, list(facts)]
            self._read += 1

    def keep(self) -> None:
        """Write the rows, without those of files that are gone; that it fails costs only time."""
        gone = len(self._rows) - len(self._seen)
        if max(self._read, gone) < _WORTH or is_newer("remembered", _record(self._path)):
            return
        rows = dict(list(self._seen.items())[:_MOST])
        record = stamped("remembered", {"by": __version__, "rows": rows})
        with contextlib.suppress(OSError, ValueError):
            make_private(os.path.dirname(self._path))
            replace_file(self._path, json.dumps(record).encode(), mode=0o600)


def mtime_of(stamp: Stamp) -> float:
    """As `os.stat` has it."""
    seconds, rest = divmod(stamp[2], 1_000_000_000)
    return seconds + 1e-9 * rest


def listed(folder: Path, ending: str) -> list[tuple[Path, Stamp | None]]:
    """The files in *folder* that have the *ending*, by their names; no stamp for a link.

    A link's stamp says nothing of the file that it leads to.
    """
    found = [each for each in entries(folder) if each.name.endswith(ending)]
    found.sort(key=lambda each: each.name)
    return [(folder / each.name, _stamp(each)) for each in found]


def _stamp(entry: os.DirEntry[str]) -> Stamp | None:
    try:
        # Asked of `os`, so that it is seen what an answer follows from.
        return None if entry.is_symlink() else marks.numbers(os.lstat(entry.path))
    except OSError:
        return None


def _record(path: str) -> dict[str, Any]:
    try:
        record = json.loads(read_file(path, _LARGEST)[0])
    except (StateUnreadable, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _load(path: str) -> dict[str, list[Any]]:
    """The rows that this very release wrote: another one may have read the same files otherwise."""
    record = _record(path)
    rows = record.get("rows")
    known = not is_newer("remembered", record) and record.get("by") == __version__
    return rows if known and isinstance(rows, dict) else {}
