"""Commands that say whether a workflow is worked on: ended, set back, taken up, left alone."""

from __future__ import annotations

import click

from holdfast import delivery, ledger, restore
from holdfast.cli.app import App, pass_app, say, tell
from holdfast.cli.naming import name_argument
from holdfast.clock import iso
from holdfast.errors import IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Workflow
from holdfast.formats.canonical import lifecycle
from holdfast.formats.canonical.view import Known, workflow_of
from holdfast.formats.registry import format_of
from holdfast.guidance import for_person
from holdfast.naming import find
from holdfast.plaintext import counted
from holdfast.sync import Synced


@click.command()
@name_argument()
@pass_app
def complete(app: App, name: str | None) -> None:
    """End the workflow, as its format asks for, so that it stays ended."""
    synced = app.change(save=False)
    if name and (ended := _live_or_ended(synced, name)[1]):
        raise lifecycle.already_ended(ledger.load(synced.place.store).finished[ended])
    workflow = app.meant(synced, name)
    for line in format_of(workflow).complete(synced.place, workflow):
        say(line)


@click.command()
@name_argument(ended=True)
@pass_app
def undo(app: App, name: str | None) -> None:
    """Go back to the state before the last change, or take back the last `complete`.

    Once more brings the change back.
    """
    synced = app.change()
    if name:
        ended = _live_or_ended(synced, name)[1]
    else:
        changes = (iso(each.changed_at) for each in synced.workflows if each.kept)
        ended = lifecycle.ended_since(synced.place, max(changes, default=""))
    if ended:
        known, verb, details = lifecycle.revive(synced.place, ended), "brought back", []
    else:
        known, verb = lifecycle.undo(synced.place, app.general(synced, name).key), "set back"
        details = [f"{_content(known)}; a second `holdfast undo` brings the change back"]
    tell(synced, workflow_of(known, synced.place), verb, *details)


def _content(known: Known) -> str:
    """What a state holds now, beside its phase."""
    state = known.state
    counts = (
        (len(state.key_reminders), "reminder"),
        (len(state.required_reading), "required file"),
        (len(state.context), "context value"),
    )
    return f"with {', '.join(counted(count, noun) for count, noun in counts)}"


@click.command()
@name_argument(required=True)
@pass_app
def switch(app: App, name: str) -> None:
    """Make NAME the workflow of this session."""
    app.this_session("switch")
    synced = app.change()
    workflow = find(synced.workflows, name)
    if workflow.standing not in {"active", "stale"}:
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}")
    if workflow.standing == "stale":
        format_of(workflow).touch(synced.place, workflow)
    synced.take(workflow)
    say(for_person(workflow.briefing, "of this session"))


@click.command()
@name_argument(ended=True)
@pass_app
def resume(app: App, name: str | None) -> None:
    """Take a workflow up in this session and print where it stands.

    Also brings back one that was ignored or has ended.
    """
    synced = app.change()
    brought_back = False
    if name:
        live, ended = _live_or_ended(synced, name)
        brought_back = bool(ended or (live and live.standing in {"ignored", "stale"}))
        if ended:
            lifecycle.revive(synced.place, ended)
        elif live and live.standing == "ignored":
            place = synced.place
            ledger.ignore(place.store, live.key, live.name, place.now, ignored=False)
        elif live and live.standing == "stale":
            format_of(live).touch(synced.place, live)
        key = ended or (live.key if live else "")
        synced = app.change()
    else:
        key = app.meant(synced, None).key
    workflow = next((each for each in synced.workflows if each.key == key), None)
    workflow = workflow or app.meant(synced, name)
    if workflow.standing != "active":
        raise IllegalMove(
            f"{workflow.name!r} is {workflow.standing}: {workflow.remark}",
            hint=_onward(workflow),
        )
    synced.take(workflow)
    plan = restore.reading_of(synced, workflow, "now")
    say(restore.text(synced, workflow, synced.choice(), "now", plan))
    if not synced.session:
        done = "it was brought back, but no session has it" if brought_back else _ONLY_SHOWN
        say(f"\nNo session is known here, so {done}.")


_ONLY_SHOWN = "this was shown and not taken up"


def _onward(workflow: Workflow) -> str:
    """How to go on with what is not active."""
    group = format_of(workflow).group
    if group:
        return f"`holdfast {group} start` begins it again."
    return "`holdfast phase set N` goes on with it, `holdfast start NAME` begins it again."


def _live_or_ended(synced: Synced, name: str) -> tuple[Workflow | None, str | None]:
    """What *name* means: a workflow that is kept or declared, or the key of one that has ended.

    A whole name goes before the beginning of one, and a live workflow before an ended one.
    """
    live = [each for each in synced.workflows if each.kept or each.standing == "active"]
    try:
        found = find(live, name)
    except NoSuchWorkflow:
        found = None
    if found and found.name.casefold() == name.casefold():
        return found, None
    ended = lifecycle.ended_called(synced.place, name, whole=found is not None)
    return (None, ended) if ended else (found, None)


@click.command()
@name_argument()
@pass_app
def ignore(app: App, name: str | None) -> None:
    """Leave a workflow alone: neither save nor restore it until `holdfast resume`."""
    synced = app.change(save=False)
    workflow = app.meant(synced, name)
    place = synced.place
    ledger.ignore(place.store, workflow.key, workflow.name, place.now, ignored=True)
    if synced.claim and synced.claim.workflow == workflow.key:
        delivery.forget(synced.state_dir, synced.session)
    say(f"Workflow ignored: {workflow.name}. Take it up again: holdfast resume {workflow.name!r}")


COMMANDS = (complete, undo, switch, resume, ignore)
