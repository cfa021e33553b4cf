"""A project and a home that are put back as they were, again and again, and what is found in them.

All happens at one moment, so that whatever is written twice is the same twice.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from holdfast import clock
from holdfast.testing import MovableClock, Project
from holdfast.testing.simulate import Session, encode
from warm import Ended, Warm

SESSION = "session-1"
_NOW = clock.iso(datetime(2026, 3, 2, 10, 0, tzinfo=UTC))
Files = Mapping[str, bytes]


class Hook(NamedTuple):
    """An event of the client, by its name and fields."""

    event: str
    fields: Mapping[str, object] = {}
    options: tuple[str, ...] = ()  # behind `holdfast hook`


Step = Sequence[str] | Hook | Callable[[Project], object]

PRE_COMPACT = Hook("PreCompact", {"trigger": "auto", "custom_instructions": None})
LATER = PRE_COMPACT._replace(options=("--later",))
COMPACTED = Hook("SessionStart", {"source": "compact", "model": "simulated"})


class Arena:
    """One project, whose processes are *warm*."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.project = Project(folder / "project", folder / "home", MovableClock())
        self.root, self.home = self.project.root, self.project.home
        self._kept = folder / "kept"
        self._warm = warm
        self.environment = {
            **self.project.environment(SESSION),
            "HOLDFAST_NOW": _NOW,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def do(self, step: Step, held: Callable[[int], None] | None = None) -> Ended:
        """Do one *step* in a process of its own."""
        if callable(step):
            step(self.project)
            return Ended(0, b"")
        arguments = ["hook", *step.options] if isinstance(step, Hook) else step
        stdin = b""
        if isinstance(step, Hook):
            stdin = encode(Session(SESSION, str(self.root)).payload(step.event, **step.fields))
        return self._warm.run(
            arguments, cwd=self.root, environment=self.environment, stdin=stdin, held=held
        )

    def must(self, step: Step) -> Ended:
        """Do a *step* that has to succeed and has nothing to complain of."""
        ended = self.do(step)
        assert (ended.code, ended.stderr) == (0, ""), (step, ended)
        return ended

    def keep(self) -> None:
        """Have `reset` come back to what there is now."""
        shutil.rmtree(self._kept, ignore_errors=True)
        for folder in (self.root, self.home):
            shutil.copytree(folder, self._kept / folder.name, symlinks=True)

    def reset(self) -> None:
        for folder in (self.root, self.home):
            shutil.rmtree(folder)
            shutil.copytree(self._kept / folder.name, folder, symlinks=True)

    def documents(self) -> Files:
        """The files of the project, with those that the formats define; nothing of our own."""
        return _files(self.root, ".claude/holdfast/", ".git/")

    def records(self) -> Files:
        """What is our own, in the project and in the user's folder, and is to be whole at any moment."""
        own = self.root / ".claude" / "holdfast"
        light = (
            "state/holdfast/prepared/",
            "state/holdfast/parts/",
        )  # checked before they are used
        kept = _files(own, "tmp/", "lock", ".gitignore", "archive/")
        return kept | _files(self.home / ".local", *light)


def _files(folder: Path, *passed_over: str) -> dict[str, bytes]:
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := path.relative_to(folder).as_posix()).startswith(passed_over)
        and not path.name.startswith(".tmp-")
    }


def torn(records: Files) -> list[str]:
    """Which of our own records are not whole; of lines that are added, the last one may be."""
    found = []
    for name, data in records.items():
        if name.endswith("/root"):  # the path of a project, as text
            continue
        lines = data.split(b"\n")[:-1] if name.endswith(".jsonl") else [data]
        for line in lines:
            try:
                json.loads(line)
            except ValueError:
                found.append(f"{name}: {line[:80]!r}")
    return found
