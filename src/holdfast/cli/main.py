"""The group of all commands, and what happens to their errors.

A command is loaded when it is asked for: to load all of them takes three times as long as to run most.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module

import click

from holdfast import __version__, shortlived
from holdfast.cli import terminal
from holdfast.cli.app import App, Failed, say_aside
from holdfast.clock import Clock
from holdfast.errors import HoldfastError
from holdfast.project import Surroundings
from holdfast.wire import agents

# Which module has which commands, in the order of a life. Those of this one come first.
MODULES = {
    "advance": ("start", "phase", "block", "remind", "read", "context"),
    "standing": ("complete", "undo", "switch", "resume", "ignore"),
    "skill": ("skill",),
    "gate": ("gate",),
    "orchestrate": ("orchestrate",),
    "pipeline": ("pipeline",),
    "looking": ("status", "list", "show", "why", "preview", "inspect", "log"),
    "doctor": ("doctor", "payload"),
    "installer": ("install", "uninstall"),
    "cycles": ("simulate", "demo"),
    "completion": ("completion",),
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

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _MODULE_OF.get(cmd_name)
        if module and cmd_name not in self.commands:
            for command in import_module(f"holdfast.cli.{module}").COMMANDS:
                self.add_command(command)
        return super().get_command(ctx, cmd_name)


def _of_the_system(error: OSError) -> HoldfastError:
    reason = error.strerror or str(error)
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    hint = "See to what the system says is wrong, and look where things stand: holdfast status"
    return HoldfastError(f"{where}{reason}", hint=hint)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Carry a multi-phase workflow through context compaction.

    Commands work on the workflow of this session, or the one that is active in the project that
    the current directory belongs to. Where a name is asked for, the beginning of one will do, and
    so will its plan or its folder. Exit codes: 0 done, 1 not possible (the reason is on stderr),
    2 wrong usage, 3 a limit of an orchestrator's run is reached.
    """
    surroundings = Surroundings.from_environment()
    ctx.obj = App(surroundings, Clock.from_environment())
    ctx.color = terminal.colourful(surroundings)


@cli.command("hook", add_help_option=True)
@click.option("--part", type=click.IntRange(1), help="Answer with this part of the reading.")
@click.option(
    "--agent",
    type=click.Choice(agents.NAMES),
    help="Which agent asks; without it that is told from what it sends.",
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
    docs/mcp.md tells what it offers.
    """
    raise AssertionError("unreachable")  # as above


def run() -> int:
    shortlived.begin()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a code page has no letter for most of it
            stream.reconfigure(encoding="utf-8", errors="replace")
    for argument in sys.argv:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            say_aside("an argument is not UTF-8 text")
            return 2
    cli.main(prog_name="holdfast")
    return 0
