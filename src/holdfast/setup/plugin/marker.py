"""The file in an environment that says that it is the plugin's own, and what it needs to start.

It is written last, so an environment that has it is whole. `usable` and bin/holdfast read it, and
agree: the first line is the interpreter in the environment, which must be there; the second a file that
only a machine of the same kind has. Its time says when the environment was last used: disks that note no
access are common. Light, because every hook notes that.
"""

from __future__ import annotations

import os

NAME = "holdfast-environment"  # bin/holdfast has it as well
NEWS = "holdfast-news"  # there until a person was told that the set-up is done
_LONGEST = 16 * 1024
_DAY = 24 * 3600.0


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


def note_use(prefix: str, now: float) -> None:
    """Note that the environment at *prefix*, if it is ours, is in use; once a day is enough."""
    path = os.path.join(prefix, NAME)
    try:
        if os.stat(path).st_mtime < now - _DAY:
            os.utime(path, (now, now))
    except OSError:
        return  # another environment, or one that may only be read


def claim_news(prefix: str) -> str:
    """What the person is to hear of the environment at *prefix*; whoever asks first is told."""
    try:
        os.unlink(os.path.join(prefix, NEWS))
    except OSError:
        return ""
    return "it is set up, and saves and restores workflows from now on"


def last_use(environment: str) -> float:
    """When the environment was last used. A damaged one, without a marker, is as old as its folder."""
    for path in (os.path.join(environment, NAME), environment):
        try:
            return os.stat(path).st_mtime
        except OSError:
            continue
    return 0.0
