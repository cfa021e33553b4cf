"""State files that are damaged or missing are rebuilt from what is left; nothing before a yes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatedwork import (
    ALL_FILES,
    APPROVE_PHASE,
    FOLDER,
    NAMES,
    SLUG,
    begin,
    place,
    put,
    read,
    status,
    tree,
    walk,
)
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files, recovery, reviews
from holdfast.formats.gated.format import FORMAT
from holdfast.formats.gated.recovery import Proposal
from holdfast.testing import Project

DAMAGE: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "cut off": b'{"feature": "user-auth", "current_ph',
    "no JSON": b"\xff\xfe\0garbage",
    "a list": b"[]",
    "an empty object": b"{}",
    "nested too deeply": b"[" * 5000,
}
TO_WORK = (*APPROVE_PHASE, "submit", "revise", "submit")  # 02-architecture, in review, iteration 2


def damage(project: Project, name: str, how: str) -> None:
    path, data = project.root / FOLDER / name, DAMAGE[how]
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.write_bytes(data)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))  # nobody is still writing it


def forget_copies(project: Project) -> None:
    """As in a fresh clone, or for files that we never wrote."""
    shutil.rmtree(project.root / ".claude")


def recover(here: Place) -> Proposal:
    proposal = recovery.propose(here, SLUG)
    recovery.recover(here, SLUG, proposal)
    assert list(FORMAT.problems_of(here.store, here.root / FOLDER)) == []
    assert recovery.propose(here, SLUG) == Proposal()
    return proposal


def without_times(data: object) -> object:
    """What a file says, but for when it was written and that it was recovered."""
    if isinstance(data, dict):
        return {key: without_times(each) for key, each in data.items() if not key.endswith("_at")}
    if isinstance(data, list):
        return [without_times(each) for each in data if "recovered" not in str(each)]
    return data


@pytest.fixture
def here(holdfast_project: Project) -> Place:
    here = begin(holdfast_project)
    walk(here, *TO_WORK)
    return here


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", ALL_FILES)
def test_our_last_good_copy_brings_a_file_back(
    name: str, how: str, holdfast_project: Project, here: Place
) -> None:
    """Each of the six, damaged in each way; what was there is in quarantine."""
    before = {each: read(holdfast_project, each) for each in ALL_FILES}
    damage(holdfast_project, name, how)
    proposal = recover(here)
    assert "our last good copy" in str(proposal.findings)
    assert proposal.contradictions == []
    for each in ALL_FILES:
        assert without_times(read(holdfast_project, each)) == without_times(before[each]), each
    kept = list((holdfast_project.root / ".claude/holdfast/quarantine").glob("*"))
    assert [path.read_bytes() for path in kept] == [
        data for data in [DAMAGE[how]] if data is not None
    ]


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", ALL_FILES)
def test_without_a_copy_the_other_files_tell(
    name: str, how: str, holdfast_project: Project, here: Place
) -> None:
    before = read(holdfast_project)
    forget_copies(holdfast_project)
    damage(holdfast_project, name, how)
    recover(here)
    after = read(holdfast_project)
    for key in ("feature", "current_phase", "status"):
        assert after[key] == before[key]
    for phase in NAMES:
        assert after["phases"][phase]["status"] == before["phases"][phase]["status"]
        assert after["phases"][phase]["iterations"] == before["phases"][phase]["iterations"]


def test_all_six_gone_the_reviews_tell(holdfast_project: Project, here: Place) -> None:
    """A last verdict NEEDS_REVISION means that the creator revises, and what."""
    forget_copies(holdfast_project)
    for name in ALL_FILES:
        (holdfast_project.root / FOLDER / name).unlink()
    recover(here)
    state = read(holdfast_project)
    assert (state["feature_title"], state["current_phase"]) == ("User Auth", NAMES[0])
    # One review that approved: a person may have approved since, but nothing tells that.
    assert status(holdfast_project, 1)["status"] == "user_review"
    (created, recovered) = status(holdfast_project, 1)["history"]
    assert (created["action"], created["result"]) == ("created", "APPROVED")
    assert recovered["action"] == "recovered"


def test_what_does_not_fit_the_order_is_named(holdfast_project: Project, here: Place) -> None:
    """The second phase has reviews although the first is not approved."""
    forget_copies(holdfast_project)
    for name in ALL_FILES:
        (holdfast_project.root / FOLDER / name).unlink()
    proposal = recovery.propose(here, SLUG)
    (line,) = proposal.contradictions
    assert line.startswith("02-architecture is in_progress (1 review, the last one NEEDS_REVISION)")
    assert "01-requirements before it is user_review" in line


def test_commits_tell_the_phase(holdfast_project: Project) -> None:
    """Where no file of any phase is left; those of another feature do not count."""
    holdfast_project.git("init", "-q", "-b", "main")
    other = "[workflow] 05-documentation: Another feature"
    holdfast_project.git("-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", other)
    begin(holdfast_project)
    holdfast_project.git("add", "workflow")
    holdfast_project.git("commit", "-q", "-m", "[workflow] 01-requirements: Define it")
    holdfast_project.git("commit", "-q", "--allow-empty", "-m", "[workflow] 99-lunch: No phase")
    holdfast_project.git(
        "commit", "-q", "--allow-empty", "-m", "[workflow] 03-implementation: Add endpoints"
    )
    holdfast_project.git("branch", f"feature/{SLUG}")
    forget_copies(holdfast_project)
    for name in ALL_FILES:
        (holdfast_project.root / FOLDER / name).unlink()
    here = place(holdfast_project)
    # The first commit lies in the same second as those of the feature, so only its phase could tell.
    proposal = recover(here)
    state = read(holdfast_project)
    assert state["current_phase"] == "03-implementation"
    assert [each["status"] for each in state["phases"].values()] == [
        *("approved", "approved", "in_progress", "pending", "pending")
    ]
    assert state["branch"] == f"feature/{SLUG}"
    assert "[workflow] 03-implementation: Add endpoints" in str(proposal.findings)


def test_without_a_description_nothing_proves_a_workflow(
    holdfast_project: Project, here: Place
) -> None:
    damage(holdfast_project, "workflow-state.json", "cut off")
    (holdfast_project.root / FOLDER / files.DESCRIPTION).unlink()
    with pytest.raises(IllegalMove, match="nothing proves"):
        recovery.propose(here, SLUG)


def test_nothing_is_written_by_looking(holdfast_project: Project, here: Place) -> None:
    damage(holdfast_project, "workflow-state.json", "cut off")
    before = tree(holdfast_project)
    recovery.propose(here, SLUG)
    assert tree(holdfast_project) == before
    assert not (holdfast_project.root / ".claude/holdfast/quarantine").exists()


def test_what_changed_since_it_was_shown_is_not_written(
    holdfast_project: Project, here: Place
) -> None:
    damage(holdfast_project, "workflow-state.json", "cut off")
    agreed = recovery.propose(here, SLUG)
    damage(holdfast_project, "03-implementation/status.json", "missing")
    before = tree(holdfast_project)
    with pytest.raises(IllegalMove, match="changed meanwhile"):
        recovery.recover(here, SLUG, agreed)
    assert tree(holdfast_project) == before


def test_a_state_that_contradicts_itself_is_rebuilt(holdfast_project: Project, here: Place) -> None:
    """It can be read, but not be true: what only it knows is taken over."""
    state = read(holdfast_project)
    state["phases"]["01-requirements"]["status"] = "pending"
    state["pr_number"], state["mine"] = 7, "kept"
    put(holdfast_project, state)
    proposal = recover(here)
    after = read(holdfast_project)
    assert after["phases"]["01-requirements"]["status"] == "approved"
    assert (after["pr_number"], after["mine"]) == (7, "kept")
    assert any("01-requirements" in line for line in proposal.contradictions)


def test_a_state_that_contradicts_itself_tells_nothing_of_a_phase(
    holdfast_project: Project,
) -> None:
    """That a later phase has begun tells more: otherwise its work would be begun again."""
    here = begin(holdfast_project)
    for name, said in ((NAMES[1], "approved"), (NAMES[2], "in_progress")):
        data = {"phase": name, "status": said, "iterations": 1, "max_iterations": 4}
        put(holdfast_project, data, f"{name}/status.json")
    state = read(holdfast_project)
    state["phases"][NAMES[1]]["status"] = "approved"  # though 01-requirements is in progress
    put(holdfast_project, state)
    (holdfast_project.root / FOLDER / NAMES[0] / "status.json").unlink()
    forget_copies(holdfast_project)
    recover(here)
    after = read(holdfast_project)
    assert after["current_phase"] == NAMES[2]
    assert after["phases"][NAMES[0]]["status"] == "approved"


def test_a_state_that_holds_goes_before_the_reviews(holdfast_project: Project, here: Place) -> None:
    """The document: when they diverge, trust workflow-state.json. The difference is named."""
    put(
        holdfast_project, "# Review 3\n\nVerdict: APPROVED\n", "02-architecture/reviews/review-2.md"
    )
    put(holdfast_project, "{", "02-architecture/status.json")
    state = read(holdfast_project)
    state["phases"]["02-architecture"] |= {"status": "escalated", "iterations": 4}
    state["status"] = "escalated"
    put(holdfast_project, state)
    forget_copies(holdfast_project)
    recover(here)
    assert status(holdfast_project, 2)["status"] == "escalated"
    put(holdfast_project, "Verdict: NEEDS_REVISION\n", "01-requirements/reviews/review-2.md")
    put(holdfast_project, "{", "01-requirements/status.json")
    proposal = recover(here)
    assert status(holdfast_project, 1)["status"] == "approved"
    (line,) = proposal.contradictions
    assert "2 reviews, the last one NEEDS_REVISION" in line
    assert "which holds" in line


@pytest.mark.parametrize("count", range(1, 6))
@pytest.mark.parametrize(
    ("verdict", "wanted"), [("APPROVED", "user_review"), ("NEEDS_REVISION", "in_progress")]
)
def test_the_count_of_reviews_is_the_iteration(
    count: int, verdict: str, wanted: str, holdfast_project: Project
) -> None:
    """A revision that was requested begins the next one; after the fourth there is none."""
    here = begin(holdfast_project)
    for number in range(1, count + 1):
        said = verdict if number == count else "NEEDS_REVISION"
        text = f"# A review\n\nStatus: {said}\n"
        put(holdfast_project, text, f"01-requirements/reviews/review-{number}.md")
    for name in ("workflow-state.json", "01-requirements/status.json"):
        (holdfast_project.root / FOLDER / name).unlink()
    forget_copies(holdfast_project)
    recover(here)
    found = status(holdfast_project, 1)
    if verdict == "NEEDS_REVISION":
        wanted = "escalated" if count >= 4 else wanted
        assert found["iterations"] == min(count + 1, 4)
    else:
        assert found["iterations"] == min(count, 4)
    assert found["status"] == wanted
    assert len(found["history"]) == count + 1
    state = read(holdfast_project)
    assert (state["status"] == "escalated") == (wanted == "escalated")
    assert bool(state["escalations"]) == (wanted == "escalated")


def test_links_outside_are_no_evidence(
    holdfast_project: Project, here: Place, tmp_path: Path
) -> None:
    """And what a link leads to is neither read nor written."""
    outside = tmp_path / "state.json"
    text = json.dumps(read(holdfast_project) | {"feature_title": "Planted"})
    outside.write_text(text, encoding="utf-8")
    path = holdfast_project.root / FOLDER / "workflow-state.json"
    path.unlink()
    path.symlink_to(outside)
    forget_copies(holdfast_project)
    recover(here)
    assert read(holdfast_project)["feature_title"] == "User Auth"
    assert not path.is_symlink()
    assert outside.read_text(encoding="utf-8") == text


VERDICTS = {
    "Verdict: APPROVED": "APPROVED",
    "**Verdict:** NEEDS_REVISION": "NEEDS_REVISION",
    "- **Status**: Approved": "APPROVED",
    "Result: Needs revision (2 issues)": "NEEDS_REVISION",
    "## Verdict: ✅ APPROVED": "APPROVED",
    "# Review 2 of 01-requirements: APPROVED": "APPROVED",
    "## Needs Revision": "NEEDS_REVISION",
    "**NEEDS_REVISION**": "NEEDS_REVISION",
    "APPROVED.": "APPROVED",
    "| Verdict | APPROVED |": "APPROVED",
    "Review status: needs-revision, see below": "NEEDS_REVISION",
    "Verdict: NEEDS_REVISION\n\nfixed\n\nVerdict: APPROVED": "APPROVED",
    "It is not approved yet.": None,
    "Approved changes need tests.": None,
    "Once this is done it can be APPROVED": None,
    "Verdict: not approved": None,
    "Verdict: APPROVED | NEEDS_REVISION": None,
    "- Approved: the wording of R1": None,
    "Status: Approved with changes": None,
    "": None,
    "| " * 20_000 + "x": None,
}


@pytest.mark.parametrize("text", VERDICTS, ids=lambda text: text[:40])
def test_a_verdict_counts_where_it_stands_as_one(text: str) -> None:
    """Reviews are written by any agent; prose that mentions a verdict is none."""
    assert reviews.verdict_of(f"Some text before.\n\n{text}\n\nSome after.\n") == VERDICTS[text]


_STATUSES = ("pending", "in_progress", "in_review", "user_review", "approved", "escalated", None)


@settings(max_examples=60)
@given(
    phases=st.tuples(*[st.sampled_from(_STATUSES)] * 5),
    reviews=st.tuples(
        *[st.lists(st.sampled_from(["APPROVED", "NEEDS_REVISION", "hm"]), max_size=5)] * 5
    ),
)
def test_whatever_is_left_something_valid_is_proposed(
    phases: tuple[str | None, ...],
    reviews: tuple[list[str], ...],
    tmp_path_factory: pytest.TempPathFactory,
    holdfast_project: Project,
) -> None:
    """Files that agree and keep the document's rules; and then nothing is wrong any more."""
    root = tmp_path_factory.mktemp("any")
    project = Project(root, holdfast_project.home, holdfast_project.clock)
    put(project, "# A title\n", files.DESCRIPTION)
    for name, said, verdicts in zip(NAMES, phases, reviews, strict=True):
        if said:
            data = {"phase": name, "status": said, "iterations": 1, "max_iterations": 4}
            put(project, data, f"{name}/status.json")
        for number, verdict in enumerate(verdicts, 1):
            put(project, f"Verdict: {verdict}\n", f"{name}/reviews/review-{number}.md")
    recover(place(project))


@pytest.mark.parametrize("slug", ["..", "../..", "a/b", ""])
def test_a_name_that_leads_elsewhere_is_no_feature(slug: str, holdfast_project: Project) -> None:
    holdfast_project.write("00-feature/description.md", "# No feature\n")
    done = holdfast_project.run("gate", "recover", "-w", slug, "--yes", check=False)
    assert not (holdfast_project.root / "workflow-state.json").exists()
    assert done.returncode == (0 if not slug else 1)
