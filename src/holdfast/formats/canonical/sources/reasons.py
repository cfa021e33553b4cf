"""A reason tells a person which words of which line decided; it has to fit on one line."""

from __future__ import annotations

from holdfast.plaintext import one_line


def quoted(text: str) -> str:
    return f"'{one_line(text, 60)}'"


def quoted_from(number: int, text: str) -> str:
    """The text and its line; line 0 is front matter."""
    return f"{quoted(text)} ({f'line {number}' if number else 'front matter'})"


def joined(*parts: str | None) -> str:
    return "; ".join(filter(None, parts))
