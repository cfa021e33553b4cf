"""What a file or folder is known by, so that a change shows without reading it.

A mark is what changes with the file: inode, size, and its times in nanoseconds. The time of the last
change of the inode cannot be set by anyone, so a file that was put back with its old time shows as well.
Where a time is too near to the moment of looking, a second edit could leave the same mark; then the
content itself is noted, too.
"""

from __future__ import annotations

import os
import stat

from holdfast.digests import digest
from holdfast.openflags import NO_WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# How a path was looked at, and so what of it matters.
SEEN, READ, LISTED = 0, 1, 2

_SECOND = 1_000_000_000
_TICK = _SECOND // 10  # the clock of no system takes longer steps than a tenth of this
_COARSE = 2 * _SECOND + _TICK  # of a file system that keeps whole seconds, or every other one
_LARGEST = 64 * 1024 * 1024

_NOTHING = -2

Mark = list[int] | None  # None where there is nothing


def of(path: str, how: int = SEEN) -> Mark:
    """The mark of what lies at *path*; for a link, of the link and of what it leads to."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISLNK(found.st_mode):
        return _numbers(found, how)
    try:
        return _numbers(found, how) + _numbers(os.stat(path), how)
    except OSError:
        return _numbers(found, how)


def _numbers(status: os.stat_result, how: int) -> list[int]:
    # Of a folder that nobody listed it does not matter what is put there.
    if how != LISTED and stat.S_ISDIR(status.st_mode):
        return [status.st_ino]
    return numbers(status)


def numbers(status: os.stat_result) -> list[int]:
    """The mark of a plain file, of which *status* was asked already."""
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def is_plain(mark: Mark) -> bool:
    """Whether `of_many` can take it: of nothing, of a file, or of a folder that was listed, but of no link."""
    return mark is None or len(mark) == 4


def of_many(folder: str, names: list[str]) -> int | None:
    """One number for what has plain marks at *names* below *folder*; None where the folder is gone.

    They are looked up from the open folder, since the way to each would take as long as the rest.
    """
    numbers: list[int] = []
    look = os.stat
    try:
        descriptor = os.open(folder, os.O_RDONLY | NO_WAIT)
    except OSError:
        return None
    try:
        for name in names:
            try:
                found = look(name, dir_fd=descriptor, follow_symlinks=False)
                numbers += found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
            except OSError:
                numbers.append(_NOTHING)
    finally:
        os.close(descriptor)
    return _joined(numbers)


def joined(plain: Iterable[Mark]) -> int:
    """The number that `of_many` finds as long as these marks stay."""
    return _joined([number for mark in plain for number in (mark or [_NOTHING])])


def _joined(numbers: list[int]) -> int:
    return hash(tuple(numbers))  # of whole numbers it is the same in every process


def is_settled(mark: Mark, now: int) -> bool:
    """Whether a later change would leave another mark, when it was taken at *now* in nanoseconds.

    So for several marks behind one another.
    """
    times = mark[2::4] + mark[3::4] if mark else []
    return all(now - time > (_TICK if time % _SECOND else _COARSE) for time in times)


def content(path: str) -> str | None:
    """A digest of what lies at *path*: the bytes of a file, the names in a folder, a link that leads nowhere."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT)  # a FIFO may have taken its place
    except (OSError, ValueError):
        return _link(path)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return digest(
                "\0".join(sorted(os.listdir(descriptor))).encode("utf-8", "surrogateescape")
            )
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        with open(descriptor, "rb", closefd=False) as stream:
            return digest(stream.read(_LARGEST))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _link(path: str) -> str | None:
    try:
        return digest(os.fsencode(os.readlink(path)))
    except (OSError, ValueError):
        return None
