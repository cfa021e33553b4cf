"""Statuses that open with a sign but speak of a part, and templates: no running workflow ends by them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Looked, PhaseMark
from holdfast.formats.canonical.sources.plan import read_plan
from holdfast.formats.canonical.sources.statuses import status_of, whole_status

PARTLY = ["✅ Phase 1 complete", "✅ Phases 1-2 done", "✅ 1/3 phases", "✅ Approved", "✅ Approved — 🔄 implementing", "✔ Design approved; In Progress", "✅ tests green, implementing", "done: schema; doing: API", "✅ Complete 🔄", "🔄 Done", "✅ Complete (phase 1)", "✅ Draft approved"]  # fmt: skip


@pytest.mark.parametrize("status", PARTLY)
def test_a_part_that_is_done_ends_nothing(
    plan: Callable[[str], Looked], local: Callable[[str], Looked], status: str
) -> None:
    """A plan is silent and quotes the line; CLAUDE.local.md stays what it is."""
    looked = plan(f"# X\n\n**Status**: {status}\n\n## Phase 1: A\n## Phase 2: B\n")
    assert (looked.declaration, looked.closed) == (None, None)
    assert looked.reason.startswith(f"its status is '{status}' (line 3)")
    found = local(f"Workflow: X\nPhase: 3/3\nStatus: {status}\n")
    assert found.declaration is not None
    assert found.declaration.status is None


def test_of_several_phases_the_running_one_counts(plan: Callable[[str], Looked]) -> None:
    """Signs may stand in front of the phases or behind them."""
    for status in (
        "✅ Phase 1 complete, 🔄 Phase 2 in progress",
        "✅ Phase 1, 🔄 Phase 2",
        "Phase 1 ✅, Phase 2 🔄",
    ):
        found = plan(f"# X\nStatus: {status}\n\n## Phase 1: A\n## Phase 2: B\n").declaration
        assert found is not None
        assert (found.status, found.phase) == ("in_progress", PhaseMark(2, 2, "B"))


@pytest.mark.parametrize(
    ("status", "body", "is_active"),
    [
        ("✔ Design approved; In Progress", "- [ ] a", True),
        ("✅ Approved — 🔄 implementing", "- [ ] a", True),
        ("✅ Approved", "- [ ] a", False),
        ("✅ Phase 1 complete", "- [ ] a", False),
        ("✅ Phase 1 complete", "## Phase 2: B 🔄", True),
        ("not in progress", "- [ ] a", False),
        ("✔ Design approved; In Progress", "- [x] a", False),
    ],
)
def test_with_work_left_over(
    plan: Callable[[str], Looked], status: str, body: str, is_active: bool
) -> None:
    """An unclear status is in progress only if a word or a sign says that work goes on."""
    looked = plan(f"# X\nStatus: {status}\n\n## Phase 1: A\n{body}\n")
    assert (looked.declaration is not None) == is_active
    assert looked.closed is None


def test_a_sign_before_a_phase_that_goes_on(local: Callable[[str], Looked]) -> None:
    """The same behind the number of the phase; a name such as "Testing" contradicts nothing."""
    assert local("Workflow: X\nPhase: 3/3 - ✅ tests green, implementing\n").declaration
    assert local("Workflow: X\nPhase: 3/3 - ✅ Testing\n").closed


@pytest.mark.parametrize("status", ["✅", "✅ Complete", "✅ Complete (2025-12-01)", "✅ All phases complete", "All 3 phases done", "Completed: May 2025", "Complete since Monday", "Done ✅", "✅ **Complete**", "Complete - all 5 phases"])  # fmt: skip
def test_the_whole_that_is_done(status: str) -> None:
    """With a date, a remark, or the word "all"."""
    assert status_of(status) == "completed"


@pytest.mark.parametrize("status", ["Started", "🟡 Underway", "🔄 En cours", "In Arbeit", "🟡 baking", "🚧 Migration", "⏳ Running the tests", "🟡"])  # fmt: skip
def test_what_runs(plan: Callable[[str], Looked], status: str) -> None:
    """Other words and languages, and any words behind a sign that work goes on."""
    found = plan(f"# X\n**Statut** : {status}\n\n## Phase 1: A\n").declaration
    assert found is not None
    assert found.status == "in_progress"


@pytest.mark.parametrize("status", ["⏳", "⏳ Waiting for review", "Started from scratch"])
def test_an_hourglass_may_stand_for_waiting(status: str) -> None:
    """Alone or with such a word it tells nothing."""
    assert status_of(status) is None


def test_a_date_of_the_start_is_no_status() -> None:
    """A line "Started: 2025-12-01" is found in many plans, in whatever status."""
    assert whole_status("Started: 2025-12-01") is None


@pytest.mark.parametrize("status", ["[🔄 In Progress | ✅ Complete | ⬜ Not Started]", "In Progress / Blocked / Done", "Not Started | In Progress"])  # fmt: skip
def test_a_choice_of_statuses_is_none(
    plan: Callable[[str], Looked], local: Callable[[str], Looked], status: str
) -> None:
    """Somebody was to choose, so no workflow runs; the reason says so."""
    told = f"its status is '{status}' (line 2), which a template leaves to choose from"
    looked = plan(f"# X\nStatus: {status}\n\n## Phase 1: A 🔄\n- [ ] a\n")
    assert (looked.declaration, looked.closed, looked.reason) == (None, None, told)
    mine = local(f"Workflow: X\nStatus: {status}\nPhase: 1/3\n")
    assert (mine.declaration, mine.reason) == (None, told)


@pytest.mark.parametrize("path", ["CLAUDE/Plan/TEMPLATE/PLAN.md", "CLAUDE/Plan/_template/PLAN.md", "plans/template.md", "plans/000-template/PLAN.md", "plans/PLAN_TEMPLATE.md"])  # fmt: skip
def test_a_template_is_no_workflow(path: str) -> None:
    """Whatever its status says."""
    looked = read_plan(b"# X\nStatus: In Progress\n\n## Phase 1: A\n", path=path, mtime=5.0)
    assert (looked.declaration, looked.closed) == (None, None)
    assert looked.reason.startswith("a template, by its name")


@pytest.mark.parametrize("name", ["012-template-engine", "templating", "contemplate"])
def test_a_plan_about_templates_is_one(name: str) -> None:
    """Only the whole name makes a template."""
    data = b"# X\nStatus: In Progress\n\n## Phase 1: A\n"
    assert read_plan(data, path=f"plans/{name}/PLAN.md", mtime=5.0).declaration is not None


@pytest.mark.parametrize("piece", ["✅ Phase 1, ", "done; ", "all ", "✅ ", "✅/", "phases ", "(", ")", "1 of ", "a, "])  # fmt: skip
def test_long_statuses_take_no_time(
    plan: Callable[[str], Looked], cpu: Callable[[Callable[[], object]], float], piece: str
) -> None:
    """A quarter of a megabyte on one line: more would take longer only as it is longer."""
    text = piece * (250_000 // len(piece.encode()))
    texts = [f"# {text}", f"# X\nStatus: {text}", f"# X\n## {text}", f"# X\nPhase: {text}"]
    assert cpu(lambda: [plan(each) for each in texts]) < 1.5
