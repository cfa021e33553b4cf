"""Commands for sessions: made, committed, cancelled, looked at."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast.cli.app import App, dump, json_option, pass_app, say
from holdfast.cli.pipeline.group import change, pipeline
from holdfast.cli.terminal import fixed, put
from holdfast.columns import pad
from holdfast.formats.base import Place
from holdfast.formats.pipeline import places, sessions
from holdfast.formats.pipeline.places import Location
from holdfast.formats.pipeline.sessions import Session
from holdfast.plaintext import counted, one_line
from holdfast.store import Store


@pipeline.group()
def session() -> None:
    """Keep workflows apart in a session until they are committed or cancelled.

    A new workflow goes into the session that --session names, else HOLDFAST_SESSION, else into the
    only open one. Without any, or with "global", it is global.
    """


def _sessions(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Of the project in the current folder."""
    return [
        CompletionItem(name) for name in places.session_names(Store(".")) if name.startswith(begun)
    ]


_NAME = click.argument("name", shell_complete=_sessions)


def _change(app: App, name: str, **how: bool) -> Place:
    """As `group.change`; for a name that is none nothing is put right first."""
    places.checked_session(name)
    return change(app, **how).place


@session.command()
@click.argument("name")
@pass_app
def create(app: App, name: str) -> None:
    """Make a session, with an empty index of its workflows."""
    sessions.create(_change(app, name, save=False, stay=False), name)
    say(f"Session created: {name}. It lies in {Location(name).base}")


@session.command()
@_NAME
@pass_app
def commit(app: App, name: str) -> None:
    """Make the workflows of a session global, with their artefacts.

    From then on the global ones count; the session keeps what it has until it is cancelled. Nothing
    that is there already is replaced: where something else is in the way, nothing is committed.
    """
    done = sessions.commit(_change(app, name), name)
    say(
        f"Session committed: {name}, {counted(len(done.workflows), 'workflow')} "
        f"with {counted(len(done.copies), 'artefact')}"
    )
    for held in done.workflows:
        say(f"  {places.GLOBAL.state(held.id)}")


@session.command()
@_NAME
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@pass_app
def cancel(app: App, name: str, dry_run: bool) -> None:
    """Remove the workflows of a session for good, with their artefacts and logs.

    What was committed stays where it is global.
    """
    if dry_run:
        removals = sessions.would_cancel(app.look().place, name)
    else:
        removals = sessions.cancel(_change(app, name), name)
        say(f"Session cancelled: {name}")
    for path in removals.paths:
        say(f"  {'would be removed' if dry_run else 'removed'}: {one_line(path)}")


@session.command("list")
@json_option
@pass_app
def list_all(app: App, as_json: bool) -> None:
    """All sessions; * marks the one that a new workflow goes into."""
    synced = app.look()
    store = synced.place.store
    found = sessions.every(store)
    if as_json:
        dump([_told(each) for each in found])
        return
    if not found:
        put("See: holdfast pipeline session create --help", whole=f"No sessions in {synced.root}.")
        return
    active = sessions.active(store, None, app.surroundings.pipeline_session)
    for each in found:
        mark = "*" if each.name == active else " "
        workflows = counted(len(each.rows), "workflow")
        fixed(f"{mark} {pad(one_line(each.name, 60), 32)} {workflows}, {_stands(each)}")


@session.command()
@_NAME
@json_option
@pass_app
def show(app: App, name: str, as_json: bool) -> None:
    """The workflows of a session, and which of them were committed."""
    found = sessions.find(app.look().place.store, name)
    if as_json:
        dump(_told(found))
        return
    say(f"{found.name}: {counted(len(found.rows), 'workflow')}, {_stands(found)}")
    for row in found.rows:
        stands = "committed" if row.is_session_copy else row.status.replace("_", " ")
        fixed(f"  {pad(one_line(row.workflow_id, 60), 45)} {row.progress_percentage:>4}%  {stands}")


def _stands(found: Session) -> str:
    if not found.committed:
        return "open"
    return f"{found.committed} committed" if found.is_open else "committed"


def _told(found: Session) -> dict[str, Any]:
    return {
        "session_name": found.name,
        "open": found.is_open,
        "committed": found.committed,
        "workflows": [
            {
                "workflow_id": row.workflow_id,
                "workflow_type": row.workflow_type,
                "status": row.status,
                "committed": row.is_session_copy,
                "state_file": row.state_file,
            }
            for row in found.rows
        ],
    }
