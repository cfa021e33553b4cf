"""A plan lists its phases with checkboxes and signs, which tell what is done and where the work is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.formats.canonical.declaration import PhaseMark, PlanPhase
from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.markdown import Line
from holdfast.formats.canonical.sources.phase_marks import phase_name, sane_mark
from holdfast.formats.canonical.sources.statuses import Word, split_status, status_of, whole_status
from holdfast.formats.canonical.sources.values import DECORATION, MOST_ITEMS, bare, tidy

_BELOW_HEADINGS = 7  # the level of a phase that is a bold line or a checkbox

# "Phase 2.1" and "Phases 1-3" are no phases of the plan.
_PHASE = re.compile(
    rf"(?P<before>{DECORATION})phase\s+#?(?P<number>[0-9]{{1,4}})(?:\s*(?:/|of\s)\s*(?P<total>[0-9]{{1,4}}))?"
    rf"(?=$|\W)(?!\.[0-9]|/|[-–][0-9]|\s+(?:and|to|or|through)\s|\s*[&+])(?P<rest>.*)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<inner>.+?)(?P=mark)(?P<tail>.*)")


@dataclass(slots=True)
class Phase:
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
    def is_marked(self) -> bool:
        return self.word in {"in_progress", "blocked"}

    @property
    def has_evidence(self) -> bool:
        return self.word is not None or self.boxes > 0 or self.line.checked is not None

    @property
    def was_begun(self) -> bool:
        begun = self.is_marked or self.word == "completed"
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


@dataclass(frozen=True, slots=True)
class Phases:
    """All phases of one plan, in its order."""

    listed: list[Phase]
    within: frozenset[int]  # the numbers of the lines inside them
    kind: str  # of the lines that begin them, in words

    @property
    def total(self) -> int | None:
        if not self.listed:
            return None
        stated = [each.total for each in self.listed if each.total]
        return max([len(self.listed), *stated, *(each.number for each in self.listed)])

    def declared(self) -> tuple[PlanPhase, ...]:
        return tuple(
            PlanPhase(each.number, each.name, each.done, each.next_action, each.gate)
            for each in self.listed[:MOST_ITEMS]
        )

    def current(self) -> PhaseMark | None:
        """The phase that is marked, else the first that is not done, else the last."""
        if not self.listed:
            return None
        marked = (each for each in self.listed if each.is_marked)
        # A phase without any evidence is behind us if a later one was begun.
        begun = max((at for at, each in enumerate(self.listed) if each.was_begun), default=-1)
        undone = (
            each
            for at, each in enumerate(self.listed)
            if not each.done and (each.has_evidence or at >= begun)
        )
        current = next(marked, None) or next(undone, self.listed[-1])
        mark = sane_mark(current.number, self.total, current.name)
        return replace(mark, derived=True) if mark else None

    def filled_in(self, mark: PhaseMark) -> PhaseMark | None:
        """A stated mark, with the number, name or total that only the list tells."""
        if mark.current is None:
            mark = replace(mark, current=self._number_of(mark.name or ""))
        if mark.current is None:
            return mark
        name = mark.name or self._name_of(mark.current)
        total = mark.total or self.total
        if total and total >= mark.current:
            return sane_mark(mark.current, total, name)
        return replace(mark, name=name)

    def _number_of(self, name: str) -> int | None:
        same = (each.number for each in self.listed if each.name.casefold() == name.casefold())
        return next(same, None)

    def _name_of(self, number: int) -> str | None:
        return next((each.name for each in self.listed if each.number == number), None)


def phases_of(lines: list[Line]) -> Phases:
    """The phases as headings, else as bold lines, else as checkboxes."""
    for titled, kind in (
        (_heading, "phase headings"),
        (_bold, "phases in bold"),
        (_box, "phase checkboxes"),
    ):
        phases, within = _phases_by(lines, titled)
        if phases:
            return Phases(phases, frozenset(within), kind)
    return Phases([], frozenset(), "")


def _heading(line: Line) -> str:
    return line.text if line.level else ""


def _bold(line: Line) -> str:
    match = _BOLD.match(line.text) if not line.level and line.checked is None else None
    if match is None or (match["tail"].strip(" :") and not whole_status(match["tail"])):
        return ""
    return f"{match['inner']} {match['tail']}"


def _box(line: Line) -> str:
    return line.text if line.checked is not None else ""


def _phases_by(lines: list[Line], titled: Callable[[Line], str]) -> tuple[list[Phase], set[int]]:
    phases: dict[int, Phase] = {}
    within: set[int] = set()
    current: Phase | None = None
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


def _started(line: Line, title: str) -> Phase | None:
    match = _PHASE.match(title)
    if match is None:
        return None
    _, before = split_status(match["before"])
    name, behind = phase_name(match["rest"].lstrip("*_`"))
    number, total = int(match["number"]), int(match["total"]) if match["total"] else None
    level = line.level or _BELOW_HEADINGS
    return Phase(number, total, name or f"Phase {number}", behind or before, line, level)
