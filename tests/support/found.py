"""What the tests of found defects share: a plan, and states written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.testing import Project

PLAN = "CLAUDE/Plan/001-user-auth/PLAN.md"

PHASES = {"Design": ["x Choose"], "Build": ["x Form", "Store"], "Ship": ["Notes"]}


def state(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "workflow": name,
        "workflow_type": "custom",
        "phase": {"current": 2, "total": 5, "name": "Build", "status": "in_progress"},
        "required_reading": [],
        "context": {},
        "key_reminders": [],
        "created_at": "2025-12-09T14:30:52Z",
        **fields,
    }


def put(project: Project, name: str, content: dict[str, Any] | str, folder: str = "") -> Path:
    slug = folder or name.lower().replace(" ", "-")
    text = content if isinstance(content, str) else json.dumps(content)
    return project.write(f"untracked/workflow-state/{slug}/state-{slug}-20251209_143052.json", text)


def names(project: Project) -> list[str]:
    return sorted(each["workflow"] for each in project.states())


def auth_plan(project: Project, **more: Any) -> None:
    project.plan("001-user-auth", PHASES, title="Plan 001: User Auth", **more)


def files_of(*folders: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file below *folders*, with its time."""
    found = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}
