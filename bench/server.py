"""Measure how long the MCP server takes for a tool event: from the request's last byte to its answer.

The server runs as a client has it, and has answered before. Writes bench/SERVER.md.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("ROUNDS", "40")) * 25
LONG = "x" * 100_000
PERMITTED = 5.0  # milliseconds at the 99th percentile


class Call(NamedTuple):
    """In milliseconds: until the answer, and what the server itself has worked, where Linux tells."""

    time: float
    work: float | None


ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"


def floor() -> tuple[str, list[Call]]:
    """What the machine takes for a line there and back, between two processes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    times = []
    with subprocess.Popen([sys.executable, "-c", ECHO], **pipes) as process:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            process.stdin.write(b"{}\n")
            process.stdin.flush()
            process.stdout.readline()
            times.append(Call((time.perf_counter() - begun) * 1000, None))
    return "an interpreter that echoes a line", times


def row(case: str, calls: list[Call]) -> str:
    times = [call.time for call in calls]
    work = [call.work for call in calls if call.work is not None]
    shown = [statistics.median(times), _nearly_all(times), *([_nearly_all(work)] if work else [])]
    figures = [f"{figure:.2f}" for figure in shown] + ["-"] * (3 - len(shown))
    return f"| {case} | {' | '.join(figures)} |"


def _nearly_all(figures: list[float]) -> float:
    return statistics.quantiles(figures, n=100)[98]


class Server:
    """`holdfast mcp` in a folder, asked by bytes: no client's own work is measured."""

    def __init__(self, project: Path, home: Path) -> None:
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast", "mcp"],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        who = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, frame: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def _worked(self) -> float | None:
        """Milliseconds on a processor so far, all threads together."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        spent = [int(each.read_text().split()[0]) for each in tasks]
        return sum(spent) / 1_000_000 if spent else None

    def ask(self, method: str, *, beside: bool = False, **params: Any) -> Call:
        """One request. With *beside*, another one is answered meanwhile."""
        assert self._process.stdout
        self._number += 2
        if beside:
            other = {"name": "workflow_status", "arguments": {}}
            request = {"jsonrpc": "2.0", "id": self._number + 1, "method": "tools/call"}
            self._send({**request, "params": other})
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        frame = json.dumps(asked).encode() + b"\n"
        assert self._process.stdin
        before = self._worked()
        begun = time.perf_counter()
        self._process.stdin.write(frame)
        self._process.stdin.flush()
        spent, left = 0.0, 2 if beside else 1
        while left:
            answer = json.loads(self._process.stdout.readline())
            left -= 1
            if answer["id"] == self._number:
                spent = (time.perf_counter() - begun) * 1000
                assert not answer.get("result", {}).get("isError"), answer
        after = self._worked()
        alone = before is not None and after is not None and not beside
        return Call(spent, after - before if alone else None)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(5) == 0


def event(name: str, project: Path, tool: str, given: dict[str, str]) -> dict[str, Any]:
    arguments = {
        "hook_event_name": name,
        "session_id": "session",
        "cwd": str(project),
        "tool_name": tool,
        "tool_input": json.dumps(given),
        "tool_response": '{"interrupted": false}' if name == "PostToolUse" else "",
    }
    return {"name": "hook_event", "arguments": arguments}


def cases(project: Path) -> dict[str, dict[str, Any]]:
    file = {"file_path": str(project / "module.py")}
    return {
        "PreToolUse(Edit)": event("PreToolUse", project, "Edit", file),
        "PostToolUse(Read)": event("PostToolUse", project, "Read", file),
        "PostToolUse(Edit)": event("PostToolUse", project, "Edit", file),
        "PostToolUse(Bash), a check": event("PostToolUse", project, "Bash", {"command": "pytest"}),
        "PostToolUse(Agent), 100 KB": event("PostToolUse", project, "Agent", {"prompt": LONG}),
    }


def measure(
    project: Path, home: Path, where: str, *, beside: bool = False
) -> list[tuple[str, list[Call]]]:
    rows = []
    server = Server(project, home)
    for name, asked in cases(project).items():
        for _ in range(50):
            server.ask("tools/call", beside=beside, **asked)
        times = [server.ask("tools/call", beside=beside, **asked) for _ in range(ROUNDS)]
        rows.append((f"{name}, {where}", times))
    server.close()
    return rows


def declare(project: Path, home: Path) -> None:
    (project / "guide.md").write_text("text\n" * 50_000, encoding="utf-8")
    (project / "CLAUDE.local.md").write_text(
        "# Current Workflow State\n\nWorkflow: Bench\nPhase: 1/3 - One\n\n@guide.md\n",
        encoding="utf-8",
    )
    start = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "session"}
    subprocess.run(
        [sys.executable, "-P", "-m", "holdfast", "hook"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        input=json.dumps({**start, "cwd": str(project)}).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        project, home = Path(name) / "project", Path(name) / "home"
        for folder in (project, home, project / ".git"):
            folder.mkdir()
        rows = [floor(), *measure(project, home, "no workflow")]
        declare(project, home)
        rows += measure(project, home, "a workflow")
        rows += measure(project, home, "a workflow, another tool beside", beside=True)
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    text = "\n".join(
        [
            "# Speed of the MCP server",
            "",
            "Made by `make bench`: milliseconds from a tool event to its answer, in a server that has",
            f"answered before. At most {PERMITTED:g} at the 99th percentile is what it is held to, on a machine that",
            "has nothing else to do. Work is what the server itself was on a processor, whatever else ran.",
            "",
            f"{machine}, {ROUNDS} calls each.",
            "",
            "| case | median | 99th percentile | work, 99th percentile |",
            "|---|---:|---:|---:|",
            *(row(case, calls) for case, calls in rows),
            "",
        ]
    )
    print(text)
    (ROOT / "bench" / "SERVER.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
