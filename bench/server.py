"""How long the session's MCP server takes for a tool event: from the request's last byte to its answer.

The server runs as a client has it, and has answered before. It is asked by bytes, so that no client's
own work is measured.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from bench import projects
from bench.cases import MANY, Bench
from bench.figures import MS, TIMES, Limit, Row, quantile
from bench.projects import CANONICAL, Kind, Project

CALLS = 25  # in each round
_WARMING = 50
_ANSWER = Limit(5, MS)
_GROWTH = Limit(1.5, TIMES)
_LONG = "x" * 100_000

Asked = Callable[[Project], dict[str, Any]]


class Server:
    """`holdfast mcp` in a project."""

    def __init__(self, project: Project, program: str) -> None:
        self._project = project
        self._number = 0
        self._process = subprocess.Popen(
            [program, "mcp"],
            cwd=project.root,
            env=project.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        who = {"name": "bench", "version": "1"}
        self._ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, asked: Asked, *, beside: bool = False) -> float:
        """Seconds until the event is answered. With *beside*, another tool is called right before."""
        return self._ask("tools/call", beside=beside, **asked(self._project))

    def close(self) -> None:
        self._process.stdin.close()
        if code := self._process.wait(5):
            raise SystemExit(f"the server in {self._project.root} ended with {code}")
        self._process.stdout.close()

    def _send(self, frame: dict[str, Any]) -> float:
        sent = json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n"
        begun = time.perf_counter()
        self._process.stdin.write(sent)
        self._process.stdin.flush()
        return begun

    def _ask(self, method: str, *, beside: bool = False, **params: Any) -> float:
        self._number += 2
        if beside:
            other = {"name": "workflow_status", "arguments": {}}
            self._send({"id": self._number + 1, "method": "tools/call", "params": other})
        begun = self._send({"id": self._number, "method": method, "params": params})
        spent, left = 0.0, 2 if beside else 1
        while left:
            answer = json.loads(self._process.stdout.readline())
            left -= 1
            if answer["id"] == self._number:
                spent = time.perf_counter() - begun
                if "error" in answer or answer["result"].get("isError"):
                    raise SystemExit(f"{method} in {self._project.root}: {answer}")
        return spent


def _event(name: str, tool: str, given: dict[str, str], project: Project) -> dict[str, Any]:
    arguments = {
        "hook_event_name": name,
        "session_id": "bench",
        "cwd": str(project.root),
        "tool_name": tool,
        "tool_input": json.dumps(given),
        "tool_response": '{"interrupted": false}' if name == "PostToolUse" else "",
    }
    return {"name": "hook_event", "arguments": arguments}


def _of_file(name: str, tool: str, project: Project) -> dict[str, Any]:
    return _event(name, tool, {"file_path": str(project.root / "module.py")}, project)


_EDITED = partial(_of_file, "PostToolUse", "Edit")
_EVENTS: dict[str, Asked] = {
    "PreToolUse(Edit)": partial(_of_file, "PreToolUse", "Edit"),
    "PostToolUse(Read)": partial(_of_file, "PostToolUse", "Read"),
    "PostToolUse(Edit)": _EDITED,
    "PostToolUse(Bash), a check": partial(_event, "PostToolUse", "Bash", {"command": "pytest"}),
    "PostToolUse(Agent), 100 KB": partial(_event, "PostToolUse", "Agent", {"prompt": _LONG}),
}


class Served(NamedTuple):
    """One event, many times; what all but one call of a hundred take counts."""

    name: str
    project: Callable[[Bench], Project]
    asked: Asked
    beside: bool = False

    def measure(self, bench: Bench, rounds: int) -> Row:
        with _running(self.project(bench), bench) as server:
            for _ in range(_WARMING):
                server.call(self.asked, beside=self.beside)
            calls = range(rounds * CALLS)
            times = [server.call(self.asked, beside=self.beside) for _ in calls]
        found = quantile([each * 1000 for each in times], 0.99)
        return Row.of(self.name, _ANSWER, found, len(times), statistics.median(times))


class Grown(NamedTuple):
    """The same event in a project with many workflows, and in one with one, in turn."""

    kind: Kind

    @property
    def name(self) -> str:
        return f"MCP server, PostToolUse(Edit): {MANY:,} {self.kind.name} workflows against 1"

    def measure(self, bench: Bench, rounds: int) -> Row:
        many, one = (bench.project(self.kind, count, "served") for count in (MANY, 1))
        with _running(many, bench) as slower, _running(one, bench) as faster:
            for _ in range(_WARMING):
                slower.call(_EDITED), faster.call(_EDITED)
            calls = range(rounds * CALLS)
            pairs = [(slower.call(_EDITED), faster.call(_EDITED)) for _ in calls]
        found = quantile([own / other for own, other in pairs])
        median = statistics.median(own for own, _ in pairs)
        return Row.of(self.name, _GROWTH, found, len(pairs), median)


@contextmanager
def _running(project: Project, bench: Bench) -> Iterator[Server]:
    server = Server(project, bench.installed.server.holdfast)
    try:
        yield server
    finally:
        server.close()


def served() -> Iterator[Served]:
    """The events, where there is nothing to do, where there is a workflow, and with another call."""
    places: dict[str, tuple[Callable[[Bench], Project], bool]] = {
        "no workflow": (lambda bench: bench.empty("served"), False),
        "a workflow": (lambda bench: bench.project(CANONICAL, 1, "served"), False),
        "another tool beside": (lambda bench: bench.project(CANONICAL, 1, "served"), True),
    }
    for place, (project, beside) in places.items():
        for event, asked in _EVENTS.items():
            name = f"MCP server, {event}, {place}"
            yield Served(f"{name}, 99th percentile", project, asked, beside)


def grown() -> Iterator[Grown]:
    yield from (Grown(kind) for kind in projects.MANY)
