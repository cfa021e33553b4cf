"""What Holdfast relies on in the real Qwen Code, one test for each fact. Nothing of Holdfast runs here."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from otheragents.qwen import Qwen
from otheragents.service import Request
from realclient.recording import Recording
from realclient.requests import asking, summaries, words
from realclient.runs import part
from realclient.sandbox import PROBE, command, context
from realclient.standin import Tool, calls

pytestmark = pytest.mark.needs("npm")

PARTS = 12
COMMON = {
    "session_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "timestamp",
    "permission_mode",
}
AROUND = ("PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit")


def told(text: str, **more: Any) -> dict[str, Any]:
    return context("SessionStart", text, **more)


def watched(place: Qwen) -> None:
    for event in (*AROUND, "PreToolUse", "PostToolUse", "PostToolUseFailure"):
        place.probe(event)


# Runs


def conversation(place: Qwen) -> Recording:
    """Hooks that say all kinds of things; tools; a compaction by hand; the session resumed."""
    watched(place)
    for number in range(PARTS):
        place.probe("SessionStart", f"part-{number}", told(part(number, 9_500)))
    place.probe("SessionStart", "long", told(part(1, 100_000)))
    place.probe("SessionStart", "marks", told("the marks <a> & b"))
    specific = told("with watchPaths")["hookSpecificOutput"]
    watch = {"hookSpecificOutput": {**specific, "watchPaths": ["/a"]}}
    place.probe("SessionStart", "watching", {**watch, "systemMessage": "for the person"})
    place.probe("SessionStart", "top-level", {"additionalContext": "at the top level"})
    for source in ("startup", "compact", "resume"):
        place.probe("SessionStart", source, told(f"the guidance at {source}"), source)
    answer = place.answer("exec-form", told("in the exec form"))
    given = ["-I", "-S", str(PROBE), str(place.log), "exec-form", str(answer)]
    place.register("SessionStart", command(sys.executable, *given))
    place.probe("PreCompact", "summariser", "in plain text for the summariser")
    place.probe("PreCompact", "json", context("PreCompact", "Keep the <phase>."))
    place.probe("PreCompact", "failing", "")
    place.answer("failing", "what a failing hook printed", "the save failed\n", 1)
    place.write_settings()
    file = place.write("a file.txt", "what the file says")
    with place.service(tokens=lambda _: 5_000) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            stand_in.queue += [
                place.shell('echo "session $QWEN_CODE_SESSION_ID"'),
                place.shell("exit 3"),
                calls(Tool("read_file", {"file_path": str(file)})),
            ]
            session.say("use the tools")
            session.compact()
            session.say("the prompt after the compaction")
        with place.session(stand_in, session.id) as again:
            again.say("the prompt of the resumed session")
    notes = {"session": session.id}
    return Recording(stand_in.requests, place.seen(), list(session.printed), notes)


def automatic(place: Qwen) -> Recording:
    """The window fills up in a tool loop, and between two turns."""
    watched(place)
    for source in ("startup", "compact"):
        place.probe("SessionStart", source, told(f"the guidance at {source}"), source)
    place.write_settings()

    def tokens(request: Request) -> int:
        fills = "fills the window" in request.last_user_text or "[fills]" in "".join(
            request.tool_results[-1:]
        )
        return place.full if fills and not request.is_summary else 5_000

    with place.service(tokens=tokens) as stand_in, place.session(stand_in) as session:
        session.say("the first prompt")
        stand_in.queue += [
            place.shell("echo '[fills]'"),
            place.shell("echo two"),
            place.shell("echo three"),
        ]
        session.say("the prompt of the loop")
        session.say("a prompt that fills the window")
        session.say("the prompt between two turns")
        session.say("the prompt after that")
    return Recording(stand_in.requests, place.seen())


@pytest.fixture(scope="module")
def talked(recorded: Any) -> Recording:
    return recorded(conversation, Qwen)


@pytest.fixture(scope="module")
def filled(recorded: Any) -> Recording:
    return recorded(automatic, Qwen)


def said_after(recording: Recording) -> str:
    return asking(recording.requests, "the prompt after the compaction").text


# What the events carry


def test_session_start_tells_the_source(talked: Recording) -> None:
    started = talked.seen("SessionStart", "probe")
    assert [each.payload["source"] for each in started] == ["startup", "compact", "resume"]
    for each in started:
        assert set(each.payload) - {"prompt_id"} == COMMON | {"source", "model"}
        assert each.payload["session_id"] == talked.notes["session"]


def test_a_compaction_tells_trigger_instructions_and_summary(talked: Recording) -> None:
    [before] = talked.seen("PreCompact", "probe")
    assert set(before.payload) == COMMON | {"prompt_id", "trigger", "custom_instructions"}
    assert (before.payload["trigger"], before.payload["custom_instructions"]) == ("manual", "")
    [after] = talked.seen("PostCompact", "probe")
    assert set(after.payload) == COMMON | {"prompt_id", "trigger", "compact_summary"}
    assert "The summary that the stand-in made." in after.payload["compact_summary"]


def test_tools_have_names_of_their_own(talked: Recording) -> None:
    used = talked.seen("PostToolUse", "probe")
    assert [each.payload["tool_name"] for each in used] == ["run_shell_command", "read_file"]
    assert [set(each.payload["tool_response"]) for each in used] == [
        {"llmContent", "returnDisplay"}
    ] * 2
    assert set(used[1].payload["tool_input"]) == {"file_path"}


def test_a_command_that_fails_is_told_as_a_failure(talked: Recording) -> None:
    [failed] = talked.seen("PostToolUseFailure", "probe")
    assert failed.payload["tool_input"]["command"] == "exit 3"
    assert "Exit Code: 3" in failed.payload["error"]


def test_the_agents_shell_knows_the_session(talked: Recording) -> None:
    [answer] = [each for each in talked.requests if each.tool_results][:1]
    assert f"session {talked.notes['session']}" in answer.text


def test_a_prompt_is_submitted_once_more_after_each_tool_and_is_empty(talked: Recording) -> None:
    prompts = [each.payload["prompt"] for each in talked.seen("UserPromptSubmit", "probe")]
    assert prompts[1:5] == ["use the tools", "", "", ""]


# What a hook may say


@pytest.mark.parametrize(
    "said",
    [
        *(part(number, 9_500) for number in range(PARTS)),
        part(1, 100_000),
        "with watchPaths",
        "the guidance at compact",
        "the marks &lt;a&gt; & b",
    ],
    ids=lambda said: said[:24],
)
def test_it_is_in_the_system_prompt_of_the_first_request_after_the_compaction(
    talked: Recording, said: str
) -> None:
    request = asking(talked.requests, "the prompt after the compaction")
    assert request.turns[0].role == "system"
    assert request.turns[0].text.count(said) == request.text.count(said) == 1


def test_parts_come_in_the_order_in_which_their_hooks_are_registered(talked: Recording) -> None:
    begun = [said_after(talked).index(part(number, 9_500)) for number in range(PARTS)]
    assert begun == sorted(begun)


def test_each_start_replaces_what_the_one_before_it_said(talked: Recording) -> None:
    for prompt, source in (
        ("use the tools", "startup"),
        ("the prompt after the compaction", "compact"),
        ("the prompt of the resumed session", "resume"),
    ):
        text = asking(talked.requests, prompt).text
        others = {"startup", "compact", "resume"} - {source}
        assert text.count(f"the guidance at {source}") == 1
        assert not [other for other in others if f"the guidance at {other}" in text]


@pytest.mark.parametrize("unheard", ["at the top level", "in the exec form", "for the person"])
def test_it_does_not_reach_the_model(talked: Recording, unheard: str) -> None:
    assert not [each.number for each in talked.requests if unheard in each.text]


def test_the_arguments_of_the_exec_form_are_left_out(talked: Recording) -> None:
    assert not talked.seen("", "exec-form")


def test_the_summariser_hears_additional_context_and_no_plain_text(talked: Recording) -> None:
    [summary] = summaries(talked.requests)
    assert "Additional Instructions:\nKeep the &lt;phase&gt;." in summary.text
    assert "for the summariser" not in summary.text
    assert "what a failing hook printed" not in summary.text


def test_exit_1_of_precompact_is_not_shown_and_the_compaction_goes_on(talked: Recording) -> None:
    assert "the save failed" not in words(talked.printed)
    assert talked.seen("PostCompact", "probe")


# The order of events


def test_by_hand_the_session_starts_anew_at_once(talked: Recording) -> None:
    events = talked.order(*AROUND)
    first = events.index("PreCompact")
    assert events[first : first + 4] == list(AROUND)


@pytest.mark.parametrize("compaction", [0, 1])
def test_compacting_by_itself_the_first_request_may_miss_the_guidance_and_the_second_has_it(
    filled: Recording, compaction: int
) -> None:
    """The request does not wait for the hooks."""
    after = filled.requests[summaries(filled.requests)[compaction].number :]
    first, second = after[:2]
    assert first.text.count("the guidance at") == 1
    assert second.text.count("the guidance at compact") == 1
    assert "the guidance at startup" not in second.text
    triggers = [each.payload["trigger"] for each in filled.seen("PreCompact", "probe")]
    assert triggers == ["auto", "auto"]
