"""The one format-neutral answer to "where were we, and what comes next?"."""

from __future__ import annotations

import json
from typing import Any

from holdfast.records import Record


class Briefing(Record):
    """Facts about one workflow, as its format knows them. Texts are as they stand in the file."""

    name: str
    kind: str  # "qa-loop", "implementation", …
    phase: int
    phases: int
    phase_name: str
    status: str
    next_action: str | None = None
    gate: str | None = None
    reading: tuple[str, ...] = ()  # each with its @
    reminders: tuple[str, ...] = ()
    context: tuple[tuple[str, Any], ...] = ()  # values as JSON has them
    state_path: str | None = None  # relative to the root; None while nothing is saved
    kept_with: tuple[str, ...] = ()  # the commands that keep it current
    ended_with: str = ""  # the command that ends it
    phase_trouble: str = ""  # why the phase is not known; then its numbers say nothing

    @property
    def count(self) -> str:
        return "?" if self.phase_trouble else f"{self.phase}/{self.phases}"

    @property
    def where(self) -> str:
        return f"phase {self.count}"

    @property
    def phase_title(self) -> str:
        """The phase's name, unless that is only its number again."""
        return "" if self.phase_name == f"Phase {self.phase}" else self.phase_name


def shown(value: object) -> str:
    """A context value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
