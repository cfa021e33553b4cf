"""A home and a project for one of the agents, with its hooks. Each agent's module adds its own ways."""

from __future__ import annotations

import shlex
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from otheragents import network, programs
from realclient.client import DEADLINE
from realclient.sandbox import PROBE
from realclient.standin import Reply, StandIn
from realclient.workplace import Work, with_holdfast

API_KEY = "made-up-for-the-stand-in-0000000000000000"


class Session(Protocol):
    """A session that is going on. What the agent tells the person is in `printed`."""

    id: str
    printed: list[Any]

    def say(self, text: str) -> None:
        """One prompt; it returns when the agent has answered."""

    def compact(self) -> None:
        """As if the person had typed the command; it returns when it is done."""


class Place(Work):
    """`probe(…)` the events, `write_settings()`, then `session(…)`."""

    agent: ClassVar[str]
    service: ClassVar[Any]  # a stand-in of its model's API
    # So many tokens make it compact by itself.
    full: ClassVar[int]

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.command = self._command()
        self.also: dict[str, str] = {}  # what the agent's environment has beside all else

    def _command(self) -> list[str]:
        return programs.command(self.agent)

    @staticmethod
    @abstractmethod
    def shell(line: str) -> Reply:
        """The agent runs a line in its shell."""

    @abstractmethod
    def session(self, stand_in: Any, resume: str = "") -> AbstractContextManager[Session]:
        """A new session, or an earlier one that goes on."""

    @abstractmethod
    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        """All that the agent is told: where its model is, and `machine`."""

    def machine(self, **more: str) -> dict[str, str]:
        """All that the agent is told about the machine."""
        return {
            "PATH": with_holdfast(),
            "HOME": str(self.home),
            "TMPDIR": str(self._temporary),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **network.environment(),
            **self.also,
            **more,
        }

    def probe_hook(
        self,
        name: str,
        stdout: str | dict[str, Any] | None = None,
        script: str | Path = PROBE,
        **more: Any,
    ) -> dict[str, Any]:
        exec_form = super().probe_hook(name, stdout, script, **more)
        return self.hook(sys.executable, *exec_form.pop("args"), **more)

    def hook(self, *words: str | Path, **more: Any) -> dict[str, Any]:
        """A hook as these agents register it: a line for the shell."""
        line = shlex.join(str(word) for word in words)
        return {"type": "command", "command": line, **more}

    def install(self) -> None:
        """Our hooks, as `holdfast install` registers them."""
        printed = self.holdfast("install", "--agent", self.agent)
        assert "Registered " in printed, printed

    def share(self, other: Place) -> None:
        """Work in the project of another agent, on the same machine."""
        self.home, self.project = other.home, other.project

    def run(self, stand_in: StandIn, *arguments: str, **more: str) -> str:
        """A command of the agent's that ends by itself, and what it printed."""
        done = subprocess.run(
            self.entered([*self.command, *arguments]),
            cwd=self.project,
            env=self.env(stand_in, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        return printed

    def entered(self, command: Sequence[str]) -> list[str]:
        return network.private().entered(command)
