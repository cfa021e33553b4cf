"""What stands behind `holdfast hook`: which part of the reading is asked for, and which agent asks.

By hand, since a usage error of a parser would exit with 2 and block. Light; see `launch`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_DIGITS = 9


class Options:
    """A *part* of 0 is the main hook; an empty *agent* is told from the payload."""

    __slots__ = ("agent", "part")

    def __init__(self, part: int = 0, agent: str = "") -> None:
        self.part = part
        self.agent = agent


def read(arguments: Sequence[str]) -> Options:
    """The options in *arguments*, each once and in any order; ValueError where they are none of ours."""
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if not is_joined and rest:
            value = rest.pop(0)
        if name not in {"--part", "--agent"} or name in found or not value:
            raise ValueError(arguments)
        found[name] = value
    part = found.get("--part", "")
    if "--part" in found and not (part.isascii() and part.isdecimal() and int(part[:_MOST_DIGITS])):
        raise ValueError(arguments)
    return Options(int(part[:_MOST_DIGITS] or 0), found.get("--agent", ""))
