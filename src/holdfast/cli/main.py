"""The group of all commands, and what happens to their errors.

A command is loaded when it is asked for: to load all of them takes three times as long as to run most.
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

# Which module has which commands, in the order of a life. Those of this one come first. Each is called there as
# on the command line, except that a module can have no `list` of its own.
MODULES = {
    "advance": ("start", "phase", "block", "remind", "read", "context"),
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
    "installer": ("install", "uninstall"),
    "cycles": ("simulate", "demo"),
}
# As --help lists them: the daily ones first.
_SECTIONS = {
    "Daily": ("status", "list", "phase", "remind", "complete", "start"),
    "Workflows": (
        *("show", "block", "read", "context", "undo", "switch", "resume", "abandon"),
        *("forget", "ignore", "follow", "unfollow"),
    ),
    "Other kinds of workflow": ("skill", "gate", "orchestrate", "pipeline"),
    "What Holdfast sees and does": ("why", "preview", "inspect", "log", "doctor"),
    "Around it": ("install", "uninstall", "statusline", "mcp", "completion"),
    "Trying it": ("simulate", "demo", "hook", "payload"),
}
_MODULE_OF = {name: module for module, names in MODULES.items() for name in names}


class Commands(click.Group):
    """Turns our errors into a cause and a next step."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HoldfastError as error:
            raise Failed(error) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads has gone, and click ends quietly
                raise
            raise Failed(_of_the_system(error)) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return [*(name for name in self.commands if name not in _MODULE_OF), *_MODULE_OF]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if (
            unknown and not ctx.resilient_parsing
        ):  # click would look among those of this module alone
            near = get_close_matches(name, self.list_commands(ctx), 1)
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
            attribute = "list_all" if cmd_name == "list" else cmd_name
            return cast(click.Command, getattr(import_module(f"holdfast.cli.{module}"), attribute))
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

    Commands work on the workflow of this session, or the one that is active in the project that
    the current directory belongs to. A name may be shortened, or be that of the workflow's plan or
    folder. Exit codes: 0 done, 1 not possible (the reason is on stderr), 2 wrong usage, 3 a limit
    of an orchestrator's run is reached.
    """
    surroundings = Surroundings.from_environment()
    ctx.obj = App(surroundings, Clock.from_environment())
    ctx.color = terminal.is_terminal() and not surroundings.colourless


@cli.command("hook", add_help_option=True)
@click.option("--part", type=Whole(1), help="Answer with this part of the reading.")
@click.option("--later", is_flag=True, help="Say nothing; do what nobody has to wait for.")
@click.option(
    "--agent",
    type=click.Choice(agents.NAMES),
    help="Which agent asks; by default recognised by what it sends.",
)
def hook(**_: object) -> None:
    """Answer one hook event: JSON on stdin, the reply on stdout.

    Registered by `holdfast install`.
    """
    # Only `holdfast hook --help` comes this way; __main__ takes the rest straight to the door.
    raise AssertionError("unreachable")


@cli.command("statusline", add_help_option=True)
def statusline() -> None:
    """Answer Claude Code's status line: its JSON on stdin, one short line on stdout.

    docs/statusline.md has the settings for it. It writes nothing.
    """
    raise AssertionError("unreachable")  # as above


@cli.command("mcp", add_help_option=True)
def mcp() -> None:
    """Serve the workflows of the project as an MCP server, on stdin and stdout.

    For clients to start: `claude mcp add holdfast -- holdfast mcp`. It needs holdfast[mcp].
    docs/mcp.md says what it offers.
    """
    raise AssertionError("unreachable")  # as above


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and workflows.

    \b
    holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
    holdfast completion zsh > DIR/_holdfast      (a folder in $fpath)
    holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell} is not known to this version of click.")
    made = kind(ctx.find_root().command, {}, "holdfast", "_HOLDFAST_COMPLETE")
    # Bytes: Windows would translate line ends, which no shell takes.
    click.echo(made.source().encode(), nl=False)


def run() -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a code page has no letter for most of it
            stream.reconfigure(encoding="utf-8", errors="replace")
    for argument in sys.argv:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            say_aside("an argument is not UTF-8 text")
            return 2
    cli.main(prog_name="holdfast")
    return 0
