"""Claude Code."""

from __future__ import annotations

from holdfast.agents import Agent
from holdfast.config.capabilities import USUAL


class Claude(Agent):
    """The only one that watches files. It takes a note for the summariser as plain text."""

    name = "claude"
    capabilities = USUAL  # over 10,000 characters it shows a preview of a context
    watches = True

    def noted(self, text: str) -> str:
        return text


AGENT = Claude()
