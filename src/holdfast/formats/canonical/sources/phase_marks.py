"""People say in many ways at which phase they are: "4/10 - X", "4 of 10", "4 (X)" or a mere name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.formats.canonical.declaration import PhaseMark
from holdfast.formats.canonical.sources.placeholders import is_template, says_nothing
from holdfast.formats.canonical.sources.statuses import (
    ARROW,
    SEPARATORS,
    SIGNS,
    Word,
    ending_status,
    first_status,
    part_status,
    split_status,
    status_of,
    whole_status,
)
from holdfast.formats.canonical.sources.values import DECORATION, MOST_CHARACTERS, SYMBOLS, bare
from holdfast.patterns import pattern

_MOST_PHASES = 9_999
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_COUNTED = pattern(rf"{DECORATION}phase\s+(?P<value>#?[0-9].*)", re.IGNORECASE)
_PHASE = rf"{DECORATION}(?:phase\s+)?#?"
_SEPARATED = pattern(rf"\s*(?:$|[-–—:|,.(\[{SYMBOLS}])")
_NUMBER = f"(?:[0-9]++|(?:{'|'.join(NUMBER_WORDS)})(?![a-z]))"
_PART = r"(?:\.[0-9]+|[a-z](?![^\W_]))?"  # a phase "2.1" or "2b" is a part of phase 2
_OF = r"(?:\s*+/\s*+|\s*+\(?of(?![a-z])\s*+|\s++(?:out\s+of|von|van|de|di|sur|af|av|из)\s++)"
# A short word in another language, if nothing but a separator follows. Ranges are no "of".
_RANGE = r"(?:and|to|or|und|bis|oder|et|ou|y|o|e|i|и|do|til|thru|vs|plus|x)"
_LIKE_OF = rf"\s++(?!{_RANGE}\s)[^\W\d_]{{1,3}}\s++"
_TWO = pattern(
    rf"{_PHASE}(?P<current>{_NUMBER}){_PART}(?:{_OF}|(?P<like>{_LIKE_OF}))#?(?P<total>{_NUMBER})\)?"
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
_AROUND = f"{SEPARATORS};(\ufe0f"
_MENTIONED = pattern(r"\bphase\s+(?=#?[0-9])", re.IGNORECASE)


def plain_digits(text: str) -> str:
    """Text with plain digits for those on keys."""
    return _KEYCAP.sub(r"\1", text).replace("🔟", "10") if "\u20e3" in text else text


class PhaseReading(NamedTuple):
    """What a phase expression says; not everything that is written there can be read."""

    mark: PhaseMark | None
    word: Word | None = None
    readable: bool = True

    @property
    def is_counted(self) -> bool:
        """Whether it speaks of a number, be it a wrong one."""
        return not self.readable or current_of(self.mark) is not None


def phase_of(value: str) -> PhaseReading:
    """Read what stands behind "Phase:"."""
    value = _latest(_unwrapped(bare(_MARKED.sub(r"\1", plain_digits(value)))))
    if says_nothing(value) or is_template(value) or _LETTERS.match(value):
        return PhaseReading(None, SIGNS.get(value[:1]))
    if two := _two(value):
        return _counted(value, _count(two["current"]), _count(two["total"]), two["rest"])
    if _SEVERAL.match(value):
        return PhaseReading(None, readable=False)
    if one := _ONE.match(value):
        return _counted(value, _count(one["current"] or one["word"]), None, one["rest"])
    if broken := _BROKEN.match(value):
        return _counted(value, None, None, broken["rest"])
    if _UNNAMED.match(value):
        return PhaseReading(None, readable=False)
    name, word = phase_name(value)
    if behind := _BEHIND.fullmatch(name or ""):
        mark = sane_mark(_count(behind["current"]), _count(behind["total"]), behind["name"].strip())
        return PhaseReading(mark, word, current_of(mark) is not None)
    return PhaseReading(PhaseMark(name=name) if name else None, word or SIGNS.get(value[:1]))


def counted_phase(line: str) -> str | None:
    """The expression in a line like "Phase 4/10: X", which says the same without a label."""
    match = _COUNTED.match(plain_digits(line))
    value = bare(match["value"]) if match else ""
    two = _two(value)
    return value if two and _SEPARATED.match(two["rest"]) else None


def phase_in_status(value: str) -> PhaseReading | None:
    """The phase that a status speaks of: "In Progress - Phase 2 of 3", "Phase 2 in progress"."""
    first, *mentions = _MENTIONED.split(value[:MOST_CHARACTERS])
    readings = [r for each in _with_signs(first, mentions) if (r := _mentioned(*each))]
    running = [reading for reading in readings if reading.word in {"in_progress", "blocked"}]
    if len(running) == 1:
        return running[0]
    return readings[0] if len(mentions) == len(readings) == 1 and not readings[0].word else None


def stated_status(value: str) -> Word | None:
    """The status that a value begins with, or that of the phase that it speaks of."""
    word = status_of(value)
    if word or (reading := phase_in_status(value)) is None:
        return word
    return reading.word


def stated_part(value: str) -> Word | None:
    """The same of a single phase, which has no other phases to speak of."""
    return part_status(value) or stated_status(value)


def phase_name(rest: str) -> tuple[str | None, Word | None]:
    """The name behind a phase's number, and the status behind the name."""
    rest = rest.strip(SEPARATORS)
    if (word := whole_status(rest)) and rest[:1] in {"(", "[", *SIGNS}:
        return None, word
    name, word = split_status(_unwrapped(rest))
    name = _unwrapped(name)
    nameless = name.casefold() in _NO_NAMES or says_nothing(name) or is_template(name)
    return (None if nameless else name), word


def sane_mark(current: int | None, total: int | None, name: str | None) -> PhaseMark | None:
    """A mark whose numbers can be true, without them if they cannot."""
    if current is None or not 1 <= current <= (total or _MOST_PHASES) <= _MOST_PHASES:
        current = total = None
    return PhaseMark(current, total, name) if current or name else None


def current_of(mark: PhaseMark | None) -> int | None:
    return mark.current if mark else None


def _two(value: str) -> re.Match[str] | None:
    two = _TWO.match(value)
    if two and two["like"]:
        digits = two["current"].isdigit() and two["total"].isdigit()
        return two if digits and _SEPARATED.match(two["rest"]) else None
    return two


def _counted(value: str, current: int | None, total: int | None, rest: str) -> PhaseReading:
    name, word = phase_name(rest)
    mark = sane_mark(current, total, name)
    return PhaseReading(mark, word or SIGNS.get(value[:1]), current_of(mark) is not None)


def _count(text: str) -> int:
    """A number; one that is too long to be true stays too large."""
    if text[0].isdigit():
        return int(text[:9])
    return NUMBER_WORDS.index(text.casefold()) + 1


def _mentioned(text: str, sign: Word | None) -> PhaseReading | None:
    """What stands behind "phase" in a sentence; what is over is not where the work is."""
    text = _balanced(text.lstrip(f"{SEPARATORS}("))
    two = _two(text)
    found = two or _ONE.match(text)
    if found is None or _SEVERAL.match(text):
        return None
    rest = _balanced(found["rest"])
    before, word = ending_status(rest)
    word = first_status(rest.lstrip(f"{SEPARATORS}(")) or word or split_status(rest)[1] or sign
    if word in {"completed", "cancelled", "not_started"}:
        return None
    name = phase_name(before)[0] if _SEPARATED.match(rest) else None
    total = _count(two["total"]) if two else None
    mark = sane_mark(_count(found["current"]), total, name)
    return PhaseReading(mark, word) if current_of(mark) else None


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
    text = text.rstrip(SEPARATORS)
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip(SEPARATORS)
    return text


def _latest(value: str) -> str:
    """What stands behind the last arrow, if that is a phase with a number."""
    *before, latest = ARROW.split(value)
    return latest if before and (_two(latest) or _ONE.match(latest)) else value


def _unwrapped(text: str) -> str:
    """Text without the brackets around all of it."""
    for opening, closing in ("()", "[]"):
        if text.startswith(opening) and text.find(closing) == len(text) - 1:
            return text[1:-1].strip()
    return text
