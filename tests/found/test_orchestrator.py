"""Found by working as an orchestrator, by hand edits, and by files of others in its folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.formats.orchestrator import files
from holdfast.testing import Compactions, Project
from orchestrated import log, put, state

THEIRS = '{"tool": "another one"}'


def call(project: Project, *arguments: str, code: int = 0) -> str:
    done = project.run("orchestrate", *arguments, session="session-1", check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def begin(project: Project, *tasks: str) -> Project:
    """A run that is executed."""
    call(project, "start", "docs/shop.md", *(word for each in tasks for word in ("--task", each)))
    call(project, "approve-plan")
    return project


@pytest.fixture
def run(holdfast_project: Project) -> Project:
    return begin(holdfast_project, "1.1 Model", "1.2 Tokens", "2.1 Pages")


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [each["task"] for each in entries]


def test_a_checkpoint_json_of_another_tool_is_left_alone(
    run: Project, compaction_cycle: Compactions
) -> None:
    """Neither a hook nor a command writes over it, and the archive leaves it where it is."""
    path = run.write(files.LATEST, THEIRS)
    numbered = run.write(".claude/checkpoint-007.json", THEIRS)
    compaction_cycle()
    assert path.read_text() == THEIRS
    call(run, "warn", "slow")
    assert "checkpoint-009.json" in call(run, "checkpoint")
    call(run, "fail", "enough")
    call(run, "archive")
    assert path.read_text() == numbered.read_text() == THEIRS
