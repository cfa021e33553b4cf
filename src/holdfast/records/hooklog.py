"""The hook log: one JSON line a run, kept in the user's folder, never in the repository.

It holds what was decided and why. It holds no environment and no text of the conversation. Hooks of tool calls write a
line only if they said something, because the log is for people.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from holdfast import clock
from holdfast.files import atomic, ownjson
from holdfast.files.fingerprints import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 1024 * 1024  # then the log is moved to hook.jsonl.1, over the one before
LONGEST_LINE = 4000  # one write of this size is not mixed with another process's


def record(
    event: str, root: str, agent: str, decided: str, why: Sequence[str], run: Mapping[str, object]
) -> dict[str, object]:
    """What one run of a hook has to tell; *run* is `of_run`, *agent* is who asked."""
    return {
        "version": ownjson.VERSION,
        "event": event[:100],
        "root": root[:500],
        "agent": agent,
        "decided": decided[:300],
        "why": [reason[:300] for reason in why[:20]],
        **run,
    }


ROOT = "root"  # the file in a project's folder that says where it lies


def line(record: Mapping[str, Any], most: int = LONGEST_LINE) -> bytes:
    """The line for *record*, with as many reasons as fit into *most* bytes."""
    shortened, reasons = dict(record), list(record["why"])
    while len(encoded := ownjson.encode(shortened)) > most and reasons:
        reasons.pop()
        shortened["why"] = [*reasons, "…"]
    return encoded


def of_run(
    at: datetime, milliseconds: float, source: str, session: str, transcript: str
) -> dict[str, object]:
    """What differs from run to run in lines that tell the same."""
    record: dict[str, object] = {
        "at": clock.iso(at),
        "source": source[:100],
        "session": session[:100],
        "ms": round(milliseconds, 1),
    }
    return record | {"transcript": transcript[:1000]} if transcript else record


def part_lines(record: Mapping[str, object], count: int) -> list[str]:
    """The line for each of *count* parts of the reading, which come with *record*; whoever sends one adds the time."""
    kept = {key: value for key, value in record.items() if key not in {"at", "ms"}} | {"why": []}
    parts = (f"sent reading {part} of {count}" for part in range(1, count + 1))
    lines = (ownjson.encode({**kept, "decided": decided}) for decided in parts)
    return [line.decode("utf-8", "replace").rstrip() for line in lines]


def folder(state_dir: str, root: str) -> str:
    """Where the user's folder keeps what belongs to the project at *root*."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(root))[:40]
    return os.path.join(state_dir, "projects", f"{name}-{digest(os.fsencode(root))[:12]}")


def note_project(folder: str | None, root: str) -> None:
    """Have the project at *root*, whose *folder* it is, known where no hook has run yet."""
    path = os.path.join(folder or "", ROOT)
    with contextlib.suppress(OSError):
        if folder and not os.path.exists(path):
            atomic.make_private(folder)
            atomic.replace_file(path, os.fsencode(root), mode=0o600)


def path(state_dir: str, root: str) -> str:
    return os.path.join(folder(state_dir, root), "hook.jsonl")


def add(path: str, line: bytes) -> None:
    """Add *line* to the log at *path*, and rotate it when it has grown too large; that fails no hook."""
    with contextlib.suppress(OSError):
        if atomic.append(path, line) > LARGEST:
            atomic.rotate(path, LARGEST)


def read(state_dir: str | None, root: str) -> Iterator[dict[str, object]]:
    """All entries, oldest first; a line that is not one of ours is passed over."""
    for _, record in _records(state_dir, root):
        if not ownjson.is_newer(record):
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
    records = _records(state_dir, root)
    found = (ownjson.newer_version_warning(name, record) for name, record in records)
    return list(dict.fromkeys(line for line in found if line))


def _records(state_dir: str | None, root: str) -> Iterator[tuple[str, dict[str, object]]]:
    if state_dir is None:
        return
    target = path(state_dir, root)
    for name in (f"{target}.1", target):
        for record in ownjson.read(name, 2 * LARGEST):
            yield name, record
