"""People say in many ways at which phase they are: "4/10 - X", "4 of 10", "4 (X)" or a mere name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.formats.canonical.sources import PhaseMark, statuses, values
from holdfast.formats.canonical.sources.words import CODES, NUMBERS, OF, SIGNS, VAGUE, Word
from holdfast.patterns import pattern

_MOST_PHASES = 9_999
_NOUNS = sorted(statuses.nouns(), reverse=True)
_LATIN = "|".join([noun for noun in _NOUNS if noun[0] < "\u2e80"])
_HAN = "|".join([noun for noun in _NOUNS if noun[0] >= "\u2e80"])
_WORDS = "|".join(sorted(NUMBERS, key=len, reverse=True))
_BEHIND_WORD = rf"(?=\s*(?:$|[-–—:：|(（,.*_{''.join(SIGNS)}\]]|/|of\s+[0-9a-z]))"
_OF = rf"(?:\s*+/\s*+|\s*+\(?of(?![a-z])\s*+|\s++(?:{OF.replace(', ', '|')})\s++)"
_NUMBER = pattern(
    rf"[\s_]*(?:(?:no|nr|n)[.°º]\s*)?#?-?(?:(?P<number>[0-9]{{1,4}})(?P<part>[a-z](?![^\W_])|(?:\.[0-9]{{1,4}})+)?"
    rf"|(?P<word>{_WORDS})(?<![Xx]){_BEHIND_WORD}|(?<=\s)(?P<letter>[A-WYZ]){_BEHIND_WORD})"
    rf"(?:{_OF}#?(?P<total>[0-9]{{1,4}}|(?:{_WORDS})(?!\w))\)?)?",
    re.IGNORECASE,
)
# The number may come before the noun: "第二阶段", "2단계", "1. Aşama", "1ª fase".
_BEFORE = pattern(
    r"(?:第\s*)?(?P<number>[0-9]{1,3}|[一二三四五六七八九十])(?:[个個]|\s*(?:[.ªº]|ère|er|e|ème|-?[йя])\s+(?=[a-zа-я]))?",
    re.IGNORECASE,
)
_CODE = pattern(rf"[{''.join(CODES.values())}](?=-?[0-9])", re.IGNORECASE)
_NUMBER_FIRST = pattern(rf"(?:第 ?)?([0-9]{{1,3}}|[一二三四五六七八九十]) ?[个個]?(?:{_HAN})")
_SEPARATED = pattern(rf"\s*(?:$|[-–—:|,.(\[{values.SYMBOLS}])")
# "2-3" and "2 and 3" are several phases, "2..x" is none. "2nd pass" and "3D models" are names.
_RANGE = r"(?:and|to|or|und|bis|oder|et|ou|y|o|e|i|и|do|til|thru|vs|plus|x)"
_IS_RANGE = pattern(
    rf"\.[0-9.]|[/%?]|:[0-9]|\s*[-–—][0-9]|\s*[+&,]\s*#?[0-9]|\s+(?:{_RANGE})\s+#?[0-9]|\s+(?:and|to|or|through)\s|\s*[&+]",
    re.IGNORECASE,
)
_UNREADABLE = pattern(
    rf"{values.DECORATION}(?:(?:{_LATIN}|{_HAN})\s*)?#?(?:[0-9](?![0-9]*[^\W\d])|(?:[0-9?]+|\w+)\s*(?:/|(?<=\s)of\s)\s*(?:[0-9?]|(?:{_WORDS})\b))",
    re.IGNORECASE,
)
_LETTERS = pattern(r"\w*\s*[NMXY]\s*/\s*[NMXY]\b", re.IGNORECASE)
_NO_NAMES = {"", "phase", "phases", "phase name", "name", "title"}
_BEHIND = pattern(
    rf"(?P<name>[^\W\d][^()0-9]{{0,200}}?)\s*+(?:,\s*+|(?<=\s)[-–—]\s|\((?=[^()]*+\)$))"
    rf"(?P<counted>(?:(?:{_LATIN})\s+)?(?:[0-9]+|{_WORDS}){_OF}(?:[0-9]+|{_WORDS})\)?)",
    re.IGNORECASE,
)
_MARKED = pattern("^`([^`]+)`")
_DECORATION = pattern(values.DECORATION)
_KEYCAP = pattern("([0-9])\ufe0f?\u20e3")
_AROUND = f"{statuses.SEPARATORS};(\ufe0f"
_CLEAR = "|".join([noun for noun in _NOUNS if noun not in VAGUE.split(", ")])
_MENTIONED = pattern(rf"(?<!\w)(?:{_CLEAR})s?\s*(?=#?[0-9])|(?<!\w)[mps](?=[0-9])", re.IGNORECASE)
# What stands before the phase where the work is: "Next: Phase 29", "all done except Phase 3".
_POINTS = pattern(
    r"(?:\b(?:next(?:\s+up)?|now|currently|except(?:\s+for)?|remaining|remains|only|starting|working\s+on|moving\s+(?:on\s+)?to"
    r"|resum\w+\s+(?:at|with)|continu\w+\s+with|weiter\s+mit|als\s+nächstes|prochaine|siguiente|próxim[ao]|prossim[ao])"
    r"|下一步|接下来|次は|다음)[\s:：]*(?:is\s+)?(?:the\s+)?[\W_]*$",
    re.IGNORECASE,
)
_DONE_UP_TO = pattern(
    rf"(?<!\w)(?:{_LATIN})s?\s+[01]\s*(?:[-–—]|to|through)\s*(?P<done>[0-9]{{1,4}})(?:\s+of\s+(?P<total>[0-9]{{1,4}}))?"
    r"\s*(?:(?:are|all)\s+)?(?:✅|done|completed?|finished)(?P<rest>[^0-9]{0,20}(?P<left>[0-9]{1,4})\s+(?:remain|left|to\s+go))?",
    re.IGNORECASE,
)


def plain_digits(text: str) -> str:
    return _KEYCAP.sub(r"\1", text).replace("🔟", "10") if "\u20e3" in text else text


def number_of(text: str) -> int:
    """A number in digits or as a word; one that is too long to be true stays too large."""
    return int(text[:9]) if text[0].isdigit() else NUMBERS[text.casefold()]


class Numbered(NamedTuple):
    """A phase as it is written in numbers."""

    noun: str  # what it is called; nothing for a bare number
    number: int
    total: int | None
    is_part: bool
    lead: str  # the marks and signs before it
    counted: str  # from the number on
    rest: str  # behind the number, and behind the noun


def numbered(text: str, *, bare: bool = False) -> Numbered | None:
    """The phase that *text* begins with: a noun or a code with its number, or a *bare* number."""
    text = plain_digits(text)
    around = _DECORATION.match(text)
    at = around.end() if around else 0
    noun, match, end = "", None, 0
    if found := statuses.longest(statuses.nouns(), text, at):
        noun = text[at : found[0]].lower()
        glued = noun[-1].isascii() and text[found[0] : found[0] + 1].isalpha()
        match = None if glued else _NUMBER.match(text, found[0])
    elif code := _CODE.match(text, at):
        noun, match = code[0].lower(), _NUMBER.match(text, code.end())
    elif before := _BEFORE.match(text, at):
        found = statuses.longest(statuses.nouns(), text, before.end())
        if found and not text[found[0] : found[0] + 1].isalnum():
            noun, match, end = text[before.end() : found[0]].lower(), before, found[0]
    if match is None and bare:
        match = _NUMBER.match(text, at)
    if match is None:
        return None
    said, rest = match.groupdict(), text[end or match.end() :]
    letter, total, part = said.get("letter"), said.get("total"), said.get("part")
    if not end and ((rest[:1].isascii() and rest[:1].isalnum()) or _IS_RANGE.match(rest)):
        return None
    if bare and part and part.isalpha() and not total and not _SEPARATED.match(rest):
        return None  # "3D models"
    return Numbered(
        noun,
        ord(letter.upper()) - 64 if letter else number_of(said["number"] or said["word"]),
        number_of(total) if total else None,
        part is not None,
        text[:at],
        text[match.start() :],
        rest,
    )


class PhaseReading(NamedTuple):
    """What a phase expression says; not everything that is written there can be read."""

    mark: PhaseMark | None
    word: Word | None = None
    readable: bool = True

    @property
    def current(self) -> int | None:
        return self.mark.current if self.mark else None

    @property
    def is_counted(self) -> bool:
        """Whether it speaks of a number, be it a wrong one."""
        return not self.readable or self.current is not None


def phase_of(value: str) -> PhaseReading:
    """Read what stands behind "Phase:"."""
    value = _latest(_unwrapped(values.bare(_MARKED.sub(r"\1", plain_digits(value)))))
    sign = SIGNS.get(value[:1])
    if values.is_unfilled(value) or _LETTERS.match(value):
        return PhaseReading(None, sign)
    if found := numbered(value, bare=True):
        name, word = phase_name(found.rest)
        return _counted(found, name, word or sign)
    if _UNREADABLE.match(value):
        return PhaseReading(None, readable=False)
    name, word = phase_name(value)
    behind = _BEHIND.fullmatch(name or "")
    if behind and (found := numbered(behind["counted"], bare=True)):
        return _counted(found, behind["name"], word)
    return PhaseReading(PhaseMark(name=name) if name else None, word or sign)


def counted_phase(line: str) -> str | None:
    """The expression in a line like "Phase 4/10: X", which says the same without a label."""
    found = numbered(line) if statuses.DIGIT.search(line) else None
    if (
        found is None
        or not found.total
        or len(found.noun) == 1
        or not _SEPARATED.match(found.rest.lstrip(values.MARKS))
    ):
        return None
    return values.bare(found.counted)


def phase_in_status(value: str) -> PhaseReading | None:
    """The phase that a status speaks of: "In Progress - Phase 2 of 3", "Phase 1 done. Next: Phase 2"."""
    value = _noun_first(value[: values.MOST_CHARACTERS])
    first, *mentions = _MENTIONED.split(value)
    said = list(_with_signs(first, mentions))
    readings = [r for text, sign in said if (r := _mentioned(text, sign))]
    running = [reading for reading in readings if reading.word in {"in_progress", "blocked"}]
    if len(running) == 1:
        return running[0]
    for before, (text, sign) in reversed(list(zip([first, *mentions], said, strict=False))):
        if _POINTS.search(before[-_CUE:]) and (reading := _mentioned(text, sign)):
            return reading._replace(word="in_progress")
    if len(mentions) == len(readings) == 1 and not readings[0].word:
        return readings[0]
    return _behind_the_done(value)


_CUE = 40  # how far before the phase it stands


def _behind_the_done(value: str) -> PhaseReading | None:
    """ "Tasks 1-3 of 11 done" says that the fourth is next."""
    found = _DONE_UP_TO.search(value)
    if found is None:
        return None
    done, left = int(found["done"]), int(found["left"] or 0)
    total = int(found["total"]) if found["total"] else done + left if left else None
    mark = sane_mark(done + 1, total, None) if done != total else None
    return PhaseReading(mark) if mark else None


def _noun_first(text: str) -> str:
    if text.isascii():
        return text
    return _NUMBER_FIRST.sub(lambda match: f"phase {number_of(match[1])} ", text)


def stated_status(value: str) -> Word | None:
    """The status that a value begins with, or that of the phase that it speaks of."""
    word = statuses.status_of(value)
    if word or (reading := phase_in_status(value)) is None:
        return word
    return reading.word


def phase_name(rest: str) -> tuple[str | None, Word | None]:
    """The name behind a phase's number, and the status behind the name."""
    rest = rest.strip(statuses.SEPARATORS)
    word = statuses.whole_status(rest)
    if word and (rest[:1] in {"(", "[", *SIGNS} or not statuses.is_weak(rest)):
        return None, word
    name, word = statuses.split_status(_unwrapped(rest))
    name = _unwrapped(name)
    nameless = name.casefold() in _NO_NAMES or values.is_unfilled(name) or statuses.is_dates(name)
    return (None if nameless else name), word


def sane_mark(current: int | None, total: int | None, name: str | None) -> PhaseMark | None:
    """A mark whose numbers can be true, without them if they cannot."""
    if current is None or not 1 <= current <= (total or _MOST_PHASES) <= _MOST_PHASES:
        current = total = None
    return PhaseMark(current, total, name) if current or name else None


def _counted(found: Numbered, name: str | None, word: Word | None) -> PhaseReading:
    """A reading with numbers, which is unreadable where they cannot be true."""
    mark = sane_mark(found.number, found.total, name)
    return PhaseReading(mark, word, bool(mark and mark.current))


def _mentioned(text: str, sign: Word | None) -> PhaseReading | None:
    """What stands behind "phase" in a sentence."""
    found = numbered(text, bare=True)
    if found is None:
        return None
    rest = _balanced(found.rest)
    before, running = statuses.ending_status(rest)
    word = statuses.first_status(rest.lstrip(f"{statuses.SEPARATORS}(")) or running or sign
    name = phase_name(before)[0] if _SEPARATED.match(rest) else None
    reading = _counted(found, name, word)
    return reading if reading.readable else None


def _with_signs(first: str, mentions: list[str]) -> Iterator[tuple[str, Word | None]]:
    """What stands behind each "phase", with its sign where the signs stand in front."""
    sign = _last_sign(first)
    for text in mentions:
        following = _last_sign(text) if sign else None
        yield text.rstrip(f"{_AROUND}{''.join(SIGNS)}") if following else text, sign
        sign = following


def _last_sign(text: str) -> Word | None:
    return SIGNS.get(text.rstrip(_AROUND)[-1:])


def _balanced(text: str) -> str:
    """Text without the separators behind it and without brackets that it does not open."""
    text = text.rstrip(statuses.SEPARATORS)
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip(statuses.SEPARATORS)
    return text


def _latest(value: str) -> str:
    """What stands behind the last arrow, if that is a phase with a number."""
    *before, latest = statuses.ARROW.split(value)
    return latest if before and numbered(latest, bare=True) else value


def _unwrapped(text: str) -> str:
    for opening, closing in ("()", "[]"):
        if text.startswith(opening) and text.find(closing) == len(text) - 1:
            return text[1:-1].strip()
    return text
