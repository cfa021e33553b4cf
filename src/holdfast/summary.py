"""Which facts of a workflow a summary has kept. Pure.

Rule 1: a fact is kept where its words stand in a row, whatever their case, emphasis, punctuation and
        line ends. In scripts without spaces each letter counts as a word.
Rule 2: a longer one is also kept where one paragraph or list item has four fifths of the words that
        carry it, with all of its numbers, and with a "not" where it has one: "after 30 minutes" does
        not keep "after 15 minutes".
Rule 3: the phase is kept by its number of the total, or by its number beside its title.
Rule 4: more text never loses a fact. Only what stands in <analysis> does not count: the client takes
        that out before the model gets the summary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from holdfast.briefing import Briefing
from holdfast.plaintext import clean, one_line

LONGEST = 700  # units of a fact
MOST_REMINDERS = 100
_LARGEST = 400_000  # characters that are looked at; the client's summaries have some thousands
_MOST_ITEMS = 4_000  # paragraphs that share many words with the facts; there are some dozens

NAME, PHASE, NEXT_ACTION, REMINDER = "name", "phase", "next action", "reminder"


@dataclass(frozen=True)
class Fact:
    """One thing that is not to be lost, in the words of the workflow."""

    label: str
    text: str
    # Of the phase: number, total, title. Its text says the same.
    phase: tuple[int, int, str] | None = field(default=None, compare=False)


def facts_of(briefing: Briefing) -> list[Fact]:
    """What a summary has to keep. What has no letter and no digit cannot be looked for."""
    title = briefing.phase_title
    phase = f"{briefing.phase} of {briefing.phases}{f': {title}' if title else ''}"
    facts = [
        Fact(NAME, text_of(briefing.name)),
        Fact(PHASE, text_of(phase), (briefing.phase, briefing.phases, title)),
        Fact(NEXT_ACTION, text_of(briefing.next_action or "")),
        *(Fact(REMINDER, text_of(each)) for each in briefing.reminders[:MOST_REMINDERS]),
    ]
    return [fact for fact in dict.fromkeys(facts) if _words(_folded(fact.text))]


def text_of(written: str) -> str:
    """A text of the workflow as its fact has it."""
    return one_line(written, LONGEST)


def missing(facts: Sequence[Fact], summary: str) -> list[Fact]:
    """Those of *facts* that *summary* has not kept."""
    text = _folded(clean(_delivered(summary))).replace("_", " ")
    items = [_words(item) for item in _ITEM.split(text)]
    known = set().union(*items)
    flat = f" {' '.join(' '.join(words) for words in items if words)} "
    left = [fact for fact in facts if not _stands_in(fact, text, flat, known)]
    described = _described([fact for fact in left if not fact.phase], items)
    return [fact for fact in left if fact not in described]


def _delivered(summary: str) -> str:
    """What the model gets of it. The client takes the first analysis out, and no other."""
    before, begun, rest = summary.partition("<analysis>")
    _, ended, after = rest.partition("</analysis>")
    text = f"{before}\n\n{after}" if begun and ended else summary
    half = _LARGEST // 2
    return text if len(text) <= _LARGEST else f"{text[:half]}\n\n{text[-half:]}"


# What separates paragraphs, list items, headings and the rows of a table.
_ITEM = re.compile(r"\n\s*\n|\n(?=[ \t]*(?:[#>|]|[-*+•][ \t]|[0-9]{1,3}[.)][ \t]))")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")


def _folded(text: str) -> str:
    """The same for every way to write the same letters and digits."""
    if text.isascii():
        return text.lower()
    # One character may become eighteen.
    folded = unicodedata.normalize("NFKC", text)[: 2 * _LARGEST].casefold()
    folded = unicodedata.normalize("NFKC", folded)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)


# Letters of scripts that put no spaces between words: Thai to Myanmar, Khmer, Kana, Han.
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks that belong to the letter before them; Python does not count them as part of a word.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(
    rf"[0-9]+(?:[.,][0-9]+)+|[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*)*"
)
_ONE_UNSPACED = re.compile(f"[{_UNSPACED}]")


_ASCII_WORD = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[0-9a-z]+")  # the same, and faster


def _words(folded: str) -> list[str]:
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def _words_of(fact: Fact) -> list[str]:
    words = _words(_folded(fact.text))
    # What was cut may end within a word.
    return words[:-1] if fact.text.endswith("…") and len(words) > 1 else words


def _stands_in(fact: Fact, text: str, flat: str, known: set[str]) -> bool:
    """Rules 1 and 3."""
    if fact.phase:
        number, total, title = fact.phase
        words = " ".join(_words(_folded(title)))
        beside = (f" {number} {words} ", f" {words} phase {number} ") if words else ()
        return any(each in flat for each in beside) or _numbered(number, total, text)
    words_of = _words_of(fact)
    return known.issuperset(words_of) and f" {' '.join(words_of)} " in flat


def _numbered(number: int, total: int, text: str) -> bool:
    """ "4/10" anywhere; "4 of 10" only behind "phase" or a bracket, since tests pass by these words."""
    end = rf"0*{total}(?![0-9a-z]|[.,/][0-9])"
    marks = r"[\s*`~]{0,8}"
    for start, way in (
        (_FREE, rf"{number}{marks}/{marks}{end}"),
        (_NO_LETTER, rf"phase\W{{0,12}}0*{number}\W{{1,12}}(?:out )?of\W{{1,12}}{end}"),
        ("", rf"[(\[]\W{{0,3}}0*{number}\W{{1,12}}(?:out )?of\W{{1,12}}{end}"),
    ):
        # What comes before is looked at afterwards: a pattern is quicker when it begins with letters.
        for hit in re.finditer(way, text):
            if re.search(rf"{start}\Z", text[max(0, hit.start() - 20) : hit.start()]):
                return True
    return False


_FREE = r"(?<![0-9a-z/])(?<![0-9][.,])0*"  # no part of another number, a date or a path
_NO_LETTER = r"(?<![^\W\d_])"


# Words that a text can do without and still say the same.
_LIGHT_WORDS = (
    "a an and are as at be by for from has have in is it its of on or s so than that the their then "
    "there these this to was were which will with you your"
)
_LIGHT = frozenset(_LIGHT_WORDS.split())
_NEGATIONS = frozenset({"no", "not", "never", "without", "cannot", "nor", "t"})  # "don't" ends in t
_FEWEST_WORDS = 4
_FEWEST_TERMS = 3


@dataclass(frozen=True)
class _Wanted:
    """What of a fact has to be found in one paragraph."""

    fact: Fact
    terms: frozenset[str]  # words, and pairs of letters where nothing separates words
    numbers: frozenset[str]
    negated: bool

    @property
    def fewest(self) -> int:
        """Four fifths of the terms."""
        return -(-4 * len(self.terms) // 5)

    def is_in(self, present: frozenset[str]) -> bool:
        return (
            len(self.terms & present) >= self.fewest
            and self.numbers <= present
            and (not self.negated or not present.isdisjoint(_NEGATIONS))
        )


def _described(facts: Sequence[Fact], items: Sequence[Sequence[str]]) -> set[Fact]:
    """Rule 2: those of *facts* that one of *items* holds in other words or another order."""
    wanted = [each for each in map(_wanted, facts) if each]
    if not wanted:
        return set()
    fewest = min(each.fewest for each in wanted)
    terms = _NEGATIONS.union(*(each.terms for each in wanted))
    with_pairs = any(" " in term for term in terms)
    found: set[Fact] = set()
    seen: set[frozenset[str]] = set()
    for words in items:
        present = terms.intersection(words)
        if with_pairs:
            present = present.union(terms.intersection(_pairs(words)))
        if len(present) < fewest or present in seen:
            continue
        if len(seen) == _MOST_ITEMS:
            break
        seen.add(present)
        found.update(each.fact for each in wanted if each.is_in(present))
    return found


def _wanted(fact: Fact) -> _Wanted | None:
    words = _words_of(fact)
    unspaced = [word for word in words if _ONE_UNSPACED.match(word)]
    if len(words) - len(unspaced) + len(unspaced) // 2 < _FEWEST_WORDS:  # two letters make a word
        return None
    spaced = {word for word in words if not _ONE_UNSPACED.match(word)}
    terms = frozenset(spaced - _LIGHT - _NEGATIONS).union(_pairs(words))
    if len(terms) < _FEWEST_TERMS:
        return None
    numbers = frozenset(word for word in spaced if any(each.isdecimal() for each in word))
    return _Wanted(fact, terms, numbers, negated=not spaced.isdisjoint(_NEGATIONS))


def _pairs(words: Sequence[str]) -> Iterator[str]:
    for one, other in pairwise(words):
        if _ONE_UNSPACED.match(one) and _ONE_UNSPACED.match(other):
            yield f"{one} {other}"
