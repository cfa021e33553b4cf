"""What a workflow has cost so far, from its state, in the shape that the document has. Pure.

Times are of what is over. A step that was done several times counts with all of them.
"""

from __future__ import annotations

from typing import Any

from holdfast.formats.pipeline import definitions
from holdfast.formats.pipeline.machine import runs, seconds
from holdfast.formats.pipeline.model import State, Step


def of(state: State) -> dict[str, Any]:
    definition = definitions.of(state)
    defined = [(step, definition.find(step.number)) for step in state.steps]
    return {
        "workflow_metrics": {
            "workflow_id": state.workflow_id,
            "total_time_seconds": seconds(state.created_at, state.updated_at),
            "step_times": [
                {"step": step.number, "duration_seconds": _worked(step)}
                for step in state.steps
                if step.started_at and step.completed_at
            ],
            "retry_count": sum(map(_retries, state.steps)),
            "human_approval_time_seconds": sum(map(_waited, state.steps)),
            "agent_calls": sum(runs(step) * (each.calls if each else 1) for step, each in defined),
            "parallel_executions": sum(
                runs(step) * (each.beside_each_other if each else 0) for step, each in defined
            ),
        }
    }


def _worked(step: Step) -> int:
    return (step.earlier_seconds or 0) + seconds(step.started_at, step.completed_at)


def _retries(step: Step) -> int:
    if step.attempts is None:
        return 0
    tried_again = sum(1 for each in step.attempts.history if each.emphasis)
    return max(tried_again, step.attempts.current - 1)


def _waited(step: Step) -> int:
    """How long a person took; without a time of asking, since the work on the step began."""
    asked = step.human_approval
    if asked is None:
        return 0
    since = asked.requested_at or step.started_at
    return (asked.earlier_seconds or 0) + seconds(since, asked.approved_at)
