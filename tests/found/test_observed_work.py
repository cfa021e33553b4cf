"""Defects found in what hooks note of a session's work."""

from __future__ import annotations

import os
import time

import pytest

from holdfast.testing import Compactions, MovableClock, Project

SESSION = "session-1"


class Client:
    """Sends what the client sends."""

    def __init__(self, compactions: Compactions) -> None:
        self.compactions = compactions
        self.project = compactions.project

    def fire(self, event: str, **fields: object) -> None:
        self.compactions.fire(event, session=SESSION, **fields)

    def tool(self, tool: str, given: object, response: object) -> None:
        self.fire("PostToolUse", tool_name=tool, tool_input=given, tool_response=response)

    def edit(self, path: str) -> None:
        self.tool("Edit", {"file_path": str(self.project.root / path)}, {})

    def bash(self, command: str, *, error: str = "") -> None:
        given = {"command": command}
        if error:
            self.fire("PostToolUseFailure", tool_name="Bash", tool_input=given, error=error)
        else:
            self.tool("Bash", given, {"stdout": "", "stderr": "", "interrupted": False})

    def launch(self, name: str, what: str) -> None:
        self.fire("SubagentStart", agent_id=name, agent_type="Explore")
        given = {"description": what, "subagent_type": "Explore"}
        self.tool("Agent", given, {"status": "async_launched", "agentId": name})

    def stop(self, name: str, *running: tuple[str, str]) -> None:
        tasks = [
            {"id": each, "type": "subagent", "status": "running", "agent_type": "Explore"}
            | {"description": what}
            for each, what in running
        ]
        kind = "Explore" if name else ""  # the summariser has none
        self.fire("SubagentStop", agent_id=name or "s", agent_type=kind, background_tasks=tasks)

    def task(self, number: int, subject: str) -> None:
        self.tool("TaskCreate", {"subject": subject}, {"task": {"id": str(number)}})

    def update(self, number: int, status: str) -> None:
        changed = {"success": True, "statusChange": {"from": "pending", "to": status}}
        self.tool("TaskUpdate", {"taskId": str(number), "status": status}, changed)


@pytest.fixture
def client(holdfast_project: Project, compaction_cycle: Compactions) -> Client:
    """A session in a project with one workflow."""
    holdfast_project.declare("W", phase="2/4 - Build")
    return Client(compaction_cycle)


def observed(guidance: str) -> str:
    """The section of what hooks saw; empty when there is none."""
    _, _, rest = guidance.partition("## Observed")
    return rest.partition("\n\n")[0]


def test_what_was_done_for_another_workflow_stays_with_it_when_it_is_declared_again(
    client: Client, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """The lines that wait are folded into the workflow that the same save has just moved to."""
    compaction_cycle()
    holdfast_clock.advance(seconds=60)
    client.project.declare("Other", phase="1/2 - X")
    compaction_cycle()
    holdfast_clock.advance(seconds=60)
    client.edit("of_other.py")
    client.bash("pytest of_other", error="Exit code 1\n1 failed")
    holdfast_clock.advance(seconds=60)
    client.project.declare("W", phase="2/4 - Build")
    client.edit("CLAUDE.local.md")
    cycle = compaction_cycle()
    assert cycle.guidance.startswith("# Workflow restored after the compaction: W\n")
    assert "of_other" not in observed(cycle.guidance)


def test_what_was_done_for_a_workflow_stays_with_it_when_a_person_completes_it(
    client: Client, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """The same by `holdfast complete` from a terminal without the session's id."""
    compaction_cycle()
    client.project.run("start", "Two", "--phases", "A,B", session=SESSION)
    compaction_cycle()
    holdfast_clock.advance(seconds=60)
    client.edit("of_two.py")
    client.bash("pytest of_two", error="Exit code 1\n1 failed")
    holdfast_clock.advance(seconds=60)
    client.project.run("complete", "Two")
    cycle = compaction_cycle()
    assert cycle.guidance.startswith("# Workflow restored after the compaction: W\n")
    assert "of_two" not in observed(cycle.guidance)


@pytest.mark.parametrize("phase", ["2/4 - Build it", "2/5 - Build"], ids=["title", "total"])
def test_the_files_of_a_phase_stay_when_its_title_or_the_total_is_corrected(
    phase: str, client: Client, compaction_cycle: Compactions
) -> None:
    client.edit("src/a.py")
    compaction_cycle()
    client.project.declare("W", phase=phase)
    assert "src/a.py" in observed(compaction_cycle().guidance)


def test_sixty_finished_tasks_do_not_push_out_an_open_one(
    client: Client, compaction_cycle: Compactions
) -> None:
    """`_newest` keeps 60 by time alone; what is over should go first."""
    client.task(1, "Ship it")
    for number in range(2, 63):
        client.task(number, "a step")
        client.update(number, "completed")
    assert "Ship it" in observed(compaction_cycle().guidance)


def test_sixty_finished_subagents_do_not_push_out_a_running_one(
    client: Client, compaction_cycle: Compactions
) -> None:
    client.launch("long", "Watch the build")
    for number in range(61):
        client.fire("SubagentStart", agent_id=f"a{number}", agent_type="Explore")
        client.fire("SubagentStop", agent_id=f"a{number}", agent_type="Explore")
    assert "Watch the build" in observed(compaction_cycle().guidance)


def test_a_full_log_does_not_leave_an_old_result_as_the_last(
    client: Client, compaction_cycle: Compactions
) -> None:
    """Beyond its bound the newest lines were lost, and "passed" was told of what failed."""
    client.bash("pytest")
    deep = "d" * 240
    for number in range(2_200):
        client.edit(f"{deep}/{deep}/{number}.py")
    for number in range(20):  # what is left of the room
        client.edit(f"{number}.py")
    client.bash("pytest", error="Exit code 1\n1 failed")
    assert "passed" not in observed(compaction_cycle().guidance)


@pytest.mark.parametrize(("count", "what"), [(13, "real"), (12, "漢" * 100)], ids=["13", "cjk"])
def test_a_long_list_of_running_subagents_still_ends_those_not_on_it(
    count: int,
    what: str,
    client: Client,
    compaction_cycle: Compactions,
    holdfast_clock: MovableClock,
) -> None:
    """The whole list is dropped: for 13 rows, and for 12 with long descriptions (over 4,000 bytes)."""
    client.launch("gone", "Interrupted")
    holdfast_clock.advance(seconds=120)
    client.stop("", *((f"a{number:016}", what) for number in range(count)))
    assert "Interrupted" not in observed(compaction_cycle().guidance)


def test_a_clock_that_was_ahead_for_a_while_does_not_decide_till_then(
    client: Client, compaction_cycle: Compactions, holdfast_clock: MovableClock
) -> None:
    """The failed check and the subagent of tomorrow are told until tomorrow; what came after is not."""
    compaction_cycle()
    holdfast_clock.advance(days=1)
    client.launch("old", "Before")
    client.bash("pytest", error="Exit code 1\n1 failed")
    client.stop("")
    compaction_cycle()
    holdfast_clock.advance(days=-1)
    client.bash("pytest")
    client.launch("new", "After")
    told = observed(compaction_cycle().guidance)
    assert "passed" in told
    assert "After" in told


def test_all_files_are_counted(client: Client, compaction_cycle: Compactions) -> None:
    """Fifty are kept; of what is beyond, no number is made up."""
    for number in range(80):
        client.edit(f"src/module_number_{number}.py")
    (line,) = (each for each in compaction_cycle().guidance.splitlines() if "Files mod" in each)
    assert line.endswith(f"… {50 - line.count('.py')} or more others")


def test_a_held_lock_is_waited_for_once(client: Client, compaction_cycle: Compactions) -> None:
    """DESIGN: at most 2 s. SessionStart waits for the fold, and again to count: 4 s."""
    import fcntl

    compaction_cycle()
    client.edit("a.py")
    lock = os.open(client.project.root / ".claude" / "holdfast" / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    begun = time.monotonic()
    compaction_cycle.start("compact")
    taken = time.monotonic() - begun
    os.close(lock)
    assert taken < 3


def test_what_was_done_after_a_switch_was_noted_of_the_workflow_before(
    client: Client, compaction_cycle: Compactions
) -> None:
    """`switch` claimed the workflow, and the log went on saying that the session was on the other."""
    client.project.run("start", "Old", "--phases", "A,B", session=SESSION)
    client.project.run("start", "New", "--phases", "A,B", session=SESSION)
    for name in ("Old", "New"):
        client.project.run("switch", name, session=SESSION)
        client.edit(f"{name}.py")
        client.bash(f"pytest {name}")
    guidance = compaction_cycle(session=SESSION).guidance
    assert "Files modified in this phase: New.py" in guidance
    assert "pytest New" in guidance
    client.project.run("resume", "Old", session=SESSION)
    guidance = compaction_cycle(session=SESSION).guidance
    assert "Files modified in this phase: Old.py" in guidance
    assert "pytest Old" in guidance


def test_what_was_done_in_a_tdd_within_a_dev_was_not_told(
    client: Client, compaction_cycle: Compactions
) -> None:
    """Each command of the /tdd put what followed it on the /tdd, of which nothing is told by itself."""
    project = client.project
    project.write("f.md", "# F\n")

    def skill(*arguments: str) -> None:
        project.run("skill", *arguments, session=SESSION)

    skill("start", "dev", "f.md", "--task", "Add it", "--task", "Use it")
    skill("phase", "complete")
    skill("phase", "complete")
    skill("task", "start", "--no-tdd")
    client.edit("before.py")
    skill("start", "tdd", "Add it", "--feature", "f.md", "--number", "1")
    client.edit("within.py")
    skill("tdd", "test", "test_it.py", "--name", "test_it")
    client.edit("later.py")
    guidance = compaction_cycle(session=SESSION).guidance
    (files,) = [line for line in guidance.splitlines() if "Files" in line]
    assert all(name in files for name in ("before.py", "within.py", "later.py")), files


@pytest.mark.parametrize("leave", [("ignore", "New"), ("complete", "New")])
def test_what_was_done_after_a_workflow_was_left_was_noted_of_it(
    leave: tuple[str, str], client: Client, compaction_cycle: Compactions
) -> None:
    """The log went on saying that the session was on it; after `complete`, what followed went to nobody."""
    client.project.write("CLAUDE.local.md", "nothing here\n")
    client.project.run("start", "Old", "--phases", "A,B", session=SESSION)
    client.project.run("start", "New", "--phases", "A,B", session=SESSION)
    client.edit("new.py")
    client.project.run(*leave, session=SESSION)
    client.edit("old.py")
    client.bash("pytest old")
    guidance = compaction_cycle(session=SESSION).guidance
    assert guidance.splitlines()[0].endswith(": Old")
    assert "Files modified in this phase: old.py" in guidance
    assert "pytest old" in guidance
