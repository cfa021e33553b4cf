"""What all tests share: an untouchable home, and skips that say why."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from holdfast.config.project import variables_of_home
from holdfast.setup.plugin.marker import NEWS
from holdfast.testing import simulate
from plugin import Plugin, copy_files, wheelhouse
from warm import Warm

# For bench/. Behind all else: before the environment's own folder, what a build leaves in the repository
# would tell what is installed.
sys.path.append(str(Path(__file__).parents[1]))

pytest_plugins = ["pytester"]

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def nobodys_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """No test reads or writes the home, the settings or the session of whoever runs it."""
    # Not `mktemp`, which looks through the folders of all tests before for a free number.
    home = Path(tempfile.mkdtemp(prefix="nobody-", dir=tmp_path_factory.getbasetemp()))
    for name, value in variables_of_home(str(home)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TZ", "UTC")
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "HOLDFAST_", "XDG_", "ANTHROPIC")) and name != "HOLDFAST_CI":
            monkeypatch.delenv(name)
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """What forks processes of `holdfast` that have loaded everything."""
    with Warm() as server:
        yield server


@pytest.fixture(autouse=True, scope="session")
def warm_processes(warm: Warm) -> Iterator[None]:
    """Commands and hooks of the fixtures run in a process that has loaded everything, one after the other.

    A second one at the same time, or one that asks for a changed interpreter, is started in the usual way.
    """
    cold, one_at_a_time = simulate.run_command, threading.Lock()

    def run(
        arguments: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        other_python = any(name.startswith("PYTHON") for name in environment)
        if other_python or not one_at_a_time.acquire(blocking=False):
            return cold(arguments, cwd, environment, stdin, timeout)
        with contextlib.ExitStack() as stack:
            stack.callback(one_at_a_time.release)
            done = warm.run(arguments, cwd=cwd, environment=environment, stdin=stdin, shared=True)
        words = ["holdfast", *arguments]
        return subprocess.CompletedProcess(words, done.code, done.said, done.complaint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "run_command", run)
        yield


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The packages that the plugin needs; only the first run needs a network."""
    try:
        return wheelhouse()
    except subprocess.SubprocessError as error:
        _without(f"the plugin's packages could not be downloaded: {error}")


@pytest.fixture(scope="session")
def ready_environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's environment, set up once for all tests that only use it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ready"
    with FileLock(f"{folder}.lock", timeout=120):
        made = sorted(folder.glob("the home/.claude/plugins/data/*/env-*"))
        if not made:
            plugin = Plugin(folder, copy_files(folder / "the plugin"), wheels)
            done = plugin.call("--version")
            assert done.returncode == 0, done.stderr
            made = plugin.environments()
            (made[0] / NEWS).unlink()  # of the set-up itself other tests tell
    return made[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What drives a program from npm is of the clients' suite; see the Makefile."""
    for item in items:
        programs = {name for marker in item.iter_markers("needs") for name in marker.args}
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in {"real_client", "real_agents"} or programs & {"npm", "node"}:
            item.add_marker("client")
        if folder == "torture" or "strace" in programs:
            item.add_marker("long")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        missing = [program for program in marker.args if shutil.which(program) is None]
        if not missing:
            continue
        _without(f"{', '.join(missing)} not installed")


def _without(reason: str) -> NoReturn:
    if os.environ.get("HOLDFAST_CI"):
        pytest.fail(f"{reason}, and CI may not skip this test")
    pytest.skip(reason)
