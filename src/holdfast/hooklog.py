"""The hook log: one JSON line a run, kept in the user's folder, never in the repository.

It holds what was decided and why. It holds no environment and no text of the conversation.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime

from holdfast import clock

LARGEST = 1024 * 1024  # then the log is moved to hook.jsonl.1, over the one before
LONGEST_LINE = 4000  # one write of this size is not mixed with another process's


class Entry:
    """What one run of a hook has to tell; filled while it runs."""

    def __init__(self) -> None:
        self.event = ""
        self.source = ""
        self.session = ""
        self.root = ""
        self.decided = ""
        self.why: list[str] = []

    def line(self, at: datetime, milliseconds: float) -> bytes:
        record: dict[str, object] = {
            "at": clock.iso(at),
            "event": self.event[:100],
            "source": self.source[:100],
            "session": self.session[:100],
            "root": self.root[:1000],
            "decided": self.decided[:300],
            "why": [reason[:300] for reason in self.why[:20]],
            "ms": round(milliseconds, 1),
        }
        reasons = [reason[:300] for reason in self.why[:20]]
        encoded = _encode(record)
        while len(encoded) > LONGEST_LINE and reasons:
            reasons.pop()
            record["why"] = [*reasons, "…"]
            encoded = _encode(record)
        if len(encoded) > LONGEST_LINE:  # letters of three or four bytes each
            encoded = _encode(record | {"root": self.root[:200], "decided": self.decided[:100]})
        return encoded


def _encode(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def folder(state_dir: str, root: str) -> str:
    """Where the user's folder keeps what belongs to the project at *root*."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(root))[:40]
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return os.path.join(state_dir, "projects", f"{name}-{digest}")


def path(state_dir: str, root: str) -> str:
    return os.path.join(folder(state_dir, root), "hook.jsonl")


def append(state_dir: str | None, root: str, line: bytes) -> None:
    """Add *line*; a log that cannot be written is no reason to fail a hook."""
    if state_dir is None:
        return
    target = path(state_dir, root)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
            if os.fstat(descriptor).st_size > LARGEST:
                _rotate(descriptor, target)
        finally:
            os.close(descriptor)
    except OSError:
        return


def _rotate(descriptor: int, target: str) -> None:
    # Only the process that holds the lock on the very file that is still in place moves it, so
    # that two processes at the limit cannot push a fresh log over the full one.
    try:
        import fcntl  # noqa: PLC0415  # not on Windows, where the worst case is a lost generation
    except ImportError:
        pass
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if os.path.samestat(os.fstat(descriptor), os.stat(target)):
        os.replace(target, f"{target}.1")


def read(state_dir: str | None, root: str) -> Iterator[dict[str, object]]:
    """All entries, oldest first; a line that is not one is passed over."""
    if state_dir is None:
        return
    target = path(state_dir, root)
    for name in (f"{target}.1", target):
        try:
            with open(name, "rb") as stream:
                lines = stream.readlines()
        except OSError:
            continue
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record
