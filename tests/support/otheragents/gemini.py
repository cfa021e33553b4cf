"""Gemini CLI, in a terminal: there it has its commands, and all its hooks."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otheragents.generate import Generate, GenerateRequest
from otheragents.place import API_KEY, Place
from otheragents.service import Service
from realclient.client import TooSlow, wait_until
from realclient.standin import Reply, StandIn, Tool, calls
from realclient.terminal import Terminal

SUMMARY_PROMPTS = ("First, reason in your scratchpad", "Critically evaluate the <state_snapshot>")
SUMMARY = "<state_snapshot>The summary that the stand-in made.</state_snapshot>"


# On the screen while a turn goes on.
WORKING = "esc to cancel"


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
        self._enter_until(
            lambda: any(
                text in each.text and not each.is_summary
                for each in self._stand_in.requests[asked:]
            ),
            f"a request with {text}",
        )
        # Between two tools of one turn it may look as if it had ended.
        looks = 0
        while looks < 3:
            wait_until(lambda: WORKING not in self._terminal.screen, "the end of a turn")
            time.sleep(0.1)
            looks = looks + 1 if WORKING not in self._terminal.screen else 0

    def compact(self) -> None:
        compacted = self._compactions()
        self._terminal.type("/compress")
        self._enter_until(lambda: self._compactions() > compacted, "the compaction")

    def _enter_until(self, true: Callable[[], bool], what: str) -> None:
        """An Enter is lost while a list comes up of what begins like the text."""
        for _ in range(20):
            with contextlib.suppress(TooSlow):
                return wait_until(true, what, 2.0)
            self._terminal.enter()
        raise TooSlow(f"never came: {what}\n{self._terminal.screen}")

    def _compactions(self) -> int:
        return self._terminal.screen.count("Chat history compressed")


class Gemini(Place):
    agent = "gemini"
    service = GeminiService
    # Of 1,048,576. It compacts before the next request.
    full = 600_000

    def hook(self, *words: str | Path, **more: Any) -> dict[str, Any]:
        # It counts in milliseconds.
        return super().hook(*words, **{"timeout": 30_000, **more})

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

    @staticmethod
    def shell(line: str) -> Reply:
        return calls(Tool("run_shell_command", {"command": line}))

    @contextmanager
    def session(self, stand_in: Service, resume: str = "") -> Iterator[GeminiSession]:
        identity = resume or str(uuid.uuid4())
        begun = ["--resume", resume] if resume else ["--session-id", identity]
        command = self.entered([*self.command, "--skip-trust", "--yolo", *begun])
        with Terminal(command, self.project, self.env(stand_in)) as terminal:
            terminal.wait_for("Type your message")
            yield GeminiSession(terminal, stand_in, identity)
            # It would outlive its terminal for a while.
            terminal.press("C-c")
            terminal.wait_for("Press Ctrl+C again to exit")
            terminal.press("C-c")
            terminal.wait_for_end()
