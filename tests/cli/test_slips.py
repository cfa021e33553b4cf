"""Slips: what somebody typed, word for word, and what it is answered with."""

from __future__ import annotations

import json
import shlex

import click
import pytest

from holdfast.cli.main import cli
from holdfast.testing import Compactions, Project


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("stauts", "No such command 'stauts'. Did you mean 'status'?"),
        ("compelte", "No such command 'compelte'. Did you mean 'complete'?"),
        ("doctr", "No such command 'doctr'. Did you mean 'doctor'?"),
        ("lst", "No such command 'lst'. Did you mean 'list'?"),
        ("phase nxt", "No such command 'nxt'. Did you mean 'next'?"),
        ("unblok", "Did you mean 'unblock'?"),
        ("next", "several workflows are active: 'Beta', 'Alpha'"),
        ("phase set 2 -s blocked", "Name one: holdfast phase set -w Beta 2 -s blocked"),
        ("note 'it fails'", "Name one: holdfast note -w Beta 'it fails'"),
        ("finish", "Did you mean 'complete'?"),
        ("compact", "Did you mean 'simulate'?"),  # it suggested `complete`
        ("remind Tokens expire", "For one: holdfast remind 'Tokens expire'"),
        ("phase set two -w Alpha", "no phase is called 'two'\n  Give its number: 1 A, 2 B"),
        ("phase set 2.5 -w Alpha", "no phase is called '2.5'"),
        (
            "phase set 9 -w Alpha",
            "there are phases 1 to 2\n  To have more phases: `holdfast phase set 9 --total 9`",
        ),
        (
            "phase next --total 1 -w Alpha",
            "there is one phase\n  To have more phases: `holdfast phase set 2 --total 2`",
        ),
        ("unfollow notes.md", "notes.md is not followed"),
        ("log --last many", "'many' is not a valid whole number."),
        ("start X --phases ,", "--phases has no names"),
        ("start X --phases=", "--phases has no names"),
        ("status Alpha -w Beta", "Give the workflow as NAME or as -w NAME, not both."),
        ("switch", "Missing argument 'NAME'."),
        ("forget", "Missing argument 'NAME'."),
        ("switch Alpha", "In Claude Code, type `!holdfast switch Alpha`."),
        ("read --excuse @a.md", "In Claude Code, type `!holdfast read --excuse @a.md`."),
        ("complete", "several workflows are active: 'Beta', 'Alpha'"),
    ],
)
def test_a_slip_gets_the_right_hint(typed: str, answer: str, holdfast_project: Project) -> None:
    holdfast_project.run("start", "Alpha", "--phases", "A,B")
    holdfast_project.run("start", "Beta", "--phases", "A,B")
    holdfast_project.write("notes.md", "# Notes\n")
    before = holdfast_project.states()
    done = holdfast_project.run(*shlex.split(typed), check=False)
    assert done.returncode in {1, 2}
    assert answer in done.stderr
    assert holdfast_project.states() == before


@pytest.mark.parametrize("command", ["status", "show", "preview", "phase next", "resume", "ignore"])
@pytest.mark.parametrize("given", [["Alpha"], ["-w", "Alpha"], ["alp"], ["--workflow", "alpha"]])
def test_name_and_w_name_are_alike(
    command: str, given: list[str], holdfast_project: Project
) -> None:
    holdfast_project.run("start", "Alpha", "--phases", "A,B")
    holdfast_project.run("start", "Beta", "--phases", "A,B")
    assert "Alpha" in holdfast_project.run(*command.split(), *given).stdout


def test_help_lists_every_command_once_the_daily_ones_first(holdfast_project: Project) -> None:
    shown = holdfast_project.run("--help").stdout
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings[:2] == ["Options:", "Daily:"]
    assert "Others:" not in headings
    daily = shown.partition("Daily:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in daily][:2] == ["init", "status"]
    assert len(daily) == 7
    listed = [
        line.split()[0] for line in shown.partition("Daily:")[2].splitlines() if line[:2] == "  "
    ]
    assert sorted(listed) == sorted(cli.list_commands(click.Context(cli)))


def test_times_are_in_the_local_zone_with_the_zone(
    holdfast_project: Project, compaction_cycle: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were in UTC; files still have them so."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    holdfast_project.run("start", "Alpha")
    compaction_cycle(in_process=False)
    assert " IST" in holdfast_project.run("status").stdout
    assert " IST " in holdfast_project.run("log").stdout
    assert holdfast_project.state()["created_at"].endswith("Z")


def test_delivery_passes_over_what_a_person_played_by_hand(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It looked for the transcript of the last session, which never was."""
    project = holdfast_project
    project.declare("Alpha")
    compaction_cycle(session="real")
    compaction_cycle(session="by-hand")
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "timestamp": "2026-01-02T03:04:05Z",
    }
    path = project.write("real.jsonl", json.dumps(boundary) + "\n")
    done = project.run("doctor", "--delivery", "--json", check=False)
    assert json.loads(done.stdout)["transcript"] == str(path)
    project.write("by-hand.jsonl", json.dumps({"type": "user"}) + "\n")  # it may also be there
    done = project.run("doctor", "--delivery", "--json", check=False)
    assert json.loads(done.stdout)["transcript"] == str(path)
    other = project.root.parent / "other"
    other.mkdir()
    done = project.run("doctor", "--delivery", cwd=other, check=False)
    assert f"no known session of {other} shows a compaction" in done.stderr


def test_plans_of_one_name_are_told_apart_by_their_paths(holdfast_project: Project) -> None:
    """The hint named a workflow that could be either."""
    project = holdfast_project
    paths = ["CLAUDE/Plan/001-a/PLAN.md", "CLAUDE/Plan/002-b/PLAN.md"]
    for path in paths:
        project.write(
            path,
            "# Import CSV\nStatus: In Progress\n\n## Phase 1: A\n- [ ] a\n## Phase 2: B\n- [ ] b\n",
        )
    listed = project.run("list").stdout
    assert all(path in listed for path in paths)
    refused = project.run("phase", "next", check=False)
    assert all(path in refused.stderr for path in paths)
    hinted = refused.stderr.rpartition("Name one: holdfast ")[2].split()
    assert "phase 2/2" in project.run(*hinted).stdout
