"""A table names its columns in its header row; what stands below has to be read by these names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.formats.canonical.sources.values import bare, plain_label
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern

_MOST_COLUMNS = 20
_LONGEST_ROW = 10_000
_BAR = pattern(r"(?<!\\)\|")


class Row(NamedTuple):
    """One row below a header."""

    line: Line
    cells: dict[str, str]  # by the column's label
    heading: str  # the one above the table


def with_headers(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines, with the header row of each table marked as one."""
    above = None
    for line in lines:
        if above:
            adjoins = _is_row(above) and line.number == above.number + 1
            yield above._replace(head=True) if adjoins and _is_rule(line.text) else above
        above = line
    if above:
        yield above


def rows(lines: list[Line]) -> Iterator[Row]:
    """The rows of all tables that have a header."""
    labels: list[str] = []
    heading, previous = "", 0
    for line in lines:
        if line.level:
            heading = line.text
        if line.head:
            labels = [plain_label(cell) for cell in _cells(line.text)]
        elif not _is_row(line) or line.number != previous + 1:
            labels = []
        elif labels and not _is_rule(line.text):
            cells = dict(zip(reversed(labels), reversed(_padded(line.text, labels)), strict=True))
            yield Row(line, cells, heading)
        previous = line.number


def _padded(text: str, labels: list[str]) -> list[str]:
    cells = _cells(text)[: len(labels)]
    return cells + [""] * (len(labels) - len(cells))


def _cells(text: str) -> list[str]:
    inner = text[:_LONGEST_ROW].strip().removeprefix("|").removesuffix("|")
    return [bare(cell) for cell in _BAR.split(inner, _MOST_COLUMNS)]


def _is_row(line: Line) -> bool:
    return line.text.startswith("|") and not line.level


def _is_rule(text: str) -> bool:
    return text.startswith("|") and "-" in text and not text.strip("|:- \t")
