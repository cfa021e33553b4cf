"""FileChanged: an edit of what declares a workflow goes into the state at once.

So nothing is lost even where PreCompact never runs. The client runs it beside the conversation.
"""

from __future__ import annotations

from holdfast import sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import FileChanged
from holdfast.wire.replies import Nothing, Reply


def handle(event: FileChanged, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    sync.follow(event.path, event.envelope.session, surroundings, clock, entry)
    return Nothing()
