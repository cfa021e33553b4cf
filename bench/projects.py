"""Projects as users make them: by commands and by writing files; saved by the hooks themselves.

A project with many workflows has one that a command began, and the rest copied from it with other
names, since a thousand commands would take minutes. The session has the first one.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_SESSION = "bench"
_CANONICAL = "untracked/workflow-state/bench/*.json"
_SKILL = ".claude/workflow-state/active/dev-*.json"
_GATED = "workflow/a-feature"
_RUN = ".claude/agent-state.json"
_TASKS = ".claude/tasks"
_PIPELINE = "workspace/workflow-state/generation-scene-0001-*.json"


class Project:
    """A folder with the marks of a checkout, a home of its own, and the programs that are run in it."""

    def __init__(self, folder: Path, holdfast: str) -> None:
        self.root, self.home = folder / "project", folder / "home"
        self._holdfast = holdfast
        branches = self.root / ".git" / "refs" / "heads"
        for each in (branches, self.root / "docs", self.home):
            each.mkdir(parents=True)
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (branches / "main").write_text(f"{'0123456789' * 4}\n", encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of this machine's but what programs need."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home)}

    def write(self, path: str, text: str) -> None:
        """Replace a file whole, as editors and `jq … > new && mv` do."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f"{target.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(target)

    def configure(self, text: str) -> None:
        """The user's own settings."""
        path = self.home / ".config" / "holdfast" / "holdfast.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    def command(self, *arguments: str) -> None:
        """A command that the session's agent gives."""
        given = {**self.environment, "CLAUDE_CODE_SESSION_ID": _SESSION}
        self._run([self._holdfast, *arguments], given, b"")

    def fire(self, event: str, /, *options: str, **fields: Any) -> str:
        """One hook, as the client starts it, with what it answers."""
        payload = self.payload(event, **fields)
        return self._run([self._holdfast, "hook", *options], self.environment, payload)

    def begin_compaction(self) -> str:
        """The hook that is waited for, and the one beside it, which has as long as the summary takes."""
        said = self.fire("PreCompact", trigger="auto")
        self.fire("PreCompact", "--later", trigger="auto")
        return said

    def work(self) -> None:
        """What a session does between two compactions: 12 edits, a test run, and tasks, with all hooks of these."""
        for number in range(12):
            given = {"file_path": str(self.root / f"module{number}.py")}
            for event in ("PreToolUse", "PostToolUse"):
                self.fire(event, tool_name="Edit", tool_input=given, tool_response={})
        self.fire("PostToolUse", tool_name="Read", tool_input=given, tool_response={})
        ran = {"command": "pytest -q"}
        self.fire("PostToolUse", tool_name="Bash", tool_input=ran, tool_response={"stdout": ""})
        for event in ("TaskCreated", "TaskCompleted"):
            self.fire(event, task_id="1", task_subject="Write it")

    def ask(self, command: list[str], payload: bytes) -> str:
        """The same with a *command* and a *payload* of another agent."""
        return self._run(command, self.environment, payload)

    def payload(self, event: str, /, **fields: Any) -> bytes:
        """What the client sends at *event*."""
        common = {"session_id": _SESSION, "cwd": str(self.root), "hook_event_name": event}
        return json.dumps(common | fields).encode()

    def status(self) -> bytes:
        """What the client sends to a status line."""
        sent = {"session_id": _SESSION, "cwd": str(self.root)}
        return json.dumps(sent | {"context_window": {"used_percentage": 42}}).encode()

    def settle(self) -> None:
        """A whole compaction, so that everything is saved and nothing is due."""
        self.fire("SessionStart", source="startup")
        self.begin_compaction()
        self.fire("SessionStart", source="compact")
        self.fire("PostCompact", trigger="auto", compact_summary="")
        self.begin_compaction()

    def looks_like(self) -> dict[str, tuple[int, bytes]]:
        """Every file outside our own folder, with when it was written and what is in it."""
        ours = self.root / ".claude" / "holdfast"
        return {
            str(path.relative_to(self.root)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in self.root.rglob("*")
            if path.is_file() and not path.is_relative_to(ours)
        }

    def _run(self, command: list[str], environment: Mapping[str, str], sent: bytes) -> str:
        done = subprocess.run(
            command, cwd=self.root, env=environment, input=sent, capture_output=True, check=False
        )
        if done.returncode != 0 or done.stderr:
            raise SystemExit(f"{' '.join(command)}: {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()


class Kind(NamedTuple):
    """A format: how a workflow of it is begun, copied, and edited so that the hooks tell it."""

    name: str
    begin: Callable[[Project], None]
    first: str  # where the workflow lies that was begun
    copy: Callable[[Project, Path, int], None]
    edit: Callable[[Project, int], None]
    told: str  # what PreCompact says after the edit; {} is its number

    def make(self, folder: Path, holdfast: str, count: int) -> Project:
        """A project with *count* workflows of this format, all of them saved."""
        project = Project(folder, holdfast)
        project.write("docs/a.md", "text\n" * 100)
        self.begin(project)
        first = _first(project, self.first) if count > 1 else project.root
        for number in range(1, count):
            self.copy(project, first, number)
        project.settle()
        return project


def declare(
    project: Project, phase: int, *, reading: Sequence[str] = ("docs/a.md",), below: str = ""
) -> None:
    """Write a CLAUDE.local.md, with *below* at its end."""
    lines = [
        "# Current Workflow State",
        "",
        "Workflow: Bench",
        f"Phase: {phase}/1000 - Step {phase}",
    ]
    lines += ["", *(f"@{path}" for path in reading)]
    lines += ["", "## Key Reminders", "- Keep it fast", "- Keep it right", below]
    project.write("CLAUDE.local.md", "\n".join(lines) + "\n")


def _first(project: Project, pattern: str) -> Path:
    """What was begun, which sorts before all of its copies."""
    return min(project.root.glob(pattern))


def _write(project: Project, path: Path, text: str) -> None:
    project.write(str(path.relative_to(project.root)), text)


def _edit(project: Project, pattern: str, change: Callable[[dict[str, Any]], None]) -> None:
    path = _first(project, pattern)
    state = json.loads(path.read_bytes())
    change(state)
    _write(project, path, json.dumps(state, indent=2) + "\n")


def _begin_canonical(project: Project) -> None:
    declare(project, 1)
    project.fire("PreCompact", trigger="auto")


def _copy_canonical(project: Project, path: Path, number: int) -> None:
    state = json.loads(path.read_bytes())
    state["workflow"] = state["holdfast"]["seen"]["workflow"] = f"Other {number}"
    state["holdfast"]["identity"] = f"canonical:name:other {number}"
    state["holdfast"]["seen"] = {}
    slug = f"other-{number}"
    copy = f"untracked/workflow-state/{slug}/{path.name.replace('bench', slug)}"
    project.write(copy, json.dumps(state, indent=2) + "\n")
    # Older than CLAUDE.local.md: a state that was written after it would be chosen.
    hour_ago = path.stat().st_mtime - 3600
    os.utime(project.root / copy, (hour_ago, hour_ago))


def _begin_skill(project: Project) -> None:
    project.command("skill", "start", "dev", "docs/a.md", "-t", "Add login", "-t", "Add logout")


def _edit_skill(project: Project, number: int) -> None:
    def change(state: dict[str, Any]) -> None:
        state["context"]["feature_title"] = f"Login {number}"

    _edit(project, _SKILL, change)


def _begin_gated(project: Project) -> None:
    project.command("gate", "start", "a-feature", "--title", "Login")


def _edit_gated(project: Project, number: int) -> None:
    def change(state: dict[str, Any]) -> None:
        state["feature_title"] = f"Login {number}"

    _edit(project, f"{_GATED}/workflow-state.json", change)


def _begin_orchestrator(project: Project) -> None:
    # Where the format's document has it; one in docs/ would be a plan for another format to look at as well.
    project.write(f"{_TASKS}/task.md", "# Task\n\nAdd a login.\n")
    project.command(
        "orchestrate", "start", f"{_TASKS}/task.md", "-t", "1.1 Login", "-t", "1.2 Logout"
    )


def _only_one(_project: Project, _path: Path, _number: int) -> None:
    raise SystemExit("nobody measures many workflows of this format")


def _edit_orchestrator(project: Project, number: int) -> None:
    def change(state: dict[str, Any]) -> None:
        state["orchestrator"]["task_doc"] = str(task)

    for old in (project.root / _TASKS).glob("task*.md"):
        task = old.rename(old.with_name(f"task-{number}.md"))
    _edit(project, _RUN, change)


def _begin_pipeline(project: Project) -> None:
    project.command("pipeline", "start", "generation", "--scene", "0001")


def _copy_pipeline(project: Project, path: Path, number: int, status: str = "in_progress") -> None:
    state = json.loads(path.read_bytes())
    scene = f"{10_000 + number}"
    state["workflow_id"] = path.stem.replace("scene-0001", f"scene-{scene}")
    state["generation"]["scene_id"] = scene
    state["status"] = status
    _write(
        project, path.with_name(f"{state['workflow_id']}.json"), json.dumps(state, indent=2) + "\n"
    )


def _edit_pipeline(project: Project, number: int) -> None:
    def change(state: dict[str, Any]) -> None:
        state["generation"]["steps"][0]["name"] = f"File Check {number}"

    _edit(project, _PIPELINE, change)


def fill_with_pipelines(project: Project, count: int) -> None:
    """*count* workflows, most of them completed and one in ten failed; a command indexes them."""
    _begin_pipeline(project)
    first = _first(project, _PIPELINE)
    for number in range(1, count):
        _copy_pipeline(project, first, number, "completed" if number % 10 else "failed")
    project.command("pipeline", "session", "create", "draft")


CANONICAL = Kind(
    "canonical", _begin_canonical, _CANONICAL, _copy_canonical, declare, told="Step {})"
)
SKILL = Kind("skill", _begin_skill, _SKILL, _only_one, _edit_skill, told='"Login {}"')
GATED = Kind("gated", _begin_gated, _GATED, _only_one, _edit_gated, told='"Login {}"')
ORCHESTRATOR = Kind(
    "orchestrator", _begin_orchestrator, _RUN, _only_one, _edit_orchestrator, told='"task-{}"'
)
PIPELINE = Kind(
    "pipeline", _begin_pipeline, _PIPELINE, _copy_pipeline, _edit_pipeline, told="(File Check {})"
)
EVERY = (CANONICAL, SKILL, GATED, ORCHESTRATOR, PIPELINE)
MANY = (CANONICAL, PIPELINE)
