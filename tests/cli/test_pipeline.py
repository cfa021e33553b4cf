"""`holdfast pipeline`: every command, as an agent or a person gives it, and the general ones on such a workflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast.cli.pipeline import pipeline as group
from holdfast.formats.pipeline import operations
from holdfast.testing import Compactions, Project
from pipework import DOCUMENT, place, tool

ROOT = Path(__file__).parents[2]
HERE = "s-1"
TO_APPROVAL = (
    ("1", "completed"),
    ("2", "in_progress"),
    ("2", "completed"),
    ("3", "in_progress"),
    ("3", "completed"),
)
REVIEW = (
    'name = "review"\n[[steps]]\nstep = 1\nname = "Read"\n[[steps]]\nstep = 2\nname = "Write"\n'
)


def pipeline(project: Project, *arguments: str) -> str:
    return project.run("pipeline", *arguments, session=HERE).stdout


def answered(project: Project, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(pipeline(project, *arguments, "--json"))
    return answer


def states(project: Project) -> dict[Path, bytes]:
    folder = project.root / "workspace"
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(project: Project, *arguments: str) -> str:
    """What a command says that must fail, and that it changed nothing."""
    before = states(project)
    done = project.run(*arguments, session=HERE, check=False)
    assert done.returncode in {1, 2}, done.stdout
    assert "Traceback" not in done.stderr
    assert states(project) == before
    return " ".join(done.stderr.split())


@pytest.fixture
def generation(holdfast_project: Project) -> Project:
    """A generation that has just begun."""
    pipeline(holdfast_project, "start", "generation", "--scene", "0204", "--blueprint", "b.md")
    return holdfast_project


@pytest.fixture
def waiting(generation: Project) -> Project:
    """The same, waiting for a person at step 3."""
    for step, status in TO_APPROVAL:
        pipeline(generation, "update", step, "--status", status)
    return generation


def leaves(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        words = (*before, name)
        found += leaves(command, words) if isinstance(command, click.Group) else [words]
    return found


def test_each_command_and_each_tool_stands_in_the_document() -> None:
    """The table of docs/formats/pipeline.md names them all, and the README the group."""
    document = (ROOT / "docs/formats/pipeline.md").read_text("utf-8")
    for words in leaves(group):
        assert f"`pipeline {' '.join(words)}" in document, words
    for line in DOCUMENT.splitlines():
        if line.startswith("### ") and line[4].isdigit():
            assert f"`{line.split()[2]}`" in document, line
    assert "| `holdfast pipeline …` |" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["approve"], "approve_step"),
        (["update", "3", "--artifact", "draft=d.md"], "update_workflow_state"),
        (["list"], "list_workflows"),
        (["resume"], "resume_workflow"),
        (["cancel"], "cancel_workflow"),
    ],
)
def test_with_json_the_answers_are_those_of_the_tools(
    arguments: list[str], name: str, waiting: Project
) -> None:
    """Exactly the keys of the document, in its order; a cancellation also notes what was removed."""
    answer = answered(waiting, *arguments)
    assert ("notes" in answer) == (name == "cancel_workflow")
    assert [key for key in answer if key != "notes"] == list(tool(name)[1])


def test_a_step_takes_two_words(generation: Project) -> None:
    """What blocks the next one is told with who has to do what."""
    pipeline(generation, "done")
    pipeline(generation, "next")
    assert "Step 2 (Blueprint Validation) is in progress" in refused(generation, "pipeline", "next")
    assert (
        pipeline(generation, "done", "--artifact", "constraints=0204")
        .splitlines()[0]
        .endswith("Next: Begin step 3 (Verification Plan) with verification-planner")
    )
    assert answered(generation, "next")["success"]
    pipeline(generation, "done")
    assert refused(generation, "pipeline", "next") == (
        "holdfast: Human approval required for verification plan "
        "User must approve or modify verification plan."
    )
    pipeline(generation, "approve")
    assert "4/7" in pipeline(generation, "next").replace("phase ", "")


def test_a_person_decides(waiting: Project) -> None:
    """Sent back with what is to be different, and then approved."""
    assert "sent back" in pipeline(waiting, "reject", "--modify", "tone=colder")
    assert "does not wait for an approval" in refused(waiting, "pipeline", "approve")
    pipeline(waiting, "update", "3", "--status", "completed")
    assert "waits for a person's approval" in refused(
        waiting, "pipeline", "update", "3", "--status", "completed"
    )
    assert answered(waiting, "approve", "--modify", "length=900") == {
        "success": True,
        "workflow_id": answered(waiting, "list")["workflows"][0]["workflow_id"],
        "step": 3,
        "status": "completed",
        "next_step": 4,
        "next_step_name": "Generation",
    }


def test_a_planning_with_its_variant(holdfast_project: Project) -> None:
    """Whose id tells the scene as it is called, and which needs its numbers."""
    numbers = ("--act", "1", "--chapter", "2", "--scene", "4")
    started = answered(holdfast_project, "start", "planning", "--level", "scene", *numbers)
    assert started["workflow_id"].startswith("planning-scene-0204-")
    for step, status in TO_APPROVAL[:3]:
        pipeline(holdfast_project, "update", step, "--status", status)
    assert "by selecting a variant" in refused(holdfast_project, "pipeline", "approve")
    assert "approved" in pipeline(holdfast_project, "approve", "--variant", "B")
    told = refused(holdfast_project, "pipeline", "start", "planning", "--act", "1")
    assert "needs the number of its chapter and scene" in told


def test_a_workflow_is_defined_and_begun(holdfast_project: Project) -> None:
    """Checked before, kept as it was written, and not replaced by accident."""
    file = holdfast_project.write("mine.toml", REVIEW)
    path = holdfast_project.root / "workspace/workflow-definitions/review.toml"
    pipeline(holdfast_project, "define", "--check", str(file))
    assert not path.exists()
    assert "Workflow defined: review, 2 steps" in pipeline(holdfast_project, "define", str(file))
    assert path.read_text("utf-8") == REVIEW
    pipeline(holdfast_project, "define", str(file))
    file.write_text(REVIEW.replace("Write", "Tell"), encoding="utf-8")
    assert "is already defined" in refused(holdfast_project, "pipeline", "define", str(file))
    pipeline(holdfast_project, "define", "--replace", str(file))
    assert "Tell" in path.read_text("utf-8")
    told = pipeline(holdfast_project, "start", "review", "--context", "pr=42")
    assert "its id: review-pr-42-" in told
    (state,) = (holdfast_project.root / "workspace/workflow-state").glob("review-*.json")
    assert json.loads(state.read_bytes())["review"]["context"] == {"pr": 42}


WRONG_USAGE: list[tuple[list[str], str]] = [
    (["start", "generation"], "needs the id of its scene"),
    (["start", "generation", "--scene", "1", "--act", "1"], "--act cannot be used with the type"),
    (["start", "planning", "--scene", "x", "--act", "1"], "'x' is not a number"),
    (["start", "nothing"], "there is no workflow definition 'nothing'"),
    (["start", "../x"], "there is no workflow definition '../x'"),
    (["start", "generation", "--scene", "1", "--session", "none"], "no session 'none'"),
    (["update", "1"], "nothing to update"),
    (["update", "1", "--status", "dancing"], "'dancing' is not one of 'in_progress'"),
    (["update", "9", "--status", "completed"], "has no step 9"),
    (["update", "1", "--artifact", "x"], "not in the form key=value"),
    (["update", "4", "--status", "in_progress"], "cannot begin before step 1, 2, 3"),
    (["resume", "--from", "3"], "cannot begin before step 1, 2"),
    (["list", "--status", "dancing"], "'dancing' is not one of 'in_progress'"),
    (["metrics", "-w", "no-such"], "no workflow is called 'no-such'"),
    (["metrics", "-w", "../x"], "not the id of a workflow"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG_USAGE)
def test_what_cannot_be_is_refused(arguments: list[str], told: str, generation: Project) -> None:
    """With its cause, and without a change."""
    assert told in refused(generation, "pipeline", *arguments)


def test_a_wrong_definition_is_told_with_all_that_is_wrong(holdfast_project: Project) -> None:
    """One line each, and a file of another kind."""
    text = REVIEW.replace("step = 2", "step = 3\naproval = true")
    file = holdfast_project.write("mine.toml", text)
    told = refused(holdfast_project, "pipeline", "define", str(file))
    assert "step 2.aproval: expected no such field, found True" in told
    other = holdfast_project.write("mine.yaml", REVIEW)
    told = refused(holdfast_project, "pipeline", "define", str(other))
    assert "expected a file that ends in .toml or .json" in told


def test_failed_resumed_and_cancelled(generation: Project) -> None:
    """What failed is told with how to resume it, also after it is no session's any more."""
    pipeline(generation, "update", "1", "--status", "failed", "--error", "no blueprint \x1b[31m")
    told = generation.run("list", "--all", session=HERE).stdout
    reviewed = "no blueprint . A person has to review the error; then: holdfast pipeline resume"
    assert f"failed in step 1 (File Check): {reviewed}" in " ".join(told.split())
    workflow_id = answered(generation, "list", "--status", "failed")["workflows"][0]["workflow_id"]
    assert answered(generation, "resume", workflow_id)["resumed_from_step"] == 1
    told = pipeline(generation, "cancel", workflow_id, "--reason", "enough")
    first, second = told.splitlines()
    assert first.startswith(f"Workflow cancelled: {workflow_id}, phase 1/7 (File Check), cancelled")
    assert first.endswith(f"holdfast pipeline resume {workflow_id}")
    assert second == f"  removed, as it was empty: workspace/generation-runs/{workflow_id}"
    assert "is cancelled already" in refused(generation, "pipeline", "cancel", workflow_id)


def test_metrics_and_the_log(waiting: Project) -> None:
    """As JSON, and in words."""
    measured = json.loads(pipeline(waiting, "metrics"))["workflow_metrics"]
    assert [each["step"] for each in measured["step_times"]] == [1, 2]
    assert measured["agent_calls"] == 3
    entries = json.loads(waiting.run("log", "--json", session=HERE).stdout)
    assert [each["event"] for each in entries] == ["start", *["update"] * 5]
    assert entries[0]["by"] == "holdfast pipeline start"
    assert len(waiting.run("log", session=HERE).stdout.splitlines()) == 6


def test_the_general_commands_on_it(waiting: Project) -> None:
    """Where it stands; and what only its own commands do is refused with a hint."""
    assert "3/7 Verification Plan, waiting approval" in waiting.run("status", session=HERE).stdout
    assert "is completed by its last step" in refused(waiting, "complete")
    told = refused(waiting, "phase", "next")
    assert "holdfast pipeline --help" in told
    shown = json.loads(waiting.run("show", "--json", session=HERE).stdout)
    assert "waiting_approval" in json.dumps(shown)


def test_one_that_was_over_long_ago_is_found_by_its_id(holdfast_project: Project) -> None:
    """A list of workflows names only the last ones that are over."""
    ids = []
    for number in range(22):
        here = place(holdfast_project.root, 60 * number)
        ids.append(operations.start_workflow(here, "generation", scene_id="1")["workflow_id"])
        operations.cancel_workflow(here, ids[-1])
    first, last = ids[0], ids[-1]
    assert last in holdfast_project.run("list", "--all").stdout
    assert first not in holdfast_project.run("list", "--all").stdout
    assert answered(holdfast_project, "resume", first)["workflow_id"] == first
    assert answered(holdfast_project, "list")["total"] == 22


WATCHED = """
import atexit, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
loaded = lambda: [name for name in sys.modules if name.startswith("holdfast.formats.")]
atexit.register(lambda: print("SEEN", *loaded(), *opened, file=sys.stderr))
from holdfast.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("known", [True, False])
def test_a_command_looks_at_pipelines_alone(known: bool, waiting: Project) -> None:
    """Also the first one of a session: no other format is loaded, no markdown is read."""
    waiting.declare("Something else")
    waiting.plan("00001-more", {"A": ["x"]})
    waiting.write(".claude/agent-state.json", "{}")
    others = ("canonical", "skill", "gated", "orchestrator")
    for command in ("metrics", "list", "approve", "cancel"):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, "pipeline", command],
            cwd=waiting.root,
            env=waiting.environment(HERE if known else f"first-asks-for-{command}"),
            capture_output=True,
            text=True,
            check=True,
        )
        seen = done.stderr.partition("SEEN")[2].split()
        assert not [
            name for name in seen if name.startswith(tuple(f"holdfast.formats.{o}" for o in others))
        ]
        assert not [path for path in seen if path.endswith(".md") or "agent-state" in path]


def test_a_session_stays_with_the_pipeline_it_took_up(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Although CLAUDE.local.md had declared a workflow before, and its phase line changes later."""
    holdfast_project.declare("Something else", phase="1/3 - First")
    compaction_cycle(session=HERE)
    holdfast_project.clock.advance(hours=1)
    pipeline(holdfast_project, "start", "generation", "--scene", "0204")
    assert "File Check" in compaction_cycle(session=HERE).guidance
    holdfast_project.clock.advance(hours=1)
    path = holdfast_project.declare("Something else", phase="2/3 - Second")
    now = holdfast_project.clock.now().timestamp()
    os.utime(path, (now, now))
    assert "File Check" in compaction_cycle(session=HERE).guidance
    holdfast_project.clock.advance(hours=1)
    path = holdfast_project.declare("A new one")
    now = holdfast_project.clock.now().timestamp()
    os.utime(path, (now, now))
    assert "A new one" in compaction_cycle(session=HERE).guidance


def test_work_on_another_workflow_is_noted_there(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What hooks saw of it before the session took a pipeline up is not lost, and not the pipeline's."""
    project = holdfast_project
    project.declare("Something else")
    compaction_cycle(session=HERE)
    path = str(project.write("src/a.py", "1"))
    compaction_cycle.fire(
        "PostToolUse",
        session=HERE,
        tool_name="Write",
        tool_input={"file_path": path},
        tool_response={"filePath": path},
    )
    pipeline(project, "start", "generation", "--scene", "0204")
    assert "src/a.py" not in compaction_cycle(session=HERE).guidance
    project.run("switch", "Something else", session=HERE)
    assert "src/a.py" in compaction_cycle(session=HERE).guidance
