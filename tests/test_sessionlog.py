"""The log of a session: many processes add to it while others fold and rotate it, and no line is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import clock
from holdfast.config.project import Surroundings
from holdfast.records import session as sessions
from holdfast.records import sessionlog
from holdfast.records.session import Session
from holdfast.restoring import delivery
from holdfast.restoring.delivery import Delivery

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)

ADD = """
import sys
from datetime import UTC, datetime
from holdfast.records import sessionlog
from holdfast.config.project import Surroundings
state_dir, who, count = sys.argv[1:]
here = Surroundings("/nonexistent", None, None, state_dir, None, disabled=False)
for number in range(int(count)):
    sessionlog.observe(here, "s", datetime.now(UTC), {"file": f"{who}-{number}"})
"""


@pytest.fixture
def here(tmp_path: Path) -> Surroundings:
    """A session in a folder of its own."""
    project = tmp_path / "project"
    project.mkdir()
    return Surroundings(
        str(project), None, None, str(tmp_path / "state"), str(tmp_path / "user.toml"), False
    )


@pytest.fixture
def log(here: Surroundings) -> Path:
    """Where its log is."""
    return Path(sessionlog.path_of(here.state_dir or "", "s"))


def paths(lines: Iterable[Mapping[str, object]]) -> list[object]:
    return [line["file"] for line in lines]


def work(here: Surroundings) -> list[object]:
    return paths(sessionlog.work_in(sessionlog.content(here.state_dir, "s")))


def read(here: Surroundings, *kinds: str) -> list[dict[str, object]]:
    return sessionlog.parse(sessionlog.content(here.state_dir, "s"), kinds)


def fill(log: Path) -> None:
    """Have it be larger than what makes it rotate."""
    sessionlog.add(str(log), b'{"entry": "heard", "at": "filler"}\n' * 31_000)


def test_each_session_has_a_log_of_its_own(here: Surroundings) -> None:
    """With the time of each line."""
    sessionlog.observe(here, "s", NOW, {"file": "/a"}, {"check": "pytest", "ok": True})
    sessionlog.observe(here, "other", NOW, {"file": "/c"})
    lines = read(here, "file", "check")
    assert [line["entry"] for line in lines] == ["file", "check"]
    assert lines[0]["at"] == "2026-01-02T12:00:00.000000Z"


def test_a_line_belongs_to_what_the_session_was_on(here: Surroundings) -> None:
    """Where it was on nothing, to what it came to next."""
    sessionlog.observe(here, "s", NOW, {"file": "/before"})
    sessionlog.begin(here.state_dir, "s", "/p", "one", NOW)
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    sessionlog.append(here.state_dir, "s", sessionlog.ON, NOW)
    sessionlog.observe(here, "s", NOW, {"file": "/b"})
    sessionlog.begin(here.state_dir, "s", "/p", "two", NOW)
    sessionlog.begin(here.state_dir, "s", "/p", "two", NOW)
    sessionlog.observe(here, "s", NOW, {"file": "/c"})
    sessionlog.append(here.state_dir, "s", sessionlog.ON, NOW)
    sessionlog.observe(here, "s", NOW, {"file": "/d"})
    lines = sessionlog.work_in(sessionlog.content(here.state_dir, "s"))
    one, two = ("/p", "one"), ("/p", "two")
    assert [line["on"] for line in lines] == [one, one, two, two, None]
    assert len(read(here, "on")) == 4


def test_only_its_owner_can_read_it(here: Surroundings, log: Path) -> None:
    """It names the files that somebody works on."""
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.long
def test_many_processes_add_while_it_is_rotated(here: Surroundings, log: Path) -> None:
    """Every line is read, and none is torn."""
    command = [sys.executable, "-c", ADD, here.state_dir or ""]
    running = [subprocess.Popen([*command, str(who), "500"]) for who in range(8)]
    seen: set[object] = set()
    filled: list[float] = []
    while any(process.poll() is None for process in running):
        before = len(seen)
        seen.update(paths(read(here, "file")))
        # Not one right after the other: it takes a megabyte of lines in between.
        if len(seen) > before and time.monotonic() - (filled or [0.0])[-1] > 0.1:
            fill(log)
            filled.append(time.monotonic())
    seen.update(paths(read(here, "file")))
    assert {process.returncode for process in running} == {0}
    assert Path(f"{log}.1").exists()  # or nothing happened at the same time
    assert sorted(map(str, seen)) == sorted(f"{w}-{n}" for w in range(8) for n in range(500))


def test_rotation_keeps_what_counts(here: Surroundings, log: Path) -> None:
    """The megabyte before is read along, whoever has rotated the log."""
    given = Delivery("/p", "key", "W", {}, {"/a": "a", "/b": "b"}, {}, {})
    delivered = sessionlog.later(here.state_dir, "s", sessionlog.DELIVERED, given.fields())
    assert sessionlog.add_all(delivered, clock.iso(NOW)) == []
    sessionlog.begin(here.state_dir, "s", "/p", "key", NOW)
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    fill(log)
    delivery.opened(here.state_dir, "s", ["/a"], NOW)
    assert log.stat().st_size < 1000
    assert Path(f"{log}.1").stat().st_size > sessionlog.LARGEST
    assert delivery.take_turn(here.state_dir, "s", "denied", NOW) == 1
    again = delivery.recall(here.state_dir, "s")
    assert again
    assert (again.opened, again.denied) == ({"/a"}, 1)
    assert sessionlog.works_on(here.state_dir, "s") == ("/p", "key")
    sessionlog.observe(here, "s", NOW, {"file": "/b"})
    lines = sessionlog.work_in(sessionlog.content(here.state_dir, "s"))
    assert [line["on"] for line in lines] == [("/p", "key"), ("/p", "key")]


def test_it_does_not_grow_without_end(here: Surroundings, log: Path) -> None:
    """Two megabytes are kept; a line that is too long is left out."""
    sessionlog.observe(here, "s", NOW, {"file": "x" * sessionlog.LONGEST_OBSERVED})
    assert not log.exists()
    sessionlog.observe(here, "s", NOW, {"file": "/first"})
    for _ in range(4):
        fill(log)
        sessionlog.append(here.state_dir, "s", "heard", NOW)
    both = (log, Path(f"{log}.1"))
    assert sum(path.stat().st_size for path in both) < 2.1 * sessionlog.LARGEST
    assert not read(here, "file")


def test_the_log_of_a_newer_holdfast_is_not_rotated(here: Surroundings, log: Path) -> None:
    """Nor is anything added to it."""
    log.parent.mkdir(parents=True)
    log.write_bytes(b'{"version": 99, "entry": "log"}\n' + b"x\n" * sessionlog.LARGEST)
    sessionlog.append(here.state_dir, "s", "heard", NOW)
    assert log.stat().st_size > 2 * sessionlog.LARGEST
    assert os.listdir(log.parent) == [log.name]


def test_what_follows_a_torn_line_is_read(here: Surroundings, log: Path) -> None:
    """A full disk cut a write short, and the next one did not begin on a line of its own."""
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    with log.open("ab") as stream:
        stream.write(b'[1]\n\xff\n{"entry": "file", "at": "')
    sessionlog.observe(here, "s", NOW, {"file": "/b"})
    assert work(here) == ["/a", "/b"]


def test_a_name_that_is_not_utf8_is_kept(here: Surroundings) -> None:
    """It was kept with a question mark."""
    sessionlog.observe(here, "s", NOW, {"file": "/caf\udce9"})
    assert work(here) == ["/caf\udce9"]


def test_a_link_is_not_followed(here: Surroundings, log: Path, tmp_path: Path) -> None:
    """Nothing is written elsewhere."""
    target = tmp_path / "mine"
    target.write_bytes(b"")
    log.parent.mkdir(parents=True)
    log.symlink_to(target)
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    assert target.read_bytes() == b""


def test_a_fifo_holds_nobody_up(here: Surroundings, log: Path) -> None:
    log.parent.mkdir(parents=True)
    os.mkfifo(log)
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    assert work(here) == []
    assert not sessionlog.has_only(str(log), "id", 5, ())


def test_without_a_folder_or_a_session_nothing_is_noted(here: Surroundings, log: Path) -> None:
    """And nothing is written to the working directory."""
    sessionlog.observe(here._replace(state_dir=None), "s", NOW, {"file": "/a"})
    sessionlog.observe(here, None, NOW, {"file": "/a"})
    assert sessionlog.content(None, "s") == b""
    assert sessionlog.content(here.state_dir, None) == b""
    assert not log.parent.exists()


def test_a_folder_that_cannot_be_written_is_no_failure(here: Surroundings) -> None:
    """Only what is observed is lost."""
    sessionlog.observe(here._replace(state_dir="/proc/nowhere"), "s", NOW, {"file": "/a"})
    assert not sessionlog.content("/proc/nowhere", "s")


@pytest.mark.parametrize("setting", ["observe = false", "enabled = false"])
def test_settings_switch_observing_off(setting: str, here: Surroundings, tmp_path: Path) -> None:
    """The user's, the project's, and those of the project that the session works in."""
    assert sessionlog.is_observed(here, "s")
    user = tmp_path / "user.toml"
    user.write_text(setting)
    assert not sessionlog.is_observed(here, "s")
    user.unlink()
    own = Path(here.cwd) / ".claude" / "holdfast.toml"
    own.parent.mkdir()
    own.write_text(setting)
    assert not sessionlog.is_observed(here, "s")
    away = here._replace(cwd=str(tmp_path))
    assert sessionlog.is_observed(away, "s")
    sessions.touch(here.state_dir, Session(id="s", root=here.cwd, workflow="k"), NOW)
    assert not sessionlog.is_observed(away, "s")
    assert sessionlog.is_observed(away, "another")


def test_what_only_adds_is_told_from_what_changes_an_answer(here: Surroundings, log: Path) -> None:
    """A prepared answer holds while nothing but such lines was added."""
    upto = sessionlog.end(here.state_dir, "s")
    assert sessionlog.has_only(str(log), *upto, ["heard"])
    sessionlog.append(here.state_dir, "s", "heard", NOW)
    assert sessionlog.has_only(str(log), *upto, ["heard"])
    assert not sessionlog.has_only(str(log), *upto, ["opened"])
    upto = sessionlog.end(here.state_dir, "s")
    sessionlog.observe(here, "s", NOW, {"file": "/a"})
    assert not sessionlog.has_only(str(log), *upto, ["heard"])
    assert not sessionlog.has_only(str(log), "another", 0, ["heard", "file"])
    log.unlink()
    assert not sessionlog.has_only(str(log), *upto, ["heard", "file"])


def test_a_month_later_it_is_gone(here: Surroundings, log: Path) -> None:
    """With the record, unless one of them is still in use."""
    state_dir = here.state_dir or ""
    for name in ("old", "used"):
        sessions.touch(state_dir, Session(id=name, root="/p"), NOW)
        os.utime(sessionlog.record_of(state_dir, name), (0, 0))
    os.utime(sessionlog.path_of(state_dir, "old"), (0, 0))
    sessionlog.observe(here, "s", NOW, {"file": "/b"})
    assert log.exists()
    assert [sessionlog.is_known(state_dir, name) for name in ("old", "used")] == [False, True]
    assert not os.path.exists(sessionlog.path_of(state_dir, "old"))


def test_a_session_is_recalled_as_it_was_recorded(here: Surroundings) -> None:
    """Whatever characters its id and its root have; what is damaged counts as not there."""
    for name in ("s", "s" * 1000, "../../etc", "\udce9\ud800", "漢"):
        own = Session(id=name, root="/p/\udce9", workflow="k", since="then", declared="d")
        sessions.touch(here.state_dir, own, NOW)
        assert sessions.recall(here.state_dir, name) == own
        assert sessionlog.root_of(here.state_dir, name) == own.root
        assert sessions.last_heard(here.state_dir, name) == NOW
    record = Path(sessionlog.record_of(here.state_dir or "", "s"))
    assert record.stat().st_mode & 0o777 == 0o600
    for damaged in ("{", "[]", '{"id": 5, "root": "/p"}', '{"id": "other", "root": "/p"}'):
        record.write_text(damaged, encoding="utf-8")
        assert sessions.recall(here.state_dir, "s") is None
