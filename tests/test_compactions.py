"""Compactions are counted once each, whatever comes, in whatever order; and what is noted is ours."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from holdfast import clock
from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Briefing, Place, Workflow
from holdfast.records import ledger, sessionlog
from holdfast.restoring import compactions
from holdfast.restoring.compactions import (
    SummaryCheck,
    Survived,
    check,
    lost,
    started,
    summarised,
    survived,
)
from holdfast.restoring.summary import Fact
from holdfast.testing import Compactions, Project

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REMINDERS = (
    "Never skip the sitemap",
    "Ask for review before the release",
    "Tokens expire at night",
)


def place(root: Path, now: datetime = NOW) -> Place:
    return Place(Store(root), Settings(), now, None, None)


def workflow(**fields: Any) -> Workflow:
    briefing = Briefing("Page Work", "custom", 4, 10, "SEO", "in_progress", "Write the tags")
    briefing = replace(briefing, **{"reminders": REMINDERS, **fields})
    key = "canonical:name:page work"
    return Workflow("canonical", key, briefing.name, "active", NOW, lambda: briefing)


def start(where: Place, session: str | None = "a") -> None:
    lines = started(where, workflow(), session, 2)
    assert sessionlog.add_all(lines, clock.iso(where.now)) == []


def end(where: Place, session: str | None = "a", summary: str = "") -> None:
    found = check(where, workflow(), session, summary)
    summarised(where, workflow(), session, found, 2)


def count(where: Place) -> int:
    return survived(where, workflow()).count


def entry(where: Place) -> dict[str, Any]:
    return dict(ledger.notes_of(where.store, workflow().key)["compactions"])


ORDERS: dict[str, tuple[list[Callable[..., None]], int]] = {
    "as the client fires them": ([start, end], 1),
    "the other way round": ([end, start], 1),
    "no PostCompact": ([start], 1),
    "no SessionStart": ([end], 1),
    "three times": ([start, end, end, start, start, end], 3),
    "PostCompact fails once": ([start, end, start, start, end], 3),
    "SessionStart fails once": ([start, end, end, start, end], 3),
    "PostCompact is not registered": ([start, start, start], 3),
    "both late": ([start, start, end, end], 2),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_compaction_is_counted_once(name: str, tmp_path: Path) -> None:
    """Whatever the order, and where one of the two is missing."""
    events, expected = ORDERS[name]
    where = place(tmp_path)
    for event in events:
        event(where)
    assert count(where) == expected


@pytest.mark.parametrize("order", list(itertools.permutations(["s1", "s2", "e1", "e2"])))
def test_every_order_of_two_compactions(order: tuple[str, ...], tmp_path: Path) -> None:
    """All 24."""
    where = place(tmp_path)
    for event in order:
        (start if event.startswith("s") else end)(where)
    assert count(where) == 2


events = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["start", "end"])), max_size=25)


@profile(max_examples=50)
@given(events)
def test_the_count_is_the_sum_over_sessions_of_what_came_more_often(
    sequence: list[tuple[str, str]],
) -> None:
    """Against a reference that remembers everything."""
    with tempfile.TemporaryDirectory() as folder:
        where = place(Path(folder))
        for session, event in sequence:
            (start if event == "start" else end)(where, session)
        times = Counter(sequence)
        reference = sum(max(times[each, "start"], times[each, "end"]) for each in "abc")
        assert count(where) == reference


def test_many_sessions_take_little_room(tmp_path: Path) -> None:
    """The count stays right; only the twenty used last are kept one by one."""
    where = place(tmp_path)
    for number in range(50):
        start(where, f"session {number}")
        end(where, f"session {number}")
        start(where, "always there")
    assert count(where) == 100
    assert len(entry(where)["sessions"]) == 20
    assert "always there" in entry(where)["sessions"]


def test_a_session_without_an_id_or_with_an_odd_one(tmp_path: Path) -> None:
    """Null, a lone surrogate, one that never ends."""
    where = place(tmp_path)
    for session in (None, "\ud800", "x" * 10_000):
        for event in (start, end, start, end):
            event(where, session)
    assert count(where) == 6
    assert max(len(each) for each in entry(where)["sessions"]) == 100


@pytest.mark.long
def test_16_processes_lose_no_count(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Real ones, at the same moment: 16 of one session, then 4 each of 4."""
    holdfast_project.declare("Page Work")
    for sessions, event in ((("a",), "PostCompact"), (("b", "c", "d", "e"), "SessionStart")):
        outcomes = compaction_cycle.at_once(16, event=event, sessions=sessions)
        assert {outcome.code for outcome in outcomes} == {0}
    told = json.loads(holdfast_project.run("status", "--json").stdout)
    assert told["compactions"]["count"] == 32


def test_the_check_of_a_summary(tmp_path: Path) -> None:
    """What was kept, in numbers, and what was not, in the workflow's own words."""
    where = place(tmp_path)
    end(where, "a", f"Page Work 4/10. {REMINDERS[0]}. {REMINDERS[2]}. SECRET of the talk")
    last = survived(where, workflow()).last
    assert last == SummaryCheck(
        at="2026-05-04T12:00:00.000000Z",
        session="a",
        kept=4,
        of=6,
        missing=(Fact("next action", "Write the tags"), Fact("reminder", REMINDERS[1])),
    )
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"SECRET" not in written
    assert str(survived(where, workflow())) == (
        'compactions: 1, the last summary kept 4 of 6: not the next action "Write the tags", '
        'not the reminder "Ask for review before the release"'
    )


def test_in_words() -> None:
    """From nothing to more than can be named."""
    many = tuple(Fact("reminder", f"r{number}") for number in range(5))
    phase = (Fact("phase", "4 of 10: SEO"),)
    assert str(Survived()) == "compactions: 0"
    assert str(Survived(2, SummaryCheck(kept=6, of=6, missing=()))) == (
        "compactions: 2, the last summary kept 6 of 6"
    )
    assert str(Survived(3, SummaryCheck(kept=5, of=6, missing=phase))) == (
        "compactions: 3, the last summary kept 5 of 6: not the phase (4 of 10: SEO)"
    )
    assert str(Survived(3, SummaryCheck(kept=1, of=6, missing=many))).endswith(
        'not the reminder "r2", not 2 more'
    )


def test_without_a_summary_the_check_before_stays(tmp_path: Path) -> None:
    """Missing, null and blank say nothing of what was kept."""
    where = place(tmp_path)
    end(where, "a", "nothing of it")
    end(where, "a", " \n")
    assert survived(where, workflow()).count == 2
    assert len(lost(where, workflow())) == 6


def test_what_is_lost_follows_the_workflow(tmp_path: Path) -> None:
    """What is gone from it, or has changed, is not missed; a better summary ends it all."""
    where = place(tmp_path)
    end(where, "a", "nothing of it")
    later = workflow(phase=5, next_action=None, reminders=("New", REMINDERS[1]))
    assert lost(where, later) == (Fact("name", "Page Work"), Fact("reminder", REMINDERS[1]))
    end(where, "a", " ".join(["Page Work, phase 4/10, write the tags.", *REMINDERS]))
    assert lost(where, workflow()) == ()
    assert lost(where, later) == ()


def test_a_workflow_that_begins_again_begins_to_count(tmp_path: Path) -> None:
    """The same name after the end of the one before."""
    end(place(tmp_path), "a", "nothing")
    again = replace(workflow(), created_at=NOW + timedelta(days=1))
    later = place(tmp_path, NOW + timedelta(days=2))
    assert survived(later, again) == Survived()
    assert lost(later, again) == ()
    started(later, again, "a", 2)
    assert survived(later, again).count == 1
    assert survived(later, again).count == 1


def test_a_time_of_creation_that_lies_ahead_is_no_new_beginning(tmp_path: Path) -> None:
    """Somebody wrote it by hand; nor is one that another hook has just set."""
    end(place(tmp_path))
    later = place(tmp_path, NOW + timedelta(days=2))
    ahead = replace(workflow(), created_at=NOW + timedelta(days=9))
    beside = replace(workflow(), created_at=NOW + timedelta(seconds=3))
    assert survived(later, ahead).count == 1
    assert survived(later, beside).count == 1


SECOND = timedelta(seconds=1)


def test_a_workflow_that_begins_again_at_once_begins_to_count(tmp_path: Path) -> None:
    """`complete` and `start` within seconds of the last compaction."""
    first = replace(workflow(), created_at=NOW - timedelta(days=1))
    where = place(tmp_path)
    summarised(where, first, "a", check(where, first, "a", "nothing"), 2)
    later = place(tmp_path, NOW + 2 * SECOND)
    again = replace(first, created_at=NOW + SECOND)
    assert survived(later, again) == Survived()
    assert lost(later, again) == ()
    started(later, again, "a", 2)
    assert survived(later, again).count == 1
    assert summarised(later, again, "a", None, 2).count == 1
    assert summarised(place(tmp_path, NOW + timedelta(days=9)), again, "a", None, 2).count == 2


@pytest.mark.parametrize("order", list(itertools.permutations(["none", "none", "saved", "saved"])))
def test_a_file_that_appears_between_two_hooks_is_no_new_beginning(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    """SessionStart and PostCompact side by side: one finds the workflow's file, the other none yet."""
    for number, kind in enumerate(order):
        where = place(tmp_path, NOW + number * SECOND)
        found = replace(workflow(), created_at=NOW if kind == "saved" else None)
        noted = started if number % 2 else lambda *given: summarised(*given[:3], None, given[3])
        noted(where, found, "a", 2)
    saved = replace(workflow(), created_at=NOW)
    assert survived(place(tmp_path, NOW + timedelta(days=2)), saved).count == 2


def test_two_states_that_become_one_keep_the_count(tmp_path: Path) -> None:
    """The earlier time of creation stays then; that is no new workflow."""
    late = replace(workflow(), created_at=NOW - timedelta(days=1))
    started(place(tmp_path), late, "a", 2)
    early = replace(late, created_at=NOW - timedelta(days=3))
    started(place(tmp_path, NOW + SECOND), early, "a", 2)
    assert survived(place(tmp_path, NOW + SECOND), early).count == 2
    assert survived(place(tmp_path, NOW + 2 * SECOND), early).count == 2


def put(where: Place, noted: object, **others: object) -> None:
    ledger.update_notes(where.store, workflow().key, 2, lambda _: {**others, "compactions": noted})


DAMAGED = {
    "null": None,
    "a list": [1, 2],
    "a text": "x",
    "sessions are a list": {"sessions": [1]},
    "a session is a number": {"sessions": {"a": 5}},
    "counts are texts": {"sessions": {"a": {"starts": "3", "summaries": None}}},
    "counts are truths": {"sessions": {"a": {"starts": True}}},
    "counts are negative": {"sessions": {"a": {"starts": -4}}, "earlier": -9},
    "counts are broken numbers": {"sessions": {"a": {"starts": 1.5}}, "earlier": "NaN"},
    "the check is a list": {"last": []},
    "the check is empty": {"last": {}},
    "missing is a text": {"last": {"kept": 5, "of": 6, "missing": "x"}},
    "the time is no time": {"at": 7},
    "the time is the last there is": {"at": "9999-12-31T23:59:59Z"},
    "the time is the first there is": {"at": "0001-01-01T00:00:00+14:00"},
    "the time of creation is no time": {"created_at": [], "at": "9999-12-31T23:59:59Z"},
    "the time of creation is the last there is": {"created_at": "9999-12-31T23:59:59Z"},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_entry_counts_as_not_there(name: str, tmp_path: Path) -> None:
    """No error, and the next compaction is counted."""
    where = place(tmp_path)
    put(where, DAMAGED[name])
    assert survived(where, workflow()) == Survived()
    assert lost(where, workflow()) == ()
    saved = replace(workflow(), created_at=NOW)
    assert survived(where, saved) == Survived()
    end(where, "a", "nothing")
    assert count(where) == 1
    started(where, saved, "a", 2)
    assert survived(where, saved).count == 1
    assert len(lost(where, workflow())) == 6


TIMES = st.sampled_from(["9999-12-31T23:59:59Z", "0001-01-01T00:00Z", "2026-05-04", "\ud800", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | TIMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FACTS = st.lists(st.fixed_dictionaries({"label": VALUES, "text": VALUES}), max_size=3)
CHECKS = st.fixed_dictionaries(
    {}, optional={"at": VALUES, "kept": VALUES, "of": VALUES, "missing": FACTS | VALUES}
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "at": TIMES | VALUES,
        "created_at": TIMES | VALUES,
        "earlier": VALUES,
        "sessions": st.dictionaries(st.text(), VALUES, max_size=3) | VALUES,
        "last": CHECKS | VALUES,
    },
)


@profile(max_examples=100)
@given(ENTRIES | VALUES, st.sampled_from([None, NOW, datetime.max.replace(tzinfo=UTC)]))
def test_no_value_in_the_record_raises(noted: object, created_at: datetime | None) -> None:
    """Whatever is there: it can be read, told and counted on."""
    with tempfile.TemporaryDirectory() as folder:
        where, one = place(Path(folder)), replace(workflow(), created_at=created_at)
        put(where, noted)
        str(survived(where, one)).encode()
        lost(where, one)
        assert summarised(where, one, "a", check(where, one, "a", "x"), 2).count >= 1


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    """Other notes of the workflow, and fields of a newer version in our own entry."""
    where = place(tmp_path)
    ours = {"sessions": {"a": {"starts": 1, "newer": 1}}, "newer": {"x": 1}}
    put(where, ours, observed={"files": ["a.py"]})
    start(where)
    end(where, "a", "nothing")
    noted = ledger.notes_of(where.store, workflow().key)
    assert noted["observed"] == {"files": ["a.py"]}
    assert noted["compactions"]["newer"] == {"x": 1}
    assert noted["compactions"]["sessions"]["a"] == {"starts": 2, "summaries": 1, "newer": 1}


def test_played_compactions_leave_no_trace(tmp_path: Path) -> None:
    """They are counted for whoever plays them, in nothing that stays."""
    where = place(tmp_path)
    start(where)
    end(where, "a", "nothing")
    before = entry(where)
    played = replace(where, played=True)
    assert started(played, workflow(), "a", 2) == []
    kept = check(played, workflow(), "a", "Page Work")
    assert str(summarised(played, workflow(), "a", kept, 2)).startswith(
        "compactions: 2, the last summary kept 1 of 6"
    )
    assert entry(where) == before


def test_restores_are_counted_once_across_a_full_file(tmp_path: Path) -> None:
    """What is noted while the file is begun anew counts, and what was counted does not count again."""
    where = replace(place(tmp_path), user_folder=str(tmp_path / "user"))
    start(where)
    end(where, "a", "nothing")
    for _ in range(2):
        with Path(compactions.restores_in(str(tmp_path / "user"))).open("ab") as stream:
            stream.write(b"x\n" * 600_000)
        start(where)
        end(where, "a", "nothing")
    start(where)
    assert count(where) == 4
