"""A PLAN.md in progress declares a workflow, too; this reads it, phases and all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

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
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

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
    if named := values.template_name(path):
        return Looked(path, None, f"a template, by its name {values.quoted(named)}, is no workflow")
    plan = _plan(document, path)
    status = _status(plan)
    more = (plan.stated.phase_problem, document.problem)
    if status is None or status.word is None or status.word == "not_started":
        silence = (
            f"its status is {status.found.quoted}" if status else "no status line says In Progress"
        )
        if status and statuses.is_choice(status.found.value):
            silence += ", which a template leaves to choose from"
        told = values.joined(silence, *more)
        return Looked(path, None, told, candidate=_candidate(plan, mtime))
    spoken = _spoken(plan)
    declaration = _declared(plan, status.word, mtime) if spoken else None
    if status.word in {"completed", "cancelled"}:
        ended = values.joined(f"its status is {status.found.quoted}", *more)
        return Looked(path, None, ended, closed=declaration)
    said = status.word.replace("_", " ")
    if declaration is None:
        silence = f"{said}, but it mentions neither phases nor a workflow"
        why = "says that it runs, but has nothing to follow"
        candidate = Candidate(why, _declared(plan, status.word, mtime))
        return Looked(path, None, values.joined(silence, *more), candidate=candidate)
    found = values.joined(f"{said.title()} {status.found.place}, {spoken}", *more)
    return Looked(path, declaration, found, values.joined(*more))


def _candidate(plan: _Plan, mtime: float) -> Candidate | None:
    """The plan as a candidate, if some of its phases or else of its boxes are done, and some are not."""
    done = [phase.is_done for phase in plan.phases.listed]
    if not any(done):
        done = [line.checked for line in plan.lines if line.checked is not None]
    if not any(done) or all(done):
        return None
    return Candidate(f"{sum(done)} of {len(done)} done", _declared(plan, "in_progress", mtime))


class _PlanStatus(NamedTuple):
    """What the plan says of its status, and where."""

    word: statuses.Word | None
    found: FieldValue


class _Plan(NamedTuple):
    """The parts of one plan."""

    path: str
    lines: list[Line]
    stated: Stated
    phases: Phases
    title: Line | None

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


def _plan(document: MarkdownFile, path: str) -> _Plan:
    front, lines = document.front, document.lines
    phases = phases_of(lines)
    stated = stated_in(front, lines, phases.within)
    if not phases.listed and (steps := steps_of(lines)).listed:
        # They are the phases, unless a phase is stated which they may be the steps of.
        whole = stated_in(front, lines, steps.within)
        phase = whole.phase
        if not (phase and phase.mark) or phase.mark.total == steps.total:
            phases, stated = steps, whole
    starts = phases.starts
    headings = [line for line in lines if line.level and line.number not in starts]
    others = (line for line in headings if not field_of(line))
    title = next((line for line in headings if line.level == 1), None) or next(others, None)
    return _Plan(path, lines, stated, phases, title)


def _status(plan: _Plan) -> _PlanStatus | None:
    """The plan's own status; where it has none or is not clear, that of its phases.

    With work left over, an unclear one that speaks of running work is in progress.
    """
    own = min(_own_statuses(plan), key=lambda status: status.found.number, default=None)
    if own is None:
        return _status_of_phases(plan, "in_progress") or _status_of_phases(plan, "blocked")
    if own.word or statuses.is_choice(own.found.value):
        return own
    if running := _status_of_phases(plan, "in_progress"):
        return running
    is_open = any(line.checked is False for line in plan.lines)
    runs = is_open and statuses.speaks_of_running(own.found.value)
    return own._replace(word="in_progress") if runs else own


def _own_statuses(plan: _Plan) -> Iterator[_PlanStatus]:
    if plan.title and (word := statuses.split_status(plan.title.text)[1]):
        yield _PlanStatus(word, FieldValue(plan.title.text, plan.title.number))
    if found := plan.stated.fields.get("status"):
        yield _PlanStatus(stated_status(found.value), found)
    first = min(plan.phases.starts, default=None)
    for line in plan.lines:
        if first is not None and line.number >= first:
            return
        if not line.level and not line.item and (word := statuses.whole_status(line.text)):
            yield _PlanStatus(word, FieldValue(line.text, line.number))


def _status_of_phases(plan: _Plan, word: statuses.Word) -> _PlanStatus | None:
    line = next((phase.line(word) for phase in plan.phases.listed if phase.word == word), None)
    return _PlanStatus(word, FieldValue(line.text, line.number)) if line else None


def _spoken(plan: _Plan) -> str:
    """How the plan speaks of phases or of a workflow."""
    if plan.phases.listed:
        return plan.phases.kind
    if plan.stated.value("workflow"):
        return "a workflow is named"
    if plan.stated.phase:
        return "a phase is named"
    line = next((line for line in plan.lines if _SPEAKS.search(line.text)), None)
    return f"phases or a workflow on line {line.number}" if line else ""


def _declared(plan: _Plan, word: statuses.Word, mtime: float) -> Declaration:
    stated, phases = plan.stated, plan.phases
    title = _title(plan)
    workflow_type, is_guess = stated.type_for(title, _PLANNING)
    open_items = [values.tidy(line.text) for line in plan.lines if line.checked is False]
    first_open = open_items[0] if open_items and not phases.listed else None
    mark = stated.phase.mark if stated.phase else None
    return Declaration(
        source="plan",
        path=plan.path,
        mtime=mtime,
        workflow=stated.value("workflow") or title or None,
        workflow_type=workflow_type,
        type_guessed=is_guess,
        phase=(phases.filled_in(mark) if mark else None) or phases.current(),
        phase_unreadable=stated.phase_problem is not None,
        status=statuses.status_for(word),
        required_reading=tuple(f"@{path}" for path in values.unique(_reading(plan), _MOST_PATHS)),
        key_reminders=values.unique(stated.reminders) or None,
        context={**_known_by_name(plan), **stated.context} or None,
        next_action=stated.value("next") or first_open,
        gate=None if phases.listed else stated.value("gate"),
        phases=phases.declared(),
        open_items=tuple(open_items[:_MOST_OPEN]),
    )


def _title(plan: _Plan) -> str:
    heading = statuses.split_status(plan.title.text)[0] if plan.title else ""
    title = heading or plan.stated.value("title") or posixpath.basename(plan.folder)
    prefix = _PREFIX.match(title)
    behind = _BEHIND_PREFIX.match(title, prefix.end()) if prefix else None
    return values.tidy(values.bare(title[behind.end() :])) if behind else title


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
    stated = plan.stated
    mentioned = (raw for line in plan.lines for raw in values.mentioned_documents(line.text))
    for raw in chain(stated.front_reading or stated.listed, stated.reading, mentioned):
        if path := values.resolved(raw, plan.folder):
            yield path
