"""Both indexes, index.json beside the states: what lies there at a glance.

They follow the state files, which are what counts. One is written when it differs from them: missing,
wrong or old. Keys that the document does not name stay, on top and in the entry of each workflow.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.formats.pipeline import known, places
from holdfast.formats.pipeline.files import by_creation
from holdfast.formats.pipeline.known import LARGEST_LIST, Row, Seen
from holdfast.formats.pipeline.places import Location
from holdfast.regular import read_json
from holdfast.store import Store

_WORKFLOWS = "workflows"


def update(store: Store, at: str) -> None:
    """Make all of them true; to be called inside the lock, after the states were written.

    They only follow the states: that one cannot be written must not make a move seem to have failed,
    which somebody would then make again. The next command tries once more.
    """
    for location in places.locations(store):
        seen = known.look(store, location)
        if not seen.is_kept:
            with contextlib.suppress(StateUnwritable):
                _follow(store, seen, at)


def is_true(store: Store, location: Location) -> bool:
    """Whether the index is there and says what lies there."""
    data = _read(store, location)
    rows = known.look(store, location).rows
    return data is not None and data.get(_WORKFLOWS) == _entries(data, rows)


def _follow(store: Store, seen: Seen, at: str) -> None:
    path = store.root / seen.location.index
    if not path.parent.is_dir():
        known.forget(store, seen.location)
        return
    data = _read(store, seen.location)
    if data is None and os.path.lexists(path):
        store.set_aside(path, at.replace(":", ""), move=True)
    entries = _entries(data or {}, seen.rows)
    if data is None or data.get(_WORKFLOWS) != entries:
        store.write(path, encoded({**(data or {}), _WORKFLOWS: entries}))
    known.keep(store, seen)


def _read(store: Store, location: Location) -> dict[str, Any] | None:
    path = store.root / location.index
    if not store.holds(path):
        return None
    try:
        data = read_json(path, LARGEST_LIST)
    except StateUnreadable:
        return None
    return data if isinstance(data, dict) else None


def _entries(data: dict[str, Any], rows: list[Row]) -> list[dict[str, Any]]:
    listed = data.get(_WORKFLOWS)
    before = {
        each["workflow_id"]: each
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and isinstance(each.get("workflow_id"), str)
    }
    return [_entry(row, before.get(row.workflow_id, {})) for row in sorted(rows, key=by_creation)]


def _entry(row: Row, before: dict[str, Any]) -> dict[str, Any]:
    entry = {
        **before,
        "workflow_id": row.workflow_id,
        "workflow_type": row.workflow_type,
        "status": row.status,
        "session_name": row.session_name,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "state_file": row.state_file,
    }
    if row.session_name is None:
        del entry["session_name"]
    return entry


def encoded(data: dict[str, Any]) -> bytes:
    """One line an entry: thousands of them are written quickly, and a change is one line."""
    listed = ",".join(f"\n    {_plain(each)}" for each in data[_WORKFLOWS])
    workflows = f"[{listed}\n  ]" if listed else "[]"
    members = (
        f"\n  {_plain(key)}: {workflows if key == _WORKFLOWS else _plain(value)}"
        for key, value in data.items()
    )
    return f"{{{','.join(members)}\n}}\n".encode("utf-8", "backslashreplace")


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
