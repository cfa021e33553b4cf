"""Codex CLI: its app server for whole sessions, and its commands for the plugin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from otheragents.jsonrpc import Peer
from otheragents.place import Place
from otheragents.responses import Responses
from otheragents.service import Service
from realclient.standin import Reply, StandIn, Tool, calls


class CodexSession:
    def __init__(self, peer: Peer, identity: str) -> None:
        self._peer = peer
        self.id = identity
        self.printed = peer.heard

    def say(self, text: str) -> None:
        self._turn("turn/start", input=[{"type": "text", "text": text}])

    def compact(self) -> None:
        self._turn("thread/compact/start")

    def _turn(self, method: str, **more: Any) -> None:
        ended = len(self._ended())
        self._peer.ask(method, threadId=self.id, **more)
        self._peer.wait_until(lambda: len(self._ended()) > ended, f"the end of a turn: {method}")

    def _ended(self) -> list[dict[str, Any]]:
        return [each for each in self.printed if each["method"] == "turn/completed"]


def hook_runs(printed: list[Any]) -> list[dict[str, Any]]:
    """What Codex tells of the hooks that have run: `eventName`, `status`, `entries`."""
    return [each["params"]["run"] for each in printed if each.get("method") == "hook/completed"]


class Codex(Place):
    agent = "codex"
    service = Responses
    full = 150_000

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        """Hooks in the home, since those of a project need the project to be trusted, too."""
        content = {"hooks": self.hooks if hooks is None else hooks}
        self.write(self.home / ".codex/hooks.json", json.dumps(content, indent=2))

    # It is told of its model by the command line.
    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        return self.machine(**{"CODEX_HOME": str(self.home / ".codex"), **more})

    def run(self, stand_in: StandIn, *arguments: str, **more: str) -> str:
        (self.home / ".codex").mkdir(exist_ok=True)
        return super().run(stand_in, *arguments, **more)

    def settings_of(self, stand_in: Service) -> list[str]:
        provider = {"name": "stand-in", "base_url": f"{stand_in.url}/v1", "wire_api": "responses"}
        given = {
            "model": "stand-in",
            "model_provider": "standin",
            "model_context_window": 200_000,
            "model_auto_compact_token_limit": 100_000,
            "check_for_update_on_startup": False,
            "analytics.enabled": False,
            **{f"model_providers.standin.{key}": value for key, value in provider.items()},
        }
        return [
            word for key, value in given.items() for word in ("-c", f"{key}={json.dumps(value)}")
        ]

    @staticmethod
    def shell(line: str) -> Reply:
        return calls(Tool("exec_command", {"cmd": line, "login": False}))

    @contextmanager
    def session(
        self, stand_in: Service, resume: str = "", *arguments: str, trusted: bool = True
    ) -> Iterator[CodexSession]:
        (self.home / ".codex").mkdir(exist_ok=True)
        command = [*self.command, *self.settings_of(stand_in), *arguments, "app-server"]
        with Peer(self.entered(command), self.project, self.env(stand_in)) as peer:
            peer.ask("initialize", clientInfo={"name": "test", "version": "0"})
            peer.tell("initialized")
            place = {"cwd": str(self.project), "approvalPolicy": "never"}
            # A person trusts each hook in Codex's own list, by its hash.
            trust = {"config": {"bypass_hook_trust": trusted}}
            room = {**place, **trust, "sandbox": "danger-full-access"}
            if resume:
                thread = peer.ask("thread/resume", threadId=resume, **room)
            else:
                thread = peer.ask("thread/start", **room)
            yield CodexSession(peer, thread["thread"]["id"])
