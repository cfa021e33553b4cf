"""What git says of one file or one checkout, and what it does where somebody asks for that.

Without git, or outside a checkout, it says nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, TypeAlias

from holdfast.errors import GitRefused

if TYPE_CHECKING:
    import subprocess

# What is known of a branch: on a remote, all but its last commits, or not at all.
Pushed: TypeAlias = Literal["pushed", "behind", "unpushed"]

_PATIENCE = 10.0  # seconds
# A repository may name a program that is to watch its files; nobody asked for that to run. Nor is a folder of the
# project a repository because it looks like a bare one: its configuration would be the project's.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")
# Who only asks wants none of the repository's other programs either: its hooks, and what checks signatures.
_ASKING = ("-c", f"core.hooksPath={os.devnull}", "-c", "log.showSignature=false")
# And nothing that is not here: a state may name any commit, and a partial clone would fetch it, by a program
# that the repository names. Older releases know only the second.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_OPTIONAL_LOCKS": "0"}


def tracks(path: str) -> bool:
    """Whether a checkout has *path* among its files, also where it is missing at the moment."""
    return _says(path, "ls-files", "--error-unmatch") == 0


def would_pick_up(path: str) -> bool:
    """Whether *path* lies in a checkout and nothing tells git to leave it alone."""
    return _says(path, "check-ignore", "-q") == 1


def ignores(path: str) -> bool:
    """Whether *path* lies in a checkout and something tells git to leave it alone."""
    return _says(path, "check-ignore", "-q") == 0


def do(folder: str, *command: str) -> None:
    """Let git do *command* as the user has set it up, hooks and all; or GitRefused with its words."""
    import subprocess  # noqa: PLC0415  # most hooks ask git nothing

    try:
        done = subprocess.run(
            [*_GIT, "--literal-pathspecs", "-C", folder, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise GitRefused(command[0], str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise GitRefused(command[0], said or f"exit code {done.returncode}")


def answer(folder: str, *question: str) -> str | None:
    """What git prints; None where it fails or is not there."""
    done = _ask(folder, *question)
    if done is None or done.returncode:
        return None
    return done.stdout.decode("utf-8", "replace").strip()


def _says(path: str, *question: str) -> int | None:
    folder, name = os.path.split(path)
    while folder and not os.path.isdir(folder):  # it is still to be made
        folder, above = os.path.split(folder)
        name = os.path.join(above, name)
    done = _ask(folder, *question, "--", name)
    return None if done is None else done.returncode


def _ask(folder: str, *question: str) -> subprocess.CompletedProcess[bytes] | None:
    import subprocess  # noqa: PLC0415  # most hooks ask git nothing

    try:
        return subprocess.run(
            [*_GIT, *_ASKING, "-C", folder, *question],
            env={**os.environ, **_OFFLINE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # ValueError: no git has such a name
        return None


def is_pushed(folder: str, branch: str) -> Pushed | None:
    """Whether some remote has *branch*, as far as git knows offline; None where there is no such branch."""
    head = answer(folder, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    if head is None:
        return None
    # Not its upstream: a branch that began at origin/main follows that, and is pushed nowhere.
    remote = answer(folder, "for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{branch}")
    if not remote:
        return "unpushed"
    tips = remote.split()
    whole = any(
        answer(folder, "merge-base", "--is-ancestor", head, tip) is not None for tip in tips
    )
    return "pushed" if whole else "behind"


def uncommitted(folder: str, but_for: str) -> int:
    """How many files git status shows. A filter is a program that the repository names: none runs."""
    asked = ("config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$")
    filters = (answer(folder, *asked) or "").splitlines()
    if any("=" in name for name in filters):  # it cannot be switched off
        return 0
    off = [word for name in filters for word in ("-c", f"{name}=")]
    query = ("status", "--porcelain", "--ignore-submodules=all", "--", ".", but_for)
    return len((answer(folder, *off, *query) or "").splitlines())
