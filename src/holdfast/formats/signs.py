"""Where each format declares or keeps workflows, cheap enough to ask before anything is loaded."""

from __future__ import annotations

import glob
import os

from holdfast.settings import PROJECT_FILE

# Files that declare a workflow, beside the plans, whose globs are a setting.
DECLARING = ("CLAUDE.local.md",)

# Paths below a project's root whose presence means that a format has to look closer.
# The plan globs are a setting and come on top.
SIGNS: dict[str, tuple[str, ...]] = {
    "canonical": (*DECLARING, "untracked/workflow-state"),
    "skill": (".claude/workflow-state",),
    "pipeline": ("workspace/workflow-state", "workspace/sessions"),
}


def any_in(folders: list[str], plans: tuple[str, ...]) -> bool:
    """Whether any of *folders* may declare or hold a workflow."""
    return any(formats_in(folder, plans) for folder in folders)


def formats_in(folder: str, plans: tuple[str, ...]) -> set[str]:
    """The formats that may have a workflow in *folder*."""
    found = {name for name, paths in SIGNS.items() if _any_of(paths, folder)}
    # A project's own settings may name other plans; whoever has them is worth a closer look.
    if "canonical" not in found and (_any_of((PROJECT_FILE,), folder) or _plan_in(folder, plans)):
        found.add("canonical")
    return found


def _any_of(paths: tuple[str, ...], folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, path)) for path in paths)


def _plan_in(folder: str, plans: tuple[str, ...]) -> bool:
    return any(next(glob.iglob(pattern, root_dir=folder), None) is not None for pattern in plans)
