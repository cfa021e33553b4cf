"""The full path: everything is looked at anew. Bookkeeping follows once the answer is out, or beside the conversation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from holdfast.agents import events, replies
from holdfast.agents.replies import Decision, Outcome
from holdfast.agents.request import Request, write
from holdfast.answers import parts
from holdfast.clock import Clock, iso
from holdfast.config.project import Surroundings, root_for_new
from holdfast.errors import BadHookInput
from holdfast.handlers import dispatch
from holdfast.hooks import boundary
from holdfast.records import hooklog, sessionlog

_NO_PARTS = "nothing: the main hook of this start has laid no parts of the reading ready"
_OF_TOOLS = events.PreToolUse | events.ToolDone
_AROUND_COMPACTIONS = events.PreCompact | events.SessionStart | events.PostCompact


def main(request: Request) -> int:
    """Answer *request*, for which nothing is prepared."""
    hook = _Hook(request, Surroundings.from_environment(), Clock.from_environment())
    outcome = hook.run()
    stderr = f"{outcome.stderr}\n" if outcome.stderr else ""
    code = write(outcome.stdout, stderr.encode("utf-8", "replace"), outcome.code)
    hook.after_the_answer("not all is noted", hook.afterwards.close)
    if not code:
        hook.after_the_answer("nothing is prepared", hook.prepare)
    return code


def run(
    raw: bytes, surroundings: Surroundings, clock: Clock, arguments: Sequence[str] = ()
) -> Outcome:
    """The whole way from bytes to bytes, without the process around it. Nothing is prepared."""
    hook = _Hook(Request(raw, arguments), surroundings, clock)
    outcome = hook.run()
    hook.after_the_answer("not all is noted", hook.afterwards.close)
    return outcome


class _Hook:
    """One run of a hook."""

    def __init__(self, request: Request, surroundings: Surroundings, clock: Clock) -> None:
        self.request = request
        self.here = surroundings._replace(capabilities=request.agent.capabilities)
        self.clock = clock
        self.root = self.here.cwd  # until it is known better
        self.event: events.Event | None = None  # None where it could not be told
        self.decision = Decision()
        self.afterwards = ExitStack()  # what is to be done once the answer is out

    def run(self) -> Outcome:
        """What comes of the event."""
        if self.here.disabled:
            return Outcome()
        started = time.perf_counter()
        outcome = boundary.guard(self.request.name, self._answer, self._outcome)
        if self.decision.decided:
            self._log(self.decision, (time.perf_counter() - started) * 1000)
        return outcome

    def _answer(self) -> Outcome:
        request = self.request
        self.root = root_for_new(self.here.cwd, self.here.client_project)
        if request.problem:
            raise BadHookInput(request.problem)
        if request.part:
            return self._part()
        event = events.parse(request)
        if request.cwd:
            self.here = self.here._replace(cwd=request.cwd)
            self.root = root_for_new(self.here.cwd, self.here.client_project)
        if isinstance(event, events.Prompt) and not request.agent.capabilities.prompted:
            event = events.Other(request)  # it has been told already
        self.event = event
        decision = dispatch.answer(
            event, self.here, self.clock, self.afterwards, later=request.later
        )
        lost = sessionlog.add_all(decision.lines, iso(self.clock.now()))
        if lost:
            unnoted = (f"not noted: no line could be added to {path}" for path in lost)
            decision = decision._replace(why=[*decision.why, *unnoted])
        if request.note:
            reply = replies.noted_by(decision.reply, request.name, f"Holdfast: {request.note}")
            decided, why = decision.decided or "nothing", [*decision.why, request.note]
            decision = decision._replace(reply=reply, decided=decided, why=why)
        return self._outcome(decision)

    def _outcome(self, decision: Decision) -> Outcome:
        self.decision = decision = decision._replace(root=decision.root or self.root)
        if self.request.name == "SessionStart" and not self.request.part:
            boundary.guard("SessionStart", lambda: self._lay_parts(decision), lambda _: None)
        return replies.outcome(decision.reply, self.request.agent, self.request.name)

    def _part(self) -> Outcome:
        """One part of the reading. A hook of its own process has waited for it already, in vain."""
        request, state_dir = self.request, self.here.state_dir
        if request.name != "SessionStart":
            return Outcome()
        said = parts.send(state_dir, request.raw, request.part) if state_dir else None
        if said is None:
            self.decision = Decision(decided=_NO_PARTS, root=self.root)
        return Outcome(said or b"")

    def _lay_parts(self, decision: Decision) -> None:
        """Lay ready what the other hooks of this start send; they wait for it, also where it is nothing."""
        request, state_dir, reply = self.request, self.here.state_dir, decision.reply
        if not state_dir:
            return
        texts = reply.parts if isinstance(reply, replies.Restored) else ()
        sent = (
            replies.outcome(replies.Restored(text), request.agent, request.name) for text in texts
        )
        printed = [part.stdout.decode() for part in sent]
        lines = hooklog.part_lines(self._record(decision, 0.0), len(printed))
        parts.lay(state_dir, request.raw, printed, hooklog.path(state_dir, decision.root), lines)

    def prepare(self) -> None:
        """Prepare what comes next. That it fails costs only time; the log tells why hooks are slow then."""
        event, here = self.event, self.here
        waited = isinstance(event, _AROUND_COMPACTIONS) and not here.capabilities.beside
        beside = self.request.later or self.decision.outdates or waited
        if event is None or not (beside or self.decision.idle or isinstance(event, _OF_TOOLS)):
            return
        from holdfast.answers import prepare

        prepare.after(event, here, self.clock, self.request.agent, beside=beside)

    def after_the_answer(self, failing: str, run: Callable[[], None]) -> None:
        """Run what the answer does not depend on; the log tells what is *failing* with it."""

        def failed(decision: Decision) -> None:
            decided = f"answered, but {failing}: {decision.decided}"
            self._log(decision._replace(decided=decided, root=self.decision.root))

        boundary.guard(self.request.name, run, failed)

    def _record(self, decision: Decision, milliseconds: float) -> dict[str, object]:
        asked, source = self.request, decision.source or self.request.source
        # Where a session was told of its workflow, for `doctor --delivery`.
        transcript = asked.transcript if decision.source else ""
        run = hooklog.of_run(self.clock.now(), milliseconds, source, asked.session, transcript)
        agent, decided, why = asked.agent.name, decision.decided, decision.why
        return hooklog.record(asked.name, decision.root, agent, decided, why, run)

    def _log(self, decision: Decision, milliseconds: float = 0.0) -> None:
        if state_dir := self.here.state_dir:
            newer = sessionlog.newer_version_warnings(state_dir, self.request.session)
            record = self._record(decision._replace(why=[*decision.why, *newer]), milliseconds)
            hooklog.add(hooklog.path(state_dir, decision.root), hooklog.line(record))
