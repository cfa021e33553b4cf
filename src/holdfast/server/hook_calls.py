"""Tool events of the client, answered by this process instead of one for each.

The client fills in the fields of an `mcp_tool` hook (registration.py) one by one, as text: objects as
JSON, and what an event does not have as nothing. Put together again, they take the way of every hook. Only tool events
come here: were the server dead, no restore could come from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.clock import Clock
from holdfast.errors import BadHookInput
from holdfast.hooks import full
from holdfast.project import Surroundings
from holdfast.registration import TOOL_EVENTS


class HookCalls:
    """Made once a server."""

    def __init__(self, surroundings: Surroundings, clock: Clock) -> None:
        self._surroundings = surroundings
        self._clock = clock

    def hook_event(
        self,
        hook_event_name: str,
        session_id: str = "",
        cwd: str = "",
        agent_id: str = "",
        tool_name: str = "",
        tool_input: Any = "",
        tool_response: Any = "",
        error: str = "",
        is_interrupt: Any = "",
    ) -> str:
        """Answer a hook of the client. For its settings, not for agents."""
        if hook_event_name not in TOOL_EVENTS:
            raise BadHookInput(
                f"{hook_event_name!r} is no tool event",
                hint="Register it as a command: holdfast install",
            )
        payload = {
            "hook_event_name": hook_event_name,
            "session_id": session_id,
            "cwd": cwd,
            "agent_id": agent_id,
            "tool_name": tool_name,
            "tool_input": _value(tool_input),
            "tool_response": _value(tool_response),
            "error": error,
            "is_interrupt": _value(is_interrupt),
        }
        return self._answer({key: value for key, value in payload.items() if value != ""})

    def _answer(self, payload: Mapping[str, object]) -> str:
        raw = json.dumps(payload).encode()
        outcome = full.run(raw, self._surroundings, self._clock)
        return outcome.stdout.decode()


def _value(given: object) -> object:
    """What the client wrote as JSON; as it is where that is no JSON."""
    if not isinstance(given, str) or not given:
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
