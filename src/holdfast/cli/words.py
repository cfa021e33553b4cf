"""The words that every format has: next, done, note, block, unblock, approve, reject.

Each format's module of commands says in its table WORDS which of these commands a word runs. The word finds the
workflow and runs the command on it with what was typed, so it takes the same options, and refuses the same.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias, cast

import click

from holdfast.cli.app import App, TextCommand, pass_app, take_up, workflow_option
from holdfast.errors import IllegalMove
from holdfast.files.store import COMMAND_WAIT
from holdfast.formats import registry
from holdfast.formats.engine.format import AnyFormat
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.registry import GENERAL, format_of
from holdfast.records import ledger
from holdfast.text.plaintext import one_line

# Says which commands of the group are legal now.
Ways: TypeAlias = Callable[[Place, Workflow], Sequence[str]]


class Word(NamedTuple):
    """What a word does in one format, for people; where no command does it, why."""

    does: str
    command: str | Ways | None = None
    in_record: bool = False  # `note`, where the format's document has no place for notes

    @property
    def table_entry(self) -> str:
        return self.does if self.command or self.in_record else f"refused: {self.does}"


def refuse_single_words(texts: Sequence[str], *, drop: bool) -> None:
    """Refuse several texts of one word, which were to be one."""
    if len(texts) > 1 and not drop and not any(" " in text for text in texts):
        command = click.get_current_context().command_path
        dashes = "-- " if texts[0].startswith("-") else ""  # or it would be taken for an option
        one = one_line(f"{command} {dashes}{shlex.quote(' '.join(texts))}")
        raise click.UsageError(f"These are {len(texts)} notes of one word. For one: {one}")


@click.command("note", cls=TextCommand)
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("--drop", is_flag=True, help="Remove these notes.")
@workflow_option
@pass_app
def note_in_record(app: App, texts: tuple[str, ...], drop: bool, name: str | None) -> None:
    """Keep each TEXT in the project record, as the format's document has no place for it."""
    view = app.change()
    workflow = app.to_change(view, name)
    store, begun = view.place.store, str(workflow.created_at)
    refuse_single_words(texts, drop=drop)
    kept = ledger.reminders_of(store, workflow.key, begun)
    if drop and (missing := [text for text in texts if text not in kept]):
        raise IllegalMove(f"not there: {missing[0]}", hint="See holdfast show.")
    add, gone = ((), texts) if drop else (texts, ())
    ledger.remind(store, workflow.key, begun, COMMAND_WAIT, add=add, drop=gone)
    view = app.look()
    done = "taken out" if drop else "added"
    take_up(view, app.meant(view, name), "noted", *(f"{done}: {text}" for text in texts))


IN_RECORD = Word("keeps it in the project record; told after a compaction", in_record=True)


def commands(form: AnyFormat) -> tuple[click.Group, dict[str, Word]]:
    """The commands of a format, and what the words mean in it."""
    is_general = form.name == GENERAL
    module = import_module(f"holdfast.cli.{'advance' if is_general else form.group}")
    return getattr(module, GENERAL if is_general else form.group), getattr(module, "WORDS", {})


def _command(word: str, place: Place, workflow: Workflow) -> click.Command:
    """The command that does *word* to *workflow*."""
    form = format_of(workflow)
    if not form.group and workflow.format != GENERAL:
        raise IllegalMove(
            f"{workflow.name!r} has another format: {workflow.format}",
            hint=f"Edit its file: {workflow.briefing.state_path}",
        )
    group, words = commands(form)
    found = words.get(word, Word("no command of this format does it"))
    if found.in_record:
        return note_in_record
    if found.command is None:
        hint = f"Its own commands: holdfast {form.group} --help" if form.group else ""
        raise IllegalMove(f"{workflow.name!r} cannot {word}: {found.does}", hint=hint)
    ways = found.command(place, workflow) if callable(found.command) else [found.command]
    named = [(f"{form.group} {way}".lstrip(), _below(group, way)) for way in ways]
    if len(named) > 1:
        lines = [
            f"{number}. holdfast {way} {_arguments(command)}".rstrip()
            for number, (way, command) in enumerate(named, 1)
        ]
        raise IllegalMove(
            f"{workflow.name!r} can go on in {len(ways)} ways", hint="\n  ".join(lines)
        )
    return named[0][1]


def _below(group: click.Group, words: str) -> click.Command:
    above, _, name = words.rpartition(" ")
    parent = cast(click.Group, group.commands[above]) if above else group
    return parent.commands[name]


def _arguments(command: click.Command) -> str:
    named = (given for given in command.params if isinstance(given, click.Argument))
    return " ".join(given.human_readable_name for given in named)


class _WordCommand(TextCommand):
    """A word: finds the workflow, and becomes the command that does the word to it."""

    def is_text(self, word: str) -> bool:
        """All but what selects the workflow or asks for help is for the command."""
        return super().is_text(word) or not re.match(r"-w|--workflow|(-h|--help)$", word)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context of the command, which reads *args* as they were given."""
        context = super().make_context(info_name, [*args], parent, **extra)
        if context.resilient_parsing:  # for a completion
            return context
        app = context.ensure_object(App)
        app.changes = True
        with context.scope(cleanup=False):  # errors name the word
            view = app.look()
            workflow = app.to_change(view, context.params["name"])
            command = _command(self.name or "", view.place, workflow)
        inner = command.make_context(info_name, args, parent, **extra)
        given = inner.params.get("chosen") or inner.params.get("name")
        if given and app.meant(view, given).key != workflow.key:
            raise click.UsageError("Give the workflow as -w NAME.", inner)
        app.selected = workflow
        return inner

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Say what the word does in each format."""
        forms = (form for form in registry.every() if form.group or form.name == GENERAL)
        known = [(form.name, commands(form)[1].get(self.name or "")) for form in forms]
        with formatter.section("By the format of the workflow"):
            formatter.write_dl([(form, word.table_entry) for form, word in known if word])


def _word(name: str, about: str) -> click.Command:
    given = click.Argument(["given"], nargs=-1, metavar="[TEXT]...")
    about = f"{about} It takes the options of the command that it runs."
    word = _WordCommand(name, params=[given], help=about)
    workflow_option(word)  # adds its option
    return word


next_step = _word("next", "Take the one legal step forward, or list the choices.")
done = _word("done", "Complete the current item, such as a box, a task or a step.")
note = _word("note", "Note what a compaction must not lose.")
block = _word("block", "Say that the work is blocked, and why.")
unblock = _word("unblock", "Say that the work goes on.")
approve = _word("approve", "Record that a person approves.")
reject = _word("reject", "Record that a person wants changes.")
