"""Transcripts that tell of compactions: long ones, odd ones, and compactions that never end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from asking import SNAPSHOT, TIME, Asking, Copilot, Gemini

from holdfast.agents import events, replies
from holdfast.agents.late import transcripts
from holdfast.agents.request import Request
from holdfast.clock import Clock
from holdfast.config.capabilities import Capabilities
from holdfast.config.project import Surroundings
from holdfast.handlers import dispatch
from holdfast.testing import Project
from holdfast.testing.simulate import encode
from holdfast.text.room import Room

RESTORED = "# Workflow restored after the compaction: Work"
MB = 1024 * 1024
START = {"type": "session.compaction_start", "id": "0", "timestamp": TIME, "data": {}}


def timed(asking: Asking) -> tuple[str, float]:
    """What a prompt is told, and how many seconds that takes."""
    begun = time.monotonic()
    told = asking.context(asking.prompt())
    return told, time.monotonic() - begun


def fills(asking: Asking, size: int) -> None:
    """Lines that tell nothing, *size* bytes of them."""
    line = json.dumps({"type": "user.message", "data": {"content": "x" * 100_000}}) + "\n"
    with asking.transcript.open("a", encoding="utf-8") as stream:
        stream.write(line * (size // len(line) + 1))


def writes_as_gemini(gemini: Gemini, *messages: object, rest: int = 0) -> None:
    """All messages anew, spelled as JavaScript does, with *rest* bytes of others behind them."""
    others = [
        {"id": f"r{each}", "type": "gemini", "content": "x" * MB} for each in range(rest // MB)
    ]
    record = {"$set": {"messages": [*messages, *others], "lastUpdated": TIME}}
    gemini.transcript.parent.mkdir(parents=True, exist_ok=True)
    with gemini.transcript.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record, separators=(",", ":")) + "\n")


def summary(name: str) -> dict[str, Any]:
    return {"id": name, "timestamp": TIME, "type": "user", "content": [{"text": SNAPSHOT}]}


CONTEXT = {"id": "c", "type": "user", "content": [{"text": "<session_context>\nToday …"}]}


class Used(NamedTuple):
    """What a hook took, of which the interpreter's own start is a part."""

    seconds: float  # of the processor
    megabytes: float
    stdout: str


# In a small process of its own: what a process takes counts that of the one that has started it.
_MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE, check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss, done.stdout.decode()]))
"""


def used(asking: Asking, payload: dict[str, Any]) -> Used:
    hook = [sys.executable, "-m", "holdfast", "hook", *asking.options()]
    measured = subprocess.run(
        [sys.executable, "-c", _MEASURED, *hook],
        input=encode(payload),
        stdout=subprocess.PIPE,
        env=asking.project.environment(),
        cwd=asking.project.root,
        check=True,
    )
    seconds, most, stdout = json.loads(measured.stdout)
    return Used(seconds, most / (MB if sys.platform == "darwin" else 1024), stdout)


# Compactions of Copilot that begin, and of which nothing is heard again.


def test_a_compaction_that_never_ends_is_waited_for_once(work: Project) -> None:
    """Copilot was ended in the middle of it. The prompts after that wait no more."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.writes(START)
    first = timed(copilot)
    rest = [timed(copilot) for _ in range(3)]
    assert [told for told, _ in (first, *rest)] == [""] * 4
    assert first[1] > transcripts._PATIENCE
    assert min(seconds for _, seconds in rest) < first[1] - transcripts._PATIENCE / 2


def test_a_start_and_a_prompt_wait_once_for_a_compaction_that_never_ends(work: Project) -> None:
    """The session was ended in the middle of it, and is resumed."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.writes(START)
    begun = time.monotonic()
    copilot.fire("SessionStart", source="resume")
    between = time.monotonic()
    copilot.prompt()
    assert between - begun > transcripts._PATIENCE
    assert time.monotonic() - between < between - begun - transcripts._PATIENCE / 2


def test_a_compaction_that_never_ends_does_not_hide_the_next_one(work: Project) -> None:
    """However much is written between the two."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.writes(START)
    fills(copilot, 36 * MB)
    copilot.writes({**START, "id": "1"})
    copilot.applies("2")
    assert copilot.context(copilot.prompt()).startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


def test_a_compaction_that_ends_after_a_prompt_has_waited_for_it_is_told(work: Project) -> None:
    """With the prompt after that, also where the session was told of another one meanwhile."""
    copilot = Copilot(work)
    copilot.compacts()
    copilot.writes(START)
    assert copilot.context(copilot.prompt()).startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""
    copilot.applies("late")
    assert copilot.context(copilot.prompt()).startswith(RESTORED)
    assert copilot.context(copilot.prompt()) == ""


def test_an_event_of_any_type_fails_no_prompt(work: Project) -> None:
    """A list for a name, an object, nothing; lists in lists for an id, as deep as they can just be read."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    marker = "session.compaction_complete"
    for kind in ([marker], {marker: 1}, None, 7, marker):
        copilot.writes({"type": kind, "data": [marker], "id": {}, "timestamp": []})
        answered = copilot.prompt()
        assert (answered.code, answered.stdout, answered.stderr) == (0, b"", "")
    for depth in range(900, 1000, 10):
        name = "[" * depth + "]" * depth
        with copilot.transcript.open("a") as stream:
            stream.write(f'{{"type": "{marker}", "data": {{"success": true}}, "id": {name}}}\n')
    answered = copilot.prompt()
    assert (answered.code, answered.stderr) == (0, "")
    copilot.applies("1")
    assert copilot.context(copilot.prompt()).startswith(RESTORED)


# Gemini, which writes all messages anew in one line.


def test_what_gemini_compressed_before_it_was_heard_of_is_over(work: Project) -> None:
    """Also where it is first heard of at a prompt, which comes before PreCompress; its size is no matter."""
    gemini = Gemini(work)
    for name in ("1", "2", "3"):
        writes_as_gemini(gemini, CONTEXT, summary(name))
        fills(gemini, 33 * MB)
    writes_as_gemini(gemini, CONTEXT, summary("3"))
    assert [gemini.context(gemini.prompt()) for _ in range(4)] == [""] * 4
    gemini.fire("PreCompact", trigger="auto")
    assert gemini.context(gemini.prompt()) == ""
    writes_as_gemini(gemini, CONTEXT, summary("3"))
    assert gemini.context(gemini.prompt()) == ""
    writes_as_gemini(gemini, CONTEXT, summary("4"))
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


@pytest.mark.parametrize("rest", [9 * MB, 40 * MB])
def test_a_compression_is_told_however_much_is_kept_of_the_messages(
    rest: int, work: Project
) -> None:
    """Once, and known again when the line that is written next is a short one."""
    gemini = Gemini(work)
    gemini.fire("PreCompact", trigger="manual")
    writes_as_gemini(gemini, CONTEXT, summary("1"), rest=rest)
    assert gemini.context(gemini.prompt()).startswith(RESTORED)
    assert gemini.context(gemini.prompt()) == ""
    writes_as_gemini(gemini, CONTEXT, summary("1"))
    writes_as_gemini(gemini, CONTEXT, {**summary("1"), "content": "no more"}, rest=rest)
    assert gemini.context(gemini.prompt()) == ""
    writes_as_gemini(gemini, CONTEXT, summary("2"), rest=rest)
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


def test_a_prompt_that_speaks_of_a_summary_is_none(work: Project) -> None:
    """The first one, where a summary stands after a compression; or one that quotes a whole summary, later on."""
    gemini = Gemini(work)
    gemini.fire("PreCompact", trigger="auto")
    asked = {"id": "m1", "type": "user", "content": [{"text": "what does <state_snapshot> mean?"}]}
    answer = {"id": "m2", "type": "gemini", "content": "it begins a summary"}
    writes_as_gemini(gemini, CONTEXT, asked, answer)
    assert gemini.context(gemini.prompt()) == ""
    writes_as_gemini(gemini, CONTEXT, {**asked, "content": "hello"}, answer, summary("m3"))
    assert gemini.context(gemini.prompt()) == ""


@pytest.mark.parametrize(
    "text",
    [
        f"<scratchpad>first this</scratchpad>\n{SNAPSHOT}",
        "\n<state_snapshot>cut off in the middle",
    ],
)
def test_a_summary_may_come_with_reasoning_or_without_its_end(text: str, work: Project) -> None:
    """As the model has written it."""
    gemini = Gemini(work)
    gemini.fire("PreCompact", trigger="manual")
    writes_as_gemini(gemini, CONTEXT, {**summary("1"), "content": [{"text": text}]})
    assert gemini.context(gemini.prompt()).startswith(RESTORED)


# What all of that may cost.


def lines_of(kind: str) -> bytes:
    """33 MB of a transcript, each of another kind of trouble."""
    brackets, marker = b"[],", b"<state_snapshot>"
    written = b'{"$set":{"messages":[%s],"x":"' + marker
    match kind:
        case "text":
            return (b'{"content":"' + b"x" * 100_000 + b'"}\n') * 330
        case "one line":
            return written % b"" + b"x" * (33 * MB) + b'"}}\n'
        case "lines that can just be understood":
            return (written % (brackets * 60_000 + b"1") + b"x" * (7 * MB) + b'"}}\n') * 5
        case "lists":
            return (written % (brackets * 2_600_000 + b"1") + b'"}}\n') * 4
        case _:
            return (marker + b"\n") * (33 * MB // 17)


SLACK = 1.0  # seconds of CPU: the start of the process, and others that share the machine


@pytest.mark.parametrize(
    "kind", ["text", "one line", "lines that can just be understood", "lists", "short lines"]
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_a_long_transcript_costs_little(*, kind: str, first: bool, work: Project) -> None:
    """Less than a second of the processor, and less than 200 MB."""
    gemini = Gemini(work)
    gemini.transcript.parent.mkdir(parents=True, exist_ok=True)
    if not first:
        gemini.fire("PreCompact", trigger="auto")
    gemini.transcript.write_bytes(lines_of(kind))
    took = used(gemini, gemini.payload("UserPromptSubmit", prompt="x"))
    assert took.stdout == ""
    assert took.megabytes < 200
    assert took.seconds < 1 + SLACK


def test_a_compaction_that_goes_on_in_a_long_transcript_is_waited_for_cheaply(
    work: Project,
) -> None:
    """What was read is not read again, while a prompt waits."""
    copilot = Copilot(work)
    copilot.fire("PreCompact", trigger="auto")
    copilot.writes(START)
    fills(copilot, 31 * MB)
    took = used(copilot, copilot.payload("UserPromptSubmit", prompt="x"))
    assert took.stdout == ""
    assert took.megabytes < 200
    assert took.seconds < 1 + SLACK


# Agents that there are none of yet.


def test_a_start_that_would_not_stay_is_told_with_a_prompt_without_any_transcript(
    work: Project,
) -> None:
    """What is told with a prompt is asked of the capabilities as one."""
    takes = Capabilities(room=Room(60_000), keeps_starts=False)
    assert takes.prompted
    here = Surroundings.from_environment(work.environment())._replace(
        cwd=str(work.root), capabilities=takes
    )

    def answered(event: str, **fields: object) -> replies.Reply:
        payload = {"hook_event_name": event, "session_id": "s", "cwd": str(work.root), **fields}
        with ExitStack() as afterwards:
            clock = Clock.from_environment()
            return dispatch.answer(
                events.parse(Request(encode(payload))), here, clock, afterwards
            ).reply

    assert answered("SessionStart", source="startup") == replies.Nothing()
    assert isinstance(answered("UserPromptSubmit", prompt="x"), replies.Restored)
    assert answered("UserPromptSubmit", prompt="x") == replies.Nothing()
