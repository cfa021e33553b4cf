"""The lock: gone with its owner, one with what earlier releases lock, and never in the way for ever."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import StateLocked, StateUnwritable
from holdfast.files.store import locked

fcntl = pytest.importorskip("fcntl", reason="elsewhere filelock does it")

OURS = "import sys; from holdfast.files.store import locked as lock; held = lock(sys.argv[1], 5)"
FILELOCK = "import sys; from filelock import FileLock; held = FileLock(sys.argv[1], timeout=5)"
UNTIL_TOLD = "\nwith held:\n    print('held', flush=True)\n    sys.stdin.read()\n"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@contextlib.contextmanager
def owner(lock: Path, code: str = OURS) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until its stdin ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", code + UNTIL_TOLD, lock],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


def test_it_is_held_by_one_and_free_afterwards(lock: Path) -> None:
    """Within one process as well, whose threads have descriptors of their own."""
    with locked(lock, 0), pytest.raises(StateLocked), locked(lock, 0):
        raise AssertionError("the lock was given twice")
    with locked(lock, 0):
        pass


@pytest.mark.parametrize("code", [OURS, FILELOCK])
def test_it_excludes_this_release_and_earlier_ones(lock: Path, code: str) -> None:
    """Earlier releases take it with the filelock package."""
    with owner(lock, code) as process:
        with pytest.raises(StateLocked), locked(lock, 0.05):
            raise AssertionError("the lock was given twice")
        assert process.stdin
        process.stdin.close()
        with locked(lock, 10):
            pass


def test_the_lock_of_a_killed_owner_is_free(lock: Path) -> None:
    """It is the operating system's, and nobody has to clean up."""
    with owner(lock) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with locked(lock, 0):
            pass


def test_a_stopped_owner_is_waited_for_no_longer_than_agreed(lock: Path) -> None:
    """It still holds the lock, and has it back when it goes on."""
    with owner(lock) as process:
        os.kill(process.pid, signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(StateLocked), locked(lock, 0.2):
            raise AssertionError("the lock was given twice")
        assert 0.2 <= time.monotonic() - begun < 5
        os.kill(process.pid, signal.SIGCONT)
        assert process.poll() is None


def test_who_waited_while_the_file_was_deleted_locks_the_new_one(lock: Path) -> None:
    """What is locked then has no name any more, and whoever comes next would not meet it."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    waiting = "with held: pass\nprint('was held', flush=True)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{OURS}\n{waiting}", lock], stdout=subprocess.PIPE, text=True
    )
    try:
        time.sleep(0.3)
        lock.unlink()
        with locked(lock, 0):
            os.close(descriptor)
            with pytest.raises(subprocess.TimeoutExpired):
                process.communicate(timeout=0.3)
        assert process.communicate(timeout=20)[0] == "was held\n"
    finally:
        process.kill()
        process.wait()


def test_a_fifo_in_its_place_holds_nobody_up(lock: Path) -> None:
    """It can be opened and locked like a file."""
    os.mkfifo(lock)
    with locked(lock, 0), pytest.raises(StateLocked), locked(lock, 0):
        raise AssertionError("the lock was given twice")


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_what_cannot_be_a_lock_is_named_at_once(lock: Path, kind: str) -> None:
    """Not after the time that one waits for another process."""
    if kind == "link":
        lock.symlink_to(lock.with_name("target"))
    else:
        lock.mkdir()
    begun = time.monotonic()
    with pytest.raises(StateUnwritable, match=str(lock)), locked(lock, 30):
        raise AssertionError("locked what is no file")
    assert time.monotonic() - begun < 5
    assert not lock.with_name("target").exists()
