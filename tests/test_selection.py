"""Which of several workflows a session gets: every rule, and the reason that is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.briefing import Briefing
from holdfast.formats.base import Workflow
from holdfast.selection import Circumstances, choose
from holdfast.sessions import Claim

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def workflow(key: str, **fields: Any) -> Workflow:
    fields.setdefault("standing", "active")
    fields.setdefault("changed_at", NOW - timedelta(days=1))
    fields.setdefault("created_at", NOW - timedelta(days=2))
    return Workflow(
        "canonical", key, briefing=Briefing(key, "custom", 1, 2, "A", "in_progress"), **fields
    )


def claim(key: str, *, at: datetime = NOW - timedelta(hours=1), declared: str = "") -> Claim:
    return Claim("s", "/p", key, at.isoformat(), declared)


def test_nothing_is_active() -> None:
    """What is left over is named, not chosen."""
    choice = choose([workflow("a", standing="finished")], Circumstances(NOW))
    assert choice.chosen is None
    assert [each.key for each in choice.others] == ["a"]


def other(key: str, declared: str = "") -> Claim:
    return Claim("another", "/p", key, NOW.isoformat(), declared)


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
    "the session's own before a declared one that it knew": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", declared="b")),
        "a",
    ),
    "one that CLAUDE.local.md declared since": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", declared="a")),
        "b",
    ),
    "a plan that appeared since": (
        [workflow("a"), workflow("b", declared="plan", created_at=NOW)],
        Circumstances(NOW, claim=claim("a")),
        "b",
    ),
    "not a plan that was there before": (
        [workflow("a"), workflow("b", declared="plan")],
        Circumstances(NOW, claim=claim("a")),
        "a",
    ),
    "not a plan that another session works on": (
        [workflow("a"), workflow("b", declared="plan", created_at=NOW)],
        Circumstances(NOW, claim=claim("a"), others=(other("b"),)),
        "a",
    ),
    "the follower of CLAUDE.local.md follows it, whoever came first": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", declared="a"), others=(other("b", "x"),)),
        "b",
    ),
    "what was begun beside CLAUDE.local.md stays, when another session follows that": (
        [workflow("a"), workflow("b", declared="local")],
        Circumstances(NOW, claim=claim("a", declared="x"), others=(other("x", "x"),)),
        "a",
    ),
    "the own one when it has ended counts no more": (
        [workflow("a", standing="finished"), workflow("b")],
        Circumstances(NOW, claim=claim("a")),
        "b",
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
    "this branch before another": (
        [workflow("a", branch="main"), workflow("b", branch="side", changed_at=NOW)],
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
