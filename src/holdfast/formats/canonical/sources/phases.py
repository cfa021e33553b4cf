"""The phases of a plan, and where its work is.

A plan may speak of one phase in several places, and in several kinds of lines. One kind lists the phases; the others
only add to what is known of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from holdfast.formats.canonical.sources import PhaseMark, PlanPhase, values
from holdfast.formats.canonical.sources.phase_marks import sane_mark
from holdfast.formats.canonical.sources.sections import Phase, Section
from holdfast.formats.canonical.sources.starts import (
    Start,
    bold_items,
    bold_start,
    box_start,
    heading_start,
    item_start,
    numbered_headings,
    numbered_rows,
    plain_headings,
    row_start,
)
from holdfast.formats.engine.markdown import Line


class Phases(NamedTuple):
    listed: list[Phase]
    within: frozenset[int]  # the numbers of the lines inside them
    kind: str  # of the lines that begin them, in words

    @property
    def total(self) -> int:
        stated = [start.total for phase in self.listed for start in phase.starts if start.total]
        return max([len(self.listed), *stated, *map(self.place, self.listed)])

    @property
    def starts(self) -> frozenset[int]:
        """The numbers of the lines that begin a phase or a part of one."""
        return frozenset(part.line.number for phase in self.listed for part in phase.sections)

    def place(self, phase: Phase) -> int:
        """Its number, counted from 1 where the plan counts from 0."""
        return phase.number + (self.listed[0].number == 0)

    def declared(self) -> tuple[PlanPhase, ...]:
        first = self.listed[: values.MOST_ITEMS]
        return tuple(phase.declared(self.place(phase)) for phase in first)

    @property
    def left_behind(self) -> set[int]:
        """The numbers of those that do not hold the work back, though nothing says that they are over.

        Behind them another is done, and what is left of them is little, or was never said to be work: a
        few open boxes, no evidence at all, or an old mark.
        """
        behind: set[int] = set()
        is_begun = is_done = successor_is_done = False
        for phase in reversed(self.listed):
            ticked, still_open = phase.boxes
            is_little = still_open * 2 <= ticked or not (ticked or still_open)
            if phase.is_running:
                is_stale = successor_is_done and is_little
            else:
                is_stale = (is_begun and not phase.has_evidence) or (is_done and is_little)
            if is_stale and not phase.is_over:
                behind.add(phase.number)
            successor_is_done = phase.is_done
            is_done, is_begun = is_done or phase.is_done, is_begun or phase.was_begun
        return behind

    def current(self) -> PhaseMark | None:
        """The first that is running, else the first that is not over and not left behind, else the last."""
        if not self.listed:
            return None
        left_behind = self.left_behind
        still_open = [phase for phase in self.listed if not phase.is_over]
        ahead = [phase for phase in still_open if phase.number not in left_behind] or still_open
        running = next((phase for phase in ahead if phase.is_running), None)
        done = (phase for phase in reversed(self.listed) if phase.is_done)
        current = running or next(iter(ahead), None) or next(done, self.listed[-1])
        mark = sane_mark(self.place(current), self.total, current.title)
        return mark._replace(derived=True) if mark else None

    def filled_in(self, mark: PhaseMark) -> PhaseMark | None:
        """A stated mark, with the number, name or total that only the list tells."""
        name, current = (mark.name or "").casefold(), mark.current
        meant = next((phase for phase in self.listed if phase.title.casefold() == name), None)
        if meant is None and mark.total is None:
            meant = next((phase for phase in self.listed if phase.number == current), None)
        if meant and current in {None, meant.number}:
            current = self.place(meant)
        if current is None or not self.listed:
            return mark
        titles = (phase.title for phase in self.listed if self.place(phase) == current)
        title = mark.name or next(titles, None)
        total = mark.total or self.total
        return sane_mark(current, total if total >= current else None, title)


# The lines that begin phases: what they are called, where they stand, and how many of them are enough.
_Kind: TypeAlias = tuple[str, dict[int, Start], int]
_LINES: tuple[tuple[str, Callable[[Line], Start | None], int], ...] = (
    ("as headings", heading_start, 1),
    ("in bold", bold_start, 1),
    ("as checkboxes", box_start, 1),
    ("in a table", row_start, 1),
    ("in a list", item_start, 2),  # one item that begins with "Phase 2:" may be a remark
)


def phases_of(lines: list[Line]) -> Phases:
    """The phases as headings, else as bold lines, checkboxes, rows of a table or items."""
    kinds = [_by_noun(lines, *kind, steps=False) for kind in _LINES]
    kinds.insert(4, ("phases in a table", _by_line(numbered_rows(lines)), 1))
    return _phases_of(lines, kinds)


def steps_of(lines: list[Line]) -> Phases:
    """The steps, for a plan without phases; and what is not so called, but carries boxes or a status."""
    kinds = [_by_noun(lines, *kind, steps=True) for kind in _LINES[:4]]
    kinds += [
        ("numbered headings", _by_line(numbered_headings(lines)), 2),
        ("headings with boxes", _by_line(plain_headings(lines)), 2),
        ("bold items", _by_line(bold_items(lines)), 2),
    ]
    return _phases_of(lines, kinds)


def _by_line(starts: Iterable[tuple[Line, Start]]) -> dict[int, Start]:
    return {line.number: start for line, start in starts}


def _by_noun(
    lines: list[Line],
    words: str,
    start_at: Callable[[Line], Start | None],
    least: int,
    *,
    steps: bool,
) -> _Kind:
    """The lines of one kind, by the noun of the outermost headings, else of the most lines."""
    by_noun: dict[str, list[tuple[Line, Start]]] = {}
    for line in lines:
        if (start := start_at(line)) and start.is_step == steps:
            by_noun.setdefault(start.noun, []).append((line, start))

    def rank(noun: str) -> tuple[int, int, int]:
        found = by_noun[noun]
        return min(line.level for line, _ in found), len(noun) == 1, -len(found)

    best = min(by_noun, key=rank, default="")
    starts = _by_line(by_noun.get(best, ()))
    return (
        f"{'steps' if steps else 'phases'} {words}",
        starts,
        2 if steps or len(best) == 1 else least,
    )


def _phases_of(lines: list[Line], kinds: list[_Kind]) -> Phases:
    first: dict[int, Phase] = {}
    inside: set[int] = set()
    words = ""
    for named, starts, least in kinds:
        outside = [line for line in lines if line.number not in inside]
        phases, within = _phases_by(outside, starts)
        if first:
            _complete(first, phases)
        elif len(phases) >= least:
            first, inside, words = phases, within, named
    return Phases([first[number] for number in sorted(first)], frozenset(inside), words)


def _complete(phases: dict[int, Phase], others: dict[int, Phase]) -> None:
    """Add what another list states of the same phases, and the phases that only the other has."""
    same = {
        number: phase
        for number, phase in others.items()
        if number in phases and phase.may_be(phases[number])
    }
    for number, other in same.items():
        if other.word or not phases[number].has_evidence:
            phases[number].sections += other.sections
    if len(same) == len(phases):
        phases.update({n: p for n, p in others.items() if n not in phases})


def _phases_by(lines: list[Line], starts: dict[int, Start]) -> tuple[dict[int, Phase], set[int]]:
    """The phases that begin on these lines, and the numbers of the lines inside them."""
    phases: dict[int, Phase] = {}
    within: set[int] = set()
    opened: list[Section] = []  # a phase, and inside it its parts
    for line in lines:
        while opened and not opened[-1].holds(line):
            opened.pop()
        start = starts.get(line.number)
        is_nested = bool(opened) and opened[-1].encloses(line)
        if start and is_nested and not start.is_part and start.number in phases:
            start = None  # "### Phase 1 notes" inside of phase 1
        if start:
            while opened and not (start.is_part and opened[-1].encloses(line)):
                opened.pop()
            opened.append(Section(start, line))
            phases.setdefault(start.number, Phase(start.number)).sections.append(opened[-1])
        elif opened:
            opened[-1].read(line)
        if opened:
            within.add(line.number)
    for phase in phases.values():
        for section in phase.sections:
            section.close()
    return phases, within
