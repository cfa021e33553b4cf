"""Locks of files: nobody has what another one has, and what is stale goes to who asks next."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import processes
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.formats.orchestrator import files, locks
from holdfast.formats.orchestrator.locks import Holder, Lock, Outcome
from holdfast.store import Store
from holdfast.testing import Project

ANN, BEN = Holder("ann", "1.1"), Holder("ben", "1.2")


def take(project: Project, *paths: str, holder: Holder = ANN, **more: Any) -> Outcome:
    store = Store(project.root)
    more = {"pid": os.getpid(), **more}
    real = locks.named(store, str(project.root), paths)
    return locks.take(store, project.clock, real, holder, **more)


def give_back(project: Project, *paths: str, holder: Holder = ANN, force: bool = False) -> Outcome:
    store = Store(project.root)
    return locks.give_back(store, project.clock, paths, *holder, force=force)


def held(project: Project) -> dict[str, str]:
    """Who has which path."""
    found, _ = locks.look(Store(project.root))
    return {lock.path: lock.holder.owner for lock in found}


def entries(project: Project) -> list[Any]:
    data = json.loads((project.root / files.LOCKS).read_bytes())
    return list(data["locks"])


@pytest.fixture
def dead() -> int:
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def project(holdfast_project: Project) -> Iterator[Project]:
    for name in ("src/auth/jwt.py", "src/authors.py", "docs/a.md"):
        holdfast_project.write(name, "")
    yield holdfast_project
    if (holdfast_project.root / files.LOCKS).exists():
        no_two_have_one(locks.look(Store(holdfast_project.root))[0])


def no_two_have_one(found: list[Lock]) -> None:
    for at, lock in enumerate(found):
        for other in found[at + 1 :]:
            assert lock.holder == other.holder or not lock.meets(other.path)


def test_what_is_written(project: Project) -> None:
    """As the page of the format describes it."""
    take(project, "docs/a.md")
    (entry,) = entries(project)
    assert entry == {
        "path": "docs/a.md",
        "owner": "ann",
        "task": "1.1",
        "pid": os.getpid(),
        "host": processes.where(),
        "acquired": entry["acquired"],
        "expires": entry["expires"],
    }


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
    with pytest.raises(IllegalMove, match=r"is held by ann \(task 1.1\), for another 30 minutes"):
        take(project, theirs, holder=BEN)
    assert (project.root / files.LOCKS).read_bytes() == before


def test_names_that_only_begin_alike_do_not_meet(project: Project) -> None:
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
    take(project, "src", holder=Holder("s-1", "1.1"))
    with pytest.raises(IllegalMove):
        take(project, "src", holder=Holder("s-1", "1.2"))
    with pytest.raises(IllegalMove):
        give_back(project, "src", holder=Holder("s-1", "1.2"))
    give_back(project, "src", holder=Holder("s-1"))
    assert held(project) == {}


def test_locking_again_renews(project: Project) -> None:
    """It keeps the time when it was taken."""
    take(project, "src", "docs/a.md")
    first = {entry["path"]: entry for entry in entries(project)}
    project.clock.advance(seconds=20 * 60)
    take(project, "src")
    again = {entry["path"]: entry for entry in entries(project)}
    assert again["src"]["acquired"] == first["src"]["acquired"]
    assert again["src"]["expires"] > first["src"]["expires"]
    assert again["docs/a.md"] == first["docs/a.md"]
    project.clock.advance(seconds=20 * 60)
    with pytest.raises(IllegalMove):
        take(project, "src", holder=BEN)
    take(project, "docs/a.md", holder=BEN)


def test_one_whose_time_is_over_goes_to_who_asks(project: Project) -> None:
    """Who is told whose it was; the first one is told when it gives it back."""
    take(project, "src", lasts=timedelta(minutes=5))
    project.clock.advance(seconds=5 * 60 + 1)
    taken = take(project, "src/auth", holder=BEN)
    assert [(lock.holder, why) for lock, why in taken.from_others] == [(ANN, "its time is over")]
    assert held(project) == {"src/auth": "ben"}
    with pytest.raises(IllegalMove, match="src/auth is held by ben"):
        give_back(project, "src/auth")


def test_one_whose_process_has_ended_goes_to_who_asks(project: Project, dead: int) -> None:
    """At once; not where it ran elsewhere, where nobody can know, as in a sandbox of this host."""
    take(project, "src", pid=dead)
    taken = take(project, "src", holder=BEN)
    assert taken.from_others[0][1] == f"process {dead} has ended"
    data = json.loads((project.root / files.LOCKS).read_bytes())
    for elsewhere in ("another", f"{platform.node()} pid:[1]"):
        data["locks"][0] |= {"pid": dead, "host": elsewhere}
        project.write(files.LOCKS, json.dumps(data))
        with pytest.raises(IllegalMove):
            take(project, "src")


def test_who_waits_gets_it_when_it_is_given_back(project: Project) -> None:
    """From another process, while this one waits."""
    take(project, "src")
    code = "import sys, time; from holdfast.formats.orchestrator import locks; "
    code += "from holdfast.clock import Clock; from holdfast.store import Store; time.sleep(0.5); "
    code += "locks.give_back(Store(sys.argv[1]), Clock(), ['src'], 'ann', None, force=False)"
    with subprocess.Popen([sys.executable, "-c", code, str(project.root)]) as process:
        assert take(project, "src", holder=BEN, wait=20).from_others == ()
    assert process.returncode == 0
    assert held(project) == {"src": "ben"}


def test_who_waits_in_vain_is_told(project: Project) -> None:
    """And has nothing."""
    take(project, "src")
    with pytest.raises(IllegalMove):
        take(project, "src", holder=BEN, wait=0.3)
    assert held(project) == {"src": "ann"}


def test_force_unlocks_what_is_somebody_elses(project: Project) -> None:
    """Told whose it was."""
    take(project, "src")
    with pytest.raises(IllegalMove, match=r"src is held by ann \(task 1.1\), not by ben"):
        give_back(project, "src", holder=BEN)
    given = give_back(project, "src", holder=BEN, force=True)
    assert given.from_others[0][0].holder == ANN
    with pytest.raises(IllegalMove, match="src is not locked"):
        give_back(project, "src", holder=BEN, force=True)


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
    give_back(project, "src/auth")
    data = json.loads((project.root / files.LOCKS).read_bytes())
    assert data == {"v": 1, "locks": [*FOREIGN, known], "z": None}


def test_an_entry_without_its_end_lasts_as_long_as_one_of_ours(project: Project) -> None:
    """One without any time, until somebody unlocks it."""
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


@pytest.mark.parametrize("content", ["{", "[]", '{"locks": {"src": "ann"}}', ""])
def test_a_file_that_cannot_be_read_overrules_nobody(content: str, project: Project) -> None:
    """Its last good copy counts; without one nothing is locked."""
    project.write(files.LOCKS, content)
    with pytest.raises(StateUnreadable):
        take(project, "src")
    (project.root / files.LOCKS).unlink()
    take(project, "src")
    project.write(files.LOCKS, content)
    with pytest.raises(IllegalMove):
        take(project, "src", holder=BEN)
    taken = take(project, "docs", holder=BEN)
    assert "its last good copy is used" in taken.note
    assert held(project) == {"src": "ann", "docs": "ben"}
    (aside,) = (project.root / ".claude/holdfast/quarantine").iterdir()
    assert aside.read_text() == content


def test_a_file_that_somebody_removed_holds_nothing(project: Project) -> None:
    """That is how people clear locks away; no copy brings them back."""
    take(project, "src")
    (project.root / files.LOCKS).unlink()
    take(project, "src", holder=BEN)
    assert held(project) == {"src": "ben"}


AT_ONCE = """
import os, sys, time
from datetime import timedelta
from pathlib import Path
from holdfast.clock import Clock
from holdfast.formats.orchestrator import locks
from holdfast.store import Store
root, name, holder = sys.argv[1], sys.argv[2], locks.Holder(sys.argv[2])
store, inside = Store(root), Path(root) / "inside"
sys.stdin.read()
for turn in range(4):
    locks.take(store, Clock(), ["src/auth"], holder, pid=os.getpid(), wait=60)
    try:
        os.mkdir(inside)  # fails where somebody else is in it
    except FileExistsError:
        sys.exit("two had it")
    time.sleep(0.01)
    os.rmdir(inside)
    locks.give_back(store, Clock(), ["src/auth"], name, None, force=False)
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


def test_of_killed_processes_the_locks_are_free(project: Project, tmp_path: Path) -> None:
    """kill -9 is the end of the process that is watched."""
    code = "import os, sys; from holdfast.formats.orchestrator import locks; "
    code += "from holdfast.clock import Clock; from holdfast.store import Store; "
    code += "locks.take(Store(sys.argv[1]), Clock(), ['src'], locks.Holder('gone'), "
    code += "pid=os.getpid()); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, str(project.root)], check=False)
    assert done.returncode == -9
    assert take(project, "src").from_others[0][0].holder.owner == "gone"
