"""Required reading: where each file is, and whether it may be read at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from holdfast.project import contains


class Item(NamedTuple):
    """One required file, and what stands in the way of reading it."""

    path: str  # as it is written, without its @
    trouble: Literal["", "missing", "outside the project", "not a file"] = ""


def resolve(root: Path, reading: Sequence[str], roots: Sequence[str] = ()) -> list[Item]:
    """Each file of *reading* once, by its real path, relative to *root*."""
    allowed = [str(root), *(os.path.realpath(os.path.expanduser(each)) for each in roots)]
    items, seen = [], set()
    for written in reading:
        path = written.strip().removeprefix("@")
        if not path or "\0" in path:
            continue
        real = os.path.realpath(root / os.path.expanduser(path))
        if real in seen:
            continue
        seen.add(real)
        if not any(contains(folder, real) for folder in allowed):
            items.append(Item(path, "outside the project"))
        elif not os.path.lexists(real):
            items.append(Item(path, "missing"))
        elif not os.path.isfile(real) and not os.path.isdir(real):
            items.append(Item(path, "not a file"))
        else:
            items.append(Item(path))
    return items
