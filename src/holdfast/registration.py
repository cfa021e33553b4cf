"""What is registered with a client: every event that we answer there, and the parts of reading.

`python -m holdfast.registration` prints it as settings.example.json has it, with `plugin` behind it
as hooks/hooks.json has it. The other way round, it tells which hooks in a settings file are ours.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from holdfast import bridges, commandline
from holdfast.clients import CLAUDE, CLIENTS, NOTING, OUTDATED, WRITING, Client
from holdfast.settings import Settings

NAME = "holdfast"
# What the MCP server of that name can answer: the tool, and the events that may be given to it.
HOOK_TOOL = "hook_event"
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")


class Program(NamedTuple):
    """How Holdfast is started: a program, and what stands before its own arguments."""

    command: str
    first: tuple[str, ...] = ()


ON_PATH = Program(NAME)
# The plugin brings a script that finds the plugin's own environment. It is given to sh, so that it
# needs no mark as executable, which is lost in many an archive.
PLUGIN = Program("sh", ("${CLAUDE_PLUGIN_ROOT}/bin/holdfast",))
# Codex and Qwen take a plugin that was made for Claude Code, and know no arguments beside the command:
# of the two words they would start `sh` alone, which reads the payload as its script.
_PLUGIN_LINE = f'{PLUGIN.command} "{PLUGIN.first[0]}"'
# What the client fills in for the server. Of a file that is read or written, only where it lies: its
# text may be long, and would be sent as JSON within JSON.
_ABOUT = {name: f"${{{name}}}" for name in ("hook_event_name", "session_id", "cwd", "agent_id")}
_ABOUT_FILE = {
    **_ABOUT,
    "tool_name": "${tool_name}",
    "tool_input": {name: f"${{tool_input.{name}}}" for name in ("file_path", "notebook_path")},
}
_ABOUT_CALL = {
    **_ABOUT,
    **{
        name: f"${{{name}}}"
        for name in ("tool_name", "tool_input", "tool_response", "error", "is_interrupt")
    },
}
PATIENCE = 30  # seconds; the timeout with which hooks are registered
# Where the server does not answer, the client goes on after so many seconds.
_SERVER_PATIENCE = 5


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
        entries = [
            _entry(client, program, number, beside=row.beside)
            for number in (range(1, parts + 1) if row.parts else (0,))
        ]
        registered.setdefault(row.event, []).append(_on(row.matcher, *entries))
    return {**registered, **_by_server()} if by_server else registered


def _entry(client: Client, program: Program, part: int, *, beside: bool) -> dict[str, object]:
    arguments = ("hook", *(("--part", str(part)) if part else ()), *client.said)
    entry: dict[str, object] = {"name": NAME} if client.named else {}
    entry["type"] = "command"
    if program == PLUGIN:
        entry["command"] = " ".join((_PLUGIN_LINE, *arguments))
    elif client.in_words:
        entry |= {"command": program.command, "args": [*program.first, *arguments]}
    else:
        words = (program.command, *program.first, *arguments)
        entry["command"] = commandline.joined(words, client.windows_shell)
    entry["timeout"] = PATIENCE * client.second
    # What only takes note runs beside the conversation and costs the person nothing.
    return {**entry, "async": True} if beside else entry


def _by_server() -> dict[str, Any]:
    def ask(fields: Mapping[str, object]) -> dict[str, object]:
        asked = {"type": "mcp_tool", "server": NAME, "tool": HOOK_TOOL}
        return {**asked, "input": dict(fields), "timeout": _SERVER_PATIENCE}

    return {
        "PreToolUse": [_on(WRITING, ask(_ABOUT_FILE))],
        "PostToolUse": [
            _on(f"Read|{WRITING}", ask(_ABOUT_FILE)),
            _on(NOTING, ask(_ABOUT_CALL)),
        ],
        "PostToolUseFailure": [_on("Bash", ask(_ABOUT_CALL))],
    }


def _on(matcher: str, *entries: dict[str, object]) -> dict[str, object]:
    return {"matcher": matcher, "hooks": list(entries)} if matcher else {"hooks": list(entries)}


def text(
    program: Program = ON_PATH,
    parts: int = Settings().parts,
    *,
    client: Client = CLAUDE,
    by_server: bool = False,
) -> str:
    """A settings file that has nothing else; or the plugin, for a client that has one."""
    if client.is_bridge:
        return bridges.for_opencode([program.command, *program.first])
    wanted = hooks(program, parts, client=client, by_server=by_server)
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
    fault: str = ""  # why the client does not run it as it stands

    @property
    def slot(self) -> tuple[str, int]:
        """What it is there for."""
        return self.event, self.part

    @property
    def part(self) -> int:
        """Which part of the reading it sends; 0 for the main hook."""
        value = _value(self.arguments, "--part")
        return int(value) if value.isdecimal() else 0

    def is_run_with(self, other: Hook) -> bool:
        """Whether the client takes the two for one. It does so across settings files."""
        return self._started == other._started

    @property
    def _started(self) -> tuple[object, ...]:
        return self.program, self.event, self.arguments, self.line, self.by_server


def registered(value: object, client: Client = CLAUDE) -> Iterator[Hook]:
    """The hooks that are ours in the value of "hooks" in some settings; others are passed over."""
    for event, groups in value.items() if isinstance(value, Mapping) else ():
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, Mapping) else None
            for entry in entries if isinstance(entries, list) else ():
                started = ours(entry)
                if started:
                    matcher = str(group.get("matcher") or "")
                    matcher = "" if matcher == "*" else matcher
                    by_server = _is_for_server(entry)
                    in_words = by_server or isinstance(entry.get("args"), list)
                    line = "" if in_words else entry["command"]
                    beside = entry.get("async") is True
                    fault = _fault(client, group, entry, started[0])
                    yield Hook(event, matcher, *started, beside, line, by_server, fault)


def _value(arguments: Sequence[str], option: str) -> str:
    """What is given for *option*, behind it or with an equals sign; empty where it is not there."""
    pairs = dict(each.split("=", 1) for each in arguments if "=" in each)
    return dict(pairwise(arguments)).get(option) or pairs.get(option, "")


def _fault(
    client: Client, group: Mapping[str, Any], entry: Mapping[str, Any], arguments: Sequence[str]
) -> str:
    """Why *client* does not run *entry*, or not to its end, or cannot do with what it answers."""
    agent = _value(arguments, "--agent") or client.name
    if agent != client.name:
        return f"it answers as for {CLIENTS[agent].title if agent in CLIENTS else agent}"
    timeout = entry.get("timeout")
    if isinstance(timeout, (int, float)) and timeout < client.second:
        return f"its timeout of {timeout} ends it after {timeout * 1000 // client.second} ms"
    if isinstance(entry.get("args"), list) and not client.in_words:
        return f'{client.title} does not know "args", so it starts `{entry["command"]}` alone'
    if entry.get(OUTDATED) is True and client.is_bridge:
        return "it is not the plugin of this release, or was changed since"
    if group.get("matcher") == "" and not client.empty_matchers:
        return f"{client.title} takes no empty matcher"
    return ""


def ours(entry: object) -> tuple[tuple[str, ...], Program] | None:
    """The arguments behind "hook" and the program, where *entry* starts or asks Holdfast; else None.

    Also where it does so by another path, through `python -m`, or in one line for a shell. What
    somebody has wrapped around it is theirs.
    """
    if not isinstance(entry, Mapping):
        return None
    if _is_for_server(entry):
        return (), ON_PATH
    if not isinstance(entry.get("command"), str):
        return None
    given = entry.get("args")
    line = entry["command"]
    words = [line, *given] if isinstance(given, list) else commandline.split(line)
    if not all(isinstance(word, str) for word in words) or "hook" not in words[1:]:
        return None
    place = words.index("hook", 1)
    if not _is_us(words[:place]):
        return None
    return tuple(words[place + 1 :]), Program(words[0], tuple(words[1:place]))


def _is_for_server(entry: Mapping[str, Any]) -> bool:
    asked = tuple(entry.get(key) for key in ("type", "server", "tool"))
    return asked == ("mcp_tool", NAME, HOOK_TOOL)


def _is_us(words: Sequence[str]) -> bool:
    match [_name(word) for word in words]:
        case [only]:
            return only == NAME
        case ["sh", script]:  # as the plugin does
            return script == NAME
        case [program, *options, "-m", module]:
            of_python = program.startswith("python") or program == "py"
            return of_python and module == NAME and all(each[:1] == "-" for each in options)
    return False


def _name(word: str) -> str:
    # A backslash parts folders on Windows alone, but no program of ours has one in its name.
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


if __name__ == "__main__":
    print(text(PLUGIN if sys.argv[1:] == ["plugin"] else ON_PATH), end="")  # noqa: T201  # what it is for
