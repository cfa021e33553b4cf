"""The journal: many processes add to it while saves take it away, and no line is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import journal, jsonlines, sessions
from holdfast.project import Surroundings
from holdfast.sessions import Claim

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)

ADD = """
import sys
from datetime import UTC, datetime
from holdfast import journal
from holdfast.project import Surroundings
state_dir, who, count = sys.argv[1:]
here = Surroundings("/nonexistent", None, None, state_dir, None, disabled=False)
for number in range(int(count)):
    journal.note(here, "s", datetime.now(UTC), {"file": f"{who}-{number}"})
"""

TAKE_AND_DIE = """
import os, sys
from holdfast import journal
taken = journal.take(sys.argv[1], "s")
assert taken.lines
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def here(tmp_path: Path) -> Surroundings:
    """A session in a folder of its own."""
    project = tmp_path / "project"
    project.mkdir()
    return Surroundings(
        str(project), None, None, str(tmp_path / "state"), str(tmp_path / "user.toml"), False
    )


def files(here: Surroundings) -> list[str]:
    folder = Path(here.state_dir or "") / "journals"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def paths(lines: object) -> Iterator[str]:
    assert isinstance(lines, (list, tuple))
    for line in lines:
        yield line["file"]


def test_what_is_noted_is_taken_once(here: Surroundings) -> None:
    """With the time at which it was noted, and the file is gone after it was saved."""
    assert not journal.waiting(here.state_dir, "s")
    journal.note(here, "s", NOW, {"file": "/a"}, {"file": "/b"})
    journal.note(here, "other", NOW, {"file": "/c"})
    assert journal.waiting(here.state_dir, "s")
    assert list(paths(journal.peek(here.state_dir, "s"))) == ["/a", "/b"]
    taken = journal.take(here.state_dir, "s")
    first = {"version": 1, "at": "2026-01-02T12:00:00.000000Z", "file": "/a"}
    assert taken.lines[0] == first
    assert list(paths(taken.lines)) == ["/a", "/b"]
    taken.done()
    assert not journal.waiting(here.state_dir, "s")
    assert journal.take(here.state_dir, "s").lines == []
    assert list(paths(journal.peek(here.state_dir, "other"))) == ["/c"]


def test_only_its_owner_can_read_it(here: Surroundings) -> None:
    """It names the files that somebody works on."""
    journal.note(here, "s", NOW, {"file": "/a"})
    (path,) = (Path(here.state_dir or "") / "journals").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_was_taken_and_not_saved_is_taken_again(here: Surroundings) -> None:
    """The process was killed in between; what came meanwhile is there as well."""
    journal.note(here, "s", NOW, {"file": "/a"})
    done = subprocess.run(
        [sys.executable, "-c", TAKE_AND_DIE, here.state_dir or ""],
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (-9, b"")
    journal.note(here, "s", NOW, {"file": "/b"})
    assert list(paths(journal.peek(here.state_dir, "s"))) == ["/a", "/b"]
    taken = journal.take(here.state_dir, "s")
    assert sorted(paths(taken.lines)) == ["/a", "/b"]
    taken.done()
    assert files(here) == []


def test_two_that_take_at_once_take_the_same(here: Surroundings) -> None:
    """The second finds what the first has not removed yet; that the first removes it is no harm."""
    journal.note(here, "s", NOW, {"file": "/a"})
    first, second = (journal.take(here.state_dir, "s") for _ in range(2))
    assert list(paths(second.lines)) == list(paths(first.lines)) == ["/a"]
    first.done()
    second.done()
    assert files(here) == []


def test_many_processes_add_while_others_take(here: Surroundings) -> None:
    """Every line is taken, and none is torn."""
    command = [sys.executable, "-c", ADD, here.state_dir or ""]
    running = [subprocess.Popen([*command, str(who), "300"]) for who in range(8)]
    seen: list[str] = []
    takes = 0
    while any(process.poll() is None for process in running):
        taken = journal.take(here.state_dir, "s")
        seen += paths(taken.lines)
        takes += bool(taken.lines)
        taken.done()
    seen += paths(journal.take(here.state_dir, "s").lines)
    assert {process.returncode for process in running} == {0}
    assert takes > 1  # or nothing happened at the same time
    assert sorted(seen) == sorted(f"{who}-{number}" for who in range(8) for number in range(300))


def test_a_line_that_is_being_written_is_waited_for(
    here: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While somebody holds the file it stays, under its new name, for the next save."""
    fcntl = pytest.importorskip("fcntl")
    journal.note(here, "s", NOW, {"file": "/a"})
    (path,) = (Path(here.state_dir or "") / "journals").iterdir()
    monkeypatch.setattr(journal, "_PATIENCE", 0.05)
    with path.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH)
        assert journal.take(here.state_dir, "s").lines == []
        writer.write(jsonlines.encode({"file": "/late"}))
    assert list(paths(journal.take(here.state_dir, "s").lines)) == ["/a", "/late"]


def test_it_does_not_grow_without_end(here: Surroundings) -> None:
    """Beyond its size nothing is added; a line that is too long is left out."""
    journal.note(here, "s", NOW, {"file": "x" * journal.LONGEST_LINE})
    assert not journal.waiting(here.state_dir, "s")
    path = journal._path(here.state_dir, "s")
    for number in range(400):
        journal.add(path, jsonlines.encode({"file": f"{number}-{'x' * 3_900}"}))
    assert os.stat(path).st_size <= journal.LARGEST
    assert len(journal.take(here.state_dir, "s").lines) == journal.LARGEST // 3_920


def test_what_is_no_line_is_passed_over(here: Surroundings) -> None:
    """A write that a full disk cut short."""
    journal.note(here, "s", NOW, {"file": "/a"})
    path = journal._path(here.state_dir, "s")
    journal.add(path, b'{"file": "/to\n[1]\n\xff\n')
    journal.note(here, "s", NOW, {"file": "/b"})
    assert list(paths(journal.take(here.state_dir, "s").lines)) == ["/a", "/b"]


def test_a_link_is_not_followed(here: Surroundings, tmp_path: Path) -> None:
    """Nothing is written elsewhere."""
    target = tmp_path / "mine"
    target.write_bytes(b"")
    path = Path(journal._path(here.state_dir, "s"))
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    journal.note(here, "s", NOW, {"file": "/a"})
    assert target.read_bytes() == b""


def test_without_a_folder_or_a_session_nothing_is_noted(here: Surroundings) -> None:
    """And nothing is written to the working directory."""
    homeless = here._replace(state_dir=None)
    journal.note(homeless, "s", NOW, {"file": "/a"})
    journal.note(here, None, NOW, {"file": "/a"})
    assert journal.take(None, "s") == journal.take(here.state_dir, None) == ((), ())
    assert journal.peek(None, "s") == []
    assert files(here) == []


def test_a_folder_that_cannot_be_written_is_no_failure(here: Surroundings) -> None:
    """Only what is observed is lost."""
    nowhere = here._replace(state_dir="/proc/nowhere")
    journal.note(nowhere, "s", NOW, {"file": "/a"})
    assert not journal.waiting("/proc/nowhere", "s")


@pytest.mark.parametrize("setting", ["observe = false", "enabled = false"])
def test_settings_switch_it_off(setting: str, here: Surroundings, tmp_path: Path) -> None:
    """The user's, the project's, and those of the project that the session works in."""
    assert journal.wanted(here, "s")
    user = tmp_path / "user.toml"
    user.write_text(setting)
    assert not journal.wanted(here, "s")
    user.unlink()
    own = Path(here.cwd) / ".claude" / "holdfast.toml"
    own.parent.mkdir()
    own.write_text(setting)
    assert not journal.wanted(here, "s")
    away = here._replace(cwd=str(tmp_path))
    assert journal.wanted(away, "s")
    sessions.remember(here.state_dir, Claim("s", here.cwd, "k", NOW.isoformat(), ""), NOW)
    assert not journal.wanted(away, "s")
    assert journal.wanted(away, "another")


def test_a_month_later_it_is_gone(here: Surroundings) -> None:
    """A session that was never saved leaves nothing for good."""
    journal.note(here, "old", NOW, {"file": "/a"})
    old = journal._path(here.state_dir, "old")
    os.utime(old, (0, 0))
    journal.note(here, "new", NOW, {"file": "/b"})
    assert not os.path.exists(old)
    assert json.loads(Path(journal._path(here.state_dir, "new")).read_bytes())["file"] == "/b"
