"""What a strict reader of the document objects to in a state, an index or a definition.

Going on with a workflow is more tolerant than this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from holdfast.errors import DefinitionInvalid
from holdfast.formats.engine.document import EXACT, Open, Time
from holdfast.formats.engine.strictness import objections, quoted, strictly
from holdfast.formats.pipeline import definitions
from holdfast.formats.pipeline.definitions import BUILT_IN, ENDINGS, FOLDER, GENERATION, PLANNING
from holdfast.formats.pipeline.files import INDEX
from holdfast.formats.pipeline.model import State, Status, has_shape, model_of

_REQUIRED = {
    "workflow_id": "the workflow's id",
    "workflow_type": "generation, planning, or the name of a definition",
    "status": "in_progress, waiting_approval, failed, completed or cancelled",
    "created_at": "a time in ISO 8601",
    "updated_at": "a time in ISO 8601",
}
_KEYS = ("workflow_id", "workflow_type")
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


def of_definition(path: Path, raw: bytes) -> tuple[str, ...] | None:
    """What is wrong with the definition at *path*; None where no definition lies."""
    if not (path.match(f"{FOLDER}/*.toml") or path.match(f"{FOLDER}/*.json")):
        return None
    try:
        definitions.parse(path, raw)
    except DefinitionInvalid as error:
        return error.problems
    return ()


def problems(path: Path, data: dict[str, Any]) -> Iterable[str] | None:
    """What is wrong with the state or index *data*; None where it is neither."""
    if path.match(f"workspace/workflow-state/{INDEX}") or path.match(
        f"workspace/sessions/*/workflow-state/{INDEX}"
    ):
        return strictly(_Index, data)
    if has_shape(data):
        return chain(_of_state(data), _of_type(path, data))
    absent = [
        f"{field}: expected {_REQUIRED[field]}, found nothing"
        for field in _KEYS
        if field not in data
    ]
    is_meant = (
        path.parent.name == "workflow-state" and len(absent) < len(_KEYS) and "status" in data
    )
    return absent if is_meant and absent else None


def _of_type(path: Path, data: dict[str, Any]) -> Iterator[str]:
    """A type that is not built in has its definition in the state, or in the project."""
    kind = data["workflow_type"]
    section = data.get(kind)
    if kind in BUILT_IN or (isinstance(section, dict) and section.get("definition")):
        return
    places = (parent / FOLDER / f"{kind}{ending}" for parent in path.parents for ending in ENDINGS)
    if not any(place.is_file() for place in places):
        yield f"workflow_type: expected {_REQUIRED['workflow_type']}, found {quoted(kind)}"


def _of_state(data: dict[str, Any]) -> Iterator[str]:
    kind = data["workflow_type"]
    model, with_section = model_of(kind), {kind: {}, **data}
    section = {f"{kind}.{field}": what for field, what in _OF_SECTION.get(kind, {}).items()}
    yield from objections(model, with_section, _REQUIRED | section)
    if not strictly(model, with_section):
        state = model.model_validate(with_section, context=EXACT)
        for check in (_of_steps, _of_section, _of_status, contradictions):
            yield from check(state)


def _of_section(state: State) -> Iterator[str]:
    section, kind, word = state.section, state.workflow_type, state.word
    if state.steps:
        current, total = state.stated
        if current not in {None, state.current}:
            yield f"{kind}.current_{word}: expected {state.current}, as its {word}s say, found {current}"
        if total not in {None, len(state.steps)}:
            yield f"{kind}.total_{word}s: expected {len(state.steps)}, found {total}"
    if section.definition is not None:
        wrong = definitions.problems_in(section.definition)
        yield from (f"definition.{problem}" for problem in wrong)


def _of_steps(state: State) -> Iterator[str]:
    where, numbered = f"{state.workflow_type}.{state.word}s", True
    for place, step in enumerate(state.steps, 1):
        if step.number != place:
            numbered, there = False, str(step.number or "nothing")
            yield f"{where}.{place - 1}.{state.word}: expected {place}, its place in the list, found {there}"
    for step in state.steps if numbered else ():
        early = [] if step.status == "pending" else state.missing(step.number)
        if early:
            yield (
                f"{where}.{step.number - 1}.status: expected pending, since "
                f"{state.title(early[0])} is not done, found {quoted(step.status)}"
            )


def contradictions(state: State) -> Iterator[str]:
    """Where a step's approval says otherwise than its status, which the agent is told as well."""
    for place, step in enumerate(state.steps):
        asked = step.human_approval
        if step.status == "waiting_approval" and asked and asked.approved:
            where = f"{state.workflow_type}.{state.word}s.{place}.human_approval.approved"
            yield f"{where}: expected false, since {state.called(step)} waits for approval, found true"


def _of_status(state: State) -> Iterator[str]:
    """The document itself has "in_progress" where a step waits for approval."""
    stands = {step.status for step in state.steps}
    if "failed" in stands and state.workflow_type == PLANNING:
        yield "status: a phase of a planning is pending, in_progress, waiting_approval or completed, found 'failed'"
    elif "failed" in stands and state.status not in {"failed", "cancelled"}:
        yield f"status: expected failed, as a {state.word} is, found {quoted(state.status)}"
    elif state.status == "completed" and not all(step.is_complete for step in state.steps):
        yield f"status: expected in_progress, since not every {state.word} is completed, found 'completed'"
