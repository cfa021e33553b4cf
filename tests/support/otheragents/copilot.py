"""GitHub Copilot CLI, without GitHub: offline, with a model provider of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otheragents import acp
from otheragents.chat import Chat, ChatRequest
from otheragents.place import Place
from otheragents.service import Request, Service
from realclient.standin import SUMMARY, Reply, StandIn, Tool, calls, says

# How Copilot begins the words with which it asks for a summary.
SUMMARY_PROMPT = "Please create a detailed summary of the conversation so far."


class CopilotRequest(ChatRequest):
    @property
    def is_summary(self) -> bool:
        return self.last_user_text.startswith(SUMMARY_PROMPT)


@dataclass
class CopilotService(Chat):
    asked = CopilotRequest


def outcomes(home: Path) -> list[str]:
    """How each compaction has ended, as the transcript of the only session tells."""
    [transcript] = (home / ".copilot/session-state").glob("*/events.jsonl")
    events = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    ended = [each for each in events if each["type"] == "session.compaction_complete"]
    return [each["data"]["outcome"] for each in ended]


class Copilot(Place):
    agent = "copilot"
    service = CopilotService
    window = 100_000
    # It begins to compact beside the next request.
    full = 85_000

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        content = {"hooks": self.hooks if hooks is None else hooks}
        self.write(self.home / ".copilot/hooks/hooks.json", json.dumps(content, indent=2))

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        given = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{stand_in.url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_MODEL": "stand-in",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(self.window),
            "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "8000",
        }
        return self.machine(**{**given, **more})

    @staticmethod
    def shell(line: str) -> Reply:
        return calls(Tool("bash", {"command": line, "description": "a line"}))

    @contextmanager
    def session(self, stand_in: Service, resume: str = "") -> Iterator[acp.AcpSession]:
        command = self.entered([*self.command, "--acp", "--allow-all-tools", "--allow-all-paths"])
        with acp.session(
            command, self.project, self.env(stand_in), compacting="/compact", resume=resume
        ) as session:
            yield session

    @contextmanager
    def filled(self) -> Iterator[tuple[Service, acp.AcpSession, threading.Event]]:
        """A session with a full window. Each summary waits for the event; until one came it is asked for again."""
        in_time = threading.Event()

        def tokens(request: Request) -> int:
            return 5_000 if request.is_summary or "summarized" in request.text else self.full

        def late(request: Request) -> Reply | None:
            return says(SUMMARY, in_time) if request.is_summary else None

        with (
            self.service(tokens=tokens, script=late) as stand_in,
            self.session(stand_in) as session,
        ):
            yield stand_in, session, in_time
