"""Hook input: bytes to a typed event. No input or output happens here.

Every field may be missing, null or of another type than documented; such a field reads as None.
Event names are strings and not an enum, because newer clients add names.
"""

from __future__ import annotations

import json
from typing import NamedTuple, TypeAlias

from holdfast.errors import BadHookInput

LARGEST = 8 * 1024 * 1024


class Envelope(NamedTuple):
    """What every event carries."""

    name: str
    session: str | None
    cwd: str | None
    agent_id: str | None  # set when the payload comes from a subagent


class PreCompact(NamedTuple):
    envelope: Envelope
    trigger: str | None


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
        return value if isinstance(value, str) and value else None

    name = text("hook_event_name")
    if name is None:
        raise BadHookInput("the hook input names no hook_event_name")
    envelope = Envelope(name, text("session_id"), text("cwd"), text("agent_id"))
    if name == "PreCompact":
        return PreCompact(envelope, text("trigger"))
    if name == "SessionStart":
        return SessionStart(envelope, text("source") or "startup")
    return Other(envelope)
