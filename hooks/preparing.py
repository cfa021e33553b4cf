"""Prepares answers for the next events, so that these only have to compare marks; see `prepared`.

What is prepared is what the handlers say, made by the handlers' own functions on what is there now. Of
hooks that mostly have nothing to do it is done here; `preparing_restores` has the rest.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from holdfast import delivery, hooklog, jsonlines, marks, project, sessions, settings
from holdfast.atomic import own_name
from holdfast.clock import EPOCH, Clock
from holdfast.handlers import HANDLERS, PROMPT, pre_tool_use
from holdfast.hooks import dispatch, prepared, quick, quickjson
from holdfast.hooks.witness import Witness, watching
from holdfast.openflags import make_private
from holdfast.project import Surroundings
from holdfast.wire import agents, events
from holdfast.wire.agents.base import Agent
from holdfast.wire.replies import Outcome, Reply

_LONGEST = timedelta(hours=12)
_ROOM = 2_500  # bytes of a line of the log, so that there is room for what comes with the event
_MOST_STRAY = 20
_KEPT_FOR = 30 * 24 * 3600  # seconds

Answer: TypeAlias = dict[str, Any]


def after(
    event: events.Event,
    outcome: Outcome,
    surroundings: Surroundings,
    clock: Clock,
    agent: Agent,
) -> None:
    """Prepare what is likely to be asked for after *event*, which was answered with *outcome*."""
    envelope = event.envelope
    here = surroundings._replace(cwd=envelope.cwd or surroundings.cwd)
    if not here.state_dir or not quick.is_supported() or outcome.code:
        return
    if isinstance(event, events.Other):
        _stray(here, envelope.name, clock, agent)
    elif _idle(here, envelope.session, clock, agent) or envelope.agent_id:
        return
    elif isinstance(event, events.PreToolUse) or _is_read(event):
        _tools(here, envelope.session, clock, agent)
    elif isinstance(event, events.PreCompact | events.SessionStart | events.FileChanged):
        from holdfast.hooks import preparing_restores

        preparing_restores.prepare(here, envelope.session, clock, agent)


def for_status(here: Surroundings, session: str | None, clock: Clock) -> None:
    """Prepare what the status line asks for."""
    agent = agents.named(agents.USUAL)
    if here.state_dir and quick.is_supported() and not _idle(here, session, clock, agent):
        from holdfast.hooks import preparing_restores

        preparing_restores.prepare_status(here, session, clock, agent)


def _is_read(event: events.Event) -> bool:
    return isinstance(event, events.ToolDone) and event.tool == "Read"


class Answers:
    """Answers that follow from the same inputs."""

    def __init__(self, here: Surroundings, session: str, clock: Clock, agent: Agent) -> None:
        self.agent = agent
        self._folder = prepared.folder(
            here.state_dir or "", agent.name, session, here.cwd, here.client_project or ""
        )
        self.now = clock.now()
        self._begun = time.time_ns()  # by the system's clock, as the times of files are
        midnight = self.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.later = min(self.now + _LONGEST, midnight - timedelta(microseconds=1))
        self.moments = (self.now, self.later)
        self.answers: dict[str, Answer] = {}
        self._texts: dict[str, bytes] = {}

    def said(self, reply: Reply, event: str) -> bytes:
        """What is printed for *reply* to *event*."""
        return reply.outcome(self.agent, event).stdout

    def text(self, data: bytes) -> str:
        """The name by which an answer refers to *data*."""
        name = prepared.name_of(data)
        self._texts[name] = data
        return name

    def known(self, kind: str) -> dict[str, Answer]:
        """The answers of such a set that is kept and holds."""
        found = prepared.find(self._folder, kind, _nanoseconds(self.now))
        return dict(found.answers) if found else {}

    def keep(self, kind: str, witness: Witness) -> None:
        code = _code()
        if not self.answers or not all(
            marks.is_settled(marks.of(path), self._begun) for path in code
        ):
            return  # what made them is just being replaced
        for path in code:
            witness.saw(path)
        inputs = witness.inputs(self._begun)
        if inputs is None:
            return
        kept = {
            "from": _nanoseconds(self.now),
            "until": _nanoseconds(self.later),
            "inputs": inputs,
            "answers": self.answers,
        }
        if not os.path.isdir(self._folder):
            make_private(self._folder)
            _prune(os.path.dirname(self._folder), self.now.timestamp())
        texts = {f"{kind}-{name}": data for name, data in self._texts.items()}
        for name, data in texts.items():
            _put(os.path.join(self._folder, name), data)
        whole = quickjson.dumps(kept).encode("utf-8", "surrogateescape")
        _put(os.path.join(self._folder, f"{kind}.json"), whole)
        for name in prepared.named(self._folder, (f"{kind}-",)):
            if name not in texts:
                _remove(os.path.join(self._folder, name))


def _code() -> list[str]:
    """The modules that made the answers, so that an upgrade shows."""
    ours = (module for name, module in list(sys.modules.items()) if _is_ours(name))
    return [path for path in (getattr(each, "__file__", None) for each in ours) if path]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "holdfast"


def _put(path: str, data: bytes) -> None:
    """Whole or not at all, but it need not outlive the machine: what is torn is not used."""
    temporary = f"{path}.{own_name()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as stream:
        stream.write(data)
    os.replace(temporary, path)


def _prune(folder: str, now: float) -> None:
    """Remove what nobody has prepared anew for a month."""
    for entry in list(os.scandir(folder)):
        try:
            if entry.stat(follow_symlinks=False).st_mtime < now - _KEPT_FOR:
                for name in os.listdir(entry.path):
                    _remove(os.path.join(entry.path, name))
                os.rmdir(entry.path)
        except OSError:  # another process was quicker
            continue


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1000


def log_line(here: Surroundings, entry: hooklog.Entry, root: str, agent: Agent) -> list[object]:
    """Where the line of the log goes, the line but for what comes with the event, and how long the log gets."""
    entry.root, entry.agent = root, agent.name
    record = entry.record(EPOCH, 0.0)
    why = entry.why[:20]
    while why and len(jsonlines.encode(record)) > _ROOM:
        why.pop()
        record["why"] = [*(each[:300] for each in why), "…"]
    return [hooklog.path(here.state_dir or "", root), record, hooklog.LARGEST]


# What is answered in a place, whoever asks.


def _stray(here: Surroundings, event: str, clock: Clock, agent: Agent) -> None:
    """An event that is not ours; only where it is logged depends on anything."""
    kept, witness = Answers(here, "", clock, agent), Witness()
    with watching(witness):
        root = project.root_for_new(here.cwd, here.client_project)
    entry = hooklog.Entry()
    entry.event, entry.decided = event, dispatch.not_ours(event)
    kept.answers = kept.known(prepared.STRAY)
    if len(kept.answers) < _MOST_STRAY:
        kept.answers[event] = {"log": log_line(here, entry, root, agent)}
        kept.keep(prepared.STRAY, witness)


_LOGGED = ("PreCompact", "SessionStart", "PostCompact")


def _idle(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> bool:
    """Whether no hook has anything to do here; then that is prepared."""
    if sessions.known(here.state_dir, session):
        return False
    kept, witness = Answers(here, "", clock, agent), Witness()
    start = events.SessionStart(events.Envelope("SessionStart", None, None, None, None), "startup")
    with watching(witness):
        found = dispatch.idle_in(start, here)
        root = project.root_for_new(here.cwd, here.client_project)
        configured = settings.load(None, here.config_file).settings
    if found is None:
        return False
    kept.answers = {name: {} for name in (*HANDLERS, PROMPT, "part", "statusline")}
    if configured.enabled and configured.guard != "off":
        del kept.answers["PreToolUse"]  # which has to look at each path
    for name in _LOGGED:
        entry = hooklog.Entry()
        entry.event, entry.decided = name, found.why
        kept.answers[name] = {"log": log_line(here, entry, root, agent)}
    kept.answers["SessionStart"]["text"] = kept.text(kept.said(found.reply, "SessionStart"))
    kept.keep(prepared.IDLE, witness)
    return True


def _tools(here: Surroundings, session: str | None, clock: Clock, agent: Agent) -> None:
    kept, witness = Answers(here, session or "", clock, agent), Witness()
    with watching(witness):
        gate_is_idle = pre_tool_use.is_idle(here, session)
        due = delivery.recall(here.state_dir, session)
        nothing_unread = due is None or due.opened >= due.unread.keys()
    if gate_is_idle:
        kept.answers["PreToolUse"] = {}
    if nothing_unread:
        kept.answers["PostToolUse"] = {}
    kept.keep(prepared.TOOLS, witness)
