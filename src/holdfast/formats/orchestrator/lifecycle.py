"""What agents and people do to a run, each under the lock and saved whole.

`change` reads inside the lock, makes one move, looks at the limits, and writes the state. A state
that cannot be read is set aside, and what recovery found in its place is used. Whatever writes the
state goes through `put`: so the log of learnings comes before it, and signs of life are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Concatenate, ParamSpec

from holdfast import together
from holdfast.errors import IllegalMove, NoSuchWorkflow, StateOutOfReach, StateUnreadable
from holdfast.formats import holding
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.holding import Unusable
from holdfast.formats.orchestrator import agents, bounds, files, learnings, recovery, runs
from holdfast.formats.orchestrator.agents import Seen
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.model import State
from holdfast.store import COMMAND_WAIT
from holdfast.together import Change

P = ParamSpec("P")


@dataclass(frozen=True)
class Changed:
    """A run after a move."""

    held: Held
    lines: tuple[str, ...] = ()  # what was brought to an end or recovered by the way


def start(place: Place, first: State) -> Changed:
    """Begin a run with its *first* state; one that is there does not give way."""
    with place.store.lock(COMMAND_WAIT):
        lines = settle(place)
        there = recovery.look(place.store)
        _refuse_taken(there)
        aside = set_aside(place) if isinstance(there, Unusable) else None
        kept = (f"what lay there is kept in {place.store.relative(aside)}",) if aside else ()
        return Changed(put(place, None, first), (*lines, *kept))


def _refuse_taken(there: Held | Unusable | None) -> None:
    if isinstance(there, Unusable) and not there.is_ours:
        raise IllegalMove(f"{files.STATE} is {there.reason}", hint="It is left alone.")
    if isinstance(there, Unusable) and there.kind == "wrong":
        raise StateUnreadable(there.path, there.reason)
    if isinstance(there, Held):
        name, status = there.state.name, there.state.orchestrator.status
        over = "Put it away first: holdfast orchestrate archive, or start --archive"
        going = (
            "Go on with it: holdfast orchestrate status. Or give it up: fail REASON, then archive"
        )
        raise IllegalMove(
            f"{files.STATE} holds {name!r}, which is {status}",
            hint=f"{over if there.state.over else going}.",
        )


def touch(place: Place) -> None:
    """Somebody goes on with the run, as it stands."""
    change(place, runs.take_up)


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
        return Changed(put(place, held, after), (*lines, *recovered(place, held)))


def beat(place: Place, task: str | None, kind: str | None) -> Seen:
    """An agent of the run lives. The state stays as it is."""
    with place.store.lock(COMMAND_WAIT):
        settle(place)
        state = changeable(place).state
        agent = agents.one_of(state, task, kind)
        agents.beat(place.store, state, [agent], place.now)
        return Seen(agent, place.now)


def reap(place: Place, silent: timedelta = agents.SILENT) -> list[Seen]:
    """Remove the agents that gave no sign of life for so long; returns them."""
    with place.store.lock(COMMAND_WAIT):
        settle(place)
        held = changeable(place)
        seen = agents.seen(place.store, held.state)
        gone = [each for each in seen if each.is_stale(place.now, silent)]
        if gone:
            put(place, held, agents.without(held.state, [each.agent for each in gone]))
        return gone


def settle(place: Place) -> list[str]:
    """Bring to an end what somebody was killed in; to be called inside the lock."""
    return together.finish(place.store, files.UNFINISHED, files.is_ours, place.stamp)


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


def recovered(place: Place, held: Held) -> list[str]:
    """That something else than the state file is used, in one line."""
    return holding.unreadable(place.store, [held], ())


def put(
    place: Place,
    held: Held | None,
    after: State,
    beside: Callable[[bytes], Sequence[Change]] = lambda _: (),
) -> Held:
    """Write *after*, with the limits looked at, in the place of *held*; inside the lock.

    *beside* tells what else changes with the state, which it is given as it is written.
    """
    store, path = place.store, place.root / files.STATE
    after = bounds.updated(learnings.settled(store, after), place.now)
    encoded = after.encode()
    written = files.KIND.parse(encoded)
    if held and held.broken:
        set_aside(place)
    together.write(store, files.UNFINISHED, [*beside(encoded), Change(path, encoded)])
    store.keep(path, encoded, held.raw if held else None)
    learnings.taken(store, after)
    agents.note(store, held.state if held else None, after, place.now)
    return Held(path, encoded, place.now.timestamp(), written)


def set_aside(place: Place) -> Path:
    """Keep what lies in the state's place, which is about to be written."""
    path, when = place.root / files.STATE, place.stamp
    try:
        # It stays until the next one is whole: a run without a file would be no run.
        return place.store.set_aside(path, when, move=False)
    except StateOutOfReach:
        raise
    except StateUnreadable:
        return place.store.set_aside(path, when, move=True)
