"""How much one text may have, as whoever takes it counts. Light: it is loaded with every hook."""

from __future__ import annotations


def units(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts it."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def octets(text: str) -> int:
    """Length in bytes of UTF-8."""
    return len(text.encode("utf-8", "replace"))


class Room:
    """A limit, in UTF-16 units or in bytes."""

    __slots__ = ("in_bytes", "most")

    def __init__(self, most: int, *, in_bytes: bool = False) -> None:
        self.most = most
        self.in_bytes = in_bytes

    def taken(self, text: str) -> int:
        """How much of it *text* takes."""
        return octets(text) if self.in_bytes else units(text)

    @property
    def widest(self) -> int:
        """What one character takes at most."""
        return 4 if self.in_bytes else 2

    def of(self, most: int) -> Room:
        """One of another size, counted in the same way."""
        return Room(most, in_bytes=self.in_bytes)
