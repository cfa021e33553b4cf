"""Sessions are committed whole, cancelled whole, and finished whoever was killed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deadly import ARMED
from holdfast import marks, together
from holdfast.digests import digest
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow, StateUnreadable
from holdfast.formats.pipeline import files, logs, places, sessions
from holdfast.formats.pipeline.places import GLOBAL, Location
from holdfast.store import Store
from holdfast.testing import Project
from sessionwork import (
    ARTEFACTS,
    AT,
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
from holdfast.formats.base import Place
from holdfast.formats.pipeline import sessions
from holdfast.settings import Settings
from holdfast.store import Store
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
        logs.append(store, workflow_id, "2025-11-10T14:30:00Z", "started")


def commit(project: Project) -> None:
    sessions.commit(place(project), NAME)


def cancel(project: Project) -> None:
    sessions.cancel(place(project), NAME)


def test_a_session_is_created_with_an_empty_index(holdfast_project: Project) -> None:
    sessions.create(place(holdfast_project), NAME)
    assert json_of(holdfast_project, SESSION.index) == {"workflows": []}
    with pytest.raises(IllegalMove, match="there already"):
        sessions.create(place(holdfast_project), NAME)


def test_a_session_that_another_tool_made_gets_its_index(holdfast_project: Project) -> None:
    holdfast_project.write(f"{SESSION.base}/acts/scene.md", "")
    sessions.create(place(holdfast_project), NAME)
    assert json_of(holdfast_project, SESSION.index) == {"workflows": []}


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
        assert [line["event"] for line in logs.read(Store(project.root), workflow_id)] == [
            "started",
            "committed",
        ]
    assert indexes_are_true(project)
    assert {row.workflow_id: row.session for row in files.look(Store(project.root)).rows} == {
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
    assert sessions.find(Store(project.root), NAME).is_open
    assert [held.id for held in sessions.commit(place(project), NAME).workflows] == [new]
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
        path: data for path, data in everything(project).items() if not path.endswith(places.INDEX)
    }


def test_an_artefact_that_is_there_already_is_no_obstacle(project: Project) -> None:
    path = project.write(f"{GLOBAL.run('generation', TWO)}/plan.md", ARTEFACTS["plan.md"])
    before = marks.numbers(path.stat())
    commit(project)
    assert marks.numbers(path.stat()) == before


@pytest.mark.parametrize("number", range(1, 9))
def test_a_commit_that_fails_is_taken_back(
    number: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at any of its files."""
    before, real, seen = tree(project), os.replace, 0

    def full(source: str, target: str) -> None:
        nonlocal seen
        if "/workspace/" in str(target):
            seen += 1
            if seen == number:
                raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(HoldfastError, match="No space"):
        commit(project)
    assert tree(project) == before
    assert not (project.root / GLOBAL.run("generation", ONE)).exists()
    assert not together.is_unfinished(Store(project.root), "pipeline session")


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
    told = sessions.would_cancel(place(project), NAME).paths
    assert SESSION.state(ONE) in told
    assert places.log(TWO) in told
    assert everything(project) == before
    assert sessions.cancel(place(project), NAME).paths == told


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
    with Store(project.root).lock(1):
        said = sessions.finish(place(project))
    update_indexes(project)
    return said


@pytest.mark.parametrize("what", ["commit", "cancel"])
def test_killed_anywhere_it_is_brought_to_an_end_or_was_never_begun(
    what: str, project: Project, tmp_path: Path
) -> None:
    """A sweep over every call that changes the disk."""
    original = tmp_path / "original"
    project.root.rename(original)
    outcomes = []
    subprocess.run(["cp", "-a", original, project.root], check=True)
    before = everything(project)
    assert not killed(project, what, 10_000)
    done = everything(project)
    for number in range(1, 200):
        subprocess.run(["rm", "-rf", project.root], check=True)
        subprocess.run(["cp", "-a", original, project.root], check=True)
        if not killed(project, what, number):
            break
        begun = sessions.is_unfinished(Store(project.root))
        said = finish(project)
        assert bool(said) == begun
        now = everything(project)
        assert now in (before, done), number
        assert not begun or now == done
        assert finish(project) == []
        assert indexes_are_true(project)
        outcomes.append(now == done)
    else:
        pytest.fail("it never ended")
    assert outcomes == sorted(outcomes)
    assert len(outcomes) > 20
    assert not all(outcomes)


def begin(project: Project, record: object) -> Path:
    """Note *record* as what this user was interrupted in."""
    path = project.root / ".claude/holdfast/unfinished/pipeline session.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")
    witness = Path(user_folder(project), "begun-pipeline session.json")
    witness.parent.mkdir(parents=True, exist_ok=True)
    witness.write_text(json.dumps({"begun": digest(path.read_bytes())}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "record",
    [
        *([], {}, {"session": "gone", "commit": [ONE], "at": AT}, {"session": NAME}),
        *({"session": name, "commit": [ONE], "at": AT} for name in ("..", "../..", 3, None)),
        {"session": NAME, "commit": [3, "../x", "../../../x"], "at": AT},
        {"session": NAME, "cancel": {"states": ["../../../../x", 3], "runs": "all"}},
        {"session": NAME, "cancel": {"runs": ["..", "notes", ".", "../elsewhere", "a/b-runs"]}},
        {"session": NAME, "cancel": {"logs": ["../../../x", f"../workflow-orchestration/{ONE}"]}},
        {"session": NAME, "cancel": [ONE]},
    ],
)
def test_a_planted_note_does_nothing_else(record: object, project: Project) -> None:
    note, before = begin(project, record), everything(project)
    victim = project.write("x.json", "keep")
    finish(project)
    assert everything(project) == before
    assert victim.exists()
    assert not note.exists()


@pytest.mark.parametrize("what", ["commit", "cancel"])
def test_a_note_that_somebody_else_has_left_is_put_aside(what: str, project: Project) -> None:
    """A clone may bring one, which would remove what is in no repository."""
    record = {"session": NAME, "at": AT, what: {"states": [ONE], "runs": ["generation-runs"]}}
    note = begin(project, record if what == "cancel" else {**record, what: [ONE]})
    Path(user_folder(project), "begun-pipeline session.json").unlink()
    before = everything(project)
    (said,) = finish(project)
    assert "was not begun by you" in said
    assert everything(project) == before
    assert not note.exists()
    assert list((project.root / ".claude/holdfast/quarantine").iterdir())


def test_a_witness_that_a_kill_has_left_stands_for_no_other_note(project: Project) -> None:
    note = begin(project, {"session": NAME, "cancel": {"states": [ONE]}})
    note.write_text(json.dumps({"session": NAME, "cancel": {"states": [TWO]}}), encoding="utf-8")
    before = everything(project)
    assert "was not begun by you" in finish(project)[0]
    assert everything(project) == before


def test_a_killed_commit_does_not_replace_what_came_since(project: Project) -> None:
    begin(project, {"session": NAME, "commit": [ONE, TWO], "at": AT})
    put(project, ONE, artefacts={}, status="failed")
    theirs = project.write(f"{GLOBAL.run('generation', TWO)}/plan.md", "of somebody else")
    said = finish(project)
    assert ONE in said[-1]
    assert TWO in said[-1], "with the artefact of somebody else it would be another one"
    assert json_of(project, GLOBAL.state(ONE))["status"] == "failed"
    assert "committed_at" not in json_of(project, SESSION.state(ONE))
    assert "committed_at" not in json_of(project, SESSION.state(TWO))
    assert not (project.root / GLOBAL.state(TWO)).exists()
    assert theirs.read_text("utf-8") == "of somebody else"


# Which session.


def test_the_active_session_is_named_or_the_only_open_one(project: Project) -> None:
    store = Store(project.root)
    assert sessions.active(store, NAME, "elsewhere") == NAME
    assert sessions.active(store, None, "elsewhere") == "elsewhere"
    assert sessions.active(store, "global", "elsewhere") is None
    assert sessions.active(store, None, None) is None  # there are two
    commit(project)
    assert sessions.active(store, None, None) == "elsewhere"
    assert sessions.active(store, None, "global") is None
    sessions.cancel(place(project), "elsewhere")
    assert sessions.active(store, None, None) is None


@pytest.mark.parametrize("wanted", ["nowhere", "../elsewhere"])
def test_a_session_that_is_not_there_is_refused(wanted: str, project: Project) -> None:
    with pytest.raises(HoldfastError) as refused:
        sessions.active(Store(project.root), None, wanted)
    assert refused.value.hint
    for act in (sessions.commit, sessions.cancel):
        with pytest.raises((NoSuchWorkflow, IllegalMove)):
            act(place(project), wanted)
