"""The plugin for opencode in an opencode written by hand, under node. See host.mjs."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

HOST = Path(__file__).with_name("host.mjs")
DEADLINE = 60.0

Message = dict[str, Any]


@dataclass
class Answer:
    """What came of calling a hook."""

    output: Any
    error: str | None
    untouched: bool
    took: float  # seconds

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Who says what in the messages, in order."""
        return [
            (each["info"]["role"], part["text"])
            for each in self.output["messages"]
            for part in each["parts"]
            if part["type"] == "text"
        ]


class Host:
    """As a context manager it runs, with the plugins in *files*. `shown` is what a person was shown."""

    def __init__(self, folder: Path, *files: Path, env: Mapping[str, str] | None = None) -> None:
        self._command = ["node", str(HOST), str(folder), *map(str, files)]
        self._env = {**os.environ, **(env or {})}
        self._ids = itertools.count(1)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.shown: list[dict[str, Any]] = []
        self.unhandled: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=DEADLINE)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join(DEADLINE)
            self._process.stdout.close()
        assert self.unhandled == []

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def _ask(self, *lines: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Send all the lines at once; the answers in the same order."""
        assert self._process.stdin is not None
        ids = [next(self._ids) for _ in lines]
        for number, line in zip(ids, lines, strict=True):
            self._process.stdin.write(json.dumps({"id": number, **line}) + "\n")
        self._process.stdin.flush()
        found: dict[int, dict[str, Any]] = {}
        while len(found) < len(ids):
            answer = self._answers.get(timeout=DEADLINE)
            assert answer is not None, "the host has ended"
            found[answer["id"]] = answer
            self.shown, self.unhandled = answer["shown"], answer["unhandled"]
        return [found[number] for number in ids]

    def set(self, **what: Any) -> None:
        self._ask({"set": what})

    def know(self, *sessions: Session) -> None:
        """opencode has these sessions, with the messages that they have now."""
        self.set(
            sessions={each.id: each.info for each in sessions},
            messages={each.id: each.messages for each in sessions},
        )

    def call(self, hook: str, given: Any = None, output: Any = None) -> Answer:
        return self.at_once((hook, given, output))[0]

    def at_once(self, *calls: tuple[str, Any, Any]) -> list[Answer]:
        lines = [{"hook": hook, "input": given, "output": output} for hook, given, output in calls]
        return [
            Answer(
                answer.get("output"), answer["error"], answer["untouched"], answer["took"] / 1000
            )
            for answer in self._ask(*lines)
        ]

    def request(self, session: Session) -> Answer:
        """A request of the session's conversation is about to be sent."""
        self.know(session)
        return self.call(TRANSFORM, {}, {"messages": session.sent()})

    def event(self, kind: str, **properties: Any) -> None:
        answer = self.call("event", {"event": {"type": kind, "properties": properties}})
        assert answer.error is None

    def compacts(self, session: Session) -> str:
        """What the summariser is told, when the session has begun a compaction."""
        self.know(session)
        answer = self.call(COMPACTING, {"sessionID": session.id}, {"context": []})
        assert answer.error is None
        return "\n".join(answer.output["context"])

    def settled(self) -> None:
        """Until all is noted that opencode does not wait for."""
        self.call("dispose")


TRANSFORM = "experimental.chat.messages.transform"
COMPACTING = "experimental.session.compacting"

_numbers = itertools.count(1)


@dataclass
class Session:
    """A session as opencode stores it. Each message is a second after the one before."""

    folder: Path
    parent: str | None = None
    messages: list[Message] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"ses_{next(_numbers):04}")
    born: int = 1_700_000_000_000

    @property
    def info(self) -> dict[str, Any]:
        info = {"id": self.id, "directory": str(self.folder), "time": {"created": self.born}}
        return {**info, "parentID": self.parent} if self.parent else info

    def user(self, text: str) -> Self:
        return self._add({"role": "user"}, {"type": "text", "text": text})

    def assistant(self, text: str) -> Self:
        return self._add({"role": "assistant", "finish": "stop"}, {"type": "text", "text": text})

    def compacting(self, *, auto: bool = False) -> Self:
        return self._add({"role": "user"}, {"type": "compaction", "auto": auto})

    def summary(self, text: str) -> Self:
        """The end of a compaction that was begun just before."""
        about = {"role": "assistant", "summary": True, "finish": "stop"}
        about["parentID"] = self.messages[-1]["info"]["id"]
        return self._add(about, {"type": "text", "text": text})

    def _add(self, about: Mapping[str, Any], *parts: Mapping[str, Any]) -> Self:
        number = len(self.messages) + 1
        info = {"id": f"msg_{self.id}_{number:04}", "sessionID": self.id, **about}
        info["time"] = {"created": self.born + number * 1000}
        self.messages.append({"info": info, "parts": [dict(part) for part in parts]})
        return self

    def sent(self) -> list[Message]:
        """What goes into a request: from the last compaction that came to its end."""
        ends = [at for at, each in enumerate(self.messages) if each["info"].get("summary")]
        return self.messages[ends[-1] - 1 :] if ends else self.messages

    def summarised(self) -> list[Message]:
        """What a summary is made of: neither compactions nor summaries are among them."""
        return [
            each
            for each in self.messages
            if not each["info"].get("summary")
            and not any(part["type"] == "compaction" for part in each["parts"])
        ]


def change(plugin: str, line: str, other: str) -> str:
    """The plugin's text with another line, which it must have."""
    assert plugin.count(line) == 1, line
    return plugin.replace(line, other)


__all__: Sequence[str] = ("COMPACTING", "TRANSFORM", "Answer", "Host", "Session", "change")
