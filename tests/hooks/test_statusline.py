"""The status line: what it shows, how much room it takes, and that it never gets in the way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.hooks import statusline
from holdfast.testing import Compactions, Project
from holdfast.text.room import width

ROOT = Path(__file__).parents[2]
SESSION = "session-1"
FIELDS = (
    *("workspace", "current_dir", "project_dir", "cwd", "session_id"),
    *("context_window", "used_percentage"),
)


def status(project: Project, context: object = 62, **more: object) -> dict[str, Any]:
    """As the client sends it, but for what is not looked at."""
    folder = str(project.root)
    return {
        "session_id": SESSION,
        "cwd": folder,
        "workspace": {"current_dir": folder, "project_dir": folder, "added_dirs": []},
        "context_window": {"context_window_size": 200_000, "used_percentage": context},
        **more,
    }


def line(
    project: Project,
    sent: object | None = None,
    *arguments: str,
    cwd: Path | None = None,
    **more: str,
) -> str:
    """What the process prints; it always ends well and says nothing else."""
    raw = sent if isinstance(sent, bytes) else json.dumps(sent or status(project)).encode()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "statusline", *arguments],
        input=raw,
        cwd=cwd or project.root,
        env={**project.environment(), **more},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """All files below *folder*, with their times."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


def written(folder: Path, before: Mapping[str, object] | None = None) -> list[Path]:
    """The files below *folder* that were not there *before*, or were not so."""
    now = everything(folder).items()
    return [Path(name) for name, one in now if one[1] and one != (before or {}).get(name)]


@pytest.fixture
def saved(holdfast_project: Project, compaction_cycle: Compactions) -> Project:
    """A workflow that is saved."""
    holdfast_project.declare("Page Orchestration", phase="4/10 - SEO Generation")
    compaction_cycle()
    return holdfast_project


def test_workflow_phase_and_context_in_one_line(saved: Project) -> None:
    """The example of the documentation."""
    expected = "Page Orchestration 4/10 SEO Generation · context 62%\n"
    assert line(saved) == expected
    assert expected in (ROOT / "docs" / "statusline.md").read_text(encoding="utf-8")


def test_it_looks_where_the_client_is(saved: Project, tmp_path: Path) -> None:
    """Not where the process was started."""
    assert line(saved, cwd=tmp_path).startswith("Page Orchestration 4/10")
    assert line(saved, status(saved, workspace=None), cwd=tmp_path).startswith("Page Orchestration")


def test_a_session_has_its_own_workflow(saved: Project) -> None:
    """By the session_id of the client."""
    saved.run("start", "Another", "--phases", "A,B", session="other")
    assert line(saved).startswith("Page Orchestration 4/10")
    assert line(saved, status(saved, session_id="other")).startswith("Another 1/2 A")


def test_a_state_that_is_behind_has_a_sign(saved: Project) -> None:
    """Until it is saved."""
    saved.declare("Page Orchestration", phase="5/10 - Images")
    assert line(saved, NO_COLOR="1") == "Page Orchestration 5/10 Images · ✱ unsaved · context 62%\n"
    saved.run("remind", "x")
    assert "unsaved" not in line(saved)


def test_a_blocked_phase_says_so(saved: Project) -> None:
    """In red."""
    saved.run("block")
    assert " SEO Generation · \x1b[31mblocked\x1b[0m · context" in line(saved)


@pytest.mark.parametrize(
    ("context", "shown"),
    [
        (0, "context 0%"),
        (75, "context 75%"),
        (75.6, "\x1b[33mcontext 76%\x1b[0m"),
        (90, "\x1b[33mcontext 90%\x1b[0m"),
        (91, "\x1b[31mcontext 91%\x1b[0m"),
        (None, ""),
        (True, ""),
        ("62", ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (-1, ""),
        ([], ""),
    ],
)
def test_how_full_the_context_is(context: object, shown: str, holdfast_project: Project) -> None:
    """Also without a workflow; what is no percentage is left out."""
    assert line(holdfast_project, status(holdfast_project, context)) == (shown and f"{shown}\n")


@pytest.mark.parametrize("refused", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(refused: dict[str, str], saved: Project) -> None:
    """Though the output is no terminal in either case."""
    saved.run("block")
    sent = status(saved, 99)
    assert "\x1b" in line(saved, sent, NO_COLOR="")
    assert "\x1b" not in line(saved, sent, **refused)


@pytest.mark.parametrize(
    "columns", ["", "240", "80", "44", "30", "12", "11", "10", "5", "3", "1", "x", "-5"]
)
@pytest.mark.parametrize("name", ["Long " * 30, "日本語" * 30, "Short"])
def test_the_line_fits(
    name: str, columns: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """80 columns, or what the client's terminal has; but the number of the phase is never cut."""
    holdfast_project.declare(name.strip(), phase="4/10 - " + "Generation 世代 " * 10)
    shown = line(holdfast_project, COLUMNS=columns, NO_COLOR="1")
    room = int(columns) if columns.isdecimal() else 80
    assert shown.count("\n") == 1
    assert width(shown.removesuffix("\n")) <= max(min(room, 80), len("4/10"))
    assert re.search(r"(^| )4/10\b", shown)
    if room >= 80:
        assert shown.endswith("… · ✱ unsaved · context 62%\n")


def test_what_a_file_says_cannot_steer_the_terminal(holdfast_project: Project) -> None:
    """Nor break the line."""
    holdfast_project.declare("\x1b[31mRed\x07 \u202ename", phase="1/2 - \x1b]0;title\x07A")
    assert line(holdfast_project, NO_COLOR="1").startswith("Red name 1/2 A ·")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"7", b"[" * 100_000])
def test_input_that_is_no_status_leaves_what_is_known(raw: bytes, saved: Project) -> None:
    """Where it was started there is a workflow; only how full the context is nobody has said."""
    assert line(saved, raw) == "Page Orchestration 4/10 SEO Generation\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_a_terminal_it_does_not_wait_for_input(saved: Project) -> None:
    """Somebody tries it; nothing is sent, and the terminal stays open."""
    import pty

    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "statusline"],
            stdin=theirs,
            cwd=saved.root,
            env=saved.environment(),
            capture_output=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"Page Orchestration 4/10 SEO Generation\n"


def test_arguments_are_passed_over(saved: Project) -> None:
    """Wrong use would exit with 2."""
    assert line(saved, None, "--what").startswith("Page Orchestration")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
        ),
    )
)
def test_no_status_breaks_it(sent: object) -> None:
    """Whatever the fields hold, the line is one line."""
    with tempfile.TemporaryDirectory() as nowhere, contextlib.chdir(nowhere):
        shown = statusline.run(json.dumps(sent).encode())
    assert re.fullmatch(r"(\x1b\[3[13]m)?(context \d{1,4}%)?(\x1b\[0m)?", shown)


def test_what_is_broken_leaves_the_context(saved: Project) -> None:
    """A folder that is gone, a state that nobody can read, settings that are wrong."""
    gone = {"current_dir": "/nonexistent/\0", "project_dir": "/nonexistent"}
    assert line(saved, status(saved, workspace=gone)) == "context 62%\n"
    saved.write(".claude/holdfast.toml", "nonsense")
    assert line(saved).startswith("Page Orchestration")
    (saved.root / "CLAUDE.local.md").unlink()
    saved.state_files()[0].write_bytes(b"{")
    assert line(saved).endswith("context 62%\n")


def test_switched_off_it_shows_the_context_alone(saved: Project) -> None:
    """In each of the ways to switch Holdfast off."""
    assert line(saved, HOLDFAST_DISABLE="1") == "context 62%\n"
    saved.write(".claude/holdfast.toml", "enabled = false\n")
    assert line(saved) == "context 62%\n"


def test_it_writes_nothing_and_waits_for_no_lock(saved: Project) -> None:
    """Though a save is due, and somebody else holds the lock. It only prepares its next answer."""
    from holdfast.files.store import Store

    saved.declare("Page Orchestration", phase="5/10 - Images")
    with Store(saved.root).lock(1):
        before = everything(saved.root), everything(saved.home)
        assert "5/10" in line(saved)
        assert everything(saved.root) == before[0]
        (kept,) = written(saved.home, before[1])
        assert kept.name.endswith("-status.json")


def test_in_an_empty_project_nothing_is_written(holdfast_project: Project) -> None:
    """Not even a log; only that there is nothing, for the next time."""
    line(holdfast_project)
    assert everything(holdfast_project.root) == {}
    assert [path.name[-10:] for path in written(holdfast_project.home)] == ["-idle.json"]


def test_without_a_workflow_little_is_loaded(holdfast_project: Project) -> None:
    """It is started all the time."""
    code = (
        "import sys, holdfast.__main__ as m; sys.argv = ['holdfast', 'statusline'];"
        "m.main(); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(status(holdfast_project)).encode(),
        env=holdfast_project.environment(),
        cwd=holdfast_project.root,
        capture_output=True,
        check=True,
    )
    loaded = set(done.stdout.decode().split())
    assert "holdfast.hooks.statusline" in loaded
    assert not loaded & {"click", "pydantic", "pathlib", "dataclasses", "holdfast.workflows.sync"}


def test_the_documented_settings_work(saved: Project) -> None:
    """The snippet, with the command that a person would have on the PATH."""
    text = (ROOT / "docs" / "statusline.md").read_text(encoding="utf-8")
    settings = json.loads(text.split("```json\n")[1].split("```")[0])
    assert settings["statusLine"]["type"] == "command"
    done = subprocess.run(
        ["sh", "-c", settings["statusLine"]["command"]],
        input=json.dumps(status(saved)).encode(),
        env={
            **saved.environment(),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        cwd=saved.root,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().startswith("Page Orchestration 4/10")


def test_it_has_help(holdfast_project: Project) -> None:
    """From the command line, which has it in its list."""
    assert "status line" in holdfast_project.run("statusline", "--help").stdout
    assert "statusline" in holdfast_project.run("--help").stdout
