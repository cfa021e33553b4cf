"""What agents and people do to a run, each under the lock and saved whole.

`change` reads inside the lock, makes one move, looks at the limits, and writes the state. A state
that cannot be read is set aside, and what recovery found in its place is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from holdfast import together
from holdfast.errors import NoSuchWorkflow, StateUnreadable
from holdfast.formats.base import Place
from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import bounds, files, recovery
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.moving import stamp
from holdfast.store import COMMAND_WAIT

P = ParamSpec("P")
NAME = "orchestrator"  # of what is unfinished, see together


@dataclass(frozen=True)
class Changed:
    """A run after a move."""

    held: Held
    lines: tuple[str, ...] = ()  # what was brought to an end or recovered by the way


def change(
    place: Place,
    move: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> Changed:
    """Make *move* on the run as it is now: change(place, start_task, "2.1")."""
    with place.store.lock(COMMAND_WAIT):
        lines = settle(place)
        held = changeable(place)
        after = move(held.state, stamp(place.now), *arguments, **named)
        return Changed(put(place, held, after), (*lines, *held.problems[:1]))


def settle(place: Place) -> list[str]:
    """Bring to an end what somebody was killed in; to be called inside the lock."""
    return together.finish(place.store, NAME, files.is_ours, file_stamp(place))


def changeable(place: Place) -> Held:
    """The run, when it can be worked on; to be called inside the lock."""
    held = recovery.look(place.store)
    if held is None or (isinstance(held, Unusable) and not held.is_ours):
        reason = f"{files.STATE} is {held.reason}" if held else f"there is no {files.STATE} here"
        raise NoSuchWorkflow(reason, hint="Begin a run: holdfast orchestrate start TASK_DOC")
    if isinstance(held, Unusable):
        raise StateUnreadable(held.path, held.reason)
    if held.problems and not held.broken:
        raise StateUnreadable(held.path, held.problems[0])
    return held


def put(place: Place, held: Held | None, after: State) -> Held:
    """Write *after*, with the limits looked at, in the place of *held*; inside the lock."""
    store, path = place.store, place.root / files.STATE
    encoded = bounds.updated(after, place.now).encode()
    written = files.KIND.parse(encoded)
    if held and held.broken:
        store.set_aside(path, file_stamp(place), move=True)
    store.write(path, encoded)
    store.keep(path, encoded, held.raw if held else None)
    return Held(path, encoded, place.now.timestamp(), written)


def file_stamp(place: Place) -> str:
    """The time as part of a file's name."""
    return place.now.strftime("%Y%m%d_%H%M%S")
