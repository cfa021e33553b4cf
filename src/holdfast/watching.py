"""Which files the client is asked to watch, so that an edit reaches the state at once."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
from collections.abc import Sequence

from holdfast.formats import signs
from holdfast.settings import PROJECT_FILE

_MOST = 100  # plans that are watched one by one


def paths(folders: Sequence[str], plans: Sequence[str]) -> list[str]:
    """What declares workflows in *folders*: files, there or not yet, and folders with all below.

    Of several missing paths in one folder the client sees only one appear, and none whose own
    folder is missing. So each folder has at most one, and CLAUDE.local.md goes before plans.
    """
    wanted = [os.path.join(folder, name) for folder in folders for name in signs.DECLARING]
    for folder in folders:
        for pattern in plans:
            wanted += _of(folder, pattern)
    found, waiting = [], set()
    for path in dict.fromkeys(_watchable(each) for each in wanted):
        parent = os.path.dirname(path)
        if os.path.lexists(path):
            found.append(path)
        elif parent not in waiting:
            waiting.add(parent)
            found.append(path)
    return found


def _watchable(path: str) -> str:
    """*path*, or where it is missing the topmost folder that is missing with it."""
    while not os.path.lexists(parent := os.path.dirname(path)) and parent != path:
        path = parent
    return path


def concerns(path: str, folders: Sequence[str], plans: Sequence[str]) -> bool:
    """Whether *path* may declare a workflow, told by its name alone."""
    name = os.path.basename(path)
    names = [*signs.DECLARING, *(pattern.rpartition("/")[2] for pattern in plans)]
    if any(fnmatch.fnmatch(name, each) for each in names):
        return True
    # A project's own settings may name other plans.
    own = any(os.path.lexists(os.path.join(folder, PROJECT_FILE)) for folder in folders)
    return own and name.endswith(".md")


def _of(folder: str, pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        return [os.path.join(folder, pattern)]
    fixed = []
    for name in pattern.split("/"):
        if glob.has_magic(name):
            break
        fixed.append(name)
    if fixed:
        return [os.path.join(folder, *fixed)]
    # To watch the folder itself would be to watch the whole project; new plans wait for PreCompact.
    matches = itertools.islice(glob.iglob(pattern, root_dir=folder), _MOST)
    return [os.path.join(folder, match) for match in matches]
