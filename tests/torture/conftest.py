"""Figures of the torture, printed at its end; and a server of processes for each of pytest's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from efforts import EFFORT
from warm import Warm

_FIGURE = "torture: "

Count = Callable[[str, int], None]


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    with Warm() as server:
        yield server


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """Adds to a figure of the run."""
    return lambda what, number: record_property(f"{_FIGURE}{what}", number)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    figures: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, number in getattr(report, "user_properties", ()):
                if name.startswith(_FIGURE) and report.when == "call":
                    figures[name.removeprefix(_FIGURE)] += number
    if figures:
        terminalreporter.section(f"torture, seed {EFFORT.seed}")
        for what, number in sorted(figures.items()):
            terminalreporter.write_line(f"{number:>8,} {what}")
