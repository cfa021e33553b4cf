"""`holdfast gate`: every command that moves a feature, run as orchestrators run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gatedwork import FOLDER, NAMES, RUN, URL, put, read, status, tree, write_artefacts
from holdfast.cli.gate import gate as group
from holdfast.testing import Project

ROOT = Path(__file__).parents[2]
HERE = "s-1"


def gate(project: Project, *arguments: str) -> str:
    return project.run("gate", *arguments, session=HERE).stdout


def refused(project: Project, *arguments: str) -> str:
    """What a command says that must fail, and that it changed nothing."""
    before = tree(project)
    done = project.run("gate", *arguments, session=HERE, check=False)
    assert done.returncode in {1, 2}, done.stdout
    assert "Traceback" not in done.stderr
    assert tree(project) == before
    return " ".join(done.stderr.split())


@pytest.fixture
def feature(holdfast_project: Project) -> Project:
    """One that has just begun."""
    gate(holdfast_project, "start", "user-auth", "--title", "User Auth")
    write_artefacts(holdfast_project)
    return holdfast_project


def test_each_command_has_help_and_stands_in_the_document() -> None:
    """The table of commands names them all, and the README the group."""
    document = (ROOT / "docs/formats/gated.md").read_text("utf-8")
    for name, command in group.commands.items():
        assert command.help, name
        assert f"`gate {name}" in document, name
    assert "| `holdfast gate …` |" in (ROOT / "README.md").read_text("utf-8")


def test_a_run_by_commands(feature: Project) -> None:
    """Each says what is next; all files are valid and agree after each."""
    for arguments, expected in RUN:
        assert expected in gate(feature, *arguments).splitlines()[0], arguments
    assert gate(feature, "complete").splitlines()[0] == (
        "Workflow 'User Auth' is completed. To publish its docs: holdfast gate finalize"
    )
    assert "valid, and the files agree" in gate(feature, "validate", "-w", "user-auth")
    found = read(feature)
    assert (found["status"], found["pr_number"], found["pr_url"]) == ("completed", 7, URL)
    assert [each["by"] for each in found["escalations"]] == ["maintainer", "override"]
    reviews = sorted((feature.root / FOLDER).glob("*/reviews/*"))
    assert len(reviews) == 7
    assert "complete" in refused(feature, "submit", "-w", "user-auth")


def comment(minute: int, path: str, body: str, **more: Any) -> dict[str, Any]:
    at = f"2099-01-01T00:{minute:02}:00Z"
    return {"created_at": at, "path": path, "body": body, "user": {"login": "octocat"}, **more}


@pytest.fixture
def reviewed(feature: Project) -> Project:
    """One that a person reviews, in its second phase."""
    for arguments in (
        *(["submit"], ["approve-internal", "x", "--pr", "7"], ["approve"]),
        *(["submit"], ["approve-internal", "x"]),
    ):
        gate(feature, *arguments)
    return feature


def test_only_new_comments_count(reviewed: Project) -> None:
    """They become the feedback, and the time of the newest one the time of the review."""
    place = f"{FOLDER}/{NAMES[1]}/architecture.md"
    old = {**comment(0, place, "seen"), "created_at": "2020-01-01T00:00:00Z"}
    reviewed.write("older.json", json.dumps([old]))
    gate(reviewed, "request-changes", "--comments", "older.json")
    gate(reviewed, "submit")
    gate(reviewed, "approve-internal", "x")
    comments = [comment(9, place, "second", line=None, original_line=4), comment(1, place, "first", line=3), old]  # fmt: skip
    reviewed.write("comments.json", json.dumps(comments))
    line = refused(reviewed, "approve", "--comments", "comments.json")
    assert "2 comments that nobody has worked on yet" in line
    out = gate(reviewed, "request-changes", "--comments", "comments.json")
    assert "comments on the pull request" in out
    found = status(reviewed, 2)
    assert found["current_feedback"] == (
        f"{place}:3, octocat:\nfirst\n\n{place}:4, octocat:\nsecond"
    )
    assert read(reviewed)["last_reviewed_at"] == "2099-01-01T00:09:00Z"
    gate(reviewed, "submit")
    gate(reviewed, "approve-internal", "x")
    line = refused(reviewed, "request-changes", "--comments", "comments.json")
    assert "there is nothing new since 2099-01-01T00:09:00Z" in line
    gate(reviewed, "approve", "--comments", "older.json")
    assert read(reviewed)["last_reviewed_at"] == "2099-01-01T00:09:00Z"


def test_comments_on_an_earlier_phase_lead_back_to_it(reviewed: Project) -> None:
    """Refused with the command that does it, which takes the same file."""
    comments = [
        comment(1, f"{FOLDER}/{NAMES[1]}/architecture.md", "and this"),
        comment(2, f"{FOLDER}/{NAMES[0]}/requirements.md", "what offline?"),
    ]
    reviewed.write("comments.json", json.dumps(comments))
    line = refused(reviewed, "request-changes", "--comments", "comments.json")
    assert "holdfast gate regress 01-requirements --comments" in line
    gate(reviewed, "regress", NAMES[0], "--comments", "comments.json")
    assert "what offline?" in status(reviewed, 1)["current_feedback"]
    assert status(reviewed, 2)["status"] == "pending"


@pytest.mark.parametrize(
    "wrong",
    [
        "{",
        "{}",
        '"x"',
        "[1]",
        '[{"body": "x"}]',
        '[{"created_at": "soon", "body": "x", "path": "y"}]',
    ],
)
def test_comments_of_another_shape_are_refused(wrong: str, reviewed: Project) -> None:
    """With what is expected."""
    reviewed.write("comments.json", wrong)
    line = refused(reviewed, "request-changes", "--comments", "comments.json")
    assert "Expected: a list of objects with created_at, body and path" in line


def piped(project: Project, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "gate", *arguments],
        cwd=project.root,
        env=project.environment(HERE),
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_a_text_comes_as_argument_from_a_file_or_from_stdin(feature: Project) -> None:
    """All the same; empty ones and two at once are refused."""
    gate(feature, "submit")
    feature.write("review.md", "\nfrom the file\nline 2\n\n")
    assert "or with --file" in refused(feature, "revise")
    assert "or with --file" in refused(feature, "revise", "x", "--file", "review.md")
    assert "is empty" in refused(feature, "revise", "  ")
    assert "cannot be read" in refused(feature, "revise", "--file", "no.md")
    gate(feature, "revise", "--file", "review.md")
    assert status(feature, 1)["current_feedback"] == "from the file\nline 2"
    gate(feature, "submit")
    assert piped(feature, "from stdin\n", "revise", "-").returncode == 0
    assert status(feature, 1)["current_feedback"] == "from stdin"
    gate(feature, "submit")
    gate(feature, "approve-internal", "x", "--pr", "7")
    comments = json.dumps([comment(1, "README.md", "from the service")])
    assert piped(feature, comments, "request-changes", "--comments", "-").returncode == 0
    assert "from the service" in status(feature, 1)["current_feedback"]
    assert "not both" in refused(feature, "request-changes", "x", "--comments", "-")


def test_status_says_whose_turn_it_is(feature: Project) -> None:
    """For people, and for jq."""
    gate(feature, "submit")
    out = gate(feature, "status")
    assert "1/5 Requirements, in review" in out
    assert "whose turn: reviewer" in out
    told = json.loads(gate(feature, "status", "--json"))
    assert told == json.loads(feature.run("status", "--json", session=HERE).stdout)
    assert told["workflow"]["briefing"]["context"]["whose turn"] == "reviewer"


def test_validate_names_what_is_wrong(feature: Project) -> None:
    """In any of the six files, or between them; exit 1."""
    put(feature, {**status(feature, 2), "iterations": 7}, f"{NAMES[1]}/status.json")
    put(feature, "[1, 2]", f"{NAMES[2]}/status.json")
    (feature.root / FOLDER / NAMES[3] / "status.json").unlink()
    data = read(feature)
    data["phases"][NAMES[0]]["iterations"] = 2
    put(feature, data)
    done = feature.run("gate", "validate", check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{FOLDER}: 4 problems\n")
    told = json.loads(feature.run("gate", "validate", "--json", check=False).stdout)
    assert (told["feature"], told["valid"]) == ("user-auth", False)
    assert told["problems"] == [
        "02-architecture/status.json: iterations: expected at most 4, found 7",
        "03-implementation/status.json: not the status of a phase any more",
        "04-testing/status.json: it is missing",
        (
            "status.json of 01-requirements said in_progress, iteration 0; "
            "workflow-state.json says in_progress, iteration 2, which holds"
        ),
    ]


@pytest.mark.parametrize("name", [[], ["-w", "user-auth"]])
def test_a_broken_state_is_named_with_the_way_out(name: list[str], feature: Project) -> None:
    """By every command; validate says it, too."""
    path = put(feature, "{")
    os.utime(path, (0, 0))
    for copies in (feature.root / ".claude/holdfast/copies").iterdir():
        copies.unlink()
    for command in (["submit"], ["status"], ["reconcile"]):
        line = refused(feature, *command, *name)
        assert "workflow-state.json of 'user-auth' cannot be used: not JSON" in line
        assert "holdfast gate recover" in line
    done = feature.run("gate", "validate", *name, check=False)
    assert (done.returncode, "workflow-state.json: not JSON" in done.stdout) == (1, True)


def test_reconcile_says_what_it_repairs(feature: Project) -> None:
    """Afterwards they agree."""
    put(feature, {**status(feature, 1), "status": "in_review"}, f"{NAMES[0]}/status.json")
    (feature.root / FOLDER / NAMES[4] / "status.json").unlink()
    told = gate(feature, "reconcile").splitlines()
    assert told[0].startswith("Workflow reconciled: User Auth, phase 1/5")
    assert len(told) == 3
    assert "valid, and the files agree" in gate(feature, "validate")
    assert len(gate(feature, "reconcile").splitlines()) == 1
    assert status(feature, 1)["history"][-1]["action"] == "reconciled"


def test_a_command_takes_the_session_along(feature: Project) -> None:
    """Whoever changes a feature works on it; -w means another one."""
    gate(feature, "start", "search", "--title", "Search")
    write_artefacts(feature, "search")
    assert "Search" in gate(feature, "submit")
    assert "User Auth" in gate(feature, "submit", "-w", "user-auth")
    assert "User Auth" in gate(feature, "status")


def test_general_commands_name_the_group(feature: Project) -> None:
    """Those that the format has no place for; `complete` is refused while a phase is open."""
    for arguments in (["remind", "x"], ["phase", "next"], ["undo"]):
        done = feature.run(*arguments, session=HERE, check=False)
        assert done.returncode == 1
        assert "holdfast gate --help" in done.stderr
    done = feature.run("complete", session=HERE, check=False)
    assert "is not done: 01-requirements" in done.stderr
    assert "User Auth" in feature.run("status", session=HERE).stdout


def test_a_text_cannot_steer_the_terminal(feature: Project) -> None:
    """It stays in the file as it is."""
    gate(feature, "submit")
    gate(feature, "revise", "\x1b[2Jred\u202e")
    assert "\x1b[2J" in status(feature, 1)["current_feedback"]
    shown = gate(feature, "status") + feature.run("status").stdout
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_a_title_and_a_cancelled_feature(feature: Project) -> None:
    """Cancelled, it does not come back, and its files stay."""
    assert "is cancelled. Its files were kept" in gate(feature, "cancel")
    assert read(feature)["status"] == "cancelled"
    assert "is cancelled" in refused(feature, "submit", "-w", "user-auth")
    assert feature.run("status", session=HERE, check=False).returncode in {0, 1}


# Prints which formats were loaded, and which files were opened.
WATCHED = """
import atexit, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
loaded = lambda: [name for name in sys.modules if name.startswith("holdfast.formats.")]
atexit.register(lambda: print("SEEN", *loaded(), *opened, file=sys.stderr))
from holdfast.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("session", [HERE, "another"])
@pytest.mark.parametrize("arguments", [["approve"], ["status"], ["cancel"]])
def test_a_command_looks_at_gated_features_alone(
    arguments: list[str], session: str, feature: Project
) -> None:
    """No other format is loaded, and neither CLAUDE.local.md nor a plan is read."""
    gate(feature, "submit")
    gate(feature, "approve-internal", "good", "--pr", "7")
    feature.declare("Something else")
    feature.plan("00001-more", {"A": ["x"]})
    feature.write(".claude/agent-state.json", "{}")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "gate", *arguments],
        cwd=feature.root,
        env=feature.environment(session),
        capture_output=True,
        text=True,
        check=True,
    )
    seen = done.stderr.partition("SEEN")[2].split()
    others = ("canonical", "skill", "orchestrator", "pipeline")
    assert any(name.startswith("holdfast.formats.gated") for name in seen)
    assert not [name for name in seen if name.startswith(tuple(f"holdfast.formats.{o}" for o in others))]  # fmt: skip
    elsewhere = ("CLAUDE.local.md", "PLAN.md", "agent-state.json")
    assert not [path for path in seen if path.endswith(elsewhere)]
