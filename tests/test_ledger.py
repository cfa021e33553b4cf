"""The project's record is kept whole, or replaced by its last good copy, and nothing in it is lost in silence."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import NewerRecord
from holdfast.files import fingerprints
from holdfast.files.store import Store
from holdfast.records import ledger
from holdfast.records.ledger import Tombstone

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def counted(notes: dict[str, Any]) -> dict[str, Any]:
    return {**notes, "count": notes.get("count", 0) + 1}


@pytest.mark.parametrize("key", ["plan:CLAUDE/Plan/001/PLAN.md", "Größe 数据 🚀", "\ud800", ""])
def test_what_is_noted_is_read_back(store: Store, key: str) -> None:
    """Whatever the workflow is called."""
    for _ in range(3):
        ledger.update_notes(store, key, 1.0, counted)
    ledger.ignore(store, key, key, ignored=True)
    assert ledger.notes_of(store, key) == {"count": 3}
    assert ledger.load(store).ignored == {key: key}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_one_is_set_aside_and_its_copy_goes_on(store: Store, damage: bytes) -> None:
    """With a notice for the person; without a copy it starts anew."""
    ledger.update_notes(store, "key", 1.0, counted)
    path = store.private / "ledger.json"
    path.write_bytes(damage)
    assert ledger.notes_of(store, "key") == {"count": 1}
    assert ledger.update_notes(store, "key", 1.0, counted) == {"count": 2}
    (aside,) = (store.private / "quarantine").iterdir()
    assert aside.read_bytes() == damage
    assert "could not be read" in ledger.load(store).notices[0]
    for name in ("ledger.json", "ledger.last.json"):
        (store.private / name).write_bytes(damage)
    assert ledger.update_notes(store, "key", 1.0, counted) == {"count": 1}


def test_one_odd_value_costs_itself(store: Store) -> None:
    """The rest is read."""
    stone = {"name": "W", "at": "then", "how": "completed"}
    content = {
        "finished": {"a": stone, "b": {"name": 5}, "c": []},
        "ignored": {"d": "D", "e": 5},
        "notices": ["seen", 5],
        "workflows": {"f": {"x": 1}, "g": 5},
    }
    store.private.mkdir(parents=True)
    (store.private / "ledger.json").write_text(json.dumps(content), encoding="utf-8")
    found = ledger.load(store)
    assert found.finished == {"a": Tombstone(**stone)}
    assert (found.ignored, found.notices) == ({"d": "D"}, ["seen"])
    assert found.workflows == {"f": {"x": 1}}


def test_nothing_is_written_when_nothing_changes(store: Store) -> None:
    """The file stays the very same."""
    ledger.update_notes(store, "key", 1.0, counted)
    path = store.private / "ledger.json"
    before = fingerprints.numbers(path.stat())
    ledger.update_notes(store, "key", 1.0, lambda notes: notes)
    assert fingerprints.numbers(path.stat()) == before


def test_what_is_saved_takes_no_notes_back(store: Store) -> None:
    """A record that was loaded before a workflow was noted ends another one."""
    loaded = ledger.load(store)
    ledger.update_notes(store, "key", 1.0, counted)
    loaded.ignored["other"] = "Other"
    with store.lock(1):
        ledger.save(store, loaded)
    assert ledger.notes_of(store, "key") == {"count": 1}
    assert ledger.load(store).ignored == {"other": "Other"}


def test_it_does_not_grow_without_end(store: Store) -> None:
    """The workflows that were noted last stay."""
    for number in range(400):
        with store.lock(1):
            ledger.put_notes(store, str(number), counted)
    assert list(ledger.load(store).workflows) == [str(number) for number in range(100, 400)]


def test_a_newer_one_is_not_changed(store: Store) -> None:
    """Nor is a newer copy; what they say counts, and somebody is told."""
    ledger.update_notes(store, "key", 1.0, counted)
    for name in ("ledger.json", "ledger.last.json"):
        path = store.private / name
        before = path.read_bytes()
        path.write_bytes(before.replace(b'"version": 1', b'"version": 99'))
        with pytest.raises(NewerRecord):
            ledger.update_notes(store, "key", 1.0, counted)
        assert ledger.notes_of(store, "key") == {"count": 1}
        path.write_bytes(before)
