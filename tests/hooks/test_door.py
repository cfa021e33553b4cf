"""The door: whatever comes in, nothing is blocked, nothing is printed that may not be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.handlers import HANDLERS
from holdfast.hooks import full
from holdfast.records import hooklog, sessionlog
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InSubprocess, Session, context_of, encode, read_reply

DECLARED = "Größe 数据 🚀"


@pytest.fixture
def declared(holdfast_project: Project) -> Project:
    """A project with one workflow."""
    holdfast_project.declare(DECLARED, phase="2/4 - Build")
    return holdfast_project


def log_of(project: Project) -> list[dict[str, object]]:
    state_dir = project.home / ".local" / "state" / "holdfast"
    return list(hooklog.read(str(state_dir), str(project.root.resolve())))


ODD_INPUT = {
    "empty": b"",
    "blank": b" \n",
    "broken": b'{"hook_event_name": "PreCompact"',
    "a list": b"[1, 2]",
    "a text": b'"PreCompact"',
    "null": b"null",
    "no event": b'{"cwd": "/"}',
    "event is a number": b'{"hook_event_name": 5}',
    "not UTF-8": b'\xff\xfe{"hook_event_name": "x"}',
    "nested deeply": b'{"hook_event_name":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "unknown event": b'{"hook_event_name": "Tomorrow", "more": {"a": 1}}',
    "an infinite number": b'{"hook_event_name": "PreCompact", "x": 1e999}',
    "a huge number": b'{"hook_event_name": "PreCompact", "x": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("name", ODD_INPUT)
def test_odd_input_blocks_nothing_and_leaves_one_line(name: str, holdfast_project: Project) -> None:
    """No traceback, no output, exit code 0, one line in the log."""
    door = InSubprocess(holdfast_project.environment(), str(holdfast_project.root))
    outcome = door.fire_raw(ODD_INPUT[name])
    assert outcome == (b"", "", 0)
    assert [record["decided"] for record in log_of(holdfast_project)] != []
    assert len(log_of(holdfast_project)) == 1


def test_a_50_mb_payload_is_read_to_its_end(declared: Project) -> None:
    """The client's pipe does not break, and the log says what happened."""
    door = InSubprocess(declared.environment(), str(declared.root))
    huge = Session("s", str(declared.root)).payload(
        "PreCompact", custom_instructions="x" * 50_000_000
    )
    assert door.fire(huge) == (b"", "", 0)
    assert "larger than" in str(log_of(declared)[-1]["decided"])


def test_a_closed_stdin_is_an_empty_one(declared: Project) -> None:
    """Started by hand without input."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "hook"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=declared.environment(),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_null_where_a_text_is_documented(declared: Project, compaction_cycle: Compactions) -> None:
    """`custom_instructions` is null without an argument; so may be anything else."""
    outcome = compaction_cycle.fire("PreCompact", trigger=None, custom_instructions=None)
    assert outcome.code == 0
    assert DECLARED in outcome.stdout.decode()
    nothing = {"hook_event_name": "PreCompact", "session_id": None, "cwd": None, "agent_id": None}
    outcome = compaction_cycle.door().fire(nothing)
    assert DECLARED in outcome.stdout.decode()


def test_pre_compact_prints_plain_text_and_session_start_json(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """JSON on PreCompact is an error that the person sees; text on SessionStart has no message."""
    cycle = compaction_cycle()
    note, reply = cycle.outcomes[0].stdout.decode(), cycle.outcomes[1].stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(note)
    assert set(json.loads(reply)) == {"hookSpecificOutput", "systemMessage"}
    assert json.loads(reply)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert cycle.outcomes[2] == (b"", "", 0)


def test_output_is_utf8_whatever_the_locale(declared: Project) -> None:
    """A C locale or a Windows code page does not spoil the bytes."""
    environment = {**declared.environment(), "LC_ALL": "C", "PYTHONIOENCODING": "cp1252:strict"}
    door = InSubprocess(environment, str(declared.root))
    session = Session("s", str(declared.root))
    assert DECLARED in door.fire(session.pre_compact()).stdout.decode("utf-8")
    assert DECLARED in read_reply(door.fire(session.session_start()))["systemMessage"]


def test_a_lone_surrogate_in_the_payload(declared: Project, compaction_cycle: Compactions) -> None:
    """JSON may hold what UTF-8 cannot."""
    raw = encode(Session("\ud800", str(declared.root)).session_start())
    assert b"\\ud800" in raw
    door = InSubprocess(declared.environment(), str(declared.root))
    assert door.fire_raw(raw).code == 0


@pytest.mark.parametrize(
    "name", ["with space", "größe", "数据", "quote'\"quote", "-dash", "dots..", "a\nb"]
)
def test_any_name_of_a_project_folder(
    name: str, tmp_path: Path, compaction_cycle: Compactions
) -> None:
    """Spaces, quotes and letters of any script in the path."""
    project = Project(tmp_path / name, tmp_path / "home", compaction_cycle.project.clock)
    project.declare("W")
    cycle = Compactions(project)(in_process=False)
    assert "W" in cycle.guidance
    assert len(project.states()) == 1


def test_from_a_subdirectory_of_a_checkout(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """`cwd` follows the agent's cd; the state stays with the root."""
    declared.git("init", "-q")
    below = declared.root / "src" / "deep"
    below.mkdir(parents=True)
    assert DECLARED in compaction_cycle(cwd=below).guidance
    assert len(declared.states()) == 1
    assert not (below / ".claude").exists()


def test_from_a_subdirectory_without_git(declared: Project, compaction_cycle: Compactions) -> None:
    """Without git, the folder where the session started bounds the search."""
    below = declared.root / "src"
    below.mkdir()
    started = compaction_cycle.door(cwd=below)
    session = Session("s", str(below))
    assert context_of(read_reply(started.fire(session.session_start()))) == ""
    environment = {**declared.environment(), "CLAUDE_PROJECT_DIR": str(declared.root)}
    door = InSubprocess(environment, str(below))
    assert DECLARED in read_reply(door.fire(session.session_start()))["systemMessage"]


def test_from_a_worktree_that_declares_nothing(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """The main worktree's workflow goes on in a linked one, and its state stays where it was."""
    side = declared.worktree("side tree")
    assert DECLARED in compaction_cycle(cwd=side).guidance
    assert len(declared.states()) == 1
    assert not (side / "untracked").exists()


def test_a_worktree_with_its_own_declaration(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """Two worktrees, two workflows, each with its own state."""
    side = Project(declared.worktree("side"), declared.home, declared.clock)
    side.declare("Side work")
    assert "Side work" in compaction_cycle(cwd=side.root, session="b").guidance
    assert DECLARED in compaction_cycle(session="a").guidance
    assert [state["workflow"] for state in side.states()] == ["Side work"]


def test_a_session_keeps_its_root_wherever_the_agent_goes(
    declared: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """Once restored, the session's root is recorded."""
    compaction_cycle(session="s")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert DECLARED in compaction_cycle(session="s", cwd=elsewhere).guidance
    assert compaction_cycle(session="other", cwd=elsewhere).guidance == ""


def test_a_working_directory_that_is_gone(declared: Project) -> None:
    """`cwd` may have been deleted; the folder where the session started is still there."""
    environment = {**declared.environment(), "CLAUDE_PROJECT_DIR": str(declared.root)}
    door = InSubprocess(environment, str(declared.root))
    gone = Session("s", str(declared.root / "gone"))
    assert DECLARED in read_reply(door.fire(gone.session_start()))["systemMessage"]


def test_without_a_home(declared: Project) -> None:
    """HOME may be unset; then the user database is asked, and failing that there is no log."""
    environment = {key: value for key, value in declared.environment().items() if key != "HOME"}
    # The test must not write to the home of whoever runs it.
    environment["XDG_STATE_HOME"] = str(declared.home / "state")
    environment["XDG_CONFIG_HOME"] = str(declared.home / "config")
    door = InSubprocess(environment, str(declared.root))
    cycle = Session("s", str(declared.root))
    assert DECLARED in door.fire(cycle.pre_compact()).stdout.decode()


def test_with_a_home_that_cannot_be_written(declared: Project) -> None:
    """No log and no session record; the state is saved and restored all the same."""
    environment = {**declared.environment(), "HOME": "/proc/nowhere"}
    door = InSubprocess(environment, str(declared.root))
    session = Session("s", str(declared.root))
    assert door.fire(session.pre_compact()).code == 0
    assert DECLARED in read_reply(door.fire(session.session_start()))["systemMessage"]
    assert len(declared.states()) == 1


def test_disabled_by_the_environment(declared: Project) -> None:
    """HOLDFAST_DISABLE=1 switches everything off."""
    door = InSubprocess({**declared.environment(), "HOLDFAST_DISABLE": "1"}, str(declared.root))
    session = Session("s", str(declared.root))
    for payload in (session.pre_compact(), session.session_start()):
        assert door.fire(payload) == (b"", "", 0)
    assert declared.states() == []


def test_a_reader_that_goes_away(declared: Project) -> None:
    """The client may close its end early; there is no traceback and the state is saved."""
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=declared.environment(),
        cwd=declared.root,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(encode(Session("s", str(declared.root)).session_start()))
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == b""
    assert len(declared.states()) == 1


def test_a_bug_in_a_handler_blocks_nothing(
    declared: Project, compaction_cycle: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The boundary: one line for the person, the trail in the log, no exit code 2."""
    from holdfast.handlers import pre_compact, session_start

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(pre_compact, "handle", broken)
    monkeypatch.setattr(session_start, "handle", broken)
    saved = compaction_cycle.fire("PreCompact")
    assert (saved.stdout, saved.code) == (b"", 1)
    assert "\n" not in saved.stderr
    assert "ZeroDivisionError" in saved.stderr
    started = compaction_cycle.fire("SessionStart", source="compact")
    assert started.code == 0
    assert set(read_reply(started)) == {"systemMessage"}
    record = log_of(declared)[-1]
    assert "a bug" in str(record["decided"])
    assert "test_door.py" in str(record["why"])


LEFT_BROKEN = """
import sys
from holdfast.agents import late
def broken(*_):
    raise ZeroDivisionError("a bug")
late.ends = broken
from holdfast.hooks import launch
sys.exit(launch.main(["--agent", "codex"]))
"""


def test_a_bug_in_what_follows_an_answer_disturbs_nobody(declared: Project) -> None:
    """What was left until the answer was out ends in the boundary as well: the log tells of it."""
    done = subprocess.run(
        [sys.executable, "-c", LEFT_BROKEN],
        input=encode(Session("s", str(declared.root)).session_start("compact")),
        env=declared.environment(),
        cwd=declared.root,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert b"restored after the compaction" in done.stdout
    decided = [str(record["decided"]) for record in log_of(declared)]
    assert decided[-1] == "answered, but not all is noted: failed: ZeroDivisionError: a bug"
    assert decided[-2].startswith("restored")


def loaded(project: Project, payload: Mapping[str, object] | None = None) -> set[str]:
    """The modules that one event loads, by default a PreCompact."""
    code = (
        "import sys, holdfast.__main__ as m; sys.argv = ['holdfast', 'hook']; m.main();"
        "print('\\n' + ' '.join(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=encode(payload or Session("s", str(project.root)).pre_compact()),
        env=project.environment(),
        cwd=project.root,
        capture_output=True,
        check=True,
    )
    return set(done.stdout.decode().splitlines()[-1].split())


def test_a_format_is_loaded_only_where_there_is_a_sign_of_it(holdfast_project: Project) -> None:
    """A project with one kind of workflow does not pay for the others."""
    project = holdfast_project
    project.run("skill", "start", "tdd", "Add the login")
    others = ("canonical", "gated", "orchestrator", "pipeline")
    modules = loaded(project)
    assert "holdfast.formats.skill.format" in modules
    assert not modules & {f"holdfast.formats.{name}.format" for name in others}


def test_a_format_is_loaded_where_it_had_a_state_that_is_gone(
    declared: Project, compaction_cycle: Compactions
) -> None:
    """It has to see that somebody ended its workflow by deleting it."""
    declared.run("skill", "start", "tdd", "Add the login", session="session-1")
    compaction_cycle.fire("PreCompact")
    (declared.root / "CLAUDE.local.md").unlink()
    shutil.rmtree(declared.root / "untracked")
    assert "holdfast.formats.canonical.format" in loaded(declared)


HEAVY = {"pydantic", "yaml", "frontmatter", "filelock", "click", "markdown_it", "pytest"} | {
    *("tomllib", "pathlib", "tempfile", "difflib", "dataclasses")
}


def test_what_nothing_to_do_loads(holdfast_project: Project) -> None:
    """A project without workflows must not pay for models, YAML, locks or the command line."""
    modules = loaded(holdfast_project)
    assert "holdfast.handlers.dispatch" in modules
    assert not modules & HEAVY
    assert not any(name.startswith("holdfast.formats.canonical") for name in modules)


@pytest.mark.parametrize(
    ("event", "tool"),
    [("PreToolUse", "Edit"), ("PreToolUse", "Bash"), ("PostToolUse", "Read")],
)
def test_what_a_tool_call_loads(
    declared: Project, compaction_cycle: Compactions, event: str, tool: str
) -> None:
    """It comes with every call, also where a workflow is; there is nothing left to be opened."""
    compaction_cycle(session="s")
    given = {"file_path": str(declared.root / "a.md")}
    payload = Session("s", str(declared.root)).payload(event, tool_name=tool, tool_input=given)
    modules = loaded(declared, payload)
    assert "holdfast.restoring.delivery" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "/a.py"}}),
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ("SubagentStop", {"agent_id": "a", "agent_type": "Explore", "background_tasks": []}),
        ("TaskCreated", {"task_id": "1", "task_subject": "Write"}),
    ],
)
def test_what_taking_note_loads(event: str, fields: dict[str, object], declared: Project) -> None:
    """It comes with every change that an agent makes, and every command that it runs."""
    modules = loaded(declared, Session("s", str(declared.root)).payload(event, **fields))
    assert not modules & (HEAVY | {"holdfast.workflows.sync", "holdfast.restoring.guidance"})
    assert ("holdfast.workflows.checks" in modules) == (fields.get("tool_name") == "Bash")
    lines = sessionlog.parse(
        sessionlog.content(str(declared.home / ".local/state/holdfast"), "s"), sessionlog.OBSERVED
    )
    assert bool(lines) == (fields.get("tool_name") != "Bash")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
payloads = st.fixed_dictionaries(
    {"hook_event_name": st.sampled_from(["PreCompact", "SessionStart", "Stop", "", *HANDLERS])},
    optional={
        **dict.fromkeys(
            ("session_id", "cwd", "agent_id", "source", "trigger", "custom_instructions"),
            json_values,
        ),
        **dict.fromkeys(
            ("file_path", "compact_summary", "task_id", "task_subject", "agent_type", "error"),
            json_values,
        ),
        "background_tasks": json_values,
        "tool_name": json_values | st.sampled_from(["Read", "Edit", "Bash", "Agent", "TodoWrite"]),
        **dict.fromkeys(
            ("tool_input", "tool_response"),
            json_values
            | st.dictionaries(
                st.sampled_from(["file_path", "command", "todos", "agentId", "taskId", "status"]),
                json_values,
            ),
        ),
    },
)


@given(st.binary(max_size=200) | payloads.map(lambda each: json.dumps(each).encode()))
@example(b'{"hook_event_name": "SessionStart", "cwd": "/"}')
def test_no_input_breaks_the_door(raw: bytes) -> None:
    """Whatever is sent, the exit code is 0, and the output is nothing or what to watch in a folder that is there."""
    nowhere = Surroundings("/nonexistent", None, None, None, None, disabled=False)
    outcome = full.run(raw, nowhere, Clock())
    assert (outcome.stderr, outcome.code) == ("", 0)
    said = json.loads(outcome.stdout or "{}").get("hookSpecificOutput", {})
    assert set(said) in ({"hookEventName", "watchPaths"}, set())


@given(payloads, st.booleans())
def test_no_payload_breaks_a_handler(
    declared: Project, compaction_cycle: Compactions, payload: dict[str, object], own: bool
) -> None:
    """In a project that has a workflow, nothing fails and nothing is blocked."""
    if own:
        payload |= {"session_id": "s", "cwd": str(declared.root), "agent_id": None}
    outcome = compaction_cycle.door().fire(payload)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert "failed" not in str(log_of(declared)[-1:])


def test_no_file_in_hooks_has_a_standard_librarys_name() -> None:
    """A script puts its folder first on the path, and would shadow it."""
    folder = Path(__file__).parents[2] / "hooks"
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert names
    assert not names & sys.stdlib_module_names


def test_launch_runs_as_a_script(declared: Project) -> None:
    """A plugin registers the file itself."""
    script = Path(__file__).parents[2] / "hooks" / "launch.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        input=encode(Session("s", str(declared.root)).pre_compact()),
        env=declared.environment(),
        cwd=declared.root,
        capture_output=True,
        check=True,
    )
    assert DECLARED in done.stdout.decode()


def test_the_log_holds_no_environment(declared: Project) -> None:
    """Newer clients put a session token into the hook's environment."""
    environment = {**declared.environment(), "SECRET_TOKEN": "hush-hush"}
    session = Session("s", str(declared.root))
    door = InSubprocess(environment, str(declared.root))
    door.fire({**session.pre_compact(), "custom_instructions": "said in confidence"})
    door.fire(session.session_start())
    written = b"".join(
        path.read_bytes()
        for folder in (declared.home, declared.root)
        for path in folder.rglob("*")
        if path.is_file()
    )
    assert b"hush-hush" not in written
    assert b"said in confidence" not in written
    assert os.fsencode(str(declared.root)) in written
