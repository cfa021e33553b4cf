"""Defects that kills and failing disks brought to light: something was lost, or needed a hand."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from arena import COMPACTED, PRE_COMPACT, Arena
from holdfast.errors import NewerRecord, StateOutOfReach
from holdfast.files import together
from holdfast.files.store import Store
from holdfast.files.together import Change
from holdfast.testing import Compactions, Project
from trials import Trials
from undermine import Call, Fate, doomed
from warm import Warm
from works import WORKS, Work


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    with Warm() as server:
        yield Arena(tmp_path, server)


def work(kind: str, name: str) -> Work:
    return next(each for each in WORKS[kind] if each.name == name)


def at(call: str, part: str, calls: list[Call]) -> Call:
    """The first *call* of those that concern a path with *part*."""
    return next(each for each in calls if each.name == call and part in each.said)


def those(wanted: Callable[[Call], bool], trials: Trials) -> list[Call]:
    """The calls that are *wanted*, of which there are some."""
    calls = [each for each in trials.calls() if wanted(each)]
    assert calls
    return calls


def is_listing(call: Call, part: str) -> bool:
    return call.does == "openat to list" and part in call.said


def test_what_killed_writers_left_is_cleared_up(holdfast_project: Project) -> None:
    """It lay there for good, one file for each kill."""
    project = holdfast_project
    project.run("start", "W", "--phases", "A,B")
    project.write(".claude/holdfast/tmp/.tmp-1-2-3", "half of a st")
    project.run("phase", "next")
    assert os.listdir(project.root / ".claude/holdfast/tmp") == []


def test_an_empty_folder_does_not_take_a_workflows_name(holdfast_project: Project) -> None:
    """A start that was killed made the folder; the next one went beside it, and the folder stayed."""
    (holdfast_project.root / "untracked/workflow-state/user-auth").mkdir(parents=True)
    holdfast_project.run("start", "User Auth", "--phases", "A,B")
    (path,) = holdfast_project.state_files()
    assert path.parent.name == "user-auth"


@pytest.mark.needs("strace")
def test_a_kill_while_a_finished_workflow_comes_back_leaves_one_of_both(arena: Arena) -> None:
    """The tombstone went before the state was there: neither was left, and nobody knew the name."""
    trials = Trials(arena, work("our own records", "resumed"))
    renamed = at("rename", "ledger.json", trials.calls())
    assert trials.killed(doomed(Fate(renamed, "signal=KILL")))


@pytest.mark.needs("strace")
def test_a_kill_while_a_skill_begins_afresh_leaves_one_of_both(arena: Arena) -> None:
    """The old state was removed before the new one was there."""
    trials = Trials(arena, work("skill", "fresh"))
    renamed = at("rename", "active/dev-", trials.calls())
    assert trials.killed(doomed(Fate(renamed, "signal=KILL")))


@pytest.mark.needs("strace")
@pytest.mark.parametrize("error", ["EIO", "EMFILE", "EACCES"])
def test_a_state_that_is_out_of_reach_stays_where_it_is(error: str, arena: Arena) -> None:
    """It was taken for damaged, and a good file went to quarantine, with no other in its place."""
    trials = Trials(arena, work("canonical", "save"))
    opened = at("openat", "untracked/workflow-state/user-auth/state", trials.calls())
    arena.reset()
    before = arena.documents()
    ended = arena.do(PRE_COMPACT, doomed(Fate(opened, f"error={error}", from_then_on=True)))
    # The markdown is out of reach as well, so that there is nothing to save that could fail.
    assert (ended.code, ended.stderr) == (0, "")
    assert arena.documents() == before
    arena.must(PRE_COMPACT)
    assert "phase 2 of 3: Build" in arena.must(COMPACTED).stdout


@pytest.mark.needs("strace")
def test_a_ledger_that_is_out_of_reach_is_not_begun_anew(arena: Arena) -> None:
    """All that had ended would have come back with the next save."""
    for step in [*work("canonical", "complete").before, ["complete"], ["start", "Other"]]:
        arena.must(step)
    arena.keep()
    listed_by = Trials(arena, Work("ignored", ["ignore", "Other"], []))
    opened = at("openat", "holdfast/ledger.json", listed_by.calls())
    arena.reset()
    ledger = arena.root / ".claude/holdfast/ledger.json"
    before = ledger.read_bytes()
    ended = arena.do(["ignore", "Other"], doomed(Fate(opened, "error=EIO", from_then_on=True)))
    assert ended.code == 1
    assert ledger.read_bytes() == before
    assert json.loads(before)["finished"]


def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking back half of a change, `together` passed it over, and removed the note of the change."""
    store = Store(tmp_path / "project")
    (store.root / "state").mkdir(parents=True)
    real, broken = os.open, False

    def failing(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        nonlocal broken
        broken = broken or ("tmp/.tmp-" in str(path) and (store.root / "state/a").exists())
        if broken:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, flags, mode, **more)

    changes = [Change(store.root / "state" / name, b"new") for name in "ab"]
    with store.lock(1):
        monkeypatch.setattr(os, "open", failing)
        with pytest.raises(StateOutOfReach):
            together.write(store, "test", changes)
        monkeypatch.undo()
        assert together.is_unfinished(store, "test")
        together.finish(store, "test", lambda _: True, "20260101_000000")
    assert [path.read_bytes() for path in sorted((store.root / "state").iterdir())] == [b"new"] * 2


@pytest.mark.needs("strace")
@pytest.mark.parametrize("kind", ["canonical", "skill"])
def test_a_system_that_fails_is_told_without_a_traceback(kind: str, arena: Arena) -> None:
    """Commands passed an OSError on, and where a state could not be read again, a StopIteration."""
    trials = Trials(arena, work(kind, "start"))
    states = {"canonical": "untracked/workflow-state", "skill": ".claude/workflow-state/active"}[
        kind
    ]
    for call in [each for each in trials.calls() if each.does != "write" and states in each.said]:
        for error in ("EMFILE", "EIO"):
            fate = Fate(call, f"error={error}", from_then_on=True)
            arena.reset()
            ended = arena.do(trials.work.step, doomed(fate))
            assert ended.code in {0, 1}, (str(fate), ended)
            assert "Traceback" not in ended.stderr, (str(fate), ended)
            assert ended.code == 0 or ended.stderr.startswith("holdfast: "), (str(fate), ended)


def test_a_record_that_is_out_of_reach_is_not_begun_anew(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What was counted was put aside as damaged because the disk did not answer once."""
    from holdfast.records import ledger

    holdfast_project.run("start", "W", "--phases", "A,B")
    compaction_cycle()
    store = Store(holdfast_project.root)
    path = store.private / "ledger.json"
    before = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        real = os.open

        def failing(name: str, flags: int, mode: int = 0o777, **more: int) -> int:
            if str(name) == str(path):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(name, flags, mode, **more)

        patch.setattr(os, "open", failing)
        with pytest.raises(NewerRecord, match="could not be read"):
            ledger.update_notes(store, "key", 1, lambda notes: {**notes, "lost": True})
    assert path.read_bytes() == before


@pytest.mark.needs("strace")
def test_a_commit_that_could_not_be_taken_back_was_not_gone_on_with(arena: Arena) -> None:
    """On a full disk a state stayed marked as committed, and its global copy was removed again."""
    trials = Trials(arena, work("pipeline", "commit"))
    for call in those(lambda each: each.does == "write", trials):
        fate = Fate(call, "error=ENOSPC", from_then_on=True)
        trials.failed(doomed(fate), mute=True)


@pytest.mark.needs("strace")
def test_artefacts_that_could_not_be_listed_were_left_out_of_a_commit(arena: Arena) -> None:
    """The workflow was committed without them, and nothing was said."""
    trials = Trials(arena, work("pipeline", "commit"))
    for call in those(lambda each: is_listing(each, "-runs/"), trials):
        trials.failed(doomed(Fate(call, "error=EIO")))


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    ("kind", "name", "does", "error", "lasting"),
    [
        ("skill", "fresh", "openat to read", "EACCES", True),
        ("orchestrator", "archive", "openat to list", "EMFILE", False),
        ("our own records", "resumed", "openat to read", "EIO", True),
    ],
)
def test_what_the_system_does_not_let_us_read_is_left_where_it_is(
    kind: str, name: str, does: str, error: str, lasting: bool, arena: Arena
) -> None:
    """A good state was put aside, a snapshot left out of an archive, and a command ended in a traceback."""
    trials = Trials(arena, work(kind, name))
    for call in those(lambda each: each.does == does, trials):
        trials.failed(doomed(Fate(call, f"error={error}", from_then_on=lasting)))


@pytest.mark.needs("strace")
def test_a_folder_of_states_that_could_not_be_listed_was_taken_for_empty(arena: Arena) -> None:
    """A second state was begun beside the one that was there."""
    trials = Trials(arena, work("canonical", "save"))
    states = those(lambda each: is_listing(each, "untracked/workflow-state"), trials)
    for call, error in zip(states, cycle(("EACCES", "EIO", "EMFILE")), strict=False):
        trials.failed(doomed(Fate(call, f"error={error}")))


@pytest.mark.needs("strace")
def test_a_session_was_given_another_workflow_while_its_own_could_not_be_listed(
    arena: Arena,
) -> None:
    """It was restored, and the session stayed with it."""
    arena.must(["start", "Other", "--phases", "A,B"])
    for step in [*work("skill", "task start").before, PRE_COMPACT, COMPACTED]:
        restored = arena.must(step).stdout
    assert "Add login" in restored
    arena.keep()
    trials = Trials(arena, Work("restored", COMPACTED, []))
    for call in those(lambda each: is_listing(each, ".claude/workflow-state/active"), trials):
        arena.reset()
        told = json.loads(arena.do(COMPACTED, doomed(Fate(call, "error=EIO"))).stdout)
        assert 'workflow \\"Other\\"' not in json.dumps(told)
        assert "Add login" in arena.must(COMPACTED).stdout


@pytest.mark.needs("strace")
@pytest.mark.parametrize("command", ["status", "list", "why", "doctor"])
def test_who_looks_was_not_told_that_a_folder_could_not_be_listed(
    command: str, arena: Arena
) -> None:
    """What lay there was missing without a word. The rest is shown; `doctor` checks all else as well."""
    for step in [["start", "Other"], ["skill", "start", "tdd", "Add login"]]:
        arena.must(step)
    folder = arena.root / ".claude/workflow-state/active"
    failing = ["-P", str(folder), "-e", "trace=openat", "-e", "inject=openat:error=EIO"]
    strace = ["strace", "-f", "-qqq", "-o", os.devnull, *failing]
    told = subprocess.run(
        [*strace, sys.executable, "-m", "holdfast", command],
        cwd=arena.root,
        env=arena.environment,
        capture_output=True,
        check=False,
        text=True,
    )
    assert str(folder) in told.stdout + told.stderr
    assert "Input/output error" in told.stdout + told.stderr
    assert "Traceback" not in told.stderr
    assert told.returncode == (command == "doctor")
