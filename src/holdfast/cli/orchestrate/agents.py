"""Commands for the agents that a run has sent off."""

from __future__ import annotations

from datetime import timedelta

import click

from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say
from holdfast.cli.naming import workflow_option
from holdfast.cli.orchestrate.group import meant, move, orchestrate, see
from holdfast.cli.terminal import put
from holdfast.formats.orchestrator import agents, lifecycle, model
from holdfast.formats.orchestrator.agents import Seen
from holdfast.plaintext import one_line

_KIND = click.option("--type", "kind", type=click.Choice(model.AGENTS), help="Where several are.")
_TASK = click.option("--task", metavar="ID", help="Its task; not needed where there is but one.")


@orchestrate.group()
def agent() -> None:
    """Note which agents are at work, so that none is sent off twice.

    One that gives no sign of life for 30 minutes is marked as stale, and stays until it is reaped.
    """


@agent.command("start")
@click.argument("kind", metavar="TYPE", type=click.Choice(model.AGENTS))
@click.option("--task", required=True, metavar="ID", help="What it works on.")
@workflow_option
@pass_app
def start(app: App, kind: str, task: str, name: str | None) -> None:
    """An agent of TYPE was sent off: task-executor, supervisor, outer-ralph, code-improvement-scanner."""
    move(app, name, "noted", agents.start, kind, task)


@agent.command("beat")
@_TASK
@_KIND
@workflow_option
@pass_app
def beat(app: App, task: str | None, kind: str | None, name: str | None) -> None:
    """The agent lives. Its iterations tell that, too."""
    synced = app.change()
    meant(app, synced, name)
    seen = lifecycle.beat(synced.place, task, kind)
    say(f"Heard of: {_called(seen)}")


@agent.command("status")
@click.argument("status", type=click.Choice(model.AGENT_STATUSES))
@_TASK
@_KIND
@workflow_option
@pass_app
def status(app: App, status: str, task: str | None, kind: str | None, name: str | None) -> None:
    """The agent works, waits, or is blocked."""
    move(app, name, "noted", agents.set_status, status, task, kind)


@agent.command("done")
@_TASK
@_KIND
@workflow_option
@pass_app
def done(app: App, task: str | None, kind: str | None, name: str | None) -> None:
    """The agent has ended. `task-done` says that of its task's agents, too."""
    move(app, name, "noted", agents.done, task, kind)


@agent.command("reap")
@click.option(
    "--silent",
    type=click.IntRange(0, 366 * 24 * 60),
    metavar="MINUTES",
    default=int(agents.SILENT.total_seconds() // 60),
    show_default=True,
    help="For how long nothing was heard of them.",
)
@workflow_option
@pass_app
def reap(app: App, silent: int, name: str | None) -> None:
    """Remove the agents that are stale. The orchestrator may send off others for their tasks."""
    synced = app.change()
    meant(app, synced, name)
    gone = lifecycle.reap(synced.place, timedelta(minutes=silent))
    for seen in gone:
        say(f"removed: {_called(seen)}")
    if not gone:
        say("No agent is stale.")


@agent.command("list")
@json_option
@workflow_option
@pass_app
def list_all(app: App, as_json: bool, name: str | None) -> None:
    """The agents at work, and which of them are stale."""
    synced = app.look()
    place, held = synced.place, see(app, synced, name)
    seen = agents.seen(place.store, held.state)
    if as_json:
        dump([_entry(each, stale=each.is_stale(place.now)) for each in seen])
        return
    if not seen:
        say("No agent is at work.")
    for each in seen:
        remark = each.remark(place.now)
        style = terminal.WARNING if remark else terminal.PLAIN
        put(remark or each.agent.status.replace("_", " "), lead=f"{_called(each)}: ", style=style)


def _called(seen: Seen) -> str:
    agent = seen.agent
    return one_line(f"{agent.type} on task {agent.task}, iteration {agent.iteration}")


def _entry(seen: Seen, *, stale: bool) -> dict[str, object]:
    return {**seen.agent.model_dump(), "heard": seen.heard, "stale": stale}
