"""An HTML comment hides what it holds, wherever in markdown it begins."""

from __future__ import annotations

import re
from bisect import bisect_left

_SPAN_LIMIT = 200_000  # a longer paragraph is not prose, and its code spans are not looked for

_INLINE = re.compile(r"\\.|`+|<!--")
_TICKS = re.compile("`+")


def outside_comments(text: str, inside: bool) -> tuple[str, bool]:
    """The rest of a line that begins inside or outside of a comment, and whether it ends inside."""
    parts: list[str] = []
    at = 0
    while True:
        if inside:
            end = text.find("-->", at)
            if end < 0:
                return "".join(parts), True
            at, inside = end + 3, False
        start = text.find("<!--", at)
        if start < 0:
            return "".join(parts) + text[at:], False
        parts.append(text[at:start])
        at, inside = start + 2, True  # "<!-->" is a whole comment


def without_comments(text: str) -> str:
    """A paragraph without its comments; one that does not end within it is text, as in a browser."""
    if "<!--" not in text:
        return text
    ticks: dict[int, list[int]] = {}
    if len(text) < _SPAN_LIMIT:
        for run in _TICKS.finditer(text):
            ticks.setdefault(len(run[0]), []).append(run.start())
    parts: list[str] = []
    kept = at = 0
    while match := _INLINE.search(text, at):
        at = match.end()
        if match[0] == "<!--":
            end = text.find("-->", match.start() + 2)
            if end < 0:
                break
            parts += [text[kept : match.start()], "\n" * text.count("\n", match.start(), end)]
            kept = at = end + 3
        elif match[0][0] == "`":
            closings = ticks.get(len(match[0]), [])
            index = bisect_left(closings, at)
            at = closings[index] + len(match[0]) if index < len(closings) else at
    return "".join(parts) + text[kept:]
