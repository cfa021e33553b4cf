"""One log a workflow: only added to, and safe to look at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.pipeline import files, operations
from holdfast.testing import Project
from pipework import GENERATION, STATES, place, put

ONE = "generation-scene-0204-20251110-143000"


@pytest.fixture
def store(holdfast_project: Project) -> Store:
    return Store(holdfast_project.root)


def test_each_change_is_a_line(store: Store) -> None:
    assert files.noted(store, ONE) == []
    with store.lock(1):
        files.note(store, ONE, "2025-11-10T14:30:00Z", "started", by="holdfast pipeline start")
        files.note(store, ONE, "2025-11-10T14:31:00Z", "updated", step=2, status=None, reason="")
    assert files.noted(store, ONE) == [
        {"at": "2025-11-10T14:30:00Z", "event": "started", "by": "holdfast pipeline start"},
        {"at": "2025-11-10T14:31:00Z", "event": "updated", "step": 2},
    ]


def test_what_stands_there_is_never_rewritten(store: Store, holdfast_project: Project) -> None:
    """Others may log to it as well, and were perhaps killed in the middle of a line."""
    path = holdfast_project.write(files.log(ONE), "theirs\n{ torn")
    with store.lock(1):
        files.note(store, ONE, "2025-11-10T14:30:00Z", "started")
    assert path.read_text("utf-8").startswith("theirs\n{ torn\n{")
    assert [line["event"] for line in files.noted(store, ONE)] == ["started"]


def test_text_is_safe_for_whoever_looks_at_the_file(store: Store) -> None:
    with store.lock(1):
        files.note(store, ONE, "t", "failed", reason="\x1b[31mred\u202e\nsecond " + "x" * 999)
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
        files.note(store, ONE, "t", "started")
    assert (outside / f"{ONE}.log").read_text("utf-8") == "{}\n"
    assert files.noted(store, ONE) == []


def test_the_log_of_a_path_is_refused(store: Store) -> None:
    with pytest.raises(IllegalMove):
        files.noted(store, "../../../etc/passwd")


def test_an_approval_of_the_step_that_waits_is_logged_with_its_number(tmp_path: Path) -> None:
    """Without a number in the command, the line had none."""
    put(tmp_path, GENERATION, STATES[GENERATION])
    operations.approve_step(place(tmp_path, 30), GENERATION, None, approved=True)
    (line,) = files.noted(Store(tmp_path), GENERATION)
    assert (line["event"], line["step"], line["stands"]) == ("approve", 3, "completed")
