"""Holdfast in the real client: what the model was really sent, compaction after compaction."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.records import sessionlog
from realclient.client import PrintMode, wait_until
from realclient.requests import additional_instructions, first_after, summaries, words
from realclient.runs import COMPACTS_EARLY, FULL, OLDER_MODEL, ROOMY, agent
from realclient.standin import Request, StandIn, Tool, calls, says
from realclient.workplace import PLAN, READING, ROOT, Workplace, reading_in, shell, ticks, trouble

pytestmark = pytest.mark.needs("npm")

STEPS = 22


def everything(place: Workplace) -> dict[str, str]:
    """The text of all that `Workplace.plan` requires, as it lies on disk."""
    plan = (place.project / PLAN).read_text(encoding="utf-8")
    return {**READING, PLAN: plan}


def told(request: Request, place: Workplace, phase: int, reminders: int) -> None:
    """All that the first request after a compaction has to hold."""
    text = request.text
    assert text.count("# Workflow restored after the compaction: ") == 1
    assert f"is in phase {phase} of {STEPS}: Stage {phase}. Status: in progress." in text
    assert f"Next action: Take step {phase}\n" in text
    for number in range(1, reminders + 1):
        assert f"- Lesson {number} of the work\n" in text
    assert reading_in(request) == everything(place)


def test_twenty_compactions_in_a_row(binary: Path, tmp_path: Path) -> None:
    """By hand, between two turns and in the middle of a tool loop, and the work advances."""
    place = Workplace(tmp_path)
    place.plan(STEPS, READING)
    place.write_settings()

    def tokens(request: Request) -> int:
        full = "[fill the window]" in request.last_user_text and not request.is_summary
        return FULL if full else ROOMY

    with (
        StandIn(tokens=tokens) as stand_in,
        place.client(binary, stand_in, *OLDER_MODEL, **COMPACTS_EARLY) as session,
    ):
        session.send("begin")
        for number in range(1, 21):
            before = len(summaries(stand_in.requests))
            stand_in.queue += [
                shell(f"{ticks(number)} && holdfast remind 'Lesson {number} of the work'")
            ]
            session.send(f"work on step {number}")
            session.send(f"go on with step {number}")
            if number % 3 == 0:
                session.send("[fill the window]")
                session.send("the next turn")
            elif number % 3 == 1:
                session.compact()
                session.send("the next turn")
            else:
                stand_in.queue += [shell("echo '[fill the window]'"), shell("echo 'the loop ends'")]
                session.send("a loop")
            assert len(summaries(stand_in.requests)) == before + 1, number
            told(first_after(stand_in.requests, number), place, number + 1, reminders=number)
        session.close()
    for number, summary in enumerate(summaries(stand_in.requests), 1):
        note = additional_instructions(summary)
        assert f"is in phase {number + 1} of {STEPS}: Stage {number + 1}." in note
        assert "Keep word for word:" in note
    assert trouble(session.messages) == []
    assert session.stderr == ""
    (state,) = place.states()
    assert state["phase"]["current"] == 21
    assert len(state["key_reminders"]) == 20
    # The stand-in's summaries say nothing of the workflow.
    status = place.holdfast("status")
    # The hook that counts runs beside the conversation; the client does not wait for the last one when it ends.
    assert re.search(r"compactions: 20, the last summary kept 0 of 2\d facts: not the name", status)
    runs = json.loads(place.holdfast("log", "--hooks", "--json", "--last", "1000"))
    restores = [each for each in runs if each["decided"].startswith("restored ")]
    # The stand-in takes no time for a summary, so what prepares them beside it is not always done.
    assert len(restores) == 20
    assert any("prepared" in each for each in restores)


def converse(session: PrintMode) -> None:
    """What it takes for a compaction to succeed, the compaction, and a turn after it."""
    session.send("begin")
    session.send("go on")
    session.compact("keep the names")
    session.send("the turn after the compaction")


def arrived(place: Workplace, stand_in: StandIn, compaction: int = 1) -> None:
    """The first phase of the plan and all of its reading, and the note for the summariser."""
    told(first_after(stand_in.requests, compaction), place, phase=1, reminders=0)
    note = additional_instructions(summaries(stand_in.requests)[compaction - 1])
    assert f"is in phase 1 of {STEPS}: Stage 1." in note


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.plan(STEPS, READING)
    return place


def test_with_the_clients_own_choice_of_model(binary: Path, place: Workplace) -> None:
    """Newer models are told in a message of its own; and the person is told in one line."""
    place.write_settings()
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        converse(session)
        session.compact()
        session.send("the turn after the second compaction")
        session.close()
    arrived(place, stand_in)
    arrived(place, stand_in, 2)
    assert trouble(session.messages) == []
    assert "Keep word for word: the workflow" in words(session.messages)


def test_started_in_a_subdirectory(binary: Path, place: Workplace) -> None:
    """The workflow is that of the checkout around it."""
    (place.project / ".git").mkdir()
    below = place.project / "src" / "deep"
    below.mkdir(parents=True)
    place.write_user_settings()
    with StandIn() as stand_in, place.client_in(below, binary, stand_in) as session:
        converse(session)
        session.close()
    arrived(place, stand_in)
    assert trouble(session.messages) == []
    assert not (below / ".claude").exists()


def test_started_in_a_worktree(binary: Path, place: Workplace, tmp_path: Path) -> None:
    """The main worktree's workflow goes on, and stays where it was declared."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
    side = tmp_path / "the side tree"
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "begin"],
        ["worktree", "add", "-q", "-b", "side", str(side)],
    ):
        subprocess.run([*git, *arguments], cwd=place.project, check=True)
    place.write_user_settings()
    with StandIn() as stand_in, place.client_in(side, binary, stand_in) as session:
        converse(session)
        session.close()
    arrived(place, stand_in)
    assert trouble(session.messages) == []
    assert len(place.states()) == 1


@pytest.mark.needs("tmux")
def test_in_the_interactive_client(binary: Path, place: Workplace) -> None:
    """The same reaches the model, and the person sees the line."""
    place.write_settings()
    place.probe("Stop")
    place.probe("PostCompact")
    place.write_settings()
    with StandIn() as stand_in, place.terminal(binary, stand_in) as terminal:
        terminal.wait_for("bypass permissions on")
        for number, prompt in enumerate(("begin", "go on"), 1):
            terminal.type(prompt)
            place.wait_for_seen("Stop", times=number)
        terminal.type("/compact")
        place.wait_for_seen("PostCompact")
        terminal.wait_for("✅ Workflow restored: The long way, Phase 1/22 (Stage 1)")
        terminal.type("the turn after the compaction")
        place.wait_for_seen("Stop", times=3)
        assert trouble(terminal.screen) == []
    arrived(place, stand_in)


@pytest.mark.needs("tmux")
def test_the_status_line_is_on_the_screen(binary: Path, place: Workplace) -> None:
    """From the documented settings; it follows the work, and knows how full the context is."""
    text = (ROOT / "docs" / "statusline.md").read_text(encoding="utf-8")
    snippet = json.loads(text.split("```json\n")[1].split("```")[0])
    place.status_line(snippet["statusLine"]["command"])
    place.write_settings()
    with StandIn() as stand_in, place.terminal(binary, stand_in) as terminal:
        terminal.wait_for("The long way 1/22 Stage 1")
        stand_in.queue += [shell("holdfast phase next")]
        terminal.type("go to the next phase")
        terminal.wait_for("The long way 2/22 Stage 2 · context ")
        assert re.search(
            r"^  The long way 2/22 Stage 2 · context \d+%(?: {5}.*)?$",
            terminal.screen,
            re.MULTILINE,
        )


def test_two_sessions_at_once_do_not_leak(binary: Path, tmp_path: Path) -> None:
    """Two workflows in one project, and compactions that interleave."""
    place = Workplace(tmp_path)
    place.write_settings()
    names = ("alpha", "beta")
    for name in names:
        place.write(f"docs/{name}.md", f"only {name} may see this\n" * 600)
    with StandIn() as one, StandIn() as two, ExitStack() as stack:
        sessions = {
            name: stack.enter_context(place.client(binary, stand_in))
            for name, stand_in in zip(names, (one, two), strict=True)
        }
        for (name, session), stand_in in zip(sessions.items(), (one, two), strict=True):
            begun = f"holdfast start 'Work {name}' --phases A,B,C,D,E --read @docs/{name}.md"
            stand_in.queue += [shell(f"{begun} --remind 'Mind {name}'")]
            session.send(f"begin {name}")
            session.send("go on")
        for phase in range(2, 5):
            with ThreadPoolExecutor() as at_once:
                list(at_once.map(lambda each: each.compact(), sessions.values()))
            for session, stand_in in zip(sessions.values(), (one, two), strict=True):
                stand_in.queue += [shell("holdfast phase next")]
                session.send(f"the turn before phase {phase}")
                session.send("go on")
        for session in sessions.values():
            session.close()
            assert trouble(session.messages) == []
    for name, other, stand_in in (("alpha", "beta", one), ("beta", "alpha", two)):
        for compaction in (1, 2, 3):
            text = first_after(stand_in.requests, compaction).text
            assert f'The workflow "Work {name}" (type custom) is in phase {compaction} of 5' in text
            assert text.count(f"only {name} may see this") == 600
            assert f"only {other} may see this" not in text
            assert f"Mind {other}" not in text
            note = additional_instructions(summaries(stand_in.requests)[compaction - 1])
            assert f"Work {name}" in note
            assert other not in note


def test_the_gate_denies_an_edit_until_the_file_was_read(binary: Path, tmp_path: Path) -> None:
    """The denial names the file, and after Read the same call passes."""
    place = Workplace(tmp_path)
    place.write(".claude/holdfast.toml", 'gate = "block"\n')
    long = place.write("docs/long.md", "a line of it\n" * 9_000)
    place.write("docs/short.md", "all of it\n")
    target = place.write("code.py", "before\n")
    place.holdfast("start", "W", "--read", "@docs/long.md", "--read", "@docs/short.md")
    place.write_settings()
    edit = Tool("Edit", {"file_path": str(target), "old_string": "before", "new_string": "after"})
    opened = Tool("Read", {"file_path": str(long), "limit": 10})
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        converse(session)
        stand_in.queue += [
            calls(Tool("Read", {"file_path": str(target)})),
            calls(edit),
            calls(opened),
            calls(edit),
        ]
        session.send("change the code")
        session.close()
    told = first_after(stand_in.requests).text
    assert "@docs/long.md (not sent: over the budget of 60,000 characters a file)" in told
    assert "@docs/short.md (sent, part 1, version " in told
    denied, read, edited = [each.tool_results for each in stand_in.requests if each.tool_results][
        -3:
    ]
    assert "requires these files to be opened with Read" in denied[0]
    assert "@docs/long.md\n" in denied[0]
    assert "short.md" not in denied[0]
    assert "a line of it" in read[0]
    assert "updated" in edited[0]
    assert target.read_text(encoding="utf-8") == "after\n"


def test_an_edit_is_in_the_state_within_two_seconds(binary: Path, tmp_path: Path) -> None:
    """Nobody prompts and nothing is compacted; a plan that is new is noticed as well."""
    place = Workplace(tmp_path)
    declared = "# Current Workflow State\n\nWorkflow: Edited by hand\nPhase: {}/9 - Stage\n"
    (place.project / "CLAUDE" / "Plan").mkdir(parents=True)
    place.write("CLAUDE.local.md", declared.format(1))
    place.write_settings()

    def phases() -> dict[str, int]:
        return {each["workflow"]: each["phase"]["current"] for each in place.states()}

    def until(expected: dict[str, int]) -> float:
        begun = time.monotonic()
        wait_until(lambda: phases() == expected, f"{expected}, not {phases()}")
        return time.monotonic() - begun

    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        until({"Edited by hand": 1})
        spent = []
        for phase in (2, 3, 4):
            place.write("CLAUDE.local.md", declared.format(phase))
            spent.append(until({"Edited by hand": phase}))
        place.plan(STEPS, {})
        spent.append(until({"Edited by hand": 4, "The long way": 1}))
        session.close()
    assert statistics.median_low(spent) < 2.0, spent
    assert trouble(session.messages) == []


def test_the_doctor_reads_the_transcript(binary: Path, place: Workplace) -> None:
    """What it says arrived is what is in the request; what is not registered, it misses."""
    place.write_settings()
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        converse(session)
        session.close()
    arrived(place, stand_in)
    report = place.holdfast("doctor", "--delivery").splitlines()
    parts = int(re.search(r"reading 1 of (\d+): ", first_after(stand_in.requests).text)[1])
    assert parts > 5
    assert [line[:26].split() for line in report[2:]] == [
        ["guidance", "arrived"],
        *(["part", str(number), "of", str(parts), "arrived"] for number in range(1, parts + 1)),
    ]
    place.hooks["SessionStart"][1]["hooks"].pop(2)
    place.write_settings()
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        converse(session)
        session.close()
    report = place.holdfast("doctor", "--delivery").splitlines()
    assert [line for line in report[2:] if "arrived" not in line[:26]] == [
        f"  part 3 of {parts}    MISSING  no hook printed it; is it registered? (settings.example.json)"
    ]


def test_a_resumed_session_is_not_sent_the_same_twice(binary: Path, place: Workplace) -> None:
    """What the client replays it does not add again; what changed meanwhile it is sent anew."""
    place.write_settings()
    line = "guide 1, line 1: words that only this file has\n"
    with StandIn() as stand_in:
        with place.client(binary, stand_in) as session:
            converse(session)
            session.close()
        for number in range(3):
            with place.client(binary, stand_in, "--continue") as session:
                session.send(f"resumed {number}")
                session.close()
            text = stand_in.requests[-1].text
            assert "# Workflow continued in the resumed session: The long way" in text
            assert text.count(line) == 1
        place.write("docs/guide 1.md", "an edition that is new\n")
        with place.client(binary, stand_in, "--continue") as session:
            session.send("resumed once more")
            session.close()
    text = stand_in.requests[-1].text
    assert "an edition that is new" in text
    assert re.search(
        r"@docs/guide 1\.md \(sent, part 1, version \w+; changed since the last restore\)", text
    )


def test_what_the_session_was_doing_is_named(binary: Path, tmp_path: Path) -> None:
    """Two subagents in flight, five files written and a check that failed, over two compactions."""
    place = Workplace(tmp_path)
    place.plan(STEPS, {})
    place.write_settings()
    held = threading.Event()
    errands = {name: [says(f"{name} is done", held)] for name in ("first errand", "second errand")}
    files = [f"src/file {number}.py" for number in range(1, 6)]

    def lines(compaction: int) -> str:
        text = first_after(stand_in.requests, compaction).text
        return text.partition("## Observed")[2].partition("\n\n")[0]

    with StandIn(routes=errands) as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        stand_in.queue += [
            calls(*(agent(f"the {name}", name, run_in_background=True) for name in errands)),
            calls(
                *(
                    Tool("Write", {"file_path": str(place.project / name), "content": "x"})
                    for name in files
                )
            ),
            shell("make test"),
        ]
        session.send("work")
        wait_until(lambda: observed(place) >= 2 * len(errands) + len(files) + 1, "all noted")
        session.compact()
        session.send("the turn after the first compaction")
        session.send("go on")
        session.compact()
        session.send("the turn after the second compaction")
        held.set()
        session.close()
    for compaction in (1, 2):
        told = lines(compaction)
        assert "noted by hooks" in told
        for name in errands:
            assert f'general-purpose "the {name}"' in told
        listed = re.search(r"Files modified in this phase: (.+)", told)
        assert listed is not None
        assert set(listed[1].split(", ")) == set(files)
        assert "Last check: `make test` failed (exit code 2)" in told
    assert trouble(session.messages) == []


def observed(place: Workplace) -> int:
    """How many lines the hooks beside the conversation have written."""
    logs = (place.home / ".local/state/holdfast/sessionlogs").glob("*.jsonl")
    return sum(len(sessionlog.parse(log.read_bytes(), sessionlog.OBSERVED)) for log in logs)
