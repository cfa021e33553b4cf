"""Which version of a client there is, held against those that Holdfast was tried with."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

from holdfast.checkup.finding import Finding
from holdfast.clients import CLAUDE, Client

_PATIENCE = 20.0


def examine(client: Client = CLAUDE) -> Iterator[Finding]:
    """The one that PATH leads to."""
    name, title, tried = client.program, client.title, ", ".join(client.tried)
    program = shutil.which(name)
    if program is None:
        what = f"no `{name}` on the PATH here, so its version is not known"
        yield Finding("client", "note", what, "it may still be started from elsewhere")
        return
    version = _version(program)
    if version is None:
        what, cause = f"`{program} --version` tells no version", f"is it {title}?"
        yield Finding("client", "note", what, cause, f"{name} --version")
    elif _number(version) < _number(client.tried[0]):
        what = f"{title} {version} is older than what Holdfast was tried with"
        yield Finding("client", "note", what, f"tried: {tried}", client.update)
    elif client is not CLAUDE and _number(version) > _number(client.tried[-1]):
        what = f"{title} {version} is newer than what Holdfast was tried with"
        yield Finding("client", "note", what, f"tried: {tried}; its hooks may have changed since")
    else:
        yield Finding("client", "good", f"{title} {version}")


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
    found = re.search(rb"\b(\d+\.\d+\.\d+)\b", done.stdout)
    return found[1].decode() if found else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
