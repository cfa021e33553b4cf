"""Several files changed as one: all or none, whatever kills the writer."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deadly import ARMED
from holdfast.errors import NewerRecord, StateUnwritable
from holdfast.files import together
from holdfast.files.store import Store
from holdfast.files.together import Change

OLD = {"state/a.json": b"old a", "state/b.json": b"old b", "state/gone.json": b"old gone"}
NEW = {"state/a.json": b"new a \xff", "state/b.json": b"new b", "state/made.json": b"made"}

WRITER = f"""{ARMED}
import sys
from pathlib import Path
from holdfast.files import together
from holdfast.files.store import Store
from holdfast.files.together import Change
store, call, number, after = Store(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "after"
with store.lock(1):
    arm(call, number=number, after=after)
    together.write(store, "test", [
        Change(store.root / "state/a.json", b"new a \\xff"),
        Change(store.root / "state/b.json", b"new b"),
        Change(store.root / "state/gone.json", None),
        Change(store.root / "state/made.json", b"made"),
    ])
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    for name, data in OLD.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Store(tmp_path / "project")


def held(store: Store) -> dict[str, bytes]:
    return {store.relative(path): path.read_bytes() for path in (store.root / "state").iterdir()}


def changes(store: Store) -> list[Change]:
    return [Change(store.root / name, NEW.get(name)) for name in sorted({*OLD, *NEW})]


def finish(store: Store) -> list[str]:
    with store.lock(1):
        return together.finish(
            store, "test", lambda path: path.startswith("state/"), "20260101_000000"
        )


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("call", "number"),
    [
        *(("replace", each) for each in range(1, 5)),
        *(("fsync", each) for each in range(1, 7)),
        ("unlink", 1),
    ],
)
def test_killed_at_any_moment_all_is_old_or_all_becomes_new(
    call: str, number: int, moment: str, store: Store
) -> None:
    """The next one who takes the lock brings it to an end."""
    ended = subprocess.run(
        [sys.executable, "-c", WRITER, str(store.root), call, str(number), moment],
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr
    begun = together.is_unfinished(store, "test")
    told = finish(store)
    assert held(store) == (NEW if begun else OLD)
    assert not begun or len(told) <= 1
    assert not together.is_unfinished(store, "test")
    assert finish(store) == []


def test_all_is_written_and_no_note_stays(store: Store) -> None:
    """What nobody interrupts."""
    with store.lock(1):
        together.write(store, "test", changes(store))
    assert held(store) == NEW
    assert not together.is_unfinished(store, "test")


def test_a_write_that_fails_is_taken_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full at the third file leaves what was there before."""
    real, seen = os.replace, 0

    def full(source: str, target: str) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with store.lock(1), pytest.raises(StateUnwritable, match="No space"):
        together.write(store, "test", changes(store))
    assert held(store) == OLD
    assert not together.is_unfinished(store, "test")


def noted(store: Store, *entries: dict[str, str | None], version: int = 1) -> Path:
    path = store.private / "unfinished" / "test.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": version, "changes": entries}), encoding="utf-8")
    return path


def test_what_somebody_changed_since_is_left_and_told(store: Store) -> None:
    """And what the interrupted command was about to write is still there."""
    noted(store, {"path": "state/a.json", "before": "0" * 64, "after": "from before"})
    (line,) = finish(store)
    assert "state/a.json" in line
    assert held(store) == OLD
    (aside,) = (store.private / "quarantine").iterdir()
    assert b"from before" in aside.read_bytes()


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "../outside", "state/../other.json"])
def test_a_planted_note_writes_nothing_but_what_is_allowed(path: str, store: Store) -> None:
    """It came with a clone."""
    noted(store, {"path": path, "before": None, "after": "#!/bin/sh\n"})
    with store.lock(1):
        together.finish(store, "test", lambda each: each == "state/a.json", "20260101_000000")
    assert not (store.root / path).exists()
    assert held(store) == OLD


@pytest.mark.parametrize("content", ['{"changes": 3}', '{"changes": [1, {}]}'])
def test_a_broken_note_does_nothing(content: str, store: Store) -> None:
    """A write is whole or absent, so nobody was half way through with it."""
    noted(store).write_text(content, encoding="utf-8")
    assert finish(store) == []
    assert held(store) == OLD
    assert not together.is_unfinished(store, "test")


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_note_that_is_no_record_is_put_aside_and_told(content: str, store: Store) -> None:
    noted(store).write_text(content, encoding="utf-8")
    (told,) = finish(store)
    assert told.startswith("the record of an interrupted command cannot be read")
    assert (store.root / told.rpartition(" ")[2]).read_text(encoding="utf-8") == content
    assert held(store) == OLD
    assert not together.is_unfinished(store, "test")


def test_a_note_of_a_newer_holdfast_is_left_alone(store: Store) -> None:
    """This one does not know what it means."""
    path = noted(store, {"path": "state/a.json", "before": None, "after": ""}, version=99)
    with pytest.raises(NewerRecord):
        finish(store)
    assert path.exists()
