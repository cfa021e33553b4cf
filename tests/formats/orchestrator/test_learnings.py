"""The log of learnings only grows, and the state never knows more than it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from holdfast.errors import IllegalMove, StateUnwritable
from holdfast.formats.orchestrator import checkpoints, files, learnings
from holdfast.testing import Project
from orchestrated import change, example, killed, log, place, put, state, unchanged

LEARN = 'FORMAT.change(place, "", learnings.learn, "insight", {lesson!r}, pattern="p", context="c")'


def learn(project: Project, lesson: str) -> None:
    change(project, learnings.learn, "insight", lesson, pattern="p", context="c")


def lessons(entries: list[dict[str, object]]) -> list[object]:
    return [each["lesson"] for each in entries]


def beat(project: Project) -> None:
    """Any other change."""
    change(project, unchanged)


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    put(holdfast_project, {**example(), "learnings": []})
    return holdfast_project


def test_a_learning_is_in_the_log_and_in_the_state(project: Project) -> None:
    """With every field of the document, identical in both."""
    learn(project, "Schlüssel nie im Code")
    assert log(project) == state(project)["learnings"]
    assert list(log(project)[0]) == [
        *("timestamp", "task", "iteration", "type", "lesson", "pattern", "context")
    ]
    assert (log(project)[0]["task"], log(project)[0]["iteration"]) == ("2.1", 2)


@pytest.mark.parametrize("lesson", ["", "  "])
def test_an_empty_lesson_is_refused(lesson: str, project: Project) -> None:
    """No line is written."""
    with pytest.raises(IllegalMove):
        learn(project, lesson)
    assert log(project) == []


def test_what_another_tool_wrote_into_the_state_alone_comes_into_the_log(
    project: Project,
) -> None:
    """With the next command, once, in order, and with unknown fields."""
    foreign = [{"lesson": "by jq", "type": "pattern", "weight": 3}, {"lesson": "by jq, too"}]
    put(project, {**example(), "learnings": foreign})
    beat(project)
    learn(project, "ours")
    beat(project)
    assert lessons(log(project)) == ["by jq", "by jq, too", "ours"]
    assert log(project)[0] == foreign[0]


def test_a_torn_line_is_passed_over_and_never_joins_the_next(project: Project) -> None:
    """Somebody was killed while adding it."""
    learn(project, "one")
    path = project.root / files.LEARNINGS
    path.write_bytes(path.read_bytes() + b'{"lesson": "to')
    learn(project, "two")
    lines = path.read_bytes().splitlines()
    assert json.loads(lines[-1])["lesson"] == "two"
    assert lessons(state(project)["learnings"]) == ["one", "two"]


def test_a_line_that_lacks_only_its_end_counts(project: Project) -> None:
    """It is complete, so it stays as it is and is not added again."""
    learn(project, "one")
    path = project.root / files.LEARNINGS
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    learn(project, "two")
    assert lessons(log(project)) == lessons(state(project)["learnings"]) == ["one", "two"]


def test_learnings_of_an_earlier_run_stay_in_the_log_alone(project: Project) -> None:
    """The log goes on through all runs."""
    path = project.root / files.LEARNINGS
    path.write_text('{"lesson": "of an earlier run"}\n', encoding="utf-8")
    beat(project)
    learn(project, "of this one")
    assert lessons(log(project)) == ["of an earlier run", "of this one"]
    assert lessons(state(project)["learnings"]) == ["of this one"]


def test_after_a_restore_the_log_keeps_what_the_state_forgets(project: Project) -> None:
    """Even what only the state knew before; no later command brings it back."""
    learn(project, "before")
    checkpoints.take(place(project))
    learn(project, "after")
    data = state(project)
    put(project, {**data, "learnings": [*data["learnings"], {"lesson": "by jq"}]})
    checkpoints.restore(place(project))
    beat(project)
    learn(project, "then")
    assert lessons(state(project)["learnings"]) == ["before", "then"]
    assert lessons(log(project)) == ["before", "after", "by jq", "then"]


def test_the_same_learning_of_the_same_moment_is_one(project: Project) -> None:
    """The command was given twice by mistake."""
    for _ in range(2):
        change(project, learnings.learn, "insight", "once", pattern="", context="")
    assert lessons(log(project)) == lessons(state(project)["learnings"]) == ["once"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("call", "number"),
    [("write", 1), ("fsync", 1), ("fsync", 2), *(("replace", each) for each in range(1, 7))],
)
def test_killed_at_any_moment_no_learning_is_lost_or_doubled(
    call: str, number: int, after: bool, project: Project
) -> None:
    """kill -9 around each step; the next command brings state and log together."""
    learn(project, "first")
    killed(project, LEARN.format(lesson="second"), call, number, after=after)
    in_log = lessons(log(project))
    assert set(lessons(state(project)["learnings"])) <= set(in_log)
    beat(project)
    found = lessons(log(project))
    assert lessons(state(project)["learnings"]) == found
    assert found in (["first"], ["first", "second"])
    assert found[: len(in_log)] == in_log
    learn(project, "third")
    assert lessons(state(project)["learnings"]) == lessons(log(project)) == [*found, "third"]


APPEND = """
import sys
from datetime import UTC, datetime
from holdfast.formats.engine.workflow import Place
from holdfast.formats.orchestrator import learnings
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.config.settings import Settings
from holdfast.files.store import Store
sys.stdin.read()
place = Place(Store(sys.argv[1]), Settings(), datetime.now(UTC), None, None)
for number in range(5):
    lesson = f"{sys.argv[2]}.{number} " + "x" * 5000
    FORMAT.change(place, "", learnings.learn, "insight", lesson, pattern="", context="")
"""


def test_learnings_of_8_processes_at_once_are_all_there(project: Project) -> None:
    """Long lines, which do not interleave."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, str(project.root), str(number)],
            env=project.environment(),
            stdin=subprocess.PIPE,
        )
        for number in range(8)
    ]
    for process in running:
        assert process.stdin
        process.stdin.close()
    assert [process.wait(60) for process in running] == [0] * 8
    assert len(set(lessons(log(project)))) == len(log(project)) == 40
    assert lessons(log(project)) == lessons(state(project)["learnings"])


@pytest.mark.parametrize("what", ["link", "folder"])
def test_a_log_that_cannot_be_written_is_told_and_nothing_is_changed(
    what: str, project: Project
) -> None:
    """Otherwise the state would know more than the log."""
    path = project.root / files.LEARNINGS
    if what == "link":
        path.symlink_to(project.write("elsewhere.jsonl", ""))
    else:
        path.mkdir()
    before = (project.root / files.STATE).read_bytes()
    with pytest.raises(
        StateUnwritable, match="it is a link" if what == "link" else "not a regular"
    ):
        learn(project, "one")
    assert (project.root / files.STATE).read_bytes() == before
