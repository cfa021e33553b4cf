"""What was parsed once never hides a change."""

from __future__ import annotations

import os
from pathlib import Path

from surveying import surveyed

from holdfast.clock import Clock
from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.canonical import files
from holdfast.formats.canonical.format import FORMAT
from holdfast.formats.canonical.view import View, look
from holdfast.formats.engine.workflow import Place

TEXT = "# Current Workflow State\n\nWorkflow: Shop\nPhase: 1/9 - Start\n"


def place(root: Path) -> Place:
    return Place(Store(root), Settings(), Clock().now(), None, None)


def saved(root: Path) -> View:
    """A project whose one workflow is declared and kept."""
    (root / "CLAUDE.local.md").write_text(TEXT, encoding="utf-8")
    here = place(root)
    assert surveyed(FORMAT, here, 1).saved == ["Shop"]
    return look(here)


def test_an_edit_that_leaves_size_and_time_is_seen(tmp_path: Path) -> None:
    """Of the markdown, and of the state."""
    view = saved(tmp_path)
    file = view.entries[0].file
    assert file
    for path, old, new in (
        (tmp_path / "CLAUDE.local.md", b"Phase: 1/9", b"Phase: 2/9"),
        (file.path, b'"total": 9', b'"total": 8'),
    ):
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(old, new, 1))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = look(place(tmp_path))
    declaration = again.looked[0].declaration
    assert declaration
    assert declaration.phase
    assert declaration.phase.current == 2
    assert again.entries[0].file
    assert again.entries[0].file.state.phase.total == 8


def test_a_plan_that_goes_changes_what_the_markdown_means(tmp_path: Path) -> None:
    """Although the bytes of CLAUDE.local.md are the same."""
    plan = tmp_path / "CLAUDE" / "Plan" / "001-shop" / "PLAN.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Plan 001: Shop\n\n**Status**: In Progress\n", encoding="utf-8")
    (tmp_path / "CLAUDE.local.md").write_text(f"{TEXT}Plan: 001\n", encoding="utf-8")
    first = look(place(tmp_path))
    declared = first.looked[0].declaration
    assert declared
    assert declared.plan == "CLAUDE/Plan/001-shop/PLAN.md"
    plan.unlink()
    declared = look(place(tmp_path)).looked[0].declaration
    assert declared
    assert declared.plan is None


def test_states_are_listed_by_their_names(tmp_path: Path) -> None:
    """Those that a link leads to as well."""
    base = tmp_path / files.FOLDER
    for name in (
        "b/state-b-1.json",
        "a/state-a-2.json",
        "a/state-a-1.json",
        "a/notes.json",
        "a/.state-a-3.json",
        "x.json",
    ):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("{}", encoding="utf-8")
    (base / "c").symlink_to(base / "b")
    (base / "b" / "state-b-2.json").symlink_to(base / "b" / "state-b-1.json")
    found = [path.relative_to(base).as_posix() for path in files.paths(Store(tmp_path))]
    assert found == [
        "a/notes.json",
        "a/state-a-1.json",
        "a/state-a-2.json",
        "b/state-b-1.json",
        "b/state-b-2.json",
        "c/state-b-1.json",
        "c/state-b-2.json",
    ]
    assert not files.paths(Store(base))


def test_a_total_of_a_thousand_million_hung_the_hook(tmp_path: Path) -> None:
    """It is compared with the phases of the plan, which has one."""
    (tmp_path / "PLAN.md").write_text(
        "# Shop\n\n**Status**: In Progress\n\n## Phase 1: Build\n\n- [ ] a\n", encoding="utf-8"
    )
    view = look(place(tmp_path))
    state = view.entries[0].state.with_phase(total=10**12)
    assert view.entries[0]._replace(state=state).planned == ()
