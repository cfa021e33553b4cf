"""The command group and its error handling.

Commands are loaded lazily: loading all of them takes three times as long as running most.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import cast

import click
from click.shell_completion import get_completion_class

from holdfast import __version__, agents
from holdfast.cli import terminal
from holdfast.cli.app import App, Failed, Whole, say_aside
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError

# The commands of each module, in a workflow's order. This module's come first. A command's function has its
# name, except for those in _FUNCTIONS.
MODULES = {
    "words": ("next", "done", "note", "block", "unblock", "approve", "reject"),
    "advance": ("start", "phase", "remind", "read", "context"),
    "standing": (
        *("complete", "abandon", "forget", "undo", "switch", "resume", "ignore"),
        *("follow", "unfollow"),
    ),
    "skill": ("skill",),
    "gate": ("gate",),
    "orchestrate": ("orchestrate",),
    "pipeline": ("pipeline",),
    "looking": ("status", "list", "show", "why", "preview", "inspect", "log"),
    "doctor": ("doctor", "payload"),
    "init": ("init",),
    "installer": ("install", "uninstall"),
    "cycles": ("simulate", "demo"),
}
# As --help lists them: the daily ones first.
_SECTIONS = {
    "Daily": ("init", "status", "next", "done", "note", "list", "start"),
    "Workflows": (
        *("block", "unblock", "approve", "reject", "complete", "abandon", "undo", "show"),
        *("switch", "resume", "forget", "ignore", "follow", "unfollow"),
    ),
    "Of one kind": (
        *("phase", "remind", "read", "context"),
        *("skill", "gate", "orchestrate", "pipeline"),
    ),
    "What Holdfast sees and does": ("why", "preview", "inspect", "log", "doctor"),
    "Around it": ("install", "uninstall", "statusline", "mcp", "completion"),
    "Trying it": ("simulate", "demo", "hook", "payload"),
}
# What people type for a command of another name.
_MEANT = {"finish": "complete", "compact": "simulate"}
_FUNCTIONS = {"list": "list_all", "next": "next_step"}
_MODULE_OF = {name: module for module, names in MODULES.items() for name in names}


class Commands(click.Group):
    """Prints Holdfast's errors as a cause and a next step."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HoldfastError as error:
            raise Failed(error) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has gone; click exits quietly
                raise
            raise Failed(_of_the_system(error)) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return [*(name for name in self.commands if name not in _MODULE_OF), *_MODULE_OF]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if unknown and not ctx.resilient_parsing:  # click would suggest only this module's commands
            near = (
                [_MEANT[name]]
                if name in _MEANT
                else get_close_matches(name, self.list_commands(ctx), 1)
            )
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = {name for names in _SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        for title, names in {**_SECTIONS, "Others": others}.items():
            known = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            if known:
                room = formatter.width - 6 - max(map(len, names))
                with formatter.section(title):
                    formatter.write_dl(
                        [(name, command.get_short_help_str(room)) for name, command in known]
                    )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _MODULE_OF.get(cmd_name)
        if module:
            function = _FUNCTIONS.get(cmd_name, cmd_name)
            return cast(click.Command, getattr(import_module(f"holdfast.cli.{module}"), function))
        return super().get_command(ctx, cmd_name)


def _of_the_system(error: OSError) -> HoldfastError:
    reason = error.strerror or str(error)
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    hint = "Fix what the system reports, then see where things stand: holdfast status"
    return HoldfastError(f"{where}{reason}", hint=hint)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Carry a multi-phase workflow through context compaction.

    Commands act on this session's workflow, or on the active one in the project around the current
    directory. NAME may be a prefix, or the name of the workflow's plan or folder. Exit codes: 0
    success, 1 refused or failed (the reason is on stderr), 2 wrong usage, 3 an orchestrator's run
    has reached a limit.
    """
    surroundings = Surroundings.from_environment()
    ctx.obj = App(surroundings, Clock.from_environment())
    ctx.color = terminal.is_terminal() and not surroundings.colourless


@cli.command("hook", add_help_option=True)
@click.option("--part", type=Whole(1), help="Send this part of the required reading.")
@click.option("--later", is_flag=True, help="Print nothing; do the deferred work.")
@click.option(
    "--agent",
    type=click.Choice(agents.NAMES),
    help="The calling agent; detected from its input by default.",
)
def hook(**_: object) -> None:
    """Answer one hook event: JSON on stdin, the reply on stdout.

    Registered by `holdfast install`.
    """
    # Only `holdfast hook --help` gets here; __main__ dispatches the rest.
    raise AssertionError("unreachable")


@cli.command("statusline", add_help_option=True)
def statusline() -> None:
    """Answer Claude Code's status line: its JSON on stdin, one short line on stdout.

    See docs/statusline.md for the settings. It writes nothing.
    """
    raise AssertionError("unreachable")  # as above


@cli.command("mcp", add_help_option=True)
def mcp() -> None:
    """Serve the project's workflows over MCP, on stdin and stdout.

    Clients start it: `claude mcp add holdfast -- holdfast mcp`. It needs holdfast[mcp].
    See docs/mcp.md.
    """
    raise AssertionError("unreachable")  # as above


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options and workflows.

    \b
    holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
    holdfast completion zsh > DIR/_holdfast      (a folder in $fpath)
    holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell} is not known to this version of click.")
    made = kind(ctx.find_root().command, {}, "holdfast", "_HOLDFAST_COMPLETE")
    # Bytes: Windows would translate the line ends, and shells reject that.
    click.echo(made.source().encode(), nl=False)


def run() -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a code page lacks most characters
            stream.reconfigure(encoding="utf-8", errors="replace")
    for argument in sys.argv:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            say_aside("an argument is not UTF-8 text")
            return 2
    cli.main(prog_name="holdfast")
    return 0
