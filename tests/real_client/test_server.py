"""The MCP server in the real client: its tools called by the model, its answers to tool events."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time
from pathlib import Path

import pytest

from holdfast.setup import registration
from realclient import client
from realclient.requests import asking, first_after, summaries, words
from realclient.standin import Reply, StandIn, Tool, calls
from realclient.workplace import COMMANDS, Workplace, shell, ticks, trouble

pytestmark = pytest.mark.needs("npm")

TOO_LONG = "docs/long.md"  # to be sent, so that it has to be opened
READING = {TOO_LONG: "a line that only this file has\n" * 5_000}


def asks(tool: str, **arguments: object) -> Reply:
    return calls(Tool(f"mcp__holdfast__{tool}", arguments))


def edits(place: Workplace, path: str) -> Reply:
    return calls(Tool("Write", {"file_path": str(place.project / path), "content": "written"}))


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.hooks = registration.hooks(by_server=True)
    place.plan(5, READING)
    place.write_settings()
    return place


def add(place: Workplace, binary: Path, *command: str) -> None:
    """As docs/mcp.md says it."""
    with StandIn() as stand_in:
        scope = ("--scope", "user", "holdfast", "--")
        done = client.run(
            binary, place.project, place.env(stand_in), "mcp", "add", *scope, *command
        )
    assert done.returncode == 0, done.stderr


def test_the_model_asks_is_compacted_and_goes_on(binary: Path, place: Workplace) -> None:
    """It is told the phase before and after, by the same session; tool events are answered."""
    add(place, binary, "holdfast", "mcp")
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        stand_in.queue += [
            asks("workflow_status"),
            shell(f"{ticks(1)} && holdfast remind 'The first lesson'"),
            asks("workflow_status"),
        ]
        session.send("ask, take a step, and ask again")
        session.compact()
        stand_in.queue += [
            edits(place, "one.py"),
            calls(Tool("Read", {"file_path": str(place.project / TOO_LONG)})),
            shell("pytest no_such_test.py"),
            asks("workflow_guidance"),
            asks("workflow_status", name="no such workflow"),
        ]
        session.send("go on after the compaction")
        session.send("the last turn")
        session.close()
    before = asking(stand_in.requests, '"phase":"1/5"').number
    after = asking(stand_in.requests, '"phase":"2/5"').number
    assert before < after < summaries(stand_in.requests)[0].number
    restored = first_after(stand_in.requests)
    assert "is in phase 2 of 5: Stage 2" in restored.text
    last = stand_in.requests[-1].text
    # The server reminded, and knew of the file that was opened.
    assert last.count("PreToolUse:Write hook additional context") == 1
    assert TOO_LONG in last.partition("PreToolUse:Write hook additional context")[2]
    assert "# Workflow as it stands: " in last
    assert "no workflow is called 'no such workflow'" in last
    assert trouble(session.messages) == []
    assert session.stderr == ""
    assert (place.project / "one.py").read_text() == "written"
    identity = session.messages[-1]["session_id"]
    seen = json.loads(place.holdfast("show", "--json", session=identity))["observed"]
    assert "one.py" in json.dumps(seen["files"])
    assert "pytest no_such_test.py" in json.dumps(seen["check"])


def test_a_killed_server_costs_nothing_but_its_answers(
    binary: Path, place: Workplace, tmp_path: Path
) -> None:
    """The edit is made, the compaction restores, and nobody is told of an error."""
    file = tmp_path / "the pid"
    line = f"echo $$ > {shlex.quote(str(file))}; exec {shlex.quote(str(COMMANDS))}/holdfast mcp"
    add(place, binary, "sh", "-c", line)
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        stand_in.queue += [asks("workflow_status")]
        session.send("ask while it lives")
        os.kill(int(file.read_text()), signal.SIGKILL)
        time.sleep(0.5)
        stand_in.queue += [edits(place, "two.py"), asks("workflow_status")]
        session.send("ask when it is dead")
        session.compact()
        session.send("go on after the compaction")
        session.close()
    assert (place.project / "two.py").read_text() == "written"
    assert "is in phase 1 of 5: Stage 1" in first_after(stand_in.requests).text
    assert trouble(session.messages) == []
    assert session.stderr == ""


def test_a_server_that_hangs_is_not_waited_for_long(
    binary: Path, place: Workplace, tmp_path: Path
) -> None:
    """It is stopped, so that it lives and answers nothing."""
    file = tmp_path / "the pid"
    line = f"echo $$ > {shlex.quote(str(file))}; exec {shlex.quote(str(COMMANDS))}/holdfast mcp"
    add(place, binary, "sh", "-c", line)
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        session.send("a second turn")
        os.kill(int(file.read_text()), signal.SIGSTOP)
        try:
            stand_in.queue += [edits(place, "three.py")]
            begun = time.monotonic()
            session.send("write while it hangs")
            assert time.monotonic() - begun < 15  # two hooks of five seconds
            session.compact()
            session.send("go on after the compaction")
        finally:
            os.kill(int(file.read_text()), signal.SIGKILL)
        session.close()
    assert (place.project / "three.py").read_text() == "written"
    assert "is in phase 1 of 5: Stage 1" in first_after(stand_in.requests).text
    assert "three.py" in words(session.messages)


def test_a_pipeline_goes_on_at_the_right_step(binary: Path, place: Workplace) -> None:
    """Taken through its steps by the tools, compacted, and taken on from where it was."""
    add(place, binary, "holdfast", "mcp")
    begun = place.holdfast("pipeline", "start", "generation", "--scene", "0204", "--json")
    identity = json.loads(begun)["workflow_id"]

    def step(number: int, status: str) -> Reply:
        return asks("update_workflow_state", workflow_id=identity, step=number, status=status)

    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        stand_in.queue += [
            *(
                step(number, status)
                for number in (1, 2, 3)
                for status in ("in_progress", "completed")
            ),
            step(4, "in_progress"),  # refused: a person has to approve step 3 first
            asks("get_next_step", workflow_id=identity),
        ]
        session.send("take the first three steps")
        session.compact()
        stand_in.queue += [
            asks("approve_step", workflow_id=identity, step=3, approved=True),
            step(4, "in_progress"),
            asks("get_workflow_status", workflow_id=identity),
        ]
        session.send("the person has approved")
        session.send("the last turn")
        session.close()
    # The older client may send a request of its own before the start's context is there.
    restored = asking(stand_in.requests, "the person has approved").text
    assert identity in restored
    assert "is in phase 3 of 7: Verification Plan" in restored
    assert any(
        "Error executing tool update_workflow_state" in each.text for each in stand_in.requests
    )
    last = stand_in.requests[-1].text
    assert '"current_step":4' in last
    assert trouble(session.messages) == []
    (state,) = (place.project / "workspace/workflow-state").glob("generation-*.json")
    steps = json.loads(state.read_bytes())["generation"]["steps"]
    statuses = [each["status"] for each in steps]
    assert statuses == ["completed"] * 3 + ["in_progress"] + ["pending"] * 3
