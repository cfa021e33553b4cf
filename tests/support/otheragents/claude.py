"""Claude Code by the same verbs as the others, to be held against them, and to take turns with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from holdfast.agents.clients import CLAUDE
from otheragents.place import Place
from realclient import client
from realclient.client import PrintMode, print_mode
from realclient.install import installed
from realclient.runs import COMPACTS_EARLY, FULL, OLDER_MODEL
from realclient.standin import Request, StandIn
from realclient.workplace import shell


@dataclass
class Messages(StandIn):
    asked: ClassVar[type[Request]] = Request


class ClaudeSession:
    def __init__(self, lines: PrintMode) -> None:
        self._lines = lines
        self.printed = lines.messages

    @property
    def id(self) -> str:
        return str(self.printed[-1]["session_id"])

    def say(self, text: str) -> None:
        self._lines.send(text)

    def compact(self) -> None:
        self._lines.compact()


class Claude(Place):
    agent = "claude"
    service = Messages
    full = FULL
    shell = staticmethod(shell)

    def _command(self) -> list[str]:
        return [str(installed(CLAUDE.tried[-1]))]

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        given = client.environment(self.home, stand_in.url, COMPACTS_EARLY)
        return {**given, **self.machine(CLAUDE_CODE_TMPDIR=str(self._temporary), **more)}

    @contextmanager
    def session(self, stand_in: StandIn, resume: str = "") -> Iterator[ClaudeSession]:
        again = ["--resume", resume] if resume else []
        [binary] = self.command
        with print_mode(binary, self.project, self.env(stand_in), [*OLDER_MODEL, *again]) as lines:
            yield ClaudeSession(lines)
            lines.close()
