"""The parts of the reading through the door: sent after a compaction, and only then."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.agents.replies import Outcome
from holdfast.testing import Compactions, MovableClock, Project
from holdfast.testing.simulate import InSubprocess, Session, context_of, encode, read_reply
from parts import put_together


def user_settings(project: Project, text: str) -> None:
    path = project.home / ".config" / "holdfast" / "holdfast.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def guide(holdfast_project: Project) -> str:
    """A project that requires one file of several parts, and that file's last line."""
    lines = [f"line {number} of the guide" for number in range(1, 1001)]
    holdfast_project.write("docs/guide.md", "\n".join(lines) + "\n")
    holdfast_project.declare("W", reading=["@docs/guide.md", "@docs/gone.md"])
    return lines[-1]


def test_the_text_arrives_and_the_guidance_says_so(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """Which file is in which part, and which was not sent and why."""
    cycle = compaction_cycle()
    assert len(cycle.reading) == 3
    assert guide in cycle.reading[-1]
    assert cycle.reading[1].splitlines()[2].startswith("reading 2 of 3: docs/guide.md, version ")
    assert "@docs/guide.md (sent, parts 1 to 3, version " in cycle.guidance
    assert "@docs/gone.md (not sent: missing)" in cycle.guidance
    assert "in 3 parts labelled" in cycle.guidance
    assert "before the next change" not in cycle.guidance


def part(compaction_cycle: Compactions, number: int, source: str) -> str:
    """What the hook for a part says, at a start of its own."""
    started = Session("session-1", str(compaction_cycle.project.root)).session_start(source)
    compaction_cycle.door().fire(started)
    outcome = compaction_cycle.door().fire(started, "--part", str(number))
    assert outcome.code == 0
    return context_of(read_reply(outcome))


@pytest.mark.parametrize("source", ["compact", "resume", "fork"])
def test_it_is_sent_where_a_session_goes_on(
    compaction_cycle: Compactions, guide: str, source: str
) -> None:
    """And nothing is sent by a part that is not needed."""
    assert guide in part(compaction_cycle, 3, source)
    assert part(compaction_cycle, 4, source) == ""


@pytest.mark.parametrize("source", ["startup", "clear", "tomorrow"])
def test_it_is_not_sent_where_a_session_begins(
    compaction_cycle: Compactions, guide: str, source: str
) -> None:
    """The one line there says how to take the workflow up."""
    assert part(compaction_cycle, 1, source) == ""


def test_a_part_says_nothing_without_the_main_hook(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """Only the main hook saves, and knows what is to be sent. The log tells."""
    started = Session("session-1", str(holdfast_project.root)).session_start()
    assert compaction_cycle.door().fire(started, "--part", "1") == Outcome()
    assert holdfast_project.states() == []
    assert not (holdfast_project.root / ".claude").exists()
    assert "laid no parts of the reading ready" in holdfast_project.run("log").stdout


def test_a_part_is_sent_once_at_each_start(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """The next start is sent the same bytes, but may have other parts; so its hooks wait for them."""
    assert guide in part(compaction_cycle, 3, "compact")
    started = Session("session-1", str(holdfast_project.root)).session_start()
    assert compaction_cycle.door().fire(started, "--part", "3") == Outcome()
    assert guide in part(compaction_cycle, 3, "compact")


def test_parts_that_are_old_are_those_of_an_earlier_start(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """No client waits that long for a hook."""
    started = Session("session-1", str(holdfast_project.root)).session_start()
    compaction_cycle.door().fire(started)
    for path in holdfast_project.home.rglob("parts/start-*"):
        os.utime(path, (time.time() - 60, time.time() - 60))
    assert compaction_cycle.door().fire(started, "--part", "1") == Outcome()


def test_parts_wait_for_the_main_hook(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """All hooks of a start begin at the same moment, and the main one has the most to do."""
    door = InSubprocess(holdfast_project.environment(), str(holdfast_project.root))
    started = Session("session-1", str(holdfast_project.root)).session_start()
    waiting = [door.start("--part", str(number)) for number in range(1, 5)]
    for process in waiting:
        assert process.stdin
        process.stdin.write(encode(started))
        process.stdin.close()
        process.stdin = None
    time.sleep(0.3)
    assert door.fire(started).code == 0
    said = [process.communicate(timeout=30)[0].decode() for process in waiting]
    assert [bool(text) for text in said] == [True, True, True, False]
    assert guide in said[2]


def test_a_list_on_request(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """`reading = "list"` names the files as required, and nothing is sent."""
    user_settings(holdfast_project, 'reading = "list"\n')
    cycle = compaction_cycle()
    assert cycle.reading == ()
    assert "@docs/guide.md\n@docs/gone.md (missing)" in cycle.guidance
    assert "Still to be read from disk: @docs/guide.md. They contain details" in cycle.guidance


def test_fewer_parts_on_request(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """What does not fit is to be read."""
    user_settings(holdfast_project, "parts = 2\n")
    holdfast_project.write("docs/gone.md", "short")
    cycle = compaction_cycle()
    assert len(cycle.reading) == 1
    assert "@docs/guide.md (not sent: over the budget of 2 parts)" in cycle.guidance
    assert "@docs/gone.md (sent, part 1, version " in cycle.guidance
    assert "Still to be read from disk: @docs/guide.md. They" in cycle.guidance


def test_no_part_where_restoring_is_switched_off(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """By the restore table, or altogether."""
    user_settings(holdfast_project, '[restore]\ncompact = "line"\n')
    assert part(compaction_cycle, 1, "compact") == ""
    user_settings(holdfast_project, "enabled = false\n")
    assert part(compaction_cycle, 1, "compact") == ""


def test_a_file_that_changed_since_it_was_sent_is_marked(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """By its content, and for as long as the session was not sent the new one."""
    assert "changed since" not in compaction_cycle().guidance
    (holdfast_project.root / "docs/guide.md").touch()
    assert "changed since" not in compaction_cycle().guidance
    holdfast_project.write("docs/guide.md", "another text")
    marked = re.compile(
        r"@docs/guide\.md \(sent, part 1, version \w+; changed since the last restore\)"
    )
    assert marked.search(compaction_cycle().guidance)
    assert "changed since" not in compaction_cycle().guidance
    holdfast_project.write("docs/guide.md", "a third text")
    assert "changed since" not in compaction_cycle(session="another").guidance
    assert marked.search(compaction_cycle().guidance)


def test_a_change_is_marked_where_nothing_is_sent(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """By size and time, when the text was not read."""
    user_settings(holdfast_project, 'reading = "list"\n')
    compaction_cycle()
    assert "changed since" not in compaction_cycle().guidance
    holdfast_project.write("docs/guide.md", "another text")
    assert "@docs/guide.md (changed since the last restore)" in compaction_cycle().guidance


def test_two_sessions_at_the_same_moment_get_their_own(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Hooks and parts of two sessions run interleaved, and nothing leaks either way."""
    for name in ("alpha", "beta"):
        text = f"only {name} may see this\n" * 900
        holdfast_project.write(f"docs/{name}.md", text)
        holdfast_project.run("start", f"Work {name}", "--read", f"@docs/{name}.md", session=name)
    where = str(holdfast_project.root)
    door = InSubprocess(holdfast_project.environment(), where)
    running = [
        (name, door.start(*arguments))
        for arguments in ((), ("--part", "1"), ("--part", "2"), ("--part", "3"), ("--part", "9"))
        for name in ("alpha", "beta")
    ]
    told: dict[str, str] = {"alpha": "", "beta": ""}
    for name, process in running:
        payload = Session(name, where).session_start()
        with process:
            told[name] += door.finish(process, payload).stdout.decode()
    for name, other in (("alpha", "beta"), ("beta", "alpha")):
        assert told[name].count(f"only {name} may see this") == 900
        assert f"only {other}" not in told[name]
        assert f"Work {other}: phase" in told[name]  # named in one line, and no more


def test_a_part_that_is_not_needed_loads_nothing(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """Twelve are registered, and most have nothing to say."""
    started = Session("session-1", str(holdfast_project.root)).session_start()
    compaction_cycle.door().fire(started)
    code = (
        "import sys, holdfast.__main__ as m; sys.argv = ['holdfast', 'hook', '--part', '4'];"
        "assert m.main() == 0; assert not {'pydantic', 'contextlib'} & sys.modules.keys();"
        "assert 'holdfast.workflows.sync' not in sys.modules; assert 'pathlib' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=encode(started),
        env=holdfast_project.environment(),
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert part(compaction_cycle, 3, "compact") != ""


def test_reading_that_grew_during_the_compaction(
    holdfast_project: Project, compaction_cycle: Compactions, guide: str
) -> None:
    """What PreCompact prepared holds only while the files are as they were."""
    compaction_cycle.fire("PreCompact")
    holdfast_project.write("docs/guide.md", "another line\n" * 4000)
    assert len(compaction_cycle(pre_compact=False).reading) == 6


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["fire", "grow", "shrink", "more", "less", "cycle"]), max_size=8))
def test_whatever_is_promised_is_sent(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Through any order of edits and hooks: the parts that guidance names are there, and no others."""
    folder = tmp_path_factory.mktemp("promised")
    project = Project(folder / "project", folder / "home", MovableClock())
    compactions = Compactions(project)
    names, lines = ["a"], 500
    for number, step in enumerate([*steps, "cycle"]):
        if step == "fire":
            compactions.fire("PreCompact")
        elif step in {"grow", "shrink"}:
            lines = lines * 2 if step == "grow" else max(lines // 2, 1)
        elif step in {"more", "less"}:
            names = [*names, f"n{number}"] if step == "more" else names[:1]
        for name in names:
            project.write(f"{name}.md", f"line {number}\n" * lines)
        project.declare("W", reading=[f"@{name}.md" for name in names])
        if step == "cycle":
            played = compactions(pre_compact=number % 2 == 0)
            sent = re.findall(r"@(\S+) \(sent, parts? ", played.guidance)
            assert sorted(put_together(played.reading)) == sorted(sent)
            promised = re.search(r"in (one|\d+) parts? labelled", played.guidance)
            count = 0 if promised is None else int(promised[1].replace("one", "1"))
            assert len(played.reading) == count


@pytest.mark.parametrize(
    "arguments", [["--part"], ["--part", "0"], ["--part", "-1"], ["--part", "x"], ["--parts", "1"]]
)
def test_wrong_arguments_block_nothing(
    holdfast_project: Project, guide: str, arguments: list[str]
) -> None:
    """No usage error: exit code 2 would stop a compaction."""
    where = str(holdfast_project.root)
    door = InSubprocess(holdfast_project.environment(), where)
    for payload in (Session("s", where).session_start(), Session("s", where).pre_compact()):
        assert door.fire(payload, *arguments) == (b"", "", 0)
    last = holdfast_project.run("log").stdout
    assert "the arguments of the hook are wrong" in last


def test_a_part_answers_no_other_event(holdfast_project: Project, guide: str) -> None:
    """Registered by mistake where it has nothing to say."""
    where = str(holdfast_project.root)
    door = InSubprocess(holdfast_project.environment(), where)
    assert door.fire(Session("s", where).pre_compact(), "--part", "1") == (b"", "", 0)
    assert holdfast_project.states() == []


def test_preview_shows_a_part(holdfast_project: Project, guide: str) -> None:
    """What a compaction would send now."""
    assert guide in holdfast_project.run("preview", "--part", "3").stdout
    done = holdfast_project.run("preview", "--part", "4", check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "holdfast: the reading has 3 parts",
    )


def test_reading_is_contained_through_links(
    tmp_path: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What a repository names outside itself is never sent."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    (holdfast_project.root / "link.md").symlink_to(secret)
    holdfast_project.declare("W", reading=["@link.md", f"@{secret}", "@../secret.txt"])
    cycle = compaction_cycle()
    assert "the secret" not in str(cycle)
    assert "@link.md (outside the project)" in cycle.guidance
