"""Commands for the locks of files, by which agents that work side by side do not meet."""

from __future__ import annotations

import shlex
from datetime import timedelta

import click

from holdfast import processes
from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say, say_aside
from holdfast.cli.orchestrate.group import orchestrate
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import files, locks
from holdfast.formats.orchestrator.locks import Holder, Lock, Outcome
from holdfast.plaintext import one_line

_MINUTES = int(locks.LASTS.total_seconds() // 60)
_MOST_MINUTES = 366 * 24 * 60
_PATHS = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
_OWNER = click.option("--owner", metavar="NAME", help="Whose they are; else this session's.")


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="Tells the agents of one session apart.")
@click.option(
    "--wait", type=click.FloatRange(0), default=0, metavar="S", help="For others, so long."
)
@click.option(
    "--for",
    "minutes",
    type=click.IntRange(1, _MOST_MINUTES),
    default=_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="Then they are anybody's, unless they were locked again.",
)
@click.option(
    "--pid",
    type=click.IntRange(1),
    help="The process with whose end they are anybody's; else the one that had this command run.",
)
@pass_app
def lock(
    app: App,
    paths: tuple[str, ...],
    owner: str | None,
    task: str | None,
    wait: float,
    minutes: int,
    pid: int | None,
) -> None:
    """Lock files, or folders with all that is below them: all of them, or none.

    Locking again renews. Agents of one session give their --task, or each an --owner of its own.
    """
    holder = Holder(_owner(app, owner), task)
    store = app.change(save=False).place.store
    taken = locks.take(
        store,
        app.clock,
        locks.named(store, app.surroundings.cwd, paths),
        holder,
        pid=pid or processes.caller(),
        lasts=timedelta(minutes=minutes),
        wait=wait,
    )
    _tell(taken, "locked", "taken over from")
    back = ["holdfast", "orchestrate", "unlock", *(each.path for each in taken.locks)]
    back += ["--owner", owner] if owner else []
    back += ["--task", task] if task else []
    say(f"for {holder}, {minutes} minutes. Give back with: {shlex.join(back)}")


@orchestrate.command()
@_PATHS
@_OWNER
@click.option("--task", metavar="ID", help="Only what was locked with it.")
@click.option("--force", is_flag=True, help="Also what is somebody else's.")
@pass_app
def unlock(
    app: App, paths: tuple[str, ...], owner: str | None, task: str | None, force: bool
) -> None:
    """Give back what was locked: all of it, or nothing."""
    name = "nobody" if force and not (owner or app.surroundings.session) else _owner(app, owner)
    store = app.change(save=False).place.store
    real = locks.named(store, app.surroundings.cwd, paths)
    given = locks.give_back(store, app.clock, real, name, task, force=force)
    _tell(given, "unlocked", "it was held by")


def _owner(app: App, given: str | None) -> str:
    owner = (given if given is not None else app.surroundings.session) or ""
    if not owner.strip():
        raise IllegalMove(
            "nobody knows whose locks these are",
            hint="Say it: --owner NAME. Claude Code's shell has its session for that.",
        )
    return owner


def _tell(outcome: Outcome, verb: str, whose: str) -> None:
    if outcome.note:
        say_aside(outcome.note)
    for each in outcome.locks:
        say(f"{verb}: {one_line(each.path)}")
    for other, why in outcome.from_others:
        say_aside(f"{one_line(other.path)}: {whose} {other.holder}: {why}")


@orchestrate.command("locks")
@json_option
@pass_app
def list_locks(app: App, as_json: bool) -> None:
    """Who has locked what, and which locks are stale."""
    place = app.look().place
    found, problem = locks.look(place.store)
    if problem:
        say_aside(problem)
    told = [(each, each.stale(place.now)) for each in sorted(found, key=lambda each: each.path)]
    if as_json:
        dump([{**each.to_json(), "stale": bool(why)} for each, why in told])
        return
    if not told:
        say(f"Nothing is locked in {files.LOCKS}.")
    for each, why in told:
        style = terminal.WARNING if why else terminal.PLAIN
        put(_remark(each, why), whole=each.path, style=style)


def _remark(lock: Lock, why: str) -> str:
    ends = f"until {lock.expires:%Y-%m-%d %H:%M} UTC" if lock.expires else "without an end"
    return f"{lock.holder}, {f'stale: {why}' if why else ends}"
