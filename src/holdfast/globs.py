"""Find files by the globs of settings. These may have come with a project, so what it costs is bounded."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator

MOST = 10_000  # names and folders that are looked at for all globs of a project together


class Search:
    """What globs match below one folder, until too much was looked at."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._left = MOST

    @property
    def is_over(self) -> bool:
        """Whether it was given up."""
        return self._left < 0

    def find(self, pattern: str) -> Iterator[str]:
        """Paths below the folder, with forward slashes, in no order; links are followed."""
        parts = [part for part in pattern.split("/") if part not in {"", "."}]
        # By hand: with links to folders above, a glob of many parts has no end.
        waiting = [("", 0)] if parts else []
        while waiting and not self.is_over:
            inside, at = waiting.pop()
            last = at + 1 == len(parts)
            for name in self._named(inside, parts[at], folders=not last):
                if last:
                    yield f"{inside}{name}"
                else:
                    waiting.append((f"{inside}{name}/", at + 1))

    def _named(self, inside: str, part: str, *, folders: bool) -> list[str]:
        self._left -= 1
        folder = os.path.join(self._root, inside)
        if not glob.has_magic(part):
            is_there = os.path.isdir if folders else os.path.lexists
            return [part] if is_there(os.path.join(folder, part)) else []
        try:
            with os.scandir(folder) as entries:
                names = [
                    each.name for each in self._counted(entries) if not folders or _is_dir(each)
                ]
        except OSError:
            return []
        if not part.startswith("."):
            names = [name for name in names if not name.startswith(".")]
        return fnmatch.filter(names, part)

    def _counted(self, entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for each in entries:
            self._left -= 1
            if self.is_over:
                return
            yield each


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
