"""One `holdfast` process, and what it took."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

from holdfast.testing import Project


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
