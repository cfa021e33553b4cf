"""Guidance keeps its budget, its order and its facts, whatever the briefing holds."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.capabilities import USUAL
from holdfast.formats.engine.workflow import Briefing
from holdfast.restoring import guidance
from holdfast.restoring.guidance import HEAD, Situation
from holdfast.restoring.reading import Item, Reading
from holdfast.restoring.summary import facts_of
from holdfast.text.plaintext import NOTE_LIMIT, clean, one_line, shorten
from holdfast.text.room import units

texts = st.text(max_size=60) | st.text(min_size=300, max_size=900) | st.just("🚀" * 500)
briefings = st.builds(
    Briefing,
    name=texts,
    kind=st.just("custom"),
    phase=st.integers(1, 9),
    phases=st.integers(9, 99),
    phase_name=texts,
    status=st.sampled_from(["in_progress", "blocked"]),
    next_action=st.none() | texts,
    gate=st.none() | texts,
    reading=st.lists(texts, max_size=60).map(tuple),
    reminders=st.lists(texts, max_size=60).map(tuple),
    context=st.lists(st.tuples(texts, texts), max_size=60).map(tuple),
    state_path=st.none() | texts,
    kept_with=st.lists(st.just("holdfast skill tdd run"), max_size=6).map(tuple),
    ended_with=st.just("holdfast skill complete"),
)


@given(briefings, st.lists(texts, max_size=20))
def test_guidance_is_never_over_its_budget(briefing: Briefing, others: list[str]) -> None:
    """And the head, with phase and reading, is in the first 2,000 units."""
    items = [Item(path) for path in briefing.reading]
    text = guidance.for_model(
        briefing,
        Situation("compact", Reading(items, []), observed=others, others=others, remarks=others),
    )
    assert units(text) <= USUAL.room.most
    head = shorten(text, HEAD)
    assert f"phase {briefing.phase} of {briefing.phases}" in head
    assert not items or "## REQUIRED READING" in head
    assert "## ACTION REQUIRED" in text
    assert text == clean(text)


@given(briefings)
def test_every_line_is_there_or_said_to_be_left_out(briefing: Briefing) -> None:
    """The count behind "… n more" is right."""
    text = guidance.for_model(briefing, Situation("compact"))
    if not briefing.reminders:
        assert "\n\n## Key reminders\n" not in text
        return
    section = text.split("\n\n## Key reminders\n")[1].split("\n\n##")[0].splitlines()
    left = 0
    if section[-1].startswith("… "):
        left = int(section[-1].split()[1])
        section = section[:-1]
    assert len(section) + left == len(briefing.reminders)


@given(briefings)
def test_the_note_for_the_summariser_keeps_its_budget(briefing: Briefing) -> None:
    """Plain text of one line that is not taken for JSON."""
    note = guidance.for_summariser(briefing)
    assert units(note) <= NOTE_LIMIT
    assert note.startswith("Keep word for word:")
    assert "\n" not in note


def test_a_reminder_s_own_stop_ends_the_list() -> None:
    """There were two: "does it.. Required reading"."""
    briefing = Briefing("W", "x", 1, 2, "A", "in_progress", reading=("@a.md",), reminders=("No.",))
    assert "Reminders: No. Required reading: @a.md." in guidance.for_summariser(briefing)


@given(briefings)
def test_lines_for_people_are_lines(briefing: Briefing) -> None:
    """A message is one line."""
    for text in (guidance.for_person(briefing, "restored"), guidance.in_one_line(briefing)):
        assert len(text.splitlines()) == 1


def test_the_wording_is_that_of_facts(tmp_path: Path) -> None:
    """The whole text of a plain case, as the model gets it."""
    there = tmp_path / "auth.md"
    there.write_text("text", encoding="utf-8")
    briefing = Briefing(
        name="User Auth",
        kind="implementation",
        phase=2,
        phases=3,
        phase_name="Build",
        status="in_progress",
        next_action="Connect the session store",
        gate="all tests pass",
        reminders=("Use the existing patterns",),
        context=(("plan_number", "1"),),
        state_path="untracked/workflow-state/user-auth/state-user-auth-20260101_000000.json",
        kept_with=("holdfast phase next", "holdfast remind", "holdfast context"),
        ended_with="holdfast complete",
    )
    plan = Reading(
        [Item("docs/auth.md", str(there)), Item("docs/gone.md", trouble="missing")],
        [],
    )
    seen = ["Open tasks: Write"]
    situation = Situation("compact", plan, observed=seen, others=["Other: phase 1/2"])
    text = guidance.for_model(briefing, situation)
    assert (
        text
        == """\
# Workflow restored after the compaction: User Auth

The workflow "User Auth" (type implementation) is in phase 2 of 3: Build. Status: in progress.
Next action: Connect the session store
Gate of this phase: all tests pass

## REQUIRED READING
@docs/auth.md
@docs/gone.md (missing)

## Key reminders
- Use the existing patterns

## Context
- plan_number: 1

## Observed (noted by hooks, not stated by anyone)
- Open tasks: Write

## Other workflows here
- Other: phase 1/2

## ACTION REQUIRED
1. The work continues in phase 2 of 3: Build; what is done is not to be repeated.
2. The first reply acknowledges this: "✅ Workflow restored: User Auth, Phase 2/3".
3. Still to be read from disk: @docs/auth.md. They contain details that a summary does not; reading them comes before the next change.
4. Missing: @docs/gone.md. It is looked for, or the person is asked.
5. Before the next change, the reply confirms the phase and the context.
6. Nothing is assumed. Where the summary says otherwise, the saved state counts; what neither says is looked up, or the person is asked. The state is kept current with `holdfast phase next`, `holdfast remind`, `holdfast context`, and ended with `holdfast complete`.
State file: untracked/workflow-state/user-auth/state-user-auth-20260101_000000.json"""
    )


def test_what_the_summary_lost_is_stressed() -> None:
    """One line near the head; the reminders first, under a heading of their own."""
    briefing = Briefing(
        name="User Auth",
        kind="implementation",
        phase=2,
        phases=3,
        phase_name="Build",
        status="in_progress",
        next_action="Connect the session store",
        reminders=("one", "two", "three"),
    )
    _name, phase, action, *reminders = facts_of(briefing)
    text = guidance.for_model(briefing, Situation("compact", lost=[action, reminders[1]]))
    assert text.startswith(
        """\
# Workflow restored after the compaction: User Auth

The workflow "User Auth" (type implementation) is in phase 2 of 3: Build. Status: in progress.
Next action: Connect the session store
The last summary that was checked did not keep: the next action; 1 of 3 reminders (marked below).

## Key reminders that the summary did not keep
- two

## Key reminders
- one
- three

## ACTION REQUIRED
"""
    )
    note = guidance.for_summariser(briefing, [reminders[2]])
    assert note.endswith("Reminders: three; one; two.")
    text = guidance.for_model(briefing, Situation("compact", lost=[phase]))
    assert "\nThe last summary that was checked did not keep: the phase.\n" in text
    assert "Key reminders that" not in text


@given(briefings, st.data())
def test_what_was_lost_keeps_the_budget_and_no_reminder_is_gone(
    briefing: Briefing, data: st.DataObject
) -> None:
    """The line is in the head; each reminder is there once, or said to be left out."""
    facts = facts_of(briefing)
    lost = data.draw(st.lists(st.sampled_from(facts), unique=True))
    items = [Item(path) for path in briefing.reading]
    text = guidance.for_model(briefing, Situation("compact", Reading(items, []), lost=lost))
    assert units(text) <= USUAL.room.most
    head = shorten(text, HEAD)
    assert bool(lost) == ("\nThe last summary that was checked did not keep: " in head)
    assert not items or "## REQUIRED READING" in head
    assert units(guidance.for_summariser(briefing, lost)) <= NOTE_LIMIT
    there = 0
    for section in re.findall(r"\n\n## Key reminders[^\n]*\n(.*?)(?=\n\n##)", text, re.DOTALL):
        lines = section.splitlines()
        there += int(lines.pop().split()[1]) if lines[-1].startswith("… ") else 0
        there += len(lines)
    assert there == len(briefing.reminders)


@given(st.text(max_size=400), st.integers(1, 50))
def test_one_line_is_one_clean_line_within_its_limit(text: str, limit: int) -> None:
    """Whatever the text."""
    line = one_line(text, limit)
    assert units(line) <= limit
    assert len(line.splitlines()) <= 1
    line.encode("utf-8")


@given(st.text(alphabet="</system-rmind>\x1b[]0m \u202e", max_size=80))
def test_cleaning_leaves_no_tag_and_no_escape(text: str) -> None:
    """Also when removing one tag would join the halves of another."""
    cleaned = clean(text)
    assert not re.search(r"</[A-Za-z]", cleaned)
    assert not set("\x1b\u202e") & set(cleaned)
    assert clean(cleaned) == cleaned
