"""A PLAN.md in progress declares a workflow, too; this reads it, phases and all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from holdfast.formats.canonical.declaration import Declaration, Json, Looked, PhaseMark
from holdfast.formats.canonical.sources.document import Document, open_document
from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.notes import collect
from holdfast.formats.canonical.sources.paths import mentioned_documents, resolved
from holdfast.formats.canonical.sources.phase_marks import stated_status
from holdfast.formats.canonical.sources.placeholders import template_name
from holdfast.formats.canonical.sources.plan_phases import Phases, phases_of, steps_of
from holdfast.formats.canonical.sources.reasons import joined, quoted, quoted_from
from holdfast.formats.canonical.sources.stated import Stated
from holdfast.formats.canonical.sources.statuses import (
    Word,
    is_choice,
    speaks_of_running,
    split_status,
    status_for,
    whole_status,
)
from holdfast.formats.canonical.sources.values import bare, text_of, tidy, unique
from holdfast.formats.canonical.sources.workflow_types import type_of
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern
from holdfast.records import Record

_MOST_PATHS = 100
_MOST_OPEN = 500

_SPEAKS = pattern(r"\b(?:phase|workflow)s?\b", re.IGNORECASE)
_PREFIX = pattern(r"[*_]*plan(?:[\s_-]*#?(?P<number>[0-9]{1,9}))?\b[*_]*", re.IGNORECASE)
_BEHIND_PREFIX = pattern(r"\s*(?:[:–—]|-\s)[*_]*\s*(?=\S)")
_FOLDER = pattern(r"(?P<number>[0-9]{1,9})(?:[-_](?P<name>.+))?")
# Every title here begins with "Plan", so the word alone names no planning.
_PLANNING = pattern(r"\bplanning\b|\bresearch and plan\b", re.IGNORECASE)


def read_plan(data: bytes, *, path: str, mtime: float) -> Looked:
    """What the plan declares, or why it declares nothing."""
    document = open_document(data)
    if document is None:
        return Looked(path, None, "empty")
    if named := template_name(path):
        return Looked(path, None, f"a template, by its name {quoted(named)}, is no workflow")
    plan = _plan(document, path)
    told = _status(plan)
    if told and told.word is None:
        told = _made_out(plan, told)
    spoken = _spoken(plan)
    more = (plan.stated.phase_problem(counted=False), document.problem)
    if told is None or told.word is None or told.word == "not_started":
        silence = f"its status is {told.shown}" if told else "no status line says In Progress"
        if told and is_choice(told.text):
            silence += ", which a template leaves to choose from"
        return Looked(path, None, joined(silence, *more))
    declaration = _declared(plan, told.word, mtime) if spoken else None
    if told.word in {"completed", "cancelled"}:
        ended = joined(f"its status is {told.shown}", *more)
        return Looked(path, None, ended, closed=declaration)
    said = told.word.replace("_", " ")
    if declaration is None:
        silence = f"{said}, but it speaks of no phases and no workflow"
        return Looked(path, None, joined(silence, *more))
    found = joined(f"{said.title()} {told.place}, {spoken}", *more)
    return Looked(path, declaration, found, joined(*more))


class _Told(NamedTuple):
    """What the plan says of its status, and where."""

    word: Word | None
    text: str
    number: int = 0  # of the line; 0 for front matter

    @property
    def place(self) -> str:
        return f"on line {self.number}" if self.number else "in front matter"

    @property
    def shown(self) -> str:
        return quoted_from(self.number, self.text)


class _Plan(Record):
    """The parts of one plan."""

    path: str
    lines: list[Line]
    stated: Stated
    phases: Phases
    title: Line | None

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


def _plan(document: Document, path: str) -> _Plan:
    lines, phases = document.lines, phases_of(document.lines)
    stated = Stated(document.front, collect(lines, phases.within))
    if not phases.listed:
        phases, stated = _with_steps(document, phases, stated)
    starts = phases.starts
    headings = [line for line in lines if line.level and line.number not in starts]
    others = (line for line in headings if not field_of(line))
    title = next((line for line in headings if line.level == 1), None) or next(others, None)
    return _Plan(path, lines, stated, phases, title)


def _with_steps(document: Document, phases: Phases, stated: Stated) -> tuple[Phases, Stated]:
    """The steps as phases, unless a phase is stated which they may be the steps of."""
    steps = steps_of(document.lines)
    whole = Stated(document.front, collect(document.lines, steps.within))
    phase = whole.phase(counted=False)
    if not steps.listed or (phase and phase.mark and phase.mark.total != steps.total):
        return phases, stated
    return steps, whole


def _status(plan: _Plan) -> _Told | None:
    """The plan's own status; only where it has none, that of its phases."""
    if front := text_of(plan.stated.front.get("status")):
        return _Told(stated_status(front), front)
    if own := min(_own_statuses(plan), key=lambda told: told.number, default=None):
        return own
    return _of_phases(plan, "in_progress") or _of_phases(plan, "blocked")


def _of_phases(plan: _Plan, word: Word) -> _Told | None:
    line = next((each.line(word) for each in plan.phases.listed if each.word == word), None)
    return _Told(word, line.text, line.number) if line else None


def _made_out(plan: _Plan, told: _Told) -> _Told:
    """A status that is not clear: with work left over, what speaks of running work decides."""
    if is_choice(told.text):
        return told
    if phase := _of_phases(plan, "in_progress"):
        return phase
    is_open = any(line.checked is False for line in plan.lines)
    return told._replace(word="in_progress") if is_open and speaks_of_running(told.text) else told


def _own_statuses(plan: _Plan) -> Iterator[_Told]:
    if plan.title and (word := split_status(plan.title.text)[1]):
        yield _Told(word, plan.title.text, plan.title.number)
    if found := plan.stated.notes.fields.get("status"):
        yield _Told(stated_status(found.value), found.value, found.number)
    first = min(plan.phases.starts, default=None)
    for line in plan.lines:
        if first is not None and line.number >= first:
            return
        if not line.level and not line.item and (word := whole_status(line.text)):
            yield _Told(word, line.text, line.number)


def _spoken(plan: _Plan) -> str:
    """How the plan speaks of phases or of a workflow."""
    if plan.phases.listed:
        return plan.phases.kind
    if plan.stated.value("workflow"):
        return "a workflow is named"
    if plan.stated.phase(counted=False):
        return "a phase is named"
    line = next((line for line in plan.lines if _SPEAKS.search(line.text)), None)
    return f"phases or a workflow on line {line.number}" if line else ""


def _declared(plan: _Plan, word: Word, mtime: float) -> Declaration:
    stated = plan.stated
    title = _title(plan)
    workflow_type, is_guess = type_of(stated.value("type"), title, _PLANNING)
    has_phases = bool(plan.phases.listed)
    open_items = [tidy(line.text) for line in plan.lines if line.checked is False]
    first_open = open_items[0] if open_items and not has_phases else None
    return Declaration(
        source="plan",
        path=plan.path,
        mtime=mtime,
        workflow=stated.value("workflow") or title,
        workflow_type=workflow_type,
        type_guessed=is_guess,
        phase=_stated_phase(plan) or plan.phases.current(),
        phase_unreadable=stated.phase_problem(counted=False) is not None,
        status=status_for(word),
        required_reading=tuple(f"@{path}" for path in unique(_reading(plan), _MOST_PATHS)),
        key_reminders=stated.reminders(),
        context={**_known_by_name(plan), **(stated.context() or {})} or None,
        next_action=stated.value("next") or first_open,
        gate=None if has_phases else stated.value("gate"),
        phases=plan.phases.declared(),
        open_items=tuple(open_items[:_MOST_OPEN]),
    )


def _stated_phase(plan: _Plan) -> PhaseMark | None:
    reading = plan.stated.phase(counted=False)
    return plan.phases.filled_in(reading.mark) if reading and reading.mark else None


def _title(plan: _Plan) -> str:
    heading = split_status(plan.title.text)[0] if plan.title else ""
    title = heading or text_of(plan.stated.front.get("title")) or posixpath.basename(plan.folder)
    prefix = _PREFIX.match(title)
    behind = _BEHIND_PREFIX.match(title, prefix.end()) if prefix else None
    return tidy(bare(title[behind.end() :])) if behind else title


def _known_by_name(plan: _Plan) -> dict[str, Json]:
    folder = _FOLDER.fullmatch(posixpath.basename(plan.folder))
    titled = _PREFIX.match(plan.title.text) if plan.title else None
    number = folder["number"] if folder else titled["number"] if titled else None
    known: dict[str, Json] = {"plan_number": int(number)} if number else {}
    if folder and folder["name"]:
        known["plan_name"] = folder["name"]
    return known


def _reading(plan: _Plan) -> Iterator[str]:
    yield plan.path
    notes = plan.stated.notes
    listed = [*(plan.stated.reading() or notes.listed), *notes.reading]
    mentioned = (raw for line in plan.lines for raw in mentioned_documents(line.text))
    for raw in chain(listed, mentioned):
        if path := resolved(raw, plan.folder):
            yield path
