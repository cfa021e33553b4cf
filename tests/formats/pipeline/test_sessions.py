"""Sessions are committed whole and cancelled whole, whoever was killed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deadly import ARMED
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.files import fingerprints, together
from holdfast.files.store import Store
from holdfast.formats.pipeline import files, sessions
from holdfast.formats.pipeline.files import GLOBAL, Location
from holdfast.formats.pipeline.format import FORMAT
from holdfast.testing import Project
from sessionwork import (
    ARTEFACTS,
    everything,
    indexes_are_true,
    json_of,
    place,
    put,
    state,
    update_indexes,
    user_folder,
)

ONE, TWO, OTHER = (f"generation-scene-020{each}-20251110-143000" for each in (1, 2, 3))
NAME = "work-on-chapter-02"
SESSION = Location(NAME)

# Does one thing to a session, and kills itself before the given call that changes what is on disk.
DEADLY = f"""{ARMED}
import sys
from datetime import UTC, datetime
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files, sessions
from holdfast.config.settings import Settings
from holdfast.files.store import Store
root, kept, what, name, number = *sys.argv[1:5], int(sys.argv[5])
arm("replace", "unlink", "rmdir", "mkdir", "write", number=number)
now = datetime(2025, 11, 10, 16, 0, tzinfo=UTC)
getattr(sessions, what)(Place(Store(root), Settings(), now, None, None, user_folder=kept), name)
"""


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """Two workflows in a session, one beside it and one in another."""
    project = holdfast_project
    for workflow_id, session in ((ONE, NAME), (TWO, NAME), (OTHER, None)):
        put(project, workflow_id, session)
        log(project, workflow_id)
    put(project, "generation-elsewhere-20251110-143000", "elsewhere")
    project.write(f"{SESSION.base}/generation-runs/left-over/x.md", "of a state that is gone")
    project.write(f"{SESSION.base}/notes/mine.md", "no part of it")
    update_indexes(project)
    return project


def log(project: Project, workflow_id: str) -> None:
    store = Store(project.root)
    with store.lock(1):
        files.note(store, workflow_id, "2025-11-10T14:30:00Z", "started")


def commit(project: Project) -> None:
    sessions.commit(place(project), NAME)


def cancel(project: Project) -> None:
    sessions.cancel(place(project), NAME)


def test_a_session_is_created_with_an_empty_index(holdfast_project: Project) -> None:
    sessions.create(place(holdfast_project), NAME)
    assert json_of(holdfast_project, SESSION.index_file) == {"workflows": []}
    with pytest.raises(IllegalMove, match="already exists"):
        sessions.create(place(holdfast_project), NAME)


def test_a_session_that_another_tool_made_gets_its_index(holdfast_project: Project) -> None:
    holdfast_project.write(f"{SESSION.base}/acts/scene.md", "")
    sessions.create(place(holdfast_project), NAME)
    assert json_of(holdfast_project, SESSION.index_file) == {"workflows": []}


def test_a_commit_makes_all_global(project: Project) -> None:
    before = everything(project)
    commit(project)
    for workflow_id in (ONE, TWO):
        marks = {
            "committed_from_session": NAME,
            "committed_at": json_of(project, GLOBAL.state(workflow_id))["committed_at"],
        }
        expected = {**state(workflow_id, GLOBAL), "session_name": NAME, **marks}
        assert json_of(project, GLOBAL.state(workflow_id)) == expected
        assert json_of(project, SESSION.state(workflow_id)) == {
            **state(workflow_id, SESSION),
            **marks,
        }
        for name, text in ARTEFACTS.items():
            run = GLOBAL.run("generation", workflow_id)
            assert (project.root / run / name).read_text("utf-8") == text
        assert [line["event"] for line in files.noted(Store(project.root), workflow_id)] == [
            "started",
            "commit",
        ]
    assert indexes_are_true(project)
    store = Store(project.root)
    found = FORMAT.look(place(project)).entries
    assert {file.name: files.location_of(store, file.path).session for file in found} == {
        ONE: None,
        TWO: None,
        OTHER: None,
        "generation-elsewhere-20251110-143000": "elsewhere",
    }
    after = everything(project)
    changing = ("index.json", f"{ONE}.json", f"{TWO}.json", ".log")
    assert all(after[path] == before[path] for path in before if not path.endswith(changing))


def test_the_keys_of_a_state_keep_their_order(project: Project) -> None:
    commit(project)
    kept = list(json_of(project, GLOBAL.state(ONE)))
    assert kept == [*state(ONE, SESSION), "committed_from_session", "committed_at"]


@pytest.mark.parametrize(
    ("written", "committed"),
    [
        (f"{SESSION.run('planning', TWO)}/a.md", f"{GLOBAL.run('planning', TWO)}/a.md"),
        ("{root}/" + f"{SESSION.run('x', ONE)}", "{root}/" + f"{GLOBAL.run('x', ONE)}"),
        (f"{SESSION.base}/acts/scene.md", f"{SESSION.base}/acts/scene.md"),
        (f"{SESSION.base}2/x-runs/a", f"{SESSION.base}2/x-runs/a"),
        (f"see {SESSION.run('x', ONE)}", f"see {SESSION.run('x', ONE)}"),
    ],
)
def test_what_is_rewritten_are_paths_of_what_was_copied(
    written: str, committed: str, project: Project
) -> None:
    root = project.root.resolve().as_posix()
    put(project, ONE, NAME, x_path=[{"deep": written.replace("{root}", root)}])
    commit(project)
    assert json_of(project, GLOBAL.state(ONE))["x_path"] == [
        {"deep": committed.replace("{root}", root)}
    ]


def test_a_workflow_without_artefacts_has_its_folder(holdfast_project: Project) -> None:
    """Its state names it, and whoever goes on writes into it."""
    put(holdfast_project, ONE, NAME, artefacts={})
    (holdfast_project.root / SESSION.run("generation", ONE)).mkdir(parents=True)
    commit(holdfast_project)
    section = json_of(holdfast_project, GLOBAL.state(ONE))["generation"]
    assert (holdfast_project.root / section["artifacts"]["working_dir"]).is_dir()


def test_what_was_committed_goes_on_globally_and_the_session_with_what_is_new(
    project: Project,
) -> None:
    commit(project)
    with pytest.raises(IllegalMove, match="nothing to commit"):
        commit(project)
    new = "generation-new-20251110-170000"
    put(project, new, NAME)
    assert next(one for one in sessions.every(place(project)) if one.name == NAME).is_open
    assert [file.name for file in sessions.commit(place(project), NAME)[0]] == [new]
    assert indexes_are_true(project)


def global_state(project: Project) -> None:
    put(project, TWO, artefacts={})


def other_artefact(project: Project) -> None:
    project.write(f"{GLOBAL.run('generation', TWO)}/plan.md", "# Plan of another\n")


def same_size(project: Project) -> None:
    project.write(f"{GLOBAL.run('generation', TWO)}/plan.md", "# Plam\n")


def folder_in_the_way(project: Project) -> None:
    project.write(f"{GLOBAL.run('generation', TWO)}/plan.md/x", "")


def file_in_the_way(project: Project) -> None:
    project.write(GLOBAL.run("generation", TWO), "")


def linked_artefact(project: Project) -> None:
    link = project.root / SESSION.run("generation", TWO) / "secret.md"
    link.symlink_to("/etc/hostname")


def linked_folder(project: Project) -> None:
    link = project.root / SESSION.run("generation", TWO) / "etc"
    link.symlink_to("/etc")


def linked_run(project: Project) -> None:
    run = project.root / SESSION.run("generation", TWO)
    run.rename(run.with_name("moved"))
    run.symlink_to("/etc")


def fifo(project: Project) -> None:
    os.mkfifo(project.root / SESSION.run("generation", TWO) / "pipe")


def torn_state(project: Project) -> None:
    project.write(SESSION.state(TWO), "{ torn")


def torn_state_with_a_copy(project: Project) -> None:
    store, path = Store(project.root), project.root / SESSION.state(TWO)
    with store.lock(1):
        store.keep(path, path.read_bytes(), None)
    path.write_text("{ torn", encoding="utf-8")


def hostile_type(project: Project) -> None:
    put(project, TWO, NAME, workflow_type="../../x", **{"../../x": {}})


@pytest.mark.parametrize(
    "obstacle",
    [
        *(global_state, other_artefact, same_size, folder_in_the_way, file_in_the_way),
        *(linked_artefact, linked_folder, linked_run, fifo),
        *(torn_state, torn_state_with_a_copy, hostile_type),
    ],
)
def test_what_is_in_the_way_of_a_commit_stops_it_before_it_begins(
    obstacle: Callable[[Project], None], project: Project
) -> None:
    obstacle(project)
    before = tree(project)
    with pytest.raises(HoldfastError) as refused:
        commit(project)
    assert isinstance(refused.value, IllegalMove | StateUnreadable)
    assert refused.value.hint
    assert tree(project) == before


def tree(project: Project) -> dict[str, bytes]:
    """Everything but the indexes, which a command may put right."""
    return {
        path: data for path, data in everything(project).items() if not path.endswith(files.INDEX)
    }


def test_an_artefact_that_is_there_already_is_no_obstacle(project: Project) -> None:
    path = project.write(f"{GLOBAL.run('generation', TWO)}/plan.md", ARTEFACTS["plan.md"])
    before = fingerprints.numbers(path.stat())
    commit(project)
    assert fingerprints.numbers(path.stat()) == before


@pytest.mark.parametrize("number", range(1, 9))
def test_a_commit_that_fails_has_committed_nothing_and_can_be_given_again(
    number: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at any of its files."""
    before, real, seen = states(project), os.replace, 0

    def full(source: str, target: str) -> None:
        nonlocal seen
        if "/workspace/" in str(target):
            seen += 1
            if seen == number:
                raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(HoldfastError, match="No space"):
            commit(project)
    assert states(project) == before
    assert not together.is_unfinished(Store(project.root), FORMAT.name)
    commit(project)
    made = {f"workflow-state/{one}.json" for one in (ONE, TWO)}
    assert states(project).keys() - before.keys() == made


def test_a_cancel_leaves_no_trace_and_nothing_else_goes(project: Project) -> None:
    before = everything(project)
    cancel(project)
    gone = {
        *(f"sessions/{NAME}/workflow-state/{name}.json" for name in (ONE, TWO, "index")),
        *(f"logs/workflow-orchestration/{each}.log" for each in (ONE, TWO)),
        *(path for path in before if path.startswith(f"sessions/{NAME}/generation-runs/")),
    }
    assert everything(project) == {path: data for path, data in before.items() if path not in gone}
    assert not (project.root / SESSION.states).exists()
    assert not (project.root / SESSION.base / "generation-runs").exists()
    assert indexes_are_true(project)


def test_a_cancel_after_a_commit_takes_the_session_alone(project: Project) -> None:
    commit(project)
    before = everything(project)
    cancel(project)
    own = f"sessions/{NAME}/"
    assert everything(project) == {
        path: data
        for path, data in before.items()
        if not path.startswith(own) or path == f"{own}notes/mine.md"
    }


def test_the_folder_of_a_session_goes_when_it_is_empty(holdfast_project: Project) -> None:
    put(holdfast_project, ONE, NAME)
    sessions.cancel(place(holdfast_project), NAME)
    assert not (holdfast_project.root / SESSION.base).exists()


def test_a_cancel_removes_no_file_that_a_link_leads_to(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep.md").write_text("keep", encoding="utf-8")
    (project.root / SESSION.run("generation", ONE) / "out").symlink_to(outside)
    (project.root / SESSION.base / "linked-runs").symlink_to(outside)
    cancel(project)
    assert (outside / "keep.md").read_text("utf-8") == "keep"


def test_states_that_cannot_be_read_are_cancelled_with_the_rest(project: Project) -> None:
    torn_state(project)
    cancel(project)
    assert not (project.root / SESSION.states).exists()


def test_what_is_foreign_in_the_folder_of_states_stays(project: Project) -> None:
    kept = project.write(f"{SESSION.states}/config.json", '{"theirs": true}')
    cancel(project)
    assert kept.exists()
    assert not (project.root / SESSION.state(ONE)).exists()
    assert indexes_are_true(project)


def test_what_would_be_cancelled_is_told_without_doing_it(project: Project) -> None:
    before = everything(project)
    told = sessions.would_cancel(place(project), NAME)
    assert SESSION.state(ONE) in told
    assert files.log(TWO) in told
    assert everything(project) == before
    assert sessions.cancel(place(project), NAME) == told


# Killed.


def killed(project: Project, what: str, number: int) -> bool:
    """Whether there was such a call to be killed before."""
    ended = subprocess.run(
        [
            *(sys.executable, "-c", DEADLY),
            *(str(project.root), user_folder(project), what, NAME, str(number)),
        ],
        env=project.environment(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode in {0, -9}, ended.stderr.decode()
    return ended.returncode == -9


def finish(project: Project) -> list[str]:
    """As the next command does."""
    with FORMAT.locked(place(project)) as said:
        return said


def states(project: Project) -> dict[str, dict[str, Any]]:
    """What the states say, without when they were committed."""
    found = {
        path: json.loads(data)
        for path, data in everything(project).items()
        if path.endswith(".json") and "workflow-state/" in path and "index" not in path
    }
    for data in found.values():
        data.pop("committed_at", None)
    return found


@pytest.mark.long
@pytest.mark.parametrize("what", ["commit", "cancel"])
def test_killed_anywhere_its_states_change_as_one_and_it_can_be_given_again(
    what: str, project: Project, tmp_path: Path
) -> None:
    """A sweep over every call that changes the disk."""
    original = tmp_path / "original"
    project.root.rename(original)
    subprocess.run(["cp", "-a", original, project.root], check=True)
    before = states(project)
    assert not killed(project, what, 10_000)
    done, all_there = states(project), set(everything(project))
    moments = []
    for number in range(1, 200):
        subprocess.run(["rm", "-rf", project.root], check=True)
        subprocess.run(["cp", "-a", original, project.root], check=True)
        if not killed(project, what, number):
            break
        begun = together.is_unfinished(Store(project.root), FORMAT.name)
        assert len(finish(project)) <= 1
        assert states(project) in (before, done), number
        assert not begun or states(project) == done
        moments.append(states(project) == done)
        with contextlib.suppress(IllegalMove, NoSuchWorkflow):  # it was done, and only not yet told
            getattr(sessions, what)(place(project), NAME)
        update_indexes(project)
        assert states(project) == done
        assert set(everything(project)) == all_there
        assert indexes_are_true(project)
        assert finish(project) == []
    else:
        pytest.fail("it never ended")
    assert moments == sorted(moments)
    assert len(moments) > 20
    assert not all(moments)


@pytest.mark.parametrize(
    "path",
    [
        *("x.json", "../x.json", "workspace/notes.md", "workspace/workflow-state/deep/x.json"),
        *("workspace/workflow-state/../../x.json", "workspace/generation-runs/x/draft.md"),
    ],
)
def test_a_planted_note_writes_nothing_but_states_and_logs(path: str, project: Project) -> None:
    """It came with a clone."""
    note = project.root / f".claude/holdfast/unfinished/{FORMAT.name}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    planted = {"path": path, "before": None, "after": "planted"}
    note.write_text(json.dumps({"version": 1, "changes": [planted]}), encoding="utf-8")
    before = everything(project)
    finish(project)
    assert everything(project) == before
    assert not (project.root / path).exists()
    assert not note.exists()


@pytest.mark.long
def test_a_killed_commit_does_not_replace_what_came_since(project: Project, tmp_path: Path) -> None:
    """What is left of it is told, and put aside."""
    original = tmp_path / "original"
    subprocess.run(["cp", "-a", project.root, original], check=True)
    number = 1
    while not together.is_unfinished(Store(project.root), FORMAT.name):
        subprocess.run(["rm", "-rf", project.root], check=True)
        subprocess.run(["cp", "-a", original, project.root], check=True)
        assert killed(project, "commit", number)
        number += 1
    put(project, ONE, artefacts={}, status="failed")
    assert GLOBAL.state(ONE) in finish(project)[-1]
    assert json_of(project, GLOBAL.state(ONE))["status"] == "failed"
    assert list((project.root / ".claude/holdfast/quarantine").iterdir())


# Which session.


def test_the_active_session_is_named_or_the_only_open_one(project: Project) -> None:
    here = place(project)
    assert sessions.active(here, NAME) == NAME
    assert sessions.active(here, "global") is None
    assert sessions.active(here, None) is None  # there are two
    commit(project)
    assert sessions.active(here, None) == "elsewhere"
    sessions.cancel(place(project), "elsewhere")
    assert sessions.active(here, None) is None


@pytest.mark.parametrize("wanted", ["nowhere", "../elsewhere"])
def test_a_session_that_is_not_there_is_refused(wanted: str, project: Project) -> None:
    with pytest.raises(HoldfastError) as refused:
        sessions.active(place(project), wanted)
    assert refused.value.hint
    for act in (sessions.commit, sessions.cancel):
        with pytest.raises((NoSuchWorkflow, IllegalMove)):
            act(place(project), wanted)
