"""opencode, which has plugins and no hooks: ours calls these with payloads of our own shape. Light."""

from __future__ import annotations

from holdfast.capabilities import Capabilities
from holdfast.room import Room
from holdfast.wire.agents.base import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.wire.agents.base import Said


class Opencode(Agent):
    """The plugin puts all that it is told into one message, which nothing cuts."""

    name = "opencode"
    takes = Capabilities(room=Room(60_000))

    def noted(self, text: str) -> Said:
        return text


AGENT = Opencode()
