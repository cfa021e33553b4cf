"""PLAN.md: its status, phases, reading and names, and the plans that declare nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.canonical.sources import Declaration, Looked, PhaseMark, PlanPhase
from holdfast.formats.canonical.sources.plan import read_plan

PATH = "CLAUDE/Plan/001-user-auth/PLAN.md"
PLAN = """# Plan 001: User Auth Implementation - 🔄 In Progress

Follow CLAUDE/PlanWorkflow.md and [the notes](./notes.md).

## Phase 1: Design ✅
- [x] Sketch
- [x] Review

## Phase 2: Build 🔄
- [x] Schema
- [ ] Login form
- [ ] Logout
- [ ] Gate: unit tests pass

## Phase 3: Test
### Exit criteria
All green.

### Tasks
- [ ] Integration tests

## Key Reminders
- Use existing auth patterns
"""


def look(text: str | bytes, path: str = PATH) -> Looked:
    return read_plan(text if isinstance(text, bytes) else text.encode(), path=path, mtime=5.0)


def declared(text: str | bytes, path: str = PATH) -> Declaration:
    looked = look(text, path)
    assert looked.declaration is not None, looked.reason
    return looked.declaration


def running(text: str, path: str = PATH) -> Declaration:
    """What a plan in progress declares that goes on with *text*."""
    return declared(f"# Plan 001: X\n\n**Status**: 🔄 In Progress\n\nIts phases:\n\n{text}\n", path)


def test_a_whole_plan() -> None:
    """Title, status, phases, reading, reminders and context, all together."""
    assert look(PLAN) == Looked(
        PATH,
        Declaration(
            source="plan",
            path=PATH,
            mtime=5.0,
            workflow="User Auth Implementation",
            workflow_type="implementation",
            type_guessed=True,
            phase=PhaseMark(2, 3, "Build", derived=True),
            status="in_progress",
            required_reading=(
                f"@{PATH}",
                "@CLAUDE/Plan/001-user-auth/notes.md",
                "@CLAUDE/PlanWorkflow.md",
            ),
            key_reminders=("Use existing auth patterns",),
            context={"plan_number": 1, "plan_name": "user-auth"},
            phases=(
                PlanPhase(1, "Design", done=True),
                PlanPhase(
                    2,
                    "Build",
                    done=False,
                    next_action="Login form",
                    gate="unit tests pass",
                    open_items=("Login form", "Logout", "Gate: unit tests pass"),
                    open_lines=(11, 12, 13),
                ),
                PlanPhase(
                    3,
                    "Test",
                    done=False,
                    next_action="Integration tests",
                    gate="All green.",
                    open_items=("Integration tests",),
                    open_lines=(20,),
                ),
            ),
            open_items=("Login form", "Logout", "Gate: unit tests pass", "Integration tests"),
            open_lines=(11, 12, 13, 20),
            boxes=7,
            ticked=3,
        ),
        "In Progress on line 1, phases as headings",
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_encoding_makes_no_difference(encoding: str) -> None:
    """The same declaration in whatever encoding and with whatever line ends."""
    assert look(PLAN.replace("\n", "\r\n").encode(encoding)) == look(PLAN)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Status: in progress", "in_progress"),
        ("**Status**: 🔄 In Progress (since Monday)", "in_progress"),
        ("**Status:** in-progress", "in_progress"),
        ("- Status: in_progress", "in_progress"),
        ("| **Status** | 🔄 In Progress |", "in_progress"),
        ("Status: Active", "in_progress"),
        ("Status: ongoing", "in_progress"),
        ("Status: WIP", "in_progress"),
        ("Status: 🔄", "in_progress"),
        ("Status: 🟡 In Progress", "in_progress"),
        ("Status: 🔄 Phase 2 of 3", "in_progress"),
        ("Status: blocked", "blocked"),
        ("> **Status:** In Progress", "in_progress"),
        ("## Status\n\n🔄 In Progress", "in_progress"),
        ("## Status\n\nAs of today.\n\n**In Progress**", "in_progress"),
        ("## Status: In Progress", "in_progress"),
        ("🔄 In Progress", "in_progress"),
        ("**🔄 In Progress**", "in_progress"),
        ("In Progress", "in_progress"),
        ("In Progress\n\nStatus: Complete", "in_progress"),
        ("Status: In Progress\n\n## Phase 1: A ✅ Complete", "in_progress"),
        ("## Phase 1: A ✅\n## Phase 2: B 🔄 In Progress", "in_progress"),
        ("## Phase 1: A ✅\n## Phase 2: B (blocked)", "blocked"),
        ("## Phase 1: A\n**Status**: 🔄 In Progress\n", "in_progress"),
        ("## Phase 1: A\n\n## Status\n🔄 In Progress", "in_progress"),
    ],
)
def test_a_plan_in_progress(text: str, status: str) -> None:
    """Wherever a status may stand, in whatever words."""
    assert declared(f"# Title\n\n{text}\n\nThe workflow is here.\n").status == status


@pytest.mark.parametrize(
    "title",
    ["Plan 001: X - 🔄 In Progress", "Plan 001: X (In Progress)", "X [🔄 In Progress]", "PLAN: X 🔄", "🔄 X", "X — **in progress**", "**X** - 🔄 In Progress (since May)", "X: In Progress"],
)  # fmt: skip
def test_the_title_without_its_status(title: str) -> None:
    """A status in the title counts, and is not part of the name."""
    assert declared(f"# {title}\n\n## Phase 1: A\n").workflow == "X"


def test_front_matter_comes_first() -> None:
    """Its status, title, phase, and workflow."""
    front = "---\nstatus: {}\nworkflow: Y\nphase: 2/4 - B\ncontext: {{a: 1}}\n---\n# X ✅\nStatus: done\n"
    found = declared(front.format("in progress"))
    assert (found.workflow, found.phase, found.status) == ("Y", PhaseMark(2, 4, "B"), "in_progress")
    assert found.context == {"plan_number": 1, "plan_name": "user-auth", "a": 1}
    assert (
        look(front.format("in progress")).reason
        == "In Progress in front matter, a workflow is named"
    )
    assert look(front.format("review")).reason == "its status is 'review' (front matter)"
    assert declared("---\ntitle: T\nstatus: active\n---\nOur workflow.").workflow == "T"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("# X\n\n## Phase 1: A", "no status line says In Progress"),
        ("# X\n\nStatus: Complete\n\n## Phase 1: A 🔄", "its status is 'Complete' (line 3)"),
        ("# X ✅ Complete\n\n## Phase 1: A 🔄", "its status is 'X ✅ Complete' (line 1)"),
        ("# X\n\nStatus: Not started\nphases", "its status is 'Not started' (line 3)"),
        ("# X\nStatus: Draft\nphases", "its status is 'Draft' (line 2)"),
        ("# X\nStatus: Awaiting review\nphases", "its status is 'Awaiting review' (line 2)"),
        ("# X\nStatus: not in progress\nphases", "its status is 'not in progress' (line 2)"),
        (
            "# X\nStatus: 🔄 In Progress\n",
            "in progress, but it mentions neither phases nor a workflow",
        ),
        ("# X\nStatus: blocked\n", "blocked, but it mentions neither phases nor a workflow"),
        (
            "# X\nStatus: 🔄 In Progress\n\n```\nphase\n```\n> workflow\n<!-- phase -->",
            "it mentions neither phases",
        ),
        ("# X\nStatus: 🔄 In Progress\n\nEmphasised, in workflowers", "it mentions neither phases"),
        (
            "# X\n\nWe mark it 🔄 In Progress when a phase begins.",
            "no status line says In Progress",
        ),
        ("# X\n\n🔄 In Progress means that a phase is being worked on.", "no status line"),
        ("# X\n\nPhases:\n\n- 🔄 In Progress\n- ✅ Complete", "no status line"),
        ("# X\n\n```\nStatus: In Progress\n```\nphases", "no status line"),
        ("# X\n\n## Notes\n> Status: In Progress\nphases", "no status line"),
        ("# X\n\nStatus: ⏸️ On Hold\nphases", "its status is '⏸️ On Hold' (line 3)"),
        ("# X\n\nStatus: Paused by Ann\nphases", "its status is 'Paused by Ann' (line 3)"),
        ("# X\n\n<!-- Status: In Progress -->\nphases", "no status line"),
        ("---\nstatus: [\n---\n# X", "front matter is not valid YAML"),
    ],
)
def test_silences_and_their_reasons(text: str, reason: str) -> None:
    """What is no plan in progress declares nothing, and the reason says why."""
    looked = look(text)
    assert looked.declaration is None
    assert reason in looked.reason


def test_an_ended_plan_says_what_it_was() -> None:
    """Completed and cancelled ones carry what they declared."""
    for text, status in (("Complete", "completed"), ("❌ Cancelled", None)):
        closed = look(f"# Plan 001: X\nStatus: {text}\n\n## Phase 1: A").closed
        assert closed is not None
        assert (closed.workflow, closed.status) == ("X", status)
    assert look("# X\nStatus: draft\n\n## Phase 1: A").closed is None


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        (
            "## Phase 1: Design\n### Phase 2 - Build ✅\n",
            [(1, "Design", False), (2, "Build", True)],
        ),
        ("## ✅ Phase 3/5: X", [(3, "X", True)]),
        ("## Phase 4 (Test)", [(4, "Test", False)]),
        ("## Phase 4 (Done)", [(4, "Phase 4", True)]),
        ("## Phase 4", [(4, "Phase 4", False)]),
        ("## Phase 1 Design", [(1, "Design", False)]),
        ("## **Phase 1**: Design", [(1, "Design", False)]),
        ("## Phase 1: Design ✅ Complete", [(1, "Design", True)]),
        ("## Phase 1: Design - Completed (May)", [(1, "Design", True)]),
        ("## Phase 1: Draft", [(1, "Draft", False)]),
        (
            "**Phase 1: Design**\n- [x] a\n\n**Phase 2: Build** ✅\n",
            [(1, "Design", True), (2, "Build", True)],
        ),
        ("**Phase 1**: Design phase", []),
        (
            "- [x] Phase 1: Research\n- [ ] Phase 2: Build",
            [(1, "Research", True), (2, "Build", False)],
        ),
        ("- [x] Phase 1: A\n  - [ ] left\n- [x] **Phase 2**: B", [(1, "A", True), (2, "B", True)]),
        ("- [x] Phase 1: No\n\n## Phase 1: Yes", [(1, "Yes", False)]),
        ("## Phase 1: A\n## Phase 1: B\n- [x] b", [(1, "A", True)]),
        ("## Phase 1: A\n### Phase 1 notes\n- [x] b", [(1, "A", True)]),
        ("## Phase 2: A\n### Phase 2.1: B\n- [x] b\n### Phase 2.2\n- [ ] c", [(2, "A", False)]),
        ("## Phase 1-3: All\n## Phase 1 and 2\n## Phases 4", []),
        ("## Phase 1: A\n**Status**: ✅ Complete\n- [ ] left", [(1, "A", True)]),
        ("## Phase 1: A\n```\n- [ ] no\n```\n- [x] yes", [(1, "A", True)]),
        ("## Phase 1: A\n- [x] a\n## Notes\n- [ ] b", [(1, "A", True)]),
        ("## Phase 1: A\n### Sub\n- [x] a\n### Sub 2\n- [ ] b", [(1, "A", False)]),
        ("```\n## Phase 1: A\n```", []),
        ("In Phase 1: we do it", []),
    ],
)
def test_phases(text: str, phases: list[tuple[int, str, bool]]) -> None:
    """What is a phase, what it is called, and whether it is done."""
    assert [(each.number, each.name, each.done) for each in running(text).phases] == phases


@pytest.mark.parametrize(
    ("text", "next_action", "gate"),
    [
        ("- [x] a\n- [ ] b\n- [ ] c", "b", None),
        ("**Gate**: green", None, "green"),
        ("- [ ] Validation gate: green", "Validation gate: green", "green"),
        ("### Quality gate\n\n- [ ] green\n- [ ] red", "green", "green"),
        ("### Gate\n### Other\nnot this", None, None),
        ("Validation: a\nGate: b", None, "a"),
        ("> Gate: x\n\n```\n- [ ] y\n```", None, None),
    ],
)
def test_the_next_action_and_the_gate_of_a_phase(
    text: str, next_action: str | None, gate: str | None
) -> None:
    """Its first open checkbox, and the first line that is labelled as a gate."""
    (phase,) = running(f"## Phase 1: A\n{text}").phases
    assert (phase.next_action, phase.gate) == (next_action, gate)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Phase: 2/5 - Build", PhaseMark(2, 5, "Build")),
        ("**Current Phase**: 2\n## Phase 1: A\n## Phase 2: B\n## Phase 3: C", PhaseMark(2, 3, "B")),
        ("**Current Phase**: b\n## Phase 1: A\n## Phase 2: B", PhaseMark(2, 2, "b")),
        ("Phase: 9\n## Phase 1: A", PhaseMark(9, None, None)),
        (
            "## Phase 1: A\n- [x] a\n## Phase 2: B\n## Progress\n- Current Phase: 1",
            PhaseMark(1, 2, "A"),
        ),
        ("Phase: 12/10\n## Phase 1: A", PhaseMark(1, 1, "A", derived=True)),
        ("## Phase 1: A\nPhase: 2/5\n## Phase 2: B", PhaseMark(1, 2, "A", derived=True)),
        ("Phase 2/5: X\n\n## Phase 1: A\n## Phase 2: B", PhaseMark(1, 2, "A", derived=True)),
        ("## Phase 1: A\n## Phase 2: B 🔄\n## Phase 3: C", PhaseMark(2, 3, "B", derived=True)),
        ("## Phase 1: A\n- [x] a\n## Phase 2: B\n- [ ] b", PhaseMark(2, 2, "B", derived=True)),
        ("## Phase 1: A\n## Phase 2: B\n- [x] b\n- [ ] c", PhaseMark(2, 2, "B", derived=True)),
        ("## Phase 1: A\n## Phase 2: B\n- [ ] b", PhaseMark(1, 2, "A", derived=True)),
        ("## Phase 1: A\n## Phase 2: B ✅\n## Phase 3: C", PhaseMark(3, 3, "C", derived=True)),
        ("## Phase 1: A\n- [ ] a\n## Phase 2: B ✅", PhaseMark(1, 2, "A", derived=True)),
        ("## Phase 1: A ✅\n## Phase 2: B ✅", PhaseMark(2, 2, "B", derived=True)),
        ("## Phase 2/5: A\n- [ ] a", PhaseMark(2, 5, "A", derived=True)),
        (
            "- [x] Phase 1: A\n- [ ] Phase 2: B\n- [ ] Phase 3: C",
            PhaseMark(2, 3, "B", derived=True),
        ),
        ("## Phase 0: Setup\n- [x] s\n## Phase 1: A", PhaseMark(2, 2, "A", derived=True)),
        ("no headings", None),
    ],
)
def test_the_current_phase(text: str, mark: PhaseMark | None) -> None:
    """As stated at the plan's own level, else as marks and ticks have it."""
    assert running(text).phase == mark


def test_an_unreadable_phase_is_told() -> None:
    """The reason mentions a stated phase that cannot be true."""
    assert (
        "the phase '12/10' (line 3) is unreadable"
        in look("# X\nStatus: active\nPhase: 12/10\n").reason
    )


@pytest.mark.parametrize(
    ("title", "path", "name", "context"),
    [
        ("# Plan 001: X", PATH, "X", {"plan_number": 1, "plan_name": "user-auth"}),
        ("# PLAN: X", "plans/x/PLAN.md", "X", None),
        ("# Plan 007 - X", "plans/x/PLAN.md", "X", {"plan_number": 7}),
        ("# **Plan 7:** X", "plans/012/PLAN.md", "X", {"plan_number": 12}),
        ("# Plan 7", "PLAN.md", "Plan 7", {"plan_number": 7}),
        ("# Planning: X", "PLAN.md", "Planning: X", None),
        ("## First\n# X", "PLAN.md", "X", None),
        ("## Status\n## First", "PLAN.md", "First", None),
        ("", PATH, "001-user-auth", {"plan_number": 1, "plan_name": "user-auth"}),
        ("# X\nWorkflow: Y", "PLAN.md", "Y", None),
    ],
)
def test_names(title: str, path: str, name: str, context: dict[str, object] | None) -> None:
    """The title without its prefix, else the folder; what the folder says of the plan."""
    found = declared(f"{title}\n\nStatus: active\n\n## Phase 1: A\n", path)
    assert (found.workflow, found.context) == (name, context)


def test_a_plan_without_phases() -> None:
    """Its own next step and gate count, and its first open checkbox."""
    found = running("- [x] a\n- [ ] b\n\nGate: c")
    assert (found.next_action, found.gate, found.phases, found.phase) == ("b", "c", (), None)
    assert running("- [ ] b\n\nNext: d").next_action == "d"
    assert running("Gate: c\n\n## Phase 1: A\n- [ ] b").gate is None
    assert running("## Phase 1: A\n- [ ] b").next_action is None
    assert len(running("- [ ] b\n" * 600).open_items) == 500


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("See CLAUDE/A.md, `CLAUDE/B.md` and @.claude/c.md.", ["CLAUDE/A.md", "CLAUDE/B.md", ".claude/c.md"]),
        ("[A](CLAUDE/A.md#part) and (CLAUDE/B.md)", ["CLAUDE/A.md", "CLAUDE/B.md"]),
        ("- ../../PlanWorkflow.md\n- [n](./notes.md)\n- [m](more.md)", ["CLAUDE/PlanWorkflow.md", "CLAUDE/Plan/001-user-auth/notes.md", "CLAUDE/Plan/001-user-auth/more.md"]),
        ("[out](../../../../../etc/x.md) and ../../../../x.md", []),
        ("[site](https://example.com/CLAUDE/x.md)", []),
        ("CLAUDE/Plan/*/PLAN.md CLAUDE/<name>.md CLAUDE/{x}.md", []),
        ("docs/other.md is no such file", []),
        ("CLAUDE/Z.md\n\n@docs/y.md\n\n## Required Reading\n- docs/x.md\n- ./w.md", ["docs/x.md", "CLAUDE/Plan/001-user-auth/w.md", "docs/y.md", "CLAUDE/Z.md"]),
        (f"`{PATH}` CLAUDE/A.md CLAUDE/A.md", ["CLAUDE/A.md"]),
        ("```\nCLAUDE/A.md\n```\n> CLAUDE/B.md", []),
    ],
)  # fmt: skip
def test_required_reading(text: str, paths: list[str]) -> None:
    """The plan itself, what it lists, and the documents that it refers to; nothing outside the project."""
    assert running(text).required_reading == tuple(f"@{path}" for path in [PATH, *paths])


def test_required_reading_is_bounded() -> None:
    """Two hundred at most."""
    assert (
        len(running("\n".join(f"CLAUDE/{n}.md" for n in range(300))).required_reading or ()) == 200
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Plan 001: Redesign", ("custom", True)),
        ("# Plan 001: Release planning", ("planning", True)),
        ("# Research and plan the API", ("planning", True)),
        ("# Plan: QA sweep", ("qa-loop", True)),
        ("# Plan 002: Implement login", ("implementation", True)),
        ("# Search feature", ("implementation", True)),
        ("# Search feature\nWorkflow type: custom", ("custom", False)),
    ],
)
def test_types(text: str, expected: tuple[str, bool]) -> None:
    """As stated, else by the title; "Plan 001" alone says nothing."""
    found = declared(f"{text}\nStatus: active\n\n## Phase 1: A")
    assert (found.workflow_type, found.type_guessed) == expected


PIECES = st.sampled_from(
    ["---\n", "status: active\n", "Status: ", "🔄", "In Progress", "\n", "# ", "## ", "Phase 1", "Phase 2/3", ": ", " - ", "X", "- [ ] ", "- [x] ", "  ",
     "**", "✅", "(", ")", "|", "../", "CLAUDE/a.md", "](", "Gate", "Current Phase: ", "0", "> ", "<!--", "\x00", "Plan ", "workflow", "~~", "→", "Phase 0", "Phase 1a", "|---|---|\n", "| # | Phase |\n", "| 1 | "]
)  # fmt: skip


@given(
    st.binary(max_size=400)
    | st.lists(PIECES, max_size=30).map(lambda parts: "".join(parts).encode())
)
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """Whatever the file holds, there is an answer with a reason in one line."""
    looked = look(data)
    assert looked.reason
    assert "\n" not in looked.reason


@pytest.mark.parametrize(
    "content",
    ["CLAUDE/", "CLAUDE/,", "CLAUDE/a.md ", "](", "](a.md", "Phase 1 ", "## Phase 1: a\n", "- [ ] Phase 1\n", "**Phase 1**", "**", "🔄 - ", "(", "x.md\n", "- [ ] a\n", "~~a ", "- **Phase 1: a** x\n", "- Phase 1: a\n", "| Phase | Status |\n|---|---|\n| Phase 1: A | ✅ |\n", "## Phase 1: a\n### Phase 1b: c\n"],
)  # fmt: skip
def test_five_megabytes_take_no_time(
    content: str, cpu: Callable[[Callable[[], object]], float]
) -> None:
    """No expression is slow, whatever it meets; fifty times the usual may cost 100 times as much."""
    data = f"# X\nStatus: active\n\n## Phase 1: a\n{content * (5_000_000 // len(content))}".encode()
    usual = (PLAN * (100_000 // len(PLAN))).encode()
    assert cpu(lambda: look(data)) < 100 * cpu(lambda: look(usual))
