"""Which process is watched, and when it is known to be gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from holdfast import processes

CALLER = "from holdfast import processes; print(processes.caller())"


def test_the_caller_is_the_first_process_above_that_is_no_shell() -> None:
    """A shell that runs one command ends with it; whoever started the shell goes on."""
    line = f'{sys.executable} -c "{CALLER}"; true'
    for shells in (["sh", "-c", line], ["sh", "-c", f"env sh -c '{line}'; true"]):
        done = subprocess.run(shells, capture_output=True, text=True, encoding="utf-8", check=True)
        assert int(done.stdout) == os.getpid()


def test_a_process_is_gone_when_it_has_ended() -> None:
    """Also while its parent has not asked how, as a client that is busy may not."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not processes.is_gone(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert processes.is_gone(process.pid)
    assert processes.is_gone(process.pid)


def test_what_may_not_be_asked_is_not_gone() -> None:
    """The first process of all is somebody else's, and a number may be none that a process has."""
    assert not processes.is_gone(1)
    assert not processes.is_gone(2**80)


@pytest.mark.needs("ps")
def test_without_proc_ps_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    known = processes._from_proc(os.getpid())
    assert known
    found = processes._from_ps(os.getpid())
    assert found
    assert (found.parent, found.ended) == (known.parent, known.ended)
    assert processes._from_ps(2**22 + 1) is None
