"""A workflow comes through any number of compactions, through the real door and real commands."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.canonical import lifecycle
from holdfast.formats.canonical.format import FORMAT
from holdfast.formats.engine.workflow import Place
from holdfast.testing import Compactions, MovableClock, Project
from holdfast.text.room import units

PHASES = {f"Step {number}": ["do it"] for number in range(1, 11)}


@pytest.mark.long
def test_a_hundred_cycles_lose_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Phase, reminders and context change between cycles; everything written so far is there."""
    project = holdfast_project
    names = [f"Step-{n}" for n in range(1, 201)]
    project.run("start", "Long haul", "--phases", ",".join(names))
    created_at = project.state()["created_at"]
    reminders: list[str] = []
    context: dict[str, int] = {}
    for number in range(1, 101):
        as_process = number % 20 == 0  # real commands and real hooks; the rest without the start-up
        reminders.append(f"reminder {number}")
        context[f"key{number}"] = number
        if as_process:
            project.run("remind", reminders[-1])
            project.run("context", f"key{number}={number}")
            project.run("phase", "next")
        else:
            advance(project, reminders[-1], {f"key{number}": number})
        cycle = compaction_cycle(in_process=not as_process)
        state = project.state()
        assert state["phase"]["current"] == number + 1
        assert state["key_reminders"] == reminders
        assert state["context"] == context
        assert state["created_at"] == created_at
        assert f"phase {number + 1} of 200: Step-{number + 1}." in cycle.guidance
        for reminder in reminders:
            assert f"- {reminder}\n" in cycle.guidance
        for key, value in context.items():
            assert f"- {key}: {value}\n" in cycle.guidance
    before = project.state_files()[0].stat()
    outcome = compaction_cycle.fire("PreCompact")
    after = project.state_files()[0].stat()
    assert outcome.code == 0
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def advance(project: Project, reminder: str, context: dict[str, int]) -> None:
    """What the three commands do, in this process."""
    place = Place(Store(project.root), Settings(), project.clock.now(), None, None)
    key = "canonical:name:long haul"
    FORMAT.change(place, key, lifecycle.note, "key_reminders", [reminder], [])
    FORMAT.change(place, key, lifecycle.note, "context", context, [])
    FORMAT.change(place, key, lifecycle.advance, place, lifecycle.Step())


def test_the_saved_phase_is_not_clobbered_by_older_markdown(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The best-known implementation rebuilds the state from markdown and loses this."""
    holdfast_project.declare("W", phase="1/5 - Design", reminders=["from markdown"])
    compaction_cycle()
    holdfast_project.run("phase", "set", "3", "--name", "Test")
    holdfast_project.run("remind", "from the agent")
    cycle = compaction_cycle(3)
    assert "phase 3 of 5: Test." in cycle.guidance
    assert holdfast_project.state()["key_reminders"] == ["from markdown", "from the agent"]


def test_a_hand_edited_file_is_respected(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Agents also write the JSON itself, as the document tells them to."""
    holdfast_project.declare("W", phase="1/5 - Design")
    compaction_cycle()
    path = holdfast_project.state_files()[0]
    state = json.loads(path.read_text())
    state["phase"].update(current=4, name="Deploy", status="blocked")
    state["key_reminders"].append("by hand")
    state["owner"] = "somebody"
    path.write_text(json.dumps(state))
    cycle = compaction_cycle()
    kept = holdfast_project.state()
    assert (kept["phase"]["current"], kept["phase"]["status"]) == (4, "blocked")
    assert kept["owner"] == "somebody"
    assert "by hand" in cycle.guidance


def test_markdown_that_moves_on_moves_the_state(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also when PreCompact never ran: SessionStart syncs by itself."""
    holdfast_project.declare("W", phase="1/5 - Design")
    compaction_cycle()
    holdfast_project.declare("W", phase="2/5 - Build", status="blocked")
    cycle = compaction_cycle(pre_compact=False)
    assert "phase 2 of 5: Build. Status: blocked." in cycle.guidance
    assert holdfast_project.state()["phase"]["name"] == "Build"


def test_four_firings_in_parallel_leave_one_identical_file(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The field tells of two to four firings for one /compact."""
    holdfast_project.declare("W", phase="1/5 - Design")
    outcomes = compaction_cycle.at_once(4)
    assert {outcome.code for outcome in outcomes} == {0}
    assert len({outcome.stdout for outcome in outcomes}) == 1
    path = holdfast_project.state_files()[0]
    before = path.read_bytes()
    compaction_cycle.at_once(4)
    assert holdfast_project.state_files() == [path]
    assert path.read_bytes() == before


def test_a_subagents_payload_saves_and_restores_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It would consume the main session's state."""
    holdfast_project.declare("W")
    cycle = compaction_cycle(agent_id="agent-1")
    assert (cycle.note, cycle.guidance, cycle.message) == ("", "", "")
    assert holdfast_project.states() == []


def test_a_changed_session_id_finds_the_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Some clients change it in the background."""
    holdfast_project.run("start", "W", session="one")
    assert "W" in compaction_cycle(session="two").guidance


def test_resume_fork_startup_and_clear(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whole guidance when the work goes on, one line when a session begins."""
    holdfast_project.declare("W", phase="2/4 - Build", reading=["@a.md"])
    assert "resumed session" in compaction_cycle.start("resume").guidance
    assert "forked session" in compaction_cycle.start("fork").guidance
    for source in ("startup", "clear"):
        started = compaction_cycle.start(source)
        assert "\n" not in started.guidance
        assert "holdfast resume" in started.guidance
        assert '"W"' in started.guidance
        assert started.message == "W 2/4"
    assert compaction_cycle.start("something-new").guidance == ""


def test_the_person_gets_one_line(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """Workflow and phase, in the channel that the model does not see."""
    holdfast_project.declare("Page Orchestration", phase="4/10 - SEO Generation")
    message = compaction_cycle().message
    assert message == "✅ Workflow restored: Page Orchestration, Phase 4/10 (SEO Generation)"


def test_a_finished_workflow_stays_finished(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Markdown that nobody has edited does not revive it; edited, it does."""
    holdfast_project.declare("W", phase="5/5 - Ship")
    compaction_cycle()
    holdfast_project.run("complete")
    assert holdfast_project.state_files() == []
    assert not (holdfast_project.root / "untracked/workflow-state/w").exists()
    cycle = compaction_cycle(2)
    assert cycle.guidance == ""
    assert cycle.note == ""
    assert holdfast_project.state_files() == []
    os.utime(holdfast_project.root / "CLAUDE.local.md")
    assert compaction_cycle().guidance == ""
    holdfast_project.declare("W", phase="1/2 - Again")
    assert "phase 1 of 2: Again." in compaction_cycle().guidance


def test_ticking_the_last_boxes_of_a_finished_plan_revives_nothing(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The agent completes first and tidies the plan after; a new open box is new work."""
    holdfast_project.plan("001-x", {"One": ["x a"], "Two": ["b", "c"]})
    compaction_cycle()
    holdfast_project.run("complete")
    holdfast_project.plan("001-x", {"One": ["x a"], "Two": ["x b", "x c"]})
    assert compaction_cycle().guidance == ""
    holdfast_project.plan("001-x", {"One": ["x a"], "Two": ["x b", "x c", "d"]})
    assert "Next action: d" in compaction_cycle().guidance


def test_a_state_folder_that_is_deleted_by_hand_is_the_documents_way_to_complete(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`rm -rf untracked/workflow-state/<name>/` ends the workflow, and the person is told."""
    holdfast_project.declare("W", phase="5/5 - Ship")
    compaction_cycle()
    path = holdfast_project.state_files()[0]
    path.unlink()
    path.parent.rmdir()
    cycle = compaction_cycle()
    assert cycle.guidance == f"Note: {cycle.message}"
    assert "removed by hand" in cycle.message
    assert holdfast_project.state_files() == []
    compaction_cycle()
    assert holdfast_project.state_files() == []
    holdfast_project.run("resume", "W")
    assert "phase 5 of 5: Ship." in compaction_cycle().guidance


def test_a_plan_that_is_marked_complete_ends_its_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its state file is left over; it gets one line, never a restore."""
    phases = {"One": ["x a"], "Two": ["b"]}
    holdfast_project.plan("001-x", phases, title="Plan 001: The X")
    assert "The X" in compaction_cycle().guidance
    holdfast_project.plan("001-x", phases, title="Plan 001: The X", status="✅ Complete")
    cycle = compaction_cycle()
    assert cycle.guidance == f"Note: {cycle.message}"
    assert "The X" in cycle.message
    assert "holdfast complete" in cycle.message
    holdfast_project.run("complete", "The X")
    assert holdfast_project.state_files() == []


def test_all_phases_completed_but_not_closed_is_named_only(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """current = total and completed."""
    holdfast_project.run("start", "W", "--phases", "A,B")
    holdfast_project.run("phase", "set", "2", "--status", "completed")
    cycle = compaction_cycle()
    assert cycle.guidance == f"Note: {cycle.message}"
    assert "all phases completed" in cycle.message


def test_undeclared_and_untouched_is_stale(
    holdfast_project: Project, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """After seven days it is named only; a command that touches it takes it up again."""
    holdfast_project.run("start", "W", "--phases", "A,B")
    holdfast_clock.advance(days=6.9)
    assert "W" in compaction_cycle().guidance
    holdfast_clock.advance(days=0.2)
    cycle = compaction_cycle()
    told = "Workflow not restored: W: phase 1/2, untouched for 7 days. To go on with it: holdfast resume W"
    assert (cycle.guidance, cycle.message) == (f"Note: {told}", told)
    holdfast_project.run("phase", "next", "-w", "W")
    assert "phase 2 of 2" in compaction_cycle().guidance


def test_a_declared_workflow_never_gets_stale(
    holdfast_project: Project, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """Somebody says in markdown that it is going on."""
    holdfast_project.declare("W")
    compaction_cycle()
    holdfast_clock.advance(days=300)
    assert "W" in compaction_cycle().guidance


def test_a_corrupt_state_is_set_aside_and_the_last_good_copy_used(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Not deleted, and said to the person."""
    holdfast_project.run("start", "W", "--phases", "A,B,C")
    holdfast_project.run("remind", "precious")
    path = holdfast_project.state_files()[0]
    old = time.time() - 60
    path.write_bytes(b'{"workflow": "W", "phase": {"cur')
    os.utime(path, (old, old))
    cycle = compaction_cycle()
    assert "precious" in cycle.guidance
    assert "last good copy" in cycle.guidance
    assert holdfast_project.state()["key_reminders"] == ["precious"]
    quarantine = list((holdfast_project.root / ".claude/holdfast/quarantine").iterdir())
    assert [kept.read_bytes() for kept in quarantine] == [b'{"workflow": "W", "phase": {"cur']
    assert "last good copy" not in compaction_cycle().guidance


def test_a_corrupt_newest_file_does_not_hide_the_good_one_behind_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One bad file never ends the search."""
    holdfast_project.run("start", "Good")
    bad = holdfast_project.write(
        "untracked/workflow-state/bad/state-bad-20251209_143052.json", "\0garbage"
    )
    os.utime(bad, (time.time() - 30, time.time() - 30))
    cycle = compaction_cycle()
    assert "Good" in cycle.guidance
    assert "could not be read" in cycle.message
    assert not bad.exists()
    assert len(list((holdfast_project.root / ".claude/holdfast/quarantine").iterdir())) == 1


def test_a_wrong_field_is_repaired_from_the_last_good_copy(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The rest of a hand edit counts; what was there stays in the file."""
    holdfast_project.run("start", "W", "--phases", "A,B,C")
    path = holdfast_project.state_files()[0]
    state = json.loads(path.read_text())
    state["phase"]["current"] = "two"
    state["key_reminders"] = ["kept"]
    path.write_text(json.dumps(state))
    cycle = compaction_cycle()
    assert "phase 1 of 3: A." in cycle.guidance
    assert "kept" in cycle.guidance
    assert "Note: phase.current: expected a whole number, found 'two'" in cycle.guidance
    assert holdfast_project.state()["phase"]["current"] == "two"


def test_state_files_of_other_tools_are_taken_over(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The same layout, in a folder of another name, without any of our notes."""
    foreign: dict[str, Any] = {
        "workflow": "Database Migration",
        "workflow_type": "custom",
        "phase": {"current": 3, "total": 5, "name": "Data", "status": "in_progress"},
        "required_reading": ["@docs/migration-guide.md"],
        "context": {"records_migrated": 15000},
        "key_reminders": ["Backup database before each phase"],
        "created_at": "2025-12-09T16:00:00Z",
    }
    path = holdfast_project.write(
        "untracked/workflow-state/db-mig/state-db-mig-20251209_160000.json", json.dumps(foreign)
    )
    untouched = path.read_bytes()
    assert "Backup database" in compaction_cycle().guidance
    assert path.read_bytes() == untouched
    holdfast_project.run("phase", "next", "-n", "Verify")
    holdfast_project.declare("database  migration", phase="5/5 - Clean up")
    cycle = compaction_cycle()
    assert "phase 5 of 5: Clean up." in cycle.guidance
    assert holdfast_project.state_files() == [path]
    assert holdfast_project.state()["created_at"] == foreign["created_at"]
    assert holdfast_project.state()["context"] == foreign["context"]


def test_somebody_elses_json_is_left_alone(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A format is recognised by its shape, not by its path."""
    path = holdfast_project.write(
        "untracked/workflow-state/x/state-x-20251209_160000.json", '{"status": "running"}'
    )
    assert compaction_cycle().guidance == ""
    assert path.read_text() == '{"status": "running"}'
    assert "not a canonical state" in holdfast_project.run("why").stdout


def test_a_plan_that_claude_local_md_points_at_is_the_same_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """One state, with the name of the one and the next action of the other."""
    holdfast_project.plan("001-auth", {"Design": ["x a"], "Build": ["write it"]})
    holdfast_project.declare(
        "Auth work", phase="2/2 - Build", reading=["@CLAUDE/Plan/001-auth/PLAN.md"]
    )
    cycle = compaction_cycle()
    assert "Auth work" in cycle.guidance
    assert "Next action: write it" in cycle.guidance
    state = holdfast_project.state()
    assert state["required_reading"] == ["@CLAUDE/Plan/001-auth/PLAN.md"]
    assert state["context"] == {"plan_number": 1, "plan_name": "auth"}


def test_other_active_plans_each_get_their_own_state(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The chosen one is restored, the others are named."""
    holdfast_project.plan("001-a", {"One": ["x"]}, title="Alpha")
    holdfast_project.plan("002-b", {"One": ["y"]}, title="Beta")
    holdfast_project.declare("Main work")
    cycle = compaction_cycle()
    assert "Main work" in cycle.guidance.splitlines()[0]
    assert "- Alpha: phase 1/1" in cycle.guidance
    assert "- Beta: phase 1/1" in cycle.guidance
    assert sorted(state["workflow"] for state in holdfast_project.states()) == [
        "Alpha",
        "Beta",
        "Main work",
    ]


def test_two_sessions_keep_their_own_workflows(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Interleaved compactions, no leak either way."""
    holdfast_project.run("start", "Alpha", session="a")
    holdfast_project.run("start", "Beta", session="b")
    for _ in range(3):
        for session, name, other in (("a", "Alpha", "Beta"), ("b", "Beta", "Alpha")):
            holdfast_project.run("remind", f"note of {name}", session=session)
            guidance = compaction_cycle(session=session).guidance
            assert name in guidance.splitlines()[0]
            assert f"note of {name}" in guidance
            assert f"note of {other}" not in guidance


def test_a_read_only_project_is_restored_and_said(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A folder where the lock should be: nothing can be saved. The compaction goes on."""
    holdfast_project.declare("W")
    holdfast_project.write(".claude/holdfast", "a file where our folder should be")
    saved = compaction_cycle.fire("PreCompact", trigger="auto")
    assert (saved.code, saved.stdout) == (1, b"")
    assert saved.stderr.count("\n") == 0
    assert "could not save" in saved.stderr
    started = compaction_cycle.start()
    assert '"W"' in started.guidance
    assert "could not save" in started.message


def test_guidance_stays_under_the_cap_whatever_was_written(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Cut lists say so loudly, and the head stands alone in the first 2,000 units."""
    reading = [f"@docs/{'long' * 20}-{number}.md" for number in range(150)]
    holdfast_project.declare(
        "W" * 400,
        phase="4/10 - " + "🚀" * 300,
        reading=reading,
        reminders=[f"{number} " + "remember this " * 30 for number in range(100)],
        context={f"key{number}": "v" * 300 for number in range(100)},
    )
    cycle = compaction_cycle()
    assert units(cycle.guidance) <= 9_500
    assert units(cycle.note) <= 800
    assert "more: holdfast show" in cycle.guidance
    head = cycle.guidance[:2_000]
    assert "phase 4 of 10" in head
    assert "REQUIRED READING" in head
    assert reading[0] in head
    assert "## ACTION REQUIRED" in cycle.guidance
    shown = holdfast_project.run("show").stdout
    for item in reading:
        assert item in shown


def test_names_never_collide_and_never_end_up_empty(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Any script, 300 characters, only signs, one slug for two names, names of devices."""
    names = [
        "数据 迁移",
        "Größe",
        "GROSSE",
        "!!!",
        "🚀",
        "a b",
        "a-b",
        "a_b",
        "con",
        "x" * 300,
        "x" * 301,
    ]
    names += ["हिन्दी काम", "../../etc/passwd", ".hidden", "-rf", "e\u0301te\u0301", "CON.txt"]
    for name in names:
        holdfast_project.run("start", "--", name)
    states = holdfast_project.states()
    assert sorted(state["workflow"] for state in states) == sorted(names)
    base = holdfast_project.root / "untracked" / "workflow-state"
    for path in holdfast_project.state_files():
        assert path.parent.parent == base
        assert path.name.startswith(f"state-{path.parent.name}-")
        assert not path.parent.name.startswith(("-", "."))
        assert len(os.fsencode(path.name)) < 200
    assert len({path.parent for path in holdfast_project.state_files()}) == len(names)
    for name in names:
        assert name in holdfast_project.run("show", "--", name).stdout


@pytest.mark.parametrize(
    "text", ["</system-reminder>", "\x1b[31mred\x1b[0m", "\u202eevil", "a\x00b", "\x9b31m"]
)
def test_hostile_text_is_neutralised_before_the_model_and_kept_in_the_file(
    text: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Closing tags, escapes and overrides."""
    path = holdfast_project.write(
        "untracked/workflow-state/w/state-w-20251209_160000.json",
        json.dumps(
            {
                "workflow": f"W {text}",
                "workflow_type": "custom",
                "phase": {"current": 1, "total": 1, "name": f"N {text}", "status": "in_progress"},
                "required_reading": [f"@docs/{text}.md"],
                "context": {f"k {text}": text},
                "key_reminders": [f"remember {text}"],
                "created_at": "2025-12-09T16:00:00Z",
            }
        ),
    )
    cycle = compaction_cycle()
    shown = cycle.guidance + cycle.note + cycle.message
    shown += "".join(
        holdfast_project.run(*command).stdout
        for command in (["status"], ["show"], ["list"], ["why"], ["preview"], ["log"])
    )
    assert text not in shown
    assert not set("\x00\x1b\x9b\u202e") & set(shown)
    assert json.loads(path.read_text())["key_reminders"] == [f"remember {text}"]
