"""The MCP server: the workflows of a project for agents, and tool events without a process for each.

No hook that is a process of its own loads any of this. The SDK is an extra, `holdfast[mcp]`. The plugin does not include the
server, which would then run in every session. The environment says which session asks, because a call does not; the client
keeps the server over /clear, so it may be the session before.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from holdfast.config.project import Surroundings

_INSTALLATION = (
    "pipx install '/path/to/holdfast[mcp]', or uv tool install '/path/to/holdfast[mcp]'; "
    "beside the plugin as well, whose own environment has no server."
)


def main(arguments: Sequence[str] = ()) -> int:
    """Serve one client. `holdfast mcp` ends here: stdin and stdout belong to the protocol until stdin ends."""
    if arguments:
        return _refused(f"mcp takes no arguments, not {arguments[0]!r}", "holdfast mcp --help", 2)
    if sys.stdin is None or sys.stdin.isatty():
        return _refused(
            "mcp talks to a client on stdin, but this is a terminal",
            "Register it with Claude Code: claude mcp add holdfast -- holdfast mcp",
        )
    try:
        from holdfast.server import service  # noqa: PLC0415  # to say what is missing
    except ImportError as error:
        return _refused(f"the server needs the MCP SDK: {error}", _INSTALLATION)
    # A traceback is no answer to Ctrl-C, and every write is whole or absent.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    service.serve(Surroundings.from_environment())
    # The client has gone. A tool that still waits for a lock must not keep the process.
    sys.stderr.flush()
    os._exit(0)


def _refused(cause: str, hint: str, code: int = 1) -> int:
    sys.stderr.write(f"holdfast: {cause}\n  {hint}\n")
    return code
