"""Hook input: bytes to a typed event. No input or output happens here.

Every field may be missing, null or of another type than documented; such a field reads as None.
Event names are strings and not an enum, because newer clients add names.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple, TypeAlias

from holdfast.errors import BadHookInput

LARGEST = 8 * 1024 * 1024


class Envelope(NamedTuple):
    """What every event carries."""

    name: str
    session: str | None
    cwd: str | None
    agent_id: str | None  # set when the payload comes from a subagent
    source: str | None  # what set it off: the trigger of a compaction, the source of a session


class PreCompact(NamedTuple):
    envelope: Envelope


class SessionStart(NamedTuple):
    envelope: Envelope
    source: str


class Other(NamedTuple):
    """An event that Holdfast has nothing to say to."""

    envelope: Envelope


Event: TypeAlias = PreCompact | SessionStart | Other


def parse(raw: bytes) -> Event:
    """The event in *raw*, or BadHookInput with the reason."""
    if len(raw) > LARGEST:
        raise BadHookInput(f"the hook input is larger than {LARGEST} bytes")
    if not raw.strip():
        raise BadHookInput("the hook input is empty")
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:  # ValueError: JSON and Unicode errors alike
        raise BadHookInput(f"the hook input is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise BadHookInput(f"the hook input is a JSON {type(payload).__name__}, not an object")

    def text(key: str) -> str | None:
        value = payload.get(key)
        return value if isinstance(value, str) and value and "\0" not in value else None

    name = text("hook_event_name")
    if name is None:
        raise BadHookInput("the hook input names no hook_event_name")
    cwd = text("cwd")
    envelope = Envelope(
        name,
        text("session_id"),
        cwd if cwd and _is_path(cwd) else None,
        text("agent_id"),
        text("source") or text("trigger"),
    )
    if name == "PreCompact":
        return PreCompact(envelope)
    if name == "SessionStart":
        return SessionStart(envelope, text("source") or "startup")
    return Other(envelope)


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate that no file name can hold
        return False
    return True
