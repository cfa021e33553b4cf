"""The file in an environment that says that it is the plugin's own, and what it needs to start.

It is written last, so an environment that has it is whole. `usable` and bin/holdfast read it, and
agree: the first line is the interpreter in the environment, which must be there; the second a file that
only a machine of the same kind has.
"""

from __future__ import annotations

import os

NAME = "holdfast-environment"  # bin/holdfast has it as well
NEWS = "holdfast-news"  # there until a person was told that the set-up is done
_LONGEST = 16 * 1024


def write(environment: str, python: str, machine: str) -> None:
    """Mark a whole environment. *python* is relative to it."""
    with open(os.path.join(environment, NAME), "wb") as stream:
        stream.write(os.fsencode(f"{python}\n{machine}\n"))


def is_ours(prefix: str) -> bool:
    """Whether the environment at *prefix* is one that the plugin has set up for itself."""
    return os.path.isfile(os.path.join(prefix, NAME))


def usable(environment: str) -> bool:
    """Whether the environment is whole and can start on this machine."""
    try:
        with open(os.path.join(environment, NAME), "rb") as stream:
            raw = stream.read(_LONGEST)
    except OSError:
        return False
    lines = os.fsdecode(raw).split("\n")[:-1]
    if len(lines) < 2:
        return False
    python, machine = os.path.join(environment, lines[0]), lines[1]
    return os.access(python, os.X_OK) and os.path.exists(machine)


def claim_news(prefix: str) -> str:
    """What the person is to hear of the environment at *prefix*; whoever asks first is told."""
    try:
        os.unlink(os.path.join(prefix, NEWS))
    except OSError:
        return ""
    return "it is set up, and saves and restores workflows from now on"
