"""Which workflows there are, wherever they lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import NoSuchWorkflow, StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.pipeline import files, operations
from holdfast.formats.pipeline.files import GLOBAL, FoundWorkflows, Location, StateFile
from holdfast.formats.pipeline.format import FORMAT
from holdfast.testing import Project
from pipework import place
from sessionwork import everything, indexes_are_true, put, update_indexes

ONE, TWO, THREE = (f"generation-scene-020{each}-20251110-143000" for each in (1, 2, 3))


@pytest.fixture
def store(holdfast_project: Project) -> Store:
    return Store(holdfast_project.root)


def look(store: Store) -> FoundWorkflows:
    return FORMAT.look(place(store.root))


def ids(store: Store) -> list[str]:
    return [file.name for file in look(store).ordered]


def session(store: Store, file: StateFile) -> str | None:
    return files.location_of(store, file.path).session


def test_all_are_found_by_the_time_of_their_creation(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, TWO)
    put(holdfast_project, ONE, "b", created_at="2025-11-10T14:29:59Z")
    put(holdfast_project, THREE, "a", created_at="2025-11-10T14:40:00Z")
    assert ids(store) == [ONE, TWO, THREE]
    assert [session(store, file) for file in look(store).live] == ["b", None, "a"]


def test_of_a_committed_workflow_the_global_state_counts(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, ONE, "a", committed_from_session="a")
    put(holdfast_project, ONE, status="completed")
    found = look(store)
    (file,) = found.entries
    assert (session(store, file), file.row.status) == (None, "completed")
    assert files.find(store, ONE).state.status == "completed"


def test_what_a_session_kept_does_not_come_back_when_the_global_state_is_gone(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, ONE, "a", committed_from_session="a")
    assert ids(store) == []
    with pytest.raises(NoSuchWorkflow):
        files.find(store, ONE)


def test_one_id_is_one_workflow(store: Store, holdfast_project: Project) -> None:
    """A session that was copied by hand has the same ones."""
    put(holdfast_project, ONE, "a")
    put(holdfast_project, ONE, "b", status="failed")
    assert [session(store, file) for file in look(store).entries] == ["a"]
    assert files.find(store, ONE).state.status == "in_progress"


@pytest.mark.parametrize(
    ("content", "there"), [(None, False), ('{"x": 1}', False), ("{ torn", True)]
)
def test_whether_there_is_any(
    content: str | None, there: bool, store: Store, holdfast_project: Project
) -> None:
    if content:
        holdfast_project.write(f"{GLOBAL.states}/{ONE}.json", content)
    assert FORMAT.present(place(store.root)) == there
    put(holdfast_project, TWO, "a")
    assert FORMAT.present(place(store.root))


def test_one_is_found_by_its_id_alone(store: Store, holdfast_project: Project) -> None:
    path = put(holdfast_project, ONE, "a")
    assert files.find(store, ONE).path == path
    assert files.location_of(store, path) == Location("a")
    assert files.location_of(store, put(holdfast_project, TWO)) == GLOBAL
    with pytest.raises(NoSuchWorkflow, match="no workflow"):
        files.find(store, THREE)


def test_what_somebody_else_keeps_there_is_left_alone(
    store: Store, holdfast_project: Project
) -> None:
    holdfast_project.write(f"{GLOBAL.states}/config.json", '{"workflow_id": 3}')
    holdfast_project.write(f"{GLOBAL.states}/notes.txt", "x")
    holdfast_project.write(f"{GLOBAL.states}/{ONE}.json", "{ torn")
    before = everything(holdfast_project)
    found = look(store)
    assert found.entries == []
    assert [(file.path.name, file.is_ours) for file in found.unusable] == [
        ("config.json", False),
        (f"{ONE}.json", True),
    ]
    assert everything(holdfast_project) == before
    with pytest.raises(StateUnreadable):
        files.find(store, ONE)


def test_a_state_whose_name_is_no_id_is_told(store: Store, holdfast_project: Project) -> None:
    path = put(holdfast_project, ONE)
    path.rename(path.with_name("state?.json"))
    (lost,) = look(store).unusable
    assert lost.is_ours
    assert "name" in lost.reason


def test_a_state_that_is_torn_counts_as_its_last_good_copy(
    store: Store, holdfast_project: Project
) -> None:
    path = put(holdfast_project, ONE)
    with store.lock(1):
        store.keep(path, path.read_bytes(), None)
    path.write_text("{ torn", encoding="utf-8")
    assert ids(store) == [ONE]
    (file,) = look(store).live
    assert file.broken


def test_a_link_out_of_the_project_is_no_state(
    store: Store, holdfast_project: Project, tmp_path: Path
) -> None:
    path = put(holdfast_project, ONE)
    moved = path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(moved)
    assert ids(store) == []


@pytest.mark.parametrize("how", ["in place", "replaced", "gone", "another", "linked"])
def test_what_somebody_changes_is_seen_at_once(
    how: str, store: Store, holdfast_project: Project
) -> None:
    path = put(holdfast_project, ONE)
    update_indexes(holdfast_project)
    expected = [(ONE, "failed")]
    if how == "in place":
        text = path.read_text(encoding="utf-8").replace('"in_progress"', '"failed"', 1)
        path.write_text(text, encoding="utf-8")
    elif how == "gone":
        path.unlink()
        expected = []
    elif how == "another":
        put(holdfast_project, TWO)
        expected = [(ONE, "in_progress"), (TWO, "in_progress")]
    elif how == "replaced":
        other = put(holdfast_project, TWO, status="failed")
        os.replace(other, path)
    else:
        kept = path.rename(path.with_suffix(".txt"))
        path.symlink_to(kept)
        kept.write_text(kept.read_text("utf-8").replace('"in_progress"', '"failed"', 1), "utf-8")
    found = FORMAT.look(place(store.root))
    assert [(file.name, file.row.status) for file in found.ordered] == expected
    assert not indexes_are_true(holdfast_project)


def test_a_filter_is_by_status_type_and_session(store: Store, holdfast_project: Project) -> None:
    put(holdfast_project, ONE, status="failed")
    put(holdfast_project, TWO, "a")
    put(holdfast_project, THREE, committed_from_session="a")

    def chosen(**by: Any) -> list[str]:
        listed = operations.list_workflows(place(store.root), **by)["workflows"]
        return [row["workflow_id"] for row in listed]

    assert chosen() == [ONE, TWO, THREE]
    assert chosen(status="failed") == [ONE]
    assert chosen(workflow_type="planning") == []
    assert chosen(session_name="a") == [TWO, THREE]
    assert chosen(session_name="a", status="failed") == []


def test_a_state_of_any_bad_shape_is_no_reason_to_fail(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, ONE, created_at=["x"], updated_at={"y": 1}, session_name=3)
    put(holdfast_project, TWO, workflow_type="../../x")
    put(holdfast_project, THREE)
    assert THREE in ids(store)
    update_indexes(holdfast_project)
    assert files.find(store, THREE)
