"""What the files of a checkout tell by themselves, as git itself tells it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.config import project
from holdfast.testing import Project


@pytest.fixture(params=["sha1", "sha256"])
def checkout(request: pytest.FixtureRequest, holdfast_project: Project) -> Project:
    """With two commits on the branch `feat/a`."""
    holdfast_project.git("init", "-q", "-b", "feat/a", f"--object-format={request.param}")
    for message in ("one", "two"):
        holdfast_project.git("commit", "-q", "--allow-empty", "-m", message)
    return holdfast_project


def by_git(folder: Path) -> str:
    asked = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    return subprocess.run(asked, capture_output=True, check=True, text=True).stdout.strip()


def test_the_commit_of_a_branch(checkout: Project) -> None:
    assert project.commit(str(checkout.root)) == by_git(checkout.root)
    checkout.write("deep/down/a.txt", "a")
    assert project.commit(str(checkout.root / "deep/down")) == by_git(checkout.root)


def test_the_commit_of_a_detached_head(checkout: Project) -> None:
    checkout.git("checkout", "-q", "--detach", "HEAD~1")
    assert project.commit(str(checkout.root)) == by_git(checkout.root)


def test_the_commit_of_a_linked_worktree(checkout: Project, tmp_path: Path) -> None:
    """Its branch lies with the main worktree, its HEAD does not."""
    checkout.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    assert project.commit(str(tmp_path / "side")) == by_git(tmp_path / "side")
    assert project.commit(str(tmp_path / "side")) != project.commit(str(checkout.root))


def test_what_is_packed_is_left_to_git(checkout: Project) -> None:
    """Until the next commit, which is written beside it and counts."""
    checkout.git("pack-refs", "--all")
    assert project.commit(str(checkout.root)) is None
    checkout.git("commit", "-q", "--allow-empty", "-m", "three")
    assert project.commit(str(checkout.root)) == by_git(checkout.root)


def test_nothing_is_committed(holdfast_project: Project) -> None:
    assert project.commit(str(holdfast_project.root)) is None
    holdfast_project.git("init", "-q")
    assert project.commit(str(holdfast_project.root)) is None


@pytest.mark.parametrize(
    "head", ["ref: refs/heads/../../../secret", "ref: refs/heads/main\0", "deadbeef", "x" * 40, ""]
)
def test_a_head_that_git_would_not_write(head: str, holdfast_project: Project) -> None:
    """It may come with a repository that somebody else has made."""
    (holdfast_project.root.parent / "secret").write_text("a" * 40, encoding="utf-8")
    holdfast_project.write(".git/HEAD", head)
    (holdfast_project.root / ".git/refs/heads").mkdir(parents=True)
    assert project.commit(str(holdfast_project.root)) is None


def test_a_branch_that_is_gone_counted_while_its_name_was_a_folder_of_others(
    checkout: Project,
) -> None:
    """`feat` was taken for a branch, because `feat/a` is one."""
    root = str(checkout.root)
    assert project.is_gone(root, "feat")
    assert not project.is_gone(root, "feat/a")
    checkout.git("pack-refs", "--all")
    assert project.is_gone(root, "feat")
    assert not project.is_gone(root, "feat/a")
