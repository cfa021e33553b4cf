"""PreToolUse: the guard of state files, and the gate while required reading is still unopened.

The gate never traps: it says its word once, or denies a few times, and then lets the work go on. The
guard denies as often as it is asked, since what it denies can be done by a command.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast import delivery, guard, project, settings
from holdfast.clock import Clock
from holdfast.guard import Guarded
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import WRITES, PreToolUse
from holdfast.wire.replies import Denied, Nothing, Reminder, Reply

MOST_DENIALS = 3  # after one restore


def handle(event: PreToolUse, surroundings: Surroundings, _: Clock, entry: Entry) -> Reply:
    for state_file in guard.files_meant(event.path, surroundings):
        if _is_guarded(state_file, event, surroundings):
            return _keep_off(state_file, event, entry)
    if event.envelope.agent_id:  # what it was not sent, its caller has to read
        return Nothing()
    return _gate(event, surroundings, entry)


def _is_guarded(state_file: Guarded, event: PreToolUse, surroundings: Surroundings) -> bool:
    configured = settings.load(state_file.root, surroundings.config_file).settings
    if not configured.enabled or configured.guard == "off":
        return False
    return configured.guard == "all" or event.envelope.agent_id is not None


def _keep_off(state_file: Guarded, event: PreToolUse, entry: Entry) -> Reply:
    from holdfast import guidance  # noqa: PLC0415  # as below
    from holdfast.formats import registry  # noqa: PLC0415

    entry.root = state_file.root
    entry.decided, entry.quiet = f"denied {event.tool}: {state_file.path} is guarded", False
    commands = f"holdfast {registry.named(state_file.format).group}".rstrip()
    subagent = event.envelope.agent_id is not None
    return Denied(guidance.guarded(state_file.path, commands, subagent=subagent))


def is_idle(surroundings: Surroundings, session: str | None) -> bool:
    """Whether no change of any file would be told anything."""
    for folder in project.candidates(surroundings.cwd, surroundings.client_project):
        configured = settings.load(folder, surroundings.config_file).settings
        if configured.enabled and configured.guard != "off":
            return False
    return _asks(surroundings, session) is None


class _Asked(NamedTuple):
    """What is still to be opened, and how that is asked for."""

    due: delivery.Delivery
    left: list[str]
    gate: str


def _asks(surroundings: Surroundings, session: str | None) -> _Asked | None:
    """What the gate asks for, unless it has done so often enough."""
    due = delivery.recall(surroundings.state_dir, session)
    left = due.left() if due else []
    if due is None or not left:
        return None
    configured = settings.load(due.root, surroundings.config_file).settings
    if not configured.enabled or configured.gate == "off":
        return None
    said, most = (due.denied, MOST_DENIALS) if configured.gate == "block" else (due.reminded, 1)
    return _Asked(due, left, configured.gate) if said < most else None


def _gate(event: PreToolUse, surroundings: Surroundings, entry: Entry) -> Reply:
    state_dir, session = surroundings.state_dir, event.envelope.session
    asked = _asks(surroundings, session) if event.tool in WRITES else None
    if asked is None:
        return Nothing()
    due, left = asked.due, asked.left
    entry.root = due.root
    # Imported here: most calls end above, and they must cost next to nothing.
    from holdfast import guidance  # noqa: PLC0415
    from holdfast.plaintext import counted  # noqa: PLC0415

    unread = counted(len(left), "unread file")

    if asked.gate == "block":
        if delivery.turn(state_dir, session, "denied") > MOST_DENIALS:  # calls at the same moment
            return Nothing()
        entry.decided, entry.quiet = f"denied {event.tool}: {unread}", False
        return Denied(guidance.denial(due.name, left))
    if delivery.turn(state_dir, session, "reminded") > 1:
        return Nothing()
    entry.decided, entry.quiet = f"reminded of {unread}", False
    return Reminder(guidance.reminder(due.name, left))
