"""A run that has ended is archived as a whole, whatever kills the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import checkpoints, files, learnings
from holdfast.testing import Project
from orchestrated import change, example, killed, place, put, state

STAYS = {"learnings.jsonl", "locks.json", "holdfast", "settings.json"}


def end(project: Project, status: str = "completed") -> dict[str, bytes]:
    """End the run; what has to be in the archive."""
    data = state(project)
    data["orchestrator"] |= {"status": status, "end_time": "2026-01-15T14:00:00Z"}
    put(project, data)
    folder = project.root / files.FOLDER
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name not in STAYS - {"learnings.jsonl"}
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def left(project: Project) -> set[str]:
    return set(os.listdir(project.root / files.FOLDER))


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    put(holdfast_project, example())
    here = place(holdfast_project)
    checkpoints.take(here)
    change(holdfast_project, learnings.learn, "insight", "a lesson", pattern="", context="")
    checkpoints.take(here)
    holdfast_project.write(files.LOCKS, '{"locks": []}')
    holdfast_project.write(".claude/settings.json", "{}")
    return holdfast_project


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_all_is_put_away_and_nothing_else(status: str, project: Project) -> None:
    """Byte for byte; the log of learnings is in both places."""
    expected = end(project, status)
    assert {"checkpoint-001.json", "checkpoint.json", "learnings.jsonl"} <= set(expected)
    folder = checkpoints.put_away(place(project))
    assert folder.relative_to(project.root).as_posix() == (
        ".claude/holdfast/archive/20260115_120000-agent-state"
    )
    assert contents(folder) == expected
    assert left(project) == STAYS
    assert (project.root / files.LEARNINGS).read_bytes() == expected["learnings.jsonl"]


def test_what_goes_on_is_not_put_away(project: Project) -> None:
    """It has to be completed or failed first."""
    with pytest.raises(IllegalMove, match="is executing"):
        checkpoints.put_away(place(project))
    assert "agent-state.json" in left(project)


def test_a_second_one_of_the_same_start_gets_a_folder_of_its_own(project: Project) -> None:
    """Such as a run that somebody took out of the archive and continued."""
    end(project)
    first = checkpoints.put_away(place(project))
    put(project, (first / "agent-state.json").read_text().replace("$0.75", "$0.80"))
    second = checkpoints.put_away(place(project))
    assert second.name == f"{first.name}-2"
    assert b"$0.75" in (first / "agent-state.json").read_bytes()


def test_a_damaged_snapshot_goes_along(project: Project) -> None:
    """What is not a regular file is set aside."""
    project.write(".claude/checkpoint-003.json", "{")
    os.mkfifo(project.root / ".claude" / "checkpoint-004.json")
    end(project)
    folder = checkpoints.put_away(place(project))
    assert contents(folder)["checkpoint-003.json"] == b"{"
    assert left(project) == STAYS


def test_the_next_run_begins_its_numbers_anew(project: Project) -> None:
    """It gets none of the learnings of the run before."""
    end(project)
    checkpoints.put_away(place(project))
    again = example()
    again["orchestrator"]["start_time"] = "2026-01-16T09:00:00Z"
    put(project, {**again, "learnings": []})
    assert checkpoints.take(place(project)).entry.state.checkpoints[-1].state_snapshot == (
        "checkpoint-001.json"
    )
    assert state(project)["learnings"] == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("call", "number"),
    [
        *(("replace", each) for each in range(1, 7)),
        *(("unlink", each) for each in range(1, 8)),
    ],
)
def test_killed_at_any_moment_nothing_is_lost(
    call: str, number: int, after: bool, project: Project
) -> None:
    """kill -9 around each step; the run stays until everything is archived, and repeating finishes it."""
    expected = end(project)
    killed(project, "checkpoints.put_away(place)", call, number, after=after)
    folder = project.root / ".claude/holdfast/archive/20260115_120000-agent-state"
    there = (
        contents(project.root / ".claude" / "holdfast" / "archive" / folder.name)
        if (folder.exists())
        else {}
    )
    for name, data in expected.items():
        path = project.root / files.FOLDER / name
        assert data in {there.get(name), path.read_bytes() if path.exists() else None}
    if (project.root / files.STATE).exists():
        assert checkpoints.put_away(place(project)) == folder
    assert contents(folder) == expected
    assert left(project) == STAYS
