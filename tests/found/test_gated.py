"""Gated features: defects that were found by trying to break them, each test named for one."""

from __future__ import annotations

import json
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
    read,
    state_example,
    status,
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


# Comments on the pull request.


@pytest.mark.parametrize("above", ["", "packages/app/"])
def test_comments_on_an_earlier_phase_were_missed_where_the_slug_or_the_root_is_another(
    above: str, holdfast_project: Project
) -> None:
    """The folder's name counts, not what the state calls it; the service's paths begin at the checkout."""
    state = state_example()
    state |= {"feature": "another-name", "current_phase": NAMES[1]}
    state["phases"][NAMES[0]]["status"] = "approved"
    state["phases"][NAMES[1]].update(status="user_review", iterations=1)
    put_feature(holdfast_project, state)
    path = f"{above}{FOLDER}/{NAMES[0]}/requirements.md"
    holdfast_project.write("comments.json", json.dumps([comment(path)]))
    told = gate(holdfast_project, "request-changes", "--comments", "comments.json")
    assert f"somebody commented on files of {NAMES[0]}" in told


@pytest.mark.parametrize("between", ["", "\n", "slurp"])
def test_comments_on_several_pages_were_refused(between: str, holdfast_project: Project) -> None:
    walk(begin(holdfast_project), "submit", "approve-internal #7")
    first, second = [comment("a.py", body="One. ] ["), comment("b.py")], [comment("c.py")]
    pages = f"{json.dumps(first)}{between}{json.dumps(second)}"
    text = json.dumps([first, second]) if between == "slurp" else pages
    holdfast_project.write("comments.json", text)
    gate(holdfast_project, "request-changes", "--comments", "comments.json")
    feedback = status(holdfast_project, 1)["current_feedback"]
    assert all(each in feedback for each in ("a.py", "One. ] [", "b.py", "c.py"))


def test_approving_with_old_comments_set_the_time_of_the_last_review_back(
    holdfast_project: Project,
) -> None:
    here = begin(holdfast_project)
    walk(here, "submit", "approve-internal #7", "request-changes", "submit", "approve-internal")
    before = read(holdfast_project)["last_reviewed_at"]
    holdfast_project.write("comments.json", json.dumps([comment("a", "2020-01-01T00:00:00Z")]))
    assert "advanced" in gate(holdfast_project, "approve", "--comments", "comments.json")
    assert read(holdfast_project)["last_reviewed_at"] == before
