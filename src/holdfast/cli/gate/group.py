"""The group, and what each of its commands needs: which feature is meant, who asks, and one move."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast import together
from holdfast.cli.app import App, read_again, say, tell
from holdfast.cli.gate import commits
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Place, Workflow
from holdfast.formats.gated import files, lifecycle, reconcile, telling
from holdfast.formats.gated.format import Gated
from holdfast.formats.gated.lifecycle import Changed, Review, Step
from holdfast.plaintext import one_line
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced

ROLES = ("orchestrator", "creator", "reviewer")
_ROLE = f"{__name__}.role"


@click.group()
@click.option("--role", type=click.Choice(ROLES), help="Who asks; creator and reviewer only read.")
@click.pass_context
def gate(context: click.Context, role: str | None) -> None:
    """Lead a feature through five phases with reviews, kept in workflow/<slug>/."""
    context.meta[_ROLE] = role


def refuse_readers() -> None:
    """Creators and reviewers report; the orchestrator writes."""
    role = click.get_current_context().meta[_ROLE]
    if role in {"creator", "reviewer"}:
        raise IllegalMove(
            f"a {role} does not change the state",
            hint="Report the outcome to the orchestrator, who gives this command.",
        )


def writing(app: App, *, stay: bool = True) -> Synced:
    """The project, for a command that will write."""
    refuse_readers()
    # Not saved first, which would bring to its end in silence what was interrupted.
    synced = app.change(save=False, stay=stay)
    if not together.is_unfinished(synced.place.store, files.UNFINISHED):
        return synced
    # Before anything is decided: a feature whose start was interrupted is no workflow until then.
    with synced.place.store.lock(COMMAND_WAIT):
        for line in lifecycle.finish(synced.place):
            say(one_line(line, 400))
    return app.change(save=False, stay=stay)


def meant(app: App, synced: Synced, name: str | None) -> Workflow:
    """The feature that is meant; one whose workflow-state.json cannot be read is refused with the reason."""
    try:
        return app.meant(synced, name, Gated.name)
    except NoSuchWorkflow:
        for run in files.look(synced.place.store).lost:
            if name in {None, run.slug}:
                reconcile.readable_state(run)
        raise


def folder_meant(app: App, synced: Synced, name: str | None) -> Path:
    """Where the feature that is meant lies, also one whose workflow-state.json cannot be read."""
    lost = [run for run in files.look(synced.place.store).lost if name in {None, run.slug}]
    if lost and (name or not _active(synced)):
        return lost[0].folder
    return folder_of(synced.place, app.meant(synced, name, Gated.name).key)


def _active(synced: Synced) -> bool:
    return any(each.format == Gated.name and each.standing == "active" for each in synced.workflows)


def folder_of(place: Place, key: str) -> Path:
    return place.root / files.FOLDER / files.slug_of(key)


def tell_now(synced: Synced, key: str, verb: str, *details: str) -> None:
    """Say where it stands now."""
    told = telling.workflows_of(files.look(synced.place.store), synced.place)
    tell(synced, read_again(told, key), verb, *details)


def move(app: App, name: str | None, verb: str, step: Step, review: Review | None = None) -> None:
    """Take *step* on the feature that is meant, and say where it stands."""
    synced = writing(app)
    key = meant(app, synced, name).key
    commit = commits.wanted(synced.place, files.slug_of(key))
    changed = lifecycle.change(synced.place, key, step, review)
    tell_now(synced, key, verb, *details(changed))
    commits.make(synced.place, commit, changed.run)


def details(changed: Changed) -> list[str]:
    """What a command did beside its move."""
    return [*changed.lines, *([f"the review is {changed.review}"] if changed.review else [])]
