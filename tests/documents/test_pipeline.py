"""What the document of pipelines says of generations and plannings, by its own examples."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gatedwork import killed_at_rename
from holdfast.formats.pipeline import operations
from holdfast.testing import Compactions, Project
from pipework import GENERATION, PLANNING, STATES, at, place

SESSION = "session-1"
DRAFT = "work-on-chapter-02"
TO_APPROVAL = [
    (1, "completed"),
    (2, "in_progress"),
    (2, "completed"),
    (3, "in_progress"),
    (3, "completed"),
]


def pipeline(project: Project, *arguments: str) -> str:
    return project.run("pipeline", *arguments, session=SESSION).stdout


def begin(project: Project) -> None:
    pipeline(project, "start", "generation", "--scene", "0204", "--blueprint", "b.md")


def update(project: Project, step: int, status: str) -> None:
    pipeline(project, "update", str(step), "--status", status)


def state(project: Project) -> dict[str, Any]:
    """The only state that there is."""
    (path,) = project.root.glob("workspace/**/workflow-state/generation-*.json")
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def put(project: Project, data: dict[str, Any]) -> Path:
    """Where the document has it: in the session that it names."""
    folder = f"workspace/sessions/{data['session_name']}/workflow-state"
    return project.write(f"{folder}/{data['workflow_id']}.json", json.dumps(data, indent=2) + "\n")


RESTORED = {
    GENERATION: (
        "is in phase 3 of 7: Verification Plan.",
        "Next action: Human approval required for verification plan.",
    ),
    PLANNING: (
        "is in phase 3 of 5: Path Planning.",
        "Next action: Phase 3 (Path Planning) is in progress.",
    ),
}


@pytest.mark.parametrize("workflow_id", STATES)
def test_an_example_is_restored_and_left_as_it_is(
    workflow_id: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As it stands in the document; hooks write nothing there."""
    path = put(holdfast_project, STATES[workflow_id])
    before = path.read_bytes()
    guidance = compaction_cycle(3).guidance
    for fact in RESTORED[workflow_id]:
        assert fact in guidance
    assert path.read_bytes() == before


def test_the_example_of_a_planning_goes_on(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its third phase is completed, and the fourth one is next."""
    path = put(holdfast_project, STATES[PLANNING])
    pipeline(holdfast_project, "update", "3", "--status", "completed", "-w", PLANNING)
    assert json.loads(path.read_bytes())["planning"]["phases"][2]["status"] == "completed"
    assert "Next action: Begin phase 4 (Detailing)" in compaction_cycle().guidance


REQUIRED = ["workflow_id", "workflow_type", "status", "created_at", "updated_at"]


@pytest.mark.parametrize("field", REQUIRED)
def test_a_required_field_is_missed(field: str, holdfast_project: Project) -> None:
    """By `inspect`, also where only its place tells that it is a pipeline."""
    data = copy.deepcopy(STATES[GENERATION])
    path = put(holdfast_project, data)
    del data[field]
    path.write_text(json.dumps(data), "utf-8")
    done = holdfast_project.run("inspect", str(path), check=False)
    assert done.returncode == 1
    assert f"{field}: expected" in done.stdout


def test_the_statuses_of_a_workflow(holdfast_project: Project) -> None:
    """All five, each reached by commands."""
    project = holdfast_project
    begin(project)
    assert state(project)["status"] == "in_progress"
    for step, status in TO_APPROVAL:
        update(project, step, status)
    assert state(project)["status"] == "waiting_approval"
    pipeline(project, "cancel", "--reason", "User requested cancellation")
    assert state(project)["status"] == "cancelled"
    workflow_id = state(project)["workflow_id"]
    pipeline(project, "resume", workflow_id)
    pipeline(project, "approve")
    for step in (4, 5, 6):
        update(project, step, "in_progress")
        if step < 6:
            update(project, step, "completed")
    update(project, 6, "failed")
    assert state(project)["status"] == "failed"
    pipeline(project, "resume", workflow_id)
    update(project, 6, "completed")
    update(project, 7, "in_progress")
    update(project, 7, "completed")
    assert state(project)["status"] == "completed"


def test_the_statuses_of_a_step(holdfast_project: Project) -> None:
    """All five: before, during, before a person's decision, after, and after the last attempt."""
    project = holdfast_project
    begin(project)
    seen = {step["status"] for step in state(project)["generation"]["steps"]}
    for step, status in TO_APPROVAL:
        update(project, step, status)
        seen |= {each["status"] for each in state(project)["generation"]["steps"]}
    pipeline(project, "approve")
    update(project, 4, "in_progress")
    for _ in range(3):
        update(project, 4, "failed")
    seen.add(state(project)["generation"]["steps"][3]["status"])
    assert seen == {"pending", "in_progress", "waiting_approval", "completed", "failed"}


def test_created_at_stays_and_updated_at_goes_along(holdfast_project: Project) -> None:
    """ISO 8601, in UTC."""
    begin(holdfast_project)
    first = state(holdfast_project)
    holdfast_project.clock.advance(hours=1)
    update(holdfast_project, 1, "completed")
    second = state(holdfast_project)
    assert second["created_at"] == first["created_at"] == first["updated_at"]
    assert second["updated_at"] > first["updated_at"]
    assert len(second["updated_at"]) == len(at(0))
    assert second["updated_at"].endswith("Z")


def test_each_step_is_on_disk_when_a_compaction_comes(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whatever was done last is where the work goes on, in any session."""
    begin(holdfast_project)
    expected = [
        "Begin step 2 (Blueprint Validation)",
        "Step 2 (Blueprint Validation) is in progress.",
        "Begin step 3 (Verification Plan)",
        "Step 3 (Verification Plan) is in progress.",
        "Human approval required for verification plan.",
    ]
    for (step, status), action in zip(TO_APPROVAL, expected, strict=True):
        update(holdfast_project, step, status)
        for session in (SESSION, "another"):
            assert f"Next action: {action}" in compaction_cycle(session=session).guidance


def test_a_workflow_in_a_session_lies_there_and_is_committed(holdfast_project: Project) -> None:
    """State, artefacts, index; the commit copies them and marks the state."""
    project = holdfast_project
    pipeline(project, "session", "create", DRAFT)
    begin(project)
    found = state(project)
    assert found["session_name"] == DRAFT
    base = f"workspace/sessions/{DRAFT}"
    workflow_id = found["workflow_id"]
    assert (project.root / base / f"workflow-state/{workflow_id}.json").is_file()
    run = f"generation-runs/{workflow_id}"
    assert found["generation"]["artifacts"]["working_dir"] == f"{base}/{run}"
    project.write(f"{base}/{run}/constraints-list.json", "{}")
    index = json.loads((project.root / base / "workflow-state/index.json").read_bytes())
    assert [entry["workflow_id"] for entry in index["workflows"]] == [workflow_id]
    pipeline(project, "session", "commit", DRAFT)
    committed = project.root / f"workspace/workflow-state/{workflow_id}.json"
    assert json.loads(committed.read_bytes())["committed_from_session"] == DRAFT
    assert (project.root / f"workspace/{run}/constraints-list.json").read_text("utf-8") == "{}"
    index = json.loads((project.root / "workspace/workflow-state/index.json").read_bytes())
    assert [entry["workflow_id"] for entry in index["workflows"]] == [workflow_id]


def test_each_change_of_a_workflow_is_in_its_log(holdfast_project: Project) -> None:
    """workspace/logs/workflow-orchestration/{workflow_id}.log."""
    begin(holdfast_project)
    workflow_id = state(holdfast_project)["workflow_id"]
    log = holdfast_project.root / f"workspace/logs/workflow-orchestration/{workflow_id}.log"
    for count, (step, status) in enumerate(TO_APPROVAL, 2):
        update(holdfast_project, step, status)
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        assert len(lines) == count
        assert lines[-1]["step"] == step


def test_after_the_last_attempt_a_person_resumes(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Three attempts of step 4, then failed; resumed, it goes on counting, and the reasons are told."""
    begin(holdfast_project)
    for step, status in TO_APPROVAL:
        update(holdfast_project, step, status)
    pipeline(holdfast_project, "approve")
    update(holdfast_project, 4, "in_progress")
    for attempt in (1, 2, 3):
        attempts = state(holdfast_project)["generation"]["steps"][3]["attempts"]
        assert (attempts["current"], attempts["max"]) == (attempt, 3)
        why = ("--error", f"reason {attempt}")
        pipeline(holdfast_project, "update", "4", "--status", "failed", *why)
    assert state(holdfast_project)["status"] == "failed"
    workflow_id = state(holdfast_project)["workflow_id"]
    pipeline(holdfast_project, "resume", workflow_id, "--from", "4")
    found = state(holdfast_project)
    assert found["status"] == found["generation"]["steps"][3]["status"] == "in_progress"
    attempts = found["generation"]["steps"][3]["attempts"]
    assert (attempts["current"], attempts["max"]) == (4, 6)
    guidance = compaction_cycle().guidance
    assert "- attempts that failed: 1: reason 1; 2: reason 2; 3: reason 3" in guidance
    assert (
        ", compliance_echo. Attempt 3 failed, so pay special attention to this: reason 3\n"
        in guidance
    )
    pipeline(holdfast_project, "update", "4", "--status", "completed")
    history = state(holdfast_project)["generation"]["steps"][3]["attempts"]["history"]
    assert [one["attempt"] for one in history] == [1, 2, 3, 4]


@pytest.mark.parametrize("number", range(1, 5))
def test_a_command_that_is_killed_loses_nothing(number: int, holdfast_project: Project) -> None:
    """Before any of the files that it replaces: the step is done or is not, and can be done."""
    begin(holdfast_project)
    before = state(holdfast_project)
    command = ("pipeline", "update", "1", "--status", "completed")
    killed = killed_at_rename(holdfast_project, number, *command) == -9
    assert killed or number > 1
    found = state(holdfast_project)
    done = found["generation"]["steps"][0]["status"] == "completed"
    assert done or found == before
    if not done:
        update(holdfast_project, 1, "completed")
    update(holdfast_project, 2, "in_progress")
    found = state(holdfast_project)
    statuses = [step["status"] for step in found["generation"]["steps"]]
    assert statuses[:3] == ["completed", "in_progress", "pending"]
    index = json.loads((holdfast_project.root / "workspace/workflow-state/index.json").read_bytes())
    assert index["workflows"][0]["updated_at"] == found["updated_at"]


def test_the_guidance_says_whose_turn_it_is(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A person's, while they have to approve; after a completed step, the next one's."""
    begin(holdfast_project)
    for step, status in TO_APPROVAL:
        update(holdfast_project, step, status)
    guidance = compaction_cycle().guidance
    action = "User must approve or modify verification plan."
    assert (
        f"\n1. Waiting for a person. Human approval required for verification plan. {action}\n"
        in guidance
    )
    assert "work continues" not in guidance
    assert "`holdfast pipeline" not in guidance
    pipeline(holdfast_project, "approve")
    update(holdfast_project, 4, "in_progress")
    assert "\n1. The work continues in phase 4 of 7" in compaction_cycle().guidance
    update(holdfast_project, 4, "completed")
    guidance = compaction_cycle().guidance
    assert "\n1. Step 4 (Generation) is completed. Begin step 5 (" in guidance


def test_a_failed_workflow_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A person reviews the error first."""
    begin(holdfast_project)
    update(holdfast_project, 1, "failed")
    (line,) = compaction_cycle().guidance.splitlines()
    assert "failed in step 1 (File Check)" in line
    assert "A person has to review the error; then: holdfast pipeline resume generation-" in line


def test_a_workflow_that_is_completed_by_its_status_alone_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its open step is named, to the agent and to the person."""
    put(holdfast_project, {**STATES[GENERATION], "status": "completed"})
    cycle = compaction_cycle()
    open_step = "completed by its status, but step 3 (Verification Plan) is waiting_approval"
    assert cycle.guidance.endswith(f"{open_step}: correct the file, then see holdfast status")
    assert open_step in cycle.message
    assert open_step in " ".join(holdfast_project.run("list", "--all").stdout.split())


def test_a_state_that_cannot_be_used_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In one line, with what to do."""
    put(holdfast_project, STATES[GENERATION]).write_text('{"workflow_id": "', "utf-8")
    (line,) = compaction_cycle().guidance.splitlines()
    assert re.search(" could not be read: .*; correct it, or begin the workflow anew$", line)


@pytest.mark.parametrize(
    ("workflow_id", "edits", "status", "told"),
    [
        (
            GENERATION,
            {"status": "failed"},
            "in_progress",
            "Waiting for a person. Step 3 (Verification Plan) failed. User must review the error",
        ),
        (
            PLANNING,
            {"status": "failed"},
            "in_progress",
            "Waiting for a person. Phase 3 (Path Planning) failed. User must review the error",
        ),
        (
            GENERATION,
            {"human_approval": {"required": True, "approved": True}},
            "in_progress",
            "Waiting for a person. Human approval required for verification plan.",
        ),
    ],
)
def test_what_a_person_has_to_look_at_waits_for_them(
    workflow_id: str,
    edits: dict[str, Any],
    status: str,
    told: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """Also where it was written by hand; no command is named that decides in their place."""
    data = copy.deepcopy(STATES[workflow_id])
    steps = data["generation"]["steps"] if "generation" in data else data["planning"]["phases"]
    steps[2] |= edits
    path = put(holdfast_project, {**data, "status": status})
    guidance = compaction_cycle().guidance
    assert f"\n1. {told}" in guidance
    assert "holdfast pipeline" not in guidance
    assert "The work continues" not in guidance
    contradicts = "expected false, since step 3 (Verification Plan) waits for approval, found true"
    assert (contradicts in guidance) == ("human_approval" in edits)
    assert holdfast_project.run("inspect", str(path), check=False).returncode == 1


@pytest.mark.parametrize(("attempt", "left"), [(1, True), (3, False)])
def test_a_step_that_failed_by_hand_is_tried_again_while_attempts_are_left(
    attempt: int,
    left: bool,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """The agent was told to wait for a person, though the definition sends it back to step 4."""
    data = copy.deepcopy(STATES[GENERATION])
    steps = data["generation"]["steps"]
    for step in steps[:4]:
        step["status"] = "completed"
    steps[2]["human_approval"]["approved"] = True
    steps[3]["attempts"]["current"] = attempt
    steps[4] |= {"status": "failed", "error": "too dry"}
    path = put(holdfast_project, {**data, "status": "in_progress"})
    guidance = compaction_cycle().guidance
    failed = "Step 5 (Fast Compliance Check) failed: too dry."
    again = "prose-writer must try step 4 (Generation) again, attempt 2 of 3"
    assert (f"\n1. {failed} {again}" in guidance) == left
    assert (f"\n1. Waiting for a person. {failed} User must review" in guidance) != left
    assert ("`holdfast next`" in guidance) == left
    inspected = holdfast_project.run("inspect", str(path), check=False).stdout
    assert ("expected failed, as a step is" in inspected) != left
    update(holdfast_project, 5, "failed")
    writer, check = state(holdfast_project)["generation"]["steps"][3:5]
    assert (writer["status"], check["status"]) == (
        ("in_progress", "pending") if left else ("failed", "failed")
    )
    assert writer["attempts"]["history"][-1]["reason"] == "too dry"


@pytest.mark.parametrize(
    ("left", "total", "told"),
    [
        (2, 7, "All 2 steps of the state file are completed, of 7. User must add the other steps"),
        (
            2,
            2,
            "All 2 steps are completed, and the workflow is in_progress. Review the whole, then",
        ),
    ],
)
def test_steps_that_were_all_completed_by_hand(
    left: int, total: int, told: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Nobody is sent back to the last one."""
    data = copy.deepcopy(STATES[GENERATION])
    data["generation"]["steps"] = data["generation"]["steps"][:left]
    data["generation"] |= {"total_steps": total, "current_step": left}
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert f"\n1. {told}" in guidance
    assert "is in progress" not in guidance.replace("phase 2 of 2", "")


def test_an_artefact_that_is_not_there_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In the example, whose files nobody has made; what is no path is no reading."""
    data = copy.deepcopy(STATES[GENERATION])
    data["generation"]["steps"][1]["artifacts"]["verdict"] = "no objections"
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    blueprint = data["generation"]["artifacts"]["blueprint_path"]
    assert f"\n@{blueprint} (missing)\n" in guidance
    assert f"Missing: @{blueprint}, @workspace/sessions/" in guidance
    assert "It is looked for, or the person is asked." in guidance
    assert "no objections" not in guidance
    holdfast_project.write(blueprint, "The dialogue begins at dawn.")
    assert f"@{blueprint} (sent, part 1" in compaction_cycle().guidance


def test_a_cancelled_workflow_waits_for_nobody(holdfast_project: Project) -> None:
    """`resume` without a name says which one there is."""
    put(holdfast_project, STATES[GENERATION])
    pipeline(holdfast_project, "cancel", GENERATION)
    told = operations.get_workflow_status(place(holdfast_project.root), GENERATION)
    assert (told["status"], told["waiting_for_approval"]) == ("cancelled", False)
    refused = holdfast_project.run("pipeline", "resume", session="session-2", check=False)
    assert f"holdfast pipeline resume {GENERATION}" in refused.stderr


def test_an_odd_status_costs_its_step(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is named to the agent, the file keeps it, and the commands go on."""
    data = copy.deepcopy(STATES[GENERATION])
    data["generation"]["steps"][2]["status"] = "doing"
    path = put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert "Note: generation.steps.2.status: expected one of pending, in_progress," in guidance
    assert "found 'doing'" in guidance
    assert "2/7 Blueprint Validation" in holdfast_project.run("status").stdout
    pipeline(holdfast_project, "cancel", GENERATION)
    after = json.loads(path.read_bytes())
    assert (after["status"], after["generation"]["steps"][2]["status"]) == ("cancelled", "doing")


def test_artefacts_and_outputs_are_checked(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A blueprint that is missing, outputs that are not noted; a path in the working directory is read."""
    said = pipeline(
        holdfast_project, "start", "generation", "--scene", "0204", "--blueprint", "b.md"
    )
    assert "there is no file b.md, which is its blueprint" in said
    said = pipeline(holdfast_project, "update", "1", "--status", "completed")
    assert "there is no file b.md, which is the blueprint_path of step 1 (File Check)" in said
    update(holdfast_project, 2, "in_progress")
    said = pipeline(holdfast_project, "update", "2", "--status", "completed")
    assert "step 2 (Blueprint Validation) has no constraints_list noted" in said
    folder = state(holdfast_project)["generation"]["artifacts"]["working_dir"]
    holdfast_project.write(f"{folder}/list.json", '{"only": "this"}')
    noted = ("--artifact", "constraints_list=list.json")
    assert "list.json" not in pipeline(holdfast_project, "update", "2", *noted)
    assert f"@{folder}/list.json" in compaction_cycle().guidance


def test_a_workflow_that_waits_is_listed_as_in_progress(holdfast_project: Project) -> None:
    """As the document lists the one that waits at step 3."""
    begin(holdfast_project)
    for step, status in TO_APPROVAL:
        update(holdfast_project, step, status)
    listed = pipeline(holdfast_project, "list", "--status", "in_progress", "--json")
    assert json.loads(listed)["total"] == 1


def test_a_cancellation_says_what_it_has_cleaned(holdfast_project: Project) -> None:
    """An empty working directory goes; one that holds files stays."""
    begin(holdfast_project)
    answer = json.loads(pipeline(holdfast_project, "cancel", "--json"))
    assert answer["cleanup_performed"] is True
    assert answer["notes"][0].startswith("removed, as it was empty: workspace/generation-runs/")
    pipeline(holdfast_project, "resume", answer["workflow_id"])
    folder = state(holdfast_project)["generation"]["artifacts"]["working_dir"]
    holdfast_project.write(f"{folder}/draft.md", "text")
    answer = json.loads(pipeline(holdfast_project, "cancel", "--json"))
    assert answer["cleanup_performed"] is False


def test_what_the_document_does_not_have_is_invalid(holdfast_project: Project) -> None:
    """A type that is defined nowhere, and a phase of a planning that has failed."""
    data = copy.deepcopy(STATES[PLANNING])
    data["planning"]["phases"][2]["status"] = "failed"
    path = put(holdfast_project, data)
    done = holdfast_project.run("inspect", str(path), check=False)
    assert "a phase of a planning is pending, in_progress, waiting_approval" in done.stdout
    data = copy.deepcopy(STATES[GENERATION])
    data |= {"workflow_type": "deploy", "deploy": data.pop("generation")}
    path = put(holdfast_project, data)
    done = holdfast_project.run("inspect", str(path), check=False)
    assert (
        "workflow_type: expected generation, planning, or the name of a definition" in done.stdout
    )
    path = put(holdfast_project, STATES[PLANNING])
    failing = ("pipeline", "update", "3", "--status", "failed", "-w", PLANNING)
    assert "cannot fail" in holdfast_project.run(*failing, check=False).stderr


def test_a_step_that_was_skipped_comes_first(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to go on with the later one."""
    data = copy.deepcopy(STATES[GENERATION])
    steps = data["generation"]["steps"]
    steps[1]["status"], steps[3]["status"] = "pending", "in_progress"
    steps[2] |= {"status": "completed", "human_approval": {"required": True, "approved": True}}
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert (
        "\n1. Step 2 (Blueprint Validation) comes first. Begin step 2 (Blueprint Validation) "
        "with blueprint-validator.\n" in guidance
    )
    assert "The work continues" not in guidance


def test_a_status_that_waits_while_no_step_does_is_named(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to complete the step in progress."""
    put(holdfast_project, {**STATES[PLANNING], "status": "waiting_approval"})
    guidance = compaction_cycle().guidance
    told = "the status is waiting_approval, and no phase waits for an approval"
    assert f"\nNext action: Not known: {told}\n" in guidance
    assert "holdfast pipeline" not in guidance


@pytest.mark.parametrize(("number", "is_right"), [(3, True), (4, True), (5, False)])
def test_a_step_may_be_the_current_one_before_it_has_begun(
    number: int, is_right: bool, holdfast_project: Project
) -> None:
    """Where step 3 is completed, current_step may be 3 or 4. It was to be 3."""
    data = copy.deepcopy(STATES[GENERATION])
    data["generation"]["current_step"] = number
    done = {"status": "completed", "human_approval": {"required": True, "approved": True}}
    data["generation"]["steps"][2] |= done
    path = put(holdfast_project, data)
    assert (holdfast_project.run("inspect", str(path), check=False).returncode == 0) == is_right
