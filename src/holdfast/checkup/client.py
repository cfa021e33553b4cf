"""Which version of the client there is, held against those that Holdfast was tried with."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

from holdfast.checkup.finding import Finding

NAME = "claude"
TRIED = ("2.1.197", "2.1.326")
_PATIENCE = 20.0


def examine() -> Iterator[Finding]:
    """The client that PATH leads to."""
    program = shutil.which(NAME)
    if program is None:
        what = f"no `{NAME}` on the PATH here, so its version is not known"
        yield Finding("client", "note", what, "it may still be started from elsewhere")
        return
    version = _version(program)
    if version is None:
        what, cause = f"`{program} --version` tells no version", "is it Claude Code?"
        yield Finding("client", "note", what, cause, f"{NAME} --version")
    elif _number(version) < _number(TRIED[0]):
        what = f"Claude Code {version} is older than what Holdfast was tried with"
        yield Finding("client", "note", what, f"tried: {', '.join(TRIED)}", f"{NAME} update")
    else:
        yield Finding("client", "good", f"Claude Code {version}")


def _version(program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(rb"(\d+\.\d+\.\d+)\b", done.stdout)
    return found[1].decode() if found else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
