"""Add a line to a file in one step, so that no other process's comes between. Light."""

from __future__ import annotations

import os
import sys
import time

from holdfast.openflags import BYTES, NO_LINK, NO_WAIT, make_private

# Without waiting: a FIFO would hold up the open itself, and reading from it.
APPENDING = os.O_APPEND | os.O_CREAT | NO_LINK | NO_WAIT | BYTES

_FAR = 1 << 30  # no line ever reaches this byte
_PATIENCE = 1.0  # seconds


def append(path: str, line: bytes) -> int:
    """Add *line* to the file at *path*, which is made if need be; returns the file's size."""
    try:
        descriptor = os.open(path, os.O_WRONLY | APPENDING, 0o600)
    except FileNotFoundError:
        make_private(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | APPENDING, 0o600)
    try:
        add(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def add(descriptor: int, line: bytes) -> bool:
    """Write *line* at the end in one step; whether it is whole."""
    # Where appending is not one step but two, as on Windows, others are kept from adding meanwhile.
    if "msvcrt" in sys.builtin_module_names:
        return _add_alone(descriptor, line)
    return os.write(descriptor, line) == len(line)


def _add_alone(descriptor: int, line: bytes) -> bool:
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
        return os.write(descriptor, line) == len(line)
    finally:
        if locked:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            windows.locking(descriptor, windows.LK_UNLCK, 1)
