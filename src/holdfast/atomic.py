"""Put a file in place whole or not at all; light enough for what runs before every answer."""

from __future__ import annotations

import errno
import itertools
import os
import time

from holdfast.openflags import BYTES, NO_LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 1.0  # seconds; less than a hook may wait for a lock
_NOT_FOR_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
_NUMBERS = itertools.count()
_SCRAP = ".tmp-"


def own_name() -> str:
    """A name that no other process and no other thread of this one takes."""
    return f"{os.getpid()}-{time.monotonic_ns()}-{next(_NUMBERS)}"


def replace_file(path: str, data: bytes, *, mode: int, staging: str | None = None) -> None:
    """Write *data* beside *path*, or in *staging*, sync it, rename it over *path*, sync the folder."""
    folder = os.path.dirname(path)
    temporary = os.path.join(staging or folder, f"{_SCRAP}{own_name()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | BYTES
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if hasattr(os, "fchmod"):  # elsewhere who may read is inherited from the folder
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        patiently(lambda: os.replace(temporary, path))
    except OSError as error:
        _remove(temporary)
        if staging and error.errno == errno.EXDEV:  # the target lies on another file system
            replace_file(path, data, mode=mode)
            return
        raise
    sync_folder(folder)


def remove_scraps(folder: str | int) -> None:
    """Remove what `replace_file` did not get to rename, from *folder* or the open one of that number."""
    with os.scandir(folder) as left:
        for entry in left:
            if not entry.name.startswith(_SCRAP):
                continue
            if isinstance(folder, int):
                os.unlink(entry.name, dir_fd=folder)
            else:
                os.unlink(entry.path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


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


def sync_folder(folder: str) -> None:
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
