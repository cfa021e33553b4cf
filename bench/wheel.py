"""The package as users have it: a wheel, in an environment of its own.

There are two, because pydantic asks every installed package for plugins: what the server alone needs
would slow the hooks down.
"""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FLOORS = Path(__file__).resolve().parent / "floors"
_CACHE = ROOT / ".cache" / "bench"
_WHERE = "import sysconfig; print(sysconfig.get_path('purelib'))"

# What pip writes for an entry in [project.scripts].
_CONSOLE_SCRIPT = """\
#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from bare import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


class Programs(NamedTuple):
    """What an environment has to start."""

    python: str
    holdfast: str
    console_script: str

    @classmethod
    def of(cls, folder: Path) -> Programs:
        """Those in the folder of an environment's programs."""
        return cls(*(str(folder / name) for name in ("python", "holdfast", "bare")))


class Installed:
    """The wheel of this tree, installed when it is first asked for."""

    @cached_property
    def _wheel(self) -> str:
        for left in (
            _CACHE,
            ROOT / "build" / "lib",
        ):  # a wheel takes along what an earlier build left
            shutil.rmtree(left, ignore_errors=True)
        _pip("wheel", "--no-deps", "--wheel-dir", str(_CACHE), str(ROOT))
        (wheel,) = _CACHE.glob("*.whl")
        return str(wheel)

    @cached_property
    def hooks(self) -> Programs:
        """What runs the hooks, and the floors beside them."""
        programs = _environment("hooks", self._wheel)
        _add_console_script(programs)
        return programs

    @cached_property
    def server(self) -> Programs:
        """What runs the MCP server."""
        return _environment("server", f"{self._wheel}[mcp]")


def _environment(name: str, wheel: str) -> Programs:
    folder = _CACHE / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    programs = Programs.of(folder / ("Scripts" if os.name == "nt" else "bin"))
    _pip("--python", programs.python, "install", "--constraint", "constraints.txt", wheel)
    return programs


def _add_console_script(programs: Programs) -> None:
    """The bare interpreter, started as pip would have it started."""
    asked = subprocess.run([programs.python, "-c", _WHERE], check=True, capture_output=True)
    packages = asked.stdout.decode().strip()
    py_compile.compile(shutil.copy(FLOORS / "bare.py", packages))
    script = Path(programs.console_script)
    script.write_text(_CONSOLE_SCRIPT.format(python=programs.python), encoding="utf-8")
    script.chmod(0o755)


def _pip(*arguments: str) -> None:
    """pip without an environment of its own; --python stands before its command."""
    pip = [os.environ.get("BENCH_PIP_PYTHON", "python3"), "-m", "pip"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *quiet, *arguments], cwd=ROOT, check=True)
