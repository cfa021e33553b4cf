"""The project at the moment of a call, and the tools, resources and prompt over all formats. They only look.

Output schemas are made of the models below. Texts come from files, so they are made safe where they
enter a model. Whatever else a workflow has is in its state, which is a resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias
from urllib.parse import quote

from mcp_types import Resource
from pydantic import BaseModel, BeforeValidator, Field

from holdfast.clock import iso
from holdfast.errors import NoSuchWorkflow
from holdfast.formats.engine.workflow import Standing, Workflow, as_text
from holdfast.records import ledger
from holdfast.restoring import restore
from holdfast.text.plaintext import clean, one_line, quoted
from holdfast.workflows import selection
from holdfast.workflows.sync import Project, ProjectView

STATES = "holdfast://states/"
JSON = "application/json"


def safe(value: Any) -> Any:
    """An answer without what files could hide in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [safe(item) for item in value]
    return value


# What the tools are given, and what they answer with.

Name: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=1_000,
        description="The workflow's name, the beginning of one, its plan or its folder; "
        "without it, the one that this session gets.",
    ),
]
Line: TypeAlias = Annotated[str, BeforeValidator(one_line)]
Text: TypeAlias = Annotated[str, BeforeValidator(clean)]


class Brief(BaseModel):
    """One workflow in a list."""

    name: Line
    format: str
    kind: Line = Field(description="qa-loop, implementation, ...")
    standing: Standing
    phase: str = Field(description='"4/10"; "?" where it is not known')
    phase_name: Line
    status: Line
    chosen: bool = Field(description="whether it is the one that this session gets")
    remark: Line = Field(description="why it is not active, or not by itself")


class Ended(BaseModel):
    """A workflow that was completed."""

    name: Line
    how: Line
    at: Line


class Listing(BaseModel):
    root: str = Field(description="the project's folder")
    workflows: list[Brief]
    ended: list[Ended]
    notes: list[Text] = Field(description="what a person should see")


class Details(Brief):
    """One workflow, with all that a briefing has."""

    next_action: Text | None
    gate: Text | None = Field(description="what has to be fulfilled before the next phase")
    reading: list[Text] = Field(description="paths from the project's folder, each with @")
    reminders: list[Text]
    context: dict[Text, Text]
    cautions: list[Text] = Field(description="to be known before anybody goes on with it")
    state_path: Text | None = Field(description="null while nothing is saved")
    changed_at: str


class Status(BaseModel):
    root: str = Field(description="the project's folder")
    workflow: Details | None = Field(description="null where no workflow is active")
    why: str = Field(description="why it is this one, or none")
    others: list[Line] = Field(description="the other workflows, one line each")
    notes: list[Text] = Field(description="what a person should see")


class Guidance(BaseModel):
    workflow: Line
    guidance: str = Field(description="where the workflow stands and what comes next")


def _facts(workflow: Workflow, *, chosen: bool) -> dict[str, Any]:
    """What the models take of a workflow and its briefing."""
    briefing = workflow.briefing
    own = {name: getattr(workflow, name) for name in ("name", "format", "standing", "remark")}
    return {**vars(briefing), **own, "phase": briefing.count, "chosen": chosen}


def _details(view: ProjectView, workflow: Workflow, *, chosen: bool) -> Details:
    more = {
        "context": {key: as_text(value) for key, value in workflow.briefing.context},
        "cautions": restore.cautions(view, workflow),
        "changed_at": iso(workflow.changed_at),
    }
    return Details(**{**_facts(workflow, chosen=chosen), **more})


class Workflows:
    """What is asked of the workflows of the project, whatever their format."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def workflow_status(self, name: Name = None) -> Status:
        """Where a workflow stands: phase, next action, required reading, reminders, context."""
        view = self._project.look()
        choice = view.choice()
        chosen = selection.find(view.workflows, name) if name else choice.chosen
        others = [
            other for other in (choice.chosen, *choice.others) if other and other is not chosen
        ]
        by_choice = chosen is choice.chosen
        return Status(
            root=view.root,
            workflow=chosen and _details(view, chosen, chosen=by_choice),
            why=choice.why if by_choice else "by name",
            others=[restore.in_brief(other) for other in others],
            notes=view.notes,
        )

    def workflow_list(self) -> Listing:
        """All workflows of the project, active or not, and those that were completed."""
        view = self._project.look()
        choice = view.choice()
        ordered = [workflow for workflow in (choice.chosen, *choice.others) if workflow]
        known = {workflow.key for workflow in ordered}
        finished = ledger.load(view.place.store).finished.items()
        ended = [stone for key, stone in finished if key not in known]
        return Listing(
            root=view.root,
            workflows=[Brief(**_facts(one, chosen=one is choice.chosen)) for one in ordered],
            ended=[Ended(name=stone.name, how=stone.how, at=stone.at) for stone in ended],
            notes=view.notes,
        )

    def workflow_guidance(self, name: Name = None) -> Guidance:
        """What a session is told when it takes a workflow up: where it stands and what comes next."""
        view = self._project.look()
        choice = view.choice()
        workflow = selection.find(view.workflows, name) if name else choice.chosen
        if workflow is None:
            raise NoSuchWorkflow(
                f"{choice.why} in {view.root}",
                hint="Start one with `holdfast start NAME`; workflow_list shows those that are not active.",
            )
        plan = restore.reading_of(view, workflow, "now")
        text = restore.text(view, workflow, "now", plan)
        return Guidance(workflow=workflow.name, guidance=text)

    def resume(self, name: Name = None) -> str:
        """Go on with a workflow: where it stands and what comes next."""
        return self.workflow_guidance(name).guidance

    def state(self, name: str) -> str:
        """The state of a workflow, as it is kept."""
        view = self._project.look()
        workflow = selection.find(_kept(view), name)
        raw, _ = view.place.store.read(view.place.root / str(workflow.briefing.state_path))
        return quoted(raw.decode("utf-8", "replace"))

    def states(self) -> list[Resource]:
        """Those that there are, and where each stands."""
        kept, found = _kept(self._project.look()), []
        names = [selection.folded(workflow.name) for workflow in kept]
        for workflow in kept:
            unique = names.count(selection.folded(workflow.name)) == 1
            called = workflow.name if unique else str(workflow.briefing.state_path)
            where = one_line(f"{workflow.format}, {workflow.standing}, {workflow.briefing.where}")
            address, name = STATES + quote(called, safe=""), one_line(workflow.name)
            found.append(Resource(uri=address, name=name, description=where, mime_type=JSON))
        return found


def _kept(view: ProjectView) -> list[Workflow]:
    return [workflow for workflow in view.workflows if workflow.kept]
