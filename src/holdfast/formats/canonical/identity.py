"""Which declarations, state files and tombstones are about the same workflow.

A workflow is known by its plan's path where it has one, else by its name. It is never known by its
folder's name, which may be shortened, shared or chosen by another tool.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from holdfast.formats.canonical.declaration import Declaration
from holdfast.formats.canonical.state import State


def by_plan(path: str) -> str:
    return f"canonical:plan:{unicodedata.normalize('NFC', path)}"


def by_name(name: str) -> str:
    return f"canonical:name:{' '.join(unicodedata.normalize('NFC', name).casefold().split())}"


def is_plan(path: str, globs: Sequence[str]) -> bool:
    """Whether *path*, relative to the root, is where the settings look for plans."""
    parts = PurePosixPath(path).parts
    return any(
        len(parts) == len(PurePosixPath(pattern).parts) and PurePosixPath(path).match(pattern)
        for pattern in globs
    )


def of_state(state: State, globs: Sequence[str]) -> str:
    """The key that *state* carries, or the one that its plan or name gives it."""
    if state.holdfast is not None:
        return state.holdfast.identity
    for item in state.required_reading:
        path = item.strip().removeprefix("@").removeprefix("./")
        if is_plan(path, globs):
            return by_plan(path)
    return by_name(state.workflow)


@dataclass
class Group:
    """The declarations of one workflow: CLAUDE.local.md with the plan that it points at, or a plan."""

    key: str
    declarations: list[Declaration] = field(default_factory=list)

    @property
    def local(self) -> Declaration | None:
        return next((each for each in self.declarations if each.source == "local"), None)

    @property
    def name(self) -> str:
        """CLAUDE.local.md is read first, so its name counts before the plan's title."""
        return next((each.workflow for each in self.declarations if each.workflow), self.key)

    def matches(self, key: str) -> bool:
        """Whether a state with *key* is this workflow's; it may be older than its plan."""
        return key in self.keys

    @property
    def keys(self) -> tuple[str, ...]:
        local = self.local
        return (self.key, by_name(local.workflow)) if local and local.workflow else (self.key,)


def group(declarations: Sequence[Declaration]) -> list[Group]:
    """One group a workflow, the one of CLAUDE.local.md first."""
    local = [each for each in declarations if each.source == "local"]
    plans = [each for each in declarations if each.source == "plan"]
    groups = []
    for each in local:
        key = by_plan(each.plan) if each.plan else by_name(each.workflow or "")
        groups.append(Group(key, [each, *(plan for plan in plans if plan.path == each.plan)]))
    taken = {each.path for found in groups for each in found.declarations}
    groups += [Group(by_plan(each.path), [each]) for each in plans if each.path not in taken]
    return groups
