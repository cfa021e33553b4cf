"""Starts and prompts of a session that is told with a prompt what it could not be told before.

Whoever tells it has its turn until it was told. What comes at the same moment waits for that, and looks then
what is left to be told.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import NamedTuple

from holdfast import clock, hooklog, pending, transcribed
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.wire import events, replies

_PATIENCE = 3.0  # seconds that a start and the prompt beside it wait for each other
_BESIDE = timedelta(minutes=1)  # more than the two can be apart
_TOLD_BESIDE = "nothing: what was asked for at the same moment has told it"
_NOT_DUE = "nothing: there is nothing to be told"
_BUSY = "nothing: another hook is just telling it"


class Turn(NamedTuple):
    """One event that may have to tell something."""

    here: Surroundings
    clock: Clock
    entry: hooklog.Entry
    afterwards: ExitStack  # closed when it was told
    answered: Callable[[events.SessionStart], replies.Reply]

    def started(self, event: events.SessionStart) -> replies.Reply:
        """The reply to a start, beside or after which comes a prompt that could be told the same."""
        session = event.envelope.session
        if not self.here.takes.keeps_starts:
            pending.note_start(self.here.state_dir, session, event.source, self.clock.now())
            self.entry.decided = pending.WITH_THE_PROMPT
            return replies.Nothing()
        compacted = self._compacted(event.envelope)
        if _are_beside(event.envelope.asked, compacted.told_with):
            self.entry.decided = _TOLD_BESIDE
            return replies.Nothing()
        reply = self.answered(event._replace(compacted=compacted.has_told is not None))
        if compacted.has_told and _is_whole(reply):
            self.afterwards.callback(compacted.has_told, True)
        return reply

    def prompted(self, event: events.Prompt) -> replies.Reply:
        """What the session would be told at a start, if there was one or a compaction."""
        envelope, here = event.envelope, self.here
        start = None
        if not here.takes.keeps_starts:
            turn = pending.turn(here.state_dir, envelope.session, _PATIENCE)
            start = self.afterwards.enter_context(turn)
        compacted = self._compacted(envelope)
        source = "compact" if compacted.has_told else start.source if start else None
        if source is None:
            self.entry.decided = _BUSY if compacted.busy else _NOT_DUE
            return replies.Nothing()
        self.entry.quiet, self.entry.source = False, source
        begun = envelope._replace(name="SessionStart", source=source)
        reply = self.answered(events.SessionStart(begun, source))
        if compacted.has_told:
            self.afterwards.callback(compacted.has_told, _is_whole(reply))
        if start:
            self.afterwards.callback(start.has_told)
        return reply

    def _compacted(self, envelope: events.Envelope) -> transcribed.Compacted:
        """What the session has to be told of the compactions that its transcript tells of."""
        transcript = self.here.takes.transcript
        if transcript is None:
            return transcribed.Compacted()
        turn = transcribed.turn(
            self.here.state_dir,
            envelope.session,
            envelope.transcript,
            transcript,
            self.clock.now(),
            asked=envelope.asked,
            wait=_PATIENCE,
        )
        return self.afterwards.enter_context(turn)


def _is_whole(reply: replies.Reply) -> bool:
    return isinstance(reply, replies.Restored) and reply.whole


def _are_beside(start: str, told_with: str) -> bool:
    """Whether a start was asked for at the moment of what has told all, or just before."""
    first, then = clock.parse(start), clock.parse(told_with)
    return first is not None and then is not None and timedelta(0) <= then - first <= _BESIDE
