"""Write into the markdown what a command has done, so that it does not go on saying something else.

Only the lines for phase and status in CLAUDE.local.md, and a plan's boxes where somebody asks for it. A line is changed
only if the changed text then reads as it should, and everything else in it as before. Where CLAUDE.local.md cannot be
written, the guidance says that the saved state counts; where the plan cannot be, the command is refused.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from holdfast.errors import StateChanged, StateOutOfReach, StateUnreadable, StateUnwritable
from holdfast.files.fingerprints import digest
from holdfast.formats.canonical.files import LOCAL, Edit
from holdfast.formats.canonical.model import State, TickedBoxes
from holdfast.formats.canonical.sources import Declaration, Looked, PhaseMark, PlanPhase
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan
from holdfast.formats.canonical.view import Merged
from holdfast.formats.engine.workflow import Place

_MOST_TRIED = 100  # texts that are read to see whether they say it
_NUMBER = re.compile(r"\d+")
_OF_TOTAL = re.compile(r"(?<!\d)\d++(\s*+(?:/|of)\s*)\d+")
_OPEN_BOX = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+\[) (\])")
_TICKED_BOX = re.compile(_OPEN_BOX.pattern.replace(" (", "x("))


def local(place: Place, known: Merged) -> None:
    """Have CLAUDE.local.md say of phase and status what the state says, if it can be written."""
    declares = known.group and known.group.local
    if not declares or not place.settings.write_back:
        return

    def read(text: str) -> Declaration | None:
        return read_local(
            text.encode(), path=LOCAL, mtime=0.0, find_plan=lambda _: None
        ).declaration

    def edited(text: str) -> str | None:
        before = read(text)
        if before is None or _agrees(before, known.state):
            return None
        tried = islice(_versions(text, before, known.state), _MOST_TRIED)
        return next((new for new in tried if _says_only(read(new), before, known.state)), None)

    # Where that fails, the guidance says that it says otherwise.
    with contextlib.suppress(StateOutOfReach, StateUnwritable, StateChanged):
        edit = _edit(place, LOCAL, edited)
        if edit and not edit.path.is_symlink():
            place.store.write(edit.path, edit.after, expected=edit.before)


def _agrees(said: Declaration, state: State) -> bool:
    mark, phase = said.phase or PhaseMark(), state.phase
    stated = (said.status, mark.current, mark.total, mark.name)
    kept = (phase.status, phase.current, phase.total, phase.name)
    return all(one in {None, other} for one, other in zip(stated, kept, strict=True))


def _says_only(said: Declaration | None, before: Declaration, state: State) -> bool:
    """Whether *said* agrees with the state, and is otherwise what was said *before*."""
    if said is None or not _agrees(said, state) or (said.phase is None) != (before.phase is None):
        return False
    alike = ("phase", "phase_written", "status", "status_written")
    return said._replace(**{name: getattr(before, name) for name in alike}) == before


def _versions(text: str, before: Declaration, state: State) -> Iterator[str]:
    """*text* with other values in one line for the phase, in one for the status, or in both."""
    phase, status = state.phase, state.status.replace("_", " ")
    called = f" - {phase.name}" if phase.name != f"Phase {phase.current}" else ""
    old = (before.phase and before.phase.name) or ""

    def counted(value: str) -> str:
        of_total, found = _OF_TOTAL.subn(rf"{phase.current}\g<1>{phase.total}", value, count=1)
        return of_total if found else _NUMBER.sub(f"{phase.current}", value, count=1)

    def renamed(value: str) -> str:
        if not old or old == phase.name:
            return counted(value)
        above, sign, behind = value.rpartition(old)
        above = above if called else above.rstrip(" -–—:(")
        return counted(above) + (phase.name if called else "") + behind if sign else ""

    def whole(_: str) -> str:
        return f"{phase.current}/{phase.total}{called}"

    def worded(value: str) -> str:
        if "_" in value:
            return state.status
        return status if value.islower() else status.title()

    for change in (renamed, whole):
        for version in _with_value(text, before.phase_written, change):
            yield version
            yield from _with_value(version, before.status_written, worded)
    yield from _with_value(text, before.status_written, worded)


def _with_value(text: str, written: tuple[str, int], change: Callable[[str], str]) -> Iterator[str]:
    """*text* with the value that is *written* in it *change*d; in front matter, in each line that has it."""
    (old, number), lines = written, text.split("\n")
    new = change(old) if old else ""
    for at in range(len(lines)) if not number else [number - 1]:
        before, found, after = lines[at].rpartition(old) if new else ("", "", "")
        if found:
            yield "\n".join([*lines[:at], before + new + after, *lines[at + 1 :]])


class Ticked(NamedTuple):
    """The plan with boxes of one phase ticked."""

    edit: Edit
    still_open: tuple[str, ...]  # boxes of the phase that are written in another way


def ticked(place: Place, known: Merged, number: int, most: int | None = None) -> Ticked | None:
    """The plan with the open boxes of phase *number* ticked, at *most* so many; None where there are none."""
    plan = next((said for said in known.declarations if said.source == "plan"), None)
    edit = plan and _edit(place, plan.path, lambda text: _with_ticks(text, number, most))
    if not edit:
        return None
    was, lines = _phases(edit.before)[number], edit.lines
    numbered = zip(was.open_items, was.open_lines, strict=True)
    edit = edit._replace(boxes=tuple(item for item, line in numbered if line in lines))
    return Ticked(edit, _phases(edit.after)[number].open_items)


def turned_back(place: Place, boxes: TickedBoxes) -> Edit | None:
    """The plan with *boxes* as they were; None if it was changed since."""

    def edited(text: str) -> str | None:
        if digest(text.encode()) != boxes.digest:
            return None
        lines = text.split("\n")
        for at in boxes.lines:
            is_ticked = _TICKED_BOX.match(lines[at - 1])
            change, written = (_TICKED_BOX, " ") if is_ticked else (_OPEN_BOX, "x")
            lines[at - 1] = change.sub(rf"\g<1>{written}\2", lines[at - 1], count=1)
        return "\n".join(lines)

    return _edit(place, boxes.path, edited)


def with_edited_plan(place: Place, known: Merged, edit: Edit) -> Merged:
    """*known* as its plan declares it once *edit* is written, if it still does."""
    path = place.store.relative(edit.path)
    said = _declared(read_plan(edit.after, path=path, mtime=place.now.timestamp()))
    if known.group is None or said is None:
        return known
    declarations = [said if one.path == path else one for one in known.declarations]
    return known._replace(group=known.group._replace(declarations=declarations))


def _declared(said: Looked) -> Declaration | None:
    suggested = said.candidate.declaration if said.candidate else said.unbegun
    return said.declaration or suggested


def _phases(plan: bytes) -> dict[int, PlanPhase]:
    said = read_plan(plan, path="PLAN.md", mtime=0.0)
    declared = _declared(said) or said.closed
    if declared is None:
        return {}
    # Without phases, the whole plan is what stands as phase 1 of 1.
    whole = PlanPhase(1, declared.workflow or "", done=False)
    whole = whole._replace(open_items=declared.open_items, open_lines=declared.open_lines)
    return {phase.number: phase for phase in declared.phases or (whole,)}


def _with_ticks(text: str, number: int, most: int | None) -> str | None:
    """*text* with the open boxes of phase *number* ticked, if it then reads the same but for these."""
    before, lines = _phases(text.encode()), text.split("\n")
    for at in before[number].open_lines[:most] if number in before else ():
        lines[at - 1] = _OPEN_BOX.sub(r"\1x\2", lines[at - 1], count=1)
    new = "\n".join(lines)
    after = _phases(new.encode()) if new != text else before

    def still_open(phases: dict[int, PlanPhase]) -> dict[int, tuple[str, ...]]:
        return {at: phase.open_items for at, phase in phases.items() if at != number}

    return new if new != text and still_open(after) == still_open(before) else None


def _edit(place: Place, path: str, edited: Callable[[str], str | None]) -> Edit | None:
    """What *edited* makes of the text at *path*; None changes nothing."""
    file = place.root / path
    try:
        data, _ = place.store.read(file)
        new = edited(data.decode())
    except StateOutOfReach:
        raise
    except (StateUnreadable, UnicodeDecodeError):
        return None
    return None if new is None else Edit(file, data, new.encode())
