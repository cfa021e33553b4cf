"""What the tests of the pipeline format share: the document's examples, a place, and a diligent agent."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files, moves, operations
from holdfast.formats.pipeline.model import State

DOCUMENT = (Path(__file__).parents[1] / "samples" / "pipeline" / "document.md").read_text("utf-8")
BLOCKS: list[dict[str, Any]] = [
    json.loads(block) for block in re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
]
BEGUN = datetime(2025, 11, 10, 14, 30, tzinfo=UTC)
GENERATION = "generation-scene-0204-20251110-143000"
PLANNING = "planning-scene-0204-20251110-150000"
STATES: dict[str, dict[str, Any]] = {
    block["workflow_id"]: block for block in BLOCKS if {"generation", "planning"} & block.keys()
}


def tool(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The input and the output that the document shows for a tool."""
    section = re.split(rf"### \d\. {name}\n", DOCUMENT)[1].split("\n### ")[0].split("\n## ")[0]
    given, answered = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    return json.loads(given), json.loads(answered)


def example(workflow_id: str) -> State:
    return State.of_json(copy.deepcopy(STATES[workflow_id]))


def at(seconds: float) -> str:
    return (BEGUN + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(root: Path, seconds: float = 0) -> Place:
    now = BEGUN + timedelta(seconds=seconds)
    return Place(Store(root), Settings(), now, None, None, saver="test")


def put(root: Path, workflow_id: str, data: object) -> Path:
    path = root / "workspace" / "workflow-state" / f"{workflow_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = data if isinstance(data, str) else json.dumps(data, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def workflow_state(place: Place, workflow_id: str) -> dict[str, Any]:
    """The whole state, as it lies there."""
    return files.find(place.store, workflow_id).state.to_json()


def run(state: State, *made: tuple[int, str]) -> State:
    """Give steps statuses, one after the other; "approved" and "rejected" are a person's."""
    for seconds, (number, given) in enumerate(made, 1):
        now = at(10 * seconds)
        if given == "approved":
            state = moves.approve(state, now, number)
        elif given == "rejected":
            state = moves.reject(state, now, number)
        elif given in {"A", "B"}:
            state = moves.approve(state, now, number, selected_variant=given)
        else:
            state = moves.update(state, now, number, given)
    return state


def done(number: int) -> list[tuple[int, str]]:
    return [(number, "in_progress"), (number, "completed")]


def go_on(
    root: Path, workflow_id: str, *, fails: Mapping[int, int], moves: int | None = None
) -> list[tuple[int, str]]:
    """What an agent does who knows nothing but the answers; *fails* says how often a step does.

    Returns the moves that were made, until the workflow is over or there have been *moves*.
    """
    made: list[tuple[int, str]] = []
    while moves is None or len(made) < moves:
        here = place(root, 60)
        told = operations.get_next_step(here, workflow_id)
        status = operations.get_workflow_status(here, workflow_id)
        if status["status"] in {"completed", "failed", "cancelled"}:
            break
        number = told["current_step"]
        if told["can_proceed"]:
            number = told["next_step"]
            operations.update_workflow_state(here, workflow_id, number, status="in_progress")
            made.append((number, "in_progress"))
        elif status["waiting_for_approval"]:
            operations.approve_step(here, workflow_id, number, approved=True)
            made.append((number, "approved"))
        else:
            state = workflow_state(here, workflow_id)
            failed = _times_failed(state, number)
            given = "failed" if failed < fails.get(number, 0) else "completed"
            operations.update_workflow_state(here, workflow_id, number, given)
            made.append((number, given))
    return made


def _times_failed(state: Mapping[str, Any], number: int) -> int:
    """How often a step was done anew."""
    steps = state[state["workflow_type"]]["steps"]
    return int(steps[number - 1].get("runs", 1)) - 1
