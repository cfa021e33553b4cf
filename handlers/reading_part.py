"""SessionStart with --part k: the text of one part of the required reading, or nothing.

Every part finds the workflow as the main hook does and makes the same plan. Nothing is written.
"""

from __future__ import annotations

from holdfast import restore, sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import ReadingPart
from holdfast.wire.replies import Nothing, Reply, Restored


def handle(event: ReadingPart, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    synced = sync.run(surroundings.cwd, event.envelope.session, surroundings, clock, wait=None)
    entry.root = synced.root
    settings = synced.place.settings
    chosen = synced.choice().chosen
    full = settings.enabled and settings.restores(event.source) == "full"
    if not chosen or not full:
        return Nothing()
    parts = restore.reading_of(synced, chosen, event.source, restore.foreseen(synced)).parts
    if event.part > len(parts):
        return Nothing()
    entry.quiet = False
    entry.decided = f"sent reading {event.part} of {len(parts)} of {chosen.name!r}"
    return Restored(parts[event.part - 1])
