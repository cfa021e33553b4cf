"""`holdfast why FILE`: what was understood of a plan or of CLAUDE.local.md, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.testing import Project

PLAN = """# Shop

Status: going well

## Phase 1: Cart
- [x] Add

## Phase 2: Till
- [ ] Pay
- [ ] Refund

Just words.

```
- [ ] an example
```
"""


def explained(project: Project, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.run("why", "--json", path).stdout)
    found["lines"] = {
        line["line"]: line["understood"] or f"! {line['change']}" for line in found["lines"]
    }
    return found


def test_a_plan_line_by_line(holdfast_project: Project) -> None:
    """Words and examples are left out."""
    holdfast_project.write("PLAN.md", PLAN)
    found = explained(holdfast_project, "PLAN.md")
    assert found["verdict"] == "candidate"
    assert (found["workflow"], found["phase"], found["phases"]) == ("Shop", 2, 2)
    assert "Status: In Progress" in found["change"]
    assert found["lines"] == {
        1: "the name: Shop",
        3: "! say `In Progress`, `Blocked` or `Completed`",
        5: "phase 1 of 2, done",
        6: "done",
        8: "phase 2 of 2, the current one",
        9: "the next action",
        10: "still to do",
    }


def test_what_it_says_to_change_makes_the_plan_active(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", PLAN.replace("going well", "In Progress"))
    found = explained(holdfast_project, "PLAN.md")
    assert (found["verdict"], found["change"]) == ("active", "")
    assert found["lines"][3] == "status: in progress"


def test_claude_local_md_line_by_line(holdfast_project: Project) -> None:
    holdfast_project.write("docs/a.md", "x\n")
    holdfast_project.declare("W", phase="4/3 - Late", reading=["@docs/a.md"], reminders=["Never"])
    lines = explained(holdfast_project, "CLAUDE.local.md")["lines"]
    assert lines[3] == "workflow: W"
    assert lines[4] == "! write it as `Phase: 2/5 - Name`"
    assert {"required reading", "a reminder"} <= set(lines.values())


def test_a_file_that_declares_nothing_says_how_to_begin(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", "# Notes\n\nJust words.\n")
    found = explained(holdfast_project, "PLAN.md")
    assert found["verdict"] == "none"
    assert "`## Phase 1: Name`" in found["change"]
    holdfast_project.write("CLAUDE.local.md", "# Notes\n")
    assert "`Workflow: Name`" in explained(holdfast_project, "CLAUDE.local.md")["change"]


def test_it_says_what_the_project_has_decided(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", PLAN)
    holdfast_project.write("notes/any.md", PLAN)
    assert (
        "Holdfast does not look for plans there"
        in holdfast_project.run("why", "notes/any.md").stdout
    )
    holdfast_project.run("unfollow", "PLAN.md")
    assert "it was unfollowed here" in holdfast_project.run("why", "PLAN.md").stdout
    holdfast_project.run("follow", "PLAN.md")
    assert explained(holdfast_project, "PLAN.md")["change"] == ""


def test_in_words(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", PLAN)
    shown = holdfast_project.run("why", "PLAN.md").stdout
    assert shown.startswith("PLAN.md: it looks like a plan (1 of 2 done)\nTo have it followed: ")
    joined = " ".join(shown.split())
    assert (
        "3 Status: going well NOT UNDERSTOOD: say `In Progress`, `Blocked` or `Completed`" in joined
    )
    missing = holdfast_project.run("why", "gone.md", check=False)
    assert (missing.returncode, "there is no file 'gone.md'" in missing.stderr) == (1, True)


HIDDEN = "! it stands in code, a quote or a comment, where nothing counts"
NO_BOX = "! a box is `- [ ] what`, and `- [x] what` once it is done"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- [?] Add\n-[ ] Pay", {5: NO_BOX, 6: NO_BOX}),
        ("```\n- [ ] Add", {6: HIDDEN}),
        ("## Required Reading\n- @a.md", {5: "begins: reading", 6: "! there is no file a.md"}),
        (
            "## Phase 1: A\n- [x] a\n## Phase 3: B\n- [ ] b\n- [ ] b",
            {
                5: "phase 1 of 3, done",
                6: "done",
                7: "phase 3 of 3, the current one",
                8: "the next action",
                9: "still to do",
            },
        ),
    ],
)
def test_each_slip_in_a_plan_is_named(
    text: str, lines: dict[int, str], holdfast_project: Project
) -> None:
    """A box that is none and a line in code were passed over without a word."""
    holdfast_project.write("PLAN.md", f"# Shop\n\nStatus: in progress\n\n{text}\n")
    said = {1: "the name: Shop", 3: "status: in progress"}
    assert explained(holdfast_project, "PLAN.md")["lines"] == {**said, **lines}


def test_a_status_in_a_late_quote_is_named(holdfast_project: Project) -> None:
    holdfast_project.write(
        "PLAN.md", "# Shop\n\n## Phase 1: A\n\n> Status: in progress\n\n- [ ] a\n"
    )
    assert explained(holdfast_project, "PLAN.md")["lines"][5] == HIDDEN


def test_a_plan_that_lacks_phases_is_not_told_to_say_that_it_runs(
    holdfast_project: Project,
) -> None:
    """It was told to add the status line that it has."""
    holdfast_project.write("PLAN.md", "# Shop\n\nStatus: in progress\n\n## Cart\nwords\n")
    change = explained(holdfast_project, "PLAN.md")["change"]
    assert change.startswith("add phases as headings")
    assert change.endswith("or `holdfast follow PLAN.md`")


def test_front_matter_that_cannot_be_read_is_named_on_its_line(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", "---\nstatus: [in progress\n---\n# Shop\n\n- [ ] a\n")
    assert "not valid YAML" in explained(holdfast_project, "PLAN.md")["lines"][1]


@pytest.mark.parametrize("status", ["Status: In Progress\n", ""])
def test_a_plan_whose_workflow_was_completed_says_how_to_take_it_up_again(
    status: str, holdfast_project: Project
) -> None:
    """`why` and `init` said that work is in progress, and `follow` failed without a next step."""
    project, resume = holdfast_project, "holdfast resume 'Import CSV'"
    project.write("PLAN.md", f"# Import CSV\n{status}\n## Phase 1: Read\n- [x] a\n- [ ] b\n")
    project.run("follow", "PLAN.md")
    project.run("complete")
    for command in (["why", "PLAN.md"], ["init"]):
        shown = project.run(*command).stdout
        assert "PLAN.md: its workflow has ended (completed on " in shown
        assert f"To take it up again: {resume}" in shown
        assert "in progress (" not in shown
    refused = project.run("follow", "PLAN.md", check=False)
    assert f"Take it up again: {resume}" in refused.stderr
    project.run("resume", "Import CSV")
    assert "has ended" not in project.run("why", "PLAN.md").stdout


@pytest.mark.parametrize("command", [["why"], ["follow"]])
@pytest.mark.parametrize(
    ("typed", "there"), [("plan.md", "PLAN.md"), ("plans/seach.md", "plans/search.md")]
)
def test_a_misspelt_file_is_told_with_the_one_that_is_there(
    command: list[str], typed: str, there: str, holdfast_project: Project
) -> None:
    holdfast_project.write(there, "# X\n")
    refused = holdfast_project.run(*command, typed, check=False)
    assert refused.returncode == 1
    assert f"Did you mean {there!r}?" in refused.stderr


def test_a_second_workflow_in_claude_local_md_is_told(holdfast_project: Project) -> None:
    """It was dropped in silence."""
    one, two = "Workflow: Alpha\nPhase: 1/2 - A\n", "Workflow: Beta\nPhase: 2/3 - B\n"
    holdfast_project.write(
        "CLAUDE.local.md", f"# WORKFLOW STATE\n\n{one}\n# WORKFLOW STATE\n\n{two}"
    )
    assert "'Beta' is a second workflow, which does not count" in holdfast_project.run("why").stdout
    lines = explained(holdfast_project, "CLAUDE.local.md")["lines"]
    assert lines[3] == "workflow: Alpha"
    assert lines[8] == "! this file declares 'Alpha' only; declare another one in a plan"
