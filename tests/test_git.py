"""What git says of one file, and that a repository cannot make us start anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.files import git
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


def test_a_commit_that_a_state_names_is_not_fetched(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """A partial clone asks its remote for what it lacks, by the program that the repository names."""
    holdfast_project.write("a", "a")
    holdfast_project.git("init", "-q")
    holdfast_project.git("add", ".")
    holdfast_project.git("commit", "-qm", "a")
    sprung = tmp_path / "sprung"
    for key, value in {
        "remote.origin.url": f"file://{holdfast_project.root}",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "remote.origin.uploadpack": f"touch '{sprung}'; git-upload-pack",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }.items():
        holdfast_project.git("config", key, value)
    for question in (("cat-file", "-e"), ("merge-base", "--is-ancestor", "HEAD")):
        assert git.answer(str(holdfast_project.root), *question, "deadbeef" * 5) is None
    assert not sprung.exists()


def test_a_folder_that_looks_like_a_bare_repository_is_none(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """A clone can have one among its files, with a configuration that names programs."""
    bare = tmp_path / "bare"
    holdfast_project.git("init", "-q", "--bare", str(bare))
    assert git.answer(str(bare), "rev-parse", "--git-dir") is None


def test_no_program_checks_signatures(holdfast_project: Project, tmp_path: Path) -> None:
    """`git log` starts the one that the repository names, where it says that they are to be shown."""
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_bytes(f"#!/bin/sh\ntouch '{sprung}'\n".encode())
    trap.chmod(0o755)
    holdfast_project.git("init", "-q")
    holdfast_project.write("a", "a")
    holdfast_project.git("add", ".")
    holdfast_project.git("commit", "-qm", "a")
    commit = holdfast_project.git("cat-file", "commit", "HEAD")
    head, _, body = commit.partition("\n\n")
    signed = holdfast_project.write(
        "signed", f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n\n{body}\n"
    )
    sha = holdfast_project.git("hash-object", "-t", "commit", "-w", str(signed)).strip()
    holdfast_project.git("update-ref", "HEAD", sha)
    holdfast_project.git("config", "log.showSignature", "true")
    holdfast_project.git("config", "gpg.program", str(trap))
    assert git.answer(str(holdfast_project.root), "log", "--format=%H") == sha
    assert not sprung.exists()
