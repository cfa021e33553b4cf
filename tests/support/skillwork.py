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

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.skill import files, lifecycle
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.lifecycle import Beginning, Started, first_state
from holdfast.formats.skill.model import State
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
    return State.of_json(json.loads(json.dumps(EXAMPLES[name])))


def at(minutes: float) -> str:
    return (BEGUN + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(project: Project, *, branch: str | None = "feat/user-auth", stale_days: int = 7) -> Place:
    settings = Settings(stale_days=stale_days)
    return Place(Store(project.root), settings, project.clock.now(), branch, branch)


def first(
    skill: str, text: str, at: str, *, identifier: str, branch: str | None = None, **given: Any
) -> State:
    """The first state of a workflow."""
    return first_state(Beginning(skill, text, **given), identifier, at, branch)


def start(
    place: Place,
    skill: str,
    text: str,
    *,
    called: str | None = None,
    afresh: bool = False,
    **given: Any,
) -> Started:
    return lifecycle.start(place, Beginning(skill, text, **given), called, afresh=afresh)


def is_index_true(here: Place) -> bool:
    """Whether the index is what a command would write."""
    path = here.root / files.INDEX
    before = path.read_bytes()
    FORMAT.update_index(here)
    return path.read_bytes() == before


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


# A run of each by commands: the command, and what is told after it.
Script = list[tuple[list[str], str]]
DEV_RUN: Script = [
    (
        ["start", "dev", FEATURE, "-t", "Add login", "-t", "Add logout"],
        "Phase load_feature: go on, and complete it",
    ),
    (["phase", "complete"], "Phase create_branch: go on, and complete it"),
    (["phase", "complete", "create_branch"], "Task 1/2 - Add login, not begun yet"),
    (["task", "start"], "Task 1/2 - Add login, RED phase (write a failing test)"),
    (
        ["tdd", "run", "--failed", "--failing", "test_login"],
        "Task 1/2 - Add login, RED phase (write a failing test); tests are failing",
    ),
    (
        ["task", "phase", "red"],
        "Task 1/2 - Add login, GREEN phase (make tests pass); tests are failing",
    ),
    (
        ["tdd", "run", "--passed"],
        "Task 1/2 - Add login, GREEN phase (make tests pass); tests are passing",
    ),
    (
        ["task", "phase"],
        "Task 1/2 - Add login, REFACTOR phase (clean up, tests stay green); tests are passing",
    ),
    (["task", "phase"], "Task 1/2 - Add login, commit it and complete the task"),
    (["task", "complete", "--commit", "abc123"], "Task 2/2 - Add logout, not begun yet"),
    (["task", "start", "2", "--no-tdd"], "Task 2/2 - Add logout, in progress"),
    (["block", "no token"], "Blocked: no token; a person has to say how to go on"),
    (["unblock"], "Task 2/2 - Add logout, in progress"),
    (
        ["task", "complete", "2", "--commit", "def456"],
        "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr",
    ),
    (["task", "add", "Add a hint"], "Task 3/3 - Add a hint, not begun yet"),
    (["task", "start", "--no-tdd"], "Task 3/3 - Add a hint, in progress"),
    (
        ["task", "complete"],
        "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr",
    ),
    (
        ["phase", "complete"],
        "All tasks complete. Pending: lint, test, security_review, code_simplifier, pr",
    ),
    (
        ["checkpoint", "lint", "--failed"],
        "All tasks complete. Pending: lint (failed), test, security_review, code_simplifier, pr",
    ),
    (
        ["checkpoint", "lint", "--passed"],
        "All tasks complete. Pending: test, security_review, code_simplifier, pr",
    ),
    (
        ["checkpoint", "test", "--passed", "count=42"],
        "All tasks complete. Pending: security_review, code_simplifier, pr",
    ),
    (
        ["checkpoint", "security_review", "findings=0"],
        "All tasks complete. Pending: code_simplifier, pr",
    ),
    (["checkpoint", "code_simplifier", "issues=0"], "All tasks complete. Pending: pr"),
    (["phase", "complete"], "then create the pull request"),
    (
        ["checkpoint", "pr_created", "pr_number=7"],
        "Phase pr_creation: go on, and complete it",
    ),
    (
        ["phase", "complete"],
        "All phases are completed: review the whole, then complete the workflow",
    ),
]
TDD_RUN: Script = [
    (
        ["start", "tdd", "Add login", "--test-command", "pytest -k login"],
        "Cycle 1, RED phase (write a failing test)",
    ),
    (
        ["tdd", "test", "tests/t.py", "--name", "test_login"],
        "the test is written in tests/t.py, confirm that it fails",
    ),
    (["tdd", "fails", "no login"], "the test is written in tests/t.py, its failure is confirmed"),
    (["tdd", "done"], "Cycle 1, GREEN phase (make tests pass)"),
    (["tdd", "file", "src/login.py", "--lines", "12"], "Cycle 1, GREEN phase (make tests pass)"),
    (
        ["tdd", "run", "--failed", "--failing", "test_login", "--error", "no attribute"],
        "Cycle 1, GREEN phase (make tests pass); tests are failing: no attribute",
    ),
    (["tdd", "run", "--passed"], "Cycle 1, GREEN phase (make tests pass); tests are passing"),
    (
        ["tdd", "done"],
        "Cycle 1, REFACTOR phase (clean up, tests stay green); tests are passing",
    ),
    (["tdd", "done"], "Cycle 1, COMMIT phase (commit the cycle)"),
    (
        ["tdd", "done", "--commit", "abc123"],
        "Cycle 1 is committed: begin the next one, or complete the workflow",
    ),
    (["tdd", "next"], "Cycle 2, RED phase (write a failing test)"),
]
RUNS = {"dev": DEV_RUN, "tdd": TDD_RUN}


def only_state(project: Project) -> dict[str, Any]:
    """The one state in active/, as JSON."""
    (path,) = (project.root / files.ACTIVE).glob("*.json")
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def told_in_history(state: Mapping[str, Any], event: str) -> int:
    return sum(each["event"] == event for each in state["history"])
