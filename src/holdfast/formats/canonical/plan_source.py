"""A PLAN.md in progress declares a workflow, too; this reads it, phases and all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from holdfast.formats.canonical.declaration import Declaration, Json, Looked, PhaseMark, PlanPhase
from holdfast.formats.canonical.fields import (
    DECORATION,
    LONGEST_LINE,
    MOST_ITEMS,
    Stated,
    Word,
    bare,
    by_label,
    collect,
    field_of,
    guess_type,
    link_targets,
    path_of,
    phase_name,
    sane_mark,
    split_status,
    status_for,
    status_of,
    text_of,
    tidy,
    type_of,
    unique,
    whole_status,
)
from holdfast.formats.canonical.markdown import Line, decode, front_matter, scan
from holdfast.plaintext import one_line

_MOST_PATHS = 100
_MOST_OPEN = 500
_BELOW_HEADINGS = 7  # the level of a phase that is a bold line or a checkbox

# "Phase 2.1" and "Phases 1-3" are no phases of the plan.
_PHASE = re.compile(
    rf"(?P<before>{DECORATION})phase\s+#?(?P<number>[0-9]{{1,4}})(?:\s*(?:/|of\s)\s*(?P<total>[0-9]{{1,4}}))?"
    rf"(?=$|\W)(?!\.[0-9]|/|[-–][0-9]|\s+(?:and|to|or|through)\s|\s*[&+])(?P<rest>.*)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")
_SPEAKS = re.compile(r"\b(?:phase|workflow)s?\b", re.IGNORECASE)
_PLAN = re.compile(r"[*_]*plan(?:[\s_-]*#?(?P<number>[0-9]{1,9}))?\b[*_]*", re.IGNORECASE)
_AFTER_PLAN = re.compile(r"\s*(?:[:–—]|-\s)[*_]*\s*(?=\S)")
_FOLDER = re.compile(r"(?P<number>[0-9]{1,9})(?:[-_](?P<name>.+))?")
_PLANNING = re.compile(r"\bplanning\b|\bresearch and plan\b", re.IGNORECASE)
_TOKEN = re.compile(r"""[^\s`"'<>()\[\]{}|*,;:@!?=#…]+""")


def read_plan(data: bytes, *, path: str, mtime: float) -> Looked:
    """What the plan declares, or why it declares nothing."""
    text = decode(data)
    if not text.strip():
        return Looked(path, None, "empty")
    fields, body, problem = front_matter(text)
    plan = _plan(by_label(fields), scan(body), path)
    told = _status(plan)
    spoken = _spoken(plan)
    more = "".join(f"; {each}" for each in (_unreadable(plan), problem) if each)
    if told is None or told.word is None or told.word == "not_started":
        reason = f"its status is {told.shown}" if told else "no status line says In Progress"
        return Looked(path, None, reason + more)
    declaration = _declared(plan, told.word, mtime) if spoken else None
    if told.word in {"completed", "cancelled"}:
        return Looked(path, None, f"its status is {told.shown}{more}", declaration)
    said = told.word.replace("_", " ")
    if declaration is None:
        return Looked(path, None, f"{said}, but it speaks of no phases and no workflow{more}")
    return Looked(path, declaration, f"{said.title()} {told.place}, {spoken}{more}")


@dataclass(slots=True)
class _Phase:
    """One phase, while its section is being read."""

    number: int
    total: int | None
    name: str
    word: Word | None
    line: Line
    level: int
    boxes: int = 0
    open_boxes: int = 0
    next_action: str | None = None
    gate: str | None = None
    below_gate: bool = False

    @property
    def done(self) -> bool:
        if self.word == "completed":
            return True
        ticked = self.boxes > 0 if self.line.checked is None else self.line.checked
        return ticked and not self.open_boxes

    @property
    def has_evidence(self) -> bool:
        return self.word is not None or self.boxes > 0 or self.line.checked is not None

    @property
    def was_begun(self) -> bool:
        begun = self.word in {"completed", "in_progress", "blocked"}
        return begun or self.boxes > self.open_boxes or bool(self.line.checked)

    def holds(self, line: Line) -> bool:
        if line.level:
            return line.level > self.level
        return self.line.checked is None or line.indent > self.line.indent

    def take(self, line: Line) -> None:
        key, value = field_of(line) or ("", "")
        if self.below_gate and not line.level:
            key, value = "gate", tidy(bare(line.text))
        self.below_gate = key == "gate" and not value and line.level > 0
        if key == "gate":
            self.gate = self.gate or value or None
        elif key == "status" and line.checked is None:
            self.word = self.word or status_of(value)
        if line.checked is not None:
            self.boxes += 1
            self.open_boxes += not line.checked
        if line.checked is False:
            self.next_action = self.next_action or tidy(line.text)


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
        place = f"line {self.number}" if self.number else "front matter"
        return f"'{one_line(self.text, 60)}' ({place})"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of one plan."""

    path: str
    lines: list[Line]
    stated: Stated
    phases: list[_Phase]
    kind: str  # of the phases, in words
    title: Line | None


def _plan(front: dict[str, Json], lines: list[Line], path: str) -> _Plan:
    phases, within, kind = _phases(lines)
    stated = Stated(front, collect(lines, within))
    starts = {phase.line.number for phase in phases}
    headings = [line for line in lines if line.level and line.number not in starts]
    others = (line for line in headings if not field_of(line))
    title = next((line for line in headings if line.level == 1), None) or next(others, None)
    return _Plan(path, lines, stated, phases, kind, title)


def _phases(lines: list[Line]) -> tuple[list[_Phase], frozenset[int], str]:
    """The phases, the numbers of the lines inside them, and what kind of line begins one."""
    for titled, kind in (
        (_heading, "phase headings"),
        (_bold, "phases in bold"),
        (_box, "phase checkboxes"),
    ):
        phases, within = _phases_by(lines, titled)
        if phases:
            return phases, frozenset(within), kind
    return [], frozenset(), ""


def _heading(line: Line) -> str:
    return line.text if line.level else ""


def _bold(line: Line) -> str:
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (match["tail"].strip(" :") and not whole_status(match["tail"])):
        return ""
    return f"{match['inner']} {match['tail']}"


def _box(line: Line) -> str:
    return line.text if line.checked is not None else ""


def _phases_by(lines: list[Line], titled: Callable[[Line], str]) -> tuple[list[_Phase], set[int]]:
    phases: dict[int, _Phase] = {}
    within: set[int] = set()
    current: _Phase | None = None
    for line in lines:
        started = _started(line, titled(line))
        if started and current and started.number in phases and current.holds(line):
            started = None  # "### Phase 1 notes" inside of phase 1
        if started:
            current = started
            phases.setdefault(started.number, started)
        elif current and current.holds(line):
            current.take(line)
        else:
            current = None
        if current:
            within.add(line.number)
    return list(phases.values()), within


def _started(line: Line, title: str) -> _Phase | None:
    match = _PHASE.match(title)
    if match is None:
        return None
    _, before = split_status(match["before"])
    name, behind = phase_name(match["rest"].lstrip("*_`"))
    number, total = int(match["number"]), int(match["total"]) if match["total"] else None
    level = line.level or _BELOW_HEADINGS
    return _Phase(number, total, name or f"Phase {number}", behind or before, line, level)


def _status(plan: _Plan) -> _Told | None:
    """The plan's own status; only where it has none, that of its phases."""
    if front := text_of(plan.stated.front.get("status")):
        return _Told(status_of(front), front)
    if own := min(_own_statuses(plan), key=lambda told: told.number, default=None):
        return own
    for word in ("in_progress", "blocked"):
        for phase in plan.phases:
            if phase.word == word:
                return _Told(phase.word, phase.line.text, phase.line.number)
    return None


def _own_statuses(plan: _Plan) -> Iterator[_Told]:
    if plan.title and (word := split_status(plan.title.text)[1]):
        yield _Told(word, plan.title.text, plan.title.number)
    if found := plan.stated.notes.fields.get("status"):
        yield _Told(status_of(found.value), found.value, found.number)
    for line in plan.lines:
        if plan.phases and line.number >= plan.phases[0].line.number:
            return
        if not line.level and not line.item and (word := whole_status(line.text)):
            yield _Told(word, line.text, line.number)


def _unreadable(plan: _Plan) -> str | None:
    reading = plan.stated.phase(counted=False)
    return (
        f"the phase {plan.stated.shown('phase')} is unreadable"
        if reading and not reading.readable
        else None
    )


def _spoken(plan: _Plan) -> str:
    """How the plan speaks of phases or of a workflow."""
    if plan.phases:
        return plan.kind
    if plan.stated.value("workflow"):
        return "a workflow is named"
    if plan.stated.phase(counted=False):
        return "a phase is named"
    line = next((line for line in plan.lines if _SPEAKS.search(line.text)), None)
    return f"phases or a workflow on line {line.number}" if line else ""


def _declared(plan: _Plan, word: Word, mtime: float) -> Declaration:
    stated = plan.stated
    title = _title(plan)
    stated_type = stated.value("type")
    open_items = [tidy(line.text) for line in plan.lines if line.checked is False]
    first_open = open_items[0] if open_items and not plan.phases else None
    return Declaration(
        source="plan",
        path=plan.path,
        mtime=mtime,
        workflow=stated.value("workflow") or title,
        workflow_type=type_of(stated_type) if stated_type else guess_type(title, _PLANNING),
        type_guessed=not stated_type,
        phase=_stated_phase(plan) or _derived_phase(plan),
        status=status_for(word),
        required_reading=tuple(f"@{path}" for path in unique(_reading(plan), _MOST_PATHS)),
        key_reminders=stated.reminders(),
        context={**_known_by_name(plan), **(stated.context() or {})} or None,
        next_action=stated.value("next") or first_open,
        gate=None if plan.phases else stated.value("gate"),
        phases=tuple(
            PlanPhase(each.number, each.name, each.done, each.next_action, each.gate)
            for each in plan.phases[:MOST_ITEMS]
        ),
        open_items=tuple(open_items[:_MOST_OPEN]),
    )


def _folder(plan: _Plan) -> str:
    return posixpath.dirname(plan.path)


def _title(plan: _Plan) -> str:
    heading = split_status(plan.title.text)[0] if plan.title else ""
    title = heading or text_of(plan.stated.front.get("title")) or posixpath.basename(_folder(plan))
    prefix = _PLAN.match(title)
    behind = _AFTER_PLAN.match(title, prefix.end()) if prefix else None
    return tidy(bare(title[behind.end() :])) if behind else title


def _known_by_name(plan: _Plan) -> dict[str, Json]:
    folder = _FOLDER.fullmatch(posixpath.basename(_folder(plan)))
    titled = _PLAN.match(plan.title.text) if plan.title else None
    number = folder["number"] if folder else titled["number"] if titled else None
    known: dict[str, Json] = {"plan_number": int(number)} if number else {}
    if folder and folder["name"]:
        known["plan_name"] = folder["name"]
    return known


def _total(plan: _Plan) -> int | None:
    if not plan.phases:
        return None
    stated = [each.total for each in plan.phases if each.total]
    return max([len(plan.phases), *stated, *(each.number for each in plan.phases)])


def _stated_phase(plan: _Plan) -> PhaseMark | None:
    reading = plan.stated.phase(counted=False)
    mark = reading.mark if reading else None
    if mark is None:
        return None
    if mark.current is None and mark.name:
        named = (
            each.number
            for each in plan.phases
            if each.name.casefold() == (mark.name or "").casefold()
        )
        mark = replace(mark, current=next(named, None))
    if mark.current is None:
        return mark
    name = mark.name or next(
        (each.name for each in plan.phases if each.number == mark.current), None
    )
    total = mark.total or _total(plan)
    return (
        sane_mark(mark.current, total, name)
        if total and total >= mark.current
        else replace(mark, name=name)
    )


def _derived_phase(plan: _Plan) -> PhaseMark | None:
    """The phase that is marked, else the first that is not done, else the last."""
    phases = plan.phases
    if not phases:
        return None
    marked = (each for each in phases if each.word in {"in_progress", "blocked"})
    # A phase without any evidence is behind us if a later one was begun.
    begun = max((index for index, each in enumerate(phases) if each.was_begun), default=-1)
    undone = (
        each
        for index, each in enumerate(phases)
        if not each.done and (each.has_evidence or index >= begun)
    )
    current = next(marked, None) or next(undone, phases[-1])
    mark = sane_mark(current.number, _total(plan), current.name)
    return replace(mark, derived=True) if mark else None


def _reading(plan: _Plan) -> Iterator[str]:
    yield plan.path
    notes = plan.stated.notes
    for raw in [*(plan.stated.reading() or notes.listed), *notes.reading]:
        if path := _resolved(raw, _folder(plan)):
            yield path
    for line in plan.lines:
        for raw in _references(line.text):
            if path := _resolved(raw, _folder(plan)):
                yield path


def _references(text: str) -> Iterator[str]:
    text = text[:LONGEST_LINE]
    if ".md" not in text:
        return
    yield from (target for target in link_targets(text) if target.endswith(".md"))
    for token in _TOKEN.findall(text):
        raw = token.rstrip("._~")
        if raw.endswith(".md") and raw.startswith(("CLAUDE/", ".claude/", "./", "../")):
            yield raw


def _resolved(raw: str, folder: str) -> str | None:
    """The path from the project root, or None if it leads out of the project."""
    if not raw.startswith(("./", "../")):
        return path_of(raw)
    path = posixpath.normpath(posixpath.join(folder, raw))
    return None if path.startswith("../") or not path_of(path) else path
