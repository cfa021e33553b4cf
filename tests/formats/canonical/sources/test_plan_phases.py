"""The many ways in which a plan lists its phases and marks where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Declaration, Looked, PhaseMark

THREE = [(1, "Design", True), (2, "Build", False), (3, "Ship", False)]


@pytest.fixture
def running(plan: Callable[[str], Looked]) -> Callable[[str], Declaration]:
    """What a plan in progress declares that goes on with a text."""

    def declared(text: str) -> Declaration:
        looked = plan(f"# X\n\n**Status**: 🔄 In Progress\n\nIts phases:\n\n{text}\n")
        assert looked.declaration is not None, looked.reason
        return looked.declaration

    return declared


def phases(declaration: Declaration) -> list[tuple[int, str, bool]]:
    return [(each.number, each.name, each.done) for each in declaration.phases]


@pytest.mark.parametrize(
    "text",
    [
        "**Phase 1: Design** — ✅ Done\n**Phase 2: Build** — 🔄 In Progress\n**Phase 3: Ship**",
        "**Phase 1: Design** (2 days) ✅\n\n**Phase 2: Build** (3 days)\n- [ ] b\n\n**Phase 3: Ship** (1 day)",
        "- **Phase 1: Design** - ✅ Complete\n- **Phase 2: Build** - 🔄\n- **Phase 3: Ship** - not started",
        "- **Phase 1: Design**: mockups - done\n- **Phase 2: Build**: code\n- **Phase 3: Ship**: release",
        "- Phase 1: Design ✅\n- Phase 2: Build 🔄\n- Phase 3: Ship",
        "1. **Phase 1**: Design ✅\n2. **Phase 2**: Build\n3. **Phase 3**: Ship",
        "| Phase | Status |\n|---|---|\n| Phase 1: Design | ✅ |\n| Phase 2: Build | 🔄 |\n| Phase 3: Ship | |",
        "| Phase | Name | Status |\n|:-:|---|--|\n| 1 | Design | ✅ Done |\n| 2 | Build | 🔄 In Progress |\n| 3 | Ship | ⬜ |",
        "| # | Phase | Owner | Status |\n|---|---|---|---|\n| 1 | **Design** | Ann | Complete |\n| 2 | Build | Bob | In progress |\n| 3 | Ship | | |",
        "## Phases\n\n| # | Name | Status |\n|---|---|---|\n| 1 | Design | ✅ Done |\n| 2 | Build | |\n| 3 | Ship | |",
        "| Phase | Done |\n|---|---|\n| 1. Design | [x] |\n| 2. Build | [ ] |\n| 3. Ship | [ ] |",
    ],
)  # fmt: skip
def test_lists_of_phases(running: Callable[[str], Declaration], text: str) -> None:
    """Bold lines with a status or a remark behind them, plain lists, tables: all say 2 of 3, Build."""
    found = running(text)
    assert phases(found) == THREE
    assert found.phase == PhaseMark(2, 3, "Build", derived=True)
    assert found.status == "in_progress"


@pytest.mark.parametrize(
    "text",
    [
        "**Phase 1: Design** was hard and we learned from it.",
        "- **Phase 1: Design** took us long",
        "- Phase 1 was hard",
        "- Phase 2: we should talk about it",
        "| # | Name | Status |\n|---|---|---|\n| 1 | Fix it | done |",
        "| Phase | Status |\n|---|---|\n| later | ✅ |",
    ],
)
def test_what_only_mentions_a_phase(running: Callable[[str], Declaration], text: str) -> None:
    """The beginning of a sentence, one remark in a list, a table of other things."""
    assert phases(running(text)) == []


@pytest.mark.parametrize(
    ("text", "mark", "listed"),
    [
        ("## Phase 1: Design - COMPLETED 2025-12-01\n- [ ] left\n## Phase 2: Build", PhaseMark(2, 2, "Build"), [(1, "Design", True), (2, "Build", False)]),
        ("## Phase 1: Design ✅ (2025-12-01)\n## Phase 2: Build", PhaseMark(2, 2, "Build"), [(1, "Design", True), (2, "Build", False)]),
        ("## Phase 1: Design (cancelled)\n- [ ] left\n## Phase 2: Build", PhaseMark(2, 2, "Build"), [(1, "Design", False), (2, "Build", False)]),
        ("## Phase 1: Design (skipped)\n- [ ] left\n## Phase 2: Build\n- [ ] b", PhaseMark(2, 2, "Build"), [(1, "Design", False), (2, "Build", False)]),
        ("## ~~Phase 1: Design~~\n- [ ] left\n## Phase 2: Build\n- [ ] b", PhaseMark(2, 2, "Build"), [(2, "Build", False)]),
        ("## Phase 1: Design ✅\n## Phase 2: Build (cancelled)", PhaseMark(1, 2, "Design"), [(1, "Design", True), (2, "Build", False)]),
        ("## Phase 1: Design\n- [x] ~~done~~\n- [ ] ~~dropped~~\n## Phase 2: Build", PhaseMark(2, 2, "Build"), [(1, "Design", True), (2, "Build", False)]),
        ("## Phase 2 (Build): IN PROGRESS", PhaseMark(2, 2, "Build"), [(2, "Build", False)]),
    ],
)  # fmt: skip
def test_phases_that_are_over(
    running: Callable[[str], Declaration], text: str, mark: PhaseMark, listed: list[object]
) -> None:
    """A date behind the status, a phase that is dropped or struck out: the work is elsewhere."""
    found = running(text)
    assert phases(found) == listed
    assert found.phase is not None
    assert (found.phase.current, found.phase.total, found.phase.name) == (
        mark.current,
        mark.total,
        mark.name,
    )


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("## Phase 1a: A\n- [x] a\n## Phase 1b: B\n- [ ] b\n## Phase 2: C\n- [ ] c", PhaseMark(1, 2, "Phase 1")),
        ("## Phase 1: Design\n### Phase 1a: A\n- [x] a\n### Phase 1b: B\n- [ ] b\n## Phase 2: C", PhaseMark(1, 2, "Design")),
        ("## Phase 1: Design\n## Phase 1.1: A ✅\n## Phase 1.2: B\n## Phase 2: C\n- [ ] c", PhaseMark(1, 2, "Design")),
        ("## Phase 1a: A ✅\n## Phase 1b: B ✅\n## Phase 2: C", PhaseMark(2, 2, "C")),
        ("## Phase 0: Setup\n## Phase 1: Design", PhaseMark(1, 2, "Setup")),
        ("## Phase 0: Setup ✅\n## Phase 1: Design\n## Phase 2: Build", PhaseMark(2, 3, "Design")),
        ("## Phase 2: B\n- [ ] b\n## Phase 1: A\n- [ ] a", PhaseMark(1, 2, "A")),
    ],
)  # fmt: skip
def test_numbering(running: Callable[[str], Declaration], text: str, mark: PhaseMark) -> None:
    """Parts belong to their phase, and a plan that counts from 0 has one more than its last number."""
    found = running(text).phase
    assert found is not None
    assert (found.current, found.total, found.name) == (mark.current, mark.total, mark.name)


@pytest.mark.parametrize(
    ("stated", "mark"),
    [("1", PhaseMark(2, 2, "Design")), ("0 - Setup", PhaseMark(1, 2, "Setup")), ("Design", PhaseMark(2, 2, "Design")), ("2/2", PhaseMark(2, 2, "Design"))],
)  # fmt: skip
def test_a_phase_stated_in_a_plan_that_counts_from_0(
    running: Callable[[str], Declaration], stated: str, mark: PhaseMark
) -> None:
    """A bare number means the phase that is so called; "2/2" is counted already."""
    text = f"Current Phase: {stated}\n\n## Phase 0: Setup\n## Phase 1: Design"
    assert running(text).phase == mark


@pytest.mark.parametrize(
    "overview",
    [
        "## Overview\n### Phase 1: Design\n### Phase 2: Build\n",
        "## Overview\n- Phase 1: Design\n- Phase 2: Build\n",
        "## Overview\n**Phase 1: Design**\n\n**Phase 2: Build**\n",
        "## Overview\n| Phase | Name |\n|---|---|\n| 1 | Design |\n| 2 | Build |\n",
    ],
)
def test_an_overview_and_details_are_one_list(
    running: Callable[[str], Declaration], overview: str
) -> None:
    """What is ticked in the details counts for the phase of the overview."""
    details = "## Details\n### Phase 1: Design\n- [x] a\n### Phase 2: Build\n- [x] b\n- [ ] c\n"
    found = running(overview + details)
    assert phases(found) == [(1, "Design", True), (2, "Build", False)]
    assert found.phase == PhaseMark(2, 2, "Build", derived=True)
    assert found.phases[1].next_action == "c"


def test_a_table_tells_what_the_headings_do_not(running: Callable[[str], Declaration]) -> None:
    """Headings without boxes and signs take the status of the row of the same name."""
    table = "| Phase | Status |\n|---|---|\n| Phase 1: Design | ✅ |\n| Phase 2: Build | 🔄 |\n"
    found = running(f"{table}\n## Phase 1: Design\nProse.\n## Phase 2: Build\n## Phase 3: Ship")
    assert phases(found) == THREE
    assert found.phase == PhaseMark(2, 3, "Build", derived=True)


@pytest.mark.parametrize(
    ("text", "status", "mark"),
    [
        ("Status: In Progress - Phase 2 of 3", "in_progress", PhaseMark(2, 3)),
        ("Status: Phase 2 in progress", "in_progress", PhaseMark(2)),
        ("**Created**: 2025 | **Status**: 🔄 In Progress", "in_progress", None),
        ("**Status**: 🔄 In Progress | **Owner**: Ann", "in_progress", None),
        ("Status: ~~Not started~~ In Progress", "in_progress", None),
        ("Status: Not started → In Progress", "in_progress", None),
    ],
)
def test_statuses_that_are_in_progress(
    plan: Callable[[str], Looked], text: str, status: str, mark: PhaseMark | None
) -> None:
    """With the phase in it, among other fields, or as the last of several."""
    found = plan(f"# X\n\n{text}\n\nOur workflow.").declaration
    assert found is not None
    assert (found.status, found.phase) == (status, mark)


@pytest.mark.parametrize(
    "text",
    [
        "# X\nStatus: ~~In Progress~~ Complete\n",
        "# X\nStatus: 🔄 In Progress → ✅ Complete\n",
        "# X - 🔄 In Progress → ✅ Complete\n",
        "# X\nStatus: In Progress -> Done (2025-12-01)\n",
        "# X\n~~Status: In Progress~~\n",
        "# X\nStatus: Phase 1 complete\n",
        "# X\n**Created**: 2025 | **Status**: ✅ Complete\n",
        "# X\n| Status | In Progress |\n|---|---|\n| Phase 1 | ✅ |\n",
    ],
)
def test_statuses_that_are_not_in_progress(plan: Callable[[str], Looked], text: str) -> None:
    """Struck-out words do not count, and behind an arrow stands what holds."""
    assert plan(f"{text}\n## Phase 1: A\n").declaration is None
