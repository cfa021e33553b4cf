"""Defects that very many plans brought to light."""

from __future__ import annotations

import os

import pytest

from holdfast.testing import Compactions, Project


@pytest.fixture
def many(holdfast_project: Project) -> Project:
    """More plans in progress than a person has; the last is the one that was edited last."""
    for number in range(1, 131):
        path = holdfast_project.write(
            f"CLAUDE/Plan/{number:03}-work/PLAN.md",
            f"# Plan {number:03}: Work {number}\n\n**Status**: In Progress\n\n## Phase 1: A\n- [ ] a\n",
        )
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return holdfast_project


def test_of_very_many_plans_in_progress_those_edited_last_count(
    many: Project, compaction_cycle: Compactions
) -> None:
    """Each got a state of its own, which took seconds where a clone had a thousand.

    A plan that is edited less than others since keeps its state, and is not taken for finished.
    """
    assert compaction_cycle.fire("PreCompact").code == 0
    names = {each["workflow"] for each in many.states()}
    assert names == {f"Work {number}" for number in range(31, 131)}
    first = many.root / "CLAUDE/Plan/001-work/PLAN.md"
    os.utime(first, (1_800_000_000, 1_800_000_000))
    started = compaction_cycle.start()
    assert "Work 1" in started.guidance
    assert "plans: 30 in progress were left out, 100 edited later count" in started.message
    names = {each["workflow"] for each in many.states()}
    assert {"Work 1", "Work 31"} <= names
