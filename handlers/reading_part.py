"""SessionStart with --part k: the text of one part of the required reading, or nothing.

Every part finds the workflow as the main hook does and makes the same plan. Nothing is written.
"""

from __future__ import annotations

from holdfast import forecast, restore, sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import ReadingPart
from holdfast.wire.replies import Nothing, Reply, Restored


def handle(event: ReadingPart, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    foreseen = forecast.parts(surroundings.state_dir, event.envelope.session)
    synced = sync.run(surroundings.cwd, event.envelope.session, surroundings, clock, wait=None)
    entry.root = synced.root
    choice = synced.choice()
    chosen = choice.chosen
    if not chosen or restore.depth(synced, choice, event.source) != "full":
        return Nothing()
    parts = restore.reading_of(synced, chosen, event.source, foreseen).parts
    if event.part > len(parts):
        return Nothing()
    entry.quiet = False
    entry.decided = decided(event.part, len(parts), chosen.name)
    return Restored(parts[event.part - 1])


def decided(part: int, parts: int, name: str) -> str:
    return f"sent reading {part} of {parts} of {name!r}"
