"""Commands for a whole run: begun, planned, from phase to phase, paused, extended, ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from holdfast.cli.app import App, pass_app
from holdfast.cli.naming import workflow_option
from holdfast.cli.orchestrate.group import meant, move, orchestrate, tell_now
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place
from holdfast.formats.document import stamp
from holdfast.formats.orchestrator import (
    archive,
    files,
    lifecycle,
    plan,
    runs,
    supervision,
    telling,
)
from holdfast.formats.orchestrator.bounds import Bound
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.plan import Plan
from holdfast.plaintext import counted

_TASKS = click.option(
    "-t", "--task", "tasks", multiple=True, metavar='"1.1 NAME"', help="A task, in its order."
)
_MAX_COST = click.option("--max-cost", metavar="$N", help="For the whole run, such as $10.")
_MAX_TIME = click.option("--max-time", metavar="TIME", help="For the whole run, such as 2h.")
_MAX_ITERATIONS = click.option("--max-iterations", metavar="N", help="For each task, such as 30.")


@orchestrate.command()
@click.argument("task_doc", metavar="TASK_DOC")
@_TASKS
@_MAX_COST
@_MAX_TIME
@_MAX_ITERATIONS
@click.option("--no-supervisor", is_flag=True, help="Without checks of a supervisor.")
@click.option("--archive", "clear", is_flag=True, help="Put away the run before, which has ended.")
@pass_app
def start(
    app: App,
    task_doc: str,
    tasks: tuple[str, ...],
    max_cost: str | None,
    max_time: str | None,
    max_iterations: str | None,
    no_supervisor: bool,
    clear: bool,
) -> None:
    """Begin a run of TASK_DOC, in planning.

    The tasks are read from it, if it lists them already, or given with --task.
    """
    if not task_doc.strip():
        raise click.BadParameter("a task document is needed")
    synced = app.change(save=False, stay=False)
    path = _absolute(app, task_doc)
    listed = plan.given(tasks) if tasks else _listed(path)
    first = runs.begin(
        stamp(synced.place.now),
        str(path),
        listed,
        limits=_limits(max_cost, max_time, max_iterations),
        supervised=not no_supervisor,
    )
    if clear and (synced.place.root / files.STATE).exists():
        archive.put_away(synced.place)
    tell_now(synced, lifecycle.start(synced.place, first), "started", *_count(listed))


def _absolute(app: App, task_doc: str) -> Path:
    return Path(os.path.abspath(os.path.join(app.surroundings.cwd, os.path.expanduser(task_doc))))


def _listed(path: Path) -> Plan:
    """What the document at *path* lists; in planning it may still have to be written."""
    return plan.read_file_of(path) if path.is_file() else Plan((), ())


def _count(listed: Plan) -> Sequence[str]:
    if not listed.phases:
        return ["no tasks are listed yet; they are read when the plan is approved"]
    busy = {each.phase for each in listed.tasks}
    idle = [name for number, name in enumerate(listed.phases) if number not in busy]
    lines = [f"{counted(len(listed.tasks), 'task')} in {counted(len(listed.phases), 'phase')}"]
    return [*lines, *(f"no task is left to do in the phase {name!r}" for name in idle)]


def _limits(
    max_cost: str | None, max_time: str | None, max_iterations: str | None
) -> dict[Bound, str]:
    given: dict[Bound, str | None] = {
        "max_cost": max_cost,
        "max_time": max_time,
        "max_iterations_per_task": max_iterations,
    }
    return {bound: text for bound, text in given.items() if text is not None}


@orchestrate.command("approve-plan")
@click.option("--doc", metavar="FILE", help="The task document, where it is another one.")
@_TASKS
@workflow_option
@pass_app
def approve_plan(app: App, doc: str | None, tasks: tuple[str, ...], name: str | None) -> None:
    """The plan is approved; its tasks are executed from now on.

    Once more after a re-plan: what is completed stays so, and what is left is read anew.
    """
    synced = app.change()
    meant(app, synced, name)
    path = _absolute(app, doc) if doc else None
    if tasks:
        listed = plan.given(tasks)
    elif path:
        listed = plan.read_file_of(path)
    else:
        listed = _of_state(synced.place, lifecycle.changeable(synced.place).state)
    task_doc = str(path) if path else None
    changed = lifecycle.change(synced.place, runs.approve_plan, listed, task_doc)
    tell_now(synced, changed, "approved", *_count(listed))


def _of_state(place: Place, state: State) -> Plan:
    """What the document lists that the state names, opened only where reading is allowed.

    Where it lists nothing, the tasks that the run was begun with are approved.
    """
    task_doc = state.orchestrator.task_doc
    may_be_read = plan.may_be_read(place, task_doc)
    listed = plan.read_file_of(place.root / task_doc) if may_be_read else Plan((), ())
    if listed.phases:
        return listed
    if state.orchestrator.status == "planning" and state.pending_tasks:
        return plan.of(state)
    if may_be_read:
        return listed
    raise IllegalMove(
        f"{task_doc} is missing or lies outside the project, so it is not opened",
        hint=f"Name it: holdfast orchestrate approve-plan --doc {task_doc}",
    )


@orchestrate.command()
@workflow_option
@pass_app
def phase(app: App, name: str | None) -> None:
    """All tasks of the phase are completed; the next one begins."""
    move(app, name, "advanced", runs.next_phase)


@orchestrate.command()
@workflow_option
@pass_app
def review(app: App, name: str | None) -> None:
    """All phases are complete; the outer Ralph loop runs."""
    move(app, name, "in review", runs.review)


@orchestrate.command()
@workflow_option
@pass_app
def complete(app: App, name: str | None) -> None:
    """The outer Ralph loop is through, and the pull request is made."""
    move(app, name, "completed", runs.complete)


@orchestrate.command()
@click.argument("reason")
@workflow_option
@pass_app
def fail(app: App, reason: str, name: str | None) -> None:
    """Give the run up, for a REASON."""
    move(app, name, "failed", runs.fail, reason)


@orchestrate.command()
@click.argument("reason")
@workflow_option
@pass_app
def pause(app: App, reason: str, name: str | None) -> None:
    """Nothing is done until `resume`, for a REASON; the time does not count."""
    move(app, name, "paused", runs.pause, reason)


@orchestrate.command()
@workflow_option
@pass_app
def resume(app: App, name: str | None) -> None:
    """The pause is over."""
    move(app, name, "resumed", runs.resume)


@orchestrate.command()
@click.argument("reason")
@_MAX_COST
@_MAX_TIME
@_MAX_ITERATIONS
@workflow_option
@pass_app
def extend(
    app: App,
    reason: str,
    max_cost: str | None,
    max_time: str | None,
    max_iterations: str | None,
    name: str | None,
) -> None:
    """Raise limits of the run, for a REASON that stands in its warnings."""
    limits = _limits(max_cost, max_time, max_iterations)
    move(app, name, "extended", runs.extend, reason, limits)


@orchestrate.command()
@click.argument("url")
@click.option(
    "--phase", "number", type=click.IntRange(1), help="Counted from 1; else the last one."
)
@click.option("--name", "title", help="Of the phase; else as the task document has it.")
@workflow_option
@pass_app
def milestone(app: App, url: str, number: int | None, title: str | None, name: str | None) -> None:
    """A completed phase has its issue, at URL."""
    synced = app.change()
    meant(app, synced, name)
    state = lifecycle.changeable(synced.place).state
    phase_number = supervision.last_completed_phase(state) if number is None else number - 1
    called = title or telling.phase_name(synced.place, state, phase_number)
    changed = lifecycle.change(synced.place, supervision.milestone, url, phase_number, called)
    tell_now(synced, changed, "noted", f"milestone of phase {phase_number + 1}: {called}")
