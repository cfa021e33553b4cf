"""Whole writes, one-step appends and private folders; light enough for what runs before every answer."""

from __future__ import annotations

import errno
import itertools
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What a file is opened with, 0 where a system has no such flag. Windows translates line ends and ends a
# file at Ctrl-Z unless told that it is bytes; it has no FIFO to hang on and hardly any links.
BYTES = getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Without waiting: a FIFO would block the open itself, and reading from it.
APPENDING = os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK | NO_WAIT | BYTES

_FAR = 1 << 30  # no line ever reaches this byte
_PATIENCE = 1.0  # seconds; less than a hook may wait for a lock
_NOT_FOR_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
_NUMBERS = itertools.count()
_SCRAP = ".tmp-"


def own_name() -> str:
    """A name that no other process and no other thread of this one takes."""
    return f"{os.getpid()}-{time.monotonic_ns()}-{next(_NUMBERS)}"


def replace_file(
    path: str,
    data: bytes,
    *,
    mode: int | None,
    staging: str | None = None,
    rename: Callable[[str, str], None] | None = None,
) -> None:
    """Write *data* beside *path*, or in *staging*, flush it, and *rename* it over *path*.

    Without a *mode*, the file gets what the umask leaves. The system applies it; to ask for it is to change it for all threads.
    A power cut may leave what was there before, which is whole as well, until the folder is flushed.
    """
    temporary = os.path.join(staging or os.path.dirname(path), f"{_SCRAP}{own_name()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | BYTES
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            # Where there is no fchmod, who may read is inherited from the folder.
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        patiently(lambda: (rename or os.replace)(temporary, path))
    except OSError as error:
        import contextlib  # noqa: PLC0415  # only after a failure; twelve hooks with --part load this module

        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if staging and error.errno == errno.EXDEV:  # the target lies on another file system
            replace_file(path, data, mode=mode, rename=rename)
            return
        raise


def remove_scraps(folder: str) -> None:
    """Remove what `replace_file` did not get to rename from *folder*."""
    with os.scandir(folder) as left:
        for entry in left:
            if entry.name.startswith(_SCRAP):
                os.unlink(entry.path)


def patiently(step: Callable[[], None]) -> None:
    """Do *step*; where it is not permitted, again for a moment.

    Windows refuses to replace, move or delete what a reader or a virus scanner has open.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            step()
        except PermissionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def flush_folder(folder: str) -> None:
    """Have the disk know what was made or renamed in *folder*."""
    if os.name != "posix":  # Windows opens no folder, and its journal keeps renames in order
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:  # as some network file systems answer
            raise
    finally:
        os.close(descriptor)


def make_private(folder: str) -> None:
    """Make *folder*, and the folders above it that are missing, for their owner alone.

    `os.makedirs` has its mode for the last one only: whoever may write to one above puts another in its place.
    """
    if os.path.isdir(folder):
        return
    if folder != os.path.dirname(folder):
        make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return  # another process was quicker


def append(path: str, line: bytes) -> int:
    """Add *line* to the file at *path*, which is made if need be; returns the file's size."""
    make_private(os.path.dirname(path))
    descriptor = os.open(path, APPENDING, 0o600)
    try:
        add(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def rotate(path: str, largest: int) -> None:
    """Move the file at *path*, to which lines are added, over `.1` beside it, if it is larger than *largest*."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        # Windows moves no file that is open, so no lock can be held on it meanwhile. At worst two processes at the
        # limit lose a generation.
        os.replace(path, f"{path}.1")
        return
    # Only the process that holds the lock on the very file that is still in place moves it, so that two processes
    # at the limit cannot push a fresh file over the full one.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if status.st_size > largest and os.path.samestat(status, os.stat(path)):
            os.replace(path, f"{path}.1")
    finally:
        os.close(descriptor)


def torn_line_end(descriptor: int) -> bytes:
    """What has to come before the next line: a line end, where somebody was killed in the middle of the last one."""
    size = os.fstat(descriptor).st_size
    if not size:
        return b""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return b"" if os.read(descriptor, 1) == b"\n" else b"\n"


def add(descriptor: int, lines: bytes) -> bool:
    """Write whole *lines* at the end in one step; whether all of it is there."""
    # Where appending is not one step but two, as on Windows, others are kept from adding meanwhile.
    if "msvcrt" in sys.builtin_module_names:
        return _add_alone(descriptor, lines)
    return os.write(descriptor, lines) == len(lines)


def _add_alone(descriptor: int, lines: bytes) -> bool:
    from importlib import import_module  # noqa: PLC0415  # only where it is needed

    windows = import_module("msvcrt")
    until = time.monotonic() + _PATIENCE
    locked = False
    while not locked and time.monotonic() < until:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            windows.locking(descriptor, windows.LK_NBLCK, 1)
            locked = True
        except OSError:
            time.sleep(0.005)
    try:  # whoever waited in vain writes all the same: a torn line is passed over
        return os.write(descriptor, lines) == len(lines)
    finally:
        if locked:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            windows.locking(descriptor, windows.LK_UNLCK, 1)
