"""SessionStart: bring the workflow back, wholly after a compaction, in one line otherwise.

It syncs again, because PreCompact may not have run and the markdown may be newer.
"""

from __future__ import annotations

from holdfast import guidance, restore, sync
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.selection import Choice, origin
from holdfast.store import HOOK_WAIT
from holdfast.wire.events import SessionStart
from holdfast.wire.replies import Nothing, Reply, Restored

_VERBS = {"compact": "restored", "resume": "resumed", "fork": "carried over"}


def handle(event: SessionStart, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    session = event.envelope.session
    synced = sync.run(surroundings.cwd, session, surroundings, clock, wait=HOOK_WAIT)
    entry.root = synced.root
    notes = list(synced.notes)
    if synced.failure:
        notes.append(f"Holdfast could not save the workflow: {synced.failure.cause}")
    entry.why += notes
    depth = synced.place.settings.restores(event.source)
    if not synced.place.settings.enabled or depth == "off":
        entry.decided = f"nothing: {event.source} is switched off in the settings or not known"
        return Nothing()
    entry.why += [f"saved {name!r}" for name in synced.saved]
    choice = synced.choice()
    if choice.chosen is None:
        entry.decided = f"nothing restored: {choice.why}"
        entry.why += [f"{path}: {what}" for path, what in synced.looked]
        entry.why += [f"{each.name}: {each.remark}" for each in choice.others]
        left = _ended(choice) if event.source == "compact" else []
        synced.told()
        return Restored(message=_message([*left, *notes]))
    chosen = choice.chosen
    entry.why.append(f"{chosen.name!r}: {choice.why}")
    entry.why += [f"not {each.name!r}: {each.remark or origin(each)}" for each in choice.others]
    if depth == "line":
        entry.decided = f"named {chosen.name!r}"
        synced.told()
        return Restored(guidance.in_one_line(chosen.briefing), _message(notes))
    if synced.claim and synced.claim.workflow not in {"", chosen.key}:
        notes.insert(0, f"not the one before, because {choice.why}")
    synced.take(chosen)
    synced.told()
    entry.decided = f"restored {chosen.name!r}, {chosen.briefing.where}"
    line = guidance.for_person(chosen.briefing, _VERBS.get(event.source, "restored"))
    return Restored(restore.text(synced, chosen, choice, event.source), _message([line, *notes]))


def _ended(choice: Choice) -> list[str]:
    """What is over but still there; what was ended properly needs no word."""
    left = [each for each in choice.others if each.kept]
    return [f"Workflow not restored: {restore.in_brief(each)}" for each in left[:3]]


def _message(lines: list[str]) -> str:
    return " · ".join(lines)
