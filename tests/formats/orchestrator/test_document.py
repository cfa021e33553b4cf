"""What the document says holds: its example, field tables, queries and old format."""

from __future__ import annotations

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.orchestrator import files, moves, tasks
from holdfast.formats.orchestrator.files import KIND
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.model import State
from holdfast.formats.orchestrator.plan import Plan, given
from holdfast.testing import Project
from orchestrated import DOCUMENT, put

TEXT = DOCUMENT.read_text("utf-8")
BLOCKS = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
EXAMPLE: dict[str, Any] = json.loads(BLOCKS[0])
OLD: dict[str, Any] = json.loads(BLOCKS[1])
QUERIES = re.findall(r"^jq '(.*)' \.claude/agent-state\.json$", TEXT, re.MULTILINE)
AT = "2026-01-15T12:35:00Z"

# Where the objects of each field table stand.
TABLES = {
    "### orchestrator": "orchestrator",
    "### supervisor": "supervisor",
    "#### Intervention Object": "supervisor.interventions.*",
    "#### Agent Object": "active_agents.*",
    "#### Completed Task Object": "completed_tasks.*",
    "#### Pending Task Object": "pending_tasks.*",
    "### safety_bounds": "safety_bounds",
    "#### Learning Object": "learnings.*",
    "#### Milestone Object": "milestones.*",
    "#### Checkpoint Object": "checkpoints.*",
}
ROWS = [
    (f"{where}.{name}", kind, rest)
    for heading, where in TABLES.items()
    for name, kind, rest in re.findall(
        r"^\*\*(\w+)\*\* \((.*?)\)\n((?:- .*\n)*)",
        re.split(r"^#", TEXT.split(f"\n{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0],
        re.MULTILINE,
    )
]


def problems(data: object) -> tuple[str, ...]:
    report = FORMAT.inspect(Path(files.STATE), json.dumps(data).encode())
    assert report is not None
    return report.problems


def changed(where: str, value: object) -> dict[str, Any]:
    """The example with another *value* at *where*; a list's place is its first item."""
    data = copy.deepcopy(EXAMPLE)
    *above, last = where.split(".")
    target: Any = data
    for step in above:
        target = target[0 if step == "*" else step]
    target[last] = value
    return data


def test_the_field_tables_were_found() -> None:
    """Otherwise nothing below would be tested."""
    assert len(ROWS) == 61
    assert len(QUERIES) == 6


def test_the_complete_example_is_valid(holdfast_project: Project) -> None:
    """By the command."""
    path = put(holdfast_project, EXAMPLE)
    done = holdfast_project.run("inspect", str(path))
    assert done.stdout == f"{path}: valid, format orchestrator\n"


@pytest.mark.parametrize(("where", "kind", "rest"), ROWS, ids=[row[0] for row in ROWS])
def test_each_field_is_checked_by_its_type(where: str, kind: str, rest: str) -> None:
    """A value of another type is reported with its path, and so is an unknown word."""
    path = where.replace("*", "0")
    wrong: list[object] = [{"odd": 1}, 5] if "string" in kind else [{"odd": 1}, "odd"]
    if "object" in kind:
        wrong = [5, "odd"]
    if "integer" in kind:
        wrong += [-1, "1", 1.5, True]
    if "timestamp" in kind:
        wrong += ["tomorrow"]
    if "Values:" in rest:
        wrong += ["odd", ""]
    for value in wrong:
        told = problems(changed(where, value))
        assert any(line.startswith(f"{path}: expected ") for line in told), (value, told)
        assert all(line.startswith(path) for line in told), (value, told)
    for word in re.findall(r'"([\w-]+)"', rest.partition("Values:")[2].partition("\n")[0]):
        assert problems(changed(where, word)) == (), word


@pytest.mark.parametrize(("where", "kind", "rest"), ROWS, ids=[row[0] for row in ROWS])
def test_each_required_field_is_missed(where: str, kind: str, rest: str) -> None:
    """Absent or null. Without git there is no commit, so that one may be null."""
    may_be_null = "nullable" in kind or where.endswith("git_sha")
    assert (where in FORMAT.required) is not may_be_null
    told = problems(changed(where, None))
    expected = () if may_be_null else (f"{where.replace('*', '0')}: expected ",)
    assert len(told) == len(expected)
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True))
    assert all(line.endswith(", found nothing") for line in told)


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("orchestrator.current_task", "third of five", "task/tasks of the phase, such as 3/5"),
        ("orchestrator.current_task", "6/5", "expected at most as many as there are"),
        ("orchestrator.current_phase", 4, "expected at most 3, since phases count from 0"),
        ("safety_bounds.max_cost", "ten", "an amount, such as $10 or $0.75"),
        ("safety_bounds.max_time", "a while", "a duration, such as 2h or 0h 34m 8s"),
        ("completed_tasks.*.success_criteria_met", {"tested": "yes"}, "true or false"),
        ("completed_tasks.*.files_modified", [1], "expected a text, found 1"),
        ("pending_tasks.*.task", "1.1", "expected one that is not completed, found '1.1'"),
        ("safety_bounds.warnings", "none", "expected a list, found 'none'"),
    ],
)
def test_what_goes_beyond_types_is_told(where: str, value: object, expected: str) -> None:
    """With what is expected there."""
    assert any(expected in line for line in problems(changed(where, value)))


@pytest.mark.parametrize("name", [key for key in EXAMPLE if key != "orchestrator"])
def test_each_section_is_missed(name: str) -> None:
    """No section is optional."""
    data = {key: value for key, value in EXAMPLE.items() if key != name}
    assert any(line.startswith(name) for line in problems(data))


def test_what_is_read_is_written_as_it_was() -> None:
    """Byte for byte, in the form that jq prints: order, nulls and unknown fields."""
    data = {"mine": {"z": 1, "a": None}, **copy.deepcopy(EXAMPLE), "name": "ours"}
    data["orchestrator"]["owner"] = ["x", {"deep": 1.5}]
    data["pending_tasks"][1]["note"] = None
    data["active_agents"][0]["pid"] = 7
    raw = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
    assert KIND.parse(raw).encode() == raw


def test_a_move_changes_what_it_says_and_nothing_else() -> None:
    """The task of the example is completed: it was pending and active."""
    data = copy.deepcopy(EXAMPLE)
    data["pending_tasks"][1]["note"] = None
    data["mine"] = 1
    before = State.of_json(copy.deepcopy(data))
    after = tasks.complete_task(
        before, AT, cost="$0.30", files=["src/auth.ts"], met=["tests_passing"]
    )
    expected = copy.deepcopy(data)
    done = expected["pending_tasks"].pop(0)
    expected["active_agents"] = []
    expected["completed_tasks"].append(
        {
            "task": "2.1",
            "name": done["name"],
            "completed": AT,
            "iterations": 2,
            "time_elapsed": "5m 0s",
            "cost": "$0.30",
            "files_modified": ["src/auth.ts"],
            "success_criteria_met": {"tests_passing": True},
        }
    )
    expected["safety_bounds"]["cost_so_far"] = "$1.05"
    expected["orchestrator"] |= {"current_task": "2/2", "ralph_iteration": 0}
    assert json.dumps(after.to_json()) == json.dumps(expected)
    assert before.to_json() == data


def ours() -> State:
    """A state that our own moves have made."""
    listed = given(["1.1 One", "1.2 Two"])
    state = moves.begin("2026-01-15T12:00:00Z", "/tmp/tasks.md", listed)
    state = moves.approve_plan(state, AT, listed)
    state = tasks.complete_task(tasks.start_task(state, AT), AT, cost="$0.20")
    found = {
        "conflict_type": "pattern",
        "severity": "low",
        "action": "auto_fix",
        "resolution": "renamed",
    }
    return moves.check(state, AT, "post_task", "1.1", **found)


@pytest.mark.needs("jq")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("made", ["example", "ours"])
def test_every_query_of_the_document_works(
    query: str, made: str, holdfast_project: Project
) -> None:
    """On the document's example as we rewrite it, and on our own states."""
    state = ours() if made == "ours" else State.of_json(copy.deepcopy(EXAMPLE))
    if made == "ours":
        state.learnings = State.of_json(copy.deepcopy(EXAMPLE)).learnings
    path = put(holdfast_project, state.encode().decode())
    done = subprocess.run(
        ["jq", query, str(path)], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    answers = [json.loads(each) for each in _values(done.stdout)]
    assert answers
    assert all(
        value is not None
        for answer in answers
        for value in (answer.values() if isinstance(answer, dict) else [answer])
    )


def _values(text: str) -> list[str]:
    """The JSON values that jq prints one below the other."""
    decoder, found, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        found.append(json.dumps(value))
        rest = rest[end:].strip()
    return found


def test_what_we_begin_with_is_valid() -> None:
    """From the first state on."""
    assert problems(ours().to_json()) == ()
    first = moves.begin("2026-01-15T12:00:00Z", "/tmp/x.md", Plan((), ()))
    assert problems(first.to_json()) == ()
    assert list(first.to_json()) == list(EXAMPLE)
    assert list(first.to_json()["orchestrator"]) == list(EXAMPLE["orchestrator"])


def test_the_old_format_is_explained_and_left_alone(holdfast_project: Project) -> None:
    """It has to be finished under its own system, even if a run of ours was there before."""
    path = put(holdfast_project, EXAMPLE)
    holdfast_project.run("status")
    raw = (json.dumps(OLD) + "\n").encode()
    path.write_bytes(raw)
    done = holdfast_project.run("inspect", str(path), check=False)
    older = "the state of an older workflow system, which has to be finished under that system"
    assert older in done.stdout + done.stderr
    for command in (["start", "tasks.md"], ["approve-plan"], ["fail", "x"], ["status"]):
        done = holdfast_project.run("orchestrate", *command, check=False)
        assert done.returncode == 1
        assert older in done.stderr, command
    assert path.read_bytes() == raw
    assert older in holdfast_project.run("why").stdout.replace("\n", " ")


BY_HAND: dict[str, Any] = {
    "orchestrator": {"status": "In Progress", "task_doc": None, "current_phase": "1"},
    "supervisor": None,
    "active_agents": ["1.1"],
    "completed_tasks": [{"task": 1.1, "cost": 2}, "1.2"],
    "pending_tasks": [{"phase": 1, "task": "2.1"}],
    "safety_bounds": {"max_cost": 10, "max_time": "1.5 hours", "warnings": None},
    "learnings": ["Look before"],
}


def test_what_was_written_by_hand_is_taken_as_it_was_meant() -> None:
    """Names for objects, numbers for text, null for nothing, words as people write them."""
    state = State.of_json(copy.deepcopy(BY_HAND))
    assert state.orchestrator.status == "executing"
    assert [each.task for each in state.completed_tasks] == ["1.1", "1.2"]
    assert state.current is not None
    assert state.current.task == "2.1"
    after = tasks.complete_task(tasks.start_task(state, AT), AT, cost="1")
    told = after.to_json()
    assert told["completed_tasks"][:2] == BY_HAND["completed_tasks"]
    assert told["supervisor"] is None
    assert told["safety_bounds"] == {**BY_HAND["safety_bounds"], "cost_so_far": "$1"}
