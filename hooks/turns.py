"""Starts and prompts of a session that is told with a prompt what it could not be told before.

Whoever tells it has its turn until it was told, so that what comes at the same moment says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TypeAlias

from holdfast import hooklog, pending, transcribed
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.wire import events, replies

_Answering: TypeAlias = Callable[[events.SessionStart], replies.Reply]
_PATIENCE = 1.0  # seconds that a start waits for a prompt beside it


def started(
    event: events.SessionStart,
    here: Surroundings,
    clock: Clock,
    entry: hooklog.Entry,
    afterwards: ExitStack,
    answered: _Answering,
) -> replies.Reply:
    """The reply to a start, beside or after which comes a prompt that could be told the same."""
    session = event.envelope.session
    if not here.takes.keeps_starts:
        pending.note_start(here.state_dir, session, event.source, clock.now())
        entry.decided = pending.WITH_THE_PROMPT
        return replies.Nothing()
    has_told = afterwards.enter_context(_compacted(event.envelope, here, clock, _PATIENCE))
    reply = answered(event)
    if has_told and isinstance(reply, replies.Restored) and reply.whole:
        afterwards.callback(has_told)
    return reply


def prompted(
    event: events.Prompt,
    here: Surroundings,
    clock: Clock,
    entry: hooklog.Entry,
    afterwards: ExitStack,
    answered: _Answering,
) -> replies.Reply:
    """What the session would be told at a start, if there was one or a compaction."""
    envelope = event.envelope
    start = None
    if not here.takes.keeps_starts:
        start = afterwards.enter_context(pending.turn(here.state_dir, envelope.session))
    compacted = afterwards.enter_context(_compacted(envelope, here, clock))
    source = "compact" if compacted else start.source if start else None
    if source is None:
        entry.decided = "nothing: there is nothing to be told"
        return replies.Nothing()
    entry.quiet, entry.source = False, source
    begun = envelope._replace(name="SessionStart", source=source)
    reply = answered(events.SessionStart(begun, source))
    for has_told in (compacted, start.has_told if start else None):
        if has_told:
            afterwards.callback(has_told)
    return reply


def _compacted(
    envelope: events.Envelope, here: Surroundings, clock: Clock, wait: float = 0.0
) -> AbstractContextManager[Callable[[], None] | None]:
    """What to call once the session was told of the compaction that its transcript tells of."""
    transcript = here.takes.transcript
    if transcript is None:
        return nullcontext()
    path, session = envelope.transcript, envelope.session
    return transcribed.turn(here.state_dir, session, path, transcript, clock.now(), wait)
