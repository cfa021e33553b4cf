"""`inspect`: the document's examples stand as they are, and each wrong field is named."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.formats.canonical.format import FORMAT
from holdfast.testing import Compactions, Project

SAMPLES = sorted((Path(__file__).parents[2] / "samples" / "canonical").glob("*.json"))
GOOD = json.loads((SAMPLES[0].parent / "required-fields.json").read_text())


def problems(data: object) -> tuple[str, ...]:
    report = FORMAT.inspect(Path("state.json"), json.dumps(data).encode())
    assert report is not None
    return report.problems


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_documents_examples_are_valid_as_they_stand(
    path: Path, holdfast_project: Project
) -> None:
    """Examples 1 to 3 and the example of the required fields."""
    done = holdfast_project.run("inspect", str(path))
    assert done.stdout == f"{path}: valid, format canonical\n"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_documents_examples_are_restored(
    path: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Every fact of the example is in the guidance, and the file is left as it was."""
    text = path.read_text(encoding="utf-8")
    kept = holdfast_project.write(
        "untracked/workflow-state/feature-implementation/"
        "state-feature-implementation-20251209_143052.json",
        text,
    )
    example = json.loads(text)
    guidance = compaction_cycle().guidance
    facts = [example["workflow"], example["phase"]["name"], *example["required_reading"]]
    facts += [f"- {each}" for each in example["key_reminders"]]
    facts += [f"- {key}: {value}" for key, value in example["context"].items()]
    facts.append(f"phase {example['phase']['current']} of {example['phase']['total']}")
    for fact in facts:
        assert fact in guidance
    assert kept.read_text() == text


def test_optional_fields_may_be_missing() -> None:
    """The field table: context and key_reminders are optional."""
    data = {key: value for key, value in GOOD.items() if key not in {"context", "key_reminders"}}
    assert problems(data) == ()
    assert problems({**data, "team": "x"}) == ()


WRONG: list[tuple[list[str], Any, str]] = [
    (["workflow"], "", "workflow: expected a name, found ''"),
    (["workflow"], 5, "workflow: expected a text, found 5"),
    (
        ["workflow_type"],
        "feature",
        "workflow_type: expected one of planning, qa-loop, implementation, custom, found 'feature'",
    ),
    (
        ["phase"],
        "four/ten",
        "phase: expected an object, found 'four/ten'",
    ),
    (["phase", "current"], "four", "phase.current: expected a whole number, found 'four'"),
    (["phase", "current"], 0, "phase.current: expected at least 1, found 0"),
    (["phase", "current"], True, "phase.current: expected a whole number, found True"),
    (["phase", "current"], 6, "phase.current: expected at most phase.total (5), found 6"),
    (["phase", "current"], "3", "phase.current: expected a whole number, found '3'"),
    (["phase", "total"], 2.0, "phase.total: expected a whole number, found 2.0"),
    (["phase", "total"], 2.5, "phase.total: expected a whole number, found 2.5"),
    (["phase", "name"], None, "phase.name: expected a name, as text, found nothing"),
    (
        ["phase", "status"],
        "running",
        "phase.status: expected one of not_started, in_progress, completed, blocked, found 'running'",
    ),
    (
        ["required_reading"],
        ["@a.md", "b.md"],
        "required_reading.1: expected a path with @ in front, found 'b.md'",
    ),
    (
        ["required_reading"],
        "@a.md",
        "required_reading: expected a list, found '@a.md'",
    ),
    (["key_reminders"], [1], "key_reminders.0: expected a text, found 1"),
    (["context"], [], "context: expected an object, found []"),
    (
        ["created_at"],
        "yesterday",
        "created_at: expected a time in ISO 8601, such as 2025-12-09T14:30:52Z, found 'yesterday'",
    ),
]


@pytest.mark.parametrize(("where", "value", "message"), WRONG)
def test_each_wrong_field_is_named_with_what_is_expected(
    where: list[str], value: Any, message: str
) -> None:
    """One wrong field, one line."""
    data = copy.deepcopy(GOOD)
    target = data
    for key in where[:-1]:
        target = target[key]
    target[where[-1]] = value
    assert problems(data) == (message,)


@pytest.mark.parametrize(
    "where",
    [
        ["workflow_type"],
        ["phase"],
        ["phase", "current"],
        ["phase", "total"],
        ["phase", "name"],
        ["phase", "status"],
        ["required_reading"],
        ["created_at"],
    ],
)
def test_each_missing_field_is_named(where: list[str]) -> None:
    """All that the field table requires."""
    data = copy.deepcopy(GOOD)
    target = data
    for key in where[:-1]:
        target = target[key]
    del target[where[-1]]
    (problem,) = problems(data)
    assert problem.startswith(f"{'.'.join(where)}: expected ")
    assert problem.endswith(", found nothing")


def test_exit_codes_and_other_files(holdfast_project: Project) -> None:
    """0 for valid, 1 for wrong, unknown or missing."""
    project = holdfast_project
    wrong = project.write("wrong.json", json.dumps({**GOOD, "phase": "four/ten"}))
    done = project.run("inspect", str(wrong), check=False)
    assert done.returncode == 1
    assert "phase: expected an object" in done.stdout
    other = project.write("other.json", '{"status": "running"}')
    done = project.run("inspect", str(other), check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "not in a workflow format" in done.stderr
    assert project.run("inspect", "missing.json", check=False).returncode == 1
    torn = project.write("untracked/workflow-state/x/state-x-20251209_143052.json", '{"work')
    done = project.run("inspect", "--json", str(torn), check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["valid"] is False


def test_what_we_write_is_valid(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """From markdown, by command, and after cycles."""
    holdfast_project.declare("W", phase="2/4 - Build", reading=["@a.md"], reminders=["r"])
    compaction_cycle(2)
    holdfast_project.run("block", "waiting")
    holdfast_project.run("read", "docs/b.md")
    (path,) = holdfast_project.state_files()
    assert "valid" in holdfast_project.run("inspect", str(path)).stdout
    assert holdfast_project.state()["required_reading"] == ["@a.md", "@docs/b.md"]


@pytest.mark.needs("jq")
def test_a_state_advanced_by_jq(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Agents also use jq; its change counts and its spelling is accepted."""
    holdfast_project.declare("W", phase="1/3 - A", reading=["@a.md"])
    compaction_cycle()
    (path,) = holdfast_project.state_files()
    program = '.phase.current = 2 | .phase.name = "B" | .key_reminders += ["by jq"]'
    jq = shutil.which("jq")
    assert jq
    done = subprocess.run([jq, program, str(path)], capture_output=True, check=True)
    path.write_bytes(done.stdout)
    guidance = compaction_cycle().guidance
    assert "phase 2 of 3: B." in guidance
    assert "- by jq" in guidance
