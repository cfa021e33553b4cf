"""What the rest of the house sees: the briefing after every step, standing, and hands off the files."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from surveying import surveyed

from gatedwork import (
    APPROVE_PHASE,
    FOLDER,
    NAMES,
    SLUG,
    begin,
    do,
    move,
    place,
    put,
    put_feature,
    read,
    state_example,
    status_example,
    tree,
    walk,
)
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.gated import files
from holdfast.formats.gated.format import FORMAT
from holdfast.records import ledger
from holdfast.testing import Compactions, Project


def only(place: Place) -> Workflow:
    (workflow,) = surveyed(FORMAT, place).workflows
    return workflow


def context(workflow: Workflow) -> dict[str, Any]:
    return dict(workflow.briefing.context)


# The command, the phase's number, its status, whose turn it is, and what is next.
WALK = [
    ("submit", 1, "in_review", "reviewer", "Requirements, iteration 1 of 4: the reviewer evaluates the artefact"),
    ("revise errors", 1, "in_progress", "creator", "Requirements, iteration 2 of 4: the creator revises after the review: errors"),
    ("submit", 1, "in_review", "reviewer", "Requirements, iteration 2 of 4: the reviewer evaluates the artefact"),
    ("approve-internal #7", 1, "user_review", "human", "Requirements, iteration 2 of 4: a person reviews it on PR #7"),
    ("request-changes shorter", 1, "in_progress", "creator", "Requirements, iteration 2 of 4: the creator revises after a person's comments on the pull request: shorter"),
    ("submit", 1, "in_review", "reviewer", "Requirements, iteration 2 of 4: the reviewer evaluates the artefact"),
    ("approve-internal", 1, "user_review", "human", "Requirements, iteration 2 of 4: a person reviews it on PR #7"),
    ("approve", 2, "in_progress", "creator", "Architecture: the creator works on the artefact"),
    ("escalate lost", 2, "escalated", "human", "Architecture: it is escalated (lost); a person has to give guidance, or to override"),
    ("guide smaller", 2, "in_progress", "creator", "Architecture: the creator revises by the guidance that a person gave: smaller"),
    ("submit", 2, "in_review", "reviewer", "Architecture, iteration 1 of 4: the reviewer evaluates the artefact"),
    ("regress 01-requirements offline", 1, "in_progress", "creator", "Requirements, iteration 2 of 4: the creator revises after a person's comments on this earlier phase: offline"),
    ("escalate again", 1, "escalated", "human", "Requirements, iteration 2 of 4: it is escalated (again); a person has to give guidance, or to override: offline"),
    ("override", 2, "in_progress", "creator", "Architecture: the creator works on the artefact"),
]  # fmt: skip


def test_the_briefing_after_each_command(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The phase, its status, whose turn it is and what is next; restored after a compaction."""
    here = begin(holdfast_project)
    assert only(here).briefing.next_action == "Requirements: the creator works on the artefact"
    for command, number, status, turn, expected in WALK:
        walk(here, command)
        workflow = only(here)
        briefing = workflow.briefing
        assert (briefing.name, briefing.kind) == ("User Auth", "gated")
        assert (briefing.phase, briefing.phases, briefing.status) == (number, 5, status), command
        assert briefing.phase_name == {1: "Requirements", 2: "Architecture"}[number]
        assert briefing.next_action == expected, command
        assert context(workflow)["whose turn"] == turn
        assert workflow.standing == "active"
        cycle = compaction_cycle()
        assert expected in cycle.guidance, command
        assert expected[:60] in cycle.note, command
        assert all(f"`{each}`" in cycle.guidance for each in briefing.kept_with)


def test_the_commands_that_are_named_are_possible(holdfast_project: Project) -> None:
    """Each of those that keep it current would be taken."""
    here = begin(holdfast_project)
    for command, *_ in WALK:
        for line in only(here).briefing.kept_with:
            name = line.removeprefix("holdfast gate ")
            feature = files.read(here.store, here.root / FOLDER)
            content = files.reconciled(feature, "x")
            step = move(name, *(["#7"] if name == "approve-internal" else []))
            step(content, "2026-02-27T10:00:00Z")
        walk(here, command)


def test_the_end(holdfast_project: Project) -> None:
    """All approved: complete it. Completed: publish it. Both in one line."""
    here = begin(holdfast_project)
    walk(here, *APPROVE_PHASE * 5)
    workflow = only(here)
    assert workflow.briefing.next_action == (
        "All phases are approved on PR #7: review the whole, then complete it"
    )
    assert workflow.briefing.comes_next.endswith("complete it, with `holdfast gate complete`.")
    assert (workflow.standing, workflow.briefing.count) == ("active", "5/5")
    (line,) = FORMAT.complete(here, workflow)
    assert "holdfast gate finalize" in line
    workflow = only(here)
    assert (workflow.standing, workflow.left_over) == ("finished", True)
    assert "a person publishes its docs: holdfast gate finalize" in workflow.remark


@pytest.mark.parametrize("word", ["cancelled", "abandoned", "finalized"])
def test_what_is_over_is_put_away(word: str, holdfast_project: Project) -> None:
    """One line, never a restore."""
    put_feature(holdfast_project, {**state_example(), "status": word})
    workflow = only(place(holdfast_project))
    assert (workflow.standing, workflow.put_away) == ("finished", True)
    assert workflow.remark == f"{word} on 2026-02-27"


def test_untouched_for_long_it_is_stale_and_touched_it_is_not(holdfast_project: Project) -> None:
    """By the settings' days; also what is escalated."""
    here = begin(holdfast_project)
    do(here, "escalate")
    holdfast_project.clock.advance(days=8)
    later = place(holdfast_project)
    workflow = only(later)
    assert (workflow.standing, workflow.remark) == ("stale", "untouched for 8 days")
    assert workflow.closed_with == f"holdfast gate cancel -w {SLUG}"
    FORMAT.touch(later, workflow)
    assert only(later).standing == "active"


def test_ignored_it_stays_out_of_the_way(holdfast_project: Project) -> None:
    """As all formats have it."""
    begin(holdfast_project)
    holdfast_project.run("ignore", "User Auth")
    workflow = only(place(holdfast_project))
    assert workflow.standing == "ignored"
    assert ledger.load(place(holdfast_project).store).ignored


def test_what_is_to_be_read(holdfast_project: Project) -> None:
    """The description, what the phase has produced, the last review; only what is there and is text."""
    here = begin(holdfast_project)
    folder = f"{FOLDER}/{NAMES[0]}"
    holdfast_project.write(f"{folder}/requirements.md", "# Requirements\n")
    holdfast_project.write(f"{folder}/diagrams/flow.mmd", "graph LR\n")
    holdfast_project.write(f"{folder}/diagrams/flow.png", b"\x89PNG\0\0")
    holdfast_project.write(f"{folder}/.draft.md", "x")
    holdfast_project.write(f"{FOLDER}/{NAMES[1]}/architecture.md", "not yet\n")
    (here.root / folder / "secret.md").symlink_to("/etc/hostname")
    walk(here, "submit", "revise", "submit", "revise")
    assert only(here).briefing.reading == (
        f"@{FOLDER}/00-feature/description.md",
        f"@{folder}/requirements.md",
        f"@{folder}/diagrams/flow.mmd",
        f"@{folder}/reviews/review-2.md",
    )


def test_cautions(holdfast_project: Project) -> None:
    """Another branch, files that disagree, a state that contradicts itself."""
    here = begin(holdfast_project)
    assert only(here).cautions == ()
    put(holdfast_project, {**read(holdfast_project), "branch": "feature/user-auth"})
    (line,) = only(place(holdfast_project, branch="main")).cautions
    assert line.startswith("⚠️ State is for branch 'feature/user-auth' but current branch is 'main'")
    data = read(holdfast_project)
    data["phases"][NAMES[0]]["iterations"] = 3
    put(holdfast_project, data)
    (line,) = only(here).cautions
    assert line == (
        "status.json of 01-requirements "
        "said in_progress, iteration 0; workflow-state.json says in_progress, iteration 3, which holds"
    )
    data["phases"][NAMES[4]]["status"] = "in_review"
    put(holdfast_project, data)
    assert (
        only(here)
        .cautions[0]
        .startswith(
            "workflow-state.json contradicts itself. phases.05-documentation.status: expected pending"
        )
    )


def test_hooks_leave_the_files_alone(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whatever happens around them, also where they disagree; only a copy is kept in our own folder."""
    walk(begin(holdfast_project), "submit")
    data = read(holdfast_project)
    data["phases"][NAMES[0]]["iterations"] = 2
    path = put(holdfast_project, data)
    before = tree(holdfast_project)
    for source in ("startup", "resume", "clear"):
        compaction_cycle.start(source)
    compaction_cycle(3)
    assert tree(holdfast_project) == before
    copies = place(holdfast_project).store.copies(path)
    assert copies
    assert json.loads(copies.good) == data


@pytest.mark.parametrize("broken", ["{", '{"phases": {"01-requirements": {}}}'])
def test_what_cannot_be_read_is_restored_from_its_copy_and_told(
    broken: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent goes on, and the person is told; nothing is written over it."""
    walk(begin(holdfast_project), "submit")
    path = put(holdfast_project, broken)
    os.utime(path, (0, 0))
    cycle = compaction_cycle()
    assert "Requirements, iteration 1 of 4: the reviewer evaluates" in cycle.guidance
    assert f"{FOLDER}/workflow-state.json could not be read" in cycle.message
    assert path.read_text("utf-8") == broken


def test_without_a_copy_it_is_told_and_recovery_named(holdfast_project: Project) -> None:
    """Broken from the beginning, or gone while description and phases are there."""
    path = put(holdfast_project, "{")
    os.utime(path, (0, 0))
    survey = surveyed(FORMAT, place(holdfast_project))
    assert (survey.workflows, len(survey.notes)) == ([], 2)
    assert survey.notes[1].endswith(f"from the files of '{SLUG}': holdfast gate recover")
    path.unlink()
    put(holdfast_project, status_example(), f"{NAMES[0]}/status.json")
    assert surveyed(FORMAT, place(holdfast_project)).notes[0].endswith("it is missing")
    put(holdfast_project, "# User Auth\n", "00-feature/description.md")
    survey = surveyed(FORMAT, place(holdfast_project))
    assert survey.notes[0] == f"{FOLDER}/workflow-state.json could not be read: it is missing"
    assert FORMAT.present(place(holdfast_project))


@pytest.mark.parametrize(
    "foreign", [{"jobs": []}, {"phases": ["a"]}, [], {"feature": "x"}, {"status": "in_progress"}]
)
def test_somebody_elses_file_is_left_alone(foreign: object, holdfast_project: Project) -> None:
    """Recognised by its shape, not by its path alone."""
    path = put(holdfast_project, foreign)
    here = place(holdfast_project)
    survey = surveyed(FORMAT, here, 1.0)
    assert (survey.workflows, survey.notes, FORMAT.present(here)) == ([], [], False)
    assert survey.looked == [(f"{FOLDER}/workflow-state.json", "not the state of a feature")]
    assert FORMAT.inspect(path, path.read_bytes()) is None
    assert here.store.copies(path) is None


def test_the_copies_go_with_the_feature_and_not_with_one_file(holdfast_project: Project) -> None:
    """A file that is missing alone may be brought back."""
    here = begin(holdfast_project)
    surveyed(FORMAT, here, 1.0)
    path = here.root / FOLDER / "workflow-state.json"
    path.unlink()
    surveyed(FORMAT, here, 1.0)
    assert here.store.copies(path) is not None
    (here.root / FOLDER).rename(here.root / "gone")
    surveyed(FORMAT, here, 1.0)
    assert here.store.copied_at(files.FOLDER) == {}


def test_several_features_are_several_workflows(holdfast_project: Project) -> None:
    """Each with its slug as a short name."""
    here = begin(holdfast_project)
    begin(holdfast_project, "search", "Search")
    found = surveyed(FORMAT, here).workflows
    assert [(each.key, each.handle) for each in found] == [
        ("gated:search", "search"),
        ("gated:user-auth", "user-auth"),
    ]
