"""Check a canonical state strictly, field by field, and say what is expected where it is wrong.

Restoring is more tolerant than this: what is told here is what the document asks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from holdfast import versions
from holdfast.formats.base import Report
from holdfast.formats.canonical import files
from holdfast.formats.canonical import state as states
from holdfast.formats.canonical.declaration import Status, WorkflowType
from holdfast.formats.canonical.state import has_shape
from holdfast.plaintext import one_line
from holdfast.regular import decode_json

_EXPECTED = {
    "workflow": "a name, as text",
    "workflow_type": f"one of {', '.join(get_args(WorkflowType))}",
    "phase": "an object with current, total, name and status",
    "phase.current": "a whole number from 1",
    "phase.total": "a whole number from 1",
    "phase.name": "a name, as text",
    "phase.status": f"one of {', '.join(get_args(Status))}",
    "required_reading": "a list of paths, each with @ in front",
    "context": "an object",
    "key_reminders": "a list of texts",
    "created_at": "a time in ISO 8601, such as 2025-12-09T14:30:52Z",
}


def inspect(path: Path, raw: bytes) -> Report | None:
    """What is wrong with *raw*; None when it is not meant as a canonical state."""
    lies_there = path.resolve().match(f"{files.FOLDER}/*/state-*.json")
    try:
        data = decode_json(raw)
    except ValueError as error:
        return Report("canonical", (f"not JSON: {error}",)) if lies_there else None
    if not isinstance(data, dict):
        problem = f"expected an object, found {type(data).__name__}"
        return Report("canonical", (problem,)) if lies_there else None
    if not has_shape(data) and not lies_there:
        return None
    newer = versions.left_alone("bookkeeping", path.name, data.get("holdfast"))
    return Report("canonical", tuple(_problems(data)), newer)


def _problems(data: dict[str, Any]) -> list[str]:
    checked = {key: value for key, value in data.items() if key != "holdfast"}
    problems = [
        _wrong(".".join(str(part) for part in each.at), each.found, missing=each.missing)
        for each in states.problems(checked)
    ]
    return problems + _beyond_types(checked)


def _wrong(where: str, found: object, *, missing: bool = False) -> str:
    general = where if where in _EXPECTED else where.split(".", maxsplit=1)[0]
    expected = _EXPECTED.get(general, "something else")
    if where != general:  # an element of a list
        expected = "text" if general == "key_reminders" else "a path with @ in front"
    return (
        f"{where}: expected {expected}, found {'nothing' if missing else one_line(repr(found), 80)}"
    )


def _beyond_types(data: dict[str, Any]) -> list[str]:
    problems = []
    reading = data.get("required_reading")
    for index, item in enumerate(reading if isinstance(reading, list) else ()):
        if isinstance(item, str) and not item.startswith("@"):
            problems.append(_wrong(f"required_reading.{index}", item))
    phase = data.get("phase")
    match phase:
        case {"current": int(current), "total": int(total)} if current > total >= 1:
            problems.append(
                f"phase.current: expected at most phase.total ({total}), found {current}"
            )
    return problems
