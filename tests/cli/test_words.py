"""The words of every format: what each does, what it refuses, and what it says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from gatedwork import write_artefacts
from holdfast.cli import words
from holdfast.cli.words import Word
from holdfast.formats import registry
from holdfast.testing import Compactions, Project

ROOT = Path(__file__).parents[2]
HERE = "s-1"
WORDS = ("next", "done", "note", "block", "unblock", "approve", "reject")
PLAN = """# Pages
Status: In Progress
## Phase 1: Content
- [ ] Write the pages
- [ ] Check them
## Phase 2: SEO
- [ ] Make the map
"""
DEV = ["skill start dev features/a.md --task One --task Two", "next", "next"]
APPROVED = ["done", "gate approve-internal fine --pr 7", "approve"] * 5
STEPS = "".join(
    f'[[steps]]\nstep = {number}\nname = "{name}"\n{more}'
    for number, name, more in ((1, "Read", ""), (2, "Write", "human_approval = true\n"), (3, "Check", ""))
)  # fmt: skip

# Commands that lead there, the word that is tried, its exit code, and what it says.
TABLE: dict[str, list[tuple[list[str], str, int, str]]] = {
    "canonical": [
        ([], "next", 0, "phase 2/2 (SEO). Next: Make the map\n  left with open boxes in phase 1"),
        (["next"], "next", 1, "phase 2/2 is the last one"),
        (["block 'no key'"], "done", 1, "phase 1 is blocked: no key"),
        ([], "done", 0, "Next: Check them\n  ticked: Write the pages"),
        (["done", "done"], "done", 1, "phase 1 has no open box in a plan"),
        ([], "done --commit abc", 2, "No such option '--commit'"),
        ([], "note 'All of it'", 0, "Workflow noted: Pages, phase 1/2 (Content)"),
        ([], "note", 2, "Missing argument 'TEXT...'"),
        ([], "block 'no key'", 0, "Workflow blocked: Pages, phase 1/2 (Content), blocked"),
        (["block 'no key'"], "next", 1, "phase 1 is blocked: no key"),
        (["block"], "unblock", 0, "Workflow unblocked: Pages"),
        ([], "unblock", 1, "'Pages' is not blocked"),
        ([], "approve", 1, "'Pages' cannot approve: a gate is the boxes before it"),
        ([], "reject", 1, "'Pages' cannot reject: a gate is the boxes before it"),
    ],
    "skill": [
        (DEV[:1], "next", 0, "phase 2/5 (create_branch)"),
        (DEV, "next", 0, "Task 1/2 - One, RED phase (write a failing test)"),
        ([*DEV, "next"], "next", 1, "phase 'task_execution' is not done: open tasks: 1, 2"),
        ([*DEV, "next"], "done", 0, "Task 1/2 - One, GREEN phase"),
        ([*DEV, "skill task start --no-tdd"], "done --commit abc", 0, "Task 2/2 - Two"),
        (["skill start dev features/a.md", "next", "next"], "next", 1, "it has no tasks\n  Add them: holdfast skill task add DESCRIPTION"),
        (DEV[:1], "done", 0, "phase 2/5 (create_branch)"),
        (DEV, "note 'All of it'", 0, "Workflow noted: A, phase 3/5"),
        (DEV, "note --drop 'All of it'", 1, "not there: All of it"),
        (DEV, "note All of it", 2, "These are 3 notes of one word. For one: holdfast note 'All of it'"),
        (DEV, "block 'no key'", 0, "Blocked: no key; a person has to say how to go on"),
        (DEV, "block", 2, "Missing argument 'REASON'"),
        ([*DEV, "block 'no key'"], "next", 1, "'A' is blocked: no key"),
        ([*DEV, "block 'no key'"], "unblock", 0, "Workflow unblocked: A"),
        (DEV, "approve", 1, "'A' cannot approve: its document knows no approvals"),
        (DEV, "reject", 1, "'A' cannot reject: its document knows no approvals"),
    ],
    "gated": [
        ([], "next", 0, "Workflow submitted: A, phase 1/5 (Requirements), in review"),
        (["next"], "next", 1, "  1. holdfast gate revise TEXT\n  2. holdfast gate approve-internal TEXT\n"),
        (["next", "gate approve-internal fine --pr 7"], "next", 1, "'A' waits for a person\n  They say `holdfast approve`, or `holdfast reject TEXT`."),
        ([*APPROVED, "next"], "next", 1, "'A' is completed; a person publishes its documents\n  They say `holdfast gate finalize`."),
        ([], "done", 0, "Workflow submitted: A"),
        (["done"], "done", 1, "01-requirements is in review; submit is not possible now"),
        ([], "note 'All of it'", 0, "Workflow noted: A, phase 1/5"),
        ([], "block lost", 0, "it is escalated (lost)"),
        (["block lost"], "unblock 'go on'", 0, "by the guidance that a person gave: go on"),
        (["block lost"], "reject 'go on'", 0, "by the guidance that a person gave: go on"),
        (["done", "block lost"], "approve", 0, "phase 2/5 (Architecture)"),
        ([], "unblock 'go on'", 1, "guide is not possible now"),
        (["done", "gate approve-internal fine --pr 7"], "approve", 0, "phase 2/5 (Architecture)"),
        (["done", "gate approve-internal fine --pr 7"], "reject shorter", 0, "a person's comments on the pull request: shorter"),
        (["done"], "approve", 1, "01-requirements is in review; approve is not possible now"),
    ],
    "orchestrator": [
        ([], "next", 1, "the plan waits for a person\n  They say `holdfast approve`"),
        ([], "approve", 0, "Begin task 1/1: 1.1 One"),
        (["approve"], "next", 0, "Task 1/1: 1.1 One, iteration 0 of 30"),
        (["approve", "next"], "next", 1, "task 1.1 One is in progress\n  Once it is completed: `holdfast done`."),
        (["approve", "next"], "done --cost 0.2", 0, "All tasks of phase 1 of 2 are completed"),
        (["approve", "next", "done"], "next", 0, "phase 2/2, executing. Next: Begin task 1/1: 2.1 Two"),
        (["approve", "next", "done", "next", "next", "done"], "next", 0, "Workflow in review: a"),
        ([], "note 'All of it'", 0, "Workflow noted: a, phase 1/2, planning"),
        (["approve"], "block wait", 0, "Waiting for a person, who may resume the run"),
        (["approve", "next", "block wait"], "next", 1, "has been paused since"),
        (["block wait"], "next", 1, "has been paused since"),
        (["approve", "block wait"], "unblock", 0, "Workflow resumed: a"),
        (["approve"], "unblock", 1, "is not paused"),
        ([], "reject no", 1, "'a' cannot reject: a plan that is not approved stays in planning"),
    ],
    "pipeline": [
        ([], "next", 1, "Step 1 (Read) is in progress\n  The agent must complete it."),
        ([], "done --artifact notes=n.md", 0, "Next: Begin step 2 (Write)\n  there is no file n.md"),
        (["done"], "next", 0, "Next: Step 2 (Write) is in progress"),
        (["done", "next", "done"], "next", 1, "Human approval required for write\n  User must approve"),
        (["done", "next", "done"], "approve", 0, "Next: Begin step 3 (Check)"),
        (["done", "next", "done"], "reject --modify tone=colder", 0, "Workflow sent back"),
        ([], "approve", 1, "does not wait for an approval"),
        ([], "note 'All of it'", 0, "Workflow noted: review-"),
        ([], "block x", 1, "a step only fails: holdfast pipeline update STEP --status failed"),
        (["pipeline update 1 --status failed --error x"], "unblock", 0, "Workflow resumed"),
        (["done", "next", "done", "approve", "next"], "done", 0, "completed"),
    ],
}  # fmt: skip
BEGIN = {
    "canonical": [],
    "skill": [],
    "gated": ["gate start a --title A"],
    "orchestrator": ["orchestrate start docs/a.md -t '1.1 One' -t '2.1 Two'"],
    "pipeline": ["pipeline define review.toml", "pipeline start review"],
}


def begin(project: Project, form: str, *commands: str) -> Project:
    if form == "canonical":
        project.write("PLAN.md", PLAN)
    elif form == "pipeline":
        project.write("review.toml", f'name = "review"\n{STEPS}')
    for command in (*BEGIN[form], *commands):
        project.run(*shlex.split(command), session=HERE)
        if command.startswith("gate start"):
            write_artefacts(project, "a")
    return project


CASES = [
    pytest.param(form, *case, id=f"{form}: {'; '.join([*case[0], case[1]])}")
    for form, cases in TABLE.items()
    for case in cases
]


@pytest.mark.parametrize(("form", "before", "word", "code", "says"), CASES)
def test_what_a_word_does_in_each_format(
    form: str, before: list[str], word: str, code: int, says: str, holdfast_project: Project
) -> None:
    begin(holdfast_project, form, *before)
    done = holdfast_project.run(*shlex.split(word), session=HERE, check=False)
    assert (done.returncode, says in done.stdout + done.stderr) == (code, True), done


WAITING = ["done", "gate approve-internal fine --pr 7"]
NOT_AN_OPTION = [  # texts that look like options, and what is said of them
    ("canonical", [], ["note", "- too long"], 0, "added: - too long"),
    ("canonical", [], ["note", "--", "--force is forbidden"], 0, "added: --force is forbidden"),
    ("canonical", [], ["note", "--", "one text", "-w", "two"], 0, "added: one text\n  added: -w\n  added: two"),
    ("canonical", [], ["note", "a word", "- b", "-w", "Pages"], 0, "added: a word\n  added: - b"),
    ("canonical", [], ["note", "-x is text"], 2, "Usage: holdfast note [OPTIONS] TEXT...\n"),
    ("canonical", [], ["remind", "- follow up"], 0, "added: - follow up"),
    ("canonical", [], ["block", "- no key"], 0, "by: - no key"),
    ("canonical", [], ["block", "--", "--no-key"], 0, "by: --no-key"),
    ("canonical", [], ["next", "- x"], 2, "Usage: holdfast next [OPTIONS] [NAME]\n"),
    ("canonical", [], ["next", "--", "--tick"], 1, "no workflow is called '--tick'"),
    ("canonical", [], ["done", "- x"], 2, "Usage: holdfast done [OPTIONS]\n"),
    ("canonical", [], ["done", "--", "--help"], 2, "unexpected extra argument (--help)"),
    ("canonical", ["block"], ["unblock", "--", "-x"], 2, "unexpected extra argument (-x)"),
    ("skill", DEV, ["note", "- too long"], 0, "added: - too long"),
    ("skill", DEV, ["note", "--", "--drop it"], 0, "added: --drop it"),
    ("skill", DEV, ["block", "- no key"], 0, "Blocked: - no key"),
    ("skill", DEV, ["skill", "task", "add", "- Three"], 0, "Workflow noted: A"),
    ("skill", DEV, ["done", "--", "--commit"], 1, "'task_execution', not '--commit'"),
    ("gated", ["done"], ["gate", "revise", "- too long"], 0, "Workflow reviewed: A"),
    ("gated", WAITING, ["reject", "- too long"], 0, "on the pull request: - too long"),
    ("gated", WAITING, ["reject", "--", "--too long"], 0, "on the pull request: --too long"),
    ("gated", WAITING, ["reject", "a", "b"], 2, "Usage: holdfast reject [OPTIONS] [TEXT]\n"),
    ("gated", WAITING, ["approve", "- fine"], 2, "Usage: holdfast approve [OPTIONS]\n"),
    ("gated", WAITING, ["approve", "--", "--comments"], 2, "unexpected extra argument (--comments)"),
    ("gated", ["block lost"], ["unblock", "- go on"], 0, "that a person gave: - go on"),
    ("gated", ["block lost"], ["unblock", "--", "--go on"], 0, "that a person gave: --go on"),
    ("orchestrator", [], ["orchestrate", "warn", "- slow"], 0, "Workflow noted: a"),
    ("orchestrator", [], ["note", "--", "--type"], 0, "Workflow noted: a"),
    ("pipeline", [], ["next", "--", "--json"], 2, "Usage: holdfast next [OPTIONS]\n"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "before", "typed", "code", "says"), NOT_AN_OPTION)
def test_a_text_that_looks_like_an_option(
    form: str, before: list[str], typed: list[str], code: int, says: str, holdfast_project: Project
) -> None:
    """It was parsed twice, without its `--`, and errors named a command that nobody had typed."""
    begin(holdfast_project, form, *before)
    done = holdfast_project.run(*typed, session=HERE, check=False)
    assert (done.returncode, says in done.stdout + done.stderr) == (code, True), done


@pytest.mark.parametrize("form", ["canonical", "skill"])
def test_two_dashes_and_drop_removed_a_note(form: str, holdfast_project: Project) -> None:
    begin(holdfast_project, form, *(DEV if form == "skill" else ()), "note 'the key'")
    refused = holdfast_project.run("note", "--", "--drop", "key", session=HERE, check=False)
    assert "These are 2 notes of one word" in refused.stderr
    hinted = refused.stderr.partition("For one: holdfast ")[2]
    assert "added: --drop key" in holdfast_project.run(*shlex.split(hinted), session=HERE).stdout
    assert "the key" in holdfast_project.run("show", session=HERE).stdout


def test_a_word_does_not_take_another_workflow_than_it_found(holdfast_project: Project) -> None:
    """NAME may stand without -w where the command allows it, but what `next` does depends on the workflow."""
    begin(holdfast_project, "canonical", "next", "switch Pages")
    holdfast_project.run("start", "Other", "--phases", "A,B", session="s-2")
    before = holdfast_project.states()
    refused = holdfast_project.run("next", "Other", session=HERE, check=False)
    assert (refused.returncode, "Give the workflow as -w NAME." in refused.stderr) == (2, True)
    assert holdfast_project.states() == before
    assert "phase 2/2 (B)" in holdfast_project.run("next", "OTHER", session="s-2").stdout


def table() -> dict[str, dict[str, Word]]:
    return {form.name: words.commands(form)[1] for form in registry.every()}


def test_every_word_is_tried_in_every_format() -> None:
    for form, known in table().items():
        assert tuple(known) == WORDS
        assert {word.split()[0] for _, word, _, _ in TABLE[form]} == {*WORDS}, form


@pytest.mark.parametrize("word", WORDS)
def test_help_says_what_a_word_does_in_each_format(word: str, holdfast_project: Project) -> None:
    shown = " ".join(holdfast_project.run(word, "--help").stdout.split())
    for form, known in table().items():
        assert f"{form} {known[word].table_entry}" in shown


def test_the_document_prints_the_table() -> None:
    """As the commands have it."""
    rows = [
        f"| {form} | `{word}` | {what.table_entry} |"
        for form, known in table().items()
        for word, what in known.items()
    ]
    assert "\n".join(rows) in (ROOT / "docs/words.md").read_text("utf-8")


@pytest.mark.parametrize("form", ["skill", "gated", "pipeline"])
def test_notes_of_a_format_without_a_place_for_them_are_told(
    form: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """After a compaction, and in status; the format's own files stay as they are."""
    begin(holdfast_project, form, *(DEV if form == "skill" else ()))
    before = {path: path.read_bytes() for path in holdfast_project.root.rglob("*.json") if "holdfast" not in path.parts}  # fmt: skip
    holdfast_project.run("note", "The API is frozen", "Only of 2025", session=HERE)
    assert before == {path: path.read_bytes() for path in before}
    assert "The API is frozen" in compaction_cycle(session=HERE).guidance
    assert "Only of 2025" in holdfast_project.run("status", session=HERE).stdout
    holdfast_project.run("note", "--drop", "The API is frozen", session=HERE)
    guidance = compaction_cycle(session=HERE).guidance
    assert "The API is frozen" not in guidance
    assert "Only of 2025" in guidance


def test_a_word_takes_the_workflow_by_its_name(holdfast_project: Project) -> None:
    """Of any format; without a session and a name, nothing is guessed."""
    begin(holdfast_project, "canonical")
    begin(holdfast_project, "gated")
    refused = holdfast_project.run("next", check=False).stderr
    assert "several workflows are active" in refused
    assert "Name one: holdfast next -w" in refused
    assert "Workflow advanced: Pages" in holdfast_project.run("next", "-w", "Pages").stdout
    assert "Workflow submitted: A" in holdfast_project.run("next", "-w", "a").stdout


def test_a_word_is_the_command_of_the_group(holdfast_project: Project) -> None:
    """The same files come of both."""
    begin(holdfast_project, "pipeline", "done", "next")
    told = json.loads(holdfast_project.run("done", "--json", session=HERE).stdout)
    assert told["success"]
    assert "Workflow approved" in holdfast_project.run("pipeline", "approve", session=HERE).stdout


LOGGED = {
    "skill": (DEV, "phase_started"),
    "gated": (["done"], "submitted"),
    "orchestrator": (["approve", "next", "done"], "task completed"),
    "pipeline": (["done"], "update"),
}


@pytest.mark.parametrize("form", LOGGED)
def test_the_log_is_that_of_the_workflow(
    form: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """With --hooks it is that of the hooks, as for a workflow whose format keeps no events."""
    before, event = LOGGED[form]
    begin(holdfast_project, form, *before)
    compaction_cycle(session=HERE)
    shown = holdfast_project.run("log", session=HERE).stdout
    told = json.loads(holdfast_project.run("log", "--json", session=HERE).stdout)
    assert f"UTC  {event}: " in shown
    assert event in [entry["event"] for entry in told]
    assert (
        len(json.loads(holdfast_project.run("log", "-n", "1", "--json", session=HERE).stdout)) == 1
    )
    assert "PreCompact" in holdfast_project.run("log", "--hooks", session=HERE).stdout
    begin(holdfast_project, "canonical")
    assert "PreCompact" in holdfast_project.run("log", "-w", "Pages", session=HERE).stdout


def test_notes_of_an_earlier_run_are_not_told_of_the_next_one(holdfast_project: Project) -> None:
    """Both have the same key: that of the feature."""
    begin(holdfast_project, "skill", DEV[0], "note 'Only of the first'")
    assert "Only of the first" in holdfast_project.run("status", session=HERE).stdout
    holdfast_project.clock.advance(seconds=60)
    begin(holdfast_project, "skill", f"{DEV[0]} --fresh")
    assert "Only of the first" not in holdfast_project.run("status", session=HERE).stdout
