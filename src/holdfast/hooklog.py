"""The hook log: one JSON line a run, kept in the user's folder, never in the repository.

It holds what was decided and why. It holds no environment and no text of the conversation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime

from holdfast import appending, clock, jsonlines, versions
from holdfast.digests import digest

LARGEST = 1024 * 1024  # then the log is moved to hook.jsonl.1, over the one before
LONGEST_LINE = 4000  # one write of this size is not mixed with another process's


class Entry:
    """What one run of a hook has to tell; filled while it runs."""

    def __init__(self) -> None:
        self.event = ""
        self.source = ""
        self.session = ""
        self.agent = ""  # which one asked
        self.root = ""
        self.decided = ""
        self.why: list[str] = []
        self.transcript = ""  # noted at a restore, so that `doctor --delivery` finds it
        self.quiet = False  # said and decided nothing; the log has no line for every tool call

    def record(self, at: datetime, milliseconds: float) -> dict[str, object]:
        record: dict[str, object] = {
            "version": versions.KNOWN["log"],
            "at": clock.iso(at),
            "event": self.event[:100],
            "source": self.source[:100],
            "session": self.session[:100],
            "root": self.root[:1000],
            "decided": self.decided[:300],
            "why": [reason[:300] for reason in self.why[:20]],
            "ms": round(milliseconds, 1),
        }
        if self.agent:
            record["agent"] = self.agent
        if self.transcript:
            record["transcript"] = self.transcript[:1000]
        return record

    def line(self, at: datetime, milliseconds: float) -> bytes:
        record = self.record(at, milliseconds)
        reasons = [reason[:300] for reason in self.why[:20]]
        encoded = jsonlines.encode(record)
        while len(encoded) > LONGEST_LINE and reasons:
            reasons.pop()
            record["why"] = [*reasons, "…"]
            encoded = jsonlines.encode(record)
        if len(encoded) > LONGEST_LINE:  # letters of three or four bytes each
            encoded = jsonlines.encode(
                record | {"root": self.root[:200], "decided": self.decided[:100]}
            )
        return encoded


def failed(cause: str) -> str:
    """What a run has decided that failed, as the log has it."""
    return f"failed: {cause}"


def folder(state_dir: str, root: str) -> str:
    """Where the user's folder keeps what belongs to the project at *root*."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(root))[:40]
    return os.path.join(state_dir, "projects", f"{name}-{digest(os.fsencode(root))[:12]}")


def path(state_dir: str, root: str) -> str:
    return os.path.join(folder(state_dir, root), "hook.jsonl")


def append(state_dir: str | None, root: str, line: bytes) -> None:
    """Add *line*; a log that cannot be written is no reason to fail a hook."""
    if state_dir is None:
        return
    target = path(state_dir, root)
    try:
        if appending.append(target, line) > LARGEST:
            rotate(target)
    except OSError:
        return


def rotate(target: str) -> None:
    """Move the log at *target* over the one before."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        # Windows moves no file that is open, so there is nothing to hold a lock on meanwhile. The
        # worst case is that two processes at the limit lose a generation.
        os.replace(target, f"{target}.1")
        return
    # Only the process that holds the lock on the very file that is still in place moves it, so
    # that two processes at the limit cannot push a fresh log over the full one.
    descriptor = os.open(target, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if status.st_size > LARGEST and os.path.samestat(status, os.stat(target)):
            os.replace(target, f"{target}.1")
    finally:
        os.close(descriptor)


def read(state_dir: str | None, root: str) -> Iterator[dict[str, object]]:
    """All entries, oldest first; a line that is not one of ours is passed over."""
    for _, record in _records(state_dir, root):
        if not versions.is_newer("log", record):
            yield record


def last(state_dir: str | None, root: str, session: str | None, event: str) -> str:
    """What was decided at the last *event* of *session*; empty where there was none."""
    decided = ""
    for record in read(state_dir, root):
        if (record.get("session"), record.get("event")) == (session, event):
            decided = str(record.get("decided"))
    return decided


def passed_over(state_dir: str | None, root: str) -> list[str]:
    """What to say of lines that a newer Holdfast has added."""
    found = (versions.left_alone("log", name, each) for name, each in _records(state_dir, root))
    return list(dict.fromkeys(line for line in found if line))


def _records(state_dir: str | None, root: str) -> Iterator[tuple[str, dict[str, object]]]:
    if state_dir is None:
        return
    target = path(state_dir, root)
    for name in (f"{target}.1", target):
        for record in jsonlines.read(name, 2 * LARGEST):
            yield name, record
