"""How the client can start this very installation: which program settings are to name.

A shell may find `holdfast` where the client, started elsewhere, does not: in a virtual environment
that is activated in this shell alone. Then the whole path is the one name that always works.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata

from holdfast.project import contains
from holdfast.registration import NAME, ON_PATH, Program

# -P: a hook is started in the project, whose modules are not ours to import.
THIS = Program(sys.executable, ("-P", "-m", NAME))


def find(search_path: str, virtual_env: str | None) -> Program:
    """`holdfast` where that is this installation wherever the client is started, else its path."""
    this, found = whole(), on_path(NAME, search_path, virtual_env)
    if this != THIS and found and os.path.realpath(found) == os.path.realpath(this.command):
        return ON_PATH
    return this


def whole() -> Program:
    """The path of this installation, for what is started in a shell with a PATH of its own."""
    script = _script()
    return Program(script) if script else THIS


def on_path(name: str, search_path: str, virtual_env: str | None) -> str | None:
    """The file that *name* starts wherever the client is started."""
    return shutil.which(name, path=_lasting(search_path, virtual_env))


def is_this(program: Program, file: str) -> bool:
    """Whether *program*, which *file* starts, is this very installation."""
    if program.first:
        return (file, program.first[-2:]) == (THIS.command, THIS.first[-2:])
    script = _script()
    return script is not None and os.path.realpath(file) == os.path.realpath(script)


def _script() -> str | None:
    """The script of this installation; its record knows it, whatever kind of installation it is."""
    try:
        files = metadata.distribution(NAME).files or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.lower() in {NAME, f"{NAME}.exe"}:
            script = os.path.normpath(file.locate())
            if os.access(script, os.X_OK) and os.path.isfile(script):
                return script
    return None


def _lasting(search_path: str, virtual_env: str | None) -> str:
    """The folders of *search_path* that it has without the environment that is activated."""
    activated = os.path.realpath(virtual_env) if virtual_env else None
    return os.pathsep.join(
        folder
        for folder in search_path.split(os.pathsep)
        if os.path.isabs(folder)
        and not (activated and contains(activated, os.path.realpath(folder)))
    )
