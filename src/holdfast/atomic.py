"""Put a file in place whole or not at all; light enough for what runs before every answer."""

from __future__ import annotations

import contextlib
import errno
import os
import time


def replace_file(path: str, data: bytes, *, mode: int, staging: str | None = None) -> None:
    """Write *data* beside *path*, or in *staging*, sync it, rename it over *path*, sync the folder."""
    folder = os.path.dirname(path)
    temporary = os.path.join(staging or folder, f".tmp-{os.getpid()}-{time.monotonic_ns()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(temporary, flags | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if staging and error.errno == errno.EXDEV:  # the target lies on another file system
            replace_file(path, data, mode=mode)
            return
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
