"""What a session is told about the workflow that it gets."""

from __future__ import annotations

import os
from collections.abc import Collection

from holdfast import compactions, forecast, guidance, observing, reading
from holdfast.formats import signs
from holdfast.formats.base import Workflow
from holdfast.project import contains
from holdfast.reading import Budget, Plan
from holdfast.selection import Choice
from holdfast.settings import PROJECT_FILE
from holdfast.sync import Synced

_NAMED = 8  # other workflows; the rest are counted
_ROOM = 500  # units for one line of what was observed
SENT_AT = frozenset({"compact", "resume", "fork"})  # the sources that the parts are registered for


def reading_of(synced: Synced, workflow: Workflow, arrival: str, most: int | None = None) -> Plan:
    """The required reading of *workflow*: in parts where the session begins so that they are sent.

    With *most*, in no more parts than were foreseen.
    """
    settings, briefing = synced.place.settings, workflow.briefing
    items = reading.resolve(synced.place.root, briefing.reading, settings.reading_roots)
    if settings.reading != "send" or arrival not in SENT_AT:
        return Plan(items, [])
    budget = Budget(settings.parts, settings.file_budget)
    return reading.plan(items, budget, briefing.name, most)


def foreseen(synced: Synced) -> int | None:
    """How many parts the hooks that ask for one beyond were told that there are."""
    return forecast.parts(synced.state_dir, synced.session)


def foresee(synced: Synced, workflow: Workflow, plan: Plan) -> None:
    """Note how many parts *plan* has, for the hooks that ask for one beyond."""
    root = synced.place.root
    deciding = [workflow.briefing.state_path, workflow.source, *signs.DECLARING, PROJECT_FILE]
    files = [str(root / path) for path in deciding if path]
    files += [item.real for item in plan.items]
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
    others = [each for each in (choice.chosen, *choice.others) if each and each is not workflow]
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
        remarks=synced.notes,
        lost=compactions.lost(synced.place, workflow),
    )
    return guidance.for_model(workflow.briefing, situation)


def in_brief(workflow: Workflow) -> str:
    """One line for a workflow that is not restored."""
    where = f"{workflow.name}: {workflow.briefing.where}"
    return f"{where}, {workflow.remark}" if workflow.remark else where
