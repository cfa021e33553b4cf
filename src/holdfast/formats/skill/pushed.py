"""Whether a branch is pushed, as far as git here knows without asking the network."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from holdfast import git
from holdfast.formats.skill.facts import Pushed


def is_pushed(root: Path, branch: str | None) -> Pushed | None:
    """Whether some remote has *branch*, whole or not its last commits; None where git cannot tell."""
    if not branch:
        return None
    ask = partial(git.answer, str(root))
    head = ask("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    if head is None:
        return None
    # Not its upstream: a branch that began at origin/main follows that, and is pushed nowhere.
    remote = ask("for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{branch}")
    if not remote:
        return "unpushed"
    tips = remote.split()
    whole = any(ask("merge-base", "--is-ancestor", head, tip) is not None for tip in tips)
    return "pushed" if whole else "behind"
