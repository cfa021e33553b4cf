"""Pipelines, their sessions and the server: defects that were found by trying to break it, each test named for one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.pipeline import definitions, files, operations, sessions
from holdfast.formats.pipeline.files import GLOBAL, Location
from holdfast.formats.pipeline.format import FORMAT
from holdfast.testing import Compactions, Project
from mcpwork import call, given, said
from pipework import GENERATION, STATES, go_on, workflow_state
from pipework import place as at
from sessionwork import json_of, place, put

OTHER = "generation-scene-0205-20251110-143000"


def change(project: Project, path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """As another tool does it, in place."""
    data = json.loads(path.read_bytes())
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def second(state: dict[str, Any]) -> dict[str, Any]:
    step: dict[str, Any] = state["generation"]["steps"][1]
    return step


# A state that somebody planted.


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: second(state).update(name="\ud800"),
        lambda state: second(state).update(artifacts={"draft": "\ud800"}),
        lambda state: state.update({"workflow_type": "\ud800", "\ud800": state.pop("generation")}),
        lambda state: state["generation"].update(
            steps=[{"step": number, "name": str(number)} for number in range(1, 5_000)]
        ),
    ],
    ids=["the name of a step", "an artefact", "a type", "thousands of steps"],
)
def test_a_planted_state_does_not_stop_other_workflows(
    edit: Callable[[dict[str, Any]], object],
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """Half a character, or more steps than could be compared, made every hook fail or hang."""
    project = holdfast_project
    change(project, put(project, OTHER), edit)
    project.declare("Own work", phase="2/3 - Build")
    cycle = compaction_cycle()
    assert "Own work" in cycle.guidance
    assert "could not restore" not in cycle.message


def test_states_behind_a_link_are_not_a_sessions(holdfast_project: Project) -> None:
    """Cancelling a session removed the global states, where its folder of states was a link to theirs."""
    project = holdfast_project
    state = put(project, GENERATION)
    linked = project.root / Location("draft").states
    linked.parent.mkdir(parents=True)
    linked.symlink_to("../../workflow-state")
    cancelled = project.run("pipeline", "session", "cancel", "draft", "--yes", check=False)
    assert cancelled.returncode == 1
    assert state.exists()


def test_a_type_that_is_no_name_leads_nowhere(holdfast_project: Project) -> None:
    """Cancelling a workflow removed empty folders outside the workspace."""
    project = holdfast_project
    path = put(project, GENERATION)
    change(project, path, lambda state: state.update(workflow_type="../src"))
    folder = project.root / "src-runs" / GENERATION
    folder.mkdir(parents=True)
    assert not operations.cancel_workflow(place(project), GENERATION)["cleanup_performed"]
    assert folder.exists()


def test_a_type_longer_than_any_path_is_unknown(holdfast_project: Project) -> None:
    """Its definition was looked for, which ended in a traceback."""
    kind = "g" * 5000
    state = {**STATES[GENERATION], "workflow_type": kind}
    path = holdfast_project.write("workspace/workflow-state/x.json", json.dumps(state))
    assert (
        "workflow_type: expected" in holdfast_project.run("inspect", str(path), check=False).stdout
    )
    refused = holdfast_project.run("pipeline", "start", kind, check=False)
    assert "there is no workflow definition" in refused.stderr


def test_a_number_below_nothing_is_no_progress(holdfast_project: Project) -> None:
    """A step with a negative number made the progress negative."""
    change(
        holdfast_project,
        put(holdfast_project, GENERATION),
        lambda state: second(state).update(step=-4),
    )
    status = operations.get_workflow_status(place(holdfast_project), GENERATION)
    assert status["progress_percentage"] == 0


def test_prerequisites_that_are_named_thousands_of_times_cost_nothing(tmp_path: Path) -> None:
    """Each was followed as often as it was named: a small file took minutes."""
    steps = [
        {"step": each, "name": str(each), "prerequisites": [each - 1] * 40_000} for each in (2, 3)
    ]
    definition = {"name": "bomb", "steps": [{"step": 1, "name": "1"}, *steps]}
    path = tmp_path / "bomb.json"
    path.write_text(json.dumps(definition, separators=(",", ":")), encoding="utf-8")
    began = time.monotonic()
    assert definitions.read(path).name == "bomb"
    assert time.monotonic() - began < 5


# Steps.


def test_an_attempt_that_is_done_anew_keeps_the_one_before(tmp_path: Path) -> None:
    """Attempt 1 after a resume was written over attempt 1 before it."""
    begun = operations.start_workflow(at(tmp_path), "generation", scene_id="0204")["workflow_id"]
    go_on(tmp_path, begun, fails={}, moves=7)
    for draft in ("one.md", "two.md"):
        operations.update_workflow_state(
            at(tmp_path), begun, 4, status="completed", artifacts={"draft": draft}
        )
        if draft == "one.md":
            operations.resume_workflow(at(tmp_path), begun, from_step=4)
    attempts = workflow_state(at(tmp_path), begun)["generation"]["steps"][3]["attempts"]
    assert [each["artifacts"] for each in attempts["history"]] == [
        {"draft": "one.md"},
        {"draft": "two.md"},
    ]


def test_what_could_not_be_read_again_is_refused_with_a_reason(holdfast_project: Project) -> None:
    """Artefacts that were nested too deeply got no answer but that something had failed."""
    put(holdfast_project, GENERATION)
    deep: dict[str, Any] = {}
    for _ in range(80):
        deep = {"a": deep}
    answer = call(
        holdfast_project, "update_workflow_state", workflow_id=GENERATION, step=2, artifacts=deep
    )
    assert answer.is_error
    assert "nested" in said(answer)


def test_what_others_completed_does_not_come_back_from_a_copy(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A state that another tool completed was copied no more, and once damaged was as of before that."""
    path = put(holdfast_project, GENERATION)
    assert GENERATION in compaction_cycle().guidance
    change(holdfast_project, path, lambda state: state.update(status="completed"))
    compaction_cycle()
    path.write_text("{", encoding="utf-8")
    assert "# Workflow restored" not in compaction_cycle().guidance


# Sessions.


def test_cancelling_a_session_leaves_the_log_of_a_global_workflow(
    holdfast_project: Project,
) -> None:
    """The log of a global workflow went with a session that had one of the same id."""
    project = holdfast_project
    put(project, GENERATION)
    put(project, GENERATION, "draft")
    log = project.write(files.log(GENERATION), '{"time": "x", "event": "started"}\n')
    assert files.log(GENERATION) not in sessions.cancel(place(project), "draft")
    assert log.exists()


def test_logs_that_lie_outside_do_not_stop_a_cancel(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """The artefacts were gone, and then it was refused because of the log."""
    project = holdfast_project
    path = put(project, GENERATION, "draft")
    theirs = tmp_path / "outside" / "workflow-orchestration" / f"{GENERATION}.log"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs", encoding="utf-8")
    (project.root / "workspace" / "logs").symlink_to(theirs.parents[1])
    sessions.cancel(place(project), "draft")
    assert not path.exists()
    assert theirs.exists()


def test_a_commit_whose_log_cannot_be_written_has_not_failed(holdfast_project: Project) -> None:
    """All was committed, and the command said that it had failed."""
    project = holdfast_project
    put(project, GENERATION, "draft")
    project.write("workspace/logs", "a file")
    assert "1 workflow" in project.run("pipeline", "session", "commit", "draft").stdout


def _killed_while_committing(project: Project) -> None:
    """All was noted, and nothing was written yet."""
    written = {"path": GLOBAL.state(GENERATION), "before": None, "after": "{}"}
    note = f".claude/holdfast/unfinished/{FORMAT.name}.json"
    project.write(note, json.dumps({"version": 1, "changes": [written]}))


@pytest.mark.parametrize("command", ["commit", "cancel", "create"])
def test_a_session_command_tells_what_was_interrupted(
    command: str, holdfast_project: Project
) -> None:
    """Commands for sessions brought it to an end in silence."""
    project = holdfast_project
    put(project, GENERATION, "draft")
    put(project, OTHER, "second")
    _killed_while_committing(project)
    name = ["third" if command == "create" else "second", *["--yes"] * (command == "cancel")]
    assert (
        "interrupted command was completed"
        in project.run("pipeline", "session", command, *name).stderr
    )


def test_a_committed_artefact_keeps_who_may_read_it(holdfast_project: Project) -> None:
    """What its owner alone could read became readable for all, and a program was none any more."""
    project = holdfast_project
    put(project, GENERATION, "draft")
    run, modes = Location("draft").run("generation", GENERATION), {"plan.md": 0o600, "go.sh": 0o755}
    for name, mode in modes.items():
        project.write(f"{run}/{name}", name).chmod(mode)
    sessions.commit(place(project), "draft")
    copies = project.root / GLOBAL.run("generation", GENERATION)
    assert {name: (copies / name).stat().st_mode & 0o777 for name in modes} == modes


def test_a_path_that_begins_with_a_dot_is_rewritten_as_well(holdfast_project: Project) -> None:
    """It led into the session after the commit, and nowhere once that was cancelled."""
    project = holdfast_project
    path = put(project, GENERATION, "draft")
    inside = f"./{Location('draft').run('generation', GENERATION)}/plan.md"
    change(project, path, lambda state: second(state).update(artifacts={"plan": inside}))
    sessions.commit(place(project), "draft")
    committed = second(json_of(project, GLOBAL.state(GENERATION)))["artifacts"]["plan"]
    assert committed == f"./{GLOBAL.run('generation', GENERATION)}/plan.md"
    assert (project.root / committed).exists()


def test_the_doctor_wanted_a_failed_pipeline_completed(holdfast_project: Project) -> None:
    """Which is refused; it is resumed, and only a person can say so."""
    project = holdfast_project
    path = put(project, GENERATION)
    change(project, path, lambda state: state.update(status="failed"))
    told = project.run("doctor", check=False).stdout
    assert f"holdfast pipeline resume {path.stem}" in told
    before = path.read_bytes()
    assert project.run("doctor", "--fix", check=False).stderr == ""
    assert path.read_bytes() == before


def test_a_tool_said_nothing_of_what_was_interrupted(holdfast_project: Project) -> None:
    """The server finished a commit that had been killed, and told nobody who had called it."""
    project = holdfast_project
    put(project, OTHER)
    _killed_while_committing(project)
    answer = call(project, "update_workflow_state", workflow_id=OTHER, step=2, artifacts={"a": "b"})
    assert "interrupted command was completed" in given(answer)["notes"][0]
    assert (project.root / GLOBAL.state(GENERATION)).exists()


@pytest.mark.parametrize("command", ["update 2 --artifact a=b", "cancel"])
def test_that_a_copy_was_used_was_not_told(command: str, holdfast_project: Project) -> None:
    """The state could not be read, and the command went on from its last good copy in silence."""
    project = holdfast_project
    path = put(project, OTHER)
    project.run("pipeline", "update", "2", "--artifact", "draft=a.md")
    path.write_text("{half", encoding="utf-8")
    told = project.run("pipeline", *command.split()).stdout
    assert "could not be read" in told
    assert "its last good copy is used" in told


def test_a_wrong_status_is_quoted_as_it_was_written(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was quoted as the word that a step has for it, which stood nowhere in the file."""
    wrong = {**STATES[GENERATION], "status": "not_started"}
    folder = "workspace/workflow-state"
    holdfast_project.write(f"{folder}/{GENERATION}.json", json.dumps(wrong))
    assert "cancelled, found 'not_started'" in compaction_cycle().guidance


def test_a_state_without_steps_had_its_steps_counted_from_1_to_0(holdfast_project: Project) -> None:
    """`update` gave the hint "Its steps are 1 to 0"."""
    planted = {"workflow_id": OTHER, "workflow_type": "generation", "status": "in_progress"}
    holdfast_project.write(f"workspace/workflow-state/{OTHER}.json", json.dumps(planted))
    update = ("pipeline", "update", "1", "--status", "completed", "-w", OTHER)
    refused = holdfast_project.run(*update, check=False)
    assert refused.stderr == f"holdfast: {OTHER} has no step 1\n"
