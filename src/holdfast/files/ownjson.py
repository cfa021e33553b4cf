"""JSON that is Holdfast's own: one record per line, and the version that every file of ours carries.

A file of a newer version is from a newer release: it is never changed, moved or deleted, and one line says so."""

from __future__ import annotations

import json
from collections.abc import Mapping

from holdfast.errors import AnyPath, NewerRecord, StateUnreadable
from holdfast.files.regular import read_file

VERSION = 1  # what this release writes, and the highest that it understands
_LARGEST = 16 * 1024 * 1024


def stamped(record: Mapping[str, object]) -> dict[str, object]:
    """*record* with the version in which it is written now."""
    return {"version": VERSION, **record}


def is_newer(record: object) -> bool:
    """Whether a newer release has written *record*."""
    version = record.get("version") if isinstance(record, dict) else None
    return isinstance(version, int) and version > VERSION


def newer_version_warning(where: AnyPath, record: object) -> str:
    """The warning that a newer Holdfast wrote *record* at *where*; empty when this one may change it."""
    if not isinstance(record, dict) or not is_newer(record):
        return ""
    return (
        f"{where} was written by a newer Holdfast (format {record['version']}, this one knows "
        f"{VERSION}); it is left alone: upgrade this Holdfast"
    )


def newer_version_warning_in(path: AnyPath, where: AnyPath | None = None) -> str:
    """The warning for the file at *path*, which is one record or begins with a line that is one."""
    try:
        data, _ = read_file(path, _LARGEST)
    except StateUnreadable:
        return ""
    # What this release writes begins so; there may be a thousand records to look at.
    if data.startswith(b'{"version": %d, ' % VERSION):
        return ""
    for text in (data, data.partition(b"\n")[0]):
        try:
            return newer_version_warning(where or path, json.loads(text))
        except (ValueError, RecursionError):
            continue
    return ""


def refuse_newer(path: AnyPath, where: AnyPath | None = None) -> None:
    """NewerRecord when the file at *path* may not be changed."""
    if line := newer_version_warning_in(path, where):
        raise NewerRecord(line)


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
