"""The group, and what each of its commands needs: which workflow is meant, and one move on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

import click

from holdfast.cli.app import App, read_again, tell
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place, Workflow
from holdfast.formats.skill import facts, files, lifecycle, telling
from holdfast.formats.skill.facts import Pushed
from holdfast.formats.skill.files import Held
from holdfast.formats.skill.format import Skill
from holdfast.formats.skill.model import State
from holdfast.formats.skill.pushed import is_pushed
from holdfast.formats.skill.standing import working
from holdfast.sync import Synced

P = ParamSpec("P")


@click.group()
def skill() -> None:
    """Keep the state of a skill such as /dev or /tdd in .claude/workflow-state."""


@dataclass(frozen=True)
class Seen:
    """One workflow as it lies there, with what is told along with it."""

    held: Held
    inner: Held | None  # the /tdd within a /dev
    pushed: Pushed | None

    @property
    def state(self) -> State:
        return self.held.state

    @property
    def inner_state(self) -> State | None:
        return self.inner.state if self.inner else None


def see(place: Place, workflow: Workflow) -> Seen:
    return next(see_all(place, [workflow]))


def see_all(place: Place, workflows: Sequence[Workflow]) -> Iterator[Seen]:
    """*workflows* as they lie there; however many they are, the files are read once."""
    found = files.look(place.store)
    busy = working(found, place)
    for each in workflows:
        held = found.find(each.key)
        if held is None:
            name, hint = repr(each.name), "See holdfast skill list."
            raise IllegalMove(f"{name} has gone meanwhile", hint=hint)
        yield _seen(place, held, busy)


def _seen(place: Place, held: Held, busy: Sequence[Held]) -> Seen:
    inner = facts.nested(held.state, [each.state for each in busy])
    within = next((each for each in busy if each.state is inner), None)
    asks = facts.pull_request_due(held.state)
    return Seen(held, within, is_pushed(place.root, held.state.workflow.branch) if asks else None)


def meant(app: App, synced: Synced, name: str | None) -> Workflow:
    return app.meant(synced, name, Skill.name)


def tell_now(synced: Synced, key: str, verb: str, *details: str) -> None:
    """Say where it stands now."""
    told = telling.workflows_of(files.look(synced.place.store), synced.place)
    tell(synced, read_again(told, key), verb, *details)


def move(
    app: App,
    name: str | None,
    verb: str,
    step: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> None:
    """Take *step* on the workflow that is meant."""
    _take(
        app, name, verb, lambda place, key: lifecycle.change(place, key, step, *arguments, **named)
    )


def ended_within(seen: Seen) -> list[str]:
    """That the /tdd which was seen within has ended since."""
    inner = seen.inner
    return [f"{inner.state.name!r} within has ended with it"] if inner and inner.is_gone else []


def move_cycle(
    app: App,
    name: str | None,
    verb: str,
    step: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> None:
    """The same with the /tdd within, where there is one."""
    _take(
        app,
        name,
        verb,
        lambda place, key: lifecycle.change(place, key, step, *arguments, **named),
        within=True,
    )


def _take(
    app: App,
    name: str | None,
    verb: str,
    change: Callable[[Place, str], object],
    *,
    within: bool = False,
) -> None:
    """Make *change* to the workflow that is meant, or to what is *within*; say where it stands."""
    synced = app.change()
    seen = see(synced.place, meant(app, synced, name))
    key = (seen.inner if within and seen.inner else seen.held).key
    change(synced.place, key)
    tell_now(synced, key, verb, *ended_within(seen))
