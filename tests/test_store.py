"""The store: whole or absent, contained, with a copy at hand."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import StateUnreadable, StateUnwritable
from holdfast.files.regular import read_file
from holdfast.files.store import Store, replace_file


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "project"
    root.mkdir()
    return Store(root)


def test_our_folder_is_private_and_ignored(store: Store) -> None:
    """0700, and git ignores all of it."""
    with store.lock(1):
        pass
    assert stat.S_IMODE(store.private.stat().st_mode) == 0o700
    assert (store.private / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_new_file_does_not_change_the_umask_for_other_threads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked for by setting it to 0: what another thread made then, anybody could write to."""
    asked: list[int] = []
    monkeypatch.setattr(os, "umask", asked.append)
    with store.lock(1):
        store.write(store.root / "untracked/state.json", b"{}")
    assert asked == []


def test_the_umask_and_the_mode_of_a_file_are_respected(store: Store) -> None:
    """A new state gets what the umask leaves; an old one keeps its mode."""
    path = store.root / "untracked" / "state.json"
    with store.lock(1):
        store.write(path, b"1")
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        path.chmod(0o600)
        store.write(path, b"2")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_never_goes_through_a_link(store: Store, tmp_path: Path) -> None:
    """The link is replaced; what it pointed at stays as it was."""
    outside = tmp_path / "outside.txt"
    outside.write_text("precious", encoding="utf-8")
    path = store.root / "untracked" / "state.json"
    path.parent.mkdir()
    path.symlink_to(outside)
    with store.lock(1):
        store.write(path, b"new")
    assert outside.read_text(encoding="utf-8") == "precious"
    assert not path.is_symlink()


@pytest.mark.parametrize("link", ["untracked", ".claude"])
def test_a_folder_that_leads_outside_is_refused(link: str, store: Store, tmp_path: Path) -> None:
    """Neither a state nor our own files are written elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (store.root / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateUnwritable), store.lock(1):
        store.write(store.root / "untracked" / "w" / "state.json", b"x")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_litter(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the rename."""
    path = store.root / "untracked" / "state.json"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with store.lock(1):
        store.write(path, b"old")
        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(StateUnwritable, match="No space left"):
            store.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list((store.private / "tmp").iterdir()) == []


def test_another_file_system_is_no_obstacle(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename across file systems fails; then the temporary file is made beside the target."""
    real = os.replace
    path = store.root / "untracked" / "state.json"

    def across(source: str, target: str) -> None:
        if Path(source).parent != Path(target).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(source, target)

    monkeypatch.setattr(os, "replace", across)
    with store.lock(1):
        store.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in path.parent.iterdir()] == ["state.json"]


def test_odd_files_are_unreadable_and_do_not_hang(tmp_path: Path) -> None:
    """A FIFO without a writer, a folder, a device, a giant, nothing."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    giant = tmp_path / "giant"
    giant.write_bytes(b"x" * 101)
    for path in (fifo, tmp_path, Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(StateUnreadable):
            read_file(path, 1000)
    with pytest.raises(StateUnreadable, match="larger than 100"):
        read_file(giant, 100)


def test_set_aside_never_overwrites(store: Store) -> None:
    """Two files of one name in one second."""
    path = store.root / "state.json"
    with store.lock(1):
        for content in (b"one", b"two"):
            path.write_bytes(content)
            store.set_aside(path, "20260101_000000", move=True)
    kept = sorted(each.read_bytes() for each in (store.private / "quarantine").iterdir())
    assert kept == [b"one", b"two"]


KILLED = """
import os, signal, sys
from holdfast.files import store as stores
real = getattr(os, sys.argv[2])
def deadly(*arguments, **named):
    if sys.argv[3] == "after":
        real(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, sys.argv[2], deadly)
stores.replace_file(sys.argv[1], b"new" * 1000, mode=0o600)
"""


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_any_moment_the_file_is_the_old_or_the_new_one(
    call: str, moment: str, tmp_path: Path
) -> None:
    """kill -9 around each step of a write."""
    path = tmp_path / "state.json"
    replace_file(str(path), b"old", mode=0o600)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), call, moment], capture_output=True, check=False
    )
    assert done.returncode == -9
    expected = b"new" * 1000 if (call, moment) == ("replace", "after") else b"old"
    assert path.read_bytes() == expected


def test_an_appended_line_never_joins_a_torn_one(store: Store) -> None:
    """Somebody was killed in the middle of it, or an editor left the last line without its end."""
    path = store.root / "sub" / "log.jsonl"
    with store.lock(1):
        store.append(path, b'{"a": 1}\n')
        path.write_bytes(path.read_bytes() + b'{"b": ')
        store.append(path, b'{"c": 3}\n')
    assert path.read_bytes().splitlines() == [b'{"a": 1}', b'{"b": ', b'{"c": 3}']


def test_nothing_is_appended_through_a_link_or_to_what_is_no_file(
    store: Store, tmp_path: Path
) -> None:
    """Such as a FIFO, whose reader would be waited for."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b"")
    link, fifo = store.root / "link.jsonl", store.root / "fifo.jsonl"
    link.symlink_to(outside)
    os.mkfifo(fifo)
    with store.lock(1):
        for path in (link, fifo, tmp_path / "beside" / "log.jsonl"):
            with pytest.raises(StateUnwritable):
                store.append(path, b"{}\n")
    assert outside.read_bytes() == b""
