"""The environment that the plugin sets up for itself: when, where, and what a person is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.setup.plugin import marker
from holdfast.setup.plugin.environment import (
    INTERPRETER,
    DataFolder,
    SetUpFailed,
    Steps,
    loader_of,
)
from plugin import DEADLINE, ROOT, Plugin, copy_files, listing, programs

READY = "Holdfast: it is set up, and saves and restores workflows from now on"
UNDER_WAY = "Holdfast is being set up in the background, once for this version."
NO_PACKAGES = {"PIP_FIND_LINKS": ""}
MONTH = 31 * 24 * 3600
START = (  # as bin/holdfast does
    "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
    "from holdfast.setup.plugin.environment import main\nsys.exit(main())"
)


@pytest.fixture
def plugin(tmp_path: Path, wheels: Path) -> Plugin:
    """Nothing is set up."""
    return Plugin(tmp_path, ROOT, wheels)


@pytest.fixture
def ready(plugin: Plugin, ready_environment: Path) -> Plugin:
    plugin.link([ready_environment])
    return plugin


def declare(plugin: Plugin) -> None:
    text = "# Current Workflow State\n\nWorkflow: The long way\nPhase: 2/5 - Build\n"
    (plugin.project / "CLAUDE.local.md").write_text(text, encoding="utf-8")


def compact(plugin: Plugin) -> str:
    """What the agent is told after a compaction."""
    plugin.hook("PreCompact", more={"trigger": "manual", "custom_instructions": None})
    printed = plugin.hook("SessionStart", more={"source": "compact"})
    return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])


# The set-up


def test_the_first_session_is_told_and_not_held_up(tmp_path: Path, wheels: Path) -> None:
    """And from when it is ready the workflow is restored; only the data folder has changed."""
    plugin = Plugin(tmp_path, copy_files(tmp_path / "the plugin"), wheels)
    declare(plugin)
    before = listing(plugin.root), listing(plugin.project)
    begun = time.monotonic()
    assert plugin.session_start().startswith(UNDER_WAY)
    # Not only has it ended: nothing that it started holds the client's pipes.
    assert time.monotonic() - begun < 3
    assert plugin.hook("PreCompact", more={"trigger": "manual"}) == ""
    assert plugin.hook("SessionStart", "--part", "3", more={"source": "compact"}) == ""
    assert plugin.session_start().startswith(UNDER_WAY)
    assert plugin.environments() == []
    environment = plugin.wait_until_ready()
    assert (listing(plugin.root), listing(plugin.project)) == before
    assert [each.name for each in plugin.home.iterdir()] == [".claude"]
    assert environment.name.startswith(f"env-{__version__}-{sys.implementation.cache_tag}-")
    assert sorted(each.name for each in plugin.data.iterdir()) == [
        environment.name,
        "setup.lock",
        "setup.log",
    ]
    assert 'The workflow "The long way"' in compact(plugin)
    assert listing(plugin.root) == before[0]


@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse"])
def test_the_person_is_told_once_when_it_is_ready(
    event: str, ready: Plugin, tmp_path: Path
) -> None:
    """At the first edit or the next start, whichever comes first."""
    (environment,) = ready.environments()
    own = tmp_path / "own" / environment.name
    shutil.copytree(environment, own, symlinks=True)
    environment.unlink()
    ready.link([own])
    (own / marker.NEWS).touch()
    more = {"source": "startup", "tool_name": "Edit", "tool_input": {"file_path": "a.md"}}
    told = [ready.hook(event, more=more) for _ in range(2)]
    assert json.loads(told[0])["systemMessage"] == READY
    assert READY not in told[1]


def test_two_sessions_at_once_set_up_once(plugin: Plugin, tmp_path: Path) -> None:
    """pip itself tells how often it has installed something."""
    told = tmp_path / "pip.log"
    with ThreadPoolExecutor() as at_once:
        lines = list(
            at_once.map(lambda _: plugin.session_start(PIP_LOG=str(told)), range(4)),
        )
    assert [line.startswith(UNDER_WAY) for line in lines] == [True] * 4
    plugin.wait_until_ready()
    assert plugin.session_start() == READY
    log = told.read_text(encoding="utf-8")
    assert len(re.findall(r"Successfully installed .*\bholdfast-", log)) == 1


@pytest.mark.long
def test_killed_in_the_middle_it_leaves_nothing_half(plugin: Plugin) -> None:
    """The next session says what happened, and finishes it."""
    set_up = subprocess.Popen(
        [INTERPRETER, "-I", "-B", "-c", START, ROOT / "src", "set-up", plugin.data],
        env=plugin.env,
        stdin=subprocess.DEVNULL,
    )
    plugin.wait("setup-*/environment/bin/python")
    set_up.send_signal(signal.SIGKILL)
    set_up.wait()
    assert plugin.environments() == []
    assert plugin.half_done()
    assert plugin.hook("PreCompact", more={"trigger": "manual"}) == ""
    line = plugin.session_start()
    assert "could not be set up: The set-up was interrupted." in line
    assert "It is being tried again now." in line
    plugin.wait_until_ready()
    assert plugin.session_start() == READY


def test_while_it_is_set_up_nothing_is_said_of_a_failure(plugin: Plugin) -> None:
    """What runs is noted as failed until it has ended, in case that it is killed."""
    data = DataFolder(plugin.data)
    data.note_failure("The set-up was interrupted.")
    with data.lock() as ours:
        assert ours
        assert plugin.session_start().startswith(UNDER_WAY)
    assert not data.log.exists()


def test_without_a_network_it_says_so_and_is_tried_again_with_the_next_session(
    plugin: Plugin,
) -> None:
    """Not at every event: what has failed fails again."""
    declare(plugin)
    assert plugin.session_start(**NO_PACKAGES).startswith(UNDER_WAY)
    plugin.wait("setup-failed.txt")
    with DataFolder(plugin.data).lock(patience=30) as ended:
        assert ended
    log = plugin.data / "setup.log"
    before = log.stat().st_mtime_ns
    assert plugin.hook("PreCompact", more={"trigger": "manual"}) == ""
    assert plugin.half_done() == []
    line = plugin.session_start()
    assert "\n" not in line
    assert "could not be set up: No matching distribution found for setuptools" in line
    assert f"Check the network and pip's settings; all that was said is in {log}." in line
    assert "It is being tried again now." in line
    plugin.wait_until_ready()
    assert log.stat().st_mtime_ns > before
    assert plugin.session_start() == f"The long way 2/5 · {READY}"


def test_settings_of_the_user_that_would_lead_elsewhere(plugin: Plugin, tmp_path: Path) -> None:
    """A project's own environment, and settings of pip and Python; and an interpreter that went."""
    mine = tmp_path / "mine"
    subprocess.run([INTERPRETER, "-m", "venv", "--without-pip", mine], check=True)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "json.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    old = plugin.data / "env-0.0.1-old"
    recent = plugin.data / "env-0.0.2-recent"
    gone = plugin.data / f"env-{__version__}-gone" / "bin" / "python"
    for folder in (old, recent, gone.parent):
        folder.mkdir(parents=True)
    gone.symlink_to(tmp_path / "an interpreter that was removed")
    os.utime(old, (time.time() - MONTH, time.time() - MONTH))
    before = listing(mine)
    done = plugin.call(
        "--version",
        PATH=f"{mine / 'bin'}{os.pathsep}{plugin.env['PATH']}",
        VIRTUAL_ENV=str(mine),
        PYTHONPATH=str(modules),
        PYTHONHOME="/nowhere",
        PIP_USER="1",
        PIP_TARGET=str(tmp_path / "target"),
        PIP_PREFIX=str(tmp_path / "prefix"),
        PIP_REQUIRE_VIRTUALENV="1",
    )
    assert done.stdout == f"holdfast, version {__version__}\n"
    assert done.stderr == (
        "holdfast: setting up the plugin's own environment, once for this version.\n"
    )
    assert listing(mine) == before
    assert not (tmp_path / "target").exists()
    assert not (tmp_path / "prefix").exists()
    environment = plugin.wait_until_ready()
    assert os.readlink(environment / "bin" / "python3") != str(mine / "bin" / "python3")
    assert os.path.realpath(environment / "bin" / "python") == INTERPRETER
    shutil.rmtree(mine)
    assert plugin.call("--version").returncode == 0
    assert recent in plugin.environments()
    assert old not in plugin.environments()


def test_an_environment_whose_interpreter_has_gone_makes_room(tmp_path: Path) -> None:
    """The new one has the same name."""
    data = DataFolder(tmp_path / "data")
    for number in (1, 2):
        with data.aside() as aside:
            environment = aside / "environment"
            (environment / "bin").mkdir(parents=True)
            target = INTERPRETER if number == 2 else str(tmp_path / "gone")
            (environment / "bin" / "python").symlink_to(target)
            marker.write(str(environment), "bin/python", INTERPRETER)
            data.put_in_place(environment, aside)
        assert data.ready() is (number == 2)
    assert len(list(data.folder.glob("*"))) == 1


def test_a_step_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """The set-up ends by itself."""
    log = tmp_path / "log"
    with log.open("wb") as stream:
        steps = Steps(tmp_path, stream.fileno(), log, limit=0.5)
        with pytest.raises(SetUpFailed, match=r"longer than 0\.5 s"):
            steps.take("sh", "-c", "sleep 60 & echo $!; wait")
    child = int(log.read_text(encoding="utf-8"))
    end = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and "zombie" not in state(child):
        assert time.monotonic() < end
        time.sleep(0.02)


def state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return "zombie"


def interpreter_without(folder: Path, *modules: str) -> Path:
    """A copy of ours that has the standard library, without these, and no other packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = folder / "lib" / version
    for path in (library, folder / "bin"):
        path.mkdir(parents=True)
    for each in Path(sysconfig.get_path("stdlib")).iterdir():
        if each.name not in ("site-packages", "dist-packages", *modules):
            (library / each.name).symlink_to(each)
    return Path(shutil.copy2(INTERPRETER, folder / "bin" / version))


def test_a_python_without_pip_brings_its_own(plugin: Plugin, tmp_path: Path) -> None:
    python = interpreter_without(tmp_path / "without pip")
    plugin.env["PATH"] = str(programs(tmp_path / "few programs", python))
    assert plugin.call("--version").stdout == f"holdfast, version {__version__}\n"


def test_a_python_without_pip_and_ensurepip_says_what_to_install(
    plugin: Plugin, tmp_path: Path
) -> None:
    """As Debian's python3 is where python3-venv is not installed."""
    python = interpreter_without(tmp_path / "without pip", "ensurepip")
    plugin.env["PATH"] = str(programs(tmp_path / "few programs", python))
    done = plugin.call("--version")
    assert done.returncode == 1
    assert f"{python} has neither pip nor ensurepip. Install them" in done.stderr
    assert "apt install python3-venv" in done.stderr


# What lies in an environment


def test_nothing_in_the_environment_names_the_folder_of_the_set_up(ready_environment: Path) -> None:
    """Scripts have a first line that does, so only the interpreter is left beside its other names."""
    names = {each.name for each in (ready_environment / "bin").iterdir()}
    assert "python" in names
    assert {name for name in names if not name.startswith("python")} == set()


def test_an_environment_of_ours_is_told_from_every_other(ready_environment: Path) -> None:
    """By what lies in it, so wherever it is and whatever it is called."""
    code = (
        "import sys; from holdfast.setup.plugin.marker import is_ours;"
        "print(is_ours(sys.prefix), is_ours(sys.base_prefix), *sys.modules)"
    )
    said = subprocess.run(
        [ready_environment / "bin" / "python", "-I", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert said[:2] == ["True", "False"]
    assert not marker.is_ours(sys.prefix)
    assert not {"pathlib", "click", "pydantic", "shutil"} & set(said)


def fake_environment(data: Path, name: str, marked: str | None) -> Path:
    """One whose interpreter only says that it was started."""
    python = data / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho started\n", encoding="utf-8")
    python.chmod(0o755)
    if marked is not None:
        (data / name / marker.NAME).write_text(marked, encoding="utf-8")
    return data / name


@pytest.mark.parametrize(
    ("marked", "usable"),
    [
        ("bin/python\n/\n", True),
        ("bin/python\n/\nmore\n", True),
        ("bin/python\n/lib/ld-of-another-platform.so.1\n", False),
        ("bin/gone\n/\n", False),
        ("bin/python\n/", False),
        ("bin/python\n", False),
        ("", False),
        (None, False),
    ],
)
def test_shell_and_python_agree_which_environment_is_ready(
    marked: str | None, usable: bool, plugin: Plugin
) -> None:
    """Else one of them would wait for ever for what the other takes as done."""
    fake_environment(plugin.data, f"env-{__version__}-x", marked)
    assert DataFolder(plugin.data).ready() is usable
    assert (plugin.hook("PostToolUse") == "started\n") is usable


def test_an_environment_of_another_platform_does_not_count_as_ready(plugin: Plugin) -> None:
    """A home that two platforms share: this one sets up its own, and both stay."""
    foreign = f"env-{__version__}-cpython-311-aarch64-linux-gnu-linux-aarch64"
    unmarked = plugin.data / f"env-{__version__}-cpython-311-linux-aarch64"
    subprocess.run([INTERPRETER, "-m", "venv", "--without-pip", unmarked], check=True)
    fake_environment(plugin.data, foreign, "bin/python\n/lib/ld-of-another-platform.so.1\n")
    assert plugin.session_start().startswith(UNDER_WAY)
    plugin.wait_until_ready()
    assert plugin.session_start() == READY
    assert plugin.call("--version").stdout == f"holdfast, version {__version__}\n"
    assert len(plugin.environments()) == 3


def test_of_other_versions_the_newest_environment_stays(tmp_path: Path) -> None:
    """A session that was running before the update may use it still."""
    current = f"env-{__version__}-of-this-version"
    for age, name in enumerate(("env-0.0.3-newest", "env-0.0.2-old", "env-0.0.1-older", current)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age * 3600,) * 2)
    DataFolder(tmp_path).remove_old()
    assert {path.name for path in tmp_path.iterdir()} == {"env-0.0.3-newest", current}


@pytest.mark.needs("readelf")
def test_the_loader_that_an_interpreter_needs() -> None:
    """As the tool that knows the format says it."""
    said = subprocess.run(
        ["readelf", "-l", INTERPRETER], capture_output=True, text=True, check=True
    )
    found = re.search(r"program interpreter: (.+)\]", said.stdout)
    assert loader_of(INTERPRETER) == (found[1] if found else INTERPRETER)
    assert loader_of(__file__) == __file__


# No Python that will do


@pytest.fixture(params=["none", "too old"])
def no_python(request: pytest.FixtureRequest, plugin: Plugin, tmp_path: Path) -> Plugin:
    folder = programs(tmp_path / "few programs", python=None)
    if request.param == "too old":
        for name in ("python3", "python"):
            (folder / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    plugin.env["PATH"] = str(folder)
    return plugin


def test_without_a_python_that_will_do_one_line_says_so(no_python: Plugin) -> None:
    """At the start of a session; the other hooks say nothing, and nothing fails."""
    line = no_python.session_start()
    assert line.startswith("Holdfast needs Python 3.11 or newer")
    assert "Install one as python3" in line
    for event in ("PreCompact", "PostToolUse", "PostCompact"):
        assert no_python.hook(event) == ""
    assert no_python.hook("SessionStart", "--part", "1") == ""
    done = no_python.call("status")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"holdfast: {line}\n"
    assert not no_python.data.exists()


def test_a_newer_python_beside_one_that_is_too_old_is_found(
    no_python: Plugin, tmp_path: Path
) -> None:
    (Path(no_python.env["PATH"]) / "python3.13").symlink_to(INTERPRETER)
    assert no_python.session_start(**NO_PACKAGES).startswith(UNDER_WAY)
    no_python.wait("setup-failed.txt")


# Where nothing is set up


def test_the_other_hooks_begin_nothing_and_read_all_they_are_given(plugin: Plugin) -> None:
    """A pipe that is not read to its end is an error at the client's."""
    for event in ("PostToolUse", "SubagentStop", "FileChanged"):
        assert plugin.hook(event, more={"tool_response": "x" * 3_000_000}) == ""
    text = json.dumps({"hook_event_name": "SessionStart"})
    assert plugin.hook("PostToolUse", more={"tool_response": text}) == ""
    assert not plugin.data.exists()


def test_switched_off_it_sets_nothing_up(plugin: Plugin) -> None:
    assert plugin.session_start(HOLDFAST_DISABLE="1") == ""
    assert not plugin.data.exists()


def test_a_data_folder_that_cannot_be_written_is_one_line(plugin: Plugin, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    data = str(tmp_path / "file" / "holdfast-holdfast")
    line = plugin.session_start(CLAUDE_PLUGIN_DATA=data)
    assert line.startswith("Holdfast could not be set up: ")
    assert line.endswith(f"Make {data} writable.")
    assert plugin.hook("PreCompact", CLAUDE_PLUGIN_DATA=data) == ""
    done = plugin.call("status", CLAUDE_PLUGIN_DATA=data)
    assert (done.returncode, done.stderr.count("could not be set up")) == (1, 1)


def test_through_links_it_finds_the_plugin(plugin: Plugin, tmp_path: Path) -> None:
    """A command says why the set-up failed, so it was found."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "holdfast").symlink_to(ROOT / "bin" / "holdfast")
    (tmp_path / "bin" / "hf").symlink_to("holdfast")
    done = subprocess.run(
        [tmp_path / "bin" / "hf", "status"],
        env={**plugin.env, **NO_PACKAGES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No matching distribution found" in done.stderr
    assert "Then run the command again." in done.stderr


def test_the_status_line_waits_for_nothing_and_is_empty(plugin: Plugin) -> None:
    """The client asks again and again, and would show an error each time."""
    begun = time.monotonic()
    for given in (b"", b"{}", b'{"session_id": "s"}\n' * 20_000):
        done = plugin.call("statusline", given=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - begun < 5
    assert not plugin.data.exists()


def test_a_command_waits_for_the_set_up_of_somebody_else(tmp_path: Path) -> None:
    """One that ended while it was asked after was told as a failure, without a reason."""
    data, environment = DataFolder(tmp_path), tmp_path / f"env-{__version__}-made-by-another"
    with data.lock() as ours:
        assert ours
        command = subprocess.Popen(
            [INTERPRETER, "-I", "-B", "-c", START, ROOT / "src", "command", tmp_path],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        environment.mkdir()
        marker.write(str(environment), INTERPRETER, INTERPRETER)
    _, said = command.communicate(timeout=DEADLINE)
    assert (command.returncode, "could not be set up" in said) == (0, False)


# Where an environment is ready


def test_a_ready_environment_is_found_with_the_shell_alone(ready: Plugin) -> None:
    """No program is started on the way."""
    done = ready.call("--version", PATH="/nowhere")
    assert (done.stdout, done.stderr) == (f"holdfast, version {__version__}\n", "")


def test_nothing_of_the_projects_is_imported(ready: Plugin) -> None:
    """The client starts hooks in the project, with the environment of the person's shell."""
    for name in ("holdfast", "json", "click"):
        (ready.project / f"{name}.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    done = ready.call("--version", PYTHONPATH=str(ready.project))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"CLAUDE_PLUGIN_DATA": "/somewhere/another-plugin"},
        {"CLAUDE_CONFIG_DIR": "elsewhere", "HOME": "/nowhere"},
    ],
    ids=["the agent's shell", "another plugin's hook", "a folder of the person's choice"],
)
def test_the_environment_is_found_where_nobody_says_where(
    ready: Plugin, where: dict[str, str]
) -> None:
    if "CLAUDE_CONFIG_DIR" in where:
        where = {**where, "CLAUDE_CONFIG_DIR": str(ready.home / ".claude")}
    assert ready.call("--version", **where).stdout == f"holdfast, version {__version__}\n"


def test_a_hook_answers_from_the_ready_environment(ready: Plugin) -> None:
    """With a slash at the end of the folder, too, as one version of the client writes it."""
    declare(ready)
    assert 'The workflow "The long way"' in compact(ready)
    started = ready.session_start(source="compact", CLAUDE_PLUGIN_DATA=f"{ready.data}/")
    assert started.startswith("✅ Workflow restored: The long way")


def test_the_plugin_registers_its_hooks_itself(ready: Plugin) -> None:
    """Installed from there, the settings named a script that could not be started."""
    done = ready.call("install")
    assert done.returncode == 1
    assert "the plugin registers its hooks itself" in done.stderr
    assert not (ready.home / ".claude" / "settings.json").exists()
    settings = ready.home / ".claude" / "settings.json"
    settings.write_text('{"enabledPlugins": {"holdfast@holdfast": true}}', encoding="utf-8")
    done = ready.call("doctor")
    assert (done.returncode, "holdfast install" in done.stdout) == (0, False)
    assert "saves and restores" in " ".join(done.stdout.split())


def test_after_a_purge_the_plugins_hooks_write_nothing(ready: Plugin) -> None:
    """Until the plugin is uninstalled they still run; the environment goes with all else."""
    (ready.data / "setup.lock").touch()
    ready.hook("PreCompact", more={"trigger": "manual"})
    assert (ready.home / ".local").exists()
    done = ready.call("uninstall", "--purge", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the plugin's environment" in done.stdout
    assert not ready.data.exists()
    for event in ("PostToolUse", "PreToolUse", "PostCompact"):
        assert ready.hook(event, more={"tool_name": "Edit"}) == ""
    assert not (ready.home / ".local/state/holdfast").exists()
    assert not ready.data.exists()
