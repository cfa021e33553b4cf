"""What other agents load into themselves, where they run no commands at their events."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources

_PROGRAM = re.compile(r"^const PROGRAM = (.*)$", re.MULTILINE)


def for_opencode(program: Sequence[str]) -> str:
    """The plugin for opencode, which starts *program*: a command and the arguments before `hook`."""
    source = resources.files(__name__).joinpath("opencode/holdfast.js").read_text(encoding="utf-8")
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
