"""One thing that the doctor found: good, worth knowing, or wrong with its cause and its cure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["good", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    check: str  # "hooks", "state", …
    level: Level
    what: str
    cause: str = ""
    fix: str = ""  # a command, or what is to be edited
    # What `doctor --fix` does, where that is safe: it returns what was done.
    repair: Callable[[], str] | None = field(default=None, compare=False)

    def facts(self) -> dict[str, object]:
        """As JSON."""
        texts = {"check": self.check, "level": self.level, "what": self.what}
        return {**texts, "cause": self.cause, "fix": self.fix, "safe": self.repair is not None}
