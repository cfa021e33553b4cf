"""Codex, where a session that was compacted before it is resumed starts twice in one turn, is told once."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from asking import Codex, log_of

from holdfast.agents import late
from holdfast.config.project import Surroundings
from holdfast.files.store import locked
from holdfast.records import sessionlog
from holdfast.testing import Project
from holdfast.testing.simulate import encode
from skillwork import only_state, told_in_history

RESTORED = "# Workflow restored after the compaction: Work"
RESUMED = "# Workflow continued in the resumed session: Work"


def starts(codex: Codex, source: str) -> list[str]:
    """What the main hook and the first two parts say, which run side by side."""
    payload = codex.payload("SessionStart", source=source)
    parts = [[], ["--part", "1"], ["--part", "2"]]
    running = [codex.door().start(*codex.options(), *each) for each in parts]
    return [codex.context(codex.door().finish(each, payload)) for each in running]


def test_a_codex_session_that_starts_twice_is_told_once(work: Project) -> None:
    """As resumed, with its parts; the second start says nothing, and no part of it."""
    codex = Codex(work)
    codex.compacts()
    resumed = starts(codex, "resume")
    assert resumed[0].startswith(RESUMED)
    assert "The guide" in resumed[1]
    assert starts(codex, "compact") == ["", "", ""]
    assert "the guidance was sent when the session was resumed" in str(log_of(work)[-1]["decided"])
    status = json.loads(work.run("status", "--json", session=codex.session).stdout)
    assert status["compactions"]["count"] == 1


def test_the_next_compaction_of_such_a_session_is_told(work: Project) -> None:
    """And so is every one that begins in the same process."""
    codex = Codex(work)
    codex.compacts()
    starts(codex, "resume")
    starts(codex, "compact")
    for _ in range(2):
        codex.compacts("auto")
        told = starts(codex, "compact")
        assert told[0].startswith(RESTORED)
        assert "The guide" in told[1]


@pytest.mark.parametrize("before", [["resume"], ["compact", "resume"], ["startup"]], ids="-".join)
def test_a_start_that_was_not_told_before_is_told(before: list[str], work: Project) -> None:
    """No compaction began before the resume, or none since was told."""
    codex = Codex(work)
    for source in before:
        starts(codex, source)
    assert starts(codex, "compact")[0].startswith(RESTORED)


def test_a_resume_that_tells_less_does_not_silence_what_follows(work: Project) -> None:
    """The settings may have it say one line, or nothing."""
    work.write(".claude/holdfast.toml", '[restore]\nresume = "line"\n')
    codex = Codex(work)
    codex.compacts()
    assert RESUMED not in starts(codex, "resume")[0]
    assert starts(codex, "compact")[0].startswith(RESTORED)


def test_claude_code_is_told_at_every_start(work: Project) -> None:
    """There a start after a compaction follows a PreCompact of its own, or one that failed."""
    codex = Codex(work)
    codex.options = lambda: ["--agent", "claude"]  # type: ignore[method-assign]
    codex.compacts()
    assert starts(codex, "resume")[0].startswith(RESUMED)
    assert starts(codex, "compact")[0].startswith(RESTORED)


def compacted(codex: Codex) -> list[str]:
    codex.compacts()
    return starts(codex, "compact")


def told_wholly(said: list[str], heading: str = RESTORED) -> bool:
    """With the reading, of which there is one part."""
    return said[0].startswith(heading) and "The guide" in said[1] and not said[2]


def test_a_compaction_that_was_told_leaves_nothing_that_silences_a_later_one(
    work: Project,
) -> None:
    """Whose PreCompact was killed, or is not trusted: trust is for each hook by itself."""
    codex = Codex(work)
    assert told_wholly(compacted(codex))
    assert told_wholly(starts(codex, "resume"), RESUMED)
    for _ in range(2):
        assert told_wholly(starts(codex, "compact"))


def test_a_second_start_that_never_came_silences_no_later_one(work: Project) -> None:
    """A session that was compacted and left starts once when it is resumed."""
    codex = Codex(work)
    codex.compacts()
    assert told_wholly(starts(codex, "resume"), RESUMED)
    work.clock.advance(seconds=59)
    assert starts(codex, "compact") == ["", "", ""]
    work.clock.advance(seconds=2)
    assert told_wholly(starts(codex, "compact"))


def test_a_resume_that_could_not_print_has_not_told(work: Project) -> None:
    """Word is left when it was printed."""
    codex = Codex(work)
    codex.compacts()
    with open("/dev/full", "wb") as full:
        subprocess.run(
            [sys.executable, "-m", "holdfast", "hook", *codex.options()],
            input=encode(codex.payload("SessionStart", source="resume")),
            stdout=full,
            env=work.environment(),
            cwd=work.root,
            check=False,
            timeout=60,
        )
    assert told_wholly(starts(codex, "compact"))


def test_a_compaction_counts_as_begun_before_anything_is_saved(work: Project) -> None:
    """PreCompact is killed while it waits for another that saves."""
    codex = Codex(work)
    codex.compacts()
    starts(codex, "compact")
    work.declare("Work", phase="3/4 - Try", reading=["@docs/guide.md"])
    state_dir = Surroundings.from_environment(work.environment()).state_dir
    with locked(work.root / ".claude" / "holdfast" / "lock", 1.0):
        saving = codex.door().start(*codex.options())
        assert saving.stdin
        saving.stdin.write(encode(codex.payload("PreCompact", trigger="auto")))
        saving.stdin.close()
        saving.stdin = None
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if late.compaction_in(sessionlog.content(state_dir, codex.session)) == "begun":
                break
            time.sleep(0.01)
        assert saving.poll() is None
        saving.kill()
        saving.communicate(timeout=60)
    assert told_wholly(starts(codex, "resume"), RESUMED)
    assert starts(codex, "compact") == ["", "", ""]


def test_a_compaction_counts_as_begun_where_no_workflow_was_found(work: Project) -> None:
    """It may be found when the session is resumed."""
    codex = Codex(work)
    declared = (work.root / "CLAUDE.local.md").read_text()
    (work.root / "CLAUDE.local.md").write_text("nothing yet\n")
    codex.compacts()
    (work.root / "CLAUDE.local.md").write_text(declared)
    assert told_wholly(starts(codex, "resume"), RESUMED)
    assert starts(codex, "compact") == ["", "", ""]


def test_the_history_has_a_compaction_that_was_told_when_the_session_was_resumed(
    holdfast_project: Project,
) -> None:
    """Once, although the start that it is told by says nothing."""
    project = holdfast_project
    project.run("skill", "start", "tdd", "Add login", session="session-1")
    project.clock.advance(seconds=5)
    codex = Codex(project)
    codex.compacts()
    project.clock.advance(seconds=5)
    assert "continued in the resumed" in starts(codex, "resume")[0]
    assert told_in_history(only_state(project), "context_compacted") == 0
    for _ in range(2):
        assert starts(codex, "compact")[0] == ""
        assert told_in_history(only_state(project), "context_compacted") == 1


@pytest.mark.parametrize("restored", [True, False])
def test_what_was_opened_since_the_last_compaction_is_still_known_when_it_is_resumed(
    restored: bool, work: Project
) -> None:
    """What was opened before it is gone."""
    work.write("docs/long.md", "x\n" * 50_000)
    work.declare("Work", phase="2/4 - Build", reading=["@docs/long.md"])
    codex = Codex(work)
    codex.compacts()
    starts(codex, "compact")
    given = {"file_path": str(work.root / "docs/long.md")}
    if not restored:
        codex.fire("PostToolUse", tool_name="Read", tool_input=given)
    codex.compacts()
    if restored:
        starts(codex, "compact")
        codex.fire("PostToolUse", tool_name="Read", tool_input=given)
    starts(codex, "resume")
    edit = {"file_path": str(work.root / "x.py")}
    asked = codex.fire("PreToolUse", tool_name="Edit", tool_input=edit).stdout
    assert (b"docs/long.md" in asked) == (not restored)


def test_all_of_it_is_prepared_from_the_second_compaction_on(work: Project) -> None:
    """And what is prepared leaves the same notes: resumed in between, it is told once."""
    codex = Codex(work)
    for _ in range(2):
        assert told_wholly(compacted(codex))
    before = len(log_of(work))
    for _ in range(2):
        assert told_wholly(compacted(codex))
    mains = [each for each in log_of(work)[before:] if "sent reading" not in str(each["decided"])]
    assert [each.get("prepared") for each in mains] == [True] * 4
    codex.compacts()
    assert log_of(work)[-1].get("prepared")
    assert told_wholly(starts(codex, "resume"), RESUMED)
    assert starts(codex, "compact") == ["", "", ""]
    assert told_wholly(compacted(codex))
    assert told_wholly(starts(codex, "resume"), RESUMED)
    assert told_wholly(starts(codex, "compact"))
