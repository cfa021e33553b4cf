"""With the row cache and without it, everything told of state files is the same."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from surveying import surveyed

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats import registry
from holdfast.formats.engine.workflow import Place, Survey
from holdfast.records import hooklog
from holdfast.testing import Project

MANY = 20
SETTLED = 2.2  # seconds; a file that was just written is not remembered
T = "2026-01-05T10:00:00Z"


@pytest.fixture
def many(holdfast_project: Project) -> Project:
    """So many workflows as are worth remembering, and old enough."""
    for number in range(MANY):
        pipeline(holdfast_project, number)
    time.sleep(SETTLED)
    return holdfast_project


def pipeline(project: Project, number: int) -> None:
    base = "workspace" if number % 2 else f"workspace/sessions/s{number % 3}"
    state = {
        "workflow_id": f"generation-{number:04}",
        "workflow_type": "generation",
        "status": ("in_progress", "completed", "failed")[number % 3],
        "created_at": T,
        "updated_at": T,
        "generation": {"steps": [{"name": "A", "status": "in_progress"}, {"name": "B"}]},
    }
    project.write(f"{base}/workflow-state/generation-{number:04}.json", json.dumps(state))


def place(project: Project, state_dir: str | None) -> Place:
    now = datetime.now(UTC).replace(microsecond=0)
    folder = hooklog.folder(state_dir, str(project.root)) if state_dir else None
    return Place(Store(project.root), Settings(), now, "side", "side", user_folder=folder)


def told(survey: Survey) -> dict[str, Any]:
    fields = ("format", "key", "name", "kept", "standing", "changed_at", "created_at", "handle")
    fields += ("branch", "remark", "cautions", "part_of", "put_away", "cleared_with", "saved_at")
    workflows = [
        [getattr(each, name) for name in (*fields, "briefing")] for each in survey.workflows
    ]
    return {"workflows": workflows, "looked": survey.looked, "notes": survey.notes}


def assert_same(project: Project, state_dir: str) -> None:
    with_memory = place(project, state_dir)
    without = replace(with_memory, user_folder=None)  # at the same moment
    chosen = registry.named("pipeline")
    assert told(surveyed(chosen, with_memory)) == told(surveyed(chosen, without))
    assert chosen.present(with_memory) == chosen.present(without)


def remember(project: Project, state_dir: str) -> None:
    assert surveyed(registry.named("pipeline"), place(project, state_dir), 1.0).failure is None


def rows(project: Project, state_dir: str) -> dict[str, Any]:
    folder = hooklog.folder(state_dir, str(project.root))
    return dict(json.loads(Path(folder, "rows.json").read_bytes())["rows"])


def states(project: Project) -> list[Path]:
    return sorted((project.root / "workspace").rglob("*.json"))


def edits(project: Project, chance: random.Random) -> Iterator[Callable[[], object]]:
    """Ways in which somebody changes a state file."""
    path, other = chance.choice(states(project)), chance.choice(states(project))
    text, stat = path.read_text(), path.stat()
    status = chance.choice(
        ["completed", "in_progress", "abandoned", "pending", "nonsense", "failed"]
    )
    yield lambda: path.write_text(text.replace('"in_progress"', f'"{status}"'))
    yield lambda: path.write_text(text.replace('"A"', '"Z"'))  # of the same size
    yield lambda: (
        path.write_text(text.replace("2", "3")),
        os.utime(path, ns=(0, stat.st_mtime_ns)),
    )
    yield lambda: path.write_text(text[: len(text) // 2])
    yield path.unlink
    yield lambda: os.replace(path, path.with_name(f"x{chance.random()}.json"))
    yield lambda: other != path and os.replace(path, other)
    yield lambda: (path.unlink(), path.symlink_to(other)) if other != path else None
    yield lambda: path.with_name("copy-0001.json").write_text(text)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_changes_nothing(many: Project, tmp_path: Path, seed: int) -> None:
    state_dir, chance = str(tmp_path / "state"), random.Random(seed)  # noqa: S311
    remember(many, state_dir)
    assert len(rows(many, state_dir)) == MANY
    assert_same(many, state_dir)
    for number in range(40):
        chance.choice(list(edits(many, chance)))()
        assert_same(many, state_dir)
        if number == 20:
            remember(many, state_dir)
            assert_same(many, state_dir)


def test_a_file_that_was_just_written_is_not_remembered(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """It could be written once more without another stamp."""
    for number in range(MANY):
        pipeline(holdfast_project, number)
    state_dir = str(tmp_path / "state")
    remember(holdfast_project, state_dir)
    assert not list((tmp_path / "state").rglob("rows.json"))


def test_copies_are_kept_of_what_changed_and_those_that_got_lost_are_made_anew(
    many: Project, tmp_path: Path
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    store, path = Store(many.root), many.root / "workspace/workflow-state/generation-0003.json"
    lost = many.root / "workspace/sessions/s0/workflow-state/generation-0006.json"
    store.forget(lost)
    path.write_text(path.read_text().replace('"A"', '"Aa"'))
    remember(many, state_dir)
    copies = store.copies(path)
    assert copies
    assert b'"Aa"' in copies.good
    assert store.copies(lost)


def test_the_copy_of_a_pipeline_follows_it_to_its_end(many: Project, tmp_path: Path) -> None:
    """Else the copy would bring it back, should the state be damaged later."""
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    path = many.root / "workspace/workflow-state/generation-0003.json"
    assert Store(many.root).copies(path)
    path.write_text(path.read_text().replace('"in_progress"', '"completed"', 1))
    with Store(many.root).lock(1.0):  # a hook cannot save now, but sees what it says
        survey = surveyed(registry.named("pipeline"), place(many, state_dir), 0.0)
        assert survey.failure
    remember(many, state_dir)
    copies = Store(many.root).copies(path)
    assert copies
    assert b'"status": "completed"' in copies.good


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b'{"rows": []}', b'{"rows": 1, "by": "9"}'])
def test_rows_that_make_no_sense_are_as_good_as_none(
    many: Project, tmp_path: Path, content: bytes
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    folder = hooklog.folder(state_dir, str(many.root))
    Path(folder, "rows.json").write_bytes(content)
    assert_same(many, state_dir)


def test_rows_of_another_release_are_not_believed(many: Project, tmp_path: Path) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    path = Path(hooklog.folder(state_dir, str(many.root)), "rows.json")
    record = json.loads(path.read_bytes())
    for row in record["rows"].values():
        row[1][0] = "another type"
    path.write_text(json.dumps({**record, "by": "99.0"}), encoding="utf-8")
    assert_same(many, state_dir)
    remember(many, state_dir)
    assert "another type" not in path.read_text(encoding="utf-8")


def test_states_that_have_gone_are_forgotten(many: Project, tmp_path: Path) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    for path in states(many)[3:]:
        path.unlink()
    remember(many, state_dir)
    assert len(rows(many, state_dir)) == 3


def test_a_state_that_is_broken_while_a_hook_runs_is_told_from_its_copy(
    many: Project, tmp_path: Path
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    survey = surveyed(registry.named("pipeline"), place(many, state_dir))
    for path in states(many):
        path.write_text("{")
    active = [each for each in survey.workflows if each.standing == "active"]
    assert active
    assert all(each.briefing.name == each.name for each in active)
