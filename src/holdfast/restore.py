"""What a session is told about the workflow that it gets."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from holdfast import compactions, forecast, guidance, observing, reading, watching
from holdfast.capabilities import USUAL
from holdfast.formats import signs
from holdfast.formats.base import Workflow
from holdfast.project import contains
from holdfast.reading import BETWEEN, NOT_FORESEEN, NOTHING_REQUIRED, Budget, Item, Plan
from holdfast.room import Room
from holdfast.selection import Choice
from holdfast.settings import PROJECT_FILE
from holdfast.sync import Synced

_NAMED = 8  # other workflows; the rest are counted
_ROOM = 500  # units for one line of what was observed
SENT_AT = frozenset({"compact", "resume", "fork"})  # the sources that the parts are registered for


def depth(synced: Synced, choice: Choice, source: str) -> str:
    """What a session that begins with *source* gets: full, line or off."""
    settings = synced.place.settings
    if not settings.enabled:
        return "off"
    depth = settings.restores(source)
    if source != "fork" or depth != "full" or (synced.claim and synced.claim.workflow):
        return depth
    # A fork has an id that nothing is known of, not even whose fork it is.
    found = [each for each in (choice.chosen, *choice.others) if each and not each.part_of]
    several = sum(each.standing == "active" for each in found) > 1
    return "line" if several else "full"


def reading_of(synced: Synced, workflow: Workflow, arrival: str, most: int | None = None) -> Plan:
    """The required reading of *workflow*: in parts where the session begins so that they are sent.

    With *most*, in no more parts than were foreseen.
    """
    settings, briefing = synced.place.settings, workflow.briefing
    items = reading.resolve(synced.place.root, briefing.reading, settings.reading_roots)
    if settings.reading != "send" or arrival not in SENT_AT:
        return Plan(items, [])
    if not synced.takes.parts:
        return _inlined(synced, workflow, arrival, items)
    budget = Budget(settings.parts, settings.file_budget, synced.takes.room)
    plan = reading.plan(items, budget, briefing.name)
    if most is not None and len(plan.parts) > most:
        return reading.plan(items, budget, briefing.name, most)
    return plan


# What the guidance may grow by when it is known which files come with it.
_FOR_EACH_FILE, _FOR_ALL = 160, 500


def _inlined(synced: Synced, workflow: Workflow, arrival: str, items: Sequence[Item]) -> Plan:
    """As many whole files as there is room for behind the guidance."""
    room, bare = synced.takes.room, Plan(items, [])
    without = text(synced, workflow, synced.choice(), arrival, bare)
    grown = room.taken(without) + _FOR_EACH_FILE * len(items) + _FOR_ALL
    left = room.of(room.most - min(grown, _guidance_in(room).most) - len(BETWEEN))
    budget = Budget(1, synced.place.settings.file_budget, left, inline=True)
    return reading.plan(items, budget, workflow.briefing.name)


def _guidance_in(room: Room) -> Room:
    """What of *room* the guidance itself may take: it stays as short as where there is no more."""
    return room.of(min(room.most, USUAL.room.most))


def foresee(synced: Synced, workflow: Workflow | None, plan: Plan | None = None) -> None:
    """Note how many parts the reading has, for the hooks that ask for one beyond.

    *plan* is what was just made; if it was held to an earlier forecast, that is not noted again.
    """
    root, settings = synced.place.root, synced.place.settings
    if workflow is None:
        plan = NOTHING_REQUIRED
    elif plan is None or any(item.trouble == NOT_FORESEEN for item in plan.items):
        plan = reading_of(synced, workflow, "compact")
    places = [path for paths in signs.SIGNS.values() for path in paths]
    places += [watching.base(pattern) for pattern in settings.plans]
    places += [PROJECT_FILE, *(path for path, _ in synced.looked)]
    files = [str(root / path) for path in places]
    files += [synced.config_file] if synced.config_file else []
    files += [str(root / os.path.expanduser(item.path)) for item in plan.items]
    forecast.record(synced.state_dir, synced.session, len(plan.parts), files, synced.place.now)


def text(
    synced: Synced,
    workflow: Workflow,
    choice: Choice,
    arrival: str,
    plan: Plan,
    changed: Collection[str] = (),
) -> str:
    """The guidance for *workflow*; what else *choice* was made from is named in one line each.

    *changed* are the real paths of files that changed since the last restore.
    """
    others = [
        each
        for each in (choice.chosen, *choice.others)
        if each and each is not workflow and each.part_of != workflow.key
    ]
    named = [in_brief(each) for each in others[:_NAMED]]
    if len(others) > _NAMED:
        named.append(f"… {len(others) - _NAMED} more: holdfast list")
    here = contains(synced.root, os.path.realpath(synced.cwd))
    situation = guidance.Situation(
        arrival,
        plan,
        changed=changed,
        observed=observing.told(synced.observed(workflow), synced.place.now, _ROOM),
        others=named,
        root="" if here else synced.root,
        remarks=[*cautions(synced, workflow), *synced.notes],
        lost=compactions.lost(synced.place, workflow),
        room=_guidance_in(synced.takes.room),
    )
    said = guidance.for_model(workflow.briefing, situation)
    return BETWEEN.join([said, *plan.parts]) if plan.inline else said


def cautions(synced: Synced, workflow: Workflow) -> list[str]:
    """What is to be known before anybody goes on with *workflow*, one line each."""
    elsewhere = synced.elsewhere(workflow)
    return [*workflow.cautions, *([elsewhere] if elsewhere else [])]


def in_brief(workflow: Workflow) -> str:
    """One line for a workflow that is not restored."""
    where = f"{workflow.name}: {workflow.briefing.where}"
    return f"{where}, {workflow.remark}" if workflow.remark else where
