"""A plan lists its phases with checkboxes and signs, which tell what is done and where the work is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from holdfast.formats.canonical.declaration import PhaseMark, PlanPhase
from holdfast.formats.canonical.sources import phase_starts
from holdfast.formats.canonical.sources.phase_marks import sane_mark
from holdfast.formats.canonical.sources.phase_sections import Phase, Section
from holdfast.formats.canonical.sources.phase_starts import Start
from holdfast.formats.canonical.sources.values import MOST_ITEMS
from holdfast.formats.markdown.lines import Line
from holdfast.records import Record, replace


class Phases(Record):
    """All phases of one plan, in their order."""

    listed: list[Phase]
    within: frozenset[int]  # the numbers of the lines inside them
    kind: str  # of the lines that begin them, in words

    @property
    def total(self) -> int | None:
        if not self.listed:
            return None
        stated = [each.total for each in self.listed if each.total]
        return max([len(self.listed), *stated, *map(self.place, self.listed)])

    @property
    def starts(self) -> frozenset[int]:
        """The numbers of the lines that begin a phase or a part of one."""
        return frozenset(section.line.number for each in self.listed for section in each.sections)

    def place(self, phase: Phase) -> int:
        """Its number, counted from 1 where the plan counts from 0."""
        return phase.number + (self.listed[0].number == 0)

    def declared(self) -> tuple[PlanPhase, ...]:
        return tuple(
            PlanPhase(self.place(each), each.title, each.is_done, each.next_action, each.gate)
            for each in self.listed[:MOST_ITEMS]
        )

    def current(self) -> PhaseMark | None:
        """The phase that is marked, else the first that is not over, else the last."""
        if not self.listed:
            return None
        marked = (each for each in self.listed if each.is_marked)
        # A phase without any evidence is behind us if a later one was begun.
        begun = max((at for at, each in enumerate(self.listed) if each.was_begun), default=-1)
        open_ones = (
            each
            for at, each in enumerate(self.listed)
            if not each.is_over and (each.has_evidence or at >= begun)
        )
        done = (each for each in reversed(self.listed) if each.is_done)
        current = next(marked, None) or next(open_ones, None) or next(done, self.listed[-1])
        mark = sane_mark(self.place(current), self.total, current.title)
        return replace(mark, derived=True) if mark else None

    def filled_in(self, mark: PhaseMark) -> PhaseMark | None:
        """A stated mark, with the number, name or total that only the list tells."""
        if not self.listed:
            return mark
        if named := self._named(mark.name):
            counted_from_0 = self.listed[0].number == 0 and mark.current == named.number
            if mark.current is None or counted_from_0:
                mark = replace(mark, current=self.place(named))
        elif mark.current is not None and mark.total is None:
            same = next((each for each in self.listed if each.number == mark.current), None)
            mark = replace(mark, current=self.place(same)) if same else mark
        if mark.current is None:
            return mark
        name = mark.name or self._name_at(mark.current)
        total = mark.total or self.total
        if total and total >= mark.current:
            return sane_mark(mark.current, total, name)
        return replace(mark, name=name)

    def _named(self, name: str | None) -> Phase | None:
        wanted = (name or "").casefold()
        return next((each for each in self.listed if each.title.casefold() == wanted), None)

    def _name_at(self, place: int) -> str | None:
        return next((each.title for each in self.listed if self.place(each) == place), None)


def phases_of(lines: list[Line]) -> Phases:
    """The phases as headings, else as bold lines, checkboxes, rows of a table or items."""
    return _phases_of(lines, _kinds(lines))


def steps_of(lines: list[Line]) -> Phases:
    """The steps, for a plan without phases."""
    return _phases_of(lines, _step_kinds(lines))


def _phases_of(lines: list[Line], kinds: Iterable[_Kind]) -> Phases:
    first: dict[int, Phase] = {}
    inside: set[int] = set()
    kind = ""
    for start_at, each, is_enough in kinds:
        outside = [line for line in lines if line.number not in inside] if inside else lines
        phases, within = _phases_by(outside, start_at)
        if not first and is_enough(phases):
            first, inside, kind = phases, within, each
        elif first:
            _complete(first, phases)
    if first and 10 in first and 9 not in first and _is_any(first[10]):
        del first[10]
    ordered = sorted(first.values(), key=lambda phase: phase.number)
    return Phases(ordered, frozenset(inside), kind)


_Kind = tuple[Callable[[Line], Start | None], str, Callable[[dict[int, Phase]], bool]]


def _kinds(lines: list[Line]) -> Iterator[_Kind]:
    yield phase_starts.heading, "phase headings", bool
    yield phase_starts.bold, "phases in bold", bool
    yield phase_starts.box, "phase checkboxes", bool
    yield phase_starts.row(lines), "phases in a table", bool
    yield phase_starts.item, "phases in a list", _is_a_list


def _step_kinds(lines: list[Line]) -> Iterator[_Kind]:
    yield phase_starts.step, "step headings", _are_several
    yield phase_starts.numbered(lines), "numbered headings", _are_several


def _are_several(phases: dict[int, Phase]) -> bool:
    return len(phases) > 1


def _is_any(phase: Phase) -> bool:
    """Whether the X of "Phase X" is no number, but stands for one."""
    return not any(
        "10" in each.line.text or "ten" in each.line.text.casefold() for each in phase.sections
    )


def _is_a_list(phases: dict[int, Phase]) -> bool:
    """One item that begins with "Phase 2:" may be a remark."""
    return len(phases) > 1 or any(each.word for each in phases.values())


def _complete(phases: dict[int, Phase], others: dict[int, Phase]) -> None:
    """What another list of the same phases says of those that nothing else is known of."""
    for other in others.values():
        same = phases.get(other.number)
        if same and not same.has_evidence and same.title.casefold() == other.title.casefold():
            same.sections += other.sections


def _phases_by(
    lines: list[Line], start_at: Callable[[Line], Start | None]
) -> tuple[dict[int, Phase], set[int]]:
    phases: dict[int, Phase] = {}
    within: set[int] = set()
    opened: list[Section] = []  # a phase, and inside it its parts
    for line in lines:
        while opened and not opened[-1].holds(line):
            opened.pop()
        start = start_at(line)
        is_nested = bool(opened) and opened[-1].encloses(line)
        if start and is_nested and not start.is_part and start.number in phases:
            start = None  # "### Phase 1 notes" inside of phase 1
        if start:
            while opened and not (start.is_part and opened[-1].encloses(line)):
                opened.pop()
            phase = phases.setdefault(start.number, Phase(start.number))
            opened.append(phase.begin(start, line))
        elif opened:
            opened[-1].take(line)
        if opened:
            within.add(line.number)
    return phases, within
