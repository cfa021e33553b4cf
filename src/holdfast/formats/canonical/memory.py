"""What was understood of files within one run, which looks at them up to three times.

A file is read each time, and understood anew only where its bytes are others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path

from holdfast.digests import digest
from holdfast.formats.canonical.declaration import Looked
from holdfast.formats.canonical.files import Held
from holdfast.records import Record, made


class Memory(Record, frozen=False):
    """Of one look at a project, for the next one."""

    markdown: dict[Hashable, Looked] = made(factory=dict)
    states: dict[Path, Held] = made(factory=dict)

    def looked(self, data: bytes, given: Hashable, understand: Callable[[], Looked]) -> Looked:
        """What *data* says, where *given* is all else that this depends on."""
        key = (digest(data), given)
        if key not in self.markdown:
            self.markdown[key] = understand()
        return self.markdown[key]
