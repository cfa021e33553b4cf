"""Gated features: defects that were found by trying to break them, each test named for one."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gatedwork import (
    APPROVE_PHASE,
    FOLDER,
    NAMES,
    SLUG,
    begin,
    place,
    put_feature,
    state_example,
    walk,
)
from holdfast.formats.gated import finalizing, seeding
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


# Documents.


def test_a_diagrams_folder_that_is_a_link_was_copied_with_all_that_it_leads_to(
    holdfast_project: Project,
) -> None:
    here = begin(holdfast_project)
    holdfast_project.write("src/secret.txt", "secret\n")
    (holdfast_project.root / "docs").mkdir()
    (holdfast_project.root / "docs/diagrams").symlink_to("../src")
    seeded = [each.line for each in seeding.seed(here.store, SLUG)]
    assert seeded == ["passed over: docs/diagrams (is a link to a folder)"]
    walk(here, *APPROVE_PHASE * 5, "complete")
    (holdfast_project.root / "docs/diagrams").unlink()
    diagrams = holdfast_project.root / FOLDER / "02-architecture/diagrams"
    diagrams.symlink_to("../../../src")
    published = [each.line for each in finalizing.plan(place(holdfast_project), SLUG)]
    assert f"passed over: {FOLDER}/02-architecture/diagrams (is a link to a folder)" in published
    assert not any("secret" in line for line in published)


def test_a_document_that_is_a_link_to_the_settings_of_git_was_copied(
    holdfast_project: Project,
) -> None:
    repository(holdfast_project)
    (holdfast_project.root / "docs").mkdir()
    (holdfast_project.root / "docs/features.md").symlink_to("../.git/config")
    assert "passed over: docs/features.md" in gate(holdfast_project, "start", "a", "--title", "A")
    assert not (holdfast_project.root / "workflow/a/00-feature/features.md").exists()
