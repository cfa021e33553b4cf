"""PostCompact: count the compaction, and note what of the workflow its summary kept.

Nothing is said here; the next guidance stresses what was lost.
"""

from __future__ import annotations

from holdfast import compactions, sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.store import HOOK_WAIT
from holdfast.wire.events import PostCompact
from holdfast.wire.replies import Nothing, Reply


def handle(event: PostCompact, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    session = event.envelope.session
    synced = sync.run(surroundings.cwd, session, surroundings, clock, wait=None)
    entry.root = synced.root
    entry.why += synced.notes
    if not synced.place.settings.enabled:
        entry.decided = "nothing: switched off in the project's settings"
        return Nothing()
    choice = synced.choice()
    if choice.chosen is None:
        entry.decided = f"nothing counted: {choice.why}"
        return Nothing()
    chosen = choice.chosen
    entry.why.append(f"{chosen.name!r}: {choice.why}")
    found = compactions.check(synced.place, chosen, session, event.summary)
    if found:  # noted before it is saved, so that the log has it even where that fails
        entry.why += [f"not kept: {fact.label}: {fact.text}" for fact in found.missing]
    noted = compactions.summarised(synced.place, chosen, session, found, HOOK_WAIT)
    entry.decided = str(noted) if found else f"compactions: {noted.count}, no summary was given"
    return Nothing()
