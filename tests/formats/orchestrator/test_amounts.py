"""Money and durations: what is written can be read, and means the same."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.orchestrator import model

MONEY = st.decimals(min_value=0, max_value=10**9, places=6) | st.decimals(
    min_value=0, max_value=10**9, places=2
)
TIMES = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=365)).map(
    lambda time: timedelta(seconds=int(time.total_seconds()))
)


@given(MONEY)
def test_money_is_read_as_it_was_written(amount: Decimal) -> None:
    """Nothing is rounded, and the form is that of the document."""
    text = model.format_money(amount)
    assert model.parse_money(text) == amount
    assert model.format_money(model.parse_money(text)) == text


@given(TIMES)
def test_a_duration_is_read_as_it_was_written(time: timedelta) -> None:
    """In each of the forms."""
    for text in (
        model.format_elapsed(time),
        model.format_task_time(time),
        model.format_limit(time),
    ):
        assert model.parse_duration(text) == time


@pytest.mark.parametrize("text", ["$10", "$0.75", "$0.20", "$1250.50"])
def test_money_keeps_the_form_of_the_document(text: str) -> None:
    """Whole dollars stay whole, and there are at least cents."""
    assert model.format_money(model.parse_money(text)) == text


def test_cents_are_written_whole() -> None:
    """Half a dollar is no $0.5."""
    assert model.format_money(Decimal("0.5")) == "$0.50"
    assert model.format_money(Decimal("0.0125")) == "$0.0125"


def test_durations_have_the_forms_of_the_document() -> None:
    """Of a run, of a task, and of a limit."""
    assert model.format_elapsed(timedelta(minutes=34, seconds=8)) == "0h 34m 8s"
    assert model.format_elapsed(timedelta(days=1, hours=2)) == "26h 0m 0s"
    assert model.format_task_time(timedelta(minutes=15, seconds=23)) == "15m 23s"
    assert model.format_task_time(timedelta(hours=1, seconds=2)) == "1h 0m 2s"
    assert model.format_limit(timedelta(hours=2)) == "2h"
    assert model.format_limit(timedelta(minutes=90)) == "1h 30m"
    assert model.format_limit(timedelta(0)) == "0s"


@pytest.mark.parametrize(
    ("text", "dollars"),
    [
        ("$1,250.50", "1250.50"),
        ("10", "10"),
        (" $ 10 ", "10"),
        ("10 USD", "10"),
        ("US$ 10", "10"),
        ("0.5 dollars", "0.5"),
    ],
)
def test_money_is_read_as_people_write_it(text: str, dollars: str) -> None:
    """Where nothing is doubtful."""
    assert model.parse_money(text) == Decimal(dollars)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("2h", 120),
        ("90m", 90),
        ("1d 2h", 1560),
        ("1h30m", 90),
        ("1.5h", 90),
        ("2 hours", 120),
        ("1 hour, 5 mins", 65),
        ("2H", 120),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, minutes: int) -> None:
    """Where nothing is doubtful."""
    assert model.parse_duration(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "text", ["", "$", "ten", "$-1", "10 max", "$1,25", "$1.2.3", "$1e3", "$٣", "$1.1234567"]
)
def test_what_is_no_money_is_refused(text: str) -> None:
    """With what is expected."""
    with pytest.raises(ValueError, match=r"an amount, such as \$10"):
        model.parse_money(text)


@pytest.mark.parametrize(
    "text",
    ["", "2", "h", "2h ago", "1m 2h", "1h 1h", "-1h", "1:30", "٣h", "99999999d", "1h and 3m"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """With what is expected."""
    with pytest.raises(ValueError, match="a duration, such as 2h or 0h 34m 8s"):
        model.parse_duration(text)
