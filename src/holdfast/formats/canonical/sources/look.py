"""Read the markdown that may declare canonical workflows: CLAUDE.local.md and the plans."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from holdfast.errors import StateUnreadable
from holdfast.formats.canonical.declaration import Looked
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan
from holdfast.formats.canonical.sources.plan_names import plan_among
from holdfast.globs import MOST, Search
from holdfast.regular import read_file
from holdfast.store import LARGEST

LOCAL = "CLAUDE.local.md"


# Gives what a file says: its path and bytes, all that it depends on beside these, and how to find out.
Remember: TypeAlias = "Callable[[str, bytes, Hashable, Callable[[], Looked]], Looked]"


def _anew(_path: str, _data: bytes, _given: Hashable, understand: Callable[[], Looked]) -> Looked:
    return understand()


def look_at_markdown(
    root: Path, globs: Sequence[str], remembered: Remember = _anew
) -> list[Looked]:
    """Every source that is there, and what it declares."""
    # A glob such as *.md covers CLAUDE.local.md as well; it is no plan.
    search = Search(root)
    plans = sorted({path for pattern in globs for path in search.find(pattern)} - {LOCAL})
    sources = [LOCAL, *plans] if os.path.lexists(root / LOCAL) else plans
    looked = [_look_at(root, path, plans, remembered) for path in sources]
    if search.is_over:
        given_up = f"not searched to the end: more than {MOST:,} names"
        looked.append(Looked("plans", None, given_up, trouble=given_up))
    return looked


def _look_at(root: Path, path: str, plans: Sequence[str], remembered: Remember) -> Looked:
    try:
        data, mtime = read_file(root / path, LARGEST, within=root)
    except StateUnreadable as error:
        return _unreadable(path, error.reason)
    if path != LOCAL:
        read = partial(read_plan, data, path=path, mtime=mtime)
        return remembered(path, data, mtime, read)
    files = tuple(plan for plan in plans if (root / plan).is_file())
    find_plan = partial(plan_among, files)
    read = partial(read_local, data, path=path, mtime=mtime, find_plan=find_plan)
    return remembered(path, data, (mtime, files), read)


def _unreadable(path: str, reason: str) -> Looked:
    return Looked(path, None, reason, trouble=f"not read: {reason}")
