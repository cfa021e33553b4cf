"""Commands that begin a canonical workflow, advance it and note what must not be lost."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import click

from holdfast import delivery
from holdfast.briefing import shown
from holdfast.cli.app import App, pairs, pass_app, say, say_aside, tell
from holdfast.cli.naming import workflow_option
from holdfast.errors import IllegalMove
from holdfast.formats.canonical import files, lifecycle
from holdfast.formats.canonical.declaration import Status, WorkflowType
from holdfast.formats.canonical.lifecycle import Beginning
from holdfast.formats.canonical.state import State
from holdfast.formats.canonical.unite import normal_reading
from holdfast.formats.canonical.view import Known, workflow_of
from holdfast.reading import OUTSIDE, resolve
from holdfast.sync import Synced


def _meaningful(texts: tuple[str, ...]) -> None:
    if any(not text.strip("@ \t\n") for text in texts):
        raise click.BadParameter("an empty text says nothing")


def _change(
    app: App, name: str | None, verb: str, mutate: Callable[[State], State], *details: str
) -> Known:
    synced = app.change()
    workflow = app.general(synced, name)
    known = lifecycle.change(synced.place, workflow.key, mutate)
    tell(synced, workflow_of(known, synced.place), verb, *details)
    return known


def _move(app: App, name: str | None, verb: str, mutate: Callable[[State], State]) -> None:
    synced = app.change()
    known = lifecycle.change(synced.place, app.general(synced, name).key, mutate)
    tell(synced, workflow_of(known, synced.place), verb, *_left_behind(known))


def _left_behind(known: Known) -> Iterator[str]:
    """The markdown that states another phase; checkboxes are ticked when their time comes."""
    here = known.state.phase
    for each in known.declarations:
        stated = each.phase
        if stated and stated.current and not stated.derived and stated.current != here.current:
            said = f"{stated.current}/{stated.total}" if stated.total else f"phase {stated.current}"
            yield f"{each.path} still says {said}; that is all right, its next edit counts again"


@click.command()
@click.argument("name")
@click.option(
    "-t",
    "--type",
    "kind",
    type=click.Choice(get_args(WorkflowType)),
    help="By default what the markdown declares, else custom.",
)
@click.option("-p", "--phases", default="", help='Their names in order: "Design,Build,Test".')
@click.option("--phase", "named", multiple=True, metavar="NAME", help="One more, commas and all.")
@click.option("-r", "--read", "reading", multiple=True, metavar="@PATH", help="Required reading.")
@click.option("-m", "--remind", "reminders", multiple=True, metavar="TEXT", help="A key reminder.")
@click.option("-c", "--context", "context", multiple=True, metavar="K=V", help="A context value.")
@click.option("--apart", is_flag=True, help="Keep it apart from a plan that it reads.")
@pass_app
def start(
    app: App,
    name: str,
    kind: str | None,
    phases: str,
    named: tuple[str, ...],
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    context: tuple[str, ...],
    apart: bool,
) -> None:
    """Begin the workflow NAME.

    What markdown declares of it already stays. A plan in progress that is named with --read and has
    no state yet becomes one workflow with it, unless --apart is given.
    """
    if not name.strip():
        raise click.BadParameter("a workflow needs a name")
    _meaningful((*reminders, *reading))
    synced = app.change(save=False, stay=False)
    root = synced.place.root
    names = [each.strip() for each in (*phases.split(","), *named) if each.strip()]
    written = [_from_root(path, root) for path in reading]
    beginning = Beginning(name.strip(), kind, names, written, reminders, pairs(context), apart)
    known = lifecycle.start(synced.place, beginning)
    workflow = workflow_of(known, synced.place)
    _note_home(app, root)
    tell(
        synced,
        workflow,
        "started",
        f"kept in {root / (workflow.briefing.state_path or '')}",
        *_troubles(synced, written),
    )
    chosen = app.look(stay=False).choice().chosen
    if chosen and chosen.key != workflow.key:
        say(f"  In force here is still {chosen.name!r}; name this one with -w {workflow.name!r}.")


def _note_home(app: App, root: Path) -> None:
    home = app.surroundings.home
    if home and os.path.realpath(home) == str(root):
        say_aside(f"this is your home folder: the workflow is kept in {root / files.FOLDER}")


class _Phases(click.Group):
    """Says how to go back to whoever looks for a command for it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = "`holdfast phase set N` goes to any phase, also back."
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from error


@click.group(cls=_Phases)
def phase() -> None:
    """Move the workflow to another phase."""


_STATUS = click.option(
    "-s", "--status", type=click.Choice(get_args(Status)), help="The status of the phase."
)
_TOTAL = click.option("--total", type=click.IntRange(1), help="How many phases there are now.")


@phase.command("next")
@click.option("-n", "--name", "phase_name", help="Its name, where no plan tells it.")
@_TOTAL
@workflow_option
@pass_app
def phase_next(app: App, phase_name: str | None, total: int | None, name: str | None) -> None:
    """The present phase is done; go to the next one."""
    _move(
        app,
        name,
        "advanced",
        lambda state: lifecycle.to_phase(state, None, phase_name, None, total),
    )


@phase.command("set")
@click.argument("number", type=click.IntRange(1))
@click.option("-n", "--name", "phase_name", help="Its name, where no plan tells it.")
@_STATUS
@_TOTAL
@workflow_option
@pass_app
def phase_set(
    app: App,
    number: int,
    phase_name: str | None,
    status: str | None,
    total: int | None,
    name: str | None,
) -> None:
    """Go to phase NUMBER, or change the status of the present one."""
    _move(
        app,
        name,
        "moved",
        lambda state: lifecycle.to_phase(state, number, phase_name, status, total),
    )


@click.command()
@click.argument("reason", required=False, default="")
@click.option("--clear", is_flag=True, help="It is not blocked any more.")
@workflow_option
@pass_app
def block(app: App, reason: str, clear: bool, name: str | None) -> None:
    """Mark the phase as blocked, with the REASON in the context."""
    if clear:
        _change(app, name, "unblocked", lifecycle.unblocked)
    else:
        details = [f"by: {reason}"] if reason else []
        _change(app, name, "blocked", lambda state: lifecycle.blocked(state, reason), *details)


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("--drop", is_flag=True, help="Take these reminders out.")
@workflow_option
@pass_app
def remind(app: App, texts: tuple[str, ...], drop: bool, name: str | None) -> None:
    """Add key reminders."""
    _items(app, name, "key_reminders", texts, drop)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="@PATH...")
@click.option("--drop", is_flag=True, help="Take these files out.")
@click.option("--excuse", is_flag=True, help="Let them pass: this session need not open them.")
@workflow_option
@pass_app
def read(app: App, paths: tuple[str, ...], drop: bool, excuse: bool, name: str | None) -> None:
    """Add required reading."""
    root = app.look().place.root
    written = tuple(_from_root(path, root) for path in paths)
    paths_here = [str(root / os.path.expanduser(path.removeprefix("@"))) for path in written]
    if excuse and drop:
        raise click.UsageError("--excuse lets a file pass, --drop takes it out: give one of them.")
    if excuse:
        _excuse(app, paths_here)
        return
    _items(app, name, "required_reading", written, drop)
    if drop and app.surroundings.session:  # what is not required need not be opened
        delivery.opened(app.surroundings.state_dir, app.surroundings.session, paths_here)


def _excuse(app: App, paths: list[str]) -> None:
    session = app.this_session("excuse")
    excused = delivery.opened(app.surroundings.state_dir, session, paths)
    for path in excused:
        say(f"excused in this session: {path}")
    if not excused:
        say("None of these is required reading that this session has still to open.")


def _from_root(path: str, root: Path) -> str:
    """A path as it is kept: relative to the root, also when it was given from a subdirectory."""
    plain = path.removeprefix("@")
    here = Path(os.path.realpath(plain))
    if (
        Path.cwd() != root
        and (here.exists() or plain.startswith("."))
        and here.is_relative_to(root)
    ):
        return f"@{here.relative_to(root).as_posix()}"
    return normal_reading(path)


def _items(app: App, name: str | None, field: str, items: tuple[str, ...], drop: bool) -> None:
    _meaningful(items)
    add, gone = ((), items) if drop else (items, ())
    told: list[str] = []

    def mutate(state: State) -> State:
        there = getattr(state, field)
        told.extend(f"already there: {item}" for item in add if item in there)
        told.extend(f"added: {item}" for item in add if item not in there)
        told.extend(f"taken out: {item}" for item in gone)
        return lifecycle.with_items(state, field, add, gone)

    synced = app.change()
    known = lifecycle.change(synced.place, app.general(synced, name).key, mutate)
    _really_gone(known, [item for item in gone if item in getattr(known.state, field)])
    if field == "required_reading" and not drop:
        told.extend(_troubles(synced, items))
    tell(synced, workflow_of(known, synced.place), "noted", *told)


def _troubles(synced: Synced, reading: Sequence[str]) -> Iterator[str]:
    """What will not be sent of *reading*, and why."""
    roots = synced.place.settings.reading_roots
    for each in resolve(synced.place.root, reading, roots):
        if each.trouble == OUTSIDE:
            command = shlex.join(["holdfast", "read", "--drop", f"@{each.path}"])
            yield f"{each.trouble}: {each.path}; take it out: {command}"
        elif each.trouble:
            yield f"{each.trouble}: {each.path}"


def _really_gone(known: Known, still: list[str]) -> None:
    """What markdown declares cannot be dropped by a command."""
    if still:
        paths = " or ".join(each.path for each in known.declarations)
        raise IllegalMove(f"still there: {still[0]}", hint=f"Take it out of {paths}.")


@click.command()
@click.argument("values", nargs=-1, metavar="K=V...")
@click.option("--drop", multiple=True, metavar="KEY", help="Take this key out.")
@workflow_option
@pass_app
def context(app: App, values: tuple[str, ...], drop: tuple[str, ...], name: str | None) -> None:
    """Set context values. Whole numbers, true and false are kept as such."""
    set_to = pairs(values)
    if not set_to and not drop:
        raise click.UsageError("Nothing to do: give K=V or --drop KEY.")

    def mutate(state: State) -> State:
        missing = [key for key in drop if key not in state.context]
        if missing:
            raise IllegalMove(f"there is no context value {missing[0]!r}")
        return lifecycle.with_context(state, set_to, drop)

    details = [f"{key} = {shown(value)}" for key, value in set_to.items()]
    known = _change(app, name, "noted", mutate, *details, *(f"taken out: {key}" for key in drop))
    _really_gone(known, [key for key in drop if key in known.state.context])


COMMANDS = (start, phase, block, remind, read, context)
