"""What `holdfast doctor` looks at: what is registered, whether it runs, and what is kept for the project."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["good", "note", "wrong"]


class Finding(NamedTuple):
    """One thing that was found: good, worth knowing, or wrong with its cause and its cure."""

    check: str  # "hooks", "state", …
    level: Level
    what: str
    cause: str = ""
    fix: str = ""  # a command, or what is to be edited
    safe: bool = False  # whether `doctor --fix` repairs it

    @property
    def line(self) -> str:
        """All of it in one line."""
        told = f"{self.what}: {self.cause}" if self.cause else self.what
        return f"{told}; to repair it: {self.fix}" if self.fix else told
