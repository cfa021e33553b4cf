"""The first state of a workflow: a /dev, a /tdd, and any other skill with phases of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.skill.model import State
from holdfast.formats.skill.moving import enter, needed, record
from holdfast.formats.skill.phases import EXECUTION, PR_CREATED, PULL_REQUEST
from holdfast.formats.skill.tasks import listed
from holdfast.formats.skill.tdd import COMMIT

DEV_PHASES: tuple[dict[str, Any], ...] = (
    {"name": "load_feature"},
    {"name": "create_branch"},
    {"name": EXECUTION},
    {"name": "verification", "steps": ["lint", "test", "security_review", "code_simplifier"]},
    {"name": PULL_REQUEST},
)
TDD_PHASES: tuple[dict[str, Any], ...] = tuple(
    {"name": name} for name in ("red", "green", "refactor", COMMIT)
)
_CHECKPOINTS: dict[str, tuple[str, ...]] = {
    "lint": ("last_run", "passed"),
    "test": ("last_run", "passed", "count"),
    "security_review": ("last_run", "findings"),
    "code_simplifier": ("last_run", "issues"),
    PR_CREATED: ("pr_number", "pr_url"),
}


def dev(
    feature: str,
    at: str,
    *,
    identifier: str,
    branch: str | None = None,
    title: str | None = None,
    tasks: Sequence[str] = (),
    folder_features: Sequence[str] | None = None,
) -> State:
    """A /dev of the file *feature*; with *folder_features*, of the folder that has these."""
    folder = folder_features is not None
    first = (*(folder_features or ()), None)[0] if folder else feature
    context = {
        "feature_file": first,
        "feature_title": title or _title(feature),
        "folder_mode": folder,
        "folder_path": feature if folder else None,
        "folder_features": list(folder_features or ()),
    }
    state = _state("dev", identifier, at, branch, context, DEV_PHASES)
    state["tasks"] = [task.model_dump(exclude_unset=True) for task in listed(tasks)]
    state["checkpoints"] = {
        name: {"status": "pending", **dict.fromkeys(fields)}
        for name, fields in _CHECKPOINTS.items()
    }
    return _begun(state, at)


def tdd(
    task: str,
    at: str,
    *,
    identifier: str,
    branch: str | None = None,
    feature_file: str | None = None,
    task_index: int | None = None,
    test_command: str | None = None,
) -> State:
    """A /tdd of the text *task*; with file and index, of a task of the /dev of that feature."""
    context: dict[str, Any] = {"task_description": task}
    if feature_file is not None:
        context["feature_file"] = feature_file
    if task_index is not None:
        context["task_index"] = task_index
    state = _state("tdd", identifier, at, branch, context, TDD_PHASES)
    state["state_machine"] = {"current_phase": None, "cycle_count": 1, **state["state_machine"]}
    state["test_state"] = {
        "test_command": test_command,
        "last_run": None,
        "last_result": None,
        "failing_tests": [],
        "passing_tests": [],
    }
    state["files_modified"] = []
    return _begun(state, at, task)


def other(
    skill: str,
    text: str,
    at: str,
    *,
    identifier: str,
    phases: Sequence[str],
    branch: str | None = None,
    tasks: Sequence[str] = (),
    checkpoints: Sequence[str] = (),
) -> State:
    """Any other skill, with its phases in their order."""
    names = [needed(name, "a phase's name") for name in phases]
    if not names or len(set(names)) < len(names):
        raise IllegalMove(
            "a workflow needs at least one phase, each with a name of its own",
            hint='Give them in their order: --phases "design,build,test"',
        )
    listed_phases = [{"name": name} for name in names]
    state = _state(skill, identifier, at, branch, {"task_description": text}, listed_phases)
    if tasks:
        state["tasks"] = [task.model_dump(exclude_unset=True) for task in listed(tasks)]
    state["checkpoints"] = {name: {"status": "pending", "last_run": None} for name in checkpoints}
    return _begun(state, at)


def _state(
    skill: str,
    identifier: str,
    at: str,
    branch: str | None,
    context: dict[str, Any],
    phases: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    listed_phases = [{"name": each["name"], "status": "pending", **each} for each in phases]
    return {
        "_schema": {"version": "1.0", "skill": skill},
        "workflow": {
            "id": identifier,
            "status": "in_progress",
            "created_at": at,
            "updated_at": at,
            "branch": branch,
        },
        "context": context,
        "state_machine": {"current_phase": None, "phases": listed_phases},
    }


def _begun(data: dict[str, Any], at: str, task: str | None = None) -> State:
    """The state with its first phase begun; the history comes last, for people who read it."""
    state = State.of_json({**data, "history": []})
    record(state, at, "workflow_started", task=task)
    enter(state, state.state_machine.phases[0], at)
    return State.of_json(state.to_json())


def _title(path: str) -> str:
    """features/user-login.md: User Login."""
    words = PurePosixPath(path).stem.replace("_", " ").replace("-", " ").split()
    return " ".join(word[:1].upper() + word[1:] for word in words) or path
