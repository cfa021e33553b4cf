"""Starts and prompts of a session that is told with a prompt what it could not be told before.

Whoever tells it has its turn until it was told, so that what comes at the same moment says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import NamedTuple

from holdfast import hooklog, pending, transcribed
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.wire import events, replies

_PATIENCE = 1.0  # seconds that a start waits for a prompt beside it


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
        has_told = self.afterwards.enter_context(self._compacted(event.envelope, _PATIENCE))
        reply = self.answered(event)
        if has_told and isinstance(reply, replies.Restored) and reply.whole:
            self.afterwards.callback(has_told)
        return reply

    def prompted(self, event: events.Prompt) -> replies.Reply:
        """What the session would be told at a start, if there was one or a compaction."""
        envelope, here = event.envelope, self.here
        start = None
        if not here.takes.keeps_starts:
            start = self.afterwards.enter_context(pending.turn(here.state_dir, envelope.session))
        compacted = self.afterwards.enter_context(self._compacted(envelope))
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

    def _compacted(
        self, envelope: events.Envelope, wait: float = 0.0
    ) -> AbstractContextManager[Callable[[], None] | None]:
        """What to call once the session was told of the compaction that its transcript tells of."""
        transcript, state_dir = self.here.takes.transcript, self.here.state_dir
        if transcript is None:
            return nullcontext()
        path, now = envelope.transcript, self.clock.now()
        return transcribed.turn(state_dir, envelope.session, path, transcript, now, wait)
