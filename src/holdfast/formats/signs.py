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
    "orchestrator": (".claude/agent-state.json",),
}


def any_in(folders: list[str], plans: tuple[str, ...]) -> bool:
    """Whether any of *folders* may declare or hold a workflow."""
    return any(_in(folder, plans) for folder in folders)


def _in(folder: str, plans: tuple[str, ...]) -> bool:
    places = [path for paths in SIGNS.values() for path in paths]
    # A project's own settings may name other plans; whoever has them is worth a closer look.
    places.append(PROJECT_FILE)
    if any(os.path.lexists(os.path.join(folder, place)) for place in places):
        return True
    return any(next(glob.iglob(pattern, root_dir=folder), None) is not None for pattern in plans)
