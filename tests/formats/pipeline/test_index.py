"""Both indexes follow the state files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.files import fingerprints
from holdfast.formats.pipeline.files import GLOBAL, Location
from holdfast.testing import Project
from sessionwork import index_is_true, indexes_are_true, json_of, put, update_indexes

ONE, TWO = "generation-scene-0204-20251110-143000", "generation-scene-0205-20251110-143001"
SESSION = "work-on-chapter-02"


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    put(holdfast_project, ONE, SESSION)
    put(holdfast_project, TWO)
    update_indexes(holdfast_project)
    return holdfast_project


def test_an_index_has_the_shape_of_the_document(project: Project) -> None:
    assert json_of(project, Location(SESSION).index_file) == {
        "workflows": [
            {
                "workflow_id": ONE,
                "workflow_type": "generation",
                "status": "in_progress",
                "session_name": SESSION,
                "created_at": "2025-11-10T14:30:00Z",
                "updated_at": "2025-11-10T14:35:00Z",
                "state_file": f"workspace/sessions/{SESSION}/workflow-state/{ONE}.json",
            }
        ]
    }
    (entry,) = json_of(project, GLOBAL.index_file)["workflows"]
    assert entry["workflow_id"] == TWO
    assert "session_name" not in entry


def rewrite(path: Path, **changes: Any) -> None:
    data = {**json.loads(path.read_bytes()), **changes}
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize("how", ["missing", "wrong", "broken", "old", "no object", "a folder"])
@pytest.mark.parametrize("location", [GLOBAL, Location(SESSION)])
def test_an_index_that_is_not_true_is_made_anew(
    how: str, location: Location, project: Project
) -> None:
    path = project.root / location.index_file
    if how == "old":
        put(project, "generation-new-20251111-000000", location.session)
    else:
        path.unlink()
    if how == "wrong":
        path.write_text('{"workflows": [{"workflow_id": "gone"}]}', encoding="utf-8")
    elif how == "broken":
        path.write_text("{ torn", encoding="utf-8")
    elif how == "no object":
        path.write_text("[]", encoding="utf-8")
    elif how == "a folder":
        path.mkdir()
    assert not index_is_true(project.root, location)
    update_indexes(project)
    assert indexes_are_true(project)


def test_what_cannot_be_read_is_set_aside(project: Project) -> None:
    (project.root / GLOBAL.index_file).write_text("{ torn", encoding="utf-8")
    update_indexes(project)
    (aside,) = (project.root / ".claude/holdfast/quarantine").iterdir()
    assert aside.read_text("utf-8") == "{ torn"


def test_keys_that_the_document_does_not_name_stay(project: Project) -> None:
    path = project.root / GLOBAL.index_file
    (entry,) = json_of(project, GLOBAL.index_file)["workflows"]
    rewrite(path, x_made_by="another tool", workflows=[{"x_note": "mine", **entry}])
    put(project, TWO, status="failed")
    update_indexes(project)
    data = json_of(project, GLOBAL.index_file)
    assert data["x_made_by"] == "another tool"
    (entry,) = data["workflows"]
    assert next(iter(entry)) == "x_note"
    assert entry["status"] == "failed"


def test_an_index_that_is_true_is_not_written_again(project: Project) -> None:
    before = fingerprints.numbers((project.root / GLOBAL.index_file).stat())
    update_indexes(project)
    assert fingerprints.numbers((project.root / GLOBAL.index_file).stat()) == before


def test_an_index_that_somebody_laid_out_in_another_way_stays(project: Project) -> None:
    path = project.root / GLOBAL.index_file
    text = json.dumps(json_of(project, GLOBAL.index_file), indent=7)
    path.write_text(text, encoding="utf-8")
    update_indexes(project)
    assert path.read_text("utf-8") == text


def test_where_nothing_lies_there_is_no_index(holdfast_project: Project) -> None:
    update_indexes(holdfast_project)
    assert not (holdfast_project.root / "workspace").exists()


def test_an_index_that_leads_out_of_the_project_is_replaced(
    project: Project, tmp_path: Path
) -> None:
    path, outside = project.root / GLOBAL.index_file, tmp_path / "outside.json"
    outside.write_text('{"workflows": []}', encoding="utf-8")
    path.unlink()
    path.symlink_to(outside)
    update_indexes(project)
    assert json.loads(outside.read_bytes()) == {"workflows": []}
    assert not path.is_symlink()
    assert indexes_are_true(project)


def test_text_of_any_kind_is_written_as_json(project: Project) -> None:
    put(project, TWO, created_at='2025"\n\u202e', session_name="\ud800 ü")
    update_indexes(project)
    (entry,) = json_of(project, GLOBAL.index_file)["workflows"]
    assert entry["created_at"] == '2025"\n\u202e'
