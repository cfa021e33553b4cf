"""Required reading: where each file is, whether it may be read, and its text cut into parts.

The client caps what one hook may say, but caps each hook by itself. So the text is sent by several
runs of the same hook, one a part. Each run makes the same plan from the same files and prints its
own part; nothing is written, and no run waits for another. Where an agent has no such hooks, there is one
part, as large as the room that the guidance leaves, and it comes with the guidance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.capabilities import USUAL
from holdfast.decoding import decode
from holdfast.digests import digest
from holdfast.errors import StateUnreadable
from holdfast.plaintext import counted, one_line, quoted
from holdfast.project import contains
from holdfast.regular import has_something, read_file
from holdfast.room import Room, units

MISSING = "missing"
OUTSIDE = "outside the project"
FOLDER = "a folder"
NOT_TEXT = "not text"
EMPTY = "empty"
NO_ROOM = "no room for it beside the guidance"
NOT_FORESEEN = "not foreseen when the parts were counted"
ONLY_NAMED = "only named"  # by the settings, or by the way that the session began
_BYTES_A_UNIT = 4  # at most, in any encoding that text is kept in
_LARGEST_MARKED = 8 * 1024 * 1024
_SHOWN_BY_READ = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")  # though they are no text
_LONGEST_FENCE = 200


class Item(NamedTuple):
    """One required file, and what became of it."""

    path: str  # as it is written, without its @
    real: str = ""  # where that leads
    trouble: str = ""  # why its text is not sent
    parts: tuple[int, int] | None = None  # the first and the last part that hold its text
    digest: str = ""  # of the bytes that were sent

    @property
    def version(self) -> str:
        """Tells one edition of the file from another, in few letters."""
        return self.digest[:8]

    @property
    def can_be_opened(self) -> bool:
        """Whether an agent that has not been sent the text could read it all the same.

        What lies outside does not count: a repository's word is no reason to go and read there.
        """
        if self.parts is not None or self.trouble in {MISSING, OUTSIDE, FOLDER, EMPTY}:
            return False
        if self.trouble == NOT_TEXT and not self.real.lower().endswith(_SHOWN_BY_READ):
            return False
        return has_something(self.real)

    @property
    def mark(self) -> str:
        """The digest of the file, sent or not; of one that is very long, its size and time."""
        if self.digest or self.trouble in {MISSING, OUTSIDE}:
            return self.digest
        try:
            return digest(read_file(self.real, _LARGEST_MARKED)[0])
        except StateUnreadable:
            pass
        try:
            status = os.stat(self.real)
        except (OSError, ValueError):
            return ""
        return f"{status.st_size} {status.st_mtime_ns}"


def span(parts: tuple[int, int]) -> str:
    """The first and the last part in words."""
    first, last = parts
    return f"part {first}" if first == last else f"parts {first} to {last}"


class Plan(NamedTuple):
    """All required files of one workflow, and the parts that their text is sent in."""

    items: Sequence[Item]
    parts: Sequence[str]
    inline: bool = False  # the one part comes with the guidance


NOTHING_REQUIRED = Plan((), ())


class Budget(NamedTuple):
    """How much is sent."""

    parts: int
    a_file: int  # UTF-16 units
    room: Room = USUAL.room  # of a part
    inline: bool = False


def resolve(root: Path, reading: Sequence[str], roots: Sequence[str] = ()) -> list[Item]:
    """Each file of *reading* once, by its real path, relative to *root*."""
    allowed = [str(root), *(os.path.realpath(os.path.expanduser(each)) for each in roots)]
    items, seen = [], set()
    for written in reading:
        path = written.strip().removeprefix("@")
        if not path or "\0" in path:
            continue
        try:
            real = os.path.realpath(root / os.path.expanduser(path))
        except (OSError, ValueError):  # no name that a file can have, or it is being replaced
            items.append(Item(path, trouble=MISSING))
            continue
        if real in seen:
            continue
        seen.add(real)
        items.append(Item(path, real, _obstacle(real, allowed)))
    return items


def _obstacle(real: str, allowed: Sequence[str]) -> str:
    if not any(contains(folder, real) for folder in allowed):
        return OUTSIDE
    if not os.path.lexists(real):
        return MISSING
    if os.path.isdir(real):
        return FOLDER
    return "" if os.path.isfile(real) else "not a file"


def plan(items: Sequence[Item], budget: Budget, workflow: str, most: int | None = None) -> Plan:
    """The text of each of *items* that can be sent, as long as the budget lasts.

    A file is sent whole or not at all; a later one that is smaller may still fit. With *most*, there
    are no more parts than that, although the budget has them.
    """
    parts = budget.parts if most is None else min(most, budget.parts)
    packer = _Packer(parts, f'{_HEADING}"{one_line(workflow, 120)}".', budget.room)
    planned = []
    for item in items:
        text = _Unsendable(item.trouble) if item.trouble else _text_of(item.real, budget.a_file)
        if isinstance(text, _Unsendable):
            planned.append(item._replace(trouble=text.reason))
            continue
        sent = item._replace(digest=text.digest)
        span = packer.add(sent, text)
        if span:
            planned.append(sent._replace(parts=span))
        else:
            planned.append(sent._replace(trouble=_no_room(parts, budget)))
    return Plan(planned, packer.render(), budget.inline)


def _no_room(parts: int, budget: Budget) -> str:
    if budget.inline:
        return NO_ROOM
    if parts < budget.parts:
        return NOT_FORESEEN
    return f"over the budget of {counted(parts, 'part')}"


class _Text(NamedTuple):
    lines: list[str]
    digest: str
    fence: str


class _Unsendable(NamedTuple):
    reason: str


def _text_of(real: str, limit: int) -> _Text | _Unsendable:
    try:
        if os.path.getsize(real) > limit * _BYTES_A_UNIT:
            return _Unsendable(_too_long(limit))
        data, _ = read_file(real, limit * _BYTES_A_UNIT, follow=False)
        if os.path.realpath(real) != real:  # a folder on its way was replaced by a link
            return _Unsendable("cannot be read: it is being replaced")
    except OSError as error:
        return _Unsendable(f"cannot be read: {error.strerror or error}")
    except StateUnreadable as error:
        return _Unsendable(f"cannot be read: {error.reason}")
    text = decode(data)
    if not _is_text(text):
        return _Unsendable(NOT_TEXT)
    text = quoted(text)
    if not text.strip():
        return _Unsendable(EMPTY)
    if units(text) > limit:
        return _Unsendable(_too_long(limit))
    fence = _fence_for(text)
    if fence is None:
        return _Unsendable("it cannot be quoted: it has long runs of both ` and ~")
    return _Text(text.removesuffix("\n").split("\n"), digest(data), fence)


def _fence_for(text: str) -> str | None:
    """A fence that is longer than any run of its character in *text*, so that none closes it."""
    for character in "`~":
        longest = max(map(len, re.findall(f"{character}+", text)), default=0)
        if longest < _LONGEST_FENCE:
            return character * max(3, longest + 1)
    return None


def _too_long(limit: int) -> str:
    return f"over the budget of {limit:,} characters a file"


_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def _is_text(text: str) -> bool:
    """Whether it is what somebody wrote; escapes and form feeds do occur in that."""
    return "\0" not in text and len(_CONTROL.findall(text)) * 50 <= len(text)


class _Row(NamedTuple):
    """A line of a file, or what fits into a part of one that is longer than that."""

    number: int
    text: str
    cut: str = ""  # which characters of the line these are, where it had to be cut


class _Piece(NamedTuple):
    """Rows of one file that go into one part."""

    item: Item
    rows: Sequence[_Row]
    of: int  # lines that the file has
    fence: str

    @property
    def where(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        if first.cut:
            return f"line {first.number} of {self.of}, {first.cut}"
        if first.number == last.number:
            return f"line {first.number} of {self.of}"
        return f"lines {first.number}-{last.number} of {self.of}"

    def render(self, part: int, parts: int) -> str:
        name = f"{one_line(self.item.path, 400)}, version {self.item.version}"
        label = f"reading {part} of {parts}: {name}, {self.where}"
        return "\n".join([label, self.fence, *(row.text for row in self.rows), self.fence])


_LABEL = re.compile(r"^reading (\d+) of (\d+): (.+)$", re.MULTILINE)
_HEADING = "Required reading of the workflow "


def part_number(text: str) -> tuple[int, int] | None:
    """Which part *text* is, and of how many; None when it is none."""
    found = _LABEL.search(text) if text.startswith(_HEADING) else None
    return (int(found[1][:4]), int(found[2][:4])) if found else None


def labels(text: str) -> list[str]:
    """What the part *text* holds, in the words of its labels; what a file says does not count."""
    found, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith(("```", "~~~")):
            fence = line
        elif label := _LABEL.fullmatch(line):
            found.append(label[3])
    return found


_WIDEST = 999  # labels are measured as if there were so many parts
BETWEEN = "\n\n"
_LEAST = 100  # of a line that there has to be room for, or nothing is sent


class _Packer:
    """Fills parts in order, each up to its limit, and cuts files at line ends to do so."""

    def __init__(self, most: int, heading: str, room: Room) -> None:
        self._most = most
        self._heading = heading
        self._room = room.of(room.most - room.taken(heading))  # of each part
        self._parts: list[list[_Piece]] = []
        self._left = 0  # in the last part

    def add(self, item: Item, text: _Text) -> tuple[int, int] | None:
        """The parts that the file went into; None when it does not fit, and nothing changed."""
        frame = self._frame(item, text)
        if self._room.most - frame < _LEAST:
            return None
        before = [list(part) for part in self._parts], self._left
        first = 0
        for piece in self._pieces(item, text, frame):
            if piece is None:
                if len(self._parts) >= self._most:
                    self._parts, self._left = before
                    return None
                self._parts.append([])
                self._left = self._room.most
                continue
            self._parts[-1].append(piece)
            self._left -= self._room.taken(piece.render(_WIDEST, _WIDEST) + BETWEEN)
            first = first or len(self._parts)
        return first, len(self._parts)

    def _frame(self, item: Item, text: _Text) -> int:
        """What a piece of the file takes beside its lines."""
        widest = _Row(len(text.lines), "", f"characters {10**7}-{10**7}")
        piece = _Piece(item, [widest], len(text.lines), text.fence)
        return self._room.taken(piece.render(_WIDEST, _WIDEST) + BETWEEN)

    def _pieces(self, item: Item, text: _Text, frame: int) -> Iterator[_Piece | None]:
        """The file in pieces that fit; None asks for a new part."""
        lines, fence = text.lines, text.fence
        rows = list(_rows(lines, self._room.of(self._room.most - frame)))
        at = 0
        while at < len(rows):
            count = _fitting(rows, at, self._room.of(self._left - frame))
            if count:
                yield _Piece(item, rows[at : at + count], len(lines), fence)
                at += count
            else:
                yield None

    def render(self) -> list[str]:
        total = len(self._parts)
        return [
            BETWEEN.join([self._heading, *(piece.render(number, total) for piece in pieces)])
            for number, pieces in enumerate(self._parts, 1)
        ]


def _rows(lines: Sequence[str], room: Room) -> Iterator[_Row]:
    longest = room.most
    for number, line in enumerate(lines, 1):
        if room.taken(line) <= longest:
            yield _Row(number, line)
            continue
        begin = 0
        while begin < len(line):
            end = begin + longest
            # What counts more than once leaves room for less.
            while (over := room.taken(line[begin:end]) - longest) > 0:
                end -= max(1, over // room.widest)
            cut = f"characters {begin + 1}-{min(end, len(line))}"
            yield _Row(number, line[begin:end], cut)
            begin = end


def _fitting(rows: Sequence[_Row], at: int, room: Room) -> int:
    """How many rows from *at* on make one piece that there is *room* for."""
    left = room.most
    if rows[at].cut:
        return 1 if room.taken(rows[at].text) <= left else 0
    count = 0
    for row in rows[at:]:
        left -= room.taken(row.text) + 1
        if left < -1 or row.cut:  # the last line end belongs to the frame
            break
        count += 1
    return count
