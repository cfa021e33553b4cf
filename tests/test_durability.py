"""What a save asks of the operating system, as strace sees it, and what it does when that says no."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import StateUnwritable
from holdfast.files.store import Store
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session, encode

CALLS = "openat,fsync,rename,renameat,renameat2,unlink,mkdir"


def traced(project: Project, tmp_path: Path, *options: str) -> tuple[int, str, list[str]]:
    """Exit code, stderr and system calls of one PreCompact."""
    log = tmp_path / "strace.txt"
    strace = shutil.which("strace")
    assert strace
    done = subprocess.run(
        [
            *(strace, "-f", "-y", "-e", f"trace={CALLS}", *options, "-o", str(log)),
            *(sys.executable, "-m", "holdfast", "hook"),
        ],
        input=encode(Session("s", str(project.root)).pre_compact()),
        env=project.environment(),
        cwd=project.root,
        capture_output=True,
        check=False,
        timeout=60,
    )
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return done.returncode, done.stderr.decode(), lines


@pytest.mark.needs("strace")
def test_a_state_is_flushed_before_it_is_renamed_and_its_folder_after(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """Otherwise a power cut could leave a whole name for half a file."""
    holdfast_project.declare("W")
    code, _, lines = traced(holdfast_project, tmp_path)
    (path,) = holdfast_project.state_files()
    assert code == 0
    renamed = next(
        i for i, line in enumerate(lines) if "rename" in line and path.name + '"' in line
    )
    source = re.search(r'"([^"]*\.tmp-[^"]*)"', lines[renamed])
    assert source
    flushed = [i for i, line in enumerate(lines) if "fsync" in line and source[1] in line]
    assert flushed
    assert max(flushed) < renamed
    folder = [i for i, line in enumerate(lines) if "fsync" in line and f"{path.parent}>" in line]
    assert any(i > renamed for i in folder)


@pytest.mark.needs("strace")
def test_nothing_changed_opens_nothing_for_writing(
    holdfast_project: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """Not the lock, not a temporary file: nothing below the project."""
    holdfast_project.declare("W")
    compaction_cycle()
    _, _, lines = traced(holdfast_project, tmp_path)
    below = re.compile(rf'["<]{re.escape(str(holdfast_project.root))}/')
    writing = [
        line
        for line in lines
        if below.search(line)
        and re.search(r"O_WRONLY|O_RDWR|O_CREAT|rename|unlink|mkdir|fsync", line)
    ]
    assert writing == []


@pytest.mark.needs("strace")
@pytest.mark.parametrize("fault", ["rename:error=ENOSPC", "fsync:error=EIO", "rename:error=EROFS"])
def test_a_disk_that_fails_is_said_and_loses_nothing(
    fault: str, holdfast_project: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """The compaction goes on, the old state is whole, and the person reads one line."""
    holdfast_project.declare("W", phase="1/3 - A")
    compaction_cycle()
    before = holdfast_project.state_files()[0].read_bytes()
    holdfast_project.declare("W", phase="2/3 - B")
    code, stderr, _ = traced(holdfast_project, tmp_path, "-e", f"inject={fault}")
    assert code == 1
    assert stderr.count("\n") == 1
    assert "could not save the workflow" in stderr
    assert holdfast_project.state_files()[0].read_bytes() == before
    assert list((holdfast_project.root / ".claude/holdfast/tmp").iterdir()) == []
    assert "phase 2 of 3: B." in compaction_cycle().guidance


def test_one_workflow_that_cannot_be_written_does_not_stop_the_others(
    holdfast_project: Project, compaction_cycle: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is saved by itself; the failure is still told."""
    project = holdfast_project
    plans = ("001-a", "002-b", "003-c")
    for folder in plans:
        project.plan(folder, {"One": ["do"], "Two": ["more"]}, title=folder)
    compaction_cycle()
    for folder in plans:
        project.plan(folder, {"One": ["x do"], "Two": ["more"]}, title=folder)
    write = Store.write

    def stubborn(self: Store, path: Path, data: bytes, **more: Any) -> None:
        if path.parent.name == "001-a":
            raise StateUnwritable(path, "Operation not permitted")
        write(self, path, data, **more)

    monkeypatch.setattr(Store, "write", stubborn)
    outcome = compaction_cycle.fire("PreCompact")
    assert outcome.code == 1
    assert "Operation not permitted" in outcome.stderr
    phases = {each["workflow"]: each["phase"]["current"] for each in project.states()}
    assert phases == {"001-a": 1, "002-b": 2, "003-c": 2}
