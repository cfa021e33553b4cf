"""A home and a project below the test's folder, with the hooks that the client finds there."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realclient.client import PrintMode, environment, print_mode, wait_until
from realclient.standin import StandIn
from realclient.terminal import Terminal, client_in_terminal

PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Seen:
    """What one probe was given, once."""

    name: str
    at: float
    payload: dict[str, Any]
    env: dict[str, str]

    @property
    def event(self) -> str:
        return str(self.payload.get("hook_event_name"))


def context(event: str, text: str, **more: Any) -> dict[str, Any]:
    """A hook's reply that tells the model something."""
    specific = {"hookEventName": event, "additionalContext": text}
    return {**more, "hookSpecificOutput": specific}


class Sandbox:
    """`probe(…)` the events, `write_settings()`, then start a client."""

    def __init__(self, folder: Path) -> None:
        # With a space in every path: a hook's own paths may have one.
        self.home = folder / "the home"
        self.project = folder / "the project"
        self._replies = folder / "the replies"
        self._temporary = folder / "tmp"
        for each in (self.home, self.project, self._replies, self._temporary):
            each.mkdir(parents=True)
        self.log = folder / "the log.jsonl"
        self.hooks: dict[str, list[dict[str, Any]]] = {}
        self.settings: dict[str, Any] = {}  # beside the hooks

    def write(self, path: str | Path, text: str) -> Path:
        """A file of the project, or anywhere where the path is absolute."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def register(self, event: str, hook: dict[str, Any], matcher: str | None = None) -> None:
        """Any hook. `matcher` is left out of the settings where it is None."""
        group: dict[str, Any] = {"hooks": [hook]}
        if matcher is not None:
            group["matcher"] = matcher
        self.hooks.setdefault(event, []).append(group)

    def probe(
        self,
        event: str,
        name: str = "probe",
        stdout: str | dict[str, Any] | None = None,
        matcher: str | None = None,
        **more: Any,
    ) -> None:
        """A probe at an event. What it says, `answer` can change while the client runs."""
        self.register(event, self.probe_hook(name, stdout, **more), matcher)

    def probe_hook(
        self,
        name: str,
        stdout: str | dict[str, Any] | None = None,
        script: str | Path = PROBE,
        **more: Any,
    ) -> dict[str, Any]:
        words = ["-I", "-S", str(script), str(self.log), name]
        if stdout is not None:
            words.append(str(self.answer(name, stdout)))
        return command(sys.executable, *words, **more)

    def answer(
        self, name: str, stdout: str | dict[str, Any] = "", stderr: str = "", status: int = 0
    ) -> Path:
        said = stdout if isinstance(stdout, str) else json.dumps(stdout)
        reply = self._replies / f"{name}.json"
        content = {"stdout": said, "stderr": stderr, "status": status}
        reply.write_text(json.dumps(content), encoding="utf-8")
        return reply

    def status_line(self, command_line: str) -> None:
        """What the client runs for its status line; it has a shell run it."""
        self.settings["statusLine"] = {"type": "command", "command": command_line}

    def write_settings(self, hooks: dict[str, Any] | None = None) -> None:
        """The project's settings: the hooks given, or those that were registered."""
        content = {"hooks": self.hooks if hooks is None else hooks, **self.settings}
        self.write(".claude/settings.json", json.dumps(content, indent=2))

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        # Otherwise what the client notes about tasks and watches lies where all clients of the
        # machine put it.
        aside = {"CLAUDE_CODE_TMPDIR": str(self._temporary)}
        return environment(self.home, stand_in.url, {**aside, **more})

    def client(self, binary: Path, stand_in: StandIn, *args: str, **more: str) -> PrintMode:
        return print_mode(binary, self.project, self.env(stand_in, **more), args)

    def terminal(self, binary: Path, stand_in: StandIn, *args: str, **more: str) -> Terminal:
        return client_in_terminal(binary, self.project, self.home, self.env(stand_in, **more), args)

    def seen(self, event: str = "", name: str = "", /, **fields: Any) -> list[Seen]:
        """What the probes were given, in the order in which they started."""
        raw = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        whole = raw[: raw.rfind("\n") + 1]  # a line that is being written is for the next look
        every = [Seen(**json.loads(line)) for line in whole.splitlines()]
        return chosen(every, event, name, **fields)

    def wait_for_seen(
        self, event: str, name: str = "", /, *, times: int = 1, **fields: Any
    ) -> None:
        what = f"{times} x {event} {name} {fields}"
        wait_until(lambda: len(self.seen(event, name, **fields)) >= times, what)


def chosen(every: list[Seen], event: str = "", name: str = "", /, **fields: Any) -> list[Seen]:
    return [
        each
        for each in every
        if event in ("", each.event)
        and name in ("", each.name)
        and all(each.payload.get(key) == value for key, value in fields.items())
    ]


def command(executable: str | Path, *args: str, **more: Any) -> dict[str, Any]:
    """A hook that the client starts without a shell."""
    return {"type": "command", "command": str(executable), "args": list(args), **more}
