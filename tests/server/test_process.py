"""The server as a process: what comes in that should not, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.files.store import Store
from holdfast.testing import Project
from mcpwork import SERVER, Wire, wire, without_sdk

SOON = 1.0  # a second, for a process that has nothing left to do
BROKEN = """
from holdfast.formats.pipeline import files

def broken(*_: object) -> None:
    raise RuntimeError("of nobody's concern")

files.find = broken
"""


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    holdfast_project.declare("Page Orchestration")
    return holdfast_project


def test_it_ends_when_the_client_goes(project: Project) -> None:
    with wire(project) as server:
        server.shake_hands()
        assert server.is_served()
        server.stdin.close()
        assert server.ending(SOON) == (0, "")


def test_it_ends_when_nobody_ever_spoke(project: Project) -> None:
    with wire(project) as server:
        server.stdin.close()
        assert server.ending(30) == (0, "")


def test_it_ends_while_a_call_waits_for_a_lock(project: Project) -> None:
    """An edit of what declares a workflow is followed, and somebody else holds the lock."""
    with wire(project) as server:
        server.shake_hands()
        with Store(project.root).lock(0):
            edited = {"file_path": str(project.root / "CLAUDE.local.md")}
            project.declare("Page Orchestration", phase="2/3 - Second")
            server.request(
                "tools/call",
                name="hook_event",
                arguments={
                    "hook_event_name": "PostToolUse",
                    "session_id": "session-1",
                    "cwd": str(project.root),
                    "tool_name": "Write",
                    "tool_input": edited,
                },
            )
            time.sleep(0.5)
            server.stdin.close()
            assert server.ending(SOON) == (0, "")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_without_a_traceback(project: Project, end: signal.Signals) -> None:
    with wire(project) as server:
        server.shake_hands()
        server.process.send_signal(end)
        status, aside = server.ending(SOON)
    assert (status, aside) == (-end, "")


@pytest.mark.parametrize(
    "frame",
    [
        b"garbage",
        b'{"jsonrpc": "2.0", "id": 900, "meth',
        b"\xff\xfe\x00{}",
        b"[]",
        b"5",
        b'{"jsonrpc": "2.0", "method": 5}',
        b"[" * 100_000,
        b"",
    ],
)
def test_a_frame_that_is_none_costs_nothing_else(project: Project, frame: bytes) -> None:
    """What comes after it is answered."""
    with wire(project) as server:
        server.shake_hands()
        server.send(frame)
        assert server.is_served()


def test_arguments_of_any_size_cost_nothing_else(project: Project) -> None:
    """Twenty megabytes for a name, and for what a tool has answered."""
    with wire(project) as server:
        server.shake_hands()
        huge = "x" * 20_000_000
        number = server.request("tools/call", name="workflow_status", arguments={"name": huge})
        assert server.answer(number)["result"]["isError"]
        given = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": huge}
        number = server.request("tools/call", name="hook_event", arguments=given)
        assert server.answer(number)["result"]["content"][0]["text"] == ""
        assert server.is_served()


def test_a_client_that_stops_reading_and_goes(project: Project) -> None:
    """The pipe is full, and then it is broken."""
    with wire(project) as server:
        server.shake_hands()
        for _ in range(500):
            server.request("tools/list")
        server.stdout.close()
        server.stdin.close()
        status, aside = server.ending(5)
    assert (status, aside) == (0, "")


def test_a_client_that_stops_reading_is_waited_for(project: Project) -> None:
    """It gets all of its answers when it reads again."""
    with wire(project) as server:
        server.shake_hands()
        numbers = [server.request("tools/list") for _ in range(100)]
        time.sleep(1)
        for number in numbers:
            assert server.answer(number)["result"]["tools"]


def test_a_project_that_is_removed_meanwhile(project: Project) -> None:
    """Its folder is gone; the server is not, and says nothing aside."""
    with wire(project) as server:
        server.shake_hands()
        project.root.rename(project.root.with_name("elsewhere"))
        for tool in ("workflow_status", "workflow_list", "list_workflows"):
            number = server.request("tools/call", name=tool, arguments={})
            assert "content" in server.answer(number)["result"]
        project.root.with_name("elsewhere").rename(project.root)
        assert server.is_served()
        server.stdin.close()
        assert server.ending(SOON) == (0, "")


def test_nothing_but_the_protocol_is_on_stdout(project: Project) -> None:
    """Whatever a tool starts or prints."""
    project.git("init", "-q", "-b", "main")
    with wire(project) as server:
        server.shake_hands()
        for name in ("workflow_status", "workflow_guidance", "no_such_tool"):
            number = server.request("tools/call", name=name, arguments={})
            assert server.answer(number)  # `answer` reads every line as JSON
        assert _rest(server) == b""


def _rest(server: Wire) -> bytes:
    server.stdin.close()
    return server.stdout.read()


def test_without_the_sdk_it_says_what_to_install(project: Project, tmp_path: Path) -> None:
    done = subprocess.run(
        SERVER,
        cwd=project.root,
        env=without_sdk(project, tmp_path / "modules"),
        input=b"",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 2
    assert "holdfast[mcp]" in lines[1]
    assert "Traceback" not in done.stderr.decode()


def test_it_takes_no_arguments(project: Project) -> None:
    done = project.run("mcp", "--port", "80", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "mcp takes no arguments" in done.stderr
    assert "docs/mcp.md" in project.run("mcp", "--help").stdout


def test_an_error_that_nobody_expected_is_one_line_and_the_server_goes_on(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was stands on stderr, and not before the model."""
    (tmp_path / "sitecustomize.py").write_text(BROKEN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with wire(project) as server:
        server.shake_hands()
        number = server.request(
            "tools/call", name="get_next_step", arguments={"workflow_id": "generation-1"}
        )
        result = server.answer(number)["result"]
        assert result["isError"]
        (said,) = result["content"]
        assert said["text"].count("\n") == 0
        assert "of nobody's concern" not in said["text"]
        assert server.is_served()
        server.stdin.close()
        code, aside = server.ending(SOON)
        assert code == 0
        assert "of nobody's concern" in aside
