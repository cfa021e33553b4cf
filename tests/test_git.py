"""What git says of one file, and that a repository cannot make us start anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import git
from holdfast.testing import Project


def test_tracked_means_among_the_files_of_the_checkout(holdfast_project: Project) -> None:
    """Also when it is missing at the moment, with all of its folder."""
    file = holdfast_project.write("a folder/settings.json", "{}")
    assert not git.tracks(str(file))
    holdfast_project.git("init", "-q")
    assert not git.tracks(str(file))
    holdfast_project.git("add", "a folder")
    assert git.tracks(str(file))
    file.unlink()
    file.parent.rmdir()
    assert git.tracks(str(file))
    assert not git.tracks(str(file.with_name("other.json")))


def test_git_would_pick_up_what_nothing_tells_it_to_ignore(holdfast_project: Project) -> None:
    """Outside a checkout it picks up nothing."""
    file = holdfast_project.root / ".claude" / "settings.local.json"
    assert not git.would_pick_up(str(file))
    holdfast_project.git("init", "-q")
    assert git.would_pick_up(str(file))
    holdfast_project.write(".gitignore", ".claude/*.local.json\n")
    assert not git.would_pick_up(str(file))


def test_without_git_nothing_is_tracked(
    holdfast_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no requirement of Holdfast."""
    file = holdfast_project.write("settings.json", "{}")
    holdfast_project.git("init", "-q")
    holdfast_project.git("add", ".")
    monkeypatch.setenv("PATH", str(holdfast_project.home))
    assert not git.tracks(str(file))
    assert not git.would_pick_up(str(file))


def test_a_program_that_the_repository_names_is_not_started(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """`core.fsmonitor` of a checkout would be run by nearly every git command in it."""
    file = holdfast_project.write("settings.json", "{}")
    holdfast_project.git("init", "-q")
    holdfast_project.git("add", ".")
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_bytes(f"#!/bin/sh\ntouch '{sprung}'\n".encode())
    trap.chmod(0o755)
    holdfast_project.git("config", "core.fsmonitor", str(trap))
    assert git.tracks(str(file))
    assert git.would_pick_up(str(file.with_name("new.json")))
    assert not sprung.exists()
