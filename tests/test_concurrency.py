"""Real processes, all at once: no update is lost, no file is torn, and who gave up said so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.errors import StateLocked
from holdfast.files.store import Store
from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import InSubprocess, Session, encode


def command(project: Project, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *arguments],
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.long
def test_64_hooks_and_8_commands_at_once(holdfast_project: Project) -> None:
    """Every `phase next` counts, although the markdown changes meanwhile and 64 hooks save it."""
    project = holdfast_project
    # Else a command that is done between two of our edits writes its phase there, and we take it back.
    project.write(".claude/holdfast.toml", "write_back = false\n")
    project.run("start", "Busy", "--phases", ",".join(f"P{n}" for n in range(1, 31)))
    project.declare("Busy", phase="1/30 - P1", reminders=["first"])
    created_at = project.state()["created_at"]
    path = project.state_files()[0]

    torn: list[str] = []
    reads = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal reads
        while not done.is_set():
            reads += 1
            try:
                json.loads(path.read_bytes())
            except (ValueError, OSError) as error:
                torn.append(repr(error))

    watcher = threading.Thread(target=watch)
    watcher.start()
    door = InSubprocess(project.environment(), str(project.root))
    payload = encode(Session("s", str(project.root)).pre_compact("auto"))
    hooks, commands = [], []
    for index in range(64):
        process = door.start()
        assert process.stdin
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None
        hooks.append(process)
        if index % 8 == 0:
            commands.append(command(project, "phase", "next"))
            commands.append(command(project, "remind", f"reminder {index}"))
            project.declare("Busy", phase="1/30 - P1", reminders=["first", f"md {index}"])
    outcomes = []
    for process in [*hooks, *commands]:
        with process:
            stdout, stderr = process.communicate(timeout=120)
        outcomes.append((process.returncode, stdout, stderr))
    done.set()
    watcher.join()

    assert torn == []
    assert reads > 100
    for code, _, stderr in outcomes[:64]:
        assert code in {0, 1}
        assert (code == 1) == (b"was held by another process for 2 s" in stderr)
    for code, _, stderr in outcomes[64:]:
        assert (code, stderr) == (0, b"")
    assert door.fire(Session("s", str(project.root)).pre_compact()).code == 0
    state = project.state()
    assert state["phase"]["current"] == 9
    assert {f"reminder {index}" for index in range(0, 64, 8)} <= set(state["key_reminders"])
    assert {"first", "md 56"} <= set(state["key_reminders"])
    assert state["created_at"] == created_at
    leftovers = list((project.root / ".claude/holdfast/tmp").iterdir())
    assert leftovers == []


def test_parallel_starts_of_many_workflows(holdfast_project: Project) -> None:
    """Names that share a slug, begun at the same moment, get a file each."""
    holdfast_project.run("install", "--yes")
    names = ["a b", "a-b", "a_b", "A  b!", "a.b", "a/b", "(a b)", "a+b"]
    processes = [command(holdfast_project, "start", name) for name in names]
    for process in processes:
        with process:
            _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (0, b"")
    assert sorted(state["workflow"] for state in holdfast_project.states()) == sorted(names)


def test_the_first_save_of_a_declaration_in_parallel(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """No folder, no lock file yet: still one state file."""
    holdfast_project.declare("New")
    outcomes = compaction_cycle.at_once(16, event="SessionStart", sessions=("a", "b", "c", "d"))
    assert {outcome.code for outcome in outcomes} == {0}
    assert len(holdfast_project.state_files()) == 1


HOLD = """
import sys, time
from holdfast.files.store import Store
with Store(sys.argv[1]).lock(5):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(holdfast_project: Project) -> subprocess.Popen[bytes]:
    """A process that holds the project's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(holdfast_project.root)], stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_hook_gives_up_after_two_seconds_and_says_so(
    holdfast_project: Project, compaction_cycle: Compactions, holder: subprocess.Popen[bytes]
) -> None:
    """Nothing is blocked; the guidance comes all the same."""
    holdfast_project.declare("W")
    begun = time.monotonic()
    saved = compaction_cycle.fire("PreCompact")
    assert 1.9 < time.monotonic() - begun < 4
    assert saved.code == 1
    assert "held by another process for 2 s" in saved.stderr
    started = compaction_cycle.start()
    assert '"W"' in started.guidance
    assert "held by another process" in started.message


def test_the_lock_of_a_killed_process_is_free(
    holdfast_project: Project, compaction_cycle: Compactions, holder: subprocess.Popen[bytes]
) -> None:
    """It is the operating system's lock, so it goes with its owner."""
    holdfast_project.declare("W")
    holder.kill()
    holder.wait()
    assert compaction_cycle.fire("PreCompact").code == 0
    assert len(holdfast_project.states()) == 1


def test_nothing_changed_needs_no_lock(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A PreCompact that has nothing to write does not wait for anybody."""
    holdfast_project.declare("W")
    compaction_cycle()
    with Store(holdfast_project.root).lock(1):
        begun = time.monotonic()
        assert compaction_cycle.fire("PreCompact").code == 0
        assert time.monotonic() - begun < 1


def test_who_waits_in_vain_says_so(holdfast_project: Project) -> None:
    """With the time, and that nothing was changed."""
    with (
        Store(holdfast_project.root).lock(1),
        pytest.raises(StateLocked) as caught,
        Store(holdfast_project.root).lock(0.2),
    ):
        raise AssertionError("the lock was given twice")
    assert "for 0.2 s" in caught.value.cause
    assert "Nothing was changed" in caught.value.hint


def test_a_command_waits_for_a_hook_to_finish(
    holdfast_project: Project, holder: subprocess.Popen[bytes]
) -> None:
    """Longer than a hook would; it does its work when the lock is free."""
    holdfast_project.run("install", "--yes")
    waiting = command(holdfast_project, "start", "Patient")
    time.sleep(2.5)
    assert waiting.poll() is None
    holder.kill()
    with waiting:
        stdout, stderr = waiting.communicate(timeout=30)
    assert (waiting.returncode, stderr) == (0, b"")
    assert b"Workflow started: Patient" in stdout


def test_session_start_waits_for_a_held_lock_once(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It waited a second time to note what it had told."""
    holdfast_project.declare("W")
    holdfast_project.write(
        ".claude/holdfast/ledger.json", '{"finished": {}, "ignored": {}, "notices": ["a note"]}'
    )
    with Store(holdfast_project.root).lock(1):
        begun = time.monotonic()
        message = compaction_cycle.start().message
        assert time.monotonic() - begun < 3.5
    assert "a note" in message
    assert "a note" in compaction_cycle.start().message
    assert "a note" not in compaction_cycle.start().message


def test_a_reader_never_sees_half_a_state(tmp_path: Path) -> None:
    """Writes of very different sizes, read all the while."""
    store = Store(tmp_path)
    path = tmp_path / "untracked" / "x.json"
    sizes = [10, 100_000, 1_000]
    seen: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(len(path.read_bytes()))
            except FileNotFoundError:
                continue

    reader = threading.Thread(target=read)
    reader.start()
    with store.lock(1):
        for index in range(90):
            store.write(path, b"x" * sizes[index % 3])
    stop.set()
    reader.join()
    assert seen <= set(sizes)
    assert len(seen) > 1
    assert os.listdir(store.private / "tmp") == []
