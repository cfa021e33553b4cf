"""What the lines below the start of a phase say of it: its status, its boxes, its gate."""

from __future__ import annotations

from holdfast.formats.canonical.sources import PlanPhase, statuses, values
from holdfast.formats.canonical.sources.document import field_of
from holdfast.formats.canonical.sources.starts import IS_LATER, IS_NO_WORK, Start, status_in_row
from holdfast.formats.canonical.sources.words import Word
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

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
        self.gate: str | None = None
        self.gate_title: Line | None = None  # the line before, if the gate is to stand below it
        self.outer = values.MOST_CHARACTERS  # how far the outermost boxes are indented
        self.over: Line | None = None  # a box that is over, below which none holds anything back
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
        return self.word in {*_MARKED, "completed"} or self.ticked_boxes > 0

    @property
    def words(self) -> set[Word | None]:
        return {self.start.word, self.word}

    def holds(self, line: Line) -> bool:
        ends = self.start.boundary
        if line.level or ends == "indent":
            return self.encloses(line)
        return ends == "heading" or line.item or self.encloses(line)

    def encloses(self, line: Line) -> bool:
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
        elif key == "status" and line.checked is None and (word := statuses.part_status(value)):
            self.word, self.worded = word, line
        if line.cells and (word := status_in_row(line.cells)):
            self.ticked_boxes += word == "completed"
            self.open_boxes += word not in _OVER
            if word == "in_progress":
                self.running = self.running or ""
        if line.checked is not None:
            self._read_box(line)
        elif line.level or (not line.item and _LABEL.match(line.text)):
            self._turn(line)
        elif not line.item:
            self.over = None

    def _turn(self, line: Line) -> None:
        """A heading or a label inside: what follows may be criteria, or for later."""
        level = line.level or _BELOW_HEADINGS
        if self.aside and level > self.aside:
            return
        self.is_later = (
            bool(IS_LATER.match(line.text)) or statuses.split_status(line.text)[1] == "on_hold"
        )
        self.aside = level if self.is_later or IS_NO_WORK.match(line.text) else 0

    def _read_box(self, line: Line) -> None:
        if self.over and line.indent <= self.over.indent:
            self.over = None
        is_below_done = self.over is not None
        self.outer = min(self.outer, line.indent)
        is_done = line.checked or line.word == "completed"
        if line.word in _OVER and not is_below_done:
            self.over = line
        if self.aside and not self.is_later and (is_done or line.word not in _OVER):
            if not line.sign:  # which makes a note on what goes on
                self.criteria.append(line)
        elif is_done:
            self.ticked_boxes += not self.aside
        elif not (line.word in _OVER or self.is_later) and (
            line.word in _MARKED or not is_below_done
        ):
            self.open_boxes += 1
            self.open_lines.append(line)
            if line.word in _MARKED and (is_below_done or line.indent == self.outer):
                self.running = self.running or values.spoken(line.text)

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
            not self.is_over and any(part.running is not None for part in self.sections)
        )

    @property
    def has_evidence(self) -> bool:
        return any(section.has_evidence for section in self.sections)

    @property
    def boxes(self) -> tuple[int, int]:
        sections = self.sections
        return sum(part.ticked_boxes for part in sections), sum(
            part.open_boxes for part in sections
        )

    @property
    def was_begun(self) -> bool:
        return any(section.was_begun for section in self.sections)

    def declared(self, number: int) -> PlanPhase:
        open_first = sorted(self.sections, key=lambda section: section.is_over)
        parts = open_first if self.word != "cancelled" else ()  # nothing of it is still to do
        lines = [line for part in parts for line in part.open_lines]
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
