"""A plan may speak of one phase in several places; together they tell what is done and what is next."""

from __future__ import annotations

from typing import Literal

from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.phase_marks import stated_part
from holdfast.formats.canonical.sources.phase_starts import Boundary, Start
from holdfast.formats.canonical.sources.placeholders import is_template, says_nothing
from holdfast.formats.canonical.sources.statuses import Word
from holdfast.formats.canonical.sources.values import bare, tidy
from holdfast.formats.markdown.lines import Line
from holdfast.records import Record, made

_OVER = {"completed", "cancelled"}
_MARKED = {"in_progress", "blocked"}
_BELOW_HEADINGS = 7  # the level of a phase that is no heading


class Section(Record, frozen=False):
    """One place that speaks of a phase, while it is being read."""

    line: Line
    word: Word | None
    is_part: bool
    boundary: Boundary
    boxes: int = 0
    open_boxes: int = 0
    next_action: str | None = None
    gate: str | None = None
    below_gate: Literal["", "heading", "label"] = ""

    @property
    def is_done(self) -> bool:
        ticked = self.boxes > 0 if self.line.checked is None else self.line.checked
        return self.word == "completed" or (ticked and not self.open_boxes)

    @property
    def is_over(self) -> bool:
        return self.is_done or self.word == "cancelled"

    @property
    def has_evidence(self) -> bool:
        return self.word is not None or self.boxes > 0 or self.line.checked is not None

    @property
    def was_begun(self) -> bool:
        begun = self.word in _MARKED or self.word == "completed"
        return begun or self.boxes > self.open_boxes or bool(self.line.checked)

    def holds(self, line: Line) -> bool:
        """Whether a line below is about this."""
        if line.level or self.boundary == "indent":
            return self.encloses(line)
        return self.boundary == "heading" or line.item or self.encloses(line)

    def encloses(self, line: Line) -> bool:
        """Whether a line is one step further in."""
        if line.level:
            return line.level > (self.line.level or _BELOW_HEADINGS)
        return line.indent > self.line.indent

    def take(self, line: Line) -> None:
        key, value = field_of(line) or ("", "")
        if self.below_gate and not line.level and (line.item or self.below_gate == "heading"):
            key, value = "gate", tidy(bare(line.text))
        opens = key == "gate" and not value
        self.below_gate = ("heading" if line.level else "label") if opens else ""
        if key == "gate" and not says_nothing(value) and not is_template(value):
            self.gate = self.gate or value or None
        elif key == "status" and line.checked is None:
            self.word = self.word or stated_part(value)
        if line.checked is not None:
            self.boxes += 1
            self.open_boxes += not line.checked
        if line.checked is False:
            self.next_action = self.next_action or tidy(line.text)


class Phase(Record, frozen=False):
    """One phase: all sections of one number, those of its parts "1a" and "1.1" with them."""

    number: int
    name: str | None = None
    total: int | None = None
    sections: list[Section] = made(factory=list)

    def begin(self, start: Start, line: Line) -> Section:
        """Another section, that this line opens."""
        if not start.is_part:
            self.name = self.name or start.name
            self.total = self.total or start.total
        section = Section(line, start.word, start.is_part, start.boundary)
        self.sections.append(section)
        return section

    @property
    def title(self) -> str:
        return self.name or f"Phase {self.number}"

    @property
    def word(self) -> Word | None:
        """What is said of it as a whole; a part tells no more than that it is being worked on."""
        own = (each.word for each in self.sections if each.word and not each.is_part)
        marked = (each.word for each in self.sections if each.word in _MARKED)
        return next(own, None) or next(marked, None)

    @property
    def is_over(self) -> bool:
        if self.word in _OVER:
            return True
        told = self._told()
        return bool(told) and all(each.is_over for each in told)

    @property
    def is_done(self) -> bool:
        if self.word in _OVER:
            return self.word == "completed"
        return self.is_over and any(each.is_done for each in self.sections)

    @property
    def is_marked(self) -> bool:
        return self.word in _MARKED

    @property
    def has_evidence(self) -> bool:
        return any(each.has_evidence for each in self.sections)

    @property
    def was_begun(self) -> bool:
        return any(each.was_begun for each in self.sections)

    @property
    def next_action(self) -> str | None:
        return next((each.next_action for each in self._open_first() if each.next_action), None)

    @property
    def gate(self) -> str | None:
        return next((each.gate for each in self._open_first() if each.gate), None)

    def line(self, word: Word) -> Line:
        """The line that gives it this status."""
        return next(
            (each.line for each in self.sections if each.word == word), self.sections[0].line
        )

    def _told(self) -> list[Section]:
        """The sections that tell what is done; where parts have a status, one without is open."""
        are_marked = any(each.word for each in self.sections if each.is_part)
        return [
            each for each in self.sections if each.has_evidence or (each.is_part and are_marked)
        ]

    def _open_first(self) -> list[Section]:
        return sorted(self.sections, key=lambda each: each.is_over)
