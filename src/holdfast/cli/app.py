"""Shared by every command: the project's current state, finding a workflow by NAME, and printing."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias, cast

import click
from click.shell_completion import CompletionItem

from holdfast.agents.clients import CLAUDE, CLIENTS
from holdfast.cli.terminal import can_ask, emit
from holdfast.clock import Clock, iso
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow
from holdfast.formats.engine.format import AnyFormat
from holdfast.formats.engine.workflow import Workflow
from holdfast.formats.registry import GENERAL, format_of, named
from holdfast.records import ledger
from holdfast.restoring.guidance import for_person
from holdfast.text.plaintext import clean, escaped, one_line, scalar
from holdfast.workflows import sync
from holdfast.workflows.selection import Choice, distinct_name, find, folded, handles
from holdfast.workflows.sync import Project, ProjectView

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]  # one of click's

_MOST_NAMED = 8


class Failed(click.ClickException):
    """A cause and a next step on stderr, and the exit code of the error."""

    def __init__(self, error: HoldfastError) -> None:
        super().__init__(error.cause)
        self.exit_code = error.exit_code  # type: ignore[misc]  # click reads it from the instance
        self.hint = error.hint

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        say_aside(self.message)
        if self.hint:
            click.echo(f"  {clean(self.hint)}", err=True)


class App(Project):
    """One per command."""

    def __init__(self, surroundings: Surroundings, clock: Clock) -> None:
        # Which command it is, is known only when it runs.
        super().__init__(surroundings, clock, lambda: click.get_current_context().command_path)
        # The workflow that a word has selected; its command works on this one, however it is called.
        self.selected: Workflow | None = None

    def when_off(self, why: str) -> None:
        """Refuse to change anything; looking is allowed, with a warning."""
        if self.changes:
            super().when_off(why)
        say_aside(f"switched off, because {why}")

    def change_several(self, form: AnyFormat, *, stay: bool = True) -> ProjectView:
        """`change` for a format that writes several files at once: finishes an interrupted change first."""
        view = self.change(form.name, save_due=False, stay=stay)
        if not form.is_interrupted(view.place):
            return view
        with form.locked(view.place) as lines:
            for line in lines:
                say_aside(one_line(line, 400))
        # Look again: the recovery may have changed the files.
        return self.change(form.name, save_due=False, stay=stay)

    def this_session(self, purpose: str, *command: str) -> str:
        """The session that *command* was called from; without one, there is nothing to *purpose*."""
        if not self.surroundings.session:
            typed = one_line(shlex.join(["holdfast", *command]), 200)
            raise IllegalMove(
                f"this shell belongs to no known session, so there is nothing to {purpose}",
                hint=f"In Claude Code, type `!{typed}`. For another agent, run it in the agent's shell.",
            )
        return self.surroundings.session

    def below_root(self, view: ProjectView, path: str) -> str:
        """*path* relative to the project's root; it is given from the current directory or that root."""
        store, given = view.place.store, Path(self.surroundings.cwd, path)
        found = next((file for file in (given, store.root / path) if file.is_file()), None)
        if found is None:
            near = _near_file(given) or _near_file(store.root / path)
            meant = near and os.path.join(os.path.dirname(path), near)
            hint = f"Did you mean {meant!r}? " if meant else ""
            raise NoSuchWorkflow(
                f"there is no file {path!r}",
                hint=f"{hint}Give a path from here or the project's root.",
            )
        real = found.parent.resolve() / found.name
        if not real.is_relative_to(store.root):
            raise IllegalMove(f"{path!r} is outside the project {store.root}")
        return store.relative(real)

    def meant(self, view: ProjectView, name: str | None, format_name: str = "") -> Workflow:
        """The selected workflow, else the one called *name*, else this session's; only of *format_name*, if given."""
        try:
            return self._find(view, name, format_name)
        except NoSuchWorkflow as error:
            if view.failure:  # it may be there
                cause = f"{error.cause}; {view.failure.cause}"
                raise NoSuchWorkflow(cause, hint=view.failure.hint) from error
            raise

    def _find(self, view: ProjectView, name: str | None, format_name: str) -> Workflow:
        among = [workflow for workflow in view.workflows if format_name in {"", workflow.format}]
        if selected := self.selected:
            return next((workflow for workflow in among if workflow.key == selected.key), selected)
        if name:
            return find(among, name)
        choice = view.choice(format_name)
        if self.changes and not self.surroundings.session:
            _refuse_a_guess(choice)
        finished = _just_finished(view, among)
        if finished and (choice.chosen is None or _is_later(finished, choice.chosen, view)):
            return finished
        if choice.chosen is None:
            group = named(format_name).group if format_name else ""
            why = f"no {format_name} workflow is active" if group else choice.why
            hint = f"Start one with `holdfast {group} start`" if group else sync.way_on(view)
            raise NoSuchWorkflow(
                f"{why} in {view.root}",
                hint=f"{hint}; `holdfast why` explains what was found.",
            )
        return choice.chosen

    def to_change(self, view: ProjectView, name: str | None) -> Workflow:
        """The workflow that *name* means; refused if its format could not be read."""
        workflow = self.meant(view, name)
        view.refuse_failed(workflow.format)
        return workflow

    def general(self, view: ProjectView, name: str | None) -> Workflow:
        """The workflow that *name* means, for the top-level commands, which are for the general format only."""
        workflow = self.to_change(view, name)
        if workflow.format != GENERAL:
            group = format_of(workflow).group
            own = f"Use its own commands: holdfast {group} --help"
            raise IllegalMove(
                f"{workflow.name!r} has another format: {workflow.format}",
                hint=own if group else f"Edit its file: {workflow.briefing.state_path}",
            )
        return workflow


def _near_file(path: Path) -> str:
    """The name of the file beside *path* that was probably meant."""
    try:
        names = {name.casefold(): name for name in os.listdir(path.parent)}
    except (OSError, ValueError):
        return ""
    near = get_close_matches(path.name.casefold(), names, 1)
    return names[near[0]] if near else ""


def _refuse_a_guess(choice: Choice) -> None:
    """Refuse to pick one of several active workflows for a caller without a session."""
    active = [one for one in (choice.chosen, *choice.others) if one and one.standing == "active"]
    active = [one for one in active if not one.part_of]
    names = [distinct_name(one, active) for one in active]
    if len(names) > 1:
        listed = ", ".join(repr(one_line(name, 80)) for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        command = shlex.join(_typed("-w", names[0]))
        raise IllegalMove(
            f"several workflows are active: {listed}{more}",
            hint=f"Name one: {one_line(command, 400)}",
        )


def _typed(*more: str) -> list[str]:
    """The command line, with *more* behind the name of the command."""
    command = click.get_current_context().command_path.split()
    end = len(command)
    given = sys.argv[end:] if sys.argv[1:end] == command[1:] else []
    return [*command, *more, *given]


def _just_finished(view: ProjectView, among: Sequence[Workflow]) -> Workflow | None:
    """The last workflow that is no longer active but still has its files; this session's first."""
    kept = [
        workflow
        for workflow in among
        if workflow.kept and workflow.standing != "ignored" and not workflow.put_away
    ]
    own = [workflow for workflow in kept if view.owned and workflow.key == view.owned.workflow]
    last = max(own or kept, key=lambda workflow: workflow.changed_at, default=None)
    return last if last and last.standing != "active" else None


def _is_later(finished: Workflow, chosen: Workflow, view: ProjectView) -> bool:
    own = view.owned is not None and view.owned.workflow == finished.key
    return finished.standing == "finished" and (own or finished.changed_at > chosen.changed_at)


class TextCommand(click.Command):
    """A command that takes a text which begins with "- ", a bullet in markdown, as a text."""

    def is_text(self, word: str) -> bool:
        """Whether *word*, which begins with a dash, is no option."""
        return word[1].isspace()

    def make_parser(self, ctx: click.Context) -> Any:
        """Click has no setting for this: to its parser, all that begins with a dash is an option."""
        parser: Any = super().make_parser(ctx)
        read_option = parser._process_opts  # noqa: SLF001

        def read(word: str, state: Any) -> None:
            if self.is_text(word):
                state.largs.append(word)
            else:
                read_option(word, state)

        parser._process_opts = read  # noqa: SLF001
        return parser


class Whole(click.IntRange):
    """An integer; errors call it a whole number."""

    name = "whole number"


pass_app = click.make_pass_decorator(App)
agent_option = click.option(
    "--agent",
    type=click.Choice(list(CLIENTS)),
    default=CLAUDE.name,
    help="The agent to act on (default: Claude Code).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(text: str = "") -> None:
    """Print for people, without terminal control characters."""
    emit(clean(text))


def say_aside(text: str) -> None:
    """Print a remark on stderr."""
    click.echo(f"holdfast: {clean(text)}", err=True)


def refuse_options_of_others(given: Mapping[str, Any], allowed: Collection[str], what: str) -> None:
    """Refuse options *given* to a command that are not *allowed* for *what* it starts."""
    wrong = next((name for name, value in given.items() if value and name not in allowed), None)
    if wrong:
        options = click.get_current_context().command.params
        written = next(option.opts[-1] for option in options if option.name == wrong)
        raise click.UsageError(f"{written} cannot be used with the {what}.")


def agreed(question: str, *, yes: bool, undone: str, hint: str) -> bool:
    """Whether to go on: with *yes*, or if a person confirms; a script is refused with *undone*."""
    if not yes and not can_ask():
        raise IllegalMove(undone, hint=hint)
    if yes or click.confirm(question, default=False):
        return True
    say("Nothing was changed.")
    return False


def dump(value: object) -> None:
    """Print JSON as UTF-8."""

    def as_text(value: object) -> str:  # for types that JSON lacks; times as in all our files
        return iso(value) if isinstance(value, datetime) else str(value)

    text = json.dumps(value, ensure_ascii=False, indent=2, default=as_text)
    click.echo(escaped(text).encode("utf-8", "replace"))


def phase_names(text: str) -> list[str]:
    """The names in *text*, which commas or semicolons separate."""
    return [name.strip() for name in re.split("[,;]", text) if name.strip()]


def pairs(values: Sequence[str]) -> dict[str, Any]:
    """Parse K=V arguments."""
    found = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise click.BadParameter(f"{value!r} is not in the form key=value")
        found[key.strip()] = scalar(text.strip())
    return found


def warn_without_hooks(here: Surroundings) -> None:
    """Tell a person whom no agent serves yet that a compaction would save nothing."""
    from holdfast.setup import clientsettings  # noqa: PLC0415  # most commands need no settings
    from holdfast.setup.plugin import marker  # noqa: PLC0415

    is_agent = here.session or here.client_project or marker.is_ours(sys.prefix)
    if not (is_agent or clientsettings.any_hooks(here)):
        say_aside(
            "no hooks are registered, so a compaction saves and restores nothing: holdfast init"
        )


def take_up(view: ProjectView, workflow: Workflow, verb: str, *details: str) -> None:
    """Make *workflow*, just changed, this session's, and print its status."""
    sync.take_up(view, workflow)
    if workflow.format == GENERAL and workflow.standing != "active":  # so nothing comes next
        idle = replace(workflow.briefing, next_action="")
        say(f"{for_person(idle, verb)}. It is not active: {one_line(workflow.remark)}")
    else:
        say(for_person(workflow.briefing, verb))
    for detail in details:
        say(f"  {one_line(detail)}")


def still_current(view: ProjectView, workflow: Workflow) -> list[str]:
    """Says that another workflow than *workflow* is the one that is chosen."""
    chosen = view.choice().chosen
    if chosen is None or chosen.key == workflow.key:
        return []
    return [f"  Still current: {chosen.name!r}. Select this one with -w {workflow.name!r}."]


def workflow_name(*, required: bool = False, ended: bool = False) -> Decorator:
    """The workflow, as NAME or -w NAME; *ended* completes the names of ended ones too."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        return _completions(begun, ended=ended)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(name: str | None, chosen: str | None, **given: Any) -> Any:
            if name and chosen and name != chosen:
                raise click.UsageError("Give the workflow as NAME or as -w NAME, not both.")
            if required and not (name or chosen):
                raise click.UsageError("Missing argument 'NAME'.")
            return function(name=chosen or name, **given)

        argument = click.argument("name", required=False, shell_complete=complete)
        decorated: Callable[..., Any] = argument(_option("chosen", ended=ended)(run))
        return decorated

    return decorate


def _option(variable: str, *, ended: bool = False) -> Decorator:
    return click.option(
        "-w",
        "--workflow",
        variable,
        metavar="NAME",
        help="The workflow (default: this session's).",
        shell_complete=lambda _, __, begun: _completions(begun, ended=ended),
    )


workflow_option = _option("name")


def _completions(begun: str, *, ended: bool) -> list[CompletionItem]:
    """The completions of *begun*; none, silently, if the project cannot be read."""
    here = Surroundings.from_environment()
    try:
        view = sync.survey(here.session, here, Clock.from_environment())
        over = ledger.load(view.place.store).finished.values() if ended else ()
    except (HoldfastError, OSError):
        return []
    called = [[workflow.name, *handles(workflow)[::-1]] for workflow in view.workflows]
    called += [[tombstone.name] for tombstone in over]
    items: dict[str, CompletionItem] = {}
    for ways in called:
        word = next(filter(_ONE_WORD.fullmatch, ways), None)
        if word and any(folded(way).startswith(folded(begun)) for way in (word, ways[0])):
            items[word] = CompletionItem(word, help=one_line(ways[0], 80))
    return list(items.values())


def complete_path(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """The paths that complete *begun*, with or without an @."""
    sign = "@" if begun.startswith("@") else ""
    folder, name = os.path.split(begun.removeprefix("@"))
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        CompletionItem(sign + os.path.join(folder, entry.name) + "/" * entry.is_dir())
        for entry in entries
        if entry.name.startswith(name) and (name or not entry.name.startswith("."))
    ]


def complete_reminder(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """With --drop, the reminders that start with *begun*; a new one has no completion."""
    if not ctx.params.get("drop"):
        return []
    here = Surroundings.from_environment()
    try:
        view = sync.survey(here.session, here, Clock.from_environment())
        workflow = (
            find(view.workflows, ctx.params["name"])
            if ctx.params.get("name")
            else view.choice().chosen
        )
    except (HoldfastError, OSError):
        return []
    texts = [text for text in (workflow.briefing.reminders if workflow else ()) if "\n" not in text]
    # Bash puts a word in as it is; the others quote it.
    is_bash = os.environ.get("_HOLDFAST_COMPLETE", "").startswith("bash")
    return [
        CompletionItem(shlex.quote(text) if is_bash else text)
        for text in texts
        if text.startswith(begun.strip("'\""))
    ]


# What no shell takes apart or gives a meaning of its own; a name with a space goes by its folder.
_ONE_WORD = re.compile(r"[\w./+-]+")


class Move:
    """A command that makes the move *step*; *parameters* are its options, *which* selects the workflow."""

    def __init__(
        self,
        words: str,
        step: Callable[..., Any],
        verb: str,
        *parameters: Decorator,
        which: Decorator = workflow_option,
    ) -> None:
        self.words = words  # below the group: "phase complete"
        self.step = step
        self.verb = verb  # what has happened to the workflow, for the person
        self.parameters = (*parameters, which)


Run: TypeAlias = Callable[[App, str | None, Move, dict[str, Any]], None]


def add_moves(group: click.Group, moves: Iterable[Move], run: Run) -> None:
    """Add a command for each of *moves*, which is *run* on the workflow that is meant."""
    for move in moves:
        above, _, name = move.words.rpartition(" ")
        parent = cast(click.Group, group.commands[above]) if above else group
        parent.add_command(_command_for(name, move, run))


def _command_for(name: str, move: Move, run: Run) -> click.Command:
    def callback(app: App, name: str | None, **given: Any) -> None:
        run(app, name, move, given)

    decorated: Any = pass_app(callback)
    for parameter in reversed(move.parameters):
        decorated = parameter(decorated)
    return click.command(name, cls=TextCommand, help=move.step.__doc__)(decorated)
