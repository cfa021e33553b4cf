"""The parts of the required reading: the main hook of a start lays them ready, and the hooks with --part send them.

Rule 1: all hooks of one start get the same bytes on stdin. So a set that is laid ready is known by these bytes, and a hook
        for a part need not understand them: it loads neither `json` nor anything that could compute a part.
Rule 2: the same bytes come again with the next compaction of the session. So each part of a set is sent once: whoever
        sends it creates a file for that first. A set expires when the client would have given up on the hook, and a hook
        that finds an older one waits for the next.
Rule 3: the main hook lays a set at every start, an empty one where there is nothing to send or it has failed. Only where it
        was killed, or is not registered, the hooks for parts wait in vain, and say nothing.

Light; see `hooks.launch`.
"""

from __future__ import annotations

import os
import time

from holdfast.files.atomic import append, make_private, own_name
from holdfast.files.fingerprints import checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = 10.0  # seconds for the main hook
_LASTS = 30.0  # seconds after which the client gives up on a hook
_KEPT_FOR = 600.0  # seconds; more than any hook of the same start runs
_FOLDER = "parts"
_BETWEEN = b"\0"  # neither in a path nor in JSON


def _folder(state_dir: str) -> str:
    return os.path.join(state_dir, _FOLDER)


def put(path: str, data: bytes) -> None:
    """Whole or not at all, but it need not outlive the machine: what is torn is not used."""
    temporary = f"{path}.{own_name()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as stream:
        stream.write(data)
    os.replace(temporary, path)


def lay(state_dir: str, raw: bytes, texts: Sequence[str], log: str, lines: Sequence[str]) -> None:
    """Lay *texts* ready for the other hooks that were sent *raw*, each with its line for *log*."""
    folder = _folder(state_dir)
    make_private(folder)
    prune(folder, time.time() - _KEPT_FOR)
    fields = [raw, own_name().encode(), os.fsencode(log)]
    for text, line in zip(texts, lines, strict=True):
        fields += [text.encode(), line.encode("utf-8", "replace")]
    put(os.path.join(folder, f"start-{checksum(raw)}"), _BETWEEN.join(fields))


def send(state_dir: str, raw: bytes, part: int, patience: float = 0.0) -> bytes | None:
    """What the hook for *part* prints; None where no main hook has laid anything ready within *patience* seconds."""
    begun, until, pause = time.perf_counter(), time.monotonic() + patience, 0.002
    while (taken := _take(_folder(state_dir), raw, part)) is None:
        if time.monotonic() > until:
            return None
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)
    text, log, line = taken
    if not text:
        return b""
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    spent = (time.perf_counter() - begun) * 1000
    try:  # a log that cannot be written is no reason to say nothing
        append(log, b'%s, "at": "%s.000000Z", "ms": %.1f}\n' % (line[:-1], at.encode(), spent))
    except OSError:
        return text
    return text


def _take(folder: str, raw: bytes, part: int) -> tuple[bytes, str, bytes] | None:
    """Text, log and line of *part* in the set that is laid for *raw*; no text for a part beyond its last."""
    path = os.path.join(folder, f"start-{checksum(raw)}")
    try:
        with open(path, "rb") as stream:
            data, laid_at = stream.read(), os.fstat(stream.fileno()).st_mtime
    except OSError:
        return None
    if not data.startswith(raw + _BETWEEN) or abs(time.time() - laid_at) > _LASTS:
        return None
    start, log, *fields = data[len(raw) + 1 :].split(_BETWEEN)
    try:
        sent = f"{path}-{start.decode()}-{part}"
        os.close(os.open(sent, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return None  # it was sent at an earlier start
    except OSError:
        pass  # a full disk: better twice than never
    at = 2 * (part - 1)
    text, line = fields[at : at + 2] or (b"", b"")
    return text, os.fsdecode(log), line


def prune(folder: str, oldest: float) -> None:
    """Remove the files in *folder* that were written before *oldest*."""
    with os.scandir(folder) as found:
        for entry in found:
            try:
                if entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)
            except OSError:  # another process was quicker
                continue
