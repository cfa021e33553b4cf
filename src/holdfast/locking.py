"""A lock that is gone with its owner: the operating system's, on a file of its own.

Rule 1: it excludes whoever locks the same file with the filelock package, as earlier releases do. So
        it is the same system call on the same file, and the file is never deleted.
Rule 2: where the file was deleted by somebody else after it was opened, what was locked has no name
        any more and protects nothing; another attempt is made.
Rule 3: where there is no such system call, filelock does it. It is not used elsewhere, since its
        import takes longer than all else that a hook does to save.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator

from holdfast.errors import AnyPath, StateLocked, StateUnwritable
from holdfast.openflags import NO_LINK, NO_WAIT

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_POLL = 0.01  # seconds
_HELD_ELSEWHERE = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK}


@contextlib.contextmanager
def locked(path: AnyPath, wait: float) -> Iterator[None]:
    """Hold the lock at *path*, or raise StateLocked after *wait* seconds."""
    try:
        descriptor = _native(path, wait) if _HAS_FLOCK else None
    except OSError as error:
        if error.errno != errno.ENOSYS:  # a file system without it
            raise StateUnwritable(path, error.strerror or str(error)) from error
        descriptor = None
    if descriptor is None:
        with _portable(path, wait):
            yield
        return
    try:
        yield
    finally:
        # Not by closing alone: a process that is being started may have the descriptor still.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _native(path: AnyPath, wait: float) -> int:
    until = time.monotonic() + wait
    while (descriptor := _attempt(path)) is None:
        if time.monotonic() >= until:
            raise StateLocked(path, wait)
        time.sleep(_POLL)
    return descriptor


def _attempt(path: AnyPath) -> int | None:
    """The descriptor that holds the lock, or None where another attempt may succeed."""
    descriptor = _opened(path)
    if descriptor is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
    except OSError as error:
        if error.errno not in _HELD_ELSEWHERE:
            os.close(descriptor)
            raise
    os.close(descriptor)
    return None


def _opened(path: AnyPath) -> int | None:
    # Without waiting: a FIFO, or a lease on the file, would hold up the open itself.
    flags = os.O_RDWR | NO_WAIT | NO_LINK
    try:
        return os.open(path, flags)
    except BlockingIOError:
        return None
    except FileNotFoundError:
        pass
    try:
        return os.open(path, flags | os.O_CREAT, 0o644)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(path)):
            raise
        return None  # on a network somebody may delete it in the middle of this


@contextlib.contextmanager
def _portable(path: AnyPath, wait: float) -> Iterator[None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415  # rule 3

    held = FileLock(path)
    try:
        held.acquire(timeout=wait, poll_interval=_POLL)
    except Timeout as error:
        raise StateLocked(path, wait) from error
    except OSError as error:
        raise StateUnwritable(path, error.strerror or str(error)) from error
    try:
        yield
    finally:
        held.release()
