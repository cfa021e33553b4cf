"""What was understood of files in this process, which looks at a project several times.

A file is read each time, and understood anew only where its bytes are others. Only one project is
remembered, and of each file only what it said last.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path

from holdfast.digests import digest
from holdfast.formats.canonical.declaration import Looked
from holdfast.formats.canonical.files import Held
from holdfast.records import Record, made


class Memory(Record, frozen=False):
    """Of one look at a project, for the next one."""

    markdown: dict[str, tuple[Hashable, Looked]] = made(factory=dict)  # by path
    states: dict[Path, Held] = made(factory=dict)

    def looked(
        self, path: str, data: bytes, given: Hashable, understand: Callable[[], Looked]
    ) -> Looked:
        """What *data* at *path* says, where *given* is all else that this depends on."""
        key = (digest(data), given)
        known = self.markdown.get(path)
        if known is None or known[0] != key:
            known = self.markdown[path] = key, understand()
        return known[1]


@lru_cache(maxsize=1)
def of(_root: Path) -> Memory:
    """That of the project at this root."""
    return Memory()
