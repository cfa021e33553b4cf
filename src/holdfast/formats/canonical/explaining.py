"""What was understood of a plan or of CLAUDE.local.md, line by line, and what to change where it was not.

It tells what the reader made of the file, and reads nothing by rules of its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.errors import StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.canonical import files, matching
from holdfast.formats.canonical.sources import Declaration, Looked, values
from holdfast.formats.canonical.sources.claude_local import name_and_status
from holdfast.formats.canonical.sources.document import field_of, open_document
from holdfast.formats.canonical.sources.phase_marks import stated_status
from holdfast.formats.canonical.sources.phases import phases_of, steps_of
from holdfast.formats.canonical.sources.plan import NOTHING_TO_FOLLOW
from holdfast.formats.canonical.sources.starts import with_work
from holdfast.formats.engine.markdown import Line
from holdfast.formats.engine.workflow import Place
from holdfast.patterns import pattern
from holdfast.records import ledger
from holdfast.text.plaintext import decode

_RUNS = "`Status: In Progress`"
_PHASES = "phases as headings, `## Phase 1: Name`, each with boxes, `- [ ] what to do`"
PASSED_OVER = "passed over; what there is to do is `- [ ] what`"
_READING = "required reading"
_STATUS = "say `In Progress`, `Blocked` or `Completed`"
_HIDDEN = "it stands in code, a quote or a comment, where nothing counts"
_BAD_BOX = pattern(r"[-*+]?\s*\[[^\[\]]?\](?!\()")
# What would say something if it stood elsewhere: a box, or a field or a phase.
_HIDDEN_BOX = pattern(r"[\s>]*[-*+]\s+\[[ xX]\]")
_HIDDEN_FIELD = pattern(
    r"[\s>]*(?:#{1,6}\s+(?:phase|step|milestone|task)\b|[*_]*(?:status|phase|workflow)\b[*_\s]*:)",
    re.IGNORECASE,
)
_FIELDS = "`Workflow: Name` and `Phase: 1/3 - Name`"


class Explained(NamedTuple):
    line: int
    text: str
    understood: str  # empty where it was not
    change: str = ""  # so that it is


def explain(place: Place, path: str, *, is_kept: bool) -> dict[str, Any]:
    """What the file at *path* below the root declares, and what each of its lines does to that.

    With *is_kept* its workflow has a state, so that no tombstone of it counts.
    """
    store = place.store
    source = files.look_at(store, path)
    verdict, said, change = _verdict(source)
    why = source.candidate.why if source.candidate else source.reason
    if said and not is_kept and verdict in {"active", "candidate", "unbegun"}:
        group = matching.group([said])[0]
        rests = matching.resting(store, ledger.load(store), group, place.checkout)
        if rests:
            stone, verdict = rests[0], "ended"
            why = f"{stone.how} on {stone.at[:10]}"
            change = shlex.join(["holdfast", "resume", stone.name])
    if verdict == "unbegun" and said and said.ticked == said.boxes > 0:
        boxes = "the only box is" if said.boxes == 1 else f"all {said.boxes} boxes are"
        why, change = f"{boxes} done", ""
    try:
        data = store.read(store.root / path)[0]
    except StateUnreadable:  # the reason is in the source
        data, change = b"", ""
    lines = [line._asdict() for line in _lines(data, said, is_plan=path != files.LOCAL)]
    for line in lines:
        if line["understood"] == _READING and (missing := _missing(store, said, line["text"])):
            line.update(understood="", change=f"there is no file {missing}")
    if unclear := next((line["line"] for line in lines if line["change"] == _STATUS), None):
        change = change.replace(f"add a line {_RUNS}", f"change line {unclear} to {_RUNS}")
    phase = said.phase if said else None
    return {
        "file": path,
        "verdict": verdict,
        "why": why,
        "change": change,
        "workflow": said.workflow if said else None,
        "phase": phase.current if phase else None,
        "phases": phase.total if phase else None,
        "status": said.status if said else None,
        "next_action": said.next_action if said else None,
        "lines": lines,
    }


def _verdict(source: Looked) -> tuple[str, Declaration | None, str]:
    """What the file is, what it declares or would declare, and what to change so that it is followed."""
    follow = shlex.join(["holdfast", "follow", source.path])
    if source.declaration:
        return "active", source.declaration, ""
    if source.candidate:
        said = source.candidate.declaration
        needs = f"a line {_RUNS}" if source.candidate.why != NOTHING_TO_FOLLOW else _PHASES
        return "candidate", said, f"add {needs}, or `{follow}`"
    if source.closed:
        return "over", source.closed, f"if work goes on, change its status to {_RUNS}"
    if source.unbegun:
        return "unbegun", source.unbegun, f"add a line {_RUNS}, or `{follow}`"
    if source.path == files.LOCAL:
        return "none", None, f"add lines {_FIELDS}"
    return "none", None, f"add a line {_RUNS}, and {_PHASES}"


def _lines(data: bytes, said: Declaration | None, *, is_plan: bool) -> Iterator[Explained]:
    """The lines that say something, or seem to; what is only prose is left out."""
    document = open_document(data, quotes=is_plan)
    if document is None:
        return
    raw = decode(data).split("\n")
    found = list(_visible(document.lines, raw, said))
    if document.problem:
        found.append(Explained(1, raw[0].strip(), "", document.problem))
    found += _hidden(document.lines, raw)
    yield from sorted(found)


def _hidden(lines: list[Line], raw: list[str]) -> Iterator[Explained]:
    """Boxes, fields and phases in code and quotes, if there are none elsewhere; else they are examples."""
    seen = {line.number for line in lines}
    first = min(seen, default=len(raw))  # before it stands front matter
    has_boxes = any(line.checked is not None for line in lines)
    has_fields = any(field_of(line) for line in lines)
    for number, text in enumerate(raw, 1):
        if number < first or number in seen:
            continue
        is_box, is_field = _HIDDEN_BOX.match(text), _HIDDEN_FIELD.match(text)
        if (is_box and not has_boxes) or (is_field and not has_fields):
            yield Explained(number, text.strip(), "", _HIDDEN)


def _visible(lines: list[Line], raw: list[str], said: Declaration | None) -> Iterator[Explained]:
    phases, next_line = _phases(lines, said), _next_line(lines, said)
    carries = with_work(lines) - phases_of(lines).starts
    for line in lines:
        text = raw[line.number - 1].strip() if line.number <= len(raw) else line.text
        understood, change = _understood(line, said, phases)
        if line.number == next_line:
            understood, change = "the next action", ""
        elif not understood and _BAD_BOX.match(text):
            change = "a box is `- [ ] what`, and `- [x] what` once it is done"
        if not (understood or change) and line.number in carries:
            change = f"where it is meant as a phase, call it `{'#' * line.level} Phase N: Name`"
        if not (understood or change) and (line.item or line.cells):
            change = PASSED_OVER
        if understood or change:
            yield Explained(line.number, text, understood, change)


def _understood(line: Line, said: Declaration | None, phases: dict[int, str]) -> tuple[str, str]:
    """What *line* was understood as, or what to change in it."""
    field, text = field_of(line), values.tidy(line.text)
    if field and field[0] == "status":
        word = stated_status(field[1]) if field[1] else "a status"
        return (f"status: {word}".replace("_", " "), "") if word else ("", _STATUS)
    if field and field[0] == "workflow" and said and _is_another(field[1], said):
        return "", f"this file declares {said.workflow!r} only; declare another one in a plan"
    if field and field[0] == "phase" and said and said.phase_unreadable:
        return "", "write it as `Phase: 2/5 - Name`"
    if said and said.workflow and line.level == 1 and said.workflow in text:
        return f"the name: {said.workflow}", ""
    if line.number in phases:
        return phases[line.number], ""
    if line.checked is not None:
        return "done" if line.checked else "still to do", ""
    if field:
        return (f"{field[0]}: {field[1]}" if field[1] else f"begins: {field[0]}"), ""
    return _listed(text, said), ""


def _is_another(name: str, said: Declaration) -> bool:
    is_local = said.source == "local" and bool(said.workflow) and bool(name)
    return is_local and name_and_status(name)[0] != said.workflow


def _phases(lines: list[Line], said: Declaration | None) -> dict[int, str]:
    """Which phase begins on which line."""
    phases = phases_of(lines)
    phases = phases if phases.listed else steps_of(lines)
    if said is None or not said.phases:
        return {}
    current, total = (said.phase.current, said.phase.total) if said.phase else (None, None)
    found = {}
    for phase in phases.listed:
        number = phases.place(phase)
        standing = ", done" if phase.is_done else ", the current one" if number == current else ""
        told = f"phase {number} of {total or len(said.phases)}{standing}"
        found.update({part.line.number: told for part in phase.sections})
    return found


def _next_line(lines: list[Line], said: Declaration | None) -> int | None:
    """The number of the line of the next action, if it is a box."""
    if said is None:
        return None
    current = said.phase.current if said.phase else None
    phase = next((phase for phase in said.phases if phase.number == current), None)
    action = said.next_action or (phase.next_action if phase else None)
    within = phase.open_lines if phase else ()
    boxes = (line for line in lines if line.checked is False and values.spoken(line.text) == action)
    return next((line.number for line in boxes if not within or line.number in within), None)


def _missing(store: Store, said: Declaration | None, text: str) -> str:
    """The file that a line requires and that is not there."""
    named = (path.removeprefix("@") for path in (said.required_reading if said else None) or ())
    in_line = (path for path in named if path in text)
    return next((path for path in in_line if not store.exists(store.root / path)), "")


def _listed(text: str, said: Declaration | None) -> str:
    if said is None:
        return ""
    if any(path.removeprefix("@") in text for path in said.required_reading or ()):
        return _READING
    if text in (said.key_reminders or ()):
        return "a reminder"
    return "context" if any(text.startswith(key) for key in said.context or ()) else ""
