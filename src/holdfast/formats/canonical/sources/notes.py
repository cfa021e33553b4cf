"""What a markdown file states: fields and sections of its body, and its front matter before them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple, get_args

from holdfast.formats.canonical.sources import Declaration, Json, WorkflowType, values
from holdfast.formats.canonical.sources.document import field_of
from holdfast.formats.canonical.sources.phase_marks import (
    PhaseReading,
    phase_in_status,
    phase_of,
    sane_mark,
    stated_status,
)
from holdfast.formats.canonical.sources.statuses import status_for, status_of
from holdfast.formats.canonical.sources.words import Word
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern
from holdfast.text.plaintext import scalar

_SECTIONS = {"reading", "reminders", "context"}
# As a heading, their value is the line below.
_BELOW = {"status", "phase", "next", "next list", "gate"}
_LISTED = {"next", "next list", "gate"}  # below a label that is no heading, their value is an item
_OVER_TITLE = pattern(r"\b(?:completed|done|finished|past|previous)\b", re.IGNORECASE)
_LONGEST_NAME = 100

_PAIR = pattern(
    rf"[{values.MARKS}]*+(?P<key>[^\W\d][\w.-]*+(?: [\w.-]++){{0,2}}+)[{values.MARKS}]*+\s*+[:=](?!//)(?P<value>.*)",
)

_CONDITION = pattern(
    r"(?:skip|if|unless|only|never|always|do\s+not|don['’]t|must|when|until)\b", re.IGNORECASE
)


class FieldValue(NamedTuple):
    """The value of a field and the line that states it; line 0 is front matter."""

    value: str
    number: int = 0

    @property
    def place(self) -> str:
        return f"on line {self.number}" if self.number else "in front matter"

    @property
    def quoted(self) -> str:
        """With its place, as reasons have it."""
        place = f"line {self.number}" if self.number else "front matter"
        return f"{values.quoted(self.value)} ({place})"


class Stated:
    """What one file states: its front matter first, its body where that is silent."""

    def __init__(self, front: dict[str, Json]) -> None:
        self.front = front  # by key, see document.py
        self.fields: dict[str, FieldValue] = {}  # the first of each kind
        texts = values.texts_of(front.get("reading"))
        self.front_reading = [path for text in texts for path in values.listed_paths(text)]
        self.listed: list[str] = []  # paths, in a required-reading section
        self.reading: list[str] = []  # these, and those of lines that begin with @
        self.reminders: list[str] = []
        self.context: dict[str, Json] = {}
        for key, value in front.items():
            text = values.text_of(value)
            if text and not values.is_template(text):
                self.fields[key] = FieldValue(text)
            elif key == "phase" and isinstance(value, dict):
                self.fields[key] = FieldValue(str(value))

    def value(self, key: str) -> str | None:
        """What it states, unless that is that there is none."""
        found = self.fields.get(key)
        return None if found is None or values.says_nothing(found.value) else found.value

    @property
    def phase_field(self) -> FieldValue:
        """What states the phase: a field, a line that counts, or the status."""
        fields = self.fields
        return (
            fields.get("phase")
            or fields.get("counted phase")
            or fields.get("status", FieldValue(""))
        )

    @cached_property
    def phase(self) -> PhaseReading | None:
        """The phase as stated, completed by what states its total or its name alone."""
        front, status = self.front.get("phase"), self.fields.get("status")
        if isinstance(front, dict):
            reading: PhaseReading | None = _phase_in_parts(front)
        elif found := self.fields.get("phase") or self.fields.get("counted phase"):
            reading = phase_of(found.value)
        else:
            reading = phase_in_status(status.value) if status else None
        if reading is None or reading.mark is None:
            return reading
        current, total, name, _ = reading.mark
        mark = sane_mark(current, total or self._total(), name or self.value("phase name"))
        lost = (mark.current if mark else None) != current
        return PhaseReading(mark, reading.word, reading.readable and not lost)

    @property
    def phase_problem(self) -> str | None:
        """The part of a reason that tells of a phase which is stated but cannot be read."""
        if self.phase is None or self.phase.readable:
            return None
        return f"the phase {self.phase_field.quoted} is unreadable"

    def _total(self) -> int | None:
        for key in ("total", "phases"):
            value, found = self.front.get(key), self.fields.get(key)
            count = len(value) if isinstance(value, list) else _count(found.value if found else "")
            if count:
                return count
        return None

    @property
    def too_many(self) -> str | None:
        """That more files are declared than count."""
        listed = len(set(self.front_reading or self.listed))
        if listed <= values.MOST_ITEMS:
            return None
        return f"{listed} files to read are declared, the first {values.MOST_ITEMS} count"

    def declared(
        self, said: Declaration, name: str, word: Word | None, reading: Iterable[str]
    ) -> Declaration:
        """*said* with what files of both kinds declare in the same way."""
        workflow_type, is_guess = self._type(name)
        paths = tuple(f"@{path}" for path in values.unique(reading))
        return said._replace(
            workflow=name or None,
            workflow_type=workflow_type,
            type_guessed=is_guess,
            phase=self.phase.mark if self.phase else None,
            phase_unreadable=self.phase_problem is not None,
            status=status_for(word),
            required_reading=paths or None,
            key_reminders=values.unique(self.reminders) or None,
            context=self.context or None,
            gate=self.value("gate"),
        )

    def _type(self, name: str) -> tuple[WorkflowType, bool]:
        """The type, and whether it is guessed from the name."""
        if stated := self.value("type"):
            plain = values.plain_label(stated).replace(" ", "-")
            return next(
                (known for known in get_args(WorkflowType) if known == plain), "custom"
            ), False
        # By the table of the document.
        return next((kind for kind, words in _TYPES.items() if words.search(name)), "custom"), True


_TYPES: dict[WorkflowType, re.Pattern[str]] = {
    # A plan's title may have the word "plan", so that alone names no planning.
    "planning": pattern(r"\bplanning\b|^plan (?:the|an?)\b|\bresearch and plan\b", re.IGNORECASE),
    "qa-loop": pattern(r"\bqa\b", re.IGNORECASE),
    "implementation": pattern(r"\b(?:implement\w*|features?|build(?:ing|s)?)\b", re.IGNORECASE),
}


def _phase_in_parts(front: dict[str, Json]) -> PhaseReading:
    """The phase of front matter where it is a mapping."""
    parts = {values.plain_label(key): values.text_of(item) or "" for key, item in front.items()}
    read = phase_of(parts.get("current", ""))
    total = _count(parts.get("total", "")) or (read.mark.total if read.mark else None)
    name = parts.get("name", "")
    mark = sane_mark(read.current, total, None if values.says_nothing(name) else name)
    word = status_of(parts.get("status", ""))
    return PhaseReading(mark, word, bool(mark and mark.current))


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,4}", text) else None


def stated_in(
    front: dict[str, Json],
    lines: Iterable[Line],
    elsewhere: frozenset[int] = frozenset(),
    *,
    names: bool = False,
    counts: bool = False,
) -> Stated:
    """Read front matter, fields and sections; lines *elsewhere* have sections but state no fields.

    Below a heading "Workflow" usually stands prose; *names* says that it is the name. A line
    "Phase 4/10: X" states the phase where phases are not listed, which *counts* says.
    """
    below = {*_BELOW, "workflow"} if names else _BELOW
    collector = _Collector(Stated(front), below, counts=counts, beside=names)
    for line in lines:
        collector.feed(line, states=line.number not in elsewhere)
    stated, context = collector.stated, front.get("context")
    stated.reminders = values.texts_of(front.get("reminders")) or stated.reminders
    if isinstance(context, dict) and context:
        stated.context = dict(list(context.items())[: values.MOST_ITEMS])
    return stated


class _Collector:
    """The section that is open, and what else the next line depends on."""

    def __init__(
        self, stated: Stated, may_stand_below: set[str], *, counts: bool, beside: bool
    ) -> None:
        self.stated = stated
        self.may_stand_below = may_stand_below
        self.counts = counts
        self.beside = beside  # the workflow's own fields, where other lines are about it as well
        self.section = ""
        self.opened = Line(0, "")  # the heading, label or item that opened it
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
        paths = values.at_paths(line.text)
        inside = self.section and not line.level and not (known and self._is_field(line, known[0]))
        if line.level:
            self.is_past = bool(_OVER_TITLE.search(line.text))
            self.beside = False
        if inside and self.section == "reading":
            paths = paths or (values.listed_paths(line.text) if line.item else [])
            self.stated.listed += paths
        elif inside:
            self._take(line, goes_on=self.joining and not gap and not paths)
        elif known:
            self._open(line, *known, states=states)
            self.beside = self.beside or (self.counts and known[0] not in _SECTIONS)
        elif self.beside and not line.level and line.checked is None and not self.below:
            self._take_beside(line)
        elif self.below and not line.level and states:
            if self.is_label and not line.item:
                self.below = ""
            else:
                self._take_below(line)
        self.stated.reading += paths
        begins = line.item or _is_sentence(line)
        self.joining = bool(inside) and self.section == "reminders" and (begins or self.joining)
        self.below = "" if line.level and not known else self.below
        self.previous = line.number

    def _ends(self, line: Line, *, gap: bool, known: tuple[str, str] | None) -> bool:
        opened = self.opened
        if line.level:
            return not opened.level or line.level <= opened.level
        if opened.level:
            return known is not None and not line.item and known[0] in _SECTIONS
        if line.item:
            return opened.item and line.indent <= opened.indent
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
        if key == "context" and value:
            return  # "**Context**: we had to decide" is a sentence
        self.section, self.opened = key, line
        if values.is_unfilled(value):
            return
        if key == "reminders":
            self.stated.reminders.append(value)
        elif key == "reading":
            paths = [path for part in value.split(",") for path in values.listed_paths(part)]
            self.stated.listed += paths
            self.stated.reading += paths

    def _take(self, line: Line, *, goes_on: bool) -> None:
        """A context variable, or a reminder: an item or a sentence, which may go on over several lines."""
        reminders, context = self.stated.reminders, self.stated.context
        if self.section == "context":
            if (pair := _pair(line.text)) and len(context) < values.MOST_ITEMS:
                context.setdefault(*pair)
        elif goes_on and not line.item:
            reminders[-1] = values.tidy(f"{reminders[-1]} {line.text}")
        elif line.item or _is_sentence(line):
            reminders.append(values.tidy(line.text))

    def _take_beside(self, line: Line) -> None:
        """What no field of ours says of the workflow: a condition, or a variable such as its plan's number."""
        context, pair = self.stated.context, _pair(line.text)
        if _CONDITION.match(values.bare(line.text)):
            self.stated.reminders.append(values.tidy(line.text))
        elif pair and not values.is_unfilled(str(pair[1])) and len(context) < values.MOST_ITEMS:
            context.setdefault(*pair)

    def _state(self, key: str, value: str, line: Line) -> None:
        """The first of each kind wins, even if it states that there is none."""
        if key == "counted phase" and not (self.counts and self._fits_better(value)):
            return
        if key == "status" or values.says_nothing(value) or not values.is_template(value):
            self.stated.fields.setdefault(key, FieldValue(value, line.number))

    def _fits_better(self, value: str) -> bool:
        """Whether this counted phase tells better where the work is than those before it."""
        word = phase_of(value).word
        over = self.is_past or word in {"completed", "cancelled"}
        fits = 0 if over else 1 if word == "not_started" else 2
        if fits < self.counted or fits == self.counted > 0:
            return False
        self.counted = fits
        self.stated.fields.pop("counted phase", None)
        return True

    def _take_below(self, line: Line) -> None:
        value = values.tidy(values.bare(line.text))
        if self.below in {"next", "next list"} and (line.checked or value.endswith(":")):
            return
        if self.below == "status" and not stated_status(value):
            return
        is_prose = len(value) > _LONGEST_NAME or value.endswith((".", ":", "?"))
        is_no_name = self.below == "workflow" and is_prose
        is_no_phase = self.below == "phase" and not phase_of(value).current
        if not is_no_name and not is_no_phase:
            self._state(self.below, value, line)
        self.below = ""


def _is_step(line: Line, value: str) -> bool:
    """Whether a phase is a mere step of a list of checkboxes, or one that is over."""
    mark = phase_of(value).mark if line.checked is False else None
    return line.checked is not None and not (mark and mark.total)


def _is_sentence(line: Line) -> bool:
    """Whether a line of a section says something by itself: no path, no row of a table, and nothing that a list follows."""
    return not (line.text.startswith("|") or line.text.endswith(":") or values.at_paths(line.text))


def _pair(text: str) -> tuple[str, Json] | None:
    """A context variable: "key: value" or "key = value"."""
    match = _PAIR.match(text[: values.MOST_CHARACTERS * 2])
    value = values.labelled(match["value"]) if match else ""
    if match is None or not value:
        return None
    return values.tidy(match["key"].strip(values.MARKS) or match["key"]), scalar(value)
