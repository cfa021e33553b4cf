"""Which facts a summary keeps: a table of cases, and what holds for any text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.engine.workflow import Briefing
from holdfast.restoring.summary import LONGEST, MOST_REMINDERS, Fact, facts_of, missing
from measured import cpu_of


def briefing(**fields: object) -> Briefing:
    plain: dict[str, object] = {
        "name": "Page Orchestration",
        "kind": "custom",
        "phase": 4,
        "phases": 10,
        "phase_name": "SEO Generation",
        "status": "in_progress",
    }
    return Briefing(**(plain | fields))  # type: ignore[arg-type]


def lost(summary: str, **fields: object) -> list[str]:
    """The labels of what *summary* has not kept."""
    return [fact.label for fact in missing(facts_of(briefing(**fields)), summary)]


def kept(reminder: str, summary: str) -> bool:
    return not missing([Fact("reminder", reminder)], summary)


PHASE = {
    "in words": ("It is in phase 4 of 10.", True),
    "with a slash": ("Now in phase 4/10, going on", True),
    "a slash alone": ("Progress: 4/10", True),
    "in brackets": ("SEO (4 of 10) comes next", True),
    "phase in brackets": ("(phase 4 of 10: SEO Generation)", True),
    "a colon and emphasis": ("**Phase:** 4 of 10", True),
    "emphasised numbers": ("phase **4** of **10**", True),
    "an emphasised fraction": ("at _4/10_ now", True),
    "spaces about the slash": ("phase 4 / 10", True),
    "leading zeros": ("phase 04 of 10", True),
    "out of": ("phase 4 out of 10", True),
    "any case": ("PHASE 4 OF 10", True),
    "at the end of a sentence": ("We reached 4/10.", True),
    "wrapped": ("the work is in phase\n4 of\n10 now", True),
    "digits of full width": ("フェーズ４/１０", True),
    "behind a Chinese word": ("阶段4/10", True),
    "the title behind its number": ("Phase 4: SEO Generation", True),
    "the title in brackets": ("phase 4 (SEO Generation)", True),
    "as a numbered list": ("3. Links\n4. SEO generation\n5. Ship", True),
    "the title before": ("SEO Generation (phase 4)", True),
    "the title alone": ("We do SEO Generation", False),
    "the number alone": ("We are in phase 4", False),
    "a longer number before": ("phase 14/10", False),
    "a longer total": ("phase 4/100", False),
    "a decimal": ("rated 3.4/10", False),
    "a decimal total": ("4/10.5 litres", False),
    "a date": ("on 4/10/2025", False),
    "the end of a date": ("on 1/4/10", False),
    "another phase": ("phase 5 of 10", False),
    "another total": ("phase 4 of 11", False),
    "another number of the title": ("Phase 14: SEO Generation", False),
    "a section of the title": ("2.4 SEO Generation", False),
    "a list, going on": ("4. **SEO Generation** (in progress)", True),
    "a heading": ("## Phase 4 - SEO Generation", True),
    "of the total, with the title": ("4 of 10: SEO Generation", True),
    "before another total": ("SEO Generation (phase 4 of 11)", True),
    "in Chinese": ("现在是第4阶段（共10个阶段）", True),
    "in Chinese, another": ("现在是第14阶段（共10个阶段）", False),
    "in Chinese, another total": ("现在是第4阶段（共100个阶段）", False),
    "in Chinese, by its title": ("第4阶段：SEO Generation已开始", True),
    "in Japanese": ("フェーズ４（全１０フェーズ）", True),
    "in Japanese, by its title": ("フェーズ4のSEO Generationを進める", True),
    "in Korean": ("4단계(총 10단계)", True),
    "in Korean, by its title": ("4단계: SEO Generation을 진행", True),
    "nothing": ("", False),
}


@pytest.mark.parametrize("name", PHASE)
def test_the_phase(name: str) -> None:
    """By number and total, or by number and title."""
    summary, found = PHASE[name]
    assert ("phase" not in lost(summary)) == found


TOKENS = "Tokens expire after 15 minutes of idle time"
PUSH = "Never push to the main branch before the tests pass"
REMINDER = {
    "as it is": (TOKENS, f"- {TOKENS}.", True),
    "another case": (TOKENS, TOKENS.upper(), True),
    "emphasis": (TOKENS, "**Tokens** expire after `15 minutes` of _idle_ time", True),
    "wrapped": (TOKENS, "tokens expire\n  after 15 minutes\n  of idle time", True),
    "quoted": (TOKENS, "> Tokens expire after\n> 15 minutes of idle time", True),
    "other quotes": ("Say “don’t” and stop", 'say "don\'t" and stop', True),
    "other punctuation": ("Use v1.2 (beta), not v1.1", "Use v1.2 beta; not v1.1!", True),
    "ligatures and full width": ("ﬁnish Ａ", "Finish A", True),
    "accents composed": ("Größe prüfen", "Gro\u0308ße pru\u0308fen", True),
    "sharp s": ("Straße", "STRASSE", True),
    "underscores": ("run check_all", "run `check_all` first", True),
    "in other words": (TOKENS, "After 15 minutes of idle time, the tokens expire", False),
    "a word of five left out": (TOKENS, "tokens expire after 15 minutes of being idle", False),
    "another number": (TOKENS, "Tokens expire after 30 minutes of idle time", False),
    "another order": (TOKENS, "- 15 minutes of idle\n  time, then tokens expire", False),
    "short, all there": ("Ask Ann", "we ask Ann first", True),
    "short, another order": ("Ask Ann", "Ann may ask", False),
    "short, within other words": ("No test", "a piano testing day", False),
    "a number within another": ("Use port 80", "use port 8080", False),
    "Chinese": ("不要跳过站点地图检查", "提醒：不要跳过站点地图检查。", True),
    "Chinese, wrapped": ("不要跳过站点地图检查", "不要跳过\n站点地图检查", True),
    "Chinese, a word between": ("不要跳过站点地图检查", "站点地图检查一定不要跳过", False),
    "Chinese, something else": ("不要跳过站点地图检查", "数据库迁移已经完成，测试通过", False),
    "Chinese and Latin": ("设计API接口", "设计 API 接口", True),
    "Japanese": ("本番データベースに触らない", "**本番データベース**に触らない。", True),
    "Thai": ("อย่าลืมทดสอบ", "จำไว้ว่า อย่าลืมทดสอบ ก่อน", True),
    "Hindi": ("परीक्षण मत छोड़ो", "याद रहे: *परीक्षण मत छोड़ो*", True),
    "Russian": ("Не трогать базу", "НЕ ТРОГАТЬ БАЗУ!", True),
    "Arabic": ("لا تحذف السجل", "تذكير: لا تحذف السجل", True),
    "Korean": ("운영 서버는 건드리지 말 것", "- 운영 서버는 건드리지 말 것", True),
    "in a tag": (TOKENS, f"<summary>{TOKENS}</summary>", True),
    "a hidden character": ("Never skip it", "Never\u200b skip it", True),
}


REMINDER |= {
    "a word of a sentence": ("No", "There is no problem with the build.", True),
    "one short word as an item": ("No", "- ok\n- **No**\n- yes", True),
    "one short word in a numbered list": ("No", "1. No\n2. Yes", True),
    "one short word as a sentence": ("No", "Told twice: no. That holds.", True),
    "one short word in quotes": ("No", 'keep "No" in mind', True),
    "a longer word": ("Idempotency", "mind idempotency in all of it", True),
    "below zero": ("Keep the offset at -5", "keep the offset at **-5**", True),
    "a real minus": ("Keep the offset at -5", "Keep the offset at \u22125", True),
    "a dash between numbers": ("pages 3-5", "pages 3–5", True),
    "no thousands": ("timeout is 1,5 ms", "timeout is 15 ms", False),
    "Korean, a particle": ("결제 이전", "현재 결제 이전을 진행하고 있습니다.", True),
    "Korean, a longer word": ("결제 이전", "결제 이전투구", True),
    "Korean, a particle on Latin": ("Page Work", "Page Work를 진행 중", True),
    "Chinese, inside a sentence": ("支付迁移", "目前正在进行支付迁移的工作", True),
    "Japanese, inside a sentence": ("決済の移行", "現在、決済の移行を進めています", True),
    "Japanese and Latin, inside": ("API設計", "現在API設計を進めています", True),
}


@pytest.mark.parametrize("name", REMINDER)
def test_a_reminder(name: str) -> None:
    """Its words in a row."""
    reminder, summary, found = REMINDER[name]
    assert kept(reminder, summary) == found


def test_what_the_client_takes_out_does_not_count() -> None:
    """The model gets the summary without the first analysis."""
    said = f"4/10 Page Orchestration\n{TOKENS}"
    assert lost(f"<analysis>{said}</analysis><summary>x</summary>") == ["name", "phase"]
    assert lost(f"<analysis>x</analysis><summary>{said}</summary>") == []
    assert lost(f"<analysis>x</analysis> <analysis>{said}</analysis>") == []
    assert lost(f"<analysis>{said}") == []


def test_the_facts_of_a_workflow() -> None:
    """Name, phase, next action, each reminder once; what holds no word is none."""
    facts = facts_of(briefing(next_action="Write it", reminders=("a", "🚀", "a", "b" * 2000)))
    assert [(fact.label, fact.text) for fact in facts[:4]] == [
        ("name", "Page Orchestration"),
        ("phase", "4 of 10: SEO Generation"),
        ("next action", "Write it"),
        ("reminder", "a"),
    ]
    assert len(facts) == 5
    assert len(facts[4].text) == LONGEST
    assert facts_of(briefing(phase_name=""))[1].text == "4 of 10"
    many = facts_of(briefing(reminders=tuple(f"r{n}" for n in range(500))))
    assert len(many) == 2 + MOST_REMINDERS


def test_a_long_reminder_that_a_summary_holds_whole() -> None:
    """What is cut in the fact does not have to be cut in the summary."""
    text = " ".join(f"word{n}" for n in range(300))
    fact = facts_of(briefing(reminders=(text,)))[-1]
    assert fact.text.endswith("…")
    assert not missing([fact], f"Keep: {text}")


def _items_of_our_words() -> str:
    chance = random.Random(1)  # noqa: S311  # only to fill
    words = [f"w{n}" for n in range(300)]
    lines = ("- " + " ".join(chance.choices(words, k=40)) for _ in range(60_000))
    return "\n".join(lines)[:8_000_000]


# Made when they are needed: all of them together are half a gigabyte.
HUGE: dict[str, Callable[[], str]] = {
    "one word": lambda: "x" * 8_000_000,
    "one line": lambda: "alpha beta gamma " * 470_000,
    "list items of our words": _items_of_our_words,
    "empty lines": lambda: "\n" * 8_000_000,
    "items without words": lambda: "\n- " * 2_600_000,
    "Chinese": lambda: "数据库迁移与测试。" * 290_000,
    "letters that become eighteen": lambda: "\ufdfa" * 2_600_000,
    "fractions": lambda: "4/11 " * 1_600_000,
    "words of their own": lambda: "w1. w2! " * 1_000_000,
    "Korean": lambda: "w1다 한국어를 " * 800_000,
    "titles": lambda: "4 seo generation " * 480_000,
    "phases": lambda: "phase 4 seo " * 700_000,
    "negations": lambda: "\n- w1 w2 w3 w4 not 不" * 380_000,
    "open tags": lambda: "<analysis>" * 800_000,
    "brackets": lambda: "(" * 8_000_000,
    "marks": lambda: "a" + "\u0301" * 4_000_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_8_mb_take_less_than_a_second(name: str) -> None:
    """Whatever they hold."""
    words = [f"w{n}" for n in range(300)]
    reminders = tuple(
        " ".join(words[(7 * n + k * k) % 300] for k in range(12)) for n in range(MOST_REMINDERS)
    )
    facts, summary = facts_of(briefing(reminders=reminders)), HUGE[name]()
    assert cpu_of(lambda: missing(facts, summary), 1) < 1


def test_a_huge_summary_is_looked_at_from_both_ends() -> None:
    """No real one is longer than a small part of that."""
    said = "\n\nPage Orchestration, phase 4/10\n\n"
    assert lost("x " * 4_000_000 + said) == []
    assert lost(said + "x " * 4_000_000) == []


# Letters of several scripts. Not among them: those whose upper case comes down to another letter.
letters = st.text(
    st.sampled_from(
        "abcdefghijklmnopqrstuvwxyzäößéñабвгдежαβγδ数据库迁移测试カナかな한국어กขคאבגدذر0123456789"
    ),
    min_size=1,
    max_size=12,
)
texts = st.lists(letters, min_size=1, max_size=14).map(" ".join)
briefings = st.builds(
    briefing,
    name=texts,
    phase=st.integers(1, 20),
    phases=st.integers(20, 40),
    phase_name=texts,
    next_action=st.none() | texts,
    reminders=st.lists(texts, max_size=6).map(tuple),
)
EMPHASIS = ("", "**", "`", "_", "*", "~~", '"')


def verbatim(facts: list[Fact], chance: random.Random) -> str:
    """A summary that holds all *facts*, each written in some way of its own."""
    lines = []
    for fact in chance.sample(facts, len(facts)):
        text = fact.text if fact.label != "phase" else f"phase {fact.text}"
        text = chance.choice([str, str.upper, str.lower, str.title])(text)
        mark = chance.choice(EMPHASIS)
        words = [f"{mark}{word}{mark}" if chance.random() < 0.3 else word for word in text.split()]
        wrapped = "".join(word + chance.choice([" ", " ", "\n", "\n  "]) for word in words)
        lines.append(chance.choice(["- ", "", "## ", "1. ", "> "]) + wrapped)
    return "\n\n".join(lines)


@given(briefings, st.randoms(use_true_random=False))
def test_all_that_is_there_word_for_word_is_kept(each: Briefing, chance: random.Random) -> None:
    """In any order, case and emphasis, wrapped or not."""
    facts = facts_of(each)
    assert missing(facts, verbatim(facts, chance)) == []


@given(briefings, st.text(alphabet=" \n\t*_-`#>.…", max_size=50))
def test_what_says_nothing_keeps_nothing(each: Briefing, summary: str) -> None:
    """Empty, or without a word."""
    facts = facts_of(each)
    assert missing(facts, summary) == facts


@given(
    briefings, st.lists(st.text(max_size=80) | texts, max_size=6), st.text(max_size=80), st.data()
)
def test_more_text_never_loses_a_fact(
    each: Briefing, parts: list[str], more: str, data: st.DataObject
) -> None:
    """Paragraphs before, between and after; of what a paragraph tells by itself."""
    facts = facts_of(each)
    some = [data.draw(st.sampled_from(facts)).text for _ in range(2)]
    paragraphs = [*parts, *some]
    where = data.draw(st.integers(0, len(paragraphs)))
    longer = [*paragraphs[:where], more, *paragraphs[where:]]
    told_by_none = set.intersection(*(set(missing(facts, part)) for part in paragraphs))
    assert set(missing(facts, "\n\n".join(longer))) <= told_by_none


@given(briefings, st.text(max_size=300))
def test_any_text_can_be_looked_at(each: Briefing, summary: str) -> None:
    """No error, and only facts that were asked for, in their order."""
    facts = facts_of(each)
    gone = missing(facts, summary)
    assert gone == [fact for fact in facts if fact in gone]
    assert all(re.search(r"\w", fact.text) for fact in facts)
