"""Append one JSON line to a file, and read them all. Light; used before every answer."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping

from holdfast.errors import StateUnreadable
from holdfast.openflags import BYTES, NO_LINK
from holdfast.regular import read_file

APPENDING = os.O_APPEND | os.O_CREAT | NO_LINK | BYTES

_FAR = 1 << 30  # no line ever reaches this byte
_PATIENCE = 1.0  # seconds


def encode(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def append(path: str, line: bytes) -> int:
    """Add *line* to the file at *path*, which is made if need be; returns the file's size."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | APPENDING, 0o600)
    try:
        add(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def add(descriptor: int, line: bytes) -> bool:
    """Write *line* at the end in one step, which no other process's comes between; whether it is whole."""
    with _alone(descriptor):
        return os.write(descriptor, line) == len(line)


@contextlib.contextmanager
def _alone(descriptor: int) -> Iterator[None]:
    """Where appending is not one step but two, as on Windows, keep others from adding meanwhile."""
    if "msvcrt" not in sys.builtin_module_names:
        yield
        return
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
    try:
        yield  # whoever waits in vain writes all the same: a torn line is passed over
    finally:
        if locked:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            windows.locking(descriptor, windows.LK_UNLCK, 1)


def read(path: str, limit: int) -> list[dict[str, object]]:
    """All records, oldest first; a line that is none is passed over, as is a file over *limit*."""
    try:
        data, _ = read_file(path, limit)
    except StateUnreadable:
        return []
    return parse(data)


def parse(data: bytes) -> list[dict[str, object]]:
    records = []
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records
