"""Append one JSON line to a file, and read them all. Light; used before every answer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from holdfast.errors import StateUnreadable
from holdfast.regular import read_file


def encode(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def append(path: str, line: bytes) -> int:
    """Add *line* in one write, which no other process's comes between; returns the file's size."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, line)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


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
