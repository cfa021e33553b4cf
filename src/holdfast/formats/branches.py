"""Whether work goes on where it was begun: the branch that a state names, and the one checked out."""

from __future__ import annotations

from holdfast.plaintext import one_line


def mismatch(own: str | None, branch: str | None) -> str | None:
    """That the state is for another branch than the checked-out one, with the two options.

    None where they agree, or where there is no branch to compare: no git, or a detached HEAD.
    """
    if not own or not branch or own == branch:
        return None
    own, branch = one_line(own), one_line(branch)
    return (
        f"⚠️ State is for branch '{own}' but current branch is '{branch}'\n"
        f"Options: 1) Switch to {own}  2) Abandon state and start fresh"
    )
