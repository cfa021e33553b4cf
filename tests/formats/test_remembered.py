"""With what is remembered of state files and without it, everything told of them is the same."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast import hooklog
from holdfast.formats import registry
from holdfast.formats.base import Place, Survey
from holdfast.formats.gated.model import PHASES
from holdfast.records import replace
from holdfast.settings import Settings
from holdfast.store import Store
from holdfast.testing import Project

MANY = 20
SETTLED = 2.2  # seconds; a file that was just written is not remembered
T = "2026-01-05T10:00:00Z"


@pytest.fixture
def many(holdfast_project: Project) -> Project:
    """So many workflows of each format as are worth remembering, and old enough."""
    for number in range(MANY):
        for make in (skill, gated, pipeline):
            make(holdfast_project, number)
    time.sleep(SETTLED)
    return holdfast_project


def skill(project: Project, number: int) -> None:
    kind, folder = (
        ("tdd" if number % 4 == 1 else "dev"),
        ("completed" if number % 5 == 4 else "active"),
    )
    about = {"feature_file": f"docs/f{number // 2}.md", "task_index": 2 if kind == "tdd" else None}
    state = {
        "_schema": {"version": "1.0", "skill": kind},
        "workflow": {
            "id": f"{kind}-{number:08x}",
            "status": "completed" if folder == "completed" else "in_progress",
            "created_at": T,
            "updated_at": datetime.now(UTC).isoformat() if number % 3 else T,
            "branch": "main",
        },
        "context": about | {"feature_title": f"Feature {number}"},
        "state_machine": {"current_phase": "b", "phases": [{"name": "a"}, {"name": "b"}]},
        "tasks": [{"description": "one", "status": "completed"}, {"description": "two"}],
        "history": [],
    }
    path = f".claude/workflow-state/{folder}/{kind}-{number:08x}.json"
    project.write(path, json.dumps(state))


def gated(project: Project, number: int) -> None:
    slug, over = f"feature-{number:02}", number % 3 == 0
    stands = ["approved" if over or at == 0 else "pending" for at in range(5)]
    stands[1] = "approved" if over else "in_progress"
    state = {
        "feature": slug,
        "feature_title": f"Feature {number}",
        "branch": "main",
        "created_at": T,
        "updated_at": T,
        "current_phase": PHASES[4 if over else 1],
        "status": "completed" if over else "in_progress",
        "phases": {
            name: {"status": status, "iterations": 1}
            for name, status in zip(PHASES, stands, strict=True)
        },
        "escalations": [],
    }
    project.write(f"workflow/{slug}/workflow-state.json", json.dumps(state))
    for name, status in zip(PHASES, stands, strict=True):
        detail = {"phase": name, "status": status, "iterations": 1, "max_iterations": 4}
        project.write(f"workflow/{slug}/{name}/status.json", json.dumps(detail | {"history": []}))


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
    for name in ("skill", "gated", "pipeline"):
        with_memory = place(project, state_dir)
        without = replace(with_memory, user_folder=None)  # at the same moment
        chosen = registry.named(name)
        assert told(chosen.sync(with_memory, None)) == told(chosen.sync(without, None))
        assert chosen.present(with_memory) == chosen.present(without)


def remember(project: Project, state_dir: str) -> None:
    for name in ("skill", "gated", "pipeline"):
        assert registry.named(name).sync(place(project, state_dir), 1.0).failure is None


def rows(project: Project, state_dir: str, name: str) -> dict[str, Any]:
    folder = hooklog.folder(state_dir, str(project.root))
    record = json.loads(Path(folder, f"remembered-{name}.json").read_bytes())
    return dict(record["rows"])


def states(project: Project) -> list[Path]:
    found: list[Path] = []
    for folder in (".claude/workflow-state", "workflow", "workspace"):
        found += sorted((project.root / folder).rglob("*.json"))
    return found


def edits(project: Project, chance: random.Random) -> Iterator[Callable[[], object]]:
    """Ways in which somebody changes a state file."""
    path, other = chance.choice(states(project)), chance.choice(states(project))
    text, stat = path.read_text(), path.stat()
    status = chance.choice(
        ["completed", "in_progress", "abandoned", "pending", "nonsense", "failed"]
    )
    yield lambda: path.write_text(text.replace('"in_progress"', f'"{status}"'))
    yield lambda: path.write_text(text.replace("Feature", "Faeture"))  # of the same size
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


@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_changes_nothing(many: Project, tmp_path: Path, seed: int) -> None:
    state_dir, chance = str(tmp_path / "state"), random.Random(seed)  # noqa: S311
    remember(many, state_dir)
    assert len(rows(many, state_dir, "skill")) == MANY
    assert len(rows(many, state_dir, "gated")) == MANY
    assert len(rows(many, state_dir, "pipeline")) == MANY
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
        skill(holdfast_project, number)
    state_dir = str(tmp_path / "state")
    remember(holdfast_project, state_dir)
    assert not list((tmp_path / "state").rglob("remembered-*"))


def test_copies_are_kept_of_what_changed_and_those_that_got_lost_are_made_anew(
    many: Project, tmp_path: Path
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    store, path = Store(many.root), many.root / "workflow/feature-01/workflow-state.json"
    lost = many.root / "workflow/feature-02/01-requirements/status.json"
    store.forget(lost)
    path.write_text(path.read_text().replace("Feature", "Faeture"))
    remember(many, state_dir)
    copies = store.copies(path)
    assert copies
    assert "Faeture" in copies.good
    assert store.copies(lost)


def test_the_copy_of_a_pipeline_follows_it_to_its_end(many: Project, tmp_path: Path) -> None:
    """Else the copy would bring it back, should the state be damaged later."""
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    path = many.root / "workspace/workflow-state/generation-0003.json"
    assert Store(many.root).copies(path)
    path.write_text(path.read_text().replace('"in_progress"', '"completed"', 1))
    with Store(many.root).lock(1.0):  # a hook cannot save now, but sees what it says
        survey = registry.named("pipeline").sync(place(many, state_dir), 0.0)
        assert survey.failure
    remember(many, state_dir)
    copies = Store(many.root).copies(path)
    assert copies
    assert '"status": "completed"' in copies.good


@pytest.mark.parametrize(
    "content", [b"", b"[", b"[]", b'{"rows": []}', b'{"version": 99, "by": "9"}']
)
def test_rows_that_make_no_sense_are_as_good_as_none(
    many: Project, tmp_path: Path, content: bytes
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    folder = hooklog.folder(state_dir, str(many.root))
    for name in ("skill", "gated", "pipeline"):
        Path(folder, f"remembered-{name}.json").write_bytes(content)
    assert_same(many, state_dir)


def test_rows_of_a_newer_release_are_neither_believed_nor_written(
    many: Project, tmp_path: Path
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    path = Path(hooklog.folder(state_dir, str(many.root)), "remembered-skill.json")
    record = json.loads(path.read_bytes())
    assert record["version"] == 1
    newer = json.dumps({**record, "version": 99, "rows": {}})
    path.write_text(newer, encoding="utf-8")
    remember(many, state_dir)
    assert path.read_text(encoding="utf-8") == newer
    assert_same(many, state_dir)


def test_states_that_have_gone_are_forgotten(many: Project, tmp_path: Path) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    for path in states(many):
        if "workflow-state/active" in str(path):
            path.unlink()
    remember(many, state_dir)
    assert all(name.startswith("completed/") for name in rows(many, state_dir, "skill"))


def test_a_state_that_is_broken_while_a_hook_runs_is_told_from_its_copy(
    many: Project, tmp_path: Path
) -> None:
    state_dir = str(tmp_path / "state")
    remember(many, state_dir)
    survey = registry.named("skill").sync(place(many, state_dir), None)
    for path in states(many):
        if "workflow-state/active" in str(path):
            path.write_text("{")
    active = [each for each in survey.workflows if each.standing == "active"]
    assert active
    assert all(each.briefing.name == each.name for each in active)
