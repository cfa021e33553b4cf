"""Which program the settings name: the one that the client can start, wherever it was started."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from holdfast.setup import registration
from holdfast.setup.registration import ON_PATH, Program

SCRIPT = Path(sys.executable).parent / "holdfast"


@pytest.fixture
def linked(tmp_path: Path) -> str:
    """A folder of commands, as `pipx` and `uv tool` fill it: with a link to this installation."""
    (tmp_path / "holdfast").symlink_to(SCRIPT)
    return str(tmp_path)


def path(*folders: str | Path) -> str:
    return os.pathsep.join(str(folder) for folder in folders)


def test_the_name_alone_where_it_is_this_installation(linked: str) -> None:
    """Also behind folders that do not have it, and while another environment is activated."""
    assert registration.find_program(path("/nonexistent", linked), None) == ON_PATH
    assert registration.find_program(path(SCRIPT.parent), None) == ON_PATH
    assert registration.find_program(path(linked), "/another/environment") == ON_PATH


def test_the_whole_path_where_the_name_means_nothing_or_another(
    linked: str, tmp_path: Path
) -> None:
    """A folder relative to wherever the shell is now does not count either."""
    whole = Program(str(SCRIPT))
    assert registration.find_program("", None) == whole
    assert registration.find_program(path("."), None) == whole
    other = tmp_path / "other"
    other.mkdir()
    (other / "holdfast").write_bytes(b"#!/bin/sh\n")
    (other / "holdfast").chmod(0o755)
    assert registration.find_program(path(other, linked), None) == whole


def test_an_environment_that_this_shell_has_activated_does_not_count(linked: str) -> None:
    """The client may be started from another shell."""
    environment = str(SCRIPT.parent.parent)
    assert registration.find_program(path(SCRIPT.parent), environment) == Program(str(SCRIPT))
    assert registration.find_program(path(SCRIPT.parent, linked), environment) == ON_PATH


def test_without_a_script_the_interpreter_is_started(tmp_path: Path) -> None:
    """As where the package was only put on the module path."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    source = Path(registration.__file__).parents[2]
    done = subprocess.run(
        [
            python,
            "-c",
            "from holdfast.setup import registration; print(*registration.find_program('', None))",
        ],
        env={"PYTHONPATH": str(source), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{python} ('-P', '-m', 'holdfast')\n"
