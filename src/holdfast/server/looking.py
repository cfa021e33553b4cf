"""The project as it is at the moment of a call, and how a tool is run and fails."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import NamedTuple, ParamSpec, TypeVar

import anyio.to_thread

from holdfast import naming, sessions, sync
from holdfast.clock import Clock
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Place, Workflow
from holdfast.plaintext import clean
from holdfast.project import Surroundings
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced

_SAVER = "holdfast mcp"

P = ParamSpec("P")
T = TypeVar("T")


class Listed(NamedTuple):
    """A resource, as a list shows it."""

    uri: str
    name: str
    description: str


class Look:
    """Made once a server; every call looks again, settings included."""

    def __init__(self, surroundings: Surroundings, clock: Clock) -> None:
        self.surroundings = surroundings
        self.clock = clock

    def now(self) -> Synced:
        """All workflows, without writing anything."""
        self.place()
        return self._run(None)

    def to_change(self) -> Synced:
        """The same for a tool that will write; what is due is saved first."""
        self.place()
        synced = self._run(COMMAND_WAIT)
        if synced.failure:
            raise synced.failure
        return synced

    def place(self) -> Place:
        """Where workflows are kept, for what needs no more than that."""
        here = self.surroundings
        claim = sessions.recall(here.state_dir, here.session)
        place = sync.place_for(here.cwd, claim, here, self.clock, _SAVER)
        if here.disabled or not place.settings.enabled:
            raise IllegalMove(
                "Holdfast is switched off here",
                hint="HOLDFAST_DISABLE is set, or enabled = false stands in the settings.",
            )
        return place

    def _run(self, wait: float | None) -> Synced:
        here = self.surroundings
        return sync.run(
            here.cwd,
            here.session,
            here,
            self.clock,
            wait=wait,
            saver=_SAVER,
            thorough=True,
        )

    def meant(self, synced: Synced, name: str | None) -> Workflow:
        """The workflow called *name*, else the one that this session gets."""
        if name:
            return naming.find(synced.workflows, name)
        choice = synced.choice()
        if choice.chosen is None:
            raise NoSuchWorkflow(
                f"{choice.why} in {synced.root}",
                hint="`holdfast start NAME` begins one; workflow_list has those that are not active.",
            )
        return choice.chosen


def in_thread(
    failure: Callable[[HoldfastError], Exception], run: Callable[P, T]
) -> Callable[P, Awaitable[T]]:
    """*run* beside the loop, since it reads files and waits for locks; its errors as *failure*.

    It is abandoned when the client goes: a write is whole or absent, whoever waits for it.
    """

    @functools.wraps(run)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        work = functools.partial(run, *args, **kwargs)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except HoldfastError as error:
            raise failure(error) from error

    return call


def told(error: HoldfastError) -> str:
    """A cause and a next step, for an agent."""
    return clean(f"{error.cause}\n{error.hint}" if error.hint else error.cause)
