"""Which of several workflows a session gets: every rule, and the reason that is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.formats.engine.workflow import Briefing, Workflow
from holdfast.records.session import Session
from holdfast.workflows.selection import Circumstances, choose

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def workflow(key: str, **fields: Any) -> Workflow:
    fields.setdefault("standing", "active")
    fields.setdefault("changed_at", NOW - timedelta(days=1))
    fields.setdefault("created_at", NOW - timedelta(days=2))
    briefing = Briefing(key, "custom", 1, 2, "A", "in_progress")
    return Workflow("canonical", key, key, brief=lambda: briefing, **fields)


def claim(key: str, *, at: datetime = NOW - timedelta(hours=1), follows: bool = False) -> Session:
    return Session(id="s", root="/p", workflow=key, since=at.isoformat(), follows=follows)


LATELY = NOW - timedelta(minutes=1)
EDITED = LATELY.timestamp()


def test_nothing_is_active() -> None:
    """What is left over is named, not chosen."""
    choice = choose([workflow("a", standing="finished")], Circumstances(NOW))
    assert choice.chosen is None
    assert [each.key for each in choice.others] == ["a"]


def other(key: str, *before: str, follows: bool = False) -> Session:
    since = NOW.isoformat()
    return Session(
        id="another", root="/p", workflow=key, since=since, before=before, follows=follows
    )


CASES: dict[str, tuple[list[Workflow], Circumstances, str]] = {
    "the only one": ([workflow("a")], Circumstances(NOW), "a"),
    "not what is told with another one, however new": (
        [workflow("a"), workflow("b", part_of="a", changed_at=NOW)],
        Circumstances(NOW),
        "a",
    ),
    "the one that tells what the session took up": (
        [workflow("a"), workflow("b", part_of="a"), workflow("c", changed_at=NOW)],
        Circumstances(NOW, claim=claim("b")),
        "a",
    ),
    "the session's own before one that is declared and older": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "one that CLAUDE.local.md declares in the place of the own": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", follows=True)),
        "b",
    ),
    "not one beside the own, which CLAUDE.local.md declares still": (
        [workflow("a", declared="local"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", follows=True)),
        "a",
    ),
    "a state that was changed since": (
        [workflow("a"), workflow("b", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a")),
        "b",
    ),
    "of several the newest, also on another branch": (
        [
            workflow("a"),
            workflow("b", changed_at=LATELY, branch="side"),
            workflow("c", changed_at=LATELY - timedelta(minutes=1), branch="main"),
        ],
        Circumstances(NOW, branch="main", claim=claim("a")),
        "b",
    ),
    "not one whose time is in the future": (
        [workflow("a"), workflow("b", changed_at=NOW + timedelta(days=1))],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "not a state that another session works on": (
        [workflow("a"), workflow("b", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a"), others=(other("b"),)),
        "a",
    ),
    "not a state that another session has worked on": (
        [workflow("a"), workflow("b", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a"), others=(other("c", "b"),)),
        "a",
    ),
    "a plan that appeared since": (
        [workflow("a"), workflow("b", declared="plan", created_at=LATELY, declared_at=EDITED)],
        Circumstances(NOW, claim=claim("a")),
        "b",
    ),
    "not what CLAUDE.local.md declared before, though somebody has edited it": (
        [workflow("a"), workflow("b", declared="local", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "what CLAUDE.local.md declares since": (
        [
            workflow("a"),
            workflow(
                "b", declared="local", changed_at=LATELY, created_at=LATELY, declared_at=EDITED
            ),
        ],
        Circumstances(NOW, claim=claim("a")),
        "b",
    ),
    "not what was declared before, and is saved for the first time": (
        [workflow("a"), workflow("b", declared="local", changed_at=LATELY, created_at=LATELY)],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "not a plan that was there before, though somebody has edited it": (
        [workflow("a"), workflow("b", declared="plan", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "not a plan that another session works on": (
        [workflow("a"), workflow("b", declared="plan", created_at=LATELY)],
        Circumstances(NOW, claim=claim("a"), others=(other("b"),)),
        "a",
    ),
    "the follower of CLAUDE.local.md follows it, whoever came first": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", follows=True), others=(other("b"),)),
        "b",
    ),
    "what was begun beside CLAUDE.local.md stays, when another session follows that": (
        [workflow("a"), workflow("b", declared="local", changed_at=LATELY)],
        Circumstances(NOW, claim=claim("a"), others=(other("x", follows=True),)),
        "a",
    ),
    "the own one when it has ended counts no more": (
        [workflow("a", standing="finished"), workflow("b")],
        Circumstances(NOW, claim=claim("a")),
        "b",
    ),
    "a state that was written after CLAUDE.local.md": (
        [
            workflow("a", declared="local", declared_at=EDITED - 60),
            workflow("b", changed_at=LATELY - timedelta(seconds=30)),
            workflow("c", changed_at=LATELY),
            workflow("d", declared="plan", declared_at=EDITED),
        ],
        Circumstances(NOW),
        "c",
    ),
    "CLAUDE.local.md before a state that is older than its edit": (
        [workflow("a", declared="local", declared_at=EDITED), workflow("b", changed_at=LATELY)],
        Circumstances(NOW),
        "a",
    ),
    "CLAUDE.local.md before a state that is older than the work on what it declares": (
        [workflow("a", declared="local", changed_at=NOW), workflow("b", changed_at=LATELY)],
        Circumstances(NOW),
        "a",
    ),
    "CLAUDE.local.md before a later state that another session works on": (
        [workflow("a", declared="local"), workflow("b", changed_at=LATELY)],
        Circumstances(NOW, others=(other("b"),)),
        "a",
    ),
    "CLAUDE.local.md before a later state that a command began, outside of a session": (
        [workflow("a", declared="local"), workflow("b", changed_at=LATELY, saved_by="start")],
        Circumstances(NOW),
        "a",
    ),
    "CLAUDE.local.md before a state of the future": (
        [workflow("a", declared="local"), workflow("b", changed_at=NOW + timedelta(days=1))],
        Circumstances(NOW),
        "a",
    ),
    "CLAUDE.local.md before a later plan": (
        [
            workflow("a", declared="local", declared_at=1),
            workflow("b", declared="plan", declared_at=9),
        ],
        Circumstances(NOW),
        "a",
    ),
    "the latest edited plan": (
        [
            workflow("a", declared="plan", declared_at=1),
            workflow("b", declared="plan", declared_at=9),
        ],
        Circumstances(NOW),
        "b",
    ),
    "a declared one before a newer undeclared one": (
        [workflow("a", declared="plan"), workflow("b", changed_at=NOW)],
        Circumstances(NOW),
        "a",
    ),
    "the last changed one": (
        [workflow("a"), workflow("b", changed_at=NOW)],
        Circumstances(NOW),
        "b",
    ),
    "this branch before another that was changed at about the same time": (
        [
            workflow("a", branch="main", changed_at=NOW - timedelta(minutes=8)),
            workflow("b", branch="side", changed_at=NOW),
        ],
        Circumstances(NOW, branch="main"),
        "a",
    ),
    "another branch before one of this branch that is clearly older": (
        [
            workflow("a", branch="main", changed_at=NOW - timedelta(minutes=12)),
            workflow("b", branch="side", changed_at=NOW),
        ],
        Circumstances(NOW, branch="main"),
        "b",
    ),
    "CLAUDE.local.md of another branch before a state of this one": (
        [
            workflow("a", branch="side", declared="local", changed_at=NOW),
            workflow("b", branch="main", changed_at=NOW),
        ],
        Circumstances(NOW, branch="main"),
        "a",
    ),
    "a future time is held to now": (
        [workflow("a", changed_at=NOW), workflow("b", changed_at=NOW + timedelta(days=900))],
        Circumstances(NOW),
        "a",
    ),
    "the last changed one, although another session has it": (
        [workflow("a"), workflow("b", changed_at=NOW)],
        Circumstances(NOW, others=(other("b"),)),
        "b",
    ),
    "what another session has, when there is nothing else": (
        [workflow("b")],
        Circumstances(NOW, others=(other("b"),)),
        "b",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_chosen_one(name: str) -> None:
    """A table of situations; the order of the input never matters."""
    workflows, circumstances, expected = CASES[name]
    for order in (workflows, workflows[::-1]):
        choice = choose(order, circumstances)
        assert choice.chosen is not None
        assert choice.chosen.key == expected
        assert choice.why
        assert len(choice.others) == len(workflows) - 1


def test_the_reason_names_the_rule() -> None:
    """What decided, and not only that it is the newest."""
    here, there = workflow("a", branch="main"), workflow("b", branch="side", changed_at=LATELY)
    older = workflow("a", branch="main", changed_at=LATELY - timedelta(minutes=1))
    for workflows, circumstances, reason in (
        ([here], Circumstances(NOW), "it is the only active one"),
        ([here, there], Circumstances(NOW), "and it is the newest"),
        (
            [older, there],
            Circumstances(NOW, "main"),
            "and it is of this branch, while 'b' of 'side'",
        ),
        ([here, there], Circumstances(NOW, claim=claim("b")), "this session works on it"),
        (
            [here, there],
            Circumstances(NOW, claim=claim("a")),
            "it was changed after this session took up 'a'",
        ),
    ):
        assert reason in choose(workflows, circumstances).why
