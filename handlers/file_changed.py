"""FileChanged: an edit of what declares a workflow goes into the state at once.

So nothing is lost even where PreCompact never runs. The client runs it beside the conversation.
"""

from __future__ import annotations

from holdfast import sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.store import HOOK_WAIT
from holdfast.wire.events import FileChanged
from holdfast.wire.replies import Nothing, Reply


def handle(event: FileChanged, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    session = event.envelope.session
    synced = sync.run(surroundings.cwd, session, surroundings, clock, wait=HOOK_WAIT)
    entry.root = synced.root
    entry.why += synced.notes
    if synced.failure:
        raise synced.failure
    if synced.saved:
        entry.decided, entry.quiet = f"saved {len(synced.saved)}", False
        entry.why += [f"{event.path} changed", *(f"saved {name!r}" for name in synced.saved)]
    return Nothing()
