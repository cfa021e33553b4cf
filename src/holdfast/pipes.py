"""The stdin and stdout of a hook, as bytes. Light; see `hooks.launch`."""

from __future__ import annotations

import os
import sys

LARGEST = 8 * 1024 * 1024  # bytes of hook input
# Objects and lists. Brackets count in texts as well; a tool's output may have many, and none of ours is read.
MOST_HOLDERS = 1_000_000
_CHUNK = 1024 * 1024
_DRAINED = 256 * _CHUNK


def read_stdin() -> bytes:
    """All of stdin up to one byte over the limit; the rest is read and dropped.

    Leaving it unread would break the client's pipe.
    """
    kept: list[bytes] = []
    size = dropped = 0
    while sys.stdin is not None and (chunk := sys.stdin.buffer.read(_CHUNK)):
        room = LARGEST + 1 - size
        kept.append(chunk[:room])
        size += len(kept[-1])
        dropped += len(chunk) - len(kept[-1])
        if dropped > _DRAINED:
            break
    return b"".join(kept)


def holds_too_much(raw: bytes) -> bool:
    """Whether to understand *raw* as JSON could take more room than a hook may have."""
    return raw.count(b"{") + raw.count(b"[") > MOST_HOLDERS


def write(stdout: bytes, stderr: bytes = b"", code: int = 0) -> int:
    """Print the bytes as they are, whatever the code page, and return the exit *code*."""
    try:
        for stream, data in ((sys.stdout, stdout), (sys.stderr, stderr)):
            if data and stream is not None:
                stream.buffer.write(data)
                stream.buffer.flush()
    except OSError:  # the client went away; the state is saved, and that is what counts
        os._exit(code)
    return code
