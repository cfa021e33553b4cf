"""Commands that say whether a workflow is worked on: ended, set back, taken up, left alone."""

from __future__ import annotations

import shlex

import click

from holdfast.cli.app import App, complete_path, pass_app, say, take_up, workflow_name
from holdfast.clock import iso
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.formats.canonical import files, lifecycle, matching
from holdfast.formats.canonical.format import FORMAT
from holdfast.formats.engine.workflow import Workflow
from holdfast.formats.registry import GENERAL, format_of
from holdfast.records import ledger
from holdfast.restoring import restore
from holdfast.restoring.guidance import for_person
from holdfast.text.plaintext import counted
from holdfast.workflows import sync
from holdfast.workflows.selection import find
from holdfast.workflows.sync import ProjectView


@click.command()
@workflow_name()
@click.option("--force", is_flag=True, help="Also before a gate whose boxes are open.")
@pass_app
def complete(app: App, name: str | None, force: bool) -> None:
    """End the workflow, as its format asks for, so that it stays ended."""
    _end(app, name, "completed", force=force)


@click.command()
@workflow_name()
@pass_app
def abandon(app: App, name: str | None) -> None:
    """Give the workflow up. It stays ended, like a completed one; `holdfast undo` brings it back."""
    _end(app, name, "abandoned")


def _end(app: App, name: str | None, how: str, *, force: bool = False) -> None:
    view = app.change(save=False)
    if name and (ended := _live_or_ended(view, name)[1]):
        raise lifecycle.already_ended(ledger.load(view.place.store).finished[ended])
    is_complete = how == "completed"
    workflow = app.to_change(view, name) if is_complete else app.general(view, name)
    if workflow.format == GENERAL:
        lines = FORMAT.complete(view.place, workflow, how, force=force)
    else:
        lines = format_of(workflow).complete(view.place, workflow)
    for line in lines:
        say(line)
    sync.put_down(view, workflow)


@click.command()
@workflow_name(required=True, ended=True)
@pass_app
def forget(app: App, name: str) -> None:
    """Delete what is kept of NAME, which has ended. Nothing brings it back after that."""
    view = app.change()
    live, ended = _live_or_ended(view, name)
    if not ended:
        found = f"{live.name!r} has not ended" if live else f"no workflow called {name!r} has ended"
        hint = (
            "End it with `holdfast complete` or `holdfast abandon`."
            if live
            else "See holdfast list --all."
        )
        raise IllegalMove(found, hint=hint)
    stone = lifecycle.forget(view.place, ended)
    say(f"Workflow forgotten: {stone.name}, {stone.how} on {stone.at[:10]}.")


@click.command()
@workflow_name(ended=True)
@pass_app
def undo(app: App, name: str | None) -> None:
    """Go back to the state before the last change, or take back the last `complete`.

    Once more brings the change back.
    """
    view = app.change()
    if name:
        ended = _live_or_ended(view, name)[1]
    else:
        changes = (iso(workflow.changed_at) for workflow in view.workflows if workflow.kept)
        ended = lifecycle.ended_since(view.place, max(changes, default=""))
    if ended:
        known = lifecycle.revive(view.place, ended)
        take_up(view, FORMAT.workflow(view.place, known), "brought back")
        return
    known = lifecycle.undo(view.place, app.general(view, name).key)
    state = known.state
    counts = (
        counted(len(state.key_reminders), "reminder"),
        counted(len(state.required_reading), "required file"),
        counted(len(state.context), "context value"),
    )
    detail = f"with {', '.join(counts)}; a second `holdfast undo` brings the change back"
    take_up(view, FORMAT.workflow(view.place, known), "set back", detail)


@click.command()
@workflow_name(required=True)
@pass_app
def switch(app: App, name: str) -> None:
    """Make NAME the workflow of this session."""
    app.this_session("switch", "switch", name)
    view = app.change()
    workflow = app.to_change(view, name)
    if workflow.standing not in {"active", "stale"}:
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}")
    if workflow.standing == "stale":
        format_of(workflow).touch(view.place, workflow)
    sync.take_up(view, workflow)
    say(for_person(workflow.briefing, "of this session"))


@click.command()
@workflow_name(ended=True)
@pass_app
def resume(app: App, name: str | None) -> None:
    """Continue a workflow in this session and print where it stands.

    Also brings back one that was ignored or has ended.
    """
    view, brought_back = app.change(), True
    live, ended = _live_or_ended(view, name) if name else (app.to_change(view, None), None)
    if ended:
        lifecycle.revive(view.place, ended)
    elif name and live and live.standing == "ignored":
        ledger.ignore(view.place.store, live.key, live.name, ignored=False)
    elif name and live and live.standing == "stale":
        format_of(live).touch(view.place, live)
    else:
        brought_back = False
    if brought_back:
        view = app.change()
    key = ended or (live.key if live else "")
    workflow = next((workflow for workflow in view.workflows if workflow.key == key), None)
    workflow = workflow or app.to_change(view, name)
    if workflow.standing != "active":
        group = format_of(workflow).group
        hint = f"`holdfast {group} start` begins it again." if group else ""
        if workflow.format == GENERAL:
            hint = "`holdfast phase set N` goes on with it, `holdfast start NAME` begins it again."
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}", hint=hint)
    sync.take_up(view, workflow)
    plan = restore.reading_of(view, workflow, "now")
    say(restore.text(view, workflow, "now", plan))
    if not view.session:
        shown = "this was shown and not taken up"
        done = "it was brought back, but no session has it" if brought_back else shown
        say(f"\nNo session is known here, so {done}.")


def _live_or_ended(view: ProjectView, name: str) -> tuple[Workflow | None, str | None]:
    """What *name* means: a workflow that is kept or declared, or the key of one that has ended.

    A whole name goes before the beginning of one, and a live workflow before an ended one.
    """
    live = [
        workflow
        for workflow in view.workflows
        if workflow.kept or workflow.standing in {"active", "ignored"}
    ]
    try:
        found = find(live, name)
    except NoSuchWorkflow:
        found = None
    if found and found.name.casefold() == name.casefold():
        return found, None
    ended = lifecycle.ended_called(view.place, name, whole=found is not None)
    return (None, ended) if ended else (found, None)


@click.command()
@workflow_name()
@pass_app
def ignore(app: App, name: str | None) -> None:
    """Ignore a workflow: neither save nor restore it until `holdfast resume`."""
    view = app.change(save=False)
    workflow = app.to_change(view, name)
    ledger.ignore(view.place.store, workflow.key, workflow.name, ignored=True)
    sync.put_down(view, workflow)
    say(f"Workflow ignored: {workflow.name}. To resume it: holdfast resume {workflow.name!r}")


@click.command()
@click.argument("path", shell_complete=complete_path)
@pass_app
def follow(app: App, path: str) -> None:
    """Follow the plan at PATH in every session, whatever it says of its status.

    That is remembered for the project; the file stays as it is.
    """
    view = app.change(save=False)
    place, name = view.place, app.below_root(view, path)
    source = files.look_at(place.store, name)
    said = source.declaration or (source.candidate and source.candidate.declaration)
    if said is None:
        raise IllegalMove(
            f"{name} has nothing to follow: {source.reason}",
            hint=f"See: {shlex.join(['holdfast', 'why', name])}",
        )
    key = matching.by_plan(name)
    ledger.follow(place.store, name, key, name, follows=True)
    view = app.change()
    workflow = next((workflow for workflow in view.workflows if workflow.source == name), None)
    if workflow is None or workflow.standing != "active":
        standing = f"{workflow.standing}: {workflow.remark}" if workflow else "not there"
        raise IllegalMove(f"{name} is followed from now on, but its workflow is {standing}")
    take_up(view, workflow, "followed")


@click.command()
@click.argument("path", shell_complete=complete_path)
@pass_app
def unfollow(app: App, path: str) -> None:
    """Leave the plan at PATH alone, in every session: it is neither restored nor mentioned any more.

    `holdfast follow` takes that back. The file stays as it is.
    """
    view = app.change(save=False)
    name = app.below_root(view, path)
    workflow = next((workflow for workflow in view.workflows if workflow.source == name), None)
    key, called = matching.by_plan(name), workflow.name if workflow else name
    ledger.follow(view.place.store, name, key, called, follows=False)
    again = f"To follow it: {shlex.join(['holdfast', 'follow', name])}"
    if workflow:
        sync.put_down(view, workflow)
        again = f"To resume it: holdfast resume {workflow.name!r}"
    say(f"Not followed any more: {name}. {again}")
