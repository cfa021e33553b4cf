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
# A clone may have any number, and each that is in progress gets a state of its own.
_MOST_READ, _MOST_DECLARED = 1_000, 100  # plans


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
    read = _edited_last(root, plans)
    sources = [LOCAL, *read] if os.path.lexists(root / LOCAL) else read
    looked = [_look_at(root, path, plans, remembered) for path in sources]
    declared = sorted(filter(_is_declared_plan, looked), key=_mtime_of, reverse=True)
    left = {each.path for each in declared[_MOST_DECLARED:]}
    looked = [_left_out(each) if each.path in left else each for each in looked]
    troubles = []
    if search.is_over:
        troubles.append(f"not searched to the end: more than {MOST:,} names")
    if len(read) < len(plans):
        troubles.append(
            f"of {len(plans):,}, only the {_MOST_READ:,} that were edited last were read"
        )
    if left:
        troubles.append(
            f"{len(left):,} in progress were left out, {_MOST_DECLARED} edited later count"
        )
    return looked + [Looked("plans", None, each, trouble=each) for each in troubles]


def _edited_last(root: Path, plans: Sequence[str]) -> Sequence[str]:
    """All of *plans*, unless there are too many."""
    if len(plans) <= _MOST_READ:
        return plans

    def edited(path: str) -> float:
        try:
            return os.stat(root / path).st_mtime
        except OSError:
            return 0.0

    return sorted(sorted(plans, key=edited, reverse=True)[:_MOST_READ])


def _is_declared_plan(looked: Looked) -> bool:
    return looked.path != LOCAL and looked.declaration is not None


def _mtime_of(looked: Looked) -> float:
    return looked.declaration.mtime if looked.declaration else 0.0


def _left_out(looked: Looked) -> Looked:
    return Looked(looked.path, None, "left out, since too many plans are in progress")


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
