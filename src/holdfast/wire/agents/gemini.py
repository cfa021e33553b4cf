"""Gemini CLI. Light.

Before every turn it says that it is about to compress, and never says that it has. Its transcript tells
that, before the next prompt.

What the model is told at a start is put in front of the prompt. In a run without a terminal that prompt is
gone when the session is resumed, and no hook is told whether there is a terminal. So at a start only the
person is told.
"""

from __future__ import annotations

from holdfast.capabilities import TRANSCRIPT, Capabilities
from holdfast.room import Room
from holdfast.wire.agents.base import Agent


class Gemini(Agent):
    name = "gemini"
    takes = Capabilities(room=Room(9_500), after=TRANSCRIPT, keeps_starts=False)
    events = {"PreCompress": "PreCompact", "BeforeAgent": "UserPromptSubmit"}  # noqa: RUF012


AGENT = Gemini()
