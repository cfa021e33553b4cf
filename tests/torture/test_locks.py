"""A lock whose owner was killed, was stopped or hangs: who waits gives up in time, says so, and loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from efforts import EFFORT
from holdfast.testing import Compactions, Project
from warm import field, until

pytestmark = pytest.mark.needs("strace")

_HOOKS_WAIT, _COMMANDS_WAIT = 2.0, 30.0
_SPARE = 2.0  # for a busy machine, and for what is done beside waiting
# What meets the owner when it is about to sync what it has written, with the lock in its hands.
STOPPED, HANGING = "signal=STOP", "delay_enter=8s"


class Owner:
    """A process that gives a command and does not get beyond the middle of its save."""

    def __init__(self, project: Project, fate: str, *command: str) -> None:
        strace = ["strace", "-f", "-qqq", "-o", os.devnull]
        inject = ["-e", "trace=fsync", "-e", f"inject=fsync:{fate}:when=1"]
        self._strace = subprocess.Popen(
            [*strace, *inject, sys.executable, "-m", "holdfast", *command],
            cwd=project.root,
            env=project.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        staging = project.root / ".claude/holdfast/tmp"
        # Written to the end: what the test does now comes after it, also by the files' times.
        until(lambda: staging.is_dir() and any(map(_is_whole, staging.iterdir())))
        children = Path(f"/proc/{self._strace.pid}/task/{self._strace.pid}/children")
        self.pid = int(children.read_text("ascii").split()[0])
        until(lambda: field(self.pid, "State")[0] in "tT")

    def send(self, what: signal.Signals) -> None:
        os.kill(self.pid, what)

    def ended(self) -> tuple[int, bytes]:
        _, stderr = self._strace.communicate(timeout=60)
        return self._strace.returncode, stderr

    def give_up(self) -> None:
        if self._strace.poll() is None:
            self.send(signal.SIGKILL)
            self.ended()


def _is_whole(staged: Path) -> bool:
    try:
        return isinstance(json.loads(staged.read_bytes()), dict)
    except (OSError, ValueError):
        return False


@contextmanager
def owner(project: Project, fate: str) -> Iterator[Owner]:
    """Somebody who reminds, and is stopped or hangs in the middle of it."""
    project.run("start", "W", "--phases", "A,B,C")
    held = Owner(project, fate, "remind", "said before")
    try:
        yield held
    finally:
        held.give_up()


@pytest.mark.parametrize("fate", [STOPPED, HANGING])
def test_a_hook_gives_up_in_two_seconds_and_says_so(
    fate: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
    count: Callable[[str, int], None],
) -> None:
    """The compaction goes on, the workflow is restored, and the next hook saves what this one could not."""
    project = holdfast_project
    with owner(project, fate) as held:
        project.declare("W", phase="2/3 - B")
        begun = time.monotonic()
        saved = compaction_cycle.door(in_process=False).fire(
            {"hook_event_name": "PreCompact", "session_id": "s", "cwd": str(project.root)}
        )
        assert _HOOKS_WAIT <= time.monotonic() - begun < _HOOKS_WAIT + _SPARE
        assert saved.code == 1
        assert saved.stderr.count("\n") == 0
        assert "was held by another process for 2 s" in saved.stderr
        started = compaction_cycle.start()
        assert "phase 2 of 3: B" in started.guidance
        assert "held by another process" in started.message
        held.send(signal.SIGKILL)
        held.ended()
        assert compaction_cycle.fire("PreCompact").code == 0
    assert project.state()["phase"]["current"] == 2
    count("locks held by whoever was stopped or hung", 1)


def test_who_was_stopped_ends_what_it_began(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Others gave up meanwhile and wrote nothing, so nothing is lost on either side."""
    project = holdfast_project
    with owner(project, STOPPED) as held:
        project.declare("W", phase="2/3 - B")
        assert compaction_cycle.fire("PreCompact").code == 1
        held.send(signal.SIGCONT)
        assert held.ended() == (0, b"")
    assert compaction_cycle.fire("PreCompact").code == 0
    state = project.state()
    assert state["phase"]["current"] == 2
    assert "said before" in state["key_reminders"]


def test_the_lock_of_who_was_stopped_and_killed_is_free_at_once(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """With what it had written so far cleared up."""
    project = holdfast_project
    with owner(project, STOPPED) as held:
        held.send(signal.SIGKILL)
        held.ended()
        project.declare("W", phase="2/3 - B")
        begun = time.monotonic()
        assert compaction_cycle.fire("PreCompact").code == 0
        assert time.monotonic() - begun < _HOOKS_WAIT
    assert "said before" not in project.state()["key_reminders"]
    assert os.listdir(project.root / ".claude/holdfast/tmp") == []


if EFFORT.patience:

    def test_a_command_gives_up_in_thirty_seconds_and_says_so(
        holdfast_project: Project, count: Callable[[str, int], None]
    ) -> None:
        """As long as a person would wait for it; too long for the suite."""
        project = holdfast_project
        with owner(project, STOPPED) as held:
            begun = time.monotonic()
            ended = project.run("phase", "next", check=False)
            assert _COMMANDS_WAIT <= time.monotonic() - begun < _COMMANDS_WAIT + 2 * _SPARE
            assert ended.returncode == 1
            assert "was held by another process for 30 s" in ended.stderr
            assert "Nothing was changed" in ended.stderr
            held.send(signal.SIGCONT)
            assert held.ended() == (0, b"")
        assert project.state()["phase"]["current"] == 1
        count("locks held by whoever was stopped or hung", 1)
