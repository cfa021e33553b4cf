"""An orchestrator's run in the real client, with a compaction after every single step."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from realclient.install import NEWEST
from realclient.requests import additional_instructions, first_after, summaries
from realclient.standin import StandIn
from realclient.workplace import Workplace, shell, trouble

pytestmark = pytest.mark.needs("npm")

DOCUMENT = "docs/shop.md"
PLAN = """\
# Shop
words that only this file has
## Phase 1: Foundation
- [ ] 1.1 Model
- [ ] 1.2 Tokens
## Phase 2: Endpoints
- [ ] 2.1 Create
"""
STEPS: list[tuple[list[str], str]] = [
    (["start", DOCUMENT], "Plan the phases and tasks in the task document"),
    (["approve-plan"], "Begin task 1/2: 1.1 Model"),
    (["task-start"], "Task 1/2: 1.1 Model, iteration 0 of 30"),
    (["iterate"], "Task 1/2: 1.1 Model, iteration 1 of 30"),
    (["task-done", "--cost", "$0.20"], "Begin task 2/2: 1.2 Tokens"),
    (["task-done", "1.2", "--cost", "9.80"], "STOP: a limit is reached, cost $10 of $10 (100%)."),
    (["extend", "agreed", "--max-cost", "20"], "All tasks of phase 1 of 2 are completed"),
    (["phase"], "Begin task 1/1: 2.1 Create"),
    (["task-done", "2.1", "--cost", "0"], "All phases are complete: review the whole"),
    (["review"], "Outer Ralph loop: review the whole"),
]


@NEWEST
def test_a_run_with_a_compaction_after_every_step(binary: Path, tmp_path: Path) -> None:
    """What comes next is in the first request after each, and each change has its checkpoint."""
    place = Workplace(tmp_path)
    place.write(DOCUMENT, PLAN)
    place.write_settings()
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        for number, (arguments, _) in enumerate(STEPS, 1):
            stand_in.queue += [shell(shlex.join(["holdfast", "orchestrate", *arguments]))]
            session.send(f"step {number}")
            session.send(f"go on with step {number}")
            session.compact()
            session.send(f"the turn after step {number}")
            assert len(summaries(stand_in.requests)) == number
        session.close()
    for number, (arguments, expected) in enumerate(STEPS, 1):
        sent = first_after(stand_in.requests, number).text
        lines = sent.splitlines()
        line = next(each for each in lines if each.startswith("Next action: "))
        assert line.startswith(f"Next action: {expected}"), arguments
        assert "words that only this file has" in sent
        note = additional_instructions(summaries(stand_in.requests)[number - 1])
        assert expected in note, arguments
    assert trouble(session.messages) == []
    assert session.stderr == ""
    state = json.loads((place.project / ".claude/agent-state.json").read_bytes())
    names = [each["state_snapshot"] for each in state["checkpoints"]]
    assert names == [f"checkpoint-{number:03}.json" for number in range(1, len(STEPS) + 1)]
