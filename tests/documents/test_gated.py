"""What the document of gated development says of features and their files, by its own blocks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gatedwork import (
    DOCUMENT,
    FOLDER,
    NAMES,
    SLUG,
    killed_at_rename,
    put,
    put_feature,
    read,
    state_example,
    status,
    status_example,
    write_artefacts,
)
from holdfast.testing import Compactions, Project

SESSION = "session-1"
WORKFLOW_STATE = "workflow-state.json"


def gate(project: Project, *arguments: str) -> str:
    return project.run("gate", *arguments, session=SESSION).stdout


def begin(project: Project) -> None:
    gate(project, "start", SLUG, "--title", "User Auth")
    write_artefacts(project)


def pattern(heading: str) -> dict[str, Any]:
    """The block below *heading*, with its placeholders as they stand."""
    section = DOCUMENT.split(f"### {heading}\n", 1)[1]
    block = section.split("```json\n", 1)[1].split("```", 1)[0]
    data: dict[str, Any] = json.loads(block)
    return data


def by_hand(project: Project, heading: str) -> None:
    """What another orchestrator does: the fields of the block, in both files of the first phase."""
    fields = pattern(heading)
    put(project, {**status(project, 1), **fields}, f"{NAMES[0]}/status.json")
    state = read(project)
    summary = state["phases"][NAMES[0]]
    summary |= {key: value for key, value in fields.items() if key in summary}
    put(project, state)


def test_the_first_example_is_restored_and_gone_on_with(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A feature that a person reviews; its approval begins the next phase."""
    put_feature(holdfast_project, {**state_example(), "feature": SLUG})
    guidance = compaction_cycle().guidance
    assert "is in phase 1 of 5: Requirements. Status: user review." in guidance
    gate(holdfast_project, "approve")
    assert read(holdfast_project)["current_phase"] == NAMES[1]
    assert "is in phase 2 of 5: Architecture." in compaction_cycle().guidance


def test_a_start_writes_the_fields_of_both_examples(holdfast_project: Project) -> None:
    """All of them and no other."""
    begin(holdfast_project)
    assert set(read(holdfast_project)) == set(state_example())
    for number, name in enumerate(NAMES, 1):
        found = status(holdfast_project, number)
        assert set(found) == set(status_example())
        assert (found["phase"], found["max_iterations"]) == (name, 4)


AFTER = {
    "After Creator Produces Artifact": "iteration 1 of 4: the reviewer evaluates the artefact",
    "After Reviewer Requests Revision": "iteration 2 of 4: the creator revises: "
    "<feedback from reviewer>",
    "After Internal Reviewer Approves": "a person reviews it on the pull request",
    "After User Requests Changes (PR comments)": "the creator revises: "
    "<aggregated user comments from PR>",
}


@pytest.mark.parametrize("upto", range(1, len(AFTER) + 1))
def test_update_patterns_that_somebody_else_writes_are_followed(
    upto: int, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's blocks one after the other, written into the files without any command."""
    begin(holdfast_project)
    for heading in list(AFTER)[:upto]:
        by_hand(holdfast_project, heading)
    guidance = compaction_cycle().guidance
    (line,) = (line for line in guidance.splitlines() if line.startswith("Next action: "))
    assert line.endswith(AFTER[list(AFTER)[upto - 1]])


@pytest.mark.needs("git")
def test_commits_have_the_format_of_the_examples(holdfast_project: Project) -> None:
    """`[workflow] <phase>: <brief summary>`, both examples to the letter."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "test")
    project.git("config", "user.email", "test@localhost")
    begin(project)
    gate(project, "submit", "--commit", "-m", "Define user auth requirements")
    for number in (1, 2):
        if number == 2:
            gate(project, "submit")
        gate(project, "approve-internal", "good", "--pr", "7")
        gate(project, "approve")
    gate(project, "submit", "--commit", "-m", "Add authentication endpoints")
    examples = re.findall(r"^- Example: `(.*)`$", DOCUMENT, re.MULTILINE)
    assert project.git("log", "--format=%s").splitlines()[::-1] == examples
    assert len(examples) == 2


def test_the_state_is_written_at_each_of_the_five_moments(holdfast_project: Project) -> None:
    """A phase, an iteration, an escalation, an override, the end; and updated_at goes along."""
    begin(holdfast_project)
    moments = [
        (["submit"], ("in_progress", "in_review")),
        (["revise", "more"], ("in_progress", "in_progress")),
        (["escalate", "stuck"], ("escalated", "escalated")),
        (["override"], ("in_progress", "approved")),
        (["cancel"], ("cancelled", "approved")),
    ]
    for command, (workflow, phase) in moments:
        before = read(holdfast_project)["updated_at"]
        holdfast_project.clock.advance(seconds=60)
        gate(holdfast_project, *command)
        found = read(holdfast_project)
        assert (found["status"], found["phases"][NAMES[0]]["status"]) == (workflow, phase)
        assert status(holdfast_project, 1)["status"] == phase
        assert found["updated_at"] > before


def test_of_commands_at_the_same_time_one_is_taken(holdfast_project: Project) -> None:
    """Six times the same move: it is made once, and the files are valid."""
    begin(holdfast_project)

    def submit(_: int) -> int:
        return holdfast_project.run("gate", "submit", session=SESSION, check=False).returncode

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(submit, range(6))) == [0, 1, 1, 1, 1, 1]
    actions = [entry["action"] for entry in status(holdfast_project, 1)["history"]]
    assert actions == ["started", "submitted"]
    assert "valid, and the files agree" in gate(holdfast_project, "validate")


def test_phases_come_one_after_the_other(holdfast_project: Project) -> None:
    """In the document's order, each begun by the approval of the one before."""
    listed = re.findall(r"^\d\. `(\d\d-\w+)`$", DOCUMENT, re.MULTILINE)
    assert tuple(listed) == NAMES
    begin(holdfast_project)
    for name in listed:
        found = read(holdfast_project)
        assert found["current_phase"] == name
        working = [
            key for key, phase in found["phases"].items() if phase["status"] == "in_progress"
        ]
        assert working == [name]
        gate(holdfast_project, "submit")
        gate(holdfast_project, "approve-internal", "good", "--pr", "7")
        gate(holdfast_project, "approve")
    gate(holdfast_project, "complete")
    assert read(holdfast_project)["status"] == "completed"


@pytest.mark.needs("jq")
def test_a_state_that_jq_wrote_is_gone_on_from(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The regression of the document, by hand: phase N again, those behind it pending."""
    begin(holdfast_project)
    for command in (["submit"], ["approve-internal", "x", "--pr", "7"], ["approve"]):
        gate(holdfast_project, *command)
    path = holdfast_project.root / FOLDER / WORKFLOW_STATE
    program = (
        '.current_phase = "01-requirements" | .phases["01-requirements"].status = "in_progress" | '
        '.phases["02-architecture"] += {status: "pending", iterations: 0, started_at: null, '
        "completed_at: null}"
    )
    done = subprocess.run(["jq", program, str(path)], capture_output=True, check=True)
    path.write_bytes(done.stdout)
    os.utime(path)
    assert "is in phase 1 of 5: Requirements." in compaction_cycle().guidance
    gate(holdfast_project, "submit")
    assert status(holdfast_project, 1)["status"] == "in_review"
    assert status(holdfast_project, 2)["status"] == "pending"


@pytest.mark.parametrize("number", range(1, 6))
def test_a_command_that_is_killed_leaves_valid_files(
    number: int, holdfast_project: Project
) -> None:
    """Before any of the files that it replaces: both files say the old or both the new."""
    begin(holdfast_project)
    killed = killed_at_rename(holdfast_project, number, "gate", "submit") == -9
    assert killed or number > 1
    gate(holdfast_project, "reconcile")
    assert "valid, and the files agree" in gate(holdfast_project, "validate")
    found = status(holdfast_project, 1)["status"]
    assert found in {"in_progress", "in_review"}
    assert read(holdfast_project)["phases"][NAMES[0]]["status"] == found
    if found == "in_progress":
        gate(holdfast_project, "submit")
    gate(holdfast_project, "revise", "more")


@pytest.mark.parametrize("escalated", [False, True])
def test_what_waits_for_a_person_says_so(
    escalated: bool, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Who, and what they may do; no command is named that would decide in their place."""
    begin(holdfast_project)
    gate(holdfast_project, "submit")
    if escalated:
        gate(holdfast_project, "escalate", "no agreement")
        waits = r"it is escalated \(no agreement\); a person has to .*\. They may give guidance, or"
    else:
        gate(holdfast_project, "approve-internal", "good", "--pr", "7")
        waits = "a person reviews it on PR #7. They may approve it, request changes, or "
    guidance = compaction_cycle().guidance
    first = "Waiting for a person. Requirements, iteration 1 of 4:"
    assert re.search(f"\n1. {first} {waits}", guidance)
    assert "work continues" not in guidance
    assert "`holdfast gate" not in guidance


def test_a_completed_feature_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In one line: its docs are still to be published."""
    begin(holdfast_project)
    for _ in NAMES:
        gate(holdfast_project, "submit")
        gate(holdfast_project, "approve-internal", "good", "--pr", "7")
        gate(holdfast_project, "approve")
    assert "\n1. All phases are approved on PR #7: review the whole" in compaction_cycle().guidance
    gate(holdfast_project, "complete")
    (line,) = compaction_cycle().guidance.splitlines()
    assert line.startswith("Note: Workflow not restored: User Auth: phase 5/5, completed on ")
    assert line.endswith("; a person publishes its docs: holdfast gate finalize")


@pytest.mark.needs("git")
def test_the_branch_of_a_feature_is_noted_once_it_is_checked_out(holdfast_project: Project) -> None:
    """At the start or by a command after that; another branch is never noted."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    begin(project)
    assert read(project)["branch"] is None
    gate(project, "submit")
    assert read(project)["branch"] is None
    project.git("checkout", "-q", "-b", f"feature/{SLUG}")
    gate(project, "approve-internal", "good", "--pr", "7")
    assert read(project)["branch"] == f"feature/{SLUG}"
    gate(project, "start", "other", "--title", "Other", "--branch")
    assert read(project, slug="other")["branch"] == "feature/other"


@pytest.mark.needs("git")
@pytest.mark.parametrize("noted", [None, "main"])
def test_a_feature_is_worked_on_from_any_branch(
    noted: str | None, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Without a warning, whatever its start has noted."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    begin(project)
    put(project, {**read(project), "branch": noted})
    project.git("checkout", "-q", "-b", "elsewhere")
    guidance = compaction_cycle(session="another").guidance
    assert "User Auth" in guidance.splitlines()[0]
    assert "State is for branch" not in guidance


def refused(project: Project, *arguments: str) -> str:
    done = project.run("gate", *arguments, session=SESSION, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


@pytest.mark.parametrize("seeded", [False, True])
def test_a_phase_is_submitted_with_its_artefact(seeded: bool, holdfast_project: Project) -> None:
    """Not with the template, and not without; the phases of code need no file."""
    project = holdfast_project
    if seeded:
        project.write("docs/features.md", "# Features\n")
    gate(project, "start", SLUG, "--title", "User Auth")
    for name, artefact in zip(
        (NAMES[0], NAMES[1], NAMES[4]),
        ("requirements.md", "architecture.md", "user-docs.md"),
        strict=True,
    ):
        assert f"{FOLDER}/{name}/" in (told := refused(project, "submit"))
        assert ("is missing" if seeded else "is still the template") in told
        put(project, "# Written\n", f"{name}/{artefact}")
        if name == NAMES[1] and not seeded:
            for code in ("03-implementation/implementation.md", "04-testing/testing.md"):
                put(project, "# Written\n", code)
        for _ in range(3 if name == NAMES[1] else 1):
            gate(project, "submit")
            gate(project, "approve-internal", "good", "--pr", "7")
            gate(project, "approve")
    gate(project, "complete")


def test_a_phase_in_user_review_is_on_a_pull_request(holdfast_project: Project) -> None:
    """Which is given once, and kept."""
    begin(holdfast_project)
    gate(holdfast_project, "submit")
    assert "no pull request is known" in refused(holdfast_project, "approve-internal", "good")
    assert status(holdfast_project, 1)["status"] == "in_review"
    gate(holdfast_project, "approve-internal", "good", "--pr", "7")
    gate(holdfast_project, "request-changes", "more")
    gate(holdfast_project, "submit")
    gate(holdfast_project, "approve-internal", "good")
    assert read(holdfast_project)["pr_number"] == 7


def test_a_phase_that_nobody_worked_on_is_not_overridden(holdfast_project: Project) -> None:
    """To escalate and override skipped it."""
    begin(holdfast_project)
    gate(holdfast_project, "escalate", "stuck")
    assert "nobody has submitted anything in 01-requirements" in refused(
        holdfast_project, "override"
    )
    gate(holdfast_project, "guide", "smaller")
    gate(holdfast_project, "submit")
    gate(holdfast_project, "escalate", "stuck")
    gate(holdfast_project, "override")
    assert read(holdfast_project)["current_phase"] == NAMES[1]


def test_approved_artefacts_are_the_ground_of_later_phases(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """They are read again in each phase behind theirs, and not those of a phase that is not approved."""
    begin(holdfast_project)
    ground = f"@{FOLDER}/{NAMES[0]}/artefact.md"
    for command in (["submit"], ["approve-internal", "good", "--pr", "7"], ["approve"]):
        gate(holdfast_project, *command)
    guidance = compaction_cycle().guidance
    assert ground in guidance
    assert guidance.index(f"@{FOLDER}/{NAMES[1]}/artefact.md") < guidance.index(ground)
    assert f"@{FOLDER}/{NAMES[2]}/artefact.md" not in guidance


def test_a_feature_that_has_ended_can_be_validated(holdfast_project: Project) -> None:
    """Without its name, where none is worked on."""
    begin(holdfast_project)
    gate(holdfast_project, "cancel")
    assert f"{FOLDER}: valid, and the files agree" in gate(holdfast_project, "validate")
    assert "1/5 Requirements, cancelled" in gate(holdfast_project, "status")


def test_a_recovery_without_state_and_description_says_what_is_wrong(
    holdfast_project: Project,
) -> None:
    """It said that nothing is."""
    begin(holdfast_project)
    for name in (WORKFLOW_STATE, "00-feature/description.md"):
        (holdfast_project.root / FOLDER / name).unlink()
    told = refused(holdfast_project, "recover")
    assert f"{FOLDER}/00-feature/description.md is missing, so nothing proves" in told


def test_description_and_reviews_are_enough_to_recover_from(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where every state file is gone, the agent is told how."""
    put(holdfast_project, "# User Auth\n", "00-feature/description.md")
    put(holdfast_project, "Verdict: NEEDS_REVISION\n", f"{NAMES[0]}/reviews/review-1.md")
    told = compaction_cycle().message
    assert f"{FOLDER}/{WORKFLOW_STATE} could not be read: it is missing" in told
    assert "holdfast gate recover" in told
    gate(holdfast_project, "recover", "--yes")
    assert "phase 1 of 5: Requirements" in compaction_cycle().guidance
    assert status(holdfast_project, 1)["iterations"] == 2


ODD = [
    (["phases", NAMES[1], "status"], "doing", "expected one of pending,", "phase 2"),
    (["phases", NAMES[0], "status"], "signed", "expected one of pending,", "phase 2"),
    (["phases", NAMES[1], "iterations"], 7, "expected at most 4, found 7", "phase 2"),
    (["status"], "busy", "expected one of in_progress,", "phase 2"),
    (["current_phase"], "architecture", f"expected one of {NAMES[0]},", "phase 2"),
]


@pytest.mark.parametrize(("keys", "value", "expected", "phase"), ODD)
def test_an_odd_value_costs_itself(
    keys: list[str],
    value: object,
    expected: str,
    phase: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """It is named to the agent, the rest is restored, the file keeps it, and no command goes past it."""
    named = f"{'.'.join(keys)}: {expected}"
    begin(holdfast_project)
    for command in (["submit"], ["approve-internal", "good", "--pr", "7"], ["approve"]):
        gate(holdfast_project, *command)
    data = read(holdfast_project)
    holder = data
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert f"is in {phase} of 5" in guidance
    assert f"Note: {named}" in guidance
    assert "contradicts itself" not in guidance
    assert named in refused(holdfast_project, "submit")
    assert read(holdfast_project) == data


def test_an_escalated_workflow_waits_for_a_person(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its phase was in progress, so the agent was told to go on; workflow-state.json is the primary source."""
    begin(holdfast_project)
    put(holdfast_project, read(holdfast_project) | {"status": "escalated"})
    required = compaction_cycle().guidance.partition("## ACTION REQUIRED\n1. ")[2]
    assert required.startswith("Waiting for a person. ")
    assert "`holdfast gate" not in required


@pytest.mark.parametrize("iterations", [9, "two"])
def test_an_odd_iteration_is_taken_from_the_phase_s_own_file(
    iterations: object, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was told as 0, which was said to hold against a valid status.json."""
    begin(holdfast_project)
    gate(holdfast_project, "submit")
    gate(holdfast_project, "revise", "not yet")
    data = read(holdfast_project)
    before = data["phases"][NAMES[0]]["iterations"]
    data["phases"][NAMES[0]]["iterations"] = iterations
    put(holdfast_project, data)
    guidance = compaction_cycle().guidance
    assert f"- iteration: {before} of 4" in guidance
    assert "which holds" not in guidance
    assert f"Note: phases.{NAMES[0]}.iterations: expected " in guidance


def test_what_recovery_did_not_find_is_told_as_not_found(holdfast_project: Project) -> None:
    """A description without a heading: the title was null, "from: the first heading"."""
    begin(holdfast_project)
    folder = holdfast_project.root / "workflow/user-auth"
    (folder / "workflow-state.json").unlink()
    for copies in holdfast_project.root.glob(".claude/holdfast/copies*"):
        shutil.rmtree(copies)
    (folder / "00-feature/description.md").write_text("No heading.\n", "utf-8")
    told = gate(holdfast_project, "recover", "--dry-run")
    assert "not found; it would be the first heading of the description" in told


def test_a_completed_feature_with_an_open_phase_is_not_to_be_published(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to publish its docs."""
    state = state_example()
    for name in NAMES[:4]:
        state["phases"][name]["status"] = "approved"
    put_feature(holdfast_project, {**state, "status": "completed"})
    (line,) = compaction_cycle().guidance.splitlines()
    told = "phases.05-documentation.status: expected approved, since the workflow is completed"
    assert f"workflow-state.json contradicts itself. {told}" in line
    assert "finalize" not in line


def test_a_phase_that_was_begun_before_an_approval_was_told_as_the_work(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was sent on past a phase that waits for a person."""
    state = state_example()
    state["phases"][NAMES[2]]["status"] = "in_progress"
    put_feature(holdfast_project, {**state, "current_phase": NAMES[2]})
    guidance = compaction_cycle().guidance
    told = (
        "phases.01-requirements.status: expected approved, since current_phase is 03-implementation"
    )
    assert f"1. What comes next cannot be told: {told}" in guidance
    assert "gate submit" not in guidance


def test_approved_phases_without_a_pull_request_ask_for_one(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent was told to complete the feature, which is refused without one."""
    state = state_example()
    for name in NAMES:
        state["phases"][name]["status"] = "approved"
    put_feature(holdfast_project, {**state, "current_phase": NAMES[4]})
    told = "review the whole, create the pull request, then complete it, with"
    assert f"\n1. All phases are approved: {told}" in compaction_cycle().guidance


def test_an_escalation_of_another_shape_is_no_error(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document shows an empty list, and each compaction asked for the fields that Holdfast writes."""
    state = state_example()
    state["phases"][NAMES[0]] |= {"status": "escalated", "escalation_reason": "no agreement"}
    entry = {"phase": NAMES[0], "reason": "no agreement", "timestamp": "2026-02-27T10:30:00Z"}
    put_feature(holdfast_project, {**state, "status": "escalated", "escalations": [entry]})
    guidance = compaction_cycle().guidance
    assert "- open escalation: no agreement\n" in guidance
    assert "escalations.0" not in guidance
