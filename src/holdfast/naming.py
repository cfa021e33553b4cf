"""How a workflow is called: what a person, an agent or a program means by a name."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from holdfast.errors import NoSuchWorkflow
from holdfast.formats.base import Workflow


def find(workflows: Sequence[Workflow], name: str) -> Workflow:
    """The one workflow that *name* means.

    Its whole name, else its plan, state file or folder, else the beginning of just one name.
    """
    wanted = folded(name)
    ways: tuple[Callable[[Workflow], bool], ...] = (
        lambda each: folded(each.name) == wanted,
        lambda each: wanted in handles(each),
        lambda each: folded(each.name).startswith(wanted),
        lambda each: folded(each.handle or "").startswith(wanted),
    )
    found = next((hit for way in ways if (hit := [each for each in workflows if way(each)])), [])
    active = [each for each in found if each.standing == "active"]
    if len(found) == 1 or len(active) == 1:
        return (active or found)[0]
    if found:
        names = ", ".join(f"{each.name!r} ({handles(each)[0]})" for each in found)
        raise NoSuchWorkflow(
            f"{name!r} could be any of {names}", hint="What stands in brackets is a name, too."
        )
    names = ", ".join(repr(each.name) for each in workflows)
    raise NoSuchWorkflow(f"no workflow is called {name!r}", hint=f"There are: {names or 'none'}.")


def handles(workflow: Workflow) -> list[str]:
    """What else a workflow may be called: its plan, its state file, a short name or their folders."""
    paths = [path for path in (workflow.source, workflow.briefing.state_path) if path]
    folders = [PurePosixPath(path).parent.name for path in paths]
    short = [workflow.handle] if workflow.handle else folders
    return [folded(handle) for handle in (*paths, *short) if handle] or [workflow.key]


def folded(name: str) -> str:
    """*name* as it is compared with others."""
    return unicodedata.normalize("NFC", name).casefold()
