"""Take from a state that somebody wrote by hand what can be understood, and say what could not.

A strict reader would throw the whole file away for one wrong field. Here a usual slip is read as it
was meant ("3/5 - Build" for a phase, one text for a list of texts), and what makes no sense is
taken from the last good copy, else from a default. Every field that was touched is named, and the
file as it was is kept aside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast import clock
from holdfast.formats.canonical.shapes import Unfit
from holdfast.formats.canonical.sources.phase_marks import phase_of
from holdfast.formats.canonical.sources.statuses import status_for, status_of
from holdfast.formats.canonical.sources.values import encodable
from holdfast.formats.canonical.state import State

_NAME = "the name of a field"


def salvage(
    data: dict[str, Any], last_good: Callable[[], State | None], created_at: Callable[[], str]
) -> tuple[State, list[str]]:
    """*data* as a state, and the fields that are not as they were written."""
    try:
        return State.of(data), []
    except Unfit as error:
        wrong = _fields(error)
    meant = _as_meant(data)
    try:
        return State.of(meant), wrong
    except Unfit as error:
        still = _fields(error)
    good = last_good()
    for field in still:
        _replace(meant, field, good, created_at())
    return State.of(meant), wrong


def _fields(error: Unfit) -> list[str]:
    """Which fields are wrong: those of a phase one by one, lists as a whole."""
    places = [each.at for each in error.wrong]
    depth = {"phase": 2}
    return sorted(
        {".".join(map(str, at[: depth.get(str(at[0]), 1)])) if at else _NAME for at in places}
    )


def _as_meant(data: dict[str, Any]) -> dict[str, Any]:
    meant = _with_names(data)
    phase = data.get("phase")
    if isinstance(phase, (str, int)):
        phase = _phase_of_text(str(phase))
    if isinstance(phase, dict):
        meant["phase"] = _phase_as_meant(phase)
    for field in ("required_reading", "key_reminders"):
        if field in data:
            meant[field] = _texts(data[field])
    if isinstance(data.get("context"), list):
        meant["context"] = {"items": data["context"]} if data["context"] else {}
    created_at = data.get("created_at")
    if isinstance(created_at, (int, float)) and 0 < created_at < 2e11:
        meant["created_at"] = clock.iso(clock.from_mtime(created_at))
    return meant


def _with_names(data: dict[str, Any]) -> dict[str, Any]:
    """The fields whose names are text that UTF-8 can hold; a model takes no others."""
    return {name: value for name, value in data.items() if encodable(name) == name}


def _phase_of_text(text: str) -> dict[str, Any]:
    mark = phase_of(text).mark
    if mark is None:
        return {}
    stated = {"current": mark.current, "total": mark.total, "name": mark.name}
    return {key: value for key, value in stated.items() if value is not None}


def _phase_as_meant(phase: dict[str, Any]) -> dict[str, Any]:
    meant = _with_names(phase)
    if isinstance(phase.get("status"), str):
        meant["status"] = status_for(status_of(phase["status"])) or phase["status"]
    current = phase.get("current")
    if not isinstance(phase.get("name"), str) or not phase["name"].strip():
        meant.pop("name", None)
        if isinstance(current, int):
            meant["name"] = f"Phase {current}"
    if "total" not in phase and isinstance(current, int):
        meant["total"] = current
    meant.setdefault("status", "in_progress")
    return meant


def _texts(value: Any) -> Any:
    """A list of texts, from one text or from objects with a path."""
    items = [value] if isinstance(value, (str, dict)) else value
    if not isinstance(items, list):
        return value
    texts = [item.get("path") if isinstance(item, dict) else item for item in items]
    return [str(text) for text in texts if isinstance(text, (str, int, float))]


def _replace(meant: dict[str, Any], field: str, good: State | None, created_at: str) -> None:
    default: dict[str, Any] = {
        "workflow": "Unnamed workflow",
        "workflow_type": "custom",
        "phase": {"current": 1, "total": 1, "name": "Phase 1", "status": "in_progress"},
        "required_reading": [],
        "context": {},
        "key_reminders": [],
        "created_at": created_at,
    }
    source = good.content() if good else default
    key, _, part = field.partition(".")
    if not part or not isinstance(meant.get(key), dict):
        meant[key] = source[key]
    elif part in source[key]:
        meant[key] = {**meant[key], part: source[key][part]}
    phase = meant["phase"] if key == "phase" else {}
    if all(isinstance(phase.get(name), int) for name in ("current", "total")):
        phase["total"] = max(phase["total"], phase["current"])
