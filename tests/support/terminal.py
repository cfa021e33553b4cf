"""A command on a terminal of its own, and a person who types."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CTRL_C, CTRL_D = "\x03", "\x04"
_PATIENCE = 60.0
# The first terminal that the leader of a session opens is its own, so that Ctrl-C reaches it. A shell's
# job in the background ignores Ctrl-C, and so would whatever it starts.
_ON_TERMINAL = """import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Shown(NamedTuple):
    text: str
    code: int


def typed(
    arguments: Sequence[str], answers: Sequence[tuple[str, str]], cwd: Path, env: dict[str, str]
) -> Shown:
    """Run `holdfast` *arguments*; as soon as the first text of an answer is shown, its second is typed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _ON_TERMINAL, "-m", "holdfast", *arguments],
        cwd=cwd,
        env={**env, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            seen, begun, ends = "", 0, time.monotonic() + _PATIENCE
            for waited_for, answer in answers:
                while (at := seen.find(waited_for, begun)) < 0:
                    more = _read(ours, ends)
                    assert more, f"{waited_for!r} was not shown: {seen}"
                    seen += more
                begun = at + len(waited_for)
                if answer == CTRL_C:
                    time.sleep(0.2)  # readline loses one that comes just before it waits for a key
                os.write(ours, answer.encode())
            while more := _read(ours, ends):
                seen += more
            code = process.wait(30)
        finally:
            process.kill()  # does nothing where it has ended
    os.close(ours)
    return Shown(seen.replace("\r\n", "\n"), code)


def _read(terminal: int, ends: float) -> str:
    with contextlib.suppress(OSError):  # the other end is closed
        if select.select([terminal], [], [], max(0, ends - time.monotonic()))[0]:
            return os.read(terminal, 65536).decode(errors="replace")
    return ""
