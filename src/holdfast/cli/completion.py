"""The command that prints what makes a shell complete the others."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
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


COMMANDS = (completion,)
