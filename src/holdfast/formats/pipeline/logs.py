"""The log of each workflow: one JSON line a change, only ever added to."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from holdfast.errors import StateUnwritable
from holdfast.files import ownjson
from holdfast.files.store import LARGEST, Store
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.workflow import Place
from holdfast.formats.pipeline import files
from holdfast.formats.pipeline.files import StateFile
from holdfast.formats.pipeline.model import State
from holdfast.text.plaintext import one_line


def note_move(
    place: Place, file: StateFile, before: State, event: str, arguments: Mapping[str, Any]
) -> None:
    """Log a move, and where it led: its step, the other steps that followed, and the workflow."""
    number = arguments.get("number")
    pairs = zip(before.steps, file.state.steps, strict=True)
    changed = [step for was, step in pairs if was.status != step.status and step.number != number]
    step = file.state.find(number) if number else None
    note(
        place.store,
        file.name,
        iso_time(place.now),
        event,
        step=number,
        by=place.saver,
        stands=step.status if step else None,
        follows=", ".join(f"{step.number} {step.status}" for step in changed),
        workflow=file.state.status,
        **{name: value for name, value in arguments.items() if name != "number"},
    )


def note(store: Store, workflow_id: str, at: str, event: str, **details: object) -> None:
    """Add a line, safe for a terminal; inside the lock. What is None or empty is left out."""
    line = {
        key: value if isinstance(value, int) else one_line(_text(value))
        for key, value in {"time": at, "event": event, **details}.items()
        if value not in (None, "", {})
    }
    with contextlib.suppress(StateUnwritable):
        store.append(store.root / files.log(workflow_id), ownjson.encode(line))


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, Mapping) else str(value)


def read(store: Store, workflow_id: str) -> list[dict[str, Any]]:
    """All lines, oldest first; empty where there is no log."""
    path = store.root / files.log(files.checked_id(workflow_id))
    return ownjson.read(str(path), 4 * LARGEST) if store.holds(path) else []
