"""Phases under other names: steps, numbered headings, Roman numerals, words, keys; and what tells of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Declaration, Looked, PhaseMark
from holdfast.formats.canonical.sources.phase_marks import phase_of

HEAD = "# X\n\nStatus: 🔄 In Progress\n\n"


@pytest.fixture
def running(plan: Callable[[str], Looked]) -> Callable[[str], Declaration]:
    """What a plan in progress declares that goes on with a text."""

    def declared(text: str) -> Declaration:
        looked = plan(f"{HEAD}{text}\n")
        assert looked.declaration is not None, looked.reason
        return looked.declaration

    return declared


@pytest.mark.parametrize(
    "text",
    [
        "## Step 1: Dump ✅\n## Step 2: Transform 🔄\n## Step 3: Load",
        "## Phases\n### 1. Dump ✅\n### 2. Transform 🔄\n### 3. Load",
        "## Implementation steps\n### 1. Dump ✅\n### 2. Transform 🔄\n### 3. Load\n## 4. Notes",
        "## Phase I: Dump ✅\n## Phase II: Transform 🔄\n## Phase III: Load",
        "## Phase One: Dump ✅\n## Phase Two: Transform 🔄\n## Phase Three: Load",
        "## Phase 1️⃣: Dump ✅\n## Phase 2️⃣: Transform 🔄\n## Phase 3️⃣: Load",
        "| Phase | Goal | Status |\n|---|---|---|\n| Phase 1 | Dump | ✅ |\n| Phase 2 | Transform | 🔄 |\n| Phase 3 | Load | |",
        "| Phase | Task | Status |\n|---|---|---|\n| Phase 1 | Dump | ✅ merged |\n| Phase 2 | Transform | 🔄 |\n| Phase 3 | Load | |",
    ],
)
def test_phases_by_other_names(running: Callable[[str], Declaration], text: str) -> None:
    """All say 2 of 3, Transform."""
    found = running(text)
    assert [(each.name, each.done) for each in found.phases] == [
        ("Dump", True),
        ("Transform", False),
        ("Load", False),
    ]
    assert found.phase == PhaseMark(2, 3, "Transform", derived=True)


@pytest.mark.parametrize(
    "text",
    [
        "Workflow.\n\n## Steps to reproduce\n### 1. Click\n### 2. Look",
        "Workflow.\n\n## Next Steps\n### 1. Click\n### 2. Look",
        "Workflow.\n\n## Notes\n### 1. Click\n### 2. Look",
        "Workflow.\n\n## Step 1: alone",
        "## Phase X: Name of the phase",
        "## Phase I learned from",
        "Phase: 2/4 - Build\n\n## Step 1: a\n## Step 2: b",
        "Phase: 2\n\n## Step 1: a\n## Step 2: b",
    ],
)
def test_what_is_no_list_of_phases(running: Callable[[str], Declaration], text: str) -> None:
    """Other numbered headings, and the steps of one phase."""
    assert running(f"A workflow.\n\n{text}").phases == ()


def test_steps_inside_of_phases_stay_steps(running: Callable[[str], Declaration]) -> None:
    """Where phases are so called, steps are theirs."""
    found = running("## Phase 1: A\n### Step 1: a\n### Step 2: b\n## Phase 2: B")
    assert [each.name for each in found.phases] == ["A", "B"]


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ("Build (3/5)", PhaseMark(3, 5, "Build")),
        ("Build, step 3 of 5", PhaseMark(3, 5, "Build")),
        ("3️⃣/5 – Token refresh", PhaseMark(3, 5, "Token refresh")),
        ("Build (9/5)", PhaseMark(name="Build")),
        ("Build (part 1)", PhaseMark(name="Build (part 1)")),
        ("`2/5` - Build", PhaseMark(2, 5, "Build")),
    ],
)
def test_a_count_behind_the_name(value: str, mark: PhaseMark | None) -> None:
    """In brackets, or as a step; digits may be keys."""
    assert phase_of(value).mark == mark


def test_a_name_in_a_status_has_both_brackets_or_none(plan: Callable[[str], Looked]) -> None:
    """The bracket around the name is no part of it."""
    for name, kept in (("(Indexer)", "Indexer"), (": Indexer (part 1)", "Indexer (part 1)")):
        found = plan(f"# X\n**Status**: 🔄 **In Progress** — Phase 2 of 3 {name}\n").declaration
        assert found is not None
        assert found.phase == PhaseMark(2, 3, kept)


@pytest.mark.parametrize(
    "text",
    [
        "## Completed phases\n- Phase 1/5: Research ✅\n\n## Current phase\nPhase 2/5: Build",
        "## Completed phases\n- Phase 1/5: Research\n\n## Current phase\nPhase 2/5: Build",
        "## Current phase\n- Phase 2/5: Build\n\n## Completed phases\n- Phase 1/5: Research ✅",
        "- Phase 1/5: Research ✅\n- Phase 2/5: Build\n- Phase 3/5: Ship",
        "- Phase 3/5: Ship ⬜\n- Phase 1/5: Research ✅\n- Phase 2/5: Build 🔄",
    ],
)
def test_a_counted_phase_that_is_over(local: Callable[[str], Looked], text: str) -> None:
    """Is not where the work is."""
    found = local(f"# Workflow State\nWorkflow: X\n\n{text}\n").declaration
    assert found is not None
    assert found.phase == PhaseMark(2, 5, "Build")


def test_the_last_of_phases_that_are_all_over(local: Callable[[str], Looked]) -> None:
    """There is no other."""
    found = local("Workflow: X\n- Phase 1/3: A ✅\n- Phase 2/3: B ✅\n").declaration
    assert found is not None
    assert found.phase == PhaseMark(2, 3, "B")


@pytest.mark.parametrize("label", ["**Exit criteria:**", "**Gate:**", "### Gate", "**Gate**"])
def test_a_gate_as_a_list(running: Callable[[str], Declaration], label: str) -> None:
    """Its first item."""
    found = running(f"## Phase 1: A\n{label}\n\n- green\n- fast\n")
    assert found.phases[0].gate == "green"
    assert running(f"A workflow.\n\n{label}\n- green\n").gate == "green"


def test_prose_below_a_label_is_no_gate(running: Callable[[str], Declaration]) -> None:
    """Only an item is, and only right below."""
    found = running("## Phase 1: A\n**Gate:**\n\nWe shall see.\n- [ ] b\n")
    assert found.phases[0].gate is None


def test_code_in_a_gate_stays_code(local: Callable[[str], Looked]) -> None:
    """The marks are part of the value; those around all of it are not."""
    for written, gate in (
        ("`make test` passes", "`make test` passes"),
        ("`make test`", "make test"),
    ):
        for label in ("Gate:", "**Gate:**", "**Gate**:"):
            found = local(f"Workflow: X\nPhase: 1/2\n{label} {written}\n").declaration
            assert found is not None
            assert found.gate == gate


@pytest.mark.parametrize(
    "title", ["## Next Steps", "## Next Actions", "**Next steps:**", "## Next"]
)
def test_the_next_action_of_a_list(local: Callable[[str], Looked], title: str) -> None:
    """Its first item that is open; a plan's own "Next Steps" come after it."""
    found = local(f"Workflow: X\nPhase: 1/2\n\n{title}\n- [x] a\n- [ ] b\n- [ ] c\n").declaration
    assert found is not None
    assert found.next_action == "b"


def test_next_steps_of_a_plan_are_not_its_next_action(
    running: Callable[[str], Declaration],
) -> None:
    """They come after the work."""
    assert running("A workflow.\n\n## Next Steps\n- Deploy\n").next_action is None


@pytest.mark.parametrize("title", ["Critical Reminders", "Important Reminders", "Must Remember"])
def test_more_titles_of_sections(local: Callable[[str], Looked], title: str) -> None:
    """Reminders and required reading."""
    text = f"Workflow: X\nPhase: 1/2\n\n## {title}\n- r\n\n## Must Read\n- docs/a.md\n"
    found = local(text).declaration
    assert found is not None
    assert (found.key_reminders, found.required_reading) == (("r",), ("@docs/a.md",))


def test_the_total_as_a_field(local: Callable[[str], Looked]) -> None:
    """It completes a phase without one."""
    for phase, mark in (("2", PhaseMark(2, 5)), ("2/3", PhaseMark(2, 3))):
        found = local(f"Workflow: X\nPhase: {phase}\n- Total phases: 5\n").declaration
        assert found is not None
        assert found.phase == mark
