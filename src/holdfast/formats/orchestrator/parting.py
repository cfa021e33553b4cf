"""Whether state and git have parted: HEAD is neither the last checkpoint's commit nor follows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from holdfast import git, project
from holdfast.formats.orchestrator.model import Checkpoint, State
from holdfast.plaintext import one_line

_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


class Commits(NamedTuple):
    """What git says of a commit, and of where it stands."""

    head: str
    known: bool  # whether there is such a commit here
    follows: bool  # whether HEAD is that commit or came after it


def is_commit(sha: str | None) -> bool:
    """Whether *sha* has the form of a commit's name: it may come from anywhere."""
    return bool(sha and _SHA.fullmatch(sha))


def last_with_commit(state: State) -> Checkpoint | None:
    """The last checkpoint that names a commit."""
    return next((each for each in reversed(state.checkpoints) if each.git_sha), None)


def head(root: Path) -> str | None:
    """The commit that is checked out. git is asked where no file tells: to start it takes a hook's time."""
    return project.commit(str(root)) or git.answer(
        str(root), "rev-parse", "--verify", "--quiet", "HEAD"
    )


def commits(root: Path, sha: str) -> Commits | None:
    """None without git, or where nothing is committed."""
    return _commits(root, sha, follows=_follows(root, sha))


def _commits(root: Path, sha: str, *, follows: bool) -> Commits | None:
    there = head(root)
    if there is None:
        return None
    if follows:
        return Commits(there, known=True, follows=True)
    known = (
        is_commit(sha) and git.answer(str(root), "cat-file", "-e", f"{sha}^{{commit}}") is not None
    )
    return Commits(there, known, follows=False)


def _follows(root: Path, sha: str) -> bool:
    """Whether HEAD is the commit *sha*, or came after it."""
    if is_commit(sha) and sha == project.commit(str(root)):
        return True
    asked = ("merge-base", "--is-ancestor", sha, "HEAD")
    return is_commit(sha) and git.answer(str(root), *asked) is not None


def remark(last: Checkpoint | None, found: Commits | None) -> str:
    """One line where they have parted; else empty."""
    if last is None or last.git_sha is None or found is None or found.follows:
        return ""
    sha = one_line(last.git_sha, 64)
    where = f"commit {sha} of {one_line(last.state_snapshot, 80)}"
    if not found.known:
        return f"State and git have parted: {where} is not known here."
    return (
        f"State and git have parted: HEAD is {found.head[:12]}, which does not follow {where}. "
        f"To go back to it, which discards what was done since: {_reset(sha)}"
    )


def parted(root: Path, state: State) -> str:
    """The same of a run, as git says it now."""
    last = last_with_commit(state)
    # Hooks ask this often, so what is nearly always so is asked first, and alone.
    if last is None or last.git_sha is None or _follows(root, last.git_sha):
        return ""
    return remark(last, _commits(root, last.git_sha, follows=False))


def way_back(sha: str | None, found: Commits | None) -> str:
    """How to take the files back as well to the commit *sha* of a snapshot."""
    if not sha or found is None or found.head == sha:
        return ""
    if not found.known:
        return f"its commit {one_line(sha, 64)} is not known here"
    return (
        "the files are as they were. To take them back as well, which discards what was done "
        f"since, also what is not committed: {_reset(sha)}"
    )


def _reset(sha: str) -> str:
    """The document's command. It is only ever shown."""
    return f"git reset --hard {sha}"
