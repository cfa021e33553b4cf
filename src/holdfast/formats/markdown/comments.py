"""An HTML comment hides what it holds, and striking out takes it back, wherever in markdown it begins."""

from __future__ import annotations

from bisect import bisect_left

from holdfast.patterns import pattern

_SPAN_LIMIT = 200_000  # a longer paragraph is not prose, and its code spans are not looked for

_INLINE = pattern(r"\\.|`+|<!--|~~+|\n(?=\|)")
_TICKS = pattern("`+")


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


def has_unsaid(text: str) -> bool:
    """Whether anything in the text may be hidden or struck out."""
    return "<!--" in text or "~~" in text


def without_unsaid(text: str) -> str:
    """A paragraph without its comments and without what is struck out, with its line ends kept."""
    if not has_unsaid(text):
        return text
    parts: list[str] = []
    kept = 0
    for start, end in _unsaid(text):
        parts += [text[kept:start], "\n" * text.count("\n", start, end)]
        kept = end
    return "".join(parts) + text[kept:]


def _unsaid(text: str) -> list[tuple[int, int]]:
    """Where the comments and strikes are; one that does not end within the paragraph is text."""
    ticks = _ticks(text)
    last_comment_end = text.rfind("-->")
    cuts: list[tuple[int, int]] = []
    struck: int | None = None
    at = 0
    while match := _INLINE.search(text, at):
        mark, start, at = match[0], match.start(), match.end()
        if mark == "<!--" and start + 2 <= last_comment_end:
            at = text.find("-->", start + 2) + 3
            cuts.append((start, at))
        elif mark[0] == "`":
            closings = ticks.get(len(mark), [])
            index = bisect_left(closings, at)
            at = closings[index] + len(mark) if index < len(closings) else at
        elif mark == "\n":
            struck = None  # no strike goes on into another row of a table
        elif mark == "~~":
            if struck is not None and not text[start - 1].isspace():
                while cuts and cuts[-1][0] > struck:
                    cuts.pop()
                cuts.append((struck, at))
                struck = None
            elif at < len(text) and not text[at].isspace():
                struck = start
    return cuts


def _ticks(text: str) -> dict[int, list[int]]:
    """Where the runs of backticks begin, by their length."""
    ticks: dict[int, list[int]] = {}
    if len(text) < _SPAN_LIMIT:
        for run in _TICKS.finditer(text):
            ticks.setdefault(len(run[0]), []).append(run.start())
    return ticks
