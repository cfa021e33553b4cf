"""CLAUDE.local.md is where an agent declares the workflow it is in; this reads that declaration."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from holdfast.formats.canonical.declaration import Declaration, Looked
from holdfast.formats.canonical.sources.document import Document, open_document
from holdfast.formats.canonical.sources.markers import Scope, name_and_status, scope_of
from holdfast.formats.canonical.sources.notes import collect
from holdfast.formats.canonical.sources.paths import listed_paths, path_of
from holdfast.formats.canonical.sources.phase_marks import PhaseReading, stated_status
from holdfast.formats.canonical.sources.placeholders import is_template, says_nothing
from holdfast.formats.canonical.sources.reasons import joined, quoted, quoted_from
from holdfast.formats.canonical.sources.stated import Stated
from holdfast.formats.canonical.sources.statuses import Word, is_choice, status_for
from holdfast.formats.canonical.sources.values import text_of, unique
from holdfast.formats.canonical.sources.workflow_types import type_of
from holdfast.patterns import pattern
from holdfast.records import Record

_NOT_ACTIVE = {"completed", "cancelled", "not_started"}
FindPlan: TypeAlias = Callable[[str], str | None]  # the one plan that a text means

_REMARK = pattern(r"(?<!\s)\s++[-–—(]|:\s|,\s")
_PLANNING = pattern(r"\bplan(?:ning)?\b", re.IGNORECASE)


def read_local(data: bytes, *, path: str, mtime: float, find_plan: FindPlan) -> Looked:
    """What the file declares, or why it declares nothing."""
    document = open_document(data)
    if document is None:
        return Looked(path, None, "empty")
    local = _read(document)
    if silence := _silence(local) or _choice(local):
        return Looked(path, None, joined(silence, document.problem))
    declaration = _declared(local, path=path, mtime=mtime, find_plan=find_plan)
    if ended := _ended(local):
        closed = None if local.word == "not_started" else declaration
        return Looked(path, None, joined(ended, document.problem), closed=closed)
    stated = local.stated
    trouble = joined(
        stated.phase_problem(counted=True), _plan_problem(stated, find_plan), document.problem
    )
    return Looked(path, declaration, joined(_found(local), trouble), trouble)


class _Local(Record):
    """What the file says, before it is judged."""

    scope: Scope
    stated: Stated
    phase: PhaseReading | None
    name: str
    own_word: Word | None  # behind the workflow's name or the marker

    @property
    def word(self) -> Word | None:
        if value := self.stated.value("status"):
            return stated_status(value)
        if self.own_word in _NOT_ACTIVE:
            return self.own_word
        return (self.phase.word if self.phase else None) or self.own_word


def _read(document: Document) -> _Local:
    scope = scope_of(document.lines)
    stated = Stated(document.front, collect(scope.lines, names=scope.marker is not None))
    named = stated.value("workflow")
    if named is None and not stated.denies("workflow"):
        named = scope.name
    named = None if named and (says_nothing(named) or is_template(named)) else named
    name, word = name_and_status(named or "")
    return _Local(scope, stated, stated.phase(counted=True), name, word or scope.word)


def _silence(local: _Local) -> str | None:
    """Why this is no declaration at all."""
    stated, marker = local.stated, local.scope.marker
    if not local.name:
        return _nameless(local)
    if marker or text_of(stated.front.get("workflow")) or stated.front.get("phase"):
        return None
    line = stated.notes.fields["workflow"].number
    if local.phase is None:
        return f"Workflow: on line {line}, but neither a Phase: field nor a WORKFLOW STATE marker"
    if not local.phase.is_counted:
        shown = stated.shown("phase")
        return f"Workflow: on line {line}, but the phase {shown} has no number, and there is no WORKFLOW STATE marker"
    return None


def _choice(local: _Local) -> str | None:
    if not is_choice(local.stated.value("status") or ""):
        return None
    return f"its status is {local.stated.shown('status')}, which a template leaves to choose from"


def _nameless(local: _Local) -> str:
    if local.stated.denies("workflow"):
        return f"its workflow is {local.stated.shown('workflow')}"
    marker, retired = local.scope.marker, local.scope.retired
    place = f" in the WORKFLOW STATE section of line {marker.number}" if marker else ""
    old = f"{quoted_from(retired.number, retired.text)} is no marker" if retired else None
    return joined(f"no Workflow: field{place} outside code, quotes and comments", old)


def _ended(local: _Local) -> str | None:
    """Why the workflow is not active; a completed phase with others to come is no end."""
    stated, word = local.stated, local.word
    if word not in _NOT_ACTIVE:
        return None
    if not stated.value("status") and word == local.own_word:
        return f"{quoted(local.name)} is {word.replace('_', ' ')}"
    mark = local.phase.mark if local.phase else None
    if word == "completed" and mark and mark.current and mark.total and mark.current < mark.total:
        return None
    return f"its status is {stated.shown('status' if stated.value('status') else 'phase')}"


def _found(local: _Local) -> str:
    shown = f"workflow {quoted(local.name)}"
    fields, marker = local.stated.notes.fields, local.scope.marker
    if "workflow" in local.stated.front:
        return f"{shown} in front matter"
    where = f"{shown} on line {fields['workflow'].number}" if "workflow" in fields else shown
    if marker:
        return f"{where}, WORKFLOW STATE on line {marker.number}"
    phase = fields.get("phase") or fields.get("counted phase") or fields.get("status")
    in_front = "phase" in local.stated.front or phase is None
    return (
        f"{where}, phase in front matter"
        if in_front or not phase
        else f"{where}, phase on line {phase.number}"
    )


def _declared(local: _Local, *, path: str, mtime: float, find_plan: FindPlan) -> Declaration:
    stated = local.stated
    workflow_type, is_guess = type_of(stated.value("type"), local.name, _PLANNING)
    listed = stated.reading() or stated.notes.reading
    reading = unique(kept for kept in map(path_of, listed) if kept)
    return Declaration(
        source="local",
        path=path,
        mtime=mtime,
        workflow=local.name,
        workflow_type=workflow_type,
        type_guessed=is_guess,
        phase=local.phase.mark if local.phase else None,
        phase_unreadable=stated.phase_problem(counted=True) is not None,
        status=status_for(local.word),
        required_reading=tuple(f"@{kept}" for kept in reading) or None,
        key_reminders=stated.reminders(),
        context=stated.context(),
        next_action=stated.value("next") or stated.value("next list"),
        gate=stated.value("gate"),
        plan=_plan(stated, reading, find_plan),
    )


def _plan(stated: Stated, reading: tuple[str, ...], find_plan: FindPlan) -> str | None:
    """The plan as it is on disk; a file that is named is kept even while it is not there."""
    if found := _named_plan(stated, find_plan):
        return found
    named = listed_paths(stated.value("plan") or "")
    if named and named[0].casefold().endswith(".md"):
        return path_of(named[0])
    files = (path for path in reading if path.casefold().endswith(".md"))
    return next(filter(None, map(find_plan, files)), None)


def _named_plan(stated: Stated, find_plan: FindPlan) -> str | None:
    """What the field Plan: means, which may be a path, a name or a number, with a remark behind it."""
    value = stated.value("plan") or ""
    named = [path for raw in listed_paths(value) if (path := path_of(raw))]
    return next(filter(None, map(find_plan, [*named, value, _REMARK.split(value)[0]])), None)


def _plan_problem(stated: Stated, find_plan: FindPlan) -> str | None:
    value = stated.value("plan")
    if not value or _named_plan(stated, find_plan):
        return None
    return f"Plan: {quoted(value)} is no plan of this project"
