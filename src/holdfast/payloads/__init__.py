"""What real clients gave to hooks, one recorded payload an event: to try hooks by hand, and for doctor.

Those of each agent lie in a folder of its name. Paths were made relative, so that a payload is about
whatever folder the hook is started in.
"""

from __future__ import annotations

import json
import os
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

_ENDING = ".json"


def names(agent: str = "claude") -> list[str]:
    """All of *agent*: an event, or an event and what set it off: "SessionStart-compact"."""
    files = (each.name for each in _folder(agent).iterdir())
    return sorted(name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING))


def read(name: str, folder: str, agent: str = "claude") -> dict[str, Any]:
    """The payload of *agent* called *name*, as if it had been sent for *folder*."""
    text = _folder(agent).joinpath(name + _ENDING).read_text(encoding="utf-8")
    payload: dict[str, Any] = _placed(json.loads(text), folder)
    return payload


def _folder(agent: str) -> Traversable:
    return resources.files(__name__).joinpath(agent)


def _placed(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _placed(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_placed(each, folder) for each in value]
    if isinstance(value, str) and (value == "." or value.startswith("./")):
        return os.path.normpath(os.path.join(folder, value))
    return value
