"""Every record of ours says its version: an older one is read, a newer one is left alone and said."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import Codex, Copilot, Gemini

from holdfast.files import ownjson
from holdfast.files.ownjson import VERSION
from holdfast.records.hooklog import ROOT
from holdfast.testing import Compactions, Project

SESSION = "session-1"
NEWER = "was written by a newer Holdfast (format 99, this one knows 1); it is left alone"
# What a whole life leaves behind that carries a version, by its place in the project or in the user's folder.
IN_THE_PROJECT = {
    "ledger": "ledger*.json",
    "copies": "copies/*",
}
OF_A_SESSION = {
    "sessions": "sessions/*.json",
    "sessionlogs": "sessionlogs/*.jsonl",
}
IN_THE_USERS_FOLDER = OF_A_SESSION | {
    "log": "projects/*/hook.jsonl",
    "counts": "projects/*/compactions.jsonl",
    "summaries": "projects/*/summaries.jsonl",
}
KINDS = {"bookkeeping", *IN_THE_PROJECT, *IN_THE_USERS_FOLDER}
LINES = {"sessionlogs", "counts", "summaries"}  # of which only the first has a version


@pytest.fixture
def life(holdfast_project: Project, compaction_cycle: Compactions) -> Project:
    """A project in which everything that leaves a record has happened."""
    project = holdfast_project
    project.write("docs/guide.md", "# Guide\n")
    project.run("start", "Ended", "--phases", "A,B")
    project.run("complete", "Ended")
    project.run("install")
    project.declare("Work", phase="2/4 - Build", reading=["@docs/guide.md"])
    edited(compaction_cycle, "one.py")
    compaction_cycle.fire("TaskCreated", task_id="1", task_subject="Write the tests")
    compaction_cycle()
    project.run("remind", "Mind the gap", session=SESSION)
    asked_by_others(project)
    edited(compaction_cycle, "two.py")
    return project


def asked_by_others(project: Project) -> None:
    """Agents of which more has to be known from one event to the next."""
    door = Compactions(project).door()
    for kind in (Codex, Copilot):
        asking = kind(project, SESSION)
        for event in ("PreCompact", "SessionStart", "UserPromptSubmit", "PreCompact"):
            door.fire(asking.payload(event, source="resume", trigger="auto"), *asking.options())
    gemini = Gemini(project, SESSION)
    door.fire(gemini.payload("SessionStart", source="startup"), *gemini.options())


def edited(compaction_cycle: Compactions, name: str) -> None:
    path = str(compaction_cycle.project.root / name)
    compaction_cycle.fire("PostToolUse", tool_name="Write", tool_input={"file_path": path})


def private(project: Project) -> Path:
    return project.root / ".claude" / "holdfast"


def users(project: Project) -> Path:
    return project.home / ".local" / "state" / "holdfast"


def kept(project: Project, kind: str) -> list[Path]:
    """The files of that kind."""
    if kind == "bookkeeping":
        return project.state_files()
    if kind in IN_THE_PROJECT:
        return sorted(private(project).glob(IN_THE_PROJECT[kind]))
    return sorted(users(project).glob(IN_THE_USERS_FOLDER[kind]))


def records(path: Path) -> list[dict[str, Any]]:
    """What in a file carries a version: the whole, its lines, or the part that is ours."""
    try:
        whole = json.loads(path.read_bytes())
    except ValueError:
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    own = whole.get("holdfast")
    return [own if isinstance(own, dict) else whole]


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change each record of the file; the file's time stays, so that nothing seems edited."""
    times = path.stat()
    try:
        whole = json.loads(path.read_bytes())
    except ValueError:
        lines = (change(json.loads(line)) for line in path.read_bytes().splitlines())
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    else:
        own = "holdfast" in whole and isinstance(whole["holdfast"], dict)
        whole = {**whole, "holdfast": change(whole["holdfast"])} if own else change(whole)
        path.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def unversioned(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "version"}


def newer(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "version": 99}


def written_by_a_newer(project: Project, kind: str) -> dict[Path, bytes]:
    """Make all files of that kind a newer release's; returns what they hold."""
    files = kept(project, kind)
    assert files
    for path in files:
        rewrite(path, newer)
    return {path: path.read_bytes() for path in files}


def untouched(files: dict[Path, bytes]) -> bool:
    return all(path.is_file() and path.read_bytes() == data for path, data in files.items())


def everything(project: Project) -> Iterator[Path]:
    """But what is no record: parts of a reading, copies of the client's settings, and where a project lies."""
    others = {users(project) / "parts", users(project) / "backups"}
    for top in (private(project), users(project), project.root / "untracked"):
        files = (path for path in sorted(top.rglob("*")) if path.is_file() and path.name != ROOT)
        yield from (path for path in files if others.isdisjoint(path.parents))


def last_run(project: Project) -> str:
    return project.run("log", "-n", "3").stdout


def test_what_is_newer_has_a_higher_version() -> None:
    """A number that is not there, not whole, or lower, is read."""
    for version in (0, 1, None, "99", 1.5, [], -1):
        assert not ownjson.is_newer({"version": version})
    assert ownjson.is_newer({"version": VERSION + 1})
    assert not ownjson.is_newer(["version", 99])


def test_every_record_after_a_whole_life_carries_its_version(life: Project) -> None:
    """A new kind of file is either in the table of versions or named here."""
    not_ours_alone = {".gitignore", "lock"}  # no records
    archived = private(life) / "archive"  # states, which carry it as they did
    found = set()
    for path in everything(life):
        if path.name in not_ours_alone or path.suffix == ".lock":
            continue
        kinds = [kind for kind in KINDS if path in kept(life, kind)]
        assert kinds or archived in path.parents, path
        first = slice(1) if LINES.issuperset(kinds) else slice(None)
        assert all(each.get("version") == 1 for each in records(path)[first]), path
        found.update(kinds)
    assert found == KINDS


def test_a_whole_life_without_versions_goes_on(
    life: Project, compaction_cycle: Compactions
) -> None:
    """As the release before this rule left it: nothing is lost, and nothing is complained about."""
    for path in everything(life):
        if path.name not in {".gitignore", "lock"}:
            rewrite(path, unversioned)
    cycle = compaction_cycle()
    assert "phase 2 of 4: Build." in cycle.guidance
    assert "Mind the gap" in cycle.guidance
    assert "two.py" in cycle.guidance
    assert "changed since" not in cycle.guidance
    assert "newer Holdfast" not in cycle.message
    shown = json.loads(life.run("status", "--json").stdout)
    assert shown["compactions"]["count"] == 2
    assert "Ended: completed" in life.run("list", "--all").stdout
    assert life.state()["holdfast"]["version"] == 1


def test_nothing_is_written_where_nothing_changed(
    life: Project, compaction_cycle: Compactions
) -> None:
    """The version is part of what is compared."""
    compaction_cycle()
    compaction_cycle.fire("PreCompact", trigger="auto")
    before = {path: path.stat().st_mtime_ns for path in kept(life, "sessions")}
    before |= {path: path.stat().st_mtime_ns for path in life.state_files()}
    compaction_cycle.fire("PreCompact", trigger="auto")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_newer_state_is_restored_and_left_alone(
    life: Project, compaction_cycle: Compactions
) -> None:
    """Its documented fields are read; the hooks go on, and the person is told once a session."""
    files = written_by_a_newer(life, "bookkeeping")
    life.declare("Work", phase="3/4 - Check")
    before = compaction_cycle.fire("PreCompact", trigger="auto")
    assert (before.code, before.stderr) == (0, "")
    cycle = compaction_cycle()
    assert "phase 2 of 4: Build." in cycle.guidance
    assert "Mind the gap" in cycle.guidance
    assert NEWER in cycle.message
    assert NEWER in life.run("why").stdout
    assert NEWER in " ".join(life.run("status").stdout.split())
    for command in (
        ("phase", "next"),
        ("remind", "More"),
        ("complete",),
        ("undo",),
        ("block", "no"),
    ):
        done = life.run(*command, check=False)
        assert (done.returncode, NEWER in done.stderr) == (1, True), command
    assert untouched(files)
    assert len(kept(life, "bookkeeping")) == 1
    assert not list((private(life) / "archive").glob("*state-work-*"))


def test_a_newer_state_whose_notes_mean_nothing_to_us_is_still_the_same_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also one that is known by its plan, and not by its name."""
    project = holdfast_project
    project.plan("001-auth", {"Design": ["x think"], "Build": ["type"]}, title="Auth")
    compaction_cycle()
    (path,) = project.state_files()
    rewrite(path, lambda _: {"version": 99, "identity": ["another", "thing"]})
    before = path.read_bytes()
    project.plan("001-auth", {"Design": ["x think"], "Build": ["x type"]}, title="Auth")
    cycle = compaction_cycle()
    assert "phase 2 of 2: Build." in cycle.guidance
    assert cycle.message.count(NEWER) == 1
    assert project.state_files() == [path]
    assert path.read_bytes() == before


def test_a_newer_state_of_another_shape_is_not_taken_for_a_broken_one(
    life: Project, compaction_cycle: Compactions
) -> None:
    """There is a good copy, but what lies there is no rubbish."""
    (path,) = life.state_files()
    path.write_text('{"name": "Work", "holdfast": {"version": 99}}')
    before = path.read_bytes()
    compaction_cycle()
    assert path.read_bytes() == before
    assert not (private(life) / "quarantine").exists()
    assert NEWER in life.run("why").stdout


def test_a_broken_state_with_a_newer_copy_is_left_for_the_newer_release(
    life: Project, compaction_cycle: Compactions
) -> None:
    """What we would write from the copy would drop what we do not know."""
    for path in life.state_files():
        rewrite(path, newer)
        good = path.read_text()
        (copies,) = kept(life, "copies")
        rewrite(copies, lambda record, good=good: {**record, "good": good})
        path.write_text("{")
        os.utime(path, (0, 0))
    cycle = compaction_cycle()
    assert "phase 2 of 4: Build." in cycle.guidance
    assert NEWER in cycle.message
    assert [path.read_text() for path in life.state_files()] == ["{"]


def test_a_newer_ledger_counts_and_is_left_alone(
    life: Project, compaction_cycle: Compactions
) -> None:
    """What is finished stays so; what would write it fails before it changes anything else."""
    life.declare("Ended", phase="1/2 - A")
    compaction_cycle()
    life.run("complete", "Ended")
    files = written_by_a_newer(life, "ledger")
    archived = sorted((private(life) / "archive").iterdir())
    before = compaction_cycle.fire("PreCompact", trigger="auto")
    assert (before.code, before.stderr) == (0, "")
    cycle = compaction_cycle()
    assert '"Ended"' not in cycle.guidance
    assert NEWER in cycle.message
    for command in (("complete", "Work"), ("ignore", "Work"), ("start", "Another")):
        done = life.run(*command, check=False)
        assert (done.returncode, NEWER in done.stderr) == (1, True), command
    for path in life.state_files():  # ended by hand, which would be noted
        path.unlink()
    compaction_cycle()
    assert untouched(files)
    assert sorted((private(life) / "archive").iterdir()) == archived


def test_a_newer_copy_of_the_ledger_is_left_alone(life: Project) -> None:
    """It is written beside the ledger."""
    copy = private(life) / "ledger.last.json"
    rewrite(copy, newer)
    before = copy.read_bytes()
    done = life.run("ignore", "Work", check=False)
    assert (done.returncode, NEWER in done.stderr) == (1, True)
    assert copy.read_bytes() == before


def test_newer_copies_are_left_alone(life: Project, compaction_cycle: Compactions) -> None:
    """The state is saved all the same; only undo, which they are for, has to wait."""
    files = written_by_a_newer(life, "copies")
    life.run("phase", "next", session=SESSION)
    cycle = compaction_cycle()
    assert "phase 3 of 4" in cycle.guidance
    assert NEWER in cycle.message
    done = life.run("undo", check=False)
    assert (done.returncode, NEWER in done.stderr) == (1, True)
    life.run("complete", "Work")
    assert untouched(files)


@pytest.mark.parametrize("kind", OF_A_SESSION)
def test_a_newer_record_of_a_session_is_not_used_and_left_alone(
    kind: str, life: Project, compaction_cycle: Compactions
) -> None:
    """The hooks do without it, commands as well, and the log says so once a run."""
    files = written_by_a_newer(life, kind)
    edited(compaction_cycle, "three.py")
    compaction_cycle.fire("PreToolUse", tool_name="Write", tool_input={"file_path": "x"})
    cycle = compaction_cycle()
    assert "phase 2 of 4: Build." in cycle.guidance
    assert len(cycle.reading) == 1
    runs = json.loads(life.run("log", "--json", "-n", "4").stdout)
    runs = [run for run in runs if not run["decided"].startswith("sent reading")]
    assert len(runs) == 3
    for run in runs:
        assert sum(NEWER in line for line in run["why"]) == len(files)
    life.run("remind", "Again", session=SESSION)
    life.run("phase", "next", session=SESSION)
    compaction_cycle(in_process=False)
    asked_by_others(life)
    assert untouched(files)


@pytest.mark.parametrize("kind", OF_A_SESSION)
def test_a_newer_record_that_nobody_uses_is_not_cleared_away(
    kind: str, life: Project, compaction_cycle: Compactions
) -> None:
    """It belongs to whoever understands it, however old it is."""
    files = written_by_a_newer(life, kind)
    for path in files:
        os.utime(path, (0, 0))
    edited(compaction_cycle, "four.py")
    for session in ("another", "third"):
        compaction_cycle(session=session)
        compaction_cycle.fire(
            "PostToolUse",
            session=session,
            tool_name="Write",
            tool_input={"file_path": str(life.root / "five.py")},
        )
    assert untouched(files)


def test_lines_of_a_newer_log_are_passed_over_and_said(
    life: Project, compaction_cycle: Compactions
) -> None:
    """Lines are only added, so each has its own version."""
    files = written_by_a_newer(life, "log")
    compaction_cycle()
    done = life.run("log", "--json")
    events = [run["event"] for run in json.loads(done.stdout)]
    assert events == ["PreCompact", "SessionStart", "SessionStart", "PostCompact"]
    assert done.stderr.count(NEWER) == 1
    assert all(path.read_bytes().startswith(data) for path, data in files.items())
