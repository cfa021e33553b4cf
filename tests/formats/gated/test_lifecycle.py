"""What commands do to the files: both as one, under the lock, whoever else writes there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from deadly import ARMED
from gatedwork import (
    ALL_FILES,
    APPROVE_PHASE,
    AT,
    FOLDER,
    KEY,
    NAMES,
    SLUG,
    begin,
    do,
    place,
    put,
    put_feature,
    read,
    state_example,
    status,
    tree,
    walk,
)
from holdfast.errors import HoldfastError, IllegalMove, StateUnwritable
from holdfast.formats.gated import files, moves
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.machine import Content
from holdfast.testing import Compactions, Project

# A command that dies at one of its system calls, before or after it was made.
COMMAND = """
import sys
from functools import partial
root, now, call, number, after, command = sys.argv[1:]
from holdfast.clock import parse
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import moves
from holdfast.formats.gated.format import FORMAT
from holdfast.config.settings import Settings
from holdfast.files.store import Store
MOVES = {"revise": partial(moves.revise, text="better"), "approve": moves.approve}
arm(call, number=int(number), after=after == "after")
place = Place(Store(root), Settings(), parse(now), None, None)
FORMAT.change(place, "gated:user-auth", MOVES[command])
"""


def killed_at(project: Project, command: str, call: str, number: int, after: str) -> bool:
    """Whether the command was killed there; else it has got through."""
    now = "2026-02-27T12:00:00Z"
    words = [str(project.root), now, call, str(number), after, command]
    done = subprocess.run(
        [sys.executable, "-c", ARMED + COMMAND, *words],
        env=project.environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, -9}, done.stderr
    return done.returncode == -9


@pytest.mark.long
@pytest.mark.parametrize("command", ["revise", "approve"])
@pytest.mark.parametrize("after", ["before", "after"])
@pytest.mark.parametrize("call", ["replace", "fsync", "unlink"])
def test_killed_anywhere_the_next_command_brings_it_to_an_end(
    command: str, after: str, call: str, tmp_path: Path, holdfast_project: Project
) -> None:
    """At every rename and every sync: all or nothing, said, and nothing lost."""
    ways = {"revise": ["submit"], "approve": ["submit", "approve-internal #7"]}
    here = begin(holdfast_project)
    walk(here, *ways[command])
    before = tree(holdfast_project)
    assert not killed_at(holdfast_project, command, "replace", 99, after)
    wanted = tree(holdfast_project)
    assert set(wanted) - set(before) <= {f"{SLUG}/{NAMES[0]}/reviews/review-1.md"}
    number, said = 0, 0
    while True:
        number += 1
        for path in set(tree(holdfast_project)) - set(before):
            (holdfast_project.root / "workflow" / path).unlink()
        for path, data in before.items():
            put(holdfast_project, data, path.partition("/")[2])
        if not killed_at(holdfast_project, command, call, number, after):
            break
        left = tree(holdfast_project)
        lines = FORMAT.reconcile(here, KEY).lines
        found = tree(holdfast_project)
        assert found in (before, wanted)
        if left not in (before, wanted):
            said += 1
            assert any("an interrupted command was completed" in line for line in lines)
        assert list(FORMAT.problems_of(here.store, here.root / FOLDER)) == []
    assert number > (1 if call == "unlink" else 5)
    assert said or call == "unlink"


def test_a_hook_brings_it_to_an_end_as_well(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """And the person is told."""
    walk(begin(holdfast_project), "submit")
    assert killed_at(holdfast_project, "revise", "replace", 3, "after")
    left = tree(holdfast_project)
    cycle = compaction_cycle()
    assert "an interrupted command was completed" in cycle.message
    assert tree(holdfast_project) != left
    assert status(holdfast_project, 1)["iterations"] == 2
    assert read(holdfast_project)["phases"][NAMES[0]]["iterations"] == 2


def test_a_command_that_is_refused_has_finished_what_was_interrupted(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It cannot say so itself; the next start of a session does."""
    here = begin(holdfast_project)
    walk(here, "submit")
    assert killed_at(holdfast_project, "revise", "replace", 3, "after")
    with pytest.raises(IllegalMove):
        do(here, "approve")
    assert status(holdfast_project, 1)["iterations"] == 2
    assert "an interrupted command was completed" in compaction_cycle().message


ESCALATE_AGAIN = """
import sys
from datetime import UTC, datetime
from functools import partial
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import moves
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.reviews import Review
from holdfast.config.settings import Settings
from holdfast.files.store import Store
place = Place(Store(sys.argv[1]), Settings(), datetime.now(UTC), None, None)
sys.stdin.read()
def again(content, at):
    content = moves.guide(content, at, sys.argv[2])
    content.review = Review("NEEDS_REVISION", "by " + sys.argv[2], 1, content.phase)
    return moves.escalate(content, at, sys.argv[2])
FORMAT.change(place, "gated:user-auth", again)
"""


def test_12_processes_at_once_and_no_change_is_lost(holdfast_project: Project) -> None:
    """Each writes a review of its own and its entries of the history."""
    here = begin(holdfast_project)
    do(here, "escalate")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ESCALATE_AGAIN, str(holdfast_project.root), str(number)],
            env=holdfast_project.environment(),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(12)
    ]
    for process in running:  # all have started; now they may go
        assert process.stdin
        process.stdin.close()
        process.stdin = None
    for process in running:
        with process:
            _, stderr = process.communicate(timeout=120)
        assert (process.returncode, stderr) == (0, b"")
    reasons = [each["reason"] for each in read(holdfast_project)["escalations"]]
    assert sorted(reasons) == sorted(["stuck", *map(str, range(12))])
    reviews = files.reviews(here.store, here.root / FOLDER, "01-requirements")
    assert [number for number, _ in reviews] == list(range(1, 13))
    written = "".join(path.read_text("utf-8") for _, path in reviews)
    assert all(f"by {number}\n" in written for number in range(12))
    actions = [each["action"] for each in status(holdfast_project, 1)["history"]]
    assert actions.count("guidance") == 12
    assert list(FORMAT.problems_of(here.store, here.root / FOLDER)) == []


def test_an_edit_in_between_stops_the_move(holdfast_project: Project) -> None:
    """Another tool knows nothing of our lock. What it wrote stays, and nothing of ours is written."""
    here = begin(holdfast_project)

    def step(content: Content, at: str) -> Content:
        put(holdfast_project, {**read(holdfast_project), "branch": "feature/other"})
        return moves.submit(content, at)

    with pytest.raises(HoldfastError, match="was changed by somebody else meanwhile") as caught:
        FORMAT.change(here, KEY, step)
    assert "Nothing was changed" in caught.value.hint
    assert read(holdfast_project)["branch"] == "feature/other"
    assert status(holdfast_project, 1)["status"] == "in_progress"
    do(here, "submit")
    assert read(holdfast_project)["branch"] == "feature/other"


def jq(project: Project, path: str, line: str) -> None:
    """What other orchestrators do."""
    subprocess.run(
        ["bash", "-euc", f'jq \'{line}\' "$FILE" > "$FILE.tmp" && mv "$FILE.tmp" "$FILE"'],
        env={"PATH": os.environ["PATH"], "FILE": str(project.root / FOLDER / path)},
        check=True,
    )


@pytest.mark.needs("jq")
def test_where_they_disagree_the_state_holds(holdfast_project: Project) -> None:
    """Said in one line, and put right in the same write; the history stays."""
    here = begin(holdfast_project)
    walk(here, "submit")
    history = status(holdfast_project, 1)["history"]
    jq(holdfast_project, "workflow-state.json", '.phases["01-requirements"].iterations = 3')
    changed = do(here, "revise")
    line, _ = changed.lines
    assert line == (
        "status.json of 01-requirements said in_review, iteration 1; "
        "workflow-state.json says in_review, iteration 3, which holds"
    )
    found = status(holdfast_project, 1)
    assert found["iterations"] == 4 == read(holdfast_project)["phases"][NAMES[0]]["iterations"]
    assert found["history"][: len(history)] == history
    actions = [each["action"] for each in found["history"][len(history) :]]
    assert actions == ["reconciled", "created"]


@pytest.mark.needs("jq")
def test_a_phase_that_jq_moved_on_is_followed(holdfast_project: Project) -> None:
    """The list of phases was set, current_phase was not."""
    here = begin(holdfast_project)
    jq(
        holdfast_project,
        "workflow-state.json",
        '.phases["01-requirements"].status = "approved" | .phases["02-architecture"].status = "in_progress"',
    )
    changed = do(here, "submit")
    assert changed.lines[0] == (
        "current_phase was 01-requirements, but 02-architecture is the one in progress"
    )
    assert read(holdfast_project)["current_phase"] == NAMES[1]
    assert [status(holdfast_project, each)["status"] for each in (1, 2)] == [
        "approved",
        "in_review",
    ]


CONTRADICTIONS = {
    '.phases["03-implementation"].status = "in_progress"': "phases.03-implementation.status: "
    "expected pending, since current_phase is 01-requirements, found in_progress",
    '.current_phase = "03-implementation" | .phases["01-requirements"].status = "pending"': (
        "phases.01-requirements.status: "
        "expected approved, since current_phase is 03-implementation, found pending"
    ),
    '.status = "escalated"': "phases.01-requirements.status: "
    "expected escalated, since the workflow is escalated, found in_progress",
    '.phases["01-requirements"].status = "escalated"': "status: expected escalated, since "
    "phases.01-requirements.status is escalated, found in_progress",
}


@pytest.mark.needs("jq")
@pytest.mark.parametrize("line", CONTRADICTIONS)
def test_a_state_that_contradicts_itself_is_not_guessed_at(
    line: str, holdfast_project: Project
) -> None:
    """The field is named, and the way out; nothing is changed."""
    here = begin(holdfast_project)
    jq(holdfast_project, "workflow-state.json", line)
    before = tree(holdfast_project)
    for attempt in (partial(do, here, "submit"), partial(FORMAT.reconcile, here, KEY)):
        with pytest.raises(IllegalMove) as caught:
            attempt()
        assert CONTRADICTIONS[line] in caught.value.cause
        assert "holdfast gate recover" in caught.value.hint
    assert tree(holdfast_project) == before


@pytest.mark.parametrize("broken", ["{", "[]", '{"phase": "01-requirements", "iterations": 9}'])
def test_a_status_that_cannot_be_read_stops_a_command(
    broken: str, holdfast_project: Project
) -> None:
    """ "The file is corrupted - do NOT proceed"; reconcile makes it again, and keeps what was there."""
    here = begin(holdfast_project)
    walk(here, "submit")
    history = status(holdfast_project, 1)["history"]
    path = put(holdfast_project, broken, f"{NAMES[0]}/status.json")
    os.utime(path, (0, 0))
    before = tree(holdfast_project)
    with pytest.raises(HoldfastError, match=r"status.json of 01-requirements cannot be") as caught:
        do(here, "revise")
    assert "holdfast gate reconcile" in caught.value.hint
    assert tree(holdfast_project) == before
    lines = FORMAT.reconcile(here, KEY).lines
    found = status(holdfast_project, 1)
    assert (found["status"], found["iterations"]) == ("in_review", 1)
    assert found["history"][:-1] == history  # from its last good copy
    aside = lines[-1].rpartition(" ")[2]
    assert (here.root / aside).read_text("utf-8") == broken
    do(here, "revise")


def test_a_status_that_is_missing_is_made(holdfast_project: Project) -> None:
    """There is nothing that could be lost."""
    here = begin(holdfast_project)
    (holdfast_project.root / FOLDER / NAMES[3] / "status.json").unlink()
    changed = do(here, "submit")
    assert changed.lines == ("status.json of 04-testing is missing; the next command writes it",)
    assert status(holdfast_project, 4)["history"][-1]["action"] == "reconciled"


@pytest.mark.parametrize("broken", ["{", '{"feature": "x", "current_phase": "06"}', None])
def test_a_state_that_cannot_be_read_stops_everything(
    broken: str | None, holdfast_project: Project
) -> None:
    """It is the primary source of truth; only a person may say what holds."""
    here = begin(holdfast_project)
    path = here.root / FOLDER / "workflow-state.json"
    path.unlink() if broken is None else path.write_text(broken, "utf-8")
    before = tree(holdfast_project)
    for attempt in (partial(do, here, "submit"), partial(FORMAT.reconcile, here, KEY)):
        with pytest.raises(HoldfastError, match=r"workflow-state.json of 'user-auth' cannot") as c:
            attempt()
        assert "holdfast gate recover" in c.value.hint
    assert tree(holdfast_project) == before


def test_the_documents_own_pair_is_reconciled(holdfast_project: Project) -> None:
    """Its two examples are of different moments: user_review, and in_progress."""
    here = place(holdfast_project)
    put_feature(holdfast_project, {**state_example(), "feature": SLUG})
    lines = FORMAT.reconcile(here, KEY).lines
    assert lines == ()
    put(holdfast_project, {**status(holdfast_project, 1), "status": "in_progress", "current_feedback": "x"}, f"{NAMES[0]}/status.json")  # fmt: skip
    (line,) = FORMAT.reconcile(here, KEY).lines
    assert line.endswith("workflow-state.json says user_review, iteration 2, which holds")
    assert status(holdfast_project, 1)["current_feedback"] is None


def test_only_what_changes_is_written(holdfast_project: Project) -> None:
    """A file of another tool keeps its form while nothing in it changes, unknown fields always."""
    here = place(holdfast_project)
    data = {**state_example(), "owner": {"team": [1]}, "feature": SLUG}
    put_feature(holdfast_project, data)
    compact = json.dumps(status(holdfast_project, 4))
    put(holdfast_project, compact, f"{NAMES[3]}/status.json")
    do(here, "request-changes")
    assert tree(holdfast_project)[f"{SLUG}/{NAMES[3]}/status.json"].decode() == compact
    found = read(holdfast_project)
    assert found["owner"] == {"team": [1]}
    assert list(found) == list(data)


def test_what_another_tool_writes_in_its_own_way_is_taken(holdfast_project: Project) -> None:
    """Words in another spelling, feedback as a list, a phase of its own: read, and kept."""
    here = place(holdfast_project)
    data = {**state_example(), "status": "In Progress", "pr_number": "", "feature": SLUG}
    put_feature(holdfast_project, data)
    data["phases"]["06-release"] = {"status": "someday"}
    put(holdfast_project, data)
    told = {**status(holdfast_project, 1), "current_feedback": ["a", "b"], "status": "user review"}
    put(holdfast_project, told, f"{NAMES[0]}/status.json")
    assert do(here, "escalate").lines == ()
    found = read(holdfast_project)
    assert found["phases"]["06-release"] == {"status": "someday"}
    assert (found["status"], found["pr_number"]) == ("escalated", "")
    assert status(holdfast_project, 1)["current_feedback"] == ["a", "b"]
    do(here, "guide")
    assert status(holdfast_project, 1)["current_feedback"] == "so\n\nStill open:\na\nb"


def test_a_start_writes_all_that_the_document_names(holdfast_project: Project) -> None:
    """The description, the state, and five status.json; a second one gives no way."""
    here = begin(holdfast_project)
    wanted = {f"{SLUG}/{name}" for name in (*ALL_FILES, "00-feature/description.md")}
    assert set(tree(holdfast_project)) == wanted
    example = state_example()
    found = read(holdfast_project)
    assert list(found) == list(example)
    assert list(found["phases"][NAMES[0]]) == list(example["phases"][NAMES[0]])
    before = tree(holdfast_project)
    with pytest.raises(IllegalMove, match="'user-auth' has already started"):
        FORMAT.start(here, SLUG, title="Again", description="x")
    assert tree(holdfast_project) == before


@pytest.mark.parametrize("slug", ["", ".", "..", "../x", "a/b", ".git", "A", "x" * 65, "a b", "ä"])
def test_a_slug_becomes_no_other_path(slug: str, holdfast_project: Project) -> None:
    """It is a folder's name below workflow/, and nothing else."""
    with pytest.raises(IllegalMove, match="is not a valid slug"):
        FORMAT.start(place(holdfast_project), slug, title="x", description="x")
    assert not (holdfast_project.root / "workflow").exists()


def test_reviews_are_never_written_over(holdfast_project: Project) -> None:
    """Also where one is missing in between, or somebody put one there."""
    here = begin(holdfast_project)
    put(holdfast_project, "by hand\n", f"{NAMES[0]}/reviews/review-3.md")
    walk(here, "submit")
    changed = do(here, "revise")
    path = f"{FOLDER}/{NAMES[0]}/reviews/review-4.md"
    assert changed.lines == (f"the review is {path}",)
    text = (holdfast_project.root / path).read_text("utf-8")
    assert text.splitlines()[:4] == [
        "# Review 4 of 01-requirements",
        "",
        "Verdict: NEEDS_REVISION",
        "Iteration: 1",
    ]
    assert tree(holdfast_project)[f"{SLUG}/{NAMES[0]}/reviews/review-3.md"] == b"by hand\n"


def test_links_lead_nowhere(holdfast_project: Project, tmp_path: Path) -> None:
    """Outside the project nothing is read as ours, and nothing is written."""
    here = begin(holdfast_project)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", "utf-8")
    (here.root / FOLDER / NAMES[0] / "reviews").symlink_to(outside)
    walk(here, "submit")
    with pytest.raises(StateUnwritable, match="leads outside the project"):
        do(here, "revise")
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert status(holdfast_project, 1)["status"] == "in_review"
    (here.root / "workflow" / "other").symlink_to(outside)
    put_feature(holdfast_project, state_example(), "real")
    (outside / "workflow-state.json").write_text(json.dumps(state_example()), "utf-8")
    found = FORMAT.look(place(holdfast_project))
    assert [feature.slug for feature in found.entries] == ["real", SLUG]


def test_only_paths_of_our_own_kinds_are_finished() -> None:
    """What an interrupted command is brought to an end by may come with a clone."""
    ours = [f"{FOLDER}/{each}" for each in (*ALL_FILES, "00-feature/description.md")]
    ours += [f"{FOLDER}/{NAMES[1]}/reviews/review-12.md"]
    assert all(FORMAT.owns(each) for each in ours)
    for other in (
        f"{FOLDER}/x/../../../.bashrc",
        "workflow/.git/workflow-state.json",
        f"{FOLDER}/06-party/status.json",
        f"{FOLDER}/{NAMES[1]}/reviews/review-0.md",
        f"{FOLDER}/{NAMES[1]}/reviews/../status.json",
        f"x/{FOLDER}/workflow-state.json",
        f"{FOLDER}/workflow-state.json\n",
        "docs/features.md",
    ):
        assert not FORMAT.owns(other), other


def test_a_whole_feature(holdfast_project: Project) -> None:
    """Five phases, and the end."""
    here = begin(holdfast_project)
    walk(here, *APPROVE_PHASE * 5, "complete")
    found = read(holdfast_project)
    assert found["status"] == "completed"
    assert {each["status"] for each in found["phases"].values()} == {"approved"}
    assert found["pr_number"] == 7
    assert found["updated_at"] >= AT
