"""Where each format declares or keeps workflows, cheap enough to ask before anything is loaded.

A sign is only a reason to look closer; whether there is a workflow, the format itself finds out.
"""

from __future__ import annotations

import os

from holdfast.config.settings import PLANS, PROJECT_FILE
from holdfast.files.inputs import UNRECORDED, Inputs, Search

# Files that declare a workflow, beside the plans, whose globs are a setting.
DECLARING = ("CLAUDE.local.md",)

# Paths below a project's root whose presence means that a format has to look closer.
# The plan globs are a setting and come on top.
SIGNS: dict[str, tuple[str, ...]] = {
    "canonical": (*DECLARING, "untracked/workflow-state"),
    "skill": (".claude/workflow-state",),
    "gated": ("workflow",),
    "orchestrator": (".claude/agent-state.json",),
    "pipeline": ("workspace/workflow-state", "workspace/sessions"),
}

# The state files themselves, part by part of their path below the root; `guard` keeps edits off them.
STATE_FILES: dict[str, tuple[str, ...]] = {
    "canonical": ("untracked/workflow-state/*/state-*.json",),
    "skill": (
        ".claude/workflow-state/active/*.json",
        ".claude/workflow-state/completed/*.json",
        ".claude/workflow-state/index.json",
    ),
    "gated": ("workflow/*/workflow-state.json", "workflow/*/0[1-5]-*/status.json"),
    "orchestrator": (
        ".claude/agent-state.json",
        ".claude/checkpoint.json",
        ".claude/checkpoint-*.json",
        ".claude/learnings.jsonl",
        ".claude/locks.json",
    ),
    "pipeline": (
        "workspace/workflow-state/*.json",
        "workspace/sessions/*/workflow-state/*.json",
    ),
}


def formats_in(folder: str, plans: tuple[str, ...], inputs: Inputs = UNRECORDED) -> set[str]:
    """The formats that may have a workflow in *folder*."""
    found = {name for name, paths in SIGNS.items() if _any_of(paths, folder, inputs)}
    # A project's own settings may name other plans; whoever has them is worth a closer look.
    search = Search(folder, inputs)
    if "canonical" not in found and (
        _any_of((PROJECT_FILE,), folder, inputs)
        or any(next(search.find(pattern), None) for pattern in plans)
        or (search.is_over and not set(PLANS) <= set(plans))
    ):
        found.add("canonical")
    return found


def _any_of(paths: tuple[str, ...], folder: str, inputs: Inputs) -> bool:
    return any(inputs.exists(os.path.join(folder, path)) for path in paths)
