"""What a measurement comes to: one figure, how far it can be trusted, and whether it meets its limit.

Pure, so that it can be tested without measuring anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

# Two runs of the same code on the same machine differ by so much, whatever the spread in each of them.
_BETWEEN_RUNS = 0.03
_FEWEST = 8  # rounds; fewer say nothing of their spread
_SURE = 2.58  # standard deviations that hold 99 of 100

F, TIMES, MS, MB = "F", "times", "ms", "MB"


class Limit(NamedTuple):
    """What a figure may be at most."""

    figure: float
    unit: str


class Interval(NamedTuple):
    """A quantile, and between what it lies for all that is known."""

    figure: float
    low: float
    high: float


def quantile(values: Sequence[float], share: float = 0.5) -> Interval:
    """The quantile of *values* with its interval of confidence.

    The interval goes from one of the values to another, as many ranks away as chance may move the
    quantile; so it needs no idea of how the values are spread.
    """
    ordered = sorted(values)
    last = len(ordered) - 1
    rank = share * last
    off = _SURE * math.sqrt(len(ordered) * share * (1 - share))
    below, above = max(math.floor(rank - off), 0), min(math.ceil(rank + off), last)
    between = math.floor(rank)
    rest = ordered[min(between + 1, last)] - ordered[between]
    figure = ordered[between] + (rank - between) * rest
    return Interval(figure, ordered[below], ordered[above])


@dataclass(frozen=True)
class Row:
    """One line of the table, as it is kept in results.json."""

    case: str
    figure: float
    unit: str
    low: float
    high: float
    limit: float | None = None
    milliseconds: float | None = None  # of wall clock, the median
    rounds: int = 1

    @classmethod
    def of(
        cls, case: str, limit: Limit, found: Interval, rounds: int, seconds: float | None = None
    ) -> Row:
        permitted = None if math.isinf(limit.figure) else limit.figure
        milliseconds = None if seconds is None else round(seconds * 1000, 1)
        figures = (round(each, 3) for each in found)
        figure, low, high = figures
        return cls(case, figure, limit.unit, low, high, permitted, milliseconds, rounds)

    @property
    def met(self) -> bool | None:
        """None where there is no limit."""
        return None if self.limit is None else self.figure <= self.limit

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> Row:
        return cls(**{key: value for key, value in kept.items() if key != "met"})


class Change(NamedTuple):
    """A row beside the same row of an earlier run."""

    share: float  # 0.1 is ten per cent more
    told: str  # "worse", "better", or nothing where chance may have done it


def compare(now: Row, before: Row | None) -> Change | None:
    """What became of the row; None where it is new, or is measured in another way now."""
    if before is None or before.unit != now.unit or not before.figure:
        return None
    share = now.figure / before.figure - 1
    if now.unit != MB and min(now.rounds, before.rounds) < _FEWEST:
        return Change(share, "")
    if now.low > before.high and share > _BETWEEN_RUNS:
        return Change(share, "worse")
    if now.high < before.low and share < -_BETWEEN_RUNS:
        return Change(share, "better")
    return Change(share, "")
