"""The group, and what each of its commands needs: which workflow is meant, and how to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.cli.app import App, dump, say_aside, tell
from holdfast.errors import NoSuchWorkflow
from holdfast.formats.base import Place, Workflow
from holdfast.formats.pipeline import files, lifecycle, telling
from holdfast.formats.pipeline.format import Pipeline
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced


@click.group()
def pipeline() -> None:
    """Take generation, planning and defined workflows through their steps, in workspace/.

    With --json, each command answers as the tool of the same purpose does.
    """


def change(app: App, *, save: bool = True, stay: bool = True) -> Synced:
    """As `App.change`; what a command was interrupted in is finished first."""
    synced = app.change(save=save, stay=stay)
    for line in lifecycle.finish(synced.place):
        say_aside(line)
    return synced


def meant(app: App, synced: Synced, name: str | None) -> str:
    """The id of the workflow called *name*, else of this session's."""
    if name and _is_id(synced, name):
        return name
    workflow = app.meant(synced, name, Pipeline.name)
    return workflow.handle or workflow.name


def _is_id(synced: Synced, name: str) -> bool:
    """Also of one that was over long ago, which a list of workflows does not tell."""
    try:
        return bool(files.find(synced.place.store, name))
    except NoSuchWorkflow:
        return False


def workflow_now(place: Place, workflow_id: str) -> Workflow:
    return telling.workflow_of(files.find(place.store, workflow_id), place)


def answer(
    app: App,
    name: str | None,
    verb: str,
    operation: Callable[[Place, str], dict[str, Any]],
    *,
    as_json: bool,
) -> None:
    """Do *operation* on the workflow that is meant; say where it stands, or print the answer."""
    synced = change(app)
    workflow_id = meant(app, synced, name)
    answered = operation(synced.place, workflow_id)
    tell_now(synced, workflow_id, verb, answered if as_json else None)


def tell_now(
    synced: Synced, workflow_id: str, verb: str, answered: dict[str, Any] | None, *details: str
) -> None:
    """Say where it stands now, or print what is *answered*; this session has it from now on."""
    workflow = workflow_now(synced.place, workflow_id)
    if answered is None:
        tell(synced, workflow, verb, *details)
        return
    synced.take(workflow)
    synced.observe(workflow, COMMAND_WAIT)
    dump(answered)
