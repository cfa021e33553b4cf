"""What the pytest fixtures are made of; usable without pytest as well.

Everything goes through the real door and the real command line, against real files, with a home of
its own. docs/testing.md shows it in use.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast import clock as clocks
from holdfast.agents.replies import Outcome
from holdfast.config.project import Surroundings, variables_of_home
from holdfast.testing import simulate
from holdfast.testing.simulate import Cycle, InProcess, InSubprocess, Session

_KEPT = (
    *("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "TZ"),
    *("PYTHONPATH", "COVERAGE_PROCESS_START"),
)


class MovableClock(clocks.Clock):
    """The real time plus what a test has moved it by."""

    def __init__(self) -> None:
        super().__init__()
        self._moved = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._moved

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        self._moved += timedelta(days=days, hours=hours, seconds=seconds)

    @property
    def moved(self) -> bool:
        return bool(self._moved)


class Project:
    """Builds a project folder, and reads what Holdfast keeps in it."""

    def __init__(self, root: Path, home: Path, clock: MovableClock) -> None:
        self.root = root
        self.home = home
        self.clock = clock
        root.mkdir(parents=True, exist_ok=True)
        home.mkdir(parents=True, exist_ok=True)

    def write(self, path: str, text: str | bytes) -> Path:
        """Put a file below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def declare(
        self,
        workflow: str,
        *,
        phase: str = "1/3 - First",
        status: str | None = None,
        reading: Sequence[str] = (),
        reminders: Sequence[str] = (),
        context: Mapping[str, object] | None = None,
    ) -> Path:
        """Write a CLAUDE.local.md that declares *workflow*."""
        lines = ["# Current Workflow State", "", f"Workflow: {workflow}", f"Phase: {phase}"]
        if status:
            lines.append(f"Status: {status}")
        lines += ["", *reading]
        if reminders:
            lines += ["", "## Key Reminders", *(f"- {text}" for text in reminders)]
        if context:
            lines += ["", "## Context", *(f"- {key}: {value}" for key, value in context.items())]
        return self.write("CLAUDE.local.md", "\n".join(lines) + "\n")

    def plan(
        self,
        folder: str,
        phases: Mapping[str, Sequence[str]],
        *,
        title: str | None = None,
        status: str = "🔄 In Progress",
    ) -> Path:
        """Write CLAUDE/Plan/<folder>/PLAN.md; *phases* maps a name to items, "x …" being ticked."""
        lines = [f"# {title or folder}", "", f"**Status**: {status}"]
        for number, (name, items) in enumerate(phases.items(), 1):
            lines += ["", f"## Phase {number}: {name}"]
            for item in items:
                ticked = item.startswith("x ")
                lines.append(f"- [{'x' if ticked else ' '}] {item.removeprefix('x ')}")
        return self.write(f"CLAUDE/Plan/{folder}/PLAN.md", "\n".join(lines) + "\n")

    def state_files(self) -> list[Path]:
        """All canonical state files, in the order of their names."""
        return sorted((self.root / "untracked" / "workflow-state").glob("*/state-*.json"))

    def states(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_bytes()) for path in self.state_files()]

    def state(self) -> dict[str, Any]:
        """The one state that there is."""
        states = self.states()
        if len(states) != 1:
            raise AssertionError(f"expected one state file, found {len(states)}")
        return states[0]

    def git(self, *arguments: str) -> str:
        """Run git in the root, with an identity of its own."""
        done = subprocess.run(
            ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments],
            cwd=self.root,
            env={**self.environment(), "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        return done.stdout

    def worktree(self, name: str, branch: str = "side") -> Path:
        """A linked worktree beside the root; makes the root a repository if it is none."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
            self.git("commit", "-q", "--allow-empty", "-m", "begin")
        target = self.root.parent / name
        self.git("worktree", "add", "-q", "-b", branch, str(target))
        return target

    def environment(self, session: str | None = None) -> dict[str, str]:
        """The environment of a subprocess: nothing of this machine's but what Python needs."""
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= variables_of_home(str(self.home))
        if session:
            environment["CLAUDE_CODE_SESSION_ID"] = session
        if self.clock.moved:
            environment["HOLDFAST_NOW"] = clocks.iso(self.clock.now())
        return environment

    def run(
        self,
        *arguments: str,
        session: str | None = None,
        cwd: Path | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a `holdfast` command as an agent or a person would."""
        where = str(cwd or self.root)
        done = simulate.run_command(arguments, where, self.environment(session))
        said = (done.stdout.decode(), done.stderr.decode())
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, done.args, *said)
        return subprocess.CompletedProcess(done.args, done.returncode, *said)


class Compactions:
    """Plays compactions of one project. Call it for a cycle."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __call__(
        self,
        times: int = 1,
        *,
        session: str = "session-1",
        trigger: str = "manual",
        pre_compact: bool = True,
        agent_id: str | None = None,
        cwd: Path | None = None,
        in_process: bool = True,
        summary: str | None = None,
    ) -> Cycle:
        """*times* whole cycles; the answers to the last one."""
        door = self.door(in_process=in_process, cwd=cwd)
        who = Session(session, str(cwd or self.project.root), agent_id)
        played = [
            simulate.cycle(door, who, trigger=trigger, pre_compact=pre_compact, summary=summary)
            for _ in range(max(times, 1))
        ]
        return played[-1]

    def door(self, *, in_process: bool = True, cwd: Path | None = None) -> InProcess | InSubprocess:
        where = str(cwd or self.project.root)
        environment = self.project.environment()
        if not in_process:
            return InSubprocess(environment, where)
        surroundings = Surroundings.from_environment(environment)._replace(cwd=where)
        return InProcess(surroundings, self.project.clock)

    def fire(
        self,
        event: str,
        /,
        *,
        session: str = "session-1",
        cwd: Path | None = None,
        **fields: object,
    ) -> Outcome:
        """One event by name, in process."""
        who = Session(session, str(cwd or self.project.root))
        return self.door(cwd=cwd).fire(who.payload(event, **fields))

    def start(
        self, source: str = "compact", *, session: str = "session-1", cwd: Path | None = None
    ) -> Cycle:
        """A SessionStart alone."""
        outcome = self.fire("SessionStart", session=session, cwd=cwd, source=source)
        reply = simulate.read_reply(outcome)
        return Cycle(
            "", simulate.context_of(reply), str(reply.get("systemMessage", "")), (outcome,)
        )

    def at_once(
        self, count: int = 4, *, event: str = "PreCompact", sessions: Sequence[str] = ("session-1",)
    ) -> list[Outcome]:
        """*count* processes for one event, at the same moment; sessions take turns."""
        where = str(self.project.root)
        fields = {"source": "compact"} if event == "SessionStart" else {"trigger": "auto"}
        payloads = [
            Session(sessions[index % len(sessions)], where).payload(event, **fields)
            for index in range(count)
        ]
        return InSubprocess(self.project.environment(), where).fire_at_once(payloads)
