"""GitHub Copilot CLI. Light.

No event follows a compaction, and what a session was told at its start is gone then. So the workflow is
told with the next prompt.
"""

from __future__ import annotations

from holdfast.capabilities import PROMPT, Capabilities
from holdfast.room import Room
from holdfast.wire.agents.base import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.wire.agents.base import Payload, Said


class Copilot(Agent):
    name = "copilot"
    takes = Capabilities(room=Room(9_500), after=PROMPT, shows=False)
    sources = {"new": "startup"}  # noqa: RUF012  # as in the base, where it is annotated

    def given(self, payload: Payload) -> Payload:
        return super().given(_of_camel_case(payload) if "sessionId" in payload else payload)

    def restored(self, event: str, context: str, message: str, watch: Sequence[str]) -> Said:  # noqa: ARG002
        return {"additionalContext": context} if context else None


# Events that were registered by their names in camelCase say so in their fields, and do not say which they are.
_FIELDS = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "agentId": "agent_id",
}
_TOLD_BY = {"source": "SessionStart", "trigger": "PreCompact", "prompt": "UserPromptSubmit"}


def _of_camel_case(payload: Payload) -> Payload:
    named = {_FIELDS.get(key, key): value for key, value in payload.items()}
    event = next((event for field, event in _TOLD_BY.items() if field in payload), None)
    return named if event is None else {"hook_event_name": event, **named}


AGENT = Copilot()
