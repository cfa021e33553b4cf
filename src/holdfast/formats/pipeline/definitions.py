"""Which steps a workflow has, and what each of them waits for: built in, or defined in the project.

A definition is data: nothing in it is ever run. A defined workflow keeps the definition that it was
begun with, so that a later edit of the file does not move the ground under it. A state that somebody
else wrote may fit none; then its own list of steps is taken, each after the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holdfast.errors import DefinitionInvalid, NoSuchWorkflow, StateUnreadable
from holdfast.formats.pipeline.model import GENERATION, MOST_STEPS, PLANNING, RESERVED, State, Step
from holdfast.formats.strictness import found, problems_of
from holdfast.regular import decode_json, decode_toml, read_file
from holdfast.store import Store

FOLDER = "workspace/workflow-definitions"
LEVELS = ("scene", "chapter", "act")
BUILT_IN = (GENERATION, PLANNING)

_BUILTIN = Path(__file__).with_name("builtin")
_ENDINGS = (".toml", ".json")
_LARGEST = 256 * 1024
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40


class _Exact(BaseModel):
    """A field that we do not know may be a slip of the pen, and would be passed over in silence."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StepDefinition(_Exact):
    step: int | None = None
    phase: int | None = None
    name: str = Field(min_length=1)
    agent: str | None = None
    agents: list[str] = []
    description: str = ""
    prerequisites: list[int] | None = None  # None: the one before
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
    def direct(self) -> list[int]:
        """What it waits for by itself."""
        before = [self.number - 1] if self.number > 1 else []
        return before if self.prerequisites is None else self.prerequisites

    @property
    def attempts(self) -> int:
        return self.max_attempts or 3

    @property
    def selects_variant(self) -> bool:
        return self.approval_type == "select_variant"

    @property
    def calls(self) -> int:
        """How many agents one run of it calls."""
        return self.parallel_agents or len(self.all_agents) or 1

    @property
    def beside_each_other(self) -> int:
        """How many of them work at the same time."""
        together = self.parallel_agents or (len(self.all_agents) if self.parallel else 0)
        return together if together > 1 else 0


class Definition(_Exact):
    name: str
    description: str = ""
    parallel_steps: bool = False  # whether steps that do not wait for each other may run together
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
        return {each.number: each for each in reversed(self.all)}

    @cached_property
    def _direct(self) -> dict[int, set[int]]:
        """What each waits for by itself, once, however often it is named."""
        return {each.number: set(each.direct) for each in reversed(self.all)}

    def find(self, number: int) -> StepDefinition | None:
        return self._by_number.get(number)

    def required(self, number: int) -> list[int]:
        """The steps that have to be done before *number*, in their order.

        All before it, unless the definition lets steps run beside each other.
        """
        if not self.parallel_steps:
            return sorted(each for each in self._by_number if each < number)
        return sorted(self.behind(number))

    def behind(self, number: int) -> set[int]:
        """What *number* waits for, by itself or through others."""
        reached: set[int] = set()
        ahead = [number]
        while ahead:
            new = self._direct.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        return reached

    def dependent(self, number: int) -> list[int]:
        """The steps that wait for *number*, in their order."""
        return [each for each in sorted(self._by_number) if number in self.required(each)]

    def retried_by(self, number: int) -> int | None:
        """The step that is tried again when *number* fails."""
        step = self.find(number)
        if step is None or step.retry_enabled:
            return number if step else None
        if not step.triggers_retry:
            return None
        behind = (self.find(each) for each in self.behind(number))
        return max((each.number for each in behind if each and each.retry_enabled), default=None)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


@cache
def _built_in(file: str) -> Definition:
    return Definition.model_validate(decode_toml((_BUILTIN / file).read_bytes()))


def generation() -> Definition:
    return _built_in("generation.toml")


def planning(level: str) -> Definition:
    """That of one of the LEVELS."""
    return _built_in(f"planning-{level}.toml")


def of(state: State) -> Definition:
    """The definition that *state* follows."""
    definition = _named(state)
    if definition and [each.number for each in definition.all] == [s.number for s in state.steps]:
        return definition
    return _implied(state)


def _named(state: State) -> Definition | None:
    if state.workflow_type == GENERATION:
        return generation()
    if state.workflow_type == PLANNING:
        level = state.section.level or LEVELS[0]
        return planning(level) if level in LEVELS else None
    try:
        return Definition.model_validate(state.section.definition)
    except ValidationError:
        return None


def _implied(state: State) -> Definition:
    steps = [_step_of(each) for each in state.steps]
    listed = {"phases": steps} if state.is_planning else {"steps": steps}
    return Definition.model_construct(name=state.workflow_type, **listed)  # type: ignore[arg-type]


def _step_of(step: Step) -> StepDefinition:
    """Unchecked: what can be read of a state may still be nothing that a definition allows."""
    asked = step.human_approval
    return StepDefinition.model_construct(
        step=step.number,
        name=step.title,
        agents=step.agents,
        human_approval=asked is not None and asked.required,
        retry_enabled=step.attempts is not None,
    )


# Those that somebody has defined.


def paths(root: Path) -> list[Path]:
    """The files that may be definitions, in the order of their names."""
    return sorted(path for path in (root / FOLDER).glob("*") if path.suffix in _ENDINGS)


def defined(store: Store, name: str) -> Definition:
    """The definition called *name* in the project, or a refusal that says what there is."""
    if _SLUG.fullmatch(name):
        for ending in _ENDINGS:
            path = store.root / FOLDER / f"{name}{ending}"
            if path.is_file() and store.holds(path):
                return read(path)
    there = ", ".join([*BUILT_IN, *sorted({path.stem for path in paths(store.root)})])
    raise NoSuchWorkflow(
        f"no workflow is defined as {name!r}",
        hint=f"There are: {there}. Define one: holdfast pipeline define FILE",
    )


def read(path: Path) -> Definition:
    """The definition in the file at *path*, or DefinitionInvalid with all that is wrong."""
    if path.suffix not in _ENDINGS:
        raise DefinitionInvalid(path, (f"expected a file that ends in {' or '.join(_ENDINGS)}",))
    try:
        raw, _ = read_file(path, _LARGEST)
    except StateUnreadable as error:
        raise DefinitionInvalid(path, (error.reason,)) from error
    definition = parse(path, raw)
    if path.parent.name == Path(FOLDER).name and definition.name != path.stem:
        wrong = f"name: expected {path.stem}, as the file is called, found {found(definition.name)}"
        raise DefinitionInvalid(path, (wrong,))
    return definition


def parse(path: Path, raw: bytes) -> Definition:
    """The definition in *raw*, which is TOML or JSON by the ending of *path*."""
    try:
        data = decode_json(raw) if path.suffix == ".json" else decode_toml(raw)
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise DefinitionInvalid(path, (f"not {kind}: {error}",)) from error
    try:
        definition = Definition.model_validate(data)
    except ValidationError as error:
        raise DefinitionInvalid(path, problems_of(error)) from error
    wrong = tuple(problems(definition))
    if wrong:
        raise DefinitionInvalid(path, wrong)
    return definition


def problems(definition: Definition) -> Iterator[str]:
    """What is wrong with *definition* beyond the types of its fields."""
    yield from _problems_of_name(definition.name)
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
        for each in definition.all:
            yield from _problems_of_step(definition, each)


def _problems_of_name(name: str) -> Iterator[str]:
    if not _SLUG.fullmatch(name) or len(name) > _LONGEST_NAME:
        yield (
            "name: expected small letters, digits and single hyphens, "
            f"at most {_LONGEST_NAME}, such as code-review; found {found(name)}"
        )
    if name in BUILT_IN:
        yield f"name: {name} is built in; choose another one"
    if name in RESERVED:
        yield f"name: {name} is a field of every state; choose another one"


def _problems_of_numbers(definition: Definition) -> Iterator[str]:
    """They count from 1 in the order of the list; names do not come twice."""
    names: set[str] = set()
    for place, each in enumerate(definition.all, 1):
        where = f"{definition.word}s.{place - 1}"
        own = each.phase if definition.phases else each.step
        if own != place:
            there = "nothing" if own is None else str(own)
            yield f"{where}.{definition.word}: expected {place}, its place in the list, found {there}"
        if (each.step if definition.phases else each.phase) is not None:
            yield f"{where}: expected the number as {definition.word} alone"
        if each.name.casefold() in names:
            yield f"{where}.name: expected a name of its own, found {found(each.name)} again"
        names.add(each.name.casefold())


def _problems_of_step(definition: Definition, step: StepDefinition) -> Iterator[str]:
    where = f"{definition.word}s.{step.number - 1}"
    for each in dict.fromkeys(step.direct):
        if definition.find(each) is None:
            yield f"{where}.prerequisites: there is no {definition.word} {each}"
        elif each == step.number:
            yield f"{where}.prerequisites: {each} would wait for itself"
        elif step.number in definition.behind(each):
            yield f"{where}.prerequisites: {each} and {step.number} would wait for each other"
        elif each > step.number:
            yield f"{where}.prerequisites: {each} comes later; number them in the order of the work"
    if step.agent is not None and step.agents:
        yield f"{where}: expected either agent or agents, found both"
    if step.approval_type and not step.human_approval:
        yield f"{where}.approval_type: says nothing without human_approval = true"
    if step.max_attempts and not step.retry_enabled:
        yield f"{where}.max_attempts: says nothing without retry_enabled = true"
    if step.triggers_retry and definition.retried_by(step.number) is None:
        yield f"{where}.triggers_retry: none of its prerequisites has retry_enabled = true"
