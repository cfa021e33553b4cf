"""What Holdfast knows of a workflow beyond its own file: what was observed, how it survived.

One file a workflow in our private folder of the project, whatever its format: nothing of ours goes
into files that are not ours alone. And one a session, for what goes with it to another workflow.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.digests import digest
from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.regular import read_json
from holdfast.store import LARGEST, Store
from holdfast.versions import left_alone_in, refuse_newer, stamped

_SESSION = "session "
_KEPT_FOR = 30 * 24 * 3600  # seconds, for what belongs to a session


def of_session(session: str) -> str:
    """The key under which is noted what belongs to *session*, on whatever it works."""
    return _SESSION + session


def _path(store: Store, key: str) -> Path:
    name = digest(key.encode("utf-8", "replace"))[:24]
    kind = "session-" if key.startswith(_SESSION) else ""
    return store.private / "sidecars" / f"{kind}{name}.json"


def load(store: Store, key: str) -> dict[str, Any]:
    """What is noted of the workflow *key*; empty when there is nothing, or it cannot be read."""
    return _read(_path(store, key), key) or {}


def _read(path: Path, key: str, *, strict: bool = False) -> dict[str, Any] | None:
    """What the file says; where it is out of reach, the error too if *strict*."""
    try:
        record = read_json(path, LARGEST, follow=False)
    except StateUnreadable as error:
        if strict and isinstance(error, StateOutOfReach):
            raise
        return None
    return record if isinstance(record, dict) and record.get("workflow") == key else None


def update(
    store: Store, key: str, wait: float, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Apply *change* to what is noted, under the lock; nothing is written when nothing changes."""
    with store.lock(wait):
        return put(store, key, change)


def put(
    store: Store, key: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """The same for who holds the lock already."""
    path = _path(store, key)
    refuse_newer("sidecar", path, store.relative(path))
    before = _read(path, key, strict=True)
    if before is None and path.is_file():  # damaged: kept, though not for use
        store.set_aside(path, f"{path.stat().st_mtime:.0f}", move=True)
    after = {**change(before or {}), **stamped("sidecar", {"workflow": key})}
    if after != before:
        # ASCII, so that a key or a text with a lone surrogate can be read back.
        store.write(path, (json.dumps(after, indent=1) + "\n").encode())
    return after


def left_alone(store: Store, keys: Iterable[str]) -> list[str]:
    """What to say of what a newer Holdfast has noted of the workflows *keys*."""
    try:
        there = set(os.listdir(store.private / "sidecars"))
    except OSError:
        return []
    paths = (_path(store, key) for key in keys) if there else ()
    found = (
        left_alone_in("sidecar", path, store.relative(path)) for path in paths if path.name in there
    )
    return [line for line in found if line]


def prune(store: Store, now: datetime) -> None:
    """Remove what was noted of sessions that have not changed anything for a month."""
    oldest = now.timestamp() - _KEPT_FOR
    folder = store.private / "sidecars"
    if not store.is_own(folder):
        return
    with contextlib.suppress(OSError):
        for path in folder.glob("session-*.json"):
            if path.lstat().st_mtime < oldest and not left_alone_in("sidecar", path):
                path.unlink(missing_ok=True)
