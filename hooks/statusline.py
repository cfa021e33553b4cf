"""Claude Code's status line: its JSON on stdin, one short line on stdout.

It stands at the door because it is one: the client starts it again and again, as it does hooks, so where
the workflow stands is looked up among what was prepared, and no failure ever reaches the person. It changes
nothing. Light; see `launch`.
"""

from __future__ import annotations

import os
import sys

from holdfast import columns, homes, pipes
from holdfast.columns import WIDEST, cut, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.hooks.prepared import Answer

_MARGIN = 4  # columns that the client keeps on both sides of the line
_LEAST = 20  # columns for the workflow itself; before it has less, what comes behind it goes
_NAME = 2  # columns that show something of a name: a letter and "…"
_BETWEEN = " · "
_YELLOW, _RED, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[0m"
_FILLING, _NEARLY_FULL, _MOST = 75, 90, 1000  # per cent of the context


class Status:
    """What the client says of itself."""

    def __init__(self, raw: bytes, environ: Mapping[str, str]) -> None:
        sent = _mapping(_loads(raw))
        workspace = _mapping(sent.get("workspace"))
        project = environ.get("CLAUDE_PROJECT_DIR") or _text(workspace.get("project_dir"))
        session = _text(sent.get("session_id")) or environ.get("CLAUDE_CODE_SESSION_ID")
        self.cwd = _text(workspace.get("current_dir")) or _text(sent.get("cwd"))
        self.started = project or ""
        self.session = session or ""
        self.context = _per_cent(_mapping(sent.get("context_window")).get("used_percentage"))
        self.columns = columns.of_terminal(environ)
        self.colourless = columns.is_colourless(environ)


class Standing:
    """Where the workflow of the session stands."""

    def __init__(self, name: str, phase: str, title: str, status: str, behind: bool) -> None:
        self.name = name
        self.phase = phase
        self.title = title
        self.status = status
        self.behind = behind  # whether what is saved is older than what is declared


def main() -> int:
    """Answer the one status on stdin. `holdfast statusline` ends here; the exit code is always 0."""
    # A person who tries it in a terminal sends nothing.
    raw = b"" if sys.stdin is not None and sys.stdin.isatty() else pipes.read_stdin()
    line = run(raw, ends_at_once=True)
    return pipes.write(f"{line}\n".encode("utf-8", "replace") if line else b"")


def run(raw: bytes, *, ends_at_once: bool = False) -> str:
    """The line for what the client sent; empty where there is nothing to tell."""
    try:
        status = Status(raw, os.environ)
        standing = None if homes.is_switched_off(os.environ) else _standing(status, ends_at_once)
        return _line(standing, status)
    except Exception:  # noqa: BLE001  # it has no one to tell
        return ""


def _loads(raw: bytes) -> object:
    """The value in *raw*; None where it is no JSON."""
    found = None
    if pipes.holds_too_much(raw):
        return None
    try:
        from holdfast.hooks import quickjson

        found = quickjson.loads(raw)
    except ImportError:  # another interpreter than CPython
        pass
    return _loads_slowly(raw) if found is None and raw.strip() else found


def _loads_slowly(raw: bytes) -> object:
    import json

    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _standing(status: Status, ends_at_once: bool) -> Standing | None:
    """As it was prepared, else as it is looked up now; None where there is no workflow."""
    try:
        answer = _prepared(status)
        if answer is not None:
            told = answer.get("standing")
            return Standing(*told) if told else None
        if ends_at_once:
            from holdfast import shortlived

            shortlived.begin()
        from holdfast.hooks import standing

        return standing.look(status)
    except Exception:  # noqa: BLE001  # then it says what it knows
        return None


def _prepared(status: Status) -> Answer | None:
    state_dir, cwd = homes.for_state(os.environ), status.cwd or os.getcwd()
    try:
        from holdfast.hooks import prepared, quick
        from holdfast.wire.agents import USUAL
    except ImportError:
        return None
    if not state_dir or not quick.is_supported():
        return None
    sets = [(status.session, prepared.STATUS)]
    if not quick.is_known(state_dir, status.session):
        sets.append(("", prepared.IDLE))
    for session, kind in sets:
        folder = prepared.folder(state_dir, USUAL, session, cwd, status.started)
        found = prepared.find(folder, kind, quick.now())
        answer = found.get("statusline") if found else None
        if answer is not None:
            return answer
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


def _line(standing: Standing | None, status: Status) -> str:
    room = min(WIDEST, status.columns - _MARGIN if status.columns else WIDEST)
    tail = list(_tail(standing, status.context))
    if standing is None:
        return _coloured(tail, status)
    while tail and _length(tail) + _LEAST > room:
        tail.pop()
    where = _where(standing, room - _length(tail))
    return _BETWEEN.join([where, _coloured(tail, status)]) if tail else where


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


def _coloured(tail: list[tuple[str, str]], status: Status) -> str:
    return _BETWEEN.join(
        f"{colour}{text}{_PLAIN}" if colour and not status.colourless else text
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
