"""Phase expressions: what can be read in them, and what must not be made into a number or a name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Looked, PhaseMark
from holdfast.formats.canonical.sources.phase_marks import phase_in_status, phase_of


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ("2.1/5", PhaseMark(2, 5)),
        ("2b/5 - Build", PhaseMark(2, 5, "Build")),
        ("2.1", PhaseMark(2)),
        ("2b: Build", PhaseMark(2, None, "Build")),
        ("two of five", PhaseMark(2, 5)),
        ("Two", PhaseMark(2)),
        ("four/ten - X", PhaseMark(4, 10, "X")),
        ("4 von 10 - Prüfung", PhaseMark(4, 10, "Prüfung")),
        ("4 de 10", PhaseMark(4, 10)),
        ("4 sur 10 : Essai", PhaseMark(4, 10, "Essai")),
        ("4 из 10 - Проверка", PhaseMark(4, 10, "Проверка")),
        ("4 z 10", PhaseMark(4, 10)),
        ("4 out of 10", PhaseMark(4, 10)),
        ("4 (of 10) Build", PhaseMark(4, 10, "Build")),
        ("[2/5 - Build]", PhaseMark(2, 5, "Build")),
        ("1/3 → 2/3 - B", PhaseMark(2, 3, "B")),
        ("2/5 - Read → write", PhaseMark(2, 5, "Read → write")),
    ],
)
def test_what_can_be_read(value: str, mark: PhaseMark) -> None:
    """Parts of a phase, number words, and "of" in other languages."""
    assert phase_of(value)[::2] == (mark, True)


@pytest.mark.parametrize(
    "value", ["2-3", "2–3 - Build", "2 and 3", "2, 3", "2/?", "50%", "2..4", "zero of ten", "0", "9/4", "2026-01-05"]
)  # fmt: skip
def test_what_cannot_be_read_is_no_phase(local: Callable[[str], Looked], value: str) -> None:
    """No number and no name comes of it, and the reason says so."""
    looked = local(f"# Workflow State\nWorkflow: X\nPhase: {value}\n")
    assert looked.declaration is not None
    assert looked.declaration.phase is None
    assert f"the phase '{value}' (line 3) is unreadable" in looked.reason


@pytest.mark.parametrize("name", ["2nd pass", "3D models", "One on one", "Design/Build", "One last thing", "Ten pins"])  # fmt: skip
def test_names_with_numbers_stay_names(name: str) -> None:
    """A number at the beginning of a word counts nothing."""
    assert phase_of(name).mark == PhaseMark(name=name)


@pytest.mark.parametrize(
    ("value", "reading"),
    [
        ("3/7 (Design) ✅", (PhaseMark(3, 7, "Design"), "completed")),
        ("2 (Build): IN PROGRESS", (PhaseMark(2, None, "Build"), "in_progress")),
        ("2/5 (Build) - blocked", (PhaseMark(2, 5, "Build"), "blocked")),
        ("2/5 - Build (part 1)", (PhaseMark(2, 5, "Build (part 1)"), None)),
    ],
)
def test_a_name_in_brackets_before_a_status(
    value: str, reading: tuple[PhaseMark, str | None]
) -> None:
    """The brackets are not part of the name."""
    assert phase_of(value)[:2] == reading


@pytest.mark.parametrize(
    ("value", "reading"),
    [
        ("In Progress - Phase 2 of 3", (PhaseMark(2, 3), None)),
        ("🔄 In Progress (Phase 2/3: Build)", (PhaseMark(2, 3, "Build"), None)),
        ("Phase 2 in progress", (PhaseMark(2), "in_progress")),
        ("Phase 2: Build in progress", (PhaseMark(2, None, "Build"), "in_progress")),
        ("Phase 1 complete, Phase 2 in progress", (PhaseMark(2), "in_progress")),
        ("Phase 3 blocked by the API", (PhaseMark(3), "blocked")),
        ("In Progress - Phase 1 complete", None),
        ("Phase 1 complete, Phase 2 next", None),
        ("Phase 1 and Phase 2 of 4", None),
        ("In Progress", None),
    ],
)
def test_the_phase_in_a_status(value: str, reading: tuple[PhaseMark, str | None] | None) -> None:
    """A status may say where the work is; a phase that is over is not where it is."""
    found = phase_in_status(value)
    assert (found[:2] if found else None) == reading


def test_a_status_tells_the_phase_where_no_field_does(local: Callable[[str], Looked]) -> None:
    """That is a phase with a number, and so enough without a marker."""
    found = local("Workflow: X\nStatus: In progress - Phase 2 of 3\n").declaration
    assert found is not None
    assert (found.phase, found.status) == (PhaseMark(2, 3), "in_progress")
    stated = local("Workflow: X\nPhase: 1/3\nStatus: Phase 2 in progress\n").declaration
    assert stated is not None
    assert (stated.phase, stated.status) == (PhaseMark(1, 3), "in_progress")


@pytest.mark.parametrize("phase", ["see roadmap", "Build", "Test ✅"])
def test_a_mere_name_is_no_phase_in_prose(local: Callable[[str], Looked], phase: str) -> None:
    """Without a marker or front matter, only a number shows that this is a declaration."""
    prose = f"# Notes\nWorkflow: always branch from main\nPhase: {phase}\n"
    looked = local(prose)
    assert (looked.declaration, looked.closed) == (None, None)
    assert f"the phase '{phase}' (line 3) has no number" in looked.reason


def test_a_mere_name_is_a_phase_under_a_marker(local: Callable[[str], Looked]) -> None:
    """The merge looks the name up in the plan."""
    for text in (
        "# Workflow State\nWorkflow: X\nPhase: Build",
        "---\nworkflow: X\n---\nPhase: Build",
    ):
        found = local(text).declaration
        assert found is not None
        assert found.phase == PhaseMark(name="Build")


def test_fields_as_headings_with_the_value_below(local: Callable[[str], Looked]) -> None:
    """A name and a phase on the line below, but no prose."""
    found = local("## Workflow State\n\n### Workflow\nFoo\n\n### Phase\n2/5 - Build\n").declaration
    assert found is not None
    assert (found.workflow, found.phase) == ("Foo", PhaseMark(2, 5, "Build"))
    prose = "### Workflow\nAlways branch from main.\n\n### Phase\n2/5 - Build\n"
    assert local(f"## Workflow State\n\n{prose}").declaration is None
    assert local(prose.replace(".", "")).declaration is None


def test_a_phase_in_a_checkbox(
    local: Callable[[str], Looked], plan: Callable[[str], Looked]
) -> None:
    """An open one that counts is where the work is; a mere step of a list is not."""
    found = local("Workflow: X\n- [x] Phase: 1/5 - Design\n- [ ] Phase: 2/5 - Build\n").declaration
    assert found is not None
    assert found.phase == PhaseMark(2, 5, "Build")
    planned = plan("# X\nStatus: active\n\n- [ ] Phase: 2/5 - Build\n").declaration
    assert planned is not None
    assert planned.phase == PhaseMark(2, 5, "Build")
    assert local("Workflow: X\n- [ ] Phase: Design\n").declaration is None
