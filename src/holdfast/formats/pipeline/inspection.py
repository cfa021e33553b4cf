"""Check a state, an index or a definition strictly and say what is expected where it is wrong.

Going on is more tolerant than this: what is told here is what the document asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from holdfast.errors import DefinitionInvalid
from holdfast.formats.base import Report
from holdfast.formats.document import EXACT, Open, Time
from holdfast.formats.pipeline import definitions
from holdfast.formats.pipeline.definitions import FOLDER, Definition
from holdfast.formats.pipeline.machine import missing, title
from holdfast.formats.pipeline.model import (
    GENERATION,
    PLANNING,
    State,
    Status,
    has_shape,
    model_of,
)
from holdfast.formats.strictness import found, lacking, problems_of, strictly
from holdfast.regular import decode_json

_REQUIRED = {
    "workflow_id": "the workflow's id",
    "workflow_type": "generation, planning, or the name of a definition",
    "status": "in_progress, waiting_approval, failed, completed or cancelled",
    "created_at": "a time in ISO 8601",
    "updated_at": "a time in ISO 8601",
}
_OF_SECTION = {
    GENERATION: {"scene_id": "the scene's id", "steps": "a list of steps"},
    PLANNING: {"level": "scene, chapter or act", "phases": "a list of phases"},
}


class _Entry(Open):
    workflow_id: str
    workflow_type: str
    status: Status
    session_name: str | None = None
    created_at: Time
    updated_at: Time
    state_file: str


class _Index(BaseModel):
    workflows: list[_Entry]


def inspect(path: Path, raw: bytes) -> Report | None:
    """What is wrong with *raw*; None when it is not meant as anything of a pipeline."""
    real = path.resolve()
    if real.match(f"{FOLDER}/*.toml") or real.match(f"{FOLDER}/*.json"):
        return Report("pipeline", _of_definition(real, raw))
    lies_there = real.match("workspace/workflow-state/*.json") or real.match(
        "workspace/sessions/*/workflow-state/*.json"
    )
    try:
        data = decode_json(raw)
    except ValueError as error:
        return Report("pipeline", (f"not JSON: {error}",)) if lies_there else None
    if lies_there and real.name == "index.json":
        return Report("pipeline", strictly(_Index, data if isinstance(data, dict) else {}))
    if not isinstance(data, dict) or not has_shape(data):
        return None
    return Report("pipeline", tuple(dict.fromkeys(_problems(data))))


def _of_definition(path: Path, raw: bytes) -> tuple[str, ...]:
    try:
        definitions.parse(path, raw)
    except DefinitionInvalid as error:
        return error.problems
    return ()


def _problems(data: dict[str, Any]) -> Iterator[str]:
    yield from lacking(data, _REQUIRED)
    kind = data["workflow_type"]
    required = {f"{kind}.{field}": what for field, what in _OF_SECTION.get(kind, {}).items()}
    yield from lacking({kind: {}, **data}, required)
    wrong = strictly(model_of(kind), data)
    yield from wrong
    if not wrong:
        yield from _beyond_types(model_of(kind).model_validate(data, context=EXACT))


def _beyond_types(state: State) -> Iterator[str]:
    where = f"{state.workflow_type}.{state.word}s"
    for place, step in enumerate(state.steps, 1):
        if step.number != place:
            there = str(step.number or "nothing")
            yield f"{where}.{place - 1}.{state.word}: expected {place}, its place in the list, found {there}"
    yield from _of_section(state)
    if all(step.number == place for place, step in enumerate(state.steps, 1)):
        yield from _of_order(state, where)
    yield from _of_status(state)


def _of_section(state: State) -> Iterator[str]:
    section = state.section
    if state.steps:
        told = section.current_phase if state.is_planning else section.current_step
        if told is not None and told != state.current:
            yield (
                f"{state.workflow_type}.current_{state.word}: "
                f"expected {state.current}, as its {state.word}s say, found {told}"
            )
        count = section.total_phases if state.is_planning else section.total_steps
        if count is not None and count != len(state.steps):
            yield (
                f"{state.workflow_type}.total_{state.word}s: "
                f"expected {len(state.steps)}, found {count}"
            )
    if section.definition is not None:
        try:
            defined = Definition.model_validate(section.definition)
        except ValidationError as error:
            yield from (f"definition.{each}" for each in problems_of(error))
        else:
            yield from (f"definition.{each}" for each in definitions.problems(defined))


def _of_order(state: State, where: str) -> Iterator[str]:
    """A step that was begun before what it waits for was done."""
    definition = definitions.of(state)
    for step in state.steps:
        early = [] if step.status == "pending" else missing(state, definition, step.number)
        if early:
            yield (
                f"{where}.{step.number - 1}.status: expected pending, since "
                f"{title(state, early[0])} is not done, found {found(step.status)}"
            )


def _of_status(state: State) -> Iterator[str]:
    """What the steps say. The document itself has "in_progress" where a step waits for approval."""
    stands = {step.status for step in state.steps}
    if "failed" in stands and state.status not in {"failed", "cancelled"}:
        yield f"status: expected failed, as a {state.word} is, found {found(state.status)}"
    elif state.status == "completed" and not all(step.is_done for step in state.steps):
        yield f"status: expected in_progress, since not every {state.word} is completed, found 'completed'"
