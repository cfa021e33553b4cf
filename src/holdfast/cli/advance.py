"""Commands that start a canonical workflow, advance it and record what must survive."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, get_args

import click

from holdfast.cli.app import (
    App,
    TextCommand,
    Whole,
    complete_path,
    complete_reminder,
    pairs,
    pass_app,
    phase_names,
    say,
    say_aside,
    still_current,
    take_up,
    warn_without_hooks,
    workflow_name,
    workflow_option,
)
from holdfast.cli.words import Word, refuse_single_words
from holdfast.formats.canonical import files, lifecycle
from holdfast.formats.canonical.format import FORMAT, all_in_words, blocked_by, left_open
from holdfast.formats.canonical.lifecycle import Beginning, Step
from holdfast.formats.canonical.sources import Status, WorkflowType
from holdfast.formats.canonical.sources.values import normal_reading
from holdfast.formats.canonical.view import Merged
from holdfast.formats.engine.workflow import as_text
from holdfast.restoring import delivery
from holdfast.restoring.reading import OUTSIDE, resolve
from holdfast.workflows.sync import ProjectView

P = ParamSpec("P")


def _meaningful(texts: tuple[str, ...]) -> None:
    if any(not text.strip("@ \t\n") for text in texts):
        raise click.BadParameter("the text is empty")


def _change(
    app: App,
    name: str | None,
    move: Callable[Concatenate[Merged, str, P], Merged],
    *arguments: P.args,
    **named: P.kwargs,
) -> tuple[ProjectView, Merged, Merged]:
    """Make *move* on the workflow *name*, else on this session's; what it was, and is."""
    view = app.change()
    key = app.general(view, name).key
    changed = FORMAT.change(view.place, key, move, *arguments, **named)
    return view, changed.before or changed.entry, changed.entry


def _tell(view: ProjectView, known: Merged, verb: str, *details: str) -> None:
    take_up(view, FORMAT.workflow(view.place, known), verb, *details)


def _left_behind(known: Merged) -> Iterator[str]:
    """The markdown that still states another phase; phases derived from checkboxes do not count."""
    here = known.state.phase
    for source in known.declarations:
        stated = source.phase
        if stated and stated.current and not stated.derived and stated.current != here.current:
            said = f"{stated.current}/{stated.total}" if stated.total else f"phase {stated.current}"
            yield f"{source.path} still says {said}; it takes effect again when it is next edited"


def _go(app: App, name: str | None, step: Step, verb: str) -> None:
    view, before, known = _change(app, name, lifecycle.advance, app.place(), step)
    left = left_open(known, 1, known.state.phase.current)
    passed = [f"left with {line}" for line in all_in_words(left)]
    if before.state.phase.status == "blocked" != known.state.phase.status:
        reason = blocked_by(before)
        passed.insert(0, f"was blocked: {reason}" if reason else "was blocked")
    _tell(view, known, verb, *passed, *_left_behind(known))


@click.command()
@click.argument("name")
@click.option(
    "-t",
    "--type",
    "kind",
    type=click.Choice(get_args(WorkflowType)),
    help="Default: what the markdown declares, else custom.",
)
@click.option("-p", "--phases", help='The phase names in order: "Design,Build,Test".')
@click.option(
    "--phase", "named", multiple=True, metavar="NAME", help="A phase; may contain commas."
)
@click.option(
    "-r",
    "--read",
    "reading",
    multiple=True,
    metavar="@PATH",
    help="Required reading.",
    shell_complete=complete_path,
)
@click.option("-m", "--remind", "reminders", multiple=True, metavar="TEXT", help="A key reminder.")
@click.option("-c", "--context", "context", multiple=True, metavar="K=V", help="A context value.")
@click.option("--apart", is_flag=True, help="Keep it separate from a plan given with --read.")
@pass_app
def start(
    app: App,
    name: str,
    kind: str | None,
    phases: str | None,
    named: tuple[str, ...],
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    context: tuple[str, ...],
    apart: bool,
) -> None:
    """Start the workflow NAME.

    What the markdown already declares is kept. If --read names a plan in progress that has no state
    yet, the two become one workflow, unless --apart is given.
    """
    if not name.strip():
        raise click.BadParameter("a workflow needs a name")
    _meaningful((*reminders, *reading))
    view = app.change(save_due=False, stay=False)
    view.refuse_failed(FORMAT.name)
    root = view.place.root
    names = [*phase_names(phases or ""), *(text.strip() for text in named if text.strip())]
    if phases is not None and not names:
        raise click.BadParameter('--phases has no names; expected: "Design,Build,Test"')
    written = [_from_root(path, root) for path in reading]
    beginning = Beginning(name.strip(), kind, names, written, reminders, pairs(context), apart)
    known = lifecycle.start(view.place, beginning)
    home = app.surroundings.home
    if home and os.path.realpath(home) == str(root):
        say_aside(f"this is your home folder; the workflow is saved in {root / files.FOLDER}")
    _tell(view, known, "started", f"kept in {known.path}", *_troubles(view, written))
    warn_without_hooks(app.surroundings)
    for line in still_current(app.look(stay=False), FORMAT.workflow(view.place, known)):
        say(line)


@click.group()
def phase() -> None:
    """Move the workflow to another phase. `holdfast phase set N` goes to any phase, forward or back."""


_STATUS = click.option(
    "-s", "--status", type=click.Choice(get_args(Status)), help="The phase's new status."
)
_FORCE = click.option(
    "--force", is_flag=True, help="Pass a blocked phase, or a gate with unticked boxes."
)
_TOTAL = click.option("--total", type=Whole(1), help="The new number of phases.")


@phase.command("next")
@click.option("-n", "--name", "phase_name", help="The phase's name, if no plan has it.")
@_TOTAL
@_FORCE
@click.option("--tick", is_flag=True, help="Tick the finished phase's boxes in the plan.")
@workflow_name()
@pass_app
def phase_next(
    app: App, phase_name: str | None, total: int | None, force: bool, tick: bool, name: str | None
) -> None:
    """Complete the current phase and go to the next one."""
    step = Step(called=phase_name, total=total, force=force, tick=tick)
    _go(app, name, step, "advanced")


class _NumberOrName(Whole):
    """The number of a phase, else its name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value, param, ctx) if value.isdecimal() else value


@phase.command("set")
@click.argument("phase", type=_NumberOrName(1), metavar="PHASE")
@click.option("-n", "--name", "phase_name", help="The phase's name, if no plan has it.")
@_STATUS
@_TOTAL
@_FORCE
@workflow_option
@pass_app
def phase_set(
    app: App,
    phase: int | str,
    phase_name: str | None,
    status: str | None,
    total: int | None,
    force: bool,
    name: str | None,
) -> None:
    """Go to PHASE, a number or a name, or change the status of the current one."""
    _go(app, name, Step(phase, phase_name, status, total, force), "moved")


@click.command(cls=TextCommand)
@click.argument("reason", required=False, default="")
@workflow_option
@pass_app
def block(app: App, reason: str, name: str | None) -> None:
    """Mark the phase as blocked and keep REASON in the context."""
    view, _, known = _change(app, name, lifecycle.block, reason)
    _tell(view, known, "blocked", *([f"by: {reason}"] if reason else []))


@click.command()
@workflow_option
@pass_app
def unblock(app: App, name: str | None) -> None:
    """Unblock the phase."""
    view, _, known = _change(app, name, lifecycle.unblock)
    _tell(view, known, "unblocked")


@click.command()
@workflow_option
@pass_app
def done(app: App, name: str | None) -> None:
    """Tick the first open box of the phase in the plan."""
    view, _, known = _change(app, name, lifecycle.tick, app.place())
    ticked = known.ticked.boxes if known.ticked else ()
    _tell(view, known, "advanced", *(f"ticked: {box}" for box in ticked))


@click.command(cls=TextCommand)
@click.argument(
    "texts", nargs=-1, required=True, metavar="TEXT...", shell_complete=complete_reminder
)
@click.option("--drop", is_flag=True, help="Remove these reminders.")
@workflow_option
@pass_app
def remind(app: App, texts: tuple[str, ...], drop: bool, name: str | None) -> None:
    """Add key reminders. Quote each one that has several words."""
    refuse_single_words(texts, drop=drop)
    _items(app, name, "key_reminders", texts, drop)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="@PATH...", shell_complete=complete_path)
@click.option("--drop", is_flag=True, help="Remove these files.")
@click.option("--excuse", is_flag=True, help="This session need not open these files.")
@workflow_option
@pass_app
def read(app: App, paths: tuple[str, ...], drop: bool, excuse: bool, name: str | None) -> None:
    """Add required reading."""
    root = app.place().root
    written = tuple(_from_root(path, root) for path in paths)
    paths_here = [str(root / os.path.expanduser(path.removeprefix("@"))) for path in written]
    if excuse and drop:
        raise click.UsageError("Give --excuse or --drop, not both.")
    if excuse:
        _excuse(app, paths, paths_here)
        return
    _items(app, name, "required_reading", written, drop)
    if drop and app.surroundings.session:  # a file that is no longer required need not be opened
        here = app.surroundings
        delivery.opened(here.state_dir, here.session, paths_here, app.clock.now())


def _excuse(app: App, written: tuple[str, ...], paths: list[str]) -> None:
    session = app.this_session("excuse", "read", "--excuse", *written)
    excused = delivery.opened(app.surroundings.state_dir, session, paths, app.clock.now())
    for path in excused:
        say(f"excused in this session: {path}")
    if not excused:
        say("This session has no unopened required reading among these files.")


def _from_root(path: str, root: Path) -> str:
    """A path as it is stored: relative to the root, even if given from a subdirectory."""
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
    view, before, known = _change(app, name, lifecycle.note, field, add, gone)
    there = getattr(before.state, field)
    told = [f"already there: {item}" for item in add if item in there]
    told += [f"added: {item}" for item in add if item not in there]
    told += [f"taken out: {item}" for item in gone]
    if field == "required_reading" and not drop:
        told += _troubles(view, items)
    _tell(view, known, "noted", *told)


def _troubles(view: ProjectView, reading: Sequence[str]) -> Iterator[str]:
    """The files of *reading* that will not be sent, and why."""
    roots = view.place.settings.reading_roots
    for file in resolve(view.place.root, reading, roots):
        if file.trouble == OUTSIDE:
            command = shlex.join(["holdfast", "read", "--drop", f"@{file.path}"])
            yield f"{file.trouble}: {file.path}; remove it: {command}"
        elif file.trouble:
            yield f"{file.trouble}: {file.path}"


@click.command()
@click.argument("values", nargs=-1, metavar="K=V...")
@click.option("--drop", multiple=True, metavar="KEY", help="Remove this key.")
@workflow_option
@pass_app
def context(app: App, values: tuple[str, ...], drop: tuple[str, ...], name: str | None) -> None:
    """Set context values. Whole numbers, true and false keep their types."""
    set_to = pairs(values)
    if not set_to and not drop:
        raise click.UsageError("Nothing to do: give K=V or --drop KEY.")
    if set_to.keys() & drop:
        raise click.UsageError("One key cannot be both set and removed.")
    details = [f"{key} = {as_text(value)}" for key, value in set_to.items()]
    details += [f"taken out: {key}" for key in drop]
    view, _, known = _change(app, name, lifecycle.note, "context", set_to, drop)
    _tell(view, known, "noted", *details)


canonical = click.Group("canonical")  # its own commands, by what the words call them
for command in (phase, remind, block, unblock, done):
    canonical.add_command(command)
_GATE = "a gate is the boxes before it; tick them, or `holdfast done`"
WORDS = {
    "next": Word("`phase next`", "phase next"),
    "done": Word("ticks the first open box of the phase in the plan", "done"),
    "note": Word("keeps it as a reminder of the workflow, as `remind TEXT` does", "remind"),
    "block": Word("the phase is blocked; REASON is kept", "block"),
    "unblock": Word("the phase goes on", "unblock"),
    "approve": Word(_GATE),
    "reject": Word(_GATE),
}
