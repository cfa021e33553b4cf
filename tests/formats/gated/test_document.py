"""The document is true of us: its examples, its rules, its lists of transitions, its patterns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gatedwork import (
    APPROVE_PHASE,
    DOCUMENT,
    MOVES,
    NAMES,
    begin,
    blocks,
    put,
    read,
    state_example,
    status,
    status_example,
    walk,
)
from holdfast.formats.gated import machine
from holdfast.formats.gated.files import STATE_KIND, STATUS_KIND
from holdfast.formats.gated.format import FORMAT
from holdfast.testing import Project

ROOT = Path(__file__).parents[3]


def problems(data: object, path: str = "workflow/x/workflow-state.json") -> tuple[str, ...]:
    report = FORMAT.inspect(Path(path), json.dumps(data).encode())
    assert report is not None
    return report.problems


@pytest.mark.parametrize(
    ("path", "data"),
    [("workflow-state.json", state_example()), ("01-requirements/status.json", status_example())],
)
def test_every_example_is_valid(path: str, data: dict[str, Any], holdfast_project: Project) -> None:
    """As `holdfast inspect` says."""
    written = put(holdfast_project, data, path)
    done = holdfast_project.run("inspect", str(written))
    assert done.stdout == f"{written}: valid, format gated\n"


def test_files_of_an_earlier_version_are_valid() -> None:
    """Without pr_number and last_reviewed_at."""
    data = state_example()
    del data["pr_number"], data["last_reviewed_at"]
    assert problems(data) == ()
    assert STATE_KIND.parse(json.dumps(data).encode()).pr_number is None


def test_what_is_read_is_written_as_it_was() -> None:
    """Byte for byte, in the form that jq prints: order, nulls and unknown fields."""
    for example, kind in ((state_example(), STATE_KIND), (status_example(), STATUS_KIND)):
        data = {"mine": {"z": 1, "a": None}, **example, "owner": ["x", {"deep": 1.5}]}
        raw = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
        assert kind.parse(raw).encode() == raw


MISSING = "found nothing"
BROKEN_STATES: list[tuple[str, Any, str]] = [
    ("feature", None, f"feature: expected the slug of the feature, {MISSING}"),
    ("feature", "", "feature: expected a text that is not empty, found ''"),
    ("feature", 7, "feature: expected a text, found 7"),
    ("current_phase", None, f"current_phase: expected a valid phase name, {MISSING}"),
    ("current_phase", "06-party", "current_phase: expected one of 01-requirements, "),
    ("status", None, f"status: expected a valid status of a workflow, {MISSING}"),
    ("status", "approved", "status: expected one of in_progress, completed, finalized, "),
    ("phases", None, f"phases: expected an object with all 5 phases, {MISSING}"),
    ("phases", {}, "phases: expected an object with all 5 phases, "),
]
BROKEN_STATUSES: list[tuple[str, Any, str]] = [
    ("phase", None, f"phase: expected the name of its folder, {MISSING}"),
    ("phase", "02-architecture", "phase: expected 01-requirements, as the folder is called"),
    ("status", None, f"status: expected a valid status of a phase, {MISSING}"),
    ("status", "completed", "status: expected one of pending, in_progress, in_review, "),
    ("iterations", None, f"iterations: expected a number, 0-4, {MISSING}"),
    ("iterations", -1, "iterations: expected at least 0, found -1"),
    ("iterations", 5, "iterations: expected at most 4, found 5"),
    ("iterations", "2", "iterations: expected a whole number, found '2'"),
    ("max_iterations", None, f"max_iterations: expected a number, typically 4, {MISSING}"),
    ("max_iterations", 0, "max_iterations: expected at least 1, found 0"),
]


@pytest.mark.parametrize(("field", "value", "expected"), BROKEN_STATES)
def test_each_rule_of_the_state_broken_once(field: str, value: Any, expected: str) -> None:
    """The rule is named."""
    data = {**state_example(), field: value}
    if value is None:
        del data[field]
    (problem,) = problems(data)
    assert problem.startswith(expected)


@pytest.mark.parametrize(("field", "value", "expected"), BROKEN_STATUSES)
def test_each_rule_of_a_status_broken_once(field: str, value: Any, expected: str) -> None:
    """The rule is named."""
    data = {**status_example(), field: value}
    if value is None:
        del data[field]
    (problem,) = problems(data, "workflow/x/01-requirements/status.json")
    assert problem.startswith(expected)


@pytest.mark.parametrize("name", NAMES)
def test_each_phase_has_to_be_there(name: str) -> None:
    """All five of them."""
    data = state_example()
    del data["phases"][name]
    (problem,) = problems(data)
    assert problem.startswith("phases: expected an object with all 5 phases")
    assert name in problem


def test_every_word_of_the_document_is_valid() -> None:
    """Also `abandoned`, the earlier word for cancelled."""
    of_workflow, of_phase = (
        re.findall(r"^- `(\w+)` - ", part, re.MULTILINE)
        for part in DOCUMENT.split("### Workflow Status")[1].split("## State Tr")[0].split("### Ph")
    )
    assert len(of_workflow) == len(of_phase) == 6
    over = [word for word in of_workflow if word not in {"completed", "escalated"}]
    assert [problems({**state_example(), "status": word}) for word in over] == [()] * 4
    for word in of_phase:
        assert problems({**status_example(), "status": word}) == ()


def _listed(block: str) -> list[tuple[str, str]]:
    pairs = re.findall(r"^(\w+) → (\w+) ", block, re.MULTILINE)
    assert len(pairs) == len(block.splitlines())
    return pairs


def _ours(table: tuple[machine.Transition, ...]) -> set[tuple[str, str]]:
    return {(each.before, each.after) for each in table if not each.added and each.event != "reset"}


def test_the_machine_has_every_transition_of_the_document_and_no_other() -> None:
    """The two lists; what is added says so, and the resets are the document's own regression."""
    of_phase, of_workflow = blocks("State Transitions")
    assert _ours(machine.PHASE) == set(_listed(of_phase))
    assert _ours(machine.WORKFLOW) == set(_listed(of_workflow))
    resets = [each for each in machine.PHASE if each.event == "reset"]
    assert {each.after for each in resets} == {"pending"}


def test_what_is_added_is_what_the_commands_need() -> None:
    """Escalating by hand, overriding, cancelling what is escalated."""
    added = [each for each in (*machine.PHASE, *machine.WORKFLOW) if each.added]
    assert {(each.before, each.event) for each in added} == {
        ("in_progress", "escalate"),
        ("in_review", "escalate"),
        ("user_review", "escalate"),
        ("escalated", "override"),
        ("escalated", "cancel"),
    }


def test_the_tables_in_our_document_are_those_of_the_machine() -> None:
    """docs/formats/gated.md prints each row, and marks what is added."""
    text = (ROOT / "docs/formats/gated.md").read_text("utf-8")
    for each in (*machine.PHASE, *machine.WORKFLOW):
        row = f"| {each.before} | {each.event} | {each.after} | {each.when} |"
        assert f"{row} {'added' if each.added else ''} |".replace("|  |", "| |") in text, row


def subset(whole: dict[str, Any], part: dict[str, Any]) -> bool:
    return all(whole.get(key) == value for key, value in part.items())


def test_the_update_patterns(holdfast_project: Project) -> None:
    """Each block below "Update Patterns", with its placeholders filled in."""
    here = begin(holdfast_project)
    now = here.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    started = {"status": "in_progress", "iterations": 0, "current_feedback": None}
    assert subset(status(holdfast_project, 1), started)
    assert read(holdfast_project)["phases"][NAMES[0]]["started_at"] == now
    walk(here, "submit")
    assert subset(status(holdfast_project, 1), {"status": "in_review", "iterations": 1})
    walk(here, "revise unclear")
    revised = {"status": "in_progress", "iterations": 2, "current_feedback": "unclear"}
    assert subset(status(holdfast_project, 1), revised)
    walk(here, "submit", "approve-internal #7")
    passed = {"status": "user_review", "current_feedback": None}
    assert subset(status(holdfast_project, 1), passed)
    walk(here, "request-changes shorter")
    wanted = {"status": "in_progress", "current_feedback": "shorter", "iterations": 2}
    assert subset(status(holdfast_project, 1), wanted)
    walk(here, *APPROVE_PHASE)
    approved = {"status": "approved", "current_feedback": None}
    assert subset(status(holdfast_project, 1), approved)
    assert read(holdfast_project)["phases"][NAMES[0]]["completed_at"] == now
    walk(here, *APPROVE_PHASE, "submit", f"regress {NAMES[0]} wrong")
    again = {"status": "in_progress", "current_feedback": "wrong", "iterations": 2}
    assert subset(status(holdfast_project, 1), again)
    reset = {"status": "pending", "iterations": 0}
    phases = read(holdfast_project)["phases"]
    for number in (2, 3):
        assert subset(status(holdfast_project, number), reset)
        cleared = {**reset, "started_at": None, "completed_at": None}
        assert subset(phases[NAMES[number - 1]], cleared)
    assert read(holdfast_project)["current_phase"] == NAMES[0]
    walk(here, "escalate lost")
    escalated = {"status": "escalated", "escalation_reason": "lost"}
    assert subset(read(holdfast_project)["phases"][NAMES[0]], escalated)


def test_the_history_has_the_words_of_the_example(holdfast_project: Project) -> None:
    """Created and revised, with the verdict of the review."""
    here = begin(holdfast_project)
    walk(here, "submit", "revise", "submit", "approve-internal #7")
    history = [
        {key: entry[key] for key in ("iteration", "action", "result")}
        for entry in status(holdfast_project, 1)["history"]
        if entry["result"]
    ]
    wanted = [
        {key: entry[key] for key in ("iteration", "action", "result")}
        for entry in status_example()["history"]
    ]
    assert history == wanted
    entries = status(holdfast_project, 1)["history"]
    assert {tuple(entry) for entry in entries} == {tuple(status_example()["history"][0])}


def test_every_move_is_tried_somewhere() -> None:
    """The commands of the tests are those of the machine."""
    events = {each.event for each in (*machine.PHASE, *machine.WORKFLOW)}
    assert set(MOVES) == events - {"start", "reset", "exhaust", "finalize"}
