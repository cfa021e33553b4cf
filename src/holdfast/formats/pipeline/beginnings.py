"""The first state of a workflow, in the order that the document has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import IllegalMove
from holdfast.formats.pipeline import definitions
from holdfast.formats.pipeline.definitions import LEVELS, Definition, StepDefinition
from holdfast.formats.pipeline.model import GENERATION, PLANNING, State

_PLACES = {"act": ("act",), "chapter": ("act", "chapter"), "scene": ("act", "chapter", "scene")}


@dataclass(frozen=True)
class Beginning:
    """What is to begin, before it has an id and a place."""

    definition: Definition
    kind: str  # the workflow's type
    subject: str  # what its id tells of it
    about: Mapping[str, Any]  # the first fields of its section
    artifacts: Mapping[str, Any] = field(default_factory=dict)  # that are there before it begins


def generation(scene_id: str, blueprint: str | None = None) -> Beginning:
    """Write the scene *scene_id*, such as 0204, from its *blueprint*."""
    if not scene_id.strip():
        raise IllegalMove(
            "a generation needs the id of its scene", hint="Give it: --scene 0204, or scene_id."
        )
    return Beginning(
        definitions.generation(),
        GENERATION,
        f"scene-{scene_id}",
        {"scene_id": scene_id},
        {"blueprint_path": blueprint} if blueprint else {},
    )


def planning(level: str, context: Mapping[str, Any]) -> Beginning:
    """Plan a scene, a chapter or an act; *context* has its numbers."""
    if level not in LEVELS:
        raise IllegalMove(
            f"{level!r} is no level of a planning", hint=f"Give one of {', '.join(LEVELS)}."
        )
    lacking = [each for each in _PLACES[level] if not _is_number(context.get(each))]
    if lacking:
        raise IllegalMove(
            f"the planning of a {level} needs the number of its {' and '.join(lacking)}",
            hint=f"Give {', '.join(f'--{each} N' for each in _PLACES[level])}.",
        )
    numbers = [int(context[each]) for each in _PLACES[level]]
    named = numbers[:1] if level == "act" else numbers[1:]  # as a scene is called: 0204
    subject = f"{level}-{''.join(f'{each:02d}' for each in named)}"
    about = {"level": level, "context": dict(context)}
    return Beginning(definitions.planning(level), PLANNING, subject, about)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000


def defined(definition: Definition, context: Mapping[str, Any]) -> Beginning:
    """A workflow that somebody has defined."""
    subject = "-".join(f"{key}-{value}" for key, value in context.items())
    about = {"definition": definition.to_json(), "context": dict(context)}
    return Beginning(definition, definition.name, subject, about)


def state(
    beginning: Beginning, at: str, workflow_id: str, session: str | None, working_dir: str
) -> State:
    """The first state, with its first step under way."""
    definition = beginning.definition
    word, plural = definition.word, f"{definition.word}s"
    named_agents = beginning.kind != GENERATION
    steps = [_step(each, word, named_agents=named_agents) for each in definition.all]
    for each in steps:
        if not definition.required(each[word]):
            _begin(each, at)
            if not definition.parallel_steps:
                break
    data = {
        "workflow_id": workflow_id,
        "workflow_type": beginning.kind,
        **({"session_name": session} if session else {}),
        "status": "in_progress",
        "created_at": at,
        "updated_at": at,
        beginning.kind: {
            **beginning.about,
            f"current_{word}": 1,
            f"total_{plural}": len(steps),
            plural: steps,
            "artifacts": {**beginning.artifacts, "working_dir": working_dir},
        },
    }
    return State.of_json(data)


def _step(defined: StepDefinition, word: str, *, named_agents: bool) -> dict[str, Any]:
    step: dict[str, Any] = {
        word: defined.number,
        "name": defined.name,
        "status": "pending",
        "started_at": None,
        "completed_at": None,
    }
    if named_agents and defined.all_agents:
        step["agents"] = defined.all_agents
    step["artifacts"] = {}
    if defined.human_approval:
        step["human_approval"] = {"required": True, "approved": False, "approved_at": None}
    if defined.retry_enabled:
        step["attempts"] = {"current": 0, "max": defined.attempts, "history": []}
    return step


def _begin(step: dict[str, Any], at: str) -> None:
    step |= {"status": "in_progress", "started_at": at}
    if "attempts" in step:
        step["attempts"]["current"] = 1
