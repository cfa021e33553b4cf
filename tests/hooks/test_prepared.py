"""What was prepared is used while nothing has changed, and every kind of change is noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import EVERY

import holdfast
from holdfast import agents
from holdfast.agents.replies import Outcome
from holdfast.clock import Clock, iso
from holdfast.config.project import Surroundings
from holdfast.files.store import locked
from holdfast.records import hooklog
from holdfast.restoring import delivery
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InSubprocess, Session, encode

SESSION = "session-1"


@pytest.fixture
def work(holdfast_project: Project) -> Project:
    """A workflow with required reading, in a checkout of git."""
    holdfast_project.write(".git/HEAD", "ref: refs/heads/main\n")
    holdfast_project.declare("Work", phase="2/4 - Build", reading=["@docs/guide.md"])
    holdfast_project.write("docs/guide.md", "The guide.\n")
    holdfast_project.plan("001-other", {"One": ["x first", "second"], "Two": ["third"]})
    return holdfast_project


def payload(project: Project, event: str, **fields: object) -> dict[str, object]:
    return Session(SESSION, str(project.root)).payload(event, **fields)


def fire(project: Project, event: str, *arguments: str, **fields: object) -> Outcome:
    """One event, as a client sends it."""
    door = InSubprocess(project.environment(), str(project.root))
    return door.fire(payload(project, event, **fields), *arguments)


def before(project: Project) -> Outcome:
    """A compaction begins; the bookkeeping, which nobody waits for, is done."""
    said = fire(project, "PreCompact", trigger="auto")
    assert fire(project, "PreCompact", "--later", trigger="auto") == Outcome()
    return said


def start(project: Project, *arguments: str) -> Outcome:
    return fire(project, "SessionStart", *arguments, source="compact")


_ASK = """
import os, sys
from holdfast.agents import request
from holdfast.answers import quick
said = quick.answer(request.Request(sys.stdin.buffer.read(), sys.argv[1:]))
sys.exit(3 if said is None else os.write(1, said) and 0)
"""


def is_prepared(
    project: Project,
    event: str,
    *arguments: str,
    environment: Mapping[str, str] = {},
    **fields: Any,
) -> bool:
    """Whether the next such event is answered out of what was prepared."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *arguments],
        input=encode(payload(project, event, **fields)),
        env=project.environment() | environment,
        cwd=project.root,
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 3}, done.stderr.decode()
    return done.returncode == 0


def state_dir(project: Project) -> str:
    return Surroundings.from_environment(project.environment()).state_dir or ""


def log_of(project: Project) -> list[dict[str, object]]:
    return list(hooklog.read(state_dir(project), str(project.root.resolve())))


# That it is used, and says and notes what the full path does.


def test_the_second_precompact_is_prepared_and_says_the_same(work: Project) -> None:
    """With a line in the log, and the time at which the session was heard of."""
    first = before(work)
    assert is_prepared(work, "PreCompact", trigger="auto")
    assert before(work) == first
    last = log_of(work)[-1]
    assert last["prepared"]
    assert (last["event"], last["source"], last["session"]) == ("PreCompact", "auto", SESSION)
    assert last["decided"] == "nothing changed"


def test_the_first_restore_after_a_save_is_prepared(work: Project) -> None:
    """And its parts: the text of the guide in the first, nothing in those beyond."""
    before(work)
    start(work)
    assert log_of(work)[-1]["prepared"]
    assert "The guide." in start(work, "--part", "1").stdout.decode()
    assert start(work, "--part", "7").stdout == b""


def test_prepared_and_full_path_restore_with_the_same_bytes(work: Project) -> None:
    """The full path is taken where the user's folder is another."""
    before(work)
    prepared = start(work)
    shutil.rmtree(Path(state_dir(work)) / "prepared")
    shutil.rmtree(Path(state_dir(work)) / "sessionlogs")
    assert not is_prepared(work, "SessionStart", source="compact")
    assert start(work) == prepared


def test_a_restore_is_counted_once_each_on_either_path(work: Project) -> None:
    """Three starts, of which the first is prepared."""
    before(work)
    start(work)
    start(work)
    shutil.rmtree(Path(state_dir(work)) / "prepared")
    start(work)
    told = json.loads(work.run("status", "--json", session=SESSION).stdout)
    assert told["compactions"]["count"] == 3


def test_what_a_prepared_restore_delivers_is_noted(work: Project) -> None:
    """So that `doctor`, the gate and the next restore know it."""
    before(work)
    start(work)
    noted = delivery.recall(str(state_dir(work)), SESSION)
    assert noted
    assert noted.workflow
    transcript = str(payload(work, "x")["transcript_path"])
    assert log_of(work)[-1]["transcript"] == transcript


def test_a_second_restore_says_what_the_full_path_would_say_then(work: Project) -> None:
    """A file that changed since the last restore is marked as changed once."""
    before(work)
    start(work)
    work.write("docs/guide.md", "Another guide.\n")
    before(work)
    assert b"changed since the last restore" in start(work).stdout
    assert log_of(work)[-1]["prepared"]
    assert b"changed since the last restore" not in start(work).stdout


def test_the_end_of_the_summariser_leaves_the_restore_prepared(work: Project) -> None:
    """It comes between the two, and says that nothing runs, as was known."""
    ends = {"agent_id": "s1", "agent_type": "", "background_tasks": list[object]()}
    before(work)
    fire(work, "SubagentStop", **ends)
    assert is_prepared(work, "SessionStart", source="compact")
    fire(work, "SubagentStart", agent_id="a1", agent_type="Explore")
    before(work)
    assert b"Explore" in start(work).stdout
    fire(work, "SubagentStop", **ends)
    assert not is_prepared(work, "SessionStart", source="compact")


def test_nothing_to_do_is_prepared_for_every_session(holdfast_project: Project) -> None:
    """Where no workflow is, nothing is loaded to say so."""
    before(holdfast_project)
    for event in ("PreCompact", "PostCompact", "FileChanged", "PreToolUse", "TaskCreated"):
        assert is_prepared(holdfast_project, event)
        other = Session("another", str(holdfast_project.root)).payload(event)
        assert is_prepared(holdfast_project, event, session_id=other["session_id"])
    start(holdfast_project)
    assert start(holdfast_project, "--part", "3") == Outcome()


def test_a_start_where_nothing_is_asks_to_watch_on_either_path(holdfast_project: Project) -> None:
    """The answer is not empty: a workflow that is declared later is seen."""
    first = fire(holdfast_project, "SessionStart", source="startup")
    assert b"watchPaths" in first.stdout
    assert is_prepared(holdfast_project, "SessionStart", source="startup")
    assert fire(holdfast_project, "SessionStart", source="startup") == first


def test_an_idle_gate_is_prepared_until_something_is_to_be_read(work: Project) -> None:
    """With and without a restore before."""
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "x.py"}}
    fire(work, "PreToolUse", **edit)
    assert is_prepared(work, "PreToolUse", **edit)
    work.write(".claude/holdfast.toml", 'reading = "list"\n')
    before(work)
    start(work)
    assert b"docs/guide.md" in fire(work, "PreToolUse", **edit).stdout
    fire(work, "PreToolUse", **edit)
    assert is_prepared(work, "PreToolUse", **edit)


def test_only_a_read_of_what_is_still_to_be_read_takes_the_full_path(work: Project) -> None:
    """All others are waited for as well, and nothing is noted of them."""
    work.write(".claude/holdfast.toml", 'reading = "list"\n')
    before(work)
    start(work)

    def read(path: str) -> dict[str, object]:
        return {"tool_name": "Read", "tool_input": {"file_path": path}}

    edit = {"tool_name": "Edit", "tool_input": {"file_path": "x.py"}}
    fire(work, "PreToolUse", **edit)
    assert is_prepared(work, "PostToolUse", **read("x.py"))
    assert not is_prepared(work, "PostToolUse", **read("docs/guide.md"))
    (work.root / "link.md").symlink_to("docs/guide.md")
    assert not is_prepared(work, "PostToolUse", **read(str(work.root / "link.md")))
    fire(work, "PostToolUse", **read("docs/guide.md"))
    assert is_prepared(work, "PostToolUse", **read("docs/guide.md"))


def test_a_guarded_project_looks_at_each_path(work: Project) -> None:
    """The answer follows from the path, which is not in what was prepared."""
    work.write(".claude/holdfast.toml", 'guard = "all"\n')
    before(work)
    edit = {"tool_name": "Write", "tool_input": {"file_path": "x.py"}}
    fire(work, "PreToolUse", **edit)
    assert not is_prepared(work, "PreToolUse", **edit)
    state = work.state_files()[0]
    denied = fire(work, "PreToolUse", tool_name="Write", tool_input={"file_path": str(state)})
    assert b"deny" in denied.stdout


@pytest.mark.parametrize("where", ["user", "project"])
def test_switched_off_is_prepared(where: str, work: Project) -> None:
    """In the user's settings or in the project's."""
    name = ".claude/holdfast.toml"
    if where == "user":
        path = Surroundings.from_environment(work.environment()).config_file or ""
        os.makedirs(os.path.dirname(path))
        Path(path).write_text("enabled = false\n", encoding="utf-8")
    else:
        work.write(name, "enabled = false\n")
    before(work)
    for event, fields in (("PreCompact", {}), ("SessionStart", {"source": "compact"})):
        assert is_prepared(work, event, **fields)
        assert fire(work, event, **fields) == Outcome()
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "x.py"}}
    fire(work, "PreToolUse", **edit)
    assert is_prepared(work, "PreToolUse", **edit)


@pytest.mark.parametrize(
    "command", ["gate start login --title Login", "pipeline start generation --scene 0204"]
)
def test_a_restore_of_another_format_is_prepared(command: str, holdfast_project: Project) -> None:
    """Whatever is made when it is asked for is compared by what it says."""
    project = holdfast_project
    begun = project.run(*command.split(), session=SESSION, check=False)
    assert begun.returncode == 0, begun.stderr
    before(project)
    before(project)
    assert is_prepared(project, "PreCompact", trigger="auto")
    assert is_prepared(project, "SessionStart", source="compact")


def test_a_skill_that_writes_its_compactions_down_takes_the_full_path(
    holdfast_project: Project,
) -> None:
    """Its history is written by the restore."""
    project = holdfast_project
    project.run("skill", "start", "tdd", "Add the login", session=SESSION)
    before(project)
    before(project)
    assert is_prepared(project, "PreCompact", trigger="auto")
    assert not is_prepared(project, "SessionStart", source="compact")


# That every kind of change is noticed.


def _same_size(path: Path) -> None:
    """Another text of the same length, and the old time put back."""
    status = path.stat()
    raw = path.read_bytes()
    with path.open("r+b") as stream:
        stream.write(raw.replace(b"Build", b"Burnt"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replaced(path: Path) -> None:
    """By a file of the same bytes, as an editor does."""
    beside = path.with_name("beside")
    shutil.copy2(path, beside)
    os.replace(beside, path)


CHANGES: dict[str, Callable[[Project], object]] = {
    "an edit of the same size, with its old time": lambda at: _same_size(
        at.root / "CLAUDE.local.md"
    ),
    "a file that was replaced": lambda at: _replaced(at.root / "CLAUDE.local.md"),
    "a file that was renamed": lambda at: (at.root / "CLAUDE.local.md").rename(at.root / "x"),
    "a file that was deleted": lambda at: (at.root / "CLAUDE.local.md").unlink(),
    "a new plan": lambda at: at.plan("002-new", {"One": ["first"]}),
    "a plan that was deleted": lambda at: shutil.rmtree(at.root / "CLAUDE/Plan/001-other"),
    "a box that was ticked": lambda at: at.plan("001-other", {"One": ["x first", "x second"]}),
    "settings of the project": lambda at: at.write(".claude/holdfast.toml", "stale_days = 3\n"),
    "a state that was edited": lambda at: at.state_files()[0].write_text("{}"),
    "a state that was deleted": lambda at: at.state_files()[0].unlink(),
    "a state that was added": lambda at: shutil.copytree(
        at.state_files()[0].parent, at.root / "untracked/workflow-state/copy"
    ),
    "another branch": lambda at: at.write(".git/HEAD", "ref: refs/heads/side\n"),
    "a workflow of another format": lambda at: at.run("skill", "start", "tdd", "Login"),
    "a command": lambda at: at.run("remind", "Do not forget", session=SESSION),
    "another session": lambda at: at.run("resume", "Work", session="session-2"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(change: str, work: Project) -> None:
    """Afterwards the full path is taken."""
    before(work)
    assert is_prepared(work, "PreCompact", trigger="auto")
    CHANGES[change](work)
    assert not is_prepared(work, "PreCompact", trigger="auto")
    assert not is_prepared(work, "SessionStart", source="compact")


@pytest.mark.parametrize("path", ["docs/guide.md"])
def test_an_edit_of_required_reading_is_noticed(path: str, work: Project) -> None:
    """By the restore, and so by its parts."""
    before(work)
    (work.root / path).write_text("Another one")
    assert not is_prepared(work, "SessionStart", source="compact")
    start(work)
    assert b"Another one" in start(work, "--part", "1").stdout


def test_settings_of_the_user_are_noticed(work: Project) -> None:
    """Where there were none before, too."""
    before(work)
    path = Surroundings.from_environment(work.environment()).config_file or ""
    os.makedirs(os.path.dirname(path))
    Path(path).write_text("stale_days = 3\n", encoding="utf-8")
    assert not is_prepared(work, "PreCompact", trigger="auto")


def test_a_clock_that_was_set_back_is_noticed(work: Project) -> None:
    """What was prepared later does not hold earlier."""
    before(work)
    for earlier, holds in (("2020-01-01T00:00:00Z", False), ("2199-01-01T00:00:00Z", False)):
        now = {"HOLDFAST_NOW": earlier}
        assert is_prepared(work, "PreCompact", environment=now, trigger="auto") is holds


def test_an_answer_that_depends_on_the_time_is_not_kept_beyond_it(
    work: Project,
) -> None:
    """A workflow of today is stale after a week: the answers end before."""
    before(work)
    assert is_prepared(work, "PreCompact", trigger="auto")
    later = {"HOLDFAST_NOW": iso(Clock().now() + timedelta(hours=13))}
    assert not is_prepared(work, "PreCompact", environment=later, trigger="auto")


def test_an_upgrade_is_noticed(work: Project, tmp_path: Path) -> None:
    """A module that is another one now may say something else."""
    package = Path(holdfast.__file__).parent
    shutil.copytree(package, tmp_path / "lib/holdfast", copy_function=shutil.copy)
    for each in (tmp_path / "lib").rglob("*"):
        os.utime(each, (1_700_000_000, 1_700_000_000))
    mine = {"PYTHONPATH": str(tmp_path / "lib")}
    door = InSubprocess(work.environment() | mine, str(work.root))

    def ask() -> bool:
        return is_prepared(work, "PreCompact", environment=mine, trigger="auto")

    asked = payload(work, "PreCompact", trigger="auto")
    door.fire(asked)
    door.fire(asked, "--later")
    if not ask():  # the copies were too new to be told from a later one
        subprocess.run(["sleep", "2.5"], check=True)
        door.fire(asked, "--later")
    assert ask()
    assert not is_prepared(work, "PreCompact", trigger="auto")  # by another installation
    guidance = tmp_path / "lib/holdfast/restoring/guidance.py"
    guidance.write_text(guidance.read_text() + "\n")
    assert not ask()


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "XDG_CONFIG_HOME"])
def test_another_environment_has_other_answers(variable: str, work: Project) -> None:
    """What an answer follows from is no file alone."""
    before(work)
    elsewhere = {variable: str(work.root.parent)}
    assert not is_prepared(work, "PreCompact", environment=elsewhere, trigger="auto")


# That nothing but what we wrote is believed, and that nothing breaks it.


def test_an_answer_that_lies_in_the_repository_gains_nothing(work: Project) -> None:
    """Wherever it is planted below the project."""
    before(work)
    kept = Path(state_dir(work)) / "prepared"
    for place in (".claude/holdfast", ".local/state/holdfast", "holdfast", ".holdfast"):
        shutil.copytree(kept, work.root / place / "prepared", dirs_exist_ok=True)
    shutil.rmtree(kept)
    assert not is_prepared(work, "PreCompact", trigger="auto")


@pytest.mark.parametrize("damage", ["cut", "emptied", "of another", "no JSON", "gone"])
def test_what_is_damaged_is_not_used(damage: str, work: Project) -> None:
    """As after a power failure. The full path answers, with no word to anyone."""
    first = before(work)
    path = next(Path(state_dir(work)).glob("prepared/*-note.json"))
    raw = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {"cut": raw[:-2], "emptied": b"", "of another": b"{}", "no JSON": b"\0" * 9}[damage]
        )
    assert not is_prepared(work, "PreCompact", trigger="auto")
    again = before(work)
    assert again == first
    assert again.stderr == ""


def test_what_is_prepared_is_private(work: Project) -> None:
    """It holds what the required reading says."""
    before(work)
    folder = Path(state_dir(work)) / "prepared"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_the_log_tells_where_nothing_can_be_prepared(work: Project) -> None:
    """Hooks are slow then, and somebody will want to know why. The answer is as ever."""
    expected = before(work)
    kept = Path(state_dir(work)) / "prepared"
    shutil.rmtree(kept)
    kept.write_text("a file where the folder belongs")
    assert before(work) == expected
    assert "nothing is prepared" in str(log_of(work)[-1]["decided"])


def test_old_answers_are_removed(work: Project) -> None:
    """Of sessions that nobody has heard of for a month."""
    before(work)
    kept = Path(state_dir(work)) / "prepared"
    note = next(kept.glob("*-note.json"))
    os.utime(note, (1_700_000_000, 1_700_000_000))
    other = Session("session-9", str(work.root)).pre_compact()
    door = InSubprocess(work.environment(), str(work.root))
    door.fire(other)  # which gives that session a workflow
    door.fire(other, "--later")
    assert not note.exists()


def test_hooks_that_prepare_at_the_same_moment_leave_answers_that_are_whole(
    work: Project, compaction_cycle: Compactions
) -> None:
    """Each is the full path's, whoever was last."""
    first = before(work)
    shutil.rmtree(Path(state_dir(work)) / "prepared")
    outcomes = compaction_cycle.at_once(6)
    assert {each.stdout for each in outcomes} == {first.stdout}
    assert before(work) == first


# What it costs.


def loaded(project: Project, event: str, *arguments: str, **fields: object) -> set[str]:
    return loaded_by(project, payload(project, event, **fields), *arguments)


def loaded_by(project: Project, sent: Mapping[str, object], *arguments: str) -> set[str]:
    """What one event loads, beside what the interpreter has loaded anyway."""
    code = (
        "import sys; was = set(sys.modules); import holdfast.__main__ as m;"
        f"sys.argv = ['holdfast', *{list(arguments)!r}]; m.main();"
        "print('\\n' + ' '.join(sorted(set(sys.modules) - was)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        input=encode(sent),
        env=project.environment(),
        cwd=project.root,
        capture_output=True,
        check=True,
    )
    return set(done.stdout.decode().splitlines()[-1].split())


# What takes longer to load than a hook may run; and what is not for others to load.
SLOW = {
    *("typing", "dataclasses", "inspect", "pathlib", "hashlib", "subprocess", "tempfile"),
    *("pydantic", "filelock", "frontmatter", "yaml", "click"),
}
EDIT: Mapping[str, object] = {"tool_name": "Edit", "tool_input": {"file_path": "x"}}
READ: Mapping[str, object] = {"tool_name": "Read", "tool_input": {"file_path": "x"}}


@pytest.mark.parametrize(
    ("arguments", "event", "fields", "slow"),
    [
        (["hook"], "PreCompact", {"trigger": "auto"}, SLOW),
        (["hook"], "SessionStart", {"source": "compact"}, SLOW),
        (["hook"], "PreToolUse", EDIT, SLOW | {"datetime"}),
        (["hook"], "PostToolUse", READ, SLOW | {"datetime"}),
        # Twelve of them start at once, so that not even `json` is worth it.
        (["hook", "--part", "1"], "SessionStart", {"source": "compact"}, SLOW | {"json", "re"}),
        (["statusline"], "", {}, SLOW),
    ],
)
def test_what_a_prepared_answer_loads(
    arguments: list[str], event: str, fields: dict[str, object], slow: set[str], work: Project
) -> None:
    """The standard library, and of that what is quick to load."""
    before(work)
    start(work)
    before(work)
    assert not loaded(work, event, *arguments, **fields) & slow


@pytest.mark.parametrize("name", agents.NAMES)
def test_what_a_prepared_answer_loads_whoever_asks(name: str, work: Project) -> None:
    """A prompt as well, with which some agents are told late; they compare times, with `typing`."""
    asking = EVERY[name](work)
    asking.fire("PreCompact", trigger="auto")
    asking.fire("PreCompact", "--later", trigger="auto")  # where that runs beside the conversation
    sent = asking.payload("PreCompact", trigger="auto")
    assert not loaded_by(work, sent, "hook", *asking.options()) & (SLOW - {"typing"})
    if agents.named(name).capabilities.prompted:
        asking.prompt()  # the first after a compaction has begun looks how it has ended
        sent = asking.payload("UserPromptSubmit", prompt="go on")
        assert not loaded_by(work, sent, "hook", *asking.options()) & (SLOW - {"typing"})


def test_a_prepared_answer_belongs_to_an_agent(work: Project) -> None:
    """The same session, asked for by another, is answered in other words."""
    claude, codex = EVERY["claude"](work), EVERY["codex"](work)
    claude.fire("PreCompact", trigger="auto")
    claude.fire("PreCompact", "--later", trigger="auto")
    assert b"Keep word for word" in claude.fire("PreCompact", trigger="auto").stdout
    assert codex.fire("PreCompact", trigger="auto").stdout == b""
    assert codex.fire("PreCompact", trigger="auto").stdout == b""
    assert [each.get("prepared", False) for each in log_of(work)] == [False, True, False, True]


def test_what_nothing_to_do_loads_the_second_time(holdfast_project: Project) -> None:
    """In a project without a workflow, also where no hook runs beside the conversation."""
    fire(holdfast_project, "PreCompact", trigger="auto")
    assert not loaded(holdfast_project, "PreCompact", "hook") & SLOW


def test_an_answer_without_preparation_prepares_nothing_of_workflows(work: Project) -> None:
    """The person waits for it; what takes long is for the hook beside it, where an agent has such."""
    fire(work, "PreCompact", trigger="auto")
    assert not is_prepared(work, "PreCompact", trigger="auto")
    EVERY["codex"](work).fire("PreCompact", trigger="auto")
    assert is_prepared(work, "PreCompact", "--agent", "codex", trigger="auto")


# A session that works.


def works(project: Project) -> None:
    """Edits, a read, a test run, and tasks."""
    for number in range(3):
        path = {"file_path": str(project.root / f"module{number}.py")}
        fire(project, "PreToolUse", tool_name="Edit", tool_input=path)
        fire(project, "PostToolUse", tool_name="Edit", tool_input=path, tool_response={})
    fire(project, "PostToolUse", tool_name="Read", tool_input=path, tool_response={})
    ran = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {}}
    fire(project, "PostToolUse", **ran)
    for event in ("TaskCreated", "TaskCompleted"):
        fire(project, event, task_id="1", task_subject="Write it")


def test_a_session_that_works_is_answered_out_of_what_was_prepared(work: Project) -> None:
    """Before the compaction, since what was observed does not change the note; and after it, once that is folded."""
    before(work)
    start(work)
    for _ in range(2):
        works(work)
        assert is_prepared(work, "PreCompact", trigger="auto")
        assert not is_prepared(work, "SessionStart", source="compact")
        before(work)
        assert is_prepared(work, "SessionStart", source="compact")
        assert b"module2.py" in start(work).stdout
        fire(work, "PostCompact", compact_summary="The work goes on.", trigger="auto")


def test_a_restore_that_comes_before_the_bookkeeping_is_done_is_right(work: Project) -> None:
    """It tells what was observed, and waits for nobody who holds the lock."""
    before(work)
    works(work)
    fire(work, "PreCompact", trigger="auto")
    with locked(work.root / ".claude/holdfast/lock", 5.0):
        said = start(work)
    assert b"module2.py" in said.stdout
    assert "prepared" not in log_of(work)[-1]
    assert b"The guide." in start(work, "--part", "1").stdout


def test_tool_calls_after_a_restore_are_prepared(work: Project) -> None:
    """Nothing is left to be opened, as the session's log tells."""
    before(work)
    start(work)
    path = {"file_path": str(work.root / "module.py")}
    assert is_prepared(work, "PreToolUse", tool_name="Edit", tool_input=path)
    assert is_prepared(work, "PostToolUse", tool_name="Read", tool_input=path)
