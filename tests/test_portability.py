"""What Holdfast does where a system has less than Linux: real processes that begin without it.

Windows and macOS themselves are not run here; docs/platforms.md says so.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import clock
from holdfast.files import ownjson
from holdfast.files.store import Store
from holdfast.formats.canonical import files
from holdfast.records import hooklog
from holdfast.testing import Project
from holdfast.testing.simulate import InSubprocess, Session, cycle

ROOT = Path(__file__).parents[1]

# Run by the interpreter before anything else. Without these modules and names other systems live.
WITHOUT_POSIX = """
import os, sys
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
for name in ("fchmod", "fchown", "getuid", "geteuid", "getgid", "mkfifo", "O_NOFOLLOW", "O_NONBLOCK",
             "O_CLOEXEC", "O_DIRECTORY", "pread", "fork", "chown", "lchown", "killpg", "getpgid",
             "setsid", "statvfs", "sysconf"):
    if hasattr(os, name):
        delattr(os, name)
"""
# A name that is held open by somebody for its first tries, or for good.
HELD = """
import os
_replace, _left = os.replace, [{tries}]
def replace(source, target, **options):
    if str(target).endswith({suffix!r}) and _left[0] > 0:
        _left[0] -= 1
        raise PermissionError(13, "The process cannot access the file", str(target))
    return _replace(source, target, **options)
os.replace = replace
"""
# Appending as Windows does it, in two steps, with its own lock made of the one that there is here.
APPENDS_IN_TWO_STEPS = """
import fcntl, os, subprocess, sys, time, types
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.LK_UNLCK = 2, 0
def locking(descriptor, how, count):
    flags = fcntl.LOCK_UN if how == windows.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB
    fcntl.lockf(descriptor, flags, count, 0, os.SEEK_CUR)
windows.locking = locking
_write = os.write
def write(descriptor, data):
    os.lseek(descriptor, 0, os.SEEK_END)
    time.sleep(0.001)
    return _write(descriptor, data)
if {with_lock}:
    sys.modules["msvcrt"] = windows
    sys.builtin_module_names += ("msvcrt",)
os.write = write
os.O_APPEND = 0
"""


def prepared(project: Project, folder: Path, prelude: str) -> dict[str, str]:
    """An environment whose interpreters run *prelude* first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(prelude, encoding="utf-8")
    return {**project.environment(), "PYTHONPATH": str(folder)}


def run(
    environment: dict[str, str], cwd: Path, *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments],
        env=environment,
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_a_whole_life_without_what_only_posix_has(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """Hooks and commands: nothing is missing, nothing fails, and everything comes back."""
    project = holdfast_project
    environment = prepared(project, tmp_path / "prelude", WITHOUT_POSIX)
    environment["CLAUDE_CODE_SESSION_ID"] = "s"
    project.write("docs/guide.md", "# Guide\n\nMind the gap.\n")
    project.declare("Größe 数据", phase="1/3 - A", reading=["@docs/guide.md"])
    door, session = InSubprocess(environment, str(project.root)), Session("s", str(project.root))
    for command in (("remind", "Größe"), ("phase", "next"), ("undo",), ("status",)):
        assert run(environment, project.root, *command).returncode == 0, command
    written = {"tool_name": "Write", "tool_input": {"file_path": str(project.root / "x.py")}}
    done = door.fire(session.payload("PostToolUse", **written))
    assert (done.code, done.stderr) == (0, "")
    for _ in range(2):
        played = cycle(door, session)
        assert [(each.code, "Error" in each.stderr) for each in played.outcomes] == [(0, False)] * 3
        assert "phase 1 of 3: A." in played.guidance
        assert "x.py" in played.guidance
        assert "Mind the gap." in played.reading[0]
    assert run(environment, project.root, "complete").returncode == 0
    decided = [each["decided"] for each in hooklog.read(_state(project), str(project.root))]
    assert not [each for each in decided if str(each).startswith("failed")]
    assert cycle(door, session).guidance == ""


def _state(project: Project) -> str:
    return str(project.home / ".local" / "state" / "holdfast")


def test_a_full_log_is_moved_without_locks(holdfast_project: Project, tmp_path: Path) -> None:
    """An open file cannot be moved on Windows, so there it was never moved at all."""
    environment = prepared(holdfast_project, tmp_path / "prelude", WITHOUT_POSIX)
    target = Path(hooklog.path(_state(holdfast_project), str(holdfast_project.root)))
    target.parent.mkdir(parents=True)
    target.write_bytes(b'{"decided": "x"}\n' * (hooklog.LARGEST // 16))
    InSubprocess(environment, str(holdfast_project.root)).fire(
        Session("s", str(holdfast_project.root)).session_start()
    )
    assert Path(f"{target}.1").stat().st_size > hooklog.LARGEST
    assert not target.exists()


def test_a_file_that_is_held_for_a_moment_is_replaced(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """By a reader, or by what looks for viruses."""
    project = holdfast_project
    project.declare("W", phase="1/2 - A")
    environment = prepared(project, tmp_path / "prelude", HELD.format(tries=2, suffix=".json"))
    done = InSubprocess(environment, str(project.root)).fire(
        Session("s", str(project.root)).pre_compact()
    )
    assert (done.code, done.stderr) == (0, "")
    assert project.state()["workflow"] == "W"


def test_a_file_that_is_held_for_good_stays_as_it_was(
    holdfast_project: Project, tmp_path: Path
) -> None:
    """A clean error in bounded time, and nothing left lying about."""
    project = holdfast_project
    project.declare("W", phase="1/2 - A")
    run(project.environment(), project.root, "remind", "First")
    (path,) = project.state_files()
    before = path.read_bytes()
    environment = prepared(
        project, tmp_path / "prelude", HELD.format(tries=10**6, suffix=path.name)
    )
    started = time.monotonic()
    command = run(environment, project.root, "remind", "Second")
    project.declare("W", phase="2/2 - B")
    hook = InSubprocess(environment, str(project.root)).fire(
        Session("s", str(project.root)).pre_compact()
    )
    assert time.monotonic() - started < 15
    assert command.returncode == 1
    assert b"could not be written: The process cannot access the file" in command.stderr
    assert b"Traceback" not in command.stderr
    assert (hook.code, "could not save the workflow" in hook.stderr) == (1, True)
    assert path.read_bytes() == before
    assert list((project.root / ".claude" / "holdfast" / "tmp").iterdir()) == []


@pytest.mark.parametrize("with_lock", [True, False])
def test_lines_are_not_lost_where_appending_is_two_steps(
    with_lock: bool, holdfast_project: Project, tmp_path: Path
) -> None:
    """With the lock none is; without it they are, so that this test is about something."""
    prelude = APPENDS_IN_TWO_STEPS.format(with_lock=with_lock)
    environment = prepared(holdfast_project, tmp_path / "prelude", prelude)
    target = tmp_path / "lines.jsonl"
    code = (
        "import sys; from holdfast.files import ownjson; from holdfast.files.atomic import append\n"
        "for number in range(50): append(sys.argv[1], ownjson.encode("
        "{'of': sys.argv[2], 'number': number, 'fill': 'x' * (number % 7)}))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(target), name], env=environment)
        for name in "abcd"
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    lines = ownjson.read(str(target), 10**6)
    assert (len(lines) == 200) is with_lock


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_commands_print_utf_8_whatever_the_code_page(
    encoding: str, holdfast_project: Project
) -> None:
    """A name that the code page has no letter for made the command fail."""
    holdfast_project.declare("Größe 数据 🚀")
    environment = {**holdfast_project.environment(), "PYTHONIOENCODING": encoding}
    for command in (("status",), ("list",), ("preview",), ("status", "-w", "nobody 数据")):
        done = run(environment, holdfast_project.root, *command)
        assert b"Traceback" not in done.stderr, command
        assert "Größe 数据 🚀" in (done.stdout + done.stderr).decode("utf-8"), command


def test_a_time_of_any_file_can_be_told() -> None:
    """Windows knows no year after 3000, and the longest that we can write is 9999."""
    assert clock.iso(clock.from_mtime(4e11)) == "9999-12-31T23:59:59.000000Z"
    assert clock.iso(clock.from_mtime(-5.0)) == "1970-01-01T00:00:00.000000Z"
    assert clock.iso(clock.from_mtime(1_765_290_652.25)) == "2025-12-09T14:30:52.250000Z"


@pytest.mark.parametrize(
    "name",
    ["CON", "nul", "Com1", "LPT¹", "com²", "a:b", "x" * 300, "a/b\\c", 'q"*?<>|', "..", "end."],
)
def test_a_slug_is_a_name_that_every_system_takes(name: str) -> None:
    """No device of Windows, no sign that it refuses, no dot at the end, and not too long."""
    slug = files.slug(name)
    device = slug.partition(".")[0].upper()
    assert device not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT1", "LPT¹", "COM²"}
    assert not set(slug) & set('<>:"/\\|?*')
    assert slug == slug.lower().strip(" .")
    assert 0 < len(slug.encode()) < 100


@pytest.mark.parametrize(
    "path", ["/etc/x", "C:/x", "C:x", "\\\\host\\share\\x", "a\\..\\..\\b", "../b"]
)
def test_copies_that_lead_elsewhere_prove_nothing(path: str, tmp_path: Path) -> None:
    """Not on any system: a record in the project could come with it."""
    store = Store(tmp_path)
    with store.lock(1):
        store.keep(store.root / "a", b"{}", None)
        record = json.dumps({"path": path, "good": "{}", "previous": None})
        store.write(store.private / "copies" / store._copies_name(path), record.encode())
    assert [copies.path for copies in store.all_copies()] == ["a"]


def test_copies_are_found_where_names_come_back_taken_apart(tmp_path: Path) -> None:
    """As the older file system of macOS lists them."""
    store = Store(tmp_path)
    with store.lock(1):
        store.keep(store.root / "caf\u00e9", b"{}", None)
    (path,) = (store.private / "copies").iterdir()
    path.rename(path.with_name("cafe\u0301"))
    assert [copies.path for copies in store.all_copies()] == ["caf\u00e9"]


def test_a_project_below_a_link_is_one_project(holdfast_project: Project, tmp_path: Path) -> None:
    """As /tmp is a link on macOS: the client says the one name, the shell the other."""
    link = tmp_path / "link"
    link.symlink_to(holdfast_project.root, target_is_directory=True)
    holdfast_project.declare("W")
    door = InSubprocess(holdfast_project.environment(), str(link))
    assert cycle(door, Session("s", str(link))).guidance
    again = cycle(door, Session("s", str(holdfast_project.root)))
    assert "/link/" not in again.guidance
    assert again.guidance
    assert len(holdfast_project.state_files()) == 1


# What not every system has, and the modules that see to it that nothing depends on it.
GUARDED = {
    "fcntl": {"atomic.py", "environment.py"},
    "msvcrt": {"environment.py"},
    "killpg": {"environment.py"},
    "SIGKILL": {"environment.py"},
    "fchmod": {"atomic.py"},
    "geteuid": {"prepared.py"},  # asked for only where `quick.is_supported`
    "O_NOFOLLOW": set[str](),
    "O_NONBLOCK": set[str](),
    "O_BINARY": set[str](),
}
POSIX_ONLY = {
    *GUARDED,
    *("pwd", "grp", "termios", "resource", "msvcrt", "winreg", "getuid", "geteuid", "getgid"),
    *("fork", "chown", "lchown", "fchown", "mkfifo", "killpg", "getpgid", "setsid", "statvfs"),
    *("pread", "pwrite", "O_CLOEXEC", "O_DIRECTORY", "O_SYNC", "SIGKILL", "SIGHUP", "SIGALRM"),
    *("sysconf", "getpwuid", "fdatasync", "copy_file_range"),
}


def used(path: Path) -> Iterator[str]:
    """Modules that are imported, and attributes of `os` and `signal` that are named."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "", *(alias.name for alias in node.names))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in {"os", "signal"}
        ):
            yield node.attr


def test_what_only_some_systems_have_is_used_only_where_there_is_a_guard() -> None:
    """New ones are noticed here; give each its counterpart, then name it above."""
    found = {
        (name, path.name)
        for folder in ("src", "hooks", "handlers")
        for path in (ROOT / folder).rglob("*.py")
        for name in used(path)
        if name in POSIX_ONLY
    }
    assert found == {(name, module) for name, modules in GUARDED.items() for module in modules}


def test_no_process_is_read_in_the_systems_own_encoding_or_started_through_a_shell() -> None:
    """Bytes, or UTF-8 by name, where a process is started; and no shell. `ruff` sees to the rest."""
    for folder in ("src", "hooks", "handlers"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    given = {each.arg: ast.unparse(each.value) for each in node.keywords}
                    as_text = given.get("text") == "True" and "encoding" not in given
                    assert not as_text, f"{path}:{node.lineno}"
                    assert "shell" not in given, f"{path}:{node.lineno}"


def test_the_environment_of_a_home_is_complete_on_every_system() -> None:
    """Each system asks for its home by another name; none of them may find somebody else's."""
    from holdfast.config.project import variables_of_home

    variables = variables_of_home("/home/x")
    assert set(variables) == {"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"}
    assert all(os.path.commonpath(["/home/x", each]) == "/home/x" for each in variables.values())
