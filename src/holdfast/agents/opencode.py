"""opencode, which has plugins and no hooks: our plugin calls the hooks with payloads in our format."""

from __future__ import annotations

from holdfast.agents import Agent
from holdfast.config.capabilities import Capabilities
from holdfast.text.room import Room


class Opencode(Agent):
    """The plugin puts everything into one message, which nothing cuts."""

    name = "opencode"
    capabilities = Capabilities(room=Room(60_000))

    def noted(self, text: str) -> str:
        return text


AGENT = Opencode()
