"""Make the environment aside, from a copy of the source, and put it in place when it is whole.

The set-up ends by itself, whatever happens: everything that it starts has a limit.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.bootstrap import loader, marker
from holdfast.bootstrap.environments import DataFolder
from holdfast.errors import HoldfastError
from holdfast.plaintext import one_line

_ROOT = Path(__file__).parents[3]
# A build leaves files where it builds, so it is done in a copy of what it needs.
_SOURCE = ("pyproject.toml", "README.md", "LICENSE", "constraints.txt", "src", "hooks", "handlers")

# Not what was started: that may belong to an environment of the project, and go with it.
INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
DETACHED: dict[str, Any]
if sys.platform == "win32":
    DETACHED = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    DETACHED = {"start_new_session": True}

_PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
_LONGEST = 600.0
# Whoever looks whether somebody sets up has the lock for a moment.
_MOMENT = 2.0


class SetUpFailed(HoldfastError):
    """The environment could not be made; the hint says what a person can do about it."""


def run(data: DataFolder) -> None:
    """Set up, if nobody else does."""
    with data.lock(_MOMENT) as ours:
        if not ours or data.ready():
            return
        # Stays if we are killed. So hooks do not begin anew and anew what ends like that.
        data.note_failure("The set-up was interrupted.")
        try:
            _set_up(data)
        except SetUpFailed as failure:
            data.note_failure(f"{failure.cause}. {failure.hint}")
        except OSError as error:
            data.note_failure(f"{error}. Is {data.folder} writable, and the disk not full?")
        else:
            data.forget_failure()
            data.remove_unused(time.time())


def _set_up(data: DataFolder) -> None:
    with data.aside() as aside, data.log.open("wb") as log:
        source, environment = aside / "source", aside / "environment"
        steps = Steps(source, log.fileno(), data.log)
        _copy_source(source)
        steps.take(INTERPRETER, "-I", "-m", "venv", "--without-pip", environment)
        python = environment / _PYTHON
        _install(steps, python)
        _remove_scripts(python.parent)
        # Whole is what starts.
        steps.take(python, "-I", "-m", "holdfast", "--version")
        marker.write(str(environment), _PYTHON, loader.needed(INTERPRETER))
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


def _install(steps: Steps, python: Path) -> None:
    pip = [*_pip(steps, python), "install", "--no-input", "--disable-pip-version-check"]
    try:
        steps.take(*pip, "--constraint", "constraints.txt", ".")
    except SetUpFailed:
        # The versions that we develop with may not be there for this interpreter.
        steps.take(*pip, ".")


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


def _remove_scripts(folder: Path) -> None:
    """All but the interpreter. They name the folder of the set-up, which is about to go."""
    for each in folder.iterdir():
        if not each.name.startswith("python") and each.suffix != ".dll":
            each.unlink()


class Steps:
    """Programs run one after the other, in the time that all of them have together."""

    def __init__(self, folder: Path, log: int, log_file: Path, limit: float = _LONGEST) -> None:
        self._folder = folder
        self._log = log
        self._log_file = log_file
        self._limit = limit
        self._end = time.monotonic() + limit

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
        try:
            status = process.wait(max(0.0, self._end - time.monotonic()))
        except subprocess.TimeoutExpired:
            _end_all(process)
            raise SetUpFailed(f"it took longer than {self._limit:g} s", hint=self._hint) from None
        if status != 0:
            raise SetUpFailed(self._reason(), hint=self._hint)

    @property
    def _hint(self) -> str:
        return f"Check the network and pip's settings; all that was said is in {self._log_file}."

    def _reason(self) -> str:
        said = self._log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line.partition("ERROR: ")[2] for line in said if "ERROR: " in line]
        return one_line((errors or said or ["no reason was given"])[-1])


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """The program and what it started itself."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
