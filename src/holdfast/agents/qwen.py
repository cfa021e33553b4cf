"""Qwen Code."""

from __future__ import annotations

from holdfast.agents import Agent
from holdfast.config.capabilities import Capabilities
from holdfast.text.room import Room


class Qwen(Agent):
    """Its summariser does not see the plain text of a PreCompact hook, but a context."""

    name = "qwen"
    capabilities = Capabilities(room=Room(9_500), parts=True, tells_failures=True)

    def noted(self, text: str) -> dict[str, object]:
        return self.specific("PreCompact", additionalContext=text)


AGENT = Qwen()
