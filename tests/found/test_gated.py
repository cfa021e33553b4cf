"""Gated features: defects that were found by trying to break them, each test named for one."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gatedwork import (
    FOLDER,
    NAMES,
    SLUG,
    begin,
    put_feature,
    state_example,
)
from holdfast.testing import Compactions, Project

LATER = "2099-01-01T00:00:00Z"


def gate(project: Project, *words: str) -> str:
    done = project.run("gate", *words, check=False)
    return done.stdout + done.stderr


def comment(path: str, at: str = LATER, body: str = "Say more.") -> dict[str, Any]:
    return {"created_at": at, "path": path, "body": body, "line": 1, "user": {"login": "anna"}}


def completed(project: Project, slug: str = SLUG) -> None:
    """A feature of which all is approved."""
    state = state_example()
    state |= {"feature": slug, "feature_title": slug, "status": "completed", "pr_number": 7}
    state |= {"current_phase": NAMES[-1], "updated_at": project.clock.now().isoformat()}
    for summary in state["phases"].values():
        summary["status"] = "approved"
    put_feature(project, state, slug)
    project.write(f"workflow/{slug}/00-feature/description.md", f"# {slug}\n")


def repository(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "test")
    project.git("config", "user.email", "test@localhost")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")


# The guard.


@pytest.mark.parametrize("link", ["workflow", FOLDER])
@pytest.mark.parametrize("file", ["workflow-state.json", "03-implementation/status.json"])
def test_the_guard_was_passed_where_a_folder_of_features_is_a_link(
    link: str, file: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    begin(holdfast_project)
    holdfast_project.write(".claude/holdfast.toml", 'guard = "all"\n')
    root = holdfast_project.root
    (root / link).rename(root / "elsewhere")
    (root / link).symlink_to(root / "elsewhere")
    real = os.path.realpath(root / FOLDER / file)
    for path in (f"{FOLDER}/{file}", str(root / FOLDER / file), real):
        answer = compaction_cycle.fire(
            "PreToolUse", tool_name="Write", tool_input={"file_path": path}
        )
        assert '"deny"' in answer.stdout.decode(), path
    answer = compaction_cycle.fire(
        "PreToolUse", tool_name="Write", tool_input={"file_path": "elsewhere/other/status.json"}
    )
    assert '"deny"' not in answer.stdout.decode()
