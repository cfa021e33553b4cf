"""What goes into the tools of pipelines and what comes out, as their document has it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

WorkflowId: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=300,
        description="Such as generation-scene-0204-20251110-143000; list_workflows has them all.",
    ),
]
StepNumber: TypeAlias = Annotated[int, Field(ge=1, description="The number of a step or phase.")]
WorkflowStatus: TypeAlias = Literal[
    "in_progress", "waiting_approval", "failed", "completed", "cancelled"
]
GivenStatus: TypeAlias = Annotated[
    Literal["in_progress", "waiting_approval", "completed", "failed"],
    Field(description="in_progress begins the step; completed and failed end its work."),
]


class WorkflowState(BaseModel):
    workflow_id: str
    workflow_type: str
    status: str
    current_step: int | None
    current_step_name: str | None
    waiting_for_approval: bool
    progress_percentage: int
    artifacts: dict[str, Any] = Field(description="of the current step, as paths")


class NextStep(BaseModel):
    can_proceed: bool
    current_step: int | None
    current_step_name: str | None
    current_status: str | None
    blocking_reason: str | None
    required_action: str | None = Field(description="who has to do what, so that it goes on")
    next_step: int | None
    next_step_name: str | None
    prerequisites_met: bool


class Prerequisites(BaseModel):
    prerequisites_met: bool
    required_steps: list[int]
    completed_steps: list[int]
    missing_steps: list[int]
    can_start_step: bool
    blocking_issues: list[str]


class Approved(BaseModel):
    success: bool
    workflow_id: str
    step: int
    status: str
    next_step: int | None
    next_step_name: str | None


class Updated(BaseModel):
    success: bool
    workflow_id: str
    updated_at: str


class Row(BaseModel):
    workflow_id: str
    workflow_type: str
    status: str
    current_step: int | None
    progress_percentage: int


class Rows(BaseModel):
    workflows: list[Row]
    total: int


class Resumed(BaseModel):
    success: bool
    workflow_id: str
    resumed_from_step: int
    current_status: str


class CancelledWorkflow(BaseModel):
    success: bool
    workflow_id: str
    status: str
    cleanup_performed: bool
