"""Whether a branch is pushed, as far as git here knows without asking the network."""

from __future__ import annotations

import subprocess
from pathlib import Path

from holdfast.formats.skill.facts import Pushed


def is_pushed(root: Path, branch: str | None) -> Pushed | None:
    """Whether some remote has *branch*, whole or not its last commits; None where git cannot tell."""
    if not branch:
        return None
    head = _git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    if head is None:
        return None
    remote = _git(root, "for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{branch}")
    if not remote:
        return "unpushed"
    tips = remote.split()
    contained = any(
        _git(root, "merge-base", "--is-ancestor", head, tip) is not None for tip in tips
    )
    return "pushed" if contained else "behind"


def _git(root: Path, *arguments: str) -> str | None:
    """What git answers; None where it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
