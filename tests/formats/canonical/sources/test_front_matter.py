"""Front matter: its values, the slips that are forgiven, and the problems that are told."""

from __future__ import annotations

import pytest

from holdfast.formats.canonical.sources.document import front_matter
from holdfast.formats.engine.markdown import Line, scan


def test_front_matter_keeps_the_line_numbers_of_the_body() -> None:
    """The body has a blank line for each line of front matter."""
    fields, body, problem = front_matter("---\nworkflow: X\n1: 2025-12-09\n---\n# Title\n")
    assert (fields, problem) == ({"workflow": "X", "1": "2025-12-09"}, None)
    assert scan(body) == [Line(5, "Title", level=1)]


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("required_reading:\n  - @docs/a.md", {"required_reading": ["@docs/a.md"]}),
        ("plan: @it's.md", {"plan": "@it's.md"}),
        ("workflow: Build: Auth\nphase: 2", {"workflow": "Build: Auth", "phase": 2}),
        ("a: 2025-12-09T14:30:52Z", {"a": "2025-12-09T14:30:52+00:00"}),
        (
            "a: .nan\nb: 1.5\nc: 99999999999999999999",
            {"a": "nan", "b": 1.5, "c": "99999999999999999999"},
        ),
        ("", {}),
        ("# only a comment", {}),
    ],
)
def test_front_matter_values(block: str, fields: dict[str, object]) -> None:
    """Values are what JSON can hold, and slips that people make in YAML are forgiven."""
    assert front_matter(f"---\n{block}\n---\n")[::2] == (fields, None)


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("- a\n- b", "not a mapping"),
        ("a: [1", "not valid YAML"),
        ("a: &x [1]\nb: [*x, *x]", "aliases"),
        ("a: !!python/object:os.system x", "tags"),
        ("a: " + "[" * 30_000, "nested"),
        ("a: 2025-13-45", "not valid YAML"),
        ("? [1, 2]\n: x", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("a: 1:" + "59:" * 600 + "1.5", "not valid YAML"),
    ],
)
def test_front_matter_problems_are_told(block: str, problem: str) -> None:
    """Unusable front matter gives no fields, one line about it, and the body."""
    fields, body, told = front_matter(f"---\n{block}\n---\nText")
    assert fields == {}
    assert [line.text for line in scan(body)] == ["Text"]
    assert told
    assert problem in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "text",
    [
        "----\na: 1\n----\n",
        "---\na: 1\n",
        "text\n---\na: 1\n---\n",
        "---\na: " + "x" * 70_000 + "\n---\n",
        "---",
        "",
    ],
)
def test_what_is_not_front_matter(text: str) -> None:
    """Without an opening and a closing line near the top, all is body."""
    assert front_matter(text) == ({}, text, None)
