"""People say in many ways at which phase they are: "4/10 - X", "4 of 10", "4 (X)" or a mere name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.formats.canonical.sources import PhaseMark, statuses, values
from holdfast.patterns import pattern

_MOST_PHASES = 9_999
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ROMAN_NUMBERS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")  # "Phase X" is any phase
_NUMBERS = {
    word: number for words in (NUMBER_WORDS, ROMAN_NUMBERS) for number, word in enumerate(words, 1)
}

_COUNTED = pattern(rf"{values.DECORATION}phase\s+(?P<value>#?[0-9].*)", re.IGNORECASE)
_PHASE = rf"{values.DECORATION}(?:phase\s+)?#?"
_SEPARATED = pattern(rf"\s*(?:$|[-–—:|,.(\[{values.SYMBOLS}])")
_NUMBER = f"(?:[0-9]++|(?:{'|'.join(NUMBER_WORDS)})(?![a-z]))"
_PART = r"(?:\.[0-9]+|[a-z](?![^\W_]))?"  # a phase "2.1" or "2b" is a part of phase 2
_OF = r"(?:\s*+/\s*+|\s*+\(?of(?![a-z])\s*+|\s++(?:out\s+of|von|van|de|di|su|sur|z|ze|af|av|od|din|из)\s++)"
_RANGE = r"(?:and|to|or|und|bis|oder|et|ou|y|o|e|i|и|do|til|thru|vs|plus|x)"
_TWO = pattern(
    rf"{_PHASE}(?P<current>{_NUMBER}){_PART}{_OF}#?(?P<total>{_NUMBER})\)?"
    r"(?!\w|\.[0-9])(?P<rest>.*)",
    re.IGNORECASE,
)
_ONE = pattern(
    rf"{_PHASE}(?:(?P<current>[0-9]++)(?:(?=$|\.?\s|[:(–—,\]]|-(?![0-9]))|\.[0-9]+(?=$|[\s:])|[a-z](?=\s*(?:$|[-–—:(,])))"
    rf"|(?P<word>{'|'.join(NUMBER_WORDS)})(?=\s*(?:$|[-–—:(])))(?P<rest>.*)",
    re.IGNORECASE,
)
_ANY = "(?:[0-9.?-]+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_BROKEN = pattern(
    rf"{_PHASE}(?:{_ANY}(?:\s*+/\s*+|\s++(?:out\s+)?of\s++){_ANY}|{_ANY}\s*+/\s*+\w+|\w+\s*+/\s*+{_ANY})(?!\w)(?P<rest>.*)",
    re.IGNORECASE,
)
# "2-3" and "2 and 3" are several phases, "2..x" is none. "2nd pass" and "3D models" are names.
_SEVERAL = pattern(rf"{_PHASE}[0-9]+(?:\s*[+&,]\s*|[-–—:]|\s+{_RANGE}\s+)#?[0-9]", re.IGNORECASE)
_UNNAMED = pattern(rf"{_PHASE}[0-9](?![0-9]*[^\W\d])", re.IGNORECASE)
_LETTERS = pattern(rf"{_PHASE}[NMXY]\s*/\s*[NMXY]\b", re.IGNORECASE)
_NO_NAMES = {"", "phase", "phases", "phase name", "name", "title"}
_BEHIND = pattern(
    rf"(?P<name>[^\W\d][^()0-9]{{0,200}}?)\s*+(?:,\s*+|(?<=\s)[-–—]\s|\((?=[^()]*+\)$))"
    rf"(?:(?:phase|step|stage)\s+)?(?P<current>{_NUMBER}){_OF}(?P<total>{_NUMBER})\)?",
    re.IGNORECASE,
)
_MARKED = pattern("^`([^`]+)`")
_KEYCAP = pattern("([0-9])\ufe0f?\u20e3")
_AROUND = f"{statuses.SEPARATORS};(\ufe0f"
_MENTIONED = pattern(r"\bphase\s+(?=#?[0-9])", re.IGNORECASE)


def plain_digits(text: str) -> str:
    """Text with plain digits for those on keys."""
    return _KEYCAP.sub(r"\1", text).replace("🔟", "10") if "\u20e3" in text else text


def number_of(text: str) -> int:
    """A number in digits or as a word; one that is too long to be true stays too large."""
    return int(text[:9]) if text[0].isdigit() else _NUMBERS[text.casefold()]


class PhaseReading(NamedTuple):
    """What a phase expression says; not everything that is written there can be read."""

    mark: PhaseMark | None
    word: statuses.Word | None = None
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
    sign = statuses.SIGNS.get(value[:1])
    if values.is_unfilled(value) or _LETTERS.match(value):
        return PhaseReading(None, sign)
    found = _TWO.match(value)
    if not found:
        if _SEVERAL.match(value):
            return PhaseReading(None, readable=False)
        found = _ONE.match(value) or _BROKEN.match(value)
    if found:
        name, word = phase_name(found["rest"])
        return _counted(found, name, word or sign)
    if _UNNAMED.match(value):
        return PhaseReading(None, readable=False)
    name, word = phase_name(value)
    if behind := _BEHIND.fullmatch(name or ""):
        return _counted(behind, behind["name"].strip(), word)
    return PhaseReading(PhaseMark(name=name) if name else None, word or sign)


def counted_phase(line: str) -> str | None:
    """The expression in a line like "Phase 4/10: X", which says the same without a label."""
    match = _COUNTED.match(plain_digits(line))
    value = values.bare(match["value"]) if match else ""
    two = _TWO.match(value)
    return value if two and _SEPARATED.match(two["rest"]) else None


def phase_in_status(value: str) -> PhaseReading | None:
    """The phase that a status speaks of: "In Progress - Phase 2 of 3", "Phase 2 in progress"."""
    first, *mentions = _MENTIONED.split(value[: values.MOST_CHARACTERS])
    readings = [r for said in _with_signs(first, mentions) if (r := _mentioned(*said))]
    running = [reading for reading in readings if reading.word in {"in_progress", "blocked"}]
    if len(running) == 1:
        return running[0]
    return readings[0] if len(mentions) == len(readings) == 1 and not readings[0].word else None


def stated_status(value: str) -> statuses.Word | None:
    """The status that a value begins with, or that of the phase that it speaks of."""
    word = statuses.status_of(value)
    if word or (reading := phase_in_status(value)) is None:
        return word
    return reading.word


def stated_part(value: str) -> statuses.Word | None:
    """The status that *value* states for a single phase."""
    return statuses.part_status(value) or stated_status(value)


def phase_name(rest: str) -> tuple[str | None, statuses.Word | None]:
    """The name behind a phase's number, and the status behind the name."""
    rest = rest.strip(statuses.SEPARATORS)
    if (word := statuses.whole_status(rest)) and rest[:1] in {"(", "[", *statuses.SIGNS}:
        return None, word
    name, word = statuses.split_status(_unwrapped(rest))
    name = _unwrapped(name)
    nameless = name.casefold() in _NO_NAMES or values.is_unfilled(name)
    return (None if nameless else name), word


def sane_mark(current: int | None, total: int | None, name: str | None) -> PhaseMark | None:
    """A mark whose numbers can be true, without them if they cannot."""
    if current is None or not 1 <= current <= (total or _MOST_PHASES) <= _MOST_PHASES:
        current = total = None
    return PhaseMark(current, total, name) if current or name else None


def _counted(match: re.Match[str], name: str | None, word: statuses.Word | None) -> PhaseReading:
    """A reading with numbers, which is unreadable where they are missing or cannot be true."""
    groups = match.groupdict()
    current, total = groups.get("current") or groups.get("word"), groups.get("total")
    mark = sane_mark(
        number_of(current) if current else None, number_of(total) if total else None, name
    )
    return PhaseReading(mark, word, bool(mark and mark.current))


def _mentioned(text: str, sign: statuses.Word | None) -> PhaseReading | None:
    """What stands behind "phase" in a sentence; what is over is not where the work is."""
    text = _balanced(text.lstrip(f"{statuses.SEPARATORS}("))
    found = _TWO.match(text) or _ONE.match(text)
    if found is None or _SEVERAL.match(text):
        return None
    rest = _balanced(found["rest"])
    before, word = statuses.ending_status(rest)
    word = (
        statuses.first_status(rest.lstrip(f"{statuses.SEPARATORS}("))
        or word
        or statuses.split_status(rest)[1]
        or sign
    )
    if word in {"completed", "cancelled", "not_started"}:
        return None
    name = phase_name(before)[0] if _SEPARATED.match(rest) else None
    reading = _counted(found, name, word)
    return reading if reading.readable else None


def _with_signs(first: str, mentions: list[str]) -> Iterator[tuple[str, statuses.Word | None]]:
    """What stands behind each "phase", with its sign where the signs stand in front."""
    sign = _last_sign(first)
    for text in mentions:
        following = _last_sign(text) if sign else None
        yield text.rstrip(f"{_AROUND}{''.join(statuses.SIGNS)}") if following else text, sign
        sign = following


def _last_sign(text: str) -> statuses.Word | None:
    return statuses.SIGNS.get(text.rstrip(_AROUND)[-1:])


def _balanced(text: str) -> str:
    """Text without the separators behind it and without brackets that it does not open."""
    text = text.rstrip(statuses.SEPARATORS)
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip(statuses.SEPARATORS)
    return text


def _latest(value: str) -> str:
    """What stands behind the last arrow, if that is a phase with a number."""
    *before, latest = statuses.ARROW.split(value)
    return latest if before and (_TWO.match(latest) or _ONE.match(latest)) else value


def _unwrapped(text: str) -> str:
    """Text without the brackets around all of it."""
    for opening, closing in ("()", "[]"):
        if text.startswith(opening) and text.find(closing) == len(text) - 1:
            return text[1:-1].strip()
    return text
