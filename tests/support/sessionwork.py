"""What the tests of a pipeline's storage share: workflows put into place, and how all of it looks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.config import homes
from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files
from holdfast.formats.pipeline.files import Location
from holdfast.formats.pipeline.format import FORMAT
from holdfast.records import hooklog
from holdfast.testing import Project

_INDEXED = ("workflow_type", "status", "session_name", "created_at", "updated_at")
AT = "2025-11-10T16:00:00Z"
ARTEFACTS = {"plan.md": "# Plan\n", "deep/er/notes.json": "{}\n"}


def place(project: Project) -> Place:
    kept = user_folder(project)
    return Place(Store(project.root), Settings(), project.clock.now(), None, None, user_folder=kept)


def user_folder(project: Project) -> str:
    """Where the user's own folder keeps what is of the project."""
    return hooklog.folder(homes.for_state(project.environment()) or "", str(project.root))


def state(workflow_id: str, location: Location, **more: Any) -> dict[str, Any]:
    """A generation that names artefacts of its own, of the whole path and of the rest of the project."""
    run = location.run("generation", workflow_id)
    session = {"session_name": location.session} if location.session else {}
    return {
        "workflow_id": workflow_id,
        "workflow_type": "generation",
        **session,
        "status": "in_progress",
        "created_at": "2025-11-10T14:30:00Z",
        "updated_at": "2025-11-10T14:35:00Z",
        "x_foreign": {"kept": True},
        "generation": {
            "scene_id": "0204",
            "current_step": 2,
            "total_steps": 2,
            "steps": [
                {
                    "step": 1,
                    "name": "File Check",
                    "status": "completed",
                    "artifacts": {"plan": f"{run}/plan.md", "more": [f"{run}/deep/er/notes.json"]},
                },
                {"step": 2, "name": "Writing", "status": "in_progress", "artifacts": {}},
            ],
            "artifacts": {"blueprint_path": "acts/act-1/scene.md", "working_dir": run},
        },
        **more,
    }


def put(
    project: Project,
    workflow_id: str,
    session: str | None = None,
    artefacts: Mapping[str, str] = ARTEFACTS,
    **more: Any,
) -> Path:
    location = Location(session)
    for name, text in artefacts.items():
        project.write(f"{location.run('generation', workflow_id)}/{name}", text)
    text = json.dumps(state(workflow_id, location, **more), indent=2)
    return project.write(location.state(workflow_id), text)


def update_indexes(project: Project) -> None:
    here = place(project)
    with here.store.lock(5):
        FORMAT.update_indexes(here)


def indexes_are_true(project: Project) -> bool:
    """Whether each index has an entry for every state beside it, as the state says it."""
    store = Store(project.root)
    return all(
        index_is_true(project.root, location)
        for location in files.locations(store)
        if (project.root / location.states).is_dir()
    )


def index_is_true(root: Path, location: Location) -> bool:
    try:
        workflows = json.loads((root / location.index_file).read_bytes())["workflows"]
        listed = {entry["workflow_id"]: _facts(entry, entry["state_file"]) for entry in workflows}
    except (OSError, ValueError, TypeError, KeyError):
        return False
    there = {}
    for path in (root / location.states).glob("*.json"):
        data = json.loads(path.read_bytes())
        if "workflow_type" in data:
            there[path.stem] = _facts(data, path.relative_to(root).as_posix())
    return listed == there


def _facts(data: Mapping[str, Any], state_file: str) -> dict[str, Any]:
    return {**{key: data[key] for key in _INDEXED if key in data}, "state_file": state_file}


def everything(project: Project) -> dict[str, bytes]:
    """All files of the workspace, relative to it."""
    top = project.root / files.WORKSPACE
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def json_of(project: Project, path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / path).read_bytes())
    return data
