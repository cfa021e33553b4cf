"""How much room text takes: in UTF-16 units, bytes or columns. Light: every hook loads it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDEST = 80  # columns of any line, however wide the terminal is


def units(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts it."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if character > "\uffff")


class Room:
    """A limit, in UTF-16 units or in bytes."""

    __slots__ = ("in_bytes", "most")

    def __init__(self, most: int, *, in_bytes: bool = False) -> None:
        self.most = most
        self.in_bytes = in_bytes

    def taken(self, text: str) -> int:
        """How much of it *text* takes."""
        return len(text.encode("utf-8", "replace")) if self.in_bytes else units(text)

    @property
    def widest(self) -> int:
        """What one character takes at most."""
        return 4 if self.in_bytes else 2

    def resized(self, most: int) -> Room:
        """One of another size, counted in the same way."""
        return Room(most, in_bytes=self.in_bytes)


def terminal_columns(environ: Mapping[str, str]) -> int | None:
    """How wide the client says that its terminal is."""
    text = environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else None


def is_colourless(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"


def width(text: str) -> int:
    """The columns that *text* takes: East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def _width_of(character: str) -> int:
    import unicodedata  # noqa: PLC0415  # a large extension, which most hooks do not need

    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut(text: str, columns: int) -> str:
    """At most *columns* of *text*, ending in "…" where it was cut."""
    if width(text) <= columns:
        return text
    return _head(text, columns - 1).rstrip() + "…" if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """*text* in exactly *columns*."""
    shown = cut(text, columns)
    return shown + " " * (columns - width(shown))


def wrap(text: str, columns: int) -> list[str]:
    """*text* in lines of at most *columns*, broken between words; runs of blanks become one.

    A longer word is broken where it has to be, unless it is a path, which is no use in pieces.
    """
    lines, line = [], ""
    for piece in _pieces(text, max(columns, 2)):
        if line and width(line) + 1 + width(piece) > columns:
            lines.append(line)
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    return [*lines, line]


def _pieces(text: str, columns: int) -> Iterator[str]:
    for word in text.split():
        rest = word
        while width(rest) > columns and "/" not in word:
            head = _head(rest, columns)
            yield head
            rest = rest[len(head) :]
        if rest:
            yield rest


def _head(text: str, columns: int) -> str:
    """As much of the beginning of *text* as fits."""
    used = 0
    for at, character in enumerate(text):
        used += _width_of(character)
        if used > columns:
            return text[:at]
    return text
