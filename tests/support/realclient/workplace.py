"""A sandbox where Holdfast is installed as the README says, and what the model is told there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from parts import put_together
from plugin import copy_files, packages, programs
from realclient.client import DEADLINE, PrintMode, print_mode
from realclient.requests import words
from realclient.sandbox import Sandbox
from realclient.standin import Reply, Request, StandIn, Tool, calls

ROOT = Path(__file__).parents[3]
COMMANDS = Path(sys.executable).parent  # where the package's `holdfast` lies
PLAN = "CLAUDE/Plan/001-long/PLAN.md"
READING = {
    f"docs/guide {number}.md": "".join(
        f"guide {number}, line {line}: words that only this file has\n" for line in range(1, 261)
    )
    for number in range(1, 6)
}


def with_holdfast() -> str:
    """A PATH on which the package's `holdfast` is found first."""
    return f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"


class Work(Sandbox):
    """What there is to do with Holdfast in a project, whichever agent works there."""

    def holdfast(self, *arguments: str, session: str = "") -> str:
        """A command, as a person or an agent would give it."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        if session:
            env["CLAUDE_CODE_SESSION_ID"] = session
        done = subprocess.run(
            [COMMANDS / "holdfast", *arguments],
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return done.stdout + done.stderr

    def plan(self, steps: int, reading: dict[str, str]) -> Path:
        """A plan of that many phases, one step each, that requires *reading*."""
        for path, text in reading.items():
            self.write(path, text)
        lines = ["# Plan 001: The long way", "", "**Status**: 🔄 In Progress", ""]
        lines += ["## Required Reading", *(f"- `@{path}`" for path in reading), ""]
        for step in range(1, steps + 1):
            lines += [f"## Phase {step}: Stage {step}", f"- [ ] Take step {step}", ""]
        return self.write(PLAN, "\n".join(lines))

    def states(self) -> list[dict[str, Any]]:
        files = sorted(self.project.glob("untracked/workflow-state/*/*.json"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


class Workplace(Work):
    """A project with Holdfast's hooks, by default from the settings that a person would copy."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.hooks = json.loads((ROOT / "settings.example.json").read_text())["hooks"]

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        return super().env(stand_in, **{"PATH": with_holdfast(), **more})

    def write_user_settings(self) -> None:
        """The same hooks for all projects, as a person may have them."""
        settings = self.home / ".claude" / "settings.json"
        self.write(settings, json.dumps({"hooks": self.hooks}))

    def client_in(self, folder: Path, binary: Path, stand_in: StandIn) -> PrintMode:
        """A client that was started somewhere else than in the project's own folder."""
        return print_mode(binary, folder, self.env(stand_in))


class PluginPlace(Workplace):
    """A project of somebody who has the client and Python, and no `holdfast` on the PATH."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        super().__init__(folder)
        others = [
            each
            for each in os.environ["PATH"].split(os.pathsep)
            if not shutil.which("holdfast", path=each)
        ]
        self._path = os.pathsep.join([str(programs(folder / "the programs")), *others])
        self._packages = packages(wheels)
        self.root = copy_files(folder / "the plugin")

    def env(self, stand_in: StandIn, **more: str) -> dict[str, str]:
        return super().env(stand_in, **{"PATH": self._path, **self._packages, **more})

    @property
    def environments(self) -> list[Path]:
        return sorted(self.home.glob(".claude/plugins/data/holdfast-*/env-*"))

    def set_up(self, environment: Path) -> None:
        """As if an earlier session with --plugin-dir had done it."""
        link = self.home / ".claude/plugins/data/holdfast-inline" / environment.name
        link.parent.mkdir(parents=True)
        link.symlink_to(environment)


def shell(line: str) -> Reply:
    """The agent runs a line in its shell."""
    return calls(Tool("Bash", {"command": line, "description": "a line"}))


def ticks(step: int) -> str:
    """The line that marks a step of `Work.plan` as taken."""
    return f"sed -i 's/^- \\[ \\] Take step {step}$/- [x] Take step {step}/' {PLAN}"


def reading_in(request: Request) -> dict[str, str]:
    """The required reading that the model was sent, put together."""
    # Wherever in the request a part stands, its label and its fence say what it is. What an agent
    # puts around it may end on the line of the last fence.
    whole = request.text.replace("`</", "`\n</")
    return {path: text + "\n" for path, text in put_together([whole]).items()}


_TROUBLE = re.compile(
    r"hook (?:error|json output validation failed)|non-blocking status|hook cancelled|"
    r"\[[^\]]*holdfast[^\]]*\] failed|PreCompact .{0,80}failed|could not (?:save|restore)",
    re.IGNORECASE,
)


def trouble(printed: Any) -> list[str]:
    """Where the client's output tells of a hook that failed."""
    return _TROUBLE.findall(words(printed))
