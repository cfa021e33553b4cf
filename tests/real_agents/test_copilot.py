"""What Holdfast relies on in the real Copilot CLI, one test for each fact. Nothing of Holdfast runs here."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from otheragents.copilot import Copilot, outcomes
from realclient.client import wait_until
from realclient.recording import Recording
from realclient.requests import asking, summaries
from realclient.runs import part
from realclient.sandbox import PROBE, command, context

pytestmark = pytest.mark.needs("npm")

COMMON = {"session_id", "cwd", "hook_event_name", "timestamp"}


def told(text: str, **more: Any) -> dict[str, Any]:
    return {"additionalContext": text, **more}


def watched(place: Copilot) -> None:
    for event in ("SessionStart", "SessionEnd", "UserPromptSubmit", "PreCompact", "PostToolUse"):
        place.probe(event)


# Runs


def conversation(place: Copilot) -> Recording:
    """Hooks that say all kinds of things; tools; a compaction by hand; the session resumed."""
    watched(place)
    for size in (10_001, 100_000):
        place.probe("SessionStart", f"size-{size}", told(part(size, size)))
    place.probe("SessionStart", "more", told("the marks <a> & b", systemMessage="a message"))
    place.probe("SessionStart", "specific", context("SessionStart", "in the specific output"))
    place.probe("SessionStart", "plain", "in plain text")
    place.probe("SessionStart", "matched", told("whatever the matcher"), "compact|resume|fork")
    answer = place.answer("exec-form", told("in the exec form"))
    given = ["-I", "-S", str(PROBE), str(place.log), "exec-form", str(answer)]
    place.register("SessionStart", command(sys.executable, *given))
    place.probe("UserPromptSubmit", "first", told("of the first hook"))
    place.probe("UserPromptSubmit", "last", told("of the last hook " + part(2, 60_000)))
    place.probe("PreCompact", "top-level", told("for the summariser"))
    place.probe("PreCompact", "failing", "")
    place.answer("failing", "what a failing hook printed", "the save failed\n", 1)
    place.probe("PostToolUse", "tool", told("after the tool"))
    place.write_settings()
    with place.service(tokens=lambda _: 5_000) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            stand_in.queue += [place.shell('echo "session $COPILOT_AGENT_SESSION_ID"; exit 3')]
            session.say("use the shell")
            session.compact()
            session.say("the prompt after the compaction")
        with place.session(stand_in, session.id) as again:
            again.say("the prompt of the resumed session")
    return Recording(stand_in.requests, place.seen(), [], {"session": session.id})


def automatic(place: Copilot) -> Recording:
    """The window is full: a prompt that comes before the summary, and one that comes after it."""
    watched(place)
    place.write_settings()
    with place.filled() as (stand_in, session, in_time):
        session.say("the first prompt")
        session.say("the second prompt")
        session.say("the third prompt")
        wait_until(lambda: "cancelled" in outcomes(place.home), "a compaction is cancelled")
        in_time.set()
        wait_until(lambda: "applied" in outcomes(place.home), "a compaction is applied")
        session.say("the prompt after the compaction")
        notes = {"outcomes": outcomes(place.home)}
    return Recording(stand_in.requests, place.seen(), [], notes)


@pytest.fixture(scope="module")
def talked(recorded: Any) -> Recording:
    return recorded(conversation, Copilot)


@pytest.fixture(scope="module")
def filled(recorded: Any) -> Recording:
    return recorded(automatic, Copilot)


# What the events carry


def test_session_start_tells_the_source_and_no_transcript(talked: Recording) -> None:
    started = talked.seen("SessionStart", "probe")
    assert [each.payload["source"] for each in started] == ["new", "resume"]
    for each in started:
        assert set(each.payload) == COMMON | {"source", "initial_prompt"}
        assert each.payload["session_id"] == talked.notes["session"]


def test_a_prompt_tells_no_transcript(talked: Recording) -> None:
    for each in talked.seen("UserPromptSubmit", "probe"):
        assert set(each.payload) == COMMON | {"prompt"}


def test_a_compaction_tells_trigger_and_transcript(talked: Recording) -> None:
    [before] = talked.seen("PreCompact", "probe")
    assert set(before.payload) == COMMON | {"transcript_path", "trigger", "custom_instructions"}
    assert before.payload["trigger"] == "manual"


def test_the_shell_is_called_bash_and_its_result_ends_with_the_status(talked: Recording) -> None:
    [used] = talked.seen("PostToolUse", "probe")
    assert used.payload["tool_name"] == "Bash"
    assert set(used.payload["tool_input"]) == {"command", "description"}
    result = used.payload["tool_result"]
    assert result["result_type"] == "success"
    assert "completed with exit code 3" in result["text_result_for_llm"]


def test_the_agents_shell_knows_the_session(talked: Recording) -> None:
    [answer] = [each for each in talked.requests if each.tool_results][:1]
    assert f"session {talked.notes['session']}" in answer.text


def test_the_session_ends_with_each_turn(talked: Recording) -> None:
    events = talked.order("UserPromptSubmit", "SessionEnd")
    assert events == ["UserPromptSubmit", "SessionEnd"] * 4


# What a hook may say


@pytest.mark.parametrize(
    "said",
    [
        part(10_001, 10_001),
        part(100_000, 100_000),
        "the marks <a> & b",
        "whatever the matcher",
        part(2, 60_000),
    ],
    ids=lambda said: said[:24],
)
def test_it_is_in_the_first_request(talked: Recording, said: str) -> None:
    assert asking(talked.requests, "the first prompt").text.count(said) == 1


@pytest.mark.parametrize(
    "unheard",
    [
        "in the specific output",
        "in plain text",
        "in the exec form",
        "of the first hook",
        "a message",
        "for the summariser",
        "what a failing hook printed",
    ],
)
def test_it_does_not_reach_the_model(talked: Recording, unheard: str) -> None:
    assert not [each.number for each in talked.requests if unheard in each.text]


def test_the_arguments_of_the_exec_form_are_left_out(talked: Recording) -> None:
    assert not talked.seen("", "exec-form")


def test_after_a_tool_it_may_be_told_something(talked: Recording) -> None:
    assert "after the tool" in asking(talked.requests, "exit code 3").tool_results[-1]


# Compactions


def test_after_a_compaction_the_session_does_not_start_again(talked: Recording) -> None:
    request = asking(talked.requests, "the prompt after the compaction")
    assert "whatever the matcher" not in request.text
    assert request.text.count("of the last hook") == 1


def test_a_compaction_that_the_next_prompt_cancels_is_announced_like_any_other(
    filled: Recording,
) -> None:
    """So the event proves nothing; the transcript tells how it ended."""
    announced = filled.seen("PreCompact", "probe", trigger="auto")
    ended = filled.notes["outcomes"]
    assert ended == ["cancelled", "applied"]
    assert len(announced) == len(ended) == len(summaries(filled.requests))
    after = asking(filled.requests, "the prompt after the compaction")
    assert "summarized to free up context" in after.text


def test_it_compacts_beside_the_request_of_the_prompt(filled: Recording) -> None:
    request = asking(filled.requests, "the second prompt")
    assert "summarized" not in request.text
