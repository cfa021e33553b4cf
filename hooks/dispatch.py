"""The only stdin and stdout of a hook: bytes to event, event to handler, reply to bytes."""

from __future__ import annotations

import os
import sys

from holdfast import hooklog, project, sessions, settings
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
    idle = _nothing_to_do(event, here)
    if idle:
        entry.decided = idle
        return replies.Outcome()
    # Answers that were prepared beforehand will be looked up here, before the handlers and all
    # that they import are loaded.
    from holdfast.handlers import HANDLERS

    return HANDLERS[envelope.name](event, here, clock, entry).outcome()


def _nothing_to_do(event: events.Event, surroundings: project.Surroundings) -> str | None:
    """Why there is nothing to do, found out cheaply; None when a handler has to look."""
    if isinstance(event, events.Other):
        return f"nothing: {event.envelope.name} is not ours"
    if event.envelope.agent_id:
        return "nothing: a subagent's event"
    configured = settings.load(None, surroundings.config_file)
    if not configured.settings.enabled:
        return "nothing: switched off in the user's settings"
    folders = project.candidates(surroundings.cwd, surroundings.client_project)
    if signs.any_in(folders, configured.settings.plans):
        return None
    if sessions.known(surroundings.state_dir, event.envelope.session):
        return None
    return "nothing: no workflow is declared or kept here"
