"""Read a plan: whether it is active, a candidate or none, and what it declares."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from holdfast.formats.canonical.sources import (
    Candidate,
    Declaration,
    Json,
    Looked,
    statuses,
    values,
)
from holdfast.formats.canonical.sources.document import MarkdownFile, field_of, open_document
from holdfast.formats.canonical.sources.notes import FieldValue, Stated, stated_in
from holdfast.formats.canonical.sources.phase_marks import stated_status
from holdfast.formats.canonical.sources.phases import Phases, phases_of, steps_of
from holdfast.formats.canonical.sources.starts import (
    is_column,
    start_of,
    status_cell,
    status_in_row,
)
from holdfast.formats.canonical.sources.words import Word
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

NOTHING_TO_FOLLOW = "in progress, but without phases or boxes"
_MOST_OPEN = 500
_RUNS = {"in_progress", "blocked"}

_SPEAKS = pattern(r"\b(?:phase|workflow)s?\b", re.IGNORECASE)
_PREFIX = pattern(r"[*_]*plan(?:[\s_-]*#?(?P<number>[0-9]{1,9}))?\b[*_]*", re.IGNORECASE)
_BEHIND_PREFIX = pattern(r"\s*(?:[:–—]|-\s)[*_]*\s*(?=\S)")
_FOLDER = pattern(r"(?P<number>[0-9]{1,9})(?:[-_](?P<name>.+))?")
# What a plan tells to make or to change is no reading of it.
_CHANGES = pattern(
    r"\b(?:add|adds|create|creates|created|write|update|updated|edit|extend|modify|change|changes|rewrite|rename|move|delete|remove|fix|document|generate|output|save|append|new)\b",
    re.IGNORECASE,
)
_READS = pattern(
    r"\b(?:see|read|follow|refer|consult|review|per|siehe|lies|voir|lire|ver|leer|vedi|см)\b",
    re.IGNORECASE,
)


def read_plan(data: bytes, *, path: str, mtime: float) -> Looked:
    """What the plan declares, or why it declares nothing."""
    document = open_document(data, quotes=True)
    if document is None:
        return Looked(path, None, "empty")
    if named := values.template_name(path):
        return Looked(path, None, f"a template, by its name {values.quoted(named)}, is no workflow")
    plan = _Plan(document, path, mtime)
    if values.is_template(plan.name):
        return Looked(path, None, f"its title {values.quoted(plan.name)} is a placeholder")
    more = values.joined(plan.stated.phase_problem, plan.stated.too_many, document.problem)
    word, found = plan.status
    if word in _RUNS and found:
        said = word.replace("_", " ")
        if plan.to_follow:
            reason = f"{said.title()} {found.place}, {plan.to_follow}"
            return Looked(path, plan.declared(word), values.joined(reason, more), more)
        silence = f"{said}, but it mentions neither phases nor a workflow"
        candidate = Candidate(NOTHING_TO_FOLLOW, plan.declared(word))
        return Looked(path, None, values.joined(silence, more), candidate=candidate)
    silence = f"its status is {found.quoted}" if found else "no status line says In Progress"
    if found and statuses.is_choice(found.value):
        silence += ", which a template leaves to choose from"
        return Looked(path, None, values.joined(silence, more))
    if not plan.to_follow:
        silence += ", and there are no phases or boxes"
    silence = values.joined(silence, more)
    if word in {"completed", "cancelled"}:
        closed = plan.declared(word) if plan.to_follow else None
        return Looked(path, None, silence, closed=closed)
    if suggestion := plan.candidate(word):
        return Looked(path, None, silence, candidate=suggestion)
    unbegun = plan.declared("in_progress") if plan.to_follow else None
    return Looked(path, None, silence, unbegun=unbegun)


class _Plan:
    def __init__(self, document: MarkdownFile, path: str, mtime: float) -> None:
        self.path, self.mtime, self.lines = path, mtime, document.lines
        self.folder = posixpath.dirname(path)
        self.columns = _columns(self.lines)
        self.phases, self.stated = self._phases(document)
        starts = self.phases.starts
        headings = [line for line in self.lines if line.level and line.number not in starts]
        others = (line for line in headings if not field_of(line))
        first = next((line for line in headings if line.level == 1), None)
        self.title = first or next(others, None)

    def _phases(self, document: MarkdownFile) -> tuple[Phases, Stated]:
        front, lines = document.front, self.lines
        phases = phases_of(lines)
        if self.columns and not any(phase.has_evidence for phase in phases.listed):
            phases = Phases([], frozenset(), "")  # the columns of a board tell where the work is
        stated = stated_in(front, lines, phases.within, counts=not phases.listed)
        if phases.listed or self.columns or not (steps := steps_of(lines)).listed:
            return phases, stated
        # They are the phases, unless a phase is stated which they may be the steps of.
        whole = stated_in(front, lines, steps.within)
        phase = whole.phase
        if phase and phase.mark and phase.mark.total != steps.total:
            return phases, stated
        return steps, whole

    # What it says of its status.

    @cached_property
    def status(self) -> tuple[Word | None, FieldValue | None]:
        """The status and what says so: the plan's own, and where it has none or is not clear, that of its parts."""
        own = min(self._own_statuses(), key=lambda status: status[1].number, default=(None, None))
        word, found = own
        if found and (word or statuses.is_choice(found.value)):
            return own
        if running := next(self._running_parts(), None):
            return running
        is_open = any(line.checked is False for line in self.lines)
        if found and is_open and statuses.speaks_of_running(found.value):
            return "in_progress", found
        return own

    def _own_statuses(self) -> Iterator[tuple[Word | None, FieldValue]]:
        if self.title and (word := statuses.split_status(self.title.text)[1]):
            yield word, FieldValue(self.title.text, self.title.number)
        if found := self.stated.fields.get("status"):
            yield stated_status(found.value), found
        columns = (column[0].number for column in self.columns.values())
        first = min([*self.phases.starts, *columns], default=None)
        for line in self.lines:
            if first is not None and line.number >= first:
                return
            if not line.level and not line.item and (word := statuses.whole_status(line.text)):
                yield word, FieldValue(line.text, line.number)

    def _running_parts(self) -> Iterator[tuple[Word, FieldValue]]:
        """A phase, a column, a row or a box that is marked as running, while there is work left."""
        phases, left_behind = self.phases.listed, self.phases.left_behind
        if phases and all(phase.is_over or phase.number in left_behind for phase in phases):
            return
        for wanted in ("in_progress", "blocked"):
            for phase in phases:
                for section in phase.sections:
                    if wanted in section.words:
                        line = section.worded if section.word == wanted else section.line
                        yield wanted, FieldValue(line.text, line.number)
        for line in self.lines:
            if line.word == "in_progress" and line.checked is False:
                yield "in_progress", FieldValue(line.text, line.number)
        for word, line in self.rows:
            if word == "in_progress":
                yield word, FieldValue(line.text, line.number)
        if self.columns.get("in_progress"):
            line = self.columns["in_progress"][0]
            yield "in_progress", FieldValue(line.text, line.number)
        reading, status = self.stated.phase, self.stated.fields.get("status")
        found = self.stated.phase_field
        is_plain = status is None or (found == status and not statuses.first_status(status.value))
        if reading and reading.current and is_plain:
            yield "in_progress", found

    @property
    def to_follow(self) -> str:
        """What there is to follow: phases, boxes, a board, or a phase or workflow that it speaks of."""
        if self.phases.listed:
            return self.phases.kind
        if self.stated.value("workflow"):
            return "a workflow is named"
        if self.stated.phase:
            return "a phase is named"
        line = next((line for line in self.lines if _SPEAKS.search(line.text)), None)
        if line:
            return f"phases or a workflow on line {line.number}"
        if any(line.checked is not None for line in self.lines):
            return "checkboxes"
        if any(word == "in_progress" for word, _ in self.rows):
            return "a table with statuses"
        return "a list of what is in progress" if self.columns else ""

    @cached_property
    def rows(self) -> list[tuple[Word, Line]]:
        """The rows of tables with a status, unless it is a word that is said of other things as well."""
        rows = (
            line
            for line in self.lines
            if line.cells and not statuses.is_weak(status_cell(line.cells))
        )
        return [(word, line) for line in rows if line.cells and (word := status_in_row(line.cells))]

    def candidate(self, word: Word | None) -> Candidate | None:
        """The plan as a candidate, if it is parked, or if some of its phases or else of its boxes are done."""
        done = [phase.is_done for phase in self.phases.listed]
        if not any(done):
            done = [line.checked is True for line in self.lines if line.checked is not None]
        ticks = f"{sum(done)} of {len(done)} done"
        is_begun = any(done) and not all(done)
        if word == "on_hold":
            return Candidate("on hold", self.declared("in_progress"))
        if word == "not_started":
            why = f"{ticks}, though it says that it is not started"
        elif is_begun:
            why = ticks
        elif self.phases.listed and not any(done):
            why = f"{len(self.phases.listed)} phases, none of them done"
            is_begun = len(self.phases.listed) > 1
        return Candidate(why, self.declared("in_progress")) if is_begun else None

    # What it declares.

    def declared(self, word: Word) -> Declaration:
        stated, phases = self.stated, self.phases
        name = stated.value("workflow") or self.name
        declaration = Declaration("plan", self.path, self.mtime)
        declaration = stated.declared(declaration, name, word, self._reading())
        mark, still_open = declaration.phase, self._open_lines()[:_MOST_OPEN]
        return declaration._replace(
            phase=(phases.filled_in(mark) if mark else None) or phases.current(),
            context={**self._known_by_name(), **stated.context} or None,
            next_action=self._stated_next() or (None if phases.listed else self._next_of_list()),
            gate=None if phases.listed else declaration.gate,
            phases=phases.declared(),
            open_items=tuple(values.spoken(line.text) for line in still_open),
            # Who moves a card of a board does not tick it.
            open_lines=tuple(line.number for line in still_open if not self.columns),
            boxes=sum(line.checked is not None for line in self.lines),
            ticked=sum(line.checked is True for line in self.lines),
        )

    def _stated_next(self) -> str | None:
        """What it states as next, unless that is no more than the name of a phase."""
        stated = self.stated.value("next")
        return None if stated and self.phases.listed and start_of(stated) else stated

    def _open_lines(self) -> list[Line]:
        """The lines of the open boxes, those that are marked as running first."""
        over = {"completed", "cancelled", "on_hold"}
        found = [line for line in self.lines if line.checked is False and line.word not in over]
        return sorted(found, key=lambda line: line.word not in _RUNS)

    def _next_of_list(self) -> str | None:
        """The first item of the column in progress, else the first open box."""
        for column in ("in_progress", "not_started"):
            items = self.columns.get(column, [])[1:]
            if items:
                return values.spoken(items[0].text)
        return next((values.spoken(line.text) for line in self._open_lines()), None)

    @cached_property
    def name(self) -> str:
        heading = statuses.split_status(self.title.text)[0] if self.title else ""
        title = heading or self.stated.value("title") or posixpath.basename(self.folder)
        prefix = _PREFIX.match(title)
        behind = _BEHIND_PREFIX.match(title, prefix.end()) if prefix else None
        return values.tidy(values.bare(title[behind.end() :])) if behind else title

    def _known_by_name(self) -> dict[str, Json]:
        folder = _FOLDER.fullmatch(posixpath.basename(self.folder))
        titled = _PREFIX.match(self.title.text) if self.title else None
        number = folder["number"] if folder else titled["number"] if titled else None
        known: dict[str, Json] = {"plan_number": int(number)} if number else {}
        if folder and folder["name"]:
            known["plan_name"] = folder["name"]
        return known

    def _reading(self) -> Iterator[str]:
        yield self.path
        stated = self.stated
        told = (line.text for line in self.lines if not (line.checked is not None or line.cells))
        mentioned = (
            raw
            for text in told
            if _READS.search(text) or not _CHANGES.search(text)
            for raw in values.mentioned_documents(text)
        )
        for raw in chain(stated.front_reading or stated.listed, stated.reading, mentioned):
            if path := values.resolved(raw, self.folder):
                yield path


def _columns(lines: list[Line]) -> dict[str, list[Line]]:
    """The columns of a board: headings that are nothing but a status, each with its open items behind it."""
    columns: dict[str, list[Line]] = {}
    column: list[Line] = []
    outermost = 0
    for line in lines:
        if line.level and is_column(line):
            word = statuses.whole_status(line.text) or ""
            column, outermost = columns.setdefault(word, [line]), line.level
        elif line.level:
            column = column if outermost and line.level > outermost else []
        elif column and line.item and not line.checked and line.indent < 2:
            column.append(line)
    columns = {word: found for word, found in columns.items() if len(found) > 1}
    return columns if "in_progress" in columns else {}
