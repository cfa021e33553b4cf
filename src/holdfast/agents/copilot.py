"""GitHub Copilot CLI.

No event follows a compaction, which removes what a session was told at its start. A compaction that has begun may be
cancelled, and begin again with the next prompt. The transcript tells of one that was applied, and PreCompact names the
transcript; so the workflow is told with the next prompt.
"""

from __future__ import annotations

import time

from holdfast.agents import Agent
from holdfast.config.capabilities import Capabilities, Transcript
from holdfast.files.fingerprints import digest
from holdfast.text.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.agents import Payload, Said


class CopilotTranscript(Transcript):
    """One event a line, with an id and a time. They are written some time after they have happened."""

    marker = b"session.compaction_"
    announced = True

    def compactions(self, record: object) -> list[str]:
        if not isinstance(record, dict) or record.get("type") != _COMPLETE:
            return []
        data = record.get("data")
        applied = isinstance(data, dict) and data.get("success") is True
        known_by = repr([record.get("id"), record.get("timestamp")]).encode("utf-8", "replace")
        return [digest(known_by)[:16]] if applied else []

    def at(self, record: object) -> str:
        at = record.get("timestamp") if isinstance(record, dict) else None
        return at if isinstance(at, str) else ""

    def goes_on(self, record: object) -> bool | None:
        event = record.get("type") if isinstance(record, dict) else None
        known = isinstance(event, str) and event in {_START, _COMPLETE}
        return event == _START if known else None


_START, _COMPLETE = "session.compaction_start", "session.compaction_complete"


class Copilot(Agent):
    """It has its own name for a context, and shows nothing to the person."""

    name = "copilot"
    capabilities = Capabilities(room=Room(60_000), transcript=CopilotTranscript(), shows=False)
    sources = {"new": "startup"}  # noqa: RUF012  # as in the base, where it is annotated

    def given(self, payload: Payload) -> Payload:
        return super().given(_of_camel_case(payload) if "sessionId" in payload else payload)

    def restored(self, event: str, context: str, message: str, watch: Sequence[str]) -> Said:  # noqa: ARG002
        return {"additionalContext": context} if context else None

    def reminded(self, context: str) -> Said:
        return {"additionalContext": context}


# Events registered by their names in camelCase do not say which they are; their fields tell.
_FIELDS = {"sessionId": "session_id", "transcriptPath": "transcript_path", "agentId": "agent_id"}
_LATEST = 253_402_300_799_000  # milliseconds until the year 10000, which no clock shows
_TOLD_BY = {"source": "SessionStart", "trigger": "PreCompact", "prompt": "UserPromptSubmit"}


def _of_camel_case(payload: Payload) -> Payload:
    named = {_FIELDS.get(key, key): value for key, value in payload.items()}
    if isinstance(at := payload.get("timestamp"), int):
        seconds, rest = divmod(min(max(at, 0), _LATEST), 1000)
        named["timestamp"] = time.strftime(f"%Y-%m-%dT%H:%M:%S.{rest:03}Z", time.gmtime(seconds))
    event = next((event for field, event in _TOLD_BY.items() if field in payload), None)
    return named if event is None else {"hook_event_name": event, **named}


AGENT = Copilot()
