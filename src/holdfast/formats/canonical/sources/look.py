"""Read the markdown that may declare canonical workflows: CLAUDE.local.md and the plans."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import StateUnreadable
from holdfast.formats.canonical.declaration import Looked
from holdfast.formats.canonical.identity import is_plan
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan
from holdfast.project import contains
from holdfast.regular import read_file
from holdfast.store import LARGEST

LOCAL = "CLAUDE.local.md"


def look_at_markdown(root: Path, globs: Sequence[str]) -> list[Looked]:
    """Every source that is there, and what it declares."""
    found = []
    if os.path.lexists(root / LOCAL):
        found.append(_look_at(root, LOCAL, globs))
    plans = {path for pattern in globs for path in glob.glob(pattern, root_dir=root)}
    # A glob such as *.md covers CLAUDE.local.md as well; it is no plan.
    return found + [_look_at(root, path, globs) for path in sorted(plans - {LOCAL})]


def _look_at(root: Path, path: str, globs: Sequence[str]) -> Looked:
    path = path.replace(os.sep, "/")
    if not contains(str(root), os.path.realpath(root / path)):
        return Looked(path, None, "leads outside the project")
    try:
        data, mtime = read_file(root / path, LARGEST)
    except StateUnreadable as error:
        return Looked(path, None, error.reason)
    if path != LOCAL:
        return read_plan(data, path=path, mtime=mtime)

    def points_at_plan(target: str) -> bool:
        return is_plan(target, globs) and (root / target).is_file()

    return read_local(data, path=path, mtime=mtime, is_plan=points_at_plan)
