"""Commands that put Holdfast's hooks into the settings of a client, and take them out again."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Iterable

import click

from holdfast.agents.clients import CLAUDE, CLIENTS, SCOPES, Client, Scope
from holdfast.cli.app import App, agent_option, pass_app, say, say_aside
from holdfast.config import settings
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.files import git
from holdfast.setup import clientsettings, installing, registration
from holdfast.setup.clientsettings import ClientSettings
from holdfast.setup.doctor import registered
from holdfast.setup.installing import Change
from holdfast.setup.plugin import marker
from holdfast.setup.registration import ON_PATH, Program
from holdfast.text.plaintext import counted, one_line

scope_option = click.option(
    "--scope",
    "named",
    type=click.Choice(SCOPES),
    help="Whose settings: yours for all projects (user, the default), the project's, or yours "
    "for the project (local). The last two only for Claude Code.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be changed, and write nothing."
)


@click.command()
@agent_option
@scope_option
@click.option(
    "--mcp-hooks",
    "by_server",
    is_flag=True,
    help="Let the MCP server answer tool events, without a process for each; see docs/mcp.md.",
)
@dry_run_option
@pass_app
def install(app: App, agent: str, named: Scope | None, by_server: bool, dry_run: bool) -> None:
    """Register the hooks in the settings of Claude Code, or of another agent.

    Everything else in the file stays as it is, byte for byte, and a backup is kept. Outdated
    hooks of ours are updated; if everything is as it should be, nothing is written.
    """
    here, client = app.surroundings, CLIENTS[agent]
    _refuse_what_cannot_work(client, by_server=by_server)
    scopes, scope = clientsettings.look(here, client), named or "user"
    file = scopes.file(scope)
    # Codex runs a line in a login shell, which has a PATH of its own. So the name alone is only for
    # settings that others may share, as Claude Code's.
    program = registration.whole_path()
    if client is CLAUDE:
        program = registration.find_program(here.search_path, here.virtual_env)
    loaded = settings.load(None, here.config_file)
    parts = loaded.settings.parts
    if file.problem:
        text = registration.text(program, parts, client=client, by_server=by_server)
        click.echo(text, nl=False)
        raise _left_alone(file, "put into it by hand what was printed here")
    wanted = registration.hooks(program, parts, client=client, by_server=by_server)
    change = installing.putting_in(file, wanted)
    # What keeps the hooks from running as they should, though they are registered.
    findings = registered.examine_scopes(scopes.after(change.result))
    warnings = [*loaded.problems, *(finding.line for finding in findings)]
    if here.disabled:
        warnings.append("HOLDFAST_DISABLE is set, so the hooks do nothing where it is")
    if not loaded.settings.enabled:
        warnings.append(f"enabled = false is set in {here.config_file}, so the hooks do nothing")
    if change.is_none:
        say(f"Nothing to do: the hooks are registered in {file.path} as they should be.")
        _warn(warnings)
        return
    if dry_run:
        _show(change)
    else:
        _refuse_what_was_not_asked_for(file, scope, named)
        copy = installing.install(change, here.state_dir)
        _tell_what_was_registered(change, program, copy)
        if by_server:
            adding = registration.adding(program)
            say(f"Tell Claude Code of the server that answers tool events: {adding}")
        _tell_what_comes_next(client)
    _warn([*_tracked(file), *warnings])


def _tell_what_was_registered(change: Change, program: Program, copy: str | None) -> None:
    before, hooks = change.before, counted(len(change.result.hooks), "hook")
    done = f"Brought {hooks} up to date" if before.hooks else f"Registered {hooks}"
    say(f"{done} in {before.path}")
    if program != ON_PATH and before.client is CLAUDE:
        line = " ".join([program.command, *program.first])
        say(f"  started as {line}, since `holdfast` alone may not be found everywhere")
    if copy:
        say(f"  what was there before: {copy}")


def _tell_what_comes_next(client: Client) -> None:
    if client.trust:
        say(f"Now {client.trust}.")
    if client is CLAUDE:  # it watches the folders that were there when it was started
        say("Running sessions pick it up within seconds, or after a restart if the folder is new.")
    else:
        say("Running sessions have to be restarted.")
    say(f"Check that it works: {client.look}")


def _left_alone(file: ClientSettings, by_hand: str) -> HoldfastError:
    hint = f"Correct the file and run the command again, or {by_hand}."
    return HoldfastError(f"{file.path} was left alone: {file.problem}", hint=hint)


def _refuse_what_cannot_work(client: Client, *, by_server: bool) -> None:
    if marker.is_ours(sys.prefix):
        raise IllegalMove(
            "this is the plugin's own Holdfast, and the plugin registers its hooks itself",
            hint="There is nothing to install. Check that it works: holdfast doctor"
            if client is CLAUDE
            else f"For {client.title}, install Holdfast as a program: pipx install /path/to/holdfast",
        )
    if by_server and client is not CLAUDE:
        raise IllegalMove(
            f"the MCP server was not tested with hooks of {client.title}",
            hint=f"Run the command without it: {client.command('install', 'user')}",
        )
    if by_server and not importlib.util.find_spec("mcp"):
        raise IllegalMove(
            "the MCP server is not installed with this Holdfast",
            hint="It is an extra: pipx install --force '/path/to/holdfast[mcp]'",
        )


@click.command()
@agent_option
@scope_option
@dry_run_option
@pass_app
def uninstall(app: App, agent: str, named: Scope | None, dry_run: bool) -> None:
    """Remove the hooks from the settings of Claude Code, or of another agent.

    If nothing else has changed since `install`, the file is restored byte for byte. Otherwise only our
    hooks are removed.
    """
    client = CLIENTS[agent]
    scopes, scope = clientsettings.look(app.surroundings, client), named or "user"
    file = scopes.file(scope)
    count = len(file.hooks)
    if file.problem and not count:
        raise _left_alone(file, "take out by hand the hooks that start `holdfast hook`")
    elsewhere = [
        f"there are hooks of Holdfast in {source.path}: {source.removal}"
        for source in scopes.after(ClientSettings(file.path, client)).sources()
        if not source.plugin
    ]
    if not count:
        say(f"Nothing to do: there are no hooks of Holdfast in {file.path}")
        _warn(elsewhere)
        return
    change, taken = installing.taking_out(file, app.surroundings.state_dir), counted(count, "hook")
    if dry_run:
        _show(change)
    else:
        _refuse_what_was_not_asked_for(file, scope, named)
        installing.uninstall(change, app.surroundings.state_dir)
        if change.after is None:
            say(f"Removed {file.path}, which contained nothing else.")
        elif change.restores:
            say(f"{file.path} is again as it was before `holdfast install`.")
        else:
            say(f"Took {taken} out of {file.path}, and left everything else as it is.")
    _warn([*_tracked(file), *elsewhere])


def _refuse_what_was_not_asked_for(file: ClientSettings, scope: Scope, named: Scope | None) -> None:
    if named is None and _tracked(file):
        raise IllegalMove(
            f"{file.path} is tracked by git, so it is not changed unasked",
            hint=f"To confirm, run the command with --scope {scope}.",
        )


def _tracked(file: ClientSettings) -> list[str]:
    target = os.path.realpath(file.path)
    return [f"{target} is tracked by git"] if git.tracks(target) else []


def _show(change: Change) -> None:
    before, after = change.before, change.result
    say(f"{before.path} would be {'changed' if after.exists else 'removed'}:")
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "as it is", "as it would be", lineterm=""
    )
    say("\n".join(lines))


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        say_aside(one_line(warning, 600))
