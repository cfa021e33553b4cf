"""Sessions of each agent, which ask hooks with what was captured of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from holdfast.agents.replies import Outcome
from holdfast.config.project import Surroundings
from holdfast.records import hooklog
from holdfast.testing import Project
from holdfast.testing.simulate import InSubprocess

TIME = "2026-11-18T06:23:04.660Z"
SNAPSHOT = "<state_snapshot>what was done so far</state_snapshot>"


def moment() -> str:
    """Now, as Copilot writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Asking:
    """A session of one agent; events are named as Claude Code names them."""

    events: ClassVar[Mapping[str, str]] = {}
    sources: ClassVar[Mapping[str, str]] = {}

    def __init__(self, project: Project, session: str = "session-1", *, told: bool = True) -> None:
        self.project = project
        self.session = session
        self.told = told  # by the registration who asks

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    @property
    def transcript(self) -> Path:
        return self.project.home / f"{self.session}.jsonl"

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        fields = {
            key: self.sources.get(value, value) if key == "source" else value
            for key, value in fields.items()
        }
        return {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project.root),
            "hook_event_name": self.events.get(event, event),
            **self.fields(event),
            **fields,
        }

    def fields(self, _event: str) -> dict[str, Any]:
        return {}

    def options(self) -> list[str]:
        return ["--agent", self.name] if self.told else []

    def door(self) -> InSubprocess:
        return InSubprocess(self.project.environment(), str(self.project.root))

    def fire(self, event: str, *arguments: str, **fields: Any) -> Outcome:
        """One event, in a process as the agent starts it."""
        return self.door().fire(self.payload(event, **fields), *self.options(), *arguments)

    def compacts(self, trigger: str = "manual") -> Outcome:
        """Before it does; the agent's own order of what comes then is for the tests."""
        return self.fire("PreCompact", trigger=trigger)

    def prompt(self, text: str = "go on") -> Outcome:
        return self.fire("UserPromptSubmit", prompt=text)

    def restored(self) -> str:
        """What it is told after a compaction, at the first event that can."""
        return self.context(self.fire("SessionStart", source="compact"))

    def context(self, outcome: Outcome) -> str:
        """What of a reply reaches the model."""
        assert outcome.code == 0
        reply = json.loads(outcome.stdout) if outcome.stdout else {}
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def writes(self, *records: object) -> None:
        """Add lines to the transcript."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{json.dumps(each)}\n" for each in records)


class Claude(Asking):
    pass


class Codex(Asking):
    @property
    def transcript(self) -> Path:
        return self.project.home / ".codex/sessions/2026/11/18" / f"rollout-{self.session}.jsonl"

    def fields(self, event: str) -> dict[str, Any]:
        if event in {"SessionStart", "SessionEnd"}:
            return {"model": "stub-model", "permission_mode": "bypassPermissions"}
        return {"turn_id": "01a1ed47-22e7", "model": "stub-model"}


class Qwen(Asking):
    @property
    def transcript(self) -> Path:
        return self.project.home / ".qwen/projects/w/chats" / f"{self.session}.jsonl"

    def fields(self, event: str) -> dict[str, Any]:
        known = {"timestamp": TIME, "permission_mode": "auto"}
        if event == "SessionStart":
            return {**known, "model": "stub-model"}
        return {**known, "prompt_id": f"{self.session}########2"}


class Copilot(Asking):
    sources: ClassVar = {"startup": "new"}

    @property
    def transcript(self) -> Path:
        return self.project.home / ".copilot/session-state" / self.session / "events.jsonl"

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        found = {"timestamp": moment(), **super().payload(event, **fields)}
        if event in {"SessionStart", "UserPromptSubmit"}:
            del found["transcript_path"]
        return found

    def applies(self, name: str, *, success: bool = True) -> None:
        """A compaction has ended."""
        outcome = "applied" if success else "cancelled"
        data = {"success": success, "outcome": outcome, "trigger": "manual"}
        kind = "session.compaction_complete"
        self.writes({"type": kind, "id": name, "timestamp": moment(), "data": data})

    def compacts(self, trigger: str = "manual") -> Outcome:
        outcome = super().compacts(trigger)
        lines = self.transcript.read_text().count("\n") if self.transcript.exists() else 0
        self.applies(f"event-{lines}")
        return outcome

    def restored(self) -> str:
        return self.context(self.prompt())

    def context(self, outcome: Outcome) -> str:
        assert outcome.code == 0
        return str(json.loads(outcome.stdout)["additionalContext"]) if outcome.stdout else ""


class Gemini(Asking):
    events: ClassVar = {"PreCompact": "PreCompress", "UserPromptSubmit": "BeforeAgent"}

    @property
    def transcript(self) -> Path:
        name = f"session-2026-11-18T06-23-{self.session[:8]}.jsonl"
        return self.project.home / ".gemini/tmp/w/chats" / name

    def fields(self, _event: str) -> dict[str, Any]:
        return {"timestamp": TIME}

    def compresses(self, name: str) -> None:
        """The messages become a summary and what is left of them."""
        first = {"id": name, "type": "user", "content": [{"text": SNAPSHOT}]}
        rest = {"id": "m9", "type": "user", "content": [{"text": "the last prompt"}]}
        self.writes({"$set": {"messages": [first, rest], "lastUpdated": TIME}})

    def compacts(self, trigger: str = "manual") -> Outcome:
        outcome = super().compacts(trigger)
        lines = self.transcript.read_text().count("\n") if self.transcript.exists() else 0
        self.compresses(f"snapshot-{lines}")
        return outcome

    def restored(self) -> str:
        return self.context(self.prompt())


class Opencode(Asking):
    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        return {**super().payload(event, **fields), "transcript_path": None}


EVERY = {kind.__name__.lower(): kind for kind in (Claude, Codex, Qwen, Copilot, Gemini, Opencode)}


def log_of(project: Project) -> list[dict[str, Any]]:
    """The hook log, oldest first."""
    state_dir = Surroundings.from_environment(project.environment()).state_dir
    return list(hooklog.read(state_dir, os.path.realpath(project.root)))
