"""What a session is told about the workflow that it gets."""

from __future__ import annotations

import os

from holdfast import guidance, reading
from holdfast.formats.base import Workflow
from holdfast.project import contains
from holdfast.selection import Choice
from holdfast.sync import Synced

_NAMED = 8  # other workflows; the rest are counted


def text(synced: Synced, workflow: Workflow, choice: Choice, arrival: str) -> str:
    """The guidance for *workflow*; what else *choice* was made from is named in one line each."""
    settings = synced.place.settings
    items = reading.resolve(synced.place.root, workflow.briefing.reading, settings.reading_roots)
    others = [each for each in (choice.chosen, *choice.others) if each and each is not workflow]
    named = [in_brief(each) for each in others[:_NAMED]]
    if len(others) > _NAMED:
        named.append(f"… {len(others) - _NAMED} more: holdfast list")
    here = contains(synced.root, os.path.realpath(synced.cwd))
    root = "" if here else synced.root
    situation = guidance.Situation(arrival, items, named, root, synced.notes)
    return guidance.for_model(workflow.briefing, situation)


def in_brief(workflow: Workflow) -> str:
    """One line for a workflow that is not restored."""
    where = f"{workflow.name}: {workflow.briefing.where}"
    return f"{where}, {workflow.remark}" if workflow.remark else where
