"""What the hooks of an agent give and take, as most have it; each row of the table says where it differs. Light."""

from __future__ import annotations

from holdfast.capabilities import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, TypeAlias

    Payload: TypeAlias = dict[str, Any]
    # What is printed: an object as JSON, a text as it is, and nothing for None.
    Said: TypeAlias = Mapping[str, Any] | str | None


class Agent:
    """One agent: its payload as ours, and what is to be said as its own hooks want it.

    Our payload is that of Claude Code, whose protocol the others have copied in part.
    """

    name: ClassVar[str]
    takes: ClassVar[Capabilities]
    events: ClassVar[Mapping[str, str]] = {}  # what the agent calls an event -> what we call it
    sources: ClassVar[Mapping[str, str]] = {}  # the same of what set it off

    def given(self, payload: Payload) -> Payload:
        """*payload* as ours. What it holds may be anything."""
        return renamed(renamed(payload, "hook_event_name", self.events), "source", self.sources)

    def called(self, event: str) -> str:
        """What the agent calls our *event*."""
        return next((theirs for theirs, ours in self.events.items() if ours == event), event)

    def noted(self, text: str) -> Said:  # noqa: ARG002  # for those that can
        """For the summariser. Most agents have no way to it."""
        return None

    def restored(self, event: str, context: str, message: str, watch: Sequence[str]) -> Said:  # noqa: ARG002
        """For the model and for the person, either may be empty; files to watch, where the agent can."""
        said: dict[str, object] = {}
        if context:
            said |= self.specific(event, additionalContext=context)
        if message:
            said["systemMessage"] = message
        return said or None

    def reminded(self, context: str) -> Said:
        """For the model, before a tool call that goes on."""
        return self.specific("PreToolUse", additionalContext=context)

    def denied(self, reason: str) -> Said:
        """For the model, in place of a tool call."""
        return self.specific(
            "PreToolUse", permissionDecision="deny", permissionDecisionReason=reason
        )

    def specific(self, event: str, **output: object) -> dict[str, object]:
        return {"hookSpecificOutput": {"hookEventName": self.called(event), **output}}


def renamed(payload: Payload, field: str, names: Mapping[str, str]) -> Payload:
    """*payload* with another word in *field*, where *names* has one for it."""
    value = payload.get(field)
    found = names.get(value) if isinstance(value, str) else None
    return payload if found is None else {**payload, field: found}
