"""What is registered with a client: every event that we answer there, and the parts of reading.

`python -m holdfast.setup.registration` prints it as settings.example.json has it, with `plugin` behind it
as hooks/hooks.json has it. The other way round, it tells which hooks in a settings file are ours.

A shell may find `holdfast` where the client, started elsewhere, does not. So settings name the whole path, which works
with any PATH. Only the settings that a project shares name it alone, since a path is of one machine; there, and
in settings.example.json, a hook does nothing where there is no such program, instead of failing at every event.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from itertools import takewhile
from typing import Any, NamedTuple

from holdfast.agents import clients
from holdfast.agents.clients import CLAUDE, NOTING, WRITING, Client, Row
from holdfast.config.settings import Settings
from holdfast.files.regular import contains

NAME = "holdfast"
# What the MCP server of that name can answer: the tool, and the events that may be given to it.
HOOK_TOOL = "hook_event"
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_OF_WINDOWS = re.compile(r"(^|[\s'\"])[A-Za-z]:\\")
LATER = "--later"  # see `agents.request`


class Program(NamedTuple):
    """How Holdfast is started: a program, and what stands before its own arguments."""

    command: str
    first: tuple[str, ...] = ()


ON_PATH = Program(NAME)
# -P: a hook is started in the project, whose modules are not ours to import.
THIS = Program(sys.executable, ("-P", "-m", NAME))
# The plugin brings a script that finds the plugin's own environment. It is given to sh, so that it
# needs no mark as executable, which is lost in many an archive. The path of sh, for a client without a PATH.
PLUGIN = Program("/bin/sh", ("${CLAUDE_PLUGIN_ROOT}/bin/holdfast",))
# Codex and Qwen take a plugin that was made for Claude Code, and know no arguments beside the command:
# of the two words they would start `sh` alone, which reads the payload as its script.
_PLUGIN_LINE = f'{PLUGIN.command} "{PLUGIN.first[0]}"'
# What stands before a hook that is started by name.
_IF_THERE = f"command -v {NAME} >/dev/null || exit 0; exec "
# What the client fills in for the server. Of a file that is read or written, only where it lies: its
# text may be long, and would be sent as JSON within JSON.
_ABOUT = ("hook_event_name", "session_id", "cwd", "agent_id", "tool_name")
_ABOUT_FILE: dict[str, object] = {
    **{name: f"${{{name}}}" for name in _ABOUT},
    "tool_input": {name: f"${{tool_input.{name}}}" for name in ("file_path", "notebook_path")},
}
_ABOUT_CALL: dict[str, object] = {
    name: f"${{{name}}}"
    for name in (*_ABOUT, "tool_input", "tool_response", "error", "is_interrupt")
}
PATIENCE = 30  # seconds; the timeout with which hooks are registered
# Where the server does not answer, the client goes on after so many seconds.
_SERVER_PATIENCE = 5


def whole_path() -> Program:
    """The path of this installation."""
    script = _script()
    return Program(script) if script else THIS


def find_on_path(name: str, search_path: str, virtual_env: str | None) -> str | None:
    """The file that *name* starts wherever the client is started, so without the environment that is activated."""
    activated = os.path.realpath(virtual_env) if virtual_env else None
    lasting = [
        folder
        for folder in search_path.split(os.pathsep)
        if os.path.isabs(folder)
        and not (activated and contains(activated, os.path.realpath(folder)))
    ]
    return shutil.which(name, path=os.pathsep.join(lasting))


def is_this_installation(program: Program, file: str) -> bool:
    """Whether *program*, which *file* starts, is this very installation."""
    if program.first:
        return (file, program.first[-2:]) == (THIS.command, THIS.first[-2:])
    script = _script()
    return script is not None and os.path.realpath(file) == os.path.realpath(script)


def _script() -> str | None:
    """The script of this installation; its record knows it, whatever kind of installation it is."""
    try:
        files = metadata.distribution(NAME).files or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.lower() in {NAME, f"{NAME}.exe"}:
            script = os.path.normpath(file.locate())
            if os.access(script, os.X_OK) and os.path.isfile(script):
                return script
    return None


def hooks(
    program: Program = ON_PATH,
    parts: int = Settings().parts,
    *,
    client: Client = CLAUDE,
    by_server: bool = False,
) -> dict[str, Any]:
    """The value of "hooks" in a settings file; with *by_server*, tool events go to the MCP server."""
    registered: dict[str, Any] = {}
    for row in client.rows:
        # Clients merge identical commands into one run; these differ in their part.
        numbers = range(1, parts + 1) if row.parts else (0,)
        entries = [_entry(client, program, row, number) for number in numbers]
        registered.setdefault(row.event, []).append(_group(row.matcher, *entries))
    return {**registered, **_BY_SERVER} if by_server else registered


def _entry(client: Client, program: Program, row: Row, part: int) -> dict[str, object]:
    own = ("--part", str(part)) if part else (LATER,) if row.later else ()
    arguments = ("hook", *own, *client.said)
    entry: dict[str, object] = {"name": NAME} if client.named else {}
    entry["type"] = "command"
    if program == PLUGIN:
        entry["command"] = " ".join((_PLUGIN_LINE, *arguments))
    elif program == ON_PATH and client is CLAUDE:
        entry["command"] = _IF_THERE + " ".join((NAME, *arguments))
    elif client.in_words:
        entry |= {"command": program.command, "args": [*program.first, *arguments]}
    else:
        words = (program.command, *program.first, *arguments)
        # What a shell of Windows makes of it has not been tried.
        joined = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
        entry["command"] = joined(words)
    entry["timeout"] = PATIENCE * client.second
    # What only takes note runs beside the conversation and costs the person nothing.
    return {**entry, "async": True} if row.beside else entry


def _group(matcher: str, *entries: dict[str, object]) -> dict[str, object]:
    return {"matcher": matcher, "hooks": list(entries)} if matcher else {"hooks": list(entries)}


def _asking(matcher: str, fields: dict[str, object]) -> dict[str, object]:
    asked = {"type": "mcp_tool", "server": NAME, "tool": HOOK_TOOL}
    return _group(matcher, {**asked, "input": fields, "timeout": _SERVER_PATIENCE})


_BY_SERVER = {
    "PreToolUse": [_asking(WRITING, _ABOUT_FILE)],
    "PostToolUse": [_asking(f"Read|{WRITING}", _ABOUT_FILE), _asking(NOTING, _ABOUT_CALL)],
    "PostToolUseFailure": [_asking("Bash", _ABOUT_CALL)],
}


def text(wanted: Mapping[str, Any], client: Client = CLAUDE) -> str:
    """A settings file that has nothing but the hooks *wanted*; or the plugin, for a client that has one."""
    if client.is_bridge:
        program = registered(wanted, client)[0].program
        return clients.opencode_plugin([program.command, *program.first])
    return json.dumps({"hooks": wanted}, indent=2) + "\n"


def adding(program: Program) -> str:
    """The command that tells the client of the server that *program* starts, in all projects."""
    started = shlex.join([program.command, *program.first, "mcp"])
    return f"claude mcp add --scope user {NAME} -- {started}"


class Hook(NamedTuple):
    """One hook of ours, as settings register it."""

    event: str
    matcher: str  # "" where there is none: for all
    arguments: tuple[str, ...]  # behind "hook": ("--part", "3")
    program: Program
    beside: bool = False  # "async"
    line: str = ""  # the whole of it, where it is one line for a shell
    by_server: bool = False  # the MCP server answers it, and nothing is started
    works: bool = True  # whether the client runs it as it stands, and to its end

    @property
    def slot(self) -> str:
        """What it is there for: its event, with what tells it from the other hooks of that event."""
        own = takewhile(lambda word: not word.startswith("--agent"), self.arguments)
        return " ".join((self.event, *own))

    @property
    def form(self) -> tuple[object, ...]:
        """How it is registered, whatever program it starts."""
        return self.event, self.matcher, self.arguments, self.beside, self.by_server, self.works

    @property
    def started(self) -> tuple[object, ...]:
        """How it is started. What is equal in this, the client runs once, across all settings files."""
        return self.program, self.event, self.arguments, self.line, self.by_server


def registered(hooks: object, client: Client = CLAUDE) -> list[Hook]:
    """The hooks that are ours in the value of "hooks" in some settings of *client*."""
    return [hook for _, _, hook in located(hooks, client)]


def located(hooks: object, client: Client = CLAUDE) -> Iterator[tuple[int, int, Hook]]:
    """Our hooks, each with the index of its group in the event and its own index in the group."""
    for event, groups in mapping(hooks).items():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = mapping(group).get("hooks")
            for place, entry in enumerate(entries if isinstance(entries, list) else ()):
                if started := ours(entry):
                    yield number, place, _hook(client, event, group, entry, *started)


def _hook(
    client: Client,
    event: str,
    group: Mapping[str, Any],
    entry: Mapping[str, Any],
    arguments: tuple[str, ...],
    program: Program,
) -> Hook:
    matcher = str(group.get("matcher") or "")
    by_server = _is_for_server(entry)
    in_words = isinstance(entry.get("args"), list)
    timeout = entry.get("timeout")
    ends_early = isinstance(timeout, (int, float)) and timeout < client.second
    return Hook(
        event,
        "" if matcher == "*" else matcher,
        arguments,
        program,
        entry.get("async") is True,
        "" if by_server or in_words else entry["command"],
        by_server,
        not ends_early and (client.in_words or not in_words),
    )


def mapping(value: object) -> Mapping[str, Any]:
    """*value* where it has members; else none."""
    return value if isinstance(value, Mapping) else {}


def ours(entry: object) -> tuple[tuple[str, ...], Program] | None:
    """The arguments behind "hook" and the program, where *entry* starts or asks Holdfast; else None.

    Also where it does so by another path, through `python -m`, or in one line for a shell. What
    somebody has wrapped around it is theirs.
    """
    if not isinstance(entry, Mapping):
        return None
    if _is_for_server(entry):
        return (), ON_PATH
    line, given = entry.get("command"), entry.get("args")
    if not isinstance(line, str):
        return None
    words = [line, *given] if isinstance(given, list) else _split(line.removeprefix(_IF_THERE))
    if not all(isinstance(word, str) for word in words) or "hook" not in words[1:]:
        return None
    place = words.index("hook", 1)
    if not _is_us(words[:place]):
        return None
    return tuple(words[place + 1 :]), Program(words[0], tuple(words[1:place]))


def starts_us(line: str, command: str) -> bool:
    """Whether *line*, for a shell, is no more than `holdfast` *command*, by whatever path."""
    *words, last = _split(line) or [""]
    return last == command and _is_us(words)


def _is_for_server(entry: Mapping[str, Any]) -> bool:
    asked = tuple(entry.get(key) for key in ("type", "server", "tool"))
    return asked == ("mcp_tool", NAME, HOOK_TOOL)


def _is_us(words: Sequence[str]) -> bool:
    # A backslash parts folders on Windows alone, but no program of ours has one in its name.
    names = [re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe") for word in words]
    match names:
        case [only]:
            return only == NAME
        case ["sh", script]:  # as the plugin does
            return script == NAME
        case [program, *options, "-m", module]:
            of_python = program.startswith("python") or program == "py"
            return of_python and module == NAME and all(option[:1] == "-" for option in options)
    return False


def _split(line: str) -> list[str]:
    """The words of *line*, whoever wrote it."""
    posix = not _OF_WINDOWS.search(line)  # else a backslash stands for itself
    try:
        words = shlex.split(line, posix=posix)
    except ValueError:
        return line.split()
    return words if posix else [re.sub(r"^(['\"])(.*)\1$", r"\2", word) for word in words]


if __name__ == "__main__":
    print(text(hooks(PLUGIN if sys.argv[1:] == ["plugin"] else ON_PATH)), end="")  # noqa: T201  # what it is for
