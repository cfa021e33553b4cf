"""A workflow has one of four types; where no line states it, its name may tell."""

from __future__ import annotations

import re
from typing import get_args

from holdfast.formats.canonical.declaration import WorkflowType
from holdfast.patterns import pattern

_QA = pattern(r"\bqa\b", re.IGNORECASE)
_IMPLEMENTATION = pattern(r"\b(?:implement\w*|features?|build(?:ing|s)?)\b", re.IGNORECASE)


def type_of(stated: str | None, name: str, planning: re.Pattern[str]) -> tuple[WorkflowType, bool]:
    """The type, and whether it is guessed; *planning* is what names planning in such a name."""
    return (_known(stated), False) if stated else (_guessed(name, planning), True)


def _known(stated: str) -> WorkflowType:
    """A stated type; one that is not in the document is a custom one."""
    plain = re.sub(r"[\s_]+", "-", stated.strip().casefold())
    return next((known for known in get_args(WorkflowType) if known == plain), "custom")


def _guessed(name: str, planning: re.Pattern[str]) -> WorkflowType:
    """By the table of the document."""
    if planning.search(name):
        return "planning"
    if _QA.search(name):
        return "qa-loop"
    return "implementation" if _IMPLEMENTATION.search(name) else "custom"
