"""The entry of `holdfast mcp`: stdin and stdout belong to the protocol until stdin ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence

from holdfast.project import Surroundings


def main(arguments: Sequence[str] = ()) -> int:
    """Serve one client. `holdfast mcp` ends here."""
    if arguments:
        return _refused(f"mcp takes no arguments, not {arguments[0]!r}", "holdfast mcp --help", 2)
    if sys.stdin is None or sys.stdin.isatty():
        return _refused(
            "mcp answers a client on stdin, and a person types here",
            "Tell Claude Code of it: claude mcp add holdfast -- holdfast mcp",
        )
    try:
        from holdfast.server import service  # noqa: PLC0415  # to say what is missing
    except ImportError as error:
        return _refused(f"the server needs the MCP SDK: {error}", _INSTALLATION)
    # A traceback is no answer to Ctrl-C, and every write is whole or absent.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What is loaded stays. To look through it for garbage takes longer than an answer may.
    gc.freeze()
    # A tool event is not to wait for the turn of a thread that is reading every state.
    sys.setswitchinterval(_TURN)
    service.serve(Surroundings.from_environment())
    # The client has gone. A tool that still waits for a lock must not keep the process.
    sys.stderr.flush()
    os._exit(0)


_TURN = 0.0005  # seconds
_INSTALLATION = (
    "pipx install '/path/to/holdfast[mcp]', or uv tool install '/path/to/holdfast[mcp]'; "
    "beside the plugin as well, whose own environment has no server."
)


def _refused(cause: str, hint: str, code: int = 1) -> int:
    sys.stderr.write(f"holdfast: {cause}\n  {hint}\n")
    return code
