"""One room per event, and the table that says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from holdfast.clock import Clock
from holdfast.handlers import pre_compact, session_start
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.wire.replies import Reply

# Each handler takes its own event, with the surroundings as seen from the event's working
# directory; the table is keyed by the name that the event was parsed from.
Handler: TypeAlias = Callable[[Any, Surroundings, Clock, Entry], Reply]

HANDLERS: dict[str, Handler] = {
    "PreCompact": pre_compact.handle,
    "SessionStart": session_start.handle,
}
