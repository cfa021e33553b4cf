"""Locks of files: nobody has what another one has, and what is stale goes to whoever asks next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.files.store import Store
from holdfast.formats.orchestrator import files, locks
from holdfast.formats.orchestrator.locks import Lock
from holdfast.testing import Project

ANN, BEN = ("ann", "1.1"), ("ben", "1.2")


def take(
    project: Project, *paths: str, holder: tuple[str, str | None] = ANN
) -> list[tuple[str, str | None]]:
    """The holders whose stale locks had to go."""
    store = Store(project.root)
    real = locks.inside(store, str(project.root), paths)
    return [
        (lock.owner, lock.task) for lock in locks.take(store, project.clock.now(), real, *holder)
    ]


def release(
    project: Project, *paths: str, holder: tuple[str, str | None] = ANN, force: bool = False
) -> list[Lock]:
    now = project.clock.now()
    return locks.release(Store(project.root), now, paths, *holder, force=force)


def held(project: Project) -> dict[str, str]:
    """Who has which path."""
    return {lock.path: lock.owner for lock in locks.read(Store(project.root)).known}


def entries(project: Project) -> list[Any]:
    data = json.loads((project.root / files.LOCKS).read_bytes())
    return list(data["locks"])


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    for name in ("src/auth/jwt.py", "src/authors.py", "docs/a.md"):
        holdfast_project.write(name, "")
    return holdfast_project


def test_what_is_written(project: Project) -> None:
    """As the page of the format describes it."""
    take(project, "docs/a.md")
    take(project, "src", holder=("ben", None))
    first, second = entries(project)
    assert first == {
        "path": "docs/a.md",
        "owner": "ann",
        "task": "1.1",
        "acquired": first["acquired"],
    }
    assert second == {"path": "src", "owner": "ben", "acquired": first["acquired"]}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("docs/a.md", "docs/a.md"),
        ("docs/a.md", "./docs/../docs//a.md"),
        ("src", "src/auth/jwt.py"),
        ("src/auth/jwt.py", "src"),
        ("src/auth/jwt.py", "link/jwt.py"),
        ("link", "src/auth/jwt.py"),
        (".", "docs/a.md"),
        ("docs/a.md", "."),
        ("new/file.py", "new"),
    ],
)
def test_nobody_gets_what_another_one_has(mine: str, theirs: str, project: Project) -> None:
    """By whatever name: a folder has what is below it, and a link is what it leads to."""
    (project.root / "link").symlink_to("src/auth")
    take(project, mine)
    before = (project.root / files.LOCKS).read_bytes()
    with pytest.raises(IllegalMove, match=r"is held by ann \(task 1.1\), locked just now"):
        take(project, theirs, holder=BEN)
    assert (project.root / files.LOCKS).read_bytes() == before


def test_names_that_only_begin_alike_do_not_overlap(project: Project) -> None:
    """src/auth and src/authors.py."""
    take(project, "src/auth")
    take(project, "src/authors.py", holder=BEN)
    assert held(project) == {"src/auth": "ann", "src/authors.py": "ben"}


def test_of_several_all_are_locked_or_none(project: Project) -> None:
    """Two agents that each had a half would wait for each other for ever."""
    take(project, "docs/a.md")
    with pytest.raises(IllegalMove):
        take(project, "src", "docs/a.md", holder=BEN)
    assert held(project) == {"docs/a.md": "ann"}


def test_agents_of_one_session_are_told_apart_by_their_tasks(project: Project) -> None:
    """They share its name."""
    take(project, "src", holder=("s-1", "1.1"))
    with pytest.raises(IllegalMove):
        take(project, "src", holder=("s-1", "1.2"))
    with pytest.raises(IllegalMove, match="src is held by s-1"):
        release(project, "src", holder=("s-1", "1.2"))
    release(project, "src", holder=("s-1", None))
    assert held(project) == {}


def test_locking_again_renews(project: Project) -> None:
    """Half an hour begins anew, for the paths that are named."""
    take(project, "src", "docs/a.md")
    project.clock.advance(seconds=20 * 60)
    take(project, "src")
    assert sorted(held(project)) == ["docs/a.md", "src"]
    project.clock.advance(seconds=20 * 60)
    with pytest.raises(IllegalMove):
        take(project, "src", holder=BEN)
    assert take(project, "docs/a.md", holder=BEN) == [ANN]


def test_a_stale_one_goes_to_who_asks(project: Project) -> None:
    """Who is told whose it was; the first one is told when it gives it back."""
    take(project, "src")
    project.clock.advance(seconds=30 * 60 + 1)
    assert take(project, "src/auth", holder=BEN) == [ANN]
    assert held(project) == {"src/auth": "ben"}
    with pytest.raises(IllegalMove, match="src/auth is held by ben"):
        release(project, "src/auth")


def test_force_unlocks_what_is_somebody_elses(project: Project) -> None:
    """And tells whose it was."""
    take(project, "src")
    with pytest.raises(IllegalMove, match=r"src is held by ann \(task 1.1\)"):
        release(project, "src", holder=BEN)
    assert [lock.owner for lock in release(project, "src", holder=BEN, force=True)] == ["ann"]
    with pytest.raises(IllegalMove, match="src is not locked"):
        release(project, "src", holder=BEN, force=True)


@pytest.mark.parametrize("path", ["..", "/etc/passwd", "out", "out/x", "", "a\0b"])
def test_only_what_lies_in_the_project_is_locked(path: str, project: Project) -> None:
    """Not what a link in it leads to, either."""
    (project.root / "out").symlink_to("/etc")
    with pytest.raises(IllegalMove, match="outside the project"):
        take(project, path)
    assert not (project.root / files.LOCKS).exists()


FOREIGN: list[Any] = [
    "a text",
    {"file": "src/auth", "by": "x"},
    {"path": "../up", "owner": "x"},
    {"path": 7},
    None,
]


def test_what_is_not_understood_is_kept_and_keeps_nobody_out(project: Project) -> None:
    """Of the file, of the list, and of an entry."""
    known = {"path": "docs/a.md", "owner": "carl", "why": "mine", "pid": "x", "task": None}
    project.write(files.LOCKS, json.dumps({"v": 1, "locks": [*FOREIGN, known], "z": None}))
    take(project, "src/auth")
    with pytest.raises(IllegalMove, match="held by carl"):
        take(project, "docs/a.md")
    release(project, "src/auth")
    data = json.loads((project.root / files.LOCKS).read_bytes())
    assert data == {"v": 1, "locks": [*FOREIGN, known], "z": None}


def test_an_entry_without_a_time_lasts_until_somebody_unlocks_it(project: Project) -> None:
    """One with a time of another tool is stale like ours."""
    began = (project.clock.now() - timedelta(minutes=29)).isoformat()
    there = [{"path": "src", "owner": "x", "acquired": began}, {"path": "docs", "owner": "x"}]
    project.write(files.LOCKS, json.dumps({"locks": there}))
    for path in ("src", "docs"):
        with pytest.raises(IllegalMove):
            take(project, path)
    project.clock.advance(seconds=120)
    take(project, "src")
    project.clock.advance(days=9)
    with pytest.raises(IllegalMove):
        take(project, "docs")


@pytest.mark.parametrize("content", ["{", "[]", '{"locks": {"src": "ann"}}', "", "[" * 100_000])
def test_a_file_that_cannot_be_read_stays_as_it_is(content: str, project: Project) -> None:
    """Whoever asks is told, and nothing is locked over it."""
    project.write(files.LOCKS, content)
    with pytest.raises(StateUnreadable):
        take(project, "src")
    assert (project.root / files.LOCKS).read_text() == content


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_no_file_of_the_project_is_not_read(kind: str, project: Project) -> None:
    """A link to what is somebody else's, or a pipe that nobody writes to."""
    path = project.root / files.LOCKS
    path.parent.mkdir(exist_ok=True)
    other = project.root.parent / "locks.json"
    other.write_text('{"locks": [{"path": "src", "owner": "x"}]}')
    path.symlink_to(other) if kind == "link" else os.mkfifo(path)
    with pytest.raises(StateUnreadable):
        take(project, "src")
    assert path.is_symlink() or path.is_fifo()


AT_ONCE = """
import os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import locks
from holdfast.files.store import Store
root, name = sys.argv[1:]
store, inside = Store(root), Path(root) / "inside"
sys.stdin.read()
turns = 4
while turns:
    try:
        locks.take(store, datetime.now(UTC), ["src/auth"], name, None)
    except IllegalMove:
        time.sleep(0.05)
        continue
    try:
        os.mkdir(inside)  # fails where somebody else is in it
    except FileExistsError:
        sys.exit("two had it")
    time.sleep(0.01)
    os.rmdir(inside)
    locks.release(store, datetime.now(UTC), ["src/auth"], name, None, force=False)
    turns -= 1
"""


def test_8_processes_take_turns(project: Project) -> None:
    """Never two at once."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, str(project.root), f"p{number}"],
            env=project.environment(),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]
    for process in running:
        assert process.stdin
        process.stdin.close()
        process.stdin = None
    told = [process.communicate(timeout=120)[1].decode() for process in running]
    assert ([process.returncode for process in running], told) == ([0] * 8, [""] * 8)
    assert entries(project) == []
