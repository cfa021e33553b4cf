"""index.json: what is active at a glance. It follows the state files, which are what counts.

It is written when it differs from them: missing, wrong or old. Keys that the document does not name
stay, on top and in the entry of each workflow.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.formats.skill.files import INDEX, Found, Held
from holdfast.regular import read_json
from holdfast.store import LARGEST, Store

_VERSION = "1.0"


def is_true(store: Store, found: Found) -> bool:
    """Whether the index says what lies there; without any state it need not be there at all."""
    path = store.root / INDEX
    if not path.exists():
        return not found.active
    data = _read(store)
    return data is not None and _entries(data, found) == data.get("active_workflows")


def update(store: Store, found: Found, at: str) -> None:
    """Write what is active now; to be called inside the lock, after the states were read again."""
    path = store.root / INDEX
    if is_true(store, found) and path.exists():
        return
    data = _read(store)
    # It only follows the states: that it cannot be written must not make a move seem to have failed,
    # which somebody would then make again. The next command tries once more.
    with contextlib.suppress(StateUnwritable):
        if data is None and os.path.lexists(path):
            store.set_aside(path, at.replace(":", ""), move=True)
        _write(store, path, data or {}, found, at)


def _write(store: Store, path: Path, data: dict[str, Any], found: Found, at: str) -> None:
    first = {"schema_version": _VERSION, "updated_at": at}
    content = {**first, **data, "updated_at": at, "active_workflows": _entries(data, found)}
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    store.write(path, text.encode("utf-8", "backslashreplace"))


def _read(store: Store) -> dict[str, Any] | None:
    path = store.root / INDEX
    if not store.holds(path):
        return None
    try:
        data = read_json(path, LARGEST)
    except StateUnreadable:
        return None
    return data if isinstance(data, dict) else None


def _entries(data: dict[str, Any], found: Found) -> list[dict[str, Any]]:
    listed = data.get("active_workflows")
    known = {
        each["id"]: each
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and isinstance(each.get("id"), str)
    }
    ordered = sorted(found.live, key=lambda held: (_started(held), held.key))
    return [{**known.get(_id(held), {}), **_entry(held)} for held in ordered]


def _id(held: Held) -> str:
    return held.row.id or held.path.stem


def _started(held: Held) -> str:
    return str(held.row.created_at or "")


def _entry(held: Held) -> dict[str, Any]:
    row = held.row
    return {
        "id": _id(held),
        "skill": row.skill,
        "feature": row.subject,
        "started_at": row.created_at,
        "last_activity": row.updated_at,
    }
