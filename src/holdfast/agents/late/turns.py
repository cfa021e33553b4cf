"""Starts and prompts of agents that get guidance with a prompt, because they take none at the time.

The delivering process holds the delivery lock until its output is flushed. A hook that starts at the same moment waits
for the lock, and then looks for what is left to deliver.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import NamedTuple

from holdfast import clock
from holdfast.agents import events, late, replies
from holdfast.agents.late import transcripts
from holdfast.agents.late.transcripts import Compacted
from holdfast.agents.replies import Decision
from holdfast.agents.request import Request
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError
from holdfast.files.atomic import make_private, own_name
from holdfast.records import sessionlog

_PATIENCE = 3.0  # seconds that a start and a prompt of the same moment wait for each other
_BESIDE = timedelta(minutes=1)  # more than the two can be apart
_WITH_THE_PROMPT = "nothing yet: the guidance comes with the next prompt"
_TOLD_BESIDE = "nothing: a hook of the same moment has sent it"


class Turn(NamedTuple):
    """One event with which guidance may be due."""

    here: Surroundings
    clock: Clock
    afterwards: ExitStack  # closed when the reply was printed
    answered: Callable[[events.SessionStart], Decision]

    def started(self, event: events.SessionStart) -> Decision:
        """The decision on a start. A prompt of the same moment must not deliver the same guidance."""
        here, session = self.here, event.request.session
        if not here.capabilities.keeps_starts:
            start = {"id": own_name(), "source": event.source}
            sessionlog.append(here.state_dir, session, "due", self.clock.now(), **start)
            return Decision(decided=_WITH_THE_PROMPT)
        compacted = Compacted()
        if self._may_be_due(event.request) and self._locked(event.request):
            compacted = transcripts.compacted(here, event.request, self.clock.now())
        if _same_turn(event.request.asked, compacted.told_with):
            return Decision(decided=_TOLD_BESIDE)
        decision = self.answered(event._replace(compacted=compacted.has_told is not None))
        if compacted.has_told and replies.is_whole(decision.reply):
            self.afterwards.callback(compacted.has_told, True)
        return decision

    def prompted(self, event: events.Prompt) -> Decision:
        """The guidance of a start, if a start or a compaction is due; else nothing."""
        request, here = event.request, self.here
        if not self._may_be_due(request) or not self._locked(request):  # another hook tells it
            return Decision()
        log = sessionlog.content(here.state_dir, request.session)
        due = None if here.capabilities.keeps_starts else late.due_start(log)
        compacted = transcripts.compacted(here, request, self.clock.now())
        source = "compact" if compacted.has_told else due[1] if due else None
        if source is None:
            return Decision()
        begun = copy.copy(request)
        begun.name = "SessionStart"
        decision = self.answered(events.SessionStart(begun, source))
        if compacted.has_told:
            self.afterwards.callback(compacted.has_told, replies.is_whole(decision.reply))
        if due:
            noting = (here.state_dir, request.session, "told", self.clock.now())
            self.afterwards.callback(sessionlog.append, *noting, id=due[0])
        return decision

    def _may_be_due(self, request: Request) -> bool:
        """Whether something may be due, as far as the session's log and the event say."""
        here = self.here
        if not here.state_dir or not request.session:
            return False
        log = sessionlog.content(here.state_dir, request.session)
        is_due = not here.capabilities.keeps_starts and late.due_start(log) is not None
        reads = here.capabilities.transcript is not None
        return is_due or (reads and bool(request.transcript or late.followed_in(log)))

    def _locked(self, request: Request) -> bool:
        """Take the session's delivery lock until this event is over; whether it could be had."""
        from holdfast.files.store import locked  # noqa: PLC0415  # most prompts need none

        path = sessionlog.path_of(self.here.state_dir or "", request.session)
        try:
            make_private(os.path.dirname(path))
            self.afterwards.enter_context(locked(path.removesuffix("jsonl") + "lock", _PATIENCE))
        except (HoldfastError, OSError):
            return False
        return True


def _same_turn(start: str, told_with: str) -> bool:
    """Whether *start* came with the event that got the whole guidance at *told_with*, or just before it."""
    first, then = clock.parse(start), clock.parse(told_with)
    return first is not None and then is not None and timedelta(0) <= then - first <= _BESIDE
