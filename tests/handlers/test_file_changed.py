"""An edit of what declares a workflow is in the state at once, and the client is told what to watch."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.config.settings import Settings
from holdfast.restoring import watching
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session, read_reply

PLANS = Settings().plans
PLANNED = ".claude/plans"  # whose folder is there


def changed(compactions: Compactions, path: str) -> None:
    fields = {"file_path": str(compactions.project.root / path), "event": "change"}
    assert compactions.fire("FileChanged", **fields) == (b"", "", 0)


def test_an_edit_is_saved_without_a_compaction(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """CLAUDE.local.md and plans alike."""
    holdfast_project.declare("W", phase="1/3 - First")
    changed(compaction_cycle, "CLAUDE.local.md")
    assert holdfast_project.state()["phase"]["current"] == 1
    holdfast_project.declare("W", phase="2/3 - Second")
    changed(compaction_cycle, "CLAUDE.local.md")
    assert holdfast_project.state()["phase"]["current"] == 2
    holdfast_project.plan("002-more", {"Design": ["a"], "Build": ["b"]})
    changed(compaction_cycle, "CLAUDE/Plan/002-more/PLAN.md")
    assert len(holdfast_project.states()) == 2


def test_other_files_change_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Another hook may have the client watch anything."""
    holdfast_project.declare("W")
    changed(compaction_cycle, ".env")
    changed(compaction_cycle, "CLAUDE/Plan/001/notes.md")
    assert holdfast_project.states() == []


def test_a_plan_that_only_the_projects_settings_name(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Their globs are read where it costs nobody anything."""
    holdfast_project.write(".claude/holdfast.toml", 'plans = ["work/*.md"]\n')
    plan = holdfast_project.plan("001", {"Design": ["a"], "Build": ["b"]}, title="From work")
    holdfast_project.write("work/a.md", plan.read_bytes())
    plan.unlink()
    changed(compaction_cycle, "work/a.md")
    assert holdfast_project.state()["workflow"] == "From work"


def test_a_save_that_fails_is_in_the_log(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """There is nobody to tell; PreCompact will try again."""
    holdfast_project.declare("W")
    holdfast_project.write("untracked", "in the way")
    changed(compaction_cycle, "CLAUDE.local.md")
    assert "failed" in json.loads(holdfast_project.run("log", "--json").stdout)[-1]["decided"]


def watched(compactions: Compactions, source: str = "startup") -> list[str]:
    who = Session("session-1", str(compactions.project.root))
    reply = read_reply(compactions.door().fire(who.session_start(source)))
    return [
        str(Path(path).relative_to(compactions.project.root.resolve()))
        for path in reply["hookSpecificOutput"]["watchPaths"]
    ]


def test_every_session_is_told_what_to_watch(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whether there is a workflow or not, since the last list replaces the one before."""
    assert watched(compaction_cycle) == ["CLAUDE.local.md"]
    holdfast_project.declare("W")
    for source in ("startup", "resume", "compact", "clear", "fork"):
        assert watched(compaction_cycle, source) == ["CLAUDE.local.md", "PLAN.md", PLANNED]
    holdfast_project.write(".claude/holdfast.toml", '[restore]\ncompact = "off"\n')
    assert watched(compaction_cycle, "compact") == ["CLAUDE.local.md", "PLAN.md", PLANNED]


def test_no_folder_has_two_missing_paths(tmp_path: Path) -> None:
    """The client sees only one of them appear."""
    (tmp_path / "CLAUDE").mkdir()
    folder = str(tmp_path)
    found = watching.paths([folder], PLANS)
    assert found == [f"{folder}/CLAUDE.local.md", f"{folder}/CLAUDE/Plan"]
    (tmp_path / "CLAUDE.local.md").touch()
    (tmp_path / "CLAUDE" / "Plan").mkdir()
    assert watching.paths([folder], PLANS) == [
        f"{folder}/CLAUDE.local.md",
        f"{folder}/PLAN.md",
        f"{folder}/CLAUDE/Plan",
    ]


def test_a_missing_folder_is_watched_from_its_parent(tmp_path: Path) -> None:
    """The client sees nothing below a folder whose own parent is missing."""
    (tmp_path / "CLAUDE.local.md").touch()
    (tmp_path / "PLAN.md").touch()
    assert watching.paths([str(tmp_path)], PLANS)[2:] == [f"{tmp_path}/CLAUDE"]


def test_a_glob_at_the_top_does_not_watch_the_whole_project(tmp_path: Path) -> None:
    """Only the plans that are there, one by one."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "PLAN.md").touch()
    found = watching.paths([str(tmp_path)], ["*/PLAN.md"])
    assert sorted(found[1:]) == [f"{tmp_path}/a/PLAN.md", f"{tmp_path}/b/PLAN.md"]
