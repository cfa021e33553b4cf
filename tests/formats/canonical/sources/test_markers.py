"""Which WORKFLOW STATE heading holds, what it says itself, and what old ones and strikes declare."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Looked, PhaseMark

STATE = "\n\nWorkflow: New\nPhase: 1/2 - A\n"
OLD = "\n\nWorkflow: Old\nPhase: 4/5 - Z\n@docs/old.md\n\n### Notes\nGate: old\n\n"


@pytest.mark.parametrize(
    "title",
    [
        "# Old workflow state (do not use)", "# Previous workflow state", "# Archived workflow state", "# Former Workflow State", "# Workflow state template",
        "# Example workflow state", "# Workflow State (archived)", "# Workflow State - old", "# Example of a workflow state", "# Archive", "# Workflow State (example only)",
        "# Previous session's workflow state", "# 🗄 Old Workflow State: Foo", "**Previous workflow state**", "OLD WORKFLOW STATE:", "# Archived workflows",
    ],
)  # fmt: skip
@pytest.mark.parametrize("current", ["# Current Workflow State", "# Workflow State", "**WORKFLOW STATE**"])  # fmt: skip
def test_an_old_or_example_marker_is_none(
    local: Callable[[str], Looked], title: str, current: str
) -> None:
    """Its section is not read, neither before the current one nor after it nor alone."""
    alone = local(f"{title}{OLD}")
    assert (alone.declaration, alone.closed) == (None, None)
    assert "is not a marker" in alone.reason
    texts = []
    if current.startswith("#") or not title.startswith("#"):  # a heading's section goes on
        texts.append(f"{title}{OLD}{current}{STATE}")
    if current.startswith("#") and title.startswith("#"):
        texts.append(f"{current}{STATE}\n{title}{OLD}")
    for text in texts:
        found = local(text).declaration
        assert found is not None
        assert (found.workflow, found.gate, found.required_reading) == ("New", None, None)


@pytest.mark.parametrize(
    "title",
    ["# Workflow State: Old Website Migration", "# Workflow State (do not delete)", "# Example.com workflow state", "# Workflow State: Template engine", "# Workflow State - Archive import"],
)  # fmt: skip
def test_names_with_such_words_are_markers(local: Callable[[str], Looked], title: str) -> None:
    """What the workflow is called says nothing about the marker."""
    found = local(f"{title}{STATE}").declaration
    assert found is not None
    assert found.workflow == "New"


def test_of_several_markers_the_current_one(local: Callable[[str], Looked]) -> None:
    """One that says current or active, else the first that is not ended."""
    first, second = STATE, STATE.replace("New", "Second")
    for one, two, name in (
        ("# Workflow State", "# Current Workflow State", "Second"),
        ("# Workflow State", "# Workflow State: ACTIVE", "Second"),
        ("# Workflow State", "# Workflow State", "New"),
        ("# Workflow State: COMPLETED", "# Workflow State", "Second"),
    ):
        found = local(f"{one}{first}\n{two}{second}").declaration
        assert found is not None
        assert found.workflow == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Workflow State: COMPLETED\nWorkflow: Foo\nPhase: 5/5", "Foo"),
        ("# Workflow State ✅\nWorkflow: Foo\nPhase: 5/5 - Ship", "Foo"),
        ("# Workflow State (completed 2025-12-01)\nWorkflow: Foo\nPhase: 5/5", "Foo"),
        ("WORKFLOW STATE (completed)\nWorkflow: Foo\nPhase: 5/5", "Foo"),
        ("Workflow: Foo (completed)\nPhase: 5/5", "Foo"),
        ("Workflow: Foo ✅\nPhase: 5/5", "Foo"),
        ("Workflow: Foo - DONE\nPhase: 3/5", "Foo"),
        ("# Workflow State: Foo (cancelled)\nPhase: 2/5", "Foo"),
        ("---\nworkflow: Foo (completed)\n---\n", "Foo"),
    ],
)
def test_a_status_behind_the_name_or_the_marker_ends_it(
    local: Callable[[str], Looked], text: str, name: str
) -> None:
    """It speaks of the whole workflow, in whatever phase; the name is without it."""
    looked = local(text)
    assert looked.declaration is None
    assert looked.closed is not None
    assert looked.closed.workflow == name


def test_a_status_line_goes_before_the_name(local: Callable[[str], Looked]) -> None:
    """What is stated on its own line holds; a draft may be what the workflow is about."""
    found = local("Workflow: Foo ✅\nPhase: 2/5\nStatus: in progress").declaration
    assert found is not None
    assert (found.workflow, found.status) == ("Foo", "in_progress")
    blocked = local("Workflow: Foo (blocked)\nPhase: 2/5").declaration
    assert blocked is not None
    assert (blocked.workflow, blocked.status) == ("Foo", "blocked")
    named = local("Workflow: Blog post - Draft\nPhase: 2/5").declaration
    assert named is not None
    assert (named.workflow, named.status) == ("Blog post - Draft", None)


def test_struck_out_text_declares_nothing(local: Callable[[str], Looked]) -> None:
    """Neither a line nor a part of one, nor several lines at once."""
    text = (
        "# Workflow State\n~~Workflow: Old~~\nWorkflow: ~~Old~~ New\nPhase: ~~1/3~~ 2/3 - ~~X~~ Y\n"
    )
    found = local(f"{text}~~Gate: a\nNext: b~~\n- ~~@docs/a.md~~\n").declaration
    assert found is not None
    assert (found.workflow, found.phase) == ("New", PhaseMark(2, 3, "Y"))
    assert (found.gate, found.next_action, found.required_reading) == (None, None, None)
    assert local("~~Workflow: Old~~\n~~Phase: 1/2~~").declaration is None
    assert local("~~Workflow: Old\nPhase: 1/2~~").declaration is None
    assert local("# ~~Workflow State~~\nWorkflow: Old").declaration is None


def test_several_fields_on_one_line(local: Callable[[str], Looked]) -> None:
    """Divided by bars, if all of them are labelled."""
    found = local("**Workflow:** X | **Phase:** 2/3 - A | **Status:** blocked").declaration
    assert found is not None
    assert (found.workflow, found.phase, found.status) == ("X", PhaseMark(2, 3, "A"), "blocked")
    named = local("Workflow: A | B\nPhase: 1/2").declaration
    assert named is not None
    assert named.workflow == "A | B"


def test_a_table_header_is_no_field(local: Callable[[str], Looked]) -> None:
    """The rows below it may be."""
    rows = "| Workflow | Phase |\n|---|---|\n| Workflow | X |\n| Phase | 1/2 |\n"
    found = local(rows).declaration
    assert found is not None
    assert (found.workflow, found.phase) == ("X", PhaseMark(1, 2))
