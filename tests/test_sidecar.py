"""What is noted beside a workflow's file is kept whole, or set aside, and never silently lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast import marks, sidecar
from holdfast.store import Store


def counted(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "count": record.get("count", 0) + 1}


@pytest.mark.parametrize("key", ["plan:CLAUDE/Plan/001/PLAN.md", "Größe 数据 🚀", "\ud800", ""])
def test_what_is_noted_is_read_back(tmp_path: Path, key: str) -> None:
    """Whatever the workflow is called."""
    store = Store(tmp_path)
    for _ in range(3):
        sidecar.update(store, key, 1.0, counted)
    assert sidecar.load(store, key) == {"count": 3, "version": 1, "workflow": key}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"workflow": "other"}', b"\xff"])
def test_a_damaged_one_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    """It starts anew, and what was there is kept."""
    store = Store(tmp_path)
    sidecar.update(store, "key", 1.0, counted)
    (path,) = (store.private / "sidecars").iterdir()
    path.write_bytes(damage)
    assert sidecar.load(store, "key") == {}
    assert sidecar.update(store, "key", 1.0, counted)["count"] == 1
    (aside,) = (store.private / "quarantine").iterdir()
    assert aside.read_bytes() == damage


def test_nothing_is_written_when_nothing_changes(tmp_path: Path) -> None:
    """The file stays the very same."""
    store = Store(tmp_path)
    sidecar.update(store, "key", 1.0, counted)
    (path,) = (store.private / "sidecars").iterdir()
    before = marks.numbers(path.stat())
    sidecar.update(store, "key", 1.0, lambda record: record)
    assert marks.numbers(path.stat()) == before
