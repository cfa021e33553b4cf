"""Which declarations, state files and tombstones are about the same workflow.

A workflow is known by its plan's path where it has one, else by its name. It is never known by its
folder's name, which may be shortened, shared or chosen by another tool.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath

from holdfast.formats.canonical.declaration import Declaration
from holdfast.records import Record, made

_PLAN = "canonical:plan:"


def by_plan(path: str) -> str:
    return _PLAN + unicodedata.normalize("NFC", path)


def plan_of(key: str) -> str | None:
    """The path of the plan that *key* is made from."""
    return key.removeprefix(_PLAN) if key.startswith(_PLAN) else None


def by_name(name: str) -> str:
    return f"canonical:name:{' '.join(unicodedata.normalize('NFC', name).casefold().split())}"


def is_plan(path: str, globs: Sequence[str]) -> bool:
    """Whether *path*, relative to the root, is where the settings look for plans."""
    parts = PurePosixPath(path).parts
    return any(
        len(parts) == len(PurePosixPath(pattern).parts) and PurePosixPath(path).match(pattern)
        for pattern in globs
    )


class Group(Record, frozen=False):
    """The declarations of one workflow: CLAUDE.local.md with the plan that it points at, or a plan."""

    key: str
    declarations: list[Declaration] = made(factory=list)

    @property
    def local(self) -> Declaration | None:
        return next((each for each in self.declarations if each.source == "local"), None)

    @property
    def name(self) -> str:
        """CLAUDE.local.md is read first, so its name counts before the plan's title."""
        return next((each.workflow for each in self.declarations if each.workflow), self.key)

    @property
    def keys(self) -> tuple[str, ...]:
        local = self.local
        return (self.key, by_name(local.workflow)) if local and local.workflow else (self.key,)

    @property
    def plan(self) -> str | None:
        """The plan's path, if it has one."""
        return plan_of(self.key)


def group(declarations: Sequence[Declaration]) -> list[Group]:
    """One group a workflow, the one of CLAUDE.local.md first.

    It has the plan that it points at; else the one plan that has its name, so that a workflow that
    is declared twice is one.
    """
    local = [each for each in declarations if each.source == "local"]
    plans = {by_plan(each.path): each for each in declarations if each.source == "plan"}
    groups = []
    for each in local:
        named = [key for key, plan in plans.items() if _same_name(plan, each)]
        key = by_plan(each.plan) if each.plan else named[0] if len(named) == 1 else None
        plan = plans.pop(key, None) if key else None
        groups.append(Group(key or by_name(each.workflow or ""), [each, *([plan] if plan else [])]))
    return groups + [Group(key, [plan]) for key, plan in plans.items()]


def _same_name(declaration: Declaration, other: Declaration) -> bool:
    return by_name(declaration.workflow or "") == by_name(other.workflow or "")
