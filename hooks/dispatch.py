"""Event to handler to reply; what has nothing to do ends here."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from holdfast import (
    compacting,
    forecast,
    guard,
    hooklog,
    project,
    sessions,
    settings,
    watching,
)
from holdfast.clock import Clock
from holdfast.formats import signs
from holdfast.wire import events, replies


def answer(
    event: events.Event,
    surroundings: project.Surroundings,
    clock: Clock,
    entry: hooklog.Entry,
    afterwards: ExitStack,
) -> replies.Reply:
    """The reply to *event*, with what was decided noted in *entry*.

    What is to be done once the reply was told is left in *afterwards*.
    """
    envelope = event.envelope
    here = surroundings._replace(cwd=envelope.cwd or surroundings.cwd)
    entry.root = project.root_for_new(here.cwd, here.client_project)
    entry.quiet = isinstance(event, _FREQUENT)
    idle = _nothing_to_do(event, here, clock)
    if idle:
        entry.decided = idle.why
        return idle.reply
    from holdfast.handlers import handler

    def answered(event: events.Event) -> replies.Reply:
        return handler(event)(event, here, clock, entry)

    if here.takes.starts_twice and isinstance(event, events.SessionStart):
        reply = answered(event)
        afterwards.callback(_has_started, event, reply, here, clock)
        return reply
    if not here.takes.prompted or not isinstance(event, events.Prompt | events.SessionStart):
        return answered(event)
    from holdfast.hooks import turns

    turn = turns.Turn(here, clock, entry, afterwards, answered)
    return turn.prompted(event) if isinstance(event, events.Prompt) else turn.started(event)


def _has_started(
    event: events.SessionStart, reply: replies.Reply, here: project.Surroundings, clock: Clock
) -> None:
    """Note what a start was told, for the one that may follow it in the same turn."""
    state_dir, session, now = here.state_dir, event.envelope.session, clock.now()
    if event.source == "resume" and isinstance(reply, replies.Restored) and reply.whole:
        compacting.told_when_resumed(state_dir, session, now)
    elif event.source == "compact" and compacting.has_begun(state_dir, session):
        compacting.is_over(state_dir, session)


# What comes with every tool call or twelve at a time; logged only when it was told something.
_FREQUENT = (
    events.ReadingPart,
    events.Prompt,
    events.FileChanged,
    events.PreToolUse,
    events.ToolDone,
    events.Task,
    events.Subagent,
)


class _Idle(NamedTuple):
    why: str
    reply: replies.Reply = replies.Nothing()


def _nothing_to_do(
    event: events.Event, surroundings: project.Surroundings, clock: Clock
) -> _Idle | None:
    """Why there is nothing to do, found out cheaply; None when a handler has to look."""
    envelope = event.envelope
    if isinstance(event, events.Other):
        return _Idle(not_ours(envelope.name))
    if isinstance(event, events.PreToolUse) and guard.files_meant(event.path, surroundings):
        return None
    if envelope.agent_id and not isinstance(event, _OF_SUBAGENTS):
        return _Idle("nothing: a subagent's event")
    if isinstance(event, events.ReadingPart) and _beyond(event, surroundings):
        return _Idle("nothing: the reading has fewer parts")
    if isinstance(event, events.ReadingPart) and _is_told(event, surroundings, clock):
        return _Idle(compacting.ALREADY_TOLD)
    if isinstance(event, events.FileChanged) and not _may_declare(event, surroundings):
        return _Idle(f"nothing: {event.path} declares no workflow")
    return idle_in(event, surroundings)


def idle_in(event: events.Event, surroundings: project.Surroundings) -> _Idle | None:
    """Why no hook has anything to do here; *event* decides what is answered all the same."""
    configured = settings.load(None, surroundings.config_file).settings
    if not configured.enabled:
        return _Idle("nothing: switched off in the user's settings")
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    if worth_a_look(folders, configured.plans, surroundings.state_dir, event.envelope.session):
        return None
    # What declares a workflow later on is noticed all the same.
    first = isinstance(event, events.SessionStart)
    watch = watching.paths(folders, configured.plans) if first else []
    return _Idle("nothing: no workflow is declared or kept here", replies.Restored(watch=watch))


def not_ours(event: str) -> str:
    return f"nothing: {event} is not ours"


def _may_declare(event: events.FileChanged, surroundings: project.Surroundings) -> bool:
    plans = settings.load(None, surroundings.config_file).settings.plans
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    return watching.concerns(event.path, folders, plans)


def worth_a_look(
    folders: list[str], plans: tuple[str, ...], state_dir: str | None, session: str | None
) -> bool:
    """Whether there may be a workflow: some sign of one lies in *folders*, or *session* had one."""
    return signs.any_in(folders, plans) or sessions.known(state_dir, session)


def _is_told(event: events.ReadingPart, here: project.Surroundings, clock: Clock) -> bool:
    session, source = event.envelope.session, event.source
    return compacting.is_told(here.state_dir, session, here.takes, source, clock.now())


def _beyond(event: events.ReadingPart, surroundings: project.Surroundings) -> bool:
    if not surroundings.takes.parts:
        return True
    foreseen = forecast.parts(surroundings.state_dir, event.envelope.session)
    return foreseen is not None and event.part > foreseen


# Events that count although they carry the agent_id of a subagent.
_OF_SUBAGENTS = (events.Subagent, events.ToolDone)
