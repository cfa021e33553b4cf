"""One odd value in a document's own example: named to the agent, kept in the file, and no false next action."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from typing import Any

import pytest

import gatedwork
import orchestrated
import pipework
import skillwork
from holdfast.testing import Compactions, Project

GENERATION = "workspace/workflow-state/generation-scene-0204-20251110-143000.json"
RUN = orchestrated.example()
RUN["orchestrator"]["start_time"] = datetime.now(UTC).isoformat()  # else its time is over
EXAMPLES: dict[str, tuple[str, Any]] = {
    "dev": (".claude/workflow-state/active/dev-a1b2c3d4.json", skillwork.EXAMPLES["dev"]),
    "tdd": (".claude/workflow-state/active/tdd-a1b2c3d4.json", skillwork.EXAMPLES["tdd"]),
    "run": (".claude/agent-state.json", RUN),
    "generation": (GENERATION, pipework.example(pipework.GENERATION).to_json()),
    "gated": ("workflow/user-auth/workflow-state.json", gatedwork.state_example()),
}
UNKNOWN = "Not known: "
NO_STEPS = "Workflow has no steps"
ABSENT = "null"  # deleted
ODD = [
    # example, field, what stands there, what the agent is told, the next action where that is another one
    ("tdd", ".state_machine.current_phase", '"nope"', "expected one of red, green", UNKNOWN),
    ("tdd", ".state_machine", ABSENT, "state_machine.phases: expected a list", UNKNOWN),
    ("dev", ".state_machine", ABSENT, "state_machine.phases: expected a list", "Task 2/3"),
    ("dev", ".tasks", '"x"', "tasks: expected a list, found 'x'", UNKNOWN),
    (
        "dev",
        ".tasks[1].index",
        '"a"',
        "tasks.1.index: expected a whole number, found 'a'",
        "Task 2/3",
    ),
    ("dev", ".tasks[1].tdd_phases", '"green"', "tasks.1.tdd_phases: expected an object", ""),
    ("dev", ".checkpoints.lint", '"x"', "checkpoints.lint: expected an object, found 'x'", "Task"),
    ("dev", "._schema", ABSENT, "_schema.skill: expected the skill's name, found nothing", "Task"),
    ("dev", ".workflow.id", ABSENT, "workflow.id: expected the workflow's id", "Task 2/3"),
    ("dev", ".history", '"x"', "history: expected a list, found 'x'", "Task 2/3"),
    ("dev", ".workflow.updated_at", '"x"', "workflow.updated_at: expected a time", "Task 2/3"),
    ("run", ".pending_tasks", '"x"', "pending_tasks: expected a list, found 'x'", UNKNOWN),
    ("run", ".orchestrator.current_phase", ABSENT, "expected a phase's number", UNKNOWN),
    ("run", ".active_agents", '"x"', "active_agents: expected a list, found 'x'", UNKNOWN),
    ("run", ".completed_tasks", '"x"', "completed_tasks: expected a list, found 'x'", ""),
    ("run", ".supervisor", '"x"', "supervisor: expected an object, found 'x'", ""),
    ("run", ".learnings", '"x"', "learnings: expected a list, found 'x'", ""),
    ("run", ".checkpoints", '"x"', "checkpoints: expected a list, found 'x'", ""),
    ("run", ".safety_bounds", '"x"', "safety_bounds: expected an object, found 'x'", ""),
    ("run", ".orchestrator.start_time", '"today"', "start_time: expected a time in ISO 8601", ""),
    ("run", ".orchestrator.task_doc", ABSENT, "task_doc: expected the path", ""),
    ("run", ".orchestrator.total_phases", ABSENT, "total_phases: expected a whole number", ""),
    ("run", ".active_agents[0].status", '"weird"', "active_agents.0.status: expected one of", ""),
    ("run", ".learnings[0].type", '"weird"', "learnings.0.type: expected one of", ""),
    ("run", ".safety_bounds", ABSENT, "more: holdfast inspect .claude/agent-state.json", ""),
    ("generation", ".generation.current_step", "9", "expected 3, as its steps say, found 9", ""),
    ("generation", ".generation.current_step", "0", "expected 3, as its steps say, found 0", ""),
    ("generation", ".generation.total_steps", "3", "total_steps: expected 7, found 3", ""),
    ("generation", ".generation.steps", '"x"', "steps: expected a list, found 'x'", NO_STEPS),
    ("generation", ".generation", ABSENT, "generation.steps: expected a list", NO_STEPS),
    (
        "generation",
        ".generation.steps[2].human_approval",
        '"x"',
        "steps.2.human_approval: expected",
        "",
    ),
    ("generation", ".generation.steps[2].artifacts", '"x"', "steps.2.artifacts: expected", ""),
    ("generation", ".status", ABSENT, "status: expected in_progress, waiting_approval", ""),
    ("generation", ".created_at", ABSENT, "created_at: expected a time in ISO 8601", ""),
    ("generation", ".workflow_id", '"zzz"', "workflow_id: expected generation-scene-0204", ""),
    ("generation", ".workflow_type", ABSENT, "it has no workflow_type; correct it", None),
    ("generation", ".workflow_id", ABSENT, "it has no workflow_id; correct it", None),
    ("run", ".orchestrator", ABSENT, "it has no orchestrator; correct it", None),
    ("gated", ".feature", "3", "feature: expected a text, found 3", "Requirements"),
    ("gated", ".escalations", '"x"', "escalations: expected a list, found 'x'", "Requirements"),
    ("gated", ".current_phase", '"x"', "current_phase: expected one of", "Requirements"),
    (
        "gated",
        '.phases["03-implementation"]',
        ABSENT,
        "with all 5 phases, 03-implementation as",
        None,
    ),
]


def jq(program: str, text: str) -> str:
    done = subprocess.run(["jq", program], input=text, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.needs("jq")
@pytest.mark.parametrize(("name", "field", "value", "told", "action"), ODD)
def test_an_odd_value_of_an_example(
    name: str,
    field: str,
    value: str,
    told: str,
    action: str | None,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """Without an *action* there is nothing to restore, and one line with what to do."""
    where, example = EXAMPLES[name]
    edit = f"del({field})" if value == ABSENT else f"{field} = {value}"
    path = holdfast_project.write(where, jq(edit, json.dumps(example)))
    guidance = compaction_cycle().guidance
    lines = guidance.splitlines()
    assert any(line.startswith("Note: ") and told in line for line in lines), guidance
    assert len([line for line in lines if told in line and line.startswith("Note: ")]) == 1
    if action is None:
        assert all(line.startswith("Note: ") for line in lines)
    else:
        assert any(line.startswith(f"Next action: {action}") for line in lines), guidance
        assert (f"Next action: {UNKNOWN}" in guidance) == (action == UNKNOWN)
        assert ("What comes next cannot be told" in guidance) == (action == UNKNOWN)
    assert jq(field, path.read_text("utf-8")).strip() == value


def test_what_others_keep_where_states_lie_is_left_alone(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Fields that any file may have make it no state."""
    other = {"status": "in_progress", "created_at": "2026-01-01", "name": "x", "supervisor": {}}
    for where, _ in EXAMPLES.values():
        holdfast_project.write(where, json.dumps(other))
    assert compaction_cycle().guidance == ""
