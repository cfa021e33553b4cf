"""The plan that CLAUDE.local.md means: by path, folder, name or number, in files that are really there."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from holdfast.files.store import Store
from holdfast.formats.canonical.files import look_at_markdown
from holdfast.formats.canonical.sources import Looked
from holdfast.formats.canonical.sources.claude_local import plan_among

PLANS = ["CLAUDE/Plan/001-x/PLAN.md", "CLAUDE/Plan/002-y/PLAN.md", "CLAUDE/Plan/010-z/PLAN.md"]
GLOBS = ["PLAN.md", "CLAUDE/Plan/*/PLAN.md"]


def look(root: Path, plan: str) -> Looked:
    (root / "CLAUDE.local.md").write_text(
        f"Workflow: X\nPhase: 1/2\nPlan: {plan}\n", encoding="utf-8"
    )
    return look_at_markdown(Store(root), GLOBS)[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in PLANS:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("# X\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("written", ["CLAUDE/Plan/001-x/PLAN.md", "CLAUDE/Plan/001-x", "CLAUDE/Plan/001-x/", "./CLAUDE/Plan/001-x", "@CLAUDE/Plan/001-x/PLAN.md", "`CLAUDE/Plan/001-x/`", "[it](CLAUDE/Plan/001-x/PLAN.md)", "001-x", "001-X", "claude/plan/001-X/plan.md", "Plan 001", "plan 1", "001", "#1", "Plan 001: the X", "001-x (the X)"])  # fmt: skip
def test_the_plan_that_is_meant(root: Path, written: str) -> None:
    """As people write it."""
    looked = look(root, written)
    assert looked.declaration is not None
    assert (looked.declaration.plan, looked.trouble) == (PLANS[0], "")


@pytest.mark.parametrize("written", ["do it well", "003", "CLAUDE/Plan", "x", "PLAN.md/"])
def test_what_means_no_plan_is_told(root: Path, written: str) -> None:
    """The person can correct it."""
    looked = look(root, written)
    assert looked.declaration is not None
    assert looked.declaration.plan is None
    assert looked.trouble == f"Plan: '{written}' is not a plan of this project"


def test_a_plan_that_is_not_there_stays_the_plan(root: Path) -> None:
    """It may be on another branch; that it is missing is told."""
    looked = look(root, "CLAUDE/Plan/004-gone/PLAN.md")
    assert looked.declaration is not None
    assert looked.declaration.plan == "CLAUDE/Plan/004-gone/PLAN.md"
    assert "is not a plan of this project" in looked.trouble


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
def test_accents_resolve_to_what_is_on_disk(tmp_path: Path, form: str, on_disk: str) -> None:
    """Two spellings of the same letters are one path."""
    plain = "CLAUDE/Plan/005-café/PLAN.md"
    path = unicodedata.normalize(on_disk, plain)  # type: ignore[arg-type]
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("# X\n", encoding="utf-8")
    looked = look(tmp_path, unicodedata.normalize(form, plain))  # type: ignore[arg-type]
    assert looked.declaration is not None
    assert looked.declaration.plan == path


def test_several_plans_are_none() -> None:
    """But the exact letters decide between them."""
    plans = ["a/001-x/PLAN.md", "b/001-x/PLAN.md", "b/002-y/PLAN.md", "b/002-Y/PLAN.md"]
    assert plan_among(plans, "001-x") is None
    assert plan_among(plans, "1") is None
    assert plan_among(plans, "b/001-x") == plans[1]
    assert plan_among(plans, "002-Y") == plans[3]
    assert plan_among(["plans/a.md", "plans/b.md"], "b") == "plans/b.md"
    assert plan_among(["PLAN.md"], "/") is None


def test_a_plan_in_the_reading_needs_its_path(root: Path) -> None:
    """A folder that is to be read is no statement about the plan."""
    for line, plan in (("@claude/plan/001-x/PLAN.md", PLANS[0]), ("@CLAUDE/Plan/001-x/", None)):
        (root / "CLAUDE.local.md").write_text(
            f"Workflow: X\nPhase: 1/2\n{line}\n", encoding="utf-8"
        )
        declaration = look_at_markdown(Store(root), GLOBS)[0].declaration
        assert declaration is not None
        assert declaration.plan == plan
