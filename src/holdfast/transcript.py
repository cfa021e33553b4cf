"""What the client wrote down about its last compaction: for `doctor --delivery`, never for a hook."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import StateUnreadable

_EVENT = "SessionStart"
_COMPACT = f"{_EVENT}:compact"  # so each hook's own result is named; what they said together is not
_LONGEST_LINE = 64 * 1024 * 1024


class Failure(NamedTuple):
    """A hook that did not come to its end."""

    command: str
    reason: str


@dataclass
class Compaction:
    """The last one, and what the hooks of the session's new start said to the model."""

    at: str
    trigger: str
    contexts: list[str] = field(default_factory=list)  # as the model got them
    said: list[str] = field(default_factory=list)  # stdout of each hook
    failures: list[Failure] = field(default_factory=list)
    hook: str = _COMPACT  # whose results stand before this point of the transcript


def last_compaction(path: Path) -> Compaction | None:
    """The last compaction in the transcript at *path*; None when there was none."""
    last = None
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StateUnreadable(path, "not a regular file")
        with path.open("rb") as lines:
            while line := lines.readline(_LONGEST_LINE):
                # A transcript may be long, and most of its lines are none of our business.
                if b'"compact_boundary"' not in line and b'"hook_' not in line:
                    continue
                record = _record(line)
                if record.get("subtype") == "compact_boundary":
                    last = _begun(record)
                elif last is not None:
                    _note(last, record)
    except OSError as error:
        raise StateUnreadable(path, error.strerror or str(error)) from error
    return last


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _begun(record: dict[str, Any]) -> Compaction:
    details = record.get("compactMetadata")
    trigger = details.get("trigger") if isinstance(details, dict) else None
    return Compaction(str(record.get("timestamp") or ""), str(trigger or ""))


def _note(compaction: Compaction, record: dict[str, Any]) -> None:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return
    name = str(attachment.get("hookName"))
    if name.startswith(f"{_EVENT}:"):
        compaction.hook = name
    if compaction.hook != _COMPACT or name not in {_EVENT, _COMPACT}:
        return  # another event, or the session was resumed later on
    kind = attachment.get("type")
    if kind == "hook_additional_context":
        compaction.contexts += _texts(attachment.get("content"))
    elif kind == "hook_success":
        compaction.said += _texts(attachment.get("stdout"))
    elif isinstance(kind, str) and ("error" in kind or "cancelled" in kind):
        late = "it took too long" if attachment.get("timedOut") else ""
        reason = late or attachment.get("stderr") or attachment.get("content") or kind
        compaction.failures.append(Failure(str(attachment.get("command")), str(reason)))


def _texts(content: object) -> Iterator[str]:
    for each in content if isinstance(content, list) else [content]:
        if isinstance(each, str) and each:
            yield each
