"""What a hook's process does without, and that nobody else has to."""

from __future__ import annotations

import json
import subprocess
import sys

from holdfast.testing import Project

MODELLED = {
    "_schema": {"version": "1.0", "skill": "dev"},
    "workflow": {"id": "dev-12345678", "status": "in_progress"},
    "context": {"feature_title": "User Auth"},
    "state_machine": {"current_phase": "planning", "phases": [{"name": "planning"}]},
}


def loaded(project: Project, command: str) -> set[str]:
    """The modules that a real process of *command* loads, which has to build a model."""
    project.write(".claude/workflow-state/active/dev-12345678.json", json.dumps(MODELLED))
    event = {"hook_event_name": "PreCompact", "cwd": str(project.root), "session_id": "s"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", command],
        input=json.dumps(event),
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "User Auth" in done.stdout
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_hook_that_builds_models_does_not_search_for_plugins(holdfast_project: Project) -> None:
    modules = loaded(holdfast_project, "hook")
    assert "pydantic._internal._model_construction" in modules
    assert "importlib.metadata" not in modules


def test_nor_does_the_status_line(holdfast_project: Project) -> None:
    modules = loaded(holdfast_project, "statusline")
    assert "pydantic._internal._model_construction" in modules
    assert "importlib.metadata" not in modules


def test_whoever_has_us_as_a_guest_keeps_their_plugins() -> None:
    """Fixtures run hooks within the process of somebody's tests."""
    code = (
        "import gc, sys, holdfast.testing, holdfast.formats.skill.model as model;"
        "print(model.State.__name__, gc.isenabled(), 'importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["State", "True", "True"]
