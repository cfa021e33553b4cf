"""A file's fields and sections (reading, reminders, context) are gathered in one pass over its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.formats.canonical.declaration import Json
from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.paths import at_paths, listed_paths
from holdfast.formats.canonical.sources.phase_marks import current_of, phase_of, stated_status
from holdfast.formats.canonical.sources.placeholders import is_template, says_nothing
from holdfast.formats.canonical.sources.values import (
    MARKS,
    MOST_CHARACTERS,
    MOST_ITEMS,
    bare,
    labelled,
    scalar,
    tidy,
)
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern
from holdfast.records import Record, made

_SECTIONS = {"reading", "reminders", "context"}
_BELOW = {
    "status",
    "phase",
    "next",
    "next list",
    "gate",
}  # as a heading, their value is the line below
_LISTED = {"next", "next list", "gate"}  # below a label that is no heading, their value is an item
_OVER_TITLE = pattern(r"\b(?:completed|done|finished|past|previous)\b", re.IGNORECASE)
_LONGEST_NAME = 100

_PAIR = pattern(
    rf"[{MARKS}]*+(?P<key>[^\W\d][\w.-]*+(?: [\w.-]++){{0,2}}+)[{MARKS}]*+\s*+[:=](?!//)(?P<value>.*)",
)


class Found(NamedTuple):
    """The value of a field and the line that states it."""

    value: str
    number: int


class Notes(Record, frozen=False):
    """All that the fields and sections of some lines say. The first of each kind wins."""

    fields: dict[str, Found] = made(factory=dict)
    listed: list[str] = made(factory=list)  # paths, in a required-reading section
    reading: list[str] = made(factory=list)  # these, and those of lines that begin with @
    reminders: list[str] = made(factory=list)
    context: dict[str, Json] = made(factory=dict)


def collect(
    lines: Iterable[Line], elsewhere: frozenset[int] = frozenset(), *, names: bool = False
) -> Notes:
    """Read fields and sections; lines *elsewhere* have sections but state no fields of the whole.

    Below a heading "Workflow" usually stands prose; *names* says that it is the name.
    """
    collector = _Collector({*_BELOW, "workflow"} if names else _BELOW)
    for line in lines:
        collector.feed(line, states=line.number not in elsewhere)
    return collector.notes


class _Collector:
    """The section that is open, and what else the next line depends on."""

    def __init__(self, may_stand_below: set[str]) -> None:
        self.notes = Notes()
        self.may_stand_below = may_stand_below
        self.section = ""
        self.level = 0  # of the heading that opened the section, 0 for a label
        self.indent = -1  # of the item that opened it
        self.previous = 0
        self.joining = False  # the line before belongs to a reminder
        self.below = ""
        self.is_label = False  # that what may stand below follows
        self.is_past = False  # the section, which lists phases that are over
        self.counted = -1  # how well the counted phase fits so far

    def feed(self, line: Line, *, states: bool) -> None:
        known = field_of(line)
        gap = line.number > self.previous + 1
        if self.section and self._ends(line, gap=gap, known=known):
            self.section = ""
        paths = at_paths(line.text)
        inside = self.section and not line.level and not (known and self._is_field(line, known[0]))
        if line.level:
            self.is_past = bool(_OVER_TITLE.search(line.text))
        if inside:
            self._take(line, paths, gap=gap)
        elif known:
            self._open(line, *known, states=states)
        elif self.below and not line.level and states:
            if self.is_label and not line.item:
                self.below = ""
            else:
                self._take_below(line)
        self.notes.reading += [] if inside and self.section == "reading" else paths
        self.joining = bool(inside) and self.section == "reminders" and (line.item or self.joining)
        self.below = "" if line.level and not known else self.below
        self.previous = line.number

    def _ends(self, line: Line, *, gap: bool, known: tuple[str, str] | None) -> bool:
        if line.level:
            return not self.level or line.level <= self.level
        if self.level:
            return known is not None and not line.item and known[0] in _SECTIONS
        if line.item:
            return line.indent <= self.indent
        return bool(known) or (gap and line.indent < 2)

    def _is_field(self, line: Line, key: str) -> bool:
        """Within a section, items are the section's, but context also names the work itself."""
        return not line.item or (
            self.section == "context" and key in {"workflow", "phase", "counted phase"}
        )

    def _open(self, line: Line, key: str, value: str, *, states: bool) -> None:
        if self.below == "phase" and key == "counted phase":
            key = "phase"
        may_follow = not value and key in (self.may_stand_below if line.level else _LISTED)
        self.below = key if may_follow else ""
        self.is_label = not line.level
        if key not in _SECTIONS:
            if states and value and not (key == "phase" and _is_step(line, value)):
                self._state(key, value, line)
            return
        self.section, self.level = key, line.level
        self.indent = line.indent if line.item else -1
        if says_nothing(value) or is_template(value):
            return
        if value and key == "reminders":
            self.notes.reminders.append(value)
        elif value and key == "reading":
            self._list([path for part in value.split(",") for path in listed_paths(part)])

    def _take(self, line: Line, paths: list[str], *, gap: bool) -> None:
        if self.section == "reading":
            self._list(paths or (listed_paths(line.text) if line.item else []))
        elif self.section == "context":
            if (pair := _pair(line.text)) and len(self.notes.context) < MOST_ITEMS:
                self.notes.context.setdefault(*pair)
        elif line.item:
            self.notes.reminders.append(tidy(line.text))
        elif self.joining and not gap and not paths:
            self.notes.reminders[-1] = tidy(f"{self.notes.reminders[-1]} {line.text}")

    def _list(self, paths: list[str]) -> None:
        self.notes.listed += paths
        self.notes.reading += paths

    def _state(self, key: str, value: str, line: Line) -> None:
        """The first of each kind wins, even if it states that there is none."""
        if key == "counted phase" and not self._fits_better(value):
            return
        if key == "status" or says_nothing(value) or not is_template(value):
            self.notes.fields.setdefault(key, Found(value, line.number))

    def _fits_better(self, value: str) -> bool:
        """Whether this counted phase tells better where the work is than those before it."""
        word = phase_of(value).word
        over = self.is_past or word in {"completed", "cancelled"}
        fits = 0 if over else 1 if word == "not_started" else 2
        if fits < self.counted or fits == self.counted > 0:
            return False
        self.counted = fits
        self.notes.fields.pop("counted phase", None)
        return True

    def _take_below(self, line: Line) -> None:
        value = tidy(bare(line.text))
        if self.below in {"next", "next list"} and (line.checked or value.endswith(":")):
            return
        if self.below == "status" and not stated_status(value):
            return
        is_prose = len(value) > _LONGEST_NAME or value.endswith((".", ":", "?"))
        if (self.below != "phase" or current_of(phase_of(value).mark)) and not (
            self.below == "workflow" and is_prose
        ):
            self._state(self.below, value, line)
        self.below = ""


def _is_step(line: Line, value: str) -> bool:
    """Whether a phase is a mere step of a list of checkboxes, or one that is over."""
    mark = phase_of(value).mark if line.checked is False else None
    return line.checked is not None and not (mark and mark.total)


def _pair(text: str) -> tuple[str, Json] | None:
    """A context variable: "key: value" or "key = value"."""
    match = _PAIR.match(text[: MOST_CHARACTERS * 2])
    value = labelled(match["value"]) if match else ""
    if match is None or not value:
        return None
    return tidy(match["key"].strip(MARKS) or match["key"]), scalar(value)
