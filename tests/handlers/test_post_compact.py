"""PostCompact through the door: it counts, checks the summary, and says nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.project import Surroundings
from holdfast.files.store import Store
from holdfast.records import hooklog
from holdfast.restoring import compactions
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InSubprocess, Session

NAME = "Page Orchestration"
SITEMAP, REVIEW = "Never skip the sitemap", "Ask for review before the release"
ALL = f"{NAME} is in phase 4/10.\n- {SITEMAP}\n- {REVIEW}"
WITHOUT_REVIEW = f"{NAME} is in phase 4/10.\n- {SITEMAP}\n- something SAID IN CONFIDENCE"
LOST = "The last summary that was checked did not keep: 1 of 2 reminders (marked below)."


@pytest.fixture
def declared(holdfast_project: Project) -> Project:
    """A project with one workflow of four facts."""
    holdfast_project.declare(NAME, phase="4/10 - SEO Generation", reminders=[SITEMAP, REVIEW])
    return holdfast_project


def log_of(project: Project) -> dict[str, Any]:
    """The last entry."""
    state_dir = project.home / ".local" / "state" / "holdfast"
    return list(hooklog.read(str(state_dir), str(project.root.resolve())))[-1]


def noted(project: Project) -> Any:
    return json.loads(project.run("status", "--json").stdout)["compactions"]


def status(project: Project) -> str:
    """The row, put together again where it was broken to fit."""
    shown = project.run("status").stdout.replace("\n" + " " * 13, " ")
    return next((line for line in shown.splitlines() if line.startswith("  survived")), "")


def test_it_counts_and_checks_and_says_nothing(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """In the log and in `status`, and never on stdout."""
    cycle = compaction_cycle(3, summary=WITHOUT_REVIEW)
    assert cycle.outcomes[2] == (b"", "", 0)
    record = log_of(declared)
    assert record["event"] == "PostCompact"
    assert (
        record["decided"]
        == f'compactions: 3, the last summary kept 3 of 4 facts: not the reminder "{REVIEW}"'
    )
    assert f"not kept: reminder: {REVIEW}" in record["why"]
    assert status(declared) == (
        f'  survived   compactions: 3, the last summary kept 3 of 4 facts: not the reminder "{REVIEW}"'
    )
    assert noted(declared)["count"] == 3
    assert noted(declared)["last"]["missing"] == [{"label": "reminder", "text": REVIEW}]
    log = declared.run("log").stdout
    assert "compactions: 3, the last summary kept 3 of 4 facts" in log
    assert f"not kept: reminder: {REVIEW}" in log


def test_a_summary_that_heeds_the_note_keeps_all(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """What the fixtures send by default."""
    compaction_cycle(2)
    assert status(declared) == "  survived   compactions: 2, the last summary kept 4 of 4 facts"


def test_what_was_lost_is_stressed_until_a_summary_keeps_it(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """In the guidance, in the note for the summariser and in the preview; then no more."""
    assert LOST not in compaction_cycle(summary=WITHOUT_REVIEW).guidance
    assert LOST in declared.run("preview").stdout
    cycle = compaction_cycle(summary=ALL)
    assert LOST in cycle.guidance[:1200]
    heading = "## Key reminders that the summary did not keep"
    assert f"{heading}\n- {REVIEW}\n\n## Key reminders\n- {SITEMAP}\n" in cycle.guidance
    assert f"Reminders: {REVIEW}; {SITEMAP}." in cycle.note
    cycle = compaction_cycle()
    assert "did not keep" not in cycle.guidance
    assert f"Reminders: {SITEMAP}; {REVIEW}." in cycle.note


def test_where_post_compact_comes_first(declared: Project, compaction_cycle: Compactions) -> None:
    """Other agents swap the two: then the guidance of the same compaction stresses it."""
    compaction_cycle.fire("PostCompact", trigger="manual", compact_summary=WITHOUT_REVIEW)
    assert LOST in compaction_cycle.start().guidance
    assert noted(declared)["count"] == 1


def test_a_fact_that_is_gone_is_not_mentioned(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """The reminder was removed after the summary had lost it."""
    compaction_cycle(summary=WITHOUT_REVIEW)
    declared.declare(NAME, phase="4/10 - SEO Generation", reminders=[SITEMAP])
    guidance = compaction_cycle().guidance
    assert "did not keep" not in guidance
    assert REVIEW not in guidance


def test_pre_compact_counts_nothing(declared: Project, compaction_cycle: Compactions) -> None:
    """It may fire up to four times, and also where no compaction follows."""
    for _ in range(4):
        compaction_cycle.fire("PreCompact", trigger="auto")
    assert noted(declared) == {"count": 0, "last": None}
    assert status(declared) == ""
    compaction_cycle(pre_compact=False)
    assert noted(declared) == {"count": 1, "last": None}


@pytest.mark.parametrize("source", ["startup", "clear", "resume", "fork"])
def test_only_a_compaction_counts(
    source: str, declared: Project, compaction_cycle: Compactions
) -> None:
    """And no other beginning of a session is noted as one."""
    compaction_cycle.start(source)
    assert noted(declared)["count"] == 0


@pytest.mark.parametrize("depth", ["full", "line", "off"])
def test_a_compaction_counts_whatever_is_restored(
    depth: str, declared: Project, compaction_cycle: Compactions
) -> None:
    """The setting is about what is told."""
    declared.write(".claude/holdfast.toml", f'[restore]\ncompact = "{depth}"\n')
    compaction_cycle.start()
    assert noted(declared)["count"] == 1


@pytest.mark.parametrize("summary", [None, "", " \n", 7, ["x"]])
def test_a_summary_that_is_none(
    summary: object, declared: Project, compaction_cycle: Compactions
) -> None:
    """The compaction counts; there is nothing to check."""
    outcome = compaction_cycle.fire("PostCompact", trigger="manual", compact_summary=summary)
    assert outcome == (b"", "", 0)
    assert noted(declared) == {"count": 1, "last": None}
    assert log_of(declared)["decided"] == "compactions: 1, no summary was given"


def test_no_word_of_the_summary_is_stored(declared: Project, compaction_cycle: Compactions) -> None:
    """Neither in the project nor in the user's folder."""
    compaction_cycle(2, summary=WITHOUT_REVIEW)
    written = b"".join(
        path.read_bytes()
        for folder in (declared.home, declared.root)
        for path in folder.rglob("*")
        if path.is_file()
    )
    assert REVIEW.encode() in written
    assert b"SAID IN CONFIDENCE" not in written


def test_a_huge_summary(declared: Project, compaction_cycle: Compactions) -> None:
    """As large as the door lets in."""
    huge = "x " * 3_900_000 + ALL
    compaction_cycle.fire("PostCompact", trigger="manual", compact_summary=huge)
    assert status(declared).endswith("kept 4 of 4 facts")


def test_a_subagents_compaction_counts_nothing(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """It is told with the session's own id."""
    compaction_cycle(agent_id="sub", summary=WITHOUT_REVIEW)
    assert noted(declared) == {"count": 0, "last": None}


def test_sessions_share_a_workflow(declared: Project, compaction_cycle: Compactions) -> None:
    """Each counts for itself, and all together for the workflow."""
    compaction_cycle(2, session="one")
    compaction_cycle(3, session="two")
    assert noted(declared)["count"] == 5
    assert noted(declared)["last"]["session"] == "two"


def test_a_session_without_a_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Nothing to count for, and nothing is written."""
    holdfast_project.write("CLAUDE.local.md", "no workflow here\n")
    assert compaction_cycle.fire("PostCompact", compact_summary="x") == (b"", "", 0)
    assert log_of(holdfast_project)["decided"] == "nothing counted: no workflow is active"
    assert not (holdfast_project.root / ".claude").exists()


def test_switched_off(declared: Project, compaction_cycle: Compactions) -> None:
    """In the project's settings."""
    declared.write(".claude/holdfast.toml", "enabled = false\n")
    compaction_cycle(summary=ALL)
    assert log_of(declared)["decided"] == "nothing: switched off in the project's settings"
    assert not (declared.root / ".claude/holdfast").exists()


def in_the_way(project: Project, kind: str) -> str:
    """A folder where lines of *kind* are to be added."""
    state_dir = Surroundings.from_environment(project.environment()).state_dir or ""
    log = compactions.log_of(hooklog.folder(state_dir, str(project.root.resolve())), kind)
    os.makedirs(log)
    return log


def test_a_failure_to_count_fails_no_restore(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """The guidance comes, and the log says what was not counted."""
    compaction_cycle.fire("PreCompact", trigger="manual")
    counted_in = in_the_way(declared, "restored")
    started = compaction_cycle.start()
    assert "phase 4 of 10: SEO Generation" in started.guidance
    assert started.message.startswith(f"✅ Workflow restored: {NAME}")
    assert f"not noted: no line could be added to {counted_in}" in log_of(declared)["why"]


def test_a_failure_is_in_the_log_and_nowhere_else(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """PostCompact has nobody to tell; nothing blocks."""
    counted_in = in_the_way(declared, "summarised")
    outcome = compaction_cycle.fire("PostCompact", compact_summary=WITHOUT_REVIEW)
    assert outcome == (b"", "", 0)
    failed = f"failed: no line could be added to {counted_in}"
    assert str(log_of(declared)["decided"]).startswith(failed)
    assert f"not kept: reminder: {REVIEW}" in log_of(declared)["why"]


def test_a_held_lock_is_not_waited_for(declared: Project, tmp_path: Path) -> None:
    """In a process of its own, as the client starts it."""
    door = InSubprocess(declared.environment(), str(declared.root))
    with Store(declared.root).lock(1):
        outcome = door.fire(Session("s", str(declared.root)).post_compact(summary=ALL))
    assert outcome == (b"", "", 0)
    assert noted(declared)["count"] == 1


def test_simulate_tells_the_result_and_counts_nothing(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """It plays the real hooks in the real project."""
    compaction_cycle(summary=WITHOUT_REVIEW)
    before = noted(declared)
    for options in ((), ("--subprocess",), ("--session", "session-1")):
        told = declared.run("simulate", *options).stdout
        assert "compactions: 2, the last summary kept 4 of 4 facts" in told
        assert noted(declared) == before
