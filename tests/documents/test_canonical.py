"""What the canonical document says of workflows and their state files, by its own examples."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Compactions, Project

SAMPLES = Path(__file__).parents[1] / "samples" / "canonical"
EXAMPLES = sorted(path.stem for path in SAMPLES.glob("*.json"))
PLACE = (
    "untracked/workflow-state/feature-implementation/"
    "state-feature-implementation-20251209_143052.json"
)
MARKER = """# Current Workflow State

Workflow: Page Orchestration - Case Studies
Phase: 4/10 - SEO Generation

@CLAUDE/PageOrchestration.md
@CLAUDE/Sitemap/case-studies.md
"""
NAME = re.compile(r"state-(?P<slug>.+)-(?P<begun>\d{8}_\d{6})\.json")


def text(example: str) -> str:
    return (SAMPLES / f"{example}.json").read_text("utf-8")


def state(**fields: Any) -> dict[str, Any]:
    """The document's required fields, with *fields* in the place of some."""
    return json.loads(text("required-fields")) | fields


def put(project: Project, data: dict[str, Any]) -> Path:
    return project.write(PLACE, json.dumps(data))


def by_the_document(project: Project) -> None:
    """CLAUDE.local.md as the document has it."""
    project.write("CLAUDE.local.md", MARKER)


def by_a_plan(project: Project) -> None:
    project.plan("001-user-auth", {"Design": ["x a"], "Build": ["b"]}, title="Plan 001: User Auth")


@pytest.mark.parametrize("kind", ["planning", "qa-loop", "implementation", "custom"])
def test_a_workflow_of_each_type(
    kind: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Begun by command, valid, and told after a compaction."""
    holdfast_project.run("start", "W", "--type", kind, "--phases", "Research,Review")
    assert holdfast_project.state()["workflow_type"] == kind
    (path,) = holdfast_project.state_files()
    assert "valid, format canonical" in holdfast_project.run("inspect", str(path)).stdout
    assert f"(type {kind}) is in phase 1 of 2: Research" in compaction_cycle().guidance


@pytest.mark.parametrize("way", ["start", "PreCompact"])
def test_where_a_state_file_lies(
    way: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """<slug>/state-<slug>-<start>.json; the start is that of the workflow, in UTC."""
    if way == "start":
        holdfast_project.run("start", "Page Orchestration", "--phases", "A,B")
    else:
        holdfast_project.declare("Page Orchestration", phase="1/2 - A")
        compaction_cycle.fire("PreCompact", trigger="auto")
    (path,) = holdfast_project.state_files()
    assert path.parent == holdfast_project.root / "untracked/workflow-state/page-orchestration"
    name = NAME.fullmatch(path.name)
    assert name
    assert name["slug"] == "page-orchestration"
    begun = re.sub(r"[-:]", "", holdfast_project.state()["created_at"])
    assert begun.startswith(name["begun"].replace("_", "T"))
    assert begun.endswith("Z")


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_comes_through_thirty_compactions(
    example: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its file is the agent's: no hook changes a byte of it."""
    path = holdfast_project.write(PLACE, text(example))
    first = compaction_cycle().guidance
    assert first
    assert compaction_cycle(29).guidance == first
    assert path.read_text("utf-8") == text(example)


def test_a_phase_transition_updates_the_same_file(holdfast_project: Project) -> None:
    """By commands: number, name, status, context and reminders change, created_at does not."""
    holdfast_project.run("start", "W", "--phases", "Design,Build")
    (path,), created_at = holdfast_project.state_files(), holdfast_project.state()["created_at"]
    holdfast_project.clock.advance(hours=1)
    holdfast_project.run("phase", "next")
    holdfast_project.run("phase", "set", "2", "--status", "blocked")
    holdfast_project.run("context", "page_name=case-studies")
    holdfast_project.run("remind", "Run the tests")
    assert holdfast_project.state_files() == [path]
    now = holdfast_project.state()
    assert now["phase"] == {"current": 2, "total": 2, "name": "Build", "status": "blocked"}
    assert now["context"] == {"page_name": "case-studies"}
    assert now["key_reminders"] == ["Run the tests"]
    assert now["created_at"] == created_at


def test_the_update_of_the_first_example_counts(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Example 1: its start is on disk and restored, then the agent writes its update over it."""
    path = holdfast_project.write(PLACE, text("example-1-start"))
    assert "is in phase 1 of 5: Design." in compaction_cycle().guidance
    path.write_text(text("example-1-update"), "utf-8")
    guidance = compaction_cycle().guidance
    assert "is in phase 3 of 5: Testing." in guidance
    assert "- Run integration tests after unit tests" in guidance
    assert holdfast_project.state_files() == [path]
    assert holdfast_project.state()["created_at"] == "2025-12-09T14:30:52Z"


@pytest.mark.needs("jq")
def test_a_phase_transition_by_jq(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """The same file, and the created_at that was there."""
    path = holdfast_project.write(PLACE, text("example-1-start"))
    compaction_cycle()
    program = '.phase.current = 2 | .phase.name = "Build"'
    done = subprocess.run(["jq", program, str(path)], capture_output=True, check=True)
    path.write_bytes(done.stdout)
    assert "is in phase 2 of 5: Build." in compaction_cycle().guidance
    assert holdfast_project.state_files() == [path]
    assert holdfast_project.state()["created_at"] == "2025-12-09T14:30:52Z"


def test_before_a_compaction_claude_local_md_is_saved(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's own markers: the hook makes the file, and nobody else has to do anything."""
    by_the_document(holdfast_project)
    compaction_cycle.fire("PreCompact", trigger="auto")
    saved = holdfast_project.state()
    assert saved["workflow"] == "Page Orchestration - Case Studies"
    assert saved["phase"] == {
        "current": 4, "total": 10, "name": "SEO Generation", "status": "in_progress",
    }  # fmt: skip
    assert saved["required_reading"] == [
        "@CLAUDE/PageOrchestration.md",
        "@CLAUDE/Sitemap/case-studies.md",
    ]


def test_before_a_compaction_an_active_plan_is_saved(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A plan in progress that has phases."""
    by_a_plan(holdfast_project)
    compaction_cycle.fire("PreCompact", trigger="auto")
    saved = holdfast_project.state()
    assert saved["workflow"] == "User Auth"
    assert (saved["phase"]["current"], saved["phase"]["name"]) == (2, "Build")
    assert saved["context"]["plan_number"] == 1


def test_any_name_is_a_workflow(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """There is no list of workflows that are known."""
    holdfast_project.write("CLAUDE.local.md", MARKER.replace("Page Orchestration", "Zebra 7½"))
    assert '"Zebra 7½ - Case Studies"' in compaction_cycle().guidance


@pytest.mark.parametrize("newest", ["feature-implementation", "qa-loop"])
def test_of_several_files_the_one_modified_last_is_read(
    newest: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By a session that has not worked on any of them."""
    holdfast_project.write(PLACE, text("example-1-start"))
    other = "untracked/workflow-state/qa-loop/state-qa-loop-20251209_150000.json"
    holdfast_project.write(other, text("example-2-qa-loop"))
    for path in holdfast_project.state_files():
        moment = time.time() - (60 if path.parent.name == newest else 3600)
        os.utime(path, (moment, moment))
    workflow = {"qa-loop": "QA Loop", "feature-implementation": "Feature Implementation"}[newest]
    assert compaction_cycle().guidance.startswith(
        f"# Workflow restored after the compaction: {workflow}"
    )


OTHER = "untracked/workflow-state/qa-loop/state-qa-loop-20251209_150000.json"


@pytest.mark.parametrize("tells", [True, False])
def test_the_file_modified_last_is_read_after_another_one(
    tells: bool, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By a session that has worked on the other, whether or not the client tells of the write."""
    project = holdfast_project
    names = {PLACE: "Feature Implementation", OTHER: "QA Loop"}
    texts = {PLACE: text("example-1-start"), OTHER: text("example-2-qa-loop")}
    for path in (PLACE, OTHER, PLACE):
        whole = project.write(path, texts[path])
        if tells:
            given = {"file_path": str(whole), "content": texts[path]}
            compaction_cycle.fire(
                "PostToolUse", tool_name="Write", tool_input=given, tool_response={}
            )
        assert names[path] in compaction_cycle(2).guidance.splitlines()[0]


@pytest.mark.parametrize("begun", [True, False])
def test_the_file_modified_last_is_read_though_claude_local_md_declares_another(
    begun: bool, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It was written after that, before the session or in it, and no hook has seen it."""
    by_the_document(holdfast_project)
    moment = time.time() - 3 * 3600
    os.utime(holdfast_project.root / "CLAUDE.local.md", (moment, moment))
    if begun:
        compaction_cycle.start("startup")
    path = holdfast_project.write(PLACE, text("example-1-start"))
    moment = time.time() - 600
    if not begun:
        os.utime(path, (moment, moment))
        compaction_cycle.start("startup")
    assert "Feature Implementation" in compaction_cycle().guidance.splitlines()[0]
    why = holdfast_project.run("why", session="session-1").stdout
    assert "this session works on it" in why


@pytest.mark.needs("git")
def test_the_file_modified_last_is_read_after_another_branch_was_checked_out(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What a file notes of its branch is no reason to read one that is clearly older."""
    project = holdfast_project
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.git("branch", "side")
    project.run("start", "Older", "-p", "A,B", session="one")
    project.git("checkout", "-q", "side")
    project.clock.advance(hours=1)
    project.run("start", "Newer", "-p", "A,B", session="two")
    project.git("checkout", "-q", "main")
    project.clock.advance(seconds=60)
    assert "Newer" in compaction_cycle(session="three").guidance.splitlines()[0]


def test_why_names_the_choice_of_the_hook(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Whoever asks from another session sees that of the hook, and its reason, beside the own."""
    project = holdfast_project
    project.run("start", "Mine", "-p", "A,B", session="session-1")
    project.run("start", "Later", "-p", "A,B", session="session-2")
    compaction_cycle()
    told = " ".join(project.run("why").stdout.split())
    assert "Chosen for a session that has worked on none: Later, because it was last" in told
    assert "restored 'Mine', phase 1/2" in told
    assert "'Mine': this session works on it" in told


@pytest.mark.needs("bash")
def test_the_documents_line_removes_a_completed_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`rm -rf` of its folder: it is not restored any more, and the next newest one is."""
    holdfast_project.write(PLACE, text("example-1-start"))
    holdfast_project.run("start", "Page Orchestration")
    assert "Page Orchestration" in compaction_cycle().guidance.splitlines()[0]
    subprocess.run(
        ["bash", "-c", "rm -rf ./untracked/workflow-state/page-orchestration/"],
        cwd=holdfast_project.root,
        check=True,
    )
    assert "Feature Implementation" in compaction_cycle(2).guidance.splitlines()[0]
    assert [path.parent.name for path in holdfast_project.state_files()] == [
        "feature-implementation"
    ]


@pytest.mark.parametrize("status", ["not_started", "in_progress", "blocked"])
def test_a_status_of_a_phase(
    status: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Valid, told, and left as it is."""
    phase = {"current": 2, "total": 5, "name": "Build", "status": status}
    path = put(holdfast_project, state(phase=phase))
    assert "valid" in holdfast_project.run("inspect", str(path)).stdout
    guidance = compaction_cycle().guidance
    assert f"phase 2 of 5: Build. Status: {status.replace('_', ' ')}." in guidance
    assert holdfast_project.state()["phase"] == phase


def required_of(guidance: str) -> list[str]:
    """The steps of the section ACTION REQUIRED."""
    return guidance.split("\n\n## ACTION REQUIRED\n")[1].splitlines()


def test_a_blocked_phase_waits_for_a_person(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is no invitation to go on, and no command is named that would."""
    holdfast_project.run("start", "W", "--phases", "A,B")
    holdfast_project.run("block", "no database")
    guidance = compaction_cycle().guidance
    assert "Status: blocked" in guidance
    assert "- blocked_by: no database" in guidance
    steps = required_of(guidance)
    assert steps[0].startswith("1. The work is blocked and waits for a person, who may ")
    assert not any("`holdfast" in step for step in steps)
    assert "waits for a person" in compaction_cycle.start("startup").guidance


@pytest.mark.parametrize("declare", [by_the_document, by_a_plan])
def test_what_the_agent_does_after_a_compaction(
    declare: Any, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The document's four points, and before them what comes next."""
    declare(holdfast_project)
    holdfast_project.write("CLAUDE/PageOrchestration.md", "how a page is made\n")
    cycle = compaction_cycle()
    first, *steps = required_of(cycle.guidance)
    assert "The work continues in phase " in first
    acknowledged = "✅ Workflow restored: [^,]+, Phase [0-9]/[0-9]+"
    assert re.fullmatch(f'2. The first reply acknowledges this: "{acknowledged}".', steps[0])
    assert re.match(acknowledged, cycle.message)
    said = "\n".join(steps)
    read, confirmed, assumed = map(
        said.index, ("read from disk", "confirms the phase and the context", "Nothing is assumed.")
    )
    assert read < confirmed < assumed


def test_after_a_completed_phase_the_next_one_begins(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By its name, where that is known."""
    holdfast_project.run("start", "W", "--phases", "Design,Build,Ship")
    holdfast_project.run("phase", "set", "1", "--status", "completed")
    begin = "Phase 1 of 3 is completed: begin phase 2, Build, with `holdfast phase next`."
    assert required_of(compaction_cycle().guidance)[0] == f"1. {begin}"
    assert begin in compaction_cycle.start("startup").guidance
    phase = {"current": 2, "total": 5, "name": "Build", "status": "completed"}
    put(holdfast_project, state(phase=phase))
    holdfast_project.run("complete", "W")
    assert "Phase 2 of 5 is completed: begin phase 3, with" in compaction_cycle().guidance


def test_a_phase_that_is_not_started_is_begun(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Nothing goes on yet."""
    phase = {"current": 2, "total": 5, "name": "Build", "status": "not_started"}
    put(holdfast_project, state(phase=phase))
    first = required_of(compaction_cycle().guidance)[0]
    assert first == "1. Phase 2 of 5 is not started yet: begin it."


def test_after_the_last_box_of_a_plan_the_whole_is_reviewed(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Though its status line still says that it runs; a new box is work again."""
    phases = {"Design": ["x a"], "Build": ["x b"]}
    holdfast_project.plan("001-user-auth", phases, title="Plan 001: User Auth")
    done = "1. Every box of the plan is ticked. Review the whole, then `holdfast complete`."
    assert required_of(compaction_cycle().guidance)[0] == done
    phases["Build"].append("c")
    holdfast_project.plan("001-user-auth", phases, title="Plan 001: User Auth")
    going = "1. The work continues in phase 2 of 2: Build;"
    assert required_of(compaction_cycle().guidance)[0].startswith(going)


def test_what_cannot_be_sent_has_its_line_of_what_to_do(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A missing file, a folder, one outside, one that is no text, and an anchor, which is its file."""
    (holdfast_project.root / "logo.bin").write_bytes(bytes(range(256)))
    holdfast_project.write("docs/a.md", "the text of a\n")
    holdfast_project.write("docs/b#1.md", "the text of b\n")
    reading = [
        "@gone.md",
        "@docs",
        "@../x.md",
        "@~/x.md",
        "@logo.bin",
        "@docs/a.md#use",
        "@docs/a.md#limits",
        "@docs/b#1.md",
    ]
    put(holdfast_project, state(required_reading=reading))
    cycle = compaction_cycle()
    steps = required_of(cycle.guidance)
    for step in (
        "Missing: @gone.md. It is looked for, or the person is asked.",
        "A folder: @docs. What this phase needs in it is read.",
        "Outside the project: @../x.md, @~/x.md. It is read from disk if the person agrees.",
        "Not text: @logo.bin. The person is asked what is needed of it.",
        "Required for the section that is named above: @docs/a.md.",
    ):
        assert step in [line[3:] for line in steps]
    sent = r"\n@docs/a.md \(sent, part 1, version \w+; its section use, limits\)\n"
    assert re.search(sent, cycle.guidance)
    assert "".join(cycle.reading).count("the text of") == 2


def test_reading_without_the_sign_gets_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """`inspect` names it, and the guidance has it with the @."""
    path = put(holdfast_project, state(required_reading=["CLAUDE/PlanWorkflow.md"]))
    done = holdfast_project.run("inspect", str(path), check=False)
    assert "expected a path with @ in front, found 'CLAUDE/PlanWorkflow.md'" in done.stdout
    assert "\n@CLAUDE/PlanWorkflow.md" in compaction_cycle().guidance


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE/PageOrchestration.md",
        "CLAUDE/Sitemap/case-studies.md",
        ".claude/skills/page-orchestration/SKILL.md",
    ],
)
def test_a_path_of_the_document_is_to_be_read(
    path: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The three examples of the @ syntax: named, and their text is sent."""
    holdfast_project.write(path, "what only this file says\n")
    put(holdfast_project, state(required_reading=[f"@{path}"]))
    cycle = compaction_cycle()
    required = cycle.guidance.split("## REQUIRED READING\n")[1]
    assert required.startswith(f"@{path} (sent")
    assert "what only this file says" in "".join(cycle.reading)


@pytest.mark.parametrize("declare", [by_the_document, by_a_plan])
def test_the_solution_step_by_step(
    declare: Any, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Saved before, on disk after, told with its reading, and gone on with; twice."""
    declare(holdfast_project)
    holdfast_project.write("CLAUDE/PageOrchestration.md", "how a page is made\n")
    compaction_cycle.fire("PreCompact", trigger="auto")
    (path,) = holdfast_project.state_files()
    saved = path.read_bytes()
    started = compaction_cycle.start("compact")
    assert "## REQUIRED READING" in started.guidance
    assert path.read_bytes() == saved
    holdfast_project.run("phase", "set", "2", "--name", "Second", session="session-1")
    assert "is in phase 2 of" in compaction_cycle().guidance
    holdfast_project.run("phase", "set", "1", "--name", "First", session="session-1")
    assert "is in phase 1 of" in compaction_cycle().guidance
    assert holdfast_project.state_files() == [path]


@pytest.mark.parametrize("event", ["PreCompact", "SessionStart"])
def test_without_a_workflow_hooks_allow_and_leave_nothing(
    event: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No file, no guidance."""
    fields = {"trigger": "auto"} if event == "PreCompact" else {"source": "compact"}
    outcome = compaction_cycle.fire(event, **fields)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert b"Workflow" not in outcome.stdout
    assert not list(holdfast_project.root.iterdir())


OBSTACLES = {
    "nothing to save": {},
    "a workflow": {"CLAUDE.local.md": MARKER},
    "a damaged state": {PLACE: '{"workflow": "W", "phase": {"cur'},
    "a state of another shape": {PLACE: "[1]"},
    "markdown that is none": {"CLAUDE.local.md": "\0" * 99},
    "nowhere to save": {"CLAUDE.local.md": MARKER, ".claude/holdfast": "a file in the way"},
    "nowhere for a state": {"CLAUDE.local.md": MARKER, "untracked": "a file in the way"},
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_no_compaction_is_blocked(
    obstacle: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Neither by an exit code of 2 nor by a decision; what fails is one line on stderr."""
    for path, content in OBSTACLES[obstacle].items():
        holdfast_project.write(path, content)
    for trigger in ("manual", "auto"):
        outcome = compaction_cycle.fire("PreCompact", trigger=trigger)
        assert outcome.code in {0, 1}
        assert b"decision" not in outcome.stdout
        assert outcome.stderr.count("\n") == 0


def test_a_start_after_a_compaction_is_answered(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The event that the document's handler matches."""
    holdfast_project.write(PLACE, text("example-3-custom"))
    assert "Database Migration" in compaction_cycle.start("compact").guidance


def test_a_removed_folder_leaves_the_others(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Several workflows have a folder each, and one is cleaned up without the other."""
    for name in ("Alpha", "Beta"):
        holdfast_project.run("start", name)
    folders = [path.parent for path in holdfast_project.state_files()]
    assert [folder.name for folder in folders] == ["alpha", "beta"]
    shutil.rmtree(folders[1])
    assert "Alpha" in compaction_cycle().guidance.splitlines()[0]
    assert [saved["workflow"] for saved in holdfast_project.states()] == ["Alpha"]


def test_a_completed_workflow_that_is_still_there_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """With the command that closes it, and in one line."""
    phase = {"current": 5, "total": 5, "name": "Deploy", "status": "completed"}
    put(holdfast_project, state(phase=phase))
    (line,) = compaction_cycle().guidance.splitlines()
    assert line.startswith("Note: Workflow not restored: Feature Implementation (User Auth): ")
    assert (
        "Review the whole, then close it: holdfast complete 'Feature Implementation (User Auth)'"
        in line
    )


def test_a_damaged_state_without_a_copy_is_told_to_the_agent(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """What to do, once; `why` names the file that was set aside."""
    holdfast_project.write(PLACE, '{"workflow": "Feature')
    (line,) = compaction_cycle().guidance.splitlines()
    assert line.startswith(f"Note: {PLACE} could not be read: not JSON")
    assert "correct it and put it back, or begin the workflow anew" in line
    assert compaction_cycle().guidance == ""
    why = holdfast_project.run("why").stdout
    assert re.search(r"\.claude/holdfast/quarantine/\S+\.json: it was set aside\n", why)


@pytest.mark.parametrize("moment", ["fsync", "replace"])
@pytest.mark.parametrize("times", [1, 3])
def test_what_an_agent_writes_at_the_moment_of_a_save_stays(
    moment: str,
    times: int,
    holdfast_project: Project,
    compaction_cycle: Compactions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PreCompact has looked, and the agent writes before its rename: both are kept."""
    holdfast_project.run("start", "W", "--phases", "A,B,C,D")
    (path,) = holdfast_project.state_files()
    holdfast_project.declare("W", phase="1/4 - A", reminders=["from markdown"])
    real, phases = getattr(os, moment), iter(range(2, 2 + times))

    def overlapping(*arguments: Any) -> None:
        if (moment == "fsync" or arguments[1] == str(path)) and (number := next(phases, None)):
            now = json.loads(path.read_bytes())
            now["phase"] |= {"current": number, "name": "by the agent"}
            path.write_text(json.dumps(now), "utf-8")
        real(*arguments)

    monkeypatch.setattr(os, moment, overlapping)
    outcome = compaction_cycle.fire("PreCompact", trigger="auto")
    monkeypatch.undo()
    assert (outcome.code, next(phases, None)) == (0, None)
    saved = holdfast_project.state()
    assert (saved["phase"]["current"], saved["phase"]["name"]) == (1 + times, "by the agent")
    assert saved["key_reminders"] == ["from markdown"]


def test_a_state_that_is_deleted_at_the_moment_of_a_save_stays_deleted(
    holdfast_project: Project, compaction_cycle: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent ends its workflow while PreCompact is about to write."""
    holdfast_project.run("start", "W", "--phases", "A,B")
    (path,) = holdfast_project.state_files()
    holdfast_project.declare("W", phase="1/2 - A", reminders=["from markdown"])
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (path.unlink(missing_ok=True), real(number)))
    assert compaction_cycle.fire("PreCompact", trigger="auto").code == 0
    monkeypatch.undo()
    assert holdfast_project.state_files() == []


def told_in(guidance: str) -> str:
    """The notes of the guidance."""
    return "\n".join(line for line in guidance.splitlines() if line.startswith("Note: "))


ODD = {
    "phase.status": (
        "waiting",
        "phase.status: expected one of not_started, in_progress, completed, blocked, found 'waiting'",
    ),
    "phase.current": (0, "phase.current: expected at least 1, found 0"),
    "phase.total": ("many", "phase.total: expected a whole number, found 'many'"),
    "phase": ("two", "phase: expected an object, found 'two'"),
    "workflow_type": (
        "feature",
        "workflow_type: expected one of planning, qa-loop, implementation, custom, found 'feature'",
    ),
    "created_at": (
        "yesterday",
        "created_at: expected a time in ISO 8601, such as 2025-12-09T14:30:52Z, found 'yesterday'",
    ),
    "context": ([], "context: expected an object, found []"),
}


@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.parametrize("field", ODD)
def test_one_odd_value_costs_itself(
    field: str, is_declared: bool, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is named to the agent, the rest is restored, and the file keeps it, also when a hook saves."""
    value, note = ODD[field]
    data = state()
    above, _, part = field.rpartition(".")
    (data[above] if above else data)[part] = value
    path = put(holdfast_project, data)
    if is_declared:
        named = f"# WORKFLOW STATE: {data['workflow']}"
        holdfast_project.write("CLAUDE.local.md", f"{named}\n\n## Reminders\n- from markdown\n")
    guidance = compaction_cycle(2).guidance
    assert note in told_in(guidance)
    assert "- Run tests after each component" in guidance
    assert ("- from markdown" in guidance) == is_declared
    saved = json.loads(path.read_bytes())
    assert (saved[above] if above else saved)[part] == value
    assert ("from markdown" in saved["key_reminders"]) == is_declared
    assert not (holdfast_project.root / ".claude/holdfast/quarantine").exists()


ITEMS = [
    (
        "key_reminders",
        [{"text": "Never drop it"}, "r1", None],
        ("remind", "new"),
        [{"text": "Never drop it"}, "r1", None, "new"],
        "key_reminders.0: expected a text, found {'text': 'Never drop it'}",
    ),
    (
        "required_reading",
        [{"path": "docs/a.md", "why": "schema"}, {"why": "no path"}],
        ("read", "@docs/b.md"),
        [{"path": "docs/a.md", "why": "schema"}, {"why": "no path"}, "@docs/b.md"],
        "required_reading.0: expected a text, found {'path': 'docs/a.md'",
    ),
    (
        "required_reading",
        {"path": "docs/a.md", "why": "schema"},
        ("read", "@docs/b.md"),
        [{"path": "docs/a.md", "why": "schema"}, "@docs/b.md"],
        "required_reading: expected a list, found {'path': 'docs/a.md'",
    ),
]


@pytest.mark.parametrize(("field", "value", "command", "kept", "told"), ITEMS)
def test_an_odd_item_of_a_list_stays(
    field: str,
    value: object,
    command: tuple[str, ...],
    kept: list[object],
    told: str,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """The agent is told of it; a command adds to the list, and what CLAUDE.local.md says comes behind."""
    project = holdfast_project
    project.write("docs/a.md", "the schema")
    data = state(**{field: value})
    put(project, data)
    assert told in told_in(compaction_cycle().guidance)
    project.run(*command)
    assert project.state()[field] == kept
    marker = f"# WORKFLOW STATE: {data['workflow']}\n\n## Reminders\n- later\n\n@docs/c.md\n"
    project.write("CLAUDE.local.md", marker)
    assert "Note: " in compaction_cycle().guidance
    saved = project.state()[field]
    assert saved[: len(kept)] == kept
    assert saved[len(kept) :] == (["later"] if field == "key_reminders" else ["@docs/c.md"])


@pytest.mark.parametrize("field", [field for field in ODD if field.startswith("phase")])
def test_an_odd_value_does_not_change_the_phase_that_is_told(
    field: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also after commands, which write the odd value back: the last good copy stays good."""
    holdfast_project.run("start", "Odd", "--phases", "A,B,C")
    holdfast_project.run("phase", "next")
    (path,), data = holdfast_project.state_files(), holdfast_project.state()
    above, _, part = field.rpartition(".")
    (data[above] if above else data)[part] = ODD[field][0]
    path.write_text(json.dumps(data), "utf-8")
    for reminder in ("one", "two"):
        holdfast_project.run("remind", reminder)
        guidance = compaction_cycle().guidance
        assert "is in phase 2 of 3: B." in guidance
        assert ODD[field][1] in told_in(guidance)
        now = holdfast_project.state()
        assert (now[above] if above else now)[part] == ODD[field][0]
    holdfast_project.run("undo")
    assert holdfast_project.state()["key_reminders"] == ["one"]
    holdfast_project.run("phase", "next")
    assert "is in phase 3 of 3: C." in compaction_cycle().guidance


def test_a_phase_without_its_total_moves(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """CLAUDE.local.md moves it, and the file then has all of it."""
    path = put(holdfast_project, state(phase={"current": 2, "name": "A", "status": "in_progress"}))
    os.utime(path, (1, 1))
    name = holdfast_project.state()["workflow"]
    for phase in ("1/2 - B", "2/2 - C"):
        holdfast_project.write("CLAUDE.local.md", f"# WORKFLOW STATE: {name}\n\nPhase: {phase}\n")
        holdfast_project.clock.advance(seconds=60)
        assert f"is in phase {phase[0]} of 2: {phase[-1]}." in compaction_cycle().guidance
        written = {"current": int(phase[0]), "total": 2, "name": phase[-1], "status": "in_progress"}
        assert holdfast_project.state()["phase"] == written


def test_a_phase_beyond_the_last_is_named_and_stays(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """7 of 5."""
    phase = {"current": 7, "total": 5, "name": "Build", "status": "in_progress"}
    path = put(holdfast_project, state(phase=phase))
    before = path.read_bytes()
    guidance = compaction_cycle().guidance
    assert "phase.current: expected at most phase.total (5), found 7" in told_in(guidance)
    assert path.read_bytes() == before


def test_a_command_puts_an_odd_value_right(holdfast_project: Project) -> None:
    """It stays until somebody says what it should be."""
    phase = {"current": 2, "total": 5, "name": "Build", "status": "waiting"}
    put(holdfast_project, state(phase=phase))
    holdfast_project.run("remind", "one more")
    assert holdfast_project.state()["phase"] == phase
    holdfast_project.run("phase", "next")
    assert holdfast_project.state()["phase"]["status"] == "in_progress"


def test_a_state_without_its_name_is_told(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is restored by the name of its folder, and the agent learns what is missing."""
    data = state()
    del data["workflow"]
    path = put(holdfast_project, data)
    before = path.read_bytes()
    guidance = compaction_cycle().guidance
    assert "workflow: expected a name, as text, found nothing" in told_in(guidance)
    assert 'The workflow "feature-implementation" (type implementation) is in phase 2' in guidance
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["state.json", "x.json", "STATE-x.json"])
def test_a_state_counts_whatever_its_name(
    name: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By its shape; what else lies there is left alone, damaged or not."""
    folder = "untracked/workflow-state/feature-implementation"
    holdfast_project.write(f"{folder}/{name}", text("required-fields"))
    others = [holdfast_project.write(f"{folder}/{other}.json", "{") for other in ("a", "notes")]
    assert "is in phase 2 of 5: Build Components." in compaction_cycle().guidance
    assert all(other.exists() for other in others)


@pytest.mark.parametrize("is_declared", [False, True])
def test_a_missing_created_at_comes_from_the_name_of_the_file(
    is_declared: bool, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Which says when the workflow began."""
    data = state()
    del data["created_at"]
    path = put(holdfast_project, data)
    if is_declared:
        holdfast_project.declare(data["workflow"], phase="2/5")
    compaction_cycle()
    assert json.loads(path.read_bytes())["created_at"] == "2025-12-09T14:30:52.000000Z"


@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.parametrize("changed", ["2026-01-01T00:00:00Z", "now", None])
def test_a_changed_created_at_is_put_back(
    changed: str | None,
    is_declared: bool,
    holdfast_project: Project,
    compaction_cycle: Compactions,
) -> None:
    """By the last copy of the file; the rest of the edit counts."""
    path = put(holdfast_project, state())
    if is_declared:
        holdfast_project.declare(state()["workflow"], phase="2/5")
    compaction_cycle()
    data = json.loads(path.read_bytes())
    data["phase"] |= {"current": 3, "name": "Testing"}
    data["created_at"] = changed
    if changed is None:
        del data["created_at"]
    path.write_text(json.dumps(data), "utf-8")
    assert "is in phase 3 of 5: Testing." in compaction_cycle().guidance
    assert json.loads(path.read_bytes())["created_at"] == state()["created_at"]


def test_a_workflow_that_is_begun_anew_in_the_same_file_has_its_own_created_at(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A loop that is run every week, always in one file."""
    path = put(holdfast_project, state())
    compaction_cycle()
    phase = {"current": 1, "total": 5, "name": "Design", "status": "in_progress"}
    put(holdfast_project, state(phase=phase, created_at="2026-01-01T00:00:00Z"))
    compaction_cycle()
    assert json.loads(path.read_bytes())["created_at"] == "2026-01-01T00:00:00Z"


def ticked_up_to(project: Project, number: int) -> None:
    """The plan of example 1, with three phases of which the first ones are done."""
    phases = ("Design", "Build", "Testing")
    boxes = {name: ["x work" if at < number else "work"] for at, name in enumerate(phases, 1)}
    project.plan("001-user-auth", boxes, title="Plan 001: User Auth")


def test_where_plan_and_state_disagree_it_is_said(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Example 1 in phase 1 of 5, and its plan, which is ticked up to its third phase."""
    holdfast_project.write(PLACE, text("example-1-start"))
    ticked_up_to(holdfast_project, 3)
    guidance = compaction_cycle().guidance
    assert "is in phase 1 of 5: Design." in guidance
    assert "Note: its plan says 3 of 3 (CLAUDE/Plan/001-user-auth/PLAN.md)" in guidance


def test_the_plans_ticks_move_a_state_that_was_written_by_hand(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Example 1, which counts five phases where its plan has three."""
    path = holdfast_project.write(PLACE, text("example-1-start"))
    ticked_up_to(holdfast_project, 1)
    assert "is in phase 1 of 5: Design." in compaction_cycle().guidance
    ticked_up_to(holdfast_project, 3)
    guidance = compaction_cycle().guidance
    assert "is in phase 3 of 3: Testing." in guidance
    assert "its plan says" not in guidance
    assert holdfast_project.state_files() == [path]


@pytest.mark.parametrize("heading", ["## Details", "# Where it stands"])
def test_the_fields_may_stand_in_the_section_below_the_marker(
    heading: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The marker has a section of its own, with prose."""
    marker = "## WORKFLOW STATE\n\nKept by the agent.\n\n"
    fields = "Workflow: Page\nPhase: 4/10 - SEO\n\n@a.md\n\n"
    after = "# Other notes\n\nWorkflow: another\n"
    holdfast_project.write("CLAUDE.local.md", f"{marker}{heading}\n\n{fields}{after}")
    guidance = compaction_cycle().guidance
    assert '"Page" (type custom) is in phase 4 of 10: SEO.' in guidance
    assert "\n@a.md" in guidance


CONDITION = "Skip phase 3 because the schema stays as it is."


@pytest.mark.parametrize("heading", ["# Current Workflow State", "# Work"])
def test_conditions_and_variables_beside_the_fields_are_kept(
    heading: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In the section of the workflow; what other sections say is theirs."""
    fields = "- **Workflow**: Page\n- **Phase**: 2/5 - Build\n- **Plan number**: 7\n"
    other = "# Notes\n\nNever commit on Friday.\n\n- **Port**: 80\n"
    holdfast_project.write("CLAUDE.local.md", f"{heading}\n\n{fields}\n{CONDITION}\n\n{other}")
    guidance = compaction_cycle(2).guidance
    assert f"- {CONDITION}" in guidance
    assert "- Plan number: 7" in guidance
    assert holdfast_project.state()["context"] == {"Plan number": 7}
    assert holdfast_project.state()["key_reminders"] == [CONDITION]


def test_a_gate_that_is_passed_with_open_boxes_is_named(holdfast_project: Project) -> None:
    """`phase next` goes on only where it is told to, and says what was left."""
    path = holdfast_project.plan("001-x", {"Design": ["x a", "b", "c"], "Build": ["d"]})
    gate = "- [x] a\nGate: the design was reviewed\n"
    path.write_text(path.read_text("utf-8").replace("- [x] a\n", gate), "utf-8")
    refused = holdfast_project.run("phase", "next", check=False)
    left = "open boxes in phase 1: b; c; its gate: the design was reviewed"
    assert f"a gate is open: {left}\n" in refused.stderr
    assert "--force" in refused.stderr
    assert f"left with {left}\n" in holdfast_project.run("phase", "next", "--force").stdout
    assert holdfast_project.state()["phase"]["current"] == 2


def test_what_is_completed_too_early_is_said(holdfast_project: Project) -> None:
    """In phase 2 of 6."""
    holdfast_project.run("start", "W", "--phases", "A,B,C,D,E,F")
    holdfast_project.run("phase", "next")
    assert "It was in phase 2/6 (B), in progress" in holdfast_project.run("complete").stdout


def test_key_reminders_in_sentences_are_kept(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Only list items were; a rule that a person wrote as a sentence was lost."""
    holdfast_project.write(
        "CLAUDE.local.md",
        "# Current Workflow State\n\nWorkflow: Payments\nPhase: 1/3 - Design\n\n"
        "## Key Reminders\nNever push to main.\n\nKeep in mind as well:\n- Run the\n  tests\n\n"
        "If the build is red,\nstop.\n\n## Notes\nNothing else.\n",
    )
    reminders = compaction_cycle().guidance.split("## Key reminders\n")[1].split("\n\n")[0]
    assert reminders.splitlines() == [
        "- Never push to main.",
        "- Run the tests",
        "- If the build is red, stop.",
    ]
