"""The words of the grammar as people write them. A status has many, alone or behind a title; all mean one of six."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from holdfast.formats.canonical.sources import Status
from holdfast.formats.canonical.sources.values import MARKS, SYMBOLS, bare, tidy
from holdfast.formats.canonical.sources.words import (
    PHASES,
    SIGNS,
    STATUSES,
    STEPS,
    Word,
)
from holdfast.patterns import pattern

SEPARATORS = " \t-–—:|,.：、，。"
_LONGEST = 200  # with its remark
_LONGEST_WORD = 24

_T = TypeVar("_T")
_CHOICE = re.compile(r"\[(\w+)\](\??)|(\w)\?|(_)")


# Behind a dash these may as well be the end of a name: "Blog - New". In brackets, or with a sign, they are no part of it.
_WEAK = pattern(
    r"(?:open|new|next|planning|proposal|ready.*|waiting|active|closed|released|implemented|delivered|landed"
    r"|merged|deployed|draft|implementing|executing|current|future|optional|partial|entwurf|list[oa]s?|pront[oa]s?|hech[oa]s?|fatt[oaie]|doing)\W*",
    re.IGNORECASE,
)
_RUNNING = STATUSES["in_progress"]["English"].replace(", ", "|").replace("_", r"[\s_-]?")
_STARTED = pattern(r"started\b", re.IGNORECASE)  # a line "Started: May" tells a date
_ALL = pattern(
    r"(?:all|everything|fully)\s+(?:(?:of\s+it|the|[0-9]+)\s+)?"
    r"(?:(?:phases|milestones|steps|tasks|work)\s+)?(?:(?:is|are)\s+)?",
    re.IGNORECASE,
)
_ALL_PHASES = pattern(r"\ball\s+(?:[\w-]+\s+)?(?:phases|milestones|steps)\b", re.IGNORECASE)
_RUNNING_SIGNS = "🔄🚧🟡⏳"  # in front of any words
_IDLE = pattern(r"(?:a?waiting|queued|upcoming|next|later|scheduled)\b", re.IGNORECASE)
_DOING = rf"(?:{_RUNNING}|testing|fixing|building|writing|working|reviewing|starting|continuing)"
# What shows that "done" is not said of the whole: parts, what is still to do, other signs.
_GOES_ON = pattern(
    rf"\b(?:(?:phase|step|stage|milestone|task|sprint)s?|still|but|except|remaining|remains|pending|blocked|awaiting|next|{_DOING})\b"
    rf"|[{_RUNNING_SIGNS}⏸⛔❌🚫⬜☐]|^\W*:\s*[^\W\d]",
    re.IGNORECASE,
)
_CLAUSE = pattern(rf"(?:^|[;,:.(|–—✅✔☑✓]|-\s)[\s{MARKS}]*{_DOING}\b", re.IGNORECASE)
_OPTIONS = pattern(r"(?:(?<!\s)\s++|)(?:\||/|\bor\b)\s*+")
_LONGEST_OPTION = 30
# "Complete rewrite needed" is no status, "Complete since Monday" is one.
_ENDS = pattern(r"\s*(?:$|[^\w\s]|(?:on|at|since|as|in|by|am|seit|le|el|em|il|в)\b|[0-9])")
_AROUND = pattern(rf"[{MARKS}\s{SYMBOLS}.!()\[\]（）【】]*+")
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = (
    r"(?:(?:on|since|at|as\s+of)\s+)?(?:[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[T ][0-9:]{4,8}Z?)?"
    rf"|[0-9]{{1,2}}\.?\s+{_MONTH}(?:\s+[0-9]{{4}})?|{_MONTH}\s+[0-9]{{1,4}}(?:,?\s+[0-9]{{4}})?)"
)
_DATED = pattern(rf"(?<![\s(\[,–—:-])[\s(\[,–—:-]++{_DATE}[)\]\s.]*$", re.IGNORECASE)
# Without a way back: where one date ends and the next begins is ambiguous, which would take exponential time.
_DATES = pattern(rf"(?:(?>{_DATE})|\s|[–—-]|to\b)++", re.IGNORECASE)
_LONGEST_DATE = 60
DIGIT = pattern("[0-9]")  # asked first, since the expressions that need one are long to compile
_ENDING = pattern(
    r"(?:^|(?<![^\W_]))[\s:–—-]*(?<!not )(?<!not-)(?:in[\s_-]progress|ongoing|under\s?way)\W*$",
    re.IGNORECASE,
)
_PERCENT = pattern(r"\W*(?P<of>[0-9]{1,3})\s*%")
_RUNS = {"in_progress", "blocked"}
ARROW = pattern(r"(?:(?<!\s)\s++|)(?:→|⇒|➡\ufe0f?|➔|⟶|[-=]>)\s*")  # from one value to the next
_BETWEEN = (" - ", " – ", " — ", ": ", " | ", "：", "—")  # a title and its status


def spellings(table: Mapping[str, str]) -> list[str]:
    """Every spelling of the words of a table."""
    found: list[str] = []
    for words in table.values():
        pending = words.split(", ")
        while pending:
            word = pending.pop()
            choice = _CHOICE.search(word)
            if choice is None:
                found.append(word)
                continue
            letters, may_miss, letter, _ = choice.groups()
            options = list(letters) if letters else [letter] if letter else [" ", "-"]
            if may_miss or not letters:
                options.append("")
            for option in options:
                pending.append(f"{word[: choice.start()]}{option}{word[choice.end() :]}")
    return found


@cache
def status_words() -> dict[str, Word]:
    return {word: status for status, table in STATUSES.items() for word in spellings(table)}


@cache
def nouns() -> dict[str, str]:
    return dict.fromkeys(spellings(STEPS), "step") | dict.fromkeys(spellings(PHASES), "phase")


def longest(known: Mapping[str, _T], text: str, at: int = 0) -> tuple[int, _T] | None:
    """Where the longest known word ends that stands in *text* from *at* on, and what it means."""
    raw = text[at : at + _LONGEST_WORD]
    folded = raw.lower().replace("_", " ")
    if len(folded) != len(raw):
        folded = raw  # a letter whose lower case has two
    for length in range(len(folded), 0, -1):
        if (meaning := known.get(folded[:length])) is not None:
            return at + length, meaning
    return None


def status_of(value: str) -> Word | None:
    """The status that a value states of the whole; behind an arrow stands the one that holds."""
    value = ARROW.split(value)[-1]
    if is_choice(value):
        return None
    at, sign, word, end = _beginning(value)
    if _denies(value, at):
        return word
    if word in {"completed", "cancelled"}:
        rest = _ALL_PHASES.sub("", _undated(value[end:]))
        return None if _GOES_ON.search(rest) or sign in _RUNS else word
    if word:
        return word if sign != "completed" or word in _RUNS or whole_status(value) else None
    if _STARTED.match(value, at) and _ENDS.match(value, at + len("started")):
        return "in_progress"
    if share := _PERCENT.match(value):
        percent = int(share["of"])
        return "in_progress" if 0 < percent < 100 else "completed" if percent else "not_started"
    return _by_sign(value, at) or (None if sign else ending_status(value)[1])


def part_status(value: str) -> Word | None:
    """The status of one phase, where a sign decides before any words that do not contradict it."""
    if word := status_of(value):
        return word
    return None if is_choice(value) or _GOES_ON.search(value) else first_status(value)


def speaks_of_running(text: str, start: int = 0) -> bool:
    """Whether a status that is not understood as a whole has a part which says that work goes on."""
    return any(sign in text for sign in "🔄🚧") or bool(_CLAUSE.search(text, start))


def is_choice(value: str) -> bool:
    """Whether a value is a template's list of statuses to choose from."""
    parts = _OPTIONS.split(value[:_LONGEST].strip(f"{MARKS}[](){{}}<> "))
    if any(len(part) > _LONGEST_OPTION for part in parts):
        return False
    return len({word for part in parts if (word := _whole(part.strip()))}) > 1


def first_status(value: str) -> Word | None:
    """The status that a value begins with, whatever it goes on to say."""
    _, sign, word, _ = _beginning(ARROW.split(value)[-1])
    return word or sign


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
    closed = title.endswith((")", "]", "）", "】"))
    undated = _undated(title)
    cuts = {undated.rfind(mark) for mark in (*_BETWEEN, *SIGNS, *("([（【" if closed else ""))}
    if arrow := ARROW.search(undated):
        cuts |= {undated.rfind(mark, 0, arrow.start()) for mark in (*_BETWEEN, *SIGNS)}
    for cut in sorted(cuts):
        tail = title[cut:].lstrip(f"{SEPARATORS}{MARKS}")
        is_bracketed = tail.startswith(("(", "[", "（", "【"))
        is_clear = is_bracketed or tail[:1] in SIGNS or tail.isupper()
        if cut <= 0 or (not is_clear and _WEAK.fullmatch(tail)):
            continue
        if word := whole_status(tail[1:-1] if is_bracketed else tail):
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


def behind_status(value: str) -> str:
    """What a status goes on to say behind its first word."""
    _, _, word, end = _beginning(value)
    return value[end:].strip(f"{SEPARATORS}{MARKS}") if word else ""


def is_weak(text: str) -> bool:
    """Whether a status is one of the words that are said of other things as well."""
    return bool(_WEAK.fullmatch(text))


def is_dates(text: str) -> bool:
    return len(text) <= _LONGEST_DATE and bool(_DATES.fullmatch(text))


def without_status(name: str) -> str:
    before, _, last = name.rpartition(" ")
    return before if before and last.lower() in status_words() else name


def status_for(word: Word | None) -> Status | None:
    """The status as a state file has it, which knows neither cancelled nor parked ones."""
    if word == "on_hold":
        return "blocked"
    return None if word == "cancelled" else word


def _whole(text: str) -> Word | None:
    text, remark = _undated(text), ""
    if text.endswith((")", "）")) and (opening := max(text.rfind("("), text.rfind("（"))) > 0:
        text, remark = text[:opening], text[opening:]
    at, sign, said_word, end = _beginning(text)
    word = sign if at == len(text) else None
    if said_word and _AROUND.fullmatch(text, end):
        word = said_word
    said = _ALL_PHASES.sub("", remark) + "".join(sign for sign in text if sign in _RUNNING_SIGNS)
    return None if word == "completed" and _GOES_ON.search(said) else word


def _undated(text: str) -> str:
    end = text[-_LONGEST_DATE:]
    if not DIGIT.search(end):
        return text
    return text[: len(text) - len(end)] + _DATED.sub("", end)


def _by_sign(value: str, at: int) -> Word | None:
    """The status by the sign in front: a running one before any words, others if that is all."""
    lead = value[:at]
    running = next((sign for sign in lead if sign in _RUNNING_SIGNS), "")
    if running:
        is_told = running in SIGNS or (at < len(value) and not _IDLE.match(value, at))
        return "in_progress" if is_told or running == "🟡" else None
    sign = _signed(lead)
    return sign if sign in {"blocked", "on_hold"} or whole_status(value) else None


def _beginning(value: str) -> tuple[int, Word | None, Word | None, int]:
    """Where the words of a value begin, the sign before them, the status that they begin with, and its end.

    "All phases" or the like may stand before that. It is no part of a longer word or phrase.
    """
    around = _AROUND.match(value)
    at = around.end() if around else 0
    whole = _ALL.match(value, at)
    found = longest(status_words(), value, whole.end() if whole else at)
    sign = _signed(value[:at])
    if found is None:
        return at, sign, None, at
    end, word = found
    goes_on = value[end - 1].isascii() and value[end : end + 1].isalnum()
    if goes_on or (
        word == "completed" and value[end - 1].isascii() and not _ENDS.match(value, end)
    ):
        return at, sign, None, at
    return at, sign, word, end


def _denies(value: str, at: int) -> bool:
    return value[at : at + 4].casefold() == "not "


def _signed(text: str) -> Word | None:
    return next((SIGNS[sign] for sign in text if sign in SIGNS), None)


def _named(title: str) -> str:
    return tidy(bare(title.strip(f"{SEPARATORS}\ufe0f⏳⌛{''.join(SIGNS)}")))
