"""Checkpoints with their number and commit, the way back, and what replaces a damaged state."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from surveying import surveyed

from holdfast.errors import IllegalMove, NoSuchWorkflow, StateLocked, StateUnreadable
from holdfast.formats.engine import loading
from holdfast.formats.engine.loading import Unusable
from holdfast.formats.orchestrator import briefing, checkpoints, files
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import State
from holdfast.testing import Project
from orchestrated import (
    change,
    example,
    found,
    killed,
    log,
    place,
    put,
    run_of,
    state,
    unchanged,
)

FOLDER = ".claude"


def names(project: Project) -> list[str]:
    return [path.name for path in files.snapshots(place(project).store)]


def entries(project: Project) -> list[str]:
    return [each["state_snapshot"] for each in state(project)["checkpoints"]]


def take(project: Project) -> str:
    """Take one and return its name."""
    taken = checkpoints.take(place(project)).entry
    return taken.state.checkpoints[-1].state_snapshot


def auto(project: Project, wait: float = 1) -> str | None:
    """Do what a hook does before a compaction; return the name of the checkpoint, if it took one."""
    before = names(project)
    survey = surveyed(FORMAT, place(project, "PreCompact"), wait)
    if survey.failure:
        raise survey.failure
    return next((name for name in reversed(names(project)) if name not in before), None)


def work(project: Project, iteration: int, **section: Any) -> None:
    """Change the state by hand."""
    data = state(project)
    data["orchestrator"]["ralph_iteration"] = iteration
    put(project, {**data, **section})


def restored_by(project: Project) -> str:
    """The line that a reader of the damaged state gets."""
    (line,) = loading.unreadable(place(project).store, [run_of(project)], ())
    return line


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    put(holdfast_project, example())
    return holdfast_project


@pytest.fixture
def repository(project: Project) -> Project:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "one")
    return project


def test_snapshot_latest_and_state_are_the_same_bytes(project: Project) -> None:
    """So `cp`, the document's way back, gives the same result as `restore`."""
    assert take(project) == "checkpoint-001.json"
    contents = {
        (project.root / FOLDER / name).read_bytes()
        for name in ("checkpoint-001.json", "checkpoint.json", "agent-state.json")
    }
    assert len(contents) == 1
    (entry,) = state(project)["checkpoints"]
    assert entry == {
        "timestamp": entry["timestamp"],
        "phase": 2,
        "task": "2.1",
        "git_sha": None,
        "state_snapshot": "checkpoint-001.json",
    }


def test_the_commit_is_noted(repository: Project) -> None:
    """In full, even if git has packed it; null without commits and without git."""
    take(repository)
    repository.git("pack-refs", "--all")
    take(repository)
    head = repository.git("rev-parse", "HEAD").strip()
    assert [each["git_sha"] for each in state(repository)["checkpoints"]] == [head, head]


def test_git_is_not_started_where_a_file_tells_the_commit(
    repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking git took a third of the time of a save and of a restore."""
    head = repository.git("rev-parse", "HEAD").strip()
    started = repository.home / "started"
    program = repository.home / "git"
    program.write_text(f"#!/bin/sh\n: > '{started}'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(repository.home))
    take(repository)
    assert state(repository)["checkpoints"][0]["git_sha"] == head
    assert briefing.parted(place(repository).store, run_of(repository).state) == ""
    assert not started.exists()
    (repository.root / ".git/refs/heads/main").unlink()
    briefing.head(place(repository).store)
    assert started.exists()


def test_a_number_is_never_used_again(project: Project) -> None:
    """Neither that of a file without an entry nor that of an entry without a file."""
    for expected in ("checkpoint-001.json", "checkpoint-002.json"):
        assert take(project) == expected
    checkpoints.restore(place(project), "1")
    assert take(project) == "checkpoint-003.json"
    (project.root / FOLDER / "checkpoint-003.json").unlink()
    assert take(project) == "checkpoint-004.json"
    project.write(f"{FOLDER}/checkpoint-999.json", "somebody else's")
    assert take(project) == "checkpoint-1000.json"
    assert (project.root / FOLDER / "checkpoint-999.json").read_text() == "somebody else's"


def test_going_back_and_status_agree(project: Project) -> None:
    """The run is at its checkpoint, the replaced state is kept, and the log of learnings only grows."""
    work(project, 3, unknown={"kept": [1]})
    take(project)
    work(project, 9)
    before = (project.root / files.STATE).read_bytes()
    restored = checkpoints.restore(place(project))
    source, line = restored.lines
    assert source.startswith("from checkpoint-001.json of ")
    aside = line.removeprefix("what was there is kept in ")
    assert (project.root / aside).read_bytes() == before
    assert entries(project) == ["checkpoint-001.json"]
    snapshot = json.loads((project.root / FOLDER / "checkpoint-001.json").read_bytes())
    ignored = {"safety_bounds"}
    assert {k: v for k, v in state(project).items() if k not in ignored} == {
        k: v for k, v in snapshot.items() if k not in ignored
    }
    assert len(log(project)) == 2


def test_what_was_spent_and_allowed_stays_when_going_back(project: Project) -> None:
    """Otherwise going back again and again would get around a limit."""
    take(project)
    spent = {**state(project)["safety_bounds"], "cost_so_far": "$9", "max_cost": "$20"}
    work(project, 5, safety_bounds=spent)
    checkpoints.restore(place(project))
    bounds = state(project)["safety_bounds"]
    assert (bounds["cost_so_far"], bounds["max_cost"]) == ("$9", "$20")
    assert state(project)["orchestrator"]["ralph_iteration"] == 2


@pytest.mark.parametrize("which", ["1", "001", "checkpoint-001.json", f"{FOLDER}/checkpoint.json"])
def test_a_snapshot_is_called_by_number_name_or_file(which: str, project: Project) -> None:
    """With or without leading zeros."""
    take(project)
    work(project, 9)
    checkpoints.restore(place(project), which)
    assert state(project)["orchestrator"]["ralph_iteration"] == 2


@pytest.mark.parametrize("which", ["7", "../../etc/passwd", "/etc/passwd", "a\0b", "README.md"])
def test_what_is_no_snapshot_is_refused(which: str, project: Project) -> None:
    """The state stays as it was."""
    take(project)
    before = (project.root / files.STATE).read_bytes()
    project.write("README.md", "# no JSON\n")
    with pytest.raises((IllegalMove, NoSuchWorkflow, StateUnreadable)):
        checkpoints.restore(place(project), which)
    assert (project.root / files.STATE).read_bytes() == before


def test_a_snapshot_may_be_named_through_a_link_to_the_project(project: Project) -> None:
    """As /tmp is a link on macOS."""
    take(project)
    alias = project.root.parent / "alias"
    alias.symlink_to(project.root)
    checkpoints.restore(place(project), str(alias / FOLDER / "checkpoint-001.json"))
    with pytest.raises(NoSuchWorkflow, match=r"there is no .claude/checkpoint-009\.json"):
        checkpoints.restore(place(project), str(alias / FOLDER / "checkpoint-009.json"))


def test_a_damaged_snapshot_is_passed_over_by_default(project: Project) -> None:
    """The last good one counts."""
    take(project)
    work(project, 7)
    take(project)
    project.write(f"{FOLDER}/checkpoint-002.json", '{"orchestrator": ')
    project.write(f"{FOLDER}/checkpoint.json", "{")
    (source, _) = checkpoints.restore(place(project)).lines
    assert source.startswith("from checkpoint-001.json of ")


def test_a_snapshot_of_another_tool_without_a_number_will_do(project: Project) -> None:
    """checkpoint.json alone."""
    project.write(f"{FOLDER}/checkpoint.json", json.dumps(example()))
    work(project, 9)
    checkpoints.restore(place(project))
    assert state(project)["orchestrator"]["ralph_iteration"] == 2


def test_without_a_snapshot_there_is_nothing_to_go_back_to(project: Project) -> None:
    """The hint says what to do."""
    with pytest.raises(NoSuchWorkflow) as refusal:
        checkpoints.restore(place(project))
    assert "orchestrate checkpoint" in refusal.value.hint


def test_a_deleted_state_comes_back(project: Project) -> None:
    """There is nothing to set aside."""
    take(project)
    (project.root / files.STATE).unlink()
    (line,) = checkpoints.restore(place(project)).lines
    assert line.startswith("from checkpoint-001.json of ")
    assert state(project)["orchestrator"]["ralph_iteration"] == 2


def test_the_old_format_is_not_replaced(project: Project) -> None:
    """It has to be finished under its own system."""
    take(project)
    old = '{"status": "executing", "current_step": 5, "total_steps": 10}'
    put(project, old)
    (project.root / ".claude/holdfast/copies").rename(project.root / "gone")
    with pytest.raises(IllegalMove):
        checkpoints.restore(place(project))
    assert (project.root / files.STATE).read_text() == old


# A damaged state.


def test_a_damaged_state_is_read_from_the_last_checkpoint(project: Project) -> None:
    """A note says so; looking writes nothing."""
    take(project)
    put(project, '{"orchestrator": {"stat')
    line = restored_by(project)
    assert line.startswith(".claude/agent-state.json could not be read (not JSON")
    assert "; checkpoint-001.json of " in line
    assert line.endswith(" UTC is used")
    assert (project.root / files.STATE).read_bytes() == b'{"orchestrator": {"stat'


def test_a_command_goes_on_from_the_checkpoint(project: Project) -> None:
    """The damaged file is kept in quarantine."""
    take(project)
    put(project, b"\x00\x01".decode())
    changed = change(project, unchanged)
    assert any("checkpoint-001.json" in line for line in changed.lines)
    assert state(project)["orchestrator"]["ralph_iteration"] == 2
    (aside,) = (project.root / ".claude/holdfast/quarantine").iterdir()
    assert aside.read_bytes() == b"\x00\x01"


def test_our_own_copy_counts_where_it_is_newer(project: Project) -> None:
    """A command ran after the checkpoint and left a newer copy."""
    take(project)
    change(project, with_iteration)
    put(project, "{")
    assert restored_by(project).endswith("; its last good copy is used")
    assert run_of(project).state.orchestrator.ralph_iteration == 8


def with_iteration(state: State, at: str) -> State:
    after = state.model_copy(deep=True)
    after.orchestrator.ralph_iteration = 8
    return after


def test_a_checkpoint_counts_where_it_is_newer_than_our_copy(project: Project) -> None:
    """Another tool took it after our last save."""
    change(project, with_iteration)
    path = project.write(f"{FOLDER}/checkpoint-001.json", json.dumps(example()))
    os.utime(path, (time.time() + 5, time.time() + 5))
    put(project, "{")
    assert "checkpoint-001.json" in restored_by(project)


def test_a_checkpoint_of_an_earlier_run_does_not_stand_in(project: Project) -> None:
    """Even if its file is newer, as after a checkout."""
    change(project, with_iteration)
    earlier = example()
    earlier["orchestrator"]["start_time"] = "2026-01-01T00:00:00Z"
    path = project.write(f"{FOLDER}/checkpoint-001.json", json.dumps(earlier))
    os.utime(path, (time.time() + 5, time.time() + 5))
    put(project, "{")
    assert restored_by(project).endswith("its last good copy is used")


def test_without_copy_and_checkpoint_a_damaged_state_is_told(project: Project) -> None:
    """Nothing is invented."""
    put(project, "{")
    there = found(project)
    assert isinstance(there, Unusable)
    assert there.kind == "broken"


# Before a compaction.


def test_a_compaction_takes_one_only_when_something_is_new(project: Project) -> None:
    """Neither elapsed time nor a checkpoint itself counts as new."""
    assert auto(project) == "checkpoint-001.json"
    assert auto(project) is None
    project.clock.advance(hours=1)
    change(project, unchanged)
    assert auto(project) is None
    work(project, 3)
    assert auto(project) == "checkpoint-002.json"
    take(project)
    assert auto(project) is None


def test_after_going_back_the_snapshot_gone_back_to_is_the_last(project: Project) -> None:
    """Nothing is new since then."""
    take(project)
    work(project, 3)
    take(project)
    checkpoints.restore(place(project), "1")
    assert auto(project) is None


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_nothing_is_taken_of_what_has_ended(status: str, project: Project) -> None:
    """There is nothing to go back to."""
    data = state(project)
    data["orchestrator"]["status"] = status
    put(project, data)
    assert auto(project) is None
    with pytest.raises(IllegalMove):
        take(project)


@pytest.mark.parametrize("content", ["{", "[]", '{"orchestrator": {"task_doc": "x"}}'])
def test_nothing_is_taken_automatically_of_what_cannot_be_read(
    content: str, project: Project
) -> None:
    """A hook would turn the replacement into the state."""
    take(project)
    put(project, content)
    assert auto(project) is None
    assert (project.root / files.STATE).read_text() == content


def test_a_hook_gives_up_where_somebody_has_the_lock(project: Project) -> None:
    """It must not wait."""
    with place(project).store.lock(1), pytest.raises(StateLocked):
        auto(project, 0.05)


# Killed.


def is_whole(project: Project) -> None:
    """Every file can be read, and each entry has its file."""
    for name in (*names(project), "checkpoint.json", "agent-state.json"):
        path = project.root / FOLDER / name
        assert name == "checkpoint.json" or path.exists()
        assert not path.exists() or json.loads(path.read_bytes())
    assert set(entries(project)) <= set(names(project))


# Between these steps nothing changes that another process could see.
AROUND = [
    (call, number, after)
    for call, numbers in (("replace", range(1, 9)), ("unlink", (1, 2)))
    for number in numbers
    for after in (False, True)
]


@pytest.mark.long
@pytest.mark.parametrize(("call", "number", "after"), AROUND)
def test_killed_while_taking_one(call: str, number: int, after: bool, project: Project) -> None:
    """kill -9 around each step: the checkpoint is there with its entry, or neither is."""
    take(project)
    killed(project, "checkpoints.take(place)", call, number, after=after)
    change(project, unchanged)
    is_whole(project)
    assert names(project) == entries(project)
    taken = take(project)
    assert taken == f"checkpoint-{len(entries(project)):03}.json"
    latest = (project.root / FOLDER / "checkpoint.json").read_bytes()
    assert latest == (project.root / FOLDER / taken).read_bytes()


@pytest.mark.parametrize(("call", "number", "after"), AROUND)
@pytest.mark.parametrize("damaged", [False, True])
def test_killed_while_going_back(
    call: str, number: int, after: bool, damaged: bool, project: Project
) -> None:
    """The state is the old one or the restored one; no state and no learning is lost."""
    take(project)
    work(project, 9)
    if damaged:
        put(project, "{")
    killed(project, 'checkpoints.restore(place, "1")', call, number, after=after)
    with FORMAT.locked(place(project)):
        assert run_of(project).state.orchestrator.ralph_iteration in ({2} if damaged else {2, 9})
    checkpoints.restore(place(project), "1")
    is_whole(project)
    assert state(project)["orchestrator"]["ralph_iteration"] == 2
    assert len(log(project)) == len(state(project)["learnings"]) == 2


# Git.

SHA = "a" * 40


def test_git_is_asked(repository: Project) -> None:
    """New commits are fine; a reset behind the checkpoint is not, and neither is an unknown commit."""
    repository.git("commit", "-q", "--allow-empty", "-m", "two")
    take(repository)

    def now() -> str:
        return briefing.parted(place(repository).store, run_of(repository).state)

    assert now() == ""
    repository.git("commit", "-q", "--allow-empty", "-m", "three")
    assert now() == ""
    repository.git("reset", "-q", "--hard", "HEAD~2")
    assert "does not follow commit" in now()
    work(repository, 3, checkpoints=[{"git_sha": "$(touch x) --help", "state_snapshot": "c"}])
    assert "is not known here" in now()
    assert "git reset" not in now()


def test_without_git_nothing_has_parted(project: Project) -> None:
    """The document's example names commits that do not exist."""
    work(project, 2, checkpoints=[{"git_sha": SHA, "state_snapshot": "checkpoint-001.json"}])
    assert briefing.parted(place(project).store, run_of(project).state) == ""
