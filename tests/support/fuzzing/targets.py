"""What is fuzzed: each reader of something that a stranger may have written, with input that it understands.

A target puts its input where it belongs, plays a compaction through the real door, and fails where
anything but an answer in order came out. So it reaches the reader, and all that goes on with what was read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import gatedwork
import orchestrated
import pipework
import skillwork
from fuzzing.house import House, steers
from holdfast import agents
from holdfast.agents import clients
from holdfast.agents.late import transcripts
from holdfast.config import settings
from holdfast.errors import HoldfastError
from holdfast.formats.gated import reviews
from holdfast.formats.orchestrator import plan as task_document
from holdfast.formats.pipeline import definitions
from holdfast.hooks import statusline
from holdfast.testing import simulate

_SAMPLES = Path(__file__).parents[2] / "samples"
CORPUS = Path(__file__).parents[2] / "security" / "corpus"


class Target(NamedTuple):
    """One kind of input: examples of it that are right, and what has to hold whatever it says."""

    seeds: tuple[bytes, ...]
    check: Callable[[House, bytes], None]


def _encoded(*values: object) -> tuple[bytes, ...]:
    return tuple(json.dumps(each, indent=1).encode() for each in values)


# Payloads.

_SESSION = simulate.Session("session-1", ".")
_TOOL: dict[str, object] = {"tool_name": "Bash", "tool_response": {"stdout": "2 passed"}}
_EDIT: dict[str, object] = {"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}
_PAYLOADS = _encoded(
    _SESSION.pre_compact(),
    _SESSION.session_start(),
    _SESSION.post_compact(summary="<summary>Build, phase 2 of 3</summary>"),
    _SESSION.payload("FileChanged", file_path="CLAUDE.local.md"),
    _SESSION.payload("PreToolUse", **_EDIT),
    _SESSION.payload("PostToolUse", **_EDIT),
    _SESSION.payload("PostToolUse", **_TOOL, tool_input={"command": "make test && pytest -q | tail"}),
    _SESSION.payload("PostToolUseFailure", **_TOOL, error="Exit code 1", tool_input={"command": "pytest"}),
    _SESSION.payload("TaskCreated", task_id="1", task_subject="Build"),
    _SESSION.payload("SubagentStop", agent_id="a", agent_type="x", background_tasks=[{"id": "b"}]),
    {"session_id": "s", "cwd": ".", "workspace": {"current_dir": "."}, "context_window": {"used_percentage": 5}},
)  # fmt: skip
_LOCAL = b"""# Current Workflow State

Workflow: Page Orchestration
Phase: 2/5 - Build
Status: in progress
Plan: CLAUDE/Plan/001-pages/PLAN.md

@docs/guide.md

## Key Reminders
- Never skip a phase

## Context
- branch: main
"""


def _hook(house: House, data: bytes) -> None:
    house.put("CLAUDE.local.md", _LOCAL)
    house.fire(data)
    house.fire(data, "--part", "1")
    house.compact()


_OF_OTHERS = _encoded(
    *(
        clients.payload(name, ".", agent)
        for agent in agents.NAMES[1:]
        for name in clients.payload_names(agent)
    )
)


def _by_others(house: House, data: bytes) -> None:
    """Whoever the registration says has sent it, and where nothing but its shape does."""
    house.put("CLAUDE.local.md", _LOCAL)
    for name in agents.NAMES[1:]:
        house.fire(data, "--agent", name, by=agents.named(name))
        house.fire(data, "--part", "1", "--agent", name, by=agents.named(name))
    house.fire(data, by=agents.named(_WIDEST))


_WIDEST = "opencode"  # of whoever a payload may seem to be from, the one that takes most
_TRANSCRIPTS = tuple(
    b"\n".join(json.dumps(each).encode() for each in records) + b"\n"
    for records in (
        [
            {"type": "user.message", "data": {"content": "begin"}},
            {"type": "session.compaction_start", "id": "1"},
            {"type": "session.compaction_complete", "id": "2", "data": {"success": True, "outcome": "applied"}},
        ],
        [
            {"id": "m1", "type": "user", "content": [{"text": "begin"}]},
            {"$set": {"messages": [{"id": "s1", "type": "user", "content": [{"text": "<state_snapshot>so far</state_snapshot>"}]}]}},
        ],
    )
)  # fmt: skip


def _transcript(house: House, data: bytes) -> None:
    """Of agents that tell of a compaction nowhere else."""
    house.put("CLAUDE.local.md", _LOCAL)
    for name, before, prompt in (
        ("copilot", "PreCompact", "UserPromptSubmit"),
        ("gemini", "PreCompress", "BeforeAgent"),
    ):
        path = house.put(f"{name}.jsonl", b"")
        session = simulate.Session(name, str(house.project.root))
        for event in (before, prompt, prompt):
            payload = session.payload(
                event, trigger="auto", prompt="go on", transcript_path=str(path)
            )
            with mock.patch.object(transcripts, "_PATIENCE", 0.0):  # nobody writes the rest of it
                house.fire(simulate.encode(payload), "--agent", name, by=agents.named(name))
            path.write_bytes(data)


def _status_line(house: House, data: bytes) -> None:
    house.put("CLAUDE.local.md", _LOCAL)
    environment = {**house.project.environment(), "NO_COLOR": "1"}
    with mock.patch.dict(os.environ, environment, clear=True), contextlib.chdir(house.project.root):
        line = statusline.run(data)
    assert not steers(line)
    assert "\n" not in line


# Markdown.

_PLAN = b"""# Plan 001: Pages

**Status**: \xf0\x9f\x94\x84 In Progress

| Phase | Status |
|---|---|
| 1. Design | done |

## Phase 1: Design
- [x] Choose

## Phase 2: Build
- [ ] Form, see @docs/guide.md
"""
_FRONT = b"""---
workflow: Pages
phase: 2/5 - Build
status: in_progress
required_reading:
  - "@docs/guide.md"
key_reminders: [one, two]
context:
  branch: main
  created: 2025-12-09T14:30:52Z
---
# Pages
"""


def _markdown(path: str) -> Callable[[House, bytes], None]:
    def check(house: House, data: bytes) -> None:
        house.put("docs/guide.md", b"text")
        house.put(path, data)
        house.compact()
        house.compact()
        assert (house.project.root / path).read_bytes() == data

    return check


# State files.

_CANONICAL = tuple(path.read_bytes() for path in sorted((_SAMPLES / "canonical").glob("*.json")))


def _kept(path: str, beside: Mapping[str, bytes] | None = None) -> Callable[[House, bytes], None]:
    """A state of a format whose files hooks do not write."""

    def check(house: House, data: bytes) -> None:
        _state(path, beside)(house, data)
        assert (house.project.root / path).read_bytes() == data

    return check


def _state(path: str, beside: Mapping[str, bytes] | None = None) -> Callable[[House, bytes], None]:
    def check(house: House, data: bytes) -> None:
        for other, content in (beside or {}).items():
            house.put(other, content)
        target = house.put(path, data)
        house.compact()
        house.inspect(target, data)

    return check


_SKILL = _encoded(*skillwork.STATES.values())
_GATED = _encoded(gatedwork.state_example())
_PHASE = _encoded(gatedwork.status_example())
_ORCHESTRATOR = _encoded(orchestrated.example())
_PIPELINE = _encoded(*pipework.STATES.values())


# What is configured and defined.

_SETTINGS = (
    b'enabled = true\nplans = ["docs/*/PLAN.md"]\nstale_days = 3\nreading = "list"\n',
    (
        b'parts = 12\nfile_budget = 60000\nreading_roots = ["/srv/docs"]\ngate = "block"\n'
        b'[restore]\nstartup = "full"\n'
    ),
)
_DEFINED = {
    "name": "review",
    "steps": [
        {"step": 1, "name": "Read", "agent": "reader", "outputs": ["notes.md"]},
        {"step": 2, "name": "Judge", "prerequisites": [1], "human_approval": True},
        {"step": 3, "name": "Tell", "agents": ["a", "b"], "retry_enabled": True},
    ],
}
_DEFINITIONS = (
    *_encoded(_DEFINED),
    b'name = "review"\n[[steps]]\nstep = 1\nname = "Read"\n[[steps]]\nstep = 2\nname = "Tell"\n',
)


def _configured(house: House, data: bytes) -> None:
    house.put("CLAUDE.local.md", _LOCAL)
    path = house.put(settings.PROJECT_FILE, data)
    users = settings.load(None, str(path))
    projects = settings.load(str(house.project.root), None).settings
    assert all(error.cause for error in users.errors)
    for key in settings.USER_ONLY:
        assert getattr(projects, key) == getattr(settings.Settings(), key)
    house.compact()


def _defined(house: House, data: bytes) -> None:
    for ending in ("toml", "json"):
        try:
            definition = definitions.parse(Path(f"review.{ending}"), data)
        except HoldfastError:  # a refusal is an answer
            continue
        for step in definition.all:
            definition.retried_by(step.number)


# What is read by commands.

_TASKS = (
    b"# Tasks\n\n## Task 1: Build\n- agent: builder\n- depends: none\n\n1. [ ] One\n2. [x] Two\n"
)
_COMMENTS = _encoded(
    [[{"id": 1, "body": "no", "path": "docs/a/b.md", "user": {"login": "x"}, "created_at": "2026-01-01T00:00:00Z"}]]
)  # fmt: skip


def _documents(house: House, data: bytes) -> None:
    for read in (
        lambda: task_document.read(data.decode("utf-8", "replace")),
        lambda: reviews.parse_comments(data),
    ):
        try:
            read()
        except HoldfastError:
            continue


# What is our own, and may have come with a clone.

_STONE = {"name": "Pages", "at": "2026-01-01T00:00:00Z", "how": "completed", "declared": {}, "titles": {},
          "work": [], "archive": ".claude/holdfast/archive/x.json", "checkout": ""}  # fmt: skip
_OWN = _encoded(
    {"finished": {"canonical:name:pages": _STONE}, "ignored": {"canonical:name:x": "X"}, "notices": ["a line"]},
    {"path": "untracked/workflow-state/w/state-w-1.json", "good": _CANONICAL[0].decode(), "previous": None},
    {"changes": [{"path": "workflow/user-auth/workflow-state.json", "before": None, "after": "{}"}]},
)  # fmt: skip


def _own(house: House, data: bytes) -> None:
    house.put("CLAUDE.local.md", _LOCAL)
    house.put("untracked/workflow-state/w/state-w-1.json", b"{")
    for path in (
        "ledger.json",
        "ledger.last.json",
        "copies/untracked%2Fworkflow-state%2Fw%2Fstate-w-1.json",
        "unfinished/gated-user-auth.json",
        "unfinished/pipeline.json",
    ):
        house.put(f".claude/holdfast/{path}", data)
    house.compact()


_RUN = "workflow/user-auth"
TARGETS: Mapping[str, Target] = {
    "hook": Target(_PAYLOADS, _hook),
    "other-agents": Target(_OF_OTHERS, _by_others),
    "transcript": Target(_TRANSCRIPTS, _transcript),
    "status-line": Target(_PAYLOADS[-1:], _status_line),
    "local": Target((_LOCAL, _FRONT), _markdown("CLAUDE.local.md")),
    "plan": Target((_PLAN,), _markdown("CLAUDE/Plan/001-pages/PLAN.md")),
    "front-matter": Target((_FRONT,), _markdown("PLAN.md")),
    "canonical": Target(_CANONICAL, _state("untracked/workflow-state/w/state-w-1.json")),
    "skill": Target(_SKILL, _state(".claude/workflow-state/active/dev-a1b2c3d4.json")),
    "gated": Target(_GATED, _kept(f"{_RUN}/workflow-state.json")),
    "gated-phase": Target(
        _PHASE, _kept(f"{_RUN}/01-requirements/status.json", {f"{_RUN}/workflow-state.json": _GATED[0]})
    ),
    "orchestrator": Target(_ORCHESTRATOR, _state(".claude/agent-state.json")),
    "pipeline": Target(_PIPELINE, _kept("workspace/workflow-state/generation-1.json")),
    "settings": Target(_SETTINGS, _configured),
    "definition": Target(_DEFINITIONS, _defined),
    "documents": Target((_TASKS, *_COMMENTS), _documents),
    "own-records": Target(_OWN, _own),
}  # fmt: skip


def corpus(name: str) -> list[Path]:
    """Input that once broke something."""
    return sorted((CORPUS / name).glob("*"))
