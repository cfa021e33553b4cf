"""Workflows as a person sees them: a sheet for one, a line each for all."""

from __future__ import annotations

from holdfast import fates, restore
from holdfast.briefing import Briefing
from holdfast.cli import terminal
from holdfast.cli.terminal import put
from holdfast.columns import cut, pad, width
from holdfast.compactions import Survived
from holdfast.fates import Fates
from holdfast.formats.base import BY_HAND, Workflow
from holdfast.plaintext import counted, one_line
from holdfast.sync import Synced

_LABEL = 13  # columns before the facts of a sheet
_FILES = 8
_REMINDERS = 5
_BAR = 40  # columns at most
_WIDEST_CELL = 4
_DONE, _HERE, _TO_COME = "█", "▓", "░"
_MORE = "… {} more: holdfast show"


def sheet(synced: Synced, workflow: Workflow, survived: Survived, why: str) -> None:
    """Where *workflow* stands, one fact a row."""
    briefing = workflow.briefing
    put(f"{one_line(briefing.name)} ({one_line(briefing.kind)})", style=terminal.HEADING)
    colour = terminal.of_status(briefing.status)
    phase = f"{briefing.count} {one_line(briefing.phase_title)}".rstrip()
    _row("phase", f"{phase}, {briefing.status.replace('_', ' ')}", colour)
    if not briefing.phase_trouble:
        _row("", bar(briefing), colour)
    if briefing.next_action:
        _row("next", one_line(briefing.next_action))
    if briefing.gate:
        _row("gate", one_line(briefing.gate))
    _reading(fates.of(synced, workflow))
    _reminders(briefing)
    if survived.count:
        _row("survived", str(survived))
    _row("changed", f"{workflow.changed_at:%Y-%m-%d %H:%M} UTC")
    _saved(workflow)
    _row("project", whole=synced.root)
    _row("chosen", why)
    if workflow.remark:
        _row("remark", one_line(workflow.remark), terminal.WARNING)
    for note in (*restore.cautions(synced, workflow), *synced.notes):
        _row("note", one_line(note), terminal.WARNING)


def _row(
    label: str, text: str = "", style: terminal.Style = terminal.PLAIN, whole: str = ""
) -> None:
    put(text, lead=f"  {label}".ljust(_LABEL), style=style, whole=whole)


def bar(briefing: Briefing) -> str:
    """Done, here, to come."""
    room = min(_BAR, terminal.columns() - _LABEL)
    phases = max(briefing.phases, 1)
    phase = min(briefing.phase, phases)  # by hand, anything may be written
    at = _HERE if briefing.status != "completed" else _DONE
    cell = min(_WIDEST_CELL, room // phases)
    if cell:
        return _DONE * cell * (phase - 1) + at * cell + _TO_COME * cell * (phases - phase)
    # More phases than columns: one stands for several, but for the one where the work is.
    left = min((phase - 1) * room // phases, room - 1)
    return _DONE * left + at + _TO_COME * (room - left - 1)


def _reading(found: Fates) -> None:
    if not found.files:
        return
    when = "at the last restore" if found.delivered else "at the next compaction"
    sent = sum(each.parts is not None for each in found.files)
    _row("reading", f"{sent} of {counted(len(found.files), 'file')} sent {when}")
    for each in found.files[:_FILES]:
        style = terminal.PLAIN if each.parts or each.opened else terminal.WARNING
        _row("", str(each), style, whole=f"@{one_line(each.path, 400)}")
    if len(found.files) > _FILES:
        _row("", _MORE.format(len(found.files) - _FILES), terminal.FAINT)


def _reminders(briefing: Briefing) -> None:
    room = terminal.columns() - _LABEL
    for number, text in enumerate(briefing.reminders[:_REMINDERS]):
        _row("" if number else "reminders", cut(one_line(text), room))
    if len(briefing.reminders) > _REMINDERS:
        _row("", _MORE.format(len(briefing.reminders) - _REMINDERS), terminal.FAINT)


def _saved(workflow: Workflow) -> None:
    path = workflow.briefing.state_path
    if path is None or workflow.saved_at is None:
        _row("saved", "not yet; the next hook or command saves it", terminal.WARNING)
        return
    _row("saved", f"{workflow.saved_at:%Y-%m-%d %H:%M} UTC{_by(workflow.saved_by)}")
    if workflow.behind:
        behind = "what is declared now is not saved yet; the next hook or command saves it"
        _row("behind", behind, terminal.WARNING)
    _row("state", whole=path)


def _by(saver: str | None) -> str:
    if saver is None:
        return ""
    if saver == BY_HAND:
        return " by hand"
    name = one_line(saver, 60)
    return f" by `{name}`" if name.startswith("holdfast ") else f" by {name}"


def entry(workflow: Workflow, *, chosen: bool) -> None:
    """One line of a list, and the remark below it."""
    briefing = workflow.briefing
    sign = "* " if chosen else "  "
    facts = f"{briefing.count:>7}  {workflow.standing:<8}  {workflow.format}"
    room = max(8, terminal.columns() - width(sign + facts) - 1)
    style = terminal.HEADING if chosen else terminal.of_status(briefing.status)
    if workflow.standing != "active":
        style = terminal.FAINT
    name = pad(one_line(workflow.name), min(room, 45))
    terminal.fixed(f"{sign}{name} {facts}", style)
    if terminal.of_status(briefing.status) == terminal.BAD:
        put(briefing.status, lead="    ", style=terminal.BAD)
    if workflow.behind and workflow.standing == "active":
        put("behind", lead="    ", style=terminal.WARNING)
    if workflow.remark:
        put(one_line(workflow.remark), lead="    ", style=terminal.FAINT)
