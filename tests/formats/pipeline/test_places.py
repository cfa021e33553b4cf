"""Names that become paths, ids that are unique, and folders that lead elsewhere."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.errors import IllegalMove
from holdfast.files.store import Store
from holdfast.formats.pipeline import files
from holdfast.formats.pipeline.files import GLOBAL, Location
from holdfast.formats.pipeline.format import FORMAT
from holdfast.testing import Project

HOSTILE = [
    *("", ".", "..", "../x", "a/b", "/etc", ".git", "a\0b", "a\nb", " a", "-rf", "x" * 121),
    *("é" * 61, "a\\b", "a.", "C:x", "a ", "a*", "\udcff", "\u202ea"),
]
NOW = datetime(2025, 11, 10, 14, 30, tzinfo=UTC)
FIRST = "generation-scene-0204-20251110-143000"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(IllegalMove):
        files.checked_session(name)
    with pytest.raises(IllegalMove):
        files.checked_id(name)


@pytest.mark.parametrize(
    "name", ["work-on-chapter-02", "глава-2", "a", "v1.2", "_x_", "chapter 2", "e\u0301", "x" * 120]
)
def test_a_name_as_people_give_it_is_taken(name: str) -> None:
    assert files.checked_session(name) == name
    assert files.checked_id(name) == name


@pytest.mark.parametrize("name", ["index", "INDEX"])
def test_no_workflow_lies_where_the_index_does(name: str) -> None:
    with pytest.raises(IllegalMove):
        files.checked_id(name)


def test_no_session_is_called_what_means_none() -> None:
    with pytest.raises(IllegalMove, match="global"):
        files.checked_session("global")


def test_all_lies_where_the_document_says() -> None:
    session = Location("work-on-chapter-02")
    base = "workspace/sessions/work-on-chapter-02"
    assert session.state(FIRST) == f"{base}/workflow-state/{FIRST}.json"
    assert session.index_file == f"{base}/workflow-state/index.json"
    assert session.run("generation", FIRST) == f"{base}/generation-runs/{FIRST}"
    assert GLOBAL.state(FIRST) == f"workspace/workflow-state/{FIRST}.json"
    assert GLOBAL.index_file == "workspace/workflow-state/index.json"
    assert GLOBAL.run("planning", FIRST) == f"workspace/planning-runs/{FIRST}"
    assert files.log(FIRST) == f"workspace/logs/workflow-orchestration/{FIRST}.log"


@pytest.mark.parametrize(
    "taken",
    [
        GLOBAL.state(FIRST),
        Location("other").state(FIRST),
        f"{GLOBAL.run('generation', FIRST)}/left.md",
        files.log(FIRST),
    ],
)
def test_an_id_is_unique_within_its_second_wherever_it_is_used(
    taken: str, holdfast_project: Project
) -> None:
    store = Store(holdfast_project.root)
    assert files.new_id(store, "generation", "scene-0204", NOW) == FIRST
    holdfast_project.write(taken, "{}")
    assert files.new_id(store, "generation", "scene-0204", NOW) == f"{FIRST}-2"
    holdfast_project.write(GLOBAL.state(f"{FIRST}-2"), "{}")
    assert files.new_id(store, "generation", "scene-0204", NOW) == f"{FIRST}-3"


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("pull request 42", "pull-request-42"),
        ("сцена 4", "сцена-4"),
        ("x" * 300, "x" * 60),
        ("é" * 300, "é" * 30),
        ("...", None),
    ],
)
def test_any_text_may_be_what_a_workflow_is_about(
    subject: str, part: str | None, holdfast_project: Project
) -> None:
    made = files.new_id(Store(holdfast_project.root), "review", subject, NOW)
    assert made == "-".join(filter(None, ("review", part, "20251110-143000")))
    assert files.is_id(made)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside" / "workflow-state"
    folder.mkdir(parents=True)
    (folder / f"{FIRST}.json").write_text("{}", encoding="utf-8")
    return folder.parent


def test_a_session_is_a_folder_and_no_link(outside: Path, holdfast_project: Project) -> None:
    holdfast_project.write(f"{files.SESSIONS}/real/note.md", "")
    holdfast_project.write(f"{files.SESSIONS}/a-file", "")
    holdfast_project.write(f"{files.SESSIONS}/.hidden/x", "")
    holdfast_project.write(f"{files.SESSIONS}/global/x", "")
    os.symlink(outside, holdfast_project.root / files.SESSIONS / "linked")
    assert files.session_names(Store(holdfast_project.root)) == ["real"]


def test_sessions_that_lead_out_of_the_project_are_none(
    outside: Path, holdfast_project: Project
) -> None:
    (holdfast_project.root / "workspace").mkdir()
    os.symlink(outside.parent, holdfast_project.root / files.SESSIONS)
    assert files.session_names(Store(holdfast_project.root)) == []


def test_states_that_lie_outside_are_not_looked_for(
    outside: Path, holdfast_project: Project
) -> None:
    os.symlink(outside, holdfast_project.root / "workspace")
    assert list(FORMAT.paths(Store(holdfast_project.root))) == []
