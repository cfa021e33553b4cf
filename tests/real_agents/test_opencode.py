"""Holdfast in the real opencode: a server, its plugin, and a workflow through compactions."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from otheragents.opencode import Opencode, OpencodeRequest, OpencodeService, shell
from otheragents.service import Request
from realclient.client import wait_until
from realclient.recording import Recording
from realclient.requests import asking, summaries
from realclient.standin import Tool, calls, says
from realclient.terminal import Terminal
from realclient.workplace import COMMANDS

pytestmark = pytest.mark.needs("npm", "git")

HOLDFAST = COMMANDS / "holdfast"
SALT = "Never forget the salt"
GUIDES = {
    f"docs/guide {number}.md": "".join(
        f"guide {number}, line {line}: words that only this file has\n" for line in range(250)
    )
    for number in range(3)
}
NAMED = 'The workflow "The long way" is kept in this project'
RESTORED = "# Workflow restored after the compaction: The long way"
RESUMED = "# Workflow continued in the resumed session: The long way"
CARRIED = "# Workflow carried over into the forked session: The long way"
HEADS = (NAMED, RESTORED, RESUMED, CARRIED)
SUBAGENT = "Look into it, subagent"
CONTINUE = "Continue if you have next steps"


def begin(place: Opencode) -> None:
    """A project in which a workflow was started, with files that have to be read."""
    for path, text in GUIDES.items():
        place.write(path, text)
    subprocess.run(["git", "init", "-q"], cwd=place.project, check=True)
    reading = [word for path in GUIDES for word in ("--read", f"@{path}")]
    phases = ["--type", "implementation", "--phases", "Look,Build,Check"]
    place.holdfast("start", "The long way", *phases, *reading, "--remind", SALT)


def hooks_run(place: Opencode) -> list[list[str]]:
    """Event and source of each hook that was logged, in order."""
    lines = [
        json.loads(line)
        for file in place.home.glob(".local/state/holdfast/projects/*/hook.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return [[line["event"], line.get("source", "")] for line in lines]


def kept(place: Opencode) -> dict[str, str]:
    """What Holdfast keeps in the project, without what is another's in each run: times and sessions."""
    found = {}
    for folder in ("untracked", ".claude/holdfast"):
        for file in sorted((place.project / folder).rglob("*")):
            if file.is_file():
                path = str(file.relative_to(place.project))
                found[timeless(path)] = timeless(file.read_text(encoding="utf-8"))
    return found


def timeless(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\d{8}_\d{6}", "STAMP", text)
    text = re.sub(r'"\d+-\d+-\d+": \d+', '"LOG": READ', text)  # how far a session's log was folded
    return re.sub(r"ses_\w+|claude-session", "SESSION", text)


# Runs


def conversation(place: Opencode) -> Recording:
    """Work, a compaction by hand, a restart, another compaction and a restart right after it."""
    begin(place)
    place.install()
    with OpencodeService() as stand_in:
        stand_in.queue = [
            says("Noted."),
            calls(Tool("write", {"filePath": str(place.project / "a.py"), "content": "a = 1\n"})),
            shell("python3 -m unittest no_such_test"),
            shell("echo session $CLAUDE_CODE_SESSION_ID; holdfast phase next"),
            calls(Tool("write", {"filePath": "b.py", "content": "b = 1\n"})),
        ]
        with place.session(stand_in) as session:
            session.say("FIRST")
            session.say("SECOND")
            session.compact()
            session.say("THIRD")
            session.say("FOURTH")
            toasts = session.toasts(2)
        after = kept(place)
        with place.session(stand_in, session.id) as session:
            session.say("FIFTH")
            session.compact()
        with place.session(stand_in, session.id) as session:
            session.say("SIXTH")
        notes = {
            "id": session.id,
            "toasts": toasts,
            "elsewhere": stand_in.elsewhere,
            "hooks": hooks_run(place),
            "kept": after,
            "log": place.server_log.read_text(encoding="utf-8"),
        }
        return Recording(stand_in.requests, notes=notes)


def by_itself(place: Opencode) -> Recording:
    """A compaction in the middle of a turn, by the size that the service tells; a subagent; a fork;
    a compaction by hand.

    The plugin is installed for this project and for all projects.
    """
    begin(place)
    place.install()
    place.plug(place.folders[1], HOLDFAST)

    def full(request: Request) -> int:
        compacted = summaries(stand_in.requests)
        return 10 if compacted or "FIRST" not in request.text else place.window

    def subagents(request: Request) -> Any:
        asked = request.first_text.endswith(SUBAGENT)
        write = Tool("write", {"filePath": "by the subagent.py", "content": "sub = 1\n"})
        lines = [calls(write), shell("echo session $CLAUDE_CODE_SESSION_ID"), says("Looked.")]
        return lines[len(request.tool_results)] if asked and request.tools else None

    with OpencodeService(tokens=full, script=subagents) as stand_in:
        task = {"description": "look", "prompt": SUBAGENT}
        stand_in.queue = [
            shell("echo on the way"),
            says("Noted."),
            calls(Tool("task", {**task, "subagent_type": "general"})),
        ]
        with place.session(stand_in) as session:
            session.say("FIRST")
            session.say("SECOND")
            fork = session.fork()
            fork.say("THIRD")
            session.compact()
            session.say("FOURTH")
            toasts = session.toasts(4)
    notes = {"id": session.id, "toasts": toasts, "hooks": hooks_run(place)}
    return Recording(stand_in.requests, notes=notes)


def guarded(place: Opencode) -> Recording:
    """State files that only commands may change, the tool that some models have for all changes, and
    a file that is too long to be sent.
    """
    begin(place)
    place.write("docs/long.md", "words\n" * 20_000)
    place.holdfast("read", "@docs/long.md")
    place.install()
    place.write(".claude/holdfast.toml", 'guard = "all"\n')
    (state,) = place.project.glob("untracked/workflow-state/*/*.json")
    patch = "*** Begin Patch\n*** Add File: c.py\n+c = 1\n*** End Patch"
    with OpencodeService() as stand_in:
        stand_in.queue = [
            calls(Tool("write", {"filePath": str(state), "content": "{}"})),
            says("Noted."),
            calls(Tool("apply_patch", {"patchText": patch})),
        ]
        with place.session(stand_in) as session:
            session.say("FIRST")
            session.say("SECOND", model="gpt-5-stand-in")
            session.compact()
            stand_in.queue.append(calls(Tool("write", {"filePath": "d.py", "content": "d = 1\n"})))
            session.say("THIRD")
    return Recording(stand_in.requests, notes={"state": state.read_text(encoding="utf-8")})


def uninstalled(place: Opencode) -> Recording:
    """Holdfast is gone, and its plugin was left behind."""
    begin(place)
    place.plug(place.folders[1], place.home / "gone" / "holdfast")
    with OpencodeService() as stand_in:
        stand_in.queue = [says("Noted."), shell("echo on the way")]
        with place.session(stand_in) as session:
            session.say("FIRST")
            session.say("SECOND")
            session.compact()
            session.say("THIRD")
            toasts = session.toasts(1)
    return Recording(stand_in.requests, notes={"toasts": toasts})


# What the requests told


Recorded = Callable[[Callable[[Opencode], Recording], type[Opencode]], Recording]
Placed = Callable[[type[Opencode]], Opencode]


@pytest.fixture
def run(recorded: Recorded) -> Recording:
    return recorded(conversation, Opencode)


@pytest.fixture
def automatic(recorded: Recorded) -> Recording:
    return recorded(by_itself, Opencode)


def told(request: Request) -> list[str]:
    """What of the workflow is told in a request, by its first words."""
    lines = [line for turn in request.turns for line in turn.text.splitlines()]
    return [head for line in lines for head in HEADS if line.startswith(head)]


def conversations(recording: Recording) -> list[Request]:
    """Without what opencode asks for itself: titles and summaries."""
    return [request for request in recording.requests if request.tools]


def asked_of_subagent(recording: Recording) -> list[Request]:
    return [each for each in conversations(recording) if each.first_text.endswith(SUBAGENT)]


def test_a_session_is_told_in_its_first_request(run: Recording) -> None:
    """Once, and again in each request until the compaction."""
    before = [request for request in conversations(run) if "THIRD" not in request.text]
    before = [each for each in before if RESTORED not in each.text and RESUMED not in each.text]
    assert before[0].last_user_text.startswith(NAMED)
    assert "FIRST" in before[0].text
    assert len(before) > 4
    assert [len(told(request)) for request in before] == [1] * len(before)


def test_the_title_is_made_without_it(run: Recording) -> None:
    """And of the person's own words."""
    titles = [each for each in run.requests if isinstance(each, OpencodeRequest) and each.is_title]
    assert titles
    assert [told(title) for title in titles] == [[]] * len(titles)
    assert "FIRST" in titles[0].text


def test_the_summariser_is_told_what_to_keep(run: Recording) -> None:
    """Its own note, and nothing of what the conversation was told."""
    for summary in summaries(run.requests):
        assert summary.text.count('Keep word for word: the workflow "The long way"') == 1
        assert SALT in summary.text
        assert told(summary) == []
    assert len(summaries(run.requests)) == 2


def test_a_compaction_by_hand_is_followed_by_the_guidance(run: Recording) -> None:
    """In the first request after it, before the person's words, with all that is to be read."""
    third, fourth = asking(run.requests, "THIRD"), asking(run.requests, "FOURTH")
    assert told(third) == told(fourth) == [RESTORED]
    assert third.text.index(RESTORED) < third.text.index("THIRD")
    for guide in GUIDES.values():
        assert guide.strip() in third.text
    assert "is in phase 2 of 3: Build" in third.text
    # The same words at the same place, so that a cache of the model's holds.
    assert fourth.turns[: len(third.turns)] == third.turns


def test_the_person_is_shown_one_line(run: Recording) -> None:
    """At the start and for each compaction, in opencode's terminal."""
    assert run.notes["toasts"] == [
        "The long way 1/3",
        "✅ Workflow restored: The long way, Phase 2/3 (Build)",
    ]


def test_the_shell_knows_its_session(run: Recording) -> None:
    """So a phase that is advanced there is advanced by that session."""
    results = asking(run.requests, "phase 2/3 (Build)").tool_results
    assert any(f"session {run.notes['id']}\n" in result for result in results)


def test_what_was_done_is_told(run: Recording) -> None:
    """Files and checks, from opencode's own tools."""
    observed = asking(run.requests, "THIRD").text.partition("## Observed")[2].partition("\n## ")[0]
    assert "b.py" in observed
    assert "a.py" not in observed  # changed in the phase before
    assert "python3 -m unittest no_such_test" in observed
    assert "failed" in observed


def test_the_summary_is_checked(run: Recording) -> None:
    """The stand-in's keeps nothing, and the next request says so."""
    assert "## Key reminders that the summary did not keep" in asking(run.requests, "THIRD").text


def test_a_restart_tells_it_again(run: Recording) -> None:
    """opencode stores nothing of what was told."""
    fifth = asking(run.requests, "FIFTH")
    assert told(fifth) == [RESUMED]
    assert GUIDES["docs/guide 2.md"].strip() in fifth.text


def test_a_restart_right_after_a_compaction(run: Recording) -> None:
    """The first request after it, from another process."""
    assert told(asking(run.requests, "SIXTH")) == [RESTORED]


def test_the_hooks_that_ran(run: Recording) -> None:
    """Each of them once."""
    assert [each for each in run.notes["hooks"] if each[0] != "PostToolUse"] == [
        ["SessionStart", "startup"],
        ["PreCompact", "manual"],
        ["PostCompact", "manual"],
        ["SessionStart", "compact"],
        ["SessionStart", "resume"],
        ["PreCompact", "manual"],
        ["PostCompact", "manual"],
        ["SessionStart", "compact"],
    ]


def test_nothing_else_was_asked_of_the_network(run: Recording) -> None:
    """Nor did the plugin trouble opencode."""
    assert run.notes["elsewhere"] == []
    assert "plugin" not in re.sub(r'".*?"', "", run.notes["log"]).lower()


def test_a_compaction_in_the_middle_of_a_turn(automatic: Recording) -> None:
    """The request with which opencode goes on by itself has the guidance already."""
    goes_on = asking(automatic.requests, CONTINUE)
    assert told(goes_on) == [RESTORED]
    assert goes_on.number == summaries(automatic.requests)[0].number + 1
    assert ["PreCompact", "auto"] in automatic.notes["hooks"]
    assert ["PostCompact", "auto"] in automatic.notes["hooks"]


def test_each_request_has_it_once_although_it_is_installed_twice(automatic: Recording) -> None:
    """Of two copies of the plugin one acts."""
    of_subagent = asked_of_subagent(automatic)
    others = [each for each in conversations(automatic) if each not in of_subagent]
    assert {len(told(request)) for request in others} == {1}
    assert summaries(automatic.requests)[0].text.count("Keep word for word") == 1
    names = [event for event, _ in automatic.notes["hooks"]]
    assert (names.count("PreCompact"), names.count("PostCompact")) == (2, 2)
    # At the start; restored twice, and carried over into the fork.
    assert len(automatic.notes["toasts"]) == 4


def test_a_subagent_is_told_nothing(automatic: Recording) -> None:
    """And its shell belongs to the session that it works for."""
    requests = asked_of_subagent(automatic)
    assert [told(request) for request in requests] == [[], [], []]
    assert requests[-1].tool_results[-1] == f"session {automatic.notes['id']}\n"
    # What it has changed belongs to the workflow.
    observed = asking(automatic.requests, "FOURTH").text.partition("## Observed")[2]
    assert "by the subagent.py" in observed


def test_a_fork_is_told_as_one(automatic: Recording) -> None:
    """It has the workflow of the session that it was made from."""
    assert told(asking(automatic.requests, "THIRD")) == [CARRIED]


def test_a_guarded_file_stays_as_it_is(recorded: Recorded) -> None:
    """The model is told why, and what to do."""
    run = recorded(guarded, Opencode)
    (result,) = next(each.tool_results for each in run.requests if each.tool_results)
    assert "holdfast" in result
    assert '"The long way"' in run.notes["state"]
    observed = asking(run.requests, "THIRD").text.partition("## Observed")[2]
    assert "c.py" in observed  # by the tool that some models have for all changes


def test_what_was_too_long_to_be_sent_is_asked_for(recorded: Recorded) -> None:
    """With the result of the first change after the compaction."""
    run = recorded(guarded, Opencode)
    (result,) = run.requests[-1].tool_results
    assert "docs/long.md" in result


def test_without_holdfast_opencode_goes_on(recorded: Recorded) -> None:
    """The person is told once what is missing."""
    run = recorded(uninstalled, Opencode)
    assert [told(request) for request in conversations(run)] == [[]] * len(conversations(run))
    assert "THIRD" in run.requests[-1].text
    (toast,) = run.notes["toasts"]
    assert "could not be started" in toast


# In the terminal, and for one prompt


@pytest.mark.needs("tmux")
def test_a_person_sees_it_in_the_terminal(placed: Placed) -> None:
    """A line in the corner, with the first prompt after the compaction."""
    place = placed(Opencode)
    begin(place)
    place.install()
    with (
        OpencodeService() as stand_in,
        Terminal(place.entered(place.command), place.project, place.env(stand_in)) as terminal,
    ):
        terminal.wait_for("Ask anything")
        terminal.type("FIRST")
        terminal.wait_for("Noted.")
        terminal.type("/compact")
        terminal.wait_for("The summary that the stand-in made.")
        terminal.type("SECOND")
        terminal.wait_for("✅ Workflow restored: The long way, Phase 1/3 (Look)")
        wait_until(lambda: "SECOND" in stand_in.requests[-1].text, "the request")
    assert told(asking(stand_in.requests, "SECOND")) == [RESTORED]


def test_one_prompt_from_the_command_line(placed: Placed) -> None:
    """`opencode run` is told as well, and `--continue` is a session that goes on."""
    place = placed(Opencode)
    begin(place)
    place.install()
    with OpencodeService() as stand_in:
        place.run(stand_in, "run", "FIRST")
        place.run(stand_in, "run", "--continue", "SECOND")
    first, second = (request for request in stand_in.requests if request.tools)
    assert (told(first), told(second)) == ([NAMED], [RESUMED])


# The same story, told by the hooks of Claude Code


def test_claude_code_leaves_the_same_files(run: Recording, placed: Placed) -> None:
    """A workflow that was begun under one agent goes on under another."""
    place = placed(Opencode)
    begin(place)
    session = "claude-session"

    def hook(event: str, *arguments: str, **more: Any) -> None:
        about = {"session_id": session, "transcript_path": str(place.home / "t.jsonl")}
        payload = {**about, "cwd": str(place.project), "hook_event_name": event, **more}
        # As the client starts it.
        subprocess.run(
            [HOLDFAST, "hook", *arguments],
            cwd=place.project,
            env={"PATH": os.environ["PATH"], "HOME": str(place.home)},
            input=json.dumps(payload).encode(),
            stdout=subprocess.DEVNULL,
            timeout=60,
            check=True,
        )

    def used(name: str, tool_input: Mapping[str, str], error: str = "") -> None:
        event = "PostToolUseFailure" if error else "PostToolUse"
        hook(event, tool_name=name, tool_input=tool_input, error=error, tool_response={})

    hook("SessionStart", source="startup")
    used("Write", {"file_path": str(place.project / "a.py")})
    used("Bash", {"command": "python3 -m unittest no_such_test"}, error="Exit code 1\n")
    place.holdfast("phase", "next", session=session)
    used("Write", {"file_path": str(place.project / "b.py")})
    hook("PreCompact", trigger="manual", custom_instructions=None)
    hook("PreCompact", "--later", trigger="manual", custom_instructions=None)
    summary = "<summary>The summary that the stand-in made.</summary>"
    hook("PostCompact", trigger="manual", compact_summary=summary)
    hook("SessionStart", source="compact")
    assert kept(place) == run.notes["kept"]
