"""What the tests of a pipeline's storage share: workflows put into place, and how all of it looks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast import homes, hooklog
from holdfast.formats.base import Place
from holdfast.formats.pipeline import index, places
from holdfast.formats.pipeline.places import Location
from holdfast.settings import Settings
from holdfast.store import Store
from holdfast.testing import Project

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
    store = Store(project.root)
    with store.lock(5):
        index.update(store, AT)


def indexes_are_true(project: Project) -> bool:
    """By a fresh scan: nothing that is kept of an earlier one is used."""
    store = Store(project.root)
    for kept in (store.private / "listings").glob("*"):
        kept.unlink()
    there = [each for each in places.locations(store) if (project.root / each.states).is_dir()]
    return all(index.is_true(store, each) for each in there)


def everything(project: Project) -> dict[str, bytes]:
    """All files of the workspace, relative to it."""
    top = project.root / places.WORKSPACE
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def json_of(project: Project, path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / path).read_bytes())
    return data
