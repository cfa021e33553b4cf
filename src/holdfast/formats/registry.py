"""The formats that there are."""

from __future__ import annotations

from holdfast.formats.base import Format, Workflow
from holdfast.formats.canonical.format import Canonical
from holdfast.formats.orchestrator.format import Orchestrator
from holdfast.formats.skill.format import Skill

FORMATS: tuple[Format, ...] = (Canonical(), Skill(), Orchestrator())


def format_of(workflow: Workflow) -> Format:
    """The one that *workflow* is kept in."""
    return next(each for each in FORMATS if each.name == workflow.format)
