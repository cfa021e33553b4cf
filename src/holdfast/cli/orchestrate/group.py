"""The group, and what each of its commands needs: the run that is meant, and one move on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

import click

from holdfast.cli.app import App, tell
from holdfast.formats.base import Workflow
from holdfast.formats.orchestrator import bounds, lifecycle, remarks
from holdfast.formats.orchestrator.files import Held
from holdfast.formats.orchestrator.format import Orchestrator
from holdfast.formats.orchestrator.lifecycle import Changed
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.telling import workflow_of
from holdfast.sync import Synced

P = ParamSpec("P")


@click.group()
def orchestrate() -> None:
    """Keep the run of an orchestrator in .claude/agent-state.json.

    Where a limit of the run is reached, every command that changes it says STOP and exits with 3,
    until the limit is extended or the run is paused or given up.
    """


def meant(app: App, synced: Synced, name: str | None) -> Workflow:
    """The run, which is called *name* where that is given."""
    if not any(each.format == Orchestrator.name for each in synced.workflows):
        lifecycle.changeable(synced.place)  # says what is there instead
    return app.meant(synced, name, Orchestrator.name)


def see(app: App, synced: Synced, name: str | None) -> Held:
    """The run as it lies there, for commands that only look."""
    meant(app, synced, name)
    return lifecycle.changeable(synced.place)


def move(
    app: App,
    name: str | None,
    verb: str,
    step: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> None:
    """Take *step* on the run that is meant, and say where it stands."""
    synced = app.change()
    meant(app, synced, name)
    tell_now(synced, lifecycle.change(synced.place, step, *arguments, **named), verb)


def tell_now(synced: Synced, changed: Changed, verb: str, *details: str) -> None:
    """Say where the run stands now; then, where a limit is reached, that it has to stop."""
    workflow = workflow_of(changed.held, synced.place)
    tell(synced, workflow, verb, *changed.lines, *details)
    signal_stop(synced, changed.held, "The update is saved.")


def signal_stop(synced: Synced, held: Held, remark: str = "") -> None:
    """Exit with the code for it where a limit is reached, and nobody has paused the run for that."""
    reached = bounds.reached(held.state, synced.place.now)
    if reached and not remarks.paused_since(held.state):
        raise bounds.LimitReached(reached, remark)
