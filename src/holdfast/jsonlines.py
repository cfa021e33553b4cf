"""JSON, one record a line. Light; used before every answer."""

from __future__ import annotations

import json
from collections.abc import Mapping

from holdfast.errors import StateUnreadable
from holdfast.regular import read_file


def encode(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


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
