"""Codex CLI. Light.

Its schema refuses a reply with a key that it does not know, so that nothing would be injected for one too
many. PreCompact has no way to the summariser.
"""

from __future__ import annotations

from holdfast.capabilities import Capabilities
from holdfast.room import Room
from holdfast.wire.agents.base import Agent


class Codex(Agent):
    name = "codex"
    # It counts a token for every four bytes of a hook's context, and cuts what is over 2,500 of them.
    takes = Capabilities(room=Room(9_500, in_bytes=True), parts=True, starts_twice=True)


AGENT = Codex()
