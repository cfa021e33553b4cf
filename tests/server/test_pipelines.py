"""The tools of pipelines through a client: names, inputs and outputs as the document has them."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from holdfast.testing import Compactions, Project
from mcpwork import call, given, said, talk
from pipework import DOCUMENT, PLANNING, STATES, tool
from pipework import GENERATION as ID

SESSION = "work-on-chapter-02"
FOLDER = f"workspace/sessions/{SESSION}/workflow-state"
NAMES = re.findall(r"^### \d\. ([a-z_]+)$", DOCUMENT, re.MULTILINE)


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    """The worked example: step 3 of 7 waits for a person."""
    holdfast_project.write(f"{FOLDER}/{ID}.json", json.dumps(STATES[ID]))
    return holdfast_project


def shape(value: Any) -> Any:
    """Keys in their order and kinds of values."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return type(value)


def same(answer: dict[str, Any], expected: dict[str, Any], *, but: str = "") -> None:
    """Equal in shape, key order included, and in value but where the document left out a part."""
    assert [*answer] == [*expected]
    for key, value in expected.items():
        if key != but and "..." not in json.dumps(value):
            assert answer[key] == value, key


def test_there_are_eight(project: Project) -> None:
    async def named(client: Client) -> list[str]:
        return [each.name for each in (await client.list_tools()).tools]

    assert len(NAMES) == 8
    listed, _ = talk(project, named)
    assert [name for name in listed if name in NAMES] == NAMES


def test_the_worked_example(project: Project) -> None:
    """Each with the document's input, in the order in which its outputs come true."""

    async def one_after_the_other(client: Client) -> dict[str, dict[str, Any]]:
        async def ask(name: str) -> dict[str, Any]:
            return given(await client.call_tool(name, tool(name)[0]))

        order = (
            *("get_workflow_status", "get_next_step", "list_workflows", "approve_step"),
            *("validate_prerequisites", "update_workflow_state", "cancel_workflow"),
            "resume_workflow",
        )
        return {name: await ask(name) for name in order}

    run = project.root / FOLDER.removesuffix("workflow-state") / "generation-runs" / ID
    run.mkdir(parents=True)
    answers, aside = talk(project, one_after_the_other)
    assert aside == ""
    (removed,) = answers["cancel_workflow"].pop("notes")
    assert removed == f"removed, as it was empty: {run.relative_to(project.root).as_posix()}"
    assert sorted(answers) == sorted(NAMES)
    for name, answer in answers.items():
        same(answer, tool(name)[1], but="updated_at")
        assert shape(answer) == shape(tool(name)[1])
    assert answers["get_workflow_status"]["progress_percentage"] == 42
    assert [*answers["get_workflow_status"]["artifacts"]] == ["verification_plan"]
    state = json.loads((project.root / f"{FOLDER}/{ID}.json").read_bytes())
    approval = state["generation"]["steps"][2]["human_approval"]
    assert approval["modifications"] == tool("approve_step")[0]["modifications"]


def test_the_command_gives_the_same_answers(project: Project) -> None:
    """One engine behind both."""
    listed = json.loads(project.run("pipeline", "list", "--json").stdout)
    assert listed == given(call(project, "list_workflows"))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("get_workflow_status", {"workflow_id": "generation-scene-9999-20251110-143000"}, "9999"),
        ("get_next_step", {"workflow_id": "../../etc/passwd"}, "passwd"),
        ("validate_prerequisites", {"workflow_id": ID, "step": 8}, "8"),
        ("approve_step", {"workflow_id": ID, "step": 2, "approved": True}, "2"),
        ("update_workflow_state", {"workflow_id": ID, "step": 4, "status": "in_progress"}, "3"),
        ("update_workflow_state", {"workflow_id": ID, "step": 4}, "nothing to update"),
        ("resume_workflow", {"workflow_id": ID, "from_step": 6}, "6"),
    ],
)
def test_what_may_not_be_is_refused_with_a_next_step(
    project: Project, name: str, arguments: dict[str, Any], words: str
) -> None:
    """Unknown ids, wrong steps, missing prerequisites: cause and hint, and nothing is changed."""
    file = project.root / f"{FOLDER}/{ID}.json"
    before = file.read_bytes()
    answer = call(project, name, **arguments)
    assert answer.is_error
    cause, *hint = said(answer).splitlines()
    assert words in cause
    assert hint
    assert "Traceback" not in said(answer)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_workflow_status", {}),
        ("approve_step", {"workflow_id": ID, "step": 3}),  # nobody has decided
        ("validate_prerequisites", {"workflow_id": ID, "step": 0}),
        ("validate_prerequisites", {"workflow_id": ID, "step": "last"}),
        ("list_workflows", {"status": "done"}),
        ("update_workflow_state", {"workflow_id": ID, "step": 4, "status": "pending"}),
    ],
)
def test_inputs_are_checked(project: Project, name: str, arguments: dict[str, Any]) -> None:
    assert call(project, name, **arguments).is_error


def test_a_variant_is_selected(holdfast_project: Project) -> None:
    """Without it the second phase of a planning cannot be approved."""
    project = holdfast_project
    state = copy.deepcopy(STATES[PLANNING])
    second, third = state["planning"]["phases"][1:3]
    second |= {"status": "waiting_approval", "completed_at": None}
    second["human_approval"] = {"required": True, "approved": False, "approved_at": None}
    third |= {"status": "pending", "started_at": None}
    state["planning"]["current_phase"], state["status"] = 2, "waiting_approval"
    project.write(f"{FOLDER}/{PLANNING}.json", json.dumps(state))
    asked = {"workflow_id": PLANNING, "step": 2, "approved": True}
    assert call(project, "approve_step", **asked).is_error
    answer = given(call(project, "approve_step", selected_variant="B", **asked))
    assert (answer["status"], answer["next_step_name"]) == ("completed", "Path Planning")
    after = json.loads((project.root / f"{FOLDER}/{PLANNING}.json").read_bytes())
    assert after["planning"]["phases"][1]["human_approval"]["selected_variant"] == "B"


def test_whoever_changes_one_has_it(project: Project) -> None:
    """As with a command; to look at one is not to take it up."""
    project.run("start", "Something else", "--phases", "A", session="session-1")
    call(project, "get_workflow_status", "session-1", workflow_id=ID)
    before = given(call(project, "workflow_status", "session-1"))
    assert before["workflow"]["name"] == "Something else"
    call(project, "approve_step", "session-1", workflow_id=ID, step=3, approved=True)
    after = given(call(project, "workflow_status", "session-1"))
    assert after["workflow"]["format"] == "pipeline"


def test_cancelling_one_does_not_take_it_up(project: Project) -> None:
    """As with the command: the session keeps the workflow that it works on."""
    project.run("start", "Something else", "--phases", "A", session="session-1")
    project.run("start", "Begun later", "--phases", "A", session="session-2")
    assert not call(project, "cancel_workflow", "session-1", workflow_id=ID).is_error
    after = given(call(project, "workflow_status", "session-1"))
    assert (after["workflow"]["name"], after["why"]) == (
        "Something else",
        "this session works on it",
    )


def test_a_tool_looks_at_pipelines_alone(project: Project, compaction_cycle: Compactions) -> None:
    """Whoever looks at a state of another format that is damaged sets it aside."""
    damaged = "untracked/workflow-state/work/state-work-20260101_000000.json"
    project.write(damaged, '{"workflow": ')
    assert given(call(project, "approve_step", workflow_id=ID, step=3, approved=True))
    assert given(call(project, "get_next_step", workflow_id=ID))
    assert (project.root / damaged).exists()
    compaction_cycle.fire("PreCompact")
    assert not (project.root / damaged).exists()


def test_calls_side_by_side_lose_nothing(project: Project) -> None:
    """Twenty artefacts of one step, each noted by a call of its own."""

    async def all_at_once(client: Client) -> list[CallToolResult]:
        await client.call_tool("approve_step", {"workflow_id": ID, "step": 3, "approved": True})
        begun = {"workflow_id": ID, "step": 4, "status": "in_progress"}
        await client.call_tool("update_workflow_state", begun)
        answers: list[CallToolResult] = []

        async def ask(number: int) -> None:
            noted = {f"draft {number}": f"drafts/{number}.md"}
            arguments = {"workflow_id": ID, "step": 4, "artifacts": noted}
            answers.append(await client.call_tool("update_workflow_state", arguments))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, number)
        return answers

    answers, aside = talk(project, all_at_once, "session-1")
    assert aside == ""
    assert [each.is_error for each in answers] == [False] * 20
    state = json.loads((project.root / f"{FOLDER}/{ID}.json").read_bytes())
    assert len(state["generation"]["steps"][3]["artifacts"]) == 20
