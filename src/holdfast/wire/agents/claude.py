"""Claude Code. Light."""

from __future__ import annotations

from holdfast.capabilities import USUAL
from holdfast.wire.agents.base import Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.wire.agents.base import Said


class Claude(Agent):
    """It alone watches files, and takes what it is told for the summary as plain text."""

    name = "claude"
    takes = USUAL  # over 10,000 characters it shows a preview of a context

    def noted(self, text: str) -> Said:
        return text

    def restored(self, event: str, context: str, message: str, watch: Sequence[str]) -> Said:
        specific: dict[str, object] = {}
        if context:
            specific["additionalContext"] = context
        if watch:
            specific["watchPaths"] = list(watch)
        said = self.specific(event, **specific) if specific else {}
        if message:
            said["systemMessage"] = message
        return said or None


AGENT = Claude()
