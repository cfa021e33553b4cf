"""What Holdfast relies on in the real Gemini CLI, one test for each fact. Nothing of Holdfast runs here."""

from __future__ import annotations

import sys
import uuid
from typing import Any

import pytest

from otheragents.gemini import Gemini
from otheragents.service import Request
from realclient.recording import Recording
from realclient.requests import asking, summaries, words
from realclient.runs import part
from realclient.sandbox import PROBE, command, context

pytestmark = [pytest.mark.needs("npm"), pytest.mark.needs("tmux")]

COMMON = {"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"}


def told(text: str, **more: Any) -> dict[str, Any]:
    return context("SessionStart", text, **more)


def before(text: str) -> dict[str, Any]:
    return context("BeforeAgent", text)


def watched(place: Gemini) -> None:
    for event in ("SessionStart", "BeforeAgent", "AfterTool", "PreCompress"):
        place.probe(event)


# Runs


def conversation(place: Gemini) -> Recording:
    """Hooks that say all kinds of things; a tool; a compression by hand, and one by itself."""
    watched(place)
    place.probe("SessionStart", "long", told(part(1, 100_000)))
    place.probe("SessionStart", "message", told("with a message", systemMessage="a message"))
    place.probe("SessionStart", "top-level", {"additionalContext": "at the top level"})
    place.probe("SessionStart", "plain", "in plain text")
    place.probe("SessionStart", "one", told("for startup"), "startup")
    place.probe("SessionStart", "several", told("for several"), "startup|resume")
    answer = place.answer("exec-form", told("in the exec form"))
    given = ["-I", "-S", str(PROBE), str(place.log), "exec-form", str(answer)]
    place.register("SessionStart", command(sys.executable, *given))
    place.probe("BeforeAgent", "before", before("with every prompt <a> & b"))
    place.probe("AfterTool", "after", context("AfterTool", "after the tool"))
    place.probe("PreCompress", "context", context("PreCompress", "for the summariser"))
    place.probe("PreCompress", "failing", "")
    place.answer("failing", "", "the save failed\n", 1)
    place.write_settings()

    def tokens(request: Request) -> int:
        return place.full if request.last_user_text.startswith("a prompt that fills") else 5_000

    with place.service(tokens=tokens) as stand_in, place.session(stand_in) as session:
        session.say("the first prompt")
        stand_in.queue += [place.shell("echo out; exit 3")]
        session.say("use the shell")
        session.compact()
        session.say("the prompt after the compaction")
        session.say("a prompt that fills the window")
        session.say("the prompt that compacts")
        printed = list(session.printed)
    return Recording(stand_in.requests, place.seen(), printed, {"session": session.id})


def resumed(place: Gemini) -> Recording:
    """What a session was told at its start, when it goes on."""
    watched(place)
    place.probe("SessionStart", "start", told("the context of the first start"))
    place.write_settings()
    with place.service(tokens=lambda _: 5_000) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
        place.answer("start", told("the context of the second start"))
        with place.session(stand_in, session.id) as session:
            session.say("the prompt of the resumed session")
    return Recording(stand_in.requests, place.seen(), [], {"session": session.id})


def printing(place: Gemini) -> Recording:
    """The same without a terminal."""
    watched(place)
    place.probe("SessionStart", "start", told("the context of the first start"))
    place.write_settings()
    with place.service(tokens=lambda _: 5_000) as stand_in:
        printed = ["--skip-trust", "--session-id", str(uuid.uuid4()), "-p"]
        place.run(stand_in, *printed, "the first prompt in print mode")
        place.run(
            stand_in, "--skip-trust", "--resume", printed[2], "-p", "the second in print mode"
        )
    return Recording(stand_in.requests, place.seen())


@pytest.fixture(scope="module")
def talked(recorded: Any) -> Recording:
    return recorded(conversation, Gemini)


@pytest.fixture(scope="module")
def again(recorded: Any) -> Recording:
    return recorded(resumed, Gemini)


# What the events carry


@pytest.mark.parametrize(
    ("event", "more"),
    [
        ("SessionStart", {"source"}),
        ("BeforeAgent", {"prompt"}),
        ("PreCompress", {"trigger"}),
        ("AfterTool", {"tool_name", "tool_input", "tool_response"}),
    ],
)
def test_an_event_carries(talked: Recording, event: str, more: set[str]) -> None:
    for each in talked.seen(event, "probe"):
        assert set(each.payload) == COMMON | more
        assert each.payload["session_id"] == talked.notes["session"]


def test_the_shells_result_tells_the_status_in_its_text(talked: Recording) -> None:
    [used] = talked.seen("AfterTool", "probe")
    assert used.payload["tool_name"] == "run_shell_command"
    assert used.payload["tool_input"] == {"command": "echo out; exit 3"}
    assert "Exit Code: 3" in used.payload["tool_response"]["llmContent"]


def test_before_every_request_a_compression_is_announced(talked: Recording) -> None:
    """So the event proves nothing."""
    triggers = [each.payload["trigger"] for each in talked.seen("PreCompress", "probe")]
    conversation = [each for each in talked.requests if not each.is_summary and each.tools]
    assert triggers.count("auto") == len(conversation)
    assert triggers.count("manual") == 1


# What a hook may say


@pytest.mark.parametrize(
    "said",
    [part(1, 100_000), "with a message", "for startup", "with every prompt &lt;a&gt; & b"],
    ids=lambda said: said[:24],
)
def test_it_is_in_the_first_request(talked: Recording, said: str) -> None:
    assert asking(talked.requests, "the first prompt").text.count(said) == 1


@pytest.mark.parametrize(
    "unheard",
    [
        "at the top level",
        "in plain text",
        "for several",
        "in the exec form",
        "for the summariser",
        "the save failed",
    ],
)
def test_it_does_not_reach_the_model(talked: Recording, unheard: str) -> None:
    assert not [each.number for each in talked.requests if unheard in each.text]


@pytest.mark.parametrize("shown", ["in plain text", "a message", "the save failed"])
def test_it_is_shown_to_the_person(talked: Recording, shown: str) -> None:
    assert shown in words(talked.printed)


def test_after_a_tool_it_may_be_told_something(talked: Recording) -> None:
    [answer] = [each for each in talked.requests if "Exit Code: 3" in each.text][:1]
    assert "<hook_context>after the tool</hook_context>" in answer.tool_results[-1]


# Compressions


def test_after_a_compression_the_session_does_not_start_again(talked: Recording) -> None:
    assert len(talked.seen("SessionStart", "probe")) == 1
    request = asking(talked.requests, "the prompt after the compaction")
    assert "for startup" not in request.text
    assert request.last_user_text.count("with every prompt") == 1


def test_compressing_by_itself_the_prompt_keeps_what_it_was_told_before(talked: Recording) -> None:
    last = summaries(talked.requests)[-1]
    request = talked.requests[last.number]
    assert request.last_user_text.startswith("the prompt that compacts")
    assert request.last_user_text.count("with every prompt") == 1


# Resumed


def test_in_the_terminal_a_resumed_session_is_told_nothing_at_its_start(again: Recording) -> None:
    assert [each.payload["source"] for each in again.seen("SessionStart", "probe")][:2] == [
        "startup",
        "resume",
    ]
    request = asking(again.requests, "the prompt of the resumed session")
    assert "the first prompt" in request.text
    assert "the context of the" not in request.text


def test_in_print_mode_context_at_the_start_costs_the_prompt_when_it_is_resumed(
    recorded: Any,
) -> None:
    again = recorded(printing, Gemini)
    first = asking(again.requests, "the first prompt in print mode")
    assert "<hook_context>the context of the first start</hook_context>" in first.text
    second = asking(again.requests, "the second in print mode")
    assert "the first prompt in print mode" not in second.text
    assert "Noted." in second.text
