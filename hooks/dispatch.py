"""The only stdin and stdout of a hook: bytes to event, event to handler, reply to bytes."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from holdfast import forecast, guard, hooklog, project, sessions, settings, watching
from holdfast.clock import Clock
from holdfast.formats import signs
from holdfast.wire import events, replies

_CHUNK = 1024 * 1024
_DRAINED = 256 * _CHUNK


def read_stdin() -> bytes:
    """All of stdin up to one byte over the limit; the rest is read and dropped.

    Leaving it unread would break the client's pipe.
    """
    kept: list[bytes] = []
    size = dropped = 0
    while sys.stdin is not None and (chunk := sys.stdin.buffer.read(_CHUNK)):
        room = events.LARGEST + 1 - size
        kept.append(chunk[:room])
        size += len(kept[-1])
        dropped += len(chunk) - len(kept[-1])
        if dropped > _DRAINED:
            break
    return b"".join(kept)


def write(outcome: replies.Outcome) -> int:
    """Print *outcome* as UTF-8 bytes, whatever the code page, and return the exit code."""
    try:
        if outcome.stdout and sys.stdout is not None:
            sys.stdout.buffer.write(outcome.stdout)
            sys.stdout.buffer.flush()
        if outcome.stderr and sys.stderr is not None:
            sys.stderr.buffer.write(outcome.stderr.encode("utf-8", "replace") + b"\n")
            sys.stderr.buffer.flush()
    except OSError:  # the client went away; the state is saved, and that is what counts
        os._exit(outcome.code)
    return outcome.code


def answer(
    event: events.Event, surroundings: project.Surroundings, clock: Clock, entry: hooklog.Entry
) -> replies.Outcome:
    """The reply to *event*, with what was decided noted in *entry*."""
    envelope = event.envelope
    here = surroundings._replace(cwd=envelope.cwd or surroundings.cwd)
    entry.root = project.root_for_new(here.cwd, here.client_project)
    entry.quiet = isinstance(event, _FREQUENT)
    idle = _nothing_to_do(event, here)
    if idle:
        entry.decided = idle.why
        return idle.reply.outcome()
    # Answers that were prepared beforehand will be looked up here, before the handlers and all
    # that they import are loaded.
    from holdfast.handlers import handler

    return handler(event)(event, here, clock, entry).outcome()


# What comes with every tool call or twelve at a time; logged only when it was told something.
_FREQUENT = (
    events.ReadingPart,
    events.FileChanged,
    events.PreToolUse,
    events.ToolDone,
    events.Task,
    events.Subagent,
)


class _Idle(NamedTuple):
    why: str
    reply: replies.Reply = replies.Nothing()


def _nothing_to_do(event: events.Event, surroundings: project.Surroundings) -> _Idle | None:
    """Why there is nothing to do, found out cheaply; None when a handler has to look."""
    envelope = event.envelope
    if isinstance(event, events.Other):
        return _Idle(f"nothing: {envelope.name} is not ours")
    if isinstance(event, events.PreToolUse) and guard.files_meant(event.path, surroundings):
        return None
    if envelope.agent_id and not isinstance(event, _OF_SUBAGENTS):
        return _Idle("nothing: a subagent's event")
    configured = settings.load(None, surroundings.config_file).settings
    if not configured.enabled:
        return _Idle("nothing: switched off in the user's settings")
    if isinstance(event, events.ReadingPart) and _beyond(event, surroundings):
        return _Idle("nothing: the reading has fewer parts")
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    changed = event.path if isinstance(event, events.FileChanged) else None
    if changed and not watching.concerns(changed, folders, configured.plans):
        return _Idle(f"nothing: {changed} declares no workflow")
    if worth_a_look(folders, configured.plans, surroundings.state_dir, envelope.session):
        return None
    # What declares a workflow later on is noticed all the same.
    first = isinstance(event, events.SessionStart)
    watch = watching.paths(folders, configured.plans) if first else []
    return _Idle("nothing: no workflow is declared or kept here", replies.Restored(watch=watch))


def worth_a_look(
    folders: list[str], plans: tuple[str, ...], state_dir: str | None, session: str | None
) -> bool:
    """Whether there may be a workflow: some sign of one lies in *folders*, or *session* had one."""
    return signs.any_in(folders, plans) or sessions.known(state_dir, session)


def _beyond(event: events.ReadingPart, surroundings: project.Surroundings) -> bool:
    foreseen = forecast.parts(surroundings.state_dir, event.envelope.session)
    return foreseen is not None and event.part > foreseen


# Events that count although they carry the agent_id of a subagent.
_OF_SUBAGENTS = (events.Subagent, events.ToolDone)
