"""What the system does to a process at one of its calls, by strace: kill it, or answer with an error.

The calls that matter are those that change a file of the project or of the user's folder, and those that
read one. They are listed by a run that nobody disturbs, by name and number; a later run of the same
process meets its fate at one of them, before the call is carried out.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from warm import field, until

_CHANGING = (
    *("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "flock"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "symlink"),
    *("mkdir", "mkdirat", "rmdir", "chmod", "fchmod", "utimensat"),
)
_OPENING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
_LINE = re.compile(r"(\w+)\((.*)")
# What a disk or a system that fails answers to each kind of call.
ERRORS = {
    "openat to write": ("EACCES", "EROFS", "ENOSPC", "EMFILE"),
    "openat to read": ("EACCES", "EIO", "EMFILE"),
    "openat to list": ("EACCES", "EIO", "EMFILE"),
    "read": ("EIO",),
    "write": ("ENOSPC", "EIO"),
    "fsync": ("EIO", "ENOSPC"),
    "rename": ("ENOSPC", "EIO", "EROFS"),
    "mkdir": ("ENOSPC", "EROFS", "EACCES"),
    "unlink": ("EIO", "EROFS"),
    "rmdir": ("EROFS",),
    "fchmod": ("EIO", "EROFS"),
    "utimensat": ("EROFS",),
    "flock": ("EIO",),
}


class Call(NamedTuple):
    """One call of a process: the *number*-th of its *name*."""

    name: str
    number: int
    does: str  # the name, and for opening what for
    said: str  # as strace shows it


class Fate(NamedTuple):
    """What is done to a process at a call, or from it on."""

    call: Call
    what: str  # "signal=KILL", or "error=EIO"
    from_then_on: bool = False

    def __str__(self) -> str:
        when = "from then on " if self.from_then_on else ""
        return f"{self.what} {when}at {self.call.name} {self.call.number}: {self.call.said[:160]}"


def errors(calls: Sequence[Call]) -> list[Fate]:
    """Every error that one of *calls* may meet, for this one alone and from it on."""
    return [
        Fate(call, f"error={error}", lasting)
        for call in calls
        for error in ERRORS.get(call.does, ())
        for lasting in (False, True)
    ]


def kills(calls: Sequence[Call]) -> list[Fate]:
    """A kill before each of *calls* that changes something; thus after each one as well."""
    return [Fate(call, "signal=KILL") for call in calls if call.does in _DEADLY]


_DEADLY = {*_CHANGING, "openat to write"}


class Listed:
    """Lists the calls of a process that concern files below *folders*."""

    def __init__(self, *folders: Path) -> None:
        self._below = re.compile("|".join(re.escape(f"{folder}/") for folder in folders))
        self.calls: list[Call] = []

    def __call__(self, pid: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "calls")
            options = ["-y", "-s", "0", "-e", f"trace={','.join((*_CHANGING, 'openat', 'read'))}"]
            _attached(pid, [*options, "-o", str(log)])
            self.calls = self._read(log.read_text("utf-8", "replace"))

    def _read(self, log: str) -> list[Call]:
        numbers: Counter[str] = Counter()
        found = []
        for line in log.splitlines():
            match = _LINE.match(line)
            if not match:
                continue
            name, said = match.groups()
            numbers[name] += 1
            if self._below.search(said):
                does = name
                if name == "openat":
                    does = f"openat to {_purpose(said)}"
                found.append(Call(name, numbers[name], does, said))
        return found


def _purpose(opened: str) -> str:
    if "O_DIRECTORY" in opened:
        return "list"
    return "write" if _OPENING.search(opened) else "read"


def doomed(fate: Fate) -> Callable[[int], None]:
    """Lets a process go, to its *fate*."""
    name, number = fate.call.name, fate.call.number
    when = f"{number}+" if fate.from_then_on else str(number)
    options = ["-e", f"trace={name}", "-e", f"inject={name}:{fate.what}:when={when}"]
    return lambda pid: _attached(pid, [*options, "-o", os.devnull])


def _attached(pid: int, options: Sequence[str]) -> None:
    """Let the process that is held go, with strace attached to it until it ends."""
    command = ["strace", "-qqq", "-p", str(pid), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as strace:
        until(lambda: field(pid, "TracerPid") != "0" or strace.poll() is not None)
        os.kill(pid, signal.SIGCONT)
        _, said = strace.communicate(timeout=60)
    if strace.returncode and b"attach" in said:
        raise OSError(f"strace is of no use here: {said.decode('utf-8', 'replace')}")
