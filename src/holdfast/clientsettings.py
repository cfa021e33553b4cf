"""The client's settings files: where they lie, and what stands in them or why it cannot be told.

The client itself takes a file with a comment or an error for an empty one, in silence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from holdfast import jsontext
from holdfast.errors import HoldfastError, StateUnreadable
from holdfast.project import Surroundings, contains, root_for_new
from holdfast.regular import decode_json, read_file

Scope: TypeAlias = Literal["user", "project", "local"]
# What stands in a later one goes over what stands in an earlier one. Hooks of all of them run.
SCOPES: tuple[Scope, ...] = ("user", "project", "local")
LARGEST = 1024 * 1024
_PLUGIN = "holdfast@"


class ClientSettings(NamedTuple):
    """One settings file. With a *problem*, *value* is empty; *raw* is what could be read."""

    path: str
    exists: bool = False
    raw: bytes = b""
    value: Mapping[str, Any] = {}
    problem: str = ""

    @property
    def text(self) -> str:
        """The file as characters, a byte order mark too."""
        return self.raw.decode()


def path(scope: Scope, root: str, client_dir: str | None) -> str:
    """Where the settings of *scope* lie for a session that starts in *root*."""
    if scope != "user":
        name = "settings.json" if scope == "project" else "settings.local.json"
        return os.path.join(root, ".claude", name)
    if client_dir is None:
        raise HoldfastError(
            "no home folder is known, so there are no settings of the user",
            hint="Set HOME, or CLAUDE_CONFIG_DIR as for Claude Code itself.",
        )
    return os.path.join(client_dir, "settings.json")


def root(here: Surroundings) -> str:
    """Where the client looks for a project's settings: only in the folder where a session starts."""
    started, cwd = here.client_project, os.path.realpath(here.cwd)
    inside = started and contains(os.path.realpath(started), cwd)
    return os.path.realpath(started) if started and inside else root_for_new(cwd, started)


def read_all(root: str, client_dir: str | None) -> dict[Scope, ClientSettings]:
    """The settings of every scope that there is a place for, in the order of SCOPES."""
    there = [scope for scope in SCOPES if scope != "user" or client_dir is not None]
    return {scope: read(path(scope, root, client_dir)) for scope in there}


def read(path: str) -> ClientSettings:
    """The settings file at *path*; never raises. A missing one is no problem."""
    if not os.path.lexists(os.path.realpath(path)):  # a link that leads nowhere may be followed
        return ClientSettings(path)
    try:
        raw, _ = read_file(path, LARGEST)
    except StateUnreadable as error:
        return ClientSettings(path, exists=True, problem=error.reason)
    try:
        return ClientSettings(path, exists=True, raw=raw, value=parsed(raw))
    except ValueError as error:
        return ClientSettings(path, exists=True, raw=raw, problem=str(error))


def plugins(*values: Mapping[str, Any]) -> list[str]:
    """The names, such as "holdfast@market", under which our plugin is enabled.

    Of several settings, in the order of SCOPES, the last one that names a plugin decides.
    """
    enabled: dict[str, bool] = {}
    for value in values:
        named = value.get("enabledPlugins")
        for name, on in named.items() if isinstance(named, Mapping) else ():
            if name.startswith(_PLUGIN):
                enabled[name] = on is True
    return [name for name, on in enabled.items() if on]


def servers(root: str, here: Surroundings) -> set[str] | None:
    """The MCP servers of a session that starts in *root*; None where a file does not tell."""
    folders = [folder for folder in (here.home, here.client_dir) if folder]
    files = [read(os.path.join(folder, ".claude.json")) for folder in folders]
    files.append(read(os.path.join(root, ".mcp.json")))
    if any(each.problem for each in files):
        return None
    values = [each.value for each in files]
    projects = (_mapping(value.get("projects")) for value in values)
    values += [_mapping(each.get(root)) for each in projects]
    return {name for value in values for name in _mapping(value.get("mcpServers"))}


def _mapping(value: object) -> Mapping[str, Any]:
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
