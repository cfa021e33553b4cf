"""What commands do to the files: whole, under the lock, with the index kept true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from surveying import surveyed

from holdfast.errors import IllegalMove, NoSuchWorkflow, StateUnreadable, StateUnwritable
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.skill import files, lifecycle, moves, tasks
from holdfast.formats.skill.files import KIND
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.moves import complete_phase
from holdfast.formats.skill.tasks import add_tasks, complete_task, start_task
from holdfast.testing import Project
from skillwork import (
    EXAMPLES,
    FEATURE,
    bash,
    index_ids,
    is_index_true,
    place,
    put,
    shell,
    start,
)


def named(place: Place, key: str) -> Workflow:
    return next(each for each in surveyed(FORMAT, place).workflows if each.key == key)


def history(path: Path, event: str) -> list[dict[str, Any]]:
    return [each for each in json.loads(path.read_bytes())["history"] if each["event"] == event]


def execution(project: Project, count: int) -> files.StateFile:
    """A /dev whose tasks are being worked on."""
    here = place(project)
    held = start(here, "dev", FEATURE, tasks=[f"Task {n}" for n in range(1, count + 1)]).file
    FORMAT.change(here, held.key, complete_phase)
    return FORMAT.change(here, held.key, complete_phase).entry


COMPLETE = """
import sys
from datetime import UTC, datetime
from holdfast.formats.engine.workflow import Place
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.tasks import complete_task
from holdfast.config.settings import Settings
from holdfast.files.store import Store
root, key, number = sys.argv[1:]
sys.stdin.read()
place = Place(Store(root), Settings(), datetime.now(UTC), None, None)
FORMAT.change(place, key, complete_task, int(number), commit="c" + number)
"""


@pytest.mark.long
def test_32_processes_complete_32_tasks_and_none_is_lost(holdfast_project: Project) -> None:
    """All at once; state, progress, history and index are right after it."""
    held = execution(holdfast_project, 32)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", COMPLETE, str(holdfast_project.root), held.key, str(number)],
            env=holdfast_project.environment(),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(1, 33)
    ]
    for process in running:  # all have started; now they may go
        assert process.stdin
        process.stdin.close()
        process.stdin = None
    for process in running:
        with process:
            _, stderr = process.communicate(timeout=120)
        assert (process.returncode, stderr) == (0, b"")
    state = KIND.parse(held.path.read_bytes())
    assert [task.commit_sha for task in state.tasks] == [f"c{n}" for n in range(1, 33)]
    assert state.state_machine.phases[2].progress == "32/32"
    done = history(held.path, "task_completed")
    assert sorted(each["task"] for each in done) == list(range(1, 33))
    assert is_index_true(place(holdfast_project))


def test_a_start_makes_what_the_documents_lines_need(holdfast_project: Project) -> None:
    """Both folders, the index, and the file by its name."""
    held = start(place(holdfast_project), "dev", FEATURE).file
    assert held.path.name == f"dev-{files.hash_of(FEATURE)}.json"
    assert (holdfast_project.root / files.COMPLETED).is_dir()
    entry = json.loads((holdfast_project.root / files.INDEX).read_text("utf-8"))
    assert set(entry) == set(EXAMPLES["index"])
    (workflow,) = entry["active_workflows"]
    assert set(workflow) == set(EXAMPLES["index"]["active_workflows"][0])
    assert (workflow["id"], workflow["feature"]) == (held.path.stem, FEATURE)


def test_a_folder_of_features(holdfast_project: Project) -> None:
    """Its file is named by the folder, as the skill was called with it."""
    features = ["features/auth/user-login.md", "features/auth/logout.md"]
    held = start(place(holdfast_project), "dev", "features/auth/", folder_features=features).file
    assert held.path.name == f"dev-{files.hash_of('features/auth/')}.json"
    assert json.loads(held.path.read_bytes())["context"] == {
        "feature_file": features[0],
        "feature_title": "Auth",
        "folder_mode": True,
        "folder_path": "features/auth/",
        "folder_features": features,
    }


def test_a_second_task_does_not_share_the_file_of_the_first(holdfast_project: Project) -> None:
    """Two /tdd of one feature would, by the document's own line."""
    here = place(holdfast_project)
    first = start(here, "tdd", "Add login", feature_file=FEATURE, task_index=1).file
    with pytest.raises(IllegalMove, match="'Add login' is kept already") as caught:
        start(here, "tdd", "Add logout", feature_file=FEATURE, task_index=2)
    assert "--as NAME" in caught.value.hint
    second = start(here, "tdd", "Add logout", feature_file=FEATURE, called="logout").file
    assert first.path != second.path
    assert KIND.parse(first.path.read_bytes()).name == "Add login"
    assert index_ids(holdfast_project) == sorted([first.path.stem, second.path.stem])


def test_to_begin_afresh_archives_what_was_there(holdfast_project: Project) -> None:
    """Option 2 of the branch mismatch; the new one is no left-over of the old one."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 2)
    again = start(here, "dev", FEATURE, afresh=True).file
    assert again.path == held.path
    assert KIND.parse(again.path.read_bytes()).tasks == []
    assert [each.key for each in FORMAT.look(here).live] == [held.key]
    assert len(list((here.store.private / "archive").iterdir())) == 1


def test_completed_and_begun_again_in_the_same_second(holdfast_project: Project) -> None:
    """The one in completed/ must not make the new one finished."""
    here = place(holdfast_project)
    held = start(here, "x", "t", phases=["a"]).file
    FORMAT.change(here, held.key, complete_phase)
    ended = FORMAT.end(here, held.key, moves.complete).entry
    assert moves.signal(ended.state) == "X_COMPLETE: t"
    assert (ended.path, held.path.exists()) == (here.root / files.COMPLETED / held.path.name, False)
    assert index_ids(holdfast_project) == []
    start(here, "x", "t", phases=["a"])
    assert [each.key for each in FORMAT.look(here).live] == [held.key]


def test_what_is_not_done_is_not_completed(holdfast_project: Project) -> None:
    """Unless somebody says why."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 1)
    with pytest.raises(IllegalMove, match="task 1"):
        FORMAT.end(here, held.key, moves.complete)
    ended = FORMAT.end(here, held.key, moves.complete, although="done elsewhere").entry
    assert moves.signal(ended.state) == "DEV_COMPLETE: User Login"
    with pytest.raises(IllegalMove, match="is completed"):
        FORMAT.change(here, held.key, start_task)


def test_an_abandoned_one_is_over(holdfast_project: Project) -> None:
    """It lies with the completed ones, and its reason is told."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 1)
    ended = FORMAT.end(here, held.key, moves.abandon, "another way was found").entry
    path = ended.path
    assert json.loads(path.read_bytes())["workflow"]["status"] == "abandoned"
    assert history(path, "workflow_abandoned")[0]["reason"] == "another way was found"
    assert FORMAT.look(here).live == []


def test_a_compaction_is_noted_once(holdfast_project: Project) -> None:
    """However often the session resumes from it."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 1)
    for _ in range(3):
        FORMAT.resumed(here, named(here, held.key), here.now, 1.0)
    assert len(history(held.path, "context_compacted")) == 1
    holdfast_project.clock.advance(hours=1)
    later = place(holdfast_project)
    FORMAT.touch(later, named(later, held.key))
    assert len(history(held.path, "context_compacted")) == 1
    FORMAT.resumed(later, named(later, held.key), later.now, 1.0)
    assert [each["note"] for each in history(held.path, "context_compacted")] == (
        ["session resumed"] * 2
    )


@pytest.mark.needs("jq", "bash")
def test_the_old_twin_of_a_completed_one_counts_as_finished(holdfast_project: Project) -> None:
    """The document's own line leaves it in active/; one that was touched later is alive."""
    project, here = holdfast_project, place(holdfast_project)
    held = start(here, "dev", FEATURE).file
    bash(project, shell("Complete Workflow"), STATE_FILE=str(held.path), WORKFLOW_ID="none")
    found = FORMAT.look(here)
    assert found.left_over(found.active[0])
    with pytest.raises(IllegalMove, match="is completed"):
        FORMAT.change(here, held.key, add_tasks, ["more"])
    state = KIND.parse(held.path.read_bytes())
    state.workflow.updated_at = (here.now + timedelta(minutes=5)).isoformat()
    held.path.write_bytes(state.encode())
    assert [each.key for each in FORMAT.look(here).live] == [held.key]


def test_cleanup_takes_what_is_old_and_says_what(holdfast_project: Project) -> None:
    """Completed after a day, untouched after the days that are set; a dry run takes nothing."""
    project, here = holdfast_project, place(holdfast_project)
    done = start(here, "x", "done", phases=["a"]).file
    FORMAT.end(here, done.key, moves.complete, although="enough")
    stale = execution(project, 1)
    foreign = project.write(f"{files.FOLDER}/active/notes.json", '{"mine": 1}')
    assert lifecycle.clean(here) == []
    project.clock.advance(hours=25)
    later = place(project)
    assert lifecycle.clean(later, dry_run=True) == [
        (f"{files.COMPLETED}/{done.path.name}", f"completed on {here.now.date()}")
    ]
    assert (project.root / files.COMPLETED / done.path.name).exists()
    project.clock.advance(days=7)
    removed = lifecycle.clean(place(project))
    assert {path for path, _ in removed} == {
        f"{files.COMPLETED}/{done.path.name}",
        f"{files.ACTIVE}/{stale.path.name}",
    }
    assert any("untouched for 8 days" in why for _, why in removed)
    assert sorted(each.name for each in (here.root / files.ACTIVE).iterdir()) == [foreign.name]
    assert index_ids(project) == []
    archived = list((here.store.private / "archive").iterdir())
    assert [KIND.parse(each.read_bytes()).name for each in archived] == ["User Login"]


def test_cleanup_leaves_what_cannot_be_read(holdfast_project: Project) -> None:
    """What it says may be the newest there is; its author has been told."""
    held = execution(holdfast_project, 1)
    held.path.write_text(held.path.read_text("utf-8").replace("in_progress", "somehow"), "utf-8")
    holdfast_project.clock.advance(days=30)
    assert lifecycle.clean(place(holdfast_project)) == []
    assert held.path.exists()


def test_cleanup_goes_with_a_start(holdfast_project: Project) -> None:
    """And the start tells what went."""
    execution(holdfast_project, 1)
    holdfast_project.clock.advance(days=8)
    started = start(place(holdfast_project), "tdd", "Add login")
    assert [why for _, why in started.removed] == ["untouched for 8 days"]


def test_clear_takes_every_state_and_nothing_else(holdfast_project: Project) -> None:
    """Active, completed, broken; foreign files stay."""
    project, here = holdfast_project, place(holdfast_project)
    done = start(here, "x", "done", phases=["a"]).file
    FORMAT.end(here, done.key, moves.complete, although="enough")
    execution(project, 1)
    broken = put(project, "dev-broken", "{")
    os.utime(broken, (0, 0))
    foreign = project.write(f"{files.FOLDER}/active/notes.json", '{"mine": 1}')
    assert len(lifecycle.clean(here, everything=True, dry_run=True)) == 3
    assert len(lifecycle.clean(here, everything=True)) == 3
    assert [*FORMAT.paths(here.store)] == [foreign]
    assert index_ids(project) == []
    assert [each.read_text() for each in (here.store.private / "quarantine").iterdir()] == ["{"]


def test_a_broken_state_is_set_aside_and_its_last_good_copy_goes_on(
    holdfast_project: Project,
) -> None:
    """What lay there is kept; nothing that was saved is lost."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 2)
    FORMAT.change(here, held.key, complete_task, 1, commit="abc")
    held.path.write_text('{"workflow": {"id"', "utf-8")
    os.utime(held.path, (0, 0))
    after = FORMAT.change(here, held.key, complete_task, 2, commit="def").entry
    assert [task.commit_sha for task in after.state.tasks] == ["abc", "def"]
    assert [each.read_text() for each in (here.store.private / "quarantine").iterdir()] == [
        '{"workflow": {"id"'
    ]


def test_a_start_over_a_broken_state_begins_fresh(holdfast_project: Project) -> None:
    """Where there is no copy of it; what lay there is kept, and it is told where."""
    here = place(holdfast_project)
    path = put(holdfast_project, f"dev-{files.hash_of(FEATURE)}", "not JSON")
    os.utime(path, (0, 0))
    with pytest.raises(StateUnreadable, match="not JSON"):
        FORMAT.change(here, f"skill:{path.stem}", complete_phase)
    started = start(here, "dev", FEATURE)
    assert started.aside is not None
    assert (here.root / started.aside).read_text("utf-8") == "not JSON"
    assert KIND.parse(path.read_bytes()).workflow.id == path.stem


def test_an_odd_value_stops_no_command_and_stays(holdfast_project: Project) -> None:
    """The rest is changed; whoever goes on is told of it."""
    here = place(holdfast_project)
    held = execution(holdfast_project, 1)
    data = json.loads(held.path.read_bytes())
    data["workflow"]["status"] = "nearly"
    held.path.write_text(json.dumps(data), "utf-8")
    changed = FORMAT.change(here, held.key, start_task)
    assert json.loads(held.path.read_bytes())["workflow"]["status"] == "nearly"
    (caution,) = FORMAT.workflow(here, changed.entry).cautions
    assert caution.startswith("workflow.status: expected one of in_progress, completed, blocked,")
    assert caution.endswith("found 'nearly'")


def test_foreign_json_is_neither_read_nor_written_over(holdfast_project: Project) -> None:
    """Recognised by its shape."""
    here = place(holdfast_project)
    path = put(holdfast_project, f"dev-{files.hash_of(FEATURE)}", {"workflow": "a text"})
    before = path.read_bytes()
    with pytest.raises(StateUnwritable, match="not the state of a skill"):
        start(here, "dev", FEATURE)
    assert path.read_bytes() == before
    assert FORMAT.look(here).live == []


def test_nothing_outside_the_project_is_read_or_written(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """Neither through a linked file nor through a linked folder."""
    here = place(holdfast_project)
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "state.json"
    secret.write_text(json.dumps(EXAMPLES["dev"]), "utf-8")
    active = here.root / files.ACTIVE
    active.mkdir(parents=True)
    link = active / f"dev-{files.hash_of(FEATURE)}.json"
    link.symlink_to(secret)
    found = FORMAT.look(here)
    assert (found.live, [each.reason for each in found.unusable]) == (
        [],
        ["leads outside the project"],
    )
    with pytest.raises(StateUnwritable):
        start(here, "dev", FEATURE)
    assert json.loads(secret.read_text("utf-8")) == EXAMPLES["dev"]
    link.unlink()
    active.rmdir()
    active.symlink_to(outside)
    with pytest.raises(StateUnwritable):
        start(here, "dev", FEATURE)
    assert [each.name for each in outside.iterdir()] == ["state.json"]


@pytest.mark.parametrize("skill", ["", "../x", "a/b", "Dev", "-x", "x" * 65, "dev\n", "d\u00e9v"])
def test_a_skill_whose_name_is_no_file_name_is_refused(
    skill: str, holdfast_project: Project
) -> None:
    """It becomes part of a path."""
    with pytest.raises(IllegalMove, match="not the name of a skill"):
        start(place(holdfast_project), skill, "t", phases=["a"])


@pytest.mark.parametrize("content", [None, "{", "[]", '{"active_workflows": 5}'])
def test_an_index_that_is_missing_or_wrong_is_made_anew(
    content: str | None, holdfast_project: Project
) -> None:
    """From the files, by a cleanup as by any command."""
    here = place(holdfast_project)
    held = start(here, "dev", FEATURE).file
    path = here.root / files.INDEX
    path.unlink() if content is None else path.write_text(content, "utf-8")
    assert lifecycle.clean(here) == []
    assert index_ids(holdfast_project) == [held.path.stem]


def test_what_the_index_holds_beyond_the_document_stays(holdfast_project: Project) -> None:
    """On top, and in an entry; what is stale goes."""
    here = place(holdfast_project)
    held = start(here, "dev", FEATURE).file
    path = here.root / files.INDEX
    data = json.loads(path.read_text("utf-8"))
    data["team"] = "x"
    data["active_workflows"][0]["owner"] = "me"
    data["active_workflows"].insert(0, {"id": "dev-gone", "skill": "dev"})
    path.write_text(json.dumps(data), "utf-8")
    holdfast_project.clock.advance(hours=1)
    FORMAT.change(place(holdfast_project), held.key, complete_phase)
    after = json.loads(path.read_text("utf-8"))
    assert after["team"] == "x"
    (entry,) = after["active_workflows"]
    assert entry["owner"] == "me"
    assert entry["last_activity"] == KIND.parse(held.path.read_bytes()).workflow.updated_at


def test_a_workflow_that_is_not_there(holdfast_project: Project) -> None:
    """Removed by somebody meanwhile."""
    with pytest.raises(NoSuchWorkflow):
        FORMAT.change(place(holdfast_project), "skill:dev-00000000", tasks.next_cycle)
