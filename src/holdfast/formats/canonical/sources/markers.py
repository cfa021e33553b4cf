"""A heading or line WORKFLOW STATE marks what speaks of the workflow, unless it speaks of an old one."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.formats.canonical.sources.fields import field_of
from holdfast.formats.canonical.sources.statuses import SIGNS, Word, split_status, whole_status
from holdfast.formats.canonical.sources.values import tidy
from holdfast.formats.markdown.lines import Line
from holdfast.patterns import pattern

_LONGEST = 500  # with its name
_MARKER = r"(?i:(?P<now>(?:current|active)\s++)?workflow[\s_-]++state\b)"
_BEHIND = r"[*_`\s]*+(?:[:–—]|(?<=\s)-)\s*+(?P<name>.*\w.*)"
_HEADING = pattern(rf"(?:^|.*?\W){_MARKER}(?:{_BEHIND})?")
# "Workflow state: see below" is prose. With a name behind it, a plain line has to shout.
_ALONE = pattern(rf"[\W_]*+(?:{_MARKER}[\W_]*+|WORKFLOW[ _-]STATE{_BEHIND})")

_PAST = r"(?:old|previous|prior|past|former|archived?|obsolete|outdated|deprecated)\b"
_RETIRED = rf"(?:{_PAST}|(?:archives|examples?|samples?|templates?)\b(?!\.\w))"
_NOW = r"(?:(?:current|active)\s++)?"
_ABOUT_OLD = pattern(
    rf"[\W_]*+(?:{_RETIRED}[\W_]*+$|(?:the\s++)?{_PAST}.*\bworkflows?\b)"
    rf"|.*\b{_RETIRED}\W++(?:(?:of|for)\s++)?(?:an?\s++|the\s++)?{_NOW}workflows?\b"
    rf"|.*\bworkflow[\s_-]++states?(?:\s++{_RETIRED}|(?=\W*?[:–—-])\W*+{_RETIRED}[\W\d_]*+$"
    rf"|[^\w(]*+\([^()]*\b(?:{_RETIRED}|do\s+not\s+use|not\s+in\s+use|not\s+active|inactive))",
    re.IGNORECASE,
)
_OLD_ALONE = pattern(
    rf"[\W_]*+(?:the\s++)?{_RETIRED}\s++{_NOW}workflow[\s_-]++state[\W_]*+(?:\([^()]*+\)[\W_]*+)?",
    re.IGNORECASE,
)


class Scope(NamedTuple):
    """The lines that speak of the workflow, and what its marker says."""

    lines: list[Line]
    marker: Line | None = None
    name: str | None = None
    word: Word | None = None
    retired: Line | None = None  # a marker that is none, because it speaks of another time


def scope_of(lines: list[Line]) -> Scope:
    """The section of the marker that says that it is the current one, else of the first; else all."""
    live, retired = _without_old(lines)
    for is_heading in (True, False):
        scopes = (_scope(live, index, is_heading) for index in range(len(live)))
        if found := [(_rank(scope), scope) for scope in scopes if scope]:
            _, best = min(found, key=lambda each: each[0])
            return best._replace(lines=_below(live, best), retired=retired)
    return Scope(live, retired=retired)


def name_and_status(text: str) -> tuple[str, Word | None]:
    """A workflow's name, and the status behind it. "Blog post - Draft" is all name."""
    name, word = split_status(text)
    is_clear = text.rstrip(" \ufe0f*_`")[-1:] in {")", "]", *SIGNS}
    return (tidy(text), None) if word == "not_started" and not is_clear else (name, word)


def _scope(lines: list[Line], index: int, is_heading: bool) -> Scope | None:
    line = lines[index]
    text = line.text[:_LONGEST]
    if bool(line.level) != is_heading or "workflow" not in text.casefold():
        return None
    text, word = name_and_status(text)
    match = (_HEADING.match if is_heading else _ALONE.fullmatch)(text)
    if match is None:
        return None
    name = tidy((match["name"] or "").strip(" *_`=~#")) if is_heading or match["name"] else ""
    status = whole_status(name)
    return Scope([], line, None if status else name or None, word or status)


def _rank(scope: Scope) -> int:
    """Markers of a current workflow first, those of an ended one last."""
    if scope.word in {"completed", "cancelled"}:
        return 2
    match = _HEADING.match(scope.marker.text[:_LONGEST]) if scope.marker else None
    return 0 if scope.word == "in_progress" or (match and match["now"]) else 1


def _below(lines: list[Line], scope: Scope) -> list[Line]:
    index = next(at for at, line in enumerate(lines) if line is scope.marker)
    end = _end_of_section(lines, index) if lines[index].level else len(lines)
    return lines[index + 1 : end]


def _end_of_section(lines: list[Line], start: int) -> int:
    """Up to the next heading that is neither below this one nor itself a field or a known section."""
    for index, line in enumerate(lines[start + 1 :], start + 1):
        is_known = field_of(line) or line.text.startswith("@")
        if 0 < line.level <= lines[start].level and not is_known:
            return index
    return len(lines)


def _without_old(lines: list[Line]) -> tuple[list[Line], Line | None]:
    """The lines outside of sections about old workflows and examples, and the first such heading."""
    live: list[Line] = []
    first: Line | None = None
    level = 0  # of the old section that is open; 7 below a plain line
    for line in lines:
        text = line.text[:_LONGEST]
        if level and (0 < line.level <= level or (level == 7 and _ALONE.fullmatch(text))):
            level = 0
        if not level and _is_old(line, text):
            level = line.level or 7
            first = first or line
        if not level:
            live.append(line)
    return live, first


def _is_old(line: Line, text: str) -> bool:
    if not line.level:
        return "workflow" in text.casefold() and bool(_OLD_ALONE.fullmatch(text))
    return field_of(line) is None and bool(_ABOUT_OLD.match(text))
