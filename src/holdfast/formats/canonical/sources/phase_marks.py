"""People say in many ways at which phase they are: "4/10 - X", "4 of 10", "4 (X)" or a mere name."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.formats.canonical.declaration import PhaseMark
from holdfast.formats.canonical.sources.statuses import (
    SEPARATORS,
    SIGNS,
    Word,
    split_status,
    whole_status,
)
from holdfast.formats.canonical.sources.values import DECORATION, SYMBOLS, bare

_MOST_PHASES = 9_999

_COUNTED = re.compile(rf"{DECORATION}phase\s+(?P<value>#?[0-9].*)", re.IGNORECASE)
_OF = r"\s*+(?:/|(?:out\s+)?of\b)\s*+"
_PHASE = rf"{DECORATION}(?:phase\s+)?#?"
_TWO = re.compile(
    rf"{_PHASE}(?P<current>[0-9]+){_OF}#?(?P<total>[0-9]+)(?!\w|\.[0-9])(?P<rest>.*)", re.IGNORECASE
)
_ONE = re.compile(
    rf"{_PHASE}(?P<current>[0-9]+)(?=$|\.?\s|[:(–—,]|-(?![0-9]))(?P<rest>.*)", re.IGNORECASE
)
_NUMBER = "(?:[0-9.?-]+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_BROKEN = re.compile(
    rf"{_PHASE}(?:{_NUMBER}{_OF}{_NUMBER}|{_NUMBER}\s*+/\s*+\w+|\w+\s*+/\s*+{_NUMBER})(?!\w)(?P<rest>.*)",
    re.IGNORECASE,
)
_SEPARATED = re.compile(rf"\s*(?:$|[-–—:|,.(\[{SYMBOLS}])")


class PhaseReading(NamedTuple):
    """What a phase expression says; not everything that is written there can be read."""

    mark: PhaseMark | None
    word: Word | None = None
    readable: bool = True


def phase_of(value: str) -> PhaseReading:
    """Read what stands behind "Phase:"."""
    value = bare(value)
    match = _TWO.match(value) or _ONE.match(value)
    broken = None if match else _BROKEN.match(value)
    rest = match["rest"] if match else broken["rest"] if broken else value
    name, word = phase_name(rest)
    current = int(match["current"]) if match else None
    total = int(match["total"]) if match and "total" in match.groupdict() else None
    mark = sane_mark(current, total, name)
    readable = not broken and (match is None or current_of(mark) is not None)
    return PhaseReading(mark, word or SIGNS.get(value[:1]), readable)


def counted_phase(line: str) -> str | None:
    """The expression in a line like "Phase 4/10: X", which says the same without a label."""
    match = _COUNTED.match(line)
    value = bare(match["value"]) if match else ""
    two = _TWO.match(value)
    return value if two and _SEPARATED.match(two["rest"]) else None


def phase_name(rest: str) -> tuple[str | None, Word | None]:
    """The name behind a phase's number, and the status behind the name."""
    rest = rest.strip(SEPARATORS)
    if (word := whole_status(rest)) and rest[:1] in {"(", "[", *SIGNS}:
        return None, word
    if rest.startswith("(") and rest.find(")") == len(rest) - 1:
        rest = rest[1:-1]
    name, word = split_status(rest)
    return (None if name.casefold() in {"", "phase", "phases"} else name), word


def sane_mark(current: int | None, total: int | None, name: str | None) -> PhaseMark | None:
    """A mark whose numbers can be true, without them if they cannot."""
    if current is None or not 1 <= current <= (total or _MOST_PHASES) <= _MOST_PHASES:
        current = total = None
    return PhaseMark(current, total, name) if current or name else None


def current_of(mark: PhaseMark | None) -> int | None:
    return mark.current if mark else None
