"""The settings files of a client: where they lie, and what stands in them or why it cannot be told.

Claude Code itself takes a file with a comment or an error for an empty one, in silence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast import bridges, jsontext
from holdfast.clients import CLAUDE, OUTDATED, SCOPES, Client, Scope
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.project import AGENT_VARIABLES, Surroundings, contains, root_for_new
from holdfast.regular import decode_json, decode_toml, read_file

LARGEST = 1024 * 1024
_PLUGIN = "holdfast"


class ClientSettings(NamedTuple):
    """One settings file. With a *problem*, *value* is empty; *raw* is what could be read."""

    path: str
    exists: bool = False
    raw: bytes = b""
    value: Mapping[str, Any] = {}
    problem: str = ""
    client: Client = CLAUDE

    @property
    def text(self) -> str:
        """The file as characters, a byte order mark too."""
        return self.raw.decode()


def path(scope: Scope, root: str, folder: str | None, client: Client = CLAUDE) -> str:
    """Where the settings of *scope* lie for a session that starts in *root*.

    *folder* is where the client keeps what is the user's own.
    """
    if scope not in client.files:
        raise IllegalMove(
            f"Holdfast was not tried with hooks of {client.title} in --scope {scope}",
            hint=f"It was in {' and '.join(client.files)}: {client.command('install', 'user')}",
        )
    if scope != "user":
        return os.path.join(root, client.files[scope])
    if folder is None:
        raise HoldfastError(
            "no home folder is known, so there are no settings of the user",
            hint=f"Set HOME, or {AGENT_VARIABLES[client.name].home} as for {client.title} itself.",
        )
    return os.path.join(folder, client.files[scope])


def root(here: Surroundings) -> str:
    """Where the client looks for a project's settings: only in the folder where a session starts."""
    started, cwd = here.client_project, os.path.realpath(here.cwd)
    inside = started and contains(os.path.realpath(started), cwd)
    return os.path.realpath(started) if started and inside else root_for_new(cwd, started)


def read_all(root: str, folder: str | None, client: Client = CLAUDE) -> dict[Scope, ClientSettings]:
    """The settings of every scope that there is a place for, in the order of SCOPES."""
    known = [scope for scope in SCOPES if scope in client.files]
    there = [scope for scope in known if scope != "user" or folder is not None]
    return {scope: read(path(scope, root, folder, client), client) for scope in there}


def read(path: str, client: Client = CLAUDE) -> ClientSettings:
    """The settings file at *path*; never raises. A missing one is no problem."""
    none = ClientSettings(path, client=client)
    if not os.path.lexists(os.path.realpath(path)):  # a link that leads nowhere may be followed
        return none
    try:
        raw, _ = read_file(path, LARGEST)
    except StateUnreadable as error:
        return none._replace(exists=True, problem=error.reason)
    try:
        return none._replace(exists=True, raw=raw, value=value_of(raw, client))
    except ValueError as error:
        return none._replace(exists=True, raw=raw, problem=str(error))


def value_of(raw: bytes, client: Client) -> dict[str, Any]:
    """What stands in a file of *client*; ValueError says in words why that is not known.

    Of a plugin, what it starts, as if it stood in settings.
    """
    return _started_by(raw.decode("utf-8", "replace"), client) if client.is_bridge else parsed(raw)


def _started_by(text: str, client: Client) -> dict[str, Any]:
    program = bridges.program_in(text)
    if program is None:
        raise ValueError("it is no plugin of Holdfast")
    words = [*program, "hook", *client.said]
    entry = {
        "command": words[0],
        "args": words[1:],
        OUTDATED: text != bridges.for_opencode(program),
    }
    return {"hooks": {row.event: [{"hooks": [entry]}] for row in client.rows}}


def plugins(*values: Mapping[str, Any]) -> list[str]:
    """The names, such as "holdfast@market", under which our plugin is enabled.

    Of several settings, in the order of SCOPES, the last one that names a plugin decides.
    """
    enabled: dict[str, bool] = {}
    for value in values:
        for name, on in mapping(value.get("enabledPlugins")).items():
            if name.startswith(f"{_PLUGIN}@"):
                enabled[name] = on is True
    return [name for name, on in enabled.items() if on]


def plugins_of(client: Client, folder: str | None) -> list[str]:
    """The names under which a client that notes plugins in its own folder has ours enabled."""
    if not client.plugins_in or folder is None:
        return []
    noted = os.path.join(folder, client.plugins_in)
    if noted.endswith(".json"):
        return plugins(read(noted).value)
    if noted.endswith(".toml"):
        tables = mapping(toml(noted).get("plugins"))
        named = {name: each for name, each in tables.items() if name.startswith(f"{_PLUGIN}@")}
        return [name for name, each in named.items() if mapping(each).get("enabled") is not False]
    return [_PLUGIN] if os.path.isdir(noted) else []


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
    if any(each.problem for each in files):
        return None
    values = [each.value for each in files]
    projects = (mapping(value.get("projects")) for value in values)
    values += [mapping(each.get(root)) for each in projects]
    return {name for value in values for name in mapping(value.get("mcpServers"))}


def mapping(value: object) -> Mapping[str, Any]:
    """*value* where it has members; else none."""
    return value if isinstance(value, Mapping) else {}


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
    raise ValueError(f"{name} is no JSON")


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


def _trouble(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].lstrip()
    if not error.doc.strip():
        return "the file is empty"
    if rest.startswith(("//", "/*", "#")):
        return "a comment, which JSON does not have"
    if rest.startswith(("}", "]")) or error.msg.startswith("Illegal trailing comma"):
        return "a comma with nothing behind it"
    return error.msg[:1].lower() + error.msg[1:]
