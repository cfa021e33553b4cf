"""The client as a process: its environment, its print mode, and commands that end by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

API_KEY = "sk-ant-made-up-for-the-stand-in-0000000000000000"
DEADLINE = 45.0
# JSON lines both ways.
STREAMS = ("--input-format", "stream-json", "--output-format", "stream-json")


class TooSlow(AssertionError):
    """The client did not do in time what a test waited for."""


def wait_until(true: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
    end = time.monotonic() + deadline
    while not true():
        if time.monotonic() > end:
            raise TooSlow(f"not within {deadline} s: {what}")
        time.sleep(0.02)


def environment(home: Path, url: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that the client is told about the machine. Nothing of the machine's own is passed on."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": API_KEY,
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
        **(more or {}),
    }


@dataclass
class PrintMode:
    """A client with JSON lines both ways, as a context manager. `messages` is all it printed."""

    command: Sequence[str | Path]
    project: Path
    env: dict[str, str]
    deadline: float = DEADLINE
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._errors: list[bytes] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self.process = subprocess.Popen(
            self.command,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._readers = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=self.deadline)
        for reader in self._readers:
            reader.join(self.deadline)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode(errors="replace")

    def send(self, text: str) -> list[dict[str, Any]]:
        """One prompt, and what the client prints until its result."""
        line = {"type": "user", "message": {"role": "user", "content": text}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()
        return self.until_result()

    def compact(self, instructions: str = "") -> list[dict[str, Any]]:
        return self.send(f"/compact {instructions}".rstrip())

    def until_result(self) -> list[dict[str, Any]]:
        """A background task that ends makes a turn of its own, with a result that nobody sent."""
        printed: list[dict[str, Any]] = []
        end = time.monotonic() + self.deadline
        while not printed or printed[-1].get("type") != "result":
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TooSlow(f"no result within {self.deadline} s\n{self.stderr}") from None
            assert line is not None, f"the client has ended\n{self.stderr}"
            printed.append(json.loads(line))
            self.messages.append(printed[-1])
        return printed

    def close(self) -> int:
        """Let the client come to its own end, and read what it still prints."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            status = self.process.wait(timeout=self.deadline)
        except subprocess.TimeoutExpired:
            raise TooSlow("the client did not end when its input did") from None
        while (line := self._lines.get(timeout=self.deadline)) is not None:
            self.messages.append(json.loads(line))
        return status


def print_mode(
    binary: Path, project: Path, env: dict[str, str], args: Sequence[str] = ()
) -> PrintMode:
    """`claude -p`."""
    command = [binary, "-p", *STREAMS, "--verbose", "--dangerously-skip-permissions", *args]
    return PrintMode(command, project, env)


def run(
    binary: Path, project: Path, env: dict[str, str], *args: str
) -> subprocess.CompletedProcess[str]:
    """A command of the client that ends by itself, such as `plugin validate`."""
    return subprocess.run(
        [binary, *args],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
