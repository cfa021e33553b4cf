"""What hooks do for the workflows of skills: bring them back, and write one line of history."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from filelock import FileLock

from holdfast.files.store import HOOK_WAIT
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session, context_of, read_reply
from skillwork import EXAMPLES, FEATURE, RUNS, only_state, place, put, told_in_history

COMPACTED = "context_compacted"


@pytest.fixture
def dev(holdfast_project: Project) -> Project:
    """A /dev of one session, at its first task."""
    holdfast_project.write(FEATURE, "# User login\nwords that only this file has\n")
    command(holdfast_project, "start", "dev", FEATURE, "-t", "Add login", "-t", "Add logout")
    for _ in range(2):
        command(holdfast_project, "phase", "complete")
    command(holdfast_project, "task", "start")
    return holdfast_project


def command(project: Project, *arguments: str, session: str = "session-1") -> str:
    return project.run("skill", *arguments, session=session).stdout


@pytest.mark.parametrize("kind", RUNS)
def test_a_compaction_after_every_command(
    kind: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The guidance, the note for the summariser and the history are right after each."""
    for number, (arguments, expected) in enumerate(RUNS[kind], 1):
        command(holdfast_project, *arguments)
        holdfast_project.clock.advance(seconds=2)
        cycle = compaction_cycle()
        line = next(each for each in cycle.guidance.splitlines() if each.startswith("Next action"))
        assert line.endswith(expected), arguments
        assert expected[:100] in cycle.note, arguments
        assert told_in_history(only_state(holdfast_project), COMPACTED) == number, arguments
    assert "`holdfast skill complete`" in cycle.guidance
    assert "holdfast phase next" not in cycle.guidance


def test_the_guidance_names_the_commands_that_fit(
    dev: Project, compaction_cycle: Compactions
) -> None:
    """Those of tasks for a /dev, those of cycles for a /tdd."""
    assert (
        "The state is kept current with `holdfast skill task phase`, `holdfast skill task complete`, "
        "`holdfast skill checkpoint`, `holdfast skill phase complete`, and ended with "
        "`holdfast skill complete`."
    ) in compaction_cycle().guidance
    command(dev, "complete", "--force", "enough")
    command(dev, "start", "tdd", "Add login")
    assert (
        "The state is kept current with `holdfast skill tdd run`, `holdfast skill tdd done`, and ended"
    ) in compaction_cycle().guidance


def test_a_compaction_is_in_the_history_once(dev: Project, compaction_cycle: Compactions) -> None:
    """Neither more of PreCompact nor a repeated SessionStart adds to it; the next compaction does."""
    door, who = compaction_cycle.door(), Session("session-1", str(dev.root))
    for _ in range(3):
        door.fire(who.pre_compact())
        dev.clock.advance(seconds=5)
        door = compaction_cycle.door()
    assert told_in_history(only_state(dev), COMPACTED) == 0
    for _ in range(3):
        assert "Workflow restored" in context_of(read_reply(door.fire(who.session_start())))
        dev.clock.advance(seconds=5)
        door = compaction_cycle.door()
    state = only_state(dev)
    assert told_in_history(state, COMPACTED) == 1
    assert state["history"][-1]["note"] == "session resumed"
    compaction_cycle()
    assert told_in_history(only_state(dev), COMPACTED) == 2


def test_a_restore_before_the_bookkeeping_is_done_is_noted(
    dev: Project, compaction_cycle: Compactions
) -> None:
    """The asynchronous hook of PreCompact may still be at work then, and adds no second one later."""
    who = Session("session-1", str(dev.root))
    compaction_cycle()
    command(dev, "task", "phase", "red")  # in the second of the first restore
    dev.clock.advance(seconds=2)
    compaction_cycle.door().fire(who.pre_compact())
    compaction_cycle.door().fire(who.session_start())
    assert told_in_history(only_state(dev), COMPACTED) == 2
    dev.clock.advance(seconds=2)
    compaction_cycle.door().fire(who.pre_compact(), "--later")
    compaction_cycle.door().fire(who.session_start())
    assert told_in_history(only_state(dev), COMPACTED) == 2


def test_a_compaction_that_pre_compact_did_not_tell_of(
    dev: Project, compaction_cycle: Compactions
) -> None:
    """It may not be registered; some time between two starts tells them apart."""
    for expected in (1, 2):
        for _ in range(2):
            compaction_cycle(pre_compact=False)
            assert told_in_history(only_state(dev), COMPACTED) == expected
        dev.clock.advance(hours=1)


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
def test_only_a_compaction_is_written(
    source: str, dev: Project, compaction_cycle: Compactions
) -> None:
    """A session that begins otherwise leaves the file alone."""
    before = only_state(dev)
    compaction_cycle.door().fire(Session("session-1", str(dev.root)).session_start(source))
    assert only_state(dev) == before


def test_a_played_compaction_is_no_evidence(dev: Project) -> None:
    """In process, and with a process for each hook."""
    before = only_state(dev)
    for arguments in ([], ["--subprocess"]):
        done = dev.run("simulate", "--session", "session-1", *arguments)
        assert "Task 1/2 - Add login, RED phase" in done.stdout
        assert only_state(dev) == before


def test_a_held_lock_does_not_cost_the_restore(dev: Project, compaction_cycle: Compactions) -> None:
    """The history lacks a line then, and the log says why."""
    begun = time.monotonic()
    with FileLock(dev.root / ".claude/holdfast/lock"):
        guidance = compaction_cycle().guidance
    assert time.monotonic() - begun < 3 * HOOK_WAIT, "each event waits once at most"
    assert "Task 1/2 - Add login, RED phase" in guidance
    assert told_in_history(only_state(dev), COMPACTED) == 0
    assert "not noted in its history" in dev.run("log", "--hooks").stdout


def test_a_damaged_state_is_restored_and_not_written(
    dev: Project, compaction_cycle: Compactions
) -> None:
    """From its last good copy; a command sets it right."""
    (path,) = (dev.root / ".claude/workflow-state/active").glob("*.json")
    path.write_text('{"workflow": {', "utf-8")
    cycle = compaction_cycle()
    assert "Task 1/2 - Add login, RED phase" in cycle.guidance
    assert "its last good copy is used" in cycle.message
    assert path.read_text("utf-8") == '{"workflow": {'
    command(dev, "task", "phase")
    assert only_state(dev)["tasks"][0]["tdd_phases"]["green"] == "in_progress"


def test_the_feature_is_sent_and_in_a_folder_all_of_them(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The folder's own files, and nothing beside them."""
    for name in ("a", "b"):
        holdfast_project.write(f"features/auth/{name}.md", f"only {name} says this\n")
    holdfast_project.write("features/other.md", "not this\n")
    command(holdfast_project, "start", "dev", "features/auth/")
    state = only_state(holdfast_project)["context"]
    assert (state["folder_mode"], state["feature_file"]) == (True, "features/auth/a.md")
    sent = "".join(compaction_cycle().reading)
    assert "only a says this" in sent
    assert "only b says this" in sent
    assert "not this" not in sent


def test_features_named_from_their_folder(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As some write them by hand; what leads out of the project is not read."""
    holdfast_project.write("features/auth/a.md", "only a says this\n")
    (holdfast_project.root.parent / "secret.md").write_text("a secret", "utf-8")
    data = json.loads(json.dumps(EXAMPLES["dev"]))
    data["context"] |= {
        "folder_mode": True,
        "folder_path": "features/auth",
        "folder_features": ["a.md", {"file": "features/auth/a.md"}, "../../../secret.md", 5, None],
    }
    put(holdfast_project, "dev-a1b2c3d4", data)
    sent = "".join(compaction_cycle().reading)
    assert sent.count("only a says this") >= 1
    assert "a secret" not in sent


def test_a_tdd_goes_with_its_dev(dev: Project, compaction_cycle: Compactions) -> None:
    """One workflow for the session: the /dev, with the facts of the /tdd, which ends with it."""
    command(dev, "start", "tdd", "Add login", "--feature", FEATURE, "--number", "1")
    command(dev, "tdd", "fails", "no login")
    command(dev, "tdd", "done")
    command(dev, "tdd", "run", "--failed", "--failing", "test_login")
    cycle = compaction_cycle()
    assert cycle.guidance.startswith("# Workflow restored after the compaction: User Login\n")
    assert (
        "Next action: Task 1/2 - Add login, GREEN phase (make tests pass); tests" in cycle.guidance
    )
    assert "test_login" in cycle.guidance
    assert "`holdfast skill tdd done`" in cycle.guidance
    assert "Other workflows" not in cycle.guidance
    assert "words that only this file has" in "".join(cycle.reading)
    for path in sorted((dev.root / ".claude/workflow-state/active").glob("*.json")):
        assert told_in_history(json.loads(path.read_bytes()), COMPACTED) == 1
    command(dev, "complete", "--force", "the rest is for later", "dev")
    assert not compaction_cycle().guidance


def test_a_tdd_that_was_there_before_its_dev(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The session that had it gets the /dev, although another session began that."""
    command(holdfast_project, "start", "tdd", "Add login", "--feature", FEATURE, "--number", "1")
    command(holdfast_project, "start", "review", "Else", "--phases", "a,b", session="session-2")
    command(holdfast_project, "start", "dev", FEATURE, "-t", "Add login", session="session-3")
    assert "compaction: User Login\n" in compaction_cycle().guidance
    assert "compaction: Else\n" in compaction_cycle(session="session-2").guidance


def test_another_branch_and_another_session_are_told(
    dev: Project, compaction_cycle: Compactions
) -> None:
    """In the restore as in `status`."""
    dev.git("init", "-q", "-b", "other")
    dev.git("commit", "-q", "--allow-empty", "-m", "begin")
    dev.git("checkout", "-q", "-b", "feat/user-auth")
    command(dev, "abandon")
    command(dev, "start", "dev", FEATURE)
    assert "State is for branch" not in compaction_cycle().guidance
    dev.git("checkout", "-q", "other")
    dev.clock.advance(seconds=300)
    command(dev, "resume", session="session-2")
    dev.clock.advance(seconds=300)
    for text in (
        " ".join(compaction_cycle(session="session-2").guidance.split()),
        " ".join(dev.run("status", session="session-2").stdout.split()),
    ):
        assert "State is for branch 'feat/user-auth' but current branch is 'other'" in text
        assert "1) Switch to feat/user-auth 2) Abandon state and start fresh" in text
        assert "another session worked on it 10 minutes ago" in text
    dev.clock.advance(days=2)
    assert "another session" not in dev.run("status", session="session-2").stdout


def test_whether_the_branch_is_pushed_is_told_with_the_pull_request_due(
    holdfast_project: Project, compaction_cycle: Compactions, tmp_path: Path
) -> None:
    """Scenario 3, after a compaction: git is asked, not the agent."""
    project = holdfast_project
    project.git("init", "-q", "-b", "feat/x")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    for arguments, _ in RUNS["dev"][:-2]:
        command(project, *arguments)
    assert "feat/x is not pushed: push it, then create" in compaction_cycle().guidance
    project.git("init", "-q", "--bare", str(tmp_path / "remote"))
    project.git("remote", "add", "origin", str(tmp_path / "remote"))
    project.git("push", "-q", "origin", "feat/x")
    assert "feat/x is pushed: create the pull request" in compaction_cycle().guidance
    assert "feat/x is pushed: create the pull request" in command(project, "resume")


def test_what_was_completed_needs_no_word(dev: Project, compaction_cycle: Compactions) -> None:
    """It lies in completed/ for a day, where it belongs; one that is left in active/ is named."""
    command(dev, "complete", "--force", "enough")
    cycle = compaction_cycle()
    assert (cycle.guidance, cycle.message) == ("", "")
    assert '"check": "left over"' not in dev.run("doctor", "--json", check=False).stdout
    data = json.loads(json.dumps(EXAMPLES["tdd"]))
    data["workflow"]["status"] = "completed"
    put(dev, "tdd-b2c3b2c3", data)
    assert "Workflow not restored: Add login method" in compaction_cycle().message
    told = dev.run("doctor", "--json", check=False).stdout
    assert "holdfast skill complete 'Add login method to AuthService'" in told
    dev.run("doctor", "--fix", check=False)
    assert place(dev).root.joinpath(".claude/workflow-state/completed/tdd-b2c3b2c3.json").exists()


def test_an_ignored_one_is_left_alone(dev: Project, compaction_cycle: Compactions) -> None:
    """Until it is taken up again."""
    dev.run("ignore", "User Login", session="session-1")
    before = only_state(dev)
    assert compaction_cycle().guidance == ""
    assert only_state(dev) == before
    assert "Task 1/2 - Add login" in dev.run("resume", "User Login", session="session-1").stdout
    assert "compaction: User Login\n" in compaction_cycle().guidance


def test_a_run_that_names_its_feature_as_the_source(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As the shell library does that comes with the document; it went by its id, and nothing was to be read."""
    holdfast_project.write("features/mail/send-letters.md", "# Send letters\n")
    state = {
        "_schema": {"version": "1.0", "skill": "dev"},
        "workflow": {"id": "dev-0123abcd", "status": "in_progress"},
        "context": {"source": "features/mail/send-letters.md"},
        "state_machine": {"current_phase": "init", "phases": []},
    }
    holdfast_project.write(".claude/workflow-state/active/dev-0123abcd.json", json.dumps(state))
    guidance = compaction_cycle().guidance
    assert 'The workflow "send-letters"' in guidance
    assert "@features/mail/send-letters.md" in guidance
    assert "0123abcd" not in guidance.partition("State file")[0]
