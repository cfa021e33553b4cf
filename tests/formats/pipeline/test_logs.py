"""One log a workflow: only added to, and safe to look at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.pipeline import files, logs
from holdfast.testing import Project

ONE = "generation-scene-0204-20251110-143000"


@pytest.fixture
def store(holdfast_project: Project) -> Store:
    return Store(holdfast_project.root)


def test_each_change_is_a_line(store: Store) -> None:
    assert logs.read(store, ONE) == []
    with store.lock(1):
        logs.note(store, ONE, "2025-11-10T14:30:00Z", "started", by="holdfast pipeline start")
        logs.note(store, ONE, "2025-11-10T14:31:00Z", "updated", step=2, status=None, reason="")
    assert logs.read(store, ONE) == [
        {"time": "2025-11-10T14:30:00Z", "event": "started", "by": "holdfast pipeline start"},
        {"time": "2025-11-10T14:31:00Z", "event": "updated", "step": 2},
    ]


def test_what_stands_there_is_never_rewritten(store: Store, holdfast_project: Project) -> None:
    """Others may log to it as well, and were perhaps killed in the middle of a line."""
    path = holdfast_project.write(files.log(ONE), "theirs\n{ torn")
    with store.lock(1):
        logs.note(store, ONE, "2025-11-10T14:30:00Z", "started")
    assert path.read_text("utf-8").startswith("theirs\n{ torn\n{")
    assert [line["event"] for line in logs.read(store, ONE)] == ["started"]


def test_text_is_safe_for_whoever_looks_at_the_file(store: Store) -> None:
    with store.lock(1):
        logs.note(store, ONE, "t", "failed", reason="\x1b[31mred\u202e\nsecond " + "x" * 999)
    raw = (store.root / files.log(ONE)).read_bytes()
    assert raw.count(b"\n") == 1
    assert b"\x1b" not in raw
    assert "\u202e" not in raw.decode()
    assert len(raw) < 500


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_log_that_leads_out_of_the_project_is_left_alone(
    linked: str, store: Store, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{ONE}.log").write_text("{}\n", encoding="utf-8")
    path = store.root / files.log(ONE)
    path.parent.parent.mkdir(parents=True)
    if linked == "folder":
        os.symlink(outside, path.parent)
    else:
        path.parent.mkdir()
        path.symlink_to(outside / f"{ONE}.log")
    with store.lock(1):
        logs.note(store, ONE, "t", "started")
    assert (outside / f"{ONE}.log").read_text("utf-8") == "{}\n"
    assert logs.read(store, ONE) == []


def test_the_log_of_a_path_is_refused(store: Store) -> None:
    with pytest.raises(IllegalMove):
        logs.read(store, "../../../etc/passwd")
