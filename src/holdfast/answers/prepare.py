"""Prepares answers for the next events, so that the fast tier only has to compare fingerprints; see `prepared`.

What is prepared is what the handlers say, made by the handlers' own functions on what is there now.
Rule 1: what follows from the settings of a place alone is prepared by any hook, once its answer is out: it takes two
        milliseconds, and saves every hook after it many times that.
Rule 2: what follows from workflows (`prepare_restores`) is prepared where nobody waits: by hooks that run beside the
        conversation, and after the answer only for agents that have none.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from holdfast import agents
from holdfast.agents import Agent, events
from holdfast.agents.replies import Decision, Reply, outcome
from holdfast.answers import parts, prepared
from holdfast.answers.prepared import Shelf
from holdfast.clock import EPOCH, Clock, iso
from holdfast.config import project, settings
from holdfast.config.project import Surroundings
from holdfast.files import fingerprints
from holdfast.files.atomic import make_private
from holdfast.files.inputs import RecordedInputs
from holdfast.handlers import HANDLERS, PROMPT, dispatch, pre_tool_use
from holdfast.records import hooklog, sessionlog
from holdfast.restoring import watching

_LONGEST = timedelta(hours=12)
_ROOM = 2_500  # bytes of a line of the log, so that there is room for what comes with the event
_LOGGED = ("PreCompact", "SessionStart", "PostCompact")  # though there is nothing to do
_KEPT_FOR = 30 * 24 * 3600  # seconds; of what nobody has prepared anew
MOST = 20_000  # paths; to compare more would take longer than the full path saves

Answer: TypeAlias = dict[str, Any]


def after(
    event: events.Event, here: Surroundings, clock: Clock, agent: Agent, *, beside: bool
) -> None:
    """Prepare answers to the events that are likely to follow *event*. With *beside* nobody waits: prepare all."""
    request = event.request
    if not here.state_dir or not prepared.is_supported():
        return
    if _idle(here, request.session, clock, agent):
        return
    if beside or isinstance(event, events.PreToolUse | events.ToolDone):
        _tools(here, clock, agent)
    if beside and not request.agent_id:
        from holdfast.answers import prepare_restores
        from holdfast.handlers import pre_compact

        if not here.capabilities.beside:  # else a hook of its own has done it
            pre_compact.keep_books(request.session, here, clock)
        prepare_restores.prepare(here, request.session, clock, agent)


def statusline(cwd: str | None, session: str, started: str) -> Answer:
    """What the status line of a session shows that works in *cwd* and began in *started*; prepared for the next time."""
    here, clock = Surroundings.from_environment(), Clock.from_environment()
    here = here._replace(cwd=cwd or here.cwd, client_project=started or None)
    agent = agents.named(agents.USUAL)
    with contextlib.suppress(OSError):  # it is shown even if no answer can be saved
        if _idle(here, session, clock, agent):
            return {}
    from holdfast.answers import prepare_restores

    return prepare_restores.statusline(here, session or None, clock, agent)


class Answers:
    """Answers to one session that follow from the same inputs; an empty *session* stands for any."""

    def __init__(self, here: Surroundings, session: str, clock: Clock, agent: Agent) -> None:
        self.inputs = RecordedInputs()
        self.here = here._replace(inputs=self.inputs)
        self.agent = agent
        self.state_dir = here.state_dir or ""
        started = here.client_project or ""
        self._shelf = Shelf(self.state_dir, agent.name, session, here.cwd, started)
        self.now = clock.now()
        self._begun = time.time_ns()  # by the system's clock, as the times of files are
        midnight = self.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.later = min(self.now + _LONGEST, midnight - timedelta(microseconds=1))
        self.by_event: dict[str, Any] = {}

    def printed(self, reply: Reply, event: str) -> str:
        """What is printed for *reply* to *event*."""
        return outcome(reply, self.agent, event).stdout.decode()

    def record(self, event: str, decision: Decision, session: str = "") -> Answer:
        run = hooklog.of_run(EPOCH, 0.0, decision.source, session, "")
        root, decided, why = decision.root, decision.decided, decision.why
        return hooklog.record(event, root, self.agent.name, decided, why, run)

    def log(self, event: str, decision: Decision) -> list[object]:
        """The path of the hook log, and the line for it without `hooklog.of_run`."""
        record = json.loads(hooklog.line(self.record(event, decision), _ROOM))
        return [hooklog.path(self.state_dir, decision.root), record]

    def is_kept(self, kind: str) -> bool:
        """Whether the set *kind* exists and holds."""
        return self._shelf.find(kind) is not None

    def keep(self, kind: str, logs: Sequence[list[Any]] = ()) -> None:
        """Keep the answers under *kind*, and begin anew."""
        by_event, self.by_event = self.by_event, {}
        if not by_event or not self.state_dir or not prepared.is_supported():
            return
        # The modules that made the answers, so that an upgrade shows.
        ours = [module for name, module in list(sys.modules.items()) if name.startswith("holdfast")]
        code = [path for path in (getattr(module, "__file__", None) for module in ours) if path]
        marks = map(fingerprints.fingerprint, code)
        if not all(fingerprints.is_settled(mark, self._begun) for mark in marks):
            return  # what made them is just being replaced
        for path in code:
            self.inputs.note(path)
        compared = _compared(self.inputs, self._begun)
        if compared is None:
            return
        record = {
            "for": self._shelf.whose,
            "inputs": compared,
            "logs": list(logs),
            "answers": by_event,
        }
        if kind not in prepared.TIMELESS:
            record |= {"from": iso(self.now), "until": iso(self.later)}
        path = self._shelf.path(kind)
        if not os.path.exists(path):
            make_private(os.path.dirname(path))
            parts.prune(os.path.dirname(path), self.now.timestamp() - _KEPT_FOR)
        parts.put(path, json.dumps(record).encode())


def _compared(inputs: RecordedInputs, now: int) -> list[list[Any]] | None:
    """*inputs* as `prepared` compares them at another time; None where that is not certain."""
    if inputs.untrackable or len(inputs.seen) > MOST:
        return None
    compared: list[list[Any]] = []
    for path, (listed, mark) in inputs.seen.items():
        if fingerprints.is_settled(mark, now):
            compared.append([path, listed, mark])
            continue
        content = fingerprints.content_digest(path)
        if content is None:
            return None
        compared.append([path, listed, mark, content])
    return compared


# What is answered in a place, whoever asks.


def _idle(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> bool:
    """Whether no hook has anything to do here. If so, prepare that answer."""
    if sessionlog.is_known(here.state_dir, session):
        return False
    answers = Answers(here, "", clock, agent)
    found = dispatch.idle_in(answers.here, "", starts=True)
    if found is None:
        return False
    root = project.root_for_new(here.cwd, here.client_project, answers.inputs)
    configured = settings.load(None, here.config_file, answers.inputs).settings
    answers.by_event = {name: {} for name in (*HANDLERS, PROMPT, "statusline")}
    if configured.enabled and configured.guard != "off":
        del answers.by_event["PreToolUse"]  # which has to look at each path
    for event in _LOGGED:
        answers.by_event[event] = {"log": answers.log(event, found._replace(root=root))}
    answers.by_event["SessionStart"]["text"] = answers.printed(found.reply, "SessionStart")
    answers.keep(prepared.IDLE)
    return True


def _tools(here: Surroundings, clock: Clock, agent: Agent) -> None:
    """Prepare for tool calls what the settings say: that no file is guarded, and what the gate does."""
    answers = Answers(here, "", clock, agent)
    if answers.is_kept(prepared.TOOLS):
        return
    gates = pre_tool_use.gates(answers.here)
    if gates is not None:
        answers.by_event = {"gates": gates, "plans": watching.declaring(answers.here)}
        answers.keep(prepared.TOOLS)
