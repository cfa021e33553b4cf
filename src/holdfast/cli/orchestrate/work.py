"""Commands within a run: tasks and their iterations, the supervisor's checks, warnings, costs."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app
from holdfast.cli.naming import workflow_option
from holdfast.cli.orchestrate.group import meant, move, orchestrate, see, signal_stop
from holdfast.cli.terminal import put
from holdfast.formats.base import Place
from holdfast.formats.orchestrator import bounds, facts, model, supervision, tasks
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.supervision import Conflict
from holdfast.formats.orchestrator.telling import workflow_of

_TASK = click.argument("task", metavar="ID", required=False)


@orchestrate.command("task-start")
@_TASK
@click.option("--no-agent", is_flag=True, help="The orchestrator does it itself.")
@workflow_option
@pass_app
def task_start(app: App, task: str | None, no_agent: bool, name: str | None) -> None:
    """Begin a task, by default the next one that nobody works on; a task-executor is noted for it."""
    move(app, name, "advanced", tasks.start_task, task, with_agent=not no_agent)


@orchestrate.command()
@_TASK
@workflow_option
@pass_app
def iterate(app: App, task: str | None, name: str | None) -> None:
    """One more iteration of the Ralph loop is over, of the current task or another."""
    move(app, name, "advanced", tasks.iterate, task)


@orchestrate.command("task-done")
@_TASK
@click.option("--cost", metavar="$N", help="What the task cost; added to the cost of the run.")
@click.option("--time", metavar="TIME", help="How long it took; else since its agent began.")
@click.option("--iterations", type=click.IntRange(0), help="Else as many as were counted.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that it modified.")
@click.option("--met", multiple=True, metavar="NAME", help="A success criterion that is met.")
@click.option("--unmet", multiple=True, metavar="NAME", help="One that is not.")
@workflow_option
@pass_app
def task_done(
    app: App,
    /,
    task: str | None,
    files: tuple[str, ...],
    met: tuple[str, ...],
    unmet: tuple[str, ...],
    name: str | None,
    **given: Any,
) -> None:
    """A task is completed, by default the one that is worked on."""
    criteria = {**dict.fromkeys(met, True), **dict.fromkeys(unmet, False)}
    move(app, name, "advanced", tasks.complete_task, task, files=files, criteria=criteria, **given)


@orchestrate.command()
@click.argument("check_type", type=click.Choice(model.CHECKS), metavar="TYPE")
@click.option("--task", metavar="ID", help="The task that was checked; else the current one.")
@click.option("--conflict", type=click.Choice(model.CONFLICTS), help="What was found, if anything.")
@click.option("--severity", type=click.Choice(model.SEVERITIES), help="Of the conflict.")
@click.option("--action", type=click.Choice(model.ACTIONS), help="What was done about it.")
@click.option("--resolution", metavar="TEXT", help="How it was resolved.")
@workflow_option
@pass_app
def check(
    app: App,
    check_type: str,
    task: str | None,
    conflict: str | None,
    severity: str | None,
    action: str | None,
    resolution: str | None,
    name: str | None,
) -> None:
    """The supervisor has checked: pre_task, post_task or on_demand."""
    found = None
    if conflict and severity and action and resolution:
        found = Conflict(conflict, severity, action, resolution)
    elif conflict or severity or action or resolution:
        raise click.UsageError(
            "A conflict is told by all of --conflict, --severity, --action and --resolution."
        )
    move(app, name, "noted", supervision.check, check_type, task, found)


@orchestrate.command()
@click.argument("text")
@workflow_option
@pass_app
def warn(app: App, text: str, name: str | None) -> None:
    """Add TEXT to the warnings; those of limits come by themselves."""
    move(app, name, "noted", supervision.warn, text)


# Looking.


@orchestrate.command()
@click.option("--add", "added", metavar="$N", help="What was spent beside the tasks.")
@json_option
@workflow_option
@pass_app
def cost(app: App, added: str | None, as_json: bool, name: str | None) -> None:
    """How much of the limits is used."""
    if added:
        move(app, name, "noted", tasks.spend, added)
        return
    synced = app.look()
    held = see(app, synced, name)
    used = bounds.uses(held.state, synced.place.now)
    if as_json:
        dump([_use(each) for each in used])
    else:
        _show_uses(held.state, synced.place)
    signal_stop(synced, held)


def _use(use: bounds.Use) -> dict[str, Any]:
    return {
        "bound": use.bound,
        "what": use.what,
        "used": use.used,
        "limit": use.limit,
        "percent": int(use.share * 100),
        "reached": use.reached,
    }


def _show_uses(state: State, place: Place) -> None:
    for use in bounds.uses(state, place.now):
        style = terminal.BAD if use.reached else terminal.WARNING if use.level else terminal.PLAIN
        put(use.told, lead=f"  {use.what}: ", style=style)


@orchestrate.command()
@json_option
@workflow_option
@pass_app
def status(app: App, as_json: bool, name: str | None) -> None:
    """Where the run stands, with what is used of its limits."""
    synced = app.look()
    place = synced.place
    workflow, held = meant(app, synced, name), see(app, synced, name)
    briefing = workflow_of(held, place).briefing
    if as_json:
        dump(
            {
                "name": briefing.name,
                "status": briefing.status,
                "standing": workflow.standing,
                "next": briefing.next_action,
                "limits": [_use(each) for each in bounds.uses(held.state, place.now)],
                "notes": [*workflow.cautions, *synced.notes],
                "state": held.state.to_json(),
            }
        )
    else:
        where = f"{briefing.where} ({briefing.phase_name})"
        put(f"{briefing.name}: {briefing.status}, {where}", style=terminal.HEADING)
        if briefing.next_action:
            put(briefing.next_action, lead="  Next: ")
        _show_uses(held.state, place)
        shown = {use.what.lower() for use in bounds.uses(held.state, place.now)}
        for label, fact in briefing.context:
            if label not in shown:
                put(str(fact), lead=f"  {label[0].upper()}{label[1:]}: ")
        for lesson in facts.learnings(held.state):
            put(lesson, lead="  ")
        for note in (*workflow.cautions, *synced.notes):
            put(note, lead="  Note: ", style=terminal.WARNING)
    signal_stop(synced, held)
