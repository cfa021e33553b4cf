"""The skill that tells agents the commands, for those whose Holdfast does not come as a plugin."""

from __future__ import annotations

import os
from importlib import resources

from holdfast.agents.clients import Scope
from holdfast.errors import StateUnreadable
from holdfast.files import store
from holdfast.files.atomic import replace_file
from holdfast.files.fingerprints import digest
from holdfast.files.regular import read_file
from holdfast.setup.clientsettings import Scopes

_PLACE = ("skills", "workflow-state", "SKILL.md")  # in the package, and in a client's folder
_LARGEST = 64 * 1024
_MARK = b"\n<!-- holdfast init: "


def path_in(folder: str) -> str:
    """Where the skill lies in a client's *folder*, the user's or a project's."""
    return os.path.join(folder, *_PLACE)


def path_for(scopes: Scopes, scope: Scope) -> str:
    """Where `init` puts it: with a project's settings into the project, else into the user's folder."""
    project = os.path.join(scopes.root, ".claude")
    return path_in(project if scope == "project" else scopes.folder or project)


def is_as_written(path: str) -> bool:
    """Whether the skill at *path* is what some release wrote there, and nobody has changed it since."""
    try:
        found = read(path) or b""
    except StateUnreadable:
        return False
    return found == marked(found.rpartition(_MARK)[0])


def text() -> bytes:
    """The skill of this release."""
    return marked(resources.files("holdfast").joinpath(*_PLACE).read_bytes())


def marked(content: bytes) -> bytes:
    """*content* with a line behind it that tells whether it was changed since."""
    return content + _MARK + digest(content)[:16].encode() + b" -->\n"


def read(path: str) -> bytes | None:
    """What lies at *path*, or None; StateUnreadable if it is no file that can be read."""
    return read_file(path, _LARGEST)[0] if os.path.lexists(path) else None


def write(path: str) -> str:
    """Put the skill at *path*. What a person had there is kept beside it, under the name that is returned."""
    path = os.path.realpath(path)  # a link may lead into a folder of dotfiles
    before = None if is_as_written(path) else read(path)
    aside = f"{path}.before" if before is not None else ""
    with store.changing(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if before is not None:
            replace_file(aside, before, mode=0o644)
        replace_file(path, text(), mode=0o644)
    return aside


def remove(path: str) -> None:
    """Delete the skill at *path*, and the folders that are empty then."""
    store.remove(path, above=len(_PLACE) - 1)
