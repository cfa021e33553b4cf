"""Compactions are counted once each, whatever comes, in whatever order; and what is noted is ours."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
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
from holdfast.records import sessionlog
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
    return Place(Store(root), Settings(), now, None, None, user_folder=str(root / "user"))


def workflow(**fields: Any) -> Workflow:
    briefing = Briefing("Page Work", "custom", 4, 10, "SEO", "in_progress", "Write the tags")
    briefing = replace(briefing, **{"reminders": REMINDERS, **fields})
    key = "canonical:name:page work"
    return Workflow("canonical", key, briefing.name, "active", NOW, lambda: briefing)


def add(where: Place, lines: Sequence[sessionlog.LogLine]) -> None:
    assert sessionlog.add_all(lines, clock.iso(where.now)) == []


def start(where: Place, session: str | None = "a", one: Workflow | None = None) -> None:
    add(where, started(where, one or workflow(), session))


def end(
    where: Place, session: str | None = "a", summary: str = "", one: Workflow | None = None
) -> None:
    one = one or workflow()
    add(where, summarised(where, one, session, check(one, summary)))


def count(where: Place) -> int:
    return survived(where, workflow()).count


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


def test_a_session_without_an_id_or_with_an_odd_one(tmp_path: Path) -> None:
    """Null, a lone surrogate, one that never ends."""
    where = place(tmp_path)
    for session in (None, "\ud800", "x" * 10_000):
        for event in (start, end, start, end):
            event(where, session)
    assert count(where) == 6
    lines = Path(compactions.log_of(str(where.user_folder))).read_bytes().splitlines()
    assert max(map(len, lines)) < 400


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
        'compactions: 1, the last summary kept 4 of 6 facts: not the next action "Write the tags", '
        'not the reminder "Ask for review before the release"'
    )


def test_in_words() -> None:
    """From nothing to more than can be named."""
    many = tuple(Fact("reminder", f"r{number}") for number in range(5))
    phase = (Fact("phase", "4 of 10: SEO"),)
    assert str(Survived()) == "compactions: 0"
    assert str(Survived(2, SummaryCheck(6, 6, ()))) == (
        "compactions: 2, the last summary kept 6 of 6 facts"
    )
    assert str(Survived(3, SummaryCheck(5, 6, phase))) == (
        "compactions: 3, the last summary kept 5 of 6 facts: not the phase (4 of 10: SEO)"
    )
    assert str(Survived(3, SummaryCheck(1, 6, many))).endswith('not the reminder "r2", not 2 more')


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
    start(later, "a", again)
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
    end(where, "a", "nothing", first)
    later = place(tmp_path, NOW + 2 * SECOND)
    again = replace(first, created_at=NOW + SECOND)
    assert survived(later, again) == Survived()
    assert lost(later, again) == ()
    start(later, "a", again)
    assert survived(later, again).count == 1
    end(later, "a", "", again)
    assert survived(later, again).count == 1
    end(place(tmp_path, NOW + timedelta(days=9)), "a", "", again)
    assert survived(later, again).count == 2


@pytest.mark.parametrize("order", list(itertools.permutations(["none", "none", "saved", "saved"])))
def test_a_file_that_appears_between_two_hooks_is_no_new_beginning(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    """SessionStart and PostCompact side by side: one finds the workflow's file, the other none yet."""
    for number, kind in enumerate(order):
        where = place(tmp_path, NOW + number * SECOND)
        found = replace(workflow(), created_at=NOW if kind == "saved" else None)
        (start if number % 2 else end)(where, "a", one=found)
    saved = replace(workflow(), created_at=NOW)
    assert survived(place(tmp_path, NOW + timedelta(days=2)), saved).count == 2


def test_two_states_that_become_one_keep_the_count(tmp_path: Path) -> None:
    """The earlier time of creation stays then; that is no new workflow."""
    late = replace(workflow(), created_at=NOW - timedelta(days=1))
    start(place(tmp_path), "a", late)
    early = replace(late, created_at=NOW - timedelta(days=3))
    start(place(tmp_path, NOW + SECOND), "a", early)
    assert survived(place(tmp_path, NOW + SECOND), early).count == 2
    assert survived(place(tmp_path, NOW + 2 * SECOND), early).count == 2


FACTS = st.lists(st.lists(st.text(), max_size=3) | st.text() | st.none(), max_size=3)
TIMES = st.sampled_from(["9999-12-31T23:59:59Z", "0001-01-01T00:00Z", "2026-05-04", "\ud800", "x"])
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | TIMES | FACTS
FIELDS = ["at", "created_at", "session", "workflow", "kept", "of", "missing"]


@profile(max_examples=100)
@given(
    st.dictionaries(st.sampled_from(FIELDS), VALUES),
    st.sampled_from([None, NOW, datetime.max.replace(tzinfo=UTC)]),
)
def test_no_value_in_the_logs_raises(fields: dict[str, Any], created_at: datetime | None) -> None:
    """Whatever is there: it can be read, told and counted on."""
    with tempfile.TemporaryDirectory() as folder:
        where, one = place(Path(folder)), replace(workflow(), created_at=created_at)
        for kind in ("restored", "summarised"):
            line = {"workflow": one.key, "at": "x", **fields}
            record = json.dumps({"entry": kind, **line}).encode() + b"\n"
            sessionlog.add(compactions.log_of(str(where.user_folder), kind), record)
        str(survived(where, one)).encode()
        lost(where, one)
        end(where, "a", "x", one)
        assert survived(where, one).count >= 1


def test_without_a_folder_of_the_user_nothing_is_counted(tmp_path: Path) -> None:
    """There is nowhere to note it."""
    where = replace(place(tmp_path), user_folder=None)
    start(where)
    end(where, "a", "nothing")
    assert survived(where, workflow()) == Survived()
    assert list(tmp_path.iterdir()) == []


def test_the_logs_do_not_grow_without_end(tmp_path: Path) -> None:
    """The last megabyte counts, in thousands of lines."""
    where = place(tmp_path)
    start(where)
    end(where, "a", "nothing")
    for kind in ("restored", "summarised"):
        log = Path(compactions.log_of(str(where.user_folder), kind))
        with log.open("ab") as stream:
            stream.write(b"x\n" * 600_000)
    start(where)
    end(where)
    assert log.stat().st_size < 1000
    assert count(where) == 2
    assert len(lost(where, workflow())) == 6
