"""PreCompact: save every workflow, and tell the summariser what to keep.

It may fire without a compaction following, and several times for one, so it counts nothing.
"""

from __future__ import annotations

from holdfast import compacting, compactions, guidance, hooklog, restore, sync, transcribed
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.patterns import pattern
from holdfast.project import Surroundings
from holdfast.selection import Choice
from holdfast.store import HOOK_WAIT
from holdfast.sync import Synced
from holdfast.wire.events import PreCompact
from holdfast.wire.replies import Nothing, Reply, SummariserNote

_NUMBERS = pattern(r"\d+")
OFF = "nothing: switched off in the project's settings"


def handle(event: PreCompact, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    session = event.envelope.session
    cwd, saver = surroundings.cwd, event.envelope.name
    # Before it is saved, which may fail or take long: the next prompt may come meanwhile.
    if surroundings.takes.notes_begun:
        compacting.begins(surroundings.state_dir, session, clock.now())
    if told_by := surroundings.takes.transcript:
        path, now = event.envelope.transcript, clock.now()
        transcribed.follow(surroundings.state_dir, session, path, told_by, now)
    synced = sync.run(cwd, session, surroundings, clock, wait=HOOK_WAIT, saver=saver)
    entry.root = synced.root
    entry.why += synced.notes
    choice = synced.choice()
    if synced.failure:
        entry.decided = hooklog.failed(synced.failure.cause)
        if _failed_before(event, synced, entry.decided):
            return Nothing()
        raise synced.failure
    if not synced.place.settings.enabled:
        entry.decided = OFF
        return Nothing()
    if choice.chosen and is_to_take(synced):
        synced.take(choice.chosen)
    restore.foresee(synced, choice.chosen)
    synced.heard_of()
    return told(synced, choice, entry)


def _failed_before(event: PreCompact, synced: Synced, decided: str) -> bool:
    """Whether the person was told the same just before, who would be told before every request."""
    transcript, asked = synced.takes.transcript, event.envelope
    if not transcript or transcript.announced or asked.source != "auto":
        return False
    before = hooklog.last(synced.state_dir, synced.root, asked.session, asked.name)
    # A file that could not be made is called by the time, and the log cuts what is long.
    return bool(before) and _NUMBERS.sub("", decided).startswith(_NUMBERS.sub("", before))


def is_to_take(synced: Synced) -> bool:
    """Whether the session has no workflow yet, so that it gets the one that is saved for it."""
    return bool(synced.session) and not (synced.claim and synced.claim.workflow)


def is_to_note(synced: Synced) -> bool:
    """Whether the event that comes after a compaction would not know of it yet."""
    follows = synced.session and synced.takes.transcript
    return bool(follows) and not transcribed.followed(synced.state_dir, synced.session)


def told(synced: Synced, choice: Choice, entry: Entry) -> Reply:
    """What the summariser is told. Writes nothing."""
    entry.decided = f"saved {len(synced.saved)}" if synced.saved else "nothing changed"
    entry.why += [f"saved {name!r}" for name in synced.saved]
    if choice.chosen is None:
        entry.why += [choice.why, *(f"{path}: {what}" for path, what in synced.looked)]
        return Nothing()
    entry.why.append(f"{choice.chosen.name!r}: {choice.why}")
    lost = compactions.lost(synced.place, choice.chosen)
    return SummariserNote(guidance.for_summariser(choice.chosen.briefing, lost))
