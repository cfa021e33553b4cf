"""Commands that end, undo, switch, resume, ignore or follow a workflow."""

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
from holdfast.text.plaintext import counted, one_line
from holdfast.workflows import sync
from holdfast.workflows.selection import find
from holdfast.workflows.sync import ProjectView


@click.command()
@workflow_name()
@click.option("--force", is_flag=True, help="Complete even if a gate has unticked boxes.")
@pass_app
def complete(app: App, name: str | None, force: bool) -> None:
    """Complete the workflow. It is no longer restored."""
    _end(app, name, "completed", force=force)


@click.command()
@workflow_name()
@pass_app
def abandon(app: App, name: str | None) -> None:
    """Abandon the workflow. It is no longer restored; `holdfast undo` brings it back."""
    _end(app, name, "abandoned")


def _end(app: App, name: str | None, how: str, *, force: bool = False) -> None:
    view = app.change(save_due=False)
    if name and (ended := _live_or_ended(view, name)[1]):
        raise lifecycle.already_ended(ledger.load(view.place.store).finished[ended])
    is_complete = how == "completed"
    workflow = app.to_change(view, name) if is_complete else app.general(view, name)
    if workflow.format == GENERAL:
        lines = FORMAT.complete(view.place, workflow, how, force=force)
    else:
        lines = format_of(workflow).complete(view.place, workflow)
    for line in lines:
        say(one_line(line, 400))
    sync.put_down(view, workflow)


@click.command()
@workflow_name(required=True, ended=True)
@pass_app
def forget(app: App, name: str) -> None:
    """Delete the record of NAME, which has ended. This cannot be undone."""
    view = app.change()
    live, ended = _live_or_ended(view, name)
    if not ended:
        found = f"{live.name!r} has not ended" if live else f"no workflow called {name!r} has ended"
        hint = (
            "End it with `holdfast complete` or `holdfast abandon`."
            if live
            else "List them: holdfast list --all"
        )
        raise IllegalMove(found, hint=hint)
    stone = lifecycle.forget(view.place, ended)
    say(f"Workflow forgotten: {stone.name}, {stone.how} on {stone.at[:10]}.")


@click.command()
@workflow_name(ended=True)
@pass_app
def undo(app: App, name: str | None) -> None:
    """Undo the last change, or the last `complete`.

    A second undo restores the change.
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
    before = app.general(view, name)
    known, in_plan = lifecycle.undo(view.place, before.key)
    state, was = known.state, before.briefing
    now = FORMAT.workflow(view.place, known).briefing
    moved = [in_plan] if in_plan else []
    if was.count != now.count:
        moved.append(f"phase {was.count or 'not known'} -> {now.count or 'not known'}")
    if was.status != now.status:
        moved.append(f"status {was.status} -> {now.status}".replace("_", " "))
    counts = (
        counted(len(state.key_reminders), "reminder"),
        counted(len(state.required_reading), "required file"),
        counted(len(state.context), "context value"),
    )
    detail = f"with {', '.join(counts)}; `holdfast undo` again takes this back"
    take_up(view, FORMAT.workflow(view.place, known), "set back", *moved, detail)


@click.command()
@workflow_name(required=True)
@pass_app
def switch(app: App, name: str) -> None:
    """Make NAME this session's workflow."""
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
    """Continue a workflow in this session and print its guidance.

    Also brings back a workflow that was ignored or has ended.
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
        hint = f"Start it again: holdfast {group} start" if group else ""
        if workflow.format == GENERAL:
            hint = "Reopen it: `holdfast phase set N`. Start again: `holdfast start NAME`."
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}", hint=hint)
    sync.take_up(view, workflow)
    plan = restore.reading_of(view, workflow, "now")
    say(restore.text(view, workflow, "now", plan))
    if not view.session:
        shown = "this was only shown; no session continues it"
        done = "the workflow is active again but belongs to no session" if brought_back else shown
        say(f"\nThis shell belongs to no known session, so {done}.")


def _live_or_ended(view: ProjectView, name: str) -> tuple[Workflow | None, str | None]:
    """What *name* means: a live workflow, or the key of one that has ended.

    A full name goes before a prefix, and a live workflow before an ended one.
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
    """Neither save nor restore a workflow until `holdfast resume`."""
    view = app.change(save_due=False)
    workflow = app.to_change(view, name)
    ledger.ignore(view.place.store, workflow.key, workflow.name, ignored=True)
    sync.put_down(view, workflow)
    say(f"Workflow ignored: {workflow.name}. To resume it: holdfast resume {workflow.name!r}")


@click.command()
@click.argument("path", shell_complete=complete_path)
@pass_app
def follow(app: App, path: str) -> None:
    """Follow the plan at PATH in every session, whatever its status.

    The project remembers this; the file is not changed.
    """
    view = app.change(save_due=False)
    take_up(*start_following(app, view, app.below_root(view, path)), "followed")


def start_following(app: App, view: ProjectView, name: str) -> tuple[ProjectView, Workflow]:
    """Record that the plan *name* is followed; the project as it is then, and the plan's workflow."""
    place = view.place
    source = files.look_at(place.store, name)
    if not (source.declaration or source.candidate or source.unbegun):
        raise IllegalMove(
            f"{name} has no workflow to follow: {source.reason}",
            hint=f"Find out why: {shlex.join(['holdfast', 'why', name])}",
        )
    key = matching.by_plan(name)
    ledger.ignore(place.store, key, name, ignored=False, plan=name)
    view = app.change()
    workflow = next((workflow for workflow in view.workflows if workflow.source == name), None)
    if workflow is None or workflow.standing != "active":
        standing = f"{workflow.standing}: {workflow.remark}" if workflow else "not there"
        command = ["resume", workflow.name] if workflow else ["why", name]
        next_step = "Take it up again" if workflow else "Find out why"
        raise IllegalMove(
            f"{name} is now followed, but its workflow is {standing}",
            hint=f"{next_step}: {one_line(shlex.join(['holdfast', *command]))}",
        )
    return view, workflow


@click.command()
@click.argument("path", shell_complete=complete_path)
@pass_app
def unfollow(app: App, path: str) -> None:
    """Stop restoring and mentioning the plan at PATH, in every session.

    `holdfast follow` reverses this. The file is not changed.
    """
    view = app.change(save_due=False)
    name = app.below_root(view, path)
    workflow = next((workflow for workflow in view.workflows if workflow.source == name), None)
    key, called = matching.by_plan(name), workflow.name if workflow else name
    record = ledger.load(view.place.store)
    suggested = any(plan.path == name for plan in view.candidates)
    if not (workflow or suggested or name in record.followed or key in record.ignored):
        raise IllegalMove(
            f"{name} is not followed, so nothing was changed",
            hint=f"What is understood of it: {shlex.join(['holdfast', 'why', name])}",
        )
    ledger.ignore(view.place.store, key, called, ignored=True, plan=name)
    again = f"Follow it again: {shlex.join(['holdfast', 'follow', name])}"
    if workflow:
        sync.put_down(view, workflow)
        again = f"To resume it: holdfast resume {workflow.name!r}"
    say(f"No longer followed: {name}. {again}")
