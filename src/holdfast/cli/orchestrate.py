"""The group `holdfast orchestrate`: one command for each update in the format's document.

Also checkpoints, the archive and locks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from holdfast.cli import shown, terminal
from holdfast.cli.app import (
    App,
    Move,
    Whole,
    add_moves,
    dump,
    json_option,
    pass_app,
    say,
    say_aside,
    take_up,
    workflow_option,
)
from holdfast.cli.terminal import put
from holdfast.cli.words import Word
from holdfast.errors import IllegalMove
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.orchestrator import (
    briefing,
    checkpoints,
    files,
    learnings,
    limits,
    locks,
    model,
    moves,
    plan,
    tasks,
)
from holdfast.formats.orchestrator.files import StateFile
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.plan import Plan
from holdfast.text.plaintext import counted, one_line
from holdfast.workflows.sync import ProjectView


@click.group()
def orchestrate() -> None:
    """Keep an orchestrator's run in .claude/agent-state.json.

    Once the run reaches a limit, every command that changes it prints STOP and exits with 3, until
    the limit is extended or the run is paused or failed.
    """


@orchestrate.group()
def agent() -> None:
    """Record the agents at work, so that none is dispatched twice.

    `status` lists them, and names one that is silent for 30 minutes. If it is gone: agent done.
    """


def run_named(app: App, view: ProjectView, name: str | None) -> Workflow:
    """The run; *name*, if given, must be its name."""
    if not view.workflows:
        FORMAT.run(view.place)  # says what is there instead
    return app.meant(view, name, FORMAT.name)


def open_run(app: App, name: str | None) -> tuple[ProjectView, str]:
    """The project, for a command that will write, and the key of the run."""
    view = app.change(FORMAT.name)
    return view, run_named(app, view, name).key


def make_move(app: App, name: str | None, move: Move, given: dict[str, Any]) -> None:
    """Make *move* on the run, and say where it stands."""
    view, key = open_run(app, name)
    tell_now(view, FORMAT.change(view.place, key, move.step, **given), move.verb)


def tell_now(view: ProjectView, changed: Changed[StateFile], verb: str, *details: str) -> None:
    """Make the run this session's and print its status; stop it if a limit is reached."""
    workflow = FORMAT.workflow(view.place, changed.entry)
    take_up(view, workflow, verb, *changed.lines, *details)
    signal_stop(view.place, changed.entry.state, "The update is saved.")


def signal_stop(place: Place, state: State, remark: str = "") -> None:
    """Raise LimitReached if a limit is reached and the run is not paused."""
    reached = limits.reached(state, place.now)
    if reached and not limits.pause(state):
        raise limits.LimitReached(reached, remark)


# Commands that make one move.

_TASKS = click.option(
    "-t", "--task", "tasks", multiple=True, metavar='"1.1 NAME"', help="A task; repeatable."
)
_REASON = click.argument("reason")
_TASK_ID = click.argument("task", metavar="ID", required=False)
_AGENT_TYPE = click.option(
    "--type", "kind", type=click.Choice(model.AGENTS), help="The agent's type, if several match."
)
_AGENT_TASK = click.option("--task", metavar="ID", help="The agent's task, if several match.")
_MAX_COST = click.option("--max-cost", metavar="$N", help="For the whole run: $10.")
_MAX_TIME = click.option("--max-time", metavar="TIME", help="For the whole run: 2h.")
_MAX_ITERATIONS = click.option(
    "--max-iterations", "max_iterations_per_task", metavar="N", help="For each task: 30."
)

MOVES = (
    Move("phase", moves.next_phase, "advanced"),
    Move("review", moves.review, "in review"),
    Move("complete", moves.complete, "completed"),
    Move("fail", moves.fail, "failed", _REASON),
    Move("pause", moves.pause, "paused", _REASON),
    Move("resume", moves.resume, "resumed"),
    Move("extend", moves.extend, "extended", _REASON, _MAX_COST, _MAX_TIME, _MAX_ITERATIONS),
    Move("warn", moves.warn, "noted", click.argument("text")),
    Move(
        "task-start",
        tasks.start_task,
        "advanced",
        _TASK_ID,
        click.option("--no-agent", is_flag=True, help="The orchestrator does it itself."),
    ),
    Move(
        "task-done",
        tasks.complete_task,
        "advanced",
        _TASK_ID,
        click.option("--cost", metavar="$N", help="The task's cost; added to the run's."),
        click.option("--time", metavar="TIME", help="Time taken (default: since its start)."),
        click.option("--iterations", type=Whole(0), help="Iterations (default: as counted)."),
        click.option("--file", "files", multiple=True, metavar="PATH", help="A modified file."),
        click.option("--met", multiple=True, metavar="NAME", help="A criterion met."),
        click.option(
            "--unmet", multiple=True, metavar="NAME", help="A criterion not met; needs --force."
        ),
        click.option("--force", is_flag=True, help="Complete it with unmet criteria."),
    ),
    Move(
        "cost",
        tasks.spend,
        "noted",
        click.option("--add", "cost", metavar="$N", required=True, help="Incurred outside tasks."),
    ),
    Move(
        "check",
        moves.check,
        "noted",
        click.argument("check_type", type=click.Choice(model.CHECKS), metavar="TYPE"),
        click.option("--task", metavar="ID", help="The checked task (default: current)."),
        click.option(
            "--conflict",
            "conflict_type",
            type=click.Choice(model.CONFLICTS),
            help="The conflict that was found.",
        ),
        click.option("--severity", type=click.Choice(model.SEVERITIES), help="Its severity."),
        click.option("--action", type=click.Choice(model.ACTIONS), help="The action taken."),
        click.option("--resolution", metavar="TEXT", help="How it was resolved."),
    ),
    Move("iterate", tasks.iterate, "advanced", _TASK_ID),
    Move(
        "learn",
        learnings.learn,
        "noted",
        click.argument("lesson"),
        click.option(
            "--type",
            "kind",
            type=click.Choice(model.LEARNINGS),
            default="insight",
            show_default=True,
            help="The kind of lesson.",
        ),
        click.option("--pattern", default="", metavar="TEXT", help="What to do in future tasks."),
        click.option("--context", default="", metavar="TEXT", help="Where this applies."),
        click.option("--task", metavar="ID", help="The lesson's task (default: the current one)."),
    ),
    Move(
        "agent start",
        tasks.start_agent,
        "noted",
        click.argument("kind", metavar="TYPE", type=click.Choice(model.AGENTS)),
        click.option("--task", required=True, metavar="ID", help="The task it works on."),
    ),
    Move(
        "agent status",
        tasks.set_agent_status,
        "noted",
        click.argument("status", type=click.Choice(model.AGENT_STATUSES)),
        _AGENT_TASK,
        _AGENT_TYPE,
    ),
    Move("agent done", tasks.end_agent, "noted", _AGENT_TASK, _AGENT_TYPE),
)

add_moves(orchestrate, MOVES, make_move)


# A run.


@orchestrate.command()
@click.argument("task_doc", metavar="TASK_DOC")
@_TASKS
@_MAX_COST
@_MAX_TIME
@_MAX_ITERATIONS
@click.option("--no-supervisor", is_flag=True, help="Run without a supervisor's checks.")
@click.option("--archive", is_flag=True, help="Archive the previous run, which has ended.")
@pass_app
def start(
    app: App,
    /,
    task_doc: str,
    tasks: tuple[str, ...],
    no_supervisor: bool,
    archive: bool,
    **bounds: str | None,
) -> None:
    """Start a run of TASK_DOC, in planning.

    The tasks come from --task, else from TASK_DOC if it already lists them.
    """
    if not task_doc.strip():
        raise click.BadParameter("a task document is needed")
    view = app.change(FORMAT.name, save_due=False, stay=False)
    place, path = view.place, _absolute(app, task_doc)
    if tasks:
        listed = plan.given(tasks)
    else:  # in planning the document may not exist yet
        listed = plan.read_document(path) if path.is_file() else Plan((), ())
    supervised = not no_supervisor
    first = moves.begin(iso_time(place.now), str(path), listed, supervised=supervised, **bounds)
    if archive and (place.root / files.STATE).exists():
        checkpoints.put_away(place)
    started = FORMAT.start(place, first)
    FORMAT.note_phases(place, started.entry, listed.phases)
    tell_now(view, started, "started", *_count(listed))


def _absolute(app: App, task_doc: str) -> Path:
    return Path(os.path.abspath(os.path.join(app.surroundings.cwd, os.path.expanduser(task_doc))))


def _count(listed: Plan) -> Sequence[str]:
    if not listed.phases:
        return ["no tasks yet; they are read when the plan is approved"]
    busy = {task.phase for task in listed.tasks}
    idle = [name for number, name in enumerate(listed.phases) if number not in busy]
    lines = [f"{counted(len(listed.tasks), 'task')} in {counted(len(listed.phases), 'phase')}"]
    return [*lines, *(f"phase {name!r} has no open tasks" for name in idle)]


@orchestrate.command("approve-plan")
@click.option("--doc", metavar="FILE", help="The task document, if it has moved.")
@_TASKS
@workflow_option
@pass_app
def approve_plan(app: App, doc: str | None, tasks: tuple[str, ...], name: str | None) -> None:
    """Approve the plan and begin to execute its tasks.

    Run it again after a re-plan: completed tasks stay completed, and the rest are read again.
    """
    view, key = open_run(app, name)
    path = _absolute(app, doc) if doc else None
    if tasks:
        listed = plan.given(tasks)
    elif path:
        listed = plan.read_document(path)
    else:
        listed = plan.to_approve(view.place, FORMAT.run(view.place).state)
    task_doc = str(path) if path else None
    changed = FORMAT.change(view.place, key, moves.approve_plan, listed, task_doc)
    FORMAT.note_phases(view.place, changed.entry, listed.phases)
    tell_now(view, changed, "approved", *_count(listed))


@orchestrate.command()
@click.argument("url")
@click.option("--phase", "number", type=Whole(1), help="The phase (default: the last completed).")
@click.option("--name", "title", help="The phase's name (default: from the task document).")
@workflow_option
@pass_app
def milestone(app: App, url: str, number: int | None, title: str | None, name: str | None) -> None:
    """Record the issue at URL as a completed phase's milestone."""
    view, key = open_run(app, name)
    state = FORMAT.run(view.place).state
    phase = moves.last_completed_phase(state) if number is None else number - 1
    called = title or briefing.phase_name(view.place, state, phase)
    changed = FORMAT.change(view.place, key, moves.milestone, url, phase, called)
    tell_now(view, changed, "noted", f"milestone of phase {phase + 1}: {called}")


@orchestrate.command()
@json_option
@workflow_option
@pass_app
def status(app: App, as_json: bool, name: str | None) -> None:
    """Show where the run stands and how much of its limits is used."""
    view = app.look(FORMAT.name)
    shown.status(view, run_named(app, view, name), as_json=as_json)
    signal_stop(view.place, FORMAT.run(view.place).state)


# Checkpoints and the archive.


@orchestrate.command()
@click.option("--task", metavar="ID", help="The checkpoint's task (default: the current one).")
@workflow_option
@pass_app
def checkpoint(app: App, task: str | None, name: str | None) -> None:
    """Save a snapshot of the state, with git's current commit."""
    view, _ = open_run(app, name)
    taken = checkpoints.take(view.place, task)
    entry = taken.entry.state.checkpoints[-1]
    commit = f"at commit {entry.git_sha}" if entry.git_sha else "without git"
    tell_now(view, taken, "saved", f"{entry.state_snapshot}, {commit}")


@orchestrate.command()
@click.argument("which", metavar="[N|FILE]", required=False)
@pass_app
def restore(app: App, which: str | None) -> None:
    """Restore the state from a checkpoint, by default the last good one.

    What was there is kept. The project's files, the limits and their use, and learnings.jsonl do not change.
    """
    view = app.change(FORMAT.name)
    restored = checkpoints.restore(view.place, which)
    state, details = restored.entry.state, list[str]()
    if state.active_agents:
        details.append("its agents may be gone; see holdfast status")
    sha = state.checkpoints[-1].git_sha if state.checkpoints else None
    git = briefing.way_back(view.place.store, sha)
    tell_now(view, restored, "restored", *details, *([git] if git else []))


@orchestrate.command()
@pass_app
def archive(app: App) -> None:
    """Archive a run that has ended, so that another can start."""
    place = app.change(FORMAT.name).place
    folder = checkpoints.put_away(place)
    say(f"The run was archived in {place.store.relative(folder)}.")
    say("learnings.jsonl was kept; all runs share it.")


# Locks.

_PATHS = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
_OWNER = click.option("--owner", metavar="NAME", help="The owner (default: this session).")


def _owner(app: App, given: str | None) -> str:
    owner = (given if given is not None else app.surroundings.session) or ""
    if not owner.strip():
        raise IllegalMove(
            "no owner is given for the locks",
            hint="Give --owner NAME. In Claude Code's shell the default is the session.",
        )
    return owner


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="The task, if several agents share a session.")
@pass_app
def lock(app: App, paths: tuple[str, ...], owner: str | None, task: str | None) -> None:
    """Lock files, or whole folders: all of them, or none.

    The command does not wait; it fails if somebody else holds a lock. A lock is stale after 30
    minutes, and the next caller takes it over. Locking again renews it.
    """
    place, mine = app.change(FORMAT.name, save_due=False).place, _owner(app, owner)
    real = locks.inside(place.store, app.surroundings.cwd, paths)
    for other in locks.take(place.store, place.now, real, mine, task):
        say_aside(f"{one_line(other.path)}: taken over from {other.described(place.now)}")
    say(f"locked: {one_line(', '.join(real))}")
    given = (*(("--owner", owner) if owner else ()), *(("--task", task) if task else ()))
    say(f"Release with: {shlex.join(['holdfast', 'orchestrate', 'unlock', *real, *given])}")


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="Release only this task's locks.")
@click.option("--force", is_flag=True, help="Also release other owners' locks.")
@pass_app
def unlock(
    app: App, paths: tuple[str, ...], owner: str | None, task: str | None, force: bool
) -> None:
    """Release locks: all of them, or none."""
    mine, place = "" if force else _owner(app, owner), app.change(FORMAT.name, save_due=False).place
    real = locks.inside(place.store, app.surroundings.cwd, paths)
    for gone in locks.release(place.store, place.now, real, mine, task, force=force):
        say(f"unlocked: {one_line(gone.path)}, held by {gone.described(place.now)}")


@orchestrate.command("locks")
@json_option
@pass_app
def list_locks(app: App, as_json: bool) -> None:
    """List the locks: their owners, their age, and which are stale."""
    place = app.look(FORMAT.name).place
    found = sorted(locks.read(place.store).known, key=lambda lock: lock.path)
    if as_json:
        dump([{**lock.model_dump(), "stale": lock.is_stale(place.now)} for lock in found])
    elif not found:
        say(f"Nothing is locked in {files.LOCKS}.")
    else:
        for lock in found:
            style = terminal.WARNING if lock.is_stale(place.now) else terminal.PLAIN
            put(lock.described(place.now), whole=lock.path, style=style)


def _next(place: Place, _: Workflow) -> Sequence[str]:
    state = FORMAT.run(place).state
    run, current = state.orchestrator, state.current
    if limits.pause(state):
        return ["task-start"]  # which says that the run is paused
    if run.status == "planning":
        raise IllegalMove(
            "the plan waits for a person", hint="They say `holdfast approve`, once it is written."
        )
    if run.status != "executing":
        return ["complete"]
    if current and state.is_begun(current.task):
        raise IllegalMove(
            f"task {current.title} is in progress",
            hint="Once it is completed: `holdfast done`. After an iteration: holdfast orchestrate iterate",
        )
    if current:
        return ["task-start"]
    return ["review" if state.phase + 1 >= run.total_phases else "phase"]


WORDS = {
    "next": Word("`task-start`; then `phase`, `review` and `complete`", _next),
    "done": Word("`orchestrate task-done`", "task-done"),
    "note": Word("`orchestrate learn TEXT`, a learning of the type insight", "learn"),
    "block": Word("`orchestrate pause REASON`", "pause"),
    "unblock": Word("`orchestrate resume`", "resume"),
    "approve": Word("`orchestrate approve-plan`", "approve-plan"),
    "reject": Word("a plan that is not approved stays in planning"),
}
