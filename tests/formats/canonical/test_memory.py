"""What a process remembers of files: it spares work, and never hides a change."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.clock import Clock
from holdfast.formats.base import Place
from holdfast.formats.canonical import files, saving
from holdfast.formats.canonical.view import View, look
from holdfast.settings import Settings
from holdfast.store import Store

TEXT = "# Current Workflow State\n\nWorkflow: Shop\nPhase: 1/9 - Start\n"


def place(root: Path) -> Place:
    return Place(Store(root), Settings(), Clock().now(), None, None)


def saved(root: Path) -> View:
    """A project whose one workflow is declared and kept."""
    (root / "CLAUDE.local.md").write_text(TEXT, encoding="utf-8")
    here = place(root)
    with here.store.lock(1):
        saving.save(look(here))
    return look(here)


def test_what_has_not_changed_is_not_understood_again(tmp_path: Path) -> None:
    """Neither markdown nor a state."""
    first, second = saved(tmp_path), look(place(tmp_path))
    assert first.known[0].held
    assert second.known[0].held is first.known[0].held
    assert second.looked[0] is first.looked[0]


def test_an_edit_that_leaves_size_and_time_is_seen(tmp_path: Path) -> None:
    """Of the markdown, and of the state."""
    view = saved(tmp_path)
    held = view.known[0].held
    assert held
    for path, old, new in (
        (tmp_path / "CLAUDE.local.md", b"Phase: 1/9", b"Phase: 2/9"),
        (held.path, b'"total": 9', b'"total": 8'),
    ):
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(old, new, 1))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = look(place(tmp_path))
    declaration = again.looked[0].declaration
    assert declaration
    assert declaration.phase
    assert declaration.phase.current == 2
    assert again.known[0].held
    assert again.known[0].held.state.phase.total == 8


def test_a_plan_that_goes_changes_what_the_markdown_means(tmp_path: Path) -> None:
    """Although the bytes of CLAUDE.local.md are the same."""
    plan = tmp_path / "CLAUDE" / "Plan" / "001-shop" / "PLAN.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# Plan 001: Shop\n\n**Status**: In Progress\n", encoding="utf-8")
    (tmp_path / "CLAUDE.local.md").write_text(f"{TEXT}Plan: 001\n", encoding="utf-8")
    declared = look(place(tmp_path)).looked[0].declaration
    assert declared
    assert declared.plan == "CLAUDE/Plan/001-shop/PLAN.md"
    plan.unlink()
    declared = look(place(tmp_path)).looked[0].declaration
    assert declared
    assert declared.plan is None


def test_states_are_listed_by_their_names(tmp_path: Path) -> None:
    """And it is told which of them a link leads to."""
    base = tmp_path / files.FOLDER
    for name in (
        "b/state-b-1.json",
        "a/state-a-2.json",
        "a/state-a-1.json",
        "a/notes.json",
        "x.json",
    ):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("{}", encoding="utf-8")
    (base / "c").symlink_to(base / "b")
    (base / "b" / "state-b-2.json").symlink_to(base / "b" / "state-b-1.json")
    found = [
        (each.path.relative_to(base).as_posix(), each.direct) for each in files.found(tmp_path)
    ]
    assert found == [
        ("a/state-a-1.json", True),
        ("a/state-a-2.json", True),
        ("b/state-b-1.json", True),
        ("b/state-b-2.json", False),
        ("c/state-b-1.json", False),
        ("c/state-b-2.json", False),
    ]
    assert files.paths(tmp_path) == sorted(base.glob("*/state-*.json"))
    assert files.any_in(tmp_path)
    assert not files.any_in(base)
