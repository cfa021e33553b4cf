"""Which lines of a plan begin a phase: headings, lines in bold, boxes, rows of tables and items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, cast

from holdfast.formats.canonical.sources import statuses, values
from holdfast.formats.canonical.sources.phase_marks import (
    number_of,
    numbered,
    phase_name,
    plain_digits,
)
from holdfast.formats.canonical.sources.words import (
    BOXES,
    CODES,
    COLUMNS,
    LATER,
    NO_WORK,
    SIGNS,
    Word,
)
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

_BEGINS = f"-–—:|([：（{''.join(SIGNS)}"  # what may stand between a number and a name
_BARE = pattern(
    rf"{values.DECORATION}(?:(?P<number>[0-9]{{1,4}})(?P<part>(?:\.[0-9]{{1,4}})+)?\s*(?:[.:)）、–—-]\s*|(?<=\.[0-9])\s+)"
    r"|(?P<han>[一二三四五六七八九十])、\s*)(?P<name>.*)"
)
_SUMMARY = pattern(
    rf"[^\w&]*+(?:(?:{NO_WORK}|completion|summary|results?|deliverables?|retrospective|tasks|details|status|progress)\b|and\b|&)",
    re.IGNORECASE,
)
IS_NO_WORK = pattern(rf"\W*+(?:{NO_WORK})(?!\w)", re.IGNORECASE)
IS_LATER = pattern(rf"\W*+(?:{LATER})(?!\w)", re.IGNORECASE)


class Start(NamedTuple):
    """What the line that begins a phase says of it."""

    number: int
    name: str | None
    total: int | None = None
    word: Word | None = None
    noun: str = ""  # what the plan calls it; nothing for a bare number
    is_part: bool = False
    is_title: bool = False  # a separator stands behind the number, and no sentence
    boundary: Literal["heading", "item", "indent"] = "heading"  # what ends it

    @property
    def is_step(self) -> bool:
        return statuses.nouns().get(self.noun) == "step" or self.noun in CODES["step"]


def start_of(title: str) -> Start | None:
    """The phase that a title names by a noun or a code and its number."""
    outer = _BARE.match(title)  # "3. Phase 2: Build"
    found = (outer and numbered(outer["name"])) or numbered(title)
    if found is None or (found.noun in CODES["step"] and not found.counted.startswith("0")):
        return None
    rest = found.rest.lstrip("*_`")
    is_title = rest.lstrip("*_` ").startswith(tuple(_BEGINS))
    if not is_title and _SUMMARY.match(rest):
        return None
    name, word = phase_name(rest)
    if not name and statuses.nouns().get(found.noun) == "step":
        name = f"{found.noun.title()} {found.number}"
    return Start(
        found.number,
        name=name,
        total=found.total,
        word=word or statuses.split_status(found.lead)[1],
        noun=found.noun,
        is_part=found.is_part,
        is_title=is_title,
    )


# The kinds of lines that begin a phase.

_BOLD = pattern(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")
_NUMBERED_CELL = pattern(
    r"#?(?P<number>[0-9]{1,4})(?P<part>(?:\.[0-9]{1,4})+)?(?:(?:\s*[.:)–—-]\s*|\s+(?=[*_`]*[^\W\d_]))(?P<name>.*))?"
)
_LONGEST_STATUS = 500  # in a cell, with its remark
# Steps that are next come after the work, and those to reproduce are no work.
_ANNOUNCES = pattern(
    r"(?!.*\b(?:next|further|future|follow[\s-]?up|completed)\b)"
    r".*(?:\b(?:phases|steps|milestones|stages|tasks|schritte|étapes|fases|etapas|pasos|passos|passi|fasi|этапы|шаги)\b|阶段|步骤|里程碑|フェーズ|手順|단계)\W*",
    re.IGNORECASE,
)
_NAME_LABELS, _NUMBER_LABELS, _STATUS_LABELS = (
    tuple(COLUMNS[kind].split(", ")) for kind in ("name", "number", "status")
)


def heading_start(line: Line) -> Start | None:
    return start_of(line.text) if line.level else None


def box_start(line: Line) -> Start | None:
    start = start_of(line.text) if line.checked is not None else None
    if start is None:
        return None
    word = None if line.word == "not_started" else cast("Word | None", line.word)
    return start._replace(boundary="indent", word=word or start.word)


def bold_start(line: Line) -> Start | None:
    """A bold title, alone or with its status or a remark; the bold beginning of a sentence is none."""
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (start := start_of(match["inner"])) is None:
        return None
    tail = match["tail"].strip()
    word = statuses.whole_status(tail.strip(statuses.SEPARATORS))
    if tail.strip(" :") and not word:
        if start.name is None or tail[0] not in _BEGINS:
            return None
        word = statuses.split_status(tail)[1] or statuses.first_status(
            tail.strip(statuses.SEPARATORS)
        )
    return start._replace(word=start.word or word, boundary="item" if line.item else "heading")


def item_start(line: Line) -> Start | None:
    """An item or a plain line "Phase 1: Design"; "Phase 1 was hard" is a sentence."""
    start = start_of(line.text) if line.checked is None and not line.level else None
    if start is None or not start.is_title or (not line.item and line.text.endswith((".", ":"))):
        return None
    return start._replace(boundary="indent")


def row_start(line: Line) -> Start | None:
    """A row of a table with a column for phases; for one with numbers see `numbered_rows`."""
    cells = line.cells or {}
    for label, cell in reversed(list(cells.items())):  # which has the last column first
        start = start_of(cell)
        numbered = _NUMBERED_CELL.fullmatch(cell) if _names_phases(label) else None
        if start is None and numbered:
            start = _numbered_start(numbered)
        if start:
            return _with_cells(start, cells, label)
        if label not in (*_NUMBER_LABELS, *_STATUS_LABELS):
            return None  # only the first cell that is neither number nor status names the phase
    return None


def _numbered_start(match: re.Match[str]) -> Start:
    name, word = phase_name(match["name"] or "")
    part = match["part"] is not None
    return Start(int(match["number"]), name, word=word, is_part=part, noun="phase")


def _names_phases(label: str) -> bool:
    return statuses.longest(statuses.nouns(), label.removesuffix("s")) is not None


def _with_cells(start: Start, cells: Mapping[str, str], own: str) -> Start:
    if start.name is None:
        named = [*_NAME_LABELS, *filter(_names_phases, cells)]
        others = (cells[label] for label in named if label in cells and label != own)
        name, word = phase_name(next(filter(None, others), ""))
        start = start._replace(name=name, word=start.word or word)
    return start._replace(word=status_in_row(cells) or start.word, boundary="indent")


def status_cell(cells: Mapping[str, str]) -> str:
    found = next((cells[label] for label in _STATUS_LABELS if label in cells), "")
    return found[:_LONGEST_STATUS]


def status_in_row(cells: Mapping[str, str]) -> Word | None:
    """What the column of statuses says."""
    status = status_cell(cells)
    return (
        BOXES.get(status.strip("[]") or " ") if status[:1] == "[" else statuses.part_status(status)
    )


def numbered_rows(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Rows "1 | Build | done" of a table that names phases, or below a heading that speaks of them."""
    told = False
    for line in lines:
        told = bool(_ANNOUNCES.fullmatch(line.text)) if line.level else told
        cells = line.cells or {}
        label = next((label for label in _NUMBER_LABELS if label in cells), "")
        match = _NUMBERED_CELL.fullmatch(cells.get(label, ""))
        if match and (told or any(map(_names_phases, cells))):
            yield line, _with_cells(_numbered_start(match), cells, label)


def numbered_headings(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Headings "2. Build": those below one that announces phases, or that carry boxes or a status.

    Where the first two carry some, those behind them are phases as well.
    """
    carry = with_work(lines)
    announced = 0  # the level of the heading that announces them
    listed: dict[int, bool] = {}  # by level, whether the first two carry work
    for line in lines:
        if not line.level:
            continue
        if line.level <= announced:
            announced = 0
        match = _BARE.match(plain_digits(line.text))
        if match is None or IS_NO_WORK.match(match["name"]):
            announced = announced or (line.level if _ANNOUNCES.fullmatch(line.text) else 0)
            continue
        number, carries = number_of(match["number"] or match["han"]), line.number in carry
        if number <= 2:
            listed[line.level] = carries and listed.get(line.level, number < 2)
        if carries or announced or listed.get(line.level):
            name, word = phase_name(match["name"])
            yield line, Start(number, name, word=word, is_part=bool(match["part"]))


def plain_headings(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Headings that carry boxes, of the level that most of them have."""
    carry = with_work(lines)
    levels = [line.level for line in lines if line.number in carry and line.level > 1]
    level = max(levels, key=levels.count, default=0)
    starts = (line for line in lines if line.number in carry and line.level == level)
    for number, line in enumerate(starts, 1):
        name, word = statuses.split_status(line.text)
        yield line, Start(number, name, word=word)


def with_work(lines: list[Line]) -> set[int]:
    """The headings that carry boxes or a status, outside of boards and of what is no work, by number."""
    found = set[int]()
    aside, heading = 0, None
    for line in lines:
        if line.level:
            if line.level <= aside:
                aside = 0
            heading = None
            if not aside and (
                IS_NO_WORK.match(line.text) or IS_LATER.match(line.text) or is_column(line)
            ):
                aside = line.level
            elif not aside:
                heading = line
                if statuses.split_status(line.text)[1]:
                    found.add(line.number)
        elif heading and line.checked is not None:
            found.add(heading.number)
    return found


def is_column(line: Line) -> bool:
    return bool(line.level and statuses.whole_status(line.text))


def bold_items(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Items or lines "**Build**" that have boxes below."""
    title, number = None, 0
    for line in lines:
        if line.checked is not None:
            if title and (line.indent > title.indent or not title.item):
                number += 1
                name = statuses.split_status(title.text)[0]
                yield title, Start(number, name, boundary="item" if title.item else "heading")
                title = None
            continue
        match = _BOLD.match(line.text)
        if line.level or match:
            is_title = match and not match["tail"] and not match["inner"].endswith(":")
            title = line if is_title and not IS_NO_WORK.match(line.text) else None
