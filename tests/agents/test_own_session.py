"""A command that an agent gives in its shell counts for that agent's session."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.config.project import AGENT_VARIABLES, Surroundings
from holdfast.testing import Compactions, Project

_TELLING = [each.session for each in AGENT_VARIABLES.values() if each.session]


@pytest.mark.parametrize("variable", _TELLING)
def test_a_session_gets_the_workflow_that_its_shell_has_begun(
    variable: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Not one that somebody else began later."""
    project = holdfast_project
    subprocess.run(
        [sys.executable, "-m", "holdfast", "start", "Theirs", "--phases", "A,B"],
        cwd=project.root,
        env={**project.environment(), variable: "session-7"},
        check=True,
        capture_output=True,
    )
    project.clock.advance(hours=1)
    project.run("start", "Later", "--phases", "A,B", session="somebody")
    assert "Theirs" in compaction_cycle(session="session-7").message


def test_of_agents_inside_of_each_other_the_first_of_the_table_counts() -> None:
    """Nobody can tell which of them has started the other, so at least it is always the same."""
    both = {"CODEX_SESSION_ID": "inner", "CLAUDE_CODE_SESSION_ID": "outer"}
    assert Surroundings.from_environment(both).session == "outer"
    assert Surroundings.from_environment({}).session is None
