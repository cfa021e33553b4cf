"""Definitions from a project: what is right, and each way of being wrong with its own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.errors import DefinitionInvalid, NoSuchWorkflow
from holdfast.files.store import Store
from holdfast.formats.pipeline import definitions, operations
from holdfast.formats.pipeline.definitions import FOLDER, RESERVED, Definition
from holdfast.formats.pipeline.model import State
from pipework import place, workflow_state

REVIEW = """
name = "code-review"
description = "Read a change, try it, and write down what is to be said."

[[steps]]
step = 1
name = "Read"
agent = "reader"
outputs = ["notes"]

[[steps]]
step = 2
name = "Propose"
agents = ["critic", "author"]
parallel = true
human_approval = true
approval_type = "select_variant"

[[steps]]
step = 3
name = "Write"
agent = "writer"
retry_enabled = true
max_attempts = 2

[[steps]]
step = 4
name = "Check"
parallel_agents = 3
triggers_retry = true
"""


def define(root: Path, name: str, text: str, ending: str = ".toml") -> Path:
    path = root / FOLDER / f"{name}{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def wrong(text: str, name: str = "x.toml") -> str:
    with pytest.raises(DefinitionInvalid) as caught:
        definitions.parse(Path(name), text.encode())
    return "\n".join(caught.value.problems)


def steps(*each: str, head: str = 'name = "x"') -> str:
    """TOML with steps that are right but for what *each* adds or says otherwise."""
    blocks = []
    for number, text in enumerate(each, 1):
        lines = text.splitlines()
        fields = {line.partition("=")[0].strip() for line in lines}
        lines += [] if "step" in fields else [f"step = {number}"]
        lines += [] if "name" in fields else [f'name = "Step {number}"']
        blocks.append("\n".join(["[[steps]]", *lines]))
    return "\n".join([head, *blocks])


def test_what_is_right_is_read(tmp_path: Path) -> None:
    """From TOML, and the same from JSON."""
    definition = definitions.read(define(tmp_path, "code-review", REVIEW))
    assert definition.retried_by(4) == 3
    assert definition.retried_by(3) == 3
    assert definition.retried_by(2) is None
    text = json.dumps(definition.to_json())
    again = definitions.read(define(tmp_path, "code-review", text, ".json"))
    assert again == definition


WRONG: list[tuple[str, str]] = [
    ("name = ", "not TOML: "),
    (steps(), "steps: expected at least one step, found none"),
    (steps("", head=""), "name: expected a value, found nothing"),
    (
        steps("", head='name = "Code Review"'),
        "name: expected lower-case letters, digits and single",
    ),
    (steps("", head='name = "../up"'), "name: expected lower-case letters"),
    (steps("", head=f'name = "{"x" * 41}"'), "at most 40"),
    (steps("", head='name = "planning"'), "name: planning is built in"),
    (steps("", head='name = "status"'), "name: status is a field of every state"),
    (steps(*[""] * 101), "steps: expected at most 100, found 101"),
    (steps("", "step = 3"), "step 2.step: expected 2, its place in the list, found 3"),
    (steps("", "step = 1"), "step 2.step: expected 2, its place in the list, found 1"),
    (steps("", 'name = "step 1"'), "step 2.name: expected a name of its own, found 'step 1'"),
    (steps('name = ""'), "step 1.name: expected a text that is not empty, found ''"),
    (steps("", "prerequisites = [9]"), "step 2.prerequisites: there is no step 9"),
    (
        steps("", "prerequisites = [2]"),
        "step 2.prerequisites: 2 does not come before; number them in the order of the work",
    ),
    (
        steps("prerequisites = [2]", ""),
        "step 1.prerequisites: 2 does not come before; number them in the order of the work",
    ),
    (
        steps("prerequisites = [2]", "prerequisites = []"),
        "step 1.prerequisites: 2 does not come before; number them in the order of the work",
    ),
    (steps("aproval = true"), "step 1.aproval: expected no such field, found True"),
    (steps('human_approval = "yes"'), "step 1.human_approval: expected true or false"),
    (
        steps('human_approval = true\napproval_type = "vote"'),
        "step 1.approval_type: expected one of approve, select_variant, found 'vote'",
    ),
    (steps('approval_type = "approve"'), "step 1.approval_type: has no effect without"),
    (steps("max_attempts = 2"), "step 1.max_attempts: has no effect without retry_enabled"),
    (steps("retry_enabled = true\nmax_attempts = 0"), "max_attempts: expected at least 1, found 0"),
    (
        steps("", "triggers_retry = true"),
        "step 2.triggers_retry: no step before it has retry_enabled",
    ),
    (steps('agent = "a"\nagents = ["b"]'), "step 1: expected either agent or agents"),
    (
        steps("", head='name = "x"\nphases = [{ phase = 1, name = "P" }]'),
        "phases: expected either steps or phases",
    ),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    """A field that we do not know is a slip of the pen, and would take away an approval in silence."""
    assert told in wrong(text)


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_broken_json_is_told(raw: bytes) -> None:
    """No traceback, however it is broken."""
    with pytest.raises(DefinitionInvalid, match="not JSON"):
        definitions.parse(Path("x.json"), raw)


def test_the_file_is_called_as_the_definition_is(tmp_path: Path) -> None:
    """Else two files could define one name."""
    path = define(tmp_path, "other", REVIEW)
    with pytest.raises(DefinitionInvalid, match="expected other, as the file is called"):
        definitions.read(path)


@pytest.mark.parametrize("name", ["../secret", ".hidden", "no-such", "", "a/b"])
def test_a_name_that_is_none_leads_nowhere(name: str, tmp_path: Path) -> None:
    """It comes from a command line, and would be a part of a path."""
    define(tmp_path, "code-review", REVIEW)
    (tmp_path / "workspace" / "secret.toml").write_text(REVIEW, encoding="utf-8")
    with pytest.raises(NoSuchWorkflow) as caught:
        definitions.defined(Store(tmp_path), name)
    assert "generation, planning, code-review" in caught.value.hint


def test_a_definition_that_lies_outside_is_none(tmp_path: Path) -> None:
    """A link in a repository."""
    outside = tmp_path / "outside.toml"
    outside.write_text(REVIEW, encoding="utf-8")
    folder = tmp_path / "project" / FOLDER
    folder.mkdir(parents=True)
    (folder / "code-review.toml").symlink_to(outside)
    with pytest.raises(NoSuchWorkflow):
        definitions.defined(Store(tmp_path / "project"), "code-review")


def test_a_run_keeps_the_definition_that_it_was_begun_with(tmp_path: Path) -> None:
    """The file may be edited or deleted meanwhile."""
    path = define(tmp_path, "code-review", REVIEW)
    started = operations.start_workflow(place(tmp_path), "code-review", context={"pr": 42})
    assert started["workflow_id"] == "code-review-pr-42-20251110-143000"
    path.unlink()
    state = workflow_state(place(tmp_path), started["workflow_id"])
    assert list(state)[-1] == "code-review"
    assert State.of_json(state).definition.retried_by(4) == 3


def test_a_state_that_fits_no_definition_is_taken_by_its_own_steps() -> None:
    """Somebody else's generation of three steps."""
    state = State.of_json(
        {
            "workflow_id": "g",
            "workflow_type": "generation",
            "status": "in_progress",
            "generation": {
                "steps": ["Read", {"name": "Write", "human_approval": {"required": True}}, "Send"]
            },
        }
    )
    definition = state.definition
    assert isinstance(definition, Definition)
    assert [each.name for each in definition.all] == ["Read", "Write", "Send"]
    assert [each.human_approval for each in definition.all] == [False, True, False]
    assert [step.number for step in state.missing(3)] == [1, 2]


def test_no_type_is_called_as_a_field_of_every_state() -> None:
    """Its section would take the place of that field."""
    assert {*State.model_fields, "workflows"} == RESERVED
