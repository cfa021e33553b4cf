"""What a clone can have in the places where Holdfast keeps what is its own."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.files.fingerprints import digest
from holdfast.files.inputs import Search
from holdfast.testing import Compactions, Project

OWN = ".claude/holdfast"


@pytest.mark.parametrize("own", [OWN, f"{OWN}/tmp"])
def test_the_clean_up_went_through_a_link_to_a_folder_of_the_project(
    own: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Every file in it was removed at the next save, by a hook that nobody had asked for anything."""
    source = holdfast_project.write("src/main.py", "print()\n")
    kept = holdfast_project.write("src/tmp/notes.md", "notes\n")
    source.parent.chmod(0o755)
    link = holdfast_project.root / own
    link.parent.mkdir(parents=True)
    link.symlink_to(source.parent)
    holdfast_project.declare("W")
    cycle = compaction_cycle()
    assert "W" in cycle.guidance
    assert "a link leads there" in cycle.message
    assert sorted(path.name for path in source.parent.rglob("*")) == ["main.py", "notes.md", "tmp"]
    assert kept.read_text() == "notes\n"
    assert source.parent.stat().st_mode & 0o777 == 0o755


def test_the_clean_up_takes_only_what_a_save_leaves_behind(holdfast_project: Project) -> None:
    """And all of that."""
    holdfast_project.write(f"{OWN}/tmp/.tmp-1-2-3", "{")
    holdfast_project.write(f"{OWN}/tmp/somebody's", "x")
    holdfast_project.run("start", "W")
    assert os.listdir(holdfast_project.root / OWN / "tmp") == ["somebody's"]


@pytest.mark.parametrize("inside", [False, True])
def test_copies_behind_a_link_are_another_projects(
    inside: bool, tmp_path: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Those of files that were not in this project counted as left over, and were removed there."""
    other = holdfast_project.root / "other" if inside else tmp_path / "other"
    kept = other / "copies" / ".claude%2Fworkflow-state%2Factive%2Fdev-a1b2c3d4.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"path": ".claude/workflow-state/active/dev-a1b2c3d4.json", "good": "{}"}')
    holdfast_project.run("skill", "start", "dev", "mine")
    copies = holdfast_project.root / OWN / "copies"
    copies.rename(tmp_path / "before")
    copies.symlink_to(kept.parent)
    (state,) = (holdfast_project.root / ".claude/workflow-state/active").iterdir()
    state.touch()
    assert "Mine" in compaction_cycle().guidance
    assert list(kept.parent.iterdir()) == [kept]


@pytest.mark.parametrize("known", [False, True])
def test_a_checkout_that_claims_to_be_a_worktree_of_another_repository(
    known: bool, tmp_path: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A planted `.git` had the other one's workflow read, restored and written."""
    other = Project(tmp_path / "other", holdfast_project.home, holdfast_project.clock)
    other.git("init", "-q", "-b", "main")
    other.declare("Theirs")
    fake = holdfast_project.root / "fake"
    if known:  # an existing worktree of the other one, that is somewhere else
        other.git("add", ".")
        other.git("commit", "-qm", "a")
        other.git("worktree", "add", "-q", str(tmp_path / "side"))
        fake = other.root / ".git" / "worktrees" / "side"
    else:
        fake.mkdir()
        (fake / "commondir").write_text(str(other.root / ".git"))
    holdfast_project.write(".git", f"gitdir: {fake}\n")
    cycle = compaction_cycle()
    assert "Theirs" not in cycle.note + cycle.guidance + cycle.message
    assert not (other.root / ".claude").exists()


@pytest.mark.parametrize("link", ["workspace/sessions", "workspace", "workspace/logs"])
def test_a_cancel_that_came_with_a_clone_removes_nothing_behind_a_link(
    link: str, holdfast_project: Project
) -> None:
    """A note of an interrupted one had the next command remove folders of the project for good."""
    inside = "sessions/" if link == "workspace" else ""
    for path in ("s/data-runs/x/kept", "s/workflow-state/kept.json"):
        holdfast_project.write(f"data/{inside}{path}", "{}")
    log = holdfast_project.write("data/workflow-orchestration/kept.log", "{}")
    before = sorted((holdfast_project.root / "data").rglob("*"))
    path = holdfast_project.root / link
    if link == "workspace/logs":
        holdfast_project.write("workspace/sessions/s/workflow-state/kept.json", "{}")
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(holdfast_project.root / "data")
    noted = ("sessions/s/workflow-state/kept.json", "logs/workflow-orchestration/kept.log")
    removed = [
        {"path": f"workspace/{name}", "before": digest(b"{}"), "after": None} for name in noted
    ]
    note = json.dumps({"version": 1, "changes": removed})
    holdfast_project.write(f"{OWN}/unfinished/pipeline.json", note)
    holdfast_project.run("pipeline", "session", "create", "q")
    assert set(before) <= set((holdfast_project.root / "data").rglob("*"))
    assert log.exists()


def test_globs_of_a_project_that_go_round_in_circles(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """With links to folders above, a glob of many parts kept a hook busy for good."""
    loop = holdfast_project.write("loop/a", "").parent
    for name, target in (("up", ".."), ("again", ".."), ("here", ".")):
        (loop / name).symlink_to(target)
    holdfast_project.declare("W")
    holdfast_project.write(".claude/holdfast.toml", f'plans = ["{"*/" * 25}PLAN.md"]\n')
    before = time.process_time()
    cycle = compaction_cycle()
    assert time.process_time() - before < 5
    assert "W" in cycle.guidance
    assert "not searched to the end" in holdfast_project.run("why").stdout


def test_a_glob_finds_what_it_found_before(tmp_path: Path) -> None:
    """As `glob` does, without what begins with a dot, and through links."""
    names = ["PLAN.md", "a/PLAN.md", "a/b/PLAN.md", "a/b/plan-1.md", ".h/PLAN.md", "c [x]/PLAN.md"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for pattern in ("PLAN.md", "*/PLAN.md", "*/*/*.md", "a/b/plan-?.md", ".*/PLAN.md", "c [[]x]/*"):
        found = sorted(Search(tmp_path).find(pattern))
        assert found == sorted(glob.glob(pattern, root_dir=tmp_path)) != []
    assert list(Search(tmp_path).find("./a//PLAN.md")) == ["a/PLAN.md"]
    assert list(Search(tmp_path).find("/".join(["a"] * 30_000))) == []


def test_a_log_of_learnings_that_is_a_link_is_not_archived(
    tmp_path: Path, holdfast_project: Project
) -> None:
    """What it led to, anywhere, was copied into the project with the run that was put away."""
    secret = tmp_path / "secret"
    secret.write_text("sk-secret\n")
    holdfast_project.write("tasks.md", "# Tasks\n\n## Phase 1\n\n- [ ] 1.1 A\n")
    holdfast_project.run("orchestrate", "start", "tasks.md")
    holdfast_project.run("orchestrate", "fail", "for a test")
    log = holdfast_project.root / ".claude" / "learnings.jsonl"
    log.unlink(missing_ok=True)
    log.symlink_to(secret)
    holdfast_project.run("orchestrate", "archive")
    archive = holdfast_project.root / OWN / "archive"
    kept = [path for path in archive.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"sk-secret" in path.read_bytes() for path in kept)


@pytest.mark.parametrize("now", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "soon"])
def test_a_clock_at_the_end_of_time(now: str, holdfast_project: Project) -> None:
    """A command failed with a traceback, since a minute later could not be expressed."""
    holdfast_project.declare("W")
    environment = {**holdfast_project.environment("session-1"), "HOLDFAST_NOW": now}
    for command in (["phase", "next"], ["remind", "x"], ["status"], ["complete", "W"]):
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *command],
            cwd=holdfast_project.root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def test_every_folder_of_the_users_is_the_owners_alone(holdfast_project: Project) -> None:
    """Only the last of those that were made at once was, whatever the umask; the others followed it."""
    umask = os.umask(0)
    try:
        holdfast_project.declare("W")
        Compactions(holdfast_project)(2)
        holdfast_project.run("phase", "next", session="session-1")
    finally:
        os.umask(umask)
    state = holdfast_project.home / ".local"
    folders = [state, *(path for path in state.rglob("*") if path.is_dir())]
    assert len(folders) > 5
    assert {oct(path.stat().st_mode & 0o777) for path in folders} == {"0o700"}
