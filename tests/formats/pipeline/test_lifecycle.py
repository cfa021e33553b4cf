"""Moves under the lock: whole on disk, one at a time, and none lost or made twice after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.formats.pipeline import files, operations
from holdfast.formats.pipeline.definitions import FOLDER
from holdfast.formats.pipeline.files import GLOBAL
from pipework import GENERATION, STATES, at, go_on, place, put, workflow_state
from sessionwork import index_is_true

SUPPORT = Path(__file__).parents[2] / "support"
SHORT = """
name = "short"
[[steps]]
step = 1
name = "Plan"
human_approval = true
[[steps]]
step = 2
name = "Write"
retry_enabled = true
[[steps]]
step = 3
name = "Check"
triggers_retry = true
"""

# Plays the whole run again for each moment, in a process of its own that is killed there.
SWEEP = """
import json, os, shutil, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from deadly import arm
from holdfast.formats.pipeline import files, operations
from holdfast.formats.pipeline.files import GLOBAL
from pipework import go_on, place, workflow_state
from sessionwork import index_is_true

os.fsync = lambda descriptor: None  # the process is killed here and not the machine

def play(root):
    known = operations.list_workflows(place(root))["workflows"]
    started = known[0] if known else operations.start_workflow(place(root), "short")
    return go_on(root, started["workflow_id"], fails={3: 1})

def killed(root, number, after):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    arm("replace", number=number, after=after)
    play(root)
    os._exit(0)

template = Path(sys.argv[1])
for after in (False, True):
    number = 1
    while True:
        root = template.parent / f"{number}-{after}"
        shutil.copytree(template, root)
        if not killed(root, number, after):
            break
        moved = play(root)
        here = place(root)
        (workflow,) = operations.list_workflows(here)["workflows"]
        state = workflow_state(here, workflow["workflow_id"])
        print(json.dumps({
            "moment": root.name,
            "listed": workflow,
            "steps": state["short"]["steps"],
            "true": index_is_true(root, GLOBAL) or not moved,  # the next move puts it right
            "log": files.noted(here.store, workflow["workflow_id"]),
        }))
        shutil.rmtree(root)
        number += 1
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_at_any_moment_no_step_is_done_twice_and_none_is_left_out(tmp_path: Path) -> None:
    """A sweep over every write of a whole run; whoever comes next asks what is next, and goes on."""
    definition = tmp_path / "template" / FOLDER / "short.toml"
    definition.parent.mkdir(parents=True)
    definition.write_text(SHORT, encoding="utf-8")
    swept = subprocess.run(
        [sys.executable, "-c", SWEEP, str(tmp_path / "template"), str(SUPPORT)],
        capture_output=True,
        text=True,
        check=True,
    )
    runs = [json.loads(line) for line in swept.stdout.splitlines()]
    assert len(runs) > 45
    for run in runs:
        assert run["listed"]["status"] == "completed", run["moment"]
        assert run["listed"]["progress_percentage"] == 100
        assert run["true"], run["moment"]
        plan, write, check = run["steps"]
        assert {step["status"] for step in run["steps"]} == {"completed"}
        assert plan["human_approval"]["approved"]
        assert "runs" not in plan, run["moment"]
        # The check failed once, and so the writing was done twice: no more and no less.
        assert (write["runs"], check["runs"]) == (2, 2), run["moment"]
        results = [each["result"] for each in write["attempts"]["history"]]
        assert results == ["failed", "completed"]
        completed = [each["step"] for each in run["log"] if each.get("status") == "completed"]
        assert all(completed.count(number) <= count for number, count in ((1, 1), (2, 2), (3, 1)))


def test_two_processes_do_not_make_one_move_twice(tmp_path: Path) -> None:
    """Both see that step 2 may begin; the second is told that it is begun, the state is whole."""
    started = operations.start_workflow(place(tmp_path), "generation", scene_id="1")
    operations.update_workflow_state(place(tmp_path), started["workflow_id"], 1, status="completed")
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from holdfast.formats.pipeline import files, operations
from pipework import place
for number in range(20):
    operations.update_workflow_state(place(Path(sys.argv[1])), sys.argv[3], 2,
        status="in_progress", artifacts={f"{sys.argv[4]}-{number}": "x"})
"""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, tmp_path, SUPPORT, started["workflow_id"], name],
            stderr=subprocess.PIPE,
        )
        for name in "abc"
    ]
    for process in runs:
        assert process.communicate()[1] == b""
    step = workflow_state(place(tmp_path), started["workflow_id"])["generation"]["steps"][1]
    assert len(step["artifacts"]) == 60
    assert "runs" not in step
    assert index_is_true(tmp_path, GLOBAL)


def test_a_broken_state_goes_on_from_its_last_good_copy(tmp_path: Path) -> None:
    """What cannot be read is set aside."""
    workflow_id = operations.start_workflow(place(tmp_path), "generation", scene_id="1")[
        "workflow_id"
    ]
    path = files.find(place(tmp_path).store, workflow_id).path
    path.write_text("{", encoding="utf-8")
    operations.update_workflow_state(place(tmp_path), workflow_id, 1, status="completed")
    assert json.loads(path.read_bytes())["generation"]["steps"][0]["status"] == "completed"
    (aside,) = (tmp_path / ".claude/holdfast/quarantine").iterdir()
    assert aside.read_text(encoding="utf-8") == "{"


def test_more_steps_than_can_be_stop_the_command(tmp_path: Path) -> None:
    """Whoever wrote them can correct it, and they may say what no copy does."""
    data: dict[str, Any] = json.loads(json.dumps(STATES[GENERATION]))
    data["generation"]["steps"] *= 15
    put(tmp_path, GENERATION, data)
    with pytest.raises(StateUnreadable, match="steps: expected"):
        operations.approve_step(place(tmp_path), GENERATION, 3, approved=True)


def test_unknown_ids_and_states_that_grow_too_large(tmp_path: Path) -> None:
    """Refused with a next step, and nothing is written."""
    with pytest.raises(NoSuchWorkflow, match="no workflow has the id"):
        operations.get_workflow_status(place(tmp_path), "generation-1")
    with pytest.raises(IllegalMove, match="not the id of a workflow"):
        operations.get_workflow_status(place(tmp_path), "../generation-1")
    path = put(tmp_path, GENERATION, STATES[GENERATION])
    before = path.read_bytes()
    with pytest.raises(IllegalMove, match="would be larger than 5 MB"):
        operations.update_workflow_state(
            place(tmp_path), GENERATION, 3, artifacts={"draft": "x" * 6 * 2**20}
        )
    assert path.read_bytes() == before


def test_cancelling_takes_empty_folders_and_leaves_artefacts(tmp_path: Path) -> None:
    """It may be resumed, so nothing that somebody made is lost; links are not followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "project"
    root.mkdir()
    ids = [
        operations.start_workflow(place(root), "generation", scene_id=scene)["workflow_id"]
        for scene in ("1", "2", "3")
    ]
    folders = [root / GLOBAL.run("generation", each) for each in ids]
    (folders[1] / "sub").mkdir()
    (folders[1] / "draft.md").write_text("a draft", encoding="utf-8")
    folders[2].rmdir()
    folders[2].symlink_to(outside)
    answers = [operations.cancel_workflow(place(root), each) for each in ids]
    assert [answer.get("notes") for answer in answers] == [
        [f"removed, as it was empty: {GLOBAL.run('generation', ids[0])}"],
        [f"removed, as it was empty: {GLOBAL.run('generation', ids[1])}/sub"],
        None,
    ]
    assert not folders[0].exists()
    assert (folders[1] / "draft.md").read_text(encoding="utf-8") == "a draft"
    assert outside.is_dir()


def test_the_log_tells_every_change(tmp_path: Path) -> None:
    """With what followed from it."""
    workflow_id = operations.start_workflow(place(tmp_path), "generation", scene_id="1")[
        "workflow_id"
    ]
    go_on(tmp_path, workflow_id, fails={5: 1})
    log = files.noted(place(tmp_path).store, workflow_id)
    told = [(each["event"], each.get("step"), each.get("stands")) for each in log]
    assert told[:3] == [
        ("start", 1, "in_progress"),
        ("update", 1, "completed"),
        ("update", 2, "in_progress"),
    ]
    failed = told.index(("update", 5, "pending"))
    assert log[failed]["follows"] == "4 in_progress"
    assert told[-1] == ("update", 7, "completed")


def test_a_log_that_cannot_be_written_does_not_fail_the_move(tmp_path: Path) -> None:
    """It is made, and would be made again by whoever was told that it was not."""
    put(tmp_path, GENERATION, STATES[GENERATION])
    (tmp_path / files.log(GENERATION)).mkdir(parents=True)
    assert operations.approve_step(place(tmp_path, 30), GENERATION, 3, approved=True)["success"]
    assert workflow_state(place(tmp_path), GENERATION)["updated_at"] == at(30)


def test_a_workflow_of_a_session_lies_there(tmp_path: Path) -> None:
    """By argument, or because it is the only one; "global" is for none."""
    for name in ("one", "two"):
        (tmp_path / files.SESSIONS / name / "workflow-state").mkdir(parents=True)

    def begun(**given: str) -> str | None:
        answered = operations.start_workflow(place(tmp_path), "generation", scene_id="1", **given)
        state = workflow_state(place(tmp_path), answered["workflow_id"])
        session = state.get("session_name")
        base = f"workspace/sessions/{session}" if session else "workspace"
        run = f"{base}/generation-runs/{answered['workflow_id']}"
        assert state["generation"]["artifacts"]["working_dir"] == run
        assert (tmp_path / run).is_dir()
        assert (tmp_path / base / f"workflow-state/{answered['workflow_id']}.json").is_file()
        return session

    assert begun() is None
    assert begun(session_name="one") == "one"
    assert begun(session_name="global") is None
    with pytest.raises(NoSuchWorkflow, match="no session 'three'"):
        begun(session_name="three")
