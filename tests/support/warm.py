"""Real `holdfast` processes by the thousand: forked from one that has everything loaded already.

Such a process differs from one that was started in nothing but that its imports are behind it. It may
be held before its first step, until strace is attached to it.

Half of what it takes is to copy memory. Runs that need no process of their own share one: each has its own arguments,
folder, environment and streams, and what it remembers of the one before is dropped. The MCP server works like that, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

_SET_PTRACER = (
    0x59616D61  # see prctl(2): where Yama is strict, strace may attach to its children only
)
_PATIENCE = 60.0  # seconds; whatever takes longer hangs
_MOST_RUNS = 200  # that share a process, since it collects no garbage


class Ended(NamedTuple):
    """What became of a process: its exit code, negative for a signal, and what it said."""

    code: int
    said: bytes
    complaint: bytes = b""

    @property
    def stdout(self) -> str:
        return self.said.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.complaint.decode("utf-8", "replace")


class Warm:
    """Starts processes of `holdfast`, one at a time."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what is read ahead, select does not know of
        )
        assert self._answer() == "ready"

    def _end(self) -> None:
        for stream in (self._server.stdin, self._server.stdout):
            assert stream
            stream.close()
        self._server.wait(timeout=_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path | str,
        environment: Mapping[str, str],
        stdin: bytes = b"",
        terminal: str | None = None,
        held: Callable[[int], None] | None = None,
        shared: bool = False,
    ) -> Ended:
        """Run `holdfast` with *arguments*; *held* gets the process before its first step, and lets it go.

        What it says to a *terminal* is for whoever has its other end. A *shared* process was used before, and will be again.
        """
        with tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
            streams[0].write_bytes(stdin)
            request = {
                "arguments": list(arguments),
                "cwd": str(cwd),
                "environment": dict(environment),
                "streams": [terminal or str(path) for path in streams],
                "held": held is not None,
                "shared": shared,
            }
            assert self._server.stdin
            self._server.stdin.write(json.dumps(request).encode() + b"\n")
            self._server.stdin.flush()
            pid = int(self._answer())
            try:
                if held:
                    until(lambda: field(pid, "State").startswith("T"))
                    held(pid)
                code = int(self._answer())
            except BaseException:
                self._begin_anew(pid)
                raise
            said = [b"" if terminal else path.read_bytes() for path in streams[1:]]
        return Ended(code, *said)

    def _begin_anew(self, pid: int) -> None:
        """Nobody knows how far the server is with *pid*, and the next test must not suffer from it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self._server.kill()
        self._end()
        self._begin()

    def _answer(self) -> str:
        assert self._server.stdout
        ready, _, _ = select.select([self._server.stdout], [], [], _PATIENCE)
        if not ready:
            raise TimeoutError("a process hangs, or the one that forks it")
        return self._server.stdout.readline().decode().strip()


def until(holds: Callable[[], bool], seconds: float = _PATIENCE) -> None:
    """Wait until something *holds*."""
    late = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > late:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.0005)


def field(pid: int, name: str) -> str:
    """A field of what the system says of the process."""
    text = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    return text.split(f"{name}:", 1)[1].split("\n", 1)[0].strip()


def _serve() -> None:
    _load_everything()
    libc = ctypes.CDLL(None)
    _say("ready")
    runner: _Runner | None = None
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["shared"]:
            runner = runner or _Runner(libc)
            _say(runner.pid)
            code = runner.run(line)
            if code is None or runner.runs == _MOST_RUNS:
                ended = runner.end()
                code, runner = ended if code is None else code, None
            _say(code)
            continue
        pid = os.fork()
        if pid == 0:
            os._exit(_become(request, libc))
        _say(pid)
        _, status = os.waitpid(pid, 0)
        _say(os.waitstatus_to_exitcode(status))


class _Runner:
    """The process that shared runs have, one after the other."""

    def __init__(self, libc: ctypes.CDLL) -> None:
        self.runs = 0
        (asked, self._ask), (self._answers, answer) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._ask)
            os.close(self._answers)
            with open(asked, "rb") as requests:
                for line in requests:
                    _forget()
                    code = _become(json.loads(line), libc)
                    os.chdir("/")  # a folder that somebody is in cannot be unmounted
                    os.write(answer, b"%d\n" % (code & 0xFF))
            os._exit(0)
        os.close(asked)
        os.close(answer)

    def run(self, request: bytes) -> int | None:
        """The exit code; None where the process has ended with it."""
        self.runs += 1
        os.write(self._ask, request)
        code = os.read(self._answers, 20)
        return int(code) if code else None

    def end(self) -> int:
        os.close(self._ask)
        os.close(self._answers)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def _forget() -> None:
    """What a process remembers of waits in vain."""
    from holdfast.files import regular, store

    store._given_up.clear()
    regular._in_vain.clear()


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def _load_everything() -> None:
    import holdfast
    from holdfast import patterns

    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        # The server of MCP and the fixtures load much that no hook and no command of these tests uses.
        if not module.name.startswith(("holdfast.server", "holdfast.pytest_plugin")):
            import_module(module.name)
    import_module("filelock")
    # Half of what a command takes would be to compile what the one before it has compiled as well.
    for found in gc.get_objects():
        if isinstance(found, patterns._Late):
            for use in ("search", "match", "fullmatch", "sub", "split", "findall", "finditer"):
                getattr(found, use)


def _become(request: Mapping[str, Any], libc: ctypes.CDLL) -> int:
    """Be the process that was asked for; returns its exit code."""
    libc.prctl(_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    for number, path in enumerate(request["streams"]):
        mode = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        descriptor = os.open(path, mode | os.O_NOCTTY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(open(number, mode, closefd=False), encoding="utf-8")  # noqa: SIM115
        for number, mode in enumerate(("rb", "wb", "wb"))
    )
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = ["holdfast", *request["arguments"]]
    if request["held"]:
        os.kill(os.getpid(), signal.SIGSTOP)
    from holdfast.__main__ import main

    try:
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve()
