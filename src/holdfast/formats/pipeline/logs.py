"""The log of each workflow: one JSON line a change, only ever added to.

People read it with whatever they like, so what comes from files and commands is made safe before it is
written.
"""

from __future__ import annotations

from typing import Any

from holdfast import jsonlines
from holdfast.formats.pipeline import places
from holdfast.plaintext import one_line
from holdfast.store import LARGEST, Store


def append(
    store: Store,
    workflow_id: str,
    at: str,
    event: str,
    *,
    step: int | None = None,
    by: str = "",
    **details: object,
) -> None:
    """Add a line; to be called inside the lock. What is None or empty is left out."""
    path = store.root / places.log(workflow_id)
    told = {"time": at, "event": event, "step": step, "by": by, **details}
    line = {key: _safe(value) for key, value in told.items() if value not in (None, "")}
    store.append(path, jsonlines.encode(line))


def read(store: Store, workflow_id: str) -> list[dict[str, Any]]:
    """All lines, oldest first; empty where there is no log."""
    path = store.root / places.log(places.checked_id(workflow_id))
    return jsonlines.read(str(path), 4 * LARGEST) if store.holds(path) else []


def remove(store: Store, workflow_id: str) -> None:
    """The workflow has gone without a trace; to be called inside the lock."""
    path = store.root / places.log(workflow_id)
    if path.parent.is_dir():
        store.remove(path)


def _safe(value: object) -> object:
    return value if isinstance(value, int | float) else one_line(str(value))
