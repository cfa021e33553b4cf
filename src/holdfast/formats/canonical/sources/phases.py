"""The phases of a plan: which lines begin one, what the lines below say of it, and where the work is.

A plan may speak of one phase in several places, and in several kinds of lines. One kind lists the phases; the others
only add to what is known of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from holdfast.formats.canonical.sources import PhaseMark, PlanPhase, statuses, values
from holdfast.formats.canonical.sources.document import field_of
from holdfast.formats.canonical.sources.phase_marks import (
    is_range,
    number_of,
    phase_name,
    plain_digits,
    sane_mark,
    stated_part,
)
from holdfast.formats.canonical.sources.words import (
    BOXES,
    CODES,
    COLUMNS,
    LATER,
    NO_WORK,
    NUMBERS,
    SIGNS,
    Word,
)
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

# How a title names a phase: "Phase 2b/4: Build ✅", "第二阶段", "M3 - Sync", "2. Build".

_BEGINS = f"-–—:|([：（{''.join(SIGNS)}"  # what may stand between a number and a name
_WORDS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_BEHIND_WORD = rf"(?=\s*(?:$|[-–—:：|(（,.*_{''.join(SIGNS)}\]]|/|of\s+[0-9a-z]))"
_NUMBER = pattern(
    rf"[\s_]*(?:(?:no|nr|n)[.°º]\s*)?#?-?(?:(?P<number>[0-9]{{1,4}})(?P<part>[a-z](?!\w)|(?:\.[0-9]{{1,4}})+)?"
    rf"|(?P<word>{_WORDS})(?<![Xx]){_BEHIND_WORD}|(?<=\s)(?P<letter>[A-WYZ]){_BEHIND_WORD})"
    rf"(?:\s*(?:/|of\s)\s*(?P<total>[0-9]{{1,4}}|(?:{_WORDS})(?!\w)))?",
    re.IGNORECASE,
)
_AROUND = pattern(values.DECORATION)
# The number may come before the noun: "第二阶段", "2단계", "1. Aşama", "1ª fase".
_BEFORE = pattern(
    r"(?:第\s*)?(?P<number>[0-9]{1,3}|[一二三四五六七八九十])(?:[个個]|\s*(?:[.ªº]|ère|er|e|ème|-?[йя])\s+(?=[a-zа-я]))?",
    re.IGNORECASE,
)
_CODE = pattern(
    rf"(?P<code>[{''.join(CODES.values())}])-?(?P<number>[0-9]{{1,3}})(?P<part>[a-z]|\.[0-9]{{1,3}})?(?![\w.])",
    re.IGNORECASE,
)
_BARE = pattern(
    r"(?:(?P<number>[0-9]{1,4})(?P<part>(?:\.[0-9]{1,4})+)?\s*(?:[.:)）、–—-]\s*|(?<=\.[0-9])\s+)"
    r"|(?P<han>[一二三四五六七八九十])、\s*)(?P<name>.*)"
)
_SUMMARY = pattern(
    rf"[^\w&]*+(?:(?:{NO_WORK}|completion|summary|results?|deliverables?|retrospective|tasks|details|status|progress)\b|and\b|&)",
    re.IGNORECASE,
)
_NO_WORK = pattern(rf"\W*+(?:{NO_WORK})(?!\w)", re.IGNORECASE)
_LATER = pattern(rf"\W*+(?:{LATER})(?!\w)", re.IGNORECASE)


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
    title = plain_digits(title)
    around = _AROUND.match(title)
    at = around.end() if around else 0
    before = statuses.split_status(title[:at])[1] if at else None
    if numbered := _BARE.match(title, at):  # "3. Phase 2: Build"
        inner = _start_at(title, numbered.start("name"), before)
        if inner:
            return inner
    return _start_at(title, at, before)


def _start_at(title: str, at: int, before: Word | None) -> Start | None:
    if found := statuses.longest(statuses.nouns(), title, at):
        end = found[0]
        noun = title[at:end].lower()
        match = _NUMBER.match(title, end)
        if match is None or (noun[-1].isascii() and title[end : end + 1].isalpha()):
            return None
    elif match := _CODE.match(title, at):
        noun = match["code"].lower()
        if noun in CODES["step"] and not match["number"].startswith("0"):
            return None
    elif match := _BEFORE.match(title, at):
        found = statuses.longest(statuses.nouns(), title, match.end())
        if found is None or title[found[0] : found[0] + 1].isalnum():
            return None
        noun = title[match.end() : found[0]].lower()
        return _start(match, title[found[0] :], before, noun)
    else:
        return None
    rest = title[match.end() :]
    if (rest[:1].isalnum() and rest[:1].isascii()) or is_range(rest):
        return None
    return _start(match, rest, before, noun)


def _start(match: re.Match[str], rest: str, before: Word | None, noun: str) -> Start | None:
    groups = match.groupdict()
    rest = rest.lstrip("*_`")
    is_title = rest.lstrip("*_` ").startswith(tuple(_BEGINS))
    if not is_title and _SUMMARY.match(rest):
        return None
    name, behind = phase_name(rest)
    letter, total = groups.get("letter"), groups.get("total")
    number = (
        ord(letter.upper()) - 64 if letter else number_of(groups.get("number") or groups["word"])
    )
    if not name and noun in statuses.nouns() and statuses.nouns()[noun] == "step":
        name = f"{noun.title()} {number}"
    return Start(
        number,
        name=name,
        total=number_of(total) if total else None,
        word=behind or before,
        noun=noun,
        is_part=groups.get("part") is not None,
        is_title=is_title,
    )


# The kinds of lines that begin a phase.

_BOLD = pattern(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")
_NUMBERED_CELL = pattern(
    r"#?(?P<number>[0-9]{1,4})(?P<part>(?:\.[0-9]{1,4})+)?\s*(?:[.:)–—-]\s*(?P<name>.*))?"
)
_LONGEST_STATUS = 500  # in a cell, with its remark
_LONGEST_TITLE = 100  # of a phase that is a plain line
_PHASE_CELL = pattern(  # "1 Design"
    r"#?(?P<number>[0-9]{1,4})(?P<part>(?:\.[0-9]{1,4})+)?\s+(?P<name>[*_`]*[^\W\d_].*)"
)
# Steps that are next come after the work, and those to reproduce are no work.
_ANNOUNCES = pattern(
    r"(?!.*\b(?:next|further|future|follow[\s-]?up|completed)\b)"
    r".*(?:\b(?:phases|steps|milestones|stages|tasks|schritte|étapes|fases|etapas|pasos|passos|passi|fasi|этапы|шаги)\b|阶段|步骤|里程碑|フェーズ|手順|단계)\W*",
    re.IGNORECASE,
)
_NAME_LABELS, _NUMBER_LABELS, _STATUS_LABELS = (
    tuple(COLUMNS[kind].split(", ")) for kind in ("name", "number", "status")
)


def _heading(line: Line) -> Start | None:
    return start_of(line.text) if line.level else None


def _box(line: Line) -> Start | None:
    start = start_of(line.text) if line.checked is not None else None
    return start._replace(boundary="indent", word=_over(line.word) or start.word) if start else None


def _over(word: str | None) -> Word | None:
    return word if word in {"completed", "in_progress", "blocked", "cancelled", "on_hold"} else None  # type: ignore[return-value]


def _bold(line: Line) -> Start | None:
    """A bold title, alone or with its status or a remark; the bold beginning of a sentence is none."""
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (start := start_of(match["inner"])) is None:
        return None
    tail = match["tail"].strip()
    word = statuses.whole_status(tail.strip(statuses.SEPARATORS))
    if tail.strip(" :") and not word:
        if start.name is None or tail[0] not in _BEGINS:
            return None
        word = statuses.split_status(tail)[1] or statuses.clause_status(tail)
    return start._replace(word=start.word or word, boundary="item" if line.item else "heading")


def _item(line: Line) -> Start | None:
    """An item or a plain line "Phase 1: Design"; "Phase 1 was hard" is a sentence."""
    if line.level or line.checked is not None:
        return None
    is_sentence = len(line.text) > _LONGEST_TITLE or line.text.endswith((".", ":", ","))
    if not line.item and (is_sentence or field_of(line)):
        return None
    start, titled = start_of(line.text), _BOLD.match(line.text)
    if start is None or not start.is_title:
        return None
    if titled and (inner := start_of(titled["inner"])) and inner.name:
        return None  # a phase in bold, or a sentence about one
    return start._replace(boundary="indent")


def _row(line: Line) -> Start | None:
    """A row of a table with a column for phases; for one with numbers see `_rows_of_steps`."""
    for label, cell in reversed(
        list((line.cells or {}).items())
    ):  # which has the last column first
        start = start_of(cell) if cell else None
        numbered = _NUMBERED_CELL.fullmatch(cell) if cell and _names_phases(label) else None
        if cell and statuses.nouns().get(label.removesuffix("s")) == "phase":
            numbered = numbered or _PHASE_CELL.fullmatch(cell)
        if start is None and numbered:
            name, word = phase_name(numbered["name"] or "")
            start = Start(
                int(numbered["number"]),
                name,
                word=word,
                is_part=bool(numbered["part"]),
                noun="phase",
            )
        if start:
            return _with_cells(start, line.cells or {}, label)
        if label not in (*_NUMBER_LABELS, *_STATUS_LABELS):
            return None  # only the first cell that is neither number nor status names the phase
    return None


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
    if status.casefold() in {"x", "yes"}:
        return "completed"
    if status.startswith("[") and status.endswith("]"):
        return BOXES.get(status[1:-1].strip() or " ") or statuses.part_status(status)
    return statuses.part_status(status) if status else None


def _numbered_rows(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Rows "1 | Build | done" of a table with statuses, or below a heading that speaks of phases."""
    told = False
    for line in lines:
        told = bool(_ANNOUNCES.fullmatch(line.text)) if line.level else told
        cells = line.cells or {}
        if told or any(_names_phases(label) for label in cells):
            label = next((label for label in _NUMBER_LABELS if label in cells), None)
            match = _NUMBERED_CELL.fullmatch(cells[label]) if label else None
            if match and label:
                number, part = int(match["number"]), bool(match["part"])
                yield (
                    line,
                    _with_cells(Start(number, None, is_part=part, noun="phase"), cells, label),
                )


def _numbered_headings(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Headings "2. Build": those below one that announces phases, or that carry boxes or a status.

    Where the first two carry some, those behind them are phases as well.
    """
    carry = _with_work(lines)
    announced = 0  # the level of the heading that announces them
    listed: dict[int, bool] = {}  # by level, whether the first two carry work
    for line in lines:
        if not line.level:
            continue
        if line.level <= announced:
            announced = 0
        match = _BARE.match(plain_digits(line.text).lstrip("*_` " + "".join(SIGNS) + "\ufe0f"))
        if match is None or _NO_WORK.match(match["name"]):
            announced = announced or (line.level if _ANNOUNCES.fullmatch(line.text) else 0)
            continue
        number, carries = number_of(match["number"] or match["han"]), line.number in carry
        if number <= 2:
            listed[line.level] = carries and listed.get(line.level, number < 2)
        if carries or announced or listed.get(line.level):
            name, word = phase_name(match["name"])
            yield line, Start(number, name, word=word, is_part=bool(match["part"]))


def _plain_headings(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Headings that carry boxes, of the level that most of them have."""
    carry = _with_work(lines)
    levels = [line.level for line in lines if line.number in carry and line.level > 1]
    level = max(levels, key=levels.count, default=0)
    starts = (line for line in lines if line.number in carry and line.level == level)
    for number, line in enumerate(starts, 1):
        name, word = statuses.split_status(line.text)
        yield line, Start(number, name, word=word)


def _with_work(lines: list[Line]) -> dict[int, bool]:
    """The headings that carry boxes or a status, outside of boards and of what is no work, by number."""
    found: dict[int, bool] = {}
    aside, heading = 0, None
    for line in lines:
        if line.level:
            if line.level <= aside:
                aside = 0
            heading = None
            if not aside and (
                _NO_WORK.match(line.text) or _LATER.match(line.text) or is_column(line)
            ):
                aside = line.level
            elif not aside:
                heading = line
                if statuses.split_status(line.text)[1]:
                    found[line.number] = True
        elif heading and line.checked is not None:
            found[heading.number] = True
    return found


def is_column(line: Line) -> bool:
    """Whether a heading is nothing but a status, as the column of a board is."""
    return bool(line.level and statuses.whole_status(line.text))


def _bold_items(lines: list[Line]) -> Iterator[tuple[Line, Start]]:
    """Items or lines "**Build**" that have boxes below, or a status behind."""
    number, title, name, word = 0, None, "", None
    for line in [*lines, Line(0, "", 1)]:
        is_plain = line.checked is None and not line.level and not field_of(line)
        match = _BOLD.match(line.text) if is_plain else None
        if title and line.checked is not None and (line.indent > title.indent or not title.item):
            number += 1
            yield (
                title,
                Start(number, name, word=word, boundary="item" if title.item else "heading"),
            )
            title = None
        if line.level:
            title = None
        if match:
            tail = match["tail"].strip(statuses.SEPARATORS)
            word = statuses.whole_status(tail) if tail else None
            name = statuses.split_status(match["inner"])[0]
            is_label = match["inner"].endswith(":") or _NO_WORK.match(name) or (tail and not word)
            title = None if is_label else line
            if title and word:
                number += 1
                yield (
                    title,
                    Start(number, name, word=word, boundary="item" if line.item else "heading"),
                )
                title = None


# What the lines below a start say of the phase.

_OVER = {"completed", "cancelled", "on_hold"}
_MARKED = {"in_progress", "blocked"}
_BELOW_HEADINGS = 7  # the level of a phase that is no heading
_LABEL = pattern(r"[*_]{2}[^*_]{1,80}[*_]{2}:?$|[^*_:]{1,60}:$")


class Section:
    """One place that speaks of a phase, while it is being read."""

    def __init__(self, start: Start, line: Line) -> None:
        self.start = start
        self.line = line
        self.word: Word | None = start.word  # the last that is said
        self.worded = line  # that says so
        self.ticked_boxes = int(line.checked is True)
        self.open_boxes = int(line.checked is False and not start.word)
        self.open_lines: list[Line] = []  # with the boxes that are work
        self.criteria: list[Line] = []  # boxes that are no work, but show when it is done
        self.running: str | None = None  # the first item that is marked so
        self.has_running_row = False
        self.gate: str | None = None
        self.gate_title: Line | None = None  # the line before, if the gate is to stand below it
        self.parents: list[
            tuple[int, bool]
        ] = []  # of a box: their indents, and whether they are over
        self.aside = 0  # the level of a heading inside it, whose boxes are no work of it
        self.is_later = False

    @property
    def is_done(self) -> bool:
        if self.word == "completed":
            return True
        return self.word not in _MARKED and self.ticked_boxes > 0 and not self.open_boxes

    @property
    def is_over(self) -> bool:
        return self.is_done or self.word in _OVER

    @property
    def has_evidence(self) -> bool:
        return self.word is not None or self.ticked_boxes + self.open_boxes > 0

    @property
    def was_begun(self) -> bool:
        return self.word in {*_MARKED, "completed"} or self.ticked_boxes > 0 or bool(self.running)

    @property
    def words(self) -> set[Word | None]:
        return {self.start.word, self.word}

    def holds(self, line: Line) -> bool:
        """Whether a line below is about this."""
        boundary = self.start.boundary
        if line.level or boundary == "indent":
            return self.encloses(line)
        return boundary == "heading" or line.item or self.encloses(line)

    def encloses(self, line: Line) -> bool:
        """Whether a line is one step further in."""
        if line.level:
            return line.level > (self.line.level or _BELOW_HEADINGS)
        return line.indent > self.line.indent

    def read(self, line: Line) -> None:
        """What a line of this says of it."""
        key, value = field_of(line) or ("", "")
        if self.gate_title and not line.level and (line.item or self.gate_title.level):
            key, value = "gate", values.tidy(values.bare(line.text))
        self.gate_title = line if key == "gate" and not value else None
        if key == "gate" and not values.is_unfilled(value):
            self.gate = self.gate or value
        elif key == "status" and line.checked is None and (word := stated_part(value)):
            self.word, self.worded = word, line
        if line.cells and (word := status_in_row(line.cells)):
            self.ticked_boxes += word == "completed"
            self.open_boxes += word not in _OVER
            self.has_running_row = self.has_running_row or word == "in_progress"
        if line.checked is not None:
            self._read_box(line)
        elif line.level or (not line.item and _LABEL.match(line.text)):
            self._turn(line)
        elif not line.item:
            self.parents.clear()

    def _turn(self, line: Line) -> None:
        """A heading or a label inside: what follows may be criteria, or for later."""
        level = line.level or _BELOW_HEADINGS
        if self.aside and level > self.aside:
            return
        self.is_later = (
            bool(_LATER.match(line.text)) or statuses.split_status(line.text)[1] == "on_hold"
        )
        self.aside = level if self.is_later or _NO_WORK.match(line.text) else 0

    def _read_box(self, line: Line) -> None:
        while self.parents and self.parents[-1][0] >= line.indent:
            self.parents.pop()
        below_ticked = any(is_over for _, is_over in self.parents)
        self.parents.append((line.indent, line.word in _OVER))
        is_done = line.checked or line.word == "completed"
        if self.aside and not self.is_later and (is_done or line.word not in _OVER):
            if not line.sign:  # which makes a note on what goes on
                self.criteria.append(line)
        elif is_done:
            self.ticked_boxes += not self.aside
        elif line.word in _OVER or self.is_later or (below_ticked and line.word not in _MARKED):
            return
        else:
            self.open_boxes += 1
            self.open_lines.append(line)
            if (
                line.word in _MARKED
                and self.running is None
                and (below_ticked or len(self.parents) == 1)
            ):
                self.running = values.spoken(line.text)

    def close(self) -> None:
        """All has been read: criteria count where there is nothing else."""
        if not self.ticked_boxes + self.open_boxes:
            self.open_lines = [line for line in self.criteria if not line.checked]
            self.open_boxes = len(self.open_lines)
            self.ticked_boxes = len(self.criteria) - self.open_boxes


class Phase:
    """One phase: all sections of one number, with those of its parts "1a" and "1.1"."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sections: list[Section] = []

    @property
    def starts(self) -> list[Start]:
        """The lines that begin the whole phase, and not a part of it."""
        return [section.start for section in self.sections if not section.start.is_part]

    @property
    def title(self) -> str:
        called = next((start.noun for start in self.starts if start.noun), "phase")
        fallback = f"{called.upper() if len(called) == 1 else called.title() + ' '}{self.number}"
        return next((start.name for start in self.starts if start.name), fallback)

    def may_be(self, other: Phase) -> bool:
        """Whether this speaks of the same phase: it has no name, or the same."""
        is_named = any(start.name for start in self.starts)
        return not is_named or self.title.casefold() == other.title.casefold()

    @property
    def word(self) -> Word | None:
        """The status of the whole, as the last place says; a part tells no more than that it is being worked on."""
        words = [(section.word, section.start.is_part) for section in self._in_order()]
        own = [word for word, is_part in words if word and not is_part]
        marked = (word for word, _ in words if word in _MARKED)
        return own[-1] if own else next(marked, None)

    def _in_order(self) -> list[Section]:
        return sorted(self.sections, key=lambda section: section.worded.number)

    @property
    def is_over(self) -> bool:
        if self.word in _OVER:
            return True
        if self.word in _MARKED:
            return False
        # Where parts have a status, one without is open.
        parts = [section for section in self.sections if section.start.is_part]
        are_marked = any(part.word for part in parts)
        telling = [
            section
            for section in self.sections
            if section.has_evidence or (are_marked and section.start.is_part)
        ]
        return bool(telling) and all(section.is_over for section in telling)

    @property
    def is_done(self) -> bool:
        if self.word in _OVER:
            return self.word == "completed"
        return self.is_over and any(section.is_done for section in self.sections)

    @property
    def is_running(self) -> bool:
        return self.word in _MARKED or (
            not self.is_over and any(part.running or part.has_running_row for part in self.sections)
        )

    @property
    def has_evidence(self) -> bool:
        return any(section.has_evidence for section in self.sections)

    @property
    def boxes(self) -> tuple[int, int]:
        """How many are ticked, and how many are not."""
        sections = self.sections
        return sum(part.ticked_boxes for part in sections), sum(
            part.open_boxes for part in sections
        )

    @property
    def was_begun(self) -> bool:
        return any(section.was_begun for section in self.sections)

    def declared(self, number: int) -> PlanPhase:
        open_first = sorted(self.sections, key=lambda section: section.is_over)
        lines = [line for part in open_first for line in part.open_lines]
        still_open = tuple(values.spoken(line.text) for line in lines)
        gate = next((part.gate for part in open_first if part.gate), None)
        running = next((part.running for part in open_first if part.running), None)
        next_action = running or (still_open[0] if still_open else None)
        return PlanPhase(
            number,
            self.title,
            self.is_done,
            next_action,
            gate,
            open_items=still_open,
            open_lines=tuple(line.number for line in lines),
        )

    def line(self, word: Word) -> Line:
        """The line that gives it this status."""
        return next(section.worded for section in self.sections if section.word == word)


class Phases(NamedTuple):
    """All phases of one plan, in their order."""

    listed: list[Phase]
    within: frozenset[int]  # the numbers of the lines inside them
    kind: str  # of the lines that begin them, in words

    @property
    def total(self) -> int:
        stated = [start.total for phase in self.listed for start in phase.starts if start.total]
        return max([len(self.listed), *stated, *map(self.place, self.listed)])

    @property
    def starts(self) -> frozenset[int]:
        """The numbers of the lines that begin a phase or a part of one."""
        return frozenset(part.line.number for phase in self.listed for part in phase.sections)

    def place(self, phase: Phase) -> int:
        """Its number, counted from 1 where the plan counts from 0."""
        return phase.number + (self.listed[0].number == 0)

    def declared(self) -> tuple[PlanPhase, ...]:
        first = self.listed[: values.MOST_ITEMS]
        return tuple(phase.declared(self.place(phase)) for phase in first)

    @property
    def left_behind(self) -> set[int]:
        """The numbers of those that do not hold the work back, though nothing says that they are over.

        Behind them another is done, and what is left of them is little, or was never said to be work: a
        few open boxes, no evidence at all, or an old mark.
        """
        behind: set[int] = set()
        is_begun = is_done = successor_is_done = False
        for phase in reversed(self.listed):
            ticked, still_open = phase.boxes
            is_little = still_open * 2 <= ticked or not (ticked or still_open)
            if phase.is_running:
                is_stale = successor_is_done and is_little
            else:
                is_stale = (is_begun and not phase.has_evidence) or (is_done and is_little)
            if is_stale and not phase.is_over:
                behind.add(phase.number)
            successor_is_done = phase.is_done
            is_done, is_begun = is_done or phase.is_done, is_begun or phase.was_begun
        return behind

    def current(self) -> PhaseMark | None:
        """The first that is running, else the first that is not over and not left behind, else the last."""
        if not self.listed:
            return None
        left_behind = self.left_behind
        still_open = [phase for phase in self.listed if not phase.is_over]
        ahead = [phase for phase in still_open if phase.number not in left_behind] or still_open
        running = next((phase for phase in ahead if phase.is_running), None)
        done = (phase for phase in reversed(self.listed) if phase.is_done)
        current = running or next(iter(ahead), None) or next(done, self.listed[-1])
        mark = sane_mark(self.place(current), self.total, current.title)
        return mark._replace(derived=True) if mark else None

    def filled_in(self, mark: PhaseMark) -> PhaseMark | None:
        """A stated mark, with the number, name or total that only the list tells."""
        name, current = (mark.name or "").casefold(), mark.current
        meant = next((phase for phase in self.listed if phase.title.casefold() == name), None)
        if meant is None and mark.total is None:
            meant = next((phase for phase in self.listed if phase.number == current), None)
        if meant and current in {None, meant.number}:
            current = self.place(meant)
        if current is None or not self.listed:
            return mark
        titles = (phase.title for phase in self.listed if self.place(phase) == current)
        title = mark.name or next(titles, None)
        total = mark.total or self.total
        return sane_mark(current, total if total >= current else None, title)


_Starts = dict[int, Start]  # by the number of the line
_Enough = Callable[[dict[int, Phase]], bool]


def _are_several(phases: dict[int, Phase]) -> bool:
    return len(phases) > 1


def _tell(phases: dict[int, Phase]) -> bool:
    """One item that begins with "Phase 2:" may be a remark."""
    return len(phases) > 1 or any(phase.word for phase in phases.values())


def _carry_work(phases: dict[int, Phase]) -> bool:
    return sum(phase.has_evidence for phase in phases.values()) > 1


_LINES: tuple[tuple[str, Callable[[Line], Start | None], _Enough], ...] = (
    ("headings", _heading, bool),
    ("in bold", _bold, bool),
    ("checkboxes", _box, bool),
    ("in a table", _row, bool),
    ("in a list", _item, _tell),
)


def phases_of(lines: list[Line]) -> Phases:
    """The phases as headings, else as bold lines, checkboxes, rows of a table or items."""
    kinds = [_by_noun(lines, kind, steps=False) for kind in _LINES]
    kinds.insert(4, ("phases in a table", _by_number(_numbered_rows(lines)), bool))
    return _phases_of(lines, kinds)


def steps_of(lines: list[Line]) -> Phases:
    """The steps, for a plan without phases; and what is not so called, but carries boxes or a status."""
    kinds = [_by_noun(lines, kind, steps=True) for kind in _LINES[:4]]
    kinds += [
        ("numbered headings", _by_number(_numbered_headings(lines)), _are_several),
        ("headings with boxes", _by_number(_plain_headings(lines)), _carry_work),
        ("bold items", _by_number(_bold_items(lines)), _carry_work),
    ]
    return _phases_of(lines, kinds)


def _by_number(starts: Iterator[tuple[Line, Start]]) -> _Starts:
    return {line.number: start for line, start in starts}


def _by_noun(
    lines: list[Line], kind: tuple[str, Callable[[Line], Start | None], _Enough], *, steps: bool
) -> tuple[str, _Starts, _Enough]:
    """The lines of one kind, by the noun of the outermost headings, else of the most lines."""
    words, start_at, is_enough = kind
    by_noun: dict[str, list[tuple[Line, Start]]] = {}
    for line in lines:
        if (start := start_at(line)) and start.is_step == steps:
            by_noun.setdefault(start.noun, []).append((line, start))
    by_noun = {n: found for n, found in by_noun.items() if len(n) > 1 or len(found) > 1}

    def rank(noun: str) -> tuple[int, int, int]:
        found = by_noun[noun]
        return min(line.level for line, _ in found), len(noun) == 1, -len(found)

    best = min(by_noun, key=rank, default="")
    named = (
        f"{'step' if steps else 'phase'} {words}"
        if words in {"headings", "checkboxes"}
        else f"phases {words}"
    )
    return (
        named,
        _by_number(iter(by_noun.get(best, ()))),
        _are_several if steps or len(best) == 1 else is_enough,
    )


def _phases_of(lines: list[Line], kinds: list[tuple[str, _Starts, _Enough]]) -> Phases:
    first: dict[int, Phase] = {}
    inside: set[int] = set()
    words = ""
    for named, starts, is_enough in kinds:
        if not starts:
            continue
        outside = [line for line in lines if line.number not in inside]
        phases, within = _phases_by(outside, starts)
        if first:
            _complete(first, phases)
        elif is_enough(phases):
            first, inside, words = phases, within, named
    return Phases([first[number] for number in sorted(first)], frozenset(inside), words)


def _complete(phases: dict[int, Phase], others: dict[int, Phase]) -> None:
    """Add what another list states of the same phases, and the phases that only the other has."""
    same = {
        number: phase
        for number, phase in others.items()
        if number in phases and phase.may_be(phases[number])
    }
    for number, other in same.items():
        if other.word or not phases[number].has_evidence:
            phases[number].sections += other.sections
    if len(same) == len(phases):
        phases.update({n: p for n, p in others.items() if n not in phases})


def _phases_by(lines: list[Line], starts: _Starts) -> tuple[dict[int, Phase], set[int]]:
    """The phases that begin on these lines, and the numbers of the lines inside them."""
    phases: dict[int, Phase] = {}
    within: set[int] = set()
    opened: list[Section] = []  # a phase, and inside it its parts
    for line in lines:
        while opened and not opened[-1].holds(line):
            opened.pop()
        start = starts.get(line.number)
        is_nested = bool(opened) and opened[-1].encloses(line)
        if start and is_nested and not start.is_part and start.number in phases:
            start = None  # "### Phase 1 notes" inside of phase 1
        if start:
            while opened and not (start.is_part and opened[-1].encloses(line)):
                opened.pop()
            opened.append(Section(start, line))
            phases.setdefault(start.number, Phase(start.number)).sections.append(opened[-1])
        elif opened:
            opened[-1].read(line)
        if opened:
            within.add(line.number)
    for phase in phases.values():
        for section in phase.sections:
            section.close()
    return phases, within
