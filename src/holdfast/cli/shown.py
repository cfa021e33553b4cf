"""How workflows are printed: a sheet for one, a line each in a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from holdfast.cli import terminal
from holdfast.cli.app import dump
from holdfast.cli.terminal import put
from holdfast.clock import ago, from_mtime, iso, local
from holdfast.formats.engine.workflow import Briefing, Workflow, as_text
from holdfast.restoring import compactions, restore
from holdfast.restoring.restore import ReadingStatus
from holdfast.text.plaintext import counted, one_line
from holdfast.text.room import cut, pad, width
from holdfast.workflows.selection import distinct_name
from holdfast.workflows.sync import ProjectView

_LABEL = 13  # columns before the facts of a sheet
_FILES = 8
_REMINDERS = 5
_FACTS = 10
_BAR = 40  # columns at most
_WIDEST_CELL = 4
_DONE, _HERE, _TO_COME = "█", "▓", "░"
_MORE = "… {} more: holdfast show"


def status(view: ProjectView, workflow: Workflow | None, *, as_json: bool) -> None:
    """Print what `status` says of *workflow*; as JSON also that there is none."""
    if as_json:
        dump(_standing(view, workflow))
    elif workflow:
        _sheet(view, workflow)


def facts(workflow: Workflow) -> dict[str, Any]:
    """The JSON of a workflow."""
    declared_at = iso(from_mtime(workflow.declared_at)) if workflow.declared else None
    left_out = {"name", "brief", "inspect"}  # the briefing has the first two
    names = (field.name for field in fields(workflow) if field.name not in left_out)
    return {
        **{name: getattr(workflow, name) for name in names},
        "declared_at": declared_at,
        "briefing": {**asdict(workflow.briefing), "context": dict(workflow.briefing.context)},
    }


def _standing(view: ProjectView, workflow: Workflow | None) -> dict[str, Any]:
    found: dict[str, Any] = {"workflow": None, "reading": None, "compactions": None, "cautions": []}
    if workflow:
        found["workflow"] = facts(workflow)
        found["reading"] = restore.reading_status(view, workflow).facts
        found["compactions"] = compactions.survived(view.place, workflow).facts
        found["cautions"] = restore.cautions(view, workflow)
    found["candidates"] = [{"path": plan.path, "why": plan.why} for plan in view.candidates]
    return {"root": view.root, "why": view.choice().why, **found, "notes": view.notes}


def _sheet(view: ProjectView, workflow: Workflow) -> None:
    """Print one fact a row."""
    briefing, choice = workflow.briefing, view.choice()
    survived = compactions.survived(view.place, workflow)
    is_chosen = choice.chosen is not None and choice.chosen.key == workflow.key
    put(f"{one_line(briefing.name)} ({one_line(briefing.kind)})", style=terminal.HEADING)
    colour = terminal.of_status(briefing.status)
    phase = f"{briefing.count} {one_line(briefing.phase_name)}".rstrip()
    status = briefing.status.replace("_", " ")
    if not briefing.has_phases:
        _row("status", ", ".join(filter(None, [status, briefing.boxes])), colour)
    else:
        _row("phase", f"{phase}, {status}", colour)
    if briefing.has_phases and not briefing.phase_trouble:
        _row("", bar(briefing), colour)
    if briefing.next_action and not _is_over(workflow):
        _row("next", one_line(briefing.next_action))
    if briefing.gate:
        _row("gate", one_line(briefing.gate))
    for line in briefing.left_open:
        _row("left", one_line(line), terminal.WARNING)
    if not _is_over(workflow):
        _reading(restore.reading_status(view, workflow))
    _reminders(briefing)
    _context(briefing)
    if survived.count:
        _row("survived", str(survived))
    _row("changed", local(workflow.changed_at))
    _saved(workflow)
    _row("project", whole=view.root)
    if is_chosen or workflow.standing != "finished":
        _row("chosen", choice.why if is_chosen else "by name")
    if workflow.remark:
        _row("remark", one_line(workflow.remark), terminal.WARNING)
    for note in (*restore.cautions(view, workflow), *view.notes, *map(str, view.candidates)):
        _row("note", one_line(note), terminal.WARNING)


def _is_over(workflow: Workflow) -> bool:
    """Whether it was ended, so that nothing comes next and nothing is saved or sent."""
    return workflow.standing == "finished" and not workflow.kept


def _facts(view: ProjectView, workflow: Workflow) -> Iterator[str]:
    name = distinct_name(workflow, view.workflows)
    if name != workflow.name:
        yield one_line(name, 200)
    if workflow.briefing.boxes:
        yield workflow.briefing.boxes
    if workflow.briefing.next_action and not _is_over(workflow):
        yield f"next: {one_line(workflow.briefing.next_action, 100)}"
    if workflow.branch:
        yield f"branch {one_line(workflow.branch, 60)}"
    yield ago(workflow.changed_at, view.place.now)
    if view.has(workflow):
        yield "of this session"
    elif last := view.last_elsewhere(workflow):
        yield f"another session at work {ago(last, view.place.now)}"


def _row(
    label: str, text: str = "", style: terminal.Style = terminal.PLAIN, whole: str = ""
) -> None:
    put(text, lead=f"  {label}".ljust(_LABEL), style=style, whole=whole)


def bar(briefing: Briefing) -> str:
    """The progress bar: phases done, current, to come."""
    phases = max(briefing.phases, 1)
    phase = min(briefing.phase, phases)  # a hand edit may exceed the total
    room = min(_BAR, terminal.columns() - _LABEL, _WIDEST_CELL * phases)
    done = (phase - 1) * room // phases
    here = max(phase * room // phases, done + 1) - done  # visible even when phases share a column
    at = _HERE if briefing.status != "completed" else _DONE
    return _DONE * done + at * here + _TO_COME * (room - done - here)


def _reading(found: ReadingStatus) -> None:
    if not found.files:
        return
    when = "sent at the last restore" if found.delivered else "to be sent at the next compaction"
    sent = sum(file.parts is not None for file in found.files)
    _row("reading", f"{sent} of {counted(len(found.files), 'file')} {when}")
    for file in found.files[:_FILES]:
        style = terminal.PLAIN if file.parts or file.opened else terminal.WARNING
        _row("", str(file), style, whole=f"@{one_line(file.path, 400)}")
    if len(found.files) > _FILES:
        _row("", _MORE.format(len(found.files) - _FILES), terminal.FAINT)


def _reminders(briefing: Briefing) -> None:
    room = terminal.columns() - _LABEL
    for number, text in enumerate(briefing.reminders[:_REMINDERS]):
        _row("" if number else "reminders", cut(one_line(text), room))
    if len(briefing.reminders) > _REMINDERS:
        _row("", _MORE.format(len(briefing.reminders) - _REMINDERS), terminal.FAINT)


def _context(briefing: Briefing) -> None:
    for number, (key, value) in enumerate(briefing.context[:_FACTS]):
        _row("" if number else "context", one_line(f"{key}: {as_text(value)}"))
    if len(briefing.context) > _FACTS:
        _row("", _MORE.format(len(briefing.context) - _FACTS), terminal.FAINT)


def _saved(workflow: Workflow) -> None:
    path = workflow.briefing.state_path
    if path is None or workflow.saved_at is None:
        if not _is_over(workflow):
            _row("saved", "not yet; the next hook or command saves it", terminal.WARNING)
        return
    saver = one_line(workflow.saved_by or "", 60)
    if saver.startswith("holdfast "):
        saver = f"`{saver}`"
    by = f" by {saver}" if saver else ""
    _row("saved", f"{local(workflow.saved_at)}{by}")
    if workflow.behind:
        unsaved = "what is declared now; the next hook or command saves it"
        _row("unsaved", unsaved, terminal.WARNING)
    _row("state", whole=path)


def entry(view: ProjectView, workflow: Workflow, *, chosen: bool) -> None:
    """Print one list entry; below it the next action, branch, age and session."""
    briefing = workflow.briefing
    sign = "* " if chosen else "  "
    facts = f"{briefing.count:>7}  {workflow.standing:<8}  {workflow.format}"
    room = max(8, terminal.columns() - width(sign + facts) - 1)
    style = terminal.HEADING if chosen else terminal.of_status(briefing.status)
    if workflow.standing != "active":
        style = terminal.FAINT
    name = pad(one_line(workflow.name), min(room, 45))
    terminal.fixed(f"{sign}{name} {facts}", style)
    put(" · ".join(_facts(view, workflow)), lead="    ", style=terminal.FAINT)
    if terminal.of_status(briefing.status) == terminal.BAD:
        put(briefing.status, lead="    ", style=terminal.BAD)
    if workflow.behind and workflow.standing == "active":
        unsaved = "changed since it was saved" if workflow.kept else "not saved yet"
        put(unsaved, lead="    ", style=terminal.WARNING)
    if workflow.remark:
        put(one_line(workflow.remark), lead="    ", style=terminal.FAINT)
