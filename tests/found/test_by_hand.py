"""What people write by hand or leave half written: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from found import put, state
from holdfast.testing import Compactions, Project

MEANT: dict[str, tuple[dict[str, Any], str]] = {
    "no phase name": (
        {"phase": {"current": 3, "total": 5, "status": "blocked"}},
        "phase 3 of 5. Status: blocked",
    ),
    "phase as text": ({"phase": "3/5 - Build"}, "phase 3 of 5: Build."),
    "reading as text": ({"required_reading": "@a.md"}, "@a.md"),
    "reading as objects": ({"required_reading": [{"path": "@a.md"}]}, "@a.md"),
    "one reminder": ({"key_reminders": "only one"}, "- only one"),
    "context as a list": ({"context": ["a fact"]}, "a fact"),
    "NaN": ({"context": {"x": float("nan")}}, "- x: NaN"),
}


@pytest.mark.parametrize(
    "command",
    [["remind", "--drop", "keep"], ["read", "--drop", "@a.md"], ["context", "--drop", "k"]],
)
def test_what_markdown_declares_cannot_be_dropped_by_a_command(
    command: list[str], holdfast_project: Project
) -> None:
    """It said "noted" and changed nothing."""
    holdfast_project.declare("W", reading=["@a.md"], reminders=["keep"], context={"k": 1})
    done = holdfast_project.run(*command, check=False)
    assert done.returncode == 1
    assert "CLAUDE.local.md" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["remind", "--drop", "keep", "own"],
        ["read", "--drop", "@a.md", "@own.md"],
        ["context", "--drop", "k", "--drop", "own", "new=1"],
    ],
)
def test_a_drop_that_failed_had_dropped_the_other_item(
    command: list[str], holdfast_project: Project
) -> None:
    """It was refused after the state was written."""
    project = holdfast_project
    project.declare("W", reading=["@a.md"], reminders=["keep"], context={"k": 1})
    project.run("remind", "own")
    project.run("read", "@own.md")
    project.run("context", "own=1")
    (path,) = project.state_files()
    before = path.read_bytes()
    done = project.run(*command, check=False)
    assert done.returncode == 1
    assert "declared in markdown" in done.stderr
    assert path.read_bytes() == before


def test_a_key_cannot_be_set_and_dropped_at_once(holdfast_project: Project) -> None:
    """It was set, and then the command failed."""
    holdfast_project.run("start", "W", "-c", "k=1")
    done = holdfast_project.run("context", "k=2", "--drop", "k", check=False)
    assert "both set and removed" in done.stderr
    assert holdfast_project.state()["context"] == {"k": 1}


@pytest.mark.parametrize("slip", MEANT)
def test_usual_slips_are_read_as_they_were_meant(
    slip: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """They were dropped, or turned into something false."""
    fields, fact = MEANT[slip]
    put(holdfast_project, "W", state("W", **fields))
    assert fact in compaction_cycle().guidance


def test_a_finished_workflow_with_another_word_for_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """ "done" became in_progress, and finished work was restored."""
    phase = {"current": 5, "total": 5, "name": "Ship", "status": "done"}
    put(holdfast_project, "W", state("W", phase=phase))
    assert compaction_cycle().guidance.startswith("Note: Workflow not restored: ")


def test_an_epoch_is_a_time(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """created_at never changes, also when it was written as a number."""
    put(holdfast_project, "W", state("W", created_at=1765290652))
    compaction_cycle()
    assert holdfast_project.state()["created_at"] == 1765290652
    (listed,) = json.loads(holdfast_project.run("list", "--json").stdout)
    assert listed["created_at"] == "2025-12-09T14:30:52.000000Z"


def test_undo_of_a_state_that_was_wrong_by_hand(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The copy for undo was kept as it was, and could not be read back."""
    project = holdfast_project
    project.declare("W", phase="1/3 - A")
    compaction_cycle()
    (path,) = project.state_files()
    wrong = project.state()
    wrong["phase"]["status"] = "wip"
    wrong["key_reminders"] = ["before"]
    path.write_text("\ufeff" + json.dumps(wrong), encoding="utf-8")
    compaction_cycle()
    project.run("remind", "after")
    project.run("undo")
    project.run("undo")
    assert project.state()["key_reminders"] == ["before", "after"]


@pytest.mark.parametrize(
    "phase",
    ["Build", {"name": "Build"}, {"current": "two", "name": "B"}, 7, [], None, {"current": 3}],
)
def test_a_phase_that_makes_no_sense_stops_nothing_else(
    phase: Any, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One hand-written phase stopped every hook and command of the project."""
    put(holdfast_project, "Odd", state("Odd", phase=phase))
    holdfast_project.run("start", "Healthy", session="s")
    cycle = compaction_cycle(session="s")
    assert {outcome.code for outcome in cycle.outcomes} == {0}
    assert "Healthy" in cycle.guidance.splitlines()[0]
    assert "Odd" in holdfast_project.run("list").stdout


def test_a_lone_surrogate_in_a_key_stops_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """JSON may hold what UTF-8 cannot, also in keys."""
    put(holdfast_project, "W", state("W", context={"d": {"\ud800": 1}}, odd={"\udfff": 2}))
    holdfast_project.declare("W", reminders=["r"])
    cycle = compaction_cycle(2)
    assert {outcome.code for outcome in cycle.outcomes} == {0}
    assert "- r" in cycle.guidance
    assert holdfast_project.state()["context"] == {"d": {"\ud800": 1}}


def test_notes_that_were_scribbled_over_lose_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Without a base the merge takes the newer, and drops no item."""
    holdfast_project.declare("W", reminders=["declared"])
    compaction_cycle()
    holdfast_project.run("remind", "noted")
    (path,) = holdfast_project.state_files()
    path.write_text(
        json.dumps({**holdfast_project.state(), "holdfast": {"seen": 5}}), encoding="utf-8"
    )
    guidance = compaction_cycle().guidance
    assert "- declared" in guidance
    assert "- noted" in guidance


def test_a_file_that_is_being_written_is_given_a_moment(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Another tool writes in place; half a file is no corrupt one yet."""
    holdfast_project.run("start", "W", "-p", "A,B")
    (path,) = holdfast_project.state_files()
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    writer = threading.Timer(0.1, path.write_bytes, [whole.replace(b'"A"', b'"Z"', 1)])
    writer.start()
    cycle = compaction_cycle()
    writer.join()
    assert "phase 1 of 2: Z." in cycle.guidance
    assert not (holdfast_project.root / ".claude/holdfast/quarantine").exists()


def test_what_markdown_no_longer_says_can_be_dropped(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Nobody could: the markdown was silent, and the command was told to go there."""
    project = holdfast_project
    project.declare("W", reminders=["A"], reading=["@a.md"], context={"k": 1})
    compaction_cycle()
    project.declare("W")
    assert "- A" in compaction_cycle().guidance
    project.run("remind", "--drop", "A")
    project.run("read", "--drop", "@a.md")
    project.run("context", "--drop", "k")
    (project.root / "CLAUDE.local.md").unlink()
    compaction_cycle(2)
    project.run("remind", "other")
    state = project.state()
    assert (state["key_reminders"], state["required_reading"], state["context"]) == (
        ["other"],
        [],
        {},
    )


def test_a_file_of_very_many_lines_says_that_it_was_not_read_to_its_end(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its phases were counted up to there, and told as all that there are."""
    phases = "".join(f"## Phase {n}: P{n}\n" + "- [x] y\n" * 2_000 for n in range(1, 7))
    holdfast_project.write("PLAN.md", f"# Big\n\n**Status**: In Progress\n\n{phases}")
    assert "only its first 10,000 lines were read" in compaction_cycle().message


def test_markdown_that_cannot_be_read_is_told_although_something_else_is_restored(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One line in the log and to the person, not silence."""
    holdfast_project.run("start", "W")
    (holdfast_project.root / "CLAUDE.local.md").mkdir()
    cycle = compaction_cycle()
    assert "Workflow restored: W" in cycle.message
    assert "CLAUDE.local.md: not read: not a regular file" in cycle.message
    assert "not a regular file" in holdfast_project.run("log").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["remind", ""], "the text is empty"),
        (["read", "@"], "the text is empty"),
        (["start", "X", "-m", " "], "the text is empty"),
        (["phase", "set", "2", "--total", "1"], "there is no phase 2 of 1"),
    ],
)
def test_messages_that_were_missing_or_wrong(
    arguments: list[str], message: str, holdfast_project: Project
) -> None:
    """Small things that were accepted or explained wrongly."""
    holdfast_project.run("start", "W", "-p", "A,B")
    done = holdfast_project.run(*arguments, check=False)
    assert done.returncode in {1, 2}
    assert message in done.stderr
