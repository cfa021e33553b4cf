"""The eight tools of pipelines, and their definitions as resources: the engine's own answers.

Whoever changes a workflow through them has taken it up, as with a command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import Field

from holdfast.formats.base import Place
from holdfast.formats.pipeline import definitions, engine, files, telling
from holdfast.formats.pipeline.definitions import LEVELS
from holdfast.formats.pipeline.model import GENERATION, PLANNING
from holdfast.plaintext import clean, one_line
from holdfast.server.looking import Listed, Look
from holdfast.server.pipeline_shapes import (
    Approved,
    CancelledWorkflow,
    GivenStatus,
    NextStep,
    Prerequisites,
    Resumed,
    Rows,
    StepNumber,
    Updated,
    WorkflowId,
    WorkflowState,
    WorkflowStatus,
)
from holdfast.store import COMMAND_WAIT

DEFINITIONS = "holdfast://definitions/"


class Pipelines:
    """Made once a server."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def get_workflow_status(self, workflow_id: WorkflowId) -> WorkflowState:
        """Get current workflow state"""
        answer = engine.get_workflow_status(self._place, workflow_id)
        return WorkflowState.model_validate(_safe(answer))

    def get_next_step(self, workflow_id: WorkflowId) -> NextStep:
        """Get next step info (sequential enforcement)"""
        return NextStep.model_validate(_safe(engine.get_next_step(self._place, workflow_id)))

    def validate_prerequisites(self, workflow_id: WorkflowId, step: StepNumber) -> Prerequisites:
        """Check if prerequisites met for specific step"""
        answer = engine.validate_prerequisites(self._place, workflow_id, step)
        return Prerequisites.model_validate(_safe(answer))

    def approve_step(
        self,
        workflow_id: WorkflowId,
        step: StepNumber,
        approved: Annotated[bool, Field(description="What a person has decided.")],
        modifications: Annotated[
            dict[str, Any] | None, Field(description="What is to be changed, by name.")
        ] = None,
        selected_variant: Annotated[
            str | None, Field(description="Required where a variant is to be chosen.")
        ] = None,
    ) -> Approved:
        """Approve human checkpoint, or with approved false send the work back.

        Only a person decides that; ask before you call it.
        """
        answer = self._changed(
            workflow_id,
            lambda place: engine.approve_step(
                place,
                workflow_id,
                step,
                approved=approved,
                modifications=modifications,
                selected_variant=selected_variant,
            ),
        )
        return Approved.model_validate(answer)

    def update_workflow_state(
        self,
        workflow_id: WorkflowId,
        step: StepNumber,
        status: GivenStatus | None = None,
        artifacts: Annotated[
            dict[str, Any] | None, Field(description="Their paths, by name.")
        ] = None,
        error: Annotated[str | None, Field(description="Why it has failed.")] = None,
    ) -> Updated:
        """Update workflow state (internal tool for agents)"""
        answer = self._changed(
            workflow_id,
            lambda place: engine.update_workflow_state(
                place, workflow_id, step, status=status, artifacts=artifacts, error=error
            ),
        )
        return Updated.model_validate(answer)

    def list_workflows(
        self,
        status: WorkflowStatus | None = None,
        workflow_type: Annotated[
            str | None, Field(description="generation, planning, or a defined one.")
        ] = None,
        session_name: str | None = None,
    ) -> Rows:
        """List all workflows (optionally filter by status)"""
        answer = engine.list_workflows(
            self._place, status=status, workflow_type=workflow_type, session_name=session_name
        )
        return Rows.model_validate(_safe(answer))

    def resume_workflow(
        self, workflow_id: WorkflowId, from_step: StepNumber | None = None
    ) -> Resumed:
        """Resume failed/cancelled workflow, or one that stopped; from_step is done anew"""
        answer = self._changed(
            workflow_id,
            lambda place: engine.resume_workflow(place, workflow_id, from_step=from_step),
        )
        return Resumed.model_validate(answer)

    def cancel_workflow(
        self, workflow_id: WorkflowId, reason: str | None = None
    ) -> CancelledWorkflow:
        """Cancel active workflow"""
        answer = self._changed(
            workflow_id, lambda place: engine.cancel_workflow(place, workflow_id, reason=reason)
        )
        return CancelledWorkflow.model_validate(answer)

    def definition(self, name: str) -> str:
        """The steps or phases of a type of pipeline, and what each waits for."""
        return json.dumps(_safe(_defined(self._place, name)), ensure_ascii=False, indent=2)

    def definitions(self) -> list[Listed]:
        """Those that there are: built in, and defined in the project."""
        own = sorted({path.stem for path in definitions.paths(self._place.root)})
        return [
            Listed(DEFINITIONS + quote(name, safe=""), one_line(name), "definition of a pipeline")
            for name in (*definitions.BUILT_IN, *own)
        ]

    @property
    def _place(self) -> Place:
        return self._look.place()

    def _changed(self, workflow_id: str, change: Callable[[Place], dict[str, Any]]) -> Any:
        synced = self._look.to_change()
        answer = change(synced.place)
        workflow = telling.workflow_of(files.find(synced.place.store, workflow_id), synced.place)
        synced.take(workflow)
        synced.observe(workflow, COMMAND_WAIT)
        return _safe(answer)


def _defined(place: Place, name: str) -> dict[str, Any]:
    """In the document's shape; that of planning has all levels."""
    if name == GENERATION:
        return {"generation_steps": definitions.generation().to_json()["steps"]}
    if name == PLANNING:
        levels = {each: definitions.planning(each).to_json()["phases"] for each in LEVELS}
        return {"planning_phases": levels}
    return definitions.defined(place.store, name).to_json()


def _safe(value: Any) -> Any:
    """An answer without what files could hide in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(each) for each in value]
    return value
