"""Qwen Code. Light."""

from __future__ import annotations

from holdfast.capabilities import Capabilities
from holdfast.room import Room
from holdfast.wire.agents.base import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.wire.agents.base import Said


class Qwen(Agent):
    """Plain text of a PreCompact does not reach its summariser; a context does."""

    name = "qwen"
    takes = Capabilities(room=Room(9_500), parts=True, tells_failures=True)

    def noted(self, text: str) -> Said:
        return self.specific("PreCompact", additionalContext=text)


AGENT = Qwen()
