"""Check the state of a skill, or the index, strictly and say what is expected where it is wrong.

Restoring is more tolerant than this: what is told here is what the document asks for, and what its
own jq lines rely on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.formats.base import Report
from holdfast.formats.document import EXACT
from holdfast.formats.skill.model import Index, State, has_shape
from holdfast.formats.strictness import found, objections, strictly
from holdfast.regular import decode_json

_REQUIRED: dict[str, str] = {
    "_schema.version": "the version, as text",
    "_schema.skill": "the skill's name",
    "workflow.id": "the workflow's id",
    "workflow.status": "in_progress, completed, blocked or abandoned",
    "workflow.created_at": "a time in ISO 8601",
    "workflow.updated_at": "a time in ISO 8601",
    "context": "an object",
    "state_machine.current_phase": "the name of a phase",
    "state_machine.phases": "a list of phases",
    "history": "a list of events",
}
_PROGRESS = re.compile(r"\d+/\d+")


def inspect(path: Path, raw: bytes) -> Report | None:
    """What is wrong with *raw*; None when it is not meant as a skill's state or index."""
    real = path.resolve()
    lies_there = any(
        real.match(f".claude/workflow-state/{each}")
        for each in ("active/*.json", "completed/*.json", "index.json")
    )
    try:
        data = decode_json(raw)
    except ValueError as error:
        return Report("skill", (f"not JSON: {error}",)) if lies_there else None
    if isinstance(data, dict) and "active_workflows" in data:
        return Report("skill", strictly(Index, data))
    if not isinstance(data, dict) or not has_shape(data):
        return None
    return Report("skill", tuple(dict.fromkeys(_problems(data))))


def _problems(data: dict[str, Any]) -> Iterator[str]:
    yield from objections(State, data, _REQUIRED)
    if not strictly(State, data):
        yield from _beyond_types(State.model_validate(data, context=EXACT))


def _beyond_types(state: State) -> Iterator[str]:
    machine = state.state_machine
    names = [phase.name for phase in machine.phases]
    if names and machine.current_phase and machine.current_phase not in names:
        there = found(machine.current_phase)
        yield f"state_machine.current_phase: expected one of {', '.join(names)}, found {there}"
    for at, phase in enumerate(machine.phases):
        where = f"state_machine.phases.{at}"
        if phase.name in names[:at]:
            yield f"{where}.name: expected a name of its own, found {phase.name!r} again"
        if phase.progress is not None and not _PROGRESS.fullmatch(phase.progress):
            there = found(phase.progress)
            yield f"{where}.progress: expected done/all, such as 5/7, found {there}"
    for at, task in enumerate(state.tasks):
        if task.index != at + 1:
            there = "nothing" if task.index is None else str(task.index)
            yield f"tasks.{at}.index: expected {at + 1}, its place in the list, found {there}"
    for at, event in enumerate(state.history):
        for name in ("at", "event"):
            if not isinstance(event.get(name), str):
                yield f"history.{at}.{name}: expected a text, found {event.get(name, 'nothing')!r}"
