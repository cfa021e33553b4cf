"""The plugin's environments: where they lie, how one is made, and what happens while none is ready.

An environment is made aside, from a copy of the source, and put in place when it is whole. It has the version
in its name, because a new version may need other dependencies, and the interpreter and the platform, because a
home may be shared with a container. Whether it is ready is told by the marker in it, not by its name.
The set-up is a process of its own, for which a hook never waits, but a command does. It ends by itself,
whatever happens: everything that it starts has a limit.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.errors import HoldfastError, StateUnreadable
from holdfast.files.atomic import replace_file
from holdfast.files.regular import read_file
from holdfast.setup.plugin import marker
from holdfast.text.plaintext import one_line

# Not what was started: that may belong to an environment of the project, and go with it.
INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
DETACHED: dict[str, Any]
if sys.platform == "win32":
    DETACHED = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    DETACHED = {"start_new_session": True}

_ROOT = Path(__file__).parents[4]
# A build leaves files where it builds, so it is done in a copy of what it needs.
_SOURCE = (
    *("pyproject.toml", "README.md", "LICENSE", "constraints.txt"),
    *("src", "hooks", "handlers", "skills"),
)
_PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
_ASIDE = "setup-"  # what is not whole yet, or not needed any more
_LONGEST_REASON = 64 * 1024
_LONGEST = 600.0
# A program begins with the name of its loader: /lib64/ld-linux-x86-64.so.2, /lib/ld-musl-aarch64.so.1.
_HEAD = 64 * 1024
_LOADER = re.compile(rb"\0(/[^\0]+/ld[^/\0]*\.so[^/\0]*)\0")
# The agent's shell ends a command after two minutes.
_PATIENCE = 100.0
_UNDER_WAY = (
    "Holdfast is being set up in the background, once for this version. "
    "As soon as that is done, it saves and restores workflows."
)


class DataFolder:
    """The folder that the client keeps for the plugin, over all its versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "setup.log"
        self._failure = folder / "setup-failed.txt"
        folder.mkdir(parents=True, exist_ok=True)

    def ready(self) -> bool:
        """Whether there is an environment of this version that can be used here."""
        return any(marker.usable(str(path)) for path in self.folder.glob(f"env-{__version__}-*"))

    def put_in_place(self, environment: Path, aside: Path) -> None:
        """Give a whole environment its name. One whose interpreter has gone makes room for it."""
        # Where there is a SOABI, it also tells C libraries apart.
        interpreter = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
        target = self.folder / f"env-{__version__}-{interpreter}-{sysconfig.get_platform()}"
        if target.exists():
            target.rename(aside / "replaced")
        environment.rename(target)

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A folder that is gone in the end. Only for whoever has the lock."""
        self._clear()
        try:
            yield Path(tempfile.mkdtemp(prefix=_ASIDE, dir=self.folder))
        finally:
            # Also what a set-up that was killed has left; a child of it may have written since.
            self._clear()

    def _clear(self) -> None:
        for left in self.folder.glob(f"{_ASIDE}*/"):
            shutil.rmtree(left, ignore_errors=True)

    def remove_old(self) -> None:
        """Environments of other versions; but not the newest of them, which a session may still use."""
        ours = f"env-{__version__}-"
        found = [path for path in self.folder.glob("env-*/") if not path.name.startswith(ours)]
        for environment in sorted(found, key=lambda path: path.stat().st_mtime)[:-1]:
            shutil.rmtree(environment, ignore_errors=True)

    def failure(self) -> str:
        """Why the last set-up did not come to its end; "" when it did, or there was none."""
        try:
            raw, _ = read_file(self._failure, _LONGEST_REASON)
        except StateUnreadable:
            return ""
        return one_line(raw.decode("utf-8", "replace"), 800)

    def note_failure(self, reason: str) -> None:
        replace_file(str(self._failure), reason.encode("utf-8", "replace"), mode=0o600)

    def forget_failure(self) -> None:
        self._failure.unlink(missing_ok=True)

    @contextmanager
    def lock(self, patience: float = 0.0) -> Iterator[bool]:
        """Whether we are the one to set up. The system gives the lock back for whoever is killed."""
        with (self.folder / "setup.lock").open("ab") as stream:
            end = time.monotonic() + patience
            while not (taken := _try_lock(stream.fileno())) and time.monotonic() < end:
                time.sleep(0.05)
            yield taken

    def being_set_up(self) -> bool:
        with self.lock() as taken:
            return not taken


def _try_lock(descriptor: int) -> bool:
    # By hand, because filelock is not installed here.
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  # only there

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415  # not there

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


class SetUpFailed(HoldfastError):
    """The environment could not be made; the hint says what a person can do about it."""


def _set_up_alone(data: DataFolder) -> int:
    """Set up, unless somebody else does; that is waited for."""
    with data.lock(_LONGEST) as ours:
        if not ours or data.ready():
            return 0
        # Written first, so it stays if we are killed: hooks must not begin again and again.
        data.note_failure("The set-up was interrupted.")
        try:
            _set_up(data)
        except SetUpFailed as failure:
            data.note_failure(f"{failure.cause}. {failure.hint}")
        except OSError as error:
            data.note_failure(f"{error}. Is {data.folder} writable, and the disk not full?")
        else:
            data.forget_failure()
            data.remove_old()
    return 0


def _set_up(data: DataFolder) -> None:
    with data.aside() as aside, data.log.open("wb") as log:
        source, environment = aside / "source", aside / "environment"
        steps = Steps(source, log.fileno(), data.log)
        _copy_source(source)
        steps.take(INTERPRETER, "-I", "-m", "venv", "--without-pip", environment)
        python = environment / _PYTHON
        pip = [*_pip(steps, python), "install", "--no-input", "--disable-pip-version-check"]
        try:
            steps.take(*pip, "--constraint", "constraints.txt", ".")
        except SetUpFailed:
            # The versions that we develop with may not be there for this interpreter.
            steps.take(*pip, ".")
        # All scripts but the interpreter name the folder of the set-up, which is about to go.
        for script in python.parent.iterdir():
            if not script.name.startswith("python") and script.suffix != ".dll":
                script.unlink()
        # Whole is what starts.
        steps.take(python, "-I", "-m", "holdfast", "--version")
        (environment / marker.NEWS).touch()
        marker.write(str(environment), _PYTHON, loader_of(INTERPRETER))
        data.put_in_place(environment, aside)


def _copy_source(target: Path) -> None:
    target.mkdir()
    left_behind = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in _SOURCE:
        found = _ROOT / name
        if found.is_dir():
            shutil.copytree(found, target / name, ignore=left_behind)
        else:
            shutil.copyfile(found, target / name)


def _pip(steps: Steps, python: Path) -> list[str | Path]:
    if importlib.util.find_spec("pip"):
        return [INTERPRETER, "-I", "-m", "pip", "--python", python]
    if importlib.util.find_spec("ensurepip"):
        steps.take(python, "-I", "-m", "ensurepip")
        return [python, "-I", "-m", "pip"]
    raise SetUpFailed(
        f"{INTERPRETER} has neither pip nor ensurepip",
        hint="Install them (on Debian and Ubuntu: apt install python3-venv).",
    )


class Steps:
    """Programs run one after the other, in the time that all of them have together."""

    def __init__(self, folder: Path, log: int, log_file: Path, limit: float = _LONGEST) -> None:
        self._folder, self._log, self._log_file = folder, log, log_file
        self._limit, self._end = limit, time.monotonic() + limit

    def take(self, *command: str | Path) -> None:
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            **DETACHED,
        )
        hint = f"Check the network and pip's settings; all that was said is in {self._log_file}."
        try:
            status = process.wait(max(0.0, self._end - time.monotonic()))
        except subprocess.TimeoutExpired:
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)  # also what it started itself
            process.wait()
            raise SetUpFailed(f"it took longer than {self._limit:g} s", hint=hint) from None
        if status != 0:
            lines = self._log_file.read_text(encoding="utf-8", errors="replace").splitlines()
            errors = [line.partition("ERROR: ")[2] for line in lines if "ERROR: " in line]
            reason = (errors or lines or ["no reason was given"])[-1]
            raise SetUpFailed(one_line(reason), hint=hint)


def _environment() -> dict[str, str]:
    """pip's settings hold, except where they would install elsewhere; the rest is not pip's business."""
    elsewhere = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "VIRTUAL_ENV"}
    ours = {
        name: value
        for name, value in os.environ.items()
        if name not in elsewhere and not name.startswith(("PYTHON", "CLAUDE", "ANTHROPIC"))
    }
    # "0" rather than nothing, because pip.conf may say otherwise.
    return {**ours, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PYTHONNOUSERSITE": "1"}


def loader_of(program: str) -> str:
    """The dynamic loader of *program*; where it names none, as on macOS and Windows, *program* itself.

    Every platform and every C library has its own, so where that of an interpreter lies, the machine is
    of the kind that the interpreter, and what was installed for it, were made for.
    """
    with open(program, "rb") as stream:
        head = stream.read(_HEAD)
    found = _LOADER.search(head) if head.startswith(b"\x7fELF") else None
    return os.fsdecode(found[1]) if found else program


def main() -> int:
    purpose, folder = sys.argv[1:]
    act, complain = _PURPOSES[purpose]
    try:
        return act(DataFolder(Path(folder).absolute()))
    except OSError as error:
        return complain(f"Holdfast could not be set up: {error}. Make {folder} writable.")


def _at_session_start(data: DataFolder) -> int:
    # First, since a set-up that begins now counts as failed until it has ended.
    failure = data.failure()
    if data.being_set_up():
        return _tell(_UNDER_WAY)
    if data.ready():
        return 0
    _begin(data)
    return _tell(_failed(failure, "It is being tried again now.") if failure else _UNDER_WAY)


def _at_pre_compact(data: DataFolder) -> int:
    """For a plugin that came into a session that was running: it may be ready for the restore."""
    if not (data.failure() or data.being_set_up() or data.ready()):
        _begin(data)
    return 0


def _for_command(data: DataFolder) -> int:
    _complain("setting up the plugin's own environment, once for this version.")
    try:
        # Where somebody else is at it already, it waits until that has ended.
        _begin(data).wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return _complain("The set-up is still running. Run the command again in a minute.")
    if data.ready():
        return 0
    return _complain(_failed(data.failure(), "Then run the command again."))


def _begin(data: DataFolder) -> subprocess.Popen[bytes]:
    """Set up in a process that no one waits for: in its own session, holding none of our pipes."""
    return subprocess.Popen(
        # As bin/holdfast started us, but for another purpose.
        [INTERPRETER, *sys.orig_argv[1:-2], "set-up", str(data.folder)],
        cwd=data.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **DETACHED,
    )


def _failed(reason: str, then: str) -> str:
    return f"Holdfast could not be set up: {reason} {then}"


def _tell(line: str) -> int:
    """What the client shows to the person at the start of a session."""
    print(json.dumps({"systemMessage": line}))  # noqa: T201  # the reply of a hook
    return 0


def _complain(line: str) -> int:
    print(f"holdfast: {line}", file=sys.stderr)  # noqa: T201  # a command's errors go to stderr
    return 1


def _say_nothing(_: str) -> int:
    return 0


# What is done, and who is told where the folder cannot be used.
_PURPOSES = {
    "session-start": (_at_session_start, _tell),
    "pre-compact": (_at_pre_compact, _say_nothing),
    "command": (_for_command, _complain),
    "set-up": (_set_up_alone, _say_nothing),
}
