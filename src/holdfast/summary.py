"""Which facts of a workflow a summary has kept. Pure.

Rule 1: a fact is kept where its words stand in a row, whatever their case, emphasis, punctuation and
        line ends. In scripts without spaces each letter counts as a word, and a Korean particle may
        follow. One short word has to be an item or a sentence of its own, or in quotes: "there is
        no problem" does not keep "No".
Rule 2: a longer one is also kept where one paragraph or list item has four fifths of the words that
        carry it, with all of its numbers, and with a "not" where it has one: "after 30 minutes" does
        not keep "after 15 minutes".
Rule 3: the phase is kept by its number of the total, or by its title beside its number, where that is
        called a phase or begins the line as in a list.
Rule 4: more text never loses a fact. Only what stands in <analysis> does not count: the client takes
        that out before the model gets the summary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from holdfast.briefing import Briefing
from holdfast.patterns import pattern
from holdfast.plaintext import clean, one_line
from holdfast.records import Record

LONGEST = 700  # units of a fact
MOST_REMINDERS = 100
_LARGEST = 400_000  # characters that are looked at; the client's summaries have some thousands
_MOST_ITEMS = 4_000  # paragraphs that share many words with the facts; there are some dozens

NAME, PHASE, NEXT_ACTION, REMINDER = "name", "phase", "next action", "reminder"


class Fact(Record):
    """One thing that is not to be lost, in the words of the workflow."""

    label: str
    text: str
    # Of the phase: number, total, title. Its text says the same.
    phase: tuple[int, int, str] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fact) and (self.label, self.text) == (other.label, other.text)

    def __hash__(self) -> int:
        return hash((self.label, self.text))


def facts_of(briefing: Briefing) -> list[Fact]:
    """What a summary has to keep. What has no letter and no digit cannot be looked for."""
    title = briefing.phase_title
    phase = f"{briefing.phase} of {briefing.phases}{f': {title}' if title else ''}"
    stated = [Fact(PHASE, text_of(phase), (briefing.phase, briefing.phases, title))]
    facts = [
        Fact(NAME, text_of(briefing.name)),
        *(stated if not briefing.phase_trouble else ()),
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
    items = [(item, _words(item)) for item in _ITEM.split(text)]
    known = set().union(*(words for _, words in items))
    flat = f" {' '.join(' '.join(words) for _, words in items if words)} "
    if _HANGUL.search(flat):
        known.update([_LAST_PARTICLE.sub("", word) for word in known])
    alone = _alone(text)
    left = [fact for fact in facts if not _stands_in(fact, text, flat, known, alone)]
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
_ITEM = pattern(r"\n\s*\n|\n(?=[ \t]*(?:[#>|]|[-*+•][ \t]|[0-9]{1,3}[.)][ \t]))")
_OTHER_DIGIT = pattern(r"[^\D0-9]")
_THOUSANDS = pattern(r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?!,?[0-9])")


def _folded(text: str) -> str:
    """The same for every way to write the same letters and numbers."""
    folded = text.lower() if text.isascii() else _composed(text)
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), folded)


def _composed(text: str) -> str:
    # One character may become eighteen.
    folded = unicodedata.normalize("NFKC", text)[: 2 * _LARGEST].casefold()
    folded = unicodedata.normalize("NFKC", folded)
    folded = folded.replace("\u2212", "-")
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)


# Letters of scripts that put no spaces between words: Thai to Myanmar, Khmer, Kana, Han.
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks that belong to the letter before them; Python does not count them as part of a word.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_SIGN = r"(?<![0-9a-z-])-(?=[0-9])"  # of a number below zero, and no dash between two
_WORD = pattern(
    rf"(?:{_SIGN})?[0-9]+(?:[.,][0-9]+)+|[{_UNSPACED}]"
    rf"|(?:{_SIGN})?[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*)*"
)
_ONE_UNSPACED = pattern(f"[{_UNSPACED}]")


# The same, and faster.
_ASCII_WORD = pattern(rf"(?:{_SIGN})?[0-9]+(?:[.,][0-9]+)+|[0-9a-z]+|{_SIGN}[0-9a-z]+")

_HANGUL = pattern("[\uac00-\ud7a3]")
_PARTICLES = "을 를 이 가 은 는 의 에 에서 에게 으로 로 와 과 도 만 까지 부터 하고 이나 이며 이고 입니다 이다"
_PARTICLE = f"(?:{'|'.join(sorted(_PARTICLES.split(), key=len, reverse=True))})"
_LAST_PARTICLE = pattern(f"{_PARTICLE}$")


def _words(folded: str) -> list[str]:
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def _words_of(fact: Fact) -> list[str]:
    words = _words(_folded(fact.text))
    # What was cut may end within a word.
    return words[:-1] if fact.text.endswith("…") and len(words) > 1 else words


_SHORT = 5  # letters of a word that stands in many a sentence


def _stands_in(fact: Fact, text: str, flat: str, known: set[str], alone: set[str]) -> bool:
    """Rules 1 and 3."""
    words = _words_of(fact)
    if fact.phase:
        number, total, title = fact.phase
        return _numbered(number, total, text) or _entitled(number, total, title, text)
    if not known.issuperset(words):
        return False
    if len(words) == 1 and len(words[0]) <= _SHORT and fact.label != NAME:
        return words[0] in alone
    row = f" {' '.join(words)}"
    if f"{row} " in flat:
        return True
    return row in flat and bool(re.search(f"{re.escape(row)}{_PARTICLE} ", flat))


_SENTENCE_ENDS = pattern(r"[;:!?|)\]。\n]|\.(?![0-9])")
_QUOTED = pattern(r"[\"'`“‘«„「『]([^\s\"'`”’“»」』]{1,30})[\"'`”’“»」』]")


def _alone(text: str) -> set[str]:
    """The words that are an item or a sentence of their own, or in quotes."""
    parts = {part for part in _SENTENCE_ENDS.split(text) if len(part) < 30}.union(
        _QUOTED.findall(text)
    )
    return {words[0] for words in map(_words, parts) if len(words) == 1}


# What a phase is called.
_PHASE_UNSPACED = "阶段|階段|段階|フェーズ|단계"
_PHASE = f"phase|fase|étape|etapa|этап|{_PHASE_UNSPACED}"


def _numbered(number: int, total: int, text: str) -> bool:
    """ "4/10" anywhere; "4 of 10" only behind "phase" or a bracket, since tests pass by these words."""
    end = rf"0*{total}(?![0-9a-z]|[.,/][0-9])"
    marks = r"[\s*`~]{0,8}"
    of = rf"[^\w\n]{{0,4}}(?:共|全|총){marks}{end}"  # "第4阶段（共10个阶段）"
    ways = [
        (_FREE, rf"{number}{marks}/{marks}{end}"),
        (_NO_LETTER, rf"phase\W{{0,12}}0*{number}\W{{1,12}}(?:out )?of\W{{1,12}}{end}"),
        ("", rf"[(\[]\W{{0,3}}0*{number}\W{{1,12}}(?:out )?of\W{{1,12}}{end}"),
    ]
    if not text.isascii():
        ways += [
            (_FREE, rf"{number}{marks}(?:{_PHASE_UNSPACED}){of}"),
            ("", rf"(?:{_PHASE_UNSPACED}){marks}0*{number}{of}"),
        ]
    for start, way in ways:
        # What comes before is looked at afterwards: a pattern is quicker when it begins with letters.
        for hit in re.finditer(way, text):
            if re.search(rf"{start}\Z", text[max(0, hit.start() - 20) : hit.start()]):
                return True
    return False


_FREE = r"(?<![0-9a-z/])(?<![0-9][.,])0*"  # no part of another number, a date or a path
_NO_LETTER = r"(?<![^\W\d_])"


def _entitled(number: int, total: int, title: str, text: str) -> bool:
    """ "phase 4: Title", "Title (phase 4)", "4 of 10: Title", and "4. Title" as a line of a list."""
    words = _words(_folded(title))
    if not words:
        return False
    name = r"\W+".join(map(re.escape, words))
    # Between letters of scripts without spaces there may be a line end or emphasis, or nothing.
    name = re.sub(rf"(?<=[{_UNSPACED}])\\W\+|\\W\+(?=[{_UNSPACED}])", r"\\W*", name)
    if not _ONE_UNSPACED.match(words[0]):
        name = rf"(?<![^\W{_UNSPACED}]){name}"
    if not _ONE_UNSPACED.match(words[-1]):
        name = rf"{name}{_PARTICLE}?(?![^\W{_UNSPACED}])"
    if not re.search(name, text):
        return False
    digits = rf"0*{number}(?![0-9]|[.,/][0-9])"
    between = r"[\Wの的]{0,12}"
    no_total = r"(?![^\w\n]{0,12}(?:of|out)\b|[^\w\n]{0,4}/)"
    called = rf"(?<![^\W\d_])(?:{_PHASE})"
    ways = [
        rf"{called}\W{{0,12}}{digits}{between}{name}",
        rf"{name}{between}{called}\W{{0,12}}{digits}{no_total}",
        rf"^[^\w\n]{{0,12}}{digits}[.):]{between}{name}[ \t*`~]{{0,8}}(?:$|[^\w\s])",
    ]
    ways.append(rf"{_FREE}{number} (?:out )?of 0*{total}\W{{1,12}}{name}")
    if not text.isascii():
        ways.append(rf"(?<![0-9a-z/.,]){digits}\W{{0,3}}(?:{_PHASE_UNSPACED}){between}{name}")
    return any(re.search(way, text, re.MULTILINE) for way in ways)


# Words that a text can do without and still say the same.
_LIGHT_WORDS = (
    "a an and are as at be by for from has have in is it its of on or s so than that the their then "
    "there these this to was were which will with you your"
)
_LIGHT = frozenset(_LIGHT_WORDS.split())
_NEGATIONS = frozenset({"no", "not", "never", "without", "cannot", "nor", "t"})  # "don't" ends in t
# And of Chinese, Japanese and Korean; not as part of a word such as "special".
_NOT_CJK = pattern(
    "[不勿莫没沒未無无]|(?<![特级級分类類区區性个個])[别別]|禁止|ない|ません|なし|るな(?![ぁ-ん])"
    "|금지|않|없|못|지 ?[말마]"
)
_NOT = "¬"  # of an item or a fact: that it has one
_FEWEST_WORDS = 4
_FEWEST_TERMS = 3


class _Wanted(Record):
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
            and (not self.negated or _NOT in present)
        )


def _negated(text: str, words: Sequence[str]) -> bool:
    return not _NEGATIONS.isdisjoint(words) or bool(_NOT_CJK.search(text))


def _described(facts: Sequence[Fact], items: Sequence[tuple[str, Sequence[str]]]) -> set[Fact]:
    """Rule 2: those of *facts* that one of *items* holds in other words or another order."""
    wanted = [each for each in map(_wanted, facts) if each]
    if not wanted:
        return set()
    fewest = min(each.fewest for each in wanted)
    terms = frozenset[str]().union(*(each.terms for each in wanted))
    with_pairs = any(" " in term for term in terms)
    found: set[Fact] = set()
    seen: set[frozenset[str]] = set()
    for text, words in items:
        present = terms.intersection(words)
        if with_pairs:
            present = present.union(terms.intersection(_pairs(words)))
        if len(present) < fewest:
            continue
        if _negated(text, words):
            present = present | {_NOT}
        if present in seen:
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
    return _Wanted(fact, terms, numbers, negated=_negated(_folded(fact.text), words))


def _pairs(words: Sequence[str]) -> Iterator[str]:
    for one, other in pairwise(words):
        if _ONE_UNSPACED.match(one) and _ONE_UNSPACED.match(other):
            yield f"{one} {other}"
