"""The programs that we can be registered with: where each looks for hooks, and in which format.

How an agent asks and is told is in its own module. Here is what `install` and `doctor` need, one row a program, and only
what was seen to work: docs/agents/ has the versions.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal, NamedTuple, TypeAlias

from holdfast.agents.events import NOTED, WRITES

Scope: TypeAlias = Literal["user", "project", "local"]
# A later one overrides an earlier one. Hooks of all of them run.
SCOPES: tuple[Scope, ...] = ("user", "project", "local")
# The tools whose calls we look at, as a matcher lists them.
WRITING = "|".join(WRITES)
NOTING = "|".join(NOTED)
_RESTORING = "compact|resume|fork"


class Row(NamedTuple):
    """One group of hooks that is registered."""

    event: str
    matcher: str = ""  # "" for all
    parts: bool = False  # a hook for each part of the reading, instead of the main one
    beside: bool = False  # asynchronous: beside the conversation
    later: bool = False  # the bookkeeping of the event, instead of its answer


class Client(NamedTuple):
    """One program; the defaults hold for most."""

    name: str  # as --agent has it; also the command that starts it
    title: str  # what people call it
    tried: tuple[str, ...]  # the versions that Holdfast was tried with, the oldest first
    update: str  # the command that brings it up to date
    # Its file of hooks: for the user below the program's own folder, else below the project's root.
    files: Mapping[Scope, str]
    rows: tuple[Row, ...]  # what is registered
    is_bridge: bool = False  # its file is a plugin that starts our hooks, and no settings
    in_words: bool = False  # a hook is a program with arguments; else a line for a shell
    second: int = 1  # its timeouts count so many to a second
    named: bool = False  # knows hooks by their names
    beside_hooks: frozenset[str] | None = None  # keys that it allows besides "hooks"; None: any
    with_comments: bool = False  # reads its file with comments in it
    plugins_in: str = ""  # where, in its own folder, it notes plugins; "" where its settings do
    # What it knows of the events that only the plugin registers, which is made for Claude Code.
    plugin_events: tuple[str, ...] = ()
    plugin_removal: str = ""  # the command, with {plugin} and {scope}
    plain_notes: bool = False  # gives what a hook prints before a compaction to the summariser
    restored_by: str = "SessionStart-compact"  # of what it gave to hooks, what brings all back
    trust: str = ""  # what only the person can do before the hooks run

    @property
    def said(self) -> tuple[str, ...]:
        """The arguments that name the agent to a hook. Claude Code's hooks have none."""
        return () if self is CLAUDE else ("--agent", self.name)

    @property
    def look(self) -> str:
        """The command that sees whether it works."""
        return " ".join(["holdfast", "doctor", *self.said])

    def command(self, verb: str, scope: Scope) -> str:
        """`holdfast install` and the like, for this client."""
        words = ["holdfast", verb, *self.said]
        words += ["--scope", scope] if len(self.files) > 1 else []
        return " ".join(words)


CLAUDE = Client(
    name="claude",
    title="Claude Code",
    tried=("2.1.197", "2.1.326"),
    update="claude update",
    files={
        "user": "settings.json",
        "project": ".claude/settings.json",
        "local": ".claude/settings.local.json",
    },
    rows=(
        Row("PreCompact"),
        # It has as long as the summary takes.
        Row("PreCompact", beside=True, later=True),
        Row("SessionStart"),
        Row("SessionStart", _RESTORING, parts=True),
        Row("PostCompact", beside=True),
        Row("PreToolUse", WRITING),
        # Read is waited for, so that the gate knows of it before the next call.
        Row("PostToolUse", "Read"),
        Row("PostToolUse", f"{WRITING}|{NOTING}", beside=True),
        Row("PostToolUseFailure", "Bash", beside=True),
        Row("TaskCreated", beside=True),
        Row("TaskCompleted", beside=True),
        Row("SubagentStart", beside=True),
        Row("SubagentStop", beside=True),
        Row("FileChanged", beside=True),
    ),
    in_words=True,
    plain_notes=True,
    plugin_removal="claude plugin uninstall {plugin} --scope {scope}",
)
_LIKE_CLAUDE = (
    Row("PreCompact"),
    Row("SessionStart"),
    Row("SessionStart", _RESTORING, parts=True),
    Row("PostCompact"),
)
CODEX = Client(
    name="codex",
    title="Codex",
    tried=("0.169.0",),
    update="npm install -g @openai/codex",
    files={"user": "hooks.json"},
    rows=_LIKE_CLAUDE,
    beside_hooks=frozenset({"description"}),
    plugins_in="config.toml",
    plugin_events=("PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop"),
    plugin_removal="codex plugin remove {plugin}",
    trust="open /hooks in Codex and trust them; until then they do not run, and it does not say so",
)
QWEN = Client(
    name="qwen",
    title="Qwen Code",
    tried=("0.24.4",),
    update="npm install -g @qwen-code/qwen-code",
    files={"user": "settings.json"},
    rows=_LIKE_CLAUDE,
    with_comments=True,
    plugins_in="extensions/holdfast",
    plugin_removal="qwen extensions uninstall {plugin}",
)
COPILOT = Client(
    name="copilot",
    title="Copilot",
    tried=("1.0.102",),
    update="copilot update",
    files={"user": "hooks/holdfast.json"},
    rows=(Row("SessionStart"), Row("PreCompact"), Row("UserPromptSubmit")),
    restored_by="SessionStart-resume",
    plugins_in="settings.json",
    plugin_removal="copilot plugin uninstall {plugin}",
)
GEMINI = Client(
    name="gemini",
    title="Gemini CLI",
    tried=("0.61.0",),
    update="npm install -g @google/gemini-cli",
    files={"user": "settings.json"},
    rows=(Row("SessionStart"), Row("PreCompress"), Row("BeforeAgent")),
    second=1000,
    named=True,
    restored_by="BeforeAgent",
    with_comments=True,
)
OPENCODE = Client(
    name="opencode",
    title="opencode",
    tried=("1.18.33",),
    update="opencode upgrade",
    files={"user": "plugins/holdfast.js"},
    rows=(Row("plugin"),),  # it has the events; what is registered is the plugin
    is_bridge=True,
    in_words=True,
    plain_notes=True,
)
CLIENTS = {client.name: client for client in (CLAUDE, CODEX, QWEN, COPILOT, GEMINI, OPENCODE)}

# What lies beside as data: payloads that real clients gave to hooks, one an event, to try hooks with; and the plugin
# for opencode, which runs no commands at its events.

_ENDING = ".json"
_PROGRAM = re.compile(r"^const PROGRAM = (.*)$", re.MULTILINE)


def payload_names(agent: str = "claude") -> list[str]:
    """All recorded payloads of *agent*: an event, or an event and what set it off: "SessionStart-compact"."""
    files = (file.name for file in _data("payloads", agent).iterdir())
    return sorted(name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING))


def payload(name: str, folder: str, agent: str = "claude") -> dict[str, Any]:
    """The payload of *agent* called *name*, as if it had been sent for *folder*: its paths are relative to that."""
    text = _data("payloads", agent, name + _ENDING).read_text(encoding="utf-8")
    found: dict[str, Any] = _placed(json.loads(text), folder)
    return found


def _data(*names: str) -> Traversable:
    return resources.files("holdfast.agents").joinpath(*names)


def _placed(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _placed(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_placed(item, folder) for item in value]
    if isinstance(value, str) and (value == "." or value.startswith("./")):
        return os.path.normpath(os.path.join(folder, value))
    return value


def opencode_plugin(program: Sequence[str]) -> str:
    """The plugin for opencode, which starts *program*: a command and the arguments before `hook`."""
    source = _data("bridges", "opencode", "holdfast.js").read_text(encoding="utf-8")
    line = f"const PROGRAM = {json.dumps(list(program))}"
    return _PROGRAM.sub(lambda _: line, source, count=1)


def program_in(plugin: str) -> list[str] | None:
    """What the plugin with this text starts; None where it is not one of ours."""
    found = _PROGRAM.search(plugin)
    try:
        program = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return None
    words = program if isinstance(program, list) else []
    return words if words and all(isinstance(word, str) for word in words) else None
