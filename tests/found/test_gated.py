"""Gated features: defects that were found by trying to break them, each test named for one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gatedwork import (
    APPROVE_PHASE,
    FOLDER,
    NAMES,
    SLUG,
    begin,
    place,
    put,
    put_feature,
    read,
    state_example,
    status,
    walk,
    write_artefacts,
)
from holdfast.formats.gated import documents, finalizing
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
    seeded = [each.line for each in documents.seed(here.store, SLUG)]
    assert seeded == ["passed over: docs/diagrams (is a link to a folder)"]
    walk(here, *APPROVE_PHASE * 5, "complete")
    (holdfast_project.root / "docs/diagrams").unlink()
    diagrams = holdfast_project.root / FOLDER / "02-architecture/diagrams"
    diagrams.symlink_to("../../../src")
    published = [each.line for each in finalizing.plan(place(holdfast_project), SLUG)[2]]
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


# Interrupted.

_KILLED_AT = """
import os, sys
left = int(sys.argv.pop(1))
replace = os.replace
def counted(*given, **more):
    global left
    left -= 1
    replace(*given, **more)
    if left == 0:
        os._exit(9)
os.replace = counted
import runpy
runpy.run_module("holdfast", run_name="__main__")
"""


@pytest.mark.long
def test_a_start_that_was_killed_was_not_brought_to_its_end_by_the_next_command(
    holdfast_project: Project,
) -> None:
    """Until workflow-state.json is there, it is no workflow that a command could mean."""
    for point in range(1, 40):
        slug = f"feature-{point}"
        done = subprocess.run(
            [sys.executable, "-c", _KILLED_AT, str(point), "gate", "start", slug, "--title", slug],
            cwd=holdfast_project.root,
            env=holdfast_project.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            assert point > 10
            return
        assert done.returncode == 9, done.stderr
        again = gate(holdfast_project, "start", slug, "--title", slug)
        assert "started" in again or "has already started" in again
        assert "valid, and the files agree" in gate(holdfast_project, "validate", "-w", slug)
        write_artefacts(holdfast_project, slug)
        assert "submitted" in gate(holdfast_project, "submit", "-w", slug)
    raise AssertionError("it never ended")


@pytest.mark.parametrize("note", ["folder", "no JSON"])
def test_a_note_of_an_interrupted_command_that_cannot_be_read_stopped_all_or_was_deleted(
    note: str, holdfast_project: Project
) -> None:
    begin(holdfast_project)
    path = holdfast_project.root / ".claude/holdfast/unfinished/gated.json"
    if note == "folder":
        path.mkdir(parents=True)
    else:
        holdfast_project.write(".claude/holdfast/unfinished/gated.json", "{half")
    write_artefacts(holdfast_project)
    told = gate(holdfast_project, "submit")
    assert "submitted" in told
    assert "the record of an interrupted command cannot be read" in told
    kept = list((holdfast_project.root / ".claude/holdfast/quarantine").iterdir())
    assert [each.name.endswith("gated.json") for each in kept] == [True]


def test_an_interrupted_commit_of_one_feature_kept_another_from_being_finalized(
    holdfast_project: Project,
) -> None:
    repository(holdfast_project)
    for slug in ("one", "two"):
        completed(holdfast_project, slug)
    holdfast_project.git("add", "--all")
    holdfast_project.git("commit", "-q", "-m", "work")
    hook = holdfast_project.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert "refused" in gate(holdfast_project, "finalize", "-w", "one", "--commit")
    hook.unlink()
    told = gate(holdfast_project, "finalize", "-w", "two", "--commit")
    assert "Workflow finalized: two" in told
    assert not (holdfast_project.root / "workflow/two").exists()
    assert holdfast_project.git("status", "--short", "workflow/two") == ""
    assert holdfast_project.git("status", "--short", "workflow/one") != ""
    assert holdfast_project.git("log", "--oneline").count("Finalize the workflow") == 1


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
    walk(here, "submit", "approve-internal #7")
    holdfast_project.write("comments.json", json.dumps([comment("a")]))
    gate(holdfast_project, "request-changes", "--comments", "comments.json")
    walk(here, "submit", "approve-internal")
    holdfast_project.write("comments.json", json.dumps([comment("a", "2020-01-01T00:00:00Z")]))
    assert "advanced" in gate(holdfast_project, "approve", "--comments", "comments.json")
    assert read(holdfast_project)["last_reviewed_at"] == LATER


@pytest.mark.parametrize("move", ["a text", "an approval", "an empty list", "a regression"])
def test_a_comment_that_nobody_handed_in_was_lost(move: str, holdfast_project: Project) -> None:
    """A text or an approval after it moved last_reviewed_at to the present."""
    here = begin(holdfast_project)
    now = holdfast_project.clock.now()
    walk(here, "submit", "approve-internal #7")
    if move == "a text":
        gate(holdfast_project, "request-changes", "rename the feature")
    elif move == "a regression":
        gate(holdfast_project, "approve")
        gate(holdfast_project, "regress", NAMES[0], "rename the feature")
    elif move == "an approval":
        gate(holdfast_project, "approve")
    else:
        holdfast_project.write("none.json", "[]")
        gate(holdfast_project, "approve", "--comments", "none.json")
    assert read(holdfast_project)["last_reviewed_at"] is None
    walk(here, "submit", "approve-internal")
    written = comment("a.py", now.isoformat(), "Which name?")
    holdfast_project.write("comments.json", json.dumps([written]))
    told = gate(holdfast_project, "approve", "--comments", "comments.json")
    assert "1 comment that nobody has worked on yet" in told
    gate(holdfast_project, "request-changes", "--comments", "comments.json")
    phase = 2 if move in {"an approval", "an empty list"} else 1
    assert "Which name?" in status(holdfast_project, phase)["current_feedback"]


# Told after a compaction.


def test_long_feedback_was_cut_and_stood_in_no_file_that_is_read(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    here = begin(holdfast_project)
    walk(here, "submit", "approve-internal #7")
    points = "\n".join(f"Point {number}: say more of it than this." for number in range(40))
    gate(holdfast_project, "request-changes", points)
    cycle = compaction_cycle()
    assert f"@{FOLDER}/{NAMES[0]}/status.json" in cycle.guidance
    assert "Point 39" in "".join(cycle.reading)


def test_the_escalation_of_another_phase_was_told_as_the_reason(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    state = state_example()
    state |= {"current_phase": NAMES[1], "status": "escalated"}
    state["updated_at"] = holdfast_project.clock.now().isoformat()
    state["phases"][NAMES[0]]["status"] = "approved"
    state["phases"][NAMES[1]].update(status="escalated", iterations=4)
    raised = {"raised": LATER, "resolved": None, "by": None}
    state["escalations"] = [
        {"phase": NAMES[1], "reason": "the right one", **raised},
        {"phase": NAMES[0], "reason": "long over", **raised},
    ]
    put_feature(holdfast_project, state)
    guidance = compaction_cycle().guidance
    assert "open escalation: the right one" in guidance
    assert "long over" not in guidance


def test_every_file_in_the_folder_of_a_phase_was_read_to_choose_twenty(
    holdfast_project: Project,
) -> None:
    begin(holdfast_project)
    for number in range(300):
        holdfast_project.write(f"{FOLDER}/{NAMES[0]}/data/{number:03}.txt", "text\n")
    trap = f"/{NAMES[0]}/data/250.txt"
    program = (
        "import os, sys\n"
        f"sys.addaudithook(lambda event, given: os._exit(9) "
        f"if event == 'open' and str(given[0]).endswith({trap!r}) else None)\n"
        "import runpy\n"
        "runpy.run_module('holdfast', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "gate", "status"],
        cwd=holdfast_project.root,
        env=holdfast_project.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# Written by others.


def test_a_history_in_another_shape_was_written_over(holdfast_project: Project) -> None:
    put_feature(holdfast_project, state_example())
    path = f"{NAMES[0]}/status.json"
    notes = {"notes": "of somebody else"}
    put(holdfast_project, read(holdfast_project, path) | {"history": notes}, path)
    assert "reviewed" in gate(holdfast_project, "request-changes", "more")
    history = status(holdfast_project, 1)["history"]
    assert history[0] == notes
    assert history[1]["action"] == "user_changes"


@pytest.mark.parametrize("slug", ["User_Auth", "v1.2 api"])
def test_a_feature_whose_name_is_not_one_of_ours_could_not_be_finalized_or_recovered(
    slug: str, holdfast_project: Project
) -> None:
    completed(holdfast_project, slug)
    (holdfast_project.root / "workflow" / slug / NAMES[2] / "status.json").unlink()
    assert "recovered" in gate(holdfast_project, "recover", "-w", slug, "--yes")
    assert "Workflow finalized" in gate(holdfast_project, "finalize", "-w", slug)
    assert not (holdfast_project.root / "workflow" / slug).exists()


# What is to be done next.


def test_the_hint_of_a_start_that_is_refused_was_no_command(holdfast_project: Project) -> None:
    begin(holdfast_project)
    hint = gate(holdfast_project, "start", SLUG, "--title", "Again")
    assert f"holdfast gate status -w {SLUG}." in hint
    assert "User Auth" in gate(holdfast_project, "status", "-w", SLUG)


def test_the_doctor_wanted_a_completed_feature_completed_again(holdfast_project: Project) -> None:
    completed(holdfast_project)
    told = holdfast_project.run("doctor", check=False).stdout
    assert f"holdfast gate finalize -w {SLUG}" in told
    fixed = holdfast_project.run("doctor", "--fix", check=False)
    assert f"holdfast gate finalize -w {SLUG}" in fixed.stdout
    assert fixed.stderr == ""


def test_a_commit_during_a_cherry_pick_changed_the_state_and_was_refused_after(
    holdfast_project: Project,
) -> None:
    repository(holdfast_project)
    begin(holdfast_project)
    for branch, text in (("other", "1"), ("main", "2")):
        holdfast_project.git("switch", "-q", *(["-c"] if branch == "other" else []), branch)
        holdfast_project.write("file", text)
        holdfast_project.git("add", "file")
        holdfast_project.git("commit", "-q", "-m", text)
    with pytest.raises(subprocess.CalledProcessError):
        holdfast_project.git("cherry-pick", "other")
    assert "a merge or cherry-pick is under way" in gate(holdfast_project, "submit", "--commit")
    assert status(holdfast_project, 1)["status"] == "in_progress"


def test_of_a_feature_without_a_usable_state_no_status_was_copied(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Of one that was damaged later there was no good copy, although it had been seen whole."""
    put_feature(holdfast_project, state_example())
    put(holdfast_project, "{")
    compaction_cycle()
    put(holdfast_project, state_example())
    put(holdfast_project, "{", "01-requirements/status.json")
    message = compaction_cycle().message
    assert "01-requirements/status.json could not be read" in message
    assert "its last good copy is used" in message


# Git.


def committed(project: Project) -> None:
    """A feature on a branch of its own, committed, on which the next session works."""
    repository(project)
    project.write(".gitignore", ".claude/\n")
    project.git("add", ".gitignore")
    project.git("commit", "-q", "-m", "Ignore what is personal")
    project.git("switch", "-q", "-c", f"feature/{SLUG}")
    begin(project)
    project.git("add", "workflow")
    project.git("commit", "-q", "-m", "[workflow] 01-requirements: Start")


def test_a_feature_on_another_branch_vanished_without_a_word(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent that worked on it hears where it is; once the branch is merged without it, nothing."""
    committed(holdfast_project)
    assert "User Auth" in compaction_cycle().guidance
    holdfast_project.git("switch", "-q", "main")
    line = f"{FOLDER} is not on this branch, but on feature/{SLUG}, where it goes on"
    for _ in range(2):  # our copies go with the folder
        assert line in compaction_cycle().guidance
    holdfast_project.git("switch", "-q", f"feature/{SLUG}")
    assert line not in compaction_cycle().guidance
    holdfast_project.git("rm", "-q", "-r", "workflow")
    holdfast_project.git("commit", "-q", "-m", "[workflow] 05-documentation: Finalize")
    holdfast_project.git("switch", "-q", "main")
    holdfast_project.git("merge", "-q", f"feature/{SLUG}")
    assert FOLDER not in compaction_cycle().guidance


def test_an_older_state_came_back_by_git_without_a_word(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Told once, with the command that goes back to the later one."""
    committed(holdfast_project)
    holdfast_project.clock.advance(seconds=60)
    walk(place(holdfast_project), *APPROVE_PHASE)
    compaction_cycle()
    later = read(holdfast_project)
    holdfast_project.git("reset", "-q", "--hard")
    guidance = compaction_cycle().guidance
    line = f"{FOLDER}/workflow-state.json is older than it was: it had come to 02-architecture."
    assert line in guidance
    assert line not in compaction_cycle().guidance
    command = guidance.partition("To go on with what it was: ")[2].partition(", then")[0]
    subprocess.run(command.split(), cwd=holdfast_project.root, check=True)
    assert read(holdfast_project) == later
    assert "reconciled" in gate(holdfast_project, "reconcile")
