"""The full path: everything is looked at anew, and answers are prepared for the next time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from holdfast import hooklog, pipes, sessions, shortlived
from holdfast.clock import Clock
from holdfast.errors import BadHookInput
from holdfast.hooks import boundary, dispatch, options
from holdfast.project import Surroundings, root_for_new
from holdfast.wire import agents, events, replies
from holdfast.wire.agents.base import Agent


class Run(NamedTuple):
    """What came of one event."""

    outcome: replies.Outcome
    event: events.Event | None = None
    agent: Agent | None = None


def main(raw: bytes, arguments: Sequence[str] = ()) -> int:
    """Answer the event in *raw*, for which nothing is prepared."""
    shortlived.begin()
    surroundings, clock = Surroundings.from_environment(), Clock.from_environment()
    with ExitStack() as afterwards:
        outcome, event, agent = _run(raw, surroundings, clock, arguments, afterwards)
        code = pipes.write(outcome.stdout, _line(outcome.stderr), outcome.code)
    if event is not None and agent is not None:
        _prepare(event, outcome, surroundings, clock, agent)
    return code


def _line(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n" if text else b""


def _prepare(
    event: events.Event,
    outcome: replies.Outcome,
    surroundings: Surroundings,
    clock: Clock,
    agent: Agent,
) -> None:
    """Prepare what comes next. That it fails costs only time; the log tells why hooks are slow then."""
    from holdfast.hooks import preparing

    def prepare() -> replies.Outcome:
        here = surroundings._replace(takes=agent.takes)
        preparing.after(event, outcome, here, clock, agent)
        return outcome

    entry = hooklog.Entry()
    entry.event, entry.session = event.envelope.name, event.envelope.session or ""
    boundary.guard(entry, prepare, lambda _: outcome)
    if entry.decided:
        entry.decided = f"answered, but nothing is prepared: {entry.decided}"
        root = root_for_new(event.envelope.cwd or surroundings.cwd, surroundings.client_project)
        hooklog.append(surroundings.state_dir, root, entry.line(clock.now(), 0.0))


def run(
    raw: bytes, surroundings: Surroundings, clock: Clock, arguments: Sequence[str] = ()
) -> replies.Outcome:
    """The whole way from bytes to bytes, without the process around it."""
    with ExitStack() as afterwards:
        return _run(raw, surroundings, clock, arguments, afterwards).outcome


def _run(
    raw: bytes,
    surroundings: Surroundings,
    clock: Clock,
    arguments: Sequence[str],
    afterwards: ExitStack,
) -> Run:
    """What comes of the event; *afterwards* is closed when it was told."""
    if surroundings.disabled:
        return Run(replies.Outcome())
    started = time.perf_counter()
    entry = hooklog.Entry()
    entry.root = root_for_new(surroundings.cwd, surroundings.client_project)
    asked = _Asked()

    def answer() -> replies.Outcome:
        event = asked.read(raw, arguments)
        entry.event = event.envelope.name
        entry.session = event.envelope.session or ""
        entry.source = event.envelope.source or ""
        entry.agent = asked.agent.name
        here = surroundings._replace(takes=asked.agent.takes)
        reply = dispatch.answer(event, here, clock, entry, afterwards)
        if asked.trouble:
            entry.why.append(asked.trouble)
            entry.quiet = False
            reply = replies.noted_by(reply, entry.event, f"Holdfast: {asked.trouble}")
        return told(reply)

    def told(reply: replies.Reply) -> replies.Outcome:
        return reply.outcome(asked.agent, entry.event)

    outcome = boundary.guard(entry, answer, told)
    if not entry.quiet:
        entry.why += sessions.left_alone(surroundings.state_dir, entry.session)
        spent = (time.perf_counter() - started) * 1000
        hooklog.append(surroundings.state_dir, entry.root, entry.line(clock.now(), spent))
    return Run(outcome, asked.found, asked.agent)


class _Asked:
    """Who asks, and what; filled step by step, since each may fail."""

    def __init__(self) -> None:
        self.agent = agents.named(agents.USUAL)
        self.trouble = ""  # with what was asked for
        self.found: events.Event | None = None

    def read(self, raw: bytes, arguments: Sequence[str]) -> events.Event:
        try:
            wanted = options.read(arguments)
        except ValueError as error:
            wrong = " ".join(arguments)
            raise BadHookInput(f"the arguments of the hook are wrong: {wrong}") from error
        payload = events.payload_in(raw)
        self.agent = self._asking(payload, wanted.agent)
        event = events.parse(self.agent.given(payload), wanted.part)
        if isinstance(event, events.Prompt) and not self.agent.takes.prompted:
            event = events.Other(event.envelope)  # it has been told already
        self.found = event
        return event

    def _asking(self, payload: dict[str, Any], name: str) -> Agent:
        """Who asks; one that is not known is told from what it has sent."""
        if name in agents.NAMES:
            return agents.named(name)
        found = agents.recognised(payload)
        if name:
            known = ", ".join(agents.NAMES)
            self.trouble = (
                f"the hook was registered for an agent that is not known ({name[:40]}; "
                f"there are {known}); it was answered as {found}"
            )
        return agents.named(found)
