"""Claude Code's status line: its JSON on stdin, one short line on stdout.

The client starts it again and again, as it does hooks. So where the workflow stands is a prepared answer, which is
prepared here where there is none. No failure ever reaches the person: what cannot be found out is left out, and
`boundary`, which would take long to load, has nobody to tell of it. Light; see `launch`.
"""

from __future__ import annotations

import contextlib
import os
import sys

from holdfast.agents import USUAL
from holdfast.agents.request import parsed, read_stdin, write
from holdfast.answers import prepared
from holdfast.config import homes
from holdfast.records import sessionlog
from holdfast.text.room import WIDEST, cut, is_colourless, terminal_columns, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    # Name, phase, title and status of the workflow, and whether what is saved is "behind" what is declared.
    Standing = Mapping[str, Any]


_MARGIN = 4  # columns that the client keeps on both sides of the line
_LEAST = 20  # columns for the workflow itself; before it has less, what comes behind it goes
_NAME = 2  # columns that show something of a name: a letter and "…"
_BETWEEN = " · "
_YELLOW, _RED, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[0m"
_FILLING, _NEARLY_FULL, _MOST = 75, 90, 1000  # per cent of the context


class Status:
    """What the client says of itself."""

    def __init__(self, raw: bytes, environ: Mapping[str, str]) -> None:
        sent: dict[str, object] = {}
        with contextlib.suppress(ValueError):
            sent = parsed(raw)
        workspace = _mapping(sent.get("workspace"))
        project = environ.get("CLAUDE_PROJECT_DIR") or _text(workspace.get("project_dir"))
        session = _text(sent.get("session_id")) or environ.get("CLAUDE_CODE_SESSION_ID")
        self.cwd = _text(workspace.get("current_dir")) or _text(sent.get("cwd"))
        self.started = project or ""
        self.session = session or ""
        self.context = _per_cent(_mapping(sent.get("context_window")).get("used_percentage"))
        self.columns = terminal_columns(environ)
        self.colourless = is_colourless(environ)


def main() -> int:
    """Answer the one status on stdin. `holdfast statusline` ends here; the exit code is always 0."""
    # A person who tries it in a terminal sends nothing.
    raw = b"" if sys.stdin is not None and sys.stdin.isatty() else read_stdin()
    line = run(raw)
    return write(f"{line}\n".encode("utf-8", "replace") if line else b"")


def run(raw: bytes) -> str:
    """The line for what the client sent; empty where there is nothing to show."""
    try:
        status = Status(raw, os.environ)
        return _line(_standing(status), status)
    except Exception:  # noqa: BLE001  # nobody could be told
        return ""


def _standing(status: Status) -> Standing:
    """Where the workflow stands; empty where there is none, or it cannot be found out."""
    if homes.is_switched_off(os.environ):
        return {}
    try:
        standing = _prepared(status)
        if standing is None:
            from holdfast.answers import prepare

            standing = prepare.statusline(status.cwd, status.session, status.started)
    except Exception:  # noqa: BLE001  # the line still shows the context
        return {}
    return standing


def _prepared(status: Status) -> Standing | None:
    state_dir, cwd = homes.for_state(os.environ), status.cwd or os.getcwd()
    if not state_dir or not prepared.is_supported():
        return None
    sets = [(status.session, prepared.STATUS)]
    if not sessionlog.is_known(state_dir, status.session):
        sets.append(("", prepared.IDLE))
    for session, kind in sets:
        shelf = prepared.Shelf(state_dir, USUAL, session, cwd, status.started)
        found = shelf.find(kind)
        if found and "statusline" in found:
            return found["statusline"]
    return None


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _per_cent(value: object) -> int | None:
    """The client says null until the first answer has come."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(value) if 0 <= value <= _MOST else None


def _line(standing: Standing, status: Status) -> str:
    room = min(WIDEST, status.columns - _MARGIN if status.columns else WIDEST)
    tail = list(_tail(standing, status.context))
    if not standing:
        return _coloured(tail, status)
    while tail and _length(tail) + _LEAST > room:
        tail.pop()
    where = _where(standing, room - _length(tail))
    return _BETWEEN.join([where, _coloured(tail, status)]) if tail else where


def _tail(standing: Standing, context: int | None) -> Iterator[tuple[str, str]]:
    """What comes behind the workflow, each with its colour."""
    status = standing.get("status", "in progress")
    if status != "in progress":
        yield status, _RED if status == "blocked" else ""
    if standing.get("behind"):
        yield "✱ unsaved", _YELLOW
    if context is not None:
        colour = _RED if context > _NEARLY_FULL else _YELLOW if context > _FILLING else ""
        yield f"context {context}%", colour


def _length(tail: list[tuple[str, str]]) -> int:
    return sum(width(_BETWEEN + text) for text, _ in tail)


def _coloured(tail: list[tuple[str, str]], status: Status) -> str:
    return _BETWEEN.join(
        f"{colour}{text}{_PLAIN}" if colour and not status.colourless else text
        for text, colour in tail
    )


def _where(standing: Standing, room: int) -> str:
    """Name, phase and title in *room* columns; the phase stays whole, whatever there is room for."""
    name, phase = str(standing["name"]), str(standing["phase"])
    title = f" {standing['title']}" if standing["title"] else ""
    spare = room - len(phase) - 1
    if spare < _NAME:
        return phase
    if width(name) + width(title) <= spare:
        return f"{name} {phase}{title}"
    # A long name leaves half of the room to the title, if that needs it.
    name = cut(name, max(spare - width(title), spare // 2))
    return f"{name} {phase}{cut(title, spare - width(name))}"
