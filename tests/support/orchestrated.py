"""What the tests of an orchestrator's files share: the document's example, a place, and a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from deadly import ARMED
from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.loading import Unusable
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator import files
from holdfast.formats.orchestrator.files import StateFile
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import State
from holdfast.testing import Project

DOCUMENT = Path(__file__).parents[1] / "samples" / "orchestrator" / "document.md"
BEGUN = "2026-01-15T12:00:00Z"

# Runs a piece of code, and kills itself around the number-th call of os.<call>.
_KILLED = f"""{ARMED}
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator import checkpoints, learnings
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.config.settings import Settings
from holdfast.files.store import Store
root, code, call, number, after = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5] == "after"
place = Place(Store(root), Settings(), datetime.now(UTC), None, None)
hook = Place(place.store, place.settings, place.now, None, None, saver="PreCompact")
arm(call, number=number, after=after)
exec(code)
"""


def example() -> dict[str, Any]:
    """The complete example, with the few fields that make a test's time the run's own."""
    block = DOCUMENT.read_text("utf-8").split("```json\n", 1)[1].split("```", 1)[0]
    data: dict[str, Any] = json.loads(block)
    data["checkpoints"] = []
    return data


def place(project: Project, saver: str = "") -> Place:
    now = project.clock.now()
    return Place(Store(project.root), Settings(), now, None, None, saver=saver)


def change(project: Project, move: Any, *arguments: Any, **named: Any) -> Changed[StateFile]:
    """Make *move* on the run of *project*."""
    return FORMAT.change(place(project), "", move, *arguments, **named)


def found(project: Project) -> StateFile | Unusable:
    """The run as it is to be used."""
    run = files.find_run(place(project).store)
    assert run
    return run


def run_of(project: Project) -> StateFile:
    """The same where it can be read."""
    run = found(project)
    assert isinstance(run, StateFile)
    return run


def put(project: Project, data: object) -> Path:
    text = data if isinstance(data, str) else json.dumps(data, indent=2) + "\n"
    return project.write(files.STATE, text)


def state(project: Project) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / files.STATE).read_bytes())
    return data


def log(project: Project) -> list[dict[str, Any]]:
    """The lines of learnings.jsonl, all of which must be whole."""
    path = project.root / files.LEARNINGS
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def killed(project: Project, code: str, call: str, number: int, *, after: bool) -> bool:
    """Whether *code*, run in a process of its own, got as far as the kill."""
    moment = "after" if after else "before"
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(project.root), code, call, str(number), moment],
        env=project.environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, -9}, done.stderr.decode()
    return done.returncode == -9


def unchanged(state: State, _at: str) -> State:
    """A move that changes nothing."""
    return state
