"""Settings: what counts where, and that a wrong file costs one line and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.settings import Settings, load
from holdfast.testing import Compactions, Project


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "user.toml"


def project_with(root: Path, text: str) -> str:
    folder = root / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "holdfast.toml").write_text(text, encoding="utf-8")
    return str(root)


def test_without_files_the_defaults_apply(tmp_path: Path) -> None:
    """No problem is reported."""
    assert load(str(tmp_path), None) == (Settings(), ())


def test_the_projects_file_goes_over_the_users(tmp_path: Path, user_file: Path) -> None:
    """Key by key; the restore table source by source."""
    user_file.write_text(
        "stale_days = 30\nenabled = true\n[restore]\nstartup = 'off'\n", encoding="utf-8"
    )
    root = project_with(tmp_path, "enabled = true\n[restore]\nclear = 'full'\n")
    settings = load(root, str(user_file)).settings
    assert settings.stale_days == 30
    assert settings.restores("startup") == "off"
    assert settings.restores("clear") == "full"
    assert settings.restores("compact") == "full"
    assert settings.restores("tomorrow") == "off"


def test_what_the_user_switched_off_no_repository_switches_on(
    tmp_path: Path, user_file: Path
) -> None:
    """The other way round, a project may switch itself off."""
    user_file.write_text("enabled = false\n", encoding="utf-8")
    root = project_with(tmp_path, "enabled = true\n")
    assert not load(root, str(user_file)).settings.enabled
    user_file.write_text("enabled = true\n", encoding="utf-8")
    assert not load(project_with(tmp_path, "enabled = false\n"), str(user_file)).settings.enabled


WRONG = {
    "stale_days = 'seven'": "stale_days: expected a whole number of days from 1 to 3650, found 'seven'",
    "stale_days = true": "stale_days: expected a whole number",
    "stale_days = 0": "stale_days: expected a whole number",
    "enabled = 1": "enabled: expected true or false, found 1",
    "enabeld = false": "unknown key 'enabeld' (did you mean 'enabled'?)",
    "plans = 'PLAN.md'": "plans: expected a list of globs",
    "plans = ['/etc/*.md']": "plans: expected a list of globs",
    "plans = ['../*/PLAN.md']": "plans: expected a list of globs",
    "plans = ['**/PLAN.md']": "plans: expected a list of globs",
    "restore = 'full'": "restore: expected a table",
    "[restore]\ncompact = 'loud'": "restore: expected a table",
    "[restore]\nlunch = 'full'": "restore: expected a table",
    "enabled = ": "Invalid value",
    "x" * 70_000: "larger than",
    "reading_roots = ['/']": "'reading_roots' counts only in the user's own file",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_reported_in_one_line_and_the_defaults_apply(
    text: str, tmp_path: Path
) -> None:
    """The whole file is ignored."""
    loaded = load(project_with(tmp_path, f"{text}\n"), None)
    assert loaded.settings == Settings()
    (problem,) = loaded.problems
    assert WRONG[text] in problem
    assert ".claude/holdfast.toml" in problem
    assert "\n" not in problem


def test_what_widens_counts_in_the_users_file(tmp_path: Path, user_file: Path) -> None:
    """Folders outside the project that may be read."""
    user_file.write_text(f"reading_roots = ['{tmp_path}']\n", encoding="utf-8")
    assert load(None, str(user_file)).settings.reading_roots == (str(tmp_path),)


def test_a_wrong_file_is_told_to_the_person(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """And the work goes on with the defaults."""
    holdfast_project.write(".claude/holdfast.toml", "stale_dayz = 3\n")
    holdfast_project.declare("W")
    message = compaction_cycle().message
    assert "Workflow restored: W" in message
    assert "unknown key 'stale_dayz'" in message


def test_enabled_false_switches_everything_off(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In the project's file and in the user's."""
    holdfast_project.declare("W")
    holdfast_project.write(".claude/holdfast.toml", "enabled = false\n")
    cycle = compaction_cycle()
    assert (cycle.note, cycle.guidance, cycle.message) == ("", "", "")
    assert holdfast_project.states() == []
    assert "Switched off" in holdfast_project.run("why").stdout
    (holdfast_project.root / ".claude/holdfast.toml").unlink()
    user = holdfast_project.home / ".config" / "holdfast" / "holdfast.toml"
    user.parent.mkdir(parents=True)
    user.write_text("enabled = false\n")
    assert compaction_cycle().guidance == ""


def test_other_plans_by_setting(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Globs below the project."""
    holdfast_project.write(".claude/holdfast.toml", "plans = ['docs/plans/*.md']\n")
    holdfast_project.write(
        "docs/plans/one.md", "# One\n\n**Status**: In Progress\n\n## Phase 1: Go\n- [ ] walk\n"
    )
    holdfast_project.plan("001-x", {"A": ["b"]})
    assert "Next action: walk" in compaction_cycle().guidance
    assert len(holdfast_project.states()) == 1


def test_what_a_source_does_is_a_setting(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """full, line or off for each."""
    holdfast_project.declare("W")
    holdfast_project.write(
        ".claude/holdfast.toml", "[restore]\nresume = 'line'\nfork = 'off'\nstartup = 'full'\n"
    )
    assert "\n" not in compaction_cycle.start("resume").guidance
    assert compaction_cycle.start("fork").guidance == ""
    assert "REQUIRED" in compaction_cycle.start("startup").guidance
