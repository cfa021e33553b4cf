"""What happens when no environment is ready: a hook never waits for one, a command does.

Run by bin/holdfast, which says what for. The set-up itself is a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from holdfast.bootstrap import build
from holdfast.bootstrap.environments import DataFolder

# The agent's shell ends a command after two minutes.
_PATIENCE = 100.0

_UNDER_WAY = (
    "Holdfast is being set up in the background, once for this version. "
    "As soon as that is done, it saves and restores workflows."
)


def main() -> int:
    purpose, folder = sys.argv[1:]
    try:
        return _PURPOSES[purpose](DataFolder(Path(folder).absolute()))
    except OSError as error:
        return _IN_VAIN[purpose](f"Holdfast could not be set up: {error}. Make {folder} writable.")


def _at_session_start(data: DataFolder) -> int:
    # First, since a set-up that begins now counts as failed until it has ended.
    failure = data.failure()
    if data.being_set_up():
        return _tell(_UNDER_WAY)
    if data.ready():
        return 0
    _begin(data)
    return _tell(_failed(failure, "It is being tried again now.") if failure else _UNDER_WAY)


def _at_pre_compact(data: DataFolder) -> int:
    """For a plugin that came into a session that was running: it may be ready for the restore."""
    if not (data.failure() or data.being_set_up() or data.ready()):
        _begin(data)
    return 0


def _for_command(data: DataFolder) -> int:
    end = time.monotonic() + _PATIENCE
    begun: subprocess.Popen[bytes] | None = None
    _complain("setting up the plugin's own environment, once for this version.")
    while time.monotonic() < end:
        ended = begun is not None and begun.poll() is not None
        # Asked first: a set-up that ends between the two questions has left what is ready.
        under_way = data.being_set_up()
        if data.ready():
            return 0
        if not under_way:
            if ended:
                return _complain(_failed(data.failure(), "Then call the command again."))
            begun = begun or _begin(data)
        time.sleep(0.1)
    return _complain("The set-up is still running. Call the command again in a minute.")


def _set_up(data: DataFolder) -> int:
    build.run(data)
    return 0


def _begin(data: DataFolder) -> subprocess.Popen[bytes]:
    """Set up in a process that no one waits for: in its own session, holding none of our pipes."""
    return subprocess.Popen(
        # As bin/holdfast started us, but for another purpose.
        [build.INTERPRETER, *sys.orig_argv[1:-2], "set-up", str(data.folder)],
        cwd=data.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **build.DETACHED,
    )


def _failed(reason: str, then: str) -> str:
    return f"Holdfast could not be set up: {reason} {then}"


def _tell(line: str) -> int:
    """What the client shows to the person at the start of a session."""
    print(json.dumps({"systemMessage": line}))  # noqa: T201  # the reply of a hook
    return 0


def _complain(line: str) -> int:
    print(f"holdfast: {line}", file=sys.stderr)  # noqa: T201  # a command's errors go to stderr
    return 1


def _say_nothing(_: str) -> int:
    return 0


_PURPOSES = {
    "session-start": _at_session_start,
    "pre-compact": _at_pre_compact,
    "command": _for_command,
    "set-up": _set_up,
}
_IN_VAIN = {
    "session-start": _tell,
    "pre-compact": _say_nothing,
    "command": _complain,
    "set-up": _say_nothing,
}
