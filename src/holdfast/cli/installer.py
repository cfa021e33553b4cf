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
from holdfast.cli.terminal import can_ask
from holdfast.clock import for_names
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.files import git
from holdfast.setup import clientsettings, extras, installing, leaving, registration, skill
from holdfast.setup.clientsettings import ClientSettings
from holdfast.setup.installing import Change
from holdfast.setup.offers import ALLOWED, Registration, registration_for
from holdfast.setup.plugin import marker
from holdfast.text.plaintext import counted, one_line

scope_option = click.option(
    "--scope",
    "named",
    type=click.Choice(SCOPES),
    help="The settings to use: user (yours, for all projects; the default), project, or local "
    "(yours, for this project). Only Claude Code has project and local.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the change without writing it.")


yes_option = click.option("-y", "--yes", is_flag=True, help="Answer every question with yes.")


@click.command()
@agent_option
@scope_option
@click.option(
    "--mcp-hooks",
    "by_server",
    is_flag=True,
    help="Have the MCP server answer tool events, with no process per event; see docs/mcp.md.",
)
@yes_option
@dry_run_option
@pass_app
def install(
    app: App, agent: str, named: Scope | None, by_server: bool, yes: bool, dry_run: bool
) -> None:
    """Register the hooks in the settings of Claude Code, or of another agent.

    On a terminal it asks whether Claude Code may run `holdfast` commands without asking; --yes answers
    that. The rest of the file is preserved byte for byte, and a backup is kept. Outdated Holdfast hooks
    are updated; if the hooks are current, nothing is written.
    """
    client, scope = CLIENTS[agent], named or "user"
    _refuse_what_cannot_work(client, by_server=by_server)
    app.place()  # warns if Holdfast is switched off
    found = registration_for(app.surroundings, client, scope, by_server=by_server)
    file = found.file
    if file.problem:
        click.echo(registration.text(found.wanted, client), nl=False)
        raise left_alone(file, "add the settings printed here by hand")
    change = found.change()
    if client is CLAUDE and _may_allow(found, yes=yes, asks=not (dry_run or change.is_none)):
        change = found.change(extras.allow)
    warnings = found.warnings(change)
    if change.is_none:
        say(f"Nothing to do: the hooks in {file.path} are up to date.")
        warn(warnings)
        return
    if dry_run:
        _show(change)
    else:
        refuse_what_was_not_asked_for(file, scope, named)
        copy = installing.install(change, app.surroundings.state_dir)
        say(what_was_written(change, copy))
        if by_server:
            adding = registration.adding(found.program)
            say(f"Add the server that answers tool events to Claude Code: {adding}")
        tell_what_comes_next(client)
    warn([*tracked(file), *warnings])


def _may_allow(found: Registration, *, yes: bool, asks: bool) -> bool:
    """Whether the permission rule is to be added: with --yes, or if a person says so."""
    if found.scopes.allows_us or extras.unfit_for_rule(found.file.value):
        return False
    return yes or (
        asks and can_ask() and click.confirm(f"{ALLOWED[0].upper()}{ALLOWED[1:]}?", default=True)
    )


def what_was_written(change: Change, copy: str | None) -> str:
    before, after, lines = change.before, change.result, list[str]()
    if before.hooks != after.hooks or before.client.is_bridge:
        hooks = counted(len(after.hooks), "hook")
        done = f"Brought {hooks} up to date" if before.hooks else f"Registered {hooks}"
        lines.append(f"{done} in {before.path}")
    if extras.is_allowed(after.value) != extras.is_allowed(before.value):
        lines.append(f'Added the permission rule "{extras.RULE}" to {before.path}')
    if extras.status_line(after.value) != extras.status_line(before.value):
        lines.append(f"Added the status line to {before.path}")
    if copy:
        lines.append(f"  backup of the previous file: {copy}")
    return "\n".join(lines)


def tell_what_comes_next(client: Client) -> None:
    if client.trust:
        say(f"Now {client.trust}.")
    if client is CLAUDE:  # it watches only folders that existed at its start
        say("Running sessions load the hooks within seconds. If ~/.claude is new, restart them.")
    else:
        say("Restart running sessions.")
    say(f"Check that it works: {client.look}")
    if client is CLAUDE:
        say("See what a compaction would bring back: holdfast simulate")


def left_alone(file: ClientSettings, by_hand: str) -> HoldfastError:
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
@click.option(
    "--purge", is_flag=True, help="Remove all of Holdfast: here, in every project, at home."
)
@yes_option
@dry_run_option
@pass_app
def uninstall(
    app: App, agent: str, named: Scope | None, purge: bool, yes: bool, dry_run: bool
) -> None:
    """Remove the hooks from the settings of Claude Code, or of another agent.

    If nothing else has changed since `install`, the file is restored byte for byte. Otherwise only
    Holdfast's hooks are removed, with the permission rule and the status line. The skill goes too, unless
    it was changed.

    With --purge, remove everything of Holdfast but the program: of every agent, in the home and in each
    project that it knows. It lists all of that and asks for each project. States of workflows are packed
    into one file first. Without a terminal it removes nothing unless --yes is given.
    """
    if purge:
        if named or agent != CLAUDE.name:
            raise click.UsageError("--purge takes only --yes and --dry-run.")
        _purge(app, yes=yes, dry_run=dry_run)
        return
    if yes:
        raise click.UsageError("--yes belongs to --purge.")
    _take_back(app, CLIENTS[agent], named, dry_run=dry_run)
    if count := leaving.with_states(app.surroundings):
        states = f"the states of {counted(count, 'project')} and what was followed"
        say(f"Kept: {states}; `holdfast uninstall --purge` removes them.")


def _take_back(app: App, client: Client, named: Scope | None, *, dry_run: bool) -> None:
    """Remove what `install` and `init` wrote for *client*."""
    scopes, scope = clientsettings.look(app.surroundings, client), named or "user"
    file = scopes.file(scope)
    count, has_extras = len(file.hooks), extras.are_in(file.value)
    if file.problem and not count:
        raise left_alone(file, "remove the hooks that start `holdfast hook` by hand")
    elsewhere = [
        f"{source.path} also has Holdfast hooks: {source.removal}"
        for source in scopes.after(ClientSettings(file.path, client)).sources()
        if not source.plugin
    ]
    skill_path = skill.path_for(scopes, scope) if client is CLAUDE and scope != "local" else None
    if skill_path and skill.is_as_written(skill_path):
        if not dry_run:
            skill.remove(skill_path)
        say(f"{skill_path} would be removed" if dry_run else f"Removed {skill_path}")
    if not (count or has_extras):
        say(f"Nothing to do: {file.path} has no Holdfast hooks")
        warn(elsewhere)
        return
    change = installing.taking_out(file, app.surroundings.state_dir)
    taken = counted(count, "hook") if count else "the permission rule or status line"
    if dry_run:
        _show(change)
    else:
        refuse_what_was_not_asked_for(file, scope, named)
        installing.uninstall(change, app.surroundings.state_dir)
        if change.after is None:
            say(f"Removed {file.path}, which contained nothing else.")
        elif change.restores:
            say(f"Restored {file.path} as it was before `holdfast install`.")
        else:
            say(f"Removed {taken} from {file.path}; the rest is unchanged.")
    warn([*tracked(file), *elsewhere])


def _purge(app: App, *, yes: bool, dry_run: bool) -> None:
    groups = leaving.find(app.surroundings)
    for group in groups:
        say(f"{group.title}:")
        for remnant in group.remnants:
            stays = f"; it stays: {remnant.stays}" if remnant.stays else ""
            say(f"  {one_line(f'{remnant.path}: {remnant.what}{stays}', 600)}")
    groups = [group for group in groups if group.removable]
    say("A project that was moved is not known; there, run `holdfast uninstall --purge`.")
    if not groups:
        say("Nothing to do: nothing of Holdfast that is known could be removed.")
        return
    if dry_run or not (yes or can_ask()):
        say("Nothing was removed. To remove it: holdfast uninstall --purge --yes")
        return
    if not yes:
        groups = [group for group in groups if click.confirm(f"Remove this from {group.title}?")]
    if not groups:
        say("Nothing was removed.")
        return
    packed = os.path.join(app.surroundings.home or "", _packed_name(app))
    if leaving.archive(groups, packed):
        say(f"Packed the states of workflows into {packed}")
    failed = list[str]()
    for remnant in (remnant for group in groups for remnant in group.removable):
        try:
            remnant.remove()
        except HoldfastError as error:
            failed.append(f"{error.cause}. {error.hint}".rstrip())
        else:
            say(one_line(f"Removed {remnant.what}: {remnant.path}", 600))
    warn(failed)
    click.get_current_context().exit(1 if failed else 0)


def _packed_name(app: App) -> str:
    return f"holdfast-states-{for_names(app.clock.now())}.tar.gz"


def refuse_what_was_not_asked_for(file: ClientSettings, scope: Scope, named: Scope | None) -> None:
    if named is None and tracked(file):
        raise IllegalMove(
            f"{file.path} is tracked by git, so it needs an explicit --scope",
            hint=f"To confirm, run the command with --scope {scope}.",
        )


def tracked(file: ClientSettings) -> list[str]:
    target = os.path.realpath(file.path)
    return [f"{target} is tracked by git"] if git.tracks(target) else []


def _show(change: Change) -> None:
    before, after = change.before, change.result
    say(f"{before.path} would be {'changed' if after.exists else 'removed'}:")
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "as it is", "as it would be", lineterm=""
    )
    say("\n".join(lines))


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        say_aside(one_line(warning, 600))
