"""One thing that the doctor found: good, worth knowing, or wrong with its cause and its cure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["good", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    check: str  # "hooks", "state", …
    level: Level
    what: str
    cause: str = ""
    fix: str = ""  # a command, or what is to be edited
    safe: bool = False  # whether `doctor --fix` repairs it

    def facts(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)
