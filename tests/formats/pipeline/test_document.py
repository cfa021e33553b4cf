"""The document is true of us: its examples, its definitions, its tools, its metrics."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.pipeline import definitions, operations, progress
from holdfast.formats.pipeline.files import KIND
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.model import State
from holdfast.formats.pipeline.moves import update
from holdfast.testing import Project
from pipework import (
    BLOCKS,
    GENERATION,
    PLANNING,
    STATES,
    at,
    example,
    place,
    put,
    tool,
    workflow_state,
)


def problems(data: object, path: str = "state.json") -> tuple[str, ...]:
    report = FORMAT.inspect(Path(path), json.dumps(data).encode())
    assert report is not None
    return report.problems


@pytest.mark.parametrize("workflow_id", STATES)
def test_every_state_of_the_document_is_valid(workflow_id: str, holdfast_project: Project) -> None:
    """The generation that waits at step 3, and the planning in its third phase."""
    path = put(holdfast_project.root, workflow_id, STATES[workflow_id])
    done = holdfast_project.run("inspect", str(path))
    assert done.stdout == f"{path}: valid, format pipeline\n"


@pytest.mark.parametrize("workflow_id", STATES)
def test_what_is_read_is_written_as_it_was(workflow_id: str) -> None:
    """Byte for byte: order, nulls and unknown fields, also those that are called like ours."""
    data = {"mine": {"z": 1, "a": None}, **copy.deepcopy(STATES[workflow_id])}
    data |= {"section": {"a": 1}, "steps": [3], "word": None, "model_config": 1}
    data |= {"definition": {"x": 1}, "missing": None, "_definition": 4}
    section = data[data["workflow_type"]]
    section["owner"] = ["x", {"deep": 1.5}]
    for step in section.get("steps") or section["phases"]:
        step |= {"begun": True, "attempt": 1, "number": 9}
    raw = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
    assert KIND.parse(raw).encode() == raw


def test_a_move_changes_what_it_says_and_nothing_else() -> None:
    """The third phase of the document's planning is completed."""
    before = example(PLANNING)
    after = update(before, at(0), 3, "completed", {"path_plan": "p.md"})
    expected = copy.deepcopy(STATES[PLANNING])
    expected["updated_at"] = at(0)
    phase = expected["planning"]["phases"][2]
    phase |= {"status": "completed", "completed_at": at(0), "artifacts": {"path_plan": "p.md"}}
    assert json.dumps(after.to_json()) == json.dumps(expected)
    assert before.to_json() == STATES[PLANNING]


def test_a_workflow_that_begins_has_the_fields_of_the_document(tmp_path: Path) -> None:
    """In its order, step by step; what the examples have beyond is their later progress."""
    told = operations.start_workflow(
        place(tmp_path), "generation", scene_id="0204", blueprint="b.md"
    )
    assert told["workflow_id"] == GENERATION
    state = workflow_state(place(tmp_path), GENERATION)
    document = STATES[GENERATION]
    assert list(state) == [key for key in document if key != "session_name"]
    assert list(state["generation"]) == list(document["generation"])
    for ours, theirs in zip(
        state["generation"]["steps"], document["generation"]["steps"], strict=True
    ):
        assert list(ours) == list(theirs)
    assert state["generation"]["artifacts"].keys() == document["generation"]["artifacts"].keys()
    planned = operations.start_workflow(
        place(tmp_path, 1800), "planning", context={"act": 1, "chapter": 2, "scene": 4}
    )
    assert planned["workflow_id"] == PLANNING
    section = workflow_state(place(tmp_path), PLANNING)["planning"]
    assert list(section) == list(STATES[PLANNING]["planning"])
    assert section["context"] == STATES[PLANNING]["planning"]["context"]


def test_the_built_in_definitions_are_those_of_the_document() -> None:
    """Seven steps, and the five phases of a scene."""
    (steps,) = (block["generation_steps"] for block in BLOCKS if "generation_steps" in block)
    (phases,) = (block["planning_phases"] for block in BLOCKS if "planning_phases" in block)
    assert definitions.built_in("generation").to_json()["steps"] == steps
    assert definitions.built_in("planning").to_json()["phases"] == phases["scene"]


@pytest.mark.parametrize(("level", "approved_in"), [("chapter", [2]), ("act", [2, 10])])
def test_the_levels_that_the_document_leaves_open_are_similar(
    level: str, approved_in: list[int]
) -> None:
    """The same first five phases; "Phase 2/10" is the last one of an act."""
    definition = definitions.built_in("planning", level)
    names = [each.name for each in definitions.built_in("planning").all]
    assert [each.name for each in definition.all][:5] == names
    assert [each.number for each in definition.all if each.human_approval] == approved_in
    assert definition.all[1].selects_variant
    assert list(definitions.problems(definition)) == [
        "name: planning is built in; choose another one"
    ]


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """A project with the two states of the document."""
    for workflow_id, data in STATES.items():
        put(tmp_path, workflow_id, data)
    return tmp_path


def test_the_status_and_the_next_step_of_the_worked_example(worked: Path) -> None:
    """Equal in value: progress is 42 at step 3 of 7, and an approval is what is missing."""
    given, shown = tool("get_workflow_status")
    answered = operations.get_workflow_status(place(worked), **given)
    step = STATES[GENERATION]["generation"]["steps"][2]
    shown |= {"workflow_id": GENERATION, "artifacts": step["artifacts"]}
    assert answered == {**shown, "status": "in_progress"}
    given, shown = tool("get_next_step")
    assert operations.get_next_step(place(worked), **given) == shown


def test_the_approval_of_the_worked_example(worked: Path) -> None:
    """Equal in value, with what it leads to: step 4 may begin, and does."""
    before = operations.validate_prerequisites(place(worked), GENERATION, 4)
    assert before == {
        "prerequisites_met": False,
        "required_steps": [1, 2, 3],
        "completed_steps": [1, 2],
        "missing_steps": [3],
        "can_start_step": False,
        "blocking_issues": ["Human approval required for verification plan"],
    }
    given, shown = tool("approve_step")
    assert operations.approve_step(place(worked, 200), **given) == shown
    state = workflow_state(place(worked), GENERATION)
    approval = state["generation"]["steps"][2]["human_approval"]
    assert approval == {
        "required": True,
        "approved": True,
        "approved_at": at(200),
        "modifications": given["modifications"],
    }
    given, shown = tool("validate_prerequisites")
    assert operations.validate_prerequisites(place(worked), **given) == shown
    given, shown = tool("update_workflow_state")
    assert operations.update_workflow_state(place(worked, 600), **given) == shown
    step = workflow_state(place(worked), GENERATION)["generation"]["steps"][3]
    assert (step["status"], step["artifacts"]) == ("in_progress", given["artifacts"])


def test_listing_cancelling_and_resuming_the_worked_example(worked: Path) -> None:
    """Equal in value, filtered by all three fields."""
    given, shown = tool("list_workflows")
    assert operations.list_workflows(place(worked), **given) == shown
    assert operations.list_workflows(place(worked))["total"] == 2
    assert operations.list_workflows(place(worked), status="failed") == {
        "workflows": [],
        "total": 0,
    }
    operations.approve_step(place(worked), GENERATION, 3, approved=True)
    given, shown = tool("cancel_workflow")
    run = worked / STATES[GENERATION]["generation"]["artifacts"]["working_dir"]
    for folder in (run, worked / "workspace/generation-runs" / GENERATION):
        folder.mkdir(parents=True, exist_ok=True)
    answered = operations.cancel_workflow(place(worked, 300), **given)
    assert answered.pop("notes")[0].startswith("removed, as it was empty: ")
    assert answered == shown
    given, shown = tool("resume_workflow")
    assert operations.resume_workflow(place(worked, 400), **given) == shown


def test_the_metrics_of_the_document(worked: Path) -> None:
    """Its shape; and its numbers, where its state can have them."""
    (shown,) = (block for block in BLOCKS if "workflow_metrics" in block)
    state = example(GENERATION)
    measured = progress.metrics(state)
    assert list(measured["workflow_metrics"]) == list(shown["workflow_metrics"])
    assert measured["workflow_metrics"]["step_times"] == shown["workflow_metrics"]["step_times"][:2]


def _as_measured() -> State:
    """The document's run at the moment of its metrics, as far as its state tells of it."""
    data = copy.deepcopy(STATES[GENERATION])
    data["updated_at"] = at(420)
    steps = data["generation"]["steps"]
    steps[2] |= {"status": "completed", "completed_at": at(90)}
    steps[2]["human_approval"] |= {"approved": True, "approved_at": at(90)}
    steps[3] |= {"status": "completed", "started_at": at(90), "completed_at": at(330)}
    steps[3]["attempts"] |= {"current": 2}
    steps[5] |= {"status": "in_progress", "started_at": at(340)}
    return State.of_json(data)


def test_the_numbers_of_the_documents_metrics_follow_from_such_a_state() -> None:
    """One call each of steps 1 to 3, two of step 4, seven agents beside each other in step 6."""
    (shown,) = (block for block in BLOCKS if "workflow_metrics" in block)
    assert progress.metrics(_as_measured()) == shown


WRONG: list[tuple[str, list[Any], Any, str]] = [
    (GENERATION, ["status"], "going", "status: expected one of in_progress, waiting_approval,"),
    (GENERATION, ["updated_at"], None, "updated_at: expected a time in ISO 8601, found nothing"),
    (GENERATION, ["created_at"], "now", "created_at: expected a time in ISO 8601"),
    (GENERATION, ["generation", "steps", 1, "status"], "pending", "generation.steps.2.status:"),
    (GENERATION, ["generation", "steps", 2, "step"], 4, "generation.steps.2.step: expected 3"),
    (GENERATION, ["generation", "current_step"], 5, "generation.current_step: expected 3"),
    (GENERATION, ["generation", "total_steps"], 8, "generation.total_steps: expected 7"),
    (GENERATION, ["generation", "scene_id"], None, "generation.scene_id: expected the scene's id"),
    (GENERATION, ["generation", "steps", 0, "artifacts"], [], "artifacts: expected an object"),
    (PLANNING, ["planning", "level"], None, "planning.level: expected scene, chapter or act"),
    (PLANNING, ["planning", "phases", 0, "status"], "done", "planning.phases.0.status: expected"),
    (PLANNING, ["status"], "completed", "status: expected in_progress, since not every phase"),
]


@pytest.mark.parametrize(("workflow_id", "where", "value", "told"), WRONG)
def test_what_is_wrong_is_named(
    workflow_id: str, where: list[Any], value: object, told: str
) -> None:
    """Each with the field, and with what is expected there."""
    data = copy.deepcopy(STATES[workflow_id])
    inner: Any = data
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    assert any(told in problem for problem in problems(data)), problems(data)
