"""Starts and prompts of a session that is told with a prompt what it could not be told before.

Whoever tells it has its turn until it was told. What comes at the same moment waits for that, and looks then
what is left to be told.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from holdfast import clock, compacting, hooklog, pending, transcribed
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.wire import events, replies

_PATIENCE = 3.0  # seconds that a start and the prompt beside it wait for each other
_TOLD_BESIDE = "nothing: it was told with the prompt beside it"


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
        due = self._compacted(event.envelope)
        if _is_before(event.envelope.asked, due.told_with):
            self.entry.decided = _TOLD_BESIDE
            return replies.Nothing()
        reply = self.answered(event)
        if due.has_told and isinstance(reply, replies.Restored) and reply.whole:
            self.afterwards.callback(due.has_told)
        return reply

    def prompted(self, event: events.Prompt) -> replies.Reply:
        """What the session would be told at a start, if there was one or a compaction."""
        envelope, here = event.envelope, self.here
        start = None
        if not here.takes.keeps_starts:
            start = self.afterwards.enter_context(pending.turn(here.state_dir, envelope.session))
        compacted = self._compacted(envelope).has_told
        source = "compact" if compacted else start.source if start else None
        if source is None:
            self.entry.decided = "nothing: there is nothing to be told"
            return replies.Nothing()
        self.entry.quiet, self.entry.source = False, source
        begun = envelope._replace(name="SessionStart", source=source)
        reply = self.answered(events.SessionStart(begun, source))
        for has_told in (compacted, start.has_told if start else None):
            if has_told:
                self.afterwards.callback(has_told)
        return reply

    def _compacted(self, envelope: events.Envelope) -> transcribed.Due:
        """What the session has to be told of the compaction that its transcript tells of."""
        takes, state_dir, session = self.here.takes, self.here.state_dir, envelope.session
        if takes.transcript is None:
            return transcribed.Due()
        begun = takes.notes_begun and compacting.has_begun(state_dir, session)
        due = self.afterwards.enter_context(
            transcribed.turn(
                state_dir,
                session,
                envelope.transcript,
                takes.transcript,
                self.clock.now(),
                envelope.asked,
                begun=begun,
                wait=_PATIENCE,
            )
        )
        if begun:  # and was waited for
            compacting.is_over(state_dir, session)
        return due


def _is_before(one: str, other: str) -> bool:
    """Whether *one* moment, as it was given, is surely not after the *other*."""
    first, then = clock.parse(one), clock.parse(other)
    return first is not None and then is not None and first <= then
