"""The settings files of a client: where they lie, what stands in them, and which of them register us.

Claude Code silently treats a file with a comment or an error as empty. So a file with any problem is reported and never
edited, which could only hide the problem. A client runs equal commands of all settings once, and a plugin's hooks always in
addition.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from holdfast.agents import clients
from holdfast.agents.clients import CLAUDE, SCOPES, Client, Scope
from holdfast.config.project import AGENT_VARIABLES, Surroundings, root_for_new
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.files import jsontext
from holdfast.files.regular import contains, decode_json, decode_toml, read_file
from holdfast.setup import extras, registration
from holdfast.setup.registration import PLUGIN, Hook, mapping

LARGEST = 1024 * 1024
HOOKS = "hooks"
_PLUGIN = "holdfast"


class ClientSettings(NamedTuple):
    """One settings file; *raw* and *value* are what could be read of it."""

    path: str
    client: Client = CLAUDE
    exists: bool = False
    raw: bytes = b""
    value: Mapping[str, Any] = {}
    problem: str = ""  # why hooks in it are not run, or cannot be put into it

    @property
    def text(self) -> str:
        """The file as characters, a byte order mark too."""
        return self.raw.decode()

    @property
    def hooks(self) -> list[Hook]:
        """Our hooks in it."""
        return registration.registered(self.value.get(HOOKS), self.client)

    def holding(self, raw: bytes) -> ClientSettings:
        """This file with *raw* as its content. For a plugin, *value* is what it starts, in the shape of settings."""
        found = self._replace(exists=True, raw=raw, value={})
        try:
            value = _started_by(raw, self.client) if self.client.is_bridge else parsed(raw)
        except ValueError as error:
            return found._replace(problem=str(error))
        return found._replace(value=value, problem=_unfit(value, self.client))


def root(here: Surroundings) -> str:
    """Where the client looks for a project's settings: only in the folder where a session starts."""
    started, cwd = here.client_project, os.path.realpath(here.cwd)
    inside = started and contains(os.path.realpath(started), cwd)
    return os.path.realpath(started) if started and inside else root_for_new(cwd, started)


def read(path: str, client: Client = CLAUDE) -> ClientSettings:
    """The settings file at *path*; never raises. A missing one is no problem."""
    none = ClientSettings(path, client)
    if not os.path.lexists(os.path.realpath(path)):  # a link that leads nowhere may be followed
        return none
    try:
        return none.holding(read_file(path, LARGEST)[0])
    except StateUnreadable as error:
        return none._replace(exists=True, problem=error.reason)


def _started_by(raw: bytes, client: Client) -> dict[str, Any]:
    program = clients.program_in(raw.decode("utf-8", "replace"))
    if program is None:
        raise ValueError("it is not a plugin of Holdfast")
    entry = {"command": program[0], "args": [*program[1:], "hook", *client.said]}
    return {"hooks": {row.event: [{"hooks": [entry]}] for row in client.rows}}


def _unfit(value: Mapping[str, Any], client: Client) -> str:
    """Why hooks cannot be put into settings with this value, though they are plain JSON."""
    unknown = [] if client.beside_hooks is None else value.keys() - {HOOKS} - client.beside_hooks
    if unknown:
        return f'{client.title} refuses the whole file for its "{min(unknown)}"'
    hooks = value.get(HOOKS, {})
    if not isinstance(hooks, dict):
        return '"hooks" is not an object'
    wrong = [event for event, groups in hooks.items() if not isinstance(groups, list)]
    return f'"{wrong[0]}" in "hooks" is not a list' if wrong else ""


def toml(path: str) -> Mapping[str, Any]:
    """What stands in a file of TOML; nothing where it cannot be told."""
    try:
        return decode_toml(read_file(path, LARGEST)[0])
    except (StateUnreadable, ValueError):
        return {}


def servers(root: str, here: Surroundings) -> set[str] | None:
    """The MCP servers of a session that starts in *root*; None where a file does not tell."""
    folders = [folder for folder in (here.home, here.agent_dirs.get(CLAUDE.name)) if folder]
    files = [read(os.path.join(folder, ".claude.json")) for folder in folders]
    files.append(read(os.path.join(root, ".mcp.json")))
    if any(file.problem for file in files):
        return None
    values = [file.value for file in files]
    values += [mapping(mapping(value.get("projects")).get(root)) for value in values]
    return {name for value in values for name in mapping(value.get("mcpServers"))}


def marketplace(folder: str | None, name: str) -> str | None:
    """Where the client keeps, or finds, the marketplace *name* of plugins."""
    known = read(os.path.join(folder or "", "plugins", "known_marketplaces.json")).value
    place = mapping(known.get(name)).get("installLocation")
    return place if isinstance(place, str) else None


def parsed(raw: bytes) -> dict[str, Any]:
    """The object in *raw*; ValueError says in words why it is none."""
    try:
        value = decode_json(raw, constant=_no_json)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text, from byte {error.start + 1} on") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{_place(error.doc, error.pos)}: {_trouble(error)}") from error
    if not isinstance(value, dict):
        raise ValueError("no object in braces, but " + json.dumps(value)[:40])  # noqa: TRY004
    text = raw.decode("utf-8-sig")
    again = next(jsontext.repeated(text), None)
    if again:
        raise ValueError(f"{_place(text, again.opens)}: a second {json.dumps(again.key)}")
    return value


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


def _trouble(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].lstrip()
    if rest.startswith(("//", "/*", "#")):
        return "a comment, which JSON does not have"
    if rest.startswith(("}", "]")) or error.msg.startswith("Illegal trailing comma"):
        return "a comma with nothing behind it"
    return error.msg[:1].lower() + error.msg[1:]


# Which of them register us.


class Source(NamedTuple):
    """A settings file that registers us, or a plugin of ours that is enabled in it."""

    scope: Scope
    path: str
    hooks: Sequence[Hook]
    plugin: str = ""
    client: Client = CLAUDE

    @property
    def name(self) -> str:
        """What people call it."""
        settings = f"the {self.scope} settings, {self.path}"
        return f"the plugin {self.plugin}" if self.plugin else settings

    @property
    def removal(self) -> str:
        """The command that takes it out."""
        if self.plugin:
            return self.client.plugin_removal.format(plugin=self.plugin, scope=self.scope)
        return self.client.command("uninstall", self.scope)

    @property
    def repair(self) -> str:
        """The command that brings what settings register to what it should be."""
        return self.client.command("install", self.scope)


class Scopes(NamedTuple):
    """The settings of *client* for a session that starts in *root*, in the order of SCOPES."""

    client: Client
    root: str
    folder: str | None  # where the client keeps what is the user's own
    files: Mapping[Scope, ClientSettings]

    def file(self, scope: Scope) -> ClientSettings:
        """The settings of *scope*, or why there are none."""
        if scope in self.files:
            return self.files[scope]
        client = self.client
        if scope in client.files:
            raise HoldfastError(
                "no home folder is known, so there are no settings of the user",
                hint=f"Set HOME, or {AGENT_VARIABLES[client.name].home} as for {client.title} itself.",
            )
        raise IllegalMove(
            f"Holdfast is not tested with {client.title}'s hooks in --scope {scope}",
            hint=f"Use --scope {' or '.join(client.files)}: {client.command('install', 'user')}",
        )

    @property
    def allows_us(self) -> bool:
        """Whether agents run our commands without a question."""
        return any(extras.is_allowed(file.value) for file in self.files.values())

    def after(self, changed: ClientSettings) -> Scopes:
        """As they are once the file is *changed*. In the home folder, user and project are one."""
        target = os.path.realpath(changed.path)
        files = {
            scope: changed if os.path.realpath(file.path) == target else file
            for scope, file in self.files.items()
        }
        return self._replace(files=files)

    def sources(self) -> list[Source]:
        """All that register us. One file that counts in two scopes is one source."""
        by_path: dict[str, Source] = {}
        for scope, file in self.files.items():
            if file.hooks:
                source = Source(scope, file.path, file.hooks, client=self.client)
                by_path.setdefault(os.path.realpath(file.path), source)
        return [*by_path.values(), *self._plugins()]

    def _plugins(self) -> list[Source]:
        """Our plugin, under each name such as "holdfast@market" under which it is enabled."""
        if self.client is CLAUDE:
            noted = {scope: file.value.get("enabledPlugins") for scope, file in self.files.items()}
        else:
            noted = {"user": _noted_plugins(self.client, self.folder)}
        enabled: dict[str, tuple[Scope, bool]] = {}
        for scope, plugins in noted.items():  # the last scope that names a plugin decides
            for name, is_on in mapping(plugins).items():
                if name.partition("@")[0] == _PLUGIN:
                    enabled[name] = scope, is_on is True
        return [
            Source(scope, self.files[scope].path, _OF_PLUGIN, name, self.client)
            for name, (scope, is_on) in enabled.items()
            if is_on
        ]


def _noted_plugins(client: Client, folder: str | None) -> Mapping[str, Any]:
    """The plugins that *client* notes in its own folder, each with whether it is enabled."""
    if not client.plugins_in or folder is None:
        return {}
    path = os.path.join(folder, client.plugins_in)
    if path.endswith(".json"):
        return mapping(read(path).value.get("enabledPlugins"))
    if path.endswith(".toml"):
        tables = mapping(toml(path).get("plugins"))
        return {name: mapping(table).get("enabled") is not False for name, table in tables.items()}
    return {_PLUGIN: os.path.isdir(path)}


def look(here: Surroundings, client: Client = CLAUDE) -> Scopes:
    """The settings of every scope that there is a place for."""
    project, folder = root(here), here.agent_dirs.get(client.name)
    files: dict[Scope, ClientSettings] = {}
    for scope in SCOPES:
        above = folder if scope == "user" else project
        if scope in client.files and above is not None:
            files[scope] = read(os.path.join(above, client.files[scope]), client)
    return Scopes(client, project, folder, files)


def any_hooks(here: Surroundings) -> bool:
    """Whether the settings of any agent register us."""
    return any(look(here, client).sources() for client in clients.CLIENTS.values())


# Whoever runs it: the plugin is one and the same.
_OF_PLUGIN = registration.registered(registration.hooks(PLUGIN))


def run_twice(one: Source, other: Source) -> set[str]:
    """The events for which a hook runs twice because of these two, which may be the same."""
    apart = one is not other and bool(one.plugin or other.plugin)
    return {
        hook.event
        for hook, theirs in product(one.hooks, other.hooks)
        if hook.slot == theirs.slot and (apart or hook.started != theirs.started)
    }
