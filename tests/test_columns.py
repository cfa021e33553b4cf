"""How wide text is on a terminal, and how it is broken to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.room import cut, pad, width, wrap


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("ｆｕｌｌ", 8),
        ("a\u200db", 2),
        ("", 0),
        ("█▓░", 3),
    ],
)
def test_wide_characters_count_two_and_combining_ones_none(text: str, columns: int) -> None:
    """As a terminal counts them."""
    assert width(text) == columns


def test_what_is_cut_says_so_and_fits() -> None:
    """Also where half of a wide character would have fitted."""
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 5) == "abcd…"
    assert cut("日本語", 4) == "日…"
    assert pad("日本語", 4) == "日… "
    assert cut("abc", 0) == cut("abc", -1) == ""


def test_lines_break_between_words() -> None:
    """A word that is too long is broken; a path never is."""
    assert wrap("one two  three", 7) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("see docs/a/long/path.md now", 8) == ["see", "docs/a/long/path.md", "now"]
    assert wrap("", 8) == [""]


@given(st.text(alphabet=st.characters(exclude_characters="/")), st.integers(2, 90))
def test_no_line_is_wider_and_nothing_is_lost(text: str, columns: int) -> None:
    """Whatever the text."""
    lines = wrap(text, columns)
    assert max(map(width, lines)) <= columns
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert width(cut(text, columns)) <= columns
    assert width(pad(text, columns)) == columns
