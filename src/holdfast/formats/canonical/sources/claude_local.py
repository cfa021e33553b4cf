"""CLAUDE.local.md is where an agent declares the workflow it is in; this reads that declaration."""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.formats.canonical.declaration import Declaration, Looked
from holdfast.formats.canonical.sources.document import open_document
from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.markdown import Line
from holdfast.formats.canonical.sources.notes import collect
from holdfast.formats.canonical.sources.paths import listed_paths, path_of
from holdfast.formats.canonical.sources.phase_marks import PhaseReading
from holdfast.formats.canonical.sources.reasons import joined, quoted
from holdfast.formats.canonical.sources.stated import Stated
from holdfast.formats.canonical.sources.statuses import Word, status_for, status_of, whole_status
from holdfast.formats.canonical.sources.values import text_of, tidy, unique
from holdfast.formats.canonical.sources.workflow_types import type_of

_LONGEST_MARKER = 500  # with its name
_MARKER = r"(?i:(?:(?:current|active)\s+)?workflow[\s_-]+state\b)"
_BEHIND = r"[*_`\s]*(?:[:–—]|(?<=\s)-)\s*(?P<name>.*\w.*)"
_HEADING = re.compile(rf"(?:^|\W){_MARKER}(?:{_BEHIND})?")
# "Workflow state: see below" is prose. With a name behind it, a plain line has to shout.
_ALONE = re.compile(rf"[\W_]*+(?:{_MARKER}[\W_]*|WORKFLOW[ _-]STATE{_BEHIND})")
_PLANNING = re.compile(r"\bplan(?:ning)?\b", re.IGNORECASE)


def read_local(data: bytes, *, path: str, mtime: float, is_plan: Callable[[str], bool]) -> Looked:
    """What the file declares, or why it declares nothing."""
    document = open_document(data)
    if document is None:
        return Looked(path, None, "empty")
    lines, marker, marker_name = _in_scope(document.lines)
    stated = Stated(document.front, collect(lines))
    phase = stated.phase(counted=True)
    name = stated.value("workflow") or marker_name or ""
    if silence := _silence(stated, name, marker):
        return Looked(path, None, joined(silence, document.problem))
    declaration = _declared(stated, name, phase, path=path, mtime=mtime, is_plan=is_plan)
    if ended := _ended(stated, phase):
        closed = None if _word(stated, phase) == "not_started" else declaration
        return Looked(path, None, joined(ended, document.problem), closed)
    found, unreadable = _found(stated, name, marker), stated.phase_problem(counted=True)
    return Looked(path, declaration, joined(found, unreadable, document.problem))


def _in_scope(lines: list[Line]) -> tuple[list[Line], Line | None, str | None]:
    """The lines that speak of the workflow, the marker, and the name that stands behind it."""
    for index, line in enumerate(lines):
        if line.level and (match := _HEADING.search(line.text[:_LONGEST_MARKER])):
            return lines[index + 1 : _end_of_section(lines, index)], line, _name(match["name"])
    for index, line in enumerate(lines):
        if not line.level and (match := _ALONE.fullmatch(line.text[:_LONGEST_MARKER])):
            return lines[index + 1 :], line, _name(match["name"])
    return lines, None, None


def _name(text: str | None) -> str | None:
    name = tidy((text or "").strip(" *_`=~#"))
    return name if name and not whole_status(name) else None


def _end_of_section(lines: list[Line], start: int) -> int:
    """Up to the next heading that is neither below this one nor itself a field or a known section."""
    for index, line in enumerate(lines[start + 1 :], start + 1):
        is_known = field_of(line) or line.text.startswith("@")
        if 0 < line.level <= lines[start].level and not is_known:
            return index
    return len(lines)


def _silence(stated: Stated, name: str, marker: Line | None) -> str | None:
    """Why this is no declaration at all."""
    if not name:
        place = f" in the WORKFLOW STATE section of line {marker.number}" if marker else ""
        return f"no Workflow: field{place} outside code, quotes and comments"
    fields = stated.notes.fields
    if marker or text_of(stated.front.get("workflow")) or stated.phase(counted=True):
        return None
    line = fields["workflow"].number
    return f"Workflow: on line {line}, but neither a Phase: field nor a WORKFLOW STATE marker"


def _ended(stated: Stated, phase: PhaseReading | None) -> str | None:
    """Why the workflow is not active; a completed phase with others to come is no end."""
    word = _word(stated, phase)
    mark = phase.mark if phase else None
    between = mark and mark.current and mark.total and mark.current < mark.total
    if word not in {"completed", "cancelled", "not_started"} or (word == "completed" and between):
        return None
    return f"its status is {stated.shown('status' if stated.value('status') else 'phase')}"


def _word(stated: Stated, phase: PhaseReading | None) -> Word | None:
    value = stated.value("status")
    return status_of(value) if value else (phase.word if phase else None)


def _found(stated: Stated, name: str, marker: Line | None) -> str:
    shown = f"workflow {quoted(name)}"
    fields = stated.notes.fields
    if "workflow" in stated.front:
        return f"{shown} in front matter"
    where = f"{shown} on line {fields['workflow'].number}" if "workflow" in fields else shown
    if marker:
        return f"{where}, WORKFLOW STATE on line {marker.number}"
    phase = fields.get("phase") or fields.get("counted phase")
    return f"{where}, phase on line {phase.number}" if phase else f"{where}, phase in front matter"


def _declared(
    stated: Stated,
    name: str,
    phase: PhaseReading | None,
    *,
    path: str,
    mtime: float,
    is_plan: Callable[[str], bool],
) -> Declaration:
    workflow_type, is_guess = type_of(stated.value("type"), name, _PLANNING)
    listed = stated.reading() or stated.notes.reading
    reading = unique(kept for kept in map(path_of, listed) if kept)
    return Declaration(
        source="local",
        path=path,
        mtime=mtime,
        workflow=name,
        workflow_type=workflow_type,
        type_guessed=is_guess,
        phase=phase.mark if phase else None,
        status=status_for(_word(stated, phase)),
        required_reading=tuple(f"@{kept}" for kept in reading) or None,
        key_reminders=stated.reminders(),
        context=stated.context(),
        next_action=stated.value("next"),
        gate=stated.value("gate"),
        plan=_plan(stated, reading, is_plan),
    )


def _plan(stated: Stated, reading: tuple[str, ...], is_plan: Callable[[str], bool]) -> str | None:
    named = listed_paths(stated.value("plan") or "")
    return (path_of(named[0]) if named else None) or next(filter(is_plan, reading), None)
