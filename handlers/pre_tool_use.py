"""PreToolUse: the gate before the first change, while required reading is still unopened.

It never traps: it says its word once, or denies a few times, and then lets the work go on.
"""

from __future__ import annotations

from holdfast import delivery, settings
from holdfast.clock import Clock
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.events import WRITES, PreToolUse
from holdfast.wire.replies import Denied, Nothing, Reminder, Reply

MOST_DENIALS = 3  # after one restore


def handle(event: PreToolUse, surroundings: Surroundings, _: Clock, entry: Entry) -> Reply:
    state_dir, session = surroundings.state_dir, event.envelope.session
    due = delivery.recall(state_dir, session) if event.tool in WRITES else None
    left = due.left() if due else []
    if due is None or not left:
        return Nothing()
    configured = settings.load(due.root, surroundings.config_file).settings
    entry.root = due.root
    if not configured.enabled or configured.gate == "off":
        return Nothing()
    # Imported here: most calls end above, and they must cost next to nothing.
    from holdfast import guidance  # noqa: PLC0415
    from holdfast.plaintext import counted  # noqa: PLC0415

    unread = counted(len(left), "unread file")

    if configured.gate == "block" and due.denied < MOST_DENIALS:
        if delivery.turn(state_dir, session, "denied") > MOST_DENIALS:  # calls at the same moment
            return Nothing()
        entry.decided, entry.quiet = f"denied {event.tool}: {unread}", False
        return Denied(guidance.denial(due.name, left))
    if configured.gate == "remind" and not due.reminded:
        if delivery.turn(state_dir, session, "reminded") > 1:
            return Nothing()
        entry.decided, entry.quiet = f"reminded of {unread}", False
        return Reminder(guidance.reminder(due.name, left))
    return Nothing()
