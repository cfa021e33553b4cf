"""Commands for sessions: made, committed, cancelled, looked at."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast.cli.app import App, agreed, dump, json_option, pass_app, say
from holdfast.cli.pipeline.workflows import pipeline
from holdfast.cli.terminal import fixed, put
from holdfast.files.store import Store
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files, sessions
from holdfast.formats.pipeline.format import FORMAT
from holdfast.formats.pipeline.sessions import PipelineSession
from holdfast.text.plaintext import counted, one_line
from holdfast.text.room import pad


@pipeline.group()
def session() -> None:
    """Keep workflows apart in a session until they are committed or cancelled.

    A new workflow goes into the session that --session names, else HOLDFAST_SESSION, else into the
    only open one. Without any of these, or with "global", it is global.
    """


def _complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """The sessions of the project in the current folder."""
    names = files.session_names(Store("."))
    return [CompletionItem(name) for name in names if name.startswith(begun)]


_NAME = click.argument("name", shell_complete=_complete)


@session.command()
@click.argument("name")
@pass_app
def create(app: App, name: str) -> None:
    """Make a session, with an empty index of its workflows."""
    sessions.create(app.change_several(FORMAT, stay=False).place, name)
    say(f"Session created: {name}. It is in {files.Location(name).base}")


@session.command()
@_NAME
@pass_app
def commit(app: App, name: str) -> None:
    """Make the workflows of a session global, with their artefacts.

    From then on the global copies count; the session keeps its own until it is cancelled. Nothing
    that exists is replaced: if something else is in the way, nothing is committed.
    """
    workflows, artefacts = sessions.commit(app.change_several(FORMAT).place, name)
    made = f"{counted(len(workflows), 'workflow')} with {counted(len(artefacts), 'artefact')}"
    say(f"Session committed: {name}, {made}")
    for file in workflows:
        say(f"  {files.GLOBAL.state(file.name)}")


@session.command()
@_NAME
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def cancel(app: App, name: str, dry_run: bool, yes: bool) -> None:
    """Remove the workflows of a session for good, with their artefacts and logs.

    What was committed keeps its global copy.
    """
    place = app.place(FORMAT.name) if dry_run else app.change_several(FORMAT).place
    if dry_run or not yes:
        for path in sessions.would_cancel(place, name):
            say(f"  would be removed: {one_line(path)}")
    hint = f"To confirm: holdfast pipeline session cancel {name} --yes"
    question = "Remove it for good?"
    if dry_run or not agreed(question, yes=yes, undone="nothing was removed", hint=hint):
        return
    removed = sessions.cancel(place, name)
    say(f"Session cancelled: {name}")
    for path in removed:
        say(f"  removed: {one_line(path)}")


@session.command("list")
@json_option
@pass_app
def list_all(app: App, as_json: bool) -> None:
    """All sessions; * marks the one that a new workflow goes into."""
    place = app.place(FORMAT.name)
    found = sessions.every(place)
    if as_json:
        dump([_facts(one, place) for one in found])
        return
    if not found:
        put("See: holdfast pipeline session create --help", whole=f"No sessions in {place.root}.")
        return
    active = sessions.active(place, app.surroundings.pipeline_session)
    for one in found:
        mark = "*" if one.name == active else " "
        workflows = counted(len(one.workflows), "workflow")
        fixed(f"{mark} {pad(one_line(one.name, 60), 32)} {workflows}, {_stands(one)}")


@session.command()
@_NAME
@json_option
@pass_app
def show(app: App, name: str, as_json: bool) -> None:
    """The workflows of a session, and which of them were committed."""
    place = app.place(FORMAT.name)
    found = sessions.find(place, name)
    if as_json:
        dump(_facts(found, place))
        return
    say(f"{found.name}: {counted(len(found.workflows), 'workflow')}, {_stands(found)}")
    for file in found.workflows:
        row = file.row
        stands = "committed" if row.committed_from_session else row.status.replace("_", " ")
        fixed(f"  {pad(one_line(file.name, 60), 45)} {row.progress_percentage:>4}%  {stands}")


def _stands(found: PipelineSession) -> str:
    if not found.committed:
        return "open"
    return f"{found.committed} committed" if found.is_open else "committed"


def _facts(found: PipelineSession, place: Place) -> dict[str, Any]:
    return {
        "session_name": found.name,
        "open": found.is_open,
        "committed": found.committed,
        "workflows": [
            {
                "workflow_id": file.name,
                "workflow_type": file.row.workflow_type,
                "status": file.row.status,
                "committed": file.row.committed_from_session is not None,
                "state_file": place.store.relative(file.path),
            }
            for file in found.workflows
        ],
    }
