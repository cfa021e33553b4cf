"""`status` and `list` as a person sees them: on a terminal, through a pipe, narrow and wide."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.testing import Compactions, MovableClock, Project
from holdfast.text.room import width
from warm import Warm

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
LONG = "The page that goes on and on and never comes to an end because nobody ever stopped it"
SESSION = "session-1"


OnTerminal = Callable[..., str]


@pytest.fixture
def on_terminal(warm: Warm) -> OnTerminal:
    """What a command prints on a terminal of its own."""

    def run(project: Project, *arguments: str, columns: int = 80, **more: str) -> str:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**project.environment(), "TERM": "xterm-256color", **more}
        printed = bytearray()

        def read() -> None:
            with contextlib.suppress(OSError):  # the other end is closed
                while chunk := os.read(ours, 65536):
                    printed.extend(chunk)

        reader = threading.Thread(target=read)
        reader.start()
        done = warm.run(
            arguments, cwd=project.root, environment=environment, terminal=os.ttyname(theirs)
        )
        os.close(theirs)
        reader.join()
        os.close(ours)
        assert done.code == 0
        return printed.decode().replace("\r\n", "\n")

    return run


def row(shown: str, label: str) -> str:
    """The first line of a fact, without its label."""
    lines = (line for line in shown.splitlines() if line.startswith(f"  {label} "))
    return next(lines)[13:]


def facts(project: Project, session: str | None = None) -> Any:
    return json.loads(project.run("status", "--json", session=session).stdout)


@pytest.mark.parametrize("command", ["status", "list"])
def test_the_facts_for_programs_hold_no_object_of_ours(command: str, blocked: Project) -> None:
    """A function of the workflow was printed as text, with the whole state file in it."""
    shown = blocked.run(command, "--json").stdout
    assert LONG in shown
    assert not re.search(r"functools|<bound|Path\(| object at ", shown)


@pytest.fixture
def blocked(holdfast_project: Project) -> Project:
    """A workflow with something of everything."""
    holdfast_project.declare(
        LONG,
        phase="4/10 - SEO Generation",
        status="blocked",
        reading=["@docs/guide.md", "@docs/gone.md"],
        reminders=["Never skip the sitemap, whatever anybody says about it afterwards or before"]
        + [f"reminder {number}" for number in range(2, 9)],
    )
    holdfast_project.write("docs/guide.md", "a guide\n")
    return holdfast_project


def test_a_terminal_gets_colour_and_a_pipe_does_not(
    blocked: Project, on_terminal: OnTerminal
) -> None:
    """The same text in both."""
    piped = blocked.run("status").stdout
    shown = on_terminal(blocked, "status")
    assert "\x1b" not in piped
    assert "\x1b[31m4/10 SEO Generation, blocked\x1b[0m" in shown
    assert "\x1b[1m" in shown.splitlines()[0]
    assert ESCAPE.sub("", shown) == piped


REFUSALS = [{"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        *((command, more) for command in ("status", "list") for more in REFUSALS),
        ("demo", REFUSALS[0]),  # which takes two seconds
    ],
)
def test_colour_can_be_refused(
    command: str, more: dict[str, str], blocked: Project, on_terminal: OnTerminal
) -> None:
    """By any value of NO_COLOR, and by a terminal that has none."""
    assert "\x1b" not in on_terminal(blocked, command, **more)


def test_an_empty_no_color_refuses_nothing(blocked: Project, on_terminal: OnTerminal) -> None:
    """As no-color.org has it."""
    assert "\x1b" in on_terminal(blocked, "status", NO_COLOR="")


@pytest.mark.parametrize("command", ["status", "list", "log", "why", "show"])
def test_lines_fit_the_terminal(
    command: str, blocked: Project, compaction_cycle: Compactions, on_terminal: OnTerminal
) -> None:
    """80 columns at most, or what the terminal has; only a line that ends in a path may be longer."""
    compaction_cycle()
    blocked.write(
        "PLAN.md",
        "# 計画書\n\n**Status**: 🔄 In Progress\n\n## Phase 1: 設計\n- [ ] " + "長い" * 60,
    )
    for columns in (40, 80, 200, 0):
        shown = ESCAPE.sub("", on_terminal(blocked, command, columns=columns))
        room = min(columns or 80, 80)
        wide = [line for line in shown.splitlines() if width(line) > room]
        assert [line for line in wide if "/" not in line.split()[-1]] == [], columns
        assert len(shown.splitlines()) > 1, columns


def test_a_narrow_terminal_breaks_with_a_hanging_indent(
    blocked: Project, on_terminal: OnTerminal
) -> None:
    """Under the fact, not under its label."""
    lines = ESCAPE.sub("", on_terminal(blocked, "status", columns=40)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  chosen "))
    assert lines[at + 1].startswith(" " * 13)
    assert " ".join(line.strip() for line in lines[at : at + 3]).endswith(
        "it is the only active one: CLAUDE.local.md declares it"
    )


def test_a_colour_begins_and_ends_on_its_line(blocked: Project, on_terminal: OnTerminal) -> None:
    """A break inside would colour the indent, or the next fact."""
    for line in on_terminal(blocked, "status", columns=40).splitlines():
        codes = ESCAPE.findall(line)
        assert codes[1::2] == ["\x1b[0m"] * (len(codes) // 2)
        assert len(codes) % 2 == 0


def test_what_a_file_says_cannot_colour_the_terminal(
    holdfast_project: Project, on_terminal: OnTerminal
) -> None:
    """Its escapes go; ours stay."""
    holdfast_project.declare(
        "\x1b[32mGreen\x07 \u202eflow", phase="1/2 - \x1b]0;title\x07A", reminders=["\x1b[2Jgone"]
    )
    for command in ("status", "list", "show", "why"):
        shown = on_terminal(holdfast_project, command)
        assert "Green flow" in shown
        assert not re.search("\x1b\\[(?:32|2J)|\x1b\\]|[\x07\u202e]", shown)


def test_the_bar_shows_done_here_and_to_come(holdfast_project: Project) -> None:
    """A block that is half filled is where the work is."""
    holdfast_project.run("start", "W", "--phases", "A,B,C,D")
    holdfast_project.run("phase", "next")
    assert "\n             ████▓▓▓▓░░░░░░░░\n" in holdfast_project.run("status").stdout
    holdfast_project.run("phase", "set", "4", "--status", "blocked")
    assert "\n             ████████████▓▓▓▓\n" in holdfast_project.run("status").stdout


@pytest.mark.parametrize(
    ("phase", "bar"),
    [
        ("1/100", "▓" + "░" * 39),
        ("50/100", "█" * 19 + "▓" + "░" * 20),
        ("100/100", "█" * 39 + "▓"),
        ("41/41", "█" * 39 + "▓"),
    ],
)
def test_many_phases_keep_the_bar_in_its_room(
    phase: str, bar: str, holdfast_project: Project
) -> None:
    """Where the work is can be seen, and so can whether there is an end."""
    holdfast_project.declare("W", phase=phase)
    assert f"\n             {bar}\n" in holdfast_project.run("status").stdout


def test_a_phase_beyond_the_last_one_stays_in_the_bar(holdfast_project: Project) -> None:
    """A hand may write 900 of 3, and the bar was as long as that."""
    holdfast_project.run("start", "W", "--phases", "A,B,C")
    path = holdfast_project.state_files()[0]
    path.write_text(path.read_text().replace('"current": 1', '"current": 900', 1))
    assert "\n             ████████▓▓▓▓\n" in holdfast_project.run("status").stdout


def test_reading_as_the_next_compaction_would_send_it(blocked: Project) -> None:
    """Where no session is known."""
    shown = blocked.run("status").stdout
    assert row(shown, "reading") == "1 of 2 files to be sent at the next compaction"
    assert "  @docs/guide.md  in part 1\n" in shown
    assert "  @docs/gone.md  not sent: missing\n" in shown
    assert facts(blocked)["reading"] == {
        "delivered": False,
        "files": [
            {"path": "docs/guide.md", "parts": [1, 1], "reason": "", "opened": False, "changed": False},
            {"path": "docs/gone.md", "parts": None, "reason": "missing", "opened": False, "changed": False},
        ],
    }  # fmt: skip


def test_reading_as_the_last_restore_sent_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What was opened and changed since is told; so is what is required only since."""
    project = holdfast_project
    project.write("docs/two parts.md", "a line of the guide\n" * 800)
    project.write("docs/large.md", "x" * 70_000)
    project.write("docs/other.md", "y" * 70_000)
    project.write("docs/late.md", "late\n")
    project.run(
        "start", "W", *("--read", "@docs/two parts.md"), *("--read", "@docs/large.md"),
        *("--read", "@docs/other.md"), session=SESSION,
    )  # fmt: skip
    compaction_cycle(session=SESSION)
    opened = {"file_path": str(project.root / "docs/large.md")}
    compaction_cycle.fire("PostToolUse", session=SESSION, tool_name="Read", tool_input=opened)
    project.run("read", "@docs/late.md", session=SESSION)
    project.write("docs/two parts.md", "another text\n")
    shown = project.run("status", session=SESSION).stdout
    over = "not sent: over the budget of 60,000 characters a file"
    assert row(shown, "reading") == "1 of 4 files sent at the last restore"
    assert "@docs/two parts.md  in parts 1 to 2, changed since\n" in shown
    assert f"@docs/large.md {over}, opened since @docs/other.md {over} @" in " ".join(shown.split())
    opened_since = [each["opened"] for each in facts(project, SESSION)["reading"]["files"]]
    assert opened_since == [False, True, False, False]
    assert "@docs/late.md  not sent: required only since the last restore\n" in shown
    assert facts(project)["reading"]["delivered"] is False  # for somebody else


def test_reading_that_the_settings_only_name(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is not sent, and that says why."""
    holdfast_project.write(".claude/holdfast.toml", 'reading = "list"\n')
    holdfast_project.write("docs/a.md", "text\n")
    holdfast_project.declare("W", reading=["@docs/a.md"])
    line = "@docs/a.md  not sent: only named\n"
    assert line in holdfast_project.run("status").stdout
    compaction_cycle(session=SESSION)
    shown = holdfast_project.run("status", session=SESSION).stdout
    assert row(shown, "reading") == "0 of 1 file sent at the last restore"
    assert line in shown


def test_long_lists_are_bounded_and_say_so(holdfast_project: Project) -> None:
    """Eight files, five reminders."""
    for number in range(10):
        holdfast_project.write(f"docs/{number}.md", "text\n")
    holdfast_project.declare(
        "W",
        reading=[f"@docs/{number}.md" for number in range(10)],
        reminders=[f"mind {number} {'and more ' * 20}" for number in range(7)],
    )
    shown = holdfast_project.run("status").stdout
    assert shown.count("@docs/") == 8
    assert shown.count("… 2 more: holdfast show") == 2
    assert len(re.findall(r"mind \d.*…$", shown, re.MULTILINE)) == 5


def test_who_saved_last(
    holdfast_project: Project, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """A hook, a command, a hand; and before any of them, nobody."""
    project = holdfast_project
    project.declare("W", phase="1/5 - A")
    assert row(project.run("status").stdout, "saved").startswith("not yet")
    assert facts(project)["workflow"]["saved_at"] is None
    compaction_cycle.fire("PreCompact")
    saved = row(project.run("status").stdout, "saved")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC by PreCompact", saved)
    compaction_cycle.start("resume")  # has nothing to save
    assert row(project.run("status").stdout, "saved") == saved
    holdfast_clock.advance(hours=1)
    project.run("phase", "next")
    assert row(project.run("status").stdout, "saved").endswith("UTC by `holdfast phase next`")
    project.declare("W", phase="3/5 - C")
    compaction_cycle.start()
    assert facts(project)["workflow"]["saved_by"] == "SessionStart"
    path = project.state_files()[0]
    path.write_text(path.read_text().replace('"current": 3', '"current": 4', 1))
    assert row(project.run("status").stdout, "saved").endswith("UTC by hand")
    assert facts(project)["workflow"]["saved_by"] == "hand"


def test_an_edit_by_hand_of_what_nothing_declares_stays_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A hook copies it, and does not write it."""
    holdfast_project.run("start", "W", "--phases", "A,B,C")
    path = holdfast_project.state_files()[0]
    path.write_text(path.read_text().replace('"current": 1', '"current": 2', 1))
    compaction_cycle.fire("PreCompact")
    assert facts(holdfast_project)["workflow"]["saved_by"] == "hand"
    holdfast_project.run("remind", "x")
    assert facts(holdfast_project)["workflow"]["saved_by"] == "holdfast remind"


def test_another_saver_alone_is_no_reason_to_write(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Neither for hooks at once, nor for a command that changes nothing."""
    holdfast_project.declare("W")
    compaction_cycle.at_once(4)
    path = holdfast_project.state_files()[0]
    before = path.stat().st_mtime_ns, path.read_bytes()
    compaction_cycle.at_once(4, event="SessionStart")
    compaction_cycle.fire("PreCompact")
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert facts(holdfast_project)["workflow"]["saved_by"] == "PreCompact"
    holdfast_project.run("phase", "set", "1")
    assert facts(holdfast_project)["workflow"]["saved_by"] == "PreCompact"


def test_a_saved_state_that_is_behind_says_so(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Until somebody saves."""
    holdfast_project.declare("W", phase="1/5 - A")
    assert "    not saved yet\n" in holdfast_project.run("list").stdout
    compaction_cycle()
    assert "  unsaved " not in holdfast_project.run("status").stdout
    holdfast_project.declare("W", phase="2/5 - B")
    assert row(holdfast_project.run("status").stdout, "unsaved").startswith("what is declared now")
    assert "    changed since it was saved\n" in holdfast_project.run("list").stdout
    assert facts(holdfast_project)["workflow"]["behind"] is True
    compaction_cycle.fire("PreCompact")
    assert "  unsaved " not in holdfast_project.run("status").stdout
    assert facts(holdfast_project)["workflow"]["behind"] is False


def test_a_list_has_a_line_a_workflow(holdfast_project: Project) -> None:
    """Sign, name, phase, standing, format; the remark below; also with wide names."""
    project = holdfast_project
    project.run("start", "日本語のワークフロー" * 4, "--phases", "A,B")
    project.run("start", "Second", "--phases", "A,B,C")
    project.run("ignore", "日本語")
    lines = project.run("list").stdout.splitlines()
    assert [line for line in lines if " ago" in line or "just now" in line] == lines[1:4:2]
    del lines[1], lines[2]
    assert lines[0].split() == ["*", "Second", "1/3", "active", "canonical"]
    assert lines[1].split() == [
        "日本語のワークフロー日本語のワークフロー日本…",
        "1/2",
        "ignored",
        "canonical",
    ]
    assert lines[2].startswith("    ignored. To resume it: holdfast resume")
    assert width(lines[0]) == width(lines[1]) <= 80


def test_json_without_a_workflow_has_the_same_keys(holdfast_project: Project) -> None:
    """So that a program need not ask whether they are there."""
    empty = facts(holdfast_project)
    holdfast_project.run("start", "W")
    assert set(empty) == set(facts(holdfast_project))
    assert (empty["workflow"], empty["reading"], empty["compactions"]) == (None, None, None)


def test_an_encoding_without_the_letters_is_no_failure(holdfast_project: Project) -> None:
    """A name in another script ended in a traceback; what is printed is always UTF-8."""
    holdfast_project.declare("日本語", reminders=["ä"])
    for command in ("status", "list", "show", "why"):
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", command],
            cwd=holdfast_project.root,
            env={**holdfast_project.environment(), "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=True,
        )
        assert "日本語" in done.stdout.decode("utf-8")
