"""What a session is told about the workflow that it gets."""

from __future__ import annotations

import os
from collections.abc import Collection

from holdfast import compactions, guidance, reading
from holdfast.formats.base import Workflow
from holdfast.project import contains
from holdfast.reading import Budget, Plan
from holdfast.selection import Choice
from holdfast.sync import Synced

_NAMED = 8  # other workflows; the rest are counted
SENT_AT = frozenset({"compact", "resume", "fork"})  # the sources that the parts are registered for


def reading_of(synced: Synced, workflow: Workflow, arrival: str) -> Plan:
    """The required reading of *workflow*: in parts where the session begins so that they are sent."""
    settings, briefing = synced.place.settings, workflow.briefing
    items = reading.resolve(synced.place.root, briefing.reading, settings.reading_roots)
    if settings.reading != "send" or arrival not in SENT_AT:
        return Plan(items, [])
    return reading.plan(items, Budget(settings.parts, settings.file_budget), briefing.name)


def text(
    synced: Synced,
    workflow: Workflow,
    choice: Choice,
    arrival: str,
    plan: Plan,
    changed: Collection[str] = (),
) -> str:
    """The guidance for *workflow*; what else *choice* was made from is named in one line each.

    *changed* are the real paths of files that changed since they were sent last.
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
