"""JSON-RPC over a process's stdin and stdout, one message a line, as editors speak to agents."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from realclient.client import DEADLINE, TooSlow


@dataclass
class Peer:
    """The process, as a context manager. `heard` is every notification that it sent."""

    command: Sequence[str]
    folder: Path
    env: dict[str, str]
    # What is answered when the process asks: the result, by method and parameters.
    answer: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda *_: {}
    heard: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._ids = itertools.count(1)
        self._replies: dict[int, dict[str, Any]] = {}
        self._news = threading.Condition()
        self._writing = threading.Lock()
        self._ended = False
        self._errors: list[bytes] = []
        self.process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        pipes = self.process.stdin, self.process.stdout, self.process.stderr
        with contextlib.suppress(BrokenPipeError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        for pipe in pipes[1:]:
            if pipe is not None:
                pipe.close()

    def ask(self, method: str, deadline: float = DEADLINE, /, **params: Any) -> dict[str, Any]:
        """A request, and its result."""
        identity = next(self._ids)
        self._send({"id": identity, "method": method, "params": params})
        self.wait_until(lambda: identity in self._replies, f"a reply to {method}", deadline)
        reply = self._replies.pop(identity)
        assert "error" not in reply, f"{method}: {reply}\n{self.stderr}"
        result: dict[str, Any] = reply["result"] or {}
        return result

    def tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait_until(self, true: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
        end = time.monotonic() + deadline
        with self._news:
            while not true():
                if self._ended:
                    raise AssertionError(f"the process has ended before {what}\n{self.stderr}")
                if time.monotonic() > end:
                    raise TooSlow(f"not within {deadline} s: {what}\n{self.stderr}")
                self._news.wait(0.1)

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode(errors="replace")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                result = self.answer(message["method"], message.get("params") or {})
                self._send({"id": message["id"], "result": result})
            with self._news:
                if "method" in message:
                    self.heard.append(message)
                else:
                    self._replies[message["id"]] = message
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)
