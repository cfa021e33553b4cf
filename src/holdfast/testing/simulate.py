"""A compaction cycle through the real door: for the demo, the command line and tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from holdfast.agents.replies import Outcome
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.config.settings import MOST_PARTS
from holdfast.hooks import full


def run_command(
    arguments: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `holdfast` with *arguments* in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        cwd=cwd,
        env=dict(environment),
        input=stdin,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


@dataclass
class InProcess:
    """The door without a process around it; quick, and easy to step into."""

    surroundings: Surroundings
    clock: Clock

    def fire(self, payload: Mapping[str, object], *arguments: str) -> Outcome:
        """The answer to one event; *arguments* stand behind `holdfast hook`."""
        return full.run(encode(payload), self.surroundings, self.clock, arguments)


@dataclass
class InSubprocess:
    """The door as a client opens it: a new process for each event."""

    environment: Mapping[str, str]
    cwd: str
    timeout: float = 60.0

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast", "hook", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(self.environment),
            cwd=self.cwd,
        )

    def fire(self, payload: Mapping[str, object], *arguments: str) -> Outcome:
        return self.fire_raw(encode(payload), *arguments)

    def fire_raw(self, raw: bytes, *arguments: str) -> Outcome:
        done = run_command(["hook", *arguments], self.cwd, self.environment, raw, self.timeout)
        return Outcome(done.stdout, done.stderr.decode("utf-8", "replace").strip(), done.returncode)

    def finish(self, process: subprocess.Popen[bytes], payload: Mapping[str, object]) -> Outcome:
        """The answer of a *process* that was started before."""
        try:
            stdout, stderr = process.communicate(encode(payload), timeout=self.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Outcome(stdout, stderr.decode("utf-8", "replace").strip(), process.returncode)

    def fire_at_once(self, payloads: Sequence[Mapping[str, object]]) -> list[Outcome]:
        """All of *payloads* in parallel, as the client runs the hooks of one event."""
        running = [self.start() for _ in payloads]
        with ThreadPoolExecutor(len(running)) as pool:
            return list(pool.map(self.finish, running, payloads))


Door: TypeAlias = InProcess | InSubprocess


def encode(payload: Mapping[str, object]) -> bytes:
    return json.dumps(payload).encode()


@dataclass(frozen=True)
class Session:
    """Makes the payloads that the client sends for one session."""

    id: str
    cwd: str
    agent_id: str | None = None

    def payload(self, event: str, /, **fields: object) -> dict[str, object]:
        common: dict[str, object] = {
            "session_id": self.id,
            "transcript_path": os.path.join(self.cwd, f"{self.id}.jsonl"),
            "cwd": self.cwd,
            "hook_event_name": event,
        }
        if self.agent_id is not None:
            common["agent_id"] = self.agent_id
        return common | fields

    def pre_compact(self, trigger: str = "manual") -> dict[str, object]:
        return self.payload("PreCompact", trigger=trigger, custom_instructions=None)

    def session_start(self, source: str = "compact") -> dict[str, object]:
        return self.payload("SessionStart", source=source, model="simulated")

    def post_compact(self, trigger: str = "manual", summary: str = "") -> dict[str, object]:
        return self.payload("PostCompact", trigger=trigger, compact_summary=summary)


@dataclass(frozen=True)
class Cycle:
    """What the events of one compaction were answered."""

    note: str  # for the summariser
    guidance: str  # for the model
    message: str  # for the person
    outcomes: tuple[Outcome, ...]
    reading: tuple[str, ...] = ()  # the parts that were sent, for the model


def cycle(
    door: Door,
    session: Session,
    *,
    trigger: str = "manual",
    pre_compact: bool = True,
    summary: str | None = None,
) -> Cycle:
    """One compaction: PreCompact, unless it is left out, SessionStart(compact), PostCompact.

    Without a *summary* it is one that heeds the note of PreCompact; with no note there is none.
    """
    saved = door.fire(session.pre_compact(trigger)) if pre_compact else Outcome()
    if pre_compact:
        door.fire(session.pre_compact(trigger), "--later")
    started = door.fire(session.session_start("compact"))
    parts = tuple(reading(door, session.session_start("compact")))
    if summary is None:
        note = saved.stdout.decode("utf-8")
        summary = f"<summary>\nThe work goes on.\n\n{note}\n</summary>" if note else ""
    ended = door.fire(session.post_compact(trigger, summary))
    reply = read_reply(started)
    return Cycle(
        note=saved.stdout.decode("utf-8"),
        guidance=context_of(reply),
        message=str(reply.get("systemMessage", "")),
        outcomes=(saved, started, ended),
        reading=parts,
    )


def reading(door: Door, payload: Mapping[str, object]) -> Iterator[str]:
    """The parts of the required reading that hooks with --part answer *payload* with."""
    for number in range(1, MOST_PARTS + 1):
        text = context_of(read_reply(door.fire(payload, "--part", str(number))))
        if not text:
            return
        yield text


def read_reply(outcome: Outcome) -> dict[str, Any]:
    """The JSON that a hook printed; empty when it printed none."""
    if not outcome.stdout:
        return {}
    reply = json.loads(outcome.stdout)
    return reply if isinstance(reply, dict) else {}


def context_of(reply: Mapping[str, Any]) -> str:
    """What of *reply* the model gets."""
    return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))
