"""A plan lists its phases as headings, bold lines, checkboxes, rows or items; this knows such a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from holdfast.formats.canonical.sources import statuses
from holdfast.formats.canonical.sources.phase_marks import (
    NUMBER_WORDS,
    ROMAN_NUMBERS,
    number_of,
    phase_name,
    plain_digits,
)
from holdfast.formats.canonical.sources.values import DECORATION
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

# "Phases 1-3" and "Phase 1 and 2" are no phases of the plan; "Phase 1a" and "Phase 2.1" are parts of one.
_WORDS = (*NUMBER_WORDS, *reversed(ROMAN_NUMBERS))  # "viii" before "vi"
_BEHIND_WORD = (
    rf"\s*(?:$|[-–—:|(,.*_{''.join(statuses.SIGNS)}]|/|of\s+(?:[0-9]|{'|'.join(NUMBER_WORDS)}))"
)
_PHASE = pattern(
    rf"(?P<before>{DECORATION})(?P<kind>phase|step)\s+#?"
    rf"(?:(?P<number>[0-9]{{1,4}})(?P<part>[a-z](?!\w)|(?:\.[0-9]{{1,4}})+)?|(?P<word>{'|'.join(_WORDS)})(?={_BEHIND_WORD}))"
    rf"(?:\s*(?:/|of\s)\s*(?P<total>[0-9]{{1,4}}|(?:{'|'.join(NUMBER_WORDS)})(?!\w)))?"
    r"(?=$|\W)(?!\.[0-9]|/|[-–][0-9]|\s+(?:and|to|or|through)\s|\s*[&+])(?P<rest>.*)",
    re.IGNORECASE,
)
_BOLD = pattern(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")
_BEGINS = f"-–—:|([{''.join(statuses.SIGNS)}"  # what may stand between a title and more about it
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


class Start(NamedTuple):
    """What the line that begins a phase says of it."""

    number: int
    name: str | None
    total: int | None = None
    word: statuses.Word | None = None
    is_part: bool = False
    is_title: bool = False  # a separator stands behind the number, and no sentence
    boundary: Literal["heading", "item", "indent"] = "heading"  # what ends it


def heading(line: Line) -> Start | None:
    return start_of(line.text) if line.level else None


def step(line: Line) -> Start | None:
    """A heading "Step 2: Build", which is a phase where none is so called."""
    return start_of(line.text, "step") if line.level else None


def box(line: Line) -> Start | None:
    start = start_of(line.text) if line.checked is not None else None
    return start._replace(boundary="indent") if start else None


def bold(line: Line) -> Start | None:
    """A bold title, alone or with its status or a remark; the bold beginning of a sentence is none."""
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (start := start_of(match["inner"])) is None:
        return None
    tail = match["tail"].strip()
    word = statuses.whole_status(tail.strip(statuses.SEPARATORS))
    if tail.strip(" :") and not word:
        if start.name is None or tail[0] not in _BEGINS:
            return None
        word = statuses.split_status(tail)[1]
    return start._replace(word=start.word or word, boundary="item" if line.item else "heading")


def item(line: Line) -> Start | None:
    """An item "Phase 1: Design"; "Phase 1 was hard" is a sentence."""
    if not line.item or line.level or line.checked is not None:
        return None
    start, titled = start_of(line.text), _BOLD.match(line.text)
    if start is None or not start.is_title:
        return None
    if titled and (inner := start_of(titled["inner"])) and inner.name:
        return None  # a phase in bold, or a sentence about one
    return start._replace(boundary="indent")


def rows(lines: list[Line]) -> Callable[[Line], Start | None]:
    """The rows of tables that have a column "Phase", or "#" below a heading that speaks of phases."""
    found: dict[int, Start] = {}
    heading = ""
    for line in lines:
        if line.level:
            heading = line.text.casefold()
        cells = line.cells or {}
        is_told = any("phase" in label for label in (*cells, heading))
        if is_told and (start := _row(cells)):
            found[line.number] = start
    return lambda line: found.get(line.number)


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
            found[line.number] = _counted(match)
    return lambda line: found.get(line.number)


def start_of(title: str, kind: str = "phase") -> Start | None:
    match = _PHASE.match(plain_digits(title))
    if match is None or match["kind"].casefold() != kind:
        return None
    _, before = statuses.split_status(match["before"])
    rest = match["rest"].lstrip("*_`")
    name, behind = phase_name(rest)
    number = number_of(match["number"] or match["word"])
    return Start(
        number,
        name=name or (f"Step {number}" if kind == "step" else None),
        total=number_of(match["total"]) if match["total"] else None,
        word=behind or before,
        is_part=match["part"] is not None,
        is_title=rest.lstrip("*_` ").startswith(tuple(_BEGINS)),
    )


def _counted(match: re.Match[str]) -> Start:
    """A phase of which only the number and the name are written, without the word "phase"."""
    name, word = phase_name(match["name"] or "")
    return Start(int(match["number"]), name, word=word)


def _row(cells: Mapping[str, str]) -> Start | None:
    for label in (label for label in _NUMBER_LABELS if label in cells):
        match = _NUMBERED.fullmatch(cells[label])
        if start := start_of(cells[label]) or (_counted(match) if match else None):
            break
    else:
        return None
    if start.name is None:
        others = (cells[other] for other in _NAME_LABELS if other in cells and other != label)
        name, word = phase_name(next(filter(None, others), ""))
        start = start._replace(name=name, word=start.word or word)
    status = next((cells[label] for label in _STATUS_LABELS if label in cells), "")
    word = "completed" if status.casefold() == "[x]" else statuses.part_status(status)
    return start._replace(word=word or start.word, boundary="indent")
