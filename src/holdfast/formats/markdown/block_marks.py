"""CommonMark's small signs that can be told from one line: indentation, rules, underlines."""

from __future__ import annotations

from holdfast.patterns import pattern

_SPACES = pattern(" *")


def end_of_spaces(line: str, at: int) -> int:
    match = _SPACES.match(line, at)
    return match.end() if match else at


def underline(line: str, at: int) -> int:
    """The level of the heading that this line would make of the one above it."""
    mark = line[at]
    return {"=": 1, "-": 2}[mark] if mark in "=-" and not line[at:].strip(mark) else 0


def rule(line: str, at: int) -> bool:
    """Whether a rule is drawn from here on."""
    mark = line[at]
    if mark not in "*-_" or line[-1] != mark:
        return False
    marks = line[at:].replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and not marks.strip(mark)


def without_closing(heading: str) -> str:
    """The text of a heading, whose closing number signs are no part of it."""
    heading = heading.strip()
    text = heading.rstrip("#")
    return text.rstrip() if not text or text[-1] in " \t" else heading
