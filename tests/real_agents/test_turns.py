"""Holdfast where one agent differs: told once all the same, and nothing of the person's is lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from otheragents.codex import Codex, hook_runs
from otheragents.copilot import Copilot, outcomes
from otheragents.gemini import Gemini
from otheragents.place import Place
from realclient.client import wait_until
from realclient.requests import asking
from realclient.workplace import READING, reading_in

pytestmark = pytest.mark.needs("npm")

Placed = Callable[[type[Place]], Any]
STEPS = 3
# Twice as many bytes as characters.
ACCENTS = {"docs/accents.md": "".join(f"{number}: {'é' * 80}\n" for number in range(1, 121))}
RESTORED = "# Workflow restored after the compaction: "
RESUMED = "# Workflow continued in the resumed session: "


def at_work(placed: Placed, kind: type[Place], reading: dict[str, str]) -> Any:
    place = placed(kind)
    place.plan(STEPS, reading)
    place.write_settings({})
    place.install()
    return place


def test_codex_resumed_and_compacted_in_one_turn_is_told_once(placed: Placed) -> None:
    """All hooks of a resumed session run there, and then all of a compacted one."""
    wanted = {**READING, **ACCENTS}
    place = at_work(placed, Codex, wanted)
    with place.service(tokens=lambda _: 5_000) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            session.compact()
            session.say("the prompt after the compaction")
        with place.session(stand_in, session.id) as again:
            again.compact()
            again.say("resumed and compacted")
            again.say("one more prompt")
        runs = hook_runs(again.printed)
    for prompt in ("the prompt after the compaction", "resumed and compacted", "one more prompt"):
        request = asking(stand_in.requests, prompt)
        text = request.text
        assert text.count(RESTORED) + text.count(RESUMED) == 1
        sent = reading_in(request)
        assert {path: sent.get(path) for path in wanted} == wanted
        assert "truncated output" not in text  # as Codex says where it cuts a hook's context
        labels = [line for line in text.splitlines() if line.startswith("reading 1 of ")]
        assert len(labels) == len(set(labels))
    assert [run for run in runs if run["status"] != "completed"] == []


def test_where_it_does_not_all_fit_the_rest_of_the_reading_is_named(placed: Placed) -> None:
    """Copilot takes one context with a prompt, and has no hooks for parts."""
    place = at_work(placed, Copilot, READING)
    with place.service(tokens=lambda _: 5_000) as stand_in, place.session(stand_in) as session:
        session.say("the first prompt")
        session.compact()
        session.say("the prompt after the compaction")
    request = asking(stand_in.requests, "the prompt after the compaction")
    sent = reading_in(request)
    whole = {path for path in READING if sent.get(path) == READING[path]}
    assert 3 <= len(whole) < len(READING)
    for path in READING.keys() - whole:
        assert path not in sent
        assert f"@{path} (not sent: no room for it beside the guidance" in request.text


def test_copilot_is_told_of_no_compaction_that_the_next_prompt_cancels(placed: Placed) -> None:
    """The first that is applied is told of with the next prompt, once."""
    place = at_work(placed, Copilot, {})
    with place.filled() as (stand_in, session, in_time):
        for number in range(4):
            session.say(f"prompt {number}")
        in_time.set()
        wait_until(lambda: "applied" in outcomes(place.home), "a compaction is applied")
        session.say("the prompt after it")
        session.say("one more prompt")
        ended = outcomes(place.home)
    assert ended == ["cancelled", "cancelled", "applied"]
    first = asking(stand_in.requests, "the prompt after it")
    assert not [each for each in stand_in.requests[: first.number - 1] if RESTORED in each.text]
    assert first.text.count(RESTORED) == 1
    assert asking(stand_in.requests, "one more prompt").text.count(RESTORED) == 1


@pytest.mark.parametrize("resume", ["full", "line"])
@pytest.mark.parametrize("compacted", ["before", "after"])
def test_copilot_resumed_and_compacted_is_told_once(
    compacted: str, resume: str, placed: Placed
) -> None:
    """It asks for its start and for the prompt beside it at the same moment."""
    place = at_work(placed, Copilot, {})
    place.write(place.project / ".claude/holdfast.toml", f'[restore]\nresume = "{resume}"\n')
    with place.service(tokens=lambda _: 5_000) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            if compacted == "before":
                session.compact()
        with place.session(stand_in, session.id) as again:
            if compacted == "after":
                again.compact()
            again.say("resumed and compacted")
            again.say("one more prompt")
    for prompt in ("resumed and compacted", "one more prompt"):
        text = asking(stand_in.requests, prompt).text
        assert text.count(RESTORED) + text.count(RESUMED) == 1, prompt


@pytest.mark.needs("tmux")
def test_gemini_without_a_terminal_keeps_the_persons_prompts(placed: Placed) -> None:
    """What is said at a start would cost them when the session is resumed."""
    place = at_work(placed, Gemini, {})
    identity = str(uuid.uuid4())
    with place.service(tokens=lambda _: 5_000) as stand_in:
        begun = ["--skip-trust", "--session-id", identity]
        place.run(stand_in, *begun, "-p", "the first prompt")
        again = ["--skip-trust", "--resume", identity]
        place.run(stand_in, *again, "-p", "the second prompt")
        place.run(stand_in, *again, "-p", "the third prompt")
    last = asking(stand_in.requests, "the third prompt")
    for prompt in ("the first prompt", "the second prompt", "the third prompt"):
        assert last.text.count(prompt) == 1
    # Once each time that it was resumed; what was told with a prompt stays there.
    assert asking(stand_in.requests, "the second prompt").text.count(RESUMED) == 1
    assert last.text.count(RESUMED) == 2
