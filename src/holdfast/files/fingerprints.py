"""What a file or folder is known by, so that a change shows without reading it.

A fingerprint is the inode, the size, and the times in nanoseconds. Nobody can set the time of the inode's
last change, so a file that was put back with its old time shows too. Where a time is too close to the
moment of looking, a second edit could leave the same fingerprint; then the content is compared as well.
"""

from __future__ import annotations

import os
import stat
import zlib

from holdfast.files.atomic import NO_WAIT

_SECOND = 1_000_000_000
_TICK = _SECOND // 10  # the clock of no system takes longer steps than a tenth of this
_COARSE = 2 * _SECOND + _TICK  # of a file system that keeps whole seconds, or every other one
_LARGEST = 64 * 1024 * 1024

Fingerprint = list[int] | None  # None where there is nothing


def fingerprint(path: str, *, listed: bool = False) -> Fingerprint:
    """The fingerprint of what lies at *path*; for a link, of the link and of what it leads to.

    Of a folder that nobody *listed* it does not matter what is put there.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISLNK(found.st_mode):
        return _numbers(found, listed)
    try:
        return _numbers(found, listed) + _numbers(os.stat(path), listed)
    except OSError:
        return _numbers(found, listed)


def _numbers(status: os.stat_result, listed: bool) -> list[int]:
    if not listed and stat.S_ISDIR(status.st_mode):
        return [status.st_ino]
    return numbers(status)


def numbers(status: os.stat_result) -> list[int]:
    """The fingerprint of a plain file, of which *status* was asked already."""
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def is_settled(mark: Fingerprint, now: int) -> bool:
    """Whether a later change would leave another mark, when it was taken at *now* in nanoseconds.

    So for several marks behind one another.
    """
    times = mark[2::4] + mark[3::4] if mark else []
    return all(now - time > (_TICK if time % _SECOND else _COARSE) for time in times)


def content_digest(path: str) -> str | None:
    """A checksum of what lies at *path*: the bytes of a file, the names in a folder, a link that leads nowhere."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT)  # a FIFO may have taken its place
    except (OSError, ValueError):
        return _link(path)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return checksum(
                "\0".join(sorted(os.listdir(descriptor))).encode("utf-8", "surrogateescape")
            )
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        with open(descriptor, "rb", closefd=False) as stream:
            return checksum(stream.read(_LARGEST))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _link(path: str) -> str | None:
    try:
        return checksum(os.fsencode(os.readlink(path)))
    except (OSError, ValueError):
        return None


def digest(data: bytes) -> str:
    """The SHA-256 of *data*, in hexadecimal digits."""
    from hashlib import sha256  # noqa: PLC0415  # loads OpenSSL, for which the fast tier has no time

    return sha256(data).hexdigest()


def checksum(data: bytes) -> str:
    """Tells an edit, or a torn file, from what was there; for names and contents that nobody has an interest to forge."""
    return f"{len(data):x}-{zlib.crc32(data):08x}{zlib.adler32(data):08x}"
