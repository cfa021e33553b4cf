"""What git says of one file or one checkout. Without git, or outside a checkout, nothing."""

from __future__ import annotations

import os
import subprocess

_PATIENCE = 10.0  # seconds


def tracks(path: str) -> bool:
    """Whether a checkout has *path* among its files, also where it is missing at the moment."""
    return _says(path, "ls-files", "--error-unmatch") == 0


def would_pick_up(path: str) -> bool:
    """Whether *path* lies in a checkout and nothing tells git to leave it alone."""
    return _says(path, "check-ignore", "-q") == 1


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
    # A repository may name a program that is to watch its files; nobody asked for that to run.
    git = ["git", "-c", "core.fsmonitor=false", "-C", folder]
    try:
        return subprocess.run(
            [*git, *question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # ValueError: no git has such a name
        return None
