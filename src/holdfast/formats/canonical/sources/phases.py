"""The phases of a plan: what its lines say of each is done, and where the work is.

A plan may speak of one phase in several places, and in several kinds of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.formats.canonical.sources import PhaseMark, PlanPhase, phase_lines, values
from holdfast.formats.canonical.sources.document import field_of
from holdfast.formats.canonical.sources.phase_lines import Start
from holdfast.formats.canonical.sources.phase_marks import sane_mark, stated_part
from holdfast.formats.canonical.sources.statuses import Word
from holdfast.formats.engine.markdown import Line

_OVER = {"completed", "cancelled"}
_MARKED = {"in_progress", "blocked"}
_BELOW_HEADINGS = 7  # the level of a phase that is no heading


class Section:
    """One place that speaks of a phase, while it is being read."""

    def __init__(self, start: Start, line: Line) -> None:
        self.start = start
        self.line = line
        self.word: Word | None = start.word
        self.ticked_boxes = int(line.checked is True)
        self.open_boxes = int(line.checked is False)
        self.open_items: list[str] = []
        self.gate: str | None = None
        self.gate_title: Line | None = None  # the line before, if the gate is to stand below it

    @property
    def is_done(self) -> bool:
        return self.word == "completed" or (self.ticked_boxes > 0 and not self.open_boxes)

    @property
    def is_over(self) -> bool:
        return self.is_done or self.word == "cancelled"

    @property
    def has_evidence(self) -> bool:
        return self.word is not None or self.ticked_boxes + self.open_boxes > 0

    @property
    def was_begun(self) -> bool:
        return self.word in {*_MARKED, "completed"} or self.ticked_boxes > 0

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
        elif key == "status" and line.checked is None:
            self.word = self.word or stated_part(value)
        if line.checked:
            self.ticked_boxes += 1
        elif line.checked is False:
            self.open_boxes += 1
            self.open_items.append(values.tidy(line.text))


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
        return next((start.name for start in self.starts if start.name), f"Phase {self.number}")

    @property
    def word(self) -> Word | None:
        """The status of the whole; a part tells no more than that it is being worked on."""
        words = [(section.word, section.start.is_part) for section in self.sections]
        own = (word for word, is_part in words if word and not is_part)
        marked = (word for word, _ in words if word in _MARKED)
        return next(own, None) or next(marked, None)

    @property
    def is_over(self) -> bool:
        if self.word in _OVER:
            return True
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
    def has_evidence(self) -> bool:
        return any(section.has_evidence for section in self.sections)

    def declared(self, number: int) -> PlanPhase:
        open_first = sorted(self.sections, key=lambda section: section.is_over)
        still_open = tuple(item for part in open_first for item in part.open_items)
        gate = next((part.gate for part in open_first if part.gate), None)
        next_action = still_open[0] if still_open else None
        return PlanPhase(number, self.title, self.is_done, next_action, gate, still_open)

    def line(self, word: Word) -> Line:
        """The line that gives it this status."""
        return next(section.line for section in self.sections if section.word == word)


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

    def current(self) -> PhaseMark | None:
        """The phase that is marked, else the first that is not over, else the last."""
        if not self.listed:
            return None
        marked = (phase for phase in self.listed if phase.word in _MARKED)
        # A phase without any evidence is behind us if a later one was begun.
        begun = [
            phase.number
            for phase in self.listed
            if any(section.was_begun for section in phase.sections)
        ]
        still_open = (
            phase
            for phase in self.listed
            if not phase.is_over and (phase.has_evidence or phase.number >= max(begun, default=0))
        )
        done = (phase for phase in reversed(self.listed) if phase.is_done)
        current = next(marked, None) or next(still_open, None) or next(done, self.listed[-1])
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


class _Kind(NamedTuple):
    """One way to begin a phase."""

    words: str
    start_at: Callable[[Line], Start | None]
    is_enough: Callable[[dict[int, Phase]], bool] = bool


def phases_of(lines: list[Line]) -> Phases:
    """The phases as headings, else as bold lines, checkboxes, rows of a table or items."""
    kinds = [
        _Kind("phase headings", phase_lines.heading),
        _Kind("phases in bold", phase_lines.bold),
        _Kind("phase checkboxes", phase_lines.box),
        _Kind("phases in a table", phase_lines.rows(lines)),
        _Kind("phases in a list", phase_lines.item, _is_a_list),
    ]
    return _phases_of(lines, kinds)


def steps_of(lines: list[Line]) -> Phases:
    """The steps, for a plan without phases."""
    kinds = [
        _Kind("step headings", phase_lines.step, _are_several),
        _Kind("numbered headings", phase_lines.numbered(lines), _are_several),
    ]
    return _phases_of(lines, kinds)


def _are_several(phases: dict[int, Phase]) -> bool:
    return len(phases) > 1


def _is_a_list(phases: dict[int, Phase]) -> bool:
    """One item that begins with "Phase 2:" may be a remark."""
    return len(phases) > 1 or any(phase.word for phase in phases.values())


def _phases_of(lines: list[Line], kinds: list[_Kind]) -> Phases:
    first: dict[int, Phase] = {}
    inside: set[int] = set()
    words = ""
    for kind in kinds:
        outside = [line for line in lines if line.number not in inside]
        phases, within = _phases_by(outside, kind)
        if first:
            _complete(first, phases)
        elif kind.is_enough(phases):
            first, inside, words = phases, within, kind.words
    return Phases([first[number] for number in sorted(first)], frozenset(inside), words)


def _complete(phases: dict[int, Phase], others: dict[int, Phase]) -> None:
    """Add what another list says of those phases that nothing else is known of."""
    for other in others.values():
        same = phases.get(other.number)
        if same and not same.has_evidence and same.title.casefold() == other.title.casefold():
            same.sections += other.sections


def _phases_by(lines: list[Line], kind: _Kind) -> tuple[dict[int, Phase], set[int]]:
    """The phases of one kind, and the numbers of the lines inside them."""
    phases: dict[int, Phase] = {}
    within: set[int] = set()
    opened: list[Section] = []  # a phase, and inside it its parts
    for line in lines:
        while opened and not opened[-1].holds(line):
            opened.pop()
        start = kind.start_at(line)
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
    return phases, within
