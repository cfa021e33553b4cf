"""CLAUDE.local.md: every spelling that declares a workflow, and every look-alike that does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.formats.canonical.sources import Declaration, Looked, PhaseMark
from holdfast.formats.canonical.sources.claude_local import read_local

DOCUMENT = """# Current Workflow State

Workflow: Page Orchestration - Case Studies
Phase: 4/10 - SEO Generation

@CLAUDE/PageOrchestration.md
@CLAUDE/Sitemap/case-studies.md
"""


def look(text: str | bytes) -> Looked:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return read_local(
        data,
        path="CLAUDE.local.md",
        mtime=5.0,
        find_plan=lambda text: text if text.endswith("/PLAN.md") else None,
    )


def declared(text: str | bytes) -> Declaration:
    looked = look(text)
    assert looked.declaration is not None, looked.reason
    return looked.declaration


def test_reading_costs_no_yaml_until_there_is_front_matter() -> None:
    """Most files have none, and the hook waits for every import."""
    listing = "import sys, holdfast.formats.canonical.sources.claude_local; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "holdfast.formats.canonical.sources.claude_local" in loaded
    assert not loaded & {"yaml", "frontmatter"}


def phase(text: str) -> PhaseMark | None:
    return declared(f"# Workflow State\nWorkflow: X\n{text}").phase


def test_the_documents_own_example() -> None:
    """The example of the canonical document, whole."""
    assert look(DOCUMENT) == Looked(
        "CLAUDE.local.md",
        Declaration(
            source="local",
            path="CLAUDE.local.md",
            mtime=5.0,
            workflow="Page Orchestration - Case Studies",
            workflow_type="custom",
            type_guessed=True,
            phase=PhaseMark(4, 10, "SEO Generation"),
            phase_written=("4/10 - SEO Generation", 4),
            required_reading=("@CLAUDE/PageOrchestration.md", "@CLAUDE/Sitemap/case-studies.md"),
        ),
        "workflow 'Page Orchestration - Case Studies' on line 3, WORKFLOW STATE on line 1",
    )


@pytest.mark.parametrize(
    "data",
    [
        DOCUMENT.encode("utf-8-sig"),
        DOCUMENT.encode("utf-16"),
        DOCUMENT.encode("utf-16-le"),
        DOCUMENT.encode("utf-16-be"),
        DOCUMENT.replace("\n", "\r\n").encode("latin-1"),
    ],
)
def test_the_encoding_makes_no_difference(data: bytes) -> None:
    """The same declaration in whatever encoding."""
    assert look(data) == look(DOCUMENT)


def test_front_matter_may_say_it_all() -> None:
    """Every field that front matter may have."""
    text = """---
workflow: User Auth
workflow_type: implementation
phase: {current: 2, total: 5, name: Build, status: blocked}
required_reading: [CLAUDE/a.md, "@docs/b.md", ./c.md]
key_reminders: [Keep X, Never Y]
context: {iteration: 3, dry: true, day: 2025-12-09}
plan: CLAUDE/Plan/001-x/PLAN.md
next_action: write tests
gate: tests pass
---
Workflow: ignored
"""
    assert declared(text) == Declaration(
        source="local",
        path="CLAUDE.local.md",
        mtime=5.0,
        workflow="User Auth",
        workflow_type="implementation",
        phase=PhaseMark(2, 5, "Build"),
        phase_written=("{'current': 2, 'total': 5, 'name': 'Build', 'status': 'blocked'}", 0),
        status="blocked",
        required_reading=("@CLAUDE/a.md", "@docs/b.md", "@c.md"),
        key_reminders=("Keep X", "Never Y"),
        context={"iteration": 3, "dry": True, "day": "2025-12-09"},
        next_action="write tests",
        gate="tests pass",
        plan="CLAUDE/Plan/001-x/PLAN.md",
    )


@pytest.mark.parametrize(
    ("front", "mark"),
    [
        ("phase: 4/10 - X", PhaseMark(4, 10, "X")),
        ("phase: 4", PhaseMark(4)),
        ("phase: 4\ntotal: 10", PhaseMark(4, 10)),
        ("phase: 2\nphases: [A, B, C]", PhaseMark(2, 3)),
        ("phase: {current: 9, total: 3, name: X}", PhaseMark(None, None, "X")),
        ("phase: 4\ntotal: 3", None),
        ("phase: [1]", None),
        ("type: qa", None),
    ],
)
def test_phases_in_front_matter(front: str, mark: PhaseMark | None) -> None:
    """A string, a number or a mapping; the workflow's name alone is a declaration."""
    assert declared(f"---\nworkflow: X\n{front}\n---\n").phase == mark


def test_the_body_completes_front_matter() -> None:
    """What front matter does not mention comes from fields."""
    found = declared("---\nworkflow: X\n---\nPhase: 2/3 - Y\nGate: z\n- @docs/a.md\n")
    assert (found.phase, found.gate, found.required_reading) == (
        PhaseMark(2, 3, "Y"),
        "z",
        ("@docs/a.md",),
    )
    assert look("---\nworkflow: X\n---\n").reason == "workflow 'X' in front matter"


def test_front_matter_phase_with_a_name_in_the_body() -> None:
    """The two together are a name and a phase."""
    assert declared("---\nphase: 2/3\n---\nWorkflow: X").phase == PhaseMark(2, 3)


@pytest.mark.parametrize(
    "line",
    [
        "Workflow: X", "workflow: X", "WORKFLOW: X", "**Workflow:** X", "**Workflow**: X", "**Workflow: X**", "- Workflow: X",
        "* **Workflow**: **X**", "1. Workflow: `X`", "## Workflow: X", "__Workflow__: X", "_Workflow:_ X", "| Workflow | X |",
        "| **Workflow** | `X` |", "Workflow : X", "📋 **Workflow**: X", "Workflow Name: X", "workflow_name: X", "`Workflow:` X",
    ],
)  # fmt: skip
def test_spellings_of_a_field(line: str) -> None:
    """Markers around a label or a value are not part of it."""
    assert declared(f"{line}\n\nPhase: 1/2\n").workflow == "X"


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("- Phase: 4/10 - SEO Generation", PhaseMark(4, 10, "SEO Generation")),
        ("Phase: 4 / 10 – SEO", PhaseMark(4, 10, "SEO")),
        ("Phase: 4 of 10 - SEO", PhaseMark(4, 10, "SEO")),
        ("Phase: 4 out of 10", PhaseMark(4, 10)),
        ("Phase 4 of 10: SEO Generation", PhaseMark(4, 10, "SEO Generation")),
        ("Phase 4/10: X", PhaseMark(4, 10, "X")),
        ("**Phase 4/10**", PhaseMark(4, 10)),
        ("Phase: 4 - SEO", PhaseMark(4, None, "SEO")),
        ("Phase: 4", PhaseMark(4)),
        ("Phase: 🔄 4/10 - X", PhaseMark(4, 10, "X")),
        ("Phase: 4/10 (SEO Generation)", PhaseMark(4, 10, "SEO Generation")),
        ("Phase: 4/10: X", PhaseMark(4, 10, "X")),
        ("Current Phase: **4/10** - `X`", PhaseMark(4, 10, "X")),
        ("**Current Phase**: Phase 4 of 10 — X", PhaseMark(4, 10, "X")),
        ("Phase: SEO Generation", PhaseMark(None, None, "SEO Generation")),
        ("Phase: Design/Build", PhaseMark(None, None, "Design/Build")),
        ("Phase: 2nd pass", PhaseMark(None, None, "2nd pass")),
        ("| **Phase** | 4/10 - X |", PhaseMark(4, 10, "X")),
        ("Phase: 4/10 - X 🔄 In Progress", PhaseMark(4, 10, "X")),
        ("### Current Phase\n\n4/10 - X", PhaseMark(4, 10, "X")),
        ("Phase: 1/2\nPhase: 2/2", PhaseMark(1, 2)),
        ("Phase:\nPhase: 2/2", PhaseMark(2, 2)),
    ],
)
def test_spellings_of_a_phase(line: str, mark: PhaseMark) -> None:
    """All the ways in which people write where they are; the first one wins."""
    assert phase(line) == mark


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("0/10", None), ("12/10", None), ("12/10 - X", "X"), ("4/99999", None),
        ("?/10", None), ("99999", None), ("9" * 5000 + "/" + "9" * 5000, None),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_true(value: str, name: str | None) -> None:
    """They are dropped, and the reason says so."""
    looked = look(f"Workflow: X\nPhase: {value}\n")
    assert looked.declaration is not None
    assert looked.declaration.phase == (PhaseMark(None, None, name) if name else None)
    assert "unreadable" in looked.reason
    assert "line 2" in looked.reason


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# WORKFLOW STATE: Page Orchestration", "Page Orchestration"),
        ("## Workflow State - Page", "Page"),
        ("# WORKFLOW STATE — **Page**", "Page"),
        ("# WORKFLOW STATE: Page\nWorkflow: Other", "Other"),
        ("WORKFLOW STATE: Page", "Page"),
        ("**WORKFLOW STATE**\nWorkflow: X", "X"),
        ("=== WORKFLOW STATE ===\n\nWorkflow: X", "X"),
        ("--- Workflow State ---\nWorkflow: X", "X"),
        ("WORKFLOW STATE:\nWorkflow: X", "X"),
        ("WORKFLOW STATE\n===\nWorkflow: X", "X"),
        ("### 📌 Current workflow state (do not delete)\nWorkflow: X", "X"),
        ("# WORKFLOW STATE: active\nWorkflow: X", "X"),
    ],
)
def test_the_marker(text: str, name: str) -> None:
    """With the marker, a name is enough; it may stand behind the marker."""
    assert declared(text).workflow == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t\n", "empty"),
        ("# Notes\n\nNothing here", "no Workflow: field outside code, quotes and comments"),
        (
            "# Workflow State\nPhase: 1/2",
            "no Workflow: field in the WORKFLOW STATE section of line 1",
        ),
        (
            "Hello\n\nWorkflow: X",
            "Workflow: on line 3, but neither a Phase: field nor a WORKFLOW STATE marker",
        ),
        ("Workflow: X\nPhase:", "neither a Phase: field"),
        ("Workflow:\nPhase: 1/2", "no Workflow: field"),
        ("This workflow: never push.\nPhase: 1/2", "no Workflow: field"),
        ("Our workflow is simple.\nIn this phase: rest", "no Workflow: field"),
        ("I said Workflow: X and Phase: 1/2", "no Workflow: field"),
        ("```\nWorkflow: X\nPhase: 1/2\n```", "no Workflow: field"),
        ("```\n" + DOCUMENT, "no Workflow: field"),
        ("> Workflow: X\nPhase: 1/2", "no Workflow: field"),
        ("<!--\nWorkflow: X\n-->\nPhase: 1/2", "no Workflow: field"),
        ("    Workflow: X\n    Phase: 1/2", "no Workflow: field"),
        ("- Example:\n\n  ```\n  Workflow: X\n  Phase: 1/2\n  ```", "no Workflow: field"),
        ("Workflow: X\n\nThe WORKFLOW STATE marker is missing", "neither a Phase: field"),
        ("Workflow: X\n- [x] Phase: 1/2", "neither a Phase: field"),
        ("Workflow: X\nPhase 1: Design\nPhase 2: Build", "neither a Phase: field"),
        ("# Workflow State\n\n# Other\nWorkflow: X", "no Workflow: field"),
        ("Workflow state: kept in the folder below.\nPhase: 1/2", "no Workflow: field"),
        ("The WORKFLOW STATE: below\nPhase: 1/2", "no Workflow: field"),
        ("Workflow: X\nPhase: 1/2\nStatus: Not started", "its status is 'Not started' (line 3)"),
        ("Workflow: X\nPhase: 2/2\nStatus: ✅ Complete", "its status is '✅ Complete' (line 3)"),
        ("Workflow: X\nPhase: 1/2\nStatus: cancelled", "its status is 'cancelled' (line 3)"),
        ("# Workflow State\nWorkflow: X\nPhase: Test ✅", "its status is 'Test ✅' (line 3)"),
        ("---\nworkflow: X\nstatus: done\n---\n", "its status is 'done' (front matter)"),
        ("---\nworkflow: [1\n---\n", "front matter is not valid YAML"),
        ("---\nworkflow:\n---\n", "no Workflow: field"),
        ("---\nphase: 1/2\n---\n", "no Workflow: field"),
    ],
)
def test_silences_and_their_reasons(text: str, reason: str) -> None:
    """What only looks like a declaration is none, and the reason says why."""
    looked = look(text)
    assert looked.declaration is None
    assert reason in looked.reason


def test_an_ended_workflow_says_what_it_was() -> None:
    """Completed and cancelled ones carry what they declared; one that is not begun does not."""
    closed = look("Workflow: X\nPhase: 2/2\nStatus: done").closed
    assert closed is not None
    assert (closed.workflow, closed.status) == ("X", "completed")
    assert look("Workflow: X\nPhase: 2/2\nStatus: pending").closed is None
    assert look("Phase: 2/2\nStatus: done").closed is None


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("🔄 In Progress", "in_progress"), ("in_progress", "in_progress"), ("**blocked** by the API", "blocked"), ("On hold", "blocked"),
        ("completed", "completed"), ("✅", "completed"), ("waiting for review", None), ("not in progress", None), ("Complete rewrite", None),
    ],
)  # fmt: skip
def test_statuses(value: str, status: str | None) -> None:
    """A completed phase with others to come leaves the workflow active."""
    assert declared(f"Workflow: X\nPhase: 1/2\nStatus: {value}").status == status


def test_the_scope_of_a_heading_marker() -> None:
    """Known sections go on with it, other headings of its level end it."""
    text = """# Notes
Workflow: not this one
@docs/no.md

## Workflow State
Workflow: X
Phase: 1/2 - A

## Required Reading
- docs/a.md

## Next
Do it

### Details
Gate: tests pass

## Something else
@docs/no.md
Status: cancelled
"""
    found = declared(text)
    assert (found.workflow, found.next_action, found.gate) == ("X", "Do it", "tests pass")
    assert found.required_reading == ("@docs/a.md",)


def test_a_plain_marker_reaches_to_the_end() -> None:
    """What stands before it does not count."""
    found = declared(
        "Status: done\n@docs/no.md\n\n**WORKFLOW STATE**\nWorkflow: X\n\n# More\n@docs/a.md"
    )
    assert (found.status, found.required_reading) == (None, ("@docs/a.md",))


def test_a_rule_under_fields_makes_no_heading_of_them() -> None:
    """A drawn line ends nothing."""
    found = declared("## Workflow State\nWorkflow: X\nPhase: 1/2\n---\n@docs/a.md\n---\nGate: g\n")
    assert (found.phase, found.required_reading, found.gate) == (
        PhaseMark(1, 2),
        ("@docs/a.md",),
        "g",
    )


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("@docs/a.md", ["docs/a.md"]),
        ("- @docs/a.md", ["docs/a.md"]),
        ("- [ ] `@docs/a.md` first", ["docs/a.md"]),
        ("@docs/a.md @docs/b.md, @docs/c.md", ["docs/a.md", "docs/b.md", "docs/c.md"]),
        ("@docs/a.md,@docs/b.md", ["docs/a.md", "docs/b.md"]),
        ("@docs/a.md - the guide", ["docs/a.md"]),
        ("@docs/a.md — the guide", ["docs/a.md"]),
        ("@docs/a.md (the guide)", ["docs/a.md"]),
        ("@docs/a.md: the guide", ["docs/a.md"]),
        ("@docs/a.md the guide", ["docs/a.md"]),
        ('@"docs/my file.md" why', ["docs/my file.md"]),
        ("@docs/my\\ file.md", ["docs/my file.md"]),
        ("@docs/my file.md", ["docs/my file.md"]),
        ("@docs/my file.md - the guide", ["docs/my file.md"]),
        ("@./docs/a.md", ["docs/a.md"]),
        ("@app/(auth)/page.md", ["app/(auth)/page.md"]),
        ("@.claude/skills/x/SKILL.md", [".claude/skills/x/SKILL.md"]),
        ("@docs/a.md\n@./docs/a.md\n@docs/b.md", ["docs/a.md", "docs/b.md"]),
        ("**@docs/a.md**", ["docs/a.md"]),
        ("@alice please see docs/x.md", []),
        ("me@example.com", []),
        ("mail alice or @docs/a.md", []),
        ("@alice", []),
        ("@https://example.com/a.md", []),
        ("`code` @docs/a.md", []),
        ("```\n@docs/a.md\n```", []),
    ],
)
def test_at_paths(line: str, paths: list[str]) -> None:
    """A line that begins with @path is required reading."""
    expected = tuple(f"@{path}" for path in paths) or None
    assert declared(f"Workflow: X\nPhase: 1/2\n\n{line}").required_reading == expected


@pytest.mark.parametrize(
    "title",
    [
        "## Required Reading",
        "**Required Reading**",
        "**Required Reading:**",
        "Required reading:",
        "## 📚 Required Reading (in order):",
        "- Required Reading:",
    ],
)
@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("docs/a.md", "docs/a.md"),
        ("`docs/a.md` why", "docs/a.md"),
        ("[Guide](docs/a.md)", "docs/a.md"),
        ("[Guide](./docs/a.md#part) first", "docs/a.md"),
        ("@docs/a.md", "docs/a.md"),
        ("**docs/a.md** - why", "docs/a.md"),
        ("Read `docs/a.md` first", "docs/a.md"),
        ("README.md", "README.md"),
        ("https://example.com/a.md", None),
        ("[Site](https://example.com)", None),
        ("everything you can find.", None),
        ("None", None),
        ("N/A", None),
    ],
)  # fmt: skip
def test_required_reading_sections(title: str, item: str, path: str | None) -> None:
    """In a section of its own, a path needs no @."""
    indent = "  " if title.startswith("- ") else ""
    found = declared(
        f"Workflow: X\nPhase: 1/2\n\n{title}\n{indent}- {item}\n\nText about docs/b.md\n\n- docs/c.md\n"
    )
    listed = tuple(
        f"@{each}" for each in ([path] if path else []) + (["docs/c.md"] if title[0] == "#" else [])
    )
    assert found.required_reading == (listed or None)


def test_required_reading_on_one_line() -> None:
    """The label's own line may name them."""
    found = declared(
        "Workflow: X\nPhase: 1/2\nRequired reading: docs/a.md, @docs/b.md\n- docs/c.md"
    )
    assert found.required_reading == ("@docs/a.md", "@docs/b.md", "@docs/c.md")


@pytest.mark.parametrize(
    "title", ["## Key Reminders", "**Reminders**", "Remember:", "Key rules:", "### ⚠️ Key Reminders"]
)
def test_reminders(title: str) -> None:
    """Items and sentences of a section, each of which may go on over several lines; below a label, until a gap."""
    found = declared(
        f"Workflow: X\nPhase: 1/2\n\n{title}\n\n- **Never** push\n  to main\n- [ ] Status: ask\n\nProse.\n\nGate: g"
    )
    sentences = ("Prose.",) if title.startswith("#") else ()
    assert found.key_reminders == ("**Never** push to main", "Status: ask", *sentences)
    assert found.gate == "g"


def test_an_inline_reminder() -> None:
    """One value, one reminder; nothing is not an empty list."""
    assert declared("Workflow: X\nPhase: 1/2\nReminders: keep X").key_reminders == ("keep X",)
    assert (
        declared("Workflow: X\nPhase: 1/2\n\n## Reminders\n\n## Required Reading\n").key_reminders
        is None
    )


@pytest.mark.parametrize("title", ["## Context", "Workflow context:", "**Context variables**"])
def test_context(title: str) -> None:
    """Pairs, with numbers and truth values as such."""
    items = "- iteration: 3\n- **page**: case-studies\n- `dry` = true\n- code: 007\n- plan: 12\n- just words\n- url: https://x.y"
    assert declared(f"Workflow: X\nPhase: 1/2\n\n{title}\n{items}\n\nText: no").context == {
        "iteration": 3, "page": "case-studies", "dry": True, "code": "007", "plan": 12, "url": "https://x.y",
        "Text": "no",
    }  # fmt: skip


def test_context_without_items() -> None:
    """Plain lines are pairs as well, until another label."""
    found = declared("Workflow: X\nPhase: 1/2\nContext:\npage: a\nsource_db = postgres\nNext: b")
    assert (found.context, found.next_action) == ({"page": "a", "source_db": "postgres"}, "b")


def test_a_nested_list_of_everything() -> None:
    """Sections may be items whose items are below them."""
    found = declared(
        "- Workflow: X\n- Phase: 1/2\n- Context:\n  - a: 1\n- Required reading:\n  - docs/a.md\n- Reminders:\n  - keep\n- Next: b\n- Gate: c"
    )
    assert (found.context, found.required_reading, found.key_reminders) == (
        {"a": 1},
        ("@docs/a.md",),
        ("keep",),
    )
    assert (found.next_action, found.gate) == ("b", "c")


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("Plan: CLAUDE/Plan/001-x/PLAN.md", "CLAUDE/Plan/001-x/PLAN.md"),
        ("Plan: @./CLAUDE/Plan/001-x/PLAN.md", "CLAUDE/Plan/001-x/PLAN.md"),
        ("Plan: [the plan](CLAUDE/Plan/001-x/PLAN.md)", "CLAUDE/Plan/001-x/PLAN.md"),
        ("Plan: do it well", None),
        ("@docs/a.md\n@CLAUDE/Plan/002-y/PLAN.md", "CLAUDE/Plan/002-y/PLAN.md"),
        ("@docs/a.md", None),
    ],
)
def test_the_plan_it_points_at(text: str, plan: str | None) -> None:
    """A field, else required reading that is a plan."""
    assert declared(f"Workflow: X\nPhase: 1/2\n{text}").plan == plan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Workflow: X\nWorkflow Type: QA Loop", ("qa-loop", False)),
        ("Workflow: X\nType: planning", ("planning", False)),
        ("Workflow: Plan it\nType: migration", ("custom", False)),
        ("Workflow: Plan the API", ("planning", True)),
        ("Workflow: Release planning", ("planning", True)),
        ("Workflow: QA Loop", ("qa-loop", True)),
        ("Workflow: Feature Implementation (User Auth)", ("implementation", True)),
        ("Workflow: Build it", ("implementation", True)),
        ("Workflow: Planet rebuilding, aqua", ("custom", True)),
        ("Workflow: Database Migration", ("custom", True)),
    ],
)
def test_types(text: str, expected: tuple[str, bool]) -> None:
    """As stated, else by whole words of the name."""
    found = declared(f"{text}\nPhase: 1/2")
    assert (found.workflow_type, found.type_guessed) == expected


def test_text_is_kept_and_bounded() -> None:
    """Stripped, composed and cut, never more."""
    found = declared(
        f"Workflow: Cafe\u0301 <b>\nPhase: 1/2\nNext: {'x' * 5000}\nReminders:\n"
        + "- r\n" * 5
        + "- {}\n" * 300
    )
    assert found.workflow == "Café <b>"
    assert found.next_action == "x" * 2000
    assert found.key_reminders == ("r", "{}")
    many = declared(
        "Workflow: X\nPhase: 1/2\nReminders:\n" + "".join(f"- {n}\n" for n in range(300))
    )
    assert len(many.key_reminders or ()) == 200


PIECES = st.sampled_from(
    ["---\n", "workflow: X\n", "Workflow: X\n", "Phase: ", "4/10 - Y\n", "# ", "WORKFLOW STATE", "\n", "- ", "  ", "@docs/a.md", "Context:\n",
     "a: b\n", "**", "`", "|", "<!--", "-->", "```\n", "> ", "Required Reading\n", "Status: ", "✅", "done", "~~", "→", " | ", "|---|\n", "none", "<n>", "Old workflow state", "2b of ", "(", ")", ": ", "\x00", "@\"", "\\ "]
)  # fmt: skip


@given(
    st.binary(max_size=400)
    | st.lists(PIECES, max_size=25).map(lambda parts: "".join(parts).encode())
)
@example(b"---\na: *x\n---\n")
@example(b"\xff\xfe\x00\xd8")
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """Whatever the file holds, there is an answer with a reason in one line."""
    looked = look(data)
    assert looked.reason
    assert "\n" not in looked.reason
    if looked.declaration:
        str(looked.declaration).encode()


@pytest.mark.parametrize(
    "content",
    [
        "@",
        "@a ",
        "@a\\ ",
        "](",
        "Workflow: ",
        "Workflow:\n",
        "- a: b\n",
        "**",
        "(",
        "| ",
        "phase 1/",
        "🔄",
        "workflow state - ",
        "- `",
        "~~a ",
        "a: b | Status: x\n",
        "# Old workflow state\n",
        "# Workflow State: Foo - done\n",
        "In Progress → ",
    ],
)
def test_five_megabytes_take_no_time(
    content: str, cpu: Callable[[Callable[[], object]], float]
) -> None:
    """No expression is slow, whatever it meets; fifty times the usual may cost 200 times as much."""
    data = f"Workflow: X\n\n{content * (5_000_000 // len(content))}".encode()
    usual = (DOCUMENT * (100_000 // len(DOCUMENT))).encode()
    assert cpu(lambda: look(data)) < 200 * cpu(lambda: look(usual))
