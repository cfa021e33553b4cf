"""A plan lists its phases as headings, bold lines, checkboxes, rows or items; this knows such a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from holdfast.formats.canonical.sources.phase_marks import NUMBER_WORDS, phase_name, plain_digits
from holdfast.formats.canonical.sources.statuses import (
    SEPARATORS,
    SIGNS,
    Word,
    part_status,
    split_status,
    whole_status,
)
from holdfast.formats.canonical.sources.tables import Row, rows
from holdfast.formats.canonical.sources.values import DECORATION
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern

# "Phases 1-3" and "Phase 1 and 2" are no phases of the plan; "Phase 1a" and "Phase 2.1" are parts of one.
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_WORDS = (*NUMBER_WORDS, *_ROMAN[::-1])
_BEHIND_WORD = rf"\s*(?:$|[-–—:|(,.*_{''.join(SIGNS)}]|/|of\s+(?:[0-9]|{'|'.join(NUMBER_WORDS)}))"
_PHASE = pattern(
    rf"(?P<before>{DECORATION})(?P<kind>phase|step)\s+#?"
    rf"(?:(?P<number>[0-9]{{1,4}})(?P<part>[a-z](?!\w)|(?:\.[0-9]{{1,4}})+)?|(?P<word>{'|'.join(_WORDS)})(?={_BEHIND_WORD}))"
    rf"(?:\s*(?:/|of\s)\s*(?P<total>[0-9]{{1,4}}|(?:{'|'.join(NUMBER_WORDS)})(?!\w)))?"
    r"(?=$|\W)(?!\.[0-9]|/|[-–][0-9]|\s+(?:and|to|or|through)\s|\s*[&+])(?P<rest>.*)",
    re.IGNORECASE,
)
_BOLD = pattern(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")
_BEGINS = f"-–—:|([{''.join(SIGNS)}"  # what may stand between a title and more about it
_NUMBERED = pattern(r"#?(?P<number>[0-9]{1,4})\s*(?:[.:)–—-]\s*(?P<name>.*))?")
_TITLED = pattern(rf"{DECORATION}(?P<number>[0-9]{{1,4}})\s*[.:)–—-]\s+(?P<name>.*)", re.IGNORECASE)
# Steps that are next come after the work, and those to reproduce are no work.
_ANNOUNCES = pattern(
    r"(?!.*\b(?:next|further|future|follow[\s-]?up|completed)\b).*\b(?:phases|steps)\W*",
    re.IGNORECASE,
)
_NUMBER_LABELS = ("phase", "#", "phase #", "phase no.", "phase number", "no.", "no", "number")
_NAME_LABELS = ("phase name", "name", "title", "goal", "task", "what", "description", "phase")
_STATUS_LABELS = ("status", "state", "progress", "done")


Boundary: TypeAlias = Literal["heading", "item", "indent"]


class Start(NamedTuple):
    """What the line that begins a phase says of it."""

    number: int
    name: str | None
    total: int | None = None
    word: Word | None = None
    is_part: bool = False
    boundary: Boundary = "heading"  # what ends it


def heading(line: Line) -> Start | None:
    return start_of(line.text) if line.level else None


def bold(line: Line) -> Start | None:
    """A bold title, alone or with its status or a remark; the bold beginning of a sentence is none."""
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (start := start_of(match["inner"])) is None:
        return None
    tail = match["tail"].strip()
    word = whole_status(tail.strip(SEPARATORS))
    if tail.strip(" :") and not word:
        if start.name is None or tail[0] not in _BEGINS:
            return None
        word = split_status(tail)[1]
    return start._replace(word=start.word or word, boundary="item" if line.item else "heading")


def box(line: Line) -> Start | None:
    start = start_of(line.text) if line.checked is not None else None
    return start._replace(boundary="indent") if start else None


def item(line: Line) -> Start | None:
    """An item "Phase 1: Design"; "Phase 1 was hard" is a sentence."""
    if not line.item or line.level or line.checked is not None:
        return None
    match = _phase(line.text)
    if match is None or not match["rest"].lstrip("*_` ").startswith(tuple(_BEGINS)):
        return None
    titled = _BOLD.match(line.text)
    if titled and _named(titled["inner"]):
        return None
    return _started(match)._replace(boundary="indent")


def row(lines: list[Line]) -> Callable[[Line], Start | None]:
    """The same for the rows of tables, which need their header to be understood."""
    found = dict(_rows(lines))
    return lambda line: found.get(line.number)


def step(line: Line) -> Start | None:
    """A heading "Step 2: Build", which is a phase where none is so called."""
    match = _phase(line.text, "step") if line.level else None
    return _started(match) if match else None


def numbered(lines: list[Line]) -> Callable[[Line], Start | None]:
    """Headings "2. Build" below one that announces phases or steps."""
    found: dict[int, Start] = {}
    level = 0  # of the heading that announces them
    for line in lines:
        if not line.level:
            continue
        if line.level <= level:
            level = 0
        if not level:
            level = line.level if _ANNOUNCES.fullmatch(line.text) else 0
        elif match := _TITLED.fullmatch(plain_digits(line.text)):
            name, word = phase_name(match["name"])
            found[line.number] = Start(int(match["number"]), name, word=word)
    return lambda line: found.get(line.number)


def start_of(title: str) -> Start | None:
    match = _phase(title)
    return _started(match) if match else None


def _phase(text: str, kind: str = "phase") -> re.Match[str] | None:
    match = _PHASE.match(plain_digits(text))
    return match if match and match["kind"].casefold() == kind else None


def _number(text: str) -> int:
    text = text.casefold()
    for words in (NUMBER_WORDS, _ROMAN):
        if text in words:
            return words.index(text) + 1
    return int(text)


def _started(match: re.Match[str]) -> Start:
    _, before = split_status(match["before"])
    name, behind = phase_name(match["rest"].lstrip("*_`"))
    total = _number(match["total"]) if match["total"] else None
    number = _number(match["number"] or match["word"])
    if match["kind"].casefold() == "step":
        name = name or f"Step {number}"
    return Start(number, name, total, behind or before, match["part"] is not None)


def _named(title: str) -> bool:
    start = start_of(title)
    return start is not None and start.name is not None


def _rows(lines: list[Line]) -> Iterator[tuple[int, Start]]:
    for each in rows(lines):
        if start := _row(each):
            yield each.line.number, start


def _row(row: Row) -> Start | None:
    """A row of a table that has a column "Phase", or "#" where the heading speaks of phases."""
    cells = row.cells
    speaks = any("phase" in label for label in cells) or "phase" in row.heading.casefold()
    first = next((label for label in _NUMBER_LABELS if label in cells), None)
    if first is None or not speaks:
        return None
    start = start_of(cells[first]) or _numbered(cells, first)
    if start is None:
        return None
    if start.name is None:
        others = (cells[label] for label in _NAME_LABELS if label in cells and label != first)
        name, word = phase_name(next(filter(None, others), ""))
        start = start._replace(name=name, word=start.word or word)
    status = next((cells[label] for label in _STATUS_LABELS if label in cells), "")
    return start._replace(word=_word(status) or start.word, boundary="indent")


def _numbered(cells: dict[str, str], first: str) -> Start | None:
    """A row that begins with a mere number, in its own column or before the name."""
    labels = [first, *(label for label in _NUMBER_LABELS if label in cells)]
    match = next(filter(None, (_NUMBERED.fullmatch(cells[label]) for label in labels)), None)
    if match is None:
        return None
    others = (label for label in _NAME_LABELS if label in cells and cells[label] != match.string)
    stated = match["name"] or next((cells[label] for label in others), "")
    name, word = phase_name(stated)
    return Start(int(match["number"]), name, word=word)


def _word(cell: str) -> Word | None:
    return "completed" if cell.casefold() == "[x]" else part_status(cell)
