"""Defects where one thing that could not be read, or was not looked at, cost what had nothing to do with it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena import COMPACTED, LATER, PRE_COMPACT, Arena, Step
from holdfast.errors import StateUnwritable
from holdfast.files.store import Store
from holdfast.testing import Project
from undermine import Fate, Listed, doomed
from warm import Ended, Warm


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    with Warm() as server:
        yield Arena(tmp_path, server)


def done_out_of_reach(arena: Arena, step: Step, time: int = 0) -> Ended:
    """What comes of *step* where the disk fails to list the folder of pipelines for that *time*."""
    arena.keep()
    listed = Listed(arena.root / "workspace")
    arena.do(step, listed)
    calls = [call for call in listed.calls if call.does == "openat to list"]
    arena.reset()
    return arena.do(step, doomed(Fate(calls[time], "error=EIO")))


@pytest.mark.needs("strace")
def test_a_folder_of_another_format_stopped_every_command_and_the_note(arena: Arena) -> None:
    """One folder that could not be listed: PreCompact gave up its note, and `phase next` was refused."""
    arena.must(["start", "W", "--phases", "A,B"])
    (arena.root / "workspace/workflow-state").mkdir(parents=True)
    noted = done_out_of_reach(arena, PRE_COMPACT)
    assert (noted.code, noted.stderr) == (0, "")
    assert "phase 1 of 2: A" in noted.stdout
    later = done_out_of_reach(arena, LATER)
    assert (later.code, later.stderr) == (0, "")
    moved = done_out_of_reach(arena, ["phase", "next"])
    assert (moved.code, moved.stderr) == (0, "")
    restored = done_out_of_reach(arena, COMPACTED)
    assert "phase 2 of 2: B" in restored.stdout
    assert "could not save what there is of the format pipeline" in restored.stdout


def test_the_phase_that_a_command_began_was_noted_only_by_the_next_save(
    holdfast_project: Project,
) -> None:
    """What was noted of the work until then counted for the phase before, or for none."""
    holdfast_project.run("start", "W", "--phases", "A,B,C")
    for phase in ("1", "2"):
        record = json.loads((holdfast_project.root / ".claude/holdfast/ledger.json").read_bytes())
        assert record["workflows"]["canonical:name:w"]["observed"]["phase"] == phase
        holdfast_project.run("phase", "next")


@pytest.mark.needs("strace")
def test_a_folder_of_another_format_lost_what_was_edited(arena: Arena) -> None:
    """While it could not be listed, no phase was noted, and its files were told of no phase."""
    arena.must(["start", "W", "--phases", "A,B,C"])
    (arena.root / "workspace/workflow-state").mkdir(parents=True)
    assert done_out_of_reach(arena, ["phase", "next"]).code == 0
    record = json.loads((arena.root / ".claude/holdfast/ledger.json").read_bytes())
    assert record["workflows"]["canonical:name:w"]["observed"]["phase"] == "2"


def test_our_folder_of_another_user_stopped_every_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root had made it: a PermissionError came instead of "could not be written", and nothing was restored."""
    store = Store(tmp_path)
    with store.lock(1):
        pass

    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "is_symlink", refused)
    with pytest.raises(StateUnwritable), store.lock(1):
        pass


@pytest.mark.needs("strace")
def test_a_folder_of_another_format_kept_a_session_from_its_workflow(arena: Arena) -> None:
    """It was restored and not claimed, so a workflow begun without a session was the next one."""
    arena.must(["start", "W", "--phases", "A,B,C"])
    for path in (arena.home / ".local/state/holdfast/sessions").iterdir():
        path.unlink()  # another session than the one that began it
    (arena.root / "workspace/workflow-state").mkdir(parents=True)
    assert done_out_of_reach(arena, COMPACTED).code == 0
    kept = (arena.home / ".local/state/holdfast/sessions").glob("*.json")
    assert [json.loads(path.read_bytes())["workflow"] for path in kept] == ["canonical:name:w"]


@pytest.mark.needs("strace")
@pytest.mark.parametrize("command", [["pipeline", "metrics"], ["show"]])
def test_a_workflow_that_could_not_be_read_was_to_be_begun_again(
    command: list[str], arena: Arena
) -> None:
    """A command that looks said that there was none, with the hint to start one."""
    (arena.root / "workspace/workflow-state").mkdir(parents=True)
    shown = done_out_of_reach(arena, command, -1)
    assert shown.code == 1
    assert "workspace" in shown.stderr
    assert "Input/output error" in shown.stderr
    assert "Check its owner and the disk" in shown.stderr
    assert "Start one" not in shown.stderr


@pytest.mark.needs("setpriv")
@pytest.mark.parametrize(
    ("begin", "hidden", "command"),
    [
        ("gate start x --title X", "workflow/x/01-requirements", "gate status"),
        ("gate start x --title X", "workflow/x/01-requirements", "gate submit"),
        ("skill start dev x.md", ".claude/workflow-state/active/*.json", "skill phase complete"),
        ("orchestrate start x.md -t 1.1", ".claude/agent-state.json", "orchestrate pause x"),
    ],
)
def test_what_may_not_be_read_was_called_missing_or_wrong(
    begin: str, hidden: str, command: str, holdfast_project: Project
) -> None:
    """A phase's folder that was closed had no status.json and no artefact; a state was to be inspected."""
    project = holdfast_project
    project.run(*begin.split())
    (path,) = project.root.glob(hidden)
    path.chmod(0)
    # Root may read it all the same, unless it gives that up.
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] * (os.geteuid() == 0)
    done = subprocess.run(
        [*drop, sys.executable, "-m", "holdfast", *command.split()],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    path.chmod(0o700)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert f"Check its owner and the disk: ls -ld {path}" in done.stderr
