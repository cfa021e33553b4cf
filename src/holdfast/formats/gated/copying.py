"""What seeding and publishing share: one copy of a document, decided first and made after."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from holdfast.digests import digest
from holdfast.regular import read_file
from holdfast.store import Store

LARGEST = 100 * 1024 * 1024

# conflict: the target holds what nobody has looked at. kept: what is there stays as it is.
Kind: TypeAlias = Literal["new", "changed", "conflict", "same", "kept", "template", "passed over"]


class Copy(NamedTuple):
    """What is or would be done about one document; paths are relative to the project's root."""

    source: str
    target: str
    kind: Kind
    why: str = ""

    @property
    def is_held(self) -> bool:
        """Whether the target holds the document afterwards."""
        return self.kind in {"new", "changed", "conflict", "same"}

    @property
    def line(self) -> str:
        """For people."""
        way = f"{self.source} -> {self.target}" if self.source and self.target else ""
        remark = f" ({self.why})" if self.why else ""
        return f"{self.kind}: {way or self.source or self.target}{remark}"


class Document(NamedTuple):
    """A file as it is."""

    data: bytes
    mode: int | None = None  # None for what the umask leaves
    mtime: float = 0.0

    @property
    def digest(self) -> str:
        return digest(self.data)


def read(path: Path) -> Document:
    """What *path* holds, or StateUnreadable."""
    data, mtime = read_file(path, LARGEST)
    return Document(data, stat.S_IMODE(path.stat().st_mode), mtime)


def write(store: Store, target: str, document: Document) -> None:
    """Put *document* at *target* whole, with its mode; to be called inside the lock."""
    store.write(store.root / target, document.data, document.mode)
