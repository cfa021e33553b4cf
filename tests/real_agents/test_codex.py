"""What Holdfast relies on in the real Codex, one test for each fact. Nothing of Holdfast runs here."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from otheragents.codex import Codex, hook_runs
from otheragents.service import Request
from realclient.recording import Recording
from realclient.requests import asking, summaries, words
from realclient.runs import part
from realclient.sandbox import PROBE, command, context

pytestmark = pytest.mark.needs("npm")

PARTS = 12
COMMON = {"session_id", "transcript_path", "cwd", "hook_event_name"}
AROUND = ("PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit")
FULL, ROOMY = 150_000, 5_000


def told(text: str, **more: Any) -> dict[str, Any]:
    return context("SessionStart", text, **more)


def watched(place: Codex) -> None:
    for event in (*AROUND, "PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        place.probe(event)


# Runs


def conversation(place: Codex) -> Recording:
    """Hooks that say all kinds of things; tools; a compaction by hand; the session resumed."""
    watched(place)
    for number in range(PARTS):
        place.probe("SessionStart", f"part-{number}", told(part(number, 9_500)))
    for size in (10_000, 10_001):
        place.probe("SessionStart", f"size-{size}", told(part(size, size)))
    place.probe("SessionStart", "bytes", told("é" * 5_000 + "[five thousand letters]"))
    place.probe("SessionStart", "unlimited", told(part(1, 60_000)), additionalContextLimit=0)
    specific = told("with watchPaths")["hookSpecificOutput"]
    watch = {"hookSpecificOutput": {**specific, "watchPaths": ["/a"]}}
    place.probe("SessionStart", "watching", watch)
    place.probe("SessionStart", "top-level", {"additionalContext": "at the top level"})
    place.probe("SessionStart", "message", told("with a message", systemMessage="for the person"))
    place.probe("SessionStart", "plain", "in plain text")
    place.probe("SessionStart", "again", told("for compact|resume|fork"), "compact|resume|fork")
    answer = place.answer("exec-form", told("in the exec form"))
    words_ = ["-I", "-S", str(PROBE), str(place.log), "exec-form", str(answer)]
    place.register("SessionStart", command(sys.executable, *words_))
    place.probe("PreCompact", "summariser", "in plain text for the summariser")
    place.probe("PreCompact", "json", context("PreCompact", "context as JSON"))
    place.probe("PreCompact", "failing", "")
    place.answer("failing", "what a failing hook printed", "the save failed\n", 1)
    place.write_settings()
    with place.service(tokens=lambda _: ROOMY) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
            stand_in.queue += [place.shell('echo "session $CODEX_SESSION_ID"; exit 3')]
            session.say("use the shell")
            session.compact()
            session.say("the prompt after the compaction")
            printed = list(session.printed)
        with place.session(stand_in, session.id) as again:
            again.compact()
        with place.session(stand_in, session.id) as again:
            again.say("the prompt of the resumed session")
    notes = {"session": session.id}
    return Recording(stand_in.requests, place.seen(), printed, notes)


def automatic(place: Codex) -> Recording:
    """Resumed and compacted in one turn; the window fills up between turns, and in a tool loop."""
    watched(place)
    for source in ("startup", "resume", "compact"):
        place.probe("SessionStart", source, told(f"the guidance at {source}"), source)
    place.write_settings()

    def tokens(request: Request) -> int:
        fills = "fills the window" in request.last_user_text or "[fills]" in "".join(
            request.tool_results[-1:]
        )
        return FULL if fills and not request.is_summary else ROOMY

    with place.service(tokens=tokens) as stand_in:
        with place.session(stand_in) as session:
            session.say("the first prompt")
        with place.session(stand_in, session.id) as session:
            session.compact()
            session.say("resumed and compacted")
        with place.session(stand_in, session.id) as session:
            session.say("a prompt that fills the window")
            session.say("the prompt between two turns")
            stand_in.queue += [place.shell("echo '[fills]'"), place.shell("echo 'the loop ends'")]
            session.say("the prompt of the loop")
    return Recording(stand_in.requests, place.seen())


@pytest.fixture(scope="module")
def talked(recorded: Any) -> Recording:
    return recorded(conversation, Codex)


@pytest.fixture(scope="module")
def filled(recorded: Any) -> Recording:
    return recorded(automatic, Codex)


def said_after(recording: Recording) -> str:
    return asking(recording.requests, "the prompt after the compaction").text


# What the events carry


def test_session_start_tells_the_source_and_names_no_turn(talked: Recording) -> None:
    started = talked.seen("SessionStart", "probe")
    assert [each.payload["source"] for each in started] == ["startup", "compact", "resume"]
    for each in started:
        assert set(each.payload) == COMMON | {"model", "permission_mode", "source"}
        assert each.payload["session_id"] == talked.notes["session"]


@pytest.mark.parametrize("event", ["PreCompact", "PostCompact"])
def test_a_compaction_tells_its_trigger_and_neither_instructions_nor_summary(
    talked: Recording, event: str
) -> None:
    for each in talked.seen(event, "probe"):
        assert set(each.payload) == COMMON | {"turn_id", "model", "trigger"}
        assert each.payload["trigger"] == "manual"


def test_the_shell_is_called_bash_and_answers_with_text_that_has_no_status(
    talked: Recording,
) -> None:
    [used] = talked.seen("PostToolUse", "probe")
    assert used.payload["tool_name"] == "Bash"
    assert set(used.payload["tool_input"]) == {"command"}
    response = used.payload["tool_response"]
    assert isinstance(response, str)
    assert "3" not in response.replace(talked.notes["session"], "")


def test_the_agents_shell_knows_the_session(talked: Recording) -> None:
    [answer] = [each for each in talked.requests if each.tool_results][:1]
    assert f"session {talked.notes['session']}" in answer.text


# What a hook may say


@pytest.mark.parametrize(
    "said",
    [
        *(part(number, 9_500) for number in range(PARTS)),
        part(10_000, 10_000),
        part(1, 60_000),
        "with a message",
        "in plain text",
        "for compact|resume|fork",
    ],
    ids=lambda said: said[:24],
)
def test_it_reaches_the_first_request_after_the_compaction(talked: Recording, said: str) -> None:
    assert said_after(talked).count(said) == 1


def test_parts_come_in_the_order_in_which_their_hooks_are_registered(talked: Recording) -> None:
    begun = [said_after(talked).index(part(number, 9_500)) for number in range(PARTS)]
    assert begun == sorted(begun)


@pytest.mark.parametrize("cut", [part(10_001, 10_001), "é" * 5_000 + "[five thousand letters]"])
def test_of_more_than_ten_thousand_bytes_only_the_ends_arrive(talked: Recording, cut: str) -> None:
    text = said_after(talked)
    assert cut not in text
    assert cut[:2_000] in text
    assert cut[-20:] in text
    assert "Full hook output saved to: " in text


@pytest.mark.parametrize("refused", ["with watchPaths", "at the top level", "in the exec form"])
def test_it_does_not_reach_the_model(talked: Recording, refused: str) -> None:
    assert not [each.number for each in talked.requests if refused in each.text]


def test_a_key_that_it_does_not_know_fails_the_hook(talked: Recording) -> None:
    failed = [run for run in hook_runs(talked.printed) if run["status"] == "failed"]
    assert "hook returned invalid session start JSON output" in words(failed)


def test_the_arguments_of_the_exec_form_are_left_out(talked: Recording) -> None:
    assert not talked.seen("", "exec-form")


def test_a_message_is_shown_to_the_person_and_not_to_the_model(talked: Recording) -> None:
    assert "for the person" in words(hook_runs(talked.printed))
    assert "for the person" not in said_after(talked)


def test_nothing_reaches_the_summariser(talked: Recording) -> None:
    summary = summaries(talked.requests)[0]
    assert "for the summariser" not in summary.text
    assert "context as JSON" not in summary.text


def test_exit_1_of_precompact_shows_stderr_and_the_compaction_goes_on(talked: Recording) -> None:
    shown = words(hook_runs(talked.printed))
    assert "the save failed" in shown
    assert "what a failing hook printed" not in shown
    assert talked.seen("PostCompact", "probe")


# The order of events


def test_by_hand_the_session_starts_anew_with_the_next_prompt(talked: Recording) -> None:
    events = talked.order(*AROUND)
    first = events.index("PreCompact")
    assert events[first : first + 4] == list(AROUND)


def test_compacted_and_left_then_resumed_it_starts_once_as_resumed(talked: Recording) -> None:
    assert [each.payload["source"] for each in talked.seen("SessionStart", "probe")][2:] == [
        "resume"
    ]
    assert len(talked.seen("PreCompact", "probe")) == 2


def test_resumed_and_compacted_it_starts_twice_in_one_turn(filled: Recording) -> None:
    request = asking(filled.requests, "resumed and compacted")
    assert request.text.count("the guidance at resume") == 1
    assert request.text.count("the guidance at compact") == 1
    begun = {each.name: each.at for each in filled.seen("SessionStart") if each.name != "probe"}
    assert set(begun) == {"startup", "resume", "compact"}
    events = filled.order(*AROUND)[2:7]
    assert events == ["PreCompact", "PostCompact", "SessionStart", "SessionStart", AROUND[-1]]


@pytest.mark.parametrize("prompt", ["the prompt between two turns", "the loop ends"])
def test_compacting_by_itself_the_guidance_is_in_the_very_next_request(
    filled: Recording, prompt: str
) -> None:
    compactions = summaries(filled.requests)[1:]
    assert len(compactions) == 2
    which = 0 if prompt == "the prompt between two turns" else 1
    request = filled.requests[compactions[which].number]
    assert request.text.count("the guidance at compact") == 1
    assert "the guidance at startup" not in request.text
    assert [each.payload["trigger"] for each in filled.seen("PreCompact", "probe")] == [
        "manual",
        "auto",
        "auto",
    ]


def test_hooks_that_nobody_trusts_do_not_run(placed: Any) -> None:
    place = placed(Codex)
    watched(place)
    place.write_settings()
    with place.service() as stand_in, place.session(stand_in, trusted=False) as session:
        session.say("a prompt")
    assert stand_in.requests
    assert not place.seen()
