"""SessionStart: bring the workflow back, wholly after a compaction, in one line otherwise.

It syncs again, because PreCompact may not have run and the markdown may be newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from holdfast import (
    compacting,
    compactions,
    delivery,
    forecast,
    guidance,
    journal,
    restore,
    sessions,
    sync,
    watching,
)
from holdfast.clock import Clock
from holdfast.delivery import Delivery
from holdfast.errors import HoldfastError
from holdfast.formats.base import Workflow
from holdfast.formats.registry import format_of
from holdfast.hooklog import Entry
from holdfast.plaintext import counted
from holdfast.project import Surroundings
from holdfast.reading import ONLY_NAMED, Plan
from holdfast.selection import Choice, origin
from holdfast.store import HOOK_WAIT
from holdfast.sync import Synced
from holdfast.wire.events import SessionStart
from holdfast.wire.replies import Reply, Restored

_REPEATED = timedelta(minutes=1)  # within which a start without a PreCompact is the same one again
_VERBS = {"compact": "restored", "resume": "resumed", "fork": "carried over"}


def handle(event: SessionStart, surroundings: Surroundings, clock: Clock, entry: Entry) -> Reply:
    entry.transcript = event.envelope.transcript or ""
    _restarted(event, surroundings, clock)
    # Before anything is written: the parts that run beside this look at what is there now.
    foreseen = forecast.parts(surroundings.state_dir, event.envelope.session)
    cwd, session, saver = surroundings.cwd, event.envelope.session, event.envelope.name
    synced = sync.run(cwd, session, surroundings, clock, wait=HOOK_WAIT, saver=saver)
    entry.root = synced.root
    notes = list(synced.notes)
    if synced.failure:
        notes.append(f"Holdfast could not save the workflow: {synced.failure.cause}")
    entry.why += notes
    choice = synced.choice()
    depth = restore.depth(synced, choice, event.source)
    tells_of_it = event.source == "compact" or (event.compacted and depth == "full")
    if tells_of_it and choice.chosen:
        entry.why += _counted(synced, choice.chosen)
        if not surroundings.played:
            entry.why += _resumed(synced, choice.chosen)
    watch = watched(synced)
    now = synced.place.now
    if compacting.is_told(synced.state_dir, session, synced.takes, event.source, now):
        entry.decided = compacting.ALREADY_TOLD
        return Restored(message=_message(notes), watch=watch)
    if depth == "off":
        entry.decided = off(event.source)
        return Restored(watch=watch)
    entry.why += [f"saved {name!r}" for name in synced.saved]
    if choice.chosen is None:
        told = _nothing(event, synced, choice, entry)
        delivery.forget(synced.state_dir, synced.session)
        restore.foresee(synced, None)
        synced.told()
        return Restored(message=_message([*told, *notes]), watch=watch)
    if depth == "line":
        entry.why += _reasons(choice)
        entry.decided = f"named {choice.chosen.name!r}"
        synced.told()
        synced.begin_here()
        restore.foresee(synced, choice.chosen)
        return Restored(guidance.in_one_line(choice.chosen.briefing), _message(notes), watch)
    if synced.claim and synced.claim.workflow not in {"", choice.chosen.key}:
        notes.insert(0, f"not the one before, because {choice.why}")
    return _whole(event, synced, choice, choice.chosen, foreseen, notes, entry)


def _nothing(event: SessionStart, synced: Synced, choice: Choice, entry: Entry) -> list[str]:
    """What there is to say where no workflow is restored."""
    entry.decided = f"nothing restored: {choice.why}"
    entry.why += [f"{path}: {what}" for path, what in synced.looked]
    entry.why += [f"{each.name}: {each.remark}" for each in choice.others]
    return _ended(choice) if event.source == "compact" else []


def off(source: str) -> str:
    return f"nothing: {source} is switched off in the settings or not known"


def watched(synced: Synced) -> list[str]:
    """What the client is asked to watch."""
    settings = synced.place.settings
    folders = [synced.root, *synced.searched]
    return watching.paths(folders, settings.plans) if settings.enabled else []


def _reasons(choice: Choice) -> list[str]:
    """Why this workflow and not another."""
    chosen = [choice.chosen] if choice.chosen else []
    return [
        *(f"{each.name!r}: {choice.why}" for each in chosen),
        *(f"not {each.name!r}: {each.remark or origin(each)}" for each in choice.others),
    ]


def _whole(
    event: SessionStart,
    synced: Synced,
    choice: Choice,
    chosen: Workflow,
    foreseen: int | None,
    notes: list[str],
    entry: Entry,
) -> Reply:
    """The whole restore, with the session's claim and what was delivered noted."""
    plan = restore.reading_of(synced, chosen, event.source, foreseen)
    compacted = event.source == "compact"
    if not (compacted and synced.has(chosen)):  # see _resumed
        synced.take(chosen)
    synced.told()
    before = delivery.recall(synced.state_dir, synced.session)
    if before and not compacted and _was_compacted(event, synced):
        before = before._replace(opened=frozenset())
    reply, delivered = restoration(synced, choice, chosen, event.source, plan, before, notes, entry)
    delivery.record(synced.state_dir, synced.session, delivered, synced.place.now)
    restore.foresee(synced, chosen, plan if event.source in restore.SENT_AT else None)
    return reply


def _was_compacted(event: SessionStart, synced: Synced) -> bool:
    """Whether a session was compacted before it was resumed, and not told of it."""
    return event.compacted or compacting.has_begun(synced.state_dir, synced.session)


def restoration(
    synced: Synced,
    choice: Choice,
    chosen: Workflow,
    source: str,
    plan: Plan,
    before: Delivery | None,
    notes: Sequence[str],
    entry: Entry,
) -> tuple[Restored, Delivery]:
    """What a session is told that gets *chosen* wholly, and what is then delivered. Writes nothing."""
    marks = {item.real: mark for item in plan.items if (mark := item.mark)}
    changed = _changed(marks, before, chosen)
    # What was opened before a compaction has left the context; a resumed session still has it.
    stays = before is not None and source != "compact" and before.workflow == chosen.key
    opened = before.opened - changed if before and stays else frozenset()
    text = restore.text(synced, chosen, choice, source, plan, changed)
    line = guidance.for_person(chosen.briefing, _VERBS.get(source, "restored"))
    entry.decided = f"restored {chosen.name!r}, {chosen.briefing.where}"
    entry.why += [*_reasons(choice), *_sent(plan)]
    reply = Restored(text, _message([line, *notes]), watched(synced), whole=True)
    return reply, _delivery(synced, chosen, plan, marks, opened)


def _restarted(event: SessionStart, surroundings: Surroundings, clock: Clock) -> None:
    """Another process has begun: the subagents of the one before are gone."""
    session, state_dir = event.envelope.session, surroundings.state_dir
    # A session that is new has none; to note that would be a write at every start.
    old = sessions.known(state_dir, session) or journal.waiting(state_dir, session)
    if event.source in {"resume", "fork"} or (event.source in {"startup", "clear"} and old):
        journal.note(surroundings, session, clock.now(), {"restarted": event.source})


def _resumed(synced: Synced, workflow: Workflow) -> list[str]:
    """Have it written down that the session goes on; what went wrong is no reason not to restore.

    A compaction is told from a repeated start by what came before it: the session was heard of at
    PreCompact, or by a command, or some time has gone by. So a start does not count as a sign of it.
    """
    heard = sessions.last_heard(synced.state_dir, synced.session)
    compacted = max(heard or synced.place.now - _REPEATED, synced.place.now - _REPEATED)
    try:
        format_of(workflow).resumed(synced.place, workflow, compacted, _wait(synced))
    except HoldfastError as error:
        return [f"that it was compacted is not noted in its history: {error.cause}"]
    return []


def _wait(synced: Synced) -> float:
    """How long for a lock: who has waited in vain does not wait again."""
    return 0.0 if synced.failure or synced.waited else HOOK_WAIT


def _counted(synced: Synced, workflow: Workflow) -> list[str]:
    """Count the compaction, and say what went wrong; that is no reason not to restore."""
    try:
        compactions.started(synced.place, workflow, synced.session, _wait(synced))
    except HoldfastError as error:
        synced.waited = True
        return [f"the compaction was not counted: {error.cause}"]
    return []


def _changed(marks: Mapping[str, str], before: Delivery | None, workflow: Workflow) -> set[str]:
    """The files that are not as they were at the last restore of this session."""
    if before is None or before.workflow != workflow.key:
        return set()
    return {real for real, mark in marks.items() if before.marks.get(real, mark) != mark}


def _delivery(
    synced: Synced,
    workflow: Workflow,
    plan: Plan,
    marks: Mapping[str, str],
    opened: frozenset[str],
) -> Delivery:
    state = workflow.briefing.state_path
    return Delivery(
        root=synced.root,
        workflow=workflow.key,
        name=workflow.name,
        marks=dict(marks),
        unread={item.real: item.path for item in plan.items if item.can_be_opened},
        state=str(synced.place.root / state) if state else "",
        opened=opened,
        sent={item.real: item.parts for item in plan.items if item.parts},
        withheld={item.real: item.trouble or ONLY_NAMED for item in plan.items if not item.parts},
    )


def _sent(plan: Plan) -> list[str]:
    count = sum(item.parts is not None for item in plan.items)
    files, parts = counted(len(plan.items), "file"), counted(len(plan.parts), "part")
    lines = [f"reading: {count} of {files} in {parts}"]
    return lines + [f"not sent {item.path}: {item.trouble}" for item in plan.items if item.trouble]


def _ended(choice: Choice) -> list[str]:
    """What is over but still there; what was ended properly needs no word."""
    left = [each for each in choice.others if each.kept and not each.put_away]
    return [f"Workflow not restored: {restore.in_brief(each)}" for each in left[:3]]


def _message(lines: list[str]) -> str:
    return " · ".join(lines)
