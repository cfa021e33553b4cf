"""CLAUDE.local.md is where an agent declares the workflow it is in; this reads that declaration."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from holdfast.formats.canonical.sources import Candidate, Declaration, Looked, statuses, values
from holdfast.formats.canonical.sources.document import field_of, open_document
from holdfast.formats.canonical.sources.notes import FieldValue, Stated, stated_in
from holdfast.formats.canonical.sources.phase_marks import phase_of, stated_status
from holdfast.formats.canonical.sources.words import SIGNS, Word
from holdfast.formats.engine.markdown import Line
from holdfast.patterns import pattern

_NOT_ACTIVE = {"completed", "cancelled", "not_started"}
FindPlan: TypeAlias = Callable[[str], str | None]  # the one plan that a text means

_REMARK = pattern(r"(?<!\s)\s++[-–—(]|:\s|,\s")


def read_local(data: bytes, *, path: str, mtime: float, find_plan: FindPlan) -> Looked:
    document = open_document(data)
    if document is None:
        return Looked(path, None, "empty")
    scope = scope_of(document.lines)
    stated = stated_in(document.front, scope.lines, names=scope.marker is not None, counts=True)
    local = _Local(scope, stated, *_name_in(stated, scope.marker))
    if silence := _silence(local):
        session = None if local.name or scope.marker else _session(document.lines)
        if session is None:
            return Looked(path, None, values.joined(silence, document.problem))
        local = session
    declaration, plan_problem = _declared(local, path, mtime, find_plan)
    stated = local.stated
    problem = values.joined(stated.phase_problem, plan_problem, stated.too_many, document.problem)
    if ended := _ended(local):
        closed = None if local.word == "not_started" else declaration
        return Looked(path, None, values.joined(ended, document.problem), closed=closed)
    if local.why_candidate:
        candidate = Candidate(local.why_candidate, declaration)
        return Looked(path, None, values.joined(local.why_candidate, problem), candidate=candidate)
    reason = values.joined(
        _found(local), _second(_without_old(document.lines)[0], local.name), problem
    )
    return Looked(path, declaration, reason, problem)


def _declared(
    local: _Local, path: str, mtime: float, find_plan: FindPlan
) -> tuple[Declaration, str | None]:
    """What it declares, and what is wrong with the plan that it points at."""
    stated = local.stated
    listed = stated.front_reading or stated.reading
    reading = [kept for kept in map(values.path_of, listed) if kept]
    plan, plan_problem = _plan(stated.value("plan"), reading, find_plan)
    declaration = Declaration("local", path, mtime)
    return stated.declared(declaration, local.name, local.word, reading)._replace(
        phase_written=stated.phase_field,
        status_written=stated.fields.get("status", FieldValue("")),
        next_action=stated.value("next") or stated.value("next list"),
        plan=plan,
    ), plan_problem


class _Local(NamedTuple):
    """What the file says, before it is judged."""

    scope: Scope
    stated: Stated
    name: str
    own_word: Word | None = None  # behind the workflow's name or the marker
    heading: Line | None = None  # of a session, where no workflow is named
    why_candidate: str = ""

    @property
    def word(self) -> Word | None:
        if status := self.stated.fields.get("status"):
            return stated_status(status.value)
        if self.own_word in _NOT_ACTIVE:
            return self.own_word
        phase = self.stated.phase
        return (phase.word if phase else None) or self.own_word


def _name_in(stated: Stated, marker: Marker | None) -> tuple[str, Word | None]:
    """The name in its field, else behind the marker, and the status behind it or the marker."""
    field = stated.fields.get("workflow")
    written = field.value if field else marker.name if marker else ""
    name, word = name_and_status("" if values.is_unfilled(written) else written)
    return name, word or (marker.word if marker else None)


def _silence(local: _Local) -> str | None:
    """Why this is no declaration at all."""
    stated, marker, retired = local.stated, local.scope.marker, local.scope.retired
    named, status = stated.fields.get("workflow"), stated.fields.get("status")
    if not local.name:
        if named:
            return f"its workflow is {named.quoted}"
        place = f" in the WORKFLOW STATE section of line {marker.line.number}" if marker else ""
        old = retired and f"{FieldValue(retired.text, retired.number).quoted} is not a marker"
        return values.joined(f"no Workflow: field{place} outside code, quotes and comments", old)
    if named and named.number and not marker and not stated.front.get("phase"):
        if stated.phase is None:
            return (
                f"Workflow: {named.place}, but neither a Phase: field nor a WORKFLOW STATE marker"
            )
        if not stated.phase.is_counted:
            phase = f"the phase {stated.phase_field.quoted} has no number"
            return f"Workflow: {named.place}, but {phase}, and there is no WORKFLOW STATE marker"
    if status and statuses.is_choice(status.value):
        return f"its status is {status.quoted}, which a template leaves to choose from"
    return None


def _ended(local: _Local) -> str | None:
    """Why the workflow is not active; a completed phase with others to come is no end."""
    stated, word = local.stated, local.word
    if word not in _NOT_ACTIVE:
        return None
    status = stated.fields.get("status")
    if not status and word == local.own_word:
        return f"{values.quoted(local.name)} is {word.replace('_', ' ')}"
    mark = stated.phase.mark if stated.phase else None
    if word == "completed" and mark and mark.current and mark.total and mark.current < mark.total:
        return None
    return f"its status is {(status or stated.phase_field).quoted}"


def _found(local: _Local) -> str:
    stated, marker, name = local.stated, local.scope.marker, values.quoted(local.name)
    if local.heading:
        return f"{name} in the section {values.quoted(local.heading.text)} of line {local.heading.number}"
    if named := stated.fields.get("workflow"):
        name += f" {named.place}"
    if marker:
        name += f", WORKFLOW STATE on line {marker.line.number}"
    elif named and named.number:
        name += f", phase {stated.phase_field.place}"
    return f"workflow {name}"


def _second(lines: Sequence[Line], name: str) -> str:
    """That another workflow is named, which does not count."""
    fields = (field_of(line) for line in lines if "Workflow" in line.text)
    named = (name_and_status(field[1])[0] for field in fields if field and field[0] == "workflow")
    other = next((other for other in named if other not in {"", name}), None)
    return f"{values.quoted(other)} is a second workflow, which does not count" if other else ""


# Many write no workflow, but a section on the session: "## Current Session" with a "Status:" that says what runs.

_SESSION = pattern(
    r"[\W_]*(?:(?:current|active|ongoing)\s+(?:session|work|task|feature|focus|project|sprint|milestone|(?:development\s+)?phase)"
    r"|(?:what\s+)?(?:i['’]?m\s+|we['’]?re\s+)?(?:currently\s+)?working\s+on|in\s+progress"
    r"|aktuelle\s+(?:sitzung|aufgabe|phase)|session\s+(?:en\s+cours|actuelle)|(?:sesión|fase|tarea)\s+actual|sessão\s+atual|sessione\s+corrente"
    r"|текущ(?:ая|ий)\s+(?:сессия|задача|этап)|当前(?:会话|任务|工作|阶段)|現在の(?:作業|セッション)|현재\s*(?:작업|세션))(?!\w)(?P<about>.*)",
    re.IGNORECASE,
)
_LEFT = pattern(
    r"\b(?:still\s+to\s+do|to\s+be\s+done|remain(?:s|ing)?|left\s+to\s+do|not\s+yet\s+(?:done|started))\b",
    re.IGNORECASE,
)
_DATES = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CUT = pattern(r"(?<!\s)\s*+(?:[,;:(]|\.\s|[-–—]\s)")


def _session(lines: list[Line]) -> _Local | None:
    """The section on the current session, if its status or phase says that work is running or left."""
    headings = ((line, _SESSION.match(line.text)) for line in lines if line.level)
    heading, found = next((one for one in headings if one[1]), (None, None))
    if heading is None or found is None:
        return None
    section = _below(lines, heading)
    stated = stated_in({}, [heading, *section], counts=True)
    status, phase = stated.fields.get("status"), stated.phase
    # What is in progress now stands beside it, such as the next task.
    next_action = stated.value("next") or stated_in({}, lines).value("next")
    if next_action:
        stated.fields["next"] = FieldValue(next_action)
    word = stated_status(status.value) if status else phase.word if phase else None
    name = _name_of_session(status.value if status else "", found["about"], stated)
    local = _Local(Scope(section), stated, name, heading=heading)
    if word in {"in_progress", "blocked"} or (not status and phase and phase.current and not word):
        return local if name else None
    is_left = status and not word and any(_LEFT.search(line.text) for line in section)
    return local._replace(why_candidate="says that work is left") if is_left and name else None


def _name_of_session(status: str, about: str, stated: Stated) -> str:
    """What the status speaks of, else the heading; else the phase, else the plan."""
    before, running = statuses.ending_status(status)
    texts = [before] if running else [statuses.behind_status(status)]
    texts += [
        _DATES.sub("", about),
        (stated.phase.mark.name if stated.phase and stated.phase.mark else None) or "",
    ]
    for text in texts:
        name = _CUT.split(text.strip(f"{statuses.SEPARATORS}()*_` "), maxsplit=1)[0]
        if name and not phase_of(name).current:
            return values.tidy(statuses.without_status(name))
    return posixpath.splitext(posixpath.basename(values.bare(stated.value("plan") or "")))[0]


def _plan(
    written: str | None, reading: Sequence[str], find_plan: FindPlan
) -> tuple[str | None, str | None]:
    """The plan, as it is on disk, and what is wrong with how it is *written*.

    The field may have a path, a name or a number, with a remark behind it. A file that it names is
    the plan even while it is not there. Without the field, it is the first plan of the *reading*.
    """
    problem = None
    if written:
        named = [path for raw in values.listed_paths(written) if (path := values.path_of(raw))]
        for text in (*named, written, _REMARK.split(written)[0]):
            if found := find_plan(text):
                return found, None
        problem = f"Plan: {values.quoted(written)} is not a plan of this project"
        if named and named[0].casefold().endswith(".md"):
            return named[0], problem
    files = (path for path in reading if path.casefold().endswith(".md"))
    return next(filter(None, map(find_plan, files)), None), problem


# A heading or line WORKFLOW STATE marks what speaks of the workflow, unless it speaks of an old one.

_LONGEST = 500  # with its name
_MARKER = r"(?i:(?P<now>(?:current|active)\s++)?workflow[\s_-]++state\b)"
_BEHIND = r"[*_`\s]*+(?:[:–—]|(?<=\s)-)\s*+(?P<name>.*\w.*)"
_HEADING = pattern(rf"(?:^|.*?\W){_MARKER}(?:{_BEHIND})?")
# "Workflow state: see below" is prose. With a name behind it, a plain line has to shout.
_ALONE = pattern(rf"[\W_]*+(?:{_MARKER}[\W_]*+|WORKFLOW[ _-]STATE{_BEHIND})")

_OLD = pattern(
    r"\b(?:old|previous|prior|past|former|archived?s?|obsolete|outdated|deprecated|examples?|samples?|templates?"
    r"|do\s+not\s+use|not\s+in\s+use|not\s+active|inactive)\b(?!\.\w)",
    re.IGNORECASE,
)


class Marker(NamedTuple):
    """A line that says WORKFLOW STATE, and what stands behind it."""

    line: Line
    rank: int  # 0 for one of a current workflow, 2 for one of an ended workflow
    name: str
    word: Word | None


class Scope(NamedTuple):
    """The lines that speak of the workflow."""

    lines: list[Line]
    marker: Marker | None = None
    retired: Line | None = None  # a marker that is none, because it speaks of another time


def scope_of(lines: list[Line]) -> Scope:
    """The section of the marker that says that it is the current one, else of the first; else all."""
    live, retired = _without_old(lines)
    markers = [marker for marker in map(_marker, live) if marker]
    if not markers:
        return Scope(live, retired=retired)
    headings = [marker for marker in markers if marker.line.level]
    best = min(headings or markers, key=lambda marker: marker.rank)
    lines = _below(live, best.line)
    if not best.name and "workflow" not in _fields_in(lines):
        # Under the marker stands no more than prose, and the section beside it has the fields.
        rest = live[live.index(best.line) + 1 + len(lines) :]
        beside = rest[:1] + (_below(rest, rest[0]) if rest else [])
        if {"workflow", "phase"} <= {key.removeprefix("counted ") for key in _fields_in(beside)}:
            lines += beside
    return Scope(lines, best, retired)


def _fields_in(lines: list[Line]) -> set[str]:
    return {field[0] for line in lines if (field := field_of(line))}


def name_and_status(text: str) -> tuple[str, Word | None]:
    """A workflow's name, and the status behind it. "Blog post - Draft" is all name."""
    name, word = statuses.split_status(text)
    is_clear = text.rstrip(" \ufe0f*_`")[-1:] in {")", "]", *SIGNS}
    return (values.tidy(text), None) if word == "not_started" and not is_clear else (name, word)


def _marker(line: Line) -> Marker | None:
    text = line.text[:_LONGEST]
    if "workflow" not in text.casefold():
        return None
    title, word = name_and_status(text)
    match = _HEADING.match(title) if line.level else _ALONE.fullmatch(title)
    if match is None:
        return None
    name = values.tidy((match["name"] or "").strip(" *_`=~#"))
    if status := statuses.whole_status(name):
        name, word = "", word or status
    is_current = word == "in_progress" or match["now"]
    rank = 2 if word in {"completed", "cancelled"} else 0 if is_current else 1
    return Marker(line, rank, name, word)


def _below(lines: list[Line], marker: Line) -> list[Line]:
    """The section of a marker, which no field or known section ends; below a plain line, the rest."""

    def goes_on(line: Line) -> bool:
        is_below = not 0 < line.level <= marker.level
        return is_below or field_of(line) is not None or line.text.startswith("@")

    return list(takewhile(goes_on, lines[lines.index(marker) + 1 :]))


def _without_old(lines: list[Line]) -> tuple[list[Line], Line | None]:
    """The lines outside of sections about old workflows and examples, and the first such heading."""
    live: list[Line] = []
    first: Line | None = None
    level = 0  # of the old section that is open; 7 below a plain line
    for line in lines:
        text = line.text[:_LONGEST]
        if 0 < line.level <= level or (level == 7 and _ALONE.fullmatch(text)):
            level = 0
        if not level and _is_old(line, text):
            level = line.level or 7
            first = first or line
        if not level:
            live.append(line)
    return live, first


def _is_old(line: Line, text: str) -> bool:
    """Whether a heading, or a marker, speaks of an old workflow or an example; a workflow's name does not."""
    if not _OLD.search(text) or field_of(line):
        return False
    if not line.level:
        return bool(_ALONE.fullmatch(_OLD.sub("", text)))
    if "workflow" not in text.casefold():
        return _is_no_more(text)
    marker = _HEADING.match(text)
    name = (marker and marker["name"]) or ""
    return bool(_OLD.search(text.removesuffix(name)) or _is_no_more(name))


def _is_no_more(text: str) -> bool:
    """Whether a text says no more than that it is an old one or an example."""
    return not re.search(r"\w", _OLD.sub("", text))


# People name a plan by its path, its folder, the folder's name or its number.

_NUMBER = pattern(r"(?:plan[\s_-]*)?#?(?P<number>[0-9]{1,9})", re.IGNORECASE)
_LEADING = pattern(r"(?P<number>[0-9]{1,9})(?![0-9])")


def plan_among(plans: Sequence[str], text: str) -> str | None:
    """The one plan that a text means, as its path is written on disk; None if none or several are."""
    wanted = text.strip(f"{values.MARKS} \t\"'").removeprefix("@").removeprefix("./").rstrip("/")
    number = _NUMBER.fullmatch(wanted)
    for fold in (str, str.casefold):  # as it is written, else in any case
        for names_of, name in (
            (_paths_of, _plain(wanted)),
            (_name_of, _plain(wanted)),
            (_number_of, number and number["number"].lstrip("0")),
        ):
            found = [plan for plan in plans if name and fold(name) in map(fold, names_of(plan))]
            if found:
                return found[0] if len(found) == 1 else None
    return None


def _paths_of(plan: str) -> list[str]:
    folder, file = posixpath.split(_plain(plan))
    return [_plain(plan), *([folder] if file.casefold() == "plan.md" else [])]


def _name_of(plan: str) -> list[str]:
    """That of its folder if that is the plan's, else that of its file."""
    *_, own = _paths_of(plan)
    return [posixpath.splitext(posixpath.basename(own))[0]]


def _number_of(plan: str) -> list[str]:
    number = _LEADING.match(_name_of(plan)[0])
    return [number["number"].lstrip("0")] if number else []


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text)
