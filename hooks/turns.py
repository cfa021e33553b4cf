"""Starts and prompts of a session that is told with a prompt what it could not be told before.

Whoever tells it has its turn until it was told. What comes at the same moment waits for that, and looks
then what is left to be told.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import NamedTuple

from holdfast import compacting, hooklog, pending, transcribed
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.wire import events, replies

_PATIENCE = 3.0  # seconds that a start and the prompt beside it wait for each other


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
        has_told = self.afterwards.enter_context(self._compacted(event.envelope))
        if has_told:  # what a prompt has told was an earlier compaction
            compacting.is_over(self.here.state_dir, session)
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
        told_all = isinstance(reply, replies.Restored) and reply.whole
        if compacted and told_all and here.takes.keeps_starts:
            self.afterwards.callback(self._leave_word, envelope.session)
        return reply

    def _leave_word(self, session: str | None) -> None:
        compacting.told_with_a_prompt(self.here.state_dir, session, self.clock.now())

    def _compacted(
        self, envelope: events.Envelope
    ) -> AbstractContextManager[Callable[[], None] | None]:
        """What to call once the session was told of the compaction that its transcript tells of."""
        transcript, state_dir = self.here.takes.transcript, self.here.state_dir
        if transcript is None:
            return nullcontext()
        path, now = envelope.transcript, self.clock.now()
        return transcribed.turn(state_dir, envelope.session, path, transcript, now, _PATIENCE)
