"""The grammar for plans: what people write is read as they mean it, in whatever words, signs and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from holdfast.formats.canonical.sources import Declaration, Looked
from holdfast.formats.canonical.sources.words import CODES, FIELDS, PHASES, SIGNS, STATUSES, STEPS

DOCS = Path(__file__).parents[4] / "docs/formats/canonical.md"

# One plan in twenty wordings: the second of three phases runs, and its next step is to write the login.
NEWCOMER = {
    "milestones and a plain status": "Status: in progress\n\n## Milestone 1 - Schema\n- [x] tables\n\n## Milestone 2 - Login\n- [ ] write the login\n- [ ] log out\n\n## Milestone 3 - Release\n- [ ] announce\n",
    "a quoted status": "> **Status:** In Progress\n\n### Stage 1: Schema\n- [x] tables\n### Stage 2: Login\n- [ ] write the login\n### Stage 3: Release\n- [ ] announce\n",
    "a share in the status": "**Status**: 🟡 In Progress (40%)\n\n## Phase 1: Schema ✅\n## Phase 2: Login\n- [ ] write the login\n## Phase 3: Release\n",
    "numbered headings": "Status: WIP\n\n## 1. Schema\n- [x] tables\n## 2. Login\n- [ ] write the login\n## 3. Release\n- [ ] announce\n",
    "plain headings with boxes": "Status: started\n\n## Schema\n- [x] tables\n## Login\n- [ ] write the login\n## Release\n- [ ] announce\n",
    "bold items with boxes": "Status: ongoing\n\n- **Schema**\n  - [x] tables\n- **Login**\n  - [ ] write the login\n- **Release**\n  - [ ] announce\n",
    "a stated phase": "Current phase: 2\n\n## Phase 1: Schema\n- [ ] tables\n## Phase 2: Login\n- [ ] write the login\n## Phase 3: Release\n- [ ] announce\n",
    "what is done and what is next": "**Status:** Phase 1 complete. Next: Phase 2 (Login).\n\n## Phase 1: Schema\n## Phase 2: Login\n- [ ] write the login\n## Phase 3: Release\n",
    "codes": "Status: active\n\n## M0 Schema\n- [x] tables\n## M1 Login\n- [ ] write the login\n## M2 Release\n- [ ] announce\n",
    "priorities": "Status: active\n\n## P0: Schema\n- [x] tables\n## P1: Login\n- [ ] write the login\n## P2: Release\n- [ ] announce\n",
    "letters": "Status: active\n\n## Part A: Schema ✅\n## Part B: Login (WIP)\n- [ ] write the login\n## Part C: Release\n",
    "sprints with their status behind": "## Sprint 1: Schema (done)\n## Sprint 2: Login (in progress)\n- [ ] write the login\n## Sprint 3: Release (planned)\n",
    "brackets in capitals": "## Phase 1: Schema [DONE]\n## Phase 2: Login [IN PROGRESS]\n- [ ] write the login\n## Phase 3: Release [TODO]\n",
    "boxes of all kinds": "Status: in progress\n\n## Step 1: Schema\n- [✓] tables\n- [-] ~~views~~\n## Step 2: Login\n- [✅] form\n- [ ] write the login\n## Step 3: Release\n- [ ] announce\n",
    "signs for boxes": "Status: in progress\n\n## Phase 1: Schema\n- ✅ tables\n## Phase 2: Login\n- ✅ form\n- ⬜ write the login\n## Phase 3: Release\n- ⬜ announce\n",
    "words for boxes": "Status: in progress\n\n## Phase 1: Schema\n- [completed] tables\n## Phase 2: Login\n- [in progress] write the login\n- [pending] log out\n## Phase 3: Release\n- [pending] announce\n",
    "a box left behind": "Status: in progress\n\n## Phase 1: Schema\n- [x] tables\n- [x] views\n  - [ ] of the archive (follow-up)\n- [ ] indexes (deferred to next year)\n## Phase 2: Login\n- [ ] write the login\n## Phase 3: Release\n- [ ] announce\n",
    "an old mark": "## Phase 1: Schema 🔄\n- [x] tables\n### Status: ✅ complete\n## Phase 2: Login 🔄\n- [ ] write the login\n## Phase 3: Release\n",
    "a list of phases above": "Status: in progress\n\n- [x] Phase 1: Schema\n- [ ] Phase 2: Login\n- [ ] Phase 3: Release\n\n## Phase 1: Schema\n- [x] tables\n- [ ] indexes\n## Phase 2: Login\n- [ ] write the\n  login\n## Phase 3: Release\n",
    "a board with phases": "---\nstatus: in-progress\n---\n\n## Task 1: Schema\n- [x] tables\n## Task 2: Login\n- [ ] 🔄 **write** the login\n## Task 3: Release\n- [ ] announce\n\n## Success criteria\n- [ ] it is fast\n",
}  # fmt: skip


def where(found: Declaration) -> tuple[object, ...]:
    """The phase, of how many, its name, and what comes next."""
    mark = found.phase
    assert mark is not None
    phase = next(each for each in found.phases if each.number == mark.current)
    return mark.current, mark.total, mark.name, found.next_action or phase.next_action


@pytest.mark.parametrize("wording", NEWCOMER)
def test_a_newcomers_plan(plan: Callable[[str], Looked], wording: str) -> None:
    """Each wording says the same."""
    text = NEWCOMER[wording]
    head, _, rest = text.rpartition("---\n") if text.startswith("---") else ("", "", text)
    looked = plan(f"{head}---\n# Shop\n\n{rest}" if head else f"# Shop\n\n{rest}")
    assert looked.declaration is not None, looked.reason
    assert where(looked.declaration) == (2, 3, "Login", "write the login")
    assert (looked.declaration.workflow, looked.declaration.status) == ("Shop", "in_progress")


HEADS = {
    "English": ("Status", "in progress", "Phase {}: {}"),
    "English milestones": ("Status", "ongoing", "Milestone {} - {}"),
    "English steps": ("Status", "WIP", "Step {}. {}"),
    "German": ("Zustand", "in Arbeit", "Meilenstein {}: {}"),
    "French": ("Statut", "en cours", "Étape {} : {}"),
    "Spanish": ("Estado", "en curso", "Fase {}: {}"),
    "Portuguese": ("Status", "em andamento", "Etapa {}: {}"),
    "Italian": ("Stato", "in corso", "Fase {}: {}"),
    "Russian": ("Статус", "в работе", "Этап {}: {}"),
    "Turkish": ("Durum", "devam ediyor", "Aşama {}: {}"),
    "Chinese": ("状态", "进行中", "阶段 {}：{}"),
    "Japanese": ("ステータス", "進行中", "フェーズ{}: {}"),
    "Korean": ("상태", "진행 중", "{}단계: {}"),
}
BOXES = {
    "- [x] ": "- [ ] ",
    "* [X] ": "* [ ] ",
    "- [✓] ": "- [ ] ",
    "- ✅ ": "- ⬜ ",
    "1. [v] ": "2. [ ] ",
}
LEVELS = ("## ", "### ", "**")
FIELDS_AS = ("{}: {}", "**{}**: {}", "> {}: {}", "| {} | {} |")


@pytest.mark.parametrize("language", HEADS)
def test_generated_plans_are_read_as_they_were_generated(
    plan: Callable[[str], Looked], language: str
) -> None:
    """Headings, boxes, ways to state the status: 780 plans over all languages, each in every phase."""
    label, word, title = HEADS[language]
    for at, (level, (done, still_open), field) in enumerate(
        product(LEVELS, BOXES.items(), FIELDS_AS)
    ):
        current = at % 3 + 1
        lines = ["# X", "", field.format(label, word), ""]
        for number, name in enumerate(("Alpha", "Beta", "Gamma"), 1):
            lines += [level + title.format(number, name) + ("**" if level == "**" else ""), ""]
            lines += [f"{done}a{number}"] if number <= current else []
            lines += [f"{still_open}b{number}"] if number >= current else []
            lines += [""]
        looked = plan("\n".join(lines))
        assert looked.declaration is not None, (lines, looked.reason)
        name = ("Alpha", "Beta", "Gamma")[current - 1]
        assert where(looked.declaration) == (current, 3, name, f"b{current}"), lines


STATUS_CASES = [
    (language, status, word)
    for status, table in STATUSES.items()
    for language, words in table.items()
    for word in words.split(", ")
]


@pytest.mark.parametrize("status", STATUSES)
def test_every_word_of_status_is_understood(plan: Callable[[str], Looked], status: str) -> None:
    """A plan whose status it is, is active, a candidate, closed or none, as it says."""
    for language, of, written in STATUS_CASES:
        word = re.sub(r"\[(\w)\w*\]\??", r"\1", written).replace("?", "").replace("_", " ")
        if of != status:
            continue
        looked = plan(f"# X\n\nStatus: {word}\n\n## Phase 1: A\n- [x] a\n## Phase 2: B\n- [ ] b\n")
        active, closed = status in {"in_progress", "blocked"}, status in {"completed", "cancelled"}
        verdict = (bool(looked.declaration), bool(looked.closed), bool(looked.candidate))
        assert verdict == (active, closed, not active and not closed), (language, word)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## Phase 1: A\n- [x] a\n## Phase 2: B\n- [ ] b", "1 of 2 done"),
        ("- [x] a\n- [ ] b\n- [ ] c", "1 of 3 done"),
        ("Status: On Hold\n\n- [x] a\n- [ ] b", "on hold"),
        ("Status: in progress\n\nProse.", "in progress, but without phases or boxes"),
        ("## Phase 1: A\n## Phase 2: B", "2 phases, none of them done"),
        ("Status: draft\n\n- [x] a\n- [ ] b", "1 of 2 done, though it says that it is not started"),
    ],
)
def test_candidates_say_why(plan: Callable[[str], Looked], text: str, why: str) -> None:
    """What only looks like a running plan is not followed, and the words for a person say why."""
    looked = plan(f"# X\n\n{text}\n")
    assert looked.declaration is None
    assert looked.candidate is not None
    assert looked.candidate.why == why
    assert looked.candidate.declaration.workflow == "X"


@pytest.mark.parametrize(
    "text",
    [
        "# Readme\n\n## Install\nrun it\n\n## TODO\n- [ ] a\n- [ ] b\n",
        "# Changelog\n\n## 1.2.0\n### Added\n- phase support\n",
        "# {{name}}\n\nStatus: In Progress\n\n## Phase 1: {{phase}}\n- [ ] {{task}}\n",
        "# Design\n\n## 1. Goals\ntext\n## 2. Architecture\ntext\n",
        "# X\n\nStatus: ✅ COMPLETE\n\n## Phase 1: A 🔄\n- [ ] left\n",
        "# X\n\nStatus: Not started\n\n## Phase 1: A\n- [ ] a\n",
        "# X\n\n**Status:** Planning\n\n## Phase 1: A\n- [ ] a\n",
        "# ADR 7\n\n## Status\n\nAccepted\n\n## Context\n\nx\n",
        "# X\n\n**Estado**: completado\n\n## Fase 1: A\n- [ ] x\n",
        "# Codes\n\n| Code | Status |\n|---|---|\n| 1 | active |\n| 2 | closed |\n",
        "# X\n\n## Do\n- ✅ this\n## Do not\n- ❌ that\n",
    ],
)
def test_what_is_no_plan(plan: Callable[[str], Looked], text: str) -> None:
    """Other documents, templates, and plans that are over or have not begun."""
    looked = plan(text)
    assert (looked.declaration, looked.candidate) == (None, None)


@pytest.mark.parametrize(
    ("text", "next_action"),
    [
        ("## In Progress\n- [ ] now\n## Done\n- [x] before\n## Todo\n- [ ] later", "now"),
        ("### 🚧 In Progress\n- now\n\n### Backlog\n- later", "now"),
        ("| Task | Status |\n|---|---|\n| a | done |\n| b | in progress |\n| c | todo |", None),
    ],
)
def test_boards_and_tables_are_followed_without_phases(
    plan: Callable[[str], Looked], text: str, next_action: str | None
) -> None:
    """What is in progress shows that the work runs; no phase is invented."""
    found = plan(f"# X\n\n{text}\n").declaration
    assert found is not None
    assert (found.phases, found.phase, found.next_action) == ((), None, next_action)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("- [ ] Update CLAUDE/A.md", ""),
        ("We will create CLAUDE/A.md for it.", ""),
        ("| File | Change |\n|---|---|\n| CLAUDE/A.md | x |", ""),
        ("See CLAUDE/A.md first.", "@CLAUDE/A.md"),
        ("## References\n- CLAUDE/A.md", "@CLAUDE/A.md"),
        ("## See also\n- docs/a.md", "@docs/a.md"),
    ],
)
def test_what_a_plan_tells_to_change_is_not_to_be_read(
    plan: Callable[[str], Looked], text: str, path: str
) -> None:
    """Only what it tells to read, or lists for that."""
    found = plan(f"# X\n\nStatus: active\n\nIts phases:\n\n{text}\n").declaration
    assert found is not None
    assert (found.required_reading or ())[1:] == ((path,) if path else ())


def test_files_to_read_are_not_left_out_in_silence(plan: Callable[[str], Looked]) -> None:
    """602 declared files became 100, and nobody was told."""
    files = "\n".join(f"- docs/{number}.md" for number in range(602))
    looked = plan(f"# X\n\nStatus: active\n\nIts phases:\n\n## Required Reading\n{files}\n")
    assert "602 files to read are declared, the first 200 count" in looked.trouble


def test_a_record_of_a_decision_is_no_context(plan: Callable[[str], Looked]) -> None:
    """Its lines looked like variables of the workflow."""
    adr = "### Decision 1\n**Context**: We need tokens\n**Decision**: Use JWT\n**Date**: May\n"
    found = plan(f"# X\n\nStatus: active\n\nIts phases:\n\n{adr}").declaration
    assert found is not None
    assert found.context is None


SESSION = "# CLAUDE.local.md\n\n## Current Session\n\n**Status:** {}\n**Branch:** main\n"


@pytest.mark.parametrize(
    ("status", "name", "phase"),
    [
        ("IN PROGRESS — search rewrite (Tasks 1-3 of 9 done)", "search rewrite", (4, 9)),
        ("NEARLY DONE — login form, Tasks 1–6 done (1 remains)", "login form", (7, 7)),
        ("Cache clean-up in progress", "Cache clean-up", None),
        ("In progress - Phase 2 of 3", "", None),
    ],
)
def test_a_section_on_the_current_session(
    local: Callable[[str], Looked], status: str, name: str, phase: tuple[int, int] | None
) -> None:
    """It declares what its status speaks of; notes stay silent, and so does what is done."""
    found = local(SESSION.format(status)).declaration
    assert (found.workflow if found else "") == name
    if found and phase:
        assert found.phase is not None
        assert (found.phase.current, found.phase.total) == phase
    assert local(SESSION.format(f"COMPLETE — {name}")).declaration is None
    assert local(SESSION.format("stable")) == local(SESSION.format("stable"))._replace(
        candidate=None
    )


def test_a_session_with_work_left_is_a_candidate(local: Callable[[str], Looked]) -> None:
    """Its status says neither that it runs nor that it is over, and its plan has more to do."""
    looked = local(SESSION.format("Phase 4 applied and verified\n**Plan:** plans/x.md (Phase 5-6 still to do)").replace("Session", "Session (2026-01-02 — search: phase 4)"))  # fmt: skip
    assert looked.candidate is not None
    assert (looked.candidate.why, looked.candidate.declaration.workflow) == (
        "says that work is left",
        "search",
    )


def test_a_current_development_phase(local: Callable[[str], Looked]) -> None:
    """A heading over a phase declares it."""
    found = local("# Notes\n\n## Current Development Phase\n\nPhase 2 of 4: Search\n").declaration
    assert found is not None
    assert found.phase is not None
    assert found.phase[:3] == (2, 4, "Search")


def table_of_words() -> str:
    """The grammar's words as the documentation has them."""
    rows = ["| | " + " | ".join(("phases", "steps", *(s.replace("_", " ") for s in STATUSES))) + " |", "|---" * (len(STATUSES) + 3) + "|"]  # fmt: skip
    for language in PHASES:
        cells = [
            PHASES[language],
            STEPS[language],
            *(table[language] for table in STATUSES.values()),
        ]
        rows.append(
            f"| {language} | " + " | ".join(cell.replace("_", " ") for cell in cells) + " |"
        )
    signs = {
        status: "".join(sign for sign in SIGNS if SIGNS[sign] == status) for status in STATUSES
    }
    rows.append(f"| signs | {', '.join(CODES['phase'].upper())} and a number | {CODES['step'].upper()} and a number | " + " | ".join(signs.values()) + " |")  # fmt: skip
    return "\n".join(rows)


def test_the_words_are_in_the_documentation() -> None:
    """As printed here; with a new word, put this into docs/formats/canonical.md."""
    assert table_of_words() in DOCS.read_text("utf-8")
    assert all(label == label.lower() for labels in FIELDS.values() for label in labels.split(", "))
