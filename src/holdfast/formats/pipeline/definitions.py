"""Which steps a workflow has, and what each of them waits for: built in, or defined in the project.

A definition is data; nothing in it is ever run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holdfast.errors import DefinitionInvalid, NoSuchWorkflow, StateUnreadable
from holdfast.files.regular import decode_json, decode_toml, read_file
from holdfast.files.store import Store
from holdfast.formats.engine.document import problems_of, quoted

GENERATION, PLANNING = "generation", "planning"
BUILT_IN = (GENERATION, PLANNING)
LEVELS = ("scene", "chapter", "act")  # of a planning
FOLDER = "workspace/workflow-definitions"
MOST_STEPS = 100  # every hook compares each step with all before it
# A type names the section of its workflows, so it cannot be the name of another field of a state.
RESERVED = frozenset(
    (
        *("workflow_id", "workflow_type", "session_name", "status", "created_at", "updated_at"),
        *("section", "completed_at", "cancelled_at", "cancellation_reason", "workflows"),
        *("committed_from_session", "committed_at"),
    )
)

_BUILTIN = Path(__file__).with_name("builtin")
ENDINGS = (".toml", ".json")
_LARGEST = 256 * 1024
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40


class _Exact(BaseModel):
    """Refuses unknown fields: a misspelt one would be ignored without a word."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StepDefinition(_Exact):
    step: int | None = None
    phase: int | None = None
    name: str = Field(min_length=1)
    agent: str | None = None
    agents: list[str] = []
    description: str = ""
    prerequisites: list[int] = []  # as the document has them; it waits for all before it
    outputs: list[str] = []
    human_approval: bool = False
    approval_type: Literal["approve", "select_variant"] | None = None
    retry_enabled: bool = False
    max_attempts: int | None = Field(None, ge=1, le=20)
    triggers_retry: bool = False
    parallel_agents: int | None = Field(None, ge=1, le=100)
    parallel: bool = False

    @property
    def number(self) -> int:
        return self.step or self.phase or 0

    @property
    def all_agents(self) -> list[str]:
        return self.agents or ([self.agent] if self.agent else [])

    @property
    def attempts(self) -> int:
        return self.max_attempts or 3

    @property
    def selects_variant(self) -> bool:
        return self.approval_type == "select_variant"

    @property
    def calls(self) -> int:
        """How many agents one pass calls."""
        return self.parallel_agents or len(self.all_agents) or 1

    @property
    def parallel_calls(self) -> int:
        """How many of them work at the same time."""
        together = self.parallel_agents or (len(self.all_agents) if self.parallel else 0)
        return together if together > 1 else 0


UNDEFINED = StepDefinition.model_construct(name="")  # for a step that no definition names


class Definition(_Exact):
    name: str
    description: str = ""
    steps: list[StepDefinition] = []
    phases: list[StepDefinition] = []

    @property
    def word(self) -> Literal["phase", "step"]:
        return "phase" if self.phases else "step"

    @property
    def all(self) -> list[StepDefinition]:
        return self.phases or self.steps

    @cached_property
    def _by_number(self) -> dict[int, StepDefinition]:
        return {step.number: step for step in reversed(self.all)}

    def find(self, number: int) -> StepDefinition | None:
        return self._by_number.get(number)

    def retried_by(self, number: int) -> int | None:
        """The step to try again when *number* fails: itself, or the nearest one before it."""
        step = self.find(number)
        if step is None or not (step.retry_enabled or step.triggers_retry):
            return None
        again = [other for other in self.all if other.retry_enabled and other.number <= number]
        return max((other.number for other in again), default=None)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


@cache
def built_in(kind: str, level: str = LEVELS[0]) -> Definition:
    """The definition of a type that is built in; of a planning, for one of the LEVELS."""
    name = f"{kind}-{level}" if kind == PLANNING else kind
    return Definition.model_validate(decode_toml((_BUILTIN / f"{name}.toml").read_bytes()))


# Those of the project.


def paths(root: Path) -> list[Path]:
    """The files that may be definitions, by name."""
    return sorted(path for path in (root / FOLDER).glob("*") if path.suffix in ENDINGS)


def defined(store: Store, name: str) -> Definition:
    """The definition called *name* in the project, or a refusal that says what there is."""
    if _SLUG.fullmatch(name):
        for ending in ENDINGS:
            path = store.root / FOLDER / f"{name}{ending}"
            if os.path.isfile(path) and store.holds(path):
                return read(path)
    there = ", ".join([*BUILT_IN, *sorted({path.stem for path in paths(store.root)})])
    raise NoSuchWorkflow(
        f"there is no workflow definition {name!r}",
        hint=f"There are: {there}. Define one: holdfast pipeline define FILE",
    )


def read(path: Path) -> Definition:
    """The definition in the file at *path*, or DefinitionInvalid with everything that is wrong."""
    if path.suffix not in ENDINGS:
        raise DefinitionInvalid(path, (f"expected a file that ends in {' or '.join(ENDINGS)}",))
    try:
        raw, _ = read_file(path, _LARGEST)
    except StateUnreadable as error:
        raise DefinitionInvalid(path, (error.reason,)) from error
    definition = parse(path, raw)
    if path.parent.name == Path(FOLDER).name and definition.name != path.stem:
        wrong = (
            f"name: expected {path.stem}, as the file is called, found {quoted(definition.name)}"
        )
        raise DefinitionInvalid(path, (wrong,))
    return definition


def parse(path: Path, raw: bytes) -> Definition:
    """The definition in *raw*, which is TOML or JSON by the ending of *path*."""
    try:
        data = decode_json(raw) if path.suffix == ".json" else decode_toml(raw)
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise DefinitionInvalid(path, (f"not {kind}: {error}",)) from error
    wrong = problems_in(data)
    if wrong:
        raise DefinitionInvalid(path, wrong)
    return Definition.model_validate(data)


_PLACE = re.compile(r"^(step|phase)s\.(\d+)")  # a person counts steps from one


def problems_in(data: object) -> tuple[str, ...]:
    """What is wrong with *data* as a definition."""
    try:
        wrong = tuple(problems(Definition.model_validate(data)))
    except ValidationError as error:
        wrong = problems_of(error)
    return tuple(_PLACE.sub(lambda at: f"{at[1]} {int(at[2]) + 1}", line) for line in wrong)


def problems(definition: Definition) -> Iterator[str]:
    """What is wrong with *definition* beyond the types of its fields."""
    name = definition.name
    if not _SLUG.fullmatch(name) or len(name) > _LONGEST_NAME:
        yield (
            "name: expected lower-case letters, digits and single hyphens, "
            f"at most {_LONGEST_NAME}, such as code-review; found {quoted(name)}"
        )
    if name in BUILT_IN:
        yield f"name: {name} is built in; choose another one"
    if name in RESERVED:
        yield f"name: {name} is a field of every state; choose another one"
    if definition.steps and definition.phases:
        yield "phases: expected either steps or phases, found both"
    if not definition.all:
        yield "steps: expected at least one step, found none"
    if len(definition.all) > MOST_STEPS:
        yield f"steps: expected at most {MOST_STEPS}, found {len(definition.all)}"
        return
    numbering = list(_problems_of_numbers(definition))
    yield from numbering
    if not numbering:
        for step in definition.all:
            yield from _problems_of_step(definition, step)


def _problems_of_numbers(definition: Definition) -> Iterator[str]:
    """Steps count from 1 in the order of the list, and no name comes twice."""
    names: set[str] = set()
    for place, step in enumerate(definition.all, 1):
        where = f"{definition.word}s.{place - 1}"
        number = step.phase if definition.phases else step.step
        if number != place:
            there = "nothing" if number is None else number
            yield f"{where}.{definition.word}: expected {place}, its place in the list, found {there}"
        if step.name.casefold() in names:
            yield f"{where}.name: expected a name of its own, found {quoted(step.name)} again"
        names.add(step.name.casefold())


def _problems_of_step(definition: Definition, step: StepDefinition) -> Iterator[str]:
    where = f"{definition.word}s.{step.number - 1}"
    for other in dict.fromkeys(step.prerequisites):
        if definition.find(other) is None:
            yield f"{where}.prerequisites: there is no {definition.word} {other}"
        elif other >= step.number:
            yield f"{where}.prerequisites: {other} does not come before; number them in the order of the work"
    if step.agent is not None and step.agents:
        yield f"{where}: expected either agent or agents, found both"
    if step.approval_type and not step.human_approval:
        yield f"{where}.approval_type: has no effect without human_approval = true"
    if step.max_attempts and not step.retry_enabled:
        yield f"{where}.max_attempts: has no effect without retry_enabled = true"
    if step.triggers_retry and definition.retried_by(step.number) is None:
        yield f"{where}.triggers_retry: no step before it has retry_enabled = true"
