"""Restores after a compaction that are not counted in a sidecar yet: one line each, in the user's folder.

A restore only adds a line, so that it neither waits for a lock nor rewrites a file. What a line is of is
counted from then on as if the sidecar had it; the next one that writes the sidecar takes the line along, and
notes there up to where it has read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from holdfast import jsonlines, versions
from holdfast.appending import append
from holdfast.errors import StateUnreadable
from holdfast.regular import read_file

LARGEST = 1024 * 1024  # then it is moved to compactions.jsonl.1
_NAME = "compactions.jsonl"


class Restore(NamedTuple):
    """A line."""

    at: str
    workflow: str  # its key
    session: str
    created_at: str  # of the workflow; empty while it is not saved


class Upto(NamedTuple):
    """Up to where a file was read."""

    inode: int
    offset: int


def path(folder: str) -> str:
    return os.path.join(folder, _NAME)


def line_of(restore: Restore) -> dict[str, object]:
    return versions.stamped("counts", restore._asdict())


def add(folder: str, restore: Restore) -> None:
    """Note *restore* in *folder*, which is the project's in the user's folder; OSError if it cannot be."""
    append(path(folder), jsonlines.encode(line_of(restore)))


def since(folder: str, upto: Upto | None) -> tuple[list[Restore], Upto | None]:
    """What was noted after *upto*, and up to where that is."""
    found: list[Restore] = []
    files = [(name, data) for name in (f"{path(folder)}.1", path(folder)) for data in _read(name)]
    known = [inode for _, (inode, _) in files]
    if upto and upto.inode in known:
        files = files[known.index(upto.inode) :]
    for _, (inode, data) in files:
        begin = upto.offset if upto and upto.inode == inode else 0
        end = data.rfind(b"\n") + 1  # what is just being written waits
        found += _parsed(data[begin:end])
        upto = Upto(inode, max(begin, end))
    return found, upto


def is_full(folder: str) -> bool:
    """Whether it is time to begin anew, once all is counted that is noted."""
    try:
        return os.stat(path(folder)).st_size > LARGEST
    except OSError:
        return False


def begin_anew(folder: str) -> None:
    # Who has it open may add a line still; it is read there the next time.
    os.replace(path(folder), f"{path(folder)}.1")


def _read(name: str) -> Iterator[tuple[int, bytes]]:
    try:
        yield os.stat(name).st_ino, read_file(name, 2 * LARGEST)[0]
    except (OSError, StateUnreadable):
        return


def _parsed(data: bytes) -> Iterator[Restore]:
    for record in jsonlines.parse(data):
        values = [record.get(field) for field in Restore._fields]
        if not versions.is_newer("counts", record) and all(
            isinstance(each, str) for each in values
        ):
            yield Restore(*map(str, values))
