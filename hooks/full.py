"""The full path: everything is looked at anew, and answers are prepared for the next time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from holdfast import hooklog, pipes, sessions, shortlived
from holdfast.clock import Clock
from holdfast.errors import BadHookInput
from holdfast.hooks import boundary, dispatch
from holdfast.project import Surroundings, root_for_new
from holdfast.wire import events, replies


class Run(NamedTuple):
    """What came of one event."""

    outcome: replies.Outcome
    event: events.Event | None = None


def main(raw: bytes, arguments: Sequence[str] = ()) -> int:
    """Answer the event in *raw*, for which nothing is prepared."""
    shortlived.begin()
    surroundings, clock = Surroundings.from_environment(), Clock.from_environment()
    outcome, event = _run(raw, surroundings, clock, arguments)
    code = pipes.write(outcome.stdout, _line(outcome.stderr), outcome.code)
    if event is not None:
        _prepare(event, outcome, surroundings, clock)
    return code


def _line(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n" if text else b""


def _prepare(
    event: events.Event, outcome: replies.Outcome, surroundings: Surroundings, clock: Clock
) -> None:
    """Prepare what comes next. That it fails costs only time; the log tells why hooks are slow then."""
    from holdfast.hooks import preparing

    def prepare() -> replies.Outcome:
        preparing.after(event, outcome, surroundings, clock)
        return outcome

    entry = hooklog.Entry()
    entry.event, entry.session = event.envelope.name, event.envelope.session or ""
    boundary.guard(entry, prepare)
    if entry.decided:
        entry.decided = f"answered, but nothing is prepared: {entry.decided}"
        root = root_for_new(event.envelope.cwd or surroundings.cwd, surroundings.client_project)
        hooklog.append(surroundings.state_dir, root, entry.line(clock.now(), 0.0))


def run(
    raw: bytes, surroundings: Surroundings, clock: Clock, arguments: Sequence[str] = ()
) -> replies.Outcome:
    """The whole way from bytes to bytes, without the process around it."""
    return _run(raw, surroundings, clock, arguments).outcome


def _run(raw: bytes, surroundings: Surroundings, clock: Clock, arguments: Sequence[str]) -> Run:
    if surroundings.disabled:
        return Run(replies.Outcome())
    started = time.perf_counter()
    entry = hooklog.Entry()
    entry.root = root_for_new(surroundings.cwd, surroundings.client_project)
    found: list[events.Event] = []

    def answer() -> replies.Outcome:
        event = events.parse(raw, _part(arguments))
        found.append(event)
        entry.event = event.envelope.name
        entry.session = event.envelope.session or ""
        entry.source = event.envelope.source or ""
        return dispatch.answer(event, surroundings, clock, entry)

    outcome = boundary.guard(entry, answer)
    if not entry.quiet:
        entry.why += sessions.left_alone(surroundings.state_dir, entry.session)
        spent = (time.perf_counter() - started) * 1000
        hooklog.append(surroundings.state_dir, entry.root, entry.line(clock.now(), spent))
    return Run(outcome, *found)


def _part(arguments: Sequence[str]) -> int:
    """The number behind --part; 0 without it. By hand: a usage error would exit with 2 and block."""
    if not arguments:
        return 0
    option, _, value = " ".join(arguments).replace("=", " ", 1).partition(" ")
    if option != "--part" or not value.isascii() or not value.isdecimal() or int(value[:9]) < 1:
        raise BadHookInput(f"the arguments of the hook are wrong: {' '.join(arguments)}")
    return int(value[:9])
