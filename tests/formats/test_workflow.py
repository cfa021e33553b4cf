"""A workflow that is asked for by itself is the same as among all the others."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats import registry
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.testing import Project
from works import FEATURE, FORMATS

_NESTED = ["skill", "start", "tdd", "Add login", "--feature", FEATURE, "--number", "1"]
_ENDED = [["skill", "start", "tdd", "Other"], ["skill", "abandon", "Other"]]


def told(workflow: Workflow) -> dict[str, Any]:
    shown = {field.name: getattr(workflow, field.name) for field in fields(workflow)}
    return {**shown, "brief": workflow.briefing, "inspect": workflow.inspect()}


@pytest.mark.parametrize("name", FORMATS)
def test_a_tdd_by_itself_was_not_part_of_its_dev(name: str, holdfast_project: Project) -> None:
    """And so for each format: one way to make a workflow."""
    project = holdfast_project
    for step in [*FORMATS[name], *([_NESTED, *_ENDED] if name == "skill" else [])]:
        if callable(step):
            step(project)
        elif isinstance(step, list):
            project.run(*step)
    form = registry.named("canonical" if name == "declared" else name)
    place = Place(Store(project.root), Settings(), project.clock.now(), None, None)
    surveyed = [told(workflow) for workflow in form.survey(place).workflows]
    assert surveyed
    alone = [told(form.workflow(place, entry)) for entry in form.look(place).entries]
    assert alone == surveyed
    parts = [workflow["part_of"] for workflow in surveyed if workflow["part_of"]]
    assert len(parts) == (name == "skill")
