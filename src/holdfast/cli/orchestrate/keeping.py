"""Commands that look at a run, and those for what is kept beside its state: checkpoints, archive, locks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli import terminal
from holdfast.cli.app import (
    App,
    Move,
    agreed,
    dump,
    json_option,
    pass_app,
    say,
    say_aside,
    workflow_option,
)
from holdfast.cli.orchestrate.moves import (
    agent,
    make_move,
    open_run,
    orchestrate,
    run_named,
    signal_stop,
    tell_now,
)
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Workflow
from holdfast.formats.orchestrator import briefing, checkpoints, files, limits, locks, tasks
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.limits import Use
from holdfast.formats.orchestrator.model import State
from holdfast.text.plaintext import one_line
from holdfast.workflows.sync import ProjectView

# Looking.


def _look(app: App, name: str | None) -> tuple[ProjectView, Workflow, State]:
    view = app.look(FORMAT.name)
    workflow = run_named(app, view, name)
    return view, workflow, FORMAT.changeable(view.place).state


@orchestrate.command()
@click.option("--add", "added", metavar="$N", help="What was spent outside the tasks.")
@json_option
@workflow_option
@pass_app
def cost(app: App, added: str | None, as_json: bool, name: str | None) -> None:
    """How much of the limits is used."""
    if added:
        make_move(app, name, Move("cost", tasks.spend, "noted"), {"cost": added})
        return
    view, _, state = _look(app, name)
    uses = limits.uses(state, view.place.now)
    if as_json:
        dump(_for_programs(uses))
    else:
        _show_uses(uses)
    signal_stop(view.place, state)


def _for_programs(uses: Sequence[Use]) -> list[dict[str, Any]]:
    return [{**use._asdict(), "reached": use.reached} for use in uses]


def _show_uses(uses: Sequence[Use]) -> None:
    for use in uses:
        style = terminal.BAD if use.reached else terminal.WARNING if use.level else terminal.PLAIN
        put(use.text, lead=f"  {use.what}: ", style=style)


@orchestrate.command()
@json_option
@workflow_option
@pass_app
def status(app: App, as_json: bool, name: str | None) -> None:
    """Where the run stands, and how much of its limits is used."""
    view, workflow, state = _look(app, name)
    stands, notes = workflow.briefing, [*workflow.cautions, *view.notes]
    uses = limits.uses(state, view.place.now)
    if as_json:
        facts = {
            "name": stands.name,
            "status": stands.status,
            "standing": workflow.standing,
            "next": stands.next_action,
            "limits": _for_programs(uses),
            "notes": notes,
            "state": state.to_json(),
        }
        dump(facts)
    else:
        where = f"{stands.where} ({stands.phase_name})"
        put(f"{stands.name}: {stands.status}, {where}", style=terminal.HEADING)
        if stands.next_action:
            put(stands.next_action, lead="  Next: ")
        _show_uses(uses)
        used = {use.what.lower() for use in uses}
        for label, fact in stands.context:
            if label not in used:
                put(str(fact), lead=f"  {label[0].upper()}{label[1:]}: ")
        for lesson in stands.reminders:
            put(lesson, lead="  ")
        for note in notes:
            put(note, lead="  Note: ", style=terminal.WARNING)
    signal_stop(view.place, state)


@agent.command("list")
@json_option
@workflow_option
@pass_app
def list_agents(app: App, as_json: bool, name: str | None) -> None:
    """The agents at work, and which of them are stale."""
    view, _, state = _look(app, name)
    now, agents = view.place.now, tasks.agents_seen(view.place.store, state)
    if as_json:
        found = [(seen.agent.model_dump(), seen.heard, seen.is_stale(now)) for seen in agents]
        dump([{**agent, "heard": heard, "stale": stale} for agent, heard, stale in found])
        return
    if not agents:
        say("No agent is at work.")
    for seen in agents:
        remark = seen.remark(now)
        style = terminal.WARNING if remark else terminal.PLAIN
        put(remark or seen.agent.status.replace("_", " "), lead=f"{seen.described}: ", style=style)


# Checkpoints and the archive.


@orchestrate.command()
@click.option("--task", metavar="ID", help="Its task; by default the current one.")
@workflow_option
@pass_app
def checkpoint(app: App, task: str | None, name: str | None) -> None:
    """Take a checkpoint: a snapshot of the state, with git's current commit."""
    view, _ = open_run(app, name)
    taken = checkpoints.take(view.place, task)
    entry = taken.entry.state.checkpoints[-1]
    commit = f"at commit {entry.git_sha}" if entry.git_sha else "without git"
    tell_now(view, taken, "saved", f"{entry.state_snapshot}, {commit}")


@orchestrate.command()
@click.argument("which", metavar="[N|FILE]", required=False)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def restore(app: App, which: str | None, yes: bool) -> None:
    """Restore the state of a checkpoint, by default the last good one. The project's files stay as they are.

    The limits, what was used of them, and learnings.jsonl stay as they are, too.
    """
    view = app.change(FORMAT.name)
    way = checkpoints.plan(view.place, which)
    say(f"{way.snapshot.described} would change:")
    for line in way.changes or ["nothing"]:
        say(f"  {one_line(line)}")
    hint = f"To confirm: holdfast orchestrate restore {way.snapshot.path.name} --yes"
    if not agreed("Go back to it?", yes=yes, undone="nothing was restored", hint=hint):
        return
    restored = checkpoints.restore(view.place, str(way.snapshot.path))
    details = []
    if restored.entry.state.active_agents:
        details.append("its agents may have ended since then: holdfast orchestrate agent list")
    git = briefing.way_back(view.place.store, way.sha)
    tell_now(view, restored, "restored", *details, *([git] if git else []))


@orchestrate.command()
@pass_app
def archive(app: App) -> None:
    """Archive a run that has ended, so that another one can begin."""
    place = app.change(FORMAT.name).place
    folder = checkpoints.put_away(place)
    say(f"The run is in {place.store.relative(folder)}.")
    say("learnings.jsonl stays where it is as well; it goes on through all runs.")


# Locks.

_PATHS = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
_OWNER = click.option("--owner", metavar="NAME", help="The owner; by default this session.")


def _owner(app: App, given: str | None) -> str:
    owner = (given if given is not None else app.surroundings.session) or ""
    if not owner.strip():
        raise IllegalMove(
            "the owner of the locks is not known",
            hint="Give it: --owner NAME. In Claude Code's shell it is the session.",
        )
    return owner


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="Tells the agents of one session apart.")
@pass_app
def lock(app: App, paths: tuple[str, ...], owner: str | None, task: str | None) -> None:
    """Lock files, or folders with everything below them: all of them, or none.

    Nobody waits for a lock: if somebody else has it, the command says so. After 30 minutes a lock
    is stale, and whoever asks next gets it. Locking again renews it.
    """
    place, mine = app.change(FORMAT.name, save=False).place, _owner(app, owner)
    real = locks.inside(place.store, app.surroundings.cwd, paths)
    for other in locks.take(place.store, place.now, real, mine, task):
        say_aside(f"{one_line(other.path)}: taken over from {other.described(place.now)}")
    say(f"locked: {one_line(', '.join(real))}")
    given = (*(("--owner", owner) if owner else ()), *(("--task", task) if task else ()))
    say(f"Release with: {shlex.join(['holdfast', 'orchestrate', 'unlock', *real, *given])}")


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="Only locks of this task.")
@click.option("--force", is_flag=True, help="Also locks of other owners.")
@pass_app
def unlock(
    app: App, paths: tuple[str, ...], owner: str | None, task: str | None, force: bool
) -> None:
    """Release what was locked: all of it, or nothing."""
    mine, place = "" if force else _owner(app, owner), app.change(FORMAT.name, save=False).place
    real = locks.inside(place.store, app.surroundings.cwd, paths)
    for gone in locks.release(place.store, place.now, real, mine, task, force=force):
        say(f"unlocked: {one_line(gone.path)}, held by {gone.described(place.now)}")


@orchestrate.command("locks")
@json_option
@pass_app
def list_locks(app: App, as_json: bool) -> None:
    """Who has locked what and since when, and which locks are stale."""
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
