"""The version of each kind of record that is ours alone, so that two releases can share a disk.

A record of a lower version, or of none, is from an earlier release and is read. One of a higher
version is from a newer release: it is never changed, moved or deleted, and somebody is told in one
line. Light; the records of a session are read before every answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, TypeAlias

from holdfast.errors import AnyPath, NewerRecord, StateUnreadable
from holdfast.regular import read_file

Kind: TypeAlias = Literal[
    "bookkeeping",  # what lies under "holdfast" in a canonical state
    "ledger",
    "sidecar",
    "copies",
    "sessions",
    "heard",
    "deliveries",
    "forecasts",
    "journals",
    "log",
    "backups",
    "unfinished",
    "listings",
    "remembered",
    "counts",
    "pending",
    "compacting",
    "transcribed",
]

# What this release writes, and the highest that it understands.
KNOWN: Mapping[Kind, int] = {
    "bookkeeping": 1,
    "ledger": 1,
    "sidecar": 1,
    "copies": 1,
    "sessions": 1,
    "heard": 1,
    "deliveries": 1,
    "forecasts": 1,
    "journals": 1,
    "log": 1,
    "backups": 1,
    "unfinished": 1,
    "listings": 1,
    "remembered": 1,
    "counts": 1,
    "pending": 1,
    "compacting": 1,
    "transcribed": 1,
}
# Each has a folder of its name in the user's folder.
OF_A_SESSION: tuple[Kind, ...] = (
    "sessions",
    "deliveries",
    "forecasts",
    "journals",
    "pending",
    "compacting",
    "transcribed",
)

_LARGEST = 16 * 1024 * 1024


def stamped(kind: Kind, record: Mapping[str, object]) -> dict[str, object]:
    """*record* with the version in which it is written now."""
    return {"version": KNOWN[kind], **record}


def is_newer(kind: Kind, record: object) -> bool:
    """Whether a newer release has written *record*."""
    version = record.get("version") if isinstance(record, dict) else None
    return isinstance(version, int) and version > KNOWN[kind]


def left_alone(kind: Kind, where: AnyPath, record: object) -> str:
    """What to say of *record*, which is kept at *where*; empty when it may be changed."""
    if not isinstance(record, dict) or not is_newer(kind, record):
        return ""
    found, known = record["version"], KNOWN[kind]
    return (
        f"{where} was written by a newer Holdfast (format {found}, this one knows {known}); "
        "it is left alone: upgrade this Holdfast"
    )


def left_alone_in(kind: Kind, path: AnyPath, where: AnyPath | None = None) -> str:
    """The same of the file at *path*, which is one record or begins with a line that is one."""
    try:
        data, _ = read_file(path, _LARGEST)
    except StateUnreadable:
        return ""
    # What this release writes begins so; there may be a thousand records to look at.
    if data.startswith(b'{"version": %d, ' % KNOWN[kind]):
        return ""
    return left_alone(kind, where or path, _first(data))


def refuse_newer(kind: Kind, path: AnyPath, where: AnyPath | None = None) -> None:
    """NewerRecord when the file at *path* may not be changed."""
    if line := left_alone_in(kind, path, where):
        raise NewerRecord(line)


def _first(data: bytes) -> object:
    for text in (data, data.partition(b"\n")[0]):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None
