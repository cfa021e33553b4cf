"""Which facts of a workflow a summary has kept. Pure.

Rule 1: a fact is kept where its words stand in a row, whatever their case, emphasis, punctuation and
        line ends. In scripts without spaces, and in Korean, each letter counts as a word.
Rule 2: the phase is kept by its number before the total, or by its number beside its title.
Rule 3: what stands in the first <analysis> does not count: the client takes that out before the model
        gets the summary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.formats.engine.workflow import Briefing
from holdfast.patterns import pattern
from holdfast.text.plaintext import clean, one_line

LONGEST = 700  # units of a fact
MOST_REMINDERS = 100
_LARGEST = 400_000  # characters that are looked at; the client's summaries have some thousands

NAME, PHASE, NEXT_ACTION, REMINDER = "name", "phase", "next action", "reminder"

# Thai to Myanmar, Khmer, Kana, Han; and Hangul, whose particles stand at the end of a word.
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = pattern(rf"[0-9]+(?:[.,/][0-9]+)*|[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


class Fact(NamedTuple):
    """One fact to keep, in the workflow's words."""

    label: str
    text: str


def facts_of(briefing: Briefing) -> list[Fact]:
    """The facts that a summary must keep; a fact without letters or digits cannot be checked."""
    title = briefing.phase_name
    phase = f"{briefing.phase} of {briefing.phases}{f': {title}' if title else ''}"
    is_known = briefing.has_phases and not briefing.phase_trouble
    facts = [
        Fact(NAME, text_of(briefing.name)),
        *([Fact(PHASE, text_of(phase))] if is_known else []),
        Fact(NEXT_ACTION, text_of(briefing.next_action or "")),
        *(Fact(REMINDER, text_of(reminder)) for reminder in briefing.reminders[:MOST_REMINDERS]),
    ]
    return [fact for fact in dict.fromkeys(facts) if _normalised(fact.text)]


def text_of(written: str) -> str:
    """A text of the workflow as its fact has it."""
    return one_line(written, LONGEST)


def missing(facts: Sequence[Fact], summary: str) -> list[Fact]:
    """The *facts* that *summary* lost."""
    words = f" {_normalised(clean(_delivered(summary)))} "
    return [fact for fact in facts if not _is_kept(fact, words)]


def _delivered(summary: str) -> str:
    """The summary as the model gets it: the client removes only the first analysis."""
    before, begun, rest = summary.partition("<analysis>")
    _, ended, after = rest.partition("</analysis>")
    text = f"{before}\n\n{after}" if begun and ended else summary
    half = _LARGEST // 2
    return text if len(text) <= _LARGEST else f"{text[:half]}\n\n{text[-half:]}"


def _normalised(text: str) -> str:
    """The words of *text* with one space between them, the same for every way to write them."""
    if not text.isascii():
        # One character may become eighteen.
        text = unicodedata.normalize("NFKC", text)[: 2 * _LARGEST]
        text = unicodedata.normalize("NFKC", text.casefold())
    return " ".join(_WORD.findall(text.lower()))


def _is_kept(fact: Fact, words: str) -> bool:
    if fact.label == PHASE:
        return _phase_is_kept(fact.text, words)
    wanted = _normalised(fact.text)
    if fact.text.endswith("…") and " " in wanted:
        wanted = wanted.rpartition(" ")[0]  # what was cut may end within a word
    return f" {wanted} " in words


def _phase_is_kept(phase: str, words: str) -> bool:
    """By "4/10", "4 of 10", "phase 4: Title" or "Title (phase 4)", with up to three words between."""
    number, _, rest = phase.partition(" of ")
    total, _, title = rest.partition(": ")
    between = r"(?: [^\s0-9]+){0,3} "
    ways = [rf" 0*{number}(?:/|{between})0*{total} "]
    if name := re.escape(_normalised(title)):
        ways += [rf" 0*{number}{between}{name} ", rf" {name}{between}0*{number} "]
    return any(re.search(way, words) for way in ways)
