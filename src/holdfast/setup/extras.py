"""What Claude Code's settings may have of ours besides hooks: the permission rule and the status line.

The rule names our program and nothing else. What a line does besides, such as `&& rm x` or `> file`, still asks;
and what a person wrote below "ask" or "deny" goes before it. A rule for each command would say no more, in forty lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from holdfast.files import jsontext
from holdfast.setup.registration import Program, mapping, starts_us

RULE = "Bash(holdfast:*)"
_AS_GOOD = {RULE, "Bash(holdfast *)", "Bash", "Bash(*)"}
_RULES = ("permissions", "allow")
_LINE = "statusLine"


def is_allowed(settings: Mapping[str, Any]) -> bool:
    """Whether *settings* let agents run our commands without a question."""
    return not _AS_GOOD.isdisjoint(_rules(settings))


def allow(text: str) -> str:
    """The settings in *text* with our permission rule."""
    return text if is_allowed(jsontext.value_in(text)) else jsontext.put_in(text, _RULES, RULE)


def unfit_for_rule(settings: Mapping[str, Any]) -> str:
    """Why no rule can be added to *settings*; empty where one can."""
    if not isinstance(settings.get(_RULES[0], {}), dict):
        return '"permissions" is not an object'
    allowed = mapping(settings.get(_RULES[0])).get(_RULES[1], [])
    return "" if isinstance(allowed, list) else '"allow" in "permissions" is not a list'


def status_line(settings: Mapping[str, Any]) -> str | None:
    """The command of the status line; None where there is none."""
    if _LINE not in settings:
        return None
    return str(mapping(settings[_LINE]).get("command"))


def is_ours(line: str | None) -> bool:
    """Whether the status line *line* is no more than ours."""
    return line is not None and starts_us(line, "statusline")


def show(text: str, program: Program) -> str:
    """The settings in *text* with the status line that *program* prints, if they have none."""
    if _LINE in jsontext.value_in(text):
        return text
    command = shlex.join([program.command, *program.first, "statusline"])
    return jsontext.added(text, (), {"type": "command", "command": command}, _LINE)


def are_in(settings: Mapping[str, Any]) -> bool:
    """Whether *settings* have the rule, or our status line."""
    return RULE in _rules(settings) or is_ours(status_line(settings))


def remove(text: str) -> str:
    """The settings in *text* without the rule and without our status line."""
    while RULE in (rules := _rules(jsontext.value_in(text))):
        text = jsontext.pruned(text, (*_RULES, rules.index(RULE)))
    return (
        jsontext.removed(text, (_LINE,)) if is_ours(status_line(jsontext.value_in(text))) else text
    )


def _rules(settings: Mapping[str, Any]) -> list[str]:
    rules = mapping(settings.get(_RULES[0])).get(_RULES[1])
    # Anything but text is no rule, but keeps its place, so that the indexes are those of the file.
    return (
        [rule if isinstance(rule, str) else "" for rule in rules] if isinstance(rules, list) else []
    )
