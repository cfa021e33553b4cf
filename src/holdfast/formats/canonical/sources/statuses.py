"""People state a status in many words and signs, alone or behind a title; all mean one of five."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

from holdfast.formats.canonical.declaration import Status
from holdfast.formats.canonical.sources.values import MARKS, SYMBOLS, bare, tidy

Word: TypeAlias = Literal["in_progress", "blocked", "completed", "cancelled", "not_started"]

SIGNS: dict[str, Word] = {
    **dict.fromkeys("🔄🚧", "in_progress"),
    **dict.fromkeys("⏸⛔", "blocked"),
    **dict.fromkeys("✅✔☑✓", "completed"),
    **dict.fromkeys("❌🚫", "cancelled"),
    **dict.fromkeys("⬜☐", "not_started"),
}
SEPARATORS = " \t-–—:|,."
_LONGEST = 200  # with its remark

_STATUS = re.compile(
    r"(?P<in_progress>in[\s_-]?progress|active|ongoing|wip)|(?P<blocked>blocked|on[\s_-]?hold|paused)"
    r"|(?P<completed>completed?|done|finished|shipped)|(?P<cancelled>cancell?ed|abandoned|superseded|skipped|dropped)"
    r"|(?P<not_started>not[\s_-]started|planned|pending|draft|proposed|to-?do)",
    re.IGNORECASE,
)
# "Complete rewrite needed" is no status, "Complete since Monday" is one.
_ENDS = re.compile(r"\s*(?:$|[^\w\s]|(?:on|at|since|as|in|by)\b|[0-9])")
_AROUND = re.compile(rf"[{MARKS}\s{SYMBOLS}.!()\[\]]*+")
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = (
    r"(?:(?:on|since|at|as\s+of)\s+)?(?:[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[T ][0-9:]{4,8}Z?)?"
    rf"|[0-9]{{1,2}}\.?\s+{_MONTH}(?:\s+[0-9]{{4}})?|{_MONTH}\s+[0-9]{{1,4}}(?:,?\s+[0-9]{{4}})?)"
)
_DATED = re.compile(rf"[\s(\[,–—:-]+{_DATE}[)\]\s.]*$", re.IGNORECASE)
_LONGEST_DATE = 60
_ENDING = re.compile(
    r"(?:^|(?<![^\W_]))[\s:–—-]*(?<!not )(?<!not-)(?:in[\s_-]progress|ongoing)\W*$", re.IGNORECASE
)
ARROW = re.compile(r"\s*+(?:→|⇒|➡\ufe0f?|➔|⟶|[-=]>)\s*")  # from one value to the next
_BETWEEN = (" - ", " – ", " — ", ": ", " | ")  # a title and its status


def status_of(value: str) -> Word | None:
    """The status that a value begins with; behind an arrow stands the one that holds."""
    value = ARROW.split(value)[-1]
    at = _first_word(value)
    match = _STATUS.match(value, at)
    if match and not value[match.end() : match.end() + 1].isalnum():
        word = _word(match)
        if word != "completed" or _ENDS.match(value, match.end()):
            return word
    if value[at : at + 4].casefold() == "not ":
        return None
    return _signed(value[:at])


def whole_status(text: str) -> Word | None:
    """The status, if the text is nothing but one, with or without a sign, a date, a remark in brackets."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    words = [_whole(part) for part in ARROW.split(text)]
    return words[-1] if all(words) else None


def split_status(title: str) -> tuple[str, Word | None]:
    """A title, and the status that stands before or behind it."""
    title = title.strip()
    closed = title.endswith((")", "]"))
    undated = _undated(title)
    cuts = {undated.rfind(mark) for mark in (*_BETWEEN, *SIGNS, *("([" if closed else ""))}
    if arrow := ARROW.search(undated):
        cuts |= {undated.rfind(mark, 0, arrow.start()) for mark in (*_BETWEEN, *SIGNS)}
    for cut in sorted(cuts):
        tail = title[cut:].lstrip(f"{SEPARATORS}{MARKS}")
        if cut > 0 and (word := whole_status(tail[1:-1] if tail[:1] in {"(", "["} else tail)):
            return _named(title[:cut]), word
    if title and title[0] in SIGNS:
        return _named(title[1:]), SIGNS[title[0]]
    return _named(title), None


def ending_status(text: str) -> tuple[str, Word | None]:
    """A text, and the running status that its last words are: "Build in progress"."""
    match = _ENDING.search(text[-_LONGEST_DATE:])
    if match is None or len(text) > _LONGEST:
        return text, None
    return text[: len(text) - len(match[0])], "in_progress"


def status_for(word: Word | None) -> Status | None:
    """The status as a state file has it, which knows no cancelled ones."""
    return None if word == "cancelled" else word


def _whole(text: str) -> Word | None:
    text = _undated(text)
    if text.endswith(")") and (opening := text.rfind("(")) > 0:
        text = text[:opening]
    at = _first_word(text)
    match = _STATUS.match(text, at)
    if match and _AROUND.fullmatch(text, match.end()):
        return _word(match)
    return _signed(text) if at == len(text) else None


def _undated(text: str) -> str:
    """A text without the date behind it."""
    end = text[-_LONGEST_DATE:]
    return text[: len(text) - len(end)] + _DATED.sub("", end)


def _first_word(text: str) -> int:
    around = _AROUND.match(text)
    return around.end() if around else 0


def _word(match: re.Match[str]) -> Word | None:
    return next((word for word in get_args(Word) if match.lastgroup == word), None)


def _signed(text: str) -> Word | None:
    return next((SIGNS[sign] for sign in text if sign in SIGNS), None)


def _named(title: str) -> str:
    return tidy(bare(title.strip(f"{SEPARATORS}\ufe0f{''.join(SIGNS)}")))
