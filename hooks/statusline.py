"""Claude Code's status line: its JSON on stdin, one short line on stdout.

It stands at the door because it is one: the client starts it again and again, as it does hooks, so "no
workflow here" is answered with light imports, and no failure ever reaches the person. It writes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.clock import Clock
from holdfast.columns import WIDEST, cut, width
from holdfast.hooks import boundary, dispatch
from holdfast.project import Surroundings, candidates
from holdfast.settings import load
from holdfast.wire.replies import Outcome

_MARGIN = 4  # columns that the client keeps on both sides of the line
_LEAST = 20  # columns for the workflow itself; before it has less, what comes behind it goes
_NAME = 2  # columns that show something of a name: a letter and "…"
_BETWEEN = " · "
_YELLOW, _RED, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[0m"
_FILLING, _NEARLY_FULL, _MOST = 75, 90, 1000  # per cent of the context


class Status(NamedTuple):
    """What the client says of itself."""

    surroundings: Surroundings
    session: str | None
    context: int | None  # per cent that are used


class Standing(NamedTuple):
    """Where the workflow of the session stands."""

    name: str
    phase: str
    title: str
    status: str
    behind: bool  # whether what is saved is older than what is declared


def main() -> int:
    """Answer the one status on stdin. `holdfast statusline` ends here; the exit code is always 0."""
    surroundings = Surroundings.from_environment()
    # A person who tries it in a terminal sends nothing.
    raw = b"" if sys.stdin is not None and sys.stdin.isatty() else dispatch.read_stdin()
    line = run(raw, surroundings, Clock.from_environment())
    return dispatch.write(Outcome(f"{line}\n".encode("utf-8", "replace") if line else b""))


def run(raw: bytes, surroundings: Surroundings, clock: Clock) -> str:
    """The line for what the client sent; empty where there is nothing to tell."""
    sent = boundary.quietly(lambda: json.loads(raw), None)
    status = _status(_mapping(sent), surroundings)
    standing = boundary.quietly(lambda: standing_of(status, clock), None)
    return boundary.quietly(lambda: _line(standing, status), "")


def _status(sent: dict[str, object], surroundings: Surroundings) -> Status:
    """What is understood of *sent*; for the rest we look where we were started."""
    workspace = _mapping(sent.get("workspace"))
    cwd = _text(workspace.get("current_dir")) or _text(sent.get("cwd")) or surroundings.cwd
    started = surroundings.client_project or _text(workspace.get("project_dir"))
    here = surroundings._replace(cwd=cwd, client_project=started)
    used = _mapping(sent.get("context_window")).get("used_percentage")
    return Status(here, _text(sent.get("session_id")) or surroundings.session, _per_cent(used))


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _per_cent(value: object) -> int | None:
    """The client says null until the first answer has come."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(value) if 0 <= value <= _MOST else None


def standing_of(status: Status, clock: Clock) -> Standing | None:
    """Where this session's workflow stands; None where there is none."""
    here = status.surroundings
    configured = load(None, here.config_file).settings
    if here.disabled or not configured.enabled:
        return None
    folders = candidates(here.cwd, here.client_project)
    if not dispatch.worth_a_look(folders, configured.plans, here.state_dir, status.session):
        return None
    # An answer that was prepared beforehand will be looked up here.
    from holdfast import sync
    from holdfast.plaintext import one_line

    workflow = sync.run(here.cwd, status.session, here, clock, wait=None).choice().chosen
    if workflow is None:
        return None
    briefing = workflow.briefing
    return Standing(
        one_line(briefing.name),
        briefing.count,
        one_line(briefing.phase_title),
        one_line(briefing.status, 20).replace("_", " "),
        workflow.behind,
    )


def _line(standing: Standing | None, status: Status) -> str:
    here = status.surroundings
    room = min(WIDEST, here.columns - _MARGIN if here.columns else WIDEST)
    tail = list(_tail(standing, status.context))
    if standing is None:
        return _coloured(tail, here)
    while tail and _length(tail) + _LEAST > room:
        tail.pop()
    where = _where(standing, room - _length(tail))
    return _BETWEEN.join([where, _coloured(tail, here)]) if tail else where


def _tail(standing: Standing | None, context: int | None) -> Iterator[tuple[str, str]]:
    """What comes behind the workflow, each with its colour."""
    if standing and standing.status != "in progress":
        yield standing.status, _RED if standing.status == "blocked" else ""
    if standing and standing.behind:
        yield "✱ behind", _YELLOW
    if context is not None:
        colour = _RED if context > _NEARLY_FULL else _YELLOW if context > _FILLING else ""
        yield f"context {context}%", colour


def _length(tail: list[tuple[str, str]]) -> int:
    return sum(width(_BETWEEN + text) for text, _ in tail)


def _coloured(tail: list[tuple[str, str]], here: Surroundings) -> str:
    return _BETWEEN.join(
        f"{colour}{text}{_PLAIN}" if colour and not here.colourless else text
        for text, colour in tail
    )


def _where(standing: Standing, room: int) -> str:
    """Name, phase and title in *room* columns; the phase stays whole, whatever there is room for."""
    phase = standing.phase
    title = f" {standing.title}" if standing.title else ""
    spare = room - len(phase) - 1
    if spare < _NAME:
        return phase
    if width(standing.name) + width(title) <= spare:
        return f"{standing.name} {phase}{title}"
    # A long name leaves half of the room to the title, if that needs it.
    name = cut(standing.name, max(spare - width(title), spare // 2))
    return f"{name} {phase}{cut(title, spare - width(name))}"
