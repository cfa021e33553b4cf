"""What the tests of the skill format share: the document's examples and shell lines, and a place."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.formats.base import Place
from holdfast.formats.skill import files
from holdfast.formats.skill.model import State, of_json
from holdfast.settings import Settings
from holdfast.store import Store
from holdfast.testing import Project

DOCUMENT = (Path(__file__).parents[1] / "samples" / "skill" / "document.md").read_text("utf-8")
FEATURE = "features/auth/user-login.md"
BEGUN = datetime(2025, 1, 8, 20, 0, tzinfo=UTC)


def _example(block: str) -> dict[str, Any]:
    """A block as JSON: without comments, and with the first of "dev|tdd|other"."""
    plain = re.sub(r"^\s*//.*\n", "", block, flags=re.MULTILINE)
    data: dict[str, Any] = json.loads(re.sub(r'"(\w+)(?:\|\w+)+"', r'"\1"', plain))
    return data


EXAMPLES = dict(
    zip(
        ("index", "common", "dev", "tdd"),
        (_example(block) for block in re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)),
        strict=True,
    )
)
STATES = {name: data for name, data in EXAMPLES.items() if name != "index"}


def shell(heading: str) -> str:
    """The first shell block below *heading*, as it stands in the document."""
    section = DOCUMENT.split(f"# {heading}\n", 1)[1]
    return section.split("```bash\n", 1)[1].split("```", 1)[0]


def shown(heading: str) -> list[str]:
    """The plain blocks below *heading*."""
    section = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\n(.*?)\n```", section, re.DOTALL | re.MULTILINE)


def example(name: str) -> State:
    return of_json(json.loads(json.dumps(EXAMPLES[name])))


def at(minutes: float) -> str:
    return (BEGUN + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(project: Project, *, branch: str | None = "feat/user-auth", stale_days: int = 7) -> Place:
    settings = Settings(stale_days=stale_days)
    return Place(Store(project.root), settings, project.clock.now(), branch, branch)


def put(project: Project, name: str, data: object, folder: str = "active") -> Path:
    text = data if isinstance(data, str) else json.dumps(data, indent=2) + "\n"
    return project.write(f"{files.FOLDER}/{folder}/{name}.json", text)


def bash(project: Project, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {"PATH": os.environ["PATH"], "TZ": "Asia/Tokyo", **variables}
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=project.root,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )


def index_ids(project: Project) -> list[str]:
    data = json.loads((project.root / files.INDEX).read_text("utf-8"))
    return [each["id"] for each in data["active_workflows"]]


def contains(whole: Any, part: Any) -> bool:
    """Whether every fact of *part* is in *whole*; of a history, in its order."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        rest = iter(whole)
        return all(any(contains(each, wanted) for each in rest) for wanted in part)
    return bool(whole == part)
