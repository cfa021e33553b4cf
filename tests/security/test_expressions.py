"""No regular expression takes longer than its text is long.

They are found in the syntax tree of the source, so a new one cannot be forgotten. What a file may hold
is long, and one that takes the square of it holds up a compaction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

import expressions
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan
from measured import cpu_of

LENGTH = 2_500
MOST = 0.006  # seconds of CPU; one that takes the square of such a text takes more
# Those that are only ever given a short text, and how long that is.
SHORT = {"src/holdfast/formats/canonical/sources/statuses.py:_ENDING": 60}
# Put together from a workflow's own words, which are escaped; tests/test_summary.py has a huge summary.
# A hook's matcher stands in the client's settings, and is tried on single words. Fences have one letter.
MADE_AT_WORK = {
    "src/holdfast/files/inputs.py",  # from a glob of the settings, for the name of one file
    "src/holdfast/formats/gated/reviews.py",  # from a list beside it, and from the name of a feature
    "src/holdfast/patterns.py",  # which compiles those that are found by their `pattern(...)`
    "src/holdfast/restoring/summary.py",
}


@pytest.mark.parametrize("at", range(4))
def test_each_takes_no_longer_than_its_text(at: int) -> None:
    """In four parts, so that they run beside each other."""
    slow = {}
    for each in expressions.everywhere().expressions[at::4]:
        length = next((most for name, most in SHORT.items() if each.name == name), LENGTH)
        for text in expressions.attacks(each.pattern, length):
            for use in each.uses:
                if (spent := _spent(_call(each.pattern, use, text))) > MOST:
                    slow[each.where] = f"{use} of {text[:40]!a} took {spent:.3f} s: {each.pattern}"
    assert not slow


def _call(pattern: re.Pattern[Any], use: str, text: Any) -> Callable[[], object]:
    run = getattr(pattern, use)
    if use in {"sub", "subn"}:
        return lambda: run(text[:0], text)
    return (lambda: list(run(text))) if use == "finditer" else (lambda: run(text))


def _spent(run: Callable[[], object]) -> float:
    """CPU seconds of the quickest of some tries: others share the machine."""
    spent = MOST + 1
    for _ in range(4):
        begun = time.process_time()
        run()
        spent = min(spent, time.process_time() - begun)
        if spent <= MOST:
            break
    return spent


def test_all_of_them_are_found() -> None:
    """What is put together at work is known by its place."""
    found = expressions.everywhere()
    assert len(found.expressions) > 150
    assert {where.partition(":")[0] for where in found.made_at_work} == MADE_AT_WORK


def test_a_slow_one_is_noticed() -> None:
    """Both kinds: the square of a length, and worse."""
    for text in (r"\s+-", r"(a|a)*b", r"^(\w+\s?)*:$"):
        pattern = re.compile(text)
        length = 18 if "*" in text else LENGTH
        attacks = expressions.attacks(pattern, length)
        assert any(_spent(_call(pattern, "search", each)) > MOST for each in attacks), text


def _lines(line: str, count: int = 300) -> bytes:
    return ("# Plan\n\nWorkflow: W\nPhase: 1/3\n\n" + f"{line}\n" * count).encode()


SPACES = "\t" * 1_900 + " x"
STUMBLED = {
    "front matter over blank lines": (
        "---\nworkflow: W\n" + "\n" * 60_000 + ": [@\n---\n"
    ).encode(),
    "front matter over spaces": ("---\nworkflow: W\n" + " " * 60_000 + "x\n: [\n---\n").encode(),
    "a heading over its spaces": _lines(f"# a{SPACES}"),
    "a value over its spaces": _lines(f"Plan: a{SPACES}"),
    "a path over its spaces": _lines(f"@a{SPACES}"),
    "a context variable of underscores": _lines(f"## Context\n\n- {'_' * 3_900} x", 3),
    "a marker over its colons": _lines(f"# Workflow state{':' * 450}x"),
}


@pytest.mark.parametrize("name", STUMBLED)
def test_a_file_that_expressions_stumbled_over(name: str) -> None:
    """Each held a hook for seconds, and a few of its lines more for minutes."""
    data = STUMBLED[name]

    def read() -> None:
        read_local(data, path="CLAUDE.local.md", mtime=1.0, find_plan=lambda _: None)
        read_plan(data, path="PLAN.md", mtime=1.0)

    assert cpu_of(read, 1) < 1
