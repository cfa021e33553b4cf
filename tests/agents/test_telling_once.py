"""What a session is told after a compaction, it is told exactly once, whatever comes at the same moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from asking import TIME, Asking, Copilot, Gemini

from holdfast.config.project import Surroundings
from holdfast.files.store import locked
from holdfast.records import sessionlog
from holdfast.testing import Project
from holdfast.testing.simulate import encode

RESTORED = "# Workflow restored after the compaction: Work"
RESUMED = "# Workflow continued in the resumed session: Work"
# As Copilot writes down that a compaction begins.
START = {"type": "session.compaction_start", "id": "0", "timestamp": TIME, "data": {}}


def log_of(asking: Asking) -> Path:
    """The log of the session."""
    state_dir = Surroundings.from_environment(asking.project.environment()).state_dir
    return Path(sessionlog.path_of(state_dir or "", asking.session))


def compacted(kind: type[Asking], project: Project) -> Asking:
    asking = kind(project)
    asking.fire("SessionStart", source="startup")
    asking.prompt()
    asking.compacts()
    return asking


PROMPTED = pytest.mark.parametrize("kind", [Copilot, Gemini])


@PROMPTED
def test_of_prompts_at_the_same_moment_one_is_told(kind: type[Asking], work: Project) -> None:
    """The others wait for it, and say nothing."""
    asking = compacted(kind, work)
    payload = asking.payload("UserPromptSubmit", prompt="go on")
    running = [asking.door().start(*asking.options()) for _ in range(4)]
    for each in running:
        assert each.stdin
        each.stdin.write(encode(payload))
        each.stdin.close()
        each.stdin = None
    outputs = [each.communicate(timeout=60)[0] for each in running]
    assert sum(RESTORED.encode() in each for each in outputs) == 1
    assert sum(bool(each) for each in outputs) == 1
    assert asking.context(asking.prompt()) == ""


@pytest.mark.long
@PROMPTED
def test_whoever_is_killed_before_it_has_told_leaves_it_to_the_next(
    kind: type[Asking], work: Project
) -> None:
    """Its stdout is full, so that it cannot end; then it is killed."""
    asking = compacted(kind, work)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while True:
        try:
            os.write(writing, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writing, True)
    killed = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook", *asking.options()],
        stdin=subprocess.PIPE,
        stdout=writing,
        env=work.environment(),
        cwd=work.root,
    )
    assert killed.stdin
    killed.stdin.write(encode(asking.payload("UserPromptSubmit", prompt="go on")))
    killed.stdin.close()
    with pytest.raises(subprocess.TimeoutExpired):
        killed.wait(timeout=4)
    assert asking.context(asking.prompt()) == ""  # the other is just telling
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=60)
    os.close(reading)
    os.close(writing)
    assert asking.context(asking.prompt()).startswith(RESTORED)
    assert asking.context(asking.prompt()) == ""


@PROMPTED
def test_a_prompt_of_a_subagent_takes_nothing_from_its_caller(
    kind: type[Asking], work: Project
) -> None:
    """Nor does one without a session."""
    asking = compacted(kind, work)
    assert asking.fire("UserPromptSubmit", prompt="x", agent_id="a1").stdout == b""
    assert asking.fire("UserPromptSubmit", prompt="x", session_id=None).stdout == b""
    assert asking.context(asking.prompt()).startswith(RESTORED)


@PROMPTED
def test_what_was_switched_off_is_not_told(kind: type[Asking], work: Project) -> None:
    """It is over then, and not told later on."""
    work.write(".claude/holdfast.toml", '[restore]\ncompact = "off"\n')
    asking = compacted(kind, work)
    assert asking.context(asking.prompt()) == ""
    work.write(".claude/holdfast.toml", "")
    assert asking.context(asking.prompt()) == ""


def test_a_cancelled_compaction_of_copilot_is_not_told(work: Project) -> None:
    """It begins again with the next prompt, and what was told with that would be gone."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.applies("1", success=False)
    assert copilot.context(copilot.prompt()) == ""
    copilot.fire("PreCompact", trigger="auto")
    assert copilot.context(copilot.prompt()) == ""
    copilot.applies("2")
    assert copilot.context(copilot.prompt()).startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


@pytest.mark.parametrize("order", ["start hook", "hook start", "hook"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_compaction_of_copilot_by_hand_with_a_prompt_right_behind_it(
    order: str, number: int, work: Project
) -> None:
    """It writes down some time later that one begins, before its hook is run or after, and how it has ended."""
    copilot = Copilot(work)
    copilot.applies("of an earlier day")
    if number == 2:
        copilot.compacts()
        copilot.prompt()
    for step in order.split():
        copilot.writes(START) if step == "start" else copilot.fire("PreCompact", trigger="x")

    def ends() -> None:
        if "start" not in order:
            copilot.writes(START)
        copilot.applies("1")

    later = threading.Timer(0.4, ends)
    later.start()
    told = copilot.context(copilot.prompt())
    later.join()
    assert told.startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


def test_two_compactions_of_copilot_right_behind_each_other_are_told_once(work: Project) -> None:
    """How the second has ended is written down while the hook of the prompt runs already."""
    copilot = Copilot(work)
    copilot.compacts()
    copilot.writes(START)
    later = threading.Timer(0.2, copilot.applies, ["another"])
    later.start()
    told = copilot.context(copilot.prompt())
    later.join()
    assert told.startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


def test_a_compaction_of_copilot_that_goes_on_is_told_when_it_has_ended(work: Project) -> None:
    """It ends beside the turn; the prompt after that tells of it."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.writes(START)
    assert copilot.context(copilot.prompt()) == ""
    copilot.applies("1")
    assert copilot.context(copilot.prompt()).startswith(RESTORED)


def test_what_copilot_compacted_before_hooks_were_there_is_over(work: Project) -> None:
    """The transcript is read from where it is first heard of."""
    copilot = Copilot(work)
    copilot.applies("1")
    copilot.fire("PreCompact", trigger="manual")
    assert copilot.context(copilot.prompt()) == ""


def test_a_copilot_session_that_is_resumed_after_its_compaction_is_told_once(
    work: Project,
) -> None:
    """At its start; the prompt beside it says nothing."""
    copilot = Copilot(work)
    copilot.compacts()
    assert copilot.context(copilot.fire("SessionStart", source="resume")).startswith(RESUMED)
    assert copilot.context(copilot.prompt()) == ""
    copilot.compacts()
    assert copilot.context(copilot.prompt()).startswith(RESTORED)


@pytest.mark.parametrize("spelled", ["PascalCase", "camelCase"])
@pytest.mark.parametrize("resume", ["full", "line"])
@pytest.mark.parametrize("ahead", [-0.3, -0.01, 0.0, 0.01, 0.3])
def test_a_start_and_the_prompt_beside_it_tell_once(
    ahead: float, resume: str, spelled: str, work: Project
) -> None:
    """Whichever hook is ahead, and by how many seconds. Where the start says only a line, the prompt tells all."""
    work.write(".claude/holdfast.toml", f'[restore]\nresume = "{resume}"\n')
    copilot = Copilot(work)
    copilot.compacts()
    start = copilot.payload("SessionStart", source="resume")
    prompt = copilot.payload("UserPromptSubmit", prompt="go on")
    if spelled == "camelCase":
        start, prompt = map(in_camel_case, (start, prompt))
    asked = [start, prompt] if ahead < 0 else [prompt, start]
    running = [copilot.door().start(*copilot.options()) for _ in asked]
    for process, payload in zip(running, asked, strict=True):
        assert process.stdin
        process.stdin.write(encode(payload))
        process.stdin.close()
        process.stdin = None
        time.sleep(abs(ahead))
    told = b"".join(each.communicate(timeout=60)[0] for each in running).decode()
    assert told.count(RESTORED) + told.count(RESUMED) == 1
    if resume == "line":
        assert RESTORED in told
    assert copilot.context(copilot.prompt()) == ""


def in_camel_case(payload: dict[str, Any]) -> dict[str, Any]:
    """As Copilot gives an event that was registered by its name in camelCase."""
    at = datetime.fromisoformat(payload["timestamp"]).timestamp()
    kept = {key: payload[key] for key in ("cwd", "source", "prompt") if key in payload}
    return {**kept, "sessionId": payload["session_id"], "timestamp": round(at * 1000)}


def test_a_copilot_session_that_is_resumed_later_than_a_prompt_has_told_is_told(
    work: Project,
) -> None:
    """However soon; as is one that was compacted once more."""
    copilot = Copilot(work)
    for _ in range(2):
        copilot.compacts()
        assert copilot.context(copilot.prompt()).startswith(RESTORED)
        assert copilot.context(copilot.fire("SessionStart", source="resume")).startswith(RESUMED)
        copilot.compacts()
        assert copilot.context(copilot.fire("SessionStart", source="resume")).startswith(RESUMED)
        assert copilot.context(copilot.prompt()) == ""


@pytest.mark.parametrize("compact", ["line", "off"])
def test_a_prompt_that_told_less_than_all_silences_no_start_beside_it(
    compact: str, work: Project
) -> None:
    """What a session gets does not hang on which hook was quicker."""
    work.write(".claude/holdfast.toml", f'[restore]\ncompact = "{compact}"\n')
    copilot = Copilot(work)
    copilot.compacts()
    start = copilot.payload("SessionStart", source="resume")
    assert not copilot.context(copilot.prompt()).startswith(RESTORED)
    told = copilot.door().fire(start, *copilot.options())
    assert copilot.context(told).startswith(RESUMED)


def test_a_moment_that_lies_far_ahead_silences_no_start(work: Project) -> None:
    """A clock was wrong, and was put right."""
    copilot = Copilot(work)
    copilot.compacts()
    ahead = copilot.fire("UserPromptSubmit", prompt="x", timestamp="2099-01-01T00:00:00.000Z")
    assert copilot.context(ahead).startswith(RESTORED)
    assert copilot.context(copilot.fire("SessionStart", source="resume")).startswith(RESUMED)


@pytest.mark.parametrize("success", [True, False])
def test_the_end_of_an_earlier_compaction_is_not_taken_for_that_of_the_last(
    work: Project, *, success: bool
) -> None:
    """The first one was applied or cancelled, the second has just begun when the prompt comes."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.applies("1", success=success)
    copilot.fire("PreCompact", trigger="manual")
    later = threading.Timer(0.4, copilot.applies, ["2"])
    later.start()
    told = copilot.context(copilot.prompt())
    later.join()
    assert told.startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


@pytest.mark.parametrize("resume", ["full", "line"])
def test_a_compaction_that_is_told_at_a_resume_is_counted(resume: str, work: Project) -> None:
    """Once: where the start says only a line, the prompt after it tells all, and counts."""
    work.write(".claude/holdfast.toml", f'[restore]\nresume = "{resume}"\n')
    copilot = Copilot(work)
    copilot.compacts()
    copilot.fire("SessionStart", source="resume")
    copilot.prompt()
    copilot.prompt()
    status = json.loads(work.run("status", "--json", session=copilot.session).stdout)
    assert status["compactions"]["count"] == 1


def test_gemini_is_told_with_its_first_prompt_what_there_is_to_say_at_a_start(
    work: Project,
) -> None:
    """At the start itself it would be lost, or take the prompt with it."""
    gemini = Gemini(work)
    for source, words in (("startup", "`holdfast resume` prints"), ("resume", RESUMED)):
        assert gemini.fire("SessionStart", source=source).stdout == b""
        assert words in gemini.context(gemini.prompt())
        assert gemini.context(gemini.prompt()) == ""


def test_gemini_says_before_every_request_that_it_compresses(work: Project) -> None:
    """Nothing is told or counted for that."""
    gemini = Gemini(work)
    for _ in range(3):
        assert gemini.fire("PreCompact", trigger="auto").stdout == b""
        assert gemini.context(gemini.prompt()) == ""
    status = json.loads(work.run("status", "--json", session=gemini.session).stdout)
    assert status["compactions"]["count"] == 0
    assert work.state()["phase"]["current"] == 2


def test_a_summary_of_gemini_that_is_written_again_is_no_other_one(work: Project) -> None:
    """All messages are written anew whenever one of them changes."""
    gemini = Gemini(work)
    gemini.compacts()
    assert gemini.context(gemini.prompt()).startswith(RESTORED)
    gemini.compresses("snapshot-0")
    assert gemini.context(gemini.prompt()) == ""
    gemini.compresses("snapshot-5")
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


def test_a_resumed_session_of_gemini_has_another_transcript(work: Project) -> None:
    """What was told of the first one is not told again, and what is new in the second is."""
    gemini = Gemini(work)
    gemini.compacts()
    gemini.prompt()
    first = gemini.transcript
    second = first.with_name("session-2026-11-19T07-00-session-.jsonl")
    second.write_bytes(first.read_bytes())

    def prompt() -> str:
        return gemini.context(
            gemini.fire("UserPromptSubmit", prompt="x", transcript_path=str(second))
        )

    assert prompt() == ""
    gemini.compresses("snapshot-9")
    with second.open("ab") as stream:
        stream.write(first.read_bytes().splitlines(keepends=True)[-1])
    assert prompt().startswith(RESTORED)
    assert prompt() == ""


def test_a_transcript_may_be_anything(work: Project) -> None:
    """A folder, a FIFO, a device, a broken or an endless line; no prompt fails for that, or waits."""
    gemini = Gemini(work)
    gemini.fire("PreCompact", trigger="auto")
    fifo = work.home / "fifo"
    os.mkfifo(fifo)
    for path in (str(work.home), str(fifo), "/dev/zero", "\ud800", "relative", 7):
        answered = gemini.fire("UserPromptSubmit", prompt="x", transcript_path=path)
        assert (answered.code, answered.stdout, answered.stderr) == (0, b"", "")
    marked = b'{"$set": {"messages": [{"type": "user", "content": "<state_snapshot>'
    gemini.transcript.parent.mkdir(parents=True, exist_ok=True)
    for data in (marked, marked + b"\n", b"\0" * 100 + marked + b'"}]}}\n', b"[" * 3_000_000):
        gemini.transcript.write_bytes(data)
        answered = gemini.prompt()
        assert (answered.code, answered.stdout, answered.stderr) == (0, b"", "")
    with gemini.transcript.open("ab") as stream:
        stream.write(b"\n")
    gemini.compresses("1")
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


def test_a_long_transcript_is_read_once(work: Project) -> None:
    """What was read is not read again, also where it tells of nothing."""
    gemini = Gemini(work)
    gemini.fire("PreCompact", trigger="auto")
    gemini.writes(*({"id": str(number), "content": "x" * 1000} for number in range(3000)))
    assert gemini.context(gemini.prompt()) == ""
    noted = sessionlog.last(log_of(gemini).read_bytes(), "transcript")
    assert noted["offset"] == gemini.transcript.stat().st_size
    gemini.compresses("1")
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


def test_who_cannot_be_alone_says_nothing(work: Project) -> None:
    """Another process is telling the session."""
    gemini = Gemini(work)
    gemini.compacts()
    gemini.prompt()
    gemini.compresses("next")
    with locked(log_of(gemini).with_suffix(".lock"), 0):
        assert gemini.context(gemini.prompt()) == ""
    assert gemini.context(gemini.prompt()).startswith(RESTORED)
