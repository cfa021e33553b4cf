"""What was prepared is used while nothing has changed, and every kind of change is noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from asking import EVERY

import holdfast
from holdfast import hooklog
from holdfast.project import Surroundings
from holdfast.simulate import InSubprocess, Session, encode
from holdfast.testing import Compactions, Project
from holdfast.wire import agents
from holdfast.wire.replies import Outcome

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
    return fire(project, "PreCompact", trigger="auto")


def start(project: Project, *arguments: str) -> Outcome:
    return fire(project, "SessionStart", *arguments, source="compact")


_ASK = """
import os, sys
from holdfast.hooks import quick
said = quick.answer(sys.stdin.buffer.read(), sys.argv[1:])
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
    assert (last["event"], last["source"], last["session"]) == ("PreCompact", "auto", SESSION)
    assert last["decided"] == "nothing changed"


def test_the_first_restore_after_a_save_is_prepared(work: Project) -> None:
    """And its parts: the text of the guide in the first, nothing in those beyond."""
    before(work)
    assert is_prepared(work, "SessionStart", source="compact")
    assert is_prepared(work, "SessionStart", "--part", "1", source="compact")
    assert is_prepared(work, "SessionStart", "--part", "7", source="compact")
    assert "The guide." in start(work, "--part", "1").stdout.decode()
    assert start(work, "--part", "7").stdout == b""


def test_prepared_and_full_path_restore_with_the_same_bytes(work: Project) -> None:
    """The full path is taken where the user's folder is another."""
    before(work)
    prepared = start(work)
    shutil.rmtree(Path(state_dir(work)) / "prepared")
    shutil.rmtree(Path(state_dir(work)) / "deliveries")
    assert not is_prepared(work, "SessionStart", source="compact")
    assert start(work) == prepared


def test_a_restore_is_counted_once_each_on_either_path(work: Project) -> None:
    """Three starts, of which the first and the second are prepared."""
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
    noted = list((Path(state_dir(work)) / "deliveries").iterdir())
    assert [json.loads(each.read_bytes())["workflow"] for each in noted] != []
    transcript = str(payload(work, "x")["transcript_path"])
    assert log_of(work)[-1]["transcript"] == transcript


def test_a_second_restore_says_what_the_full_path_would_say_then(work: Project) -> None:
    """A file that changed since the last restore is marked as changed once."""
    before(work)
    start(work)
    work.write("docs/guide.md", "Another guide.\n")
    before(work)
    aside = work.home.rename(work.home.with_name("aside"))
    shutil.copytree(aside, work.home)
    assert b"changed since the last restore" in start(work).stdout
    assert b"changed since the last restore" not in start(work).stdout
    shutil.rmtree(work.home)
    aside.rename(work.home)
    assert is_prepared(work, "SessionStart", source="compact")  # which was the first one
    assert is_prepared(work, "SessionStart", source="compact")


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
    assert is_prepared(holdfast_project, "SessionStart", "--part", "3", source="compact")


def test_a_start_where_nothing_is_asks_to_watch_on_either_path(holdfast_project: Project) -> None:
    """The answer is not empty: a workflow that is declared later is seen."""
    first = fire(holdfast_project, "SessionStart", source="startup")
    assert b"watchPaths" in first.stdout
    assert is_prepared(holdfast_project, "SessionStart", source="startup")
    assert fire(holdfast_project, "SessionStart", source="startup") == first


def test_an_event_that_is_not_ours_is_prepared(work: Project) -> None:
    """Though there is a workflow."""
    fire(work, "Stop")
    assert is_prepared(work, "Stop")  # which is the second one
    assert [each["decided"] for each in log_of(work)] == ["nothing: Stop is not ours"] * 2


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
    "something to be folded": lambda at: fire(
        at, "PostToolUse", tool_name="Edit", tool_input={"file_path": str(at.root / "y.py")}
    ),
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
    """By the restore and by its parts."""
    before(work)
    (work.root / path).write_text("Another one")
    assert not is_prepared(work, "SessionStart", source="compact")
    assert not is_prepared(work, "SessionStart", "--part", "1", source="compact")


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
    sets = Path(state_dir(work)).glob("prepared/*/compaction.json")
    kept = [json.loads(each.read_bytes()) for each in sets]
    assert kept
    assert all(each["until"] - each["from"] <= 12 * 3600 * 10**9 for each in kept)


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

    door.fire(payload(work, "PreCompact", trigger="auto"))
    if not ask():  # the copies were too new to be told from a later one
        subprocess.run(["sleep", "2.5"], check=True)
        door.fire(payload(work, "PreCompact", trigger="auto"))
    assert ask()
    assert not is_prepared(work, "PreCompact", trigger="auto")  # by another installation
    guidance = tmp_path / "lib/holdfast/guidance.py"
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
@pytest.mark.parametrize("which", ["set", "text"])
def test_what_is_damaged_is_not_used(which: str, damage: str, work: Project) -> None:
    """As after a power failure. The full path answers, with no word to anyone."""
    first = before(work)
    folder = next(Path(state_dir(work)).glob("prepared/*/compaction.json")).parent
    texts = [each for each in folder.iterdir() if each.name.startswith("compaction-")]
    for path in [folder / "compaction.json"] if which == "set" else texts:
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
    folders = list((Path(state_dir(work)) / "prepared").iterdir())
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    files = [path for folder in folders for path in folder.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_the_log_tells_where_nothing_can_be_prepared(work: Project) -> None:
    """Hooks are slow then, and somebody will want to know why. The answer is as ever."""
    expected = before(work)
    kept = Path(state_dir(work)) / "prepared"
    shutil.rmtree(kept)
    kept.write_text("a file where the folder belongs")
    assert before(work) == expected
    assert "nothing is prepared" in str(log_of(work)[-1]["decided"])


def test_old_answers_are_removed(work: Project) -> None:
    """Of sessions that nobody has heard of for a month; and texts that nothing refers to."""
    before(work)
    kept = Path(state_dir(work)) / "prepared"
    folder = next(kept.glob("*/compaction.json")).parent
    texts = len(list(folder.glob("compaction-*")))
    work.declare("Work", phase="3/4 - Test", reading=["@docs/guide.md"])
    before(work)
    assert len(list(folder.glob("compaction-*"))) == texts
    os.utime(folder, (1_700_000_000, 1_700_000_000))
    other = Session("session-9", str(work.root)).pre_compact()
    InSubprocess(work.environment(), str(work.root)).fire(other)
    assert not folder.exists()


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


OURS = {
    *("holdfast", "holdfast.__main__", "holdfast.homes", "holdfast.digests", "holdfast.pipes"),
    *(
        "holdfast.appending",
        "holdfast.openflags",
        "holdfast.bootstrap",
        "holdfast.bootstrap.marker",
    ),
    *("holdfast.handlers", "holdfast.hooks", "holdfast.hooks.launch", "holdfast.hooks.quick"),
    *("holdfast.hooks.prepared", "holdfast.marks", "holdfast.hooks.quickjson"),
    *("holdfast.hooks.options", "holdfast.capabilities", "holdfast.room", "holdfast.wire"),
    *("holdfast.wire.agents", "holdfast.wire.agents.base", "holdfast.wire.agents.claude"),
}
PARTS_OF_PYTHON = {"__future__", "_json", "_sha256", "_sha2"}


@pytest.mark.parametrize(
    ("event", "arguments", "fields"),
    [
        ("PreCompact", (), {"trigger": "auto"}),
        ("SessionStart", ("--part", "1"), {"source": "compact"}),
        ("SessionStart", ("--part", "9"), {"source": "compact"}),
        ("Stop", (), {}),
        ("PreToolUse", (), {"tool_name": "Edit", "tool_input": {"file_path": "x"}}),
    ],
)
def test_what_a_prepared_answer_loads(
    event: str, arguments: tuple[str, ...], fields: dict[str, object], work: Project
) -> None:
    """No `json`, no `re`, no `typing`: each costs as much as all of this."""
    before(work)
    fire(work, event, *arguments, **fields)
    assert loaded(work, event, "hook", *arguments, **fields) <= OURS | PARTS_OF_PYTHON


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("name", agents.NAMES)
def test_what_a_prepared_answer_loads_whoever_asks(name: str, told: bool, work: Project) -> None:
    """The row of the one that asks, and no other; of a prompt, what looks whether something is due."""
    asking = EVERY[name](work, told=told)
    asking.fire("PreCompact", trigger="auto")
    asking.fire("PreCompact", trigger="auto")
    row = name if told or name != "opencode" else "claude"
    allowed = OURS | PARTS_OF_PYTHON | {f"holdfast.wire.agents.{row}"}
    if row != "claude":
        allowed -= {"holdfast.wire.agents.claude"}
    sent = asking.payload("PreCompact", trigger="auto")
    assert loaded_by(work, sent, "hook", *asking.options()) <= allowed
    if row in {"copilot", "gemini"}:
        asking.prompt()  # the first after a compaction has begun looks how it has ended
        sent = asking.payload("UserPromptSubmit", prompt="go on")
        allowed |= {"holdfast.hooks.prompts", "_stat"}
        assert loaded_by(work, sent, "hook", *asking.options()) <= allowed


def test_a_prepared_answer_belongs_to_an_agent(work: Project) -> None:
    """The same session, asked for by another, is answered in other words."""
    claude, codex = EVERY["claude"](work), EVERY["codex"](work)
    claude.fire("PreCompact", trigger="auto")
    assert b"Keep word for word" in claude.fire("PreCompact", trigger="auto").stdout
    assert codex.fire("PreCompact", trigger="auto").stdout == b""
    assert codex.fire("PreCompact", trigger="auto").stdout == b""
    assert [each.get("prepared", False) for each in log_of(work)] == [False, True, False, True]


def test_what_a_prepared_restore_loads(work: Project) -> None:
    """The first one writes down what it delivers, for which a file is replaced."""
    before(work)
    found = loaded(work, "SessionStart", "hook", source="compact")
    assert found <= OURS | PARTS_OF_PYTHON | {"holdfast.atomic", "errno", "itertools"}
    again = loaded(work, "SessionStart", "hook", source="compact")
    assert again <= OURS | PARTS_OF_PYTHON


def test_what_nothing_to_do_loads_the_second_time(holdfast_project: Project) -> None:
    """In a project without a workflow."""
    before(holdfast_project)
    assert loaded(holdfast_project, "PreCompact", "hook") <= OURS | PARTS_OF_PYTHON


def test_what_the_status_line_loads(work: Project) -> None:
    """It is started all the time."""
    before(work)
    found = loaded(work, "", "statusline")
    assert "holdfast.hooks.statusline" in found
    of_it = {"holdfast.hooks.statusline", "holdfast.columns", "unicodedata", "holdfast.shortlived"}
    of_it |= {"gc", "pydantic.plugin._loader"}  # an empty module of that name
    assert found <= OURS | PARTS_OF_PYTHON | of_it
