"""The server as a process, and the SDK's own client that talks to it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

from holdfast.testing import Project

T = TypeVar("T")
PATIENCE = 30.0
SERVER = [sys.executable, "-P", "-m", "holdfast", "mcp"]


def talk(
    project: Project, ask: Callable[[Client], Awaitable[T]], session: str | None = None
) -> tuple[T, str]:
    """What *ask* got from a server that is there for it alone, and what that server said aside."""
    aside = project.home / "server.stderr"

    async def asked() -> T:
        server = StdioServerParameters(
            command=SERVER[0],
            args=SERVER[1:],
            cwd=project.root,
            env=project.environment(session),
        )
        with aside.open("w", encoding="utf-8") as errors, anyio.fail_after(PATIENCE):
            async with Client(stdio_client(server, errlog=errors)) as client:
                return await ask(client)

    return anyio.run(asked), aside.read_text(encoding="utf-8")


def call(
    project: Project, tool: str, session: str | None = None, /, **arguments: Any
) -> CallToolResult:
    """One call of one tool. Nothing may have been said aside."""
    answer, aside = talk(project, lambda client: client.call_tool(tool, arguments), session)
    assert aside == ""
    return answer


def unwrapped(run: Callable[[], T]) -> T:
    """*run*, whose one error comes out of the groups that tasks wrap it in."""
    try:
        return run()
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            (error,) = error.exceptions
        raise error from None


def said(answer: CallToolResult) -> str:
    return "\n".join(each.text for each in answer.content if each.type == "text")


def given(answer: CallToolResult) -> dict[str, Any]:
    """The structured content of an answer that is none of failure."""
    assert not answer.is_error, said(answer)
    assert answer.structured_content is not None
    return answer.structured_content


class Wire:
    """The server's bytes, for what no client of the SDK would send."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout
        self._number = 0

    def send(self, raw: bytes) -> None:
        self.stdin.write(raw + b"\n")
        self.stdin.flush()

    def request(self, method: str, **params: Any) -> int:
        self._number += 1
        frame = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(frame).encode())
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request. All that comes before it has to be JSON as well."""
        while True:
            line = self.stdout.readline()
            assert line, "the server has ended"
            frame: dict[str, Any] = json.loads(line)
            if frame.get("id") == number:
                return frame

    def shake_hands(self) -> None:
        who = {"name": "test", "version": "1"}
        number = self.request(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who
        )
        assert self.answer(number)["result"]["serverInfo"]["name"] == "holdfast"
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def is_served(self) -> bool:
        """Whether a request is still answered."""
        number = self.request("tools/call", name="workflow_list", arguments={})
        return self.answer(number)["result"]["isError"] is False

    def ending(self, patience: float) -> tuple[int, str]:
        """The exit code and what was said aside, once the server has ended by itself."""
        status = self.process.wait(patience)
        assert self.process.stderr is not None
        return status, self.process.stderr.read().decode()


@contextlib.contextmanager
def wire(project: Project, environment: dict[str, str] | None = None) -> Iterator[Wire]:
    process = subprocess.Popen(
        SERVER,
        cwd=project.root,
        env=environment or project.environment("session-1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def without_sdk(project: Project, folder: Path) -> dict[str, str]:
    """The environment of an installation that has not the extra."""
    folder.mkdir()
    (folder / "mcp.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\")\n")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return {**project.environment(), "PYTHONPATH": path}
