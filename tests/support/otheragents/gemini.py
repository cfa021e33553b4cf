"""Gemini CLI, in a terminal: there it has its commands, and all its hooks."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from otheragents.generate import Generate, GenerateRequest
from otheragents.place import API_KEY, Place
from otheragents.service import Service
from realclient.client import TooSlow, wait_until
from realclient.standin import Reply, StandIn, Tool, calls
from realclient.terminal import Terminal

SUMMARY_PROMPTS = ("First, reason in your scratchpad", "Critically evaluate the <state_snapshot>")
SUMMARY = "<state_snapshot>The summary that the stand-in made.</state_snapshot>"


class GeminiRequest(GenerateRequest):
    @property
    def is_summary(self) -> bool:
        return any(each in self.last_user_text for each in SUMMARY_PROMPTS)


@dataclass
class GeminiService(Generate):
    asked = GeminiRequest
    summary: str = SUMMARY


class GeminiSession:
    """A turn has ended when the agent waits for the next line."""

    def __init__(self, terminal: Terminal, stand_in: Service, identity: str) -> None:
        self._terminal = terminal
        self._stand_in = stand_in
        self.id = identity

    @property
    def printed(self) -> list[Any]:
        return [self._terminal.screen]

    def say(self, text: str) -> None:
        asked = len(self._stand_in.requests)
        self._terminal.type(text)
        wait_until(lambda: len(self._stand_in.requests) > asked, f"a request for {text}")
        self._wait_until_idle()

    def compact(self) -> None:
        compacted = self._compactions()
        self._terminal.type("/compress")
        # While the list of commands that begin like this comes up, an Enter may be lost.
        for _ in range(20):
            with contextlib.suppress(TooSlow):
                wait_until(lambda: self._compactions() > compacted, "the compaction", 1.0)
                return
            self._terminal.enter()
        raise TooSlow("never compacted")

    def _compactions(self) -> int:
        return self._terminal.screen.count("Chat history compressed")

    def _wait_until_idle(self) -> None:
        wait_until(lambda: "esc to cancel" not in self._terminal.screen, "the end of a turn")


def shell(line: str) -> Reply:
    """The agent runs a line in its shell."""
    return calls(Tool("run_shell_command", {"command": line}))


class Gemini(Place):
    agent = "gemini"
    service = GeminiService
    # Its window is 1,048,576 tokens. With so many it compacts by itself, before the next request.
    full = 600_000

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        given = {
            "hooks": self.hooks if hooks is None else hooks,
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "ui": {"useAlternateBuffer": False, "hideTips": True, "hideBanner": True},
            **self.settings,
        }
        self.write(self.home / ".gemini/settings.json", json.dumps(given, indent=2))

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        given = {
            "GEMINI_API_KEY": API_KEY,
            "GOOGLE_GEMINI_BASE_URL": stand_in.url,
            "GEMINI_MODEL": "gemini-2.5-pro",
            "GEMINI_TELEMETRY_ENABLED": "false",
        }
        return self.machine(**{**given, **more})

    @contextmanager
    def session(self, stand_in: Service, resume: str = "") -> Iterator[GeminiSession]:
        identity = resume or str(uuid.uuid4())
        begun = ["--resume", resume] if resume else ["--session-id", identity]
        command = self.entered([*self.command, "--skip-trust", "--yolo", *begun])
        with Terminal(command, self.project, self.env(stand_in)) as terminal:
            terminal.wait_for("Type your message")
            yield GeminiSession(terminal, stand_in, identity)
