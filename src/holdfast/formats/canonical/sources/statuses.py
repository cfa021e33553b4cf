"""People state a status in many words and signs, alone or behind a title; all mean one of five."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, cast

from holdfast.formats.canonical.sources import Status
from holdfast.formats.canonical.sources.values import MARKS, SYMBOLS, bare, tidy
from holdfast.patterns import pattern

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

_RUNNING = (
    r"in[\s_-]?progress|active|ongoing|wip|under[\s-]?way|en\s+cours|en\s+curso|in\s+corso"
    r"|in\s+arbeit|in\s+bearbeitung|em\s+andamento"
)
_STATUS = pattern(
    rf"(?P<in_progress>{_RUNNING})|(?P<blocked>blocked|on[\s_-]?hold|paused)"
    r"|(?P<completed>completed?|done|finished|shipped)|(?P<cancelled>cancell?ed|abandoned|superseded|skipped|dropped)"
    r"|(?P<not_started>not[\s_-]started|planned|pending|draft|proposed|to-?do)",
    re.IGNORECASE,
)
_STARTED = pattern(r"started\b", re.IGNORECASE)  # a line "Started: May" tells a date
_ALL = pattern(
    r"(?:all|everything|fully)\s+(?:(?:of\s+it|the|[0-9]+)\s+)?"
    r"(?:(?:phases|steps|tasks|work)\s+)?(?:(?:is|are)\s+)?",
    re.IGNORECASE,
)
_ALL_PHASES = pattern(r"\ball\s+(?:[\w-]+\s+)?(?:phases|steps)\b", re.IGNORECASE)
_RUNNING_SIGNS = "🔄🚧🟡⏳"  # in front of any words
_IDLE = pattern(r"(?:a?waiting|queued|upcoming|next|later|scheduled)\b", re.IGNORECASE)
_DOING = (
    rf"(?:{_RUNNING}|doing|implementing|testing|fixing|building|writing|working|reviewing|starting"
    r"|continuing)"
)
# What shows that "done" is not said of the whole: parts, what is still to do, other signs.
_GOES_ON = pattern(
    rf"\b(?:(?:phase|step|stage|milestone)s?|still|but|except|remaining|pending|blocked|awaiting|{_DOING})\b"
    rf"|[{_RUNNING_SIGNS}⏸⛔❌🚫⬜☐]|^\W*:\s*[^\W\d]",
    re.IGNORECASE,
)
_CLAUSE = pattern(rf"(?:^|[;,:.(|–—✅✔☑✓]|-\s)[\s{MARKS}]*{_DOING}\b", re.IGNORECASE)
_OPTIONS = pattern(r"(?:(?<!\s)\s++|)(?:\||/|\bor\b)\s*+")
_LONGEST_OPTION = 30
# "Complete rewrite needed" is no status, "Complete since Monday" is one.
_ENDS = pattern(r"\s*(?:$|[^\w\s]|(?:on|at|since|as|in|by)\b|[0-9])")
_AROUND = pattern(rf"[{MARKS}\s{SYMBOLS}.!()\[\]]*+")
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = (
    r"(?:(?:on|since|at|as\s+of)\s+)?(?:[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[T ][0-9:]{4,8}Z?)?"
    rf"|[0-9]{{1,2}}\.?\s+{_MONTH}(?:\s+[0-9]{{4}})?|{_MONTH}\s+[0-9]{{1,4}}(?:,?\s+[0-9]{{4}})?)"
)
_DATED = pattern(rf"(?<![\s(\[,–—:-])[\s(\[,–—:-]++{_DATE}[)\]\s.]*$", re.IGNORECASE)
_LONGEST_DATE = 60
_ENDING = pattern(
    r"(?:^|(?<![^\W_]))[\s:–—-]*(?<!not )(?<!not-)(?:in[\s_-]progress|ongoing)\W*$", re.IGNORECASE
)
_RUNS = {"in_progress", "blocked"}
ARROW = pattern(r"(?:(?<!\s)\s++|)(?:→|⇒|➡\ufe0f?|➔|⟶|[-=]>)\s*")  # from one value to the next
_BETWEEN = (" - ", " – ", " — ", ": ", " | ")  # a title and its status


def status_of(value: str) -> Word | None:
    """The status that a value states of the whole; behind an arrow stands the one that holds."""
    value = ARROW.split(value)[-1]
    if is_choice(value):
        return None
    at, sign, match = _beginning(value)
    word = _word(match)
    if _denies(value, at):
        return word
    if match and word in {"completed", "cancelled"}:
        rest = _ALL_PHASES.sub("", _undated(value[match.end() :]))
        return None if _GOES_ON.search(rest) or sign in _RUNS else word
    if word:
        return word if sign != "completed" or word in _RUNS or whole_status(value) else None
    if _STARTED.match(value, at) and _ENDS.match(value, at + len("started")):
        return "in_progress"
    return _by_sign(value, at)


def part_status(value: str) -> Word | None:
    """The status of one phase, where a sign decides before any words that do not contradict it."""
    if word := status_of(value):
        return word
    at, _, _ = _beginning(value)
    return None if is_choice(value) or _GOES_ON.search(value, at) else first_status(value)


def speaks_of_running(text: str, start: int = 0) -> bool:
    """Whether a status that is not understood as a whole has a part which says that work goes on."""
    return any(sign in text for sign in "🔄🚧") or bool(_CLAUSE.search(text, start))


def is_choice(value: str) -> bool:
    """Whether a value is a template's list of statuses to choose from."""
    parts = _OPTIONS.split(value.strip(f"{MARKS}[](){{}}<> ")) if len(value) <= _LONGEST else []
    if len(parts) < 2 or any(len(part) > _LONGEST_OPTION for part in parts):
        return False
    return len({word for part in parts if (word := _whole(part.strip()))}) > 1


def first_status(value: str) -> Word | None:
    """The status that a value begins with, whatever it goes on to say."""
    value = ARROW.split(value)[-1]
    at, sign, match = _beginning(value)
    return _word(match) or (None if _denies(value, at) else sign)


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
        word = SIGNS[title[0]]
        goes_on = word == "completed" and speaks_of_running(title, 1)
        return _named(title[1:]), None if goes_on else word
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
    text, remark = _undated(text), ""
    if text.endswith(")") and (opening := text.rfind("(")) > 0:
        text, remark = text[:opening], text[opening:]
    at, sign, match = _beginning(text)
    word = sign if at == len(text) else None
    if match and _AROUND.fullmatch(text, match.end()):
        word = _word(match)
    said = _ALL_PHASES.sub("", remark) + "".join(sign for sign in text if sign in _RUNNING_SIGNS)
    return None if word == "completed" and _GOES_ON.search(said) else word


def _undated(text: str) -> str:
    """A text without the date behind it."""
    end = text[-_LONGEST_DATE:]
    return text[: len(text) - len(end)] + _DATED.sub("", end)


def _by_sign(value: str, at: int) -> Word | None:
    """The status by the sign in front: a running one before any words, others if that is all."""
    lead = value[:at]
    running = next((sign for sign in lead if sign in _RUNNING_SIGNS), "")
    if running:
        is_told = running in SIGNS or (at < len(value) and not _IDLE.match(value, at))
        return "in_progress" if is_told or running == "🟡" else None
    sign = _signed(lead)
    return sign if sign == "blocked" or whole_status(value) else None


def _beginning(value: str) -> tuple[int, Word | None, re.Match[str] | None]:
    """Where the words of a value begin, the sign before them, and the status word that they begin with.

    "All phases" or the like may stand before that. It is no part of a longer word or phrase.
    """
    around = _AROUND.match(value)
    at = around.end() if around else 0
    whole = _ALL.match(value, at)
    match = _STATUS.match(value, whole.end() if whole else at)
    if match and (
        value[match.end() : match.end() + 1].isalnum()
        or (_word(match) == "completed" and not _ENDS.match(value, match.end()))
    ):
        match = None
    return at, _signed(value[:at]), match


def _denies(value: str, at: int) -> bool:
    return value[at : at + 4].casefold() == "not "


def _word(match: re.Match[str] | None) -> Word | None:
    return cast("Word", match.lastgroup) if match else None


def _signed(text: str) -> Word | None:
    return next((SIGNS[sign] for sign in text if sign in SIGNS), None)


def _named(title: str) -> str:
    return tidy(bare(title.strip(f"{SEPARATORS}\ufe0f{''.join(SIGNS)}")))
