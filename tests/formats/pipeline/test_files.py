"""Which workflows there are, and that those which are over are not read again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.errors import NoSuchWorkflow, StateUnreadable
from holdfast.formats.pipeline import files, states
from holdfast.formats.pipeline.places import GLOBAL, Location
from holdfast.store import Store
from holdfast.testing import Project
from sessionwork import everything, put, update_indexes

ONE, TWO, THREE = (f"generation-scene-020{each}-20251110-143000" for each in (1, 2, 3))


@pytest.fixture
def store(holdfast_project: Project) -> Store:
    return Store(holdfast_project.root)


def ids(store: Store) -> list[str]:
    return [row.workflow_id for row in files.look(store).rows]


def test_all_are_found_by_the_time_of_their_creation(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, TWO)
    put(holdfast_project, ONE, "b", created_at="2025-11-10T14:29:59Z")
    put(holdfast_project, THREE, "a", created_at="2025-11-10T14:40:00Z")
    assert ids(store) == [ONE, TWO, THREE]
    assert [row.session for row in files.look(store).rows] == ["b", None, "a"]
    assert [held.id for held in files.look(store).live] == [ONE, TWO, THREE]


def test_of_a_committed_workflow_the_global_state_counts(
    store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, ONE, "a", committed_from_session="a")
    put(holdfast_project, ONE, status="completed")
    found = files.look(store)
    assert [(row.session, row.status) for row in found.rows] == [(None, "completed")]
    assert [row.session for row in found.passed_over] == ["a"]
    assert files.find(store, ONE).state.status == "completed"
    assert files.find(store, ONE, "a").state.status == "completed"


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
    assert [row.session for row in files.look(store).rows] == ["a"]
    assert files.find(store, ONE).state.status == "in_progress"
    assert files.find(store, ONE, "b").state.status == "failed"


@pytest.mark.parametrize(
    ("content", "there"), [(None, False), ('{"x": 1}', False), ("{ torn", True)]
)
def test_whether_there_is_any(
    content: str | None, there: bool, store: Store, holdfast_project: Project
) -> None:
    if content:
        holdfast_project.write(f"{GLOBAL.states}/{ONE}.json", content)
    assert files.is_any(store) == there
    put(holdfast_project, TWO, "a")
    assert files.is_any(store)


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
    found = files.look(store)
    assert found.rows == []
    assert [(each.path.name, each.is_ours) for each in found.unusable] == [
        ("config.json", False),
        (f"{ONE}.json", True),
    ]
    assert everything(holdfast_project) == before
    with pytest.raises(StateUnreadable):
        files.find(store, ONE)


def test_a_state_whose_name_is_no_id_is_told(store: Store, holdfast_project: Project) -> None:
    path = put(holdfast_project, ONE)
    path.rename(path.with_name("state?.json"))
    (lost,) = files.look(store).unusable
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
    (held,) = files.look(store).live
    assert held.broken


def test_a_link_out_of_the_project_is_no_state(
    store: Store, holdfast_project: Project, tmp_path: Path
) -> None:
    path = put(holdfast_project, ONE)
    moved = path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(moved)
    assert ids(store) == []


def changed_unseen(path: Path, old: str, new: str) -> None:
    """Edit a file so that its time, size and number stay the same."""
    assert len(old) == len(new)
    times, text = path.stat(), path.read_text(encoding="utf-8")
    with path.open("r+", encoding="utf-8") as stream:
        stream.write(text.replace(old, new))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_what_has_not_changed_is_not_read_again(store: Store, holdfast_project: Project) -> None:
    path = put(holdfast_project, ONE)
    update_indexes(holdfast_project)
    assert files.look(store).is_indexed
    changed_unseen(path, '"in_progress"', '"in-progress"')
    changed_unseen(path, "14:30:00Z", "14:30:59Z")
    (row,) = files.look(store).rows
    assert row.created_at == "2025-11-10T14:30:00Z"


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
    found = files.look(store)
    assert [(row.workflow_id, row.status) for row in found.rows] == expected
    assert not found.is_indexed


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"version": 1, "rows": [[3]]}', '{"rows": 7, "index": 1}']
)
def test_what_is_kept_is_never_needed(
    content: str, store: Store, holdfast_project: Project
) -> None:
    put(holdfast_project, ONE)
    update_indexes(holdfast_project)
    (kept,) = (store.private / "listings").iterdir()
    kept.write_text(content, encoding="utf-8")
    assert ids(store) == [ONE]
    update_indexes(holdfast_project)
    assert files.look(store).is_indexed


def test_what_a_newer_release_keeps_is_left_alone(store: Store, holdfast_project: Project) -> None:
    put(holdfast_project, ONE)
    update_indexes(holdfast_project)
    (kept,) = (store.private / "listings").iterdir()
    newer = {**json.loads(kept.read_bytes()), "version": 99, "rows": "in another way"}
    kept.write_text(json.dumps(newer), encoding="utf-8")
    put(holdfast_project, TWO)
    update_indexes(holdfast_project)
    assert ids(store) == [ONE, TWO]
    assert json.loads(kept.read_bytes()) == newer


def test_a_filter_is_by_status_type_and_session(store: Store, holdfast_project: Project) -> None:
    put(holdfast_project, ONE, status="failed")
    put(holdfast_project, TWO, "a")
    put(holdfast_project, THREE, committed_from_session="a")
    rows = files.look(store).rows

    def chosen(**by: str) -> list[str]:
        return [row.workflow_id for row in files.select(rows, **by)]

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
    assert states.read(store, store.root / GLOBAL.state(THREE))
