"""Commands that add Holdfast's hooks to a client's settings and remove them."""

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
from holdfast.setup.registration import ON_PATH
from holdfast.text.plaintext import counted, one_line

scope_option = click.option(
    "--scope",
    "named",
    type=click.Choice(SCOPES),
    help="The settings to use: user (yours, for all projects; the default), project, or local "
    "(yours, for this project). Only Claude Code has project and local.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the change without writing it.")


@click.command()
@agent_option
@scope_option
@click.option(
    "--mcp-hooks",
    "by_server",
    is_flag=True,
    help="Have the MCP server answer tool events, with no process per event; see docs/mcp.md.",
)
@dry_run_option
@pass_app
def install(app: App, agent: str, named: Scope | None, by_server: bool, dry_run: bool) -> None:
    """Register the hooks in the settings of Claude Code, or of another agent.

    The rest of the file is preserved byte for byte, and a backup is kept. Outdated Holdfast hooks are
    updated; if the hooks are current, nothing is written.
    """
    here, client = app.surroundings, CLIENTS[agent]
    _refuse_what_cannot_work(client, by_server=by_server)
    scopes, scope = clientsettings.look(here, client), named or "user"
    file = scopes.file(scope)
    program = ON_PATH if scope == "project" else registration.whole_path()
    loaded = settings.load(None, here.config_file)
    parts = loaded.settings.parts
    if file.problem:
        text = registration.text(program, parts, client=client, by_server=by_server)
        click.echo(text, nl=False)
        raise _left_alone(file, "add the settings printed here by hand")
    wanted = registration.hooks(program, parts, client=client, by_server=by_server)
    change = installing.putting_in(file, wanted)
    # Anything that stops the registered hooks from working.
    findings = registered.examine_scopes(scopes.after(change.result))
    warnings = [*loaded.problems, *(finding.line for finding in findings)]
    if program == ON_PATH and not registration.find_on_path(
        program.command, here.search_path, here.virtual_env
    ):
        warnings.append("`holdfast` is not on the PATH, and these hooks do nothing until it is")
    if here.disabled:
        warnings.append("HOLDFAST_DISABLE is set; hooks that see it do nothing")
    if not loaded.settings.enabled:
        warnings.append(f"enabled = false is set in {here.config_file}, so the hooks do nothing")
    if change.is_none:
        say(f"Nothing to do: the hooks in {file.path} are up to date.")
        _warn(warnings)
        return
    if dry_run:
        _show(change)
    else:
        _refuse_what_was_not_asked_for(file, scope, named)
        copy = installing.install(change, here.state_dir)
        _tell_what_was_registered(change, copy)
        if by_server:
            adding = registration.adding(program)
            say(f"Add the server that answers tool events to Claude Code: {adding}")
        _tell_what_comes_next(client)
    _warn([*_tracked(file), *warnings])


def _tell_what_was_registered(change: Change, copy: str | None) -> None:
    before, hooks = change.before, counted(len(change.result.hooks), "hook")
    done = f"Brought {hooks} up to date" if before.hooks else f"Registered {hooks}"
    say(f"{done} in {before.path}")
    if copy:
        say(f"  backup of the previous file: {copy}")


def _tell_what_comes_next(client: Client) -> None:
    if client.trust:
        say(f"Now {client.trust}.")
    if client is CLAUDE:  # it watches only folders that existed at its start
        say("Running sessions load them within seconds, or after a restart if the folder is new.")
    else:
        say("Restart running sessions.")
    say(f"Check that it works: {client.look}")


def _left_alone(file: ClientSettings, by_hand: str) -> HoldfastError:
    hint = f"Correct the file and run the command again, or {by_hand}."
    return HoldfastError(f"{file.path} was not changed: {file.problem}", hint=hint)


def _refuse_what_cannot_work(client: Client, *, by_server: bool) -> None:
    if marker.is_ours(sys.prefix):
        raise IllegalMove(
            "this is the plugin's own Holdfast, and the plugin registers its hooks itself",
            hint="There is nothing to install. Check it: holdfast doctor"
            if client is CLAUDE
            else f"For {client.title}, install Holdfast as a program: pipx install /path/to/holdfast",
        )
    if by_server and client is not CLAUDE:
        raise IllegalMove(
            f"the MCP server is not tested with {client.title}'s hooks",
            hint=f"Install without --mcp-hooks: {client.command('install', 'user')}",
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

    If nothing else has changed since `install`, the file is restored byte for byte. Otherwise only
    Holdfast's hooks are removed.
    """
    client = CLIENTS[agent]
    scopes, scope = clientsettings.look(app.surroundings, client), named or "user"
    file = scopes.file(scope)
    count = len(file.hooks)
    if file.problem and not count:
        raise _left_alone(file, "remove the hooks that start `holdfast hook` by hand")
    elsewhere = [
        f"{source.path} also has Holdfast hooks: {source.removal}"
        for source in scopes.after(ClientSettings(file.path, client)).sources()
        if not source.plugin
    ]
    if not count:
        say(f"Nothing to do: {file.path} has no Holdfast hooks")
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
            say(f"Restored {file.path} as it was before `holdfast install`.")
        else:
            say(f"Removed {taken} from {file.path}; the rest is unchanged.")
    _warn([*_tracked(file), *elsewhere])


def _refuse_what_was_not_asked_for(file: ClientSettings, scope: Scope, named: Scope | None) -> None:
    if named is None and _tracked(file):
        raise IllegalMove(
            f"{file.path} is tracked by git, so it needs an explicit --scope",
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
