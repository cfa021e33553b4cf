"""Qwen Code: its JSON lines for sessions, and its commands for the plugin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from otheragents.chat import Chat, ChatRequest
from otheragents.place import API_KEY, Place
from otheragents.service import Service
from realclient.client import STREAMS, PrintMode
from realclient.standin import Reply, StandIn, Tool, calls

# How Qwen begins the words with which it asks for a summary, and what it takes for one.
SUMMARY_PROMPT = "You are the component that summarizes a conversation"
SUMMARY = "<state_snapshot>The summary that the stand-in made.</state_snapshot>"


class QwenRequest(ChatRequest):
    @property
    def is_summary(self) -> bool:
        return any(turn.text.startswith(SUMMARY_PROMPT) for turn in (self.turns[0], self.turns[-1]))


@dataclass
class QwenService(Chat):
    asked = QwenRequest
    summary: str = SUMMARY


class QwenSession:
    def __init__(self, lines: PrintMode) -> None:
        self._lines = lines
        self.printed = lines.messages

    @property
    def id(self) -> str:
        return str(self.printed[0]["session_id"])

    def say(self, text: str) -> None:
        self._lines.send(text)

    def compact(self) -> None:
        self.say("/compress")


class Qwen(Place):
    agent = "qwen"
    service = QwenService
    # Of 200,000. It compacts before the next request.
    full = 172_000

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        given = {
            "hooks": self.hooks if hooks is None else hooks,
            # Requests of an agent of its own, that nobody asked for.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            **self.settings,
        }
        self.write(self.home / ".qwen/settings.json", json.dumps(given, indent=2))

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        given = {
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_BASE_URL": f"{stand_in.url}/v1",
            "OPENAI_MODEL": "stand-in",
        }
        return self.machine(**{**given, **more})

    @staticmethod
    def shell(line: str) -> Reply:
        return calls(Tool("run_shell_command", {"command": line, "is_background": False}))

    @contextmanager
    def session(self, stand_in: Service, resume: str = "") -> Iterator[QwenSession]:
        rights = ["--auth-type", "openai", "--approval-mode", "yolo"]
        again = ["--resume", resume] if resume else []
        command = self.entered([*self.command, *STREAMS, *rights, *again])
        with PrintMode(command, self.project, self.env(stand_in)) as lines:
            yield QwenSession(lines)
            lines.close()
