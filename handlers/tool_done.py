"""PostToolUse and PostToolUseFailure: what the session has opened."""

from __future__ import annotations

from holdfast import delivery
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import ToolDone
from holdfast.wire.replies import Nothing, Reply


def handle(event: ToolDone, surroundings: Surroundings, _clock: Clock, _entry: Entry) -> Reply:
    path = event.given.get("file_path")
    own = event.envelope.agent_id is None  # what a subagent has read, its caller has not
    if event.tool == "Read" and own and event.error is None and isinstance(path, str):
        delivery.opened(surroundings.state_dir, event.envelope.session, [path])
    return Nothing()
