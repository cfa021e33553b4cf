"""The plugin as a person gets it: the repository's files, and nothing else that is installed.

Its set-up gets an interpreter without surroundings, and packages from a folder instead of a network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from holdfast.setup.plugin import marker
from holdfast.setup.plugin.environment import INTERPRETER

ROOT = Path(__file__).parents[2]
# What bin/holdfast needs beside a Python.
_TOOLS = ("sh", "grep", "dirname", "readlink")
# Packages come over a line of which we know nothing.
_PATIENCE = 300.0
DEADLINE = 60.0


class TooSlow(AssertionError):
    """Something did not happen in time."""


def copy_files(folder: Path) -> Path:
    """The repository's own files, without what make and tests have left there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def listing(folder: Path) -> dict[str, int]:
    """Every file and folder below, with its time: what a set-up must not change."""
    return {str(each): each.lstat().st_mtime_ns for each in folder.rglob("*")}


def wheelhouse() -> Path:
    """All that the set-up fetches, downloaded once for these requirements and this interpreter."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    constraints = ROOT / "constraints.txt"
    key = hashlib.sha256(repr(wanted).encode() + constraints.read_bytes()).hexdigest()[:12]
    folder = ROOT / ".cache" / "wheels" / f"{sys.implementation.cache_tag}-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=2 * _PATIENCE):
        if not folder.exists():
            # A folder of that name is whole: it is made aside, and then renamed.
            aside = Path(tempfile.mkdtemp(dir=folder.parent))
            pip = [INTERPRETER, "-I", "-m", "pip", "download", "--disable-pip-version-check"]
            subprocess.run(
                [*pip, "--quiet", "--dest", aside, "--constraint", constraints, *wanted],
                timeout=_PATIENCE,
                check=True,
            )
            aside.rename(folder)
    return folder


def programs(folder: Path, python: str | Path | None = INTERPRETER) -> Path:
    """A folder for the PATH with what bin/holdfast needs, and with no other Python than *python*."""
    folder.mkdir(parents=True)
    for name in _TOOLS:
        (folder / name).symlink_to(str(shutil.which(name)))
    if python:
        (folder / "python3").symlink_to(python)
    return folder


def packages(wheels: Path) -> dict[str, str]:
    """The settings of pip that make it take the packages from a folder."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}


class Plugin:
    """Calls bin/holdfast as the client does. `data` is the folder that the client keeps for it."""

    def __init__(self, folder: Path, root: Path, wheels: Path) -> None:
        # With a space in every path: the client's may have one.
        self.root = root
        self.home = folder / "the home"
        self.project = folder / "the project"
        for each in (self.home, self.project):
            each.mkdir(parents=True)
        self.data = self.home / ".claude" / "plugins" / "data" / "holdfast-holdfast"
        self.env = {
            "PATH": str(programs(folder / "the programs")),
            "HOME": str(self.home),
            **packages(wheels),
        }

    def call(
        self, *arguments: str, given: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """As the agent's shell, which is told nothing of the plugin."""
        done = subprocess.run(
            [shutil.which("sh") or "sh", self.root / "bin" / "holdfast", *arguments],
            cwd=self.project,
            env={**self.env, **env},
            input=given,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def hook(
        self, event: str, *arguments: str, more: Mapping[str, Any] | None = None, **env: str
    ) -> str:
        """What a hook prints. It always ends well, and has no errors."""
        payload = {
            "session_id": "s-1",
            "cwd": str(self.project),
            "hook_event_name": event,
            **(more or {}),
        }
        data = {"CLAUDE_PLUGIN_DATA": str(self.data), "CLAUDE_PLUGIN_ROOT": str(self.root)}
        # Without spaces, as the client writes it.
        given = json.dumps(payload, separators=(",", ":")).encode()
        done = self.call("hook", *arguments, given=given, **{**data, **env})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def session_start(self, source: str = "startup", **env: str) -> str:
        """The one line that the person is shown; "" for none."""
        printed = self.hook("SessionStart", more={"source": source}, **env)
        return str(json.loads(printed).get("systemMessage", "")) if printed else ""

    def environments(self) -> list[Path]:
        return sorted(self.data.glob("env-*"))

    def half_done(self) -> list[Path]:
        return sorted(self.data.glob("setup-*/"))

    def wait(self, found: str, deadline: float = DEADLINE) -> Path:
        """Until the set-up that runs in the background has left this in the data folder."""
        end = time.monotonic() + deadline
        while not (there := next(self.data.glob(found), None)):
            if time.monotonic() > end:
                raise TooSlow(f"{found} is not there after {deadline} s: {self._log()}")
            time.sleep(0.05)
        return there

    def wait_until_ready(self) -> Path:
        """The environment, when the set-up has also tidied up after itself."""
        end = time.monotonic() + DEADLINE
        while (
            not (ready := [each for each in self.environments() if marker.usable(str(each))])
            or self.half_done()
            or (self.data / "setup-failed.txt").exists()
        ):
            if time.monotonic() > end:
                raise TooSlow(f"not ready, or not tidied up: {self._log()}")
            time.sleep(0.05)
        return ready[0]

    def link(self, environments: Iterable[Path]) -> None:
        """Use environments that another set-up has made."""
        self.data.mkdir(parents=True, exist_ok=True)
        for each in environments:
            (self.data / each.name).symlink_to(each)

    def _log(self) -> str:
        log = self.data / "setup.log"
        return log.read_text(encoding="utf-8") if log.exists() else "nothing was begun"
