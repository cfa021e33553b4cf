"""Output that fits the terminal.

Text is made safe first, then broken
into lines, and styled last, so that neither of the first two ever meets an escape.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import click

from holdfast.text.plaintext import clean
from holdfast.text.room import WIDEST, width, wrap

_NARROWEST = 20

Style: TypeAlias = Mapping[str, Any]  # as click.style takes it
PLAIN: Style = {}
HEADING: Style = {"bold": True}
FAINT: Style = {"dim": True}
GOOD: Style = {"fg": "green"}
WARNING: Style = {"fg": "yellow"}
BAD: Style = {"fg": "red"}

_OF_STATUS = {"blocked": BAD, "failed": BAD, "escalated": BAD, "completed": GOOD}


def is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def can_ask() -> bool:
    """Whether a person can answer; a script must not wait."""
    return sys.stdin is not None and sys.stdin.isatty() and is_terminal()


def columns() -> int:
    """The maximum line width."""
    if is_terminal():
        with contextlib.suppress(OSError, ValueError):
            # A terminal of unknown size reports 0.
            has = os.get_terminal_size(sys.stdout.fileno()).columns or WIDEST
            return max(_NARROWEST, min(has, WIDEST))
    return WIDEST


def of_status(status: str) -> Style:
    return _OF_STATUS.get(status, PLAIN)


def put(text: str, *, lead: str = "", style: Style = PLAIN, whole: str = "", hang: int = 0) -> None:
    """Print *text* after *lead*, wrapped; later lines align with it, or hang *hang* columns in.

    *whole*, such as a path, comes between them and is never broken.
    """
    margin = " " * (width(lead) + hang)
    first = _safe(lead) + _safe(whole)
    if whole and text:
        if width(first) + 2 + width(_safe(text)) > columns():
            emit(first)
            first = margin = f"{margin}  "
        else:
            first += "  "
    body = wrap(_safe(text), columns() - width(margin)) if text else [""]
    for number, line in enumerate(body):
        emit((first if number == 0 else margin) + _styled(line, style))


def fixed(text: str, style: Style = PLAIN) -> None:
    """Print one line without wrapping it."""
    emit(_styled(_safe(text), style))


def line(text: str) -> None:
    """Print *text*: wrapped on a terminal, unchanged for programs."""
    for row in clean(text).split("\n"):
        if not is_terminal() or width(row) <= columns():
            emit(row)
        else:
            put(row, lead=row[: len(row) - len(row.lstrip())], hang=4)


def _styled(text: str, style: Style) -> str:
    return click.style(text, **style) if text and style else text


def _safe(text: str) -> str:
    return clean(text).replace("\n", " ")


def emit(text: str) -> None:
    """Print a line that has already been cleaned."""
    click.echo(text)
