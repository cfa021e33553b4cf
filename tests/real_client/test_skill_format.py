"""A /dev and a /tdd in the real client, with a compaction after every single step."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest

from realclient.install import NEWEST
from realclient.requests import additional_instructions, first_after, summaries
from realclient.standin import StandIn
from realclient.workplace import Workplace, shell, trouble
from skillwork import FEATURE, RUNS, told_in_history

pytestmark = pytest.mark.needs("npm")


@NEWEST
@pytest.mark.parametrize("kind", RUNS)
def test_a_run_with_a_compaction_after_every_step(kind: str, binary: Path, tmp_path: Path) -> None:
    """What comes next is in the first request after each, and the history counts them."""
    place = Workplace(tmp_path)
    place.write(FEATURE, "# User login\nwords that only this file has\n")
    place.write_settings()
    steps = RUNS[kind]
    with StandIn() as stand_in, place.client(binary, stand_in) as session:
        session.send("begin")
        for number, (arguments, _) in enumerate(steps, 1):
            stand_in.queue += [shell(shlex.join(["holdfast", "skill", *arguments]))]
            session.send(f"step {number}")
            session.send(f"go on with step {number}")
            time.sleep(1)  # a history has whole seconds
            session.compact()
            session.send(f"the turn after step {number}")
            assert len(summaries(stand_in.requests)) == number
        stand_in.queue += [shell("holdfast skill complete --force enough")]
        session.send("complete it")
        session.close()
    for number, (arguments, expected) in enumerate(steps, 1):
        lines = first_after(stand_in.requests, number).text.splitlines()
        line = next(each for each in lines if each.startswith("Next action: "))
        assert line.endswith(expected), arguments
        note = additional_instructions(summaries(stand_in.requests)[number - 1])
        assert expected[:100] in note, arguments
    sent = first_after(stand_in.requests, len(steps)).text
    assert ("words that only this file has" in sent) == (kind == "dev")
    assert trouble(session.messages) == []
    assert session.stderr == ""
    (ended,) = (place.project / ".claude/workflow-state/completed").glob("*.json")
    state = json.loads(ended.read_bytes())
    assert told_in_history(state, "context_compacted") == len(steps)
    assert any(f"{kind.upper()}_COMPLETE: " in each.text for each in stand_in.requests)
