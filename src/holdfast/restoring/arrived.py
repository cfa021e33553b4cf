"""What reached the model after the last compaction, read from the client's transcript.

For `doctor --delivery`, never for a hook.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from holdfast.config.settings import MOST_PARTS
from holdfast.errors import StateUnreadable
from holdfast.files import ownjson
from holdfast.restoring import guidance, reading
from holdfast.text.room import units

_EVENT = "SessionStart"
_COMPACT = f"{_EVENT}:compact"  # so each hook's own result is named; what they said together is not
_LONGEST_LINE = 64 * 1024 * 1024
_CUT = "<persisted-output>"  # what the client puts in place of a text that it finds too long


@dataclass
class Compaction:
    """The last compaction, and what the hooks then told the model."""

    at: str
    trigger: str
    contexts: list[str] = field(default_factory=list)  # as the model got them
    said: list[str] = field(default_factory=list)  # stdout of each hook
    failures: dict[str, str] = field(default_factory=dict)  # by the hook's command: why
    hook: str = _COMPACT  # whose results stand before this point of the transcript


class Piece(NamedTuple):
    """One piece of a restore."""

    what: str  # "guidance", "part 2 of 7"
    became: Literal["arrived", "missing", "doubled", "failed"]
    detail: str


def last_compaction(path: Path) -> Compaction | None:
    """The last compaction in the transcript at *path*; None when there was none."""
    last = None
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StateUnreadable(path, "not a regular file")
        with path.open("rb") as lines:
            while line := lines.readline(_LONGEST_LINE):
                # A transcript may be long; skip the lines that do not matter here.
                if b'"compact_boundary"' not in line and b'"hook_' not in line:
                    continue
                for record in ownjson.parse(line):
                    if record.get("subtype") == "compact_boundary":
                        details = record.get("compactMetadata")
                        trigger = details.get("trigger") if isinstance(details, dict) else None
                        last = Compaction(str(record.get("timestamp") or ""), str(trigger or ""))
                    elif last is not None:
                        _note(last, record)
    except OSError as error:
        raise StateUnreadable(path, error.strerror or str(error)) from error
    return last


def _note(compaction: Compaction, record: Mapping[str, object]) -> None:
    """Add a hook's result in *record* to *compaction*."""
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
        compaction.failures.setdefault(str(attachment.get("command")), str(reason))


def _texts(content: object) -> list[str]:
    texts = content if isinstance(content, list) else [content]
    return [text for text in texts if isinstance(text, str) and text]


_GUIDANCE = (0, 0)  # in place of the number of a part and how many there are


def pieces(compaction: Compaction) -> list[Piece]:
    """The guidance and each part that it announced: whether it arrived, or why not."""
    arrived: dict[tuple[int, int], list[str]] = {}
    for text in compaction.contexts:
        if (number := _number(text)) and not text.startswith(_CUT):
            arrived.setdefault(number, []).append(text)
    # Without the guidance, go by the parts' own labels.
    promised = min(max((total for _, total in arrived), default=0), MOST_PARTS)
    if guidances := arrived.get(_GUIDANCE):
        promised = guidance.promised_parts(guidances[0])
    numbers = [_GUIDANCE, *((part, promised) for part in range(1, promised + 1))]
    return [_piece(compaction, number, arrived.get(number, [])) for number in numbers]


def _number(text: str) -> tuple[int, int] | None:
    """Which piece of a restore *text* is."""
    return _GUIDANCE if guidance.is_restore(text) else reading.part_number(text)


def _piece(compaction: Compaction, number: tuple[int, int], texts: Sequence[str]) -> Piece:
    """The fate of piece *number*, given the *texts* that arrived."""
    what, arguments = f"part {number[0]} of {number[1]}", f" --part {number[0]}"
    if number == _GUIDANCE:
        what, arguments = "guidance", ""
    if texts:
        holds = "; ".join(reading.labels(texts[0]))
        detail = f"{units(texts[0]):,} characters" + (f": {holds}" if holds else "")
        if len(texts) == 1:
            return Piece(what, "arrived", detail)
        often = f"{len(texts)} times, so the hooks are registered more than once"
        return Piece(what, "doubled", f"{detail}; {often}")
    for command, reason in compaction.failures.items():
        if command.endswith(f"hook{arguments}"):
            return Piece(what, "failed", f"{command}: {reason}")
    if number not in [_number(_context(stdout)) for stdout in compaction.said]:
        detail = "no hook printed it; is it registered? (settings.example.json)"
    elif any(text.startswith(_CUT) for text in compaction.contexts):
        detail = "the client replaced it with a preview"
    else:
        detail = "the hook printed it, but the client did not pass it on"
    return Piece(what, "missing", detail)


def _context(stdout: str) -> str:
    try:
        reply = json.loads(stdout)
        return str(reply["hookSpecificOutput"]["additionalContext"])
    except (ValueError, KeyError, TypeError):
        return stdout
