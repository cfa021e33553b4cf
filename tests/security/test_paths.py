"""Nothing outside the project is read, sent, written or removed, whatever a path in it says or leads to.

tests/found/test_hostile.py, tests/found/test_delivery.py (links swapped meanwhile), tests/test_store.py and
the tests of the formats have the cases of each; here are those that go through all formats at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fuzzing.house import House
from holdfast.config import settings
from holdfast.errors import StateUnreadable
from holdfast.files.regular import read_file
from holdfast.files.store import Store
from holdfast.formats.canonical import files
from holdfast.formats.canonical.files import look_at_markdown
from holdfast.testing import Compactions, Project

OUTSIDE = "sk-nobody-may-see-this"
KEPT_IN = (
    "CLAUDE.local.md",
    "PLAN.md",
    "untracked/workflow-state/w/state-w-1.json",
    ".claude/workflow-state/active/dev-a1b2c3d4.json",
    "workflow/user-auth/workflow-state.json",
    "workflow/user-auth/01-requirements/status.json",
    ".claude/agent-state.json",
    "workspace/workflow-state/generation-1.json",
    "workspace/sessions/s/workflow-state/generation-1.json",
    "workspace/workflow-definitions/review.toml",
    ".claude/holdfast.toml",
    ".claude/holdfast/ledger.json",
    ".claude/holdfast/copies/x",
    ".claude/holdfast/ledger.last.json",
)
_LOOKING = (["status"], ["list"], ["why"])


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that reads as something in every format."""
    folder = tmp_path / "outside"
    folder.mkdir()
    secret = folder / "secret"
    secret.write_text(
        json.dumps(
            {
                "workflow": OUTSIDE,
                "phase": 1,
                "workflow_id": OUTSIDE,
                "tasks": [],
                "notices": [OUTSIDE],
            }
        )
    )
    return secret


@pytest.mark.parametrize("path", KEPT_IN)
def test_a_link_at_any_place_that_is_read(
    path: str, outside: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """To a file, and its folder to a folder; what it leads to is neither told nor touched."""
    before = outside.read_bytes(), outside.stat().st_mtime_ns
    link = holdfast_project.root / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    cycle = compaction_cycle(2)
    said = cycle.note + cycle.guidance + cycle.message + "".join(cycle.reading)
    said += "".join(holdfast_project.run(*each, check=False).stdout for each in _LOOKING)
    assert OUTSIDE not in said
    assert (outside.read_bytes(), outside.stat().st_mtime_ns) == before
    assert list(outside.parent.iterdir()) == [outside]


@pytest.mark.parametrize("path", KEPT_IN)
@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_hangs_nothing(
    path: str, kind: str, holdfast_project: Project, tmp_path: Path
) -> None:
    """Opening a FIFO waits for a writer, and /dev/zero has no end."""
    target = holdfast_project.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to("/dev/zero")
    if path != "CLAUDE.local.md":
        holdfast_project.declare("Healthy")
    compactions = Compactions(holdfast_project)
    answers = []
    played = threading.Thread(target=lambda: answers.append(compactions()), daemon=True)
    played.start()
    played.join(20)
    assert answers, "it hangs"
    assert path == "CLAUDE.local.md" or "Healthy" in answers[0].guidance


@pytest.mark.parametrize(
    "path",
    ["../outside/secret", "{outside}", "docs/../../outside/secret", "/proc/self/environ", "~/secret",
     "link", "docs/link/secret", "/dev/stdin", "file://{outside}", "..\\outside\\secret", "%2e%2e/outside/secret",
     "$HOME/secret", "/etc/passwd"],
)  # fmt: skip
def test_no_required_file_from_outside_is_sent(
    path: str, outside: Path, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """However the path is written."""
    (holdfast_project.root / "docs").mkdir()
    (holdfast_project.root / "link").symlink_to(outside)
    (holdfast_project.root / "docs" / "link").symlink_to(outside.parent)
    (holdfast_project.home / "secret").write_text(OUTSIDE)
    holdfast_project.declare("W", reading=[f"@{path.format(outside=outside)}"])
    cycle = compaction_cycle()
    assert "W" in cycle.guidance
    assert OUTSIDE not in cycle.guidance + "".join(cycle.reading)
    assert "root:" not in "".join(cycle.reading)
    assert cycle.reading == ()


def test_a_link_that_is_swapped_all_the_time(tmp_path: Path) -> None:
    """Between check and use: neither the state nor the required file is ever read from outside."""
    house, outside = House(tmp_path / "house"), tmp_path / "secret"
    outside.write_text(OUTSIDE)
    folder = house.project.root / "docs"
    house.put("CLAUDE.local.md", b"Workflow: W\nPhase: 1/2\n\n@docs/a.md\n")
    house.put("docs/a.md", b"harmless\n")
    with _swapping(folder / "a.md", outside):
        said = "".join(house.compact() for _ in range(20))
    assert "harmless" in said or "not sent" in said
    assert OUTSIDE not in said
    assert outside.read_text() == OUTSIDE


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_that_takes_its_place_at_the_last_moment(folder: bool, tmp_path: Path) -> None:
    """After it was found out where a path leads, and before it is opened."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for each, text in ((root / "docs", "harmless"), (outside, OUTSIDE)):
        each.mkdir(parents=True)
        (each / "a.md").write_text(text)
    path = root / "docs" / "a.md"
    gone, link = (path.parent, outside) if folder else (path, outside / "a.md")
    assert read_file(path, 100, within=root)[0] == b"harmless"

    def swap() -> None:
        gone.rename(tmp_path / "before")
        gone.symlink_to(link)

    _at_the_next_open.append((str(path), swap))
    with pytest.raises(StateUnreadable):
        read_file(path, 100, within=root)
    assert not _at_the_next_open
    assert gone.is_symlink()


_at_the_next_open: list[tuple[str, Callable[[], None]]] = []


def _opening(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _at_the_next_open and arguments[0] == _at_the_next_open[0][0]:
        _at_the_next_open.pop()[1]()


sys.addaudithook(_opening)


@pytest.mark.parametrize("what", ["markdown", "state", "settings"])
def test_what_declares_and_keeps_is_read_in_the_project_alone(
    what: str, tmp_path: Path, holdfast_project: Project
) -> None:
    """A link had to take its place between the look at where it leads and the opening."""
    store, outside = Store(holdfast_project.root), tmp_path / "outside"
    if what == "settings":
        path = holdfast_project.write(".claude/holdfast.toml", "stale_days = 1\n")
        outside.write_text("stale_days = 77\n")
    elif what == "markdown":
        path = holdfast_project.declare("W")
        outside.write_text(path.read_text().replace("Workflow: W", f"Workflow: {OUTSIDE}"))
    else:
        holdfast_project.run("start", "W")
        (path,) = holdfast_project.state_files()
        outside.write_text(path.read_text().replace('"W"', f'"{OUTSIDE}"'))

    def swap() -> None:
        path.unlink()
        path.symlink_to(outside)

    _at_the_next_open.append((str(path), swap))
    if what == "settings":
        days = settings.load(str(store.root), None).settings.stale_days
        said = OUTSIDE if days == 77 else ""
    elif what == "markdown":
        said = "".join(
            str(each.declaration) for each in look_at_markdown(store, ()) if each.declaration
        )
    else:
        (path,) = files.paths(store)
        held = files.KIND.read(store, path)
        said = str(held)
    assert path.is_symlink()
    assert OUTSIDE not in said


@contextlib.contextmanager
def _swapping(path: Path, outside: Path) -> Iterator[None]:
    """*path* is a file and a link by turns, as fast as a thread can."""
    over = threading.Event()
    file, link = path.with_name("file"), path.with_name("link")

    def swap() -> None:
        while not over.is_set():
            link.symlink_to(outside)
            os.replace(link, path)
            file.write_text("harmless\n")
            os.replace(file, path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_write_leaves_the_inode_that_was_there_alone(
    tmp_path: Path, holdfast_project: Project
) -> None:
    """A second name of a state, which may lie anywhere, keeps what it had."""
    holdfast_project.run("start", "W", "--phases", "A,B")
    (state,) = holdfast_project.state_files()
    ledger = holdfast_project.write(".claude/holdfast/ledger.json", "{}")
    names = {path: tmp_path / f"{number}.json" for number, path in enumerate((state, ledger))}
    for path, name in names.items():
        os.link(path, name)
    before = {name: name.read_bytes() for name in names.values()}
    holdfast_project.run("phase", "next")
    holdfast_project.run("ignore", "W")
    assert {name: name.read_bytes() for name in names.values()} == before
    assert all(path.stat().st_ino != name.stat().st_ino for path, name in names.items())


def test_what_may_hold_private_text_is_its_owners_alone(holdfast_project: Project) -> None:
    """Copies, the archive, the record and the log, whatever the umask; states follow the umask."""
    umask = os.umask(0o022)
    try:
        holdfast_project.run("start", "W", "--phases", "A,B", session="session-1")
        holdfast_project.run("phase", "next", session="session-1")
        Compactions(holdfast_project)()
        (state,) = holdfast_project.state_files()
        assert stat.S_IMODE(state.stat().st_mode) == 0o644
        holdfast_project.run("complete", "W", session="session-1")
    finally:
        os.umask(umask)
    ours = holdfast_project.root / ".claude" / "holdfast"
    users = holdfast_project.home / ".local" / "state" / "holdfast"
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    for folder in (ours, users):
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
        assert files
        assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in files} == {"0o600"}


def test_our_folder_that_came_with_a_clone_is_closed_as_well(holdfast_project: Project) -> None:
    """git makes folders as the umask has it, and others could list what is kept."""
    holdfast_project.write(".claude/holdfast/ledger.json", "{}").parent.chmod(0o755)
    holdfast_project.run("start", "W")
    mode = (holdfast_project.root / ".claude" / "holdfast").stat().st_mode
    assert stat.S_IMODE(mode) == 0o700


@pytest.mark.parametrize(
    "name", ["../../evil", "/evil", "a/b", ".", "..", "~", "-rf", "\x1b[2J", "con", "x" * 300, "$(id)"]
)  # fmt: skip
def test_a_name_is_never_a_path(name: str, tmp_path: Path, holdfast_project: Project) -> None:
    """Of workflows, skills, features and sessions: what is made lies in its own folder."""
    holdfast_project.git("init", "-q", "-b", "main")
    before = set(tmp_path.iterdir())
    for command in (
        ["start"],
        ["gate", "start", "--title", "T"],
        ["pipeline", "session", "create"],
        ["skill", "start", "dev"],
    ):
        done = holdfast_project.run(*command, "--", name, check=False)
        assert done.returncode in {0, 1, 2}
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    assert set(tmp_path.iterdir()) == before
    made = {
        path.relative_to(holdfast_project.root).parts[0]
        for path in holdfast_project.root.rglob("*")
    }
    assert made <= {".git", ".claude", "untracked", "workflow", "workspace"}
