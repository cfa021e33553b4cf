"""Fixtures for people who test that their own workflows survive compaction.

pytest loads this module in every run where Holdfast is installed, so it imports nothing of ours
until a fixture is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from holdfast.testing import Compactions, MovableClock, Project


@pytest.fixture
def holdfast_clock() -> MovableClock:
    """The time that hooks and commands see; move it with `advance(days=8)`."""
    from holdfast.testing import MovableClock

    return MovableClock()


@pytest.fixture
def holdfast_project(tmp_path: Path, holdfast_clock: MovableClock) -> Project:
    """An empty project with a home of its own."""
    from holdfast.testing import Project

    return Project(tmp_path / "project", tmp_path / "home", holdfast_clock)


@pytest.fixture
def compaction_cycle(holdfast_project: Project) -> Compactions:
    """Plays PreCompact, SessionStart(compact) and PostCompact through the real hooks."""
    from holdfast.testing import Compactions

    return Compactions(holdfast_project)
