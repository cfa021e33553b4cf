"""Which program the settings name: this installation, by its path."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from holdfast.setup import registration
from holdfast.setup.registration import Program

SCRIPT = Path(sys.executable).parent / "holdfast"


def test_the_path_of_the_script_that_was_installed() -> None:
    """Whatever the PATH has under that name."""
    assert registration.whole_path() == Program(str(SCRIPT))


def test_without_a_script_the_interpreter_is_started(tmp_path: Path) -> None:
    """As where the package was only put on the module path."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    source = Path(registration.__file__).parents[2]
    done = subprocess.run(
        [
            python,
            "-c",
            "from holdfast.setup import registration; print(*registration.whole_path())",
        ],
        env={"PYTHONPATH": str(source), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{python} ('-P', '-m', 'holdfast')\n"
