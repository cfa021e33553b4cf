"""What the tests of agents share."""

from __future__ import annotations

import pytest

from holdfast.testing import Project


@pytest.fixture
def work(holdfast_project: Project) -> Project:
    """A workflow with something to read and to remember."""
    holdfast_project.write(".git/HEAD", "ref: refs/heads/main\n")
    holdfast_project.write("docs/guide.md", "The guide, <kept> whole.\n")
    holdfast_project.declare(
        "Work", phase="2/4 - Build", reading=["@docs/guide.md"], reminders=["No network"]
    )
    return holdfast_project
