"""Which processes are gone, and which one a command was called from."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from holdfast.errors import StateUnreadable
from holdfast.regular import read_file

# What is only there to start a command, and ends with it.
_STARTERS = {
    *("sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "csh", "tcsh", "busybox"),
    *("env", "timeout", "xargs", "nice", "nohup", "sudo", "make", "uv", "time"),
}
_MOST_STARTERS = 16
_PATIENCE = 5.0  # seconds


class Process(NamedTuple):
    parent: int
    name: str
    ended: bool  # nobody has asked yet how it ended


def caller() -> int | None:
    """The process that had this command run: the first one above it that is no shell."""
    pid = os.getppid()
    for _ in range(_MOST_STARTERS):
        process = _look(pid)
        if pid <= 1 or process is None:  # the first process of all outlives everybody
            return None
        if process.name not in _STARTERS:
            return pid
        pid = process.parent
    return None


def is_gone(pid: int) -> bool:
    """Whether there is certainly no such process on this host."""
    if os.name != "posix":  # elsewhere the signal that only asks would end it
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    process = _look(pid)
    return process is not None and process.ended


def _look(pid: int) -> Process | None:
    if os.path.isdir("/proc/self"):
        return _from_proc(pid)
    return _from_ps(pid)


def _from_proc(pid: int) -> Process | None:
    try:
        stat = read_file(f"/proc/{pid}/stat", 4096)[0].decode("utf-8", "replace")
    except StateUnreadable:
        return None
    # The name stands in parentheses, and may hold some itself.
    begins, ends = stat.find("("), stat.rfind(")")
    state, parent = stat[ends + 1 :].split()[:2]
    return Process(int(parent), stat[begins + 1 : ends], state in "ZX")


def _from_ps(pid: int) -> Process | None:
    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=", "-o", "state=", "-o", "comm=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match done.stdout.decode("utf-8", "replace").split(maxsplit=2):
        case [parent, state, name] if parent.isdecimal():
            # A login shell is called -bash.
            return Process(int(parent), os.path.basename(name.strip()).lstrip("-"), state[0] == "Z")
    return None
