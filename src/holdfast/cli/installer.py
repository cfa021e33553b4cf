"""Commands that put Holdfast's hooks into the settings of a client, and take them out again."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from holdfast import (
    backups,
    clientsettings,
    git,
    installing,
    launcher,
    registration,
    settings,
    sources,
)
from holdfast.bootstrap import marker
from holdfast.cli.app import App, agent_option, pass_app, say, say_aside
from holdfast.clients import CLAUDE, CLIENTS, SCOPES, Client, Scope
from holdfast.clientsettings import ClientSettings
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.installing import Change
from holdfast.plaintext import counted, one_line
from holdfast.project import Surroundings
from holdfast.registration import ON_PATH, Program
from holdfast.sources import Source

scope_option = click.option(
    "--scope",
    "named",
    type=click.Choice(SCOPES),
    help="Whose settings: yours for all projects (user, the default), the project's, or yours "
    "for the project (local). The last two with Claude Code alone.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be changed, and write nothing."
)


class Place(NamedTuple):
    """The settings that a command is about, and the others that count here as well."""

    client: Client
    folder: str | None  # where the client keeps what is the user's own
    scope: Scope
    named: bool  # whether somebody asked for this scope
    every: Mapping[Scope, ClientSettings]

    @property
    def file(self) -> ClientSettings:
        return self.every[self.scope]

    @property
    def others(self) -> dict[Scope, ClientSettings]:
        """Without the same file once more: in the home folder, user and project are one."""
        own = os.path.realpath(self.file.path)
        return {
            scope: file for scope, file in self.every.items() if os.path.realpath(file.path) != own
        }


def _place(here: Surroundings, agent: str, named: Scope | None) -> Place:
    client = CLIENTS[agent]
    scope, root, folder = named or "user", clientsettings.root(here), here.agent_dirs.get(agent)
    clientsettings.path(scope, root, folder, client)  # says why where there is none
    every = clientsettings.read_all(root, folder, client)
    return Place(client, folder, scope, named is not None, every)


@click.command()
@agent_option
@scope_option
@click.option(
    "--mcp-hooks",
    "by_server",
    is_flag=True,
    help="Have tool events answered by the MCP server, without a process for each; see docs/mcp.md.",
)
@dry_run_option
@pass_app
def install(app: App, agent: str, named: Scope | None, by_server: bool, dry_run: bool) -> None:
    """Register the hooks in the settings of Claude Code, or of another agent.

    Everything else in the file stays as it is, byte for byte, and a backup is kept. Hooks of ours
    that are outdated are brought up to date; where all is as it should be, nothing is written.
    """
    here, client = app.surroundings, CLIENTS[agent]
    _refuse_what_cannot_work(client, by_server=by_server)
    place = _place(here, agent, named)
    file = place.file
    program = _program(client, here)
    loaded = settings.load(None, here.config_file)
    parts = loaded.settings.parts
    problem = file.problem or installing.unfit(file.value, client)
    if problem:
        shown = registration.text(program, parts, client=client, by_server=by_server)
        click.echo(shown, nl=False)
        raise HoldfastError(
            f"{file.path} was left alone: {problem}",
            hint="Correct the file and give the command again, or put into it by hand what was "
            "printed here.",
        )
    wanted = registration.hooks(program, parts, client=client, by_server=by_server)
    change = installing.putting_in(file, wanted)
    warnings = [*loaded.problems, *_warnings(here, place, program, wanted)]
    if not loaded.settings.enabled:
        warnings.append(f"enabled = false stands in {here.config_file}, so the hooks do nothing")
    faults = installing.faults(file.value, wanted, client)
    if change.is_none:
        say(f"Nothing to do: the hooks are registered in {file.path} as they should be.")
    elif dry_run:
        _show(change)
        warnings = [*_tracked(place), *faults, *warnings]
    else:
        _refuse_what_was_not_asked_for(place, "install")
        new_folder = not os.path.isdir(os.path.dirname(change.target))
        copy = installing.install(change, here.state_dir)
        _tell_what_was_registered(change, faults, program, copy)
        if by_server:
            say(
                f"Tell Claude Code of the server that answers tool events: {registration.adding(program)}"
            )
        _tell_what_comes_next(client, new_folder=new_folder)
        warnings = [*_tracked(place), *warnings]
    _warn(warnings)


def _refuse_what_cannot_work(client: Client, *, by_server: bool) -> None:
    if marker.is_ours(sys.prefix):
        raise IllegalMove(
            "this is the plugin's own Holdfast, and the plugin registers its hooks itself",
            hint="There is nothing to install. See that it works: holdfast doctor"
            if client is CLAUDE
            else f"For {client.title}, install Holdfast as a program: pipx install /path/to/holdfast",
        )
    if by_server and client is not CLAUDE:
        raise IllegalMove(
            f"the MCP server was not tried as what answers hooks of {client.title}",
            hint=f"Give the command without it: {client.command('install', 'user')}",
        )
    if by_server and not importlib.util.find_spec("mcp"):
        raise IllegalMove(
            "the MCP server is not installed with this Holdfast",
            hint="It is an extra: pipx install --force '/path/to/holdfast[mcp]'",
        )


def _program(client: Client, here: Surroundings) -> Program:
    """What is to be started. Codex runs a line in a login shell, which has a PATH of its own.

    So the name alone is only for settings that others may share, as Claude Code's.
    """
    if client is CLAUDE:
        return launcher.find(here.search_path, here.virtual_env)
    return launcher.whole()


def _tell_what_was_registered(
    change: Change, faults: Sequence[str], program: Program, copy: str | None
) -> None:
    path, count = change.before.path, len(change.ours)
    say(f"Put right in {path}:" if faults else f"Registered {counted(count, 'hook')} in {path}")
    for fault in faults:
        say(f"  {one_line(fault)}")
    if program != ON_PATH and change.before.client is CLAUDE:
        line = " ".join([program.command, *program.first])
        say(f"  started as {line}, since `holdfast` alone may not be found everywhere")
    if copy:
        say(f"  what was there before: {copy}")


def _tell_what_comes_next(client: Client, *, new_folder: bool) -> None:
    if client.trust:
        say(f"Now {client.trust}.")
    if client is not CLAUDE:
        say("Sessions that are running have to be started again.")
    elif new_folder:  # it watches the folders that were there when it was started
        say("Sessions that are running have to be started again, since the folder is new.")
    else:
        say("Sessions that are running follow within seconds.")
    say(f"See that it works: {client.look}")


@click.command()
@agent_option
@scope_option
@dry_run_option
@pass_app
def uninstall(app: App, agent: str, named: Scope | None, dry_run: bool) -> None:
    """Take the hooks out of the settings of Claude Code, or of another agent.

    Where the file is still as `install` left it, it becomes byte for byte what it was before.
    Where it has been changed since, our hooks are taken out and nothing else.
    """
    here = app.surroundings
    place = _place(here, agent, named)
    file = place.file
    problem = file.problem or installing.unfit(file.value)
    if problem:
        raise HoldfastError(
            f"{file.path} was left alone: {problem}",
            hint="Correct the file and give the command again, or take out by hand the hooks "
            "that start `holdfast hook`.",
        )
    count = len(installing.ours_in(file.value, place.client))
    if not count:
        say(f"Nothing to do: there are no hooks of Holdfast in {file.path}")
        _warn(_elsewhere(place))
        return
    backup = backups.load(here.state_dir, os.path.realpath(file.path))
    change = installing.taking_out(file, backup)
    if dry_run:
        _show(change)
        _warn([*_tracked(place), *_elsewhere(place)])
        return
    _refuse_what_was_not_asked_for(place, "uninstall")
    installing.uninstall(change, backup, here.state_dir)
    if change.after is None:
        say(f"Removed {file.path}, which `holdfast install` had made.")
    elif change.not_restored:
        say(f"Took {counted(count, 'hook')} out of {file.path}, and left all else as it is now.")
        say(f"  It is not put back from a backup, since {change.not_restored}.")
    else:
        say(f"{file.path} is again as it was before `holdfast install`.")
    _warn([*_tracked(place), *_elsewhere(place)])


def _refuse_what_was_not_asked_for(place: Place, command: str) -> None:
    if _tracked(place) and not place.named:
        raise IllegalMove(
            f"{place.file.path} is tracked by git, so it is not changed unasked",
            hint=f"Ask for it: {_asked(place, command)}",
        )


def _asked(place: Place, command: str) -> str:
    """The command with which a scope is asked for by its name."""
    words = place.client.command(command, place.scope)
    return words if "--scope" in words else f"{words} --scope {place.scope}"


def _tracked(place: Place) -> list[str]:
    target = os.path.realpath(place.file.path)
    if not git.tracks(target):
        return []
    asked = "" if place.named else f"; it is only changed with --scope {place.scope}"
    return [f"{target} is tracked by git{asked}"]


def _show(change: Change) -> None:
    path = change.before.path
    before = change.before.text if change.before.exists else ""
    after = "" if change.after is None else change.after.decode()
    say(f"{path} would be {'removed' if change.after is None else 'changed'}:")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "as it is", "as it would be", lineterm=""
    )
    say("\n".join(lines))


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        say_aside(one_line(warning, 600))


def _warnings(
    here: Surroundings, place: Place, program: Program, wanted: Mapping[str, Any]
) -> Iterator[str]:
    """What keeps the hooks from running as they should, though they are registered."""
    path = place.file.path
    if place.scope == "project" and program != ON_PATH:
        yield (
            f"{path} is for everybody in the project, but {program.command} is a path of this "
            "machine. Where `holdfast` is on the PATH, its name alone is written."
        )
    if place.scope == "local" and git.would_pick_up(os.path.realpath(path)):
        yield f"git does not ignore {path}; put it into .gitignore"
    ours = tuple(registration.registered(wanted, place.client))
    own = Source(place.scope, path, ours, client=place.client)
    for other in _beside(place):
        if sources.run_twice(own, other):
            yield (
                f"{other.name} registers hooks of Holdfast as well, so every hook runs twice. "
                f"Keep one of the two: `{other.removal}` or `{own.removal}`"
            )
        else:
            yield (
                f"{other.name} registers hooks of Holdfast as well. {place.client.title} runs equal "
                "hooks once, so that does no harm."
            )
    for file in place.every.values():
        if file.value.get("disableAllHooks") is True:
            yield f'"disableAllHooks": true stands in {file.path}, so no hook runs'
    if here.disabled:
        yield "HOLDFAST_DISABLE is set, so the hooks do nothing where it is"


def _beside(place: Place) -> list[Source]:
    """What else registers us wherever the hooks of *place* run."""
    if place.client is not CLAUDE:
        return sources.plugins(place.every, place.client, place.folder)
    files = [each for each in sources.found(place.others) if not each.plugin]
    # What a project has switched off is on in the others, which the user's settings are for too.
    everywhere = clientsettings.plugins(place.file.value) if place.scope == "user" else []
    here = clientsettings.plugins(*(file.value for file in place.every.values()))
    names = dict.fromkeys([*here, *everywhere])
    return [*files, *(sources.of_plugin(name, place.every) for name in names)]


def _elsewhere(place: Place) -> list[str]:
    return [
        f"there are hooks of Holdfast in {file.path}: {place.client.command('uninstall', scope)}"
        for scope, file in place.others.items()
        if installing.ours_in(file.value, place.client)
    ]


COMMANDS = (install, uninstall)
