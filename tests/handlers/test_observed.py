"""What the session was doing, from the events of the client to the guidance after a compaction.

The payloads have the fields of those that the real client sends.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.files.store import Store
from holdfast.records import ledger, sessionlog
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InSubprocess, Session, encode

HEADING = "## Observed (noted by hooks, not stated by anyone)"
SESSION = "session-1"


class Client:
    """Sends what the client sends, for one session."""

    def __init__(self, compactions: Compactions, session: str = SESSION) -> None:
        self.compactions = compactions
        self.project = compactions.project
        self.session = session

    def fire(self, event: str, **fields: object) -> None:
        outcome = self.compactions.fire(event, session=self.session, prompt_id="p", **fields)
        assert outcome == (b"", "", 0)

    def tool(self, tool: str, given: object, response: object, **fields: object) -> None:
        self.fire(
            "PostToolUse",
            tool_name=tool,
            tool_input=given,
            tool_response=response,
            tool_use_id="toolu_1",
            duration_ms=3,
            **fields,
        )

    def edit(self, path: str, tool: str = "Edit", **fields: object) -> None:
        whole = str(self.project.root / path)
        key = "notebook_path" if tool == "NotebookEdit" else "file_path"
        self.tool(tool, {key: whole, "new_string": "text"}, {"filePath": whole}, **fields)

    def bash(self, command: str, *, error: str = "", **fields: Any) -> None:
        given = {"command": command, "description": "d"}
        if error:
            about = {"tool_name": "Bash", "tool_input": given, "error": error}
            self.fire("PostToolUseFailure", **{**about, "is_interrupt": False, **fields})
            return
        response = {"stdout": "said in confidence", "stderr": "", "interrupted": False}
        self.tool("Bash", given, {**response, **fields})

    def launch(self, name: str, kind: str, what: str) -> None:
        self.fire("SubagentStart", agent_id=name, agent_type=kind)
        given = {"description": what, "prompt": "said in confidence", "subagent_type": kind}
        response = {"isAsync": True, "status": "async_launched", "agentId": name}
        self.tool("Agent", {**given, "run_in_background": True}, response)

    def stop(self, name: str, kind: str, *running: str) -> None:
        tasks = [
            {"id": each, "type": "subagent", "status": "running", "agent_type": "Explore"}
            for each in running
        ]
        self.fire(
            "SubagentStop",
            agent_id=name,
            agent_type=kind,
            last_assistant_message="said in confidence",
            background_tasks=tasks,
        )

    def noted(self) -> list[dict[str, Any]]:
        state_dir = str(self.project.home / ".local" / "state" / "holdfast")
        lines = sessionlog.parse(sessionlog.content(state_dir, self.session), sessionlog.OBSERVED)
        return [{key: line[key] for key in line if key not in {"entry", "at"}} for line in lines]


@pytest.fixture
def client(holdfast_project: Project, compaction_cycle: Compactions) -> Client:
    """A session in a project with one workflow."""
    holdfast_project.declare("W", phase="2/4 - Build")
    return Client(compaction_cycle)


def seen(guidance: str) -> list[str]:
    """The lines of the section, without their dashes."""
    if HEADING not in guidance:
        return []
    section = guidance.split(HEADING)[1].split("\n\n", maxsplit=1)[0].strip()
    return [each.removeprefix("- ") for each in section.splitlines()]


def test_what_was_under_way_is_named_after_the_compaction(
    client: Client, compaction_cycle: Compactions
) -> None:
    """Two subagents in flight, five modified files and a failed test, and again the next time."""
    client.launch("a1", "Explore", "Find the callers")
    client.launch("a2", "general-purpose", "Write the fixture")
    for number in range(5):
        client.edit(f"src/{number}.py")
    client.bash("cd web && pytest -q", error="Exit code 1\n1 failed in 0.02s")
    first = compaction_cycle(in_process=False)
    for told in (first.guidance, compaction_cycle().guidance):
        agents, files, check = seen(told)
        assert 'Explore "Find the callers" (since ' in agents
        assert 'general-purpose "Write the fixture" (since ' in agents
        assert files.startswith("Files modified in this phase: ")
        assert all(f"src/{number}.py" in files for number in range(5))
        assert check.startswith("Last check: `cd web && pytest -q` failed (exit code 1) at ")
        assert told.index(HEADING) < told.index("## ACTION REQUIRED")

    client.stop("a1", "Explore", "a1", "a2")
    client.bash("cd web && pytest -q")
    agents, _, check = seen(compaction_cycle().guidance)
    assert "Find the callers" not in agents
    assert "Write the fixture" in agents
    assert "` passed at " in check

    client.stop("a2", "general-purpose", "a2")
    client.project.run("phase", "next", session=SESSION)
    client.edit("src/new.py")
    files, check = seen(compaction_cycle().guidance)
    assert files == "Files modified in this phase: src/new.py"


def test_nothing_of_the_conversation_is_kept(client: Client, compaction_cycle: Compactions) -> None:
    """No output, no prompt, no content; not in the journal, not in what is saved."""
    client.launch("a1", "Explore", "Find")
    client.stop("a1", "Explore")
    client.bash("TOKEN=hush-hush pytest --password hush-hush")
    client.tool(
        "Write",
        {"file_path": str(client.project.root / "a.py"), "content": "said in confidence"},
        {"type": "create", "content": "said in confidence"},
    )
    for _ in range(2):
        written = b"".join(
            path.read_bytes()
            for folder in (client.project.home, client.project.root)
            for path in folder.rglob("*")
            if path.is_file()
        )
        assert b"said in confidence" not in written
        assert b"hush-hush" not in written
        compaction_cycle()


# What each event leaves.


def test_edits_are_noted_also_those_of_subagents(client: Client) -> None:
    """Absolute, and marked where a subagent made them. One that failed is none."""
    client.edit("a.py")
    client.edit("b.py", "Write", agent_id="a1", agent_type="Explore")
    client.edit("c.ipynb", "NotebookEdit")
    client.edit("d.py", "MultiEdit")
    client.fire("PostToolUseFailure", tool_name="Edit", tool_input={"file_path": "/x"}, error="no")
    client.tool("Edit", {"file_path": None}, {})
    client.tool("Edit", {"file_path": "/a\0b"}, {})
    client.tool("Edit", {"file_path": "/\ud800"}, {})
    root = client.project.root.resolve()
    assert client.noted() == [
        {"file": f"{root}/a.py"},
        {"file": f"{root}/b.py", "by": "a1"},
        {"file": f"{root}/c.ipynb"},
        {"file": f"{root}/d.py"},
    ]


def test_all_else_of_subagents_is_not_noted(client: Client) -> None:
    """Their checks and tasks are their own."""
    own = {"agent_id": "a1", "agent_type": "Explore"}
    client.tool("Bash", {"command": "pytest"}, {"stdout": ""}, **own)
    client.tool("TodoWrite", {"todos": [{"content": "A", "status": "pending"}]}, {}, **own)
    client.fire("TaskCreated", task_id="1", task_subject="A", **own)
    assert client.noted() == []


def test_checks_are_noted_with_what_came_of_them(client: Client) -> None:
    """Where it can be known."""
    client.bash("pytest -q")
    client.bash("pytest -q", error="Exit code 2\nusage: pytest")
    client.bash("pytest -q | tail -5")
    client.bash("pytest -q", backgroundTaskId="b1")
    client.bash("pytest -q", interrupted=True)
    client.bash("pytest -q", error="Exit code 137\nkilled", is_interrupt=True)
    client.bash("pytest -q", error="The command was aborted")
    client.bash("git pull && pytest -q", error="Exit code 1\nno network")
    client.bash("git commit -m 'run pytest'")
    client.bash("ls", error="Exit code 2\nno such file")
    assert client.noted() == [
        {"check": "pytest -q", "ok": True, "code": None},
        {"check": "pytest -q", "ok": False, "code": 2},
        *[{"check": "pytest -q", "ok": None, "code": None}] * 5,
        {"check": "pytest -q", "ok": None, "code": None},
    ]


def test_subagents_are_noted_when_they_begin_and_end(client: Client) -> None:
    """A background one is launched, one that was waited for is done; the summariser is none."""
    client.launch("a1", "Explore", "Find")
    client.tool(
        "Agent",
        {"description": "Look", "prompt": "x", "subagent_type": "Plan"},
        {"status": "completed", "agentId": "a2", "agentType": "Plan", "content": []},
    )
    client.stop("a3", "Plan", "a3", "a1")
    client.stop("summariser", "", "a1")
    client.fire("SubagentStop", agent_id="older client", agent_type="")
    listed = {"listed": [["a1", "Explore", ""]]}
    assert client.noted() == [
        {"agent": "a1", "kind": "Explore", "running": True},
        {"agent": "a1", "kind": "Explore", "what": "Find", "running": True},
        {"agent": "a2", "kind": "Plan", "what": "Look", "running": False},
        {"agent": "a3", "kind": "Plan", "running": False},
        listed,
        listed,
    ]


def test_tasks_are_noted_as_they_change(client: Client) -> None:
    """By their own events and by the tools."""
    client.fire("TaskCreated", task_id="1", task_subject="Subj", task_description="Desc")
    client.tool(
        "TaskCreate",
        {"subject": "Subj", "description": "Desc"},
        {"task": {"id": "1", "subject": "Subj"}},
    )
    client.tool(
        "TaskUpdate",
        {"taskId": "1", "status": "in_progress"},
        {"success": True, "taskId": "1", "statusChange": {"from": "pending", "to": "in_progress"}},
    )
    client.tool("TaskUpdate", {"taskId": "9", "status": "completed"}, {"success": False})
    client.fire("TaskCompleted", task_id="1", task_subject="Subj", task_description="Desc")
    client.tool(
        "TodoWrite",
        {
            "todos": [
                {"content": "A", "status": "in_progress", "activeForm": "Doing A"},
                {"content": "B", "status": "completed"},
                {"content": "C", "status": "pending"},
            ]
        },
        {},
    )
    assert client.noted() == [
        {"task": "1", "subject": "Subj", "status": "pending"},
        {"task": "1", "subject": "Subj", "status": "pending"},
        {"task": "1", "subject": "", "status": "in_progress"},
        {"task": "1", "subject": "Subj", "status": "completed"},
        {"todos": [["A", "in_progress"], ["C", "pending"]]},
    ]


def test_no_secret_is_noted_of_tasks_and_subagents(client: Client) -> None:
    """Subjects, todos and descriptions were kept as they are; a cut leaves no half of one."""
    hidden = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    text = f"{'x' * 170} Replace {hidden}"
    for what in (f"Replace {hidden} here", text):
        client.fire("TaskCreated", task_id="1", task_subject=what, task_description="")
        client.tool("TaskCreate", {"subject": what}, {"task": {"id": "1"}})
        client.tool("TodoWrite", {"todos": [{"content": what, "status": "pending"}]}, {})
        client.launch("a1", "Explore", what)
        running = [{"id": "a2", "type": "subagent", "status": "running", "description": what}]
        client.fire("SubagentStop", agent_id="a1", agent_type="Explore", background_tasks=running)
    noted = json.dumps(client.noted())
    assert "Replace" in noted
    assert "ghp_" not in noted


def test_a_long_list_of_todos_fits_a_line(client: Client) -> None:
    """However wide its letters are."""
    todos = [{"content": "数" * 500, "status": "pending"} for _ in range(100)]
    client.tool("TodoWrite", {"todos": todos}, {})
    ((_, rows),) = client.noted()[0].items()
    assert 3 < len(rows) < 20


@pytest.mark.parametrize("odd", [None, 5, "text", [], {"agentId": 5, "task": [], "taskId": 1}])
@pytest.mark.parametrize("tool", ["Bash", "Agent", "Task", "TaskCreate", "TaskUpdate", "TodoWrite"])
def test_odd_fields_are_noted_as_nothing(tool: str, odd: object, client: Client) -> None:
    """Every field may be missing, or of another type."""
    client.tool(tool, odd, odd)
    assert client.noted() == []


# When nothing is noted.


def test_nothing_is_noted_where_no_workflow_is(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No file is made either."""
    client = Client(compaction_cycle)
    client.edit("a.py")
    client.launch("a1", "Explore", "Find")
    assert client.noted() == []
    assert not (holdfast_project.home / ".local").exists()


@pytest.mark.parametrize("place", ["user", "project"])
def test_observe_switches_it_off(place: str, client: Client, compaction_cycle: Compactions) -> None:
    """In either file; what is kept already is not told any more."""
    client.edit("before.py")
    assert seen(compaction_cycle().guidance)
    path = {"user": client.project.home / ".config/holdfast", "project": client.project.root}
    folder = path[place] if place == "user" else path[place] / ".claude"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "holdfast.toml").write_text("observe = false\n")
    before = client.noted()
    client.edit("a.py")
    assert client.noted() == before
    assert seen(compaction_cycle().guidance) == []
    if place == "user":  # a repository does not switch it on again
        client.project.write(".claude/holdfast.toml", "observe = true\n")
        client.edit("a.py")
        assert client.noted() == before


def test_the_environment_switches_it_off(client: Client) -> None:
    """HOLDFAST_DISABLE=1."""
    environment = {**client.project.environment(), "HOLDFAST_DISABLE": "1"}
    door = InSubprocess(environment, str(client.project.root))
    payload = Session(SESSION, str(client.project.root)).payload(
        "PostToolUse", tool_name="Edit", tool_input={"file_path": "/a.py"}, tool_response={}
    )
    assert door.fire(payload) == (b"", "", 0)
    assert client.noted() == []


# Edits of what declares a workflow.


@pytest.mark.parametrize("agent", [{}, {"agent_id": "a1", "agent_type": "Explore"}])
def test_an_edit_of_a_plan_is_saved_at_once(
    agent: dict[str, str], holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """In a folder that was not there when the client was told what to watch, and by a subagent."""
    client = Client(compaction_cycle)
    plan = holdfast_project.plan("001-auth", {"Design": ["Choose"], "Build": ["Form"]})
    client.edit("CLAUDE/Plan/001-auth/PLAN.md", "Write", **agent)
    assert holdfast_project.state()["phase"]["current"] == 1
    plan.write_text(plan.read_text().replace("- [ ] Choose", "- [x] Choose"))
    client.edit("CLAUDE/Plan/001-auth/PLAN.md", **agent)
    assert holdfast_project.state()["phase"]["current"] == 2


def test_what_moves_the_phase_is_the_first_file_of_the_next(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Ticking the box in the plan is what ends a phase; what was changed before belongs to it."""
    client = Client(compaction_cycle)
    plan = holdfast_project.plan("001-auth", {"Design": ["Choose"], "Build": ["Form"]})
    compaction_cycle.start("startup")
    client.edit("docs/design.md")
    plan.write_text(plan.read_text().replace("- [ ] Choose", "- [x] Choose"))
    client.edit("CLAUDE/Plan/001-auth/PLAN.md")
    client.edit("src/form.py")
    (files,) = seen(compaction_cycle().guidance)
    assert "design.md" not in files
    assert "src/form.py" in files


def test_what_came_before_a_phase_change_belongs_to_the_old_phase(
    client: Client, compaction_cycle: Compactions
) -> None:
    """A command notes when it has moved the phase."""
    compaction_cycle()
    client.edit("old.py")
    client.project.run("phase", "next", session=SESSION)
    assert seen(compaction_cycle().guidance) == []
    client.edit("new.py")
    assert seen(compaction_cycle().guidance) == ["Files modified in this phase: new.py"]


# Sessions.


def test_sessions_share_files_and_checks_but_not_what_is_under_way(
    client: Client, compaction_cycle: Compactions
) -> None:
    """Neither takes the other's subagents away."""
    other = Client(compaction_cycle, "session-2")
    client.launch("a1", "Explore", "Find")
    client.edit("one.py")
    other.launch("b1", "Plan", "Think")
    other.edit("two.py")
    other.bash("pytest")
    for _ in range(2):
        agents = seen(compaction_cycle().guidance)[0]
        assert "Find" in agents
        assert "Think" not in agents
        agents, files, check = seen(compaction_cycle(session="session-2").guidance)
        assert "Think" in agents
        assert "Find" not in agents
        assert "one.py" in files
        assert "two.py" in files
        assert "pytest" in check
    files, check = seen(compaction_cycle(session="session-3").guidance)
    assert files.startswith("Files")
    assert check.startswith("Last check")


@pytest.mark.parametrize("source", ["startup", "resume", "fork", "clear"])
def test_a_new_process_has_no_subagents_of_the_old_one(
    source: str, client: Client, compaction_cycle: Compactions
) -> None:
    """Its tasks are still open."""
    client.launch("a1", "Explore", "Find")
    client.fire("TaskCreated", task_id="1", task_subject="Write", task_description="")
    assert len(seen(compaction_cycle().guidance)) == 2
    compaction_cycle.start(source)
    assert seen(compaction_cycle().guidance) == ["Open tasks: Write"]


def test_a_new_session_waits_for_nothing(client: Client, compaction_cycle: Compactions) -> None:
    """Nothing is noted of it."""
    compaction_cycle.start("startup", session="new")
    with Store(client.project.root).lock(1):
        outcome = compaction_cycle.fire("SessionStart", session="newer", source="startup")
    assert b"could not" not in outcome.stdout
    state_dir = str(client.project.home / ".local/state/holdfast")
    data = sessionlog.content(state_dir, "newer")
    assert sessionlog.parse(data, sessionlog.OBSERVED) == []


def test_subagents_go_with_the_session_to_another_workflow(
    client: Client, compaction_cycle: Compactions
) -> None:
    """What it stops there does not run on in the first one."""
    compaction_cycle()
    client.launch("a1", "Explore", "Find")
    client.edit("old.py")
    client.project.run("start", "Other", session=SESSION)
    (agents,) = seen(compaction_cycle().guidance)
    assert "Find" in agents
    client.stop("a1", "Explore")
    assert seen(compaction_cycle().guidance) == []
    client.project.run("switch", "W", session=SESSION)
    assert seen(compaction_cycle().guidance) == ["Files modified in this phase: old.py"]


# Where it is kept.


def test_what_is_observed_is_written_nowhere_else(
    client: Client, compaction_cycle: Compactions
) -> None:
    """It stays in the session's log: no save writes it again, or waits for a lock for it."""
    compaction_cycle()

    def written() -> dict[Path, tuple[int, int]]:
        files = (client.project.root / ".claude/holdfast").rglob("*")
        return {
            path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files if path.is_file()
        }

    compaction_cycle()
    before = written()
    client.edit("a.py")
    with Store(client.project.root).lock(1):
        begun = time.monotonic()
        assert compaction_cycle.fire("PreCompact").code == 0
        assert time.monotonic() - begun < 1.5  # it did not wait for the lock
    assert seen(compaction_cycle().guidance) == ["Files modified in this phase: a.py"]
    assert written() == before


def test_without_a_workflow_it_waits_for_one(client: Client, compaction_cycle: Compactions) -> None:
    """What is not chosen gets nothing; it comes when the workflow does."""
    compaction_cycle()
    client.project.run("ignore", "W", session=SESSION)
    client.edit("a.py")
    compaction_cycle()
    assert len(client.noted()) == 1
    client.project.run("resume", "W", session=SESSION)
    assert seen(compaction_cycle().guidance) == ["Files modified in this phase: a.py"]


def test_a_damaged_record_is_replaced_by_its_copy(
    client: Client, compaction_cycle: Compactions
) -> None:
    """It is no reason to lose what is counted there."""
    compaction_cycle()
    path = client.project.root / ".claude/holdfast/ledger.json"
    store, key = Store(client.project.root), "canonical:name:w"
    ledger.update_notes(store, key, 1, lambda notes: {**notes, "more": 1})
    for damage in (b"{", b"[]", b"\xff"):
        path.write_bytes(damage)
        client.edit("b.py")
        assert "b.py" in str(seen(compaction_cycle().guidance))
    assert ledger.notes_of(store, key)["more"] == 1


@pytest.mark.long
def test_hooks_add_while_others_save(client: Client, compaction_cycle: Compactions) -> None:
    """Real processes, all at once: every subagent is known, none is lost."""
    compaction_cycle()
    root = str(client.project.root)
    door, session = InSubprocess(client.project.environment(), root), Session(SESSION, root)
    running = []
    for number in range(24):
        process = door.start()
        event = session.payload("SubagentStart", agent_id=f"a{number}", agent_type="Explore")
        if number % 4 == 3:
            running.append((door.start(), session.pre_compact("auto")))
        running.append((process, event))
    for process, payload in running:
        assert process.stdin
        process.stdin.write(encode(payload))
        process.stdin.close()
        process.stdin = None
    for process, _ in running:
        with process:
            assert process.communicate(timeout=60)[1] == b""
            assert process.returncode == 0
    door.fire(session.pre_compact("auto"))
    shown = client.project.run("show", "--json", session=SESSION).stdout
    agents = json.loads(shown)["observed"]["subagents"]
    assert sorted(each["id"] for each in agents) == sorted(f"a{n}" for n in range(24))


# Showing it.


def test_show_tells_all_of_it(client: Client) -> None:
    """Nothing shortened, and as JSON; looking writes nothing."""
    client.launch("a1", "Explore", "Find")
    for number in range(30):
        client.edit(f"src/{number}.py")
    client.bash("pytest", error="Exit code 1\n")
    shown = client.project.run("show", session=SESSION).stdout
    assert "observed:" in shown
    assert all(f"src/{number}.py" in shown for number in range(30))
    facts = json.loads(client.project.run("show", "--json", session=SESSION).stdout)["observed"]
    assert [each["what"] for each in facts["subagents"]] == ["Find"]
    assert len(facts["files"]) == 30
    assert (facts["check"]["command"], facts["check"]["code"]) == ("pytest", 1)
    assert len(client.noted()) == 33
    assert not list(Path(client.project.root).rglob("ledger.json"))


def test_show_without_anything_observed(client: Client) -> None:
    """No empty section."""
    assert "observed" not in client.project.run("show", session=SESSION).stdout
    facts = json.loads(client.project.run("show", "--json", session=SESSION).stdout)
    assert facts["observed"] == {"subagents": [], "tasks": [], "files": [], "check": None}
