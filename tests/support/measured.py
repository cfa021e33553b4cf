"""One `holdfast` process, and what it took."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from holdfast.testing import Project


def cpu_of(run: Callable[[], object], enough: float) -> float:
    """The seconds of the processor that *run* takes here, or those of the best of three runs.

    Others share the machine, and what they do costs more than their own time.
    """
    least = math.inf
    for _ in range(3):
        begun = time.process_time()
        run()
        least = min(least, time.process_time() - begun)
        if least < enough:
            break
    return least


class Run(NamedTuple):
    """How it ended, what it said, and what it took."""

    code: int
    said: str
    aside: str
    seconds: float  # of CPU, since others share the machine
    megabytes: float  # at its most


# A process begins with the memory of the one that started it as its greatest, so a small one starts it.
_SMALL = """
import json, os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "holdfast", *sys.argv[2:]], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as stream:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss], stream)
"""


def measured(project: Project, *arguments: str, stdin: bytes = b"") -> Run:
    """`holdfast` with *arguments* in *project*."""
    note = project.home / "usage.json"
    done = subprocess.run(
        [sys.executable, "-S", "-c", _SMALL, str(note), *arguments],
        cwd=project.root,
        env=project.environment(),
        input=stdin,
        capture_output=True,
        check=True,
    )
    code, seconds, most = json.loads(note.read_bytes())
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    texts = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return Run(code, *texts, seconds, most / unit)
