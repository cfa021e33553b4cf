"""`holdfast pipeline session`: from real processes, many of them at once."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.pipeline import files
from holdfast.formats.pipeline.files import GLOBAL, Location
from holdfast.testing import Project
from sessionwork import indexes_are_true, json_of, put

ONE = "generation-scene-0204-20251110-143000"


def ask(project: Project, *arguments: str) -> Any:
    return json.loads(project.run("pipeline", *arguments, "--json").stdout)


def start(project: Project, session: str, scene: str = "0204") -> str:
    started = ask(project, "start", "generation", "--scene", scene, "--session", session)
    workflow_id: str = started["workflow_id"]
    return workflow_id


def refused(project: Project, *arguments: str) -> str:
    ended = project.run("pipeline", *arguments, check=False)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") >= 2, "a cause and a next step"
    return ended.stderr


def test_a_session_from_its_beginning_to_its_commit(holdfast_project: Project) -> None:
    project = holdfast_project
    assert "No sessions" in project.run("pipeline", "session", "list").stdout
    assert "Session created: draft" in project.run("pipeline", "session", "create", "draft").stdout
    workflow_id = ask(project, "start", "generation", "--scene", "0204")["workflow_id"]
    assert (project.root / Location("draft").state(workflow_id)).exists(), "the only open one"
    run = Location("draft").run("generation", workflow_id)
    project.write(f"{run}/constraints.json", "{}")
    told = project.run("pipeline", "session", "list").stdout
    assert told.split() == ["*", "draft", "1", "workflow,", "open"]
    said = project.run("pipeline", "session", "commit", "draft").stdout
    assert "1 workflow with 1 artefact" in said
    assert GLOBAL.state(workflow_id) in said
    shown = ask(project, "session", "list")[0]
    assert (shown["open"], shown["committed"]) == (False, 1)
    assert "draft" in project.run("pipeline", "session", "list").stdout
    entry = json_of(project, GLOBAL.index_file)["workflows"][0]
    assert entry["state_file"] == GLOBAL.state(workflow_id)
    section = json_of(project, GLOBAL.state(workflow_id))["generation"]
    assert section["artifacts"]["working_dir"] == GLOBAL.run("generation", workflow_id)
    log = json.loads(project.run("log", "-w", workflow_id, "--json").stdout)
    assert [line["event"] for line in log] == ["start", "commit"]
    assert "nothing to commit" in refused(project, "session", "commit", "draft")
    project.run("pipeline", "session", "cancel", "draft", "--yes")
    assert ask(project, "list")["total"] == 1
    assert ask(project, "session", "list") == []


def test_a_cancelled_session_is_gone(holdfast_project: Project) -> None:
    project = holdfast_project
    project.run("pipeline", "session", "create", "draft")
    workflow_id = start(project, "draft")
    project.write(f"{Location('draft').run('generation', workflow_id)}/draft.md", "text")
    dry = project.run("pipeline", "session", "cancel", "draft", "--dry-run").stdout
    assert dry.count("would be removed") == 3
    assert "removed" in project.run("pipeline", "session", "cancel", "draft", "--yes").stdout
    left = [path for path in (project.root / "workspace").rglob("*") if workflow_id in path.name]
    assert left == []
    assert ask(project, "list")["total"] == 0


@pytest.mark.parametrize("name", ["../x", "/tmp/x", ".git", "a/b", "global", "x" * 200, ""])
@pytest.mark.parametrize("command", ["create", "commit", "cancel"])
def test_a_hostile_name_is_refused(command: str, name: str, holdfast_project: Project) -> None:
    put(holdfast_project, ONE)
    ours = {holdfast_project.root / ".claude", holdfast_project.home / ".local"}  # our own notes

    def others() -> list[Path]:
        found = sorted(holdfast_project.root.parent.rglob("*"))
        return [path for path in found if ours.isdisjoint((path, *path.parents))]

    before = others()
    assert "is not the name of a session" in refused(holdfast_project, "session", command, name)
    assert others() == before


def test_the_environment_names_the_session(holdfast_project: Project) -> None:
    project = holdfast_project
    for name in ("one", "two"):
        project.run("pipeline", "session", "create", name)
    command = ["pipeline", "start", "generation", "--scene", "0204", "--json"]
    ended = run_with(project, command, HOLDFAST_SESSION="two")
    workflow_id = json.loads(ended.stdout)["workflow_id"]
    assert (project.root / Location("two").state(workflow_id)).exists()
    assert "no session 'gone'" in run_with(project, command, HOLDFAST_SESSION="gone").stderr


def run_with(
    project: Project, arguments: list[str], **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        cwd=project.root,
        env={**project.environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


SESSIONS = 8


@pytest.mark.long
def test_eight_sessions_and_a_global_workflow_at_once(holdfast_project: Project) -> None:
    """Half of them are committed and half cancelled, while work goes on beside them."""
    project = holdfast_project

    def life_of_a_session(number: int) -> str:
        name = f"chapter-{number}"
        project.run("pipeline", "session", "create", name)
        workflow_id = start(project, name, f"020{number}")
        run = Location(name).run("generation", workflow_id)
        project.write(f"{run}/out.md", f"written in {name}\n")
        project.run("pipeline", "update", "-w", workflow_id, "1", "--status", "completed")
        command = ("cancel", name, "--yes") if number % 2 else ("commit", name)
        project.run("pipeline", "session", *command)
        return workflow_id

    def life_of_a_global_one() -> str:
        workflow_id = start(project, "global")
        for step, status in ((1, "completed"), (2, "in_progress"), (2, "completed")):
            project.run("pipeline", "update", "-w", workflow_id, str(step), "--status", status)
        return workflow_id

    with ThreadPoolExecutor(SESSIONS + 1) as pool:
        beside = pool.submit(life_of_a_global_one)
        made = list(pool.map(life_of_a_session, range(SESSIONS)))
        expected = {*made[::2], beside.result()}
    listed = ask(project, "list")["workflows"]
    assert {each["workflow_id"] for each in listed} == expected
    assert {
        each["workflow_id"] for each in json_of(project, GLOBAL.index_file)["workflows"]
    } == expected
    assert indexes_are_true(project)
    assert {path.stem for path in (project.root / files.LOGS).iterdir()} == expected
    for number in range(0, SESSIONS, 2):
        run = Path(GLOBAL.run("generation", made[number]))
        assert (project.root / run / "out.md").read_text(
            "utf-8"
        ) == f"written in chapter-{number}\n"
    assert sorted(path.name for path in (project.root / files.SESSIONS).iterdir()) == [
        f"chapter-{number}" for number in range(0, SESSIONS, 2)
    ]
