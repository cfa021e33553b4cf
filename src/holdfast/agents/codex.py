"""Codex CLI.

Its schema rejects a reply with an unknown key, and then nothing is injected. PreCompact cannot reach the summariser.
"""

from __future__ import annotations

from holdfast.agents import Agent
from holdfast.config.capabilities import Capabilities
from holdfast.text.room import Room


class Codex(Agent):
    name = "codex"
    # It counts a token for every four bytes of a hook's context, and cuts what is over 2,500 of them.
    capabilities = Capabilities(room=Room(9_500, in_bytes=True), parts=True, starts_twice=True)


AGENT = Codex()
