"""The client as a person sees it, in a terminal that belongs to the test alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from realclient.client import API_KEY, DEADLINE, TooSlow, wait_until

# Wide enough that the lines that tests look for are not broken in two.
WIDTH, HEIGHT = 240, 60


def past_onboarding(home: Path, project: Path) -> None:
    """What the client notes after its first start, so that it asks nothing."""
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    noted = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
        "projects": {str(project): known},
    }
    (home / ".claude.json").write_text(json.dumps(noted), encoding="utf-8")


def client_in_terminal(
    binary: Path, project: Path, home: Path, env: dict[str, str], args: Sequence[str] = ()
) -> Terminal:
    """The interactive client."""
    past_onboarding(home, project)
    return Terminal([binary, "--dangerously-skip-permissions", *args], project, env)


@dataclass
class Terminal:
    """A program in a tmux server of its own, as a context manager."""

    command: Sequence[str | Path]
    project: Path
    env: dict[str, str]
    deadline: float = DEADLINE

    def __enter__(self) -> Self:
        # Not below the test's folder: the path of a socket may not be long.
        self._sockets = Path(tempfile.mkdtemp(prefix="holdfast-tmux-"))
        try:
            # More than one word: tmux starts the client itself, without a shell in between.
            without_tmux = ["env", "-u", "TMUX", "-u", "TMUX_PANE", "-u", "TMUX_TMPDIR"]
            size = ["-x", str(WIDTH), "-y", str(HEIGHT), "-c", str(self.project)]
            program = [str(word) for word in self.command]
            self._tmux("new-session", "-d", *size, *without_tmux, *program)
            self._pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        with contextlib.suppress(ProcessLookupError):
            try:
                wait_until(self._has_ended, "the client ends with its terminal", deadline=10)
            except TooSlow:
                os.kill(self._pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _end(self) -> None:
        # The server listens in a folder of its own, so that no other one is ever meant.
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _tmux(self, *args: str) -> str:
        terminal = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["tmux", "-L", "test", "-f", "/dev/null", *args],
            env={**self.env, **terminal, "TMUX_TMPDIR": str(self._sockets)},
            capture_output=True,
            text=True,
            timeout=self.deadline,
            check=True,
        )
        return done.stdout

    @property
    def screen(self) -> str:
        """What is on the screen, and what has scrolled off."""
        return self._tmux("capture-pane", "-p", "-S", "-2000")

    def wait_for(self, text: str) -> None:
        try:
            wait_until(lambda: text in self.screen, text, self.deadline)
        except TooSlow as slow:
            raise TooSlow(f"{slow}\n{self.screen}") from None

    def type(self, text: str) -> None:
        """One line, and Enter."""
        self._tmux("send-keys", "-l", text)
        self.wait_for(text)
        # An Enter that comes in the same burst as the text counts as a line break in a paste.
        time.sleep(0.3)
        self.enter()

    def enter(self) -> None:
        self.press("Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def wait_for_end(self) -> None:
        wait_until(self._has_ended, "the program ends", self.deadline)
